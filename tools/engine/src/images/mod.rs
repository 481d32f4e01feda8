//! The images that tests of containers use, built without any registry of images: trees of unpacked Debian packages,
//! imported into the engine.
//!
//! | what | module |
//! | --- | --- |
//! | which packages there are, in which versions; getting and unpacking them | [`debian`] |
//! | npm, which Debian has in four hundred packages | [`npm`] |
//! | a tree of files, and the tar file of it | [`tree`] |
//! | what each image is made of | [`recipe`] |
//! | all of them in one file of the cache folder, for the next engine | [`archive`] |

mod archive;
mod debian;
mod npm;
mod recipe;
mod tree;

use std::time::Instant;

use anyhow::{Context as _, Result};
use dormouse_chores::progress::Progress;

use self::archive::Archive;
use crate::Client;

/// The label of each image that says what it was made of.
const KEY: &str = "dormouse.test.key";

/// The images, in the order in which they are built.
const NAMES: [&str; 5] = [
    "dormouse-test/busybox:1",
    "dormouse-test/noshell:1",
    "dormouse-test/surprise:1",
    "dormouse-test/full:1",
    "dormouse-test/mcp:1",
];

/// Sees to it that the engine has all of them: it has them, or they are loaded from the cache folder, or they are built.
pub(crate) fn provide(client: &Client, fresh: bool) -> Result<()> {
    let started = Instant::now();
    let progress = Progress::new("docker images");
    let archive = Archive::find(&progress)?;
    let key = archive.key();
    if !fresh && NAMES.iter().all(|name| has(client, name, key)) {
        return Ok(());
    }
    if fresh || archive.load(client, &progress).is_err() || !NAMES.iter().all(|name| has(client, name, key)) {
        let packages = archive.packages().context("the packages of the test images are not known")?;
        recipe::build(client, packages, key, &progress)?;
        archive.save(client, &progress)?;
    }
    // What had these names before has none now.
    client.run(["image", "prune", "--force", "--filter", &format!("label={KEY}")])?;
    progress.say(&format!("{} ready after {} s", NAMES.len(), started.elapsed().as_secs()));
    Ok(())
}

/// Whether the engine has this image, made of what the key stands for.
fn has(client: &Client, name: &str, key: &str) -> bool {
    let format = format!("{{{{index .Config.Labels \"{KEY}\"}}}}");
    client.run(["image", "inspect", "--format", &format, name]).is_ok_and(|found| found == key)
}
