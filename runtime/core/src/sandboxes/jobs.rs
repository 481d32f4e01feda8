//! Jobs: command lines that run beside a sandbox's calls, known by their process for a while after they have ended.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;

use super::Rules;
use crate::sandbox::{Executed, SandboxId, Timestamp};
use crate::{Error, ErrorCode, OutputSink, Result, Stream};

/// Jobs of one sandbox that are remembered; the oldest that has ended is forgotten first.
const REMEMBERED: usize = 32;
/// Jobs of all sandboxes that are remembered.
const IN_ALL: usize = 1_024;
/// The last bytes that are kept of each stream of a job (64 KiB).
const KEPT: usize = 64 << 10;
/// How long jobs may take to end when their sandbox is stopped.
const ENDING: std::time::Duration = std::time::Duration::from_secs(2);

/// The id of a job: `job-` and its number in its process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct JobId(String);

impl JobId {
    /// Reads an id.
    pub fn parse(text: &str) -> Option<Self> {
        let number = text.strip_prefix("job-")?;
        let fits = !number.is_empty() && number.len() <= 20 && number.bytes().all(|b| b.is_ascii_digit());
        fits.then(|| Self(text.into()))
    }

    /// The id.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A job, running or ended.
pub struct Job {
    id: JobId,
    command: String,
    started_at: Timestamp,
    cancel: CancellationToken,
    state: Mutex<State>,
    changed: tokio::sync::Notify,
}

#[derive(Default)]
struct State {
    stdout: Tail,
    stderr: Tail,
    ended: Option<(Arc<Result<Executed>>, Timestamp)>,
}

/// The end of a stream.
#[derive(Default)]
struct Tail {
    kept: VecDeque<u8>,
    total: u64,
}

impl Tail {
    fn add(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let fresh = &bytes[bytes.len().saturating_sub(KEPT)..];
        let over = (self.kept.len() + fresh.len()).saturating_sub(KEPT);
        self.kept.drain(..over);
        self.kept.extend(fresh);
    }

    fn from(&self, offset: u64) -> Part {
        let first = self.total - self.kept.len() as u64;
        let skip = usize::try_from(offset.saturating_sub(first)).unwrap_or(usize::MAX).min(self.kept.len());
        let bytes: Vec<u8> = self.kept.iter().skip(skip).copied().collect();
        Part {
            offset: first + skip as u64,
            text: String::from_utf8_lossy(&bytes).into_owned(),
            total_bytes: self.total,
        }
    }
}

/// A part of a job's output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Where it begins, in bytes; later than asked when what came before is no longer kept.
    pub offset: u64,
    /// The text, at most 64 KiB; what is not UTF-8 is shown as U+FFFD.
    pub text: String,
    /// Bytes that the job has written so far.
    pub total_bytes: u64,
}

impl Job {
    /// Its id.
    pub fn id(&self) -> &JobId {
        &self.id
    }

    /// The command line.
    pub fn command(&self) -> &str {
        &self.command
    }

    /// When it was started.
    pub fn started_at(&self) -> Timestamp {
        self.started_at
    }

    /// How it ended, and when; none: it runs.
    pub fn ended(&self) -> Option<(Arc<Result<Executed>>, Timestamp)> {
        self.state().ended.clone()
    }

    /// What it has written from an offset in bytes on, as far as it is kept.
    pub fn output(&self, stream: Stream, offset: u64) -> Part {
        let state = self.state();
        match stream {
            Stream::Stdout => state.stdout.from(offset),
            Stream::Stderr => state.stderr.from(offset),
        }
    }

    /// Ends it. One that has ended stays as it is.
    pub fn cancel(&self) {
        self.cancel.cancel();
    }

    /// Waits until it has ended.
    pub async fn wait(&self) {
        loop {
            let changed = self.changed.notified();
            if self.state().ended.is_some() {
                return;
            }
            changed.await;
        }
    }

    pub(super) async fn cancelled(&self) {
        self.cancel.cancelled().await;
    }

    pub(super) fn end(&self, done: Result<Executed>, at: Timestamp) {
        self.state().ended = Some((Arc::new(done), at));
        self.changed.notify_waiters();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OutputSink for Job {
    fn write(&self, stream: Stream, bytes: &[u8]) {
        let mut state = self.state();
        match stream {
            Stream::Stdout => state.stdout.add(bytes),
            Stream::Stderr => state.stderr.add(bytes),
        }
    }
}

/// The jobs that this process knows.
#[derive(Default)]
pub(super) struct Jobs {
    known: Mutex<HashMap<SandboxId, VecDeque<Arc<Job>>>>,
    last: AtomicUsize,
}

impl Jobs {
    /// A new job, if as many do not run already.
    ///
    /// # Errors
    /// `busy`.
    pub(super) fn admit(
        &self,
        sandbox: &SandboxId,
        command: &str,
        now: Timestamp,
        rules: &Rules,
    ) -> Result<Arc<Job>> {
        let mut known = self.known();
        let in_all = known.values().map(VecDeque::len).sum::<usize>();
        if in_all >= IN_ALL {
            known.values_mut().for_each(|jobs| jobs.retain(|job| job.ended().is_none()));
            known.retain(|_, jobs| !jobs.is_empty());
        }
        let jobs = known.entry(sandbox.clone()).or_default();
        let running = jobs.iter().filter(|job| job.ended().is_none()).count();
        if running >= rules.jobs {
            return Err(Error::new(ErrorCode::Busy, format!("{running} jobs run in the sandbox already"))
                .with_hint("wait for one of them to end, or cancel it"));
        }
        if jobs.len() >= REMEMBERED
            && let Some(at) = jobs.iter().position(|job| job.ended().is_some())
        {
            jobs.remove(at);
        }
        let number = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        let job = Arc::new(Job {
            id: JobId(format!("job-{number}")),
            command: command.to_owned(),
            started_at: now,
            cancel: CancellationToken::new(),
            state: Mutex::default(),
            changed: tokio::sync::Notify::new(),
        });
        jobs.push_back(job.clone());
        Ok(job)
    }

    pub(super) fn forget(&self, sandbox: &SandboxId, id: &JobId) {
        if let Some(jobs) = self.known().get_mut(sandbox) {
            jobs.retain(|job| job.id() != id);
        }
    }

    pub(super) fn of(&self, sandbox: &SandboxId) -> Vec<Arc<Job>> {
        self.known().get(sandbox).map(|jobs| jobs.iter().cloned().collect()).unwrap_or_default()
    }

    fn known(&self) -> MutexGuard<'_, HashMap<SandboxId, VecDeque<Arc<Job>>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The jobs that run on the machine that is in memory.
#[derive(Default)]
pub(super) struct Running {
    count: Arc<Count>,
    end: CancellationToken,
}

#[derive(Default)]
struct Count {
    running: AtomicUsize,
    /// Told of each one that ends.
    ended: tokio::sync::Notify,
}

impl Running {
    /// Whether any runs.
    pub(super) fn any(&self) -> bool {
        self.count.running.load(Ordering::Acquire) > 0
    }

    /// One more, for as long as the answer lives.
    pub(super) fn enter(&self) -> Stay {
        self.count.running.fetch_add(1, Ordering::AcqRel);
        Stay { count: self.count.clone(), end: self.end.clone() }
    }

    /// Ends them all: the machine is about to go.
    pub(super) fn end(&mut self) {
        self.end.cancel();
        *self = Self::default();
    }

    /// The same, and waits until none of them does anything any more, for at most [`ENDING`].
    pub(super) async fn end_and_wait(&mut self) {
        self.end.cancel();
        let all = async {
            loop {
                let ended = self.count.ended.notified();
                if !self.any() {
                    return;
                }
                ended.await;
            }
        };
        if tokio::time::timeout(ENDING, all).await.is_err() {
            tracing::warn!("jobs of a sandbox that is being stopped have not ended");
        }
        *self = Self::default();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end.cancel();
    }
}

/// A job's time on a machine.
pub(super) struct Stay {
    count: Arc<Count>,
    end: CancellationToken,
}

impl Stay {
    pub(super) async fn ended(&self) {
        self.end.cancelled().await;
    }
}

impl Drop for Stay {
    fn drop(&mut self) {
        self.count.running.fetch_sub(1, Ordering::AcqRel);
        self.count.ended.notify_waiters();
    }
}
