//! Which tests of test262 are run, and what their results come to.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use anyhow::Result;
use dormouse_chores::arguments::Extent;
use dormouse_chores::outcome::Totals;

use super::engine::Engine;
use super::harness::Harness;
use super::material;
use super::script::Script;
use crate::expected::Expected;
use crate::report::Report;
use crate::sandbox::{each, is_in_share};
use crate::skip::Skips;

/// One file in this many is run for every change.
const SHARE: u32 = 3;

/// One run of one test.
struct Case {
    /// The path below the tests' folder; ` (strict)` follows when the test is made strict.
    name: String,
    file: usize,
    strict: bool,
}

/// Runs test262 in the JavaScript guest.
pub(super) fn run(extent: &Extent) -> Result<Totals> {
    let mut expected = Expected::load("test262", "expected.txt")?;
    let mut report = Report::default();
    let root = match material::provide()? {
        Ok(root) => root,
        Err(cause) => {
            report.skip(&format!("the whole suite: {cause}"), 1);
            return report.close("test262", &mut expected, extent, |_| false);
        }
    };
    let scripts = scripts(&root, extent, &mut report)?;
    if !extent.all && extent.only.is_none() {
        report.note(format!("one file in {SHARE}, always the same ones (--all runs every file)"));
    }
    let cases: Vec<Case> =
        scripts.iter().enumerate().flat_map(|(file, (name, script))| cases(file, name, script)).collect();
    let (engine, harness) = (Engine::new(&root)?, Harness::read(&root)?);
    let results = each("test262", &cases, |index| {
        let case = &cases[index];
        let (path, script) = &scripts[case.file];
        let (engine, harness) = (&engine, &harness);
        async move { engine.test(&harness.before(script)?, path, script, case.strict).await }
    })?;
    for (case, result) in cases.iter().zip(results) {
        report.count(&case.name, result);
    }
    let ran: HashSet<&str> = cases.iter().map(|case| case.name.as_str()).collect();
    report.close("test262", &mut expected, extent, |name| ran.contains(name))
}

/// The files that are asked for and can be run.
fn scripts(root: &Path, extent: &Extent, report: &mut Report) -> Result<Vec<(String, Script)>> {
    let skips = Skips::read("test262")?;
    let mut scripts = Vec::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            let name = path.strip_prefix(root)?.to_string_lossy().into_owned();
            if path.is_dir() {
                folders.push(path);
            } else if is_test(&name) && extent.takes(&name, || is_in_share(&name, SHARE)) {
                let Ok(text) = fs::read_to_string(&path) else {
                    report.skip("the file is not UTF-8", 1);
                    continue;
                };
                let script = Script::parse(&text);
                match skips.cause(&name, &script.source, &script.features) {
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
