//! The functions of `wasi:filesystem`: what changes a disk is charged, what could block is replaced, the rest passes through.

use wasmtime::component::Resource;
use wasmtime_wasi::filesystem::{Descriptor, Dir, WasiFilesystemCtxView};
use wasmtime_wasi::p2::bindings::filesystem::types::{
    Advice, DescriptorFlags, DescriptorStat, DescriptorType, DirectoryEntry, ErrorCode, Filesize, Host,
    HostDescriptor, HostDirectoryEntryStream, MetadataHashValue, NewTimestamp, OpenFlags, PathFlags,
};
use wasmtime_wasi::p2::bindings::filesystem::{preopens, types};
use wasmtime_wasi::p2::{DynInputStream, DynOutputStream, FsError, FsResult, ReaddirIterator};

use super::listing::Listing;
use super::stream::Charged;
use super::{FilesView, blocking, hole_before, open};

/// A descriptor's handle, as the guest holds it.
type Fd = Resource<Descriptor>;

/// The same handle once more, to look before the call that takes it.
fn same(fd: &Fd) -> Fd {
    Resource::new_borrow(fd.rep())
}

impl FilesView<'_> {
    fn folder(&self, fd: &Fd) -> FsResult<Dir> {
        match self.wasi.table.get(fd)? {
            Descriptor::Dir(folder) => Ok(folder.clone()),
            Descriptor::File(_) => Err(ErrorCode::NotDirectory.into()),
        }
    }

    /// Records that a name was looked at.
    fn looked(&mut self, fd: &Fd, path: &str) {
        if let Some(trace) = &mut self.files.trace {
            trace.looked(fd.rep(), path);
        }
    }

    /// Pays for one entry, and takes that back when `made` failed.
    fn settle<T>(&self, made: FsResult<T>) -> FsResult<T> {
        if made.is_err() {
            self.files.budget.refund_file();
        }
        made
    }

    /// Puts `Charged` around the stream that was just made for `fd`, at the same place in the table.
    fn charge_stream(
        &mut self,
        fd: &Fd,
        stream: Resource<DynOutputStream>,
        offset: Option<Filesize>,
    ) -> FsResult<Resource<DynOutputStream>> {
        let start = match offset {
            Some(offset) => Some((open::handle(self.wasi.table.get(fd)?)?.clone(), offset)),
            None => None,
        };
        let inner = self.wasi.table.delete(stream)?;
        let charged: DynOutputStream = Box::new(Charged::new(inner, self.files.budget.clone(), start));
        Ok(self.wasi.table.push(charged)?)
    }

    /// What a removal came to. In a folder that nothing may change, what is missing is missing before it is refused:
    /// programs remove what may not be there and expect `ENOENT`.
    async fn or_missing(&mut self, removed: FsResult<()>, fd: &Fd, path: String) -> FsResult<()> {
        let Err(error) = removed else { return Ok(()) };
        if let Some(ErrorCode::NotPermitted) = error.downcast_ref()
            && let Err(missing) = self.wasi.stat_at(same(fd), PathFlags::empty(), path).await
            && let Some(ErrorCode::NoEntry) = missing.downcast_ref()
        {
            return Err(missing);
        }
        Err(error)
    }

    /// What `path` is, where the open cannot tell: `None` when there is nothing. Refuses what could block.
    pub(super) async fn look(
        &mut self,
        fd: &Fd,
        flags: PathFlags,
        path: &str,
    ) -> FsResult<Option<DescriptorType>> {
        let kind = match self.wasi.stat_at(same(fd), flags, path.to_owned()).await {
            Ok(stat) => stat.type_,
            Err(error) => match error.downcast_ref() {
                Some(ErrorCode::NoEntry) => return Ok(None),
                _ => return Err(error),
            },
        };
        match kind {
            DescriptorType::RegularFile | DescriptorType::Directory | DescriptorType::SymbolicLink => {
                Ok(Some(kind))
            }
            _ => Err(ErrorCode::NotPermitted.into()),
        }
    }
}

impl preopens::Host for FilesView<'_> {
    fn get_directories(&mut self) -> wasmtime::Result<Vec<(Fd, String)>> {
        let mut all = Vec::new();
        if let Some(scratch) = &self.files.scratch {
            let mut shown = scratch.context().map_err(wasmtime::Error::new)?;
            let mut view = WasiFilesystemCtxView { ctx: shown.filesystem(), table: self.wasi.table };
            all = preopens::Host::get_directories(&mut view)?;
        }
        all.extend(preopens::Host::get_directories(&mut self.wasi)?);
        for (folder, path) in &self.files.folders {
            all.push((self.wasi.table.push(Descriptor::Dir(folder.clone()))?, path.clone()));
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
        self.wasi.filesystem_error_code(error)
    }
}

/// What is charged or replaced.
impl FilesView<'_> {
    async fn charged_write(&mut self, fd: Fd, bytes: Vec<u8>, offset: Filesize) -> FsResult<Filesize> {
        let size = bytes.len() as u64;
        if size == 0 {
            return self.wasi.write(fd, bytes, offset).await;
        }
        let file = open::handle(self.wasi.table.get(&fd)?)?;
        let hole = blocking(self.files.in_place, file, move |file| hole_before(file, offset)).await?;
        self.files.budget.charge_bytes(size, hole)?;
        let written = self.wasi.write(fd, bytes, offset).await;
        match &written {
            Ok(count) => self.files.budget.refund_bytes(size - count, 0),
            Err(_) => self.files.budget.refund_bytes(size, hole),
        }
        written
    }

    async fn charged_set_size(&mut self, fd: Fd, size: Filesize) -> FsResult<()> {
        let file = open::handle(self.wasi.table.get(&fd)?)?;
        let growth = blocking(self.files.in_place, file, move |file| hole_before(file, size)).await?;
        self.files.budget.charge_bytes(0, growth)?;
        let done = self.wasi.set_size(fd, size).await;
        if done.is_err() {
            self.files.budget.refund_bytes(0, growth);
        }
        done
    }

    async fn guarded_open(
        &mut self,
        fd: Fd,
        path_flags: PathFlags,
        path: String,
        oflags: OpenFlags,
        flags: DescriptorFlags,
    ) -> FsResult<Fd> {
        let folder = self.folder(&fd)?;
        let asked = (path_flags, oflags, flags);
        if let Some(opened) =
            open::open_at(&folder, &path, asked, &self.files.budget, self.files.in_place).await?
        {
            return Ok(self.wasi.table.push(opened)?);
        }
        // An old kernel or a strict filter: between this look and the open, another writer to the mount could put a FIFO.
        let found = self.look(&fd, path_flags, &path).await?;
        if found.is_some() || !oflags.contains(OpenFlags::CREATE) {
            return self.wasi.open_at(fd, path_flags, path, oflags, flags).await;
        }
        self.files.budget.charge_file()?;
        let made = self.wasi.open_at(fd, path_flags, path, oflags, flags).await;
        self.settle(made)
    }

    async fn guarded_set_times(
        &mut self,
        fd: Fd,
        path_flags: PathFlags,
        path: String,
        accessed: NewTimestamp,
        modified: NewTimestamp,
    ) -> FsResult<()> {
        if path_flags.contains(PathFlags::SYMLINK_FOLLOW) {
            let folder = self.folder(&fd)?;
            if open::set_times_at(&folder, &path, (accessed, modified), self.files.in_place).await?.is_some()
            {
                return Ok(());
            }
            self.look(&fd, path_flags, &path).await?;
        }
        self.wasi.set_times_at(fd, path_flags, path, accessed, modified).await
    }
}

impl HostDescriptor for FilesView<'_> {
    async fn write(&mut self, fd: Fd, bytes: Vec<u8>, offset: Filesize) -> FsResult<Filesize> {
        self.charged_write(fd, bytes, offset).await
    }

    fn write_via_stream(&mut self, fd: Fd, offset: Filesize) -> FsResult<Resource<DynOutputStream>> {
        let stream = self.wasi.write_via_stream(same(&fd), offset)?;
        self.charge_stream(&fd, stream, Some(offset))
    }

    fn append_via_stream(&mut self, fd: Fd) -> FsResult<Resource<DynOutputStream>> {
        let stream = self.wasi.append_via_stream(same(&fd))?;
        self.charge_stream(&fd, stream, None)
    }

    async fn set_size(&mut self, fd: Fd, size: Filesize) -> FsResult<()> {
        self.charged_set_size(fd, size).await
    }

    async fn open_at(
        &mut self,
        fd: Fd,
        path_flags: PathFlags,
        path: String,
        oflags: OpenFlags,
        flags: DescriptorFlags,
    ) -> FsResult<Fd> {
        if self.files.trace.is_none() {
            return self.guarded_open(fd, path_flags, path, oflags, flags).await;
        }
        self.looked(&fd, &path);
        let opened = self.guarded_open(same(&fd), path_flags, path.clone(), oflags, flags).await?;
        if let Some(trace) = &mut self.files.trace
            && let Descriptor::Dir(_) = self.wasi.table.get(&opened)?
        {
            trace.opened(fd.rep(), &path, opened.rep());
        }
        Ok(opened)
    }

    async fn create_directory_at(&mut self, fd: Fd, path: String) -> FsResult<()> {
        self.files.budget.charge_file()?;
        let made = self.wasi.create_directory_at(fd, path).await;
        self.settle(made)
    }

    async fn symlink_at(&mut self, fd: Fd, target: String, path: String) -> FsResult<()> {
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
        self.files.budget.charge_file()?;
        let made = self.wasi.link_at(fd, flags, old, new_fd, new).await;
        self.settle(made)
    }

    async fn set_times_at(
        &mut self,
        fd: Fd,
        path_flags: PathFlags,
        path: String,
        accessed: NewTimestamp,
        modified: NewTimestamp,
    ) -> FsResult<()> {
        self.guarded_set_times(fd, path_flags, path, accessed, modified).await
    }

    async fn read_directory(&mut self, fd: Fd) -> FsResult<Resource<ReaddirIterator>> {
        let folder = self.folder(&fd)?;
        if let Some(trace) = &mut self.files.trace {
            trace.listed(fd.rep());
        }
        let listing = Listing::open(&folder.dir, self.files.in_place).await?;
        // The interface's type is fixed, its contents are not: only this file looks into the table for it.
        let listing = self.wasi.table.push(listing)?;
        Ok(Resource::new_own(listing.rep()))
    }

    // Unchanged from here on.

    async fn advise(&mut self, fd: Fd, offset: Filesize, length: Filesize, advice: Advice) -> FsResult<()> {
        self.wasi.advise(fd, offset, length, advice).await
    }

    async fn sync_data(&mut self, fd: Fd) -> FsResult<()> {
        self.wasi.sync_data(fd).await
    }

    async fn get_flags(&mut self, fd: Fd) -> FsResult<DescriptorFlags> {
        self.wasi.get_flags(fd).await
    }

    async fn get_type(&mut self, fd: Fd) -> FsResult<DescriptorType> {
        self.wasi.get_type(fd).await
    }

    async fn set_times(&mut self, fd: Fd, accessed: NewTimestamp, modified: NewTimestamp) -> FsResult<()> {
        self.wasi.set_times(fd, accessed, modified).await
    }

    async fn read(&mut self, fd: Fd, length: Filesize, offset: Filesize) -> FsResult<(Vec<u8>, bool)> {
        self.wasi.read(fd, length, offset).await
    }

    async fn sync(&mut self, fd: Fd) -> FsResult<()> {
        self.wasi.sync(fd).await
    }

    async fn stat(&mut self, fd: Fd) -> FsResult<DescriptorStat> {
        self.wasi.stat(fd).await
    }

    async fn stat_at(&mut self, fd: Fd, flags: PathFlags, path: String) -> FsResult<DescriptorStat> {
        self.looked(&fd, &path);
        self.wasi.stat_at(fd, flags, path).await
    }

    fn drop(&mut self, fd: Fd) -> wasmtime::Result<()> {
        if let Some(trace) = &mut self.files.trace {
            trace.closed(fd.rep());
        }
        HostDescriptor::drop(&mut self.wasi, fd)
    }

    async fn readlink_at(&mut self, fd: Fd, path: String) -> FsResult<String> {
        self.looked(&fd, &path);
        self.wasi.readlink_at(fd, path).await
    }

    async fn remove_directory_at(&mut self, fd: Fd, path: String) -> FsResult<()> {
        let removed = self.wasi.remove_directory_at(same(&fd), path.clone()).await;
        self.or_missing(removed, &fd, path).await
    }

    async fn rename_at(&mut self, fd: Fd, old: String, new_fd: Fd, new: String) -> FsResult<()> {
        self.wasi.rename_at(fd, old, new_fd, new).await
    }

    async fn unlink_file_at(&mut self, fd: Fd, path: String) -> FsResult<()> {
        let removed = self.wasi.unlink_file_at(same(&fd), path.clone()).await;
        self.or_missing(removed, &fd, path).await
    }

    fn read_via_stream(&mut self, fd: Fd, offset: Filesize) -> FsResult<Resource<DynInputStream>> {
        self.wasi.read_via_stream(fd, offset)
    }

    async fn is_same_object(&mut self, one: Fd, other: Fd) -> wasmtime::Result<bool> {
        self.wasi.is_same_object(one, other).await
    }

    async fn metadata_hash(&mut self, fd: Fd) -> FsResult<MetadataHashValue> {
        self.wasi.metadata_hash(fd).await
    }

    async fn metadata_hash_at(
        &mut self,
        fd: Fd,
        flags: PathFlags,
        path: String,
    ) -> FsResult<MetadataHashValue> {
        // Not recorded: it numbers the entries of a listing, and whoever looks at one asks `stat_at` as well.
        self.wasi.metadata_hash_at(fd, flags, path).await
    }
}

/// The entry of the table behind a listing's handle.
fn listing(stream: &Resource<types::DirectoryEntryStream>) -> Resource<Listing> {
    if stream.owned() { Resource::new_own(stream.rep()) } else { Resource::new_borrow(stream.rep()) }
}

impl HostDirectoryEntryStream for FilesView<'_> {
    async fn read_directory_entry(
        &mut self,
        stream: Resource<ReaddirIterator>,
    ) -> FsResult<Option<DirectoryEntry>> {
        self.wasi.table.get_mut(&listing(&stream))?.next().await
    }

    fn drop(&mut self, stream: Resource<ReaddirIterator>) -> wasmtime::Result<()> {
        self.wasi.table.delete(listing(&stream))?;
        Ok(())
    }
}
