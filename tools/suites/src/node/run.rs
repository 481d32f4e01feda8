//! Which tests of Node.js are run, and what their results come to.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use dormouse::{Outcome, Status};
use dormouse_chores::arguments::Extent;
use dormouse_chores::outcome::Totals;
use dormouse_chores::workspace;

use super::engine::{Engine, SHARE, ended};
use super::{material, web};
use crate::expected::Expected;
use crate::report::Report;
use crate::sandbox::{TESTS, each, is_in_share};
use crate::skip::Skips;

/// What a test prints that skips itself: it ends with status 0 then.
const SKIPPED: &str = "1..0 # Skipped: ";

/// Runs both suites.
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
    let before = workspace().join("tests/conformance/node/before.js");
    let before =
        fs::read_to_string(&before).with_context(|| format!("cannot read `{}`", before.display()))?;
    let engine = Engine::new(&root)?;
    let results = each("node", &tests, |index| {
        let path = format!("{TESTS}/{}", tests[index]);
        let run = format!("process.argv[1] = {path:?};\nrequire('module').runMain({path:?});\n");
        engine.run(format!("{before}\n{run}"))
    })?;
    for (name, result) in tests.iter().zip(results) {
        match result.and_then(|outcome| judge(&outcome)) {
            Ok(Some(cause)) => report.skip(&cause, 1),
            Ok(None) => report.count(name, Ok(())),
            Err(message) => report.count(name, Err(message)),
        }
    }
    let mut totals =
        report.close("node", &mut expected, extent, |name| tests.iter().any(|ran| ran == name))?;
    totals.add(web::run(extent, &root)?);
    Ok(totals)
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

fn judge(outcome: &Outcome) -> Result<Option<String>, String> {
    let skipped = outcome.stdout.text.lines().find_map(|line| line.strip_prefix(SKIPPED));
    match &outcome.status {
        Status::Returned(_) | Status::Exited(0) => Ok(skipped.map(|cause| format!("it says: {cause}"))),
        _ => Err(ended(outcome)),
    }
}
