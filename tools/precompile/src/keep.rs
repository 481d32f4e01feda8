//! Guests of another release, for the sandboxes that were saved with them: its components are what the next release compiles.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail, ensure};
use dormouse_wasm::{Allocation, Architecture, GuestName, Processors, Settings, WasmProvider};

use crate::install::copy_artifact;

/// Copies the components of the current guests of languages, with their records.
pub(crate) fn components(into: &Path, languages: &[String]) -> Result<()> {
    let provider = provider(Settings::new()?, Processors::This)?;
    for language in languages {
        let component = provider.component(&GuestName::parse(language)?)?;
        let folder = into.join("guests").join(language);
        fs::create_dir_all(&folder)?;
        for file in [component.clone(), component.with_extension("json")] {
            let name = file.file_name().context("a component is a file")?;
            fs::copy(&file, folder.join(name)).with_context(|| format!("`{}`", file.display()))?;
        }
    }
    Ok(())
}

/// Copies every guest below `from` that is not a current one: its record, and machine code that is made for it first if need be.
pub(crate) fn run(into: &Path, from: &Path, architecture: Architecture) -> Result<()> {
    let settings = Settings { kept: vec![from.to_owned()], ..Settings::new()? };
    let provider = provider(settings, Processors::Every(architecture))?;
    let mut count = 0;
    for language in
        fs::read_dir(from.join("guests")).with_context(|| format!("`{}` has no guests", from.display()))?
    {
        let folder = language?;
        let Ok(name) = folder.file_name().into_string() else { continue };
        for file in fs::read_dir(folder.path())? {
            let record = file?.path();
            if record.extension().is_none_or(|end| end != "json") || !record.with_extension("wasm").is_file()
            {
                continue;
            }
            let text = fs::read_to_string(&record).with_context(|| format!("`{}`", record.display()))?;
            let read: serde_json::Value = serde_json::from_str(&text)?;
            let Some(hash) = read["sha256"].as_str() else {
                bail!("`{}` names no SHA-256", record.display());
            };
            let guest = GuestName::parse(&name)?;
            let Some(artifact) = provider.precompile_kept(&guest, hash)? else { continue };
            copy_artifact(&artifact, &into.join("artifacts"))?;
            let folder = into.join("guests").join(&name);
            fs::create_dir_all(&folder)?;
            fs::copy(&record, folder.join(record.file_name().context("a record is a file")?))?;
            count += 1;
        }
    }
    ensure!(count > 0, "`{}` has no guest that differs from the current ones", from.display());
    Ok(())
}

/// A provider that takes nothing from an installation.
pub(crate) fn provider(settings: Settings, processors: Processors) -> Result<WasmProvider> {
    Ok(WasmProvider::new(Settings {
        allocation: Allocation::OnDemand,
        installed: None,
        processors,
        ..settings
    })?)
}
