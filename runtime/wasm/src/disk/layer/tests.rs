//! A folder of the host that is only read, changed through the functions that a guest calls. After each test the host's folder
//! is what it was.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use dormouse_core::grants::WallClock;
use wasmtime::component::Resource;
use wasmtime_wasi::FsPerms;
use wasmtime_wasi::p2::FsResult;
use wasmtime_wasi::p2::bindings::filesystem::preopens::Host as _;
use wasmtime_wasi::p2::bindings::filesystem::types::{
    DescriptorFlags as Flags, DescriptorType, ErrorCode, HostDescriptor as _, HostDirectoryEntryStream as _,
    NewTimestamp, OpenFlags, PathFlags,
};

use super::{Hidden, Layer};
use crate::disk::tests::{Fd, Guest, code, same};
use crate::disk::tree::{OwnFiles, OwnTree};
use crate::disk::{DiskLimits, LeftFiles};

const FOLLOW: PathFlags = PathFlags::SYMLINK_FOLLOW;

/// Everything below a folder: names, and what files and links hold.
fn seen(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let (path, name) = (entry.path(), entry.file_name().into_string().unwrap());
        if path.is_symlink() {
            all.insert(name, fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes());
        } else if path.is_dir() {
            all.insert(format!("{name}/"), Vec::new());
            all.extend(seen(&path).into_iter().map(|(below, held)| (format!("{name}/{below}"), held)));
        } else {
            all.insert(name, fs::read(&path).unwrap());
        }
    }
    all
}

/// A guest in a project: `a.txt`, `src/one.txt`, `src/deep/two.txt`, `full/x`, `empty/`, `link` to `src`, `shop.db`.
struct Inside {
    guest: Guest,
    root: Fd,
    before: BTreeMap<String, Vec<u8>>,
}

impl Inside {
    fn new(bytes: u64, files: u64) -> Self {
        let limits = DiskLimits { bytes, files };
        let mut guest = Guest::with(limits, FsPerms::ReadOnly, true);
        let host = guest.host("");
        for folder in ["src/deep", "full", "empty"] {
            fs::create_dir_all(host.join(folder)).unwrap();
        }
        for (name, text) in
            [("a.txt", "alpha"), ("src/one.txt", "one"), ("src/deep/two.txt", "two"), ("full/x", "x")]
        {
            fs::write(host.join(name), text).unwrap();
        }
        fs::write(host.join("shop.db"), b"SQLite format 3\0 and its pages").unwrap();
        symlink("src", host.join("link")).unwrap();
        symlink("/etc", host.join("out")).unwrap();
        guest.files.tree = Some(OwnTree::new(&OwnFiles::Fresh, WallClock::System, Some("/mnt")));
        guest.files.layer = Some(Layer::new("/mnt", Hidden::default()));
        guest.files.arm(limits);
        let before = seen(&host);
        let root = Self::shown(&mut guest);
        Self { guest, root, before }
    }

    fn shown(guest: &mut Guest) -> Fd {
        let all = guest.view().get_directories().unwrap();
        all.into_iter().find(|(_, path)| path == "/mnt").unwrap().0
    }

    fn root(&self) -> Fd {
        same(&self.root)
    }

    async fn open(&mut self, path: &str, how: OpenFlags, flags: Flags) -> FsResult<Fd> {
        let root = self.root();
        self.guest.view().open_at(root, FOLLOW, path.into(), how, flags).await
    }

    async fn put(&mut self, path: &str, text: &str) -> FsResult<()> {
        let how = OpenFlags::CREATE | OpenFlags::TRUNCATE;
        let file = self.open(path, how, Flags::WRITE).await?;
        self.guest.view().write(same(&file), text.into(), 0).await?;
        self.close(file);
        Ok(())
    }

    async fn get(&mut self, path: &str) -> FsResult<String> {
        let file = self.open(path, OpenFlags::empty(), Flags::READ).await?;
        let (bytes, _) = self.guest.view().read(same(&file), 1 << 20, 0).await?;
        self.close(file);
        Ok(String::from_utf8(bytes).unwrap())
    }

    fn close(&mut self, fd: Fd) {
        wasmtime_wasi::p2::bindings::filesystem::types::HostDescriptor::drop(&mut self.guest.view(), fd)
            .unwrap();
    }

    async fn rename(&mut self, old: &str, new: &str) -> FsResult<()> {
        let (one, other) = (self.root(), self.root());
        self.guest.view().rename_at(one, old.into(), other, new.into()).await
    }

    async fn unlink(&mut self, path: &str) -> FsResult<()> {
        let root = self.root();
        self.guest.view().unlink_file_at(root, path.into()).await
    }

    async fn rmdir(&mut self, path: &str) -> FsResult<()> {
        let root = self.root();
        self.guest.view().remove_directory_at(root, path.into()).await
    }

    async fn mkdir(&mut self, path: &str) -> FsResult<()> {
        let root = self.root();
        self.guest.view().create_directory_at(root, path.into()).await
    }

    /// The names in a folder, sorted; folders end in a slash, links in an `@`.
    async fn names(&mut self, path: &str) -> String {
        let folder = self.open(path, OpenFlags::DIRECTORY, Flags::READ).await.unwrap();
        let stream = self.guest.view().read_directory(same(&folder)).await.unwrap();
        let mut names = Vec::new();
        let next = || Resource::new_borrow(stream.rep());
        while let Some(entry) = self.guest.view().read_directory_entry(next()).await.unwrap() {
            names.push(match entry.type_ {
                DescriptorType::Directory => entry.name + "/",
                DescriptorType::SymbolicLink => entry.name + "@",
                _ => entry.name,
            });
        }
        let mut view = self.guest.view();
        wasmtime_wasi::p2::bindings::filesystem::types::HostDirectoryEntryStream::drop(&mut view, stream)
            .unwrap();
        self.close(folder);
        names.sort();
        names.join(" ")
    }

    /// The host's folder is as it was, and all that was opened on the way is closed.
    fn end(self) {
        assert_eq!(seen(&self.guest.host("")), self.before, "the host's folder has changed");
    }
}

#[tokio::test]
async fn files_are_made_and_changed_beside_those_of_the_project() {
    let mut inside = Inside::new(1_000, 20);
    assert_eq!(inside.get("a.txt").await.unwrap(), "alpha");
    inside.put("new.txt", "new").await.unwrap();
    inside.put("a.txt", "other").await.unwrap();
    inside.put("src/deep/three.txt", "three").await.unwrap();
    for (path, text) in [
        ("new.txt", "new"),
        ("a.txt", "other"),
        ("src/one.txt", "one"),
        ("link/one.txt", "one"),
        ("src/deep/two.txt", "two"),
        ("link/deep/three.txt", "three"),
        ("src/../src/./deep//three.txt", "three"),
    ] {
        assert_eq!(inside.get(path).await.unwrap(), text, "{path}");
    }
    assert_eq!(inside.names(".").await, "a.txt empty/ full/ link@ new.txt out@ shop.db src/");
    assert_eq!(inside.names("link/deep").await, "three.txt two.txt");
    for (path, wanted) in [
        ("none.txt", ErrorCode::NoEntry),
        ("out/passwd", ErrorCode::NotPermitted),
        ("../x", ErrorCode::NotPermitted),
        ("src/../../x", ErrorCode::NotPermitted),
        ("/mnt/a.txt", ErrorCode::NotPermitted),
        ("a.txt/x", ErrorCode::NotDirectory),
        ("a.txt/", ErrorCode::NotDirectory),
    ] {
        assert_eq!(code(inside.get(path).await), wanted, "{path}");
    }
    let exclusive = OpenFlags::CREATE | OpenFlags::EXCLUSIVE;
    for path in ["a.txt", "src", "src/one.txt", "link", "."] {
        assert_eq!(code(inside.open(path, exclusive, Flags::WRITE).await), ErrorCode::Exist, "{path}");
    }
    assert_eq!(code(inside.put("src", "x").await), ErrorCode::IsDirectory);
    inside.end();
}

#[tokio::test]
async fn what_is_written_to_a_part_of_a_file_keeps_the_rest_of_it() {
    let mut inside = Inside::new(1_000, 20);
    let reader = inside.open("a.txt", OpenFlags::empty(), Flags::READ).await.unwrap();
    let file = inside.open("a.txt", OpenFlags::empty(), Flags::READ | Flags::WRITE).await.unwrap();
    let modified = fs::metadata(inside.guest.host("a.txt")).unwrap().modified().unwrap();
    let root = inside.root();
    let stat = inside.guest.view().stat_at(root, FOLLOW, "a.txt".into()).await.unwrap();
    let since = modified.duration_since(std::time::UNIX_EPOCH).unwrap();
    let shown = stat.data_modification_timestamp.unwrap();
    assert_eq!(
        (shown.seconds, shown.nanoseconds),
        (since.as_secs(), since.subsec_nanos()),
        "opening changes no time"
    );
    inside.guest.view().write(same(&file), b"LP".into(), 1).await.unwrap();
    assert_eq!(inside.get("a.txt").await.unwrap(), "aLPha");
    let old = inside.guest.view().read(same(&reader), 100, 0).await.unwrap().0;
    assert_eq!(old, b"alpha", "who had the project's own open keeps that");
    inside.end();
}

#[tokio::test]
async fn what_is_removed_is_gone_for_the_run_alone() {
    let mut inside = Inside::new(1_000, 20);
    inside.unlink("a.txt").await.unwrap();
    assert_eq!(code(inside.get("a.txt").await), ErrorCode::NoEntry);
    assert_eq!(code(inside.unlink("a.txt").await), ErrorCode::NoEntry);
    assert_eq!(code(inside.rmdir("full").await), ErrorCode::NotEmpty);
    assert_eq!(code(inside.rmdir("src/one.txt").await), ErrorCode::NotDirectory);
    assert_eq!(code(inside.unlink("src").await), ErrorCode::IsDirectory);
    inside.rmdir("empty").await.unwrap();
    inside.unlink("full/x").await.unwrap();
    inside.rmdir("full").await.unwrap();
    inside.unlink("link").await.unwrap();
    assert_eq!(inside.names(".").await, "out@ shop.db src/");
    // A folder that takes the place of a removed one begins empty.
    inside.mkdir("full").await.unwrap();
    assert_eq!(inside.names("full").await, "");
    inside.put("full/y", "y").await.unwrap();
    assert_eq!(inside.names("full").await, "y");
    // A file in the place of a folder, and the other way round.
    inside.put("empty", "a file").await.unwrap();
    inside.mkdir("a.txt").await.unwrap();
    assert_eq!(inside.names(".").await, "a.txt/ empty full/ out@ shop.db src/");
    inside.end();
}

#[tokio::test]
async fn removing_a_tree_while_it_is_listed_ends() {
    let mut inside = Inside::new(1_000, 20);
    inside.put("src/mine.txt", "mine").await.unwrap();
    for folder in ["src/deep", "src"] {
        while let name = inside.names(folder).await
            && !name.is_empty()
        {
            inside.unlink(&format!("{folder}/{}", name.split(' ').next().unwrap())).await.unwrap();
        }
        inside.rmdir(folder).await.unwrap();
    }
    assert_eq!(code(inside.get("src/one.txt").await), ErrorCode::NoEntry);
    assert_eq!(code(inside.get("link/one.txt").await), ErrorCode::NoEntry);
    assert_eq!(
        inside.guest.files.layer.as_ref().unwrap().hidden().0.len(),
        1,
        "one path stands for all below it"
    );
    inside.end();
}

#[tokio::test]
async fn files_and_folders_are_renamed_with_what_they_hold() {
    let mut inside = Inside::new(1_000, 30);
    inside.unlink("src/one.txt").await.unwrap();
    inside.put("src/deep/mine.txt", "mine").await.unwrap();
    inside.rename("src", "lib").await.unwrap();
    assert_eq!(inside.names("lib").await, "deep/");
    assert_eq!(inside.names("lib/deep").await, "mine.txt two.txt");
    assert_eq!(inside.get("lib/deep/two.txt").await.unwrap(), "two");
    assert_eq!(code(inside.get("src/deep/two.txt").await), ErrorCode::NoEntry);
    // The way that files are replaced at once.
    inside.put("a.tmp", "whole").await.unwrap();
    inside.rename("a.tmp", "a.txt").await.unwrap();
    assert_eq!(inside.get("a.txt").await.unwrap(), "whole");
    inside.unlink("a.txt").await.unwrap();
    assert_eq!(code(inside.get("a.txt").await), ErrorCode::NoEntry, "the project's does not come back");
    for (old, new, wanted) in [
        ("lib", "lib/deep/x", ErrorCode::Invalid),
        ("lib", "full", ErrorCode::NotEmpty),
        ("full/x", "lib", ErrorCode::IsDirectory),
        ("lib", "full/x", ErrorCode::NotDirectory),
        ("none", "other", ErrorCode::NoEntry),
        ("lib", "none/other", ErrorCode::NoEntry),
        ("shop.db", "other.db", ErrorCode::NotPermitted),
        (".", "other", ErrorCode::Busy),
    ] {
        assert_eq!(code(inside.rename(old, new).await), wanted, "{old} to {new}");
    }
    inside.rename("lib", "empty").await.unwrap();
    assert_eq!(inside.names("empty/deep").await, "mine.txt two.txt");
    inside.rename("link", "way").await.unwrap();
    assert_eq!(inside.names(".").await, "empty/ full/ out@ shop.db way@");
    inside.end();
}

#[tokio::test]
async fn changes_are_bounded_by_the_runs_own_quota() {
    let mut inside = Inside::new(10, 3);
    inside.put("one", "1234567890").await.unwrap();
    assert_eq!(code(inside.put("two", "x").await), ErrorCode::InsufficientSpace);
    // What cannot be brought over stays as it is.
    let writing = inside.open("a.txt", OpenFlags::empty(), Flags::WRITE).await;
    assert_eq!(code(writing), ErrorCode::InsufficientSpace);
    assert_eq!(inside.get("a.txt").await.unwrap(), "alpha");
    inside.unlink("one").await.unwrap();
    inside.put("a.txt", "ok").await.unwrap();
    let mut folders = 0;
    while inside.mkdir(&format!("more{folders}")).await.is_ok() {
        folders += 1;
        assert!(folders < 3, "names are bounded too");
    }
    inside.end();
}

#[tokio::test]
async fn a_database_of_the_project_is_read_and_a_new_one_is_written() {
    let mut inside = Inside::new(1_000, 20);
    for flags in [Flags::WRITE, Flags::READ | Flags::WRITE] {
        assert_eq!(code(inside.open("shop.db", OpenFlags::CREATE, flags).await), ErrorCode::NotPermitted);
    }
    assert!(inside.get("shop.db").await.unwrap().starts_with("SQLite"));
    inside.put("new.db", "SQLite format 3\0 and more").await.unwrap();
    inside.open("new.db", OpenFlags::CREATE, Flags::READ | Flags::WRITE).await.unwrap();
    inside.end();
}

#[tokio::test]
async fn links_times_and_numbers_are_those_of_one_tree() {
    let mut inside = Inside::new(1_000, 20);
    let (root, other) = (inside.root(), inside.root());
    let hash = inside.guest.view().metadata_hash_at(root, FOLLOW, "src".into()).await.unwrap();
    inside.put("src/new.txt", "new").await.unwrap();
    let root = inside.root();
    let after = inside.guest.view().metadata_hash_at(root, FOLLOW, "link".into()).await.unwrap();
    assert_eq!((hash.lower, hash.upper), (after.lower, after.upper), "a folder keeps its number");
    let root = inside.root();
    inside.guest.view().link_at(root, FOLLOW, "link/one.txt".into(), other, "one".into()).await.unwrap();
    inside.put("one", "both").await.unwrap();
    assert_eq!(inside.get("src/one.txt").await.unwrap(), "both");
    let root = inside.root();
    inside.guest.view().symlink_at(root, "src/one.txt".into(), "to".into()).await.unwrap();
    assert_eq!(inside.get("to").await.unwrap(), "both");
    let root = inside.root();
    assert_eq!(inside.guest.view().readlink_at(root, "link".into()).await.unwrap(), "src");
    let root = inside.root();
    let time = wasmtime_wasi::p2::bindings::clocks::wall_clock::Datetime { seconds: 7, nanoseconds: 0 };
    let at = NewTimestamp::Timestamp(time);
    inside.guest.view().set_times_at(root, FOLLOW, "a.txt".into(), at, at).await.unwrap();
    let root = inside.root();
    let stat = inside.guest.view().stat_at(root, FOLLOW, "a.txt".into()).await.unwrap();
    assert_eq!(stat.data_modification_timestamp.unwrap().seconds, 7);
    assert_eq!(inside.get("a.txt").await.unwrap(), "alpha");
    inside.end();
}

#[tokio::test]
async fn a_folder_that_is_open_is_none_of_a_file() {
    let mut inside = Inside::new(1_000, 20);
    for path in ["src", "."] {
        let folder = inside.open(path, OpenFlags::DIRECTORY, Flags::READ).await.unwrap();
        let mut view = inside.guest.view();
        assert_eq!(code(view.read(same(&folder), 1, 0).await), ErrorCode::IsDirectory);
        assert_eq!(code(view.write(same(&folder), b"x".into(), 0).await), ErrorCode::IsDirectory);
        assert!(view.read_via_stream(same(&folder), 0).is_err());
        assert!(view.write_via_stream(same(&folder), 0).is_err());
        view.sync(same(&folder)).await.unwrap();
        assert_eq!(view.get_type(same(&folder)).await.unwrap(), DescriptorType::Directory);
        assert_eq!(view.stat(same(&folder)).await.unwrap().type_, DescriptorType::Directory);
        inside.close(folder);
        inside.put("new.txt", "so that the second is looked up in both").await.unwrap();
    }
    inside.end();
}

#[tokio::test]
async fn names_do_not_pass_to_the_runs_other_folders() {
    let mut inside = Inside::new(1_000, 20);
    let all = inside.guest.view().get_directories().unwrap();
    let tmp = all.into_iter().find(|(_, path)| path == "/tmp").unwrap().0;
    let root = inside.root();
    let renamed = inside.guest.view().rename_at(root, "a.txt".into(), tmp, "a.txt".into()).await;
    assert_eq!(code(renamed), ErrorCode::CrossDevice);
    inside.end();
}

#[tokio::test]
async fn a_driver_is_told_what_the_run_has_made() {
    let mut inside = Inside::new(1_000, 20);
    let word = OpenFlags::DIRECTORY | OpenFlags::EXCLUSIVE | OpenFlags::TRUNCATE;
    assert_eq!(code(inside.open("made a.txt", word, Flags::empty()).await), ErrorCode::NoEntry);
    inside.put("new.txt", "new").await.unwrap();
    inside.put("src/one.txt", "changed").await.unwrap();
    for path in ["new.txt", "link/one.txt"] {
        let made = inside.open(&format!("made {path}"), word, Flags::empty()).await.unwrap();
        inside.close(made);
    }
    // Folders are nobody's code.
    for path in ["a.txt", "none.txt"] {
        let asked = inside.open(&format!("made {path}"), word, Flags::empty()).await;
        assert_eq!(code(asked), ErrorCode::NoEntry, "{path}");
    }
    inside.end();
}

#[tokio::test]
async fn another_run_goes_on_with_what_one_has_left() {
    let mut inside = Inside::new(1_000, 20);
    assert!(inside.guest.files.left().is_none(), "nothing was left");
    inside.put("new.txt", "new").await.unwrap();
    inside.unlink("a.txt").await.unwrap();
    let left: LeftFiles = inside.guest.files.left().unwrap();
    inside.put("new.txt", "changed later").await.unwrap();
    inside.guest.files.tree = Some(OwnTree::copy_of(left.tree, Some("/mnt")));
    inside.guest.files.layer = left.hidden.map(|hidden| Layer::new("/mnt", hidden));
    inside.root = Inside::shown(&mut inside.guest);
    assert_eq!(inside.get("new.txt").await.unwrap(), "new");
    assert_eq!(code(inside.get("a.txt").await), ErrorCode::NoEntry);
    inside.end();
}
