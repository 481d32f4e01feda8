//! Archives of files: zip, tar, tar.gz. Checked as a whole before anything is written (FS-09).
//!
//! Only regular files and folders with plain relative names are taken. Owners, modes and times are dropped. One bad entry
//! refuses the whole archive, by name.

use std::collections::BTreeSet;
use std::io::{Cursor, Read};

use dormouse_core::{Error, ErrorCode, GuestPath, Result};

/// Most entries.
pub(crate) const MAX_ENTRIES: usize = 20_000;
/// Largest archive, in bytes (64 MiB).
pub(crate) const MAX_PACKED: u64 = 64 << 20;
/// Most bytes of all files together (256 MiB).
pub(crate) const MAX_BYTES: u64 = 256 << 20;
/// Most times that an archive may grow; the first mebibyte is free.
const MAX_RATIO: u64 = 200;
/// How the end of a zip's table of contents begins (APPNOTE 4.3.16); the number of entries follows 10 bytes from there.
const ZIP_END: &[u8] = b"PK\x05\x06";
/// How each entry begins in a zip's table of contents.
const ZIP_ENTRY: &[u8] = b"PK\x01\x02";

/// What an archive holds.
#[derive(Debug, Default)]
pub(crate) struct Unpacked {
    pub(crate) folders: Vec<GuestPath>,
    pub(crate) files: Vec<(GuestPath, Vec<u8>)>,
    names: BTreeSet<String>,
    bytes: u64,
}

/// Reads an archive whose files are to lie below `target`.
///
/// # Errors
/// `path_denied` for a name that leads elsewhere; `args_invalid` for links, devices, doubled names and damage;
/// `too_large` past a bound.
pub(crate) fn unpack(packed: &[u8], target: &GuestPath) -> Result<Unpacked> {
    let most = most(packed.len());
    if packed.starts_with(b"PK") {
        zip(packed, target, most)
    } else if packed.starts_with(&[0x1f, 0x8b]) {
        // A tar's own blocks come on top of its files.
        let room = most + (MAX_ENTRIES as u64) * 1024;
        tar(&read(flate2::read::GzDecoder::new(packed), room, "the archive")?, target, most)
    } else if packed.get(257..262) == Some(b"ustar") {
        tar(packed, target, most)
    } else {
        Err(Error::args_invalid("this is no archive that can be unpacked")
            .with_hint("send a zip, tar or tar.gz, or leave `unpack` out"))
    }
}

/// What an archive of this size may hold.
pub(crate) fn most(packed: usize) -> u64 {
    (1 << 20) + (packed as u64).saturating_mul(MAX_RATIO).min(MAX_BYTES - (1 << 20))
}

fn zip(packed: &[u8], target: &GuestPath, most: u64) -> Result<Unpacked> {
    // Before a table of any size is read.
    if packed.windows(ZIP_ENTRY.len()).filter(|window| *window == ZIP_ENTRY).count() > MAX_ENTRIES {
        return Err(too_many());
    }
    let mut archive = zip::ZipArchive::new(Cursor::new(packed)).map_err(damaged)?;
    if entries_of(packed).is_some_and(|entries| entries > archive.len()) {
        // The reader keeps the last of them.
        return Err(Error::args_invalid("the archive holds a name more than once")
            .with_hint("nothing was unpacked; name each file once"));
    }
    let mut unpacked = Unpacked::default();
    for index in 0..archive.len() {
        let mut entry = archive.by_index(index).map_err(damaged)?;
        let name = text(entry.name_raw())?;
        let kind = entry.unix_mode().map_or(0, |mode| mode & 0o170_000);
        if entry.encrypted() {
            return Err(refused(&name, "is encrypted"));
        }
        if entry.is_dir() {
            unpacked.folder(&name, target)?;
        } else if kind == 0 || kind == 0o100_000 {
            let size = entry.size();
            let bytes = read(&mut entry, unpacked.room(size, most)?, &name)?;
            if bytes.len() as u64 != size {
                return Err(refused(&name, "has another size than the archive says"));
            }
            unpacked.file(&name, target, bytes)?;
        } else {
            return Err(refused(&name, "is a link or a device"));
        }
    }
    unpacked.checked()
}

/// How many entries the end of a zip's table of contents tells, where that is no number of its larger form.
fn entries_of(packed: &[u8]) -> Option<usize> {
    let at = packed.windows(ZIP_END.len()).rposition(|window| window == ZIP_END)?;
    let count = packed.get(at + 10..at + 12)?;
    let count = u16::from_le_bytes([count[0], count[1]]);
    (count < u16::MAX).then_some(count.into())
}

fn tar(plain: &[u8], target: &GuestPath, most: u64) -> Result<Unpacked> {
    let mut archive = tar::Archive::new(plain);
    let mut unpacked = Unpacked::default();
    for entry in archive.entries().map_err(damaged)? {
        let mut entry = entry.map_err(damaged)?;
        let name = text(&entry.path_bytes())?;
        let kind = entry.header().entry_type();
        match kind {
            tar::EntryType::XGlobalHeader => {}
            tar::EntryType::Directory => unpacked.folder(&name, target)?,
            tar::EntryType::Regular => {
                let size = entry.size();
                let bytes = read(&mut entry, unpacked.room(size, most)?, &name)?;
                if bytes.len() as u64 != size {
                    return Err(refused(&name, "is cut"));
                }
                unpacked.file(&name, target, bytes)?;
            }
            _ => return Err(refused(&name, "is a link, a device or another special file")),
        }
    }
    unpacked.checked()
}

impl Unpacked {
    /// Bytes that the next file may have, if it can have those that it claims.
    fn room(&self, claimed: u64, most: u64) -> Result<u64> {
        let left = most.saturating_sub(self.bytes);
        if claimed <= left { Ok(left) } else { Err(too_large(most)) }
    }

    fn file(&mut self, name: &str, target: &GuestPath, bytes: Vec<u8>) -> Result<()> {
        let path = self.place(name, target)?;
        let Some(path) = path else { return Err(refused(name, "has no name")) };
        self.bytes += bytes.len() as u64;
        self.files.push((path, bytes));
        Ok(())
    }

    fn folder(&mut self, name: &str, target: &GuestPath) -> Result<()> {
        if let Some(path) = self.place(name.trim_end_matches('/'), target)? {
            self.folders.push(path);
        }
        Ok(())
    }

    /// Where an entry is to lie. None for the folder that everything is in, as `tar` writes it.
    fn place(&mut self, name: &str, target: &GuestPath) -> Result<Option<GuestPath>> {
        let below = name.strip_prefix("./").unwrap_or(name);
        if below.is_empty() || below == "." {
            return Ok(None);
        }
        let path = format!("{}/{below}", target.as_str().trim_end_matches('/'));
        let path = match GuestPath::parse(&path) {
            Ok(path) if !below.starts_with('/') && !below.contains('\\') => path,
            _ => {
                let message = format!("the archive's entry `{}` has a forbidden path", shown(name));
                return Err(Error::new(ErrorCode::PathDenied, message)
                    .with_hint("nothing was unpacked; use relative names without `..` and backslashes"));
            }
        };
        if !self.names.insert(path.as_str().to_owned()) {
            return Err(refused(name, "is there twice"));
        }
        if self.names.len() > MAX_ENTRIES { Err(too_many()) } else { Ok(Some(path)) }
    }

    /// No file lies where another needs a folder.
    fn checked(self) -> Result<Self> {
        let files: BTreeSet<&str> = self.files.iter().map(|(path, _)| path.as_str()).collect();
        for name in &self.names {
            let above = name.match_indices('/').map(|(at, _)| &name[..at]);
            if let Some(file) = above.into_iter().find(|above| files.contains(above)) {
                return Err(refused(file, "is a file and a folder"));
            }
        }
        Ok(self)
    }
}

/// All of a stream that may have `most` bytes.
fn read(from: impl Read, most: u64, name: &str) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = from.take(most.saturating_add(1)).read_to_end(&mut bytes);
    read.map_err(|error| refused(name, "is damaged").with_source(error))?;
    if bytes.len() as u64 > most { Err(too_large(most)) } else { Ok(bytes) }
}

fn text(name: &[u8]) -> Result<String> {
    String::from_utf8(name.to_vec())
        .map_err(|error| refused(&String::from_utf8_lossy(error.as_bytes()), "has a name that is not UTF-8"))
}

fn refused(name: &str, why: &str) -> Error {
    Error::args_invalid(format!("the archive's entry `{}` {why}", shown(name)))
        .with_hint("nothing was unpacked; send regular files and folders only")
}

fn damaged(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
    Error::args_invalid("the archive is truncated, damaged or of an unsupported kind")
        .with_hint("nothing was unpacked; send the whole of a zip, a tar or a tar.gz")
        .with_source(error)
}

fn too_many() -> Error {
    Error::new(ErrorCode::TooLarge, format!("the archive has more than {MAX_ENTRIES} entries"))
        .with_hint("nothing was unpacked; send several archives")
}

fn too_large(most: u64) -> Error {
    Error::new(ErrorCode::TooLarge, format!("the archive unpacks to more than {most} bytes")).with_hint(
        format!("nothing was unpacked; an archive may grow {MAX_RATIO} times, to {MAX_BYTES} bytes"),
    )
}

fn shown(name: &str) -> String {
    name.escape_debug().take(128).collect()
}

#[cfg(test)]
#[path = "archive_tests.rs"]
mod tests;
