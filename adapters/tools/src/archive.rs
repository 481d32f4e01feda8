//! Archives of files: zip, tar, tar.gz. Checked as a whole before anything is written (FS-09).
//!
//! Only regular files and folders with plain relative names are taken. Owners, modes and times are dropped. One bad entry
//! refuses the whole archive, by name. Owns: where entries are to lie, and how much an archive may hold. Does not own: reading
//! it ([`dormouse_archives`]).

use std::collections::BTreeSet;

use dormouse_archives::{Entry, Kind, MAX_ENTRIES, Rules, TAR_BLOCKS, Zip, file_above, gunzip, tar};
use dormouse_core::{Error, ErrorCode, GuestPath, Result};

/// Largest archive, in bytes (64 MiB).
pub(crate) const MAX_PACKED: u64 = 64 << 20;
/// Most bytes of all files together (256 MiB).
pub(crate) const MAX_BYTES: u64 = 256 << 20;
/// Most times that an archive may grow; the first mebibyte is free.
const MAX_RATIO: u64 = 200;

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
    let mut unpacked = Unpacked::default();
    if packed.starts_with(b"PK") {
        let archive = Zip::open(packed, &Upload)?;
        if archive.hides_entries() {
            return Err(Error::args_invalid("the archive holds a name more than once")
                .with_hint("nothing was unpacked; name each file once"));
        }
        archive.each(|entry| unpacked.take(entry, target, most, "has another size than the archive says"))?;
    } else if packed.starts_with(&[0x1f, 0x8b]) {
        let plain = gunzip(packed, most + TAR_BLOCKS, "the archive", &Upload)?;
        tar(plain.as_slice(), &Upload, |entry| unpacked.take(entry, target, most, "is cut"))?;
    } else if packed.get(257..262) == Some(b"ustar") {
        tar(packed, &Upload, |entry| unpacked.take(entry, target, most, "is cut"))?;
    } else {
        return Err(Error::args_invalid("this is not an archive that can be unpacked")
            .with_hint("send a zip, tar or tar.gz, or leave `unpack` out"));
    }
    unpacked.checked()
}

/// What an archive of this size may hold.
pub(crate) fn most(packed: usize) -> u64 {
    (1 << 20) + (packed as u64).saturating_mul(MAX_RATIO).min(MAX_BYTES - (1 << 20))
}

impl Unpacked {
    /// Takes an entry. `wrong` is what is said of a file that has not the size that the archive says.
    fn take(&mut self, entry: &mut Entry<'_>, target: &GuestPath, most: u64, wrong: &str) -> Result<()> {
        if entry.kind == Kind::Folder {
            return self.folder(&entry.name, target);
        }
        let bytes = entry.read(self.room(entry.size, most)?)?;
        if bytes.len() as u64 != entry.size {
            return Err(Upload.refused(&entry.name, wrong));
        }
        self.file(&entry.name, target, bytes)
    }

    /// Bytes that the next file may have, if it can have those that it claims.
    fn room(&self, claimed: u64, most: u64) -> Result<u64> {
        let left = most.saturating_sub(self.bytes);
        if claimed <= left { Ok(left) } else { Err(Upload.too_large(most)) }
    }

    fn file(&mut self, name: &str, target: &GuestPath, bytes: Vec<u8>) -> Result<()> {
        let path = self.place(name, target)?;
        let Some(path) = path else { return Err(Upload.refused(name, "has no name")) };
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
            return Err(Upload.refused(name, "is there twice"));
        }
        if self.names.len() > MAX_ENTRIES { Err(Upload.too_many()) } else { Ok(Some(path)) }
    }

    /// No file lies where another needs a folder.
    fn checked(self) -> Result<Self> {
        let files: BTreeSet<&str> = self.files.iter().map(|(path, _)| path.as_str()).collect();
        match file_above(self.names.iter().map(String::as_str), &files) {
            Some(file) => Err(Upload.refused(file, "is a file and a folder")),
            None => Ok(self),
        }
    }
}

/// An archive that a caller sends.
struct Upload;

impl Rules for Upload {
    fn refused(&self, name: &str, why: &str) -> Error {
        Error::args_invalid(format!("the archive's entry `{}` {why}", shown(name)))
            .with_hint("nothing was unpacked; send regular files and folders only")
    }

    fn damaged(&self, source: Box<dyn std::error::Error + Send + Sync>) -> Error {
        Error::args_invalid("the archive is truncated, damaged or of an unsupported kind")
            .with_hint("nothing was unpacked; send the whole of a zip, a tar or a tar.gz")
            .with_source(source)
    }

    fn too_many(&self) -> Error {
        Error::new(ErrorCode::TooLarge, format!("the archive has more than {MAX_ENTRIES} entries"))
            .with_hint("nothing was unpacked; send several archives")
    }

    fn too_large(&self, most: u64) -> Error {
        Error::new(ErrorCode::TooLarge, format!("the archive unpacks to more than {most} bytes")).with_hint(
            format!("nothing was unpacked; an archive may grow {MAX_RATIO} times, to {MAX_BYTES} bytes"),
        )
    }
}

fn shown(name: &str) -> String {
    name.escape_debug().take(128).collect()
}

#[cfg(test)]
#[path = "archive_tests.rs"]
mod tests;
