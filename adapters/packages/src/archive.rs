//! The files of an archive, in memory and checked: plain relative names, regular files, within a budget.

use std::collections::BTreeSet;
use std::io::{Cursor, Read};

use dormouse_core::{Error, ErrorCode, GuestPath, Result};

/// Most entries of one archive.
const MAX_ENTRIES: usize = 20_000;
/// How each entry begins in a zip's table of contents.
const ZIP_ENTRY: &[u8] = b"PK\x01\x02";

/// A file of an archive.
#[derive(Debug)]
pub(crate) struct Unpacked {
    pub(crate) path: String,
    pub(crate) bytes: Vec<u8>,
    pub(crate) executable: bool,
}

/// Checks and collects.
struct Collector<'a> {
    archive: &'a str,
    files: Vec<Unpacked>,
    names: BTreeSet<String>,
    folded: BTreeSet<String>,
    entries: usize,
    left: u64,
}

/// Reads a wheel. `room` is how many bytes it may unpack to.
pub(crate) fn wheel(name: &str, packed: &[u8], room: u64) -> Result<Vec<Unpacked>> {
    let mut collector = Collector::new(name, room);
    let mut archive = collector.open(packed)?;
    for index in 0..archive.len() {
        let mut entry = archive.by_index(index).map_err(|error| collector.damaged(error))?;
        let raw = entry.name_raw().to_vec();
        let path = collector.text(&raw)?;
        let mode = entry.unix_mode().unwrap_or_default();
        let kind = mode & 0o170_000;
        if entry.encrypted() {
            return Err(collector.refused(&path, "is encrypted"));
        }
        if entry.is_dir() {
            collector.folder(&path)?;
        } else if kind == 0 || kind == 0o100_000 {
            collector.file(&path, &mut entry, mode & 0o111 != 0)?;
        } else {
            return Err(collector.refused(&path, "is a link or a device"));
        }
    }
    collector.checked()
}

/// Reads one file of a wheel, by the end of its name.
pub(crate) fn wheel_file(name: &str, packed: &[u8], wanted: &str, most: u64) -> Result<Vec<u8>> {
    let collector = Collector::new(name, most);
    let mut archive = collector.open(packed)?;
    let found = archive
        .file_names()
        .flatten()
        .find(|path| path.ends_with(wanted) && path.matches('/').count() == wanted.matches('/').count())
        .map(std::borrow::Cow::into_owned);
    let Some(found) = found else { return Err(collector.refused(wanted, "is missing")) };
    let mut entry = archive.by_name(&found).map_err(|error| collector.damaged(error))?;
    collector.read(wanted, &mut entry)
}

/// Reads a package of npm: a tar.gz whose files lie in one folder, which is taken off.
pub(crate) fn tarball(name: &str, packed: &[u8], room: u64) -> Result<Vec<Unpacked>> {
    let mut collector = Collector::new(name, room);
    // A tar's own blocks, and long names, come on top of its files.
    let most = room.saturating_add((MAX_ENTRIES as u64) * 1024);
    let plain = flate2::read::MultiGzDecoder::new(packed).take(most.saturating_add(1));
    let mut archive = tar::Archive::new(plain);
    for entry in archive.entries().map_err(|error| collector.damaged(error))? {
        let mut entry = entry.map_err(|error| collector.damaged(error))?;
        let raw = entry.path_bytes().into_owned();
        let path = collector.text(&raw)?;
        let below = match path.trim_start_matches("./").split_once('/') {
            Some((_, below)) => below.to_owned(),
            None => String::new(),
        };
        let mode = entry.header().mode().unwrap_or_default();
        match entry.header().entry_type() {
            tar::EntryType::XGlobalHeader => {}
            tar::EntryType::Directory if below.trim_matches('/').is_empty() => collector.count()?,
            tar::EntryType::Directory => collector.folder(&below)?,
            tar::EntryType::Regular | tar::EntryType::Continuous => {
                if path.starts_with('/') || path.split('/').next() == Some("..") {
                    return Err(collector.refused(&path, "has a path that is not taken"));
                }
                collector.file(&below, &mut entry, mode & 0o111 != 0)?;
            }
            _ => return Err(collector.refused(&path, "is a link, a device or another special file")),
        }
    }
    collector.checked()
}

impl<'a> Collector<'a> {
    fn new(archive: &'a str, room: u64) -> Self {
        let (names, folded) = (BTreeSet::new(), BTreeSet::new());
        Self { archive, files: Vec::new(), names, folded, entries: 0, left: room }
    }

    fn open<'b>(&self, packed: &'b [u8]) -> Result<zip::ZipArchive<Cursor<&'b [u8]>>> {
        // Before a table of any size is read.
        let entries = packed.windows(ZIP_ENTRY.len()).filter(|window| *window == ZIP_ENTRY).count();
        if entries > MAX_ENTRIES {
            return Err(self.too_many());
        }
        zip::ZipArchive::new(Cursor::new(packed)).map_err(|error| self.damaged(error))
    }

    fn count(&mut self) -> Result<()> {
        self.entries += 1;
        if self.entries > MAX_ENTRIES { Err(self.too_many()) } else { Ok(()) }
    }

    fn folder(&mut self, path: &str) -> Result<()> {
        self.count()?;
        self.plain(path.trim_end_matches('/'))
    }

    fn file(&mut self, path: &str, from: &mut impl Read, executable: bool) -> Result<()> {
        self.count()?;
        self.plain(path)?;
        if !self.names.insert(path.to_owned()) {
            return Err(self.refused(path, "is there twice"));
        }
        if !self.folded.insert(path.to_lowercase()) {
            return Err(self.refused(path, "differs from another only in upper and lower case"));
        }
        let bytes = self.read(path, from)?;
        self.left -= bytes.len() as u64;
        self.files.push(Unpacked { path: path.to_owned(), bytes, executable });
        Ok(())
    }

    fn read(&self, path: &str, from: &mut impl Read) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let read = from.take(self.left.saturating_add(1)).read_to_end(&mut bytes);
        read.map_err(|error| self.refused(path, "is damaged").with_source(error))?;
        if bytes.len() as u64 > self.left { Err(self.too_large()) } else { Ok(bytes) }
    }

    /// Only names that stay below and mean the same everywhere.
    fn plain(&self, path: &str) -> Result<()> {
        let below = GuestPath::parse(&format!("/{path}")).is_ok();
        let taken =
            below && path.len() <= 1024 && !path.contains('\\') && !path.chars().any(char::is_control);
        if taken { Ok(()) } else { Err(self.refused(path, "has a path that is not taken")) }
    }

    /// No file lies where another needs a folder.
    fn checked(self) -> Result<Vec<Unpacked>> {
        for name in &self.names {
            let mut above = name.match_indices('/').map(|(at, _)| &name[..at]);
            if let Some(file) = above.find(|above| self.names.contains(*above)) {
                return Err(self.refused(file, "is a file and a folder"));
            }
        }
        Ok(self.files)
    }

    fn text(&self, name: &[u8]) -> Result<String> {
        String::from_utf8(name.to_vec()).map_err(|error| {
            self.refused(&String::from_utf8_lossy(error.as_bytes()), "has a name that is not UTF-8")
        })
    }

    fn refused(&self, path: &str, why: &str) -> Error {
        let shown: String = path.escape_debug().take(128).collect();
        Error::new(ErrorCode::PackageRefused, format!("`{shown}` in `{}` {why}", self.archive))
            .with_hint("nothing was installed; request another version")
    }

    fn damaged(&self, error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
        Error::new(ErrorCode::PackageRefused, format!("`{}` is damaged, or no archive", self.archive))
            .with_hint("nothing was installed; request another version")
            .with_source(error)
    }

    fn too_many(&self) -> Error {
        let message = format!("`{}` has more than {MAX_ENTRIES} entries", self.archive);
        Error::new(ErrorCode::TooLarge, message).with_hint("nothing was installed")
    }

    fn too_large(&self) -> Error {
        let message = format!("`{}` unpacks to more than what is left of the bound", self.archive);
        Error::new(ErrorCode::TooLarge, message).with_hint(
            "nothing was installed; install fewer packages at a time, or have the operator raise the bound",
        )
    }
}
