//! `dormouse sandbox cp`: files and folders of any size, into a sandbox and out of it.
//!
//! Owns: what `NAME:/PATH` is, and how a folder is walked on either side. A file is whole at its place or as it was before; a folder
//! is copied file by file, and what is neither file nor folder is left out and told. Below a folder of this machine nothing outside
//! it is read or written, whatever links lie there.

use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions};
use dormouse::sandbox::{Entry, EntryKind, Handle, Owner, Piece};
use dormouse::{Dormouse, Error, ErrorCode, GuestPath, Result, Sandboxes};

use super::super::once;
use crate::print;

/// Bytes that are moved at a time (8 MiB).
const PIECE: usize = 8 << 20;
/// Files and folders of this machine that one call copies.
const MAX_ENTRIES: usize = 100_000;
/// Folders below one another that are walked on this machine.
const MAX_DEPTH: usize = 256;
/// Entries of a sandbox's folder that are asked for at a time.
const PAGE: usize = 10_000;

/// A place in a sandbox.
struct Inside<'a> {
    sandboxes: &'a Sandboxes,
    owner: Owner,
    name: &'a str,
}

/// Copies; one of the two is `NAME:/PATH`.
///
/// # Errors
/// `args_invalid` when none or both are; what the files on either side say.
pub(super) fn copy(dormouse: &Dormouse, from: &str, to: &str) -> Result<()> {
    let sandboxes = dormouse.sandboxes()?;
    let there = |name| Inside { sandboxes, owner: Owner::local(), name };
    match (inside(from), inside(to)) {
        (Some((name, path)), None) => there(name).take(&guest_path(path)?, to),
        (None, Some((name, path))) => there(name).put(from, path),
        _ => Err(Error::args_invalid(
            "one of the two must be a file or folder of a sandbox, and the other of this machine",
        )
        .with_hint("write `cp NAME:/workspace/a.txt a.txt`, or the other way round; a path of this machine that looks so begins with `./`")),
    }
}

/// `NAME:/PATH` of a sandbox. Its name has no slash, and may have colons.
fn inside(text: &str) -> Option<(&str, &str)> {
    let (name, _) = text.split_once(":/")?;
    let is_name = !name.is_empty() && !name.contains('/');
    is_name.then(|| (name, text.get(name.len() + 1..).unwrap_or_default()))
}

/// A path of a sandbox, also one that ends in a slash.
fn guest_path(text: &str) -> Result<GuestPath> {
    let trimmed = text.trim_end_matches('/');
    GuestPath::parse(if trimmed.is_empty() { "/" } else { trimmed })
}

fn last_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

impl Inside<'_> {
    fn handle(&self) -> Handle<'_> {
        Handle::IdOrName(self.name)
    }

    /// What lies in a folder, or below it; of a file that alone, with an empty path.
    fn list(&self, path: &GuestPath, recursive: bool) -> Result<Vec<Entry>> {
        let (mut all, mut after) = (Vec::new(), None);
        loop {
            let (from, handle) = ((after.take(), PAGE), self.handle());
            let page = self.sandboxes.page_of_files(&self.owner, &handle, path.clone(), recursive, from);
            let mut page = once::finish(page)?;
            all.append(&mut page.entries);
            match all.last().filter(|_| page.more) {
                Some(last) => after = Some(last.path.clone()),
                None => return Ok(all),
            }
        }
    }

    /// Out of the sandbox.
    fn take(&self, path: &GuestPath, to: &str) -> Result<()> {
        // A file is listed as itself; below a mount it is not listed at all.
        let is_file = |entries: &[Entry]| matches!(entries, [only] if only.path.is_empty());
        let entries = match self.list(path, true) {
            Err(error) if error.code() == ErrorCode::ArgsInvalid => None,
            listed => Some(listed?).filter(|entries| !is_file(entries)),
        };
        let name = last_name(path.as_str());
        // Into a folder it goes by its own name.
        let target = match Path::new(to) {
            folder if folder.is_dir() && !name.is_empty() => folder.join(name),
            other => other.to_owned(),
        };
        let Some(entries) = entries else { return self.take_one(path, &target, to) };
        make_folder(&target).map_err(|error| failed(to, error))?;
        let folder =
            Dir::open_ambient_dir(&target, ambient_authority()).map_err(|error| failed(to, error))?;
        for entry in &entries {
            let shown = target.join(&entry.path).display().to_string();
            let below = format!("{}/{}", path.as_str().trim_end_matches('/'), entry.path);
            match entry.kind {
                EntryKind::Folder => {
                    folder.create_dir_all(&entry.path).map_err(|error| failed(&shown, error))?;
                }
                EntryKind::File => {
                    match self.pour(&GuestPath::parse(&below)?, &folder, &entry.path, &shown) {
                        // In a folder of this machine that the sandbox sees there may be pipes and the like.
                        Err(error) if error.code() == ErrorCode::ArgsInvalid => {
                            leave_out(&below, "neither file nor folder")?;
                        }
                        poured => poured?,
                    }
                }
                EntryKind::Link => leave_out(&below, "a link")?,
            }
        }
        Ok(())
    }

    /// One file.
    fn take_one(&self, path: &GuestPath, target: &Path, to: &str) -> Result<()> {
        let parent = target.parent().filter(|parent| !parent.as_os_str().is_empty());
        let name = target.file_name().map(|name| name.to_string_lossy().into_owned());
        let is_plain = target.symlink_metadata().map_or(true, |about| about.is_file());
        match name.filter(|_| is_plain) {
            Some(name) => {
                let folder = Dir::open_ambient_dir(parent.unwrap_or(Path::new(".")), ambient_authority());
                self.pour(path, &folder.map_err(|error| failed(to, error))?, &name, to)
            }
            // A device, a pipe, a link: what is written goes there.
            None => {
                let (own, shown) = (target.to_owned(), to.to_owned());
                let file = once::aside(move || {
                    let file = std::fs::File::options().write(true).truncate(true).open(own);
                    file.map(Arc::new).map_err(|error| failed(&shown, error))
                })?;
                self.pieces(path, |bytes| {
                    let (file, bytes, shown) = (file.clone(), bytes.to_vec(), to.to_owned());
                    once::aside(move || (&*file).write_all(&bytes).map_err(|error| failed(&shown, error)))
                })
            }
        }
    }

    /// Writes a file of the sandbox below a folder of this machine, and puts it in its place when it is whole.
    fn pour(&self, path: &GuestPath, folder: &Dir, to: &str, shown: &str) -> Result<()> {
        let part = match to.rsplit_once('/') {
            Some((above, _)) => format!("{above}/.dormouse-{}", std::process::id()),
            None => format!(".dormouse-{}", std::process::id()),
        };
        let opened = folder.open_with(&part, OpenOptions::new().write(true).create(true).truncate(true));
        let mut file = opened.map_err(|error| failed(shown, error))?;
        let poured = self
            .pieces(path, |bytes| file.write_all(bytes).map_err(|error| failed(shown, error)))
            .and_then(|()| folder.rename(&part, folder, to).map_err(|error| failed(shown, error)));
        if poured.is_err() {
            // That it stays is no more than a file too many.
            let _ = folder.remove_file(&part);
        }
        poured
    }

    /// The bytes of a file, piece by piece.
    fn pieces(&self, path: &GuestPath, mut take: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let (mut offset, mut version, handle) = (0, None, self.handle());
        loop {
            once::go_on()?;
            let read = self.sandboxes.read(&self.owner, &handle, path.clone(), offset, PIECE as u64);
            let Piece { bytes, size, modified_ms } = once::finish(read)?;
            if *version.get_or_insert((size, modified_ms)) != (size, modified_ms) {
                let changed = format!("`{path}` changed while it was copied");
                return Err(Error::new(ErrorCode::Conflict, changed).with_hint("copy it again"));
            }
            take(&bytes)?;
            offset += bytes.len() as u64;
            if bytes.is_empty() || offset >= size {
                return Ok(());
            }
        }
    }

    /// Into the sandbox.
    fn put(&self, from: &str, path: &str) -> Result<()> {
        let target = self.target(from, path)?;
        let source = Path::new(from);
        let about = source.metadata().map_err(|error| failed(from, error))?;
        if !about.is_dir() {
            let (own, shown) = (source.to_owned(), from.to_owned());
            let file = once::aside(move || std::fs::File::open(own).map_err(|error| failed(&shown, error)))?;
            return self.send(file, from, target);
        }
        let folder =
            Dir::open_ambient_dir(source, ambient_authority()).map_err(|error| failed(from, error))?;
        let found = walk(&folder).map_err(|error| failed(from, error))?;
        once::finish(self.sandboxes.make_folder(&self.owner, &self.handle(), target.clone()))?;
        for (below, kind) in found {
            let shown = source.join(&below).display().to_string();
            let Some(name) = below.to_str() else {
                leave_out(&shown, "not named in UTF-8")?;
                continue;
            };
            let place = GuestPath::parse(&format!("{}/{name}", target.as_str().trim_end_matches('/')));
            match kind {
                Kind::Folder => {
                    once::finish(self.sandboxes.make_folder(&self.owner, &self.handle(), place?))?;
                }
                Kind::File => {
                    let file = folder.open(&below).map_err(|error| failed(&shown, error))?;
                    self.send(file.into_std(), &shown, place?)?;
                }
                Kind::Other(what) => leave_out(&shown, what)?,
            }
        }
        Ok(())
    }

    /// Where a file or folder goes: into a folder, or what ends in a slash, by its own name.
    fn target(&self, from: &str, path: &str) -> Result<GuestPath> {
        let place = guest_path(path)?;
        let is_folder = path.ends_with('/') || self.is_folder(&place)?;
        let own = Path::new(from);
        // `.` and `..` have names of their own elsewhere.
        let named = own.file_name().map(|name| name.to_owned());
        let named = named.or_else(|| Some(own.canonicalize().ok()?.file_name()?.to_owned()));
        match (is_folder, named.as_deref().and_then(|name| name.to_str())) {
            (true, Some(name)) => {
                GuestPath::parse(&format!("{}/{name}", place.as_str().trim_end_matches('/')))
            }
            _ => Ok(place),
        }
    }

    fn is_folder(&self, path: &GuestPath) -> Result<bool> {
        let handle = self.handle();
        let listing = self.sandboxes.list_files(&self.owner, &handle, path.clone(), false, 1);
        match once::finish(listing) {
            Ok((entries, _)) => Ok(entries.first().is_none_or(|entry| !entry.path.is_empty())),
            Err(error) if matches!(error.code(), ErrorCode::NotFound | ErrorCode::ArgsInvalid) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// A file of this machine, piece by piece.
    fn send(&self, file: std::fs::File, from: &str, to: GuestPath) -> Result<()> {
        let mut upload = self.sandboxes.upload_in_pieces(&self.owner, &self.handle(), to)?;
        let file = Arc::new(file);
        loop {
            let (own, shown) = (file.clone(), from.to_owned());
            let read = once::aside(move || {
                let mut bytes = Vec::new();
                let read = (&*own).take(PIECE as u64).read_to_end(&mut bytes);
                read.map(|_| bytes).map_err(|error| failed(&shown, error))
            });
            let sent = match read {
                Ok(bytes) if bytes.is_empty() => return once::finish(upload.finish()).map(drop),
                Ok(bytes) => once::finish(upload.add(bytes)).map(drop),
                Err(error) => Err(error),
            };
            if let Err(error) = sent {
                let gone = async move {
                    upload.abandon().await;
                    Ok(())
                };
                return once::to_end(gone).and(Err(error));
            }
        }
    }
}

/// What a name of this machine is.
enum Kind {
    File,
    Folder,
    Other(&'static str),
}

/// What lies below a folder of this machine, each folder before what it holds. Links are not followed.
fn walk(root: &Dir) -> io::Result<Vec<(PathBuf, Kind)>> {
    let mut found: Vec<(PathBuf, Kind)> = Vec::new();
    let mut left = vec![PathBuf::new()];
    while let Some(above) = left.pop() {
        let folder = if above.as_os_str().is_empty() { root.try_clone()? } else { root.open_dir(&above)? };
        for item in folder.entries()? {
            let item = item?;
            let (path, kind) = (above.join(item.file_name()), item.file_type()?);
            let kind = if kind.is_dir() {
                left.push(path.clone());
                Kind::Folder
            } else if kind.is_file() {
                Kind::File
            } else if kind.is_symlink() {
                Kind::Other("a link")
            } else {
                Kind::Other("neither file nor folder")
            };
            if found.len() == MAX_ENTRIES || path.components().count() > MAX_DEPTH {
                return Err(io::ErrorKind::FileTooLarge.into());
            }
            found.push((path, kind));
        }
    }
    found.sort_by(|(one, _), (other, _)| one.cmp(other));
    Ok(found)
}

fn make_folder(path: &Path) -> io::Result<()> {
    std::fs::create_dir_all(path)
}

/// Says on standard error what is not copied.
fn leave_out(path: &str, what: &str) -> Result<()> {
    print::note(&format!("`{path}` is left out: it is {what}"))
        .map_err(|error| Error::internal("standard error cannot be written", error))
}

/// Why a file of this machine is not copied.
fn failed(path: &str, error: io::Error) -> Error {
    let (code, why, hint) = match error.kind() {
        io::ErrorKind::NotFound => (ErrorCode::NotFound, "there is no such file or folder", "check the path"),
        io::ErrorKind::IsADirectory | io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists => {
            (ErrorCode::ArgsInvalid, "a folder and a file have one name", "choose another name")
        }
        io::ErrorKind::FileTooLarge => (
            ErrorCode::TooLarge,
            "it holds more than 100000 names or is more than 256 folders deep",
            "copy parts of it",
        ),
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            (ErrorCode::PathDenied, "this user has no access to it", "look at its permissions")
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            (ErrorCode::PathDenied, "there is no space left on its disk", "make room there")
        }
        _ => return Error::internal(format!("`{path}` cannot be copied"), error),
    };
    Error::new(code, format!("`{path}`: {why}")).with_hint(hint).with_source(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_in_a_sandbox_is_a_name_a_colon_and_an_absolute_path() {
        assert_eq!(inside("work:/workspace/a:b"), Some(("work", "/workspace/a:b")));
        assert_eq!(inside("a:b:/x"), Some(("a:b", "/x")));
        assert_eq!(inside("work:/"), Some(("work", "/")));
        for other in ["a.txt", "./work:/x", "/work:/x", "a:b", ":/x", "work:x"] {
            assert_eq!(inside(other), None, "{other}");
        }
    }
}
