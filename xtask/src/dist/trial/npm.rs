//! The npm packages, in a folder where nothing else is installed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, ensure};
use dormouse_chores::progress::complain;
use dormouse_chores::{node, program, workspace};

use super::super::npm::{NAME, compiler};
use super::super::{Made, done};

/// Node.js that the package can be used with, at the least.
const OLDEST: (u32, u32) = (20, 0);
/// What finds mistakes in how a package is put together.
const CHECKERS: [&str; 2] = ["publint@0.3.25", "@arethetypeswrong/cli@0.18.5"];
/// A folder that only holds programs in modules.
const PROJECT: &str = "{\"private\": true, \"type\": \"module\"}\n";

/// Installs files as users do. No registry answers: nobody else's package can come in between.
fn install(files: &[&PathBuf], place: &Path) -> Result<()> {
    node::require().map_err(anyhow::Error::msg)?;
    fs::write(place.join("package.json"), PROJECT)?;
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-audit", "--no-fund", "--fetch-retries=0", "--registry=http://127.0.0.1:9"]);
    done(npm.arg("--loglevel=error").args(files).current_dir(place).stdout(std::process::Stdio::null()))
}

/// The tests of the package, as an installed one.
pub(super) fn packages(made: &Made) -> Result<()> {
    let place = tempfile::tempdir()?;
    install(&[&made.npm.whole], place.path())?;
    // The documentation is true where the package is installed.
    for page in ["docs/getting-started/node.md", "README.md"] {
        let page = workspace().join(page);
        fs::copy(&page, place.path().join(page.file_name().unwrap_or_default()))?;
    }
    let home = place.path().join("home");
    fs::create_dir(&home)?;
    let mut tests = Command::new(node::node(OLDEST)?);
    tests.args(["--test", "--test-concurrency=1"]);
    for file in ["package.test.mjs", "places.test.mjs"] {
        // A module finds the packages that are installed above it.
        fs::copy(workspace().join("adapters/node/tests").join(file), place.path().join(file))?;
        tests.arg(file);
    }
    tests
        .current_dir(place.path())
        .env_clear()
        .env("HOME", home)
        .env("PATH", std::env::var_os("PATH").unwrap_or_default());
    let ran = program::run(&mut tests, Duration::from_secs(600))?;
    ensure!(ran.succeeded(), "{}{}", ran.stdout, ran.stderr);
    Ok(())
}

/// A program that is as strict as it can be is compiled against the package and runs, and the package is put together as others
/// expect.
pub(super) fn types(made: &Made) -> Result<()> {
    let place = tempfile::tempdir()?;
    // As they come from a registry.
    install(&[&made.npm.main, &made.npm.platform], place.path())?;
    fs::copy(workspace().join("adapters/node/tests/typed.ts"), place.path().join("typed.ts"))?;
    let (tsc, types) = compiler()?;
    let mut compile = Command::new(tsc);
    compile.args([
        "--strict",
        "--noUncheckedIndexedAccess",
        "--exactOptionalPropertyTypes",
        "--target",
        "es2022",
    ]);
    compile.args(["--module", "nodenext", "--lib", "es2023", "--types", "node", "--typeRoots"]).arg(types);
    done(compile.arg("typed.ts").current_dir(place.path()))?;
    let mut typed = Command::new(node::node(OLDEST)?);
    let said =
        program::run(typed.args(["typed.js", "state"]).current_dir(place.path()), Duration::from_secs(120))?;
    ensure!(said.stdout == "2 null 1 0 true b 67108864\n", "{}{}", said.stdout, said.stderr);
    let checkers = match node::packages("npm-checkers", &CHECKERS) {
        Ok(folder) => folder.join("node_modules/.bin"),
        Err(error) => {
            complain(&format!("left out: checks of the npm package: {CHECKERS:?} cannot be had: {error:#}"));
            return Ok(());
        }
    };
    let package = &made.npm.main;
    let checks: [(&str, &[&str]); 2] =
        [("publint", &["run", "--strict"]), ("attw", &["--profile", "esm-only", "--no-color", "--no-emoji"])];
    for (checker, words) in checks {
        let mut check = Command::new(node::node(OLDEST)?);
        check.arg(checkers.join(checker)).args(words).arg(package).current_dir(place.path());
        let said = program::run(&mut check, Duration::from_secs(300))?;
        ensure!(said.succeeded(), "{checker} of {NAME}: {}{}", said.stdout, said.stderr);
    }
    Ok(())
}
