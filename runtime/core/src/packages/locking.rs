//! The lock file of npm beside a `package.json`: found, obeyed through [`PackageRequest`](super::PackageRequest), written.
//!
//! What it says is read and written by a [`Packages`], which knows versions.

use serde_json::Value as Json;

use super::lists::listed;
use super::present::{told, whole};
use super::{Fetched, Group, Packages, Present};
use crate::sandbox::Files;
use crate::{Error, ErrorCode, GuestPath, Result};

/// Largest lock file, in bytes (4 MiB).
const MAX: u64 = 4 << 20;
/// Largest `package.json`, in bytes (1 MiB).
const MAX_MANIFEST: u64 = 1 << 20;
/// The lock files, the first that is there; the last is the one that is made.
const NAMES: [&str; 2] = ["npm-shrinkwrap.json", "package-lock.json"];
/// What a `package.json` can say that makes its lock file another thing than versions of a registry.
const OTHER: [&str; 2] = ["workspaces", "overrides"];

/// How an installation goes by the lock file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Locking {
    /// Whether the requirements are what somebody named, beside what the `package.json` lists.
    pub named: bool,
    /// Whether what the `package.json` lists is installed as well where there is no lock file, as npm does.
    pub whole: bool,
    /// Whether what only developers need is left out.
    pub without_dev: bool,
    /// Whether the file is written.
    pub writes: bool,
}

/// A project of npm.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Project {
    /// What its `package.json` lists: in which list, and as `NAME@RANGE`.
    pub listed: Vec<(Group, String)>,
    /// The text of its lock file. Default none: there is none yet, and what lies in the tree stays.
    pub lock: Option<String>,
    /// Whether what only developers need is left out.
    pub without_dev: bool,
}

/// A package in a tree of npm, as a lock file is to name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Its folder, as in [`Present::path`].
    pub path: String,
    /// What its `package.json` says.
    pub about: Json,
    /// The hash of its archive (`sha512-…`). Default: the one of the lock file before, for the same version.
    pub integrity: Option<String>,
    /// Why it should not be used, where its authors say so.
    pub deprecated: Option<String>,
}

/// What a lock file is made of.
#[derive(Clone, Debug)]
pub struct LockRequest {
    /// The name of the project's folder, for one without a name.
    pub folder: String,
    /// The text of the `package.json`.
    pub manifest: String,
    /// The text of the lock file before.
    pub before: Option<String>,
    /// What lies in the tree.
    pub placed: Vec<Placed>,
}

/// A lock file as it is to be written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LockText {
    /// Its text; none when there is none to write, for which a note has the reason.
    pub text: Option<String>,
    /// Folders of packages that nothing needs, and that it does not name.
    pub extraneous: Vec<String>,
    /// What a user should know.
    pub notes: Vec<String>,
}

/// The lock file of a folder, as it was before.
#[derive(Clone, Debug)]
pub struct LockFile {
    /// Where it is, or will be.
    pub path: GuestPath,
    /// What it says; none when there is none yet.
    pub text: Option<String>,
    /// The folder.
    root: GuestPath,
    /// Why it is left alone.
    alone: Option<String>,
}

impl LockFile {
    /// The one of the folder that holds `node_modules`.
    ///
    /// # Errors
    /// `too_large` past 4 MiB; `args_invalid` when it is no text; what the files say.
    pub async fn of(files: &mut dyn Files, root: &GuestPath) -> Result<Self> {
        let mut found = Self::unread(files, root).await?;
        for name in NAMES {
            let path = beside(root, name)?;
            let Some(text) = text(files, &path, MAX).await? else { continue };
            (found.path, found.text) = (path, Some(text));
            break;
        }
        Ok(found)
    }

    /// As if there were none yet in this folder.
    ///
    /// # Errors
    /// `too_large` for a `package.json` past 1 MiB; `args_invalid` when it is no text; what the files say.
    pub async fn unread(files: &mut dyn Files, root: &GuestPath) -> Result<Self> {
        let mut found = Self { path: beside(root, NAMES[1])?, text: None, root: root.clone(), alone: None };
        let manifest = found.manifest(files).await?;
        let parsed: Json = serde_json::from_str(manifest.trim_start_matches('\u{feff}')).unwrap_or_default();
        found.alone = OTHER.into_iter().find(|field| !parsed[*field].is_null()).map(|field| {
            format!(
                "`package.json` has `{field}`, which is not supported here: no lock file is used or written"
            )
        });
        Ok(found)
    }

    /// Leaves it alone from here on, for this reason.
    pub fn leave_alone(&mut self, why: String) {
        self.alone = Some(why);
    }

    /// The project; none where its lock file is left alone, and without one unless the `whole` of it is wanted.
    ///
    /// # Errors
    /// `args_invalid` for a `package.json` that is none; `too_large`.
    pub async fn project(&self, files: &mut dyn Files, locking: Locking) -> Result<Option<Project>> {
        if self.alone.is_some() || (self.text.is_none() && !locking.whole) {
            return Ok(None);
        }
        let listed = listed(&self.manifest(files).await?)?;
        Ok(Some(Project { listed, lock: self.text.clone(), without_dev: locking.without_dev }))
    }

    /// What is to be written now.
    ///
    /// # Errors
    /// As [`Packages::lock`].
    pub async fn next(
        &self,
        files: &mut dyn Files,
        packages: &dyn Packages,
        placed: Vec<Placed>,
    ) -> Result<LockText> {
        let manifest = self.manifest(files).await?;
        self.next_of(packages, manifest, placed)
    }

    /// What is to be written once the `package.json` has this text.
    ///
    /// # Errors
    /// As [`Packages::lock`].
    pub fn next_of(
        &self,
        packages: &dyn Packages,
        manifest: String,
        placed: Vec<Placed>,
    ) -> Result<LockText> {
        if let Some(why) = &self.alone {
            return Ok(LockText { notes: vec![why.clone()], ..LockText::default() });
        }
        let folder = self.root.as_str().rsplit('/').next().unwrap_or_default().to_owned();
        packages.lock(&LockRequest { folder, manifest, before: self.text.clone(), placed })
    }

    /// Writes it, unless nothing of it is new.
    ///
    /// # Errors
    /// What the files say.
    pub async fn write(&self, files: &mut dyn Files, next: &mut LockText) -> Result<()> {
        match &next.text {
            Some(text) if text.len() as u64 > MAX => {
                next.notes.push(format!("no lock file was written: it would have more than {MAX} bytes"));
                Ok(())
            }
            Some(text) if self.text.as_ref() != Some(text) => files.write(&self.path, text.as_bytes()).await,
            _ => Ok(()),
        }
    }

    async fn manifest(&self, files: &mut dyn Files) -> Result<String> {
        let found = text(files, &beside(&self.root, "package.json")?, MAX_MANIFEST).await?;
        Ok(found.unwrap_or_else(|| "{}".into()))
    }
}

/// What lies in a tree after an installation.
pub(super) fn after(present: &[Present], fetched: Fetched) -> Vec<Placed> {
    let mut placed = fetched.placed;
    for old in present {
        let below = |folder: &String| old.path == *folder || old.path.starts_with(&format!("{folder}/"));
        let replaced = fetched.packages.iter().any(|new| below(&new.path));
        if !replaced && !fetched.removed.iter().any(|gone| below(&gone.path)) {
            placed.push(Placed::there(old));
        }
    }
    placed
}

impl Placed {
    /// Of a package with this `package.json`, of which what a lock file tells is kept.
    pub fn new(path: String, about: Json, integrity: Option<String>, deprecated: Option<String>) -> Self {
        Self { path, about: told(about), integrity, deprecated }
    }

    /// Of a package that lies in the tree.
    pub fn there(present: &Present) -> Self {
        let Present { path, about, .. } = present;
        Self { path: path.clone(), about: about.clone(), integrity: None, deprecated: None }
    }
}

/// A file's text; none when there is no such file.
async fn text(files: &mut dyn Files, path: &GuestPath, most: u64) -> Result<Option<String>> {
    match whole(files, path, most).await {
        Ok(bytes) => String::from_utf8(bytes)
            .map(Some)
            .map_err(|_| Error::args_invalid(format!("`{path}` is not UTF-8"))),
        Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
        Err(error) if error.code() == ErrorCode::TooLarge => {
            Err(error.with_hint("`npm install --no-package-lock` works without the lock file"))
        }
        Err(error) => Err(error),
    }
}

fn beside(root: &GuestPath, name: &str) -> Result<GuestPath> {
    GuestPath::parse(&format!("{}/{name}", root.as_str().trim_end_matches('/')))
}
