//! The shape of the project: who may depend on whom, where unsafe code stands, and that the documents tell the truth.

#![allow(clippy::unwrap_used, reason = "a test ends where an answer is not what it must be")]

mod abuse_ids;
mod blocks;
mod book;
mod calls;
mod circles;
mod commands;
mod crates;
mod documents;
mod doors;
mod embedding;
mod ids;
mod sdk;
mod sources;

use std::fs;
use std::path::{Path, PathBuf};

/// The root of the checkout.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().expect("the checkout is there")
}

/// Every file of the project with one of these extensions, sorted; built and hidden ones left out.
fn files(extensions: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    walk(&root(), extensions, &mut found);
    found.sort();
    assert!(found.len() > 3, "no files with {extensions:?}");
    found
}

fn walk(folder: &Path, extensions: &[&str], found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder can be listed").flatten() {
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        if name.starts_with('.')
            || ["target", "node_modules", "golden", "__pycache__"].contains(&name.as_str())
        {
            continue;
        }
        if path.is_dir() {
            walk(&path, extensions, found);
        } else if path.extension().is_some_and(|found| extensions.iter().any(|wanted| found == *wanted)) {
            found.push(path);
        }
    }
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The path as the project names it.
fn name(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).to_string_lossy().into_owned()
}
