//! The web-platform-tests that Node.js has a copy of, in the JavaScript guest.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use dormouse::{Outcome, Status};
use dormouse_chores::arguments::Extent;
use dormouse_chores::outcome::Totals;
use dormouse_chores::workspace;
use serde_json::Value as Json;

use super::engine::{Engine, SHARE, ended};
use crate::expected::Expected;
use crate::report::Report;
use crate::sandbox::{brief, each, is_in_share};
use crate::skip::Skips;

/// Where they lie below the tests of Node.js.
const FOLDER: &str = "fixtures/wpt";
/// What is run in every kind of global.
const ENDING: &str = ".any.js";

/// One test in a file: its name, and what was wrong.
type Told = (String, Result<(), String>);

/// Runs them.
pub(super) fn run(extent: &Extent, root: &Path) -> Result<Totals> {
    let mut expected = Expected::load("node", "web.txt")?;
    let mut report = Report::default();
    let root = root.join(FOLDER);
    let (skips, mut files, mut folders) = (Skips::read("node")?, Vec::new(), vec![root.clone()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            let name = path.strip_prefix(&root)?.to_string_lossy().into_owned();
            if path.is_dir() {
                folders.push(path);
            } else if name.ends_with(ENDING) && extent.takes(&name, || is_in_share(&name, SHARE)) {
                match skips.cause(&format!("wpt/{name}"), &fs::read_to_string(&path)?, &[]) {
                    Some(cause) => report.skip(cause, 1),
                    None => files.push(name),
                }
            }
        }
    }
    files.sort();
    let script = workspace().join("tests/conformance/node/web.js");
    let script =
        fs::read_to_string(&script).with_context(|| format!("cannot read `{}`", script.display()))?;
    let engine = Engine::new(root.parent().and_then(Path::parent).unwrap_or(&root))?;
    let results = each("web", &files, |index| {
        let code = format!("process.argv[2] = {:?};\n{script}", files[index]);
        engine.run(code)
    })?;
    for (file, result) in files.iter().zip(results) {
        for (name, result) in result.map_or_else(|error| vec![(String::new(), Err(error))], |o| judge(&o)) {
            let name = if name.is_empty() { file.clone() } else { format!("{file}: {name}") };
            report.count(&name, result);
        }
    }
    let of = |name: &str| name.split_once(ENDING).map(|(stem, _)| format!("{stem}{ENDING}"));
    report.close("web", &mut expected, extent, |name| of(name).is_some_and(|file| files.contains(&file)))
}

/// What the lines of a run say. A file whose harness did not come to its end is a failure by itself.
fn judge(outcome: &Outcome) -> Vec<Told> {
    let mut told: Vec<Told> = Vec::new();
    let mut end = None;
    for line in outcome.stdout.text.lines() {
        let Ok(Json::Array(line)) = serde_json::from_str(line) else { continue };
        let [how, name, message] = line.as_slice() else { continue };
        if how == "end" {
            end = Some((name.clone(), brief(message.as_str().unwrap_or_default())));
            continue;
        }
        // As JSON writes it, so that it is one line.
        let name = name.to_string().trim_matches('"').to_owned();
        let message = brief(message.as_str().unwrap_or_default());
        match how.as_u64() {
            Some(0) => told.push((name, Ok(()))),
            // A test that asks for something that need not be there.
            Some(4) => {}
            _ => told.push((name, Err(message))),
        }
    }
    match end {
        Some((status, _)) if status == 0 => {}
        Some((_, why)) => told.push((String::new(), Err(why))),
        None if matches!(outcome.status, Status::Returned(_) | Status::Exited(0)) => {
            told.push((String::new(), Err("its harness did not come to an end".to_owned())));
        }
        None => told.push((String::new(), Err(ended(outcome)))),
    }
    told
}
