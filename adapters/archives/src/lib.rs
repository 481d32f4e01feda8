//! The reader of untrusted archives: zip, tar and tar.gz. Uploads (`adapters/tools`) and packages (`adapters/packages`) are read
//! here and nowhere else.
//!
//! Owns: that a table of contents is counted before it is read, that a stream is read up to a bound, that names are UTF-8, and
//! that only regular files and folders come out. Does not own: which names are taken, what all files may have together, and the
//! words of a refusal. The caller decides these, in [`Rules`] and for each [`Entry`].
//!
//! | step | module |
//! | --- | --- |
//! | a zip | [`Zip`] |
//! | a tar, packed or not | [`tar()`], [`gunzip`], [`gunzipped`] |
//! | one entry, and its bytes | [`Entry`] |
//! | a file that lies where another entry needs a folder | [`file_above`] |

mod tape;
mod zipped;

use std::collections::BTreeSet;
use std::io::Read;

use dormouse_core::{Error, Result};

pub use crate::tape::{TAR_BLOCKS, gunzip, gunzipped, tar};
pub use crate::zipped::Zip;

/// Most entries of one archive.
pub const MAX_ENTRIES: usize = 20_000;

/// How the refusals of one kind of archive are worded, and in what its bounds differ.
pub trait Rules {
    /// An entry that is not taken. `why` goes on from its name: "is encrypted".
    fn refused(&self, name: &str, why: &str) -> Error;

    /// An archive that cannot be read, with what the library says of it.
    fn damaged(&self, source: Box<dyn std::error::Error + Send + Sync>) -> Error;

    /// More than [`MAX_ENTRIES`] entries.
    fn too_many(&self) -> Error;

    /// More than `most` bytes, where that many were left.
    fn too_large(&self, most: u64) -> Error;

    /// Whether a tar's contiguous files are taken as regular ones, which they are on every system of today.
    fn takes_contiguous(&self) -> bool {
        false
    }
}

/// What an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
}

/// One entry of an archive. Its name is not checked for where it leads.
pub struct Entry<'a> {
    /// Its name as it is written, with the slashes that it has.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// Bytes of the file, as the archive says.
    pub size: u64,
    /// Whether anyone may execute the file.
    pub executable: bool,
    content: &'a mut dyn Read,
    rules: &'a dyn Rules,
}

impl Entry<'_> {
    /// The bytes of the file, which may have `most`. They may be others than [`Entry::size`] many.
    ///
    /// # Errors
    /// [`Rules::too_large`]; [`Rules::refused`] for what cannot be unpacked.
    pub fn read(&mut self, most: u64) -> Result<Vec<u8>> {
        read(&mut self.content, most, &self.name, self.rules)
    }
}

/// All of a stream that may have `most` bytes.
fn read(from: impl Read, most: u64, name: &str, rules: &dyn Rules) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = from.take(most.saturating_add(1)).read_to_end(&mut bytes);
    read.map_err(|error| rules.refused(name, "is damaged").with_source(error))?;
    if bytes.len() as u64 > most { Err(rules.too_large(most)) } else { Ok(bytes) }
}

/// A name that is text.
fn text(name: &[u8], rules: &dyn Rules) -> Result<String> {
    String::from_utf8(name.to_vec()).map_err(|error| {
        rules.refused(&String::from_utf8_lossy(error.as_bytes()), "has a name that is not UTF-8")
    })
}

/// The first of these files that lies where another name needs a folder.
pub fn file_above<'a>(names: impl IntoIterator<Item = &'a str>, files: &BTreeSet<&str>) -> Option<&'a str> {
    names.into_iter().find_map(|name| {
        let mut above = name.match_indices('/').map(|(at, _)| &name[..at]);
        above.find(|above| files.contains(above))
    })
}

#[cfg(test)]
mod tests;
