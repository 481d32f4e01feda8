//! Paths below a project: whether a name is the run's own or the project's, and what is brought into the tree.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;
use std::time::SystemTime;

use dormouse_files::{Errno, Flags, Kind, NewTime, OpenFlags as Open, Quota};
use wasmtime_wasi::p2::FsResult;
use wasmtime_wasi::p2::bindings::filesystem::types::{
    DescriptorFlags, DescriptorStat, DescriptorType, ErrorCode, HostDescriptor as _, OpenFlags, PathFlags,
};

use super::{at, join};
use crate::disk::host::{Fd, same};
use crate::disk::listing::Listing;
use crate::disk::tree::{answer, kind};
use crate::disk::{FilesView, blocking, open};

/// Bytes that are brought over at a time.
const STEP: usize = 1 << 20;
/// What a database of SQLite's begins with.
const DATABASE: &[u8; 16] = b"SQLite format 3\0";

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// A node of the run's own.
    Own(Kind),
    /// What the project has there.
    Below(DescriptorType),
}

impl Found {
    pub(super) fn kind(self) -> DescriptorType {
        match self {
            Self::Own(own) => kind(own),
            Self::Below(kind) => kind,
        }
    }

    pub(super) fn is_folder(self) -> bool {
        self.kind() == DescriptorType::Directory
    }
}

/// Where a path leads.
#[derive(Debug)]
pub(super) struct Spot {
    /// The folder that holds the last name, or the folder itself when the path ends in `.` or `..`.
    pub(super) folder: String,
    /// The last name; none: the spot is `folder`.
    pub(super) name: Option<String>,
    pub(super) found: Option<Found>,
    /// The path ends in a slash, so that only a folder will do.
    pub(super) slash: bool,
}

impl Spot {
    pub(super) fn path(&self) -> String {
        self.name.as_ref().map_or_else(|| self.folder.clone(), |name| join(&self.folder, name))
    }

    /// What is there.
    pub(super) fn there(&self) -> Result<Found, ErrorCode> {
        match (&self.name, self.found) {
            (None, _) => Ok(Found::Own(Kind::Folder)),
            (_, None) => Err(ErrorCode::NoEntry),
            (_, Some(found)) if self.slash && !found.is_folder() => Err(ErrorCode::NotDirectory),
            (_, Some(found)) => Ok(found),
        }
    }
}

/// The parts of a path, last first, and whether only a folder will do.
fn parts(path: &str) -> (Vec<String>, bool) {
    (path.rsplit('/').filter(|part| !part.is_empty()).map(str::to_owned).collect(), path.ends_with('/'))
}

impl FilesView<'_> {
    /// Follows a path from a folder, by the rules of the tree. A link in the last place is followed if `follow` is set or a
    /// slash comes after it.
    pub(super) async fn resolve(&mut self, base: &str, path: &str, follow: bool) -> FsResult<Spot> {
        let refused = match path {
            "" => Some(ErrorCode::NoEntry),
            path if path.len() >= Quota::MAX_PATH => Some(ErrorCode::NameTooLong),
            path if path.contains('\0') => Some(ErrorCode::Invalid),
            path if path.starts_with('/') => Some(ErrorCode::NotPermitted),
            _ => None,
        };
        if let Some(code) = refused {
            return Err(code.into());
        }
        let (mut rest, mut slash) = parts(path);
        let (mut top, mut followed) = (base.to_owned(), 0);
        while let Some(part) = rest.pop() {
            if part == "." {
                continue;
            }
            if part == ".." {
                if top.len() == base.len() {
                    return Err(ErrorCode::NotPermitted.into());
                }
                top.truncate(top.rfind('/').unwrap_or(0));
                continue;
            }
            let here = join(&top, &part);
            let found = self.find(&here).await?;
            let last = rest.is_empty();
            match found.map(Found::kind) {
                Some(DescriptorType::SymbolicLink) if !last || follow || slash => {
                    followed += 1;
                    if followed > Quota::MAX_FOLLOWED {
                        return Err(ErrorCode::Loop.into());
                    }
                    let target = self.target(&here, found).await?;
                    if target.starts_with('/') {
                        return Err(ErrorCode::NotPermitted.into());
                    }
                    let (more, folder) = parts(&target);
                    slash |= last && folder;
                    rest.extend(more);
                }
                Some(DescriptorType::Directory) if !last => top = here,
                None if !last => return Err(ErrorCode::NoEntry.into()),
                Some(_) if !last => return Err(ErrorCode::NotDirectory.into()),
                _ => return Ok(Spot { folder: top, name: Some(part), found, slash }),
            }
        }
        Ok(Spot { folder: top, name: None, found: None, slash: true })
    }

    /// What a path without links stands for.
    pub(super) async fn find(&mut self, path: &str) -> FsResult<Option<Found>> {
        match self.upper()?.stat_at(at(path), false) {
            Ok(stat) => return Ok(Some(Found::Own(stat.kind))),
            Err(Errno::NoEntry | Errno::NotDirectory) => {}
            Err(errno) => return answer(Err(errno)),
        }
        Ok(self.below(path).await?.map(|stat| Found::Below(stat.type_)))
    }

    /// What the project has at a path without links, unless the run has removed it.
    pub(super) async fn below(&mut self, path: &str) -> FsResult<Option<DescriptorStat>> {
        if self.is_hidden(path) {
            return Ok(None);
        }
        let project = self.project()?;
        self.looked(&project, at(path));
        match self.wasi.stat_at(project, PathFlags::empty(), at(path).to_owned()).await {
            Ok(stat) => Ok(Some(stat)),
            Err(error) => match error.downcast_ref() {
                Some(ErrorCode::NoEntry | ErrorCode::NotDirectory) => Ok(None),
                _ => Err(error),
            },
        }
    }

    /// The target of a link.
    pub(super) async fn target(&mut self, path: &str, found: Option<Found>) -> FsResult<String> {
        if let Some(Found::Below(_)) = found {
            return self.wasi.readlink_at(self.project()?, path.to_owned()).await;
        }
        answer(self.upper()?.readlink_at(path)).map(|target| target.as_ref().to_owned())
    }

    /// Opens a folder of the project's own, if it has one there that the run has not removed.
    pub(super) async fn open_below(&mut self, path: &str) -> FsResult<Option<Fd>> {
        if self.below(path).await?.is_none_or(|stat| stat.type_ != DescriptorType::Directory) {
            return Ok(None);
        }
        let (project, flags) = (self.project()?, DescriptorFlags::READ);
        let path = at(path).to_owned();
        self.traced_open(project, PathFlags::empty(), path, OpenFlags::DIRECTORY, flags).await.map(Some)
    }

    /// Copies a file of the project's into the tree, or makes an empty one in its place; in either case its folder is there.
    ///
    /// # Errors
    /// `not-permitted` for a database; `insufficient-space` when the run's quota has no room for it, and nothing is made.
    pub(super) async fn bring_file(&mut self, path: &str, whole: bool) -> FsResult<()> {
        let project = self.project()?;
        let opened = self.traced_open(
            project,
            PathFlags::empty(),
            path.to_owned(),
            OpenFlags::empty(),
            DescriptorFlags::READ,
        );
        let opened = opened.await?;
        let file = open::handle(self.wasi.table.get(&opened)?).cloned();
        self.close_mounted(opened).map_err(wasmtime_wasi::p2::FsError::trap)?;
        let file = file?;
        let in_place = self.files.in_place;
        let mut first = [0; DATABASE.len()];
        let is_database = blocking(in_place, &file, move |file| {
            file.read_exact_at(&mut first, 0).is_ok_and(|()| first == *DATABASE)
        });
        if is_database.await {
            return Err(ErrorCode::NotPermitted.into());
        }
        self.ensure(path.rsplit_once('/').map_or("", |(folder, _)| folder))?;
        let made = self.copy(path, &file, whole).await;
        if made.is_err() {
            let _ = self.upper()?.unlink_file_at(path);
        }
        made
    }

    async fn copy(&mut self, path: &str, file: &Arc<File>, whole: bool) -> FsResult<()> {
        let how = Open { create: true, ..Open::default() };
        let flags = Flags { write: true, ..Flags::default() };
        let made = answer(self.upper()?.open_at(path, false, how, flags))?;
        let in_place = self.files.in_place;
        let about = blocking(in_place, file, File::metadata).await?;
        if whole {
            // Refused before anything is copied.
            answer(made.set_size(about.len()))?;
            let mut done = 0;
            while done < about.len() {
                let step = usize::try_from(about.len() - done).unwrap_or(STEP).min(STEP);
                let bytes = blocking(in_place, file, move |file| {
                    let mut bytes = vec![0; step];
                    file.read_at(&mut bytes, done).map(|read| {
                        bytes.truncate(read);
                        bytes
                    })
                });
                let bytes = bytes.await?;
                if bytes.is_empty() {
                    // It has become shorter meanwhile.
                    answer(made.set_size(done))?;
                    break;
                }
                answer(made.write(done, &bytes))?;
                done += bytes.len() as u64;
                // The run's deadline is looked at here.
                tokio::task::yield_now().await;
            }
        }
        let since = |time: std::io::Result<SystemTime>| {
            let since = time.ok().and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok());
            since.and_then(|since| u64::try_from(since.as_nanos()).ok()).map_or(NewTime::Keep, NewTime::At)
        };
        answer(made.set_times(since(about.accessed()), since(about.modified())))
    }

    /// Brings into the tree what a path stands for, a folder with all that lies below it.
    pub(super) async fn bring(&mut self, path: &str) -> FsResult<()> {
        let Some(found) = self.find(path).await? else { return Err(ErrorCode::NoEntry.into()) };
        if !found.is_folder() {
            return self.bring_one(path, found).await;
        }
        self.ensure(path)?;
        let mut rest = vec![path.to_owned()];
        while let Some(folder) = rest.pop() {
            let Some(mut listing) = self.list_below(&folder).await? else { continue };
            while let Some(entry) = listing.next().await? {
                let path = join(&folder, &entry.name);
                let Some(found) = self.find(&path).await? else { continue };
                if found.is_folder() {
                    self.ensure(&path)?;
                    rest.push(path);
                } else {
                    self.bring_one(&path, found).await?;
                }
            }
        }
        Ok(())
    }

    /// Brings a file or a link over, unless it is the run's own already.
    pub(super) async fn bring_one(&mut self, path: &str, found: Found) -> FsResult<()> {
        match found {
            Found::Own(_) => Ok(()),
            Found::Below(DescriptorType::SymbolicLink) => {
                let target = self.target(path, Some(found)).await?;
                self.ensure(path.rsplit_once('/').map_or("", |(folder, _)| folder))?;
                answer(self.upper()?.symlink_at(&target, path))
            }
            Found::Below(_) => self.bring_file(path, true).await,
        }
    }

    /// Lists the project's own folder of a path, if there is one.
    pub(super) async fn list_below(&mut self, path: &str) -> FsResult<Option<Listing>> {
        let Some(folder) = self.open_below(path).await? else { return Ok(None) };
        let listing = match self.folder(&same(&folder)) {
            Ok(folder) => Listing::open(&folder.dir, self.files.in_place).await,
            Err(error) => Err(error),
        };
        self.close_mounted(folder).map_err(wasmtime_wasi::p2::FsError::trap)?;
        listing.map(Some)
    }
}
