//! The Python wheel, in a clean environment.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, ensure};
use dormouse_chores::progress::complain;
use dormouse_chores::{program, python, workspace};

use super::super::{Made, done};

/// What checks the types of a Python package, and what its binaries need.
const CHECKERS: &str = "mypy==2.4.1 pyright==1.1.414 auditwheel==6.8.2";

/// A clean environment with the wheel in it, and its Python.
fn environment(made: &Made, place: &Path) -> Result<PathBuf> {
    python::require().map_err(anyhow::Error::msg)?;
    let folder = place.join("environment");
    done(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
    let mut pip = Command::new(folder.join("bin/pip"));
    pip.args(["install", "--quiet", "--disable-pip-version-check", "--no-index", "--no-deps"]);
    done(pip.arg(&made.wheel))?;
    Ok(folder.join("bin/python"))
}

/// The tests of the package, as an installed one.
pub(super) fn wheel(made: &Made) -> Result<()> {
    let place = tempfile::tempdir()?;
    let home = place.path().join("home");
    fs::create_dir(&home)?;
    let mut tests = Command::new(environment(made, place.path())?);
    tests
        .args(["-m", "unittest", "test_package", "test_places"])
        .current_dir(workspace().join("adapters/python/tests"));
    tests.env_clear().env("HOME", home).env("PATH", "/usr/bin:/bin").env("PYTHONDONTWRITEBYTECODE", "1");
    // Only one fails slowly: a thousand threads beside other work.
    let ran = program::run(&mut tests, Duration::from_secs(600))?;
    ensure!(ran.succeeded(), "{}", ran.stderr);
    Ok(())
}

/// The package is typed throughout, and its binaries need no more than its tag says.
pub(super) fn types(made: &Made) -> Result<()> {
    let checkers = match python::environment("checkers", CHECKERS) {
        Ok(folder) => folder.join("bin"),
        Err(error) => {
            complain(&format!("left out: types of the Python package: {CHECKERS} cannot be had: {error:#}"));
            return Ok(());
        }
    };
    let place = tempfile::tempdir()?;
    let python = environment(made, place.path())?;
    let sources = workspace().join("adapters/python");
    let mut mypy = Command::new(checkers.join("mypy"));
    mypy.args(["--strict", "--no-error-summary", "--cache-dir=/dev/null", "--python-executable"])
        .arg(&python);
    done(mypy.args(["--package", "dormouse"]).current_dir(place.path()))?;
    done(
        Command::new(checkers.join("mypy"))
            .args(["--strict", "--no-error-summary", "--cache-dir=/dev/null", "--python-executable"])
            .arg(&python)
            .arg(sources.join("tests/typed.py"))
            .current_dir(place.path()),
    )?;
    let mut pyright = Command::new(checkers.join("pyright"));
    // It takes the Python that it finds first, whatever is said to it.
    let first = [
        python.parent().unwrap_or(Path::new("/")).to_owned(),
        "/usr/local/bin".into(),
        "/usr/bin".into(),
        "/bin".into(),
    ];
    pyright.env("PATH", std::env::join_paths(first)?).args(["--verifytypes", "dormouse", "--ignoreexternal"]);
    let said = program::run(pyright.current_dir(place.path()), Duration::from_secs(300))?;
    ensure!(said.stdout.contains("Type completeness score: 100%"), "{}", said.stdout);
    let mut auditwheel = Command::new(checkers.join("auditwheel"));
    let said = program::run(auditwheel.arg("show").arg(&made.wheel), Duration::from_secs(300))?;
    let name = made.wheel.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let tag = name.rsplit('-').next().unwrap_or_default();
    ensure!(said.stdout.contains(&format!("\"{tag}\"")), "{}", said.stdout);
    Ok(())
}
