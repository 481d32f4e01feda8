//! Writes packages into a tree: all of them, or none.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::present::{missing, text, whole};
use super::{Package, PackageManager, Present};
use crate::sandbox::machine::{EntryKind, Files};
use crate::{Error, ErrorCode, GuestPath, Result};

/// Most bytes of packages that an installation replaces (256 MiB): they are kept until it is done.
const MAX_KEPT: u64 = 256 << 20;
/// Most files of a package that is removed.
const MAX_FILES: usize = 100_000;

/// A package that was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Installed {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The version that was there before.
    pub replaced: Option<String>,
    /// Files written.
    pub files: usize,
}

/// Writes `packages` below `root`. A package that lies there in another version is removed first, by its `RECORD` or its
/// folder. On any failure the tree is as it was.
///
/// # Errors
/// `limit_disk` when they do not fit; `invalid_state` when a file is in the way that belongs to no package;
/// `too_large` when what is replaced has more than 256 MiB; `path_denied` for a path that leads elsewhere.
pub async fn install(
    files: &mut dyn Files,
    manager: PackageManager,
    root: &GuestPath,
    present: &[Present],
    packages: &[Package],
) -> Result<Vec<Installed>> {
    let mut change = Change::default();
    let installed = change.run(files, manager, root, present, packages).await;
    change.settled(files, installed).await
}

/// The same for JavaScript packages, and what is `gone` is removed with it.
///
/// # Errors
/// As [`install`].
pub async fn install_and_remove(
    files: &mut dyn Files,
    root: &GuestPath,
    present: &[Present],
    packages: &[Package],
    gone: &[Present],
) -> Result<Vec<Installed>> {
    let mut change = Change::default();
    let mut done = Ok(Vec::new());
    for old in gone {
        if let Err(error) = change.remove(files, PackageManager::Npm, root, old).await {
            done = Err(error);
            break;
        }
    }
    if done.is_ok() {
        done = change.run(files, PackageManager::Npm, root, present, packages).await;
    }
    change.settled(files, done).await
}

/// Writes JavaScript packages below `root`, whose `node_modules` holds nothing else afterwards. On any failure the tree is as
/// it was.
///
/// # Errors
/// As [`install`].
pub async fn install_anew(
    files: &mut dyn Files,
    root: &GuestPath,
    packages: &[Package],
) -> Result<Vec<Installed>> {
    let mut change = Change::default();
    let installed = match change.take_folder(files, &below(root, "node_modules")?).await {
        Ok(()) => change.run(files, PackageManager::Npm, root, &[], packages).await,
        Err(error) => Err(error),
    };
    change.settled(files, installed).await
}

/// Removes packages that lie in the tree.
///
/// # Errors
/// As [`install`].
pub async fn uninstall(
    files: &mut dyn Files,
    manager: PackageManager,
    root: &GuestPath,
    packages: &[Present],
) -> Result<()> {
    let mut change = Change::default();
    let mut removed = Ok(());
    for present in packages {
        removed = change.remove(files, manager, root, present).await;
        if removed.is_err() {
            break;
        }
    }
    change.settled(files, removed).await
}

/// What was done so far, so that it can be undone.
#[derive(Default)]
struct Change {
    kept: BTreeMap<GuestPath, Vec<u8>>,
    bytes: u64,
    written: Vec<GuestPath>,
    root: Option<GuestPath>,
    /// Whether the root was made here.
    made: bool,
}

impl Change {
    async fn run(
        &mut self,
        files: &mut dyn Files,
        manager: PackageManager,
        root: &GuestPath,
        present: &[Present],
        packages: &[Package],
    ) -> Result<Vec<Installed>> {
        self.root = Some(root.clone());
        self.made = files.stat(root).await.is_err_and(|error| missing(&error));
        let mut installed = Vec::new();
        let old: Vec<Option<&Present>> =
            packages.iter().map(|package| replaced(manager, package, present)).collect();
        for present in old.iter().flatten() {
            self.remove(files, manager, root, present).await?;
        }
        for (package, old) in packages.iter().zip(old) {
            for file in ordered(manager, package) {
                self.write(files, &below(root, &file.path)?, &file.bytes).await?;
            }
            self.write_bytecode(files, root, package).await;
            installed.push(Installed {
                name: package.name.clone(),
                version: package.version.clone(),
                replaced: old.map(|old| old.version.clone()),
                files: package.files.iter().filter(|file| !file.is_bytecode()).count(),
            });
        }
        Ok(installed)
    }

    async fn write(&mut self, files: &mut dyn Files, path: &GuestPath, bytes: &[u8]) -> Result<()> {
        match files.stat(path).await {
            Err(error) if error.code() == ErrorCode::NotFound => {}
            Err(error) if !missing(&error) => return Err(error),
            _ => return Err(in_the_way(path)),
        }
        files.write(path, bytes).await?;
        self.written.push(path.clone());
        Ok(())
    }

    /// Writes compiled code, as far as there is room and nothing is in the way: the package works without it.
    async fn write_bytecode(&mut self, files: &mut dyn Files, root: &GuestPath, package: &Package) {
        for file in package.files.iter().filter(|file| file.is_bytecode()) {
            let Ok(path) = below(root, &file.path) else { continue };
            match self.write(files, &path, &file.bytes).await {
                Err(error) if error.code() != ErrorCode::InvalidState => return,
                _ => {}
            }
        }
    }

    /// Removes a package and keeps its bytes.
    async fn remove(
        &mut self,
        files: &mut dyn Files,
        manager: PackageManager,
        root: &GuestPath,
        present: &Present,
    ) -> Result<()> {
        match manager {
            PackageManager::Pip => {
                let recorded = recorded(files, root, present).await?;
                for path in &recorded {
                    self.take(files, path).await?;
                }
                self.take_folder(files, &below(root, &present.path)?).await?;
                tidy(files, root, &recorded).await;
                Ok(())
            }
            PackageManager::Npm => {
                let programs = programs(files, root, present).await?;
                for path in programs {
                    self.take(files, &path).await?;
                }
                self.take_folder(files, &below(root, &present.path)?).await
            }
        }
    }

    async fn take(&mut self, files: &mut dyn Files, path: &GuestPath) -> Result<()> {
        let bytes = match whole(files, path, MAX_KEPT - self.bytes).await {
            Ok(bytes) => bytes,
            Err(error) if missing(&error) => return Ok(()),
            Err(error) => return Err(error),
        };
        self.bytes += bytes.len() as u64;
        files.remove(path, true).await?;
        self.kept.insert(path.clone(), bytes);
        Ok(())
    }

    async fn take_folder(&mut self, files: &mut dyn Files, folder: &GuestPath) -> Result<()> {
        let (entries, count) = match files.list(folder, true, MAX_FILES).await {
            Ok(listed) => listed,
            Err(error) if missing(&error) => return Ok(()),
            Err(error) => return Err(error),
        };
        if count > MAX_FILES as u64 {
            let message = format!("`{folder}` has more than {MAX_FILES} files");
            return Err(Error::new(ErrorCode::TooLarge, message).with_hint("remove it, then install again"));
        }
        for entry in entries.iter().filter(|entry| entry.kind == EntryKind::File) {
            self.take(files, &below(folder, &entry.path)?).await?;
        }
        match files.remove(folder, true).await {
            Err(error) if !missing(&error) => Err(error),
            _ => Ok(()),
        }
    }

    /// What came of it; a failure leaves nothing behind.
    async fn settled<T>(self, files: &mut dyn Files, done: Result<T>) -> Result<T> {
        if done.is_err() {
            self.undo(files).await;
        }
        done
    }

    /// Puts everything back. What was there fitted, so it fits again.
    async fn undo(self, files: &mut dyn Files) {
        for path in self.written.iter().rev() {
            let _ = files.remove(path, true).await;
        }
        if let Some(root) = &self.root {
            tidy(files, root, &self.written).await;
            if self.made
                && let Ok((_, 0)) = files.list(root, false, 1).await
            {
                let _ = files.remove(root, true).await;
            }
        }
        for (path, bytes) in &self.kept {
            if let Err(error) = files.write(path, bytes).await {
                tracing::error!(%path, %error, "a file of a package could not be put back");
            }
        }
    }
}

/// Removes the folders of these files, as far as they are empty now.
async fn tidy(files: &mut dyn Files, root: &GuestPath, paths: &[GuestPath]) {
    let mut folders = BTreeSet::new();
    for path in paths {
        let mut path = path.as_str();
        while let Some((folder, _)) =
            path.rsplit_once('/').filter(|(folder, _)| folder.len() > root.as_str().len())
        {
            folders.insert(folder);
            path = folder;
        }
    }
    // From the deepest up: what lies in a folder sorts after it.
    for folder in folders.iter().rev() {
        let Ok(folder) = GuestPath::parse(folder) else { continue };
        if let Ok((_, 0)) = files.list(&folder, false, 1).await {
            let _ = files.remove(&folder, true).await;
        }
    }
}

/// Its files without compiled code. The description comes last, so that a package which is not whole is not listed; of a wheel the list of files comes
/// first, so that it can be removed.
fn ordered(manager: PackageManager, package: &Package) -> Vec<&super::PackageFile> {
    let last = match manager {
        PackageManager::Pip => format!("{}/METADATA", package.path),
        PackageManager::Npm => format!("{}/package.json", package.path),
    };
    let record = format!("{}/RECORD", package.path);
    let mut files: Vec<&super::PackageFile> =
        package.files.iter().filter(|file| !file.is_bytecode()).collect();
    files.sort_by_key(|file| if file.path == record { 0 } else { 1 + u8::from(file.path == last) });
    files
}

/// What lies where a package is to lie.
fn replaced<'a>(manager: PackageManager, package: &Package, present: &'a [Present]) -> Option<&'a Present> {
    present.iter().find(|old| match manager {
        PackageManager::Pip => normal(&old.name) == normal(&package.name),
        PackageManager::Npm => old.path == package.path,
    })
}

/// A distribution's name as Python compares it.
fn normal(name: &str) -> String {
    let parts: Vec<&str> = name.split(['-', '_', '.']).filter(|part| !part.is_empty()).collect();
    parts.join("-").to_ascii_lowercase()
}

/// The files that a wheel's `RECORD` names, those that lead out of the root left out.
async fn recorded(files: &mut dyn Files, root: &GuestPath, present: &Present) -> Result<Vec<GuestPath>> {
    let Some(record) = text(files, root, &format!("{}/RECORD", present.path)).await? else {
        return Ok(Vec::new());
    };
    let site = present.path.rsplit_once('/').map_or("", |(site, _)| site);
    let mut found = Vec::new();
    for line in record.lines().take(MAX_FILES) {
        let name = match line.strip_prefix('"') {
            Some(rest) => rest.split("\",").next().unwrap_or_default().replace("\"\"", "\""),
            None => line.split(',').next().unwrap_or_default().to_owned(),
        };
        let mut parts: Vec<&str> = site.split('/').filter(|part| !part.is_empty()).collect();
        let mut inside = !name.is_empty() && !name.starts_with('/');
        for part in name.split('/') {
            match part {
                ".." => inside &= parts.pop().is_some(),
                part => parts.push(part),
            }
        }
        if let Some(path) = inside.then(|| below(root, &parts.join("/")).ok()).flatten() {
            found.push(path);
        }
    }
    Ok(found)
}

/// The programs in `node_modules/.bin` that lead to a package.
async fn programs(files: &mut dyn Files, root: &GuestPath, present: &Present) -> Result<Vec<GuestPath>> {
    let Some(name) = present.path.strip_prefix("node_modules/") else { return Ok(Vec::new()) };
    let folder = below(root, "node_modules/.bin")?;
    let Ok((entries, _)) = files.list(&folder, false, MAX_FILES).await else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for entry in entries.iter().filter(|entry| entry.kind == EntryKind::File && entry.bytes < 4096) {
        let script = text(files, root, &format!("node_modules/.bin/{}", entry.path)).await?;
        if script.is_some_and(|script| script.contains(&format!("(\"../{name}/"))) {
            found.push(below(&folder, &entry.path)?);
        }
    }
    Ok(found)
}

fn below(root: &GuestPath, path: &str) -> Result<GuestPath> {
    GuestPath::parse(&format!("{}/{path}", root.as_str().trim_end_matches('/'))).map_err(|_| {
        let shown: String = path.escape_debug().take(128).collect();
        Error::new(ErrorCode::PathDenied, format!("`{shown}` is no path of a package"))
    })
}

fn in_the_way(path: &GuestPath) -> Error {
    Error::new(ErrorCode::InvalidState, format!("`{path}` exists and belongs to no package"))
        .with_hint("nothing was installed; move or remove it")
}
