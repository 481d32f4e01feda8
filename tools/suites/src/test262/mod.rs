//! The conformance tests of ECMAScript (test262) and QuickJS-ng's own, in the JavaScript guest. Each test runs in an
//! instance of its own: the harness as one script, then the test as another.

mod engine;
mod harness;
mod material;
mod quickjs;
mod run;
mod script;

use anyhow::Result;
use dormouse_chores::arguments::Extent;
use dormouse_chores::outcome::Totals;

/// Runs both suites.
pub(crate) fn run(extent: &Extent) -> Result<Totals> {
    let mut totals = quickjs::run(extent)?;
    totals.add(run::run(extent)?);
    Ok(totals)
}
