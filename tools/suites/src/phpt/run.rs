//! Which tests are run, and what their results come to.

use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context as _, Result};
use dormouse_chores::arguments::Extent;
use dormouse_chores::outcome::Totals;

use super::engine::{Case, Engine, Finding};
use super::material;
use super::pattern::{Wanted, plain};
use super::sections::Sections;
use super::skip::Skips;
use super::tree::Tree;
use crate::expected::Expected;
use crate::report::Report;
use crate::sandbox::{each, is_in_share};

/// One file in this many is run for every change.
const SHARE: u32 = 5;

/// Runs PHP's tests in the PHP guest.
pub(crate) fn run(extent: &Extent) -> Result<Totals> {
    let mut expected = Expected::load("phpt", "expected.txt")?;
    let mut report = Report::default();
    let root = material::provide()?;
    let engine = Engine::new()?;
    let extensions =
        tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(engine.extensions())?;
    let cases = cases(&root, extent, &extensions, &expected, &mut report)?;
    if !extent.all && extent.only.is_none() {
        report.note(format!("one file in {SHARE}, always the same ones (--all runs every file)"));
    }
    // Copies that no worker uses now.
    let trees = Mutex::new(Vec::new());
    let results = each("phpt", &cases, |index| {
        let (engine, case, trees, root) = (&engine, &cases[index], &trees, &root);
        async move {
            let free = trees.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let mut tree = free.map_or_else(|| Tree::copy(root), Ok)?;
            let finding = engine.test(case, &mut tree).await?;
            trees.lock().unwrap_or_else(PoisonError::into_inner).push(tree);
            anyhow::Ok(finding)
        }
    })?;
    let mut ran = HashSet::new();
    for (case, result) in cases.iter().zip(results) {
        let result = match result {
            Ok(Finding::Skipped(cause)) => {
                report.skip(&cause, 1);
                continue;
            }
            Ok(Finding::Passed) => Ok(()),
            Ok(Finding::Failed(message)) => Err(message),
            Err(error) => Err(format!("host: {error:#}")),
        };
        ran.insert(case.name.as_str());
        report.count(&case.name, result);
    }
    report.close("phpt", &mut expected, extent, |name| ran.contains(name))
}

/// The tests that are asked for and can be run.
fn cases(
    root: &Path,
    extent: &Extent,
    extensions: &BTreeSet<String>,
    expected: &Expected,
    report: &mut Report,
) -> Result<Vec<Case>> {
    let skips = Skips::read()?;
    let mut cases = Vec::new();
    for name in found(root)? {
        if !extent.takes(&name, || is_in_share(&name, SHARE)) {
            continue;
        }
        let path = root.join(&name);
        let sections = Sections::parse(&fs::read(&path)?);
        let program = sections.program(path.parent().unwrap_or(root));
        let cause = expected.skipped(&name).map(str::to_owned);
        let cause = cause.or_else(|| skips.cause(&name, &sections, program.as_deref().unwrap_or_default()));
        let cause = cause.or_else(|| missing(&sections, extensions));
        match (cause, program, wanted(&sections)) {
            (Some(cause), ..) => report.skip(&cause, 1),
            (None, Some(program), Some(wanted)) => cases.push(Case { name, sections, program, wanted }),
            (None, ..) => report.skip("the test has no program or says nothing about its output", 1),
        }
    }
    Ok(cases)
}

/// Every test file, in order.
fn found(root: &Path) -> Result<Vec<String>> {
    let (mut names, mut folders) = (Vec::new(), vec![root.to_path_buf()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "phpt") {
                let name = path.strip_prefix(root)?.to_str().context("a test's name is not UTF-8")?;
                names.push(name.to_owned());
            }
        }
    }
    names.sort();
    Ok(names)
}

/// The extension that the test needs and the guest lacks.
fn missing(sections: &Sections, extensions: &BTreeSet<String>) -> Option<String> {
    let text = sections.text("EXTENSIONS").to_ascii_lowercase();
    let mut needed = text.split_whitespace();
    needed.find(|name| !extensions.contains(*name)).map(|name| format!("the guest has no extension {name}"))
}

fn wanted(sections: &Sections) -> Option<Wanted> {
    let text = |name: &str| sections.get(name).map(plain);
    let exact = text("EXPECT").map(Wanted::Text);
    exact.or_else(|| text("EXPECTF").map(Wanted::Format)).or_else(|| text("EXPECTREGEX").map(Wanted::Regex))
}
