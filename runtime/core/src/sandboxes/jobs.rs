//! Jobs: command lines that run beside a sandbox's calls, known by their process for a while after they have ended.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;

use super::{Clock, Rules};
use crate::sandbox::{Executed, JobId, Owner, SandboxId, Timestamp};
use crate::{Error, ErrorCode, OutputSink, Result, Stream};

/// Jobs of one sandbox that are remembered; the oldest that has ended is forgotten first.
const REMEMBERED: usize = 32;
/// Jobs of all sandboxes of one owner that are remembered. Those of others do not count.
const OF_OWNER: usize = 1_024;
/// The last bytes that are kept of each stream of a job (64 KiB).
const KEPT: usize = 64 << 10;
/// How long jobs may take to end when their sandbox is stopped.
const ENDING: std::time::Duration = std::time::Duration::from_secs(2);
/// Characters kept of a job's command line.
const COMMAND: usize = 200;

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

    /// The beginning of the command line, at most 200 characters.
    pub fn command(&self) -> &str {
        &self.command
    }

    /// When it was started.
    pub fn started_at(&self) -> Timestamp {
        self.started_at
    }

    /// How it ended, and when; none: it runs. The outcome's streams have no text: see [`Job::output`].
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

    /// Notes how it ended, if that is not known yet. What it wrote is kept as far as [`Job::output`] shows it.
    pub(super) fn end(&self, mut done: Result<Executed>, at: Timestamp) {
        if let Ok(executed) = &mut done {
            executed.outcome.stdout.text = String::new();
            executed.outcome.stderr.text = String::new();
        }
        self.state().ended.get_or_insert_with(|| (Arc::new(done), at));
        self.changed.notify_waiters();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OutputSink for Job {
    fn keeps(&self) -> bool {
        true
    }

    fn write(&self, stream: Stream, bytes: &[u8]) {
        let mut state = self.state();
        match stream {
            Stream::Stdout => state.stdout.add(bytes),
            Stream::Stderr => state.stderr.add(bytes),
        }
    }
}

/// The jobs of one sandbox, oldest first.
type OfSandbox = VecDeque<Arc<Job>>;

/// The jobs that this process knows.
#[derive(Default)]
pub(super) struct Jobs {
    known: Mutex<HashMap<Owner, HashMap<SandboxId, OfSandbox>>>,
}

impl Jobs {
    /// A new job, if as many do not run already. Until it has begun it is forgotten when the answer is dropped.
    ///
    /// # Errors
    /// `busy`.
    pub(super) fn admit(
        &self,
        owner: &Owner,
        sandbox: &SandboxId,
        command: &str,
        now: Timestamp,
        rules: &Rules,
    ) -> Result<Admitted<'_>> {
        let id = JobId::random()?;
        let mut known = self.known();
        let theirs = known.entry(owner.clone()).or_default();
        if theirs.values().map(VecDeque::len).sum::<usize>() >= OF_OWNER {
            forget_oldest(theirs);
        }
        let jobs = theirs.entry(sandbox.clone()).or_default();
        let running = jobs.iter().filter(|job| job.ended().is_none()).count();
        if running >= rules.jobs {
            return Err(Error::new(
                ErrorCode::Busy,
                format!("{running} jobs are already running in the sandbox"),
            )
            .with_hint("wait for one of them to end, or cancel it"));
        }
        if jobs.len() >= REMEMBERED
            && let Some(at) = jobs.iter().position(|job| job.ended().is_some())
        {
            jobs.remove(at);
        }
        let job = Arc::new(Job {
            id,
            command: command.chars().take(COMMAND).collect(),
            started_at: now,
            cancel: CancellationToken::new(),
            state: Mutex::default(),
            changed: tokio::sync::Notify::new(),
        });
        jobs.push_back(job.clone());
        Ok(Admitted { jobs: self, owner: owner.clone(), sandbox: sandbox.clone(), job, begun: false })
    }

    /// Forgets all jobs of a sandbox that is no more.
    pub(super) fn forget(&self, owner: &Owner, sandbox: &SandboxId) {
        let mut known = self.known();
        if let Some(theirs) = known.get_mut(owner) {
            theirs.remove(sandbox);
            if theirs.is_empty() {
                known.remove(owner);
            }
        }
    }

    pub(super) fn of(&self, owner: &Owner, sandbox: &SandboxId) -> Vec<Arc<Job>> {
        let known = self.known();
        let jobs = known.get(owner).and_then(|theirs| theirs.get(sandbox));
        jobs.map(|jobs| jobs.iter().cloned().collect()).unwrap_or_default()
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.known().is_empty()
    }

    fn known(&self) -> MutexGuard<'_, HashMap<Owner, HashMap<SandboxId, OfSandbox>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A job that is being started.
pub(super) struct Admitted<'a> {
    jobs: &'a Jobs,
    owner: Owner,
    sandbox: SandboxId,
    job: Arc<Job>,
    begun: bool,
}

impl Admitted<'_> {
    /// What is to receive its output.
    pub(super) fn sink(&self) -> Arc<dyn OutputSink> {
        self.job.clone()
    }

    /// From now on somebody sees to its end.
    pub(super) fn begin(mut self, clock: Arc<dyn Clock>) -> Ends {
        self.begun = true;
        Ends { job: self.job.clone(), clock }
    }
}

impl Drop for Admitted<'_> {
    fn drop(&mut self) {
        let mut known = self.jobs.known();
        if !self.begun
            && let Some(jobs) = known.get_mut(&self.owner).and_then(|theirs| theirs.get_mut(&self.sandbox))
        {
            jobs.retain(|job| job.id() != self.job.id());
        }
    }
}

/// A job that runs. However it ends, it has ended when this is dropped.
pub(super) struct Ends {
    job: Arc<Job>,
    clock: Arc<dyn Clock>,
}

impl Ends {
    /// The job.
    pub(super) fn job(&self) -> &Arc<Job> {
        &self.job
    }

    /// How it ended.
    pub(super) fn with(self, done: Result<Executed>) {
        self.job.end(done, self.clock.now());
    }
}

impl Drop for Ends {
    fn drop(&mut self) {
        self.job
            .end(Err(Error::new(ErrorCode::Internal, "the job was not run to its end")), self.clock.now());
    }
}

/// Forgets the job of an owner that has ended and was started first, and sandboxes without jobs.
fn forget_oldest(theirs: &mut HashMap<SandboxId, OfSandbox>) {
    let ended = |jobs: &OfSandbox| jobs.iter().position(|job| job.ended().is_some());
    let oldest = theirs.iter_mut().filter_map(|(_, jobs)| Some((ended(jobs)?, jobs)));
    if let Some((at, jobs)) = oldest.min_by_key(|(at, jobs)| jobs.get(*at).map(|job| job.started_at)) {
        jobs.remove(at);
    }
    theirs.retain(|_, jobs| !jobs.is_empty());
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::ManualClock;

    fn ended(jobs: &Jobs, owner: &Owner, sandbox: &SandboxId, at: u64) -> Arc<Job> {
        let admitted = jobs.admit(owner, sandbox, "true", Timestamp(at), &Rules::default()).unwrap();
        let ends = admitted.begin(Arc::new(ManualClock::default()));
        let job = ends.job().clone();
        ends.with(Err(Error::new(ErrorCode::Cancelled, "ended")));
        job
    }

    /// P4: neither ids nor what is remembered tell of other owners, or depend on them.
    #[test]
    fn mcp_07_jobs_of_one_owner_leave_those_of_others_alone() {
        let (jobs, ann, bob) = (Jobs::default(), Owner::parse("ann").unwrap(), Owner::parse("bob").unwrap());
        let anns = SandboxId::random().unwrap();
        let kept = ended(&jobs, &ann, &anns, 0);
        let bobs: Vec<_> = (0..40).map(|_| SandboxId::random().unwrap()).collect();
        for (at, sandbox) in (1..).zip(bobs.iter().cycle().take(40 * REMEMBERED)) {
            assert_ne!(ended(&jobs, &bob, sandbox, at).id(), kept.id());
        }
        assert_eq!(jobs.of(&ann, &anns).len(), 1, "forgotten because of another owner's jobs");
        let remembered: usize = bobs.iter().map(|sandbox| jobs.of(&bob, sandbox).len()).sum();
        assert_eq!(remembered, OF_OWNER);
        assert!(jobs.of(&bob, &anns).is_empty(), "another owner's sandbox has no jobs of one's own");
        let oldest = bobs.iter().flat_map(|sandbox| jobs.of(&bob, sandbox)).map(|job| job.started_at());
        assert!(oldest.min().unwrap() > Timestamp(40), "the oldest go first");
    }
}
