//! Command lines that start something with `&`: what they start goes on as a job when they have ended.
//!
//! A shell's memory is in use as long as one of its lines runs, so what is to go on cannot stay in it. The line is taken apart
//! instead: what comes before `&` runs, what `&` starts becomes a job with a copy of the shell, and what comes after runs.
//! Owns: the parts as one answer. Does not own: the parts of the text (`ampersand`), jobs (`jobs`).

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::ampersand::{self, Parts};
use super::call::Call;
use super::commands::SHELL;
use super::history::Begun;
use super::jobs::Job;
use super::outputs::Outputs;
use super::providers::with_fallback;
use super::{CommandLine, Sandboxes};
use crate::sandbox::{Executed, Handle, Owner, ProviderName, SandboxId};
use crate::{Captured, Error, ErrorCode, GuestName, Limits, Result, Status, Stream};

/// How long what was started may take to end and be a part of the answer.
const SOON: Duration = Duration::from_millis(300);
/// A part that runs nothing.
const NOTHING: &str = ":";

/// What came of a command line, where the whole of its output is, and what of it goes on.
pub type GoingOn = (SandboxId, Executed, Outputs, Option<Arc<Job>>);

impl Sandboxes {
    /// Runs a command line as [`Sandboxes::exec_keeping`] does. What it starts with `&` and does not ask for again (`wait`, `kill`)
    /// goes on as a job, which is answered, unless it ends within 300 ms; `$!` is its id. Of several the last that goes on is
    /// answered. A job may run for as long as the operator lets
    /// any command line run. One whose line is stopped by a limit is ended with it.
    ///
    /// # Errors
    /// As [`Sandboxes::exec_keeping`] and [`Sandboxes::start_job`].
    pub async fn exec_going_on(
        &self,
        owner: &Owner,
        handle: &Handle<'_>,
        line: CommandLine,
        past: usize,
    ) -> Result<GoingOn> {
        // In a container what was started goes on by itself.
        let here = self.find(owner, handle)?.spec.provider == ProviderName::default();
        let parts = ampersand::parts(&line.text, line.directory.is_some()).filter(|_| here);
        let Some(parts) = parts else {
            let (id, mut executed, outputs) = self.exec_keeping(owner, handle, line.clone(), past).await?;
            if here && let Status::Stopped(error) = executed.outcome.status {
                executed.outcome.status = Status::Stopped(hint(error, &line.text));
            }
            return Ok((id, executed, outputs, None));
        };
        let mut call = self.begin_to_run(owner, handle).await?;
        let place = call.admitted(&GuestName::Shell).await?;
        let id = call.record.id.clone();
        let run = async {
            let request = self.request(line.clone())?;
            let limits = &request.context.limits;
            let begun = Begun::new(&mut call, GuestName::Shell, &request.text, limits).await?;
            Ok::<_, Error>((begun, self.run_parts(owner, &mut call, &line, &parts).await?))
        };
        let (begun, (mut executed, jobs)) = self.inner.admission.share(owner, run).await?;
        executed.outcome = with_fallback(executed.outcome, &call.record.spec, &self.inner.rules);
        if let Some(begun) = begun {
            call.live.history.add(begun, &executed.outcome, &self.inner.rules);
        }
        executed.outcome.warning = call.warning();
        drop(place);
        let (mut executed, jobs) = call.answer((executed, jobs)).await;
        let soon = tokio::time::Instant::now() + SOON;
        let mut still = None;
        for job in jobs {
            let _ = tokio::time::timeout_at(soon, job.wait()).await;
            if take_in(&mut executed, &job) {
                still = Some(job);
            }
        }
        let outputs = match longest(&executed) > past {
            true => Outputs::keep(&mut self.begin_to_look(owner, handle).await?, &executed, past).await,
            false => Outputs::default(),
        };
        Ok((id, executed, outputs, still))
    }

    /// Runs one part after the other, in one turn. A line that the shell cannot read is left to it whole.
    async fn run_parts(
        &self,
        owner: &Owner,
        call: &mut Call,
        line: &CommandLine,
        parts: &Parts,
    ) -> Result<(Executed, Vec<Arc<Job>>)> {
        let begin = Instant::now();
        let part = |text: &str| {
            let text = if text.is_empty() { NOTHING } else { text };
            let wall = line.wall.saturating_sub(begin.elapsed()).max(Limits::MIN_WALL);
            CommandLine { text: text.into(), wall, ..line.clone() }
        };
        if !self.can_be_read(owner, call, line).await? {
            return Ok((self.run_part(owner, call, line.clone()).await?, Vec::new()));
        }
        // Whether there is room for all that is to go on is known before anything runs.
        let now = self.inner.clock.now();
        let mut places = Vec::new();
        for step in &parts.steps {
            let place = self.inner.admission.job_place(owner)?;
            let admitted =
                self.inner.jobs.admit(owner, &call.record.id, &step.beside, now, &self.inner.rules)?;
            places.push((place, admitted));
        }
        let mut started: Vec<Cancels> = Vec::new();
        let mut executed: Option<Executed> = None;
        for (step, (job_place, admitted)) in parts.steps.iter().zip(places) {
            let (before, beside) = (with_id_of(&step.before, &started), with_id_of(&step.beside, &started));
            if started.is_empty() || !before.is_empty() {
                let stdin = if started.is_empty() { line.stdin.clone() } else { Vec::new() };
                let ran = self.run_part(owner, call, CommandLine { stdin, ..part(&before) }).await?;
                executed = Some(match executed {
                    Some(earlier) => together(earlier, ran),
                    None => ran,
                });
            }
            if executed.as_ref().is_some_and(|executed| executed.outcome.stopped().is_some()) {
                break;
            }
            let beside = CommandLine {
                stdin: Vec::new(),
                wall: self.inner.rules.command,
                sink: None,
                ..part(&beside)
            };
            let further = beside.further.clone();
            let mut request = self.request(beside)?;
            self.connect(&call.record, ("job", SHELL), &mut request.context);
            // Nobody hears how much they receive.
            let programs = self.programs(owner, &request.context, further);
            request.context.output = Some(admitted.sink());
            let starts = call.run(|machine| {
                request.context.taint.join(machine.taint());
                machine.job(request, programs)
            });
            let running = starts.await?;
            let ends = admitted.begin(self.inner.clock.clone());
            started.push(Cancels(Some(ends.job().clone())));
            self.let_run(call, ends, job_place, running);
            if let Some(executed) = &mut executed {
                executed.outcome.status = Status::Exited(0);
            }
        }
        let Some(mut executed) = executed else {
            return Err(Error::new(ErrorCode::Internal, "a line without parts was taken apart"));
        };
        if !parts.after.is_empty() && executed.outcome.stopped().is_none() {
            let after = CommandLine { stdin: Vec::new(), ..part(&with_id_of(&parts.after, &started)) };
            executed = together(executed, self.run_part(owner, call, after).await?);
        }
        if let Status::Stopped(error) = &executed.outcome.status
            && error.code() == ErrorCode::LimitTime
        {
            // The limit of the line, and not what was left of it for its last part.
            let most = line.wall.as_millis();
            let told = Error::new(error.code(), format!("the wall-clock limit of {most} ms was reached"));
            executed.outcome.status = Status::Stopped(match error.hint() {
                Some(hint) => told.with_hint(hint),
                None => told,
            });
        }
        let keeps = executed.outcome.stopped().is_none();
        let jobs = if keeps { started.into_iter().filter_map(Cancels::keep).collect() } else { Vec::new() };
        Ok((executed, jobs))
    }

    async fn run_part(&self, owner: &Owner, call: &mut Call, line: CommandLine) -> Result<Executed> {
        let further = line.further.clone();
        let mut request = self.request(line)?;
        self.connect(&call.record, ("exec", SHELL), &mut request.context);
        let programs = self.programs(owner, &request.context, further);
        let executed = call.run(|machine| {
            request.context.taint.join(machine.taint());
            machine.exec(request, programs)
        });
        executed.await
    }

    /// Whether the shell can read the line. If not, it is to say why itself.
    async fn can_be_read(&self, owner: &Owner, call: &mut Call, line: &CommandLine) -> Result<bool> {
        let quoted = line.text.replace('\'', "'\\''");
        let check = CommandLine { wall: line.wall, ..CommandLine::new(format!("bash -n -c '{quoted}'")) };
        if check.text.len() > CommandLine::MAX_TEXT {
            return Ok(false);
        }
        Ok(self.run_part(owner, call, check).await?.outcome.exit_code() == 0)
    }
}

/// A part with the id of the job that was started last, if there is one, in the place of `$!`.
fn with_id_of(text: &str, started: &[Cancels]) -> String {
    match started.last().and_then(|started| started.0.as_ref()) {
        Some(job) => ampersand::with_id(text, &job.id().to_string()),
        None => text.to_owned(),
    }
}

/// Takes what a job has written into the answer, if it has ended and all of that is kept. True: there is more to ask it for.
fn take_in(executed: &mut Executed, job: &Job) -> bool {
    let (out, err) = (job.output(Stream::Stdout, 0), job.output(Stream::Stderr, 0));
    let Some((done, _)) = job.ended().filter(|_| (out.offset, err.offset) == (0, 0)) else { return true };
    add(&mut executed.outcome.stdout, &out.text, out.total_bytes);
    add(&mut executed.outcome.stderr, &err.text, err.total_bytes);
    if let Ok(ended) = &*done {
        executed.missing.extend(ended.missing.iter().cloned());
        executed.elsewhere.extend(ended.elsewhere.iter().cloned());
    }
    false
}

/// Bytes of the longer stream, as they count for a file of its own.
fn longest(executed: &Executed) -> usize {
    let streams = [&executed.outcome.stdout, &executed.outcome.stderr];
    let long = |stream: &Captured| if stream.is_truncated() { usize::MAX } else { stream.text.len() };
    streams.into_iter().map(long).max().unwrap_or_default()
}

/// Ends a job when the line that has started it is given up.
struct Cancels(Option<Arc<Job>>);

impl Cancels {
    fn keep(mut self) -> Option<Arc<Job>> {
        self.0.take()
    }
}

impl Drop for Cancels {
    fn drop(&mut self) {
        if let Some(job) = &self.0 {
            job.cancel();
        }
    }
}

/// Two lines that ran one after the other, as one.
fn together(before: Executed, after: Executed) -> Executed {
    let mut both = after;
    let (first, last) = (before.outcome, &mut both.outcome);
    for (first, last) in [(first.stdout, &mut last.stdout), (first.stderr, &mut last.stderr)] {
        let after = std::mem::replace(last, first);
        add(last, &after.text, after.total_bytes);
    }
    last.usage.wall += first.usage.wall;
    last.usage.memory_peak = last.usage.memory_peak.max(first.usage.memory_peak);
    last.usage.disk_written += first.usage.disk_written;
    last.fallback_from = last.fallback_from.or(first.fallback_from);
    if first.fallback_from.is_some() {
        last.provider = first.provider;
    }
    last.recovery = last.recovery.or(first.recovery);
    last.recovery_reason = last.recovery_reason.take().or(first.recovery_reason);
    last.warning = last.warning.take().or(first.warning);
    last.closed_files.extend(first.closed_files);
    both.missing.extend(before.missing);
    both.missing.sort();
    both.missing.dedup();
    both.elsewhere.extend(before.elsewhere);
    both
}

fn add(stream: &mut Captured, text: &str, total: u64) {
    // What comes after bytes that were dropped would be out of its place.
    let kept = if stream.is_truncated() { "" } else { text };
    stream.text.push_str(kept);
    stream.total_bytes += total;
    stream.dropped_bytes += total - (kept.len() as u64).min(total);
}

/// What is said of a command line that was stopped at its time limit while what it had started with `&` was waited for.
fn hint(error: Error, line: &str) -> Error {
    if error.code() == ErrorCode::LimitTime && CommandLine::starts_others(line) {
        return error.with_hint(
            "the line refers to what it starts with `&`, so that ends with the line: use `background: true` for what should continue",
        );
    }
    error
}
