//! Runs one test in the JavaScript guest.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use dormouse::wasm::{Settings, WasmProvider};
use dormouse::{EvalRequest, Grants, Language, Limits, Outcome, Provider as _, RunContext, Status};

use crate::sandbox::{brief, reading};

/// One file in this many is run for every change.
pub(super) const SHARE: u32 = 3;

/// What one test may use. The time is many times what the slowest test takes, so that a busy machine changes nothing.
const WALL: Duration = Duration::from_secs(30);
const MEMORY: u64 = 256 << 20;
const OUTPUT: u64 = 8 << 20;

/// The guest, with a folder of tests.
pub(super) struct Engine {
    provider: WasmProvider,
    grants: Grants,
}

impl Engine {
    pub(super) fn new(folder: &Path) -> Result<Self> {
        // For the helpers of Node.js's tests: where they may write, and that they need not look for new globals.
        let environment = [("NODE_TEST_DIR", "/tmp"), ("NODE_TEST_KNOWN_GLOBALS", "0")];
        let environment = environment.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        let grants = Grants { environment, ..reading(folder)? };
        Ok(Self { provider: WasmProvider::new(Settings::new()?)?, grants })
    }

    /// What a program comes to. The error is the host's.
    pub(super) async fn run(&self, code: String) -> Result<Outcome, String> {
        let limits = Limits { wall: WALL, memory: MEMORY, output: OUTPUT, ..Limits::default() };
        let request = EvalRequest::new(Language::javascript(), code);
        let context = RunContext { limits, grants: self.grants.clone(), ..request.context };
        let outcome = self.provider.eval(EvalRequest { context, ..request }).await;
        outcome.map_err(|error| format!("host: {error}"))
    }
}

/// How a program ended that failed, in a line.
pub(super) fn ended(outcome: &Outcome) -> String {
    match &outcome.status {
        Status::Returned(_) => "it returned".to_owned(),
        Status::Exited(status) => {
            let is_telling = |line: &&str| {
                ["Error", "not ok", "Mismatched", "\u{2716}"].iter().any(|word| line.contains(word))
            };
            let said = outcome.stderr.text.lines().chain(outcome.stdout.text.lines()).find(is_telling);
            format!("it exited with {status}: {}", brief(said.unwrap_or_default()))
        }
        Status::Raised(exception) => {
            let message = brief(&exception.message.replace('\n', " "));
            let own = exception.stack_trace.iter().find(|frame| frame.contains("/parallel/"));
            let line =
                own.and_then(|frame| frame.rsplit_once(':')).map(|(_, line)| line.trim_end_matches(')'));
            format!("line {}: {}: {message}", line.unwrap_or("unknown"), exception.class)
        }
        Status::Stopped(error) => format!("stopped: {}", error.code()),
    }
}
