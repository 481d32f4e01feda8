//! What this process holds: memory of its own, descriptors, threads. Hostile cases must leave them where they were.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::{wait_for, wait_until};

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

    /// The most memory that a process has held since [`Levels::forget_peak`], in KiB, shared pages too.
    pub fn peak_of(process: &str) -> u64 {
        let status = fs::read_to_string(format!("/proc/{process}/status")).expect("a process that lives");
        let line =
            status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a field of the status file");
        line.split_whitespace().next().and_then(|number| number.parse().ok()).expect("a number")
    }

    /// Forgets the most that a process has held; what it holds now is returned, in KiB.
    pub fn forget_peak(process: &str) -> u64 {
        fs::write(format!("/proc/{process}/clear_refs"), "5").expect("a process of one's own");
        Self::peak_of(process)
    }

    /// Waits until no level of a process, by its number or `self`, lies above these by more than `slack`.
    ///
    /// # Panics
    /// When they have not come down within `patience`.
    #[track_caller]
    pub fn wait_until_back(&self, process: &str, slack: &Levels, patience: Duration) {
        let event = format!("no level of process {process} is more than {slack:?} above {self:?}");
        wait_for(&event, patience, || {
            let now = Self::of(process);
            let is_back = now.memory <= self.memory + slack.memory
                && now.descriptors <= self.descriptors + slack.descriptors
                && now.threads <= self.threads + slack.threads;
            if is_back { Ok(()) } else { Err(now) }
        });
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

/// Processor time that a process, by its number or `self`, has used, in hundredths of a second.
fn processor_time(process: &str) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).expect("a process that lives");
    let fields = stat.rsplit(')').next().expect("there is one after the name").split_whitespace();
    // User and system time: the twelfth and thirteenth field after the name.
    fields.skip(11).take(2).map(|field| field.parse::<u64>().expect("a number")).sum()
}

/// Waits until a process, by its number or `self`, has computed for a fifth of a second.
#[track_caller]
pub fn wait_until_busy(process: &str) {
    let begin = processor_time(process);
    wait_until("the process computes", Duration::from_secs(60), || processor_time(process) >= begin + 20);
}

/// Waits until a process, by its number or `self`, computes nothing for a while.
#[track_caller]
pub fn wait_until_idle(process: &str, patience: Duration) {
    wait_until("the process computes no more", patience, || {
        let before = processor_time(process);
        // Time in which a run that goes on would compute.
        std::thread::sleep(Duration::from_millis(200));
        processor_time(process) - before <= 2
    });
}
