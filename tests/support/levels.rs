//! What this process holds: memory of its own, descriptors, threads. Hostile cases must leave them where they were.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// One reading.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Levels {
    /// Private memory, in KiB.
    pub memory: u64,
    /// Open descriptors.
    pub descriptors: u64,
    /// Threads.
    pub threads: u64,
}

impl Levels {
    /// What this process holds now.
    pub fn now() -> Self {
        Self::of("self")
    }

    /// What a process holds now, by its number or `self`.
    ///
    /// # Panics
    /// When it has ended: what is left of it until somebody has waited for it holds nothing.
    #[track_caller]
    pub fn of(process: &str) -> Self {
        let gone = || format!("process {process} has ended, and is to be looked at");
        let status =
            fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_else(|_| panic!("{}", gone()));
        let line = |name: &str| status.lines().find_map(|line| line.strip_prefix(name));
        // One that has ended has no memory: the line is missing.
        let field = |name: &str| {
            let line = line(name).unwrap_or_else(|| panic!("{}: {:?}", gone(), line("State:")));
            line.split_whitespace().next().and_then(|number| number.parse().ok()).expect("a number")
        };
        let descriptors =
            fs::read_dir(format!("/proc/{process}/fd")).unwrap_or_else(|_| panic!("{}", gone()));
        Self {
            memory: field("RssAnon:"),
            descriptors: descriptors.count() as u64,
            threads: field("Threads:"),
        }
    }

    /// Waits until no level lies above `self` by more than `slack`.
    ///
    /// # Errors
    /// The levels, when they have not come down within `patience`.
    pub fn regained(&self, slack: &Levels, patience: Duration) -> Result<(), String> {
        let end = Instant::now() + patience;
        loop {
            let now = Self::now();
            let back = now.memory <= self.memory + slack.memory
                && now.descriptors <= self.descriptors + slack.descriptors
                && now.threads <= self.threads + slack.threads;
            if back {
                return Ok(());
            }
            if Instant::now() > end {
                return Err(format!("before {self:?}, after {now:?}, allowed on top {slack:?}"));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Notes the highest levels while something runs.
pub struct Watch {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Levels>,
}

impl Watch {
    /// Begins to look, every few milliseconds.
    pub fn begin() -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let seen = stop.clone();
        let thread = std::thread::spawn(move || {
            let mut peak = Levels::default();
            while !seen.load(Ordering::Relaxed) {
                let now = Levels::now();
                peak.memory = peak.memory.max(now.memory);
                peak.descriptors = peak.descriptors.max(now.descriptors);
                peak.threads = peak.threads.max(now.threads);
                std::thread::sleep(Duration::from_millis(5));
            }
            peak
        });
        Self { stop, thread }
    }

    /// The highest levels seen.
    pub fn end(self) -> Levels {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().expect("the watch does not panic")
    }
}
