//! Files that a container of somebody else's has before it is started, owned by whoever its image runs.
//!
//! Owns: putting them there, whose they are, and that nothing lies there already. Does not own: the container
//! ([`crate::published`]), how they are sent ([`crate::transfer`]).

use std::io::{self, Read};
use std::sync::{Arc, Mutex, PoisonError};

use bollard::query_parameters::DownloadFromContainerOptionsBuilder;
use dormouse_containers::{WORKSPACE, is_program};
use dormouse_core::sandbox::{Contents, Entry, EntryKind};
use dormouse_core::{Error, ErrorCode, Result};
use futures::StreamExt as _;
use tar::{Archive, Builder, EntryType, Header};
use tokio::runtime::Handle;
use tokio::time::timeout;

use crate::fault::{is_missing, slow, wrong};
use crate::shared::Shared;
use crate::transfer::send;

/// Bytes of a list of users or groups that are read (1 MiB).
const LIST: usize = 1 << 20;
/// Bytes of a folder's archive that tell whether something is in it (64 KiB).
const BEGIN: usize = 64 << 10;
/// Bytes that are read of a file at a time (1 MiB).
const STEP: u64 = 1 << 20;

/// Who owns them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct User {
    id: u64,
    group: u64,
}

/// Puts files into `/workspace` of a container that was created and not started.
///
/// # Errors
/// `capability_unavailable` where the image has files there, or its user cannot be told; `provider_unavailable`; what keeps the files
/// from being read.
pub(crate) async fn put(
    shared: &Shared,
    container: &str,
    user: &str,
    contents: Arc<dyn Contents>,
) -> Result<()> {
    let user = owner(shared, container, user).await?;
    if !is_empty(&fetch(shared, container, WORKSPACE, BEGIN).await?) {
        return Err(Error::new(
            ErrorCode::CapabilityUnavailable,
            format!("the image has files in {WORKSPACE} already, or a link there"),
        )
        .with_hint("use an image whose folder is empty, or not there"));
    }
    let listed = contents.list().await?;
    // What the engine says of a body that breaks off is not why it did.
    let why: Arc<Mutex<Option<Error>>> = Arc::default();
    let (runtime, broken) = (Handle::current(), why.clone());
    let write = move |out: &mut dyn io::Write| {
        let read = |path: &str, offset| runtime.block_on(contents.read(path, offset, STEP));
        write(&listed, user, &read, out).map_err(|failed| match failed {
            Failed::Contents(error) => {
                *broken.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                io::ErrorKind::InvalidData.into()
            }
            Failed::Out(error) => error,
        })
    };
    let sent = send(shared, container, "/", write).await;
    let why = why.lock().unwrap_or_else(PoisonError::into_inner).take();
    why.map_or(sent, Err)
}

/// Why an archive was not written.
enum Failed {
    /// What it is to hold cannot be read.
    Contents(Error),
    /// Nobody takes it.
    Out(io::Error),
}

impl From<io::Error> for Failed {
    fn from(error: io::Error) -> Self {
        Self::Out(error)
    }
}

/// Writes the folder and all that lies in it as an archive.
fn write(
    listed: &[Entry],
    user: User,
    read: &dyn Fn(&str, u64) -> Result<Vec<u8>>,
    out: &mut dyn io::Write,
) -> std::result::Result<(), Failed> {
    let root = WORKSPACE.trim_start_matches('/');
    let header = |kind, modified_ms: u64| {
        let mut header = Header::new_gnu();
        header.set_entry_type(kind);
        header.set_uid(user.id);
        header.set_gid(user.group);
        header.set_mtime(modified_ms / 1_000);
        header.set_size(0);
        header.set_mode(0o755);
        header
    };
    let mut archive = Builder::new(out);
    let latest = listed.iter().map(|entry| entry.modified_ms).max().unwrap_or_default();
    archive.append_data(&mut header(EntryType::Directory, latest), root, io::empty())?;
    for Entry { path, kind, bytes, modified_ms, target } in listed {
        let place = format!("{root}/{path}");
        match kind {
            EntryKind::Folder => {
                archive.append_data(&mut header(EntryType::Directory, *modified_ms), &place, io::empty())?;
            }
            EntryKind::Link => {
                let target = target.as_deref().ok_or_else(|| Failed::Contents(untold(path)))?;
                archive.append_link(&mut header(EntryType::Symlink, *modified_ms), &place, target)?;
            }
            EntryKind::File => {
                let mut content =
                    Content { read, path, at: 0, rest: *bytes, piece: Vec::new(), taken: 0, why: None };
                let first = content.begin().map_err(Failed::Contents)?;
                let mut header = header(EntryType::Regular, *modified_ms);
                header.set_size(*bytes);
                header.set_mode(if is_program(first) { 0o755 } else { 0o644 });
                let written = archive.append_data(&mut header, &place, &mut content);
                match content.why.take() {
                    Some(error) => return Err(Failed::Contents(error)),
                    None => written?,
                }
            }
        }
    }
    Ok(archive.finish()?)
}

fn untold(path: &str) -> Error {
    let shown: String = path.escape_debug().take(200).collect();
    Error::new(ErrorCode::Internal, format!("`{shown}` is a link, and where it leads was not told"))
}

/// The bytes of one file.
struct Content<'a> {
    read: &'a dyn Fn(&str, u64) -> Result<Vec<u8>>,
    path: &'a str,
    at: u64,
    /// Bytes that it has still to give, besides those of the piece.
    rest: u64,
    piece: Vec<u8>,
    /// How much of the piece has been given.
    taken: usize,
    why: Option<Error>,
}

impl Content<'_> {
    /// Its first bytes.
    fn begin(&mut self) -> Result<&[u8]> {
        if self.rest > 0 {
            self.more()?;
        }
        Ok(self.piece.get(..4).unwrap_or(&self.piece))
    }

    fn more(&mut self) -> Result<()> {
        let mut piece = (self.read)(self.path, self.at)?;
        piece.truncate(usize::try_from(self.rest).unwrap_or(usize::MAX));
        if piece.is_empty() {
            return Err(Error::new(ErrorCode::InvalidState, "a file became shorter while it was copied"));
        }
        let count = piece.len() as u64;
        (self.at, self.rest, self.piece, self.taken) = (self.at + count, self.rest - count, piece, 0);
        Ok(())
    }
}

impl Read for Content<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.taken == self.piece.len() && self.rest > 0 {
            self.more().map_err(|error| {
                self.why = Some(error);
                io::Error::from(io::ErrorKind::InvalidData)
            })?;
        }
        let left = self.piece.get(self.taken..).unwrap_or_default();
        let count = left.len().min(buffer.len());
        buffer.get_mut(..count).unwrap_or_default().copy_from_slice(left.get(..count).unwrap_or_default());
        self.taken += count;
        Ok(count)
    }
}

/// Whether an archive of a folder, or the begin of it, has that folder alone. Nothing: there is none.
fn is_empty(begin: &[u8]) -> bool {
    let mut archive = Archive::new(begin);
    let Ok(mut entries) = archive.entries() else { return false };
    match entries.next() {
        None => true,
        Some(Ok(folder)) => folder.header().entry_type().is_dir() && entries.next().is_none(),
        Some(Err(_)) => false,
    }
}

/// Whom the image runs its command as: `USER[:GROUP]`, each a name or a number; nothing is root.
async fn owner(shared: &Shared, container: &str, user: &str) -> Result<User> {
    let (user, group) = user.split_once(':').map_or((user, None), |(user, group)| (user, Some(group)));
    let user = if user.is_empty() || user == "root" { "0" } else { user };
    let untold = |what: &str| {
        let shown: String = what.escape_debug().take(64).collect();
        Error::new(ErrorCode::CapabilityUnavailable, format!("the image does not say who `{shown}` is"))
            .with_hint("use an image that names its user by numbers, as `USER 1000:1000`")
    };
    let list = async |path| {
        let archive = fetch(shared, container, path, LIST).await?;
        Ok::<_, Error>(only_file(&archive))
    };
    let (id, usual) = match (user.parse::<u32>(), group) {
        (Ok(id @ 0), _) => (u64::from(id), 0),
        (Ok(id), Some(_)) => (u64::from(id), 0),
        (Ok(id), None) => {
            (u64::from(id), user_of(&list("/etc/passwd").await?, user).map_or(0, |(_, group)| group))
        }
        (Err(_), _) => user_of(&list("/etc/passwd").await?, user).ok_or_else(|| untold(user))?,
    };
    let group = match group.filter(|group| !group.is_empty()) {
        None => usual,
        Some(group) => match group.parse::<u32>() {
            Ok(number) => number.into(),
            Err(_) => group_of(&list("/etc/group").await?, group).ok_or_else(|| untold(group))?,
        },
    };
    Ok(User { id, group })
}

/// Number and group of a user, by name or number, in the text of a file as `/etc/passwd`.
fn user_of(text: &str, wanted: &str) -> Option<(u64, u64)> {
    text.lines().find_map(|line| {
        let mut words = line.split(':');
        let (name, id) = (words.next()?, words.nth(1)?);
        let group = words.next()?;
        let found = name == wanted || id == wanted;
        found.then(|| Some((id.parse().ok()?, group.parse().ok()?))).flatten()
    })
}

/// The number of a group in the text of a file as `/etc/group`.
fn group_of(text: &str, wanted: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let mut words = line.split(':');
        (words.next()? == wanted).then(|| words.nth(1)?.parse().ok()).flatten()
    })
}

/// The text of the one file in an archive; nothing where there is none.
fn only_file(archive: &[u8]) -> String {
    let mut archive = Archive::new(archive);
    let first = archive.entries().ok().and_then(|mut entries| entries.next()?.ok());
    let mut bytes = Vec::new();
    if let Some(file) = first.filter(|entry| entry.header().entry_type().is_file()) {
        let _cut = file.take(LIST as u64).read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The begin of the archive of a file or folder in the container; nothing where there is none.
async fn fetch(shared: &Shared, container: &str, path: &str, most: usize) -> Result<Vec<u8>> {
    let docker = shared.engine.docker().await?;
    let options = DownloadFromContainerOptionsBuilder::default().path(path).build();
    let (what, within) = ("look into a container", shared.settings.answer_within);
    let fetching = async {
        let mut stream = Box::pin(docker.download_from_container(container, Some(options)));
        let mut bytes = Vec::new();
        while let Some(piece) = stream.next().await {
            match piece {
                Ok(piece) => bytes.extend_from_slice(&piece),
                Err(fault) if is_missing(&fault) => break,
                Err(fault) => return Err(wrong(what, fault)),
            }
            if bytes.len() >= most {
                bytes.truncate(most);
                break;
            }
        }
        Ok(bytes)
    };
    timeout(within, fetching).await.map_err(|_| slow(what, within))?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn archive(entries: &[(&str, EntryType, &str)]) -> Vec<u8> {
        let mut archive = Builder::new(Vec::new());
        for (path, kind, text) in entries {
            let mut header = Header::new_gnu();
            header.set_entry_type(*kind);
            header.set_size(text.len() as u64);
            header.set_mode(0o644);
            archive.append_data(&mut header, path, text.as_bytes()).unwrap();
        }
        archive.into_inner().unwrap()
    }

    #[test]
    fn only_a_folder_without_anything_in_it_is_empty() {
        let folder = ("workspace/", EntryType::Directory, "");
        assert!(is_empty(&[]), "no folder");
        assert!(is_empty(&archive(&[folder])));
        let file = ("workspace/a", EntryType::Regular, "x");
        assert!(!is_empty(&archive(&[folder, file])));
        assert!(!is_empty(&archive(&[folder, file])[..1_100]), "cut");
        assert!(!is_empty(&archive(&[("workspace", EntryType::Regular, "x")])));
        assert!(!is_empty(b"no archive"));
    }

    #[test]
    fn users_and_groups_are_found_by_name_and_number() {
        let users = "root:x:0:0:root:/root:/bin/sh\nbroken\nnode:x:1000:1001::/home/node:/bin/bash\n";
        assert_eq!(user_of(users, "node"), Some((1000, 1001)));
        assert_eq!(user_of(users, "1000"), Some((1000, 1001)));
        assert_eq!(user_of(users, "nobody"), None);
        assert_eq!(group_of("root:x:0:\nstaff:x:50:a,b\n", "staff"), Some(50));
        assert_eq!(group_of("", "staff"), None);
        assert_eq!(only_file(&archive(&[("passwd", EntryType::Regular, users)])), users);
        assert_eq!(only_file(&[]), "");
    }

    #[test]
    fn files_folders_and_links_are_written_with_their_owner_and_programs_can_be_run() {
        let entry = |path: &str, kind, bytes, target: Option<&str>| Entry {
            path: path.into(),
            kind,
            bytes,
            modified_ms: 5_000,
            target: target.map(str::to_owned),
        };
        let big = vec![b'b'; 2 << 20];
        let texts = |path: &str| match path {
            "bin/run" => b"#!/bin/sh\n".to_vec(),
            "big" => big.clone(),
            _ => Vec::new(),
        };
        let read = |path: &str, offset: u64| {
            let text = texts(path);
            let from = usize::try_from(offset).unwrap().min(text.len());
            Ok(text[from..text.len().min(from + (1 << 20))].to_vec())
        };
        let listed = [
            entry("bin", EntryKind::Folder, 0, None),
            entry("bin/run", EntryKind::File, 10, None),
            entry("big", EntryKind::File, 2 << 20, None),
            entry("empty", EntryKind::File, 0, None),
            entry("link", EntryKind::Link, 0, Some("../etc/x")),
        ];
        let mut out = Vec::new();
        let user = User { id: 1_000, group: 50 };
        assert!(write(&listed, user, &read, &mut out).is_ok());
        let mut archive = Archive::new(out.as_slice());
        let mut seen = Vec::new();
        for entry in archive.entries().unwrap() {
            let entry = entry.unwrap();
            let header = entry.header();
            assert_eq!(
                (header.uid().unwrap(), header.gid().unwrap(), header.mtime().unwrap()),
                (1_000, 50, 5)
            );
            let path = entry.path().unwrap().to_str().unwrap().to_owned();
            seen.push((path, header.mode().unwrap(), header.size().unwrap()));
        }
        let seen: Vec<(&str, u32, u64)> =
            seen.iter().map(|(path, mode, size)| (path.trim_end_matches('/'), *mode, *size)).collect();
        assert_eq!(
            seen,
            [
                ("workspace", 0o755, 0),
                ("workspace/bin", 0o755, 0),
                ("workspace/bin/run", 0o755, 10),
                ("workspace/big", 0o644, 2 << 20),
                ("workspace/empty", 0o644, 0),
                ("workspace/link", 0o755, 0),
            ]
        );
        // One that became shorter is told, and not made up.
        let shorter = [entry("bin/run", EntryKind::File, 11, None)];
        let failed = write(&shorter, user, &read, &mut Vec::new());
        assert!(matches!(failed, Err(Failed::Contents(error)) if error.code() == ErrorCode::InvalidState));
        let lost = [entry("link", EntryKind::Link, 0, None)];
        assert!(matches!(write(&lost, user, &read, &mut Vec::new()), Err(Failed::Contents(_))));
    }
}
