//! Which programs are run, and what their results come to.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use dormouse_chores::arguments::Extent;
use dormouse_chores::outcome::Totals;

use super::{material, program};
use crate::expected::Expected;
use crate::report::Report;
use crate::{sandbox, server};

/// Runs the programs of WASI preview 1.
pub(crate) fn run(extent: &Extent) -> Result<Totals> {
    let mut expected = Expected::load("wasi", "expected.txt")?;
    let mut report = Report::default();
    let root = match material::provide()? {
        Ok(root) => root,
        Err(cause) => {
            report.skip(&format!("the whole suite: {cause}"), 1);
            return report.close("wasi", &mut expected, extent, |_| false);
        }
    };
    let dormouse = server::dormouse()?;
    let programs = programs(&root, extent)?;
    let results = sandbox::each("wasi", &programs, |index| {
        let result = program::test(&dormouse, &programs[index].1);
        async move { result }
    })?;
    for ((name, _), result) in programs.iter().zip(results) {
        report.count(name, result?);
    }
    let ran: HashSet<&str> = programs.iter().map(|(name, _)| name.as_str()).collect();
    report.close("wasi", &mut expected, extent, |name| ran.contains(name))
}

/// The programs that are asked for, by language and name.
fn programs(root: &Path, extent: &Extent) -> Result<Vec<(String, PathBuf)>> {
    let mut programs = Vec::new();
    for language in material::LANGUAGES {
        let folder = root.join("tests").join(language).join("testsuite").join(material::TARGET);
        for entry in fs::read_dir(&folder).with_context(|| format!("cannot list `{}`", folder.display()))? {
            let path = entry?.path();
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            let name = format!("{language}/{name}");
            if path.extension().is_some_and(|extension| extension == "wasm") && extent.wants(&name) {
                programs.push((name, path));
            }
        }
    }
    programs.sort();
    Ok(programs)
}
