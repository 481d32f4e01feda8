//! Command lines in a sandbox's container, one after the other and beside each other.
//!
//! Owns: what a time limit, a memory limit and a caller who gives up come to. What a line leaves running in the background
//! goes on until a later line is cut off, the sandbox is reset, or its container ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use dormouse_core::sandbox::{Executed, Job};
use dormouse_core::{Error, ErrorCode, LineRequest, Outcome, Recovery, Result, Status, Usage};
use tokio::time::timeout;

use crate::counter::{kills, out_of_memory};
use crate::ended;
use crate::exec::{self, run_own};
use crate::line::{self, Marks, STATE};
use crate::machine::ContainerMachine;
use crate::number::random;
use crate::port::Container;
use crate::program::{Exec, KILLED, NOT_STARTED, Written};
use crate::running::{Running, Sessions, Sweeping};

/// Longest line, in bytes: Linux takes no longer argument.
const MAX_LINE: usize = 120 << 10;
/// How long a command waits before it is started again that the engine could not start.
const ATTEMPTS: [Duration; 3] =
    [Duration::from_millis(100), Duration::from_millis(300), Duration::from_secs(1)];
/// Characters of the engine's own words that an error repeats.
const SAID: usize = 300;
/// Within this time a command of any container has begun.
const STARTS: Duration = Duration::from_secs(2);

/// A line that is ready to run.
struct Line {
    container: Arc<dyn Container>,
    exec: Exec,
    request: LineRequest,
    mark: String,
    sessions: Sessions,
    sweeping: Sweeping,
    known: Arc<AtomicI64>,
    /// Its name, as answers say it.
    provider: &'static str,
}

impl ContainerMachine {
    /// Runs a line in the shell that lasts.
    pub(crate) async fn run_line(&mut self, request: LineRequest) -> Result<Executed> {
        self.line(request, true)?.run().await
    }

    /// A line that changes neither folder nor variables.
    pub(crate) fn line_beside(&mut self, request: LineRequest) -> Result<Job> {
        let line = self.line(request, false)?;
        // Until it is polled nothing runs, and nothing is to be ended.
        Ok(Box::pin(line.run()))
    }

    /// Forgets the shell's folder and variables.
    pub(crate) async fn forget_shell(&mut self) -> Result<()> {
        let argv = ["rm", "-rf", "--", STATE].map(str::to_owned);
        run_own(self.container.as_ref(), argv.into(), Vec::new()).await.map(|_| ())
    }

    fn line(&self, mut request: LineRequest, keep: bool) -> Result<Line> {
        if request.text.len() > MAX_LINE {
            return Err(Error::new(
                ErrorCode::TooLarge,
                format!("the command line has {} bytes, at most {MAX_LINE} are taken", request.text.len()),
            )
            .with_hint("write it to a file of the sandbox, and run that"));
        }
        if request.text.contains('\0') {
            return Err(Error::args_invalid("the command line holds a NUL byte"));
        }
        let mark = random()?;
        let folder = request.context.grants.directory.as_ref().map(|folder| folder.as_str());
        let argv = line::argv(self.container.has("bash"), &request.text, &mark, folder, keep);
        let variables = self.spec.environment.iter().chain(&request.context.grants.environment);
        let exec = Exec {
            argv,
            environment: variables.map(|(name, value)| format!("{name}={value}")).collect(),
            directory: None,
            input: std::mem::take(&mut request.context.grants.stdin).into(),
            most: request.context.limits.output,
            sink: request.context.output.take(),
            marks: None,
            starts: Some(self.sessions.starts.clone()),
        };
        let (sessions, sweeping) = (self.sessions.clone(), self.sweeping.clone());
        let known = self.kills.clone();
        let (container, provider) = (self.container.clone(), self.engine.name());
        Ok(Line { container, exec, request, mark, sessions, sweeping, known, provider })
    }
}

impl Line {
    async fn run(self) -> Result<Executed> {
        let Self { container, mut exec, request, mark, sessions, sweeping, known, provider } = self;
        let begin = Instant::now();
        let session = sessions.enter();
        exec.marks = Some(Marks::new(mark, session.number.clone()));
        let running = Running::new(&container, &sessions, &sweeping, session);
        let wall = request.context.limits.wall;
        let mut written = Written::default();
        let ran = timeout(wall, start_and_run(container.as_ref(), &exec, &mut written)).await;
        let status = match ran {
            // Nothing of it had begun: it is the engine that has taken the time.
            Err(_) if !begun(&written) && wall >= STARTS => {
                return Err(container.patience().slow("start a command in a container", wall));
            }
            Err(_) => {
                // The sweep goes on in the background; the next call waits for it.
                drop(running);
                Status::Stopped(
                    Error::new(
                        ErrorCode::LimitTime,
                        format!("the wall-clock limit of {} ms was reached", wall.as_millis()),
                    )
                    .with_hint("raise the time limit, or run it as a job"),
                )
            }
            // The engine could not start it, or lost it.
            Ok(Err(_))
                if written.marks.as_ref().is_none_or(|marks| marks.begin.is_none())
                    && container.is_full().await =>
            {
                Status::Stopped(out_of_memory(container.as_ref()))
            }
            // It was under way: what it wrote since the last save may be gone with the container.
            Ok(Err(error)) if begun(&written) => {
                Status::Stopped(ended::with_engine(container.as_ref(), error).await)
            }
            Ok(Err(error)) => return Err(error),
            Ok(Ok(())) => {
                let _session = running.done();
                match ended_with(container.as_ref(), &written).await {
                    Some(error) => Status::Stopped(error),
                    None => ended(container.as_ref(), &written, &known).await?,
                }
            }
        };
        let lost =
            matches!(&status, Status::Stopped(error) if error.code() == ErrorCode::ProviderUnavailable);
        let usage = Usage { wall: begin.elapsed(), ..Usage::default() };
        let outcome = Outcome {
            status,
            stdout: written.stdout.captured(),
            stderr: written.stderr.captured(),
            usage,
            provider,
            fallback_from: None,
            recovery: lost.then_some(Recovery::Earlier),
            warning: None,
            closed_files: Vec::new(),
            recovery_reason: None,
            network: None,
        };
        Ok(Executed { outcome, missing: Vec::new(), elsewhere: Vec::new() })
    }
}

/// Runs a line; again, a little later, while the engine cannot start it: nothing of it has run, and what kept it out, such as a
/// full table of processes, may pass.
///
/// # Errors
/// `provider_unavailable`.
async fn start_and_run(container: &dyn Container, exec: &Exec, written: &mut Written) -> Result<()> {
    let mut pauses = ATTEMPTS.into_iter();
    loop {
        exec::run(container, exec.clone(), written).await?;
        // A container that is full has an error of its own.
        if written.code != Some(NOT_STARTED) || begun(written) || container.is_full().await {
            return Ok(());
        }
        let Some(pause) = pauses.next() else { break };
        *written = Written::default();
        tokio::time::sleep(pause).await;
    }
    let said: String = written.stdout.text().trim().chars().take(SAID).collect();
    let message = format!("a command cannot be started in the container: {}", said.escape_debug());
    Err(Error::new(ErrorCode::ProviderUnavailable, message)
        .with_hint("call again; if it goes on, reset the sandbox, which ends what runs in it"))
}

fn begun(written: &Written) -> bool {
    written.marks.as_ref().is_some_and(|marks| marks.begin.is_some())
}

/// The error, if a line that did not say that it ended was ended with its container.
async fn ended_with(container: &dyn Container, written: &Written) -> Option<Error> {
    let said = written.marks.as_ref().is_some_and(|marks| marks.end.is_some());
    let killed = written.code.is_none_or(|code| code == KILLED || code == NOT_STARTED);
    if said || !killed { None } else { ended::with_container(container).await }
}

/// How a line ended that was not cut off.
///
/// Whether the kernel killed one of its processes is read from the container's control group, before the line and after it:
/// events of the engine come late, and its own flag is about the container's first process alone.
async fn ended(container: &dyn Container, written: &Written, known: &AtomicI64) -> Result<Status> {
    let code = written.code.unwrap_or(KILLED);
    let marks = written.marks.as_ref();
    let begin = marks.and_then(|marks| marks.begin.as_ref());
    let before = begin.map_or(-1, |begin| begin.kills);
    let after = match marks.and_then(|marks| marks.end.as_ref()) {
        Some(end) => end.kills,
        None if code == KILLED && before >= 0 => kills(container).await?,
        None => -1,
    };
    known.fetch_max(after, Ordering::AcqRel);
    // There may have been no container even for the shell to begin, or for what reads the counter.
    let unknown = if begin.is_none() { code != 0 } else { code == KILLED && after < 0 };
    if unknown && container.is_full().await {
        return Ok(Status::Stopped(out_of_memory(container)));
    }
    if code != 0 && before >= 0 && after > before {
        return Ok(Status::Stopped(out_of_memory(container)));
    }
    Ok(Status::Exited(i32::try_from(code).unwrap_or(1)))
}

impl ContainerMachine {
    /// Whether the kernel killed a process for want of memory since this was looked at last.
    pub(crate) async fn was_out_of_memory(&mut self) -> Result<bool> {
        let now = kills(self.container.as_ref()).await?;
        Ok(self.kills.fetch_max(now, Ordering::AcqRel) < now)
    }

    pub(crate) fn out_of_memory(&self) -> Error {
        out_of_memory(self.container.as_ref())
    }
}
