//! Private readers for the fuzz targets of `tests/fuzz`. No part of the crate's interface: it changes with them.

use dormouse_core::packages::{LockRequest, LockText};
use dormouse_core::{Error, Result};
use reqwest::Url;

pub use crate::npm::fuzz::{document, lock, spec};
pub use crate::pip::fuzz::{metadata, page, requirement};
use crate::settings::Index;
use crate::{archive, npm, source};

/// A file of an archive: its path and its bytes.
pub type File = (String, Vec<u8>);

/// The files of a wheel that may unpack to `room` bytes.
///
/// # Errors
/// `package_refused`, `too_large`.
pub fn wheel(packed: &[u8], room: u64) -> Result<Vec<File>> {
    archive::wheel("a.whl", packed, room).map(files)
}

/// One file of a wheel, of at most `most` bytes.
///
/// # Errors
/// `package_refused`, `too_large`.
pub fn wheel_file(packed: &[u8], wanted: &str, most: u64) -> Result<Vec<u8>> {
    archive::wheel_file("a.whl", packed, wanted, most)
}

/// The files of a package of npm that may unpack to `room` bytes.
///
/// # Errors
/// `package_refused`, `too_large`.
pub fn tarball(packed: &[u8], room: u64) -> Result<Vec<File>> {
    archive::tarball("a.tgz", packed, room).map(files)
}

fn files(unpacked: Vec<archive::Unpacked>) -> Vec<File> {
    unpacked.into_iter().map(|file| (file.path, file.bytes)).collect()
}

/// The lock file of a tree.
///
/// # Errors
/// `args_invalid`.
pub fn lock_file(request: &LockRequest) -> Result<LockText> {
    npm::lock_file(request)
}

/// Whether an index may lead from one address to another.
///
/// # Errors
/// `index_unavailable`; `args_invalid` for what is no address.
pub fn led(index: &Index, from: &str, to: &str) -> Result<String> {
    let parsed = |text: &str| Url::parse(text).map_err(|_| Error::args_invalid("no address"));
    let (from, to) = (parsed(from)?, parsed(to)?);
    source::reachable(index, &from, &to).map(|()| to.to_string())
}
