//! The tree through the functions that a guest calls, beside a mount.

use std::time::Duration;

use dormouse_core::GuestPath;
use dormouse_core::grants::WallClock;
use dormouse_files::{Files as TreeFiles, Quota, Tree};
use wasmtime::component::Resource;
use wasmtime_wasi::FsPerms;
use wasmtime_wasi::p2::bindings::filesystem::preopens::Host as _;
use wasmtime_wasi::p2::bindings::filesystem::types::{
    Advice, DescriptorFlags as Flags, DescriptorType, ErrorCode, Filesize, Host as _, HostDescriptor as _,
    HostDirectoryEntryStream as _, NewTimestamp, OpenFlags, PathFlags,
};
use wasmtime_wasi::p2::{FsResult, InputStream, StreamError};

use super::{OwnFiles, OwnTree};
use crate::disk::DiskLimits;
use crate::disk::tests::{Fd, Guest, code, same};

fn read_write() -> Flags {
    Flags::READ | Flags::WRITE
}

fn guest(bytes: u64, files: u64) -> Guest {
    with(bytes, files, &OwnFiles::Fresh, WallClock::System)
}

fn with(bytes: u64, files: u64, own: &OwnFiles, clock: WallClock) -> Guest {
    let limits = DiskLimits { bytes, files };
    let mut guest = Guest::with(limits, FsPerms::ReadWrite, true);
    guest.files.tree = Some(OwnTree::new(own, clock, None));
    guest.files.arm(limits);
    guest
}

impl Guest {
    fn shown(&mut self, path: &str) -> Fd {
        let all = self.view().get_directories().unwrap();
        all.into_iter().find(|(_, shown)| shown == path).unwrap().0
    }

    async fn open_in(&mut self, folder: &Fd, path: &str, how: OpenFlags, flags: Flags) -> FsResult<Fd> {
        self.view().open_at(same(folder), PathFlags::SYMLINK_FOLLOW, path.into(), how, flags).await
    }

    async fn make(&mut self, folder: &Fd, path: &str) -> FsResult<Fd> {
        self.open_in(folder, path, OpenFlags::CREATE, read_write()).await
    }

    async fn put(&mut self, fd: &Fd, bytes: &[u8], offset: Filesize) -> FsResult<Filesize> {
        self.view().write(same(fd), bytes.to_vec(), offset).await
    }

    async fn get(&mut self, fd: &Fd) -> Vec<u8> {
        self.view().read(same(fd), 1 << 30, 0).await.unwrap().0
    }

    fn close(&mut self, fd: Fd) {
        wasmtime_wasi::p2::bindings::filesystem::types::HostDescriptor::drop(&mut self.view(), fd).unwrap();
    }

    async fn names(&mut self, folder: &Fd) -> Vec<(String, DescriptorType)> {
        let stream = self.view().read_directory(same(folder)).await.unwrap();
        let mut names = Vec::new();
        while let Some(entry) =
            self.view().read_directory_entry(Resource::new_borrow(stream.rep())).await.unwrap()
        {
            names.push((entry.name, entry.type_));
        }
        wasmtime_wasi::p2::bindings::filesystem::types::HostDirectoryEntryStream::drop(
            &mut self.view(),
            stream,
        )
        .unwrap();
        names
    }
}

fn path(path: &str) -> GuestPath {
    GuestPath::parse(path).unwrap()
}

#[tokio::test]
async fn a_fresh_tree_is_made_on_the_first_look_and_shows_tmp_and_a_root_for_reading() {
    let mut guest = guest(100, 10);
    assert!(guest.files.tree.as_ref().unwrap().files.is_none());
    let shown: Vec<String> = guest.view().get_directories().unwrap().into_iter().map(|(_, at)| at).collect();
    assert_eq!(shown, ["/tmp", "/", "/mnt"]);
    let root = guest.shown("/");
    assert_eq!(guest.names(&root).await, [("tmp".into(), DescriptorType::Directory)]);
    assert_eq!(code(guest.make(&root, "x").await), ErrorCode::NotPermitted);
    assert_eq!(code(guest.make(&root, "tmp/x").await), ErrorCode::NotPermitted);
    let missing = guest.view().unlink_file_at(same(&root), "x".into()).await;
    assert_eq!(code(missing), ErrorCode::NoEntry);
    let kept = guest.view().remove_directory_at(same(&root), "tmp".into()).await;
    assert_eq!(code(kept), ErrorCode::NotPermitted);
    for path in ["/tmp", "../etc/passwd", "tmp/../../x"] {
        let refused = guest.open_in(&root, path, OpenFlags::empty(), Flags::READ).await;
        assert_eq!(code(refused), ErrorCode::NotPermitted, "{path}");
    }
    assert!(guest.files.tree.as_ref().unwrap().left(false).is_none(), "nothing was left in it");
}

#[tokio::test]
async fn a_sandboxs_files_are_shown_by_what_they_have_and_outlive_the_guest() {
    let files = TreeFiles::new(Tree::new(Quota { bytes: 50, ..Quota::default() }));
    files.make_folder(&path("/workspace")).unwrap();
    files.make_folder(&path("/data")).unwrap();
    let mut guest = with(10, 0, &OwnFiles::Kept(files.clone()), WallClock::System);
    let shown: Vec<String> = guest.view().get_directories().unwrap().into_iter().map(|(_, at)| at).collect();
    assert_eq!(shown, ["/workspace", "/", "/mnt"]);
    let folder = guest.shown("/workspace");
    let fd = guest.make(&folder, "a").await.unwrap();
    assert_eq!(guest.put(&fd, &[1; 50], 0).await.unwrap(), 50, "their quota is their own");
    assert_eq!(code(guest.put(&fd, &[1], 50).await), ErrorCode::InsufficientSpace);
    assert_eq!(guest.files.budget.written(), 50);
    drop(guest);
    assert_eq!(files.read(&path("/workspace/a"), 0, 99).unwrap(), [1; 50]);
    assert_eq!(files.handles(), 0);
}

#[tokio::test]
async fn the_limits_bound_what_there_is_and_not_what_was_written() {
    let mut guest = guest(10, 2);
    let tmp = guest.shown("/tmp");
    let fd = guest.make(&tmp, "a").await.unwrap();
    for _ in 0..5 {
        assert_eq!(guest.put(&fd, &[7; 10], 0).await.unwrap(), 10);
    }
    assert_eq!(guest.files.budget.written(), 50);
    assert_eq!(code(guest.put(&fd, &[7], 10).await), ErrorCode::InsufficientSpace);
    assert_eq!(code(guest.view().set_size(same(&fd), 11).await), ErrorCode::InsufficientSpace);
    assert_eq!(code(guest.put(&fd, &[7], 1 << 50).await), ErrorCode::FileTooLarge);
    guest.view().set_size(same(&fd), 0).await.unwrap();
    guest.put(&fd, &[7], 9).await.unwrap();
    for _ in 0..3 {
        let fd = guest.make(&tmp, "b").await.unwrap();
        guest.close(fd);
        assert_eq!(code(guest.make(&tmp, "c").await), ErrorCode::InsufficientSpace);
        guest.view().unlink_file_at(same(&tmp), "b".into()).await.unwrap();
    }
    guest.make(&tmp, "b").await.unwrap();
    guest.files.arm(DiskLimits { bytes: 11, files: 3 });
    guest.put(&fd, &[7], 10).await.unwrap();
    guest.make(&tmp, "c").await.unwrap();
    let mount = guest.shown("/mnt");
    let outside = guest.make(&mount, "m").await.unwrap();
    guest.put(&outside, &[1; 11], 0).await.unwrap();
    assert_eq!(code(guest.put(&outside, &[1], 0).await), ErrorCode::InsufficientSpace);
}

#[tokio::test]
async fn streams_read_and_write_at_once_and_say_why_they_fail() {
    let mut guest = guest(10, 2);
    let tmp = guest.shown("/tmp");
    let fd = guest.make(&tmp, "a").await.unwrap();
    let out = guest.view().write_via_stream(same(&fd), 0).unwrap();
    assert_eq!(guest.stream(&out).check_write().unwrap(), 64 << 10);
    guest.stream(&out).write("12345".into()).unwrap();
    guest.stream(&out).blocking_write_and_flush("67".into()).await.unwrap();
    let end = guest.view().append_via_stream(same(&fd)).unwrap();
    guest.stream(&end).write("89".into()).unwrap();
    guest.stream(&out).write("x".into()).unwrap();
    assert_eq!(guest.get(&fd).await, b"1234567x9");
    for _ in 0..2 {
        let full = guest.stream(&end).write("ab".into());
        let Err(StreamError::LastOperationFailed(error)) = full else { panic!("no reason") };
        let error = guest.table.push(error).unwrap();
        let told = guest.view().filesystem_error_code(error).unwrap();
        assert_eq!(told, Some(ErrorCode::InsufficientSpace));
    }
    guest.stream(&end).write("a".into()).unwrap();
    assert_eq!(guest.files.budget.written(), 11);

    let input = guest.view().read_via_stream(same(&fd), 7).unwrap();
    // The stream keeps the file, with or without its name and its descriptor.
    guest.view().unlink_file_at(same(&tmp), "a".into()).await.unwrap();
    guest.close(fd);
    let input: &mut Box<dyn InputStream> = guest.table.get_mut(&input).unwrap();
    assert_eq!(input.read(0).unwrap(), "");
    assert_eq!(input.read(2).unwrap(), "x9");
    tokio::time::timeout(Duration::from_secs(5), input.ready()).await.unwrap();
    assert_eq!(input.blocking_read(99).await.unwrap(), "a");
    assert!(matches!(input.read(1), Err(StreamError::Closed)));
}

#[tokio::test]
async fn a_descriptor_does_what_it_was_opened_for() {
    let mut guest = guest(100, 10);
    let tmp = guest.shown("/tmp");
    let fd = guest.make(&tmp, "a").await.unwrap();
    assert_eq!(guest.view().get_flags(same(&fd)).await.unwrap(), read_write());
    let flags = guest.view().get_flags(same(&tmp)).await.unwrap();
    assert_eq!(flags, Flags::READ | Flags::MUTATE_DIRECTORY);
    assert_eq!(guest.view().get_type(same(&tmp)).await.unwrap(), DescriptorType::Directory);
    let reader = guest.open_in(&tmp, "a", OpenFlags::empty(), Flags::empty()).await.unwrap();
    assert_eq!(guest.view().get_flags(same(&reader)).await.unwrap(), Flags::READ);
    assert_eq!(code(guest.put(&reader, b"x", 0).await), ErrorCode::BadDescriptor);
    let writer = guest.open_in(&tmp, "a", OpenFlags::TRUNCATE, Flags::WRITE).await.unwrap();
    assert_eq!(code(guest.view().read(same(&writer), 1, 0).await), ErrorCode::BadDescriptor);
    assert_eq!(code(guest.view().read_via_stream(same(&tmp), 0)), ErrorCode::IsDirectory);
    assert_eq!(code(guest.view().write_via_stream(same(&tmp), 0)), ErrorCode::BadDescriptor);
    let advised = guest.view().advise(same(&tmp), 0, 0, Advice::WillNeed).await;
    assert_eq!(code(advised), ErrorCode::BadDescriptor);
    guest.view().advise(same(&fd), 0, 0, Advice::WillNeed).await.unwrap();
    guest.view().sync(same(&fd)).await.unwrap();
    guest.view().sync_data(same(&tmp)).await.unwrap();
    let synced = read_write() | Flags::FILE_INTEGRITY_SYNC;
    guest.open_in(&tmp, "a", OpenFlags::empty(), synced).await.unwrap();
    let taken = guest.open_in(&tmp, "a", OpenFlags::CREATE | OpenFlags::EXCLUSIVE, Flags::WRITE).await;
    assert_eq!(code(taken), ErrorCode::Exist);
    let folder = guest.open_in(&tmp, "a", OpenFlags::DIRECTORY, Flags::READ).await;
    assert_eq!(code(folder), ErrorCode::NotDirectory);
}

#[tokio::test]
async fn what_is_known_about_files_is_told() {
    let instant = std::time::UNIX_EPOCH + Duration::new(1_000, 7);
    let mut guest = with(100, 10, &OwnFiles::Fresh, WallClock::Fixed(instant));
    let tmp = guest.shown("/tmp");
    let fd = guest.make(&tmp, "a").await.unwrap();
    guest.put(&fd, b"12345", 0).await.unwrap();
    guest.view().link_at(same(&tmp), PathFlags::empty(), "a".into(), same(&tmp), "b".into()).await.unwrap();
    guest.view().symlink_at(same(&tmp), "a".into(), "l".into()).await.unwrap();
    let stat = guest.view().stat_at(same(&tmp), PathFlags::SYMLINK_FOLLOW, "l".into()).await.unwrap();
    assert_eq!((stat.type_, stat.size, stat.link_count), (DescriptorType::RegularFile, 5, 2));
    let time = stat.data_modification_timestamp.unwrap();
    assert_eq!((time.seconds, time.nanoseconds), (1_000, 7), "the clock that the run was given");
    let link = guest.view().stat_at(same(&tmp), PathFlags::empty(), "l".into()).await.unwrap();
    assert_eq!(link.type_, DescriptorType::SymbolicLink);
    assert_eq!(guest.view().readlink_at(same(&tmp), "l".into()).await.unwrap(), "a");
    let other = guest.open_in(&tmp, "l", OpenFlags::empty(), Flags::READ).await.unwrap();
    assert!(guest.view().is_same_object(same(&fd), same(&other)).await.unwrap());
    assert!(!guest.view().is_same_object(same(&fd), same(&tmp)).await.unwrap());
    let mount = guest.shown("/mnt");
    assert!(!guest.view().is_same_object(same(&mount), same(&tmp)).await.unwrap());
    let hash = guest.view().metadata_hash(same(&fd)).await.unwrap();
    let named = guest.view().metadata_hash_at(same(&tmp), PathFlags::empty(), "b".into()).await.unwrap();
    assert_eq!((hash.lower, hash.upper), (named.lower, named.upper));

    let datetime =
        |seconds| wasmtime_wasi::p2::bindings::clocks::wall_clock::Datetime { seconds, nanoseconds: 9 };
    let set = NewTimestamp::Timestamp(datetime(5));
    guest.view().set_times(same(&fd), NewTimestamp::NoChange, set).await.unwrap();
    let stat = guest.view().stat(same(&fd)).await.unwrap();
    assert_eq!(stat.data_modification_timestamp.unwrap().seconds, 5);
    assert_eq!(stat.data_access_timestamp.unwrap().seconds, 1_000);
    let late = NewTimestamp::Timestamp(datetime(u64::MAX));
    let mut view = guest.view();
    let late = view.set_times_at(same(&tmp), PathFlags::empty(), "l".into(), NewTimestamp::Now, late).await;
    assert_eq!(code(late), ErrorCode::Overflow);
}

#[tokio::test]
async fn names_do_not_pass_between_the_tree_and_a_mount() {
    let mut guest = guest(100, 10);
    let (tmp, mount) = (guest.shown("/tmp"), guest.shown("/mnt"));
    guest.make(&tmp, "a").await.unwrap();
    guest.make(&mount, "m").await.unwrap();
    for (from, name, to) in [(&tmp, "a", &mount), (&mount, "m", &tmp)] {
        let (old, new) = (name.to_owned(), "new".to_owned());
        let moved = guest.view().rename_at(same(from), old.clone(), same(to), new.clone()).await;
        assert_eq!(code(moved), ErrorCode::CrossDevice);
        let linked = guest.view().link_at(same(from), PathFlags::empty(), old, same(to), new).await;
        assert_eq!(code(linked), ErrorCode::CrossDevice);
    }
    guest.view().rename_at(same(&tmp), "a".into(), same(&tmp), "b".into()).await.unwrap();
    guest.view().create_directory_at(same(&tmp), "d".into()).await.unwrap();
    assert_eq!(code(guest.view().remove_directory_at(same(&tmp), "b".into()).await), ErrorCode::NotDirectory);
    guest.view().remove_directory_at(same(&tmp), "d".into()).await.unwrap();
    assert_eq!(guest.names(&tmp).await, [("b".into(), DescriptorType::RegularFile)]);
    assert_eq!(guest.names(&mount).await, [("m".into(), DescriptorType::RegularFile)]);
}

#[tokio::test]
async fn what_the_guest_has_open_of_its_tree_is_known_and_nothing_else_is() {
    let mut guest = guest(100, 10);
    let (tmp, mount) = (guest.shown("/tmp"), guest.shown("/mnt"));
    assert!(guest.view().held().is_empty(), "folders that it was given do not count");
    let own = guest.make(&tmp, "a").await.unwrap();
    guest.make(&mount, "m").await.unwrap();
    let folder = guest.open_in(&tmp, ".", OpenFlags::DIRECTORY, Flags::READ).await.unwrap();
    guest.open_in(&tmp, "missing", OpenFlags::empty(), Flags::READ).await.unwrap_err();
    assert_eq!(guest.view().held().len(), 2);
    let held = guest.view().held();
    guest.close(own);
    guest.close(folder);
    assert!(guest.view().held().is_empty());
    guest.files.held.offer(held);
    assert_eq!(guest.view().held().len(), 2, "what can be opened again belongs to its state");
}
