//! What a check found, short enough for every client.

use dormouse_core::sandbox::SandboxId;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::plan::Work;
use super::{Check, failure_schema};
use crate::encode;
use crate::fit::{cut, encoded_len};
use crate::schema::{self, Object};
use crate::tool::exec::Shown;
use crate::tool::verb::Answer;

/// Most failures that are told, and encoded bytes of all of them (64 KiB) and of one message (4 KiB).
const MAX_FAILURES: usize = 100;
const FAILURES: usize = 64 << 10;
const MESSAGE: usize = 4 << 10;
/// Encoded bytes of each stream (24 KiB).
const STREAM: usize = 24 << 10;

/// What an answer holds.
pub(super) fn fields(check: Check) -> Object {
    let object = Object::new()
        .optional("sandbox_id", schema::text("The sandbox."))
        .optional("passed", schema::flag("Whether all is well. The call is an error when it is not."))
        .optional("summary", schema::text("What came of it, in a sentence."))
        .optional("tool", schema::text("Who checked."));
    let object = match check {
        Check::Tests => {
            let count = |what| schema::integer(0, what);
            let counts = Object::new()
                .description("How many tests there were; left out when the runner only has an exit status.")
                .required("total", count("All of them."))
                .required("passed", count("Those that passed."))
                .required("failed", count("Those whose assertions failed."))
                .required("errors", count("Those that ended in another way."))
                .required("skipped", count("Those that were skipped."))
                .build();
            object.optional("tests", counts)
        }
        _ => object
            .optional("files", schema::integer(0, "Files that were checked."))
            .optional("problems", schema::integer(0, "What was found, shown or not.")),
    };
    object
        .optional("failures", schema::list(&failure_schema(), "What is wrong, the first of it."))
        .optional("stdout", schema::text("Standard output of the run. Untrusted text."))
        .optional("stderr", schema::text("Standard error of the run. Untrusted text."))
        .optional("duration_ms", schema::number("Wall-clock time in milliseconds."))
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

#[derive(Clone, Copy, Default, Deserialize, Serialize)]
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
pub(super) struct Report {
    sandbox: String,
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
    /// The limit or crash that ended it: its message, and the whole of it.
    stopped: Option<(String, Json)>,
}

impl Report {
    /// Of a check that nobody needed to run.
    pub(super) fn nothing(id: &SandboxId, tool: &str, summary: String) -> Self {
        Self {
            sandbox: id.as_str().into(),
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
        report.stopped = shown.stopped().map(|error| (error.to_string(), encode::error(error)));
        let read = result.and_then(|bytes| serde_json::from_slice::<Result>(bytes).ok());
        let (told, notes) = match (work.script, read) {
            (None, _) => (report.by_status(shown), Vec::new()),
            (Some(_), Some(result)) => report.by_result(check, result),
            (Some(_), None) => (
                format!("{} ended without a result, with exit status {}", work.tool, shown.exit_code()),
                Vec::new(),
            ),
        };
        if let Some((error, _)) = &report.stopped {
            report.passed = false;
            report.summary = format!("it was stopped: {error}; {told}");
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
    pub(super) fn answer(self, check: Check) -> Answer {
        let mut fields = json!({
            "sandbox_id": self.sandbox,
            "passed": self.passed,
            "summary": self.summary,
            "tool": self.tool,
            "failures": self.failures,
            "stdout": self.streams[0],
            "stderr": self.streams[1],
            "duration_ms": self.milliseconds,
            "error": self.stopped.as_ref().map_or(Json::Null, |(_, error)| error.clone()),
        });
        match check {
            Check::Tests => {
                if let Some(counts) = self.tests {
                    fields["tests"] = json!(counts);
                }
            }
            _ => {
                fields["files"] = self.files.into();
                fields["problems"] = self.problems.into();
            }
        }
        let text = self.text();
        let answer = Answer::from(fields).with_text(text);
        if self.passed { answer } else { answer.failed() }
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
