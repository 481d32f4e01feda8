//! The files of a package's archive, in memory and checked: plain relative names, regular files, within a budget.
//!
//! Owns: which names a package may have, and what is left of the budget. Does not own: reading archives
//! ([`dormouse_archives`]).

use std::collections::BTreeSet;
use std::io::Read as _;

use dormouse_archives::{Entry, Kind, MAX_ENTRIES, Rules, TAR_BLOCKS, Zip, file_above, gunzipped, tar};
use dormouse_core::{Error, ErrorCode, GuestPath, Result};

/// Longest path of a file, in bytes.
const MAX_PATH: usize = 1024;

/// A file of an archive.
#[derive(Debug)]
pub(crate) struct Unpacked {
    pub(crate) path: String,
    pub(crate) bytes: Vec<u8>,
    pub(crate) executable: bool,
}

/// Checks and collects.
struct Collector<'a> {
    package: &'a Package<'a>,
    files: Vec<Unpacked>,
    names: BTreeSet<String>,
    folded: BTreeSet<String>,
    entries: usize,
    left: u64,
}

/// Reads a wheel. `room` is how many bytes it may unpack to.
pub(crate) fn wheel(name: &str, packed: &[u8], room: u64) -> Result<Vec<Unpacked>> {
    let package = Package(name);
    let mut collector = Collector::new(&package, room);
    Zip::open(packed, &package)?.each(|entry| {
        let path = entry.name.clone();
        match entry.kind {
            Kind::Folder => collector.folder(&path),
            Kind::File => collector.file(&path, entry),
        }
    })?;
    collector.checked()
}

/// Reads one file of a wheel, by the end of its name.
pub(crate) fn wheel_file(name: &str, packed: &[u8], wanted: &str, most: u64) -> Result<Vec<u8>> {
    let package = Package(name);
    let depth = wanted.matches('/').count();
    let is_wanted = |path: &str| path.ends_with(wanted) && path.matches('/').count() == depth;
    let found = Zip::open(packed, &package)?.one(wanted, most, is_wanted)?;
    found.ok_or_else(|| package.refused(wanted, "is missing"))
}

/// Reads a source distribution of Python by the end of its name: as [`tarball`], a zip or a tar.bz2 too.
pub(crate) fn source(name: &str, packed: &[u8], room: u64) -> Result<Vec<Unpacked>> {
    let package = Package(name);
    let mut collector = Collector::new(&package, room);
    if name.ends_with(".zip") {
        Zip::open(packed, &package)?.each(|entry| collector.below_folder(entry))?;
        return collector.checked();
    }
    if name.ends_with(".tar.bz2") {
        let plain =
            bzip2::read::MultiBzDecoder::new(packed).take(room.saturating_add(TAR_BLOCKS).saturating_add(1));
        tar(plain, &package, |entry| collector.below_folder(entry))?;
        return collector.checked();
    }
    tarball(name, packed, room)
}

/// Reads a package of npm: a tar.gz whose files lie in one folder, which is taken off.
pub(crate) fn tarball(name: &str, packed: &[u8], room: u64) -> Result<Vec<Unpacked>> {
    let package = Package(name);
    let mut collector = Collector::new(&package, room);
    tar(gunzipped(packed, room.saturating_add(TAR_BLOCKS)), &package, |entry| collector.below_folder(entry))?;
    collector.checked()
}

impl<'a> Collector<'a> {
    fn new(package: &'a Package<'a>, room: u64) -> Self {
        let (names, folded) = (BTreeSet::new(), BTreeSet::new());
        Self { package, files: Vec::new(), names, folded, entries: 0, left: room }
    }

    /// An entry whose first folder is taken off.
    fn below_folder(&mut self, entry: &mut Entry<'_>) -> Result<()> {
        let path = entry.name.clone();
        let below = path.trim_start_matches("./").split_once('/').map_or("", |(_, below)| below);
        match entry.kind {
            Kind::Folder if below.trim_matches('/').is_empty() => self.count(),
            Kind::Folder => self.folder(below),
            Kind::File if path.starts_with('/') || path.split('/').next() == Some("..") => {
                Err(self.package.refused(&path, "has a path that is not taken"))
            }
            Kind::File => self.file(below, entry),
        }
    }

    fn count(&mut self) -> Result<()> {
        self.entries += 1;
        if self.entries > MAX_ENTRIES { Err(self.package.too_many()) } else { Ok(()) }
    }

    fn folder(&mut self, path: &str) -> Result<()> {
        self.count()?;
        self.plain(path.trim_end_matches('/'))
    }

    fn file(&mut self, path: &str, entry: &mut Entry<'_>) -> Result<()> {
        self.count()?;
        self.plain(path)?;
        if !self.names.insert(path.to_owned()) {
            return Err(self.package.refused(path, "is there twice"));
        }
        if !self.folded.insert(path.to_lowercase()) {
            return Err(self.package.refused(path, "differs from another only in upper and lower case"));
        }
        // An error calls it by the path that it is to have.
        path.clone_into(&mut entry.name);
        let bytes = entry.read(self.left)?;
        self.left -= bytes.len() as u64;
        self.files.push(Unpacked { path: path.to_owned(), bytes, executable: entry.executable });
        Ok(())
    }

    /// Only names that stay below and mean the same everywhere.
    fn plain(&self, path: &str) -> Result<()> {
        let below = GuestPath::parse(&format!("/{path}")).is_ok();
        let taken =
            below && path.len() <= MAX_PATH && !path.contains('\\') && !path.chars().any(char::is_control);
        if taken { Ok(()) } else { Err(self.package.refused(path, "has a path that is not taken")) }
    }

    /// No file lies where another needs a folder.
    fn checked(self) -> Result<Vec<Unpacked>> {
        let names: BTreeSet<&str> = self.names.iter().map(String::as_str).collect();
        match file_above(names.iter().copied(), &names) {
            Some(file) => Err(self.package.refused(file, "is a file and a folder")),
            None => Ok(self.files),
        }
    }
}

/// An archive of an index, by its name.
struct Package<'a>(&'a str);

impl Rules for Package<'_> {
    fn refused(&self, name: &str, why: &str) -> Error {
        let shown: String = name.escape_debug().take(128).collect();
        Error::new(ErrorCode::PackageRefused, format!("`{shown}` in `{}` {why}", self.0))
            .with_hint("nothing was installed; request another version")
    }

    fn damaged(&self, source: Box<dyn std::error::Error + Send + Sync>) -> Error {
        Error::new(ErrorCode::PackageRefused, format!("`{}` is damaged, or no archive", self.0))
            .with_hint("nothing was installed; request another version")
            .with_source(source)
    }

    fn too_many(&self) -> Error {
        let message = format!("`{}` has more than {MAX_ENTRIES} entries", self.0);
        Error::new(ErrorCode::TooLarge, message).with_hint("nothing was installed")
    }

    fn too_large(&self, _: u64) -> Error {
        let message = format!("`{}` unpacks to more than what is left of the bound", self.0);
        Error::new(ErrorCode::TooLarge, message).with_hint(
            "nothing was installed; install fewer packages at a time, or have the operator raise the bound",
        )
    }

    fn takes_contiguous(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn sources_are_read_whatever_packs_them() {
        let file = (b"pyproject.toml", b"[project]\n");
        let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
        zip.start_file("own-1.0/pyproject.toml", zip::write::SimpleFileOptions::default()).unwrap();
        zip.write_all(file.1).unwrap();
        let zip = zip.finish().unwrap().into_inner();
        let mut tar = tar::Builder::new(bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast()));
        let mut header = tar::Header::new_gnu();
        header.set_size(file.1.len() as u64);
        header.set_mode(0o644);
        tar.append_data(&mut header, "own-1.0/pyproject.toml", &file.1[..]).unwrap();
        let tar = tar.into_inner().unwrap().finish().unwrap();
        for (name, packed) in [("own-1.0.zip", &zip), ("own-1.0.tar.bz2", &tar)] {
            let files = source(name, packed, 100).unwrap();
            assert_eq!((files[0].path.as_bytes(), &files[0].bytes[..]), (&file.0[..], &file.1[..]), "{name}");
            assert!(source(name, packed, 5).is_err(), "{name}");
            assert!(source(name, &packed[..packed.len() / 2], 100).is_err(), "{name}");
        }
    }
}
