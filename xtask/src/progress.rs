//! What a chore shows while it works: a live line per step on a terminal, plain lines elsewhere. All of it goes to
//! standard error; standard output belongs to results.

use std::io::{IsTerminal, Write};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// Steps longer than this say in plain mode that they ended.
const WORTH_A_LINE: Duration = Duration::from_secs(10);

/// How often a counted step says in plain mode how far it is.
const BEAT: Duration = Duration::from_secs(30);

/// The progress of one guest's build.
pub(crate) struct Progress {
    subject: String,
    terminal: bool,
}

impl Progress {
    pub(crate) fn new(subject: &str) -> Self {
        Self { subject: subject.to_owned(), terminal: std::io::stderr().is_terminal() }
    }

    /// Starts a step; it ends when the returned value is dropped.
    pub(crate) fn step(&self, what: &str) -> Step {
        self.begin(what, None)
    }

    /// Starts a step of `total` parts, each announced with [`Step::advance`].
    pub(crate) fn counted(&self, what: &str, total: usize) -> Step {
        self.begin(what, Some(total as u64))
    }

    /// Prints a line that stays.
    pub(crate) fn say(&self, line: &str) {
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
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.set_message(label.clone());
        bar.enable_steady_tick(Duration::from_millis(120));
        Step { bar: Some(bar), count: None, label, started }
    }
}

/// A running step.
pub(crate) struct Step {
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
    pub(crate) fn advance(&self) {
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
            Some(bar) => bar.finish_and_clear(),
            None if elapsed < WORTH_A_LINE => return,
            None => {}
        }
        if elapsed >= WORTH_A_LINE {
            complain(&format!("{}: {} s", self.label, elapsed.as_secs()));
        }
    }
}

/// Writes a line to standard error; a closed standard error is no reason to stop a build.
pub(crate) fn complain(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}
