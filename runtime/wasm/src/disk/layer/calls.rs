//! What a guest does by a path below a folder of a project: the `…-at` functions of `wasi:filesystem/types`.

use dormouse_files::{Flags, NewTime, OpenFlags as Open};
use wasmtime::component::Resource;
use wasmtime_wasi::filesystem::Descriptor;
use wasmtime_wasi::p2::FsResult;
use wasmtime_wasi::p2::bindings::filesystem::types::{
    DescriptorFlags, DescriptorStat, DescriptorType, ErrorCode, HostDescriptor as _, MetadataHashValue,
    OpenFlags, PathFlags,
};

use super::find::{Found, Spot};
use super::{At, Folder, asked, at};
use crate::disk::FilesView;
use crate::disk::host::{Fd, hash};
use crate::disk::tree::{self, answer, follow};

impl FilesView<'_> {
    /// Opens. A file of the project's that is to be written is brought over first.
    pub(in crate::disk) async fn layered_open(
        &mut self,
        from: At,
        path_flags: PathFlags,
        path: String,
        oflags: OpenFlags,
        flags: DescriptorFlags,
    ) -> FsResult<Fd> {
        if let Some(path) = asked(oflags, &path) {
            return self.made(from, path).await;
        }
        let (how, own) = (tree::open_flags(oflags), tree::flags(flags));
        if how.directory && (how.create || how.exclusive || how.truncate) {
            return Err(ErrorCode::Invalid.into());
        }
        let changes = how.create || how.truncate || own.write;
        if !changes && let Some(lower) = self.untouched(&from) {
            let opened = self.traced_open(lower, path_flags, path.clone(), oflags, flags).await?;
            if let Descriptor::File(_) = self.wasi.table.get(&opened)? {
                return Ok(opened);
            }
            let spot = self.resolve(&from.path, &path, follow(path_flags)).await?;
            return self.give_folder(spot.path(), Some(opened));
        }
        let exclusive = how.create && how.exclusive;
        let spot = self.resolve(&from.path, &path, follow(path_flags) && !exclusive).await?;
        let target = spot.path();
        if spot.found.is_none() && spot.name.is_some() && how.create {
            if spot.slash {
                return Err(ErrorCode::IsDirectory.into());
            }
            self.ensure(&spot.folder)?;
            return self.open_own(&target, how, own);
        }
        if exclusive {
            return Err(ErrorCode::Exist.into());
        }
        let found = spot.there()?;
        match found.kind() {
            DescriptorType::Directory if changes => Err(ErrorCode::IsDirectory.into()),
            DescriptorType::Directory => {
                let below = self.open_below(&target).await?;
                self.give_folder(target, below)
            }
            _ if how.directory => Err(ErrorCode::NotDirectory.into()),
            DescriptorType::SymbolicLink => Err(ErrorCode::Loop.into()),
            DescriptorType::RegularFile => match found {
                Found::Below(_) if !own.write && !how.truncate => {
                    self.traced_open(self.project()?, PathFlags::empty(), target, OpenFlags::empty(), flags)
                        .await
                }
                Found::Below(_) => {
                    self.bring_file(&target, !how.truncate).await?;
                    self.open_own(&target, how, own)
                }
                Found::Own(_) => self.open_own(&target, how, own),
            },
            _ => Err(ErrorCode::NotPermitted.into()),
        }
    }

    fn open_own(&mut self, path: &str, how: Open, flags: Flags) -> FsResult<Fd> {
        let handle = answer(self.upper()?.open_at(path, false, how, flags))?;
        let opened = self.give(handle)?;
        self.files.held.opened(opened.rep());
        Ok(opened)
    }

    fn give_folder(&mut self, path: String, lower: Option<Fd>) -> FsResult<Fd> {
        let upper = self.upper()?.clone();
        let at = At { path, lower: lower.map(|fd| fd.rep()) };
        Ok(Resource::new_own(self.wasi.table.push(Folder { at, upper })?.rep()))
    }

    /// Answers a driver: opens the file if the run has made it; one of the project's own is `no-entry`.
    async fn made(&mut self, from: At, path: &str) -> FsResult<Fd> {
        let spot = self.resolve(&from.path, path, true).await?;
        match spot.there()? {
            Found::Own(_) if spot.name.is_some() => {
                self.open_own(&spot.path(), Open::default(), Flags { read: true, ..Flags::default() })
            }
            _ => Err(ErrorCode::NoEntry.into()),
        }
    }

    /// What is known about a folder.
    pub(in crate::disk) async fn layered_stat(&mut self, of: At) -> FsResult<DescriptorStat> {
        match self.untouched(&of) {
            Some(lower) => self.wasi.stat(lower).await,
            None => self.stat_folder(&of.path).await,
        }
    }

    /// A folder in which the run has changed something has the times of that.
    async fn stat_folder(&mut self, path: &str) -> FsResult<DescriptorStat> {
        if let Ok(own) = self.upper()?.stat_at(at(path), false) {
            return Ok(tree::stat(own));
        }
        Ok(self.below(path).await?.ok_or(ErrorCode::NoEntry)?)
    }

    pub(in crate::disk) async fn layered_stat_at(
        &mut self,
        from: At,
        flags: PathFlags,
        path: String,
    ) -> FsResult<DescriptorStat> {
        if let Some(lower) = self.untouched(&from) {
            self.looked(&lower, &path);
            return self.wasi.stat_at(lower, flags, path).await;
        }
        let spot = self.resolve(&from.path, &path, follow(flags)).await?;
        spot.there()?;
        self.stat_folder(&spot.path()).await
    }

    /// A folder that the project has keeps its number, whatever the run changes in it.
    pub(in crate::disk) async fn layered_hash(&mut self, path: String) -> FsResult<MetadataHashValue> {
        let own = self.upper()?.stat_at(at(&path), false).ok();
        let is_file = own.is_some_and(|own| own.kind != dormouse_files::Kind::Folder);
        if !is_file && self.below(&path).await?.is_some() {
            let project = self.project()?;
            return self.wasi.metadata_hash_at(project, PathFlags::empty(), at(&path).to_owned()).await;
        }
        answer(self.upper()?.metadata_hash_at(at(&path), false)).map(hash)
    }

    pub(in crate::disk) async fn layered_hash_at(
        &mut self,
        from: At,
        flags: PathFlags,
        path: String,
    ) -> FsResult<MetadataHashValue> {
        if let Some(lower) = self.untouched(&from) {
            return self.wasi.metadata_hash_at(lower, flags, path).await;
        }
        let spot = self.resolve(&from.path, &path, follow(flags)).await?;
        spot.there()?;
        self.layered_hash(spot.path()).await
    }

    pub(in crate::disk) async fn layered_readlink(&mut self, from: At, path: String) -> FsResult<String> {
        if let Some(lower) = self.untouched(&from) {
            self.looked(&lower, &path);
            return self.wasi.readlink_at(lower, path).await;
        }
        let spot = self.resolve(&from.path, &path, false).await?;
        match spot.there()? {
            found if found.kind() == DescriptorType::SymbolicLink => {
                self.target(&spot.path(), Some(found)).await
            }
            _ => Err(ErrorCode::Invalid.into()),
        }
    }

    pub(in crate::disk) async fn layered_set_times(
        &mut self,
        from: At,
        path: &str,
        follow: bool,
        (accessed, modified): (NewTime, NewTime),
    ) -> FsResult<()> {
        let spot = self.resolve(&from.path, path, follow).await?;
        let (found, path) = (spot.there()?, spot.path());
        if found.is_folder() {
            self.ensure(&path)?;
        } else {
            self.bring_one(&path, found).await?;
        }
        answer(self.upper()?.set_times_at(at(&path), false, accessed, modified))
    }

    /// Where something is to be made.
    async fn free(&mut self, from: &At, path: &str) -> FsResult<Spot> {
        let spot = self.resolve(&from.path, path, false).await?;
        if spot.name.is_none() || spot.found.is_some() {
            return Err(ErrorCode::Exist.into());
        }
        Ok(spot)
    }

    pub(in crate::disk) async fn layered_make_folder(&mut self, from: At, path: &str) -> FsResult<()> {
        let spot = self.free(&from, path).await?;
        self.ensure(&spot.folder)?;
        answer(self.upper()?.create_directory_at(&spot.path()))
    }

    pub(in crate::disk) async fn layered_symlink(
        &mut self,
        from: At,
        target: &str,
        path: &str,
    ) -> FsResult<()> {
        let spot = self.free(&from, path).await?;
        if spot.slash {
            return Err(ErrorCode::NoEntry.into());
        }
        self.ensure(&spot.folder)?;
        answer(self.upper()?.symlink_at(target, &spot.path()))
    }

    pub(in crate::disk) async fn layered_link(
        &mut self,
        from: At,
        (old, follow): (&str, bool),
        onto: At,
        new: &str,
    ) -> FsResult<()> {
        let one = self.resolve(&from.path, old, follow).await?;
        let (found, old) = (one.there()?, one.path());
        if found.is_folder() {
            return Err(ErrorCode::NotPermitted.into());
        }
        let spot = self.free(&onto, new).await?;
        if spot.slash {
            return Err(ErrorCode::NoEntry.into());
        }
        self.bring_one(&old, found).await?;
        self.ensure(&spot.folder)?;
        let upper = self.upper()?;
        answer(upper.link_at(&old, false, upper, &spot.path()))
    }

    pub(in crate::disk) async fn layered_rename(
        &mut self,
        from: At,
        old: &str,
        onto: At,
        new: &str,
    ) -> FsResult<()> {
        let one = self.resolve(&from.path, old, false).await?;
        let other = self.resolve(&onto.path, new, false).await?;
        if one.name.is_none() || other.name.is_none() {
            return Err(ErrorCode::Busy.into());
        }
        let (moved, old, new) = (one.there()?, one.path(), other.path());
        if other.slash && !moved.is_folder() {
            return Err(ErrorCode::NotDirectory.into());
        }
        if old == new {
            return Ok(());
        }
        if new.strip_prefix(&old).is_some_and(|rest| rest.starts_with('/')) {
            return Err(ErrorCode::Invalid.into());
        }
        match other.found.map(Found::is_folder) {
            Some(true) if !moved.is_folder() => return Err(ErrorCode::IsDirectory.into()),
            Some(false) if moved.is_folder() => return Err(ErrorCode::NotDirectory.into()),
            Some(true) if !self.is_empty(&new).await? => return Err(ErrorCode::NotEmpty.into()),
            _ => {}
        }
        self.bring(&old).await?;
        self.ensure(&one.folder)?;
        self.ensure(&other.folder)?;
        // A folder brings all that it holds with it, and nothing of the project's shows through it.
        if moved.is_folder() && self.below(&new).await?.is_some() {
            self.hide(&new)?;
        }
        if self.below(&old).await?.is_some() {
            self.hide(&old)?;
        }
        let upper = self.upper()?;
        answer(upper.rename_at(&old, upper, &new))
    }

    /// Removes an empty folder, or what is no folder.
    pub(in crate::disk) async fn layered_remove(
        &mut self,
        from: At,
        path: &str,
        folder: bool,
    ) -> FsResult<()> {
        let spot = self.resolve(&from.path, path, false).await?;
        if spot.name.is_none() {
            let code = if folder { ErrorCode::Invalid } else { ErrorCode::IsDirectory };
            return Err(code.into());
        }
        let (found, path) = (spot.there()?, spot.path());
        match (folder, found.is_folder()) {
            (true, false) => return Err(ErrorCode::NotDirectory.into()),
            (false, true) => return Err(ErrorCode::IsDirectory.into()),
            (true, true) if !self.is_empty(&path).await? => return Err(ErrorCode::NotEmpty.into()),
            _ => {}
        }
        self.ensure(&spot.folder)?;
        if self.below(&path).await?.is_some() {
            self.hide(&path)?;
        }
        let upper = self.upper()?;
        answer(match found {
            Found::Own(_) if folder => upper.remove_directory_at(&path),
            Found::Own(_) => upper.unlink_file_at(&path),
            Found::Below(_) => upper.set_times_at(at(&spot.folder), false, NewTime::Keep, NewTime::Now),
        })
    }

    pub(in crate::disk) fn layered_is_same(&self, one: &Fd, other: &Fd) -> Option<bool> {
        match (self.layered(one), self.layered(other)) {
            (None, None) => None,
            (Some(one), Some(other)) => Some(one.at.path == other.at.path),
            _ => Some(false),
        }
    }
}
