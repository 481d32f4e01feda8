//! The functions of `wasi:filesystem`: each is answered by the tree, by a mount or by a project with a run's changes,
//! whichever the descriptor belongs to.
//!
//! The interface's type of a descriptor is fixed, its contents are not: under its number the table holds a handle of the
//! tree, a descriptor of `wasmtime-wasi` for what lies below a mount, or a folder of a project. Only this file looks which.

use dormouse_files::{Errno, Handle, Kind, Listing as OwnListing};
use wasmtime::component::Resource;
use wasmtime_wasi::filesystem::Descriptor;
use wasmtime_wasi::p2::bindings::filesystem::types::{
    Advice, DescriptorFlags, DescriptorStat, DescriptorType, DirectoryEntry, ErrorCode, Filesize, Host,
    HostDescriptor, HostDirectoryEntryStream, MetadataHashValue, NewTimestamp, OpenFlags, PathFlags,
};
use wasmtime_wasi::p2::bindings::filesystem::{preopens, types};
use wasmtime_wasi::p2::{DynInputStream, DynOutputStream, FsError, FsResult, ReaddirIterator};

use super::FilesView;
use super::held::Word;
use super::layer::Merged;
use super::listing::Listing;
use super::tree::{self, ROOT, Reads, Writes, answer, follow, new_time};

/// A descriptor's handle, as the guest holds it.
pub(super) type Fd = Resource<Descriptor>;

/// The same handle once more, to look before the call that takes it.
pub(super) fn same(fd: &Fd) -> Fd {
    Resource::new_borrow(fd.rep())
}

impl FilesView<'_> {
    /// The tree's handle behind a descriptor; none when it belongs to a mount. For a project's folder it is the one of the
    /// tree that its changes lie in, which refuses what is only done with files.
    fn own(&self, fd: &Fd) -> Option<&Handle> {
        let own = self.wasi.table.get(&Resource::<Handle>::new_borrow(fd.rep())).ok();
        own.or_else(|| Some(&self.layered(fd)?.upper))
    }

    /// Both handles; none when both descriptors belong to mounts.
    fn both(&self, one: &Fd, other: &Fd) -> FsResult<Option<(&Handle, &Handle)>> {
        match (self.own(one), self.own(other)) {
            _ if self.layered(one).is_some() || self.layered(other).is_some() => {
                Err(ErrorCode::CrossDevice.into())
            }
            (Some(one), Some(other)) => Ok(Some((one, other))),
            (None, None) => Ok(None),
            _ => Err(ErrorCode::CrossDevice.into()),
        }
    }

    pub(super) fn give(&mut self, handle: Handle) -> FsResult<Fd> {
        Ok(Resource::new_own(self.wasi.table.push(handle)?.rep()))
    }

    /// A handle for a stream, which no folder has. The host answers this when it is asked for the stream.
    fn streamed(&self, fd: &Fd, folder: ErrorCode) -> FsResult<Option<Handle>> {
        match self.own(fd) {
            Some(own) if own.kind() == Kind::Folder => Err(folder.into()),
            own => Ok(own.cloned()),
        }
    }

    fn writes(&mut self, handle: Handle, offset: Option<Filesize>) -> FsResult<Resource<DynOutputStream>> {
        let stream: DynOutputStream = Box::new(Writes::new(handle, offset, self.files.budget.clone()));
        Ok(self.wasi.table.push(stream)?)
    }
}

impl preopens::Host for FilesView<'_> {
    fn get_directories(&mut self) -> wasmtime::Result<Vec<(Fd, String)>> {
        let mut mounts = preopens::Host::get_directories(&mut self.wasi)?;
        for (folder, path) in &self.files.folders {
            mounts.push((self.wasi.table.push(Descriptor::Dir(folder.clone()))?, path.clone()));
        }
        // Where a mount is the root, the tree's own `/` is not shown beside it.
        let at_root = mounts.iter().any(|(_, path)| path == ROOT);
        let mut all = Vec::new();
        if let Some(tree) = &mut self.files.tree {
            for (handle, path) in tree.shown().map_err(wasmtime::Error::new)? {
                if at_root && path == ROOT {
                    continue;
                }
                let fd = self.wasi.table.push(handle)?;
                all.push((Resource::new_own(fd.rep()), path.to_owned()));
            }
        }
        self.put_layer(&mut mounts)?;
        all.extend(mounts);
        if self.files.root_first {
            all.sort_by_key(|(_, path)| !(at_root && path == ROOT));
        }
        if let Some(trace) = &mut self.files.trace {
            all.iter().for_each(|(fd, path)| trace.handed_out(fd.rep(), path));
        }
        Ok(all)
    }
}

impl Host for FilesView<'_> {
    fn convert_error_code(&mut self, error: FsError) -> wasmtime::Result<ErrorCode> {
        self.wasi.convert_error_code(error)
    }

    fn filesystem_error_code(
        &mut self,
        error: Resource<wasmtime::Error>,
    ) -> wasmtime::Result<Option<ErrorCode>> {
        if let Some(errno) = self.wasi.table.get(&error)?.downcast_ref::<Errno>() {
            return Ok(Some(tree::code(*errno)));
        }
        self.wasi.filesystem_error_code(error)
    }
}

impl HostDescriptor for FilesView<'_> {
    async fn write(&mut self, fd: Fd, bytes: Vec<u8>, offset: Filesize) -> FsResult<Filesize> {
        let Some(own) = self.own(&fd) else { return self.charged_write(fd, bytes, offset).await };
        let written = answer(own.write(offset, &bytes))?;
        self.files.budget.note(written);
        Ok(written)
    }

    fn write_via_stream(&mut self, fd: Fd, offset: Filesize) -> FsResult<Resource<DynOutputStream>> {
        if let Some(handle) = self.streamed(&fd, ErrorCode::BadDescriptor)? {
            return self.writes(handle, Some(offset));
        }
        let stream = self.wasi.write_via_stream(same(&fd), offset)?;
        self.charge_stream(&fd, stream, Some(offset))
    }

    fn append_via_stream(&mut self, fd: Fd) -> FsResult<Resource<DynOutputStream>> {
        if let Some(handle) = self.streamed(&fd, ErrorCode::BadDescriptor)? {
            return self.writes(handle, None);
        }
        let stream = self.wasi.append_via_stream(same(&fd))?;
        self.charge_stream(&fd, stream, None)
    }

    fn read_via_stream(&mut self, fd: Fd, offset: Filesize) -> FsResult<Resource<DynInputStream>> {
        let Some(handle) = self.streamed(&fd, ErrorCode::IsDirectory)? else {
            return self.wasi.read_via_stream(fd, offset);
        };
        let stream: DynInputStream = Box::new(Reads::new(handle, offset));
        Ok(self.wasi.table.push(stream)?)
    }

    async fn read(&mut self, fd: Fd, length: Filesize, offset: Filesize) -> FsResult<(Vec<u8>, bool)> {
        match self.own(&fd) {
            Some(own) => answer(own.read(offset, length)),
            None => self.wasi.read(fd, length, offset).await,
        }
    }

    async fn set_size(&mut self, fd: Fd, size: Filesize) -> FsResult<()> {
        match self.own(&fd) {
            Some(own) => answer(own.set_size(size)),
            None => self.charged_set_size(fd, size).await,
        }
    }

    async fn advise(&mut self, fd: Fd, offset: Filesize, length: Filesize, advice: Advice) -> FsResult<()> {
        match self.streamed(&fd, ErrorCode::BadDescriptor)? {
            Some(_) => Ok(()),
            None => self.wasi.advise(fd, offset, length, advice).await,
        }
    }

    async fn sync_data(&mut self, fd: Fd) -> FsResult<()> {
        match self.own(&fd) {
            Some(own) => answer(own.sync()),
            None => self.wasi.sync_data(fd).await,
        }
    }

    async fn sync(&mut self, fd: Fd) -> FsResult<()> {
        match self.own(&fd) {
            Some(own) => answer(own.sync()),
            None => self.wasi.sync(fd).await,
        }
    }

    async fn get_flags(&mut self, fd: Fd) -> FsResult<DescriptorFlags> {
        match self.own(&fd) {
            Some(own) => Ok(tree::descriptor_flags(own.flags())),
            None => self.wasi.get_flags(fd).await,
        }
    }

    async fn get_type(&mut self, fd: Fd) -> FsResult<DescriptorType> {
        match self.own(&fd) {
            Some(own) => Ok(tree::kind(own.kind())),
            None => self.wasi.get_type(fd).await,
        }
    }

    async fn stat(&mut self, fd: Fd) -> FsResult<DescriptorStat> {
        if let Some(of) = self.layered_at(&fd) {
            return self.layered_stat(of).await;
        }
        match self.own(&fd) {
            Some(own) => answer(own.stat()).map(tree::stat),
            None => self.wasi.stat(fd).await,
        }
    }

    async fn stat_at(&mut self, fd: Fd, flags: PathFlags, path: String) -> FsResult<DescriptorStat> {
        if let Some(from) = self.layered_at(&fd) {
            return self.layered_stat_at(from, flags, path).await;
        }
        if let Some(own) = self.own(&fd) {
            return answer(own.stat_at(&path, follow(flags))).map(tree::stat);
        }
        self.looked(&fd, &path);
        self.wasi.stat_at(fd, flags, path).await
    }

    async fn set_times(&mut self, fd: Fd, accessed: NewTimestamp, modified: NewTimestamp) -> FsResult<()> {
        if let Some(of) = self.layered_at(&fd) {
            let times = (new_time(accessed)?, new_time(modified)?);
            return self.layered_set_times(of, ".", true, times).await;
        }
        match self.own(&fd) {
            Some(own) => answer(own.set_times(new_time(accessed)?, new_time(modified)?)),
            None => self.wasi.set_times(fd, accessed, modified).await,
        }
    }

    async fn set_times_at(
        &mut self,
        fd: Fd,
        path_flags: PathFlags,
        path: String,
        accessed: NewTimestamp,
        modified: NewTimestamp,
    ) -> FsResult<()> {
        if let Some(from) = self.layered_at(&fd) {
            let times = (new_time(accessed)?, new_time(modified)?);
            return self.layered_set_times(from, &path, follow(path_flags), times).await;
        }
        let Some(own) = self.own(&fd) else {
            return self.guarded_set_times(fd, path_flags, path, accessed, modified).await;
        };
        answer(own.set_times_at(&path, follow(path_flags), new_time(accessed)?, new_time(modified)?))
    }

    async fn open_at(
        &mut self,
        fd: Fd,
        path_flags: PathFlags,
        path: String,
        oflags: OpenFlags,
        flags: DescriptorFlags,
    ) -> FsResult<Fd> {
        if let Some(from) = self.layered_at(&fd) {
            return self.layered_open(from, path_flags, path, oflags, flags).await;
        }
        let Some(own) = self.own(&fd) else {
            return self.traced_open(fd, path_flags, path, oflags, flags).await;
        };
        let (how, flags) = (tree::open_flags(oflags), tree::flags(flags));
        let handle = match Word::of(oflags, &path) {
            Some(word) => self.files.held.answer(word, flags.read || !flags.write, flags.write)?,
            None => answer(own.open_at(&path, follow(path_flags), how, flags))?,
        };
        let opened = self.give(handle)?;
        self.files.held.opened(opened.rep());
        Ok(opened)
    }

    fn drop(&mut self, fd: Fd) -> wasmtime::Result<()> {
        if self.close_layered(&fd)? {
            return Ok(());
        }
        if self.own(&fd).is_some() {
            self.files.held.closed(fd.rep());
            self.wasi.table.delete(Resource::<Handle>::new_own(fd.rep()))?;
            return Ok(());
        }
        self.close_mounted(fd)
    }

    async fn create_directory_at(&mut self, fd: Fd, path: String) -> FsResult<()> {
        if let Some(from) = self.layered_at(&fd) {
            return self.layered_make_folder(from, &path).await;
        }
        if let Some(own) = self.own(&fd) {
            return answer(own.create_directory_at(&path));
        }
        self.files.budget.charge_file()?;
        let made = self.wasi.create_directory_at(fd, path).await;
        self.settle(made)
    }

    async fn symlink_at(&mut self, fd: Fd, target: String, path: String) -> FsResult<()> {
        if let Some(from) = self.layered_at(&fd) {
            return self.layered_symlink(from, &target, &path).await;
        }
        if let Some(own) = self.own(&fd) {
            return answer(own.symlink_at(&target, &path));
        }
        self.files.budget.charge_file()?;
        let made = self.wasi.symlink_at(fd, target, path).await;
        self.settle(made)
    }

    async fn link_at(
        &mut self,
        fd: Fd,
        flags: PathFlags,
        old: String,
        new_fd: Fd,
        new: String,
    ) -> FsResult<()> {
        if let (Some(from), Some(onto)) = (self.layered_at(&fd), self.layered_at(&new_fd)) {
            return self.layered_link(from, (&old, follow(flags)), onto, &new).await;
        }
        if let Some((from, to)) = self.both(&fd, &new_fd)? {
            return answer(from.link_at(&old, follow(flags), to, &new));
        }
        self.files.budget.charge_file()?;
        let made = self.wasi.link_at(fd, flags, old, new_fd, new).await;
        self.settle(made)
    }

    async fn rename_at(&mut self, fd: Fd, old: String, new_fd: Fd, new: String) -> FsResult<()> {
        if let (Some(from), Some(onto)) = (self.layered_at(&fd), self.layered_at(&new_fd)) {
            return self.layered_rename(from, &old, onto, &new).await;
        }
        if let Some((from, to)) = self.both(&fd, &new_fd)? {
            return answer(from.rename_at(&old, to, &new));
        }
        self.wasi.rename_at(fd, old, new_fd, new).await
    }

    async fn readlink_at(&mut self, fd: Fd, path: String) -> FsResult<String> {
        if let Some(from) = self.layered_at(&fd) {
            return self.layered_readlink(from, path).await;
        }
        if let Some(own) = self.own(&fd) {
            return answer(own.readlink_at(&path)).map(|target| target.as_ref().to_owned());
        }
        self.looked(&fd, &path);
        self.wasi.readlink_at(fd, path).await
    }

    async fn remove_directory_at(&mut self, fd: Fd, path: String) -> FsResult<()> {
        if let Some(from) = self.layered_at(&fd) {
            return self.layered_remove(from, &path, true).await;
        }
        if let Some(own) = self.own(&fd) {
            return answer(tree::or_missing(own.remove_directory_at(&path), own, &path));
        }
        let removed = self.wasi.remove_directory_at(same(&fd), path.clone()).await;
        self.or_missing(removed, &fd, path).await
    }

    async fn unlink_file_at(&mut self, fd: Fd, path: String) -> FsResult<()> {
        if let Some(from) = self.layered_at(&fd) {
            return self.layered_remove(from, &path, false).await;
        }
        if let Some(own) = self.own(&fd) {
            return answer(tree::or_missing(own.unlink_file_at(&path), own, &path));
        }
        let removed = self.wasi.unlink_file_at(same(&fd), path.clone()).await;
        self.or_missing(removed, &fd, path).await
    }

    async fn read_directory(&mut self, fd: Fd) -> FsResult<Resource<ReaddirIterator>> {
        if let Some(from) = self.layered_at(&fd) {
            return self.list_layered(from).await;
        }
        if let Some(own) = self.own(&fd) {
            let listing = answer(own.list())?;
            return Ok(Resource::new_own(self.wasi.table.push(listing)?.rep()));
        }
        let folder = self.folder(&fd)?;
        if let Some(trace) = &mut self.files.trace {
            trace.listed(fd.rep());
        }
        let listing = Listing::open(&folder.dir, self.files.in_place).await?;
        Ok(Resource::new_own(self.wasi.table.push(listing)?.rep()))
    }

    async fn is_same_object(&mut self, one: Fd, other: Fd) -> wasmtime::Result<bool> {
        if let Some(same) = self.layered_is_same(&one, &other) {
            return Ok(same);
        }
        match (self.own(&one), self.own(&other)) {
            (Some(one), Some(other)) => Ok(one.is_same(other)),
            (None, None) => self.wasi.is_same_object(one, other).await,
            _ => Ok(false),
        }
    }

    async fn metadata_hash(&mut self, fd: Fd) -> FsResult<MetadataHashValue> {
        if let Some(of) = self.layered_at(&fd) {
            return self.layered_hash_at(of, PathFlags::empty(), ".".into()).await;
        }
        match self.own(&fd) {
            Some(own) => answer(own.metadata_hash()).map(hash),
            None => self.wasi.metadata_hash(fd).await,
        }
    }

    async fn metadata_hash_at(
        &mut self,
        fd: Fd,
        flags: PathFlags,
        path: String,
    ) -> FsResult<MetadataHashValue> {
        if let Some(from) = self.layered_at(&fd) {
            return self.layered_hash_at(from, flags, path).await;
        }
        match self.own(&fd) {
            Some(own) => answer(own.metadata_hash_at(&path, follow(flags))).map(hash),
            // Not recorded: it numbers the entries of a listing, and whoever looks at one asks `stat_at` as well.
            None => self.wasi.metadata_hash_at(fd, flags, path).await,
        }
    }
}

pub(super) fn hash((lower, upper): (u64, u64)) -> MetadataHashValue {
    MetadataHashValue { lower, upper }
}

/// The entry of the table behind a listing's handle, if it is a `T`.
fn listing<T>(stream: &Resource<types::DirectoryEntryStream>) -> Resource<T>
where
    T: 'static,
{
    if stream.owned() { Resource::new_own(stream.rep()) } else { Resource::new_borrow(stream.rep()) }
}

impl HostDirectoryEntryStream for FilesView<'_> {
    async fn read_directory_entry(
        &mut self,
        stream: Resource<ReaddirIterator>,
    ) -> FsResult<Option<DirectoryEntry>> {
        let merged = listing::<Merged>(&stream);
        if self.wasi.table.get(&merged).is_ok() {
            return self.next_layered(&merged).await;
        }
        if let Ok(own) = self.wasi.table.get_mut(&listing::<OwnListing>(&stream)) {
            let entry = answer(own.next().transpose())?;
            return Ok(entry.map(|entry| DirectoryEntry {
                type_: tree::kind(entry.kind),
                name: entry.name.as_ref().to_owned(),
            }));
        }
        self.wasi.table.get_mut(&listing::<Listing>(&stream))?.next().await
    }

    fn drop(&mut self, stream: Resource<ReaddirIterator>) -> wasmtime::Result<()> {
        if self.wasi.table.get(&listing::<Merged>(&stream)).is_ok() {
            self.wasi.table.delete(listing::<Merged>(&stream))?;
        } else if self.wasi.table.get(&listing::<OwnListing>(&stream)).is_ok() {
            self.wasi.table.delete(listing::<OwnListing>(&stream))?;
        } else {
            self.wasi.table.delete(listing::<Listing>(&stream))?;
        }
        Ok(())
    }
}
