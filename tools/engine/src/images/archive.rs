//! `<cache>/images/<recipe>-<packages>.tar`: all images in one file, keyed by what they are made of, so that the next
//! engine needs neither the network nor the work.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use dormouse_chores::progress::Progress;
use dormouse_chores::{Cache, workspace};
use sha2::{Digest as _, Sha256};

use super::debian::{self, Package};
use super::{NAMES, npm, recipe};
use crate::Client;

/// The rooms whose change makes other images.
const ROOMS: [&str; 4] =
    [include_str!("recipe.rs"), include_str!("debian.rs"), include_str!("tree.rs"), include_str!("npm.rs")];

/// The file of the images that are to be used, whether it is there or not.
pub(super) struct Archive {
    path: PathBuf,
    key: String,
    /// None: apt does not say which there are, and an older archive serves.
    packages: Option<Vec<Package>>,
}

impl Archive {
    /// Asks apt for the packages. Where it does not answer, the newest archive of the same recipe serves.
    pub(super) fn find(progress: &Progress) -> Result<Self> {
        let folder = Cache::open()?.images()?;
        let recipe = recipe_key()?;
        let wanted: Vec<&str> = recipe::FULL.into_iter().chain([recipe::BUSYBOX]).collect();
        let error = match debian::closure(&wanted, recipe::is_skipped) {
            Ok(packages) => {
                let lines = packages.iter().map(|package| format!("{}={}\n", package.name, package.version));
                let key = format!("{recipe}-{}", digest(&[&lines.collect::<String>()]));
                return Ok(Self { path: folder.join(format!("{key}.tar")), key, packages: Some(packages) });
            }
            Err(error) => error,
        };
        let Some((path, key)) = newest(&folder, &recipe) else {
            bail!("the test images cannot be built: {error:#}")
        };
        progress.say(&format!("the cached ones serve: {error:#}"));
        Ok(Self { path, key, packages: None })
    }

    /// What the images are made of.
    pub(super) fn key(&self) -> &str {
        &self.key
    }

    pub(super) fn packages(&self) -> Option<&[Package]> {
        self.packages.as_deref()
    }

    pub(super) fn load(&self, client: &Client, progress: &Progress) -> Result<()> {
        self.path.metadata().context("there is none")?;
        let _step = progress.step("loading from the cache folder");
        client.run(["load".as_ref(), "--input".as_ref(), self.path.as_os_str()]).map(drop)
    }

    /// Writes the file, and removes those of other packages or recipes.
    pub(super) fn save(&self, client: &Client, progress: &Progress) -> Result<()> {
        let _step = progress.step("saving into the cache folder");
        let folder = self.path.parent().context("a file has a folder")?;
        let scratch = tempfile::Builder::new().prefix("saving-").tempdir_in(folder)?;
        let file = scratch.path().join("images.tar");
        let arguments = ["save".as_ref(), "--output".as_ref(), file.as_os_str()];
        client.run(arguments.into_iter().chain(NAMES.map(AsRef::as_ref)))?;
        fs::rename(&file, &self.path)?;
        for old in fs::read_dir(folder)?.flatten().map(|entry| entry.path()) {
            if old != self.path && old.extension().is_some_and(|extension| extension == "tar") {
                fs::remove_file(old)?;
            }
        }
        Ok(())
    }
}

/// The newest archive of a recipe, with its key.
fn newest(folder: &Path, recipe: &str) -> Option<(PathBuf, String)> {
    let files = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
    let fits = files.filter_map(|path| {
        let key = path.file_name()?.to_str()?.strip_suffix(".tar")?.to_owned();
        let made = path.metadata().ok()?.modified().ok()?;
        key.starts_with(recipe).then_some((made, path, key))
    });
    fits.max_by_key(|(made, ..)| *made).map(|(_, path, key)| (path, key))
}

fn recipe_key() -> Result<String> {
    let mut server = String::new();
    let folder = workspace().join(recipe::SERVER);
    let mut files: Vec<PathBuf> = fs::read_dir(&folder)?.flatten().map(|entry| entry.path()).collect();
    files.sort();
    for file in files {
        server.push_str(&fs::read_to_string(file)?);
    }
    Ok(digest(&[&ROOMS.concat(), npm::VERSION, &server]))
}

/// Sixteen hexadecimal digits.
fn digest(parts: &[&str]) -> String {
    let mut sha = Sha256::new();
    for part in parts {
        sha.update(part.len().to_le_bytes());
        sha.update(part);
    }
    sha.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}
