//! What a chore shows while it works: a live line per step on a terminal, plain lines elsewhere. All of it goes through one
//! writer to standard error; standard output belongs to results.

use std::io::{IsTerminal, Write};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

/// Steps longer than this say in plain mode that they ended.
const WORTH_A_LINE: Duration = Duration::from_secs(10);

/// How often a counted step says in plain mode how far it is.
const BEAT: Duration = Duration::from_secs(30);

/// The live lines of this process, below all other lines.
static LIVE: LazyLock<MultiProgress> = LazyLock::new(MultiProgress::new);

/// The progress of one subject, such as a guest's build.
pub struct Progress {
    subject: String,
    terminal: bool,
}

impl Progress {
    /// Its lines begin with the subject.
    #[must_use]
    pub fn new(subject: &str) -> Self {
        Self { subject: subject.to_owned(), terminal: Self::is_live() }
    }

    /// Whether steps are live lines on a terminal, which show by themselves that they go on.
    #[must_use]
    pub fn is_live() -> bool {
        std::io::stderr().is_terminal()
    }

    /// Starts a step; it ends when the returned value is dropped.
    #[must_use]
    pub fn step(&self, what: &str) -> Step {
        self.begin(what, None)
    }

    /// Starts a step of `total` parts, each announced with [`Step::advance`].
    #[must_use]
    pub fn counted(&self, what: &str, total: usize) -> Step {
        self.begin(what, Some(total as u64))
    }

    /// Prints a line that stays.
    pub fn say(&self, line: &str) {
        complain(&format!("{}: {line}", self.subject));
    }

    fn begin(&self, what: &str, total: Option<u64>) -> Step {
        let started = Instant::now();
        let label = format!("{}: {what}", self.subject);
        if !self.terminal {
            complain(&label);
            let count = total.map(|total| Mutex::new(Count { done: 0, total, said: started }));
            return Step { bar: None, count, label, started };
        }
        let (bar, template) = match total {
            Some(total) => (ProgressBar::new(total), "{spinner} {msg} {wide_bar} {pos}/{len} {elapsed}"),
            None => (ProgressBar::new_spinner(), "{spinner} {msg} {elapsed}"),
        };
        let bar = LIVE.add(bar);
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.set_message(label.clone());
        bar.enable_steady_tick(Duration::from_millis(120));
        Step { bar: Some(bar), count: None, label, started }
    }
}

/// A running step.
pub struct Step {
    bar: Option<ProgressBar>,
    /// In plain mode, when the parts are counted.
    count: Option<Mutex<Count>>,
    label: String,
    started: Instant,
}

/// How far a step is.
struct Count {
    done: u64,
    total: u64,
    /// When this was last said.
    said: Instant,
}

impl Step {
    /// One part of a counted step is done.
    pub fn advance(&self) {
        if let Some(bar) = &self.bar {
            bar.inc(1);
        }
        let Some(count) = &self.count else { return };
        let mut count = count.lock().unwrap_or_else(PoisonError::into_inner);
        count.done += 1;
        if count.said.elapsed() >= BEAT {
            count.said = Instant::now();
            complain(&format!("{}: {} of {}", self.label, count.done, count.total));
        }
    }
}

impl Drop for Step {
    fn drop(&mut self) {
        let elapsed = self.started.elapsed();
        match &self.bar {
            Some(bar) => {
                bar.finish_and_clear();
                LIVE.remove(bar);
            }
            None if elapsed < WORTH_A_LINE => return,
            None => {}
        }
        if elapsed >= WORTH_A_LINE {
            complain(&format!("{}: {} s", self.label, elapsed.as_secs()));
        }
    }
}

/// Writes a line to standard error, above the live lines; a closed standard error is no reason to stop a build.
pub fn complain(line: &str) {
    LIVE.suspend(|| {
        let _ = writeln!(std::io::stderr().lock(), "{line}");
    });
}

/// Writes a line of results to standard output, above the live lines.
pub fn tell(line: &str) {
    LIVE.suspend(|| {
        let _ = writeln!(std::io::stdout().lock(), "{line}");
    });
}

/// A time for people: seconds below 100 s, else whole minutes.
#[must_use]
pub fn about(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..100 => format!("{seconds} s"),
        seconds => format!("{} min", (seconds + 30) / 60),
    }
}
