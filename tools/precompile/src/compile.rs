//! Fills the cache of compiled artifacts, so that the first run does not pay for compilation.

use anyhow::{Context as _, Result};
use dormouse_wasm::{Allocation, GuestName, Settings, WasmProvider};

/// Compiles the current guest of `language` for this machine, with and without fuel, where the runtime will look for it.
pub(crate) fn run(language: &str) -> Result<()> {
    let settings = Settings { allocation: Allocation::OnDemand, ..Settings::new()? };
    let provider = WasmProvider::new(settings)?;
    let name = GuestName::parse(language)?;
    for counts_fuel in [false, true] {
        provider.precompile(&name, counts_fuel).context("the guest does not compile")?;
    }
    Ok(())
}
