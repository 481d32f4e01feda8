//! The crates of an embedding program, packed as they are published, and used as that program does: the program that the README of
//! the package shows is compiled from the packages alone.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context as _, Result, ensure};
use dormouse_chores::process::{self, plain_cargo};
use dormouse_chores::workspace;
use toml::{Table, Value, toml};

use super::{Made, cargo_says, done};

/// The package that programs depend on. The others come with it.
const PACKAGE: &str = "dormouse-sandbox";
/// What the program is called here.
const PROGRAM: &str = "dormouse-embedder";
/// Largest package, in bytes. Registries take 10 MiB.
const LARGEST: u64 = 1 << 20;

/// A crate that is published.
struct Published {
    name: String,
    /// Its folder in the workspace.
    place: PathBuf,
}

/// The crates of the workspace that are published.
fn published() -> Result<Vec<Published>> {
    let said = cargo_says(&["metadata", "--no-deps", "--format-version", "1", "--offline", "--locked"])?;
    let metadata: serde_json::Value = serde_json::from_str(&said)?;
    let packages = metadata["packages"].as_array().into_iter().flatten();
    // An empty list of registries is `publish = false`.
    let of = |package: &serde_json::Value| {
        let manifest = Path::new(package["manifest_path"].as_str()?);
        let place = manifest.parent()?.strip_prefix(workspace()).ok()?.to_owned();
        Some(Published { name: package["name"].as_str()?.to_owned(), place })
    };
    Ok(packages.filter(|package| package["publish"].is_null()).filter_map(of).collect())
}

/// Packs all of them, without a word of warning. Answers the folder of the packages.
fn pack(crates: &[Published], into: &Path) -> Result<PathBuf> {
    let mut cargo = plain_cargo();
    cargo
        .args(["package", "--locked", "--offline", "--no-verify", "--allow-dirty", "--target-dir"])
        .arg(into);
    cargo.args(crates.iter().flat_map(|one| ["--package", &one.name])).current_dir(workspace());
    let said = cargo.output()?;
    let text = String::from_utf8_lossy(&said.stderr);
    ensure!(said.status.success() && !text.contains("warning"), "cargo package: {text}");
    Ok(into.join("package"))
}

/// Unpacks a package, and looks at what is in it.
fn unpack(file: &Path, into: &Path) -> Result<()> {
    fs::create_dir_all(into)?;
    let size = fs::metadata(file)?.len();
    ensure!(size <= LARGEST, "`{}` is {size} bytes large", file.display());
    // Files get the time of now: cargo takes what is older than what it made of it for unchanged.
    let mut tar = Command::new("tar");
    tar.args(["--touch", "--strip-components=1", "-xzf"]).arg(file);
    done(tar.arg("-C").arg(into))?;
    for wanted in ["README.md", "LICENSE-APACHE", "LICENSE-MIT", "src/lib.rs"] {
        let found = fs::symlink_metadata(into.join(wanted))
            .with_context(|| format!("{}: {wanted}", file.display()))?;
        ensure!(found.is_file() && found.len() > 0, "{}: `{wanted}` is no file", file.display());
    }
    Ok(())
}

/// The first block of that language in a document.
fn block<'a>(document: &'a str, language: &str) -> Result<&'a str> {
    let begin = format!("```{language}\n");
    let (_, rest) = document.split_once(&begin).with_context(|| format!("no block of {language}"))?;
    Ok(rest.split_once("```").context("a block has no end")?.0)
}

/// A workspace like ours in which the packages stand in the place of the crates that they were made of, and the program beside
/// them. So all other dependencies are those that are compiled already: same versions, same features, same profile.
fn workspace_of(crates: &[Published], packages: &Path, root: &Path) -> Result<()> {
    let mut manifest: Table = fs::read_to_string(workspace().join("Cargo.toml"))?.parse()?;
    let mut patches = Table::new();
    for one in crates {
        unpack(
            &packages.join(format!("{}-{}.crate", one.name, env!("CARGO_PKG_VERSION"))),
            &root.join(&one.place),
        )?;
        patches.insert(
            one.name.clone(),
            Value::Table(toml! { path = (one.place.to_string_lossy().into_owned()) }),
        );
        // No one waits for what they do here.
        let quick = Value::Table(toml! { opt-level = 0 });
        table(&mut manifest, &["profile", "release", "package"])?.insert(one.name.clone(), quick);
    }
    table(&mut manifest, &["patch"])?.insert("crates-io".into(), Value::Table(patches));
    let members = table(&mut manifest, &["workspace"])?.get_mut("members").and_then(Value::as_array_mut);
    let members = members.context("the workspace has no members")?;
    for member in members.iter().filter_map(Value::as_str) {
        let folder = Path::new(member.trim_end_matches("/*"));
        let top = folder.iter().next().map(PathBuf::from).context("a member has a name")?;
        if !root.join(&top).exists() {
            std::os::unix::fs::symlink(workspace().join(&top), root.join(&top))?;
        }
    }
    members.push(PROGRAM.into());
    fs::write(root.join("Cargo.toml"), toml::to_string(&manifest)?)?;
    fs::copy(workspace().join("Cargo.lock"), root.join("Cargo.lock"))?;
    let place = &crates.iter().find(|one| one.name == PACKAGE).context("it is not published")?.place;
    let readme = fs::read_to_string(root.join(place).join("README.md"))?;
    let head = format!("[package]\nname = \"{PROGRAM}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n");
    fs::create_dir_all(root.join(PROGRAM).join("src"))?;
    fs::write(root.join(PROGRAM).join("Cargo.toml"), head + block(&readme, "toml")?)?;
    fs::write(root.join(PROGRAM).join("src/main.rs"), block(&readme, "rust")?)?;
    Ok(())
}

/// The table at a place of a manifest, made if it is missing.
fn table<'a>(manifest: &'a mut Table, path: &[&str]) -> Result<&'a mut Table> {
    path.iter().try_fold(manifest, |table, name| {
        let inner = table.entry(*name).or_insert_with(|| Value::Table(Table::new()));
        inner.as_table_mut().with_context(|| format!("`{name}` is no table"))
    })
}

/// The packages hold what they need, and a program that has nothing else of ours runs: with the guests of the cache folder, with
/// those of an installed release, and without any it says how to have them.
pub(super) fn trial(made: &Made, installed: &Path) -> Result<()> {
    let place = process::target().join("crates-trial");
    if place.exists() {
        fs::remove_dir_all(&place)?;
    }
    let crates = published()?;
    let packages = pack(&crates, &place.join("packed"))?;
    let root = place.join("workspace");
    workspace_of(&crates, &packages, &root)?;
    let mut cargo = plain_cargo();
    cargo.args([
        "build",
        "--quiet",
        "--release",
        "--offline",
        "--workspace",
        "--bin",
        PROGRAM,
        "--target-dir",
    ]);
    done(cargo.arg(process::target()).current_dir(&root))?;
    let program = process::tool(PROGRAM);
    let home = place.join("home");
    fs::create_dir(&home)?;
    let ends = |ran: Output| {
        let (said, complaint) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
        (ran.status.success(), format!("{said}{complaint}"))
    };
    let with_cache = ends(Command::new(&program).output()?);
    ensure!(with_cache == (true, "Some(2)\n".into()), "with the cache folder: {with_cache:?}");
    let alone = || {
        let mut command = Command::new(&program);
        command.env_clear().env("HOME", &home);
        command
    };
    let with_release = ends(alone().arg(installed).output()?);
    ensure!(with_release == (true, "Some(2)\n".into()), "with {}: {with_release:?}", installed.display());
    let (succeeded, complaint) = ends(alone().output()?);
    let version = &made.release.version;
    ensure!(!succeeded && complaint.contains("there is no python guest on this machine"), "{complaint}");
    ensure!(
        complaint.contains(&format!("install release {version}")) && complaint.contains("Builder::installed"),
        "{complaint}"
    );
    fs::remove_file(program)?;
    fs::remove_dir_all(place)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_found_by_its_language() {
        let document = "a\n```toml\nb = 1\n```\n```rust\nc\n```\n";
        assert_eq!(block(document, "rust").unwrap(), "c\n");
        assert!(block(document, "sh").is_err());
    }
}
