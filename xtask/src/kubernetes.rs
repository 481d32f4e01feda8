//! The phase `kubernetes` of `cargo xtask test`.

use anyhow::Result;
use dormouse_chores::outcome::Outcome;
use dormouse_chores::process;
use dormouse_chores::progress::complain;
use dormouse_test_engine::{KUBERNETES, Machinery};

use crate::test;

/// The test program that asks the API machinery.
const PROGRAM: &str = "cluster";
/// Those of its tests.
const TESTS: &str = "resources";

/// Starts the API machinery, and runs the tests that send it what the provider writes.
pub(crate) fn run() -> Result<Outcome> {
    let machinery = match Machinery::start() {
        Ok(machinery) => machinery,
        Err(cause) => {
            complain(&format!("kubernetes: skipped: {cause:#}"));
            return Ok(Outcome::skipped());
        }
    };
    process::cargo(&["build", "--release", "--workspace", "--bins", "--tests"])?;
    let tested = test::tests(&["--test", PROGRAM, TESTS], &[(KUBERNETES, machinery.address())]);
    machinery.stop()?;
    tested
}
