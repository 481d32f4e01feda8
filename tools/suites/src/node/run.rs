//! Which tests of Node.js are run, and what their results come to.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result};

use dormouse::wasm::{Settings, WasmProvider};
use dormouse::{
    Access, EvalRequest, Grants, GuestPath, Language, Limits, Mount, Outcome, Provider as _, RunContext,
    Status,
};
use dormouse_chores::arguments::Extent;
use dormouse_chores::outcome::Totals;
use dormouse_chores::workspace;

use super::material;
use crate::expected::Expected;
use crate::report::Report;
use crate::sandbox::{brief, each, is_in_share};
use crate::skip::Skips;

/// One file in this many is run for every change.
const SHARE: u32 = 3;

/// What one test may use. The time is many times what the slowest test takes, so that a busy machine changes nothing.
const WALL: Duration = Duration::from_secs(30);
const MEMORY: u64 = 256 << 20;

/// Where the guest sees the tests.
const MOUNT: &str = "/tests";

/// What a test prints that skips itself: it ends with status 0 then.
const SKIPPED: &str = "1..0 # Skipped: ";

/// Runs them in the JavaScript guest.
pub(crate) fn run(extent: &Extent) -> Result<Totals> {
    let mut expected = Expected::load("node", "expected.txt")?;
    let mut report = Report::default();
    let root = match material::provide()? {
        Ok(root) => root,
        Err(cause) => {
            report.skip(&format!("the whole suite: {cause}"), 1);
            return report.close("node", &mut expected, extent, |_| false);
        }
    };
    let tests = tests(&root, extent, &mut report)?;
    if !extent.all && extent.only.is_none() {
        report.note(format!("one file in {SHARE}, always the same ones (--all runs every file)"));
    }
    let engine = Engine::new(&root)?;
    let results = each("node", &tests, |index| engine.test(&tests[index]))?;
    for (name, result) in tests.iter().zip(results) {
        match result {
            Ok(Some(cause)) => report.skip(&cause, 1),
            Ok(None) => report.count(name, Ok(())),
            Err(message) => report.count(name, Err(message)),
        }
    }
    report.close("node", &mut expected, extent, |name| tests.iter().any(|ran| ran == name))
}

/// The files that are asked for and can be run: those of the modules in `modules.txt`.
fn tests(root: &Path, extent: &Extent, report: &mut Report) -> Result<Vec<String>> {
    let list = workspace().join("tests/conformance/node/modules.txt");
    let list = fs::read_to_string(&list).with_context(|| format!("cannot read `{}`", list.display()))?;
    let modules: Vec<&str> =
        list.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    let skips = Skips::read("node")?;
    let mut found = Vec::new();
    for entry in fs::read_dir(root.join("parallel"))? {
        let path = entry?.path();
        let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let Some(stem) = file.strip_prefix("test-").filter(|_| file.ends_with("js")) else { continue };
        let is_ours = modules
            .iter()
            .any(|module| stem.strip_prefix(module).is_some_and(|rest| rest.starts_with(['-', '.'])));
        let name = format!("parallel/{file}");
        if !is_ours || !extent.takes(&name, || is_in_share(&name, SHARE)) {
            continue;
        }
        let source = String::from_utf8_lossy(&fs::read(&path)?).into_owned();
        match skips.cause(&name, &source, &[]) {
            Some(cause) => report.skip(cause, 1),
            None => found.push(name),
        }
    }
    found.sort();
    Ok(found)
}

/// The guest, with a folder of tests.
struct Engine {
    provider: WasmProvider,
    grants: Grants,
    before: String,
}

impl Engine {
    fn new(folder: &Path) -> Result<Self> {
        let target = GuestPath::parse(MOUNT)?;
        let mount = Mount { source: folder.to_path_buf(), target, access: Access::ReadOnly };
        let mut grants = Grants { mounts: vec![mount], ..Grants::default() };
        for (name, value) in [("NODE_TEST_DIR", "/tmp"), ("NODE_TEST_KNOWN_GLOBALS", "0")] {
            grants.environment.push((name.into(), value.into()));
        }
        let before = workspace().join("tests/conformance/node/before.js");
        let before =
            fs::read_to_string(&before).with_context(|| format!("cannot read `{}`", before.display()))?;
        Ok(Self { provider: WasmProvider::new(Settings::new()?)?, grants, before })
    }

    /// Runs a test: why it skipped itself, or nothing. The error says why it failed.
    async fn test(&self, name: &str) -> Result<Option<String>, String> {
        let path = format!("{MOUNT}/{name}");
        let run = format!("process.argv[1] = {path:?};\nawait require('module').runMain({path:?});\n");
        let limits = Limits { wall: WALL, memory: MEMORY, ..Limits::default() };
        let request = EvalRequest::new(Language::javascript(), format!("{}\n{run}", self.before));
        let context = RunContext { limits, grants: self.grants.clone(), ..request.context };
        let outcome = self.provider.eval(EvalRequest { context, ..request }).await;
        judge(&outcome.map_err(|error| format!("host: {error}"))?)
    }
}

fn judge(outcome: &Outcome) -> Result<Option<String>, String> {
    let skipped = outcome.stdout.text.lines().find_map(|line| line.strip_prefix(SKIPPED));
    match &outcome.status {
        Status::Returned(_) | Status::Exited(0) => Ok(skipped.map(|cause| format!("it says: {cause}"))),
        Status::Exited(status) => {
            let said = outcome
                .stderr
                .text
                .lines()
                .chain(outcome.stdout.text.lines())
                .find(|line| ["Error", "not ok", "Mismatched"].iter().any(|word| line.contains(word)));
            Err(format!("it exited with {status}: {}", brief(said.unwrap_or_default())))
        }
        Status::Raised(exception) => {
            let message = brief(&exception.message.replace('\n', " "));
            let own = exception.stack_trace.iter().find(|frame| frame.contains("/parallel/"));
            let place =
                own.and_then(|frame| frame.rsplit_once(":")).map(|(_, line)| line.trim_end_matches(')'));
            Err(format!("line {}: {}: {message}", place.unwrap_or("unknown"), exception.class))
        }
        Status::Stopped(error) => Err(format!("stopped: {}", error.code())),
    }
}
