//! The budget at its limits, and what may never block or escape, through the functions that a guest calls.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::time::Duration;

use rustix::fs::{CWD, FileType, Mode};
use wasmtime::component::{Resource, ResourceTable};
use wasmtime_wasi::filesystem::{Descriptor, WasiFilesystemCtxView};
use wasmtime_wasi::p2::bindings::filesystem::preopens::Host as _;
use wasmtime_wasi::p2::bindings::filesystem::types::{
    DescriptorFlags as Flags, ErrorCode, Host as _, HostDescriptor as _, HostDirectoryEntryStream as _,
    NewTimestamp, OpenFlags, PathFlags,
};
use wasmtime_wasi::p2::{DynOutputStream, FsResult, StreamError};
use wasmtime_wasi::{FsPerms, WasiCtx};

use super::{DiskLimits, Files, FilesView};

pub(super) type Fd = Resource<Descriptor>;

/// A guest's side of one folder.
pub(super) struct Guest {
    wasi: WasiCtx,
    pub(super) table: ResourceTable,
    pub(super) files: Files,
    folder: tempfile::TempDir,
}

impl Guest {
    pub(super) fn new(bytes: u64, files: u64) -> Self {
        Self::with(DiskLimits { bytes, files }, FsPerms::ReadWrite, true)
    }

    pub(super) fn with(limits: DiskLimits, perms: FsPerms, in_place: bool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut wasi = WasiCtx::builder();
        wasi.allow_blocking_current_thread(in_place);
        wasi.preopened_dir(folder.path(), "/mnt", perms).unwrap();
        let files = Files::new(limits, in_place);
        Self { wasi: wasi.build(), table: ResourceTable::new(), files, folder }
    }

    pub(super) fn view(&mut self) -> FilesView<'_> {
        let wasi = WasiFilesystemCtxView { ctx: self.wasi.filesystem(), table: &mut self.table };
        FilesView { wasi, files: &mut self.files }
    }

    fn root(&mut self) -> Fd {
        self.view().get_directories().unwrap().remove(0).0
    }

    pub(super) fn host(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    async fn open(&mut self, name: &str, how: OpenFlags, flags: Flags) -> FsResult<Fd> {
        let root = self.root();
        let mut view = self.view();
        let opened = view.open_at(root, PathFlags::SYMLINK_FOLLOW, name.into(), how, flags);
        tokio::time::timeout(Duration::from_secs(5), opened).await.expect("an open never blocks")
    }

    async fn create(&mut self, name: &str) -> FsResult<Fd> {
        self.open(name, OpenFlags::CREATE, Flags::READ | Flags::WRITE).await
    }

    async fn write(&mut self, fd: &Fd, bytes: usize, offset: u64) -> FsResult<u64> {
        self.view().write(Resource::new_borrow(fd.rep()), vec![b'x'; bytes], offset).await
    }

    pub(super) fn stream(&mut self, stream: &Resource<DynOutputStream>) -> &mut DynOutputStream {
        self.table.get_mut(stream).unwrap()
    }
}

pub(super) fn code<T>(result: FsResult<T>) -> ErrorCode {
    match result {
        Ok(_) => panic!("it was allowed"),
        Err(error) => error.downcast().unwrap(),
    }
}

pub(super) fn same(fd: &Fd) -> Fd {
    Resource::new_borrow(fd.rep())
}

#[tokio::test]
async fn writes_end_exactly_at_the_limit() {
    let mut guest = Guest::new(10, 1);
    let fd = guest.create("a").await.unwrap();
    assert_eq!(guest.write(&fd, 9, 0).await.unwrap(), 9);
    assert!(!guest.files.budget.refused());
    assert_eq!(code(guest.write(&fd, 2, 0).await), ErrorCode::InsufficientSpace);
    assert!(guest.files.budget.refused());
    assert_eq!(guest.write(&fd, 1, 0).await.unwrap(), 1);
    assert_eq!(code(guest.write(&fd, 1, 0).await), ErrorCode::InsufficientSpace);
    assert_eq!(guest.files.budget.written(), 10);
    assert_eq!(std::fs::read(guest.host("a")).unwrap().len(), 9);
}

#[tokio::test]
async fn a_hole_is_paid_for_like_bytes() {
    let mut guest = Guest::new(100, 1);
    let fd = guest.create("a").await.unwrap();
    assert_eq!(code(guest.write(&fd, 1, 1 << 40).await), ErrorCode::InsufficientSpace);
    assert_eq!(code(guest.write(&fd, 1, 100).await), ErrorCode::InsufficientSpace);
    guest.write(&fd, 1, 99).await.unwrap();
    assert_eq!(guest.files.budget.bytes_left(), 0);
    assert_eq!(guest.files.budget.written(), 1);
}

#[tokio::test]
async fn a_file_larger_than_the_budget_can_be_changed_and_appended_to() {
    let mut guest = Guest::new(10, 0);
    std::fs::write(guest.host("big"), vec![0; 1_000]).unwrap();
    let fd = guest.open("big", OpenFlags::empty(), Flags::READ | Flags::WRITE).await.unwrap();
    guest.write(&fd, 5, 500).await.unwrap();
    guest.write(&fd, 5, 1_000).await.unwrap();
    assert_eq!(code(guest.write(&fd, 1, 0).await), ErrorCode::InsufficientSpace);
}

#[tokio::test]
async fn growing_is_paid_for_and_shrinking_is_free() {
    let mut guest = Guest::new(100, 1);
    let fd = guest.create("a").await.unwrap();
    assert_eq!(code(guest.view().set_size(same(&fd), 101).await), ErrorCode::InsufficientSpace);
    guest.view().set_size(same(&fd), 100).await.unwrap();
    guest.view().set_size(same(&fd), 10).await.unwrap();
    assert_eq!(code(guest.view().set_size(same(&fd), 11).await), ErrorCode::InsufficientSpace);
}

#[tokio::test]
async fn streams_are_charged_and_say_that_the_disk_is_full() {
    for append in [false, true] {
        let mut guest = Guest::new(10, 1);
        let fd = guest.create("a").await.unwrap();
        let stream = match append {
            true => guest.view().append_via_stream(same(&fd)),
            false => guest.view().write_via_stream(same(&fd), 0),
        }
        .unwrap();
        assert_eq!(guest.stream(&stream).check_write().unwrap(), 10, "the permit ends at the budget");
        guest.stream(&stream).write(vec![b'x'; 9].into()).unwrap();
        assert_eq!(guest.stream(&stream).write_ready().await.unwrap(), 1);
        guest.stream(&stream).blocking_write_and_flush(vec![b'x'; 1].into()).await.unwrap();
        assert_eq!(
            guest.stream(&stream).write_ready().await.unwrap(),
            1,
            "a flush at the limit is no failure"
        );

        for attempt in 0..2 {
            let failed = match attempt {
                0 => guest.stream(&stream).write(vec![b'x'; 1].into()),
                _ => guest.stream(&stream).blocking_write_and_flush(vec![b'x'; 1].into()).await,
            };
            let Err(StreamError::LastOperationFailed(error)) = failed else { panic!("no ENOSPC") };
            let error = guest.table.push(error).unwrap();
            let told = guest.view().filesystem_error_code(error).unwrap();
            assert_eq!(told, Some(ErrorCode::InsufficientSpace));
        }
        assert_eq!(std::fs::read(guest.host("a")).unwrap().len(), 10);
        assert_eq!(guest.files.budget.written(), 10);
    }
}

#[tokio::test]
async fn a_stream_pays_for_the_hole_before_its_first_write() {
    let mut guest = Guest::new(100, 1);
    let fd = guest.create("a").await.unwrap();
    let stream = guest.view().write_via_stream(same(&fd), 1 << 40).unwrap();
    guest.stream(&stream).write(vec![b'x'; 1].into()).unwrap_err();
    let stream = guest.view().write_via_stream(same(&fd), 90).unwrap();
    guest.stream(&stream).blocking_write_and_flush(vec![b'x'; 4].into()).await.unwrap();
    guest.stream(&stream).blocking_write_and_flush(vec![b'x'; 6].into()).await.unwrap();
    assert_eq!(guest.files.budget.bytes_left(), 0);
}

#[tokio::test]
async fn a_stream_of_an_earlier_run_is_charged_to_this_one() {
    let mut guest = Guest::new(1_000, 1);
    let fd = guest.create("a").await.unwrap();
    let stream = guest.view().append_via_stream(fd).unwrap();
    guest.files.budget.arm(DiskLimits { bytes: 5, files: 0 });
    guest.stream(&stream).write(vec![b'x'; 6].into()).unwrap_err();
    guest.stream(&stream).write(vec![b'x'; 5].into()).unwrap();
}

#[tokio::test]
async fn everything_that_is_created_counts_and_what_exists_does_not() {
    let mut guest = Guest::new(10, 4);
    let root = guest.root();
    guest.create("file").await.unwrap();
    guest.create("file").await.unwrap();
    guest.open("file", OpenFlags::CREATE | OpenFlags::TRUNCATE, Flags::WRITE).await.unwrap();
    let taken = guest.open("file", OpenFlags::CREATE | OpenFlags::EXCLUSIVE, Flags::WRITE).await;
    assert_eq!(code(taken), ErrorCode::Exist);
    assert_eq!(code(guest.create("none/file").await), ErrorCode::NoEntry);
    guest.view().create_directory_at(same(&root), "folder".into()).await.unwrap();
    assert_eq!(code(guest.view().create_directory_at(same(&root), "folder".into()).await), ErrorCode::Exist);
    guest.view().symlink_at(same(&root), "file".into(), "soft".into()).await.unwrap();
    let link = guest
        .view()
        .link_at(same(&root), PathFlags::empty(), "file".into(), same(&root), "hard".into())
        .await;
    link.unwrap();

    assert_eq!(code(guest.create("another").await), ErrorCode::InsufficientSpace);
    let made = guest.view().create_directory_at(same(&root), "another".into()).await;
    assert_eq!(code(made), ErrorCode::InsufficientSpace);
    guest.create("file").await.unwrap();
    assert!(!guest.host("another").exists());
}

#[tokio::test]
async fn a_fifo_a_socket_and_a_device_are_refused_at_once() {
    for in_place in [true, false] {
        let mut guest = Guest::with(DiskLimits::default(), FsPerms::ReadWrite, in_place);
        rustix::fs::mknodat(CWD, guest.host("fifo"), FileType::Fifo, Mode::RWXU, 0).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(guest.host("socket")).unwrap();
        let mut names = vec!["fifo", "socket"];
        // Needs root: major 1, minor 5 is the device of zeros.
        let device =
            rustix::fs::mknodat(CWD, guest.host("zero"), FileType::CharacterDevice, Mode::RWXU, 0x105);
        if device.is_ok() {
            names.push("zero");
        }
        symlink("fifo", guest.host("to-fifo")).unwrap();
        names.push("to-fifo");
        for name in names {
            for flags in [Flags::READ, Flags::WRITE, Flags::READ | Flags::WRITE] {
                for how in [OpenFlags::empty(), OpenFlags::CREATE, OpenFlags::TRUNCATE] {
                    let refused = guest.open(name, how, flags).await;
                    assert_eq!(code(refused), ErrorCode::NotPermitted, "{name} {how:?} {flags:?}");
                }
            }
            let root = guest.root();
            let looked = guest.view().look(&root, PathFlags::SYMLINK_FOLLOW, name).await;
            assert_eq!(code(looked), ErrorCode::NotPermitted, "the way of old kernels: {name}");
            let now = || NewTimestamp::Now;
            let mut view = guest.view();
            let touched = view.set_times_at(root, PathFlags::SYMLINK_FOLLOW, name.into(), now(), now());
            tokio::time::timeout(Duration::from_secs(5), touched).await.expect("never blocks").unwrap();
        }
    }
}

#[tokio::test]
async fn times_are_set_through_links() {
    let mut guest = Guest::new(10, 1);
    std::fs::write(guest.host("file"), "x").unwrap();
    symlink("file", guest.host("link")).unwrap();
    let datetime =
        wasmtime_wasi::p2::bindings::clocks::wall_clock::Datetime { seconds: 1_000, nanoseconds: 7 };
    let (root, time) = (guest.root(), NewTimestamp::Timestamp(datetime));
    let mut view = guest.view();
    view.set_times_at(root, PathFlags::SYMLINK_FOLLOW, "link".into(), NewTimestamp::NoChange, time)
        .await
        .unwrap();
    let modified = std::fs::metadata(guest.host("file")).unwrap().modified().unwrap();
    assert_eq!(modified, std::time::UNIX_EPOCH + Duration::new(1_000, 7));
}

#[tokio::test]
async fn no_path_leads_out_of_the_folder() {
    let mut guest = Guest::new(10, 10);
    symlink("/etc/passwd", guest.host("absolute")).unwrap();
    symlink("../..", guest.host("up")).unwrap();
    for path in ["/etc/passwd", "../x", "absolute", "up/x", "up"] {
        for how in [OpenFlags::empty(), OpenFlags::CREATE] {
            assert_eq!(code(guest.open(path, how, Flags::READ).await), ErrorCode::NotPermitted, "{path}");
        }
    }
}

#[tokio::test]
async fn read_only_stays_read_only() {
    let mut guest = Guest::with(DiskLimits::default(), FsPerms::ReadOnly, true);
    std::fs::write(guest.host("file"), "text").unwrap();
    for how in [OpenFlags::CREATE, OpenFlags::TRUNCATE] {
        assert_eq!(code(guest.open("file", how, Flags::READ).await), ErrorCode::NotPermitted);
    }
    let write = guest.open("file", OpenFlags::empty(), Flags::WRITE).await;
    assert_eq!(code(write), ErrorCode::NotPermitted);
    let fd = guest.open("file", OpenFlags::empty(), Flags::READ).await.unwrap();
    assert_eq!(code(guest.write(&fd, 1, 0).await), ErrorCode::NotPermitted);
    assert_eq!(code(guest.view().set_size(same(&fd), 0).await), ErrorCode::NotPermitted);
    assert_eq!(code(guest.view().append_via_stream(same(&fd))), ErrorCode::NotPermitted);
    let root = guest.root();
    let mut view = guest.view();
    let touched = view.set_times_at(
        root,
        PathFlags::SYMLINK_FOLLOW,
        "file".into(),
        NewTimestamp::Now,
        NewTimestamp::Now,
    );
    assert_eq!(code(touched.await), ErrorCode::NotPermitted);
    let (root, again) = (guest.root(), guest.root());
    assert_eq!(code(guest.view().unlink_file_at(root, "file".into()).await), ErrorCode::NotPermitted);
    assert_eq!(code(guest.view().unlink_file_at(again, "missing".into()).await), ErrorCode::NoEntry);
    let (root, again) = (guest.root(), guest.root());
    assert_eq!(code(guest.view().remove_directory_at(root, "file".into()).await), ErrorCode::NotPermitted);
    assert_eq!(code(guest.view().remove_directory_at(again, "missing".into()).await), ErrorCode::NoEntry);
    assert_eq!(guest.files.budget.written(), 0);
    assert_eq!(std::fs::read(guest.host("file")).unwrap(), b"text");
}

#[tokio::test]
async fn a_large_folder_is_listed_whole_and_in_parts() {
    for in_place in [true, false] {
        let mut guest = Guest::with(DiskLimits::default(), FsPerms::ReadWrite, in_place);
        let mut made: Vec<String> = (0..2_000).map(|number| format!("file-{number}")).collect();
        for name in &made {
            std::fs::write(guest.host(name), "").unwrap();
        }
        made.sort();
        assert_eq!(listed(&mut guest).await, made);
    }
}

#[tokio::test]
async fn names_that_are_no_text_are_left_out_of_a_listing() {
    for in_place in [true, false] {
        let mut guest = Guest::with(DiskLimits::default(), FsPerms::ReadWrite, in_place);
        for number in 0..600 {
            let name = [&b"not-\xff-text-"[..], number.to_string().as_bytes()].concat();
            std::fs::write(guest.host(".").join(OsStr::from_bytes(&name)), "").unwrap();
        }
        assert_eq!(listed(&mut guest).await, [""; 0]);
        for name in ["a", "b"] {
            std::fs::write(guest.host(name), "").unwrap();
        }
        assert_eq!(listed(&mut guest).await, ["a", "b"]);
    }
}

/// The names in the folder, sorted.
async fn listed(guest: &mut Guest) -> Vec<String> {
    let root = guest.root();
    let stream = guest.view().read_directory(root).await.unwrap();
    let mut listed = Vec::new();
    loop {
        let stream = Resource::new_borrow(stream.rep());
        let Some(entry) = guest.view().read_directory_entry(stream).await.unwrap() else { break };
        listed.push(entry.name);
    }
    listed.sort();
    let mut view = guest.view();
    wasmtime_wasi::p2::bindings::filesystem::types::HostDirectoryEntryStream::drop(&mut view, stream)
        .unwrap();
    listed
}
