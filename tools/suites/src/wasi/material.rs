//! Where the programs come from: a commit of the suite's own repository, which holds them compiled. No package registry
//! has them, so whoever runs the suite says where the repository can be fetched from.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};
use dormouse_chores::progress::Progress;
use dormouse_chores::{folder, program};

/// The variable that says where the repository is: an address that git takes, or the folder of a clone.
const SOURCE: &str = "DORMOUSE_WASI_TESTSUITE";
/// A commit of the branch `prod/testsuite-base` of 18 August 2026. Git checks what it fetches against it.
const COMMIT: &str = "9f80ca35444cfd9e63100725615140a346652e6c";
/// The target whose programs are run.
pub(super) const TARGET: &str = "wasm32-wasip1";
/// Below these folders of the repository they lie, each language's in its own.
pub(super) const LANGUAGES: [&str; 3] = ["assemblyscript", "c", "rust"];

/// The folder that holds the commit's tests. The inner error says why they cannot be had.
pub(super) fn provide() -> Result<Result<PathBuf, String>> {
    let mut missing = None;
    let folder = folder::provide("wasi", COMMIT, |into: &Path| {
        let Some(source) = std::env::var_os(SOURCE).filter(|source| !source.is_empty()) else {
            missing = Some(format!(
                "the repository WebAssembly/wasi-testsuite has not been fetched: set {SOURCE} to where git finds it"
            ));
            bail!("no source");
        };
        let _step = Progress::new("wasi").step("fetching the test programs (git)");
        let git = |arguments: &[&str]| {
            let mut git = Command::new("git");
            git.arg("-C").arg(into).args(arguments);
            git
        };
        program::install(&mut git(&["init", "--quiet"]))?;
        let fetched = program::fetch(|| {
            let mut fetch = git(&["fetch", "--quiet", "--depth", "1", "--no-tags", "--"]);
            fetch.arg(&source).arg(COMMIT);
            fetch
        });
        fetched
            .inspect_err(|error| missing = Some(format!("the test programs cannot be fetched: {error:#}")))?;
        let folders = LANGUAGES.map(|language| format!("tests/{language}/testsuite/{TARGET}"));
        program::install(git(&["checkout", "--quiet", COMMIT, "--"]).args(folders)).map(drop)
    });
    match missing {
        Some(cause) => Ok(Err(cause)),
        None => folder.map(Ok),
    }
}
