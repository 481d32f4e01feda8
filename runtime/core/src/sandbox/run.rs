//! Runs that outlive the call that started them: programs that wait for tools, for time or for somebody's approval, and go on in
//! whatever process comes next.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::id::{Owner, RunId, SandboxId};
use super::record::Timestamp;
use crate::callback::AnswerFile;
use crate::connections::ApprovalRequest;
use crate::network::NetworkUse;
use crate::waiting::PendingCall;
use crate::{Captured, Error, ErrorCode, Exception, Language, ModelUsage, Outcome};

/// Bytes kept of the end of each stream.
const TAIL: usize = 64 << 10;
/// Characters kept of the beginning of the source.
const BEGINNING: usize = 200;

/// Where a run is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// The program computes, or is about to.
    Running,
    /// It waits for answers of tools, or for time. It takes no memory then.
    Waiting,
    /// It waits for somebody to allow a call.
    Asking,
    /// It came to its end.
    Done,
    /// It raised, exited with another status than 0, or was ended by a limit or an error.
    Failed,
    /// Somebody ended it, or its sandbox was restored, reset or destroyed.
    Cancelled,
}

impl RunState {
    /// Whether it still goes on.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Running | Self::Waiting | Self::Asking)
    }

    /// The word on every wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Asking => "asking",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}

/// What one run may take.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunLimits {
    /// Wall-clock time that its program computes, all stretches together. Default 10 minutes.
    pub running: Duration,
    /// Time from its start to its end. Default 7 days.
    pub lifetime: Duration,
    /// How long somebody may take to allow a call; then it is denied. Default 24 hours.
    pub approval: Duration,
    /// Calls of tools. Default 1,000.
    pub calls: u32,
    /// Bytes of the arguments and answers of all calls together. Default 64 MiB.
    pub bytes: u64,
}

impl Default for RunLimits {
    fn default() -> Self {
        let hours = |hours: u64| Duration::from_secs(hours * 3_600);
        Self {
            running: Duration::from_secs(600),
            lifetime: hours(7 * 24),
            approval: hours(24),
            calls: 1_000,
            bytes: 64 << 20,
        }
    }
}

/// What all runs of one owner may take in 24 hours, from the first on, as far as one process drives them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunBudget {
    /// Calls of tools. Default 100,000.
    pub calls: u32,
    /// Bytes of their arguments and answers. Default 4 GiB.
    pub bytes: u64,
    /// Wall-clock time that their programs compute. Default 24 hours, so that one owner's runs keep one place busy at most.
    pub running: Duration,
    /// Tokens of the model. Default 10,000,000.
    pub tokens: u64,
}

impl Default for RunBudget {
    fn default() -> Self {
        let running = Duration::from_secs(24 * 3_600);
        Self { calls: 100_000, bytes: 4 << 30, running, tokens: 10_000_000 }
    }
}

/// What a run has taken so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunUsage {
    /// Wall-clock time that its program has computed.
    pub running: Duration,
    /// Calls of tools that it has made.
    pub calls: u32,
    /// Bytes of their arguments and answers.
    pub bytes: u64,
    /// How often it has waited.
    pub waits: u32,
    /// What it has used of the model. Its budget is that of one call of a tool, for the run as a whole.
    #[serde(default)]
    pub model: ModelUsage,
}

/// The end of what was written to a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tail {
    /// Its last characters, at most 64 KiB.
    pub text: String,
    /// Bytes that were written in all.
    pub total_bytes: u64,
}

impl Tail {
    /// Adds what a stretch of the program has written.
    pub fn add(&mut self, captured: &Captured) {
        self.total_bytes = self.total_bytes.saturating_add(captured.total_bytes);
        self.text.push_str(&captured.text);
        if captured.dropped_bytes > 0 {
            self.text.push_str(&format!("\n[{} bytes dropped]\n", captured.dropped_bytes));
        }
        if let Some(over) = self.text.len().checked_sub(TAIL) {
            let cut = (over..=self.text.len()).find(|at| self.text.is_char_boundary(*at)).unwrap_or(over);
            self.text.drain(..cut);
        }
    }
}

/// A run that outlives its call, as its record says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Its id.
    pub id: RunId,
    /// Whose it is.
    pub owner: Owner,
    /// The sandbox that its program is in.
    pub sandbox: SandboxId,
    /// The program's language.
    pub language: Language,
    /// The name that traces show.
    pub name: String,
    /// The beginning of its source, at most 200 characters.
    pub beginning: String,
    /// Where it is.
    pub state: RunState,
    /// When it was started.
    pub created_at: Timestamp,
    /// When its state last changed.
    pub changed_at: Timestamp,
    /// When it goes on by itself, if it waits for time.
    pub due_at: Option<Timestamp>,
    /// How long that was when it began to wait: a clock that was set does not make it longer.
    pub wait: Option<Duration>,
    /// What its program's monotonic clock showed when it began to wait, and when that was. The clock counts the time until it goes on.
    #[serde(default)]
    pub clock: Option<(Duration, Timestamp)>,
    /// The servers whose tools it may call: only a process that has them all goes on with it.
    #[serde(default)]
    pub servers: Vec<String>,
    /// Whether its sandbox had a network when it was started: only a process that gives it one goes on with it.
    #[serde(default)]
    pub reaches: bool,
    /// What it may take.
    pub limits: RunLimits,
    /// Wall-clock limit of one stretch between two waits.
    pub stretch: Duration,
    /// What it has taken.
    pub usage: RunUsage,
    /// What it did with its network, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<NetworkUse>,
    /// Whether it has read what a server sent that the operator does not trust.
    #[serde(default)]
    pub tainted: bool,
    /// The end of its standard output.
    pub stdout: Tail,
    /// The end of its standard error.
    pub stderr: Tail,
    /// What it came to, if it has ended.
    pub end: Option<RunEnd>,
}

impl Run {
    /// That its program has computed for as long as it may, if it has.
    pub(crate) fn used_up(&self) -> Option<Error> {
        let ms = self.limits.running.as_millis();
        let message = format!("the program has computed for its {ms} ms, all stretches together");
        (self.usage.running >= self.limits.running).then(|| {
            Error::new(ErrorCode::LimitTime, message)
                .with_hint("give it more time to compute (`--running`), or split the work")
        })
    }

    /// The beginning of a source, as a record keeps it.
    pub fn beginning_of(source: &str) -> String {
        source.chars().take(BEGINNING).collect()
    }

    /// Ends it.
    pub fn end(&mut self, state: RunState, end: RunEnd, at: Timestamp) {
        (self.state, self.end, self.changed_at) = (state, Some(end), at);
        (self.due_at, self.wait) = (None, None);
    }
}

/// What a run came to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunEnd {
    /// The program's value, typed as that of every run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Json>,
    /// What it raised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exception: Option<Exception>,
    /// The exit status, as a shell would see it.
    pub exit_code: i32,
    /// What ended it, if it did not end by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Cause>,
}

/// An error as a record keeps it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cause {
    /// Its code.
    pub code: ErrorCode,
    /// What happened.
    pub message: String,
    /// What can be done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl From<&Error> for Cause {
    fn from(error: &Error) -> Self {
        Self { code: error.code(), message: error.message().into(), hint: error.hint().map(str::to_owned) }
    }
}

impl RunEnd {
    /// What a program's outcome says, and the state that the run is in then.
    pub fn of(outcome: &Outcome) -> (RunState, Self) {
        let state = if outcome.is_ok() { RunState::Done } else { RunState::Failed };
        let end = Self {
            value: outcome.value().and_then(|value| serde_json::to_value(value).ok()),
            exception: outcome.exception().cloned(),
            exit_code: outcome.exit_code(),
            error: outcome.stopped().map(Cause::from),
        };
        (state, end)
    }

    /// The end by an error.
    pub fn by(error: &Error) -> Self {
        Self { exit_code: error.code().exit_status().into(), error: Some(error.into()), ..Self::default() }
    }
}

/// Where a call of a tool is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallState {
    /// It was begun, or is about to be.
    Begun,
    /// Somebody is to allow it.
    Asking,
    /// Its answer is here, and the program does not have it yet.
    Answered,
    /// The program has its answer.
    Done,
    /// The process that had begun it ended: it may have happened or not. The program was told so.
    Unknown,
    /// The program does not want its answer any more, or has ended.
    Cancelled,
    /// It was not made: it was not allowed, is past a limit, or there is no such tool. The program was told so.
    Refused,
}

impl CallState {
    /// The word on every wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Begun => "begun",
            Self::Asking => "asking",
            Self::Answered => "answered",
            Self::Done => "done",
            Self::Unknown => "unknown",
            Self::Cancelled => "cancelled",
            Self::Refused => "refused",
        }
    }
}

/// A call of a tool: a row of the run's journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunCall {
    /// Its number in the program, 1 or more.
    pub number: u32,
    /// The tool, `SERVER.TOOL`; or a request that its program has sent, such as `POST https://api.example.com/v1/x`.
    pub tool: String,
    /// Its arguments, as the JSON text of an object.
    pub arguments: String,
    /// Where it is.
    pub state: CallState,
    /// When the program wanted it.
    pub begun_at: Timestamp,
    /// When its answer came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// What somebody is asked, or was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<ApprovalRequest>,
    /// Its answer: JSON text, or what the program is told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<std::result::Result<String, String>>,
    /// Whether its answer is that it is not made.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub refused: bool,
    /// Files that came with its answer, for as long as the program does not have it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<AnswerFile>,
}

/// Characters kept of a tool's name.
const TOOL: usize = 256;

impl RunCall {
    /// The row of a call that is about to be made.
    pub fn begun(call: &PendingCall, at: Timestamp) -> Self {
        Self {
            number: call.id,
            tool: call.name.chars().take(TOOL).collect(),
            arguments: call.arguments.clone(),
            state: CallState::Begun,
            begun_at: at,
            ended_at: None,
            question: None,
            outcome: None,
            refused: false,
            files: Vec::new(),
        }
    }

    /// What is the same for each repetition of this call and for no other.
    pub fn key(&self, run: &RunId) -> String {
        format!("{run}-{}", self.number)
    }

    /// Whether the program waits for it.
    pub fn is_open(&self) -> bool {
        matches!(self.state, CallState::Begun | CallState::Asking | CallState::Answered)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_stream_is_kept_by_whole_characters() {
        let mut tail = Tail::default();
        let text = "ä".repeat(TAIL / 2);
        for _ in 0..3 {
            tail.add(&Captured { text: format!("{text}x"), total_bytes: TAIL as u64 + 1, dropped_bytes: 0 });
        }
        assert!(tail.text.len() <= TAIL && tail.text.ends_with("äx"));
        assert_eq!(tail.total_bytes, 3 * (TAIL as u64 + 1));
    }
}
