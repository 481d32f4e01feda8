//! Copies guests into the folder of an installation, which is laid out as the cache folder: records and machine code. The
//! components stay behind: they are for who compiles.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use dormouse_wasm::{Architecture, GuestName, Processors, Settings};

use crate::keep::provider;

/// Copies the current guests of languages, compiled first if need be: with their records the machine code that most runs
/// use, or only that which counts fuel.
pub(crate) fn run(into: &Path, languages: &[String], fuel: bool, architecture: Architecture) -> Result<()> {
    let provider = provider(Settings::new()?, Processors::Every(architecture))?;
    for language in languages {
        let name = GuestName::parse(language)?;
        let made =
            provider.precompile(&name, fuel).with_context(|| format!("{language} does not compile"))?;
        copy_artifact(&made, &into.join("artifacts"))?;
        if !fuel {
            copy_record(&provider.component(&name)?, &into.join("guests").join(language))?;
        }
    }
    Ok(())
}

/// The artifact, and the hash of its checksum: what else is noted there is about the file in the cache.
pub(crate) fn copy_artifact(artifact: &Path, into: &Path) -> Result<()> {
    fs::create_dir_all(into)?;
    let name = artifact.file_name().context("an artifact is a file")?;
    let sum = artifact.with_extension("sum");
    let text = fs::read_to_string(&sum).with_context(|| format!("`{}`", sum.display()))?;
    let hash = text.lines().next().unwrap_or_default();
    ensure!(hash.len() == 64, "`{}` is damaged", sum.display());
    fs::copy(artifact, into.join(name))?;
    fs::write(into.join(name).with_extension("sum"), format!("{hash}\n"))?;
    Ok(())
}

fn copy_record(component: &Path, into: &Path) -> Result<()> {
    fs::create_dir_all(into)?;
    let key = component.file_stem().context("a component is a file")?.to_string_lossy().into_owned();
    fs::copy(component.with_extension("json"), into.join(format!("{key}.json")))?;
    fs::write(into.join("current"), key)?;
    Ok(())
}
