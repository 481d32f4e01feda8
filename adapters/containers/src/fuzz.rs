//! Private readers for the fuzz targets of `tests/fuzz`. No part of the crate's interface: it changes with them.

use std::sync::Arc;

use dormouse_core::Result;
use dormouse_files::{Extras, Files};

use crate::archive::{Found, read_tar};
use crate::interpreter;
use crate::line::Marks;
use crate::listing::Listing;

/// What the pieces of a stream of errors come to: what is the line's own, and what the marks said.
pub fn marks(pieces: &[&[u8]], number: &str) -> (Vec<u8>, String) {
    let mut marks = Marks::new(number.into(), Arc::default());
    let mut own: Vec<u8> = pieces.iter().flat_map(|piece| marks.read(piece)).collect();
    own.extend(marks.rest());
    (own, format!("{:?} {:?}", marks.begin, marks.end))
}

/// The names of a listing, and how many others could be no paths.
pub fn listing(said: &[u8], mark: &str, without: &[String]) -> Option<(Vec<String>, usize)> {
    let listing = Listing::read(said, mark, without)?;
    Some((listing.names.into_keys().collect(), listing.odd.len()))
}

/// Reads an archive of a container into a folder.
///
/// # Errors
/// As a download's.
pub fn receive(tar: &[u8], folder: &str, files: &Files) -> Result<Extras> {
    read_tar(tar, folder, files, Found::default()).map(Found::end)
}

/// What an interpreter sends, with messages of at most `most` bytes: each part in words, or why it is refused; then the bytes of all
/// parts together.
pub fn interpreter(sent: &[u8], most: usize) -> (Vec<String>, usize) {
    interpreter::parts(sent, most)
}
