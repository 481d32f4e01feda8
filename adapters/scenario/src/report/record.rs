//! What a report says: one tree of plain data, which the JSON twin is and the HTML shows.
//!
//! Times are milliseconds, with fractions. Every field is always there; what does not apply is `null` or empty. New fields
//! can be added; `format` changes when one changes its meaning.

use std::collections::BTreeMap;

use dormouse_core::Error;
use serde::Serialize;
use serde_json::Value as Json;

use super::text::Text;

/// The version of the JSON twin's form.
pub const FORMAT: u32 = 2;

/// How something ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// As it must.
    Passed,
    /// Not as it must.
    Failed,
    /// The caller gave up while it was under way.
    Cancelled,
    /// It was never begun.
    Skipped,
}

impl Status {
    /// The word of the JSON twin.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Skipped => "skipped",
        }
    }

    /// The worst of several: cancelled, then failed, then passed; skipped where nothing was begun.
    pub(crate) fn of(all: impl IntoIterator<Item = Self>) -> Self {
        let rank = |status: &Self| match status {
            Self::Skipped => 0,
            Self::Passed => 1,
            Self::Failed => 2,
            Self::Cancelled => 3,
        };
        all.into_iter().max_by_key(rank).unwrap_or(Self::Passed)
    }
}

/// A failure with its stable code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// The code of docs/errors.md.
    pub code: String,
    /// What happened.
    pub message: Text,
    /// What to do about it, if anything is known.
    pub hint: Option<Text>,
}

impl From<&Error> for Problem {
    fn from(error: &Error) -> Self {
        let hint = error.hint().map(Text::short);
        Self { code: error.code().as_str().into(), message: Text::short(error.message()), hint }
    }
}

/// A whole run.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The version of this form: 2.
    pub format: u32,
    /// The program that wrote it, such as `dormouse 0.1.0`.
    pub program: String,
    /// The arena's name.
    pub name: String,
    /// The files, as they were named.
    pub files: Vec<String>,
    /// When it began, by RFC 3339, such as `2026-11-21T21:00:00Z`.
    pub started: String,
    /// How long it took.
    pub duration_ms: f64,
    /// How it ended.
    pub status: Status,
    /// Why it could not begin, if it could not.
    pub problem: Option<Problem>,
    /// Numbers of repetitions and gates.
    pub totals: Totals,
    /// The model, if there is one.
    pub model: Option<String>,
    /// The servers, in the order in which they are opened.
    pub servers: Vec<ServerRecord>,
    /// What went wrong without being a failure, at most 200.
    pub warnings: Vec<Text>,
    /// The scenarios.
    pub scenarios: Vec<ScenarioRecord>,
}

impl Report {
    /// The exit status of the command: 0 when everything passed, 130 when it was cancelled, else 1.
    pub fn exit_code(&self) -> u8 {
        match self.status {
            Status::Passed => 0,
            Status::Cancelled => 130,
            Status::Failed | Status::Skipped => 1,
        }
    }
}

/// Numbers of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Totals {
    /// Repetitions, of all scenarios.
    pub repetitions: u64,
    /// Those that passed.
    pub passed: u64,
    /// Those that failed.
    pub failed: u64,
    /// Those that were cancelled or never begun.
    pub unfinished: u64,
    /// Gates that were looked at.
    pub gates: u64,
    /// Those that failed.
    pub gates_failed: u64,
    /// Calls of tools, those of gates left out.
    pub calls: u64,
}

/// One server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ServerRecord {
    /// Its name.
    pub name: String,
    /// The source that opens it, or `url` or `command`.
    pub transport: String,
    /// `run`, `scenario` or `session`.
    pub scope: String,
}

/// One scenario.
#[derive(Clone, Debug, Serialize)]
pub struct ScenarioRecord {
    /// Its name.
    pub id: String,
    /// The file that holds it.
    pub file: String,
    /// A word for what kind of task it is.
    pub task_type: Option<String>,
    /// What it is about.
    pub description: Option<Text>,
    /// Its variables.
    pub variables: BTreeMap<String, Text>,
    /// How it ended.
    pub status: Status,
    /// Why its servers could not be opened, if they could not.
    pub problem: Option<Problem>,
    /// How long it took.
    pub duration_ms: f64,
    /// Its repetitions, in order.
    pub repetitions: Vec<RepetitionRecord>,
}

/// One repetition.
#[derive(Clone, Debug, Serialize)]
pub struct RepetitionRecord {
    /// Its number, from 1.
    pub number: u32,
    /// How it ended.
    pub status: Status,
    /// Why it could not go on, if it could not.
    pub problem: Option<Problem>,
    /// How long opening its servers took.
    pub open_ms: f64,
    /// How long turns and gates took.
    pub work_ms: f64,
    /// How long closing its servers took.
    pub close_ms: f64,
    /// The tools that turns could call, by name, at most 1 000.
    pub tools: Vec<String>,
    /// Tokens that the model used: prompts and answers.
    pub tokens: Option<(u64, u64)>,
    /// Its turns.
    pub turns: Vec<TurnRecord>,
    /// Its gates.
    pub gates: Vec<GateRecord>,
}

impl RepetitionRecord {
    /// One that was never begun.
    pub(crate) fn skipped(number: u32) -> Self {
        Self {
            number,
            status: Status::Skipped,
            problem: None,
            open_ms: 0.0,
            work_ms: 0.0,
            close_ms: 0.0,
            tools: Vec::new(),
            tokens: None,
            turns: Vec::new(),
            gates: Vec::new(),
        }
    }
}

/// One turn.
#[derive(Clone, Debug, Serialize)]
pub struct TurnRecord {
    /// Its number, from 1.
    pub number: usize,
    /// Where it stands, as `FILE:LINE:COLUMN`.
    pub place: String,
    /// Who answered: `script` or `model`.
    pub driver: &'static str,
    /// What the user said.
    pub content: Option<Text>,
    /// How it ended.
    pub status: Status,
    /// Why it failed, if it did.
    pub failure: Option<Text>,
    /// How long it took.
    pub duration_ms: f64,
    /// What happened, in order.
    pub steps: Vec<Step>,
}

impl TurnRecord {
    /// The calls of tools among its steps.
    pub fn calls(&self) -> impl Iterator<Item = &CallRecord> {
        self.steps.iter().filter_map(|step| match step {
            Step::Called(call) => Some(&**call),
            Step::Said { .. } => None,
        })
    }
}

/// One thing that happened in a turn.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Step {
    /// The model said something.
    Said {
        /// What. Untrusted.
        text: Text,
        /// How long the model took.
        latency_ms: f64,
    },
    /// A tool was called.
    Called(Box<CallRecord>),
}

/// One call of a tool.
#[derive(Clone, Debug, Serialize)]
pub struct CallRecord {
    /// The tool's name.
    pub tool: Text,
    /// Where it stands, as `FILE:LINE:COLUMN`; none for what a model wanted.
    pub place: Option<String>,
    /// The server that it went to, if there is one.
    pub server: Option<String>,
    /// Its arguments, as JSON.
    pub arguments: Text,
    /// The text of the answer. Untrusted.
    pub output: Text,
    /// The structured content of the answer. Untrusted.
    pub structured: Option<Json>,
    /// The text of it, cut, where it is too long to be kept as it is. Untrusted.
    pub structured_cut: Option<Text>,
    /// Whether the tool said that it failed.
    pub is_error: bool,
    /// Why there is no answer, if there is none.
    pub problem: Option<Problem>,
    /// When it began, after the repetition's servers were open.
    pub started_ms: f64,
    /// How long it took.
    pub latency_ms: f64,
    /// Why this is not what the script expects, if it is not.
    pub failure: Option<Text>,
}

/// One gate.
#[derive(Clone, Debug, Serialize)]
pub struct GateRecord {
    /// Its type: `tool_exec`, `output_contains` or `tools_called`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// Where it stands, as `FILE:LINE:COLUMN`.
    pub place: String,
    /// The tool that it calls, if it does.
    pub tool: Option<Text>,
    /// Why it is there.
    pub message: Option<Text>,
    /// Whether it held.
    pub passed: bool,
    /// 1.0 or 0.0.
    pub score: f64,
    /// Why it did not hold, or what it found.
    pub reason: Text,
    /// How long it took.
    pub latency_ms: f64,
    /// What it saw.
    pub details: GateDetails,
}

/// What a gate saw.
#[derive(Clone, Debug, Default, Serialize)]
pub struct GateDetails {
    /// The arguments of its call, as JSON.
    pub arguments: Option<Text>,
    /// The text of the answer. Untrusted.
    pub output: Option<Text>,
    /// The payload of the answer, if there is one: structured content, or a text that is a JSON object or array. Untrusted.
    pub payload: Option<Json>,
    /// The text of it, cut, where it is too long to be kept as it is. Untrusted.
    pub payload_cut: Option<Text>,
    /// Why there is no answer, if there is none.
    pub problem: Option<Problem>,
}
