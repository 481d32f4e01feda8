//! Stub.

use anyhow::Result;

use super::arguments::Extent;
use crate::process::Totals;

/// Runs them.
pub(crate) fn run(_extent: &Extent) -> Result<Totals> {
    Ok(Totals::default())
}
