//! A list of hostile snippets that must all end in one of a few ways, in time.

use std::time::{Duration, Instant};

use dormouse::limits::MIB;
use dormouse::{EvalRequest, Outcome};

use crate::ending::{ending, told};
use crate::{NOISE, PROMISE, sandbox};

/// What the snippets run under, and how they may end.
pub struct Attack {
    language: &'static str,
    wall: Duration,
    memory: u64,
    fuel: Option<u64>,
    files: Option<u32>,
    allowed: Vec<&'static str>,
}

impl Attack {
    /// With the default limits; nothing is allowed yet.
    pub fn new(language: &'static str) -> Self {
        Self {
            language,
            wall: Duration::from_secs(5),
            memory: 128 * MIB,
            fuel: None,
            files: None,
            allowed: Vec::new(),
        }
    }

    /// Wall-clock limit in milliseconds.
    #[must_use]
    pub fn wall(mut self, milliseconds: u64) -> Self {
        self.wall = Duration::from_millis(milliseconds);
        self
    }

    /// Memory limit in MiB.
    #[must_use]
    pub fn memory(mut self, mebibytes: u64) -> Self {
        self.memory = mebibytes * MIB;
        self
    }

    /// Fuel budget.
    #[must_use]
    pub fn fuel(mut self, fuel: u64) -> Self {
        self.fuel = Some(fuel);
        self
    }

    /// Files, folders and links that may be created.
    #[must_use]
    pub fn files(mut self, files: u32) -> Self {
        self.files = Some(files);
        self
    }

    /// Endings that are right (see [`ending`]); `raised` stands for every exception.
    #[must_use]
    pub fn ends(mut self, allowed: &[&'static str]) -> Self {
        self.allowed.extend_from_slice(allowed);
        self
    }

    /// The request of one snippet.
    pub fn request(&self, code: &str) -> EvalRequest {
        let mut request = sandbox::request(self.language, code);
        request.context.limits.wall = self.wall;
        request.context.limits.memory = self.memory;
        request.context.limits.fuel = self.fuel;
        request.context.limits.files = self.files.unwrap_or(request.context.limits.files);
        request
    }

    /// Runs one after the other, each in a fresh instance, and returns what they came to.
    ///
    /// # Panics
    /// When one ended in another way, too late, or with more memory than its limit; all of them are named.
    #[track_caller]
    pub fn run<S: AsRef<str>>(&self, snippets: &[S]) -> Vec<Outcome> {
        self.run_requests(snippets.iter().map(|code| self.request(code.as_ref())).collect())
    }

    /// The same for requests that were made with [`Attack::request`] and given grants.
    ///
    /// # Panics
    /// As [`Attack::run`].
    #[track_caller]
    pub fn run_requests(&self, requests: Vec<EvalRequest>) -> Vec<Outcome> {
        assert!(!self.allowed.is_empty() && !requests.is_empty(), "an attack that cannot fail");
        let mut wrong = Vec::new();
        let mut outcomes = Vec::new();
        for request in requests {
            let code: String = request.code.chars().take(300).collect();
            let begin = Instant::now();
            let outcome = sandbox::run_request(request);
            let elapsed = begin.elapsed();
            if let Some(problem) = self.problem(&outcome, elapsed) {
                wrong.push(format!("--- {code}\n{problem}"));
            }
            outcomes.push(outcome);
        }
        assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), outcomes.len(), wrong.join("\n"));
        outcomes
    }

    fn problem(&self, outcome: &Outcome, elapsed: Duration) -> Option<String> {
        let found = ending(outcome);
        let kind = found.split(' ').next().unwrap_or_default();
        if !self.allowed.iter().any(|allowed| *allowed == found || (*allowed == kind && kind == "raised")) {
            return Some(format!("ended with `{found}`, not one of {:?}: {}", self.allowed, told(outcome)));
        }
        if elapsed > self.wall + PROMISE + NOISE {
            return Some(format!("took {elapsed:?} under a limit of {:?}", self.wall));
        }
        let peak = outcome.usage.memory_peak;
        (peak > self.memory).then(|| format!("held {peak} bytes under a limit of {}", self.memory))
    }
}
