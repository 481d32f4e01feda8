//! The mounts' side of `wasi:filesystem`: what changes the host's disk is charged, what could block is replaced.
//!
//! Owns: what is done around a call of `wasmtime-wasi`. Does not own: which descriptors are mounts' (`host`), the open
//! itself (`open`).

use wasmtime::component::Resource;
use wasmtime_wasi::filesystem::{Descriptor, Dir};
use wasmtime_wasi::p2::bindings::filesystem::types::{
    DescriptorFlags, DescriptorType, ErrorCode, Filesize, HostDescriptor, NewTimestamp, OpenFlags, PathFlags,
};
use wasmtime_wasi::p2::{DynOutputStream, FsResult};

use super::host::{Fd, same};
use super::stream::Charged;
use super::{FilesView, blocking, hole_before, open};

impl FilesView<'_> {
    pub(super) fn folder(&self, fd: &Fd) -> FsResult<Dir> {
        match self.wasi.table.get(fd)? {
            Descriptor::Dir(folder) => Ok(folder.clone()),
            Descriptor::File(_) => Err(ErrorCode::NotDirectory.into()),
        }
    }

    /// Closes what lies below a mount.
    pub(super) fn close_mounted(&mut self, fd: Fd) -> wasmtime::Result<()> {
        if let Some(trace) = &mut self.files.trace {
            trace.closed(fd.rep());
        }
        HostDescriptor::drop(&mut self.wasi, fd)
    }

    /// Records that a name was looked at.
    pub(super) fn looked(&mut self, fd: &Fd, path: &str) {
        if let Some(trace) = &mut self.files.trace {
            trace.looked(fd.rep(), path);
        }
    }

    /// Pays for one entry, and takes that back when `made` failed.
    pub(super) fn settle<T>(&self, made: FsResult<T>) -> FsResult<T> {
        if made.is_err() {
            self.files.budget.refund_file();
        }
        made
    }

    /// Puts `Charged` around the stream that was just made for `fd`, at the same place in the table.
    pub(super) fn charge_stream(
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
    pub(super) async fn or_missing(&mut self, removed: FsResult<()>, fd: &Fd, path: String) -> FsResult<()> {
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

impl FilesView<'_> {
    pub(super) async fn charged_write(
        &mut self,
        fd: Fd,
        bytes: Vec<u8>,
        offset: Filesize,
    ) -> FsResult<Filesize> {
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

    pub(super) async fn charged_set_size(&mut self, fd: Fd, size: Filesize) -> FsResult<()> {
        let file = open::handle(self.wasi.table.get(&fd)?)?;
        let growth = blocking(self.files.in_place, file, move |file| hole_before(file, size)).await?;
        self.files.budget.charge_bytes(0, growth)?;
        let done = self.wasi.set_size(fd, size).await;
        if done.is_err() {
            self.files.budget.refund_bytes(0, growth);
        }
        done
    }

    /// Opens below a mount, and records it.
    pub(super) async fn traced_open(
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

    pub(super) async fn guarded_set_times(
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
