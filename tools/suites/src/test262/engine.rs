//! Runs one test in the JavaScript guest and reads its verdict.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use dormouse::wasm::{Settings, WasmProvider};
use dormouse::{EvalRequest, Grants, Language, Limits, Outcome, RunContext, Status};

use super::script::Script;
use crate::sandbox::{TESTS, brief, reading};

/// What one test may use. The time is many times what the slowest test takes, so that a busy machine changes nothing.
const WALL: Duration = Duration::from_secs(60);
const MEMORY: u64 = 256 << 20;

/// Tests of QuickJS-ng with this flag never end by themselves, not even inside of a built-in function: its own runner
/// interrupts them, and here the time limit has to.
const ENDLESS: &str = "qjs:set-interrupt-handler";
const ENDLESS_WALL: Duration = Duration::from_millis(300);

/// What an asynchronous test prints at its end.
const COMPLETE: &str = "Test262:AsyncTestComplete";

/// What any other test prints when its last line was reached (`reportCompare` of `host.js`).
const EVALUATED: &str = "Test262:Evaluated";

/// The guest, with a folder of tests.
pub(super) struct Engine {
    provider: WasmProvider,
    grants: Grants,
}

impl Engine {
    pub(super) fn new(folder: &Path) -> Result<Self> {
        Ok(Self { provider: WasmProvider::new(Settings::new()?)?, grants: reading(folder)? })
    }

    /// Runs `before`, then the test at `path` below the folder. The message says why it failed.
    pub(super) async fn test(
        &self,
        before: &str,
        path: &str,
        script: &Script,
        strict: bool,
    ) -> Result<(), String> {
        let source =
            if strict { format!("\"use strict\";\n{}", script.source) } else { script.source.clone() };
        let run = async {
            let mut session = self.provider.session(&Language::javascript()).await?;
            let request = self.request(before.to_owned(), "harness.js", WALL);
            let harness = self.provider.continue_session(&mut session, &request).await?;
            if !harness.is_ok() {
                return Ok(harness);
            }
            let wall = if script.has(ENDLESS) { ENDLESS_WALL } else { WALL };
            let request = self.request(source, &guest_name(path, script), wall);
            self.provider.continue_session(&mut session, &request).await
        };
        let outcome = run.await.map_err(|error: dormouse::Error| format!("host: {error}"))?;
        judge(script, &outcome)
    }

    fn request(&self, code: String, name: &str, wall: Duration) -> EvalRequest {
        let limits = Limits { wall, memory: MEMORY, ..Limits::default() };
        let request = EvalRequest::new(Language::javascript(), code);
        let context = RunContext { limits, grants: self.grants.clone(), ..request.context };
        EvalRequest { name: name.to_owned(), context, ..request }
    }
}

/// Imports are relative to this. The guest takes a source for a module when its name or its text says so.
fn guest_name(path: &str, script: &Script) -> String {
    let told = script.source.contains("import") || script.source.contains("export");
    let ending = if script.has("module") && !told { ".mjs" } else { "" };
    format!("{TESTS}/{path}{ending}")
}

fn judge(script: &Script, outcome: &Outcome) -> Result<(), String> {
    if script.has(ENDLESS) {
        return if outcome.timed_out() {
            Ok(())
        } else {
            Err(format!("{} before its time limit", ended(outcome)))
        };
    }
    if let Some(error) = outcome.stopped() {
        return Err(format!("stopped: {}: {}", error.code(), brief(error.message())));
    }
    if let Some(class) = &script.negative {
        return match outcome.exception() {
            Some(exception) if exception.class == *class => Ok(()),
            _ => Err(format!("{} instead of a {class}", ended(outcome))),
        };
    }
    if script.has("async") {
        // What the run came to after `$DONE` is the host's affair.
        let mut told = outcome.stdout.text.lines().filter(|line| line.starts_with("Test262:Async"));
        return match told.next() {
            Some(COMPLETE) => {
                told.next().map_or(Ok(()), |again| Err(format!("$DONE was called again: {again}")))
            }
            Some(line) => Err(brief(line)),
            None => Err(format!("{}, and $DONE was not called", ended(outcome))),
        };
    }
    // A promise that the test leaves rejected ends the run too, as in Node.js; the standard has no word on it.
    let evaluated = outcome.stdout.text.lines().any(|line| line == EVALUATED);
    if outcome.is_ok() || evaluated { Ok(()) } else { Err(ended(outcome)) }
}

fn ended(outcome: &Outcome) -> String {
    match &outcome.status {
        Status::Returned(_) => "it returned".to_owned(),
        Status::Raised(exception) => format!("{}: {}", exception.class, brief(&exception.message)),
        Status::Exited(status) => format!("it exited with {status}"),
        Status::Stopped(error) => format!("stopped: {}", error.code()),
    }
}
