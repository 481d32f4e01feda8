//! Runs the tests and reads their verdicts.

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use dormouse::wasm::{Settings, WasmProvider};
use dormouse::{Access, EvalRequest, Grants, GuestPath, Language, Limits, Mount, Outcome, Status};

use super::harness::Harness;
use super::material;
use super::script::Script;
use super::skip::Skips;
use crate::process::Totals;
use crate::suite::arguments::Extent;
use crate::suite::expected::Expected;
use crate::suite::report::Report;
use crate::suite::sandbox::{brief, each, is_in_share};

/// One file in this many is run for every change.
const SHARE: u32 = 20;

/// What one test may use.
const WALL: Duration = Duration::from_secs(20);
const MEMORY: u64 = 256 << 20;

/// Where the guest sees the tests.
const MOUNT: &str = "/test262";

/// What an asynchronous test prints at its end.
const COMPLETE: &str = "Test262:AsyncTestComplete";

/// One run of one test.
struct Case {
    /// The path below the tests' folder; ` (strict)` follows when the test is made strict.
    name: String,
    file: usize,
    strict: bool,
}

struct Suite {
    provider: WasmProvider,
    harness: Harness,
    scripts: Vec<(String, Script)>,
    grants: Grants,
}

/// Runs test262 in the JavaScript guest.
pub(crate) fn run(extent: &Extent) -> Result<Totals> {
    let root = material::provide()?;
    let mut expected = Expected::load("test262", "expected.txt")?;
    let mut report = Report::default();
    let scripts = scripts(&root, extent, &mut report)?;
    let cases: Vec<Case> = scripts.iter().enumerate().flat_map(|(file, (name, script))| cases(file, name, script)).collect();
    let mount = Mount { source: root.clone(), target: GuestPath::parse(MOUNT)?, access: Access::ReadOnly };
    let suite = Suite {
        provider: WasmProvider::new(Settings::new()?)?,
        harness: Harness::read(&root)?,
        scripts,
        grants: Grants { mounts: vec![mount], ..Grants::default() },
    };
    let results = each("test262", &cases, |index| suite.test(&cases[index]))?;
    for (case, result) in cases.iter().zip(results) {
        match result {
            Ok(()) => report.passed += 1,
            Err(message) => drop(report.failures.insert(case.name.clone(), message)),
        }
    }
    let ran: HashSet<&str> = cases.iter().map(|case| case.name.as_str()).collect();
    report.close("test262", &mut expected, extent, |name| ran.contains(name))
}

/// The files that are asked for and can be run.
fn scripts(root: &Path, extent: &Extent, report: &mut Report) -> Result<Vec<(String, Script)>> {
    let skips = Skips::read()?;
    let mut scripts = Vec::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            let name = path.strip_prefix(root)?.to_string_lossy().into_owned();
            if path.is_dir() {
                folders.push(path);
            } else if is_test(&name) && extent.wants(&name) && (extent.all || is_in_share(&name, SHARE)) {
                let Ok(text) = fs::read_to_string(&path) else {
                    report.skip("the file is not UTF-8", 1);
                    continue;
                };
                let script = Script::parse(&text);
                match skips.cause(&name, &script) {
                    Some(cause) => report.skip(cause, 1),
                    None => scripts.push((name, script)),
                }
            }
        }
    }
    scripts.sort_by(|(one, _), (other, _)| one.cmp(other));
    Ok(scripts)
}

fn is_test(name: &str) -> bool {
    let own = !name.contains('/') || name.ends_with("/shell.js") || name.ends_with("/browser.js");
    name.ends_with(".js") && !own && !name.ends_with("_FIXTURE.js")
}

/// A test runs both ways unless it says otherwise.
fn cases(file: usize, name: &str, script: &Script) -> Vec<Case> {
    let one_way = ["module", "raw", "noStrict", "onlyStrict"].into_iter().any(|flag| script.has(flag));
    let mut cases = vec![Case { name: name.to_owned(), file, strict: false }];
    if !one_way {
        cases.push(Case { name: format!("{name} (strict)"), file, strict: true });
    }
    cases
}

impl Suite {
    /// The message says why a test failed.
    async fn test(&self, case: &Case) -> Result<(), String> {
        let (path, script) = &self.scripts[case.file];
        let run = async {
            let mut session = self.provider.session(&Language::javascript()).await?;
            if !script.has("raw") {
                let before = self.harness.before(&script.includes).map_err(dormouse::Error::args_invalid)?;
                let outcome = self.provider.continue_session(&mut session, &self.request(before, "harness.js")).await?;
                if !outcome.is_ok() {
                    return Err(dormouse::Error::args_invalid(format!("the harness: {}", ended(&outcome))));
                }
            }
            let source = if case.strict { format!("\"use strict\";\n{}", script.source) } else { script.source.clone() };
            let request = self.request(source, &guest_name(path, script));
            self.provider.continue_session(&mut session, &request).await
        };
        let outcome = run.await.map_err(|error| format!("host: {error}"))?;
        judge(script, &outcome)
    }

    fn request(&self, code: String, name: &str) -> EvalRequest {
        let limits = Limits { wall: WALL, memory: MEMORY, ..Limits::default() };
        let request = EvalRequest::new(Language::javascript(), code);
        EvalRequest { name: name.to_owned(), limits, grants: self.grants.clone(), ..request }
    }
}

/// Imports are relative to this. The guest takes a source for a module when its name or its text says so.
fn guest_name(path: &str, script: &Script) -> String {
    let told = script.source.contains("import") || script.source.contains("export");
    let ending = if script.has("module") && !told { ".mjs" } else { "" };
    format!("{MOUNT}/{path}{ending}")
}

fn judge(script: &Script, outcome: &Outcome) -> Result<(), String> {
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
        return match outcome.stdout.text.lines().find(|line| line.starts_with("Test262:")) {
            Some(line) if line == COMPLETE => Ok(()),
            Some(line) => Err(brief(line)),
            None => Err(format!("{}, and $DONE was not called", ended(outcome))),
        };
    }
    if outcome.is_ok() { Ok(()) } else { Err(ended(outcome)) }
}

fn ended(outcome: &Outcome) -> String {
    match &outcome.status {
        Status::Returned(_) => "it returned".to_owned(),
        Status::Raised(exception) => format!("{}: {}", exception.class, brief(&exception.message)),
        Status::Exited(status) => format!("it exited with {status}"),
        Status::Stopped(error) => format!("stopped: {}", error.code()),
    }
}
