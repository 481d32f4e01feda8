//! `pip` and `npm` as a sandbox's command line starts them. They run here, work on nothing but the sandbox's files, and
//! run nothing that lies in them.

mod npm;
mod pip;

use std::sync::Arc;

use async_trait::async_trait;
use dormouse_core::packages::{Packages, whole};
use dormouse_core::sandbox::Files;
use dormouse_core::{
    Error, ErrorCode, GuestPath, OfferedPrograms, ProgramCall, ProgramEnd, ProgramRun, Result,
};

/// Largest file that is read: a list of requirements, a `package.json`, a lock file (1 MiB).
const MAX_LIST: u64 = 1 << 20;

/// The programs.
pub struct PackagePrograms {
    packages: Arc<dyn Packages>,
    python: String,
}

impl PackagePrograms {
    /// They fetch from `packages`; the sandboxes' Python has this version, such as `3.14.7`.
    pub fn new(packages: Arc<dyn Packages>, python: impl Into<String>) -> Self {
        Self { packages, python: python.into() }
    }
}

#[async_trait]
impl OfferedPrograms for PackagePrograms {
    async fn run(&self, of: ProgramRun<'_>, call: &ProgramCall, files: &mut dyn Files) -> Option<ProgramEnd> {
        let done = match call.name.as_str() {
            "pip" | "pip3" => pip::run(self, of.owner, call, files).await,
            "npm" => npm::run(self, of.owner, call, files).await,
            _ => return None,
        };
        Some(done.unwrap_or_else(|error| failed(&call.name, &error)))
    }
}

/// What a program says of an error, and its exit status.
fn failed(name: &str, error: &Error) -> ProgramEnd {
    let word = if name == "npm" { "npm error" } else { "ERROR:" };
    let mut text = format!("{word} {error}\n");
    if let Some(hint) = error.hint() {
        text.push_str(&format!("{word} {hint}\n"));
    }
    ProgramEnd::failed(1, text)
}

fn usage(text: impl Into<String>) -> Error {
    Error::new(ErrorCode::ArgsInvalid, text)
}

/// A path as seen from the folder that the program starts in.
fn seen_from(call: &ProgramCall, path: &str) -> Result<GuestPath> {
    below(&call.directory, path)
}

/// The same as seen from any folder.
fn below(folder: &str, path: &str) -> Result<GuestPath> {
    let whole = if path.starts_with('/') {
        path.to_owned()
    } else {
        format!("{}/{path}", folder.trim_end_matches('/'))
    };
    let mut parts = Vec::new();
    for part in whole.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    GuestPath::parse(&format!("/{}", parts.join("/")))
}

/// A small text file.
async fn text(files: &mut dyn Files, path: &GuestPath) -> Result<String> {
    String::from_utf8(whole(files, path, MAX_LIST).await?)
        .map_err(|_| usage(format!("`{path}` is not UTF-8")))
}
