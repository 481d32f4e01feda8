//! The operator's numbers for sandboxes, and the clock they are measured by.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::effective::MountRule;
use crate::Policy;
use crate::sandbox::{ProviderName, Quota, SandboxSpec, Timestamp};

/// How many sandboxes there may be, and how long they are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules {
    /// How many there may be. Default 100 of an owner, 10 000 in all, 100 checkpoints of each.
    pub quota: Quota,
    /// What a sandbox is that nothing is asked of.
    pub defaults: SandboxSpec,
    /// The most that can be asked: memory, disk, files, idle time, retention, processor time and processes. Default 512 MiB,
    /// 4 GiB, 200 000, 24 hours, 30 days, 4 cores, 1 024. Memory is never more than the [`Policy`]'s ceiling, and binds
    /// sandboxes that were made under another as well.
    pub ceiling: SandboxSpec,
    /// Memory of a container in bytes: what one has that nothing is asked of, and the most that can be asked. Default 2 GiB.
    pub container_memory: u64,
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
    /// Sandboxes whose interpreters are in memory at one time; the one that was not called for longest is dropped first.
    /// Default 64.
    pub awake: usize,
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
    /// Whether a sandbox of a provider that cannot be had goes on with wasm, which isolates no less (S3-16). Its outcomes
    /// say so. Default true.
    pub fallback: bool,
}

const HOUR: Duration = Duration::from_secs(3600);

impl Default for Rules {
    fn default() -> Self {
        Self {
            quota: Quota { per_owner: 100, in_all: 10_000, checkpoints: 100 },
            defaults: SandboxSpec::default(),
            ceiling: SandboxSpec {
                disk: 4 << 30,
                files: 200_000,
                idle: 24 * HOUR,
                retention: 30 * 24 * HOUR,
                cpu_millis: 4_000,
                processes: 1_024,
                ..SandboxSpec::default()
            },
            container_memory: 2 << 30,
            mounts: MountRule::AsAsked,
            waiting: 32,
            patience: Duration::from_secs(5),
            closing: Duration::from_secs(30),
            stop_grace: Duration::from_secs(5),
            save_after: Duration::from_secs(1),
            hibernate_after: Duration::from_secs(60),
            awake: 64,
            history: 16,
            history_bytes: 32 << 20,
            unused: 24 * HOUR,
            command: HOUR / 6,
            jobs: 4,
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

    /// The most memory of a sandbox, in bytes.
    pub fn most_memory(&self, provider: ProviderName) -> u64 {
        match provider {
            ProviderName::Wasm => self.ceiling.memory,
            ProviderName::Docker => self.container_memory,
        }
    }
}

/// Tells the time. Tests drive one of their own.
pub trait Clock: Send + Sync {
    /// Now.
    fn now(&self) -> Timestamp;
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
