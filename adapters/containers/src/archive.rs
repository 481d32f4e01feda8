//! Files as a whole: a tree into a container, and out of it again, as tar.
//!
//! A tree knows no permissions, FIFOs and absolute links: they are its [`Extras`]. Where a tree has none, or a file is newer than
//! they are, what begins as a script or as a program does is executable in the container. All belongs to the sandbox's user.
//! On the way back, what cannot be kept is left out and noted: names that are not UTF-8. What lies on other file systems is
//! neither put there nor taken. Owns: moving all of it. Does not own: moving what has changed alone ([`crate::saving`]).

use std::io::{self, Read, Write};
use std::path::{Component, Path};
use std::sync::Arc;

use dormouse_core::{Access, Error, ErrorCode, GuestPath, Result};
use dormouse_files::{Extras, Files, Kind, Listed, NewTime, Tree};
use futures::StreamExt as _;
use tar::{Archive, Builder, EntryType, Header};
use tokio::time::timeout;
use tokio_util::io::{StreamReader, SyncIoBridge};
use tokio_util::sync::CancellationToken;

use crate::dress::{Dress, Late};
use crate::paths::{MOVED, is_below, relative};
use crate::port::{BrokenOff, Container, pieces};
use crate::pulse::Pulse;

/// Levels and names of a tree; its quota has fewer.
const DEEP: u32 = 4_096;
const NAMES: usize = 4_000_000;
/// The sandbox's user and group.
const USER: u64 = 65_534;

/// Puts the files of a tree into a container. `without` are the places of other file systems.
///
/// # Errors
/// `limit_disk` when they do not fit; `provider_unavailable`.
pub async fn upload(container: &dyn Container, tree: &Tree, without: &[String]) -> Result<()> {
    upload_to(container, tree, &MOVED, without).await
}

/// The same for some of the folders that are moved.
///
/// # Errors
/// As [`upload`].
pub(crate) async fn upload_to(
    container: &dyn Container,
    tree: &Tree,
    folders: &[&'static str],
    without: &[String],
) -> Result<()> {
    let files = Files::new(tree.clone());
    let mut late = Late::default();
    for folder in folders.iter().copied() {
        let dress = Arc::new(Dress { folder, extras: Extras::of(tree) });
        let path = GuestPath::parse(folder)?;
        let mut listed = match files.list(&path, DEEP, NAMES) {
            Ok(listed) => listed.entries,
            Err(error) if error.code() == ErrorCode::NotFound => Vec::new(),
            Err(error) => return Err(error),
        };
        listed.retain(|one| !is_below(&dress.full(&one.path), without));
        let links = dress.sort_links(&mut listed, &mut late);
        if !(listed.is_empty() && links.is_empty()) {
            let files = files.clone();
            let write = move |out: &mut dyn Write| write_tar(&files, &dress, listed, links, out);
            let (body, writing) = pieces(write);
            let sent = container.put(folder, body).await;
            let _ended = writing.await;
            sent?;
        }
    }
    late.make(container).await
}

/// Writes what lies below a folder as an archive, and links besides, by their paths below it.
fn write_tar(
    files: &Files,
    dress: &Dress,
    listed: Vec<Listed>,
    links: Vec<(String, String)>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let folder = dress.folder;
    let mut archive = Builder::new(out);
    let mut names = std::collections::HashMap::new();
    for Listed { path, stat, target } in listed {
        let mut header = header();
        header.set_mtime(stat.times.modified / 1_000_000_000);
        match stat.kind {
            Kind::Folder => {
                header.set_entry_type(EntryType::Directory);
                header.set_mode(dress.mode(&path, &stat).unwrap_or(0o755));
                archive.append_data(&mut header, &path, io::empty())?;
            }
            Kind::Link => {
                header.set_entry_type(EntryType::Symlink);
                archive.append_link(&mut header, &path, target.as_deref().unwrap_or_default())?;
            }
            Kind::File => {
                if stat.links > 1
                    && let Some(first) = names.get(&stat.inode)
                {
                    header.set_entry_type(EntryType::Link);
                    archive.append_link(&mut header, &path, first)?;
                    continue;
                }
                let full = GuestPath::parse(&format!("{folder}/{path}")).map_err(io::Error::other)?;
                header.set_entry_type(EntryType::Regular);
                header.set_size(stat.size);
                header.set_mode(match dress.mode(&path, &stat) {
                    Some(mode) => mode,
                    None if is_program(&files.read(&full, 0, 4).map_err(io::Error::other)?) => 0o755,
                    None => 0o644,
                });
                let content = Content { files, path: full, at: 0, piece: Vec::new(), taken: 0 };
                archive.append_data(&mut header, &path, content.take(stat.size))?;
                names.insert(stat.inode, path);
            }
        }
    }
    for (path, target) in links {
        let mut header = header();
        header.set_entry_type(EntryType::Symlink);
        archive.append_link(&mut header, &path, target)?;
    }
    archive.finish()
}

fn header() -> Header {
    let mut header = Header::new_gnu();
    header.set_uid(USER);
    header.set_gid(USER);
    header.set_size(0);
    header.set_mode(0o755);
    header
}

/// Whether a file begins as a script or as a program of Linux.
pub fn is_program(begin: &[u8]) -> bool {
    begin.starts_with(b"#!") || begin == b"\x7fELF"
}

/// The bytes of a file of a tree.
struct Content<'a> {
    files: &'a Files,
    path: GuestPath,
    at: u64,
    piece: Vec<u8>,
    taken: usize,
}

impl Read for Content<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.taken == self.piece.len() {
            self.piece = self.files.read(&self.path, self.at, 1 << 20).map_err(io::Error::other)?;
            self.taken = 0;
            self.at += self.piece.len() as u64;
        }
        let rest = self.piece.get(self.taken..).unwrap_or_default();
        let read = rest.len().min(buffer.len());
        buffer.get_mut(..read).unwrap_or_default().copy_from_slice(rest.get(..read).unwrap_or_default());
        self.taken += read;
        Ok(read)
    }
}

/// Takes the files out of a container, in the place of those that `base` has in the same folders: all of them, whatever has
/// changed.
///
/// # Errors
/// `limit_disk` when they are more than the quota of `base` allows, holes counted; `provider_unavailable`.
pub async fn download(container: &dyn Container, base: &Tree, without: &[String]) -> Result<(Tree, Extras)> {
    let files = Files::new(base.clone());
    let mut found = Found::default();
    for folder in MOVED {
        let path = GuestPath::parse(folder)?;
        match files.remove(&path, true) {
            Err(error) if error.code() != ErrorCode::NotFound => return Err(error),
            _ => files.make_folder(&path)?,
        }
        found.without = without.to_vec();
        found = receive(container, folder, files.clone(), found).await?;
    }
    Ok((files.snapshot(), found.end()))
}

async fn receive(
    container: &dyn Container,
    folder: &'static str,
    files: Files,
    found: Found,
) -> Result<Found> {
    let within = container.patience().transfer_within;
    let what = "take files out of a container";
    let pulse = Pulse::here();
    let stream = container.get(folder).await?;
    let stream = stream.inspect(move |_| pulse.iter().for_each(Pulse::beat));
    // When this future is given up, the stream ends and the thread with it, whatever the engine does.
    let given_up = CancellationToken::new();
    let stream = stream.take_until(given_up.clone().cancelled_owned());
    let _given_up = given_up.drop_guard();
    let reader = SyncIoBridge::new(StreamReader::new(Box::pin(stream)));
    let reading = tokio::task::spawn_blocking(move || read_tar(reader, folder, &files, found));
    let read = timeout(within, reading).await.map_err(|_| container.patience().slow(what, within))?;
    let read = read.map_err(|error| Error::internal("an archive was not read to its end", error))?;
    read.map_err(|error| container.patience().hinted(error))
}

/// What an archive tells beside files.
#[derive(Default)]
pub(crate) struct Found {
    extras: Extras,
    modes: Vec<(String, u16, bool)>,
    /// Places that are not looked at.
    without: Vec<String>,
}

impl Found {
    pub(crate) fn end(mut self) -> Extras {
        self.extras.set_modes(self.modes.into_iter());
        self.extras
    }
}

/// Reads an archive into a folder.
pub(crate) fn read_tar(reader: impl Read, folder: &str, files: &Files, mut found: Found) -> Result<Found> {
    let root = files.open_folder(&GuestPath::parse("/")?, Access::ReadWrite)?;
    let mut archive = Archive::new(reader);
    let mut folders = Vec::new();
    let mut is_empty = true;
    for entry in archive.entries().map_err(broken)? {
        let mut entry = entry.map_err(broken)?;
        is_empty = false;
        let modified = entry.header().mtime().unwrap_or_default().saturating_mul(1_000_000_000);
        let below = entry.path().ok().and_then(|path| below(&path));
        if below.as_ref().is_some_and(String::is_empty) {
            continue;
        }
        let path = below.as_ref().map(|below| GuestPath::parse(&format!("{folder}/{below}")));
        let Some(Ok(path)) = path else {
            found.extras.leave_out(&entry.path_bytes());
            continue;
        };
        let name = path.as_str().trim_start_matches('/').to_owned();
        if is_below(&name, &found.without) {
            continue;
        }
        let mode = u16::try_from(entry.header().mode().unwrap_or(0o644) & 0o1777).unwrap_or(0o644);
        match entry.header().entry_type() {
            EntryType::Directory => {
                files.make_folder(&path)?;
                found.modes.push((name.clone(), mode, true));
                folders.push((name, modified));
                continue;
            }
            EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse => {
                if entry.size() > files.quota().bytes {
                    return Err(dormouse_files::Errno::NoSpace.at(&path));
                }
                files.write_from(&path, &mut entry)?;
                found.modes.push((name.clone(), mode, false));
            }
            EntryType::Symlink => {
                let target = entry.link_name().ok().flatten();
                let Some(target) = target.as_deref().and_then(Path::to_str).map(str::to_owned) else {
                    found.extras.leave_out(name.as_bytes());
                    continue;
                };
                let inside = relative(&name, &target);
                if inside.is_some_and(|inside| root.symlink_at(&inside, &name).is_err()) {
                    found.extras.leave_out(name.as_bytes());
                } else if target.starts_with('/') {
                    found.extras.links.insert(name.clone(), target);
                }
            }
            EntryType::Link => {
                let first = entry.link_name().ok().flatten().and_then(|first| self::below(&first));
                let folder = folder.trim_start_matches('/');
                let linked = first.is_some_and(|first| {
                    root.link_at(&format!("{folder}/{first}"), false, &root, &name).is_ok()
                });
                match linked {
                    true => found.modes.push((name, mode, false)),
                    false => found.extras.leave_out(name.as_bytes()),
                }
                continue;
            }
            EntryType::Fifo => {
                found.extras.fifos.insert(name, mode);
                continue;
            }
            // A device; sockets are in no archive.
            _ => {
                found.extras.leave_out(name.as_bytes());
                continue;
            }
        }
        let _kept = root.set_times_at(&name, false, NewTime::Keep, NewTime::At(modified));
    }
    if is_empty {
        // The folder itself is in each: what took it has not run.
        return Err(broken(io::ErrorKind::UnexpectedEof.into()));
    }
    for (name, modified) in folders {
        let _kept = root.set_times_at(&name, false, NewTime::Keep, NewTime::At(modified));
    }
    Ok(found)
}

/// A path of an archive without its first name, which is that of the folder itself.
fn below(path: &Path) -> Option<String> {
    let mut names = Vec::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => names.push(name.to_str()?),
            Component::CurDir => {}
            _ => return None,
        }
    }
    Some(names.get(1..).unwrap_or_default().join("/"))
}

/// What comes of reading an archive that breaks off.
fn broken(error: io::Error) -> Error {
    let engines = error.get_ref().is_some_and(|inner| inner.is::<BrokenOff>());
    let said = if engines { "the engine cannot be reached, or broke off".into() } else { error.to_string() };
    let said: String = said.chars().filter(|c| !c.is_control()).take(200).collect();
    Error::new(ErrorCode::ProviderUnavailable, format!("could not take files out of a container: {said}"))
        .with_source(error)
}

#[cfg(test)]
mod tests {
    use dormouse_files::Quota;

    use super::*;

    /// What says that it took a folder and has not.
    #[test]
    fn an_archive_of_nothing_is_none() {
        let files = Files::new(Tree::new(Quota::default()));
        files.make_folder(&path("/workspace")).unwrap();
        let read = |bytes: &[u8]| read_tar(bytes, "/workspace", &files, Found::default());
        for bytes in [&[][..], &[0; 1_024]] {
            assert_eq!(read(bytes).err().map(|error| error.code()), Some(ErrorCode::ProviderUnavailable));
        }
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(EntryType::Directory);
        header.set_size(0);
        header.set_path("workspace/").unwrap();
        header.set_cksum();
        let found = read(header.as_bytes()).unwrap().end();
        assert_eq!(found.left_out, 0, "the folder itself is no name that is left out");
    }

    fn path(text: &str) -> GuestPath {
        GuestPath::parse(text).unwrap()
    }

    fn tree() -> Tree {
        let files = Files::new(Tree::new(Quota { bytes: 10 << 20, ..Quota::default() }));
        files.make_folder(&path("/workspace/empty")).unwrap();
        files.write(&path("/workspace/a/long"), &vec![7; 3 << 20]).unwrap();
        files.write(&path("/workspace/run"), b"#!/bin/sh\n").unwrap();
        files.write(&path(&format!("/workspace/{}/{}", "d".repeat(200), "f".repeat(200))), b"x").unwrap();
        let root = files.open_folder(&path("/"), Access::ReadWrite).unwrap();
        root.symlink_at("a/long", "workspace/link").unwrap();
        root.link_at("workspace/run", false, &root, "workspace/again").unwrap();
        files.snapshot()
    }

    #[test]
    fn a_tree_survives_the_way_through_an_archive() {
        let before = Files::new(tree());
        let listed = before.list(&path("/workspace"), DEEP, NAMES).unwrap().entries;
        let mut bytes = Vec::new();
        // The engine puts the folder's own name before each.
        let mut archive = Builder::new(&mut bytes);
        let mut plain = Vec::new();
        let dress = Dress { folder: "/workspace", extras: None };
        write_tar(&before, &dress, listed.clone(), Vec::new(), &mut plain).unwrap();
        for entry in Archive::new(&plain[..]).entries().unwrap() {
            let mut entry = entry.unwrap();
            let name = format!("workspace/{}", entry.path().unwrap().display());
            let mut header = entry.header().clone();
            match entry.header().entry_type() {
                EntryType::Link => {
                    let first = format!("workspace/{}", entry.link_name().unwrap().unwrap().display());
                    archive.append_link(&mut header, name, first).unwrap();
                }
                EntryType::Symlink => {
                    let target = entry.link_name().unwrap().unwrap().into_owned();
                    archive.append_link(&mut header, name, target).unwrap();
                }
                _ => archive.append_data(&mut header, name, &mut entry).unwrap(),
            }
        }
        archive.finish().unwrap();
        drop(archive);
        let after = Files::new(Tree::new(Quota { bytes: 10 << 20, ..Quota::default() }));
        after.make_folder(&path("/workspace")).unwrap();
        let found = read_tar(&bytes[..], "/workspace", &after, Found::default()).unwrap().end();
        assert_eq!((found.left_out, found.mode("workspace/run", false)), (0, 0o755));
        let again = after.list(&path("/workspace"), DEEP, NAMES).unwrap().entries;
        let shown = |listed: &[Listed]| -> Vec<_> {
            listed.iter().map(|l| (l.path.clone(), l.stat.kind, l.stat.size, l.target.clone())).collect()
        };
        assert_eq!(shown(&again), shown(&listed));
        assert_eq!(after.usage(), before.usage());
    }

    #[test]
    fn what_a_tree_cannot_hold_is_noted_and_too_much_is_refused() {
        let entry = |name: &str, kind, size: u64, link: Option<&str>| {
            let mut header = Header::new_gnu();
            header.set_entry_type(kind);
            header.set_size(size);
            let mut archive = Builder::new(Vec::new());
            match link {
                Some(link) => archive.append_link(&mut header, name, link).unwrap(),
                None => archive.append_data(&mut header, name, io::repeat(0).take(size)).unwrap(),
            }
            archive.into_inner().unwrap()
        };
        let read = |bytes: Vec<u8>| {
            let files = Files::new(Tree::new(Quota { bytes: 100, ..Quota::default() }));
            files.make_folder(&path("/workspace")).unwrap();
            let found = read_tar(&bytes[..], "/workspace", &files, Found::default());
            found.map(Found::end).map_err(|error| error.code())
        };
        let link = |target: &str| {
            read(entry("workspace/l", EntryType::Symlink, 0, Some(target)))
                .unwrap()
                .links
                .remove("workspace/l")
        };
        let fifo = read(entry("workspace/fifo", EntryType::Fifo, 0, None)).unwrap();
        assert_eq!((fifo.fifos.len(), fifo.left_out), (1, 0));
        assert_eq!(link("/etc/passwd").as_deref(), Some("/etc/passwd"));
        assert_eq!(link("/workspace/x").as_deref(), Some("/workspace/x"));
        assert_eq!(link("../../x"), None);
        assert!(read(entry("workspace/full", EntryType::Regular, 100, None)).is_ok());
        assert_eq!(read(entry("workspace/full", EntryType::Regular, 101, None)), Err(ErrorCode::LimitDisk));
    }
}
