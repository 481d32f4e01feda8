//! What lies in a tree.

use serde_json::Value as Json;

use super::{PackageManager, Present, site_packages};
use crate::sandbox::machine::{EntryKind, Files, Piece};
use crate::{Error, ErrorCode, GuestPath, Result};

/// Most packages that are listed.
const MAX: usize = 2_000;
/// Most entries of a folder that are looked at.
const MAX_ENTRIES: usize = 20_000;
/// Deepest `node_modules` in another's.
const MAX_DEPTH: usize = 16;
/// Largest description of a package, in bytes (1 MiB).
const MAX_TEXT: u64 = 1 << 20;
/// Bytes that are kept of all descriptions (32 MiB). One file can have many names, so the tree's quota is no bound.
const MAX_KEPT: usize = 32 << 20;
/// Bytes that a kept text takes beside itself.
const SLOT: usize = 48;

/// The packages below `root`, sorted by path. What cannot be read as a package is none.
///
/// # Errors
/// `too_large` past 2,000 packages, or 32 MiB of what they say of themselves; what the files say.
pub async fn present(
    files: &mut dyn Files,
    manager: PackageManager,
    root: &GuestPath,
    python: &str,
) -> Result<Vec<Present>> {
    let mut found = match manager {
        PackageManager::Pip => dists(files, root, &site_packages(python)).await?,
        PackageManager::Npm => modules(files, root).await?,
    };
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

/// The packages of pip in a folder that holds their modules directly, sorted by path.
///
/// # Errors
/// As [`present`].
pub(super) async fn present_in(files: &mut dyn Files, folder: &GuestPath) -> Result<Vec<Present>> {
    let mut found = dists(files, folder, "").await?;
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

async fn dists(files: &mut dyn Files, root: &GuestPath, site: &str) -> Result<Vec<Present>> {
    let mut found = Kept::default();
    for name in folders(files, root, site).await? {
        if !name.ends_with(".dist-info") {
            continue;
        }
        let path = if site.is_empty() { name } else { format!("{site}/{name}") };
        let Some(text) = text(files, root, &format!("{path}/METADATA")).await? else { continue };
        let (name, version, requires) = (String::new(), String::new(), Vec::new());
        let mut present = Present { name, version, path, requires, about: Json::Null };
        for line in text.lines().take_while(|line| !line.is_empty()) {
            match line.split_once(':') {
                Some(("Name", value)) => present.name = value.trim().into(),
                Some(("Version", value)) => present.version = value.trim().into(),
                Some(("Requires-Dist", value)) => present.requires.push(value.trim().into()),
                _ => {}
            }
        }
        found.keep(present)?;
    }
    Ok(found.packages)
}

async fn modules(files: &mut dyn Files, root: &GuestPath) -> Result<Vec<Present>> {
    let mut found = Kept::default();
    let mut left = vec![("node_modules".to_owned(), 1)];
    while let Some((folder, depth)) = left.pop() {
        let mut names = Vec::new();
        for name in folders(files, root, &folder).await? {
            if name.starts_with('@') {
                let scoped = folders(files, root, &format!("{folder}/{name}")).await?;
                names.extend(scoped.iter().map(|below| format!("{name}/{below}")));
            } else if !name.starts_with('.') {
                names.push(name);
            }
        }
        for name in names {
            let path = format!("{folder}/{name}");
            if depth < MAX_DEPTH {
                left.push((format!("{path}/node_modules"), depth + 1));
            }
            let Some(text) = text(files, root, &format!("{path}/package.json")).await? else { continue };
            let Ok(about) = serde_json::from_str::<Json>(&text) else { continue };
            let version = about["version"].as_str().unwrap_or_default().to_owned();
            let needs = about["dependencies"].as_object().into_iter().flatten();
            let requires = needs.map(|(name, range)| format!("{name}@{}", range.as_str().unwrap_or("*")));
            let requires = requires.collect();
            // Under the name that it is found by: an alias is another than its own.
            found.keep(Present { name, version, path, requires, about: told(about) })?;
        }
    }
    Ok(found.packages)
}

/// The fields of a `package.json` that a lock file tells.
const TOLD: [&str; 17] = [
    "name",
    "version",
    "dependencies",
    "peerDependencies",
    "peerDependenciesMeta",
    "optionalDependencies",
    "bundleDependencies",
    "bundledDependencies",
    "funding",
    "engines",
    "os",
    "cpu",
    "libc",
    "license",
    "bin",
    "scripts",
    "hasInstallScript",
];

/// What a `package.json` says that a lock file tells.
pub(super) fn told(about: Json) -> Json {
    let Json::Object(mut fields) = about else { return Json::Null };
    fields.retain(|name, _| TOLD.contains(&name.as_str()));
    if let Some(Json::Object(scripts)) = fields.get_mut("scripts") {
        scripts.retain(|name, _| ["preinstall", "install", "postinstall"].contains(&name.as_str()));
    }
    Json::Object(fields)
}

/// Bytes that a value takes, about.
fn size(value: &Json) -> usize {
    match value {
        Json::String(text) => text.len() + SLOT,
        Json::Array(items) => SLOT + items.iter().map(size).sum::<usize>(),
        Json::Object(fields) => {
            SLOT + fields.iter().map(|(name, value)| name.len() + SLOT + size(value)).sum::<usize>()
        }
        _ => SLOT,
    }
}

/// What was found so far.
#[derive(Default)]
struct Kept {
    packages: Vec<Present>,
    bytes: usize,
}

impl Kept {
    fn keep(&mut self, present: Present) -> Result<()> {
        if present.name.is_empty() || present.version.is_empty() {
            return Ok(());
        }
        let Present { name, version, path, requires, about } = &present;
        let texts = [name, version, path].into_iter().chain(requires);
        self.bytes += texts.map(|text| text.len() + SLOT).sum::<usize>() + size(about);
        self.packages.push(present);
        let too_large = |what: String| Err(Error::new(ErrorCode::TooLarge, what));
        if self.packages.len() > MAX {
            return too_large(format!("the sandbox has more than {MAX} packages"));
        }
        if self.bytes > MAX_KEPT {
            return too_large(format!(
                "the descriptions of the sandbox's packages have more than {MAX_KEPT} bytes"
            ));
        }
        Ok(())
    }
}

/// The folders in a folder; none when there is no such folder.
async fn folders(files: &mut dyn Files, root: &GuestPath, below: &str) -> Result<Vec<String>> {
    let path = if below.is_empty() { Ok(root.clone()) } else { GuestPath::parse(&format!("{root}/{below}")) };
    let Ok(path) = path else { return Ok(Vec::new()) };
    let listed = match files.list(&path, false, MAX_ENTRIES).await {
        Ok((listed, _)) => listed,
        Err(error) if missing(&error) => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let folders = listed.into_iter().filter(|entry| entry.kind == EntryKind::Folder);
    Ok(folders.map(|entry| entry.path).collect())
}

/// A file's text; none when there is no such file, or it is too large.
pub(super) async fn text(files: &mut dyn Files, root: &GuestPath, below: &str) -> Result<Option<String>> {
    let Ok(path) = GuestPath::parse(&format!("{root}/{below}")) else { return Ok(None) };
    let bytes = match whole(files, &path, MAX_TEXT).await {
        Ok(bytes) => bytes,
        Err(error) if missing(&error) || error.code() == ErrorCode::TooLarge => return Ok(None),
        Err(error) => return Err(error),
    };
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}

/// All bytes of a file, which is read in pieces.
///
/// # Errors
/// `too_large` when it has more than `most` bytes; what the files say.
pub async fn whole(files: &mut dyn Files, path: &GuestPath, most: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    loop {
        let Piece { bytes: piece, size, .. } = files.read(path, bytes.len() as u64, most).await?;
        if size > most {
            let message = format!("`{path}` has {size} bytes, more than {most}");
            return Err(Error::new(ErrorCode::TooLarge, message));
        }
        let end = piece.is_empty();
        bytes.extend_from_slice(&piece);
        if end || bytes.len() as u64 >= size {
            return Ok(bytes);
        }
    }
}

/// Whether an error says that there is no such thing, or one of another kind.
pub(super) fn missing(error: &Error) -> bool {
    matches!(error.code(), ErrorCode::NotFound | ErrorCode::InvalidState | ErrorCode::ArgsInvalid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_packages_say_of_themselves_is_bounded_together() {
        let package = |requires: Vec<String>| Present {
            name: "a".into(),
            version: "1".into(),
            path: "p".into(),
            requires,
            about: Json::Null,
        };
        let mut kept = Kept::default();
        let says = || package(vec!["x".repeat(1 << 20)]);
        let count = (0..100).take_while(|_| kept.keep(says()).is_ok()).count();
        assert_eq!(count, 31);
        let mut kept = Kept::default();
        assert!(kept.keep(package(vec![String::new(); MAX_KEPT / SLOT])).is_err());
        let mut kept = Kept::default();
        assert!((0..MAX).all(|_| kept.keep(package(Vec::new())).is_ok()));
        assert_eq!(kept.keep(package(Vec::new())).map_err(|error| error.code()), Err(ErrorCode::TooLarge));
    }
}
