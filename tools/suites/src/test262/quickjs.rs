//! QuickJS-ng's own tests, which the package of its sources carries.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;
use dormouse_chores::arguments::Extent;
use dormouse_chores::outcome::Totals;
use dormouse_chores::progress::Progress;
use dormouse_chores::sources::crate_sources;
use dormouse_chores::workspace;

use super::engine::Engine;
use super::harness;
use super::script::Script;
use crate::expected::Expected;
use crate::report::Report;
use crate::sandbox::each;
use crate::skip::Skips;

/// Not tests of their own: parts of others, a library, a benchmark.
const PARTS: [&str; 5] = ["assert.js", "empty.js", "fixture_", "test_worker_module.js", "microbench.js"];

/// The one thing of QuickJS's own shell that a test of the language asks for: which platform it is on.
const PLATFORM: (&str, &str) = ("import * as os from \"qjs:os\";", "const os = {platform: \"wasi\"};");

/// Runs them in the JavaScript guest.
pub(super) fn run(extent: &Extent) -> Result<Totals> {
    let root = crate_sources(&workspace(), &Progress::new("quickjs"), "sources/Cargo.toml", "rquickjs-sys")?
        .join("quickjs/tests");
    let host = harness::own("host.js")?;
    let mut expected = Expected::load("quickjs", "expected.txt")?;
    let (mut report, skips) = (Report::default(), Skips::read("quickjs")?);
    let mut tests = Vec::new();
    for path in files(&root)? {
        let name = path.strip_prefix(&root)?.to_string_lossy().into_owned();
        if !extent.wants(&name) || PARTS.iter().any(|part| name.starts_with(part)) {
            continue;
        }
        let mut script = Script::parse(&fs::read_to_string(&path)?);
        if script.source.matches("os.").count() == script.source.matches("os.platform").count() {
            script.source = script.source.replace(PLATFORM.0, PLATFORM.1);
        }
        match skips.cause(&name, &script.source, &script.features) {
            Some(cause) => report.skip(cause, 1),
            None => tests.push((name, script)),
        }
    }
    let engine = Engine::new(&root)?;
    let results = each("quickjs", &tests, |index| {
        let (name, script) = &tests[index];
        engine.test(&host, name, script, false)
    })?;
    for ((name, _), result) in tests.iter().zip(results) {
        report.count(name, result);
    }
    report.close("quickjs", &mut expected, extent, |name| tests.iter().any(|(ran, _)| ran == name))
}

fn files(root: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "js") {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}
