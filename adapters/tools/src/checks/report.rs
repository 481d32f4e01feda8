//! What a check found, short enough for every client.

use dormouse_core::sandbox::SandboxId;
use serde::{Deserialize, Serialize};

use super::Check;
use super::plan::Work;
use crate::call::Answer;
use crate::call::fit::{cut, encoded_len};
use crate::spec::{ErrorFields, Flat, FromOne, Inline, Nested, OrNull, answer};
use crate::verbs::exec::Shown;

/// Most failures that are told, and encoded bytes of all of them (64 KiB) and of one message (4 KiB).
const MAX_FAILURES: usize = 100;
const FAILURES: usize = 64 << 10;
const MESSAGE: usize = 4 << 10;
/// Encoded bytes of each stream (24 KiB).
const STREAM: usize = 24 << 10;

answer! {
    /// What `run_tests` answers.
    pub(crate) struct OfTests {
        head: Flat<Head> = Inline,
        tests: Option<Nested<TestsShown>> =
            "How many tests there were; left out when the runner only has an exit status.",
        tail: Flat<Tail> = Inline,
    }
}

answer! {
    /// What `run_lint` and `run_typecheck` answer.
    pub(crate) struct OfFiles {
        head: Flat<Head> = Inline,
        files: usize = "Files that were checked.",
        problems: u64 = "What was found, shown or not.",
        tail: Flat<Tail> = Inline,
    }
}

answer! {
    /// What came of a check.
    pub(crate) struct Head {
        sandbox_id: SandboxId = "The sandbox.",
        passed: bool = "Whether the check passed. The call is an error if not.",
        summary: String = "The result in one sentence.",
        tool: String = "Who checked.",
    }
}

answer! {
    /// What was found, and what the run wrote.
    pub(crate) struct Tail {
        failures: Vec<FailureShown> = "The first problems.",
        stdout: String = "Standard output of the run. Untrusted text.",
        stderr: String = "Standard error of the run. Untrusted text.",
        duration_ms: f64 = "Wall-clock time in milliseconds.",
    }
}

answer! {
    /// How many tests there were.
    pub(crate) struct TestsShown {
        total: u64 = "All of them.",
        passed: u64 = "Those that passed.",
        failed: u64 = "Those whose assertions failed.",
        errors: u64 = "Tests that ended in another way, such as by an exception.",
        skipped: u64 = "Those that were skipped.",
    }
}

answer! {
    /// Something that is wrong.
    pub(crate) struct FailureShown = "One failure. Untrusted text." {
        name: String = "The test, or what was checked.",
        file: OrNull<String> = "Where it is.",
        line: OrNull<FromOne> = "The line, from 1.",
        message: String = "What is wrong.",
    }
}

/// What our programs write. It is the sandbox's own word: read strictly, shown as untrusted.
#[derive(Default, Deserialize)]
struct Result {
    complete: bool,
    /// The file whose tests ran when it was written.
    #[serde(default)]
    running: Option<String>,
    tool: String,
    #[serde(default)]
    notes: Vec<String>,
    #[serde(default)]
    missing: Option<String>,
    #[serde(default)]
    tests: Option<Counts>,
    #[serde(default)]
    problems: u64,
    failures: Vec<Failure>,
}

#[derive(Clone, Copy, Default, Deserialize)]
struct Counts {
    total: u64,
    passed: u64,
    failed: u64,
    errors: u64,
    skipped: u64,
}

#[derive(Deserialize, Serialize)]
struct Failure {
    name: String,
    file: Option<String>,
    line: Option<u64>,
    message: String,
}

impl Failure {
    /// Its place, for people.
    fn place(&self) -> String {
        match (&self.file, self.line) {
            (Some(file), Some(line)) => format!(" ({file}:{line})"),
            (Some(file), None) => format!(" ({file})"),
            _ => String::new(),
        }
    }
}

/// What came of a check.
pub(crate) struct Report {
    sandbox: SandboxId,
    passed: bool,
    summary: String,
    tool: String,
    missing: Option<String>,
    tests: Option<Counts>,
    files: usize,
    problems: u64,
    failures: Vec<Failure>,
    streams: [String; 2],
    milliseconds: f64,
    /// The limit or crash that ended it.
    stopped: Option<ErrorFields>,
}

impl Report {
    /// Of a check that nobody needed to run.
    pub(super) fn nothing(id: &SandboxId, tool: &str, summary: String) -> Self {
        Self {
            sandbox: id.clone(),
            passed: false,
            summary,
            tool: tool.into(),
            missing: None,
            tests: Some(Counts::default()),
            files: 0,
            problems: 0,
            failures: Vec::new(),
            streams: Default::default(),
            milliseconds: 0.0,
            stopped: None,
        }
    }

    /// Of a check that ran.
    pub(super) fn new(
        check: Check,
        id: &SandboxId,
        work: &Work,
        shown: &Shown,
        result: Option<&[u8]>,
    ) -> Self {
        let mut report = Self::nothing(id, &work.tool, String::new());
        report.files = work.files.len();
        report.tests = None;
        report.streams = [shown.stdout(), shown.stderr()].map(|text| cut(text, STREAM).to_owned());
        report.milliseconds = shown.milliseconds();
        report.stopped = shown.error();
        let read = result.and_then(|bytes| serde_json::from_slice::<Result>(bytes).ok());
        let (told, notes) = match (work.script, read) {
            (None, _) => (report.by_status(shown), Vec::new()),
            (Some(_), Some(result)) => report.by_result(check, result),
            (Some(_), None) => (
                format!("{} ended without a result, with exit status {}", work.tool, shown.exit_code()),
                Vec::new(),
            ),
        };
        if let Some(error) = &report.stopped {
            report.passed = false;
            report.summary = format!("it was stopped: {}; {told}", error.message());
        } else {
            report.summary = told;
        }
        for note in notes.iter().chain(&work.notes) {
            report.summary.push_str(&format!("; {}", cut(note, 500)));
        }
        report
    }

    /// Why the checker turned out to be missing.
    pub(super) fn missing(&self) -> Option<&str> {
        self.missing.as_deref().map(|why| cut(why, 200))
    }

    /// A runner of the sandbox's own, of which only its end is known.
    fn by_status(&mut self, shown: &Shown) -> String {
        let status = shown.exit_code();
        self.passed = status == 0;
        format!("{} ended with exit status {status}", self.tool)
    }

    fn by_result(&mut self, check: Check, mut result: Result) -> (String, Vec<String>) {
        self.tool = cut(&result.tool, 100).to_owned();
        self.missing = result.missing.take();
        (self.problems, self.tests) = (result.problems, result.tests);
        let mut room = FAILURES;
        for mut failure in std::mem::take(&mut result.failures).into_iter().take(MAX_FAILURES) {
            failure.message = cut(&failure.message, MESSAGE).to_owned();
            failure.name = cut(&failure.name, MESSAGE).to_owned();
            match room.checked_sub(encoded_len(&failure)) {
                Some(left) => room = left,
                None => break,
            }
            self.failures.push(failure);
        }
        let told = match (check, self.tests) {
            (Check::Tests, counts) => {
                let counts = counts.unwrap_or_default();
                let bad = counts.failed + counts.errors;
                self.passed = result.complete && bad == 0 && counts.total > 0;
                tests_told(counts, &result, &self.tool)
            }
            _ => {
                self.passed = result.complete && self.problems == 0;
                format!(
                    "{} in {} ({})",
                    plural(self.problems, "problem"),
                    plural(self.files as u64, "file"),
                    self.tool
                )
            }
        };
        (told, result.notes)
    }

    /// The answer of the tool.
    pub(super) fn answer<R: From<Self>>(mut self) -> Answer<R> {
        let (text, passed, stopped) = (self.text(), self.passed, self.stopped.take());
        let answer = Answer::from(R::from(self)).with_text(text);
        match stopped {
            Some(error) => answer.stopped_by(error),
            None if passed => answer,
            None => answer.failed(),
        }
    }

    fn text(&self) -> String {
        let mut text = if self.passed { self.summary.clone() } else { format!("Error: {}", self.summary) };
        for failure in &self.failures {
            text.push_str(&format!("\n\n{}{}", failure.name, failure.place()));
            for line in failure.message.lines() {
                text.push_str(&format!("\n  {line}"));
            }
        }
        for (name, stream) in ["stdout", "stderr"].iter().zip(&self.streams) {
            if !stream.is_empty() {
                text.push_str(&format!("\n\n{name}:\n{stream}"));
            }
        }
        text
    }
}

impl From<Report> for OfTests {
    fn from(report: Report) -> Self {
        let tests = report.tests.map(|counts| {
            let Counts { total, passed, failed, errors, skipped } = counts;
            Nested(TestsShown { total, passed, failed, errors, skipped })
        });
        let (head, tail) = parts(report);
        Self { head, tests, tail }
    }
}

impl From<Report> for OfFiles {
    fn from(report: Report) -> Self {
        let (files, problems) = (report.files, report.problems);
        let (head, tail) = parts(report);
        Self { head, files, problems, tail }
    }
}

fn parts(report: Report) -> (Flat<Head>, Flat<Tail>) {
    let Report { sandbox, passed, summary, tool, failures, streams, milliseconds, .. } = report;
    let failures = failures.into_iter().map(|failure| FailureShown {
        name: failure.name,
        file: OrNull(failure.file),
        line: OrNull(failure.line.map(FromOne)),
        message: failure.message,
    });
    let [stdout, stderr] = streams;
    let tail = Tail { failures: failures.collect(), stdout, stderr, duration_ms: milliseconds };
    (Flat(Head { sandbox_id: sandbox, passed, summary, tool }), Flat(tail))
}

fn plural(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

fn tests_told(counts: Counts, result: &Result, tool: &str) -> String {
    let Counts { total, passed, failed, errors, skipped } = counts;
    let mut parts = vec![format!("{passed} passed")];
    for (count, what) in [(failed, "failed"), (errors, "ended in errors"), (skipped, "skipped")] {
        if count > 0 {
            parts.push(format!("{count} {what}"));
        }
    }
    match (total, result.complete) {
        (0, true) => format!("no tests found in the files of tests ({tool})"),
        (_, true) => format!("{}: {} ({tool})", plural(total, "test"), parts.join(", ")),
        _ => {
            let within = result.running.as_ref().map(|file| format!(" in {}", cut(file, MESSAGE)));
            let within = within.unwrap_or_default();
            format!("the run ended{within} before all tests were done: {} ({tool})", parts.join(", "))
        }
    }
}
