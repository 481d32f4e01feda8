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

/// What belongs to a guest of the workspace `guests/Cargo.toml` besides its own folder; nothing for the others. These are not in
/// the recipes, because a recipe's text is part of the key of its guest.
fn members(language: &str) -> &'static [&'static str] {
    match language {
        "git" | "shell" => &["Cargo.toml", "contract"],
        _ => &[],
    }
}

/// The entries of the lock file for a package and for everything that it depends on, in the order of the file: what another
/// member of the workspace depends on does not count. None: the package is not in it.
fn locked<'a>(lock: &'a str, package: &str) -> Option<Vec<&'a str>> {
    fn field<'a>(entry: &'a str, name: &str) -> &'a str {
        let line = entry.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(" = "));
        line.unwrap_or_default().trim_matches('"')
    }
    let entries: Vec<&str> = lock.split("[[package]]").skip(1).collect();
    // A dependency is a name, and a version where there are several.
    let find = |dependency: &str| {
        let (name, version) = dependency.split_once(' ').unwrap_or((dependency, ""));
        let fits = |entry: &&str| {
            field(entry, "name") == name && (version.is_empty() || field(entry, "version") == version)
        };
        entries.iter().position(fits)
    };
    let (mut reached, mut open) = (vec![false; entries.len()], vec![find(package)?]);
    while let Some(at) = open.pop() {
        if !std::mem::replace(&mut reached[at], true) {
            let lines = entries[at].lines().filter_map(|line| line.strip_prefix(" \"")?.strip_suffix("\","));
            open.extend(lines.filter_map(find));
        }
    }
    Some(
        entries
            .into_iter()
            .zip(reached)
            .filter(|(_, reached)| *reached)
            .map(|(entry, _)| entry.trim())
            .collect(),
    )
}

/// Whether a file has no part in a guest: prose, and tests of its code.
fn is_beside(file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    name.ends_with(".md") || name.ends_with("_tests.rs") || file.iter().any(|part| part == "tests")
}

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
            Pin::Python(file) => hash.add(file.file, file.sha256.as_bytes()),
            Pin::Crate(name) => hash.add(name, source::crate_checksum(workspace, name)?.as_bytes()),
        }
    }
    let guests = workspace.join("guests");
    let mut places = vec![guests.join(recipe.language), guests.join("driver"), workspace.join("wit")];
    places.extend(members(recipe.language).iter().map(|member| guests.join(member)));
    for place in places {
        let files = if place.is_file() { vec![place] } else { tree::files(&place)? };
        for file in files {
            let name = file.strip_prefix(workspace).unwrap_or(&file);
            if is_beside(name) {
                continue;
            }
            let bytes = std::fs::read(&file).with_context(|| format!("cannot read `{}`", file.display()))?;
            hash.add(&name.to_string_lossy(), &bytes);
        }
    }
    if !members(recipe.language).is_empty() {
        let path = guests.join("Cargo.lock");
        let lock =
            std::fs::read_to_string(&path).with_context(|| format!("cannot read `{}`", path.display()))?;
        let package = format!("dormouse-{}", recipe.language);
        let entries =
            locked(&lock, &package).with_context(|| format!("`{}` has no `{package}`", path.display()))?;
        entries.into_iter().for_each(|entry| hash.add("locked", entry.as_bytes()));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_and_tests_are_no_part_of_a_guest() {
        let beside =
            ["guests/php/README.md", "guests/git/src/words_tests.rs", "guests/shell/src/own/tests/bc.rs"];
        assert!(beside.iter().all(|file| is_beside(Path::new(file))));
        let parts =
            ["guests/Cargo.lock", "guests/shell/src/own/bc/mod.rs", "guests/javascript/prelude/test.js"];
        assert!(!parts.iter().any(|file| is_beside(Path::new(file))));
    }

    #[test]
    fn of_the_lock_file_only_what_a_guest_depends_on_counts() {
        let entry = |name: &str, version: &str, dependencies: &[&str]| {
            let lines: String = dependencies.iter().map(|one| format!(" \"{one}\",\n")).collect();
            format!("[[package]]\nname = \"{name}\"\nversion = \"{version}\"\ndependencies = [\n{lines}]\n\n")
        };
        let all = [
            entry("dormouse-git", "0.1.0", &["b 2.0.0"]),
            entry("dormouse-shell", "0.1.0", &["b 1.0.0", "c"]),
            entry("b", "1.0.0", &[]),
            entry("b", "2.0.0", &["c"]),
            entry("c", "1.0.0", &["b 2.0.0"]),
        ];
        let lock = format!("version = 4\n\n{}", all.concat());
        let names = |package| -> Vec<&str> {
            let entries = locked(&lock, package).unwrap_or_default();
            entries.iter().map(|entry| entry.split('"').nth(1).unwrap_or_default()).collect()
        };
        assert_eq!(names("dormouse-git"), ["dormouse-git", "b", "c"]);
        assert_eq!(names("dormouse-shell"), ["dormouse-shell", "b", "b", "c"]);
        assert!(locked(&lock, "dormouse-php").is_none());
    }

    #[test]
    fn what_belongs_to_a_guest_is_there() {
        let guests = dormouse_chores::workspace().join("guests");
        for recipe in crate::guests::RECIPES {
            assert!(guests.join(recipe.language).is_dir(), "{}", recipe.language);
            assert!(members(recipe.language).iter().all(|member| guests.join(member).exists()));
        }
    }
}
