//! The content key of a guest: one hash over everything that decides its bytes.

use std::path::Path;

use anyhow::{Context, Result};
use dormouse_chores::digest::hex;
pub(crate) use dormouse_chores::digest::sha256;
use sha2::{Digest, Sha256};

use super::recipe::{Pin, Recipe};
use super::source;
use super::toolchain::Toolchain;
use super::tree;

/// Raised when the steps that all recipes share change what they produce.
const STEPS_VERSION: u32 = 4;

/// The key under which the guest of this recipe, these files and these tools is cached.
pub(crate) fn of(recipe: &Recipe, workspace: &Path, toolchain: &Toolchain) -> Result<String> {
    let mut hash = Parts(Sha256::new());
    hash.add("steps", &STEPS_VERSION.to_le_bytes());
    hash.add("recipe", &recipe.version.to_le_bytes());
    for text in recipe.text {
        hash.add("text", text.as_bytes());
    }
    hash.add("interpreter", recipe.interpreter.as_bytes());
    hash.add("tools", toolchain.identity().as_bytes());
    for pin in recipe.pins {
        match pin {
            Pin::Debian(candidates) => {
                candidates.iter().for_each(|file| hash.add(file.file, file.sha256.as_bytes()))
            }
            Pin::Crate(name) => hash.add(name, source::crate_checksum(workspace, name)?.as_bytes()),
        }
    }
    let guests = workspace.join("guests");
    for folder in [guests.join(recipe.language), guests.join("driver"), workspace.join("wit")] {
        for file in tree::files(&folder)? {
            // Prose does not change a guest.
            if file.extension().is_some_and(|extension| extension == "md") {
                continue;
            }
            let name = file.strip_prefix(workspace).unwrap_or(&file).to_string_lossy().into_owned();
            let bytes = std::fs::read(&file).with_context(|| format!("cannot read `{}`", file.display()))?;
            hash.add(&name, &bytes);
        }
    }
    Ok(hex(&hash.0.finalize())[..32].to_owned())
}

/// Labelled parts with their lengths, so that no two lists of parts hash alike.
struct Parts(Sha256);

impl Parts {
    fn add(&mut self, label: &str, bytes: &[u8]) {
        for part in [label.as_bytes(), bytes] {
            self.0.update((part.len() as u64).to_le_bytes());
            self.0.update(part);
        }
    }
}
