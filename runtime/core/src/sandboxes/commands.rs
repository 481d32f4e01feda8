//! Command lines in a sandbox: one at a time like every call, or as jobs beside them.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use super::Sandboxes;
use super::call::{Call, Resident};
use super::history::Begun;
use super::jobs::{Ends, Job};
use super::outputs::Outputs;
use super::providers::with_fallback;
use crate::connections::Taint;
use crate::places::Place;
use crate::program::{OfferedPrograms, OwnersPrograms, Programs};
use crate::sandbox::{Durability, Event, Executed, Handle, JobId, Owner, Sandbox, SandboxId};
use crate::{
    Error, ErrorCode, Grants, GuestName, GuestPath, Limits, LineRequest, OutputSink, Result, RunContext,
};

/// How the audit of the network calls the language of command lines.
pub(super) const SHELL: &str = "bash";

/// A command line, and what it may use.
#[derive(Clone)]
pub struct CommandLine {
    /// Its text, at most 1 MiB.
    pub text: String,
    /// The folder it runs in, for this command line alone. Default: where the last one ended, `/workspace` at first.
    pub directory: Option<GuestPath>,
    /// What its standard input yields.
    pub stdin: Vec<u8>,
    /// Wall-clock time of all it starts together. Default 30 s (S4-06), from 10 ms to [`Rules::command`](super::Rules::command).
    pub wall: Duration,
    /// Bytes kept of each of standard output and standard error; the rest is drained and counted. Default 8 MiB.
    pub output: u64,
    /// Receives output while it runs.
    pub sink: Option<Arc<dyn OutputSink>>,
    /// What it can start besides the operator's programs; of one name theirs counts. Default nothing.
    pub further: Option<Arc<dyn Programs>>,
    /// Whether it has read what a server sent that the operator does not trust; the same as that of the callers of `further`.
    pub taint: Taint,
}

impl CommandLine {
    /// Largest text, in bytes (1 MiB).
    pub const MAX_TEXT: usize = 1 << 20;

    /// Whether it seems to start something with `&`, which ends with it: for a hint, so that a guess will do.
    pub fn starts_others(text: &str) -> bool {
        super::ampersand::starts_any(text)
    }

    /// A command line with the defaults.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            directory: None,
            stdin: Vec::new(),
            wall: Duration::from_secs(30),
            output: 8 << 20,
            sink: None,
            further: None,
            taint: Taint::default(),
        }
    }
}

impl Sandboxes {
    /// Lets command lines start the operator's programs, such as `pip`, besides those that were offered before. Of one name
    /// the first counts.
    pub fn offer(&self, programs: Arc<dyn OfferedPrograms>) {
        self.inner.programs.write().unwrap_or_else(PoisonError::into_inner).push(programs);
    }

    /// The addresses below which command lines reach git repositories, without what their servers are told.
    pub fn remotes(&self) -> Vec<String> {
        let programs = self.inner.programs.read().unwrap_or_else(PoisonError::into_inner);
        programs.iter().flat_map(|programs| programs.remotes()).collect()
    }

    /// Runs a command line in a sandbox (S4-06). Its files, working folder and variables last. Dropping the future cancels it
    /// and all it has started; the shell then is as it was before.
    ///
    /// # Errors
    /// As [`Sandboxes::eval`]; `capability_unavailable` where there is no shell. An exit status is no error.
    pub async fn exec(
        &self,
        owner: &Owner,
        handle: &Handle<'_>,
        line: CommandLine,
    ) -> Result<(SandboxId, Executed)> {
        self.line(owner, handle, line, None).await.map(|(id, executed, _)| (id, executed))
    }

    /// The same; the whole of each stream that is longer than `past` bytes, or was cut, is put into a file of the sandbox, in
    /// the same turn. The last 8 such files are kept, 32 MiB together; the oldest goes first.
    ///
    /// # Errors
    /// As [`Sandboxes::exec`]. A file that cannot be written is no error: see [`Whole::Lost`](super::Whole::Lost).
    pub async fn exec_keeping(
        &self,
        owner: &Owner,
        handle: &Handle<'_>,
        line: CommandLine,
        past: usize,
    ) -> Result<(SandboxId, Executed, Outputs)> {
        self.line(owner, handle, line, Some(past)).await
    }

    async fn line(
        &self,
        owner: &Owner,
        handle: &Handle<'_>,
        line: CommandLine,
        past: Option<usize>,
    ) -> Result<(SandboxId, Executed, Outputs)> {
        let further = line.further.clone();
        let mut request = self.request(line)?;
        let mut call = self.begin_to_run(owner, handle).await?;
        let _place = call.admitted(&GuestName::Shell).await?;
        self.connect(&call.record, ("exec", SHELL), &mut request.context);
        let programs = self.programs(owner, &request.context, further);
        let run = async {
            let limits = &request.context.limits;
            let begun = Begun::new(&mut call, GuestName::Shell, &request.text, limits).await?;
            let executed = call.run(|machine| {
                request.context.taint.join(machine.taint());
                machine.exec(request, programs)
            });
            Ok::<_, Error>((begun, executed.await?))
        };
        let (begun, mut executed) = self.inner.admission.share(owner, run).await?;
        executed.outcome = with_fallback(executed.outcome, &call.record.spec, &self.inner.rules);
        if let Some(begun) = begun {
            call.live.history.add(begun, &executed.outcome, &self.inner.rules);
        }
        let outputs = match past {
            Some(past) => Outputs::keep(&mut call, &executed, past).await,
            None => Outputs::default(),
        };
        executed.outcome.warning = call.warning();
        let id = call.record.id.clone();
        Ok(call.answer((id, executed, outputs)).await)
    }

    /// Starts a command line that runs beside the sandbox's calls, on the same files. It begins with the shell's working
    /// folder and variables and changes neither. It ends with the sandbox's stop, restore or end.
    ///
    /// # Errors
    /// As [`Sandboxes::exec`]; `busy` when as many run as may, in the sandbox ([`Rules::jobs`](super::Rules::jobs)) or in all
    /// ([`Policy::max_jobs`](crate::Policy::max_jobs)).
    pub async fn start_job(
        &self,
        owner: &Owner,
        handle: &Handle<'_>,
        line: CommandLine,
    ) -> Result<(SandboxId, Arc<Job>)> {
        let (text, further) = (line.text.clone(), line.further.clone());
        let mut request = self.request(line)?;
        let mut call = self.begin_to_grow(owner, handle).await?;
        let id = call.record.id.clone();
        let place = self.inner.admission.job_place(owner)?;
        let admitted = self.inner.jobs.admit(owner, &id, &text, self.inner.clock.now(), &self.inner.rules)?;
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
        let job = ends.job().clone();
        self.let_run(&mut call, ends, place, running);
        Ok(call.answer((id, job)).await)
    }

    pub(super) fn let_run(&self, call: &mut Call, ends: Ends, place: Place, running: crate::sandbox::Job) {
        // As long as it runs the sandbox stays awake and this process's own.
        let stay = call.live.jobs.enter();
        let (sandboxes, resident, record) = (self.clone(), call.resident.clone(), call.record.clone());
        tokio::spawn(async move {
            let cancelled = |why: &str| Err(Error::new(ErrorCode::Cancelled, why));
            let done = tokio::select! {
                biased;
                () = stay.ended() => cancelled("the sandbox was stopped, restored or destroyed"),
                () = ends.job().cancelled() => cancelled("the job was cancelled"),
                done = sandboxes.inner.admission.share(&record.owner, running) => done,
            };
            // Who has seen the end can start another.
            drop((place, stay));
            let unsaved = match record.spec.durability {
                Durability::Call => sandboxes.save_what_a_job_did(resident, &record).await.err(),
                Durability::Delayed => None,
            };
            let told = |executed: Executed| {
                let mut outcome = with_fallback(executed.outcome, &record.spec, &sandboxes.inner.rules);
                outcome.warning = outcome.warning.or(unsaved);
                Executed { outcome, ..executed }
            };
            ends.with(done.map(told));
        });
    }

    /// Saves a sandbox in which a job has ended: beside the call that runs in it, if one does.
    async fn save_what_a_job_did(&self, resident: Arc<Resident>, record: &Sandbox) -> Result<()> {
        if self.save_beside(resident.clone()).await? {
            return Ok(());
        }
        let live = resident.live.clone().lock_owned().await;
        let call = self.enter(resident, live, (&record.owner, &record.id), Event::Call).await?;
        if call.live.changed { call.try_save().await?.1 } else { Ok(()) }
    }

    /// The jobs of a sandbox that this process knows, oldest first.
    ///
    /// # Errors
    /// `unknown_sandbox`.
    pub fn jobs(&self, owner: &Owner, handle: &Handle<'_>) -> Result<(SandboxId, Vec<Arc<Job>>)> {
        let record = self.find(owner, handle)?;
        let jobs = self.inner.jobs.of(owner, &record.id);
        Ok((record.id, jobs))
    }

    /// One job of a sandbox.
    ///
    /// # Errors
    /// `unknown_sandbox`; `not_found` for a job that this process does not know.
    pub fn job(&self, owner: &Owner, handle: &Handle<'_>, id: &str) -> Result<(SandboxId, Arc<Job>)> {
        let (sandbox, jobs) = self.jobs(owner, handle)?;
        let wanted = JobId::parse(id);
        let found = jobs.into_iter().find(|job| Some(job.id()) == wanted.as_ref());
        match found {
            Some(job) => Ok((sandbox, job)),
            None => {
                let shown: String = id.escape_debug().take(64).collect();
                Err(Error::new(ErrorCode::NotFound, format!("there is no job `{shown}`")).with_hint(
                    "only the process that started a job knows it, and it remembers the last 32 of each sandbox",
                ))
            }
        }
    }

    /// What a command line can start. The operator's programs have its network; who hears of its output hears meanwhile what they
    /// receive.
    pub(super) fn programs(
        &self,
        owner: &Owner,
        context: &RunContext,
        further: Option<Arc<dyn Programs>>,
    ) -> Arc<dyn Programs> {
        let offered = self.inner.programs.read().unwrap_or_else(PoisonError::into_inner).clone();
        let (sink, network) = (context.output.clone(), context.network.clone());
        Arc::new(OwnersPrograms { owner: owner.clone(), offered, sink, network, further })
    }

    /// The request for a command line, within what the operator allows.
    pub(super) fn request(&self, line: CommandLine) -> Result<LineRequest> {
        let CommandLine { text, directory, stdin, wall, output, sink, taint, .. } = line;
        if text.len() > CommandLine::MAX_TEXT {
            let most = CommandLine::MAX_TEXT;
            let message = format!("the command line has {} bytes, at most {most} are taken", text.len());
            return Err(
                Error::new(ErrorCode::TooLarge, message).with_hint("write a script into a file and run that")
            );
        }
        let (policy, most) = (self.inner.admission.policy(), self.inner.rules.command);
        if wall < Limits::MIN_WALL || wall > most {
            let ms = |time: Duration| time.as_millis();
            return Err(Error::args_invalid(format!(
                "the wall-clock limit of {} ms is outside {} to {} ms",
                ms(wall),
                ms(Limits::MIN_WALL),
                ms(most)
            ))
            .with_hint(if wall > most {
                "start it as a job and ask for its output, or split the work"
            } else {
                "leave the limit out to have the usual one"
            }));
        }
        let mut request = LineRequest::new(text);
        request.context.limits =
            Limits { wall, output: output.min(policy.ceiling.output), ..policy.defaults.clone() };
        request.context.grants = Grants { stdin, directory, ..Grants::default() };
        (request.context.output, request.context.taint) = (sink, taint);
        request.check()?;
        Ok(request)
    }
}
