//! The host's face: whole files by their absolute path, for the tools of a sandbox.
//!
//! Owns: reading, replacing, editing, listing, making and removing by [`GuestPath`], each all or nothing. Does not own:
//! what the tools are called or how much of an answer they show.
//!
//! Symbolic links are followed wherever they lead inside the tree, also out of the folder that a guest was given.

mod edit;
mod list;
#[cfg(test)]
mod tests;

use std::cell::Cell;
use std::io::{Read, Write};
use std::sync::Arc;

use dormouse_types::{Error, GuestPath, Result};

use crate::content::Content;
use crate::files::{Files, Live, relative};
use crate::node::{Entry, Ino, Kind, ROOT};
use crate::resolve::Place;
use crate::tree::Tree;
use crate::{Errno, Stat};

pub use self::list::{FileList, Listed};

/// Bytes that are moved at a time: 1 MiB.
const STEP: usize = 1 << 20;

impl Files {
    /// What is known about what a path leads to.
    ///
    /// # Errors
    /// `not_found`, `args_invalid`, `path_denied`: see [`Errno::at`]. This goes for all functions with a path.
    pub fn stat(&self, path: &GuestPath) -> Result<Stat> {
        self.look(path, |tree, entry| tree.stat(entry.ino))
    }

    /// Up to `len` bytes of a file from `offset`; fewer at the end, none past it.
    ///
    /// # Errors
    /// `args_invalid` for a folder; `state_damaged` when a saved block is.
    pub fn read(&self, path: &GuestPath, offset: u64, len: usize) -> Result<Vec<u8>> {
        let content = self.content(path)?;
        content.read(offset, len).map_err(|errno| errno.at(path))
    }

    /// Writes a whole file out; answers its bytes. Changes that happen meanwhile do not show.
    ///
    /// # Errors
    /// As [`Files::read`]; `internal` with the cause when `to` fails.
    pub fn read_to(&self, path: &GuestPath, to: &mut dyn Write) -> Result<u64> {
        let content = self.content(path)?;
        let mut at = 0;
        while at < content.size() {
            let bytes = content.read(at, STEP).map_err(|errno| errno.at(path))?;
            to.write_all(&bytes)
                .map_err(|error| Error::internal(format!("`{path}` could not be copied out"), error))?;
            at += bytes.len() as u64;
        }
        Ok(at)
    }

    /// Makes or replaces a file, with the folders around it. Who has the old file open keeps the old content, and so do
    /// its other names.
    ///
    /// # Errors
    /// `limit_disk` when the quota is used up, `args_invalid` when it is a folder. Nothing has changed then.
    pub fn write(&self, path: &GuestPath, bytes: &[u8]) -> Result<()> {
        // Refused before anything is copied.
        if bytes.len() as u64 > self.quota().bytes {
            return Err(Errno::NoSpace.at(path));
        }
        let content = Content::from_bytes(bytes).map_err(|errno| errno.at(path))?;
        self.alter(path, |live, now| set(live, path, content, now))
    }

    /// Adds to the end of a file, which stays the same file for who has it open and under its other names, or makes it as
    /// [`Files::write`] does. Answers its bytes. What it has already is not read.
    ///
    /// # Errors
    /// As [`Files::write`].
    pub fn append(&self, path: &GuestPath, bytes: &[u8]) -> Result<u64> {
        self.alter(path, |live, now| {
            let found = live.tree.resolve(ROOT, relative(path), true).and_then(|place| place.found());
            match found {
                Ok(entry) => {
                    let end = live.tree.content(entry.ino)?.size();
                    live.tree.write(entry.ino, end, bytes, now)?;
                    Ok(end + bytes.len() as u64)
                }
                Err(Errno::NoEntry) => {
                    set(live, path, Content::from_bytes(bytes)?, now)?;
                    Ok(bytes.len() as u64)
                }
                Err(errno) => Err(errno),
            }
        })
    }

    /// Makes or replaces a file from a stream, as [`Files::write`] does; answers its bytes. The stream is read first, up to
    /// one byte more than the quota has in all.
    ///
    /// # Errors
    /// As [`Files::write`]; `internal` with the cause when `from` fails.
    pub fn write_from(&self, path: &GuestPath, from: &mut dyn Read) -> Result<u64> {
        let most = self.quota().bytes;
        let mut content = Content::default();
        let mut buffer = vec![0; STEP];
        loop {
            let read = match from.read(&mut buffer) {
                Ok(0) => break,
                Ok(read) => read,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => {
                    return Err(Error::internal(format!("`{path}` could not be copied in"), error));
                }
            };
            let bytes = buffer.get(..read).unwrap_or_default();
            if content.size() + read as u64 > most {
                return Err(Errno::NoSpace.at(path));
            }
            content.write(content.size(), bytes).map_err(|errno| errno.at(path))?;
        }
        let size = content.size();
        self.alter(path, |live, now| set(live, path, content, now))?;
        Ok(size)
    }

    /// Makes a folder and those around it; one that exists is left as it is.
    ///
    /// # Errors
    /// `args_invalid` when a file has the name, or past the quota's depth; `limit_disk` when the quota is used up.
    pub fn make_folder(&self, path: &GuestPath) -> Result<()> {
        self.alter(path, |live, now| folders(live, relative(path), now).map(|_| ()))
    }

    /// Removes a file, a link or an empty folder; with `all` a folder with all that it holds. A link is not followed.
    ///
    /// # Errors
    /// `not_found`; `args_invalid` for a folder that is not empty; `busy` for `/`.
    pub fn remove(&self, path: &GuestPath, all: bool) -> Result<()> {
        self.alter(path, |live, now| {
            let place = live.tree.resolve(ROOT, relative(path), false)?;
            let Some(name) = &place.name else { return Err(Errno::Busy) };
            let found = place.found()?;
            if all && found.kind == Kind::Folder {
                empty(live, found.ino, now)?;
            }
            let gone = live.tree.remove_name(place.folder, name, now)?;
            live.release(gone);
            Ok(())
        })
    }

    /// Renames, as [`Handle::rename_at`](crate::Handle::rename_at), and makes the folders above the new name. What has that name
    /// already gives way only with `replace`.
    ///
    /// # Errors
    /// As there, with the path that was in the way: the new one for what stands there or above it.
    pub fn rename(&self, path: &GuestPath, to: &GuestPath, replace: bool) -> Result<()> {
        // What an error is about.
        let blamed = Cell::new(path);
        let work = |live: &mut Live, now: u64| {
            let from = live.tree.resolve(ROOT, relative(path), false)?;
            from.found()?;
            blamed.set(to);
            if let Some((above, _)) = relative(to).rsplit_once('/') {
                folders(live, above, now)?;
            }
            let onto = live.tree.resolve(ROOT, relative(to), false)?;
            let (Some(name), Some(new)) = (&from.name, &onto.name) else { return Err(Errno::Busy) };
            if !replace && onto.entry.is_some() {
                return Err(Errno::Exists);
            }
            let gone = live.tree.rename((from.folder, name), (onto.folder, new), now)?;
            live.release(gone);
            Ok(())
        };
        self.with(|live, now| live.attempt(|live| work(live, now))).map_err(|errno| match errno {
            Errno::Exists => {
                errno.at(to).with_hint("choose another name, or have it take the place with `replace`")
            }
            Errno::NotEmpty => {
                errno.at(to).with_hint("choose another name, or remove what is in that folder")
            }
            // A folder that would move into itself.
            Errno::Invalid => errno.at(path).with_hint("choose a new path that is not below the old one"),
            _ => errno.at(blamed.get()),
        })
    }

    /// Looks at what a path leads to, in a copy of the tree.
    fn look<T>(
        &self,
        path: &GuestPath,
        look: impl FnOnce(&Tree, Entry) -> std::result::Result<T, Errno>,
    ) -> Result<T> {
        let tree = self.with(|live, _| live.tree.clone());
        let found = tree.resolve(ROOT, relative(path), true).and_then(|place| place.found());
        found.and_then(|entry| look(&tree, entry)).map_err(|errno| errno.at(path))
    }

    fn content(&self, path: &GuestPath) -> Result<Content> {
        self.look(path, |tree, entry| tree.content(entry.ino).cloned())
    }

    fn alter<T>(
        &self,
        path: &GuestPath,
        work: impl FnOnce(&mut Live, u64) -> std::result::Result<T, Errno>,
    ) -> Result<T> {
        self.with(|live, now| live.attempt(|live| work(live, now))).map_err(|errno| errno.at(path))
    }
}

/// Puts a content in the place of what a path leads to.
fn set(live: &mut Live, path: &GuestPath, content: Content, now: u64) -> std::result::Result<(), Errno> {
    let path = relative(path);
    if let Some((above, _)) = path.rsplit_once('/') {
        folders(live, above, now)?;
    }
    let place = live.tree.resolve(ROOT, path, true)?;
    let Some(name) = &place.name else { return Err(Errno::IsDirectory) };
    match place.entry.map(|entry| entry.kind) {
        None => {}
        Some(Kind::Folder) => return Err(Errno::IsDirectory),
        Some(_) => {
            let gone = live.tree.remove_name(place.folder, name, now)?;
            live.release(gone);
        }
    }
    let ino = live.tree.add_file(place.folder, name, now)?;
    live.tree.replace(ino, content, now)
}

/// Makes a folder and those around it; answers its number. A link to a folder serves as one.
fn folders(live: &mut Live, path: &str, now: u64) -> std::result::Result<Ino, Errno> {
    let mut at = ROOT;
    for (end, _) in path.match_indices('/').chain([(path.len(), "")]) {
        let so_far = path.get(..end).unwrap_or(path);
        let place: Place = live.tree.resolve(ROOT, so_far, true)?;
        at = match (&place.name, place.entry) {
            (Some(name), None) => live.tree.add_folder(place.folder, name, now)?,
            _ => place.found()?.ino,
        };
        live.tree.folder(at)?;
    }
    Ok(at)
}

/// Removes all that a folder holds, the innermost first.
fn empty(live: &mut Live, folder: Ino, now: u64) -> std::result::Result<(), Errno> {
    let mut found: Vec<(Ino, Arc<str>)> = Vec::new();
    let mut rest = vec![folder];
    while let Some(ino) = rest.pop() {
        for (name, entry) in live.tree.folder(ino)?.entries.iter() {
            found.push((ino, name.clone()));
            if entry.kind == Kind::Folder {
                rest.push(entry.ino);
            }
        }
    }
    for (ino, name) in found.into_iter().rev() {
        let gone = live.tree.remove_name(ino, &name, now)?;
        live.release(gone);
    }
    Ok(())
}
