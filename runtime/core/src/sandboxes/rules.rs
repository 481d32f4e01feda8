//! The operator's numbers for sandboxes, and the clock they are measured by.

use std::collections::BTreeMap;
use std::sync::LazyLock;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::effective::MountRule;
use crate::Policy;
use crate::sandbox::{CheckpointId, ProviderName, Quota, RunBudget, SandboxSpec, Timestamp};

/// A sandbox that is called all the time is saved after so many times the time that others are.
const LATEST: u32 = 10;
/// What cannot be saved is tried again after a time that doubles so often: a minute.
const LONGEST_WAIT: u32 = 6;

/// How many sandboxes there may be, and how long they are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules {
    /// How much there may be. Default 100 of an owner, 10 000 in all, 100 checkpoints of each, as many bytes as fit the machine.
    pub quota: Quota,
    /// What a sandbox is that nothing is asked of.
    pub defaults: SandboxSpec,
    /// The most that can be asked: memory, disk, files, idle time, retention, processor time and processes. Default 512 MiB,
    /// 256 MiB, 200 000, 24 hours, 30 days, 4 cores, 1 024. Memory is never more than the [`Policy`]'s ceiling, and binds
    /// sandboxes that were made under another as well.
    pub ceiling: SandboxSpec,
    /// Memory of a container in bytes: what one has that nothing is asked of, and the most that can be asked. Default 2 GiB.
    pub container_memory: u64,
    /// Checkpoints that a new sandbox of any owner can begin with, by the names that are given as `image`. Default none.
    pub images: BTreeMap<String, CheckpointId>,
    /// Which folders of the host sandboxes see, looked at whenever one wakes. Default: those that their specs name.
    pub mounts: MountRule,
    /// Calls that may wait for one sandbox; more are refused with `busy`. Default 32.
    pub waiting: usize,
    /// How long a call waits for a sandbox that another process is using. Default 5 s.
    pub patience: Duration,
    /// How long a server that ends goes on saving; what is not saved by then is lost. Default 30 s.
    pub closing: Duration,
    /// How long a caller's stop waits for the calls before it; then it ends them. Default 5 s.
    pub stop_grace: Duration,
    /// Without calls for this long a sandbox is saved and its lease given back; one that is called all the time is saved
    /// between two calls after ten times as long. What a process that is killed can lose is what came after. Default 1 s.
    pub save_after: Duration,
    /// Without calls for this long its interpreters are dropped; it wakes from what was saved. Default 60 s.
    pub hibernate_after: Duration,
    /// Interpreters of sandboxes that are in memory at one time; a sandbox without any that has its files there counts as
    /// one. The sandbox that was not called for longest is put down first. Default 128.
    pub awake: usize,
    /// Sandboxes that are running containers at one time, likewise. Default 64.
    pub containers: usize,
    /// Runs of an awake sandbox that can be undone. Default 16; 0 keeps none.
    pub history: usize,
    /// Bytes of the states that undoing takes, for each sandbox, counted without what they share. Default 32 MiB.
    pub history_bytes: u64,
    /// A sandbox that was never called is destroyed after this. Default 24 hours.
    pub unused: Duration,
    /// The longest wall-clock limit of a command line. Default 10 minutes.
    pub command: Duration,
    /// Jobs that may run beside the calls of one sandbox. Default 4.
    pub jobs: usize,
    /// Runs of one owner that may go on at one time. Default 1,000.
    pub runs: u32,
    /// What all runs of one owner may take in 24 hours.
    pub run_budget: RunBudget,
    /// Whether a sandbox of a provider that cannot be had goes on with wasm, which isolates no less (S3-16). Its outcomes
    /// say so. Default true.
    pub fallback: bool,
}

const HOUR: Duration = Duration::from_secs(3600);

impl Default for Rules {
    fn default() -> Self {
        Self {
            quota: Quota::default(),
            defaults: SandboxSpec::default(),
            ceiling: SandboxSpec {
                files: 200_000,
                idle: 24 * HOUR,
                retention: 30 * 24 * HOUR,
                cpu_millis: 4_000,
                processes: 1_024,
                ..SandboxSpec::default()
            },
            container_memory: 2 << 30,
            images: BTreeMap::new(),
            mounts: MountRule::AsAsked,
            waiting: 32,
            patience: Duration::from_secs(5),
            closing: Duration::from_secs(30),
            stop_grace: Duration::from_secs(5),
            save_after: Duration::from_secs(1),
            hibernate_after: Duration::from_secs(60),
            awake: 128,
            containers: 64,
            history: 16,
            history_bytes: 32 << 20,
            unused: 24 * HOUR,
            command: HOUR / 6,
            jobs: 4,
            runs: 1_000,
            run_budget: RunBudget::default(),
            fallback: true,
        }
    }
}

impl Rules {
    /// The same under a policy: nobody gets more memory than its ceiling, asked for or not.
    pub(super) fn under(mut self, policy: &Policy) -> Self {
        self.ceiling.memory = self.ceiling.memory.min(policy.ceiling.memory);
        if self.defaults.provider == ProviderName::Wasm {
            self.defaults.memory = self.defaults.memory.min(self.ceiling.memory);
        }
        self
    }

    /// Whether what has not been saved since then is to be saved also where calls come without a pause.
    pub(super) fn is_late(&self, since: Duration, now: Duration) -> bool {
        since + self.save_after * LATEST <= now
    }

    /// Whether what could not be saved so often, and then the last time, is not to be tried again yet: a disk that is full is
    /// not asked four times a second whether it still is.
    pub(super) fn backs_off(&self, (failed, at): (u32, Duration), now: Duration) -> bool {
        failed > 0 && at + self.save_after * (1 << failed.min(LONGEST_WAIT)) > now
    }

    /// The most memory of a sandbox, in bytes.
    pub fn most_memory(&self, provider: ProviderName) -> u64 {
        match provider {
            ProviderName::Wasm => self.ceiling.memory,
            ProviderName::Docker | ProviderName::Kubernetes => self.container_memory,
        }
    }

    /// The memory of a sandbox that asks for none, in bytes: of one that others than the operator's usual provider run too.
    pub fn usual_memory(&self, provider: ProviderName) -> u64 {
        match provider {
            _ if provider == self.defaults.provider => self.defaults.memory,
            ProviderName::Wasm => SandboxSpec::default().memory.min(self.ceiling.memory),
            ProviderName::Docker | ProviderName::Kubernetes => self.container_memory,
        }
    }
}

/// Tells the time. Tests drive one of their own.
pub trait Clock: Send + Sync {
    /// Now.
    fn now(&self) -> Timestamp;

    /// How long this process has run, by a clock that nobody can set. Default: the system's monotonic clock, which stands still
    /// while the machine sleeps.
    fn uptime(&self) -> Duration {
        static BEGIN: LazyLock<Instant> = LazyLock::new(Instant::now);
        BEGIN.elapsed()
    }
}

/// The system's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }
}

impl Timestamp {
    /// This much later.
    #[must_use]
    pub fn after(self, time: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(time.as_millis()).unwrap_or(u64::MAX)))
    }
}
