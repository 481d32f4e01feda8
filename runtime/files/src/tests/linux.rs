//! Random sequences of operations, done both in a tree and in a real folder through cap-std, which keeps paths inside as
//! WASI wants it: results, errors, open files and the trees must be equal.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::fs::FileExt as _;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, MetadataExt as _, OpenOptions};

use super::{audit, opened};
use crate::testing::Random;
use crate::{Errno, Flags, Handle, Kind, OpenFlags, Quota};

/// What Linux answers, in our words.
fn errno(error: &io::Error) -> Errno {
    match error.raw_os_error() {
        Some(1) | None => Errno::NotPermitted,
        Some(2) => Errno::NoEntry,
        Some(9) => Errno::BadDescriptor,
        Some(16) => Errno::Busy,
        Some(17) => Errno::Exists,
        Some(20) => Errno::NotDirectory,
        Some(21) => Errno::IsDirectory,
        Some(22) => Errno::Invalid,
        Some(36) => Errno::NameTooLong,
        Some(39) => Errno::NotEmpty,
        Some(40) => Errno::Loop,
        other => panic!("errno {other:?}: {error}"),
    }
}

/// Everything below a real folder: path, kind, and content or target.
fn real(dir: &Dir, above: &str, found: &mut BTreeMap<String, (Kind, Vec<u8>, u64)>) {
    for entry in dir.entries().unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let (path, meta) = (format!("{above}{name}"), dir.symlink_metadata(&name).unwrap());
        let (bytes, links) = if meta.is_dir() {
            real(&dir.open_dir(&name).unwrap(), &format!("{path}/"), found);
            (Vec::new(), 0)
        } else if meta.is_symlink() {
            (dir.read_link(&name).unwrap().into_os_string().into_encoded_bytes(), meta.nlink())
        } else {
            (dir.read(&name).unwrap(), meta.nlink())
        };
        let kind = if meta.is_dir() {
            Kind::Folder
        } else if meta.is_symlink() {
            Kind::Link
        } else {
            Kind::File
        };
        found.insert(path, (kind, bytes, links));
    }
}

/// The same below a folder of a tree.
fn ours(folder: &Handle, above: &str, found: &mut BTreeMap<String, (Kind, Vec<u8>, u64)>) {
    for entry in folder.list().unwrap() {
        let entry = entry.unwrap();
        let path = format!("{above}{}", entry.name);
        let stat = folder.stat_at(&entry.name, false).unwrap();
        assert_eq!(stat.kind, entry.kind);
        let (bytes, links) = match entry.kind {
            Kind::Folder => {
                let inner =
                    folder.open_at(&entry.name, false, OpenFlags::default(), Flags::default()).unwrap();
                ours(&inner, &format!("{path}/"), found);
                (Vec::new(), 0)
            }
            Kind::Link => (folder.readlink_at(&entry.name).unwrap().as_bytes().to_vec(), stat.links),
            Kind::File => {
                let file =
                    folder.open_at(&entry.name, false, OpenFlags::default(), Flags::default()).unwrap();
                (file.read(0, u64::MAX).unwrap().0, stat.links)
            }
        };
        found.insert(path, (entry.kind, bytes, links));
    }
}

fn random_path(random: &mut Random) -> String {
    let parts = 1 + random.below(4);
    let mut path = Vec::new();
    for _ in 0..parts {
        path.push(["a", "b", "c", "a", "b", "c", "d", "..", "."][random.below(9)]);
    }
    path.join("/")
}

struct Pair {
    folder: Handle,
    dir: Dir,
    open: Vec<(Handle, std::fs::File)>,
}

impl Pair {
    /// One random operation in both. Answers what was done and both results.
    fn step(&mut self, random: &mut Random) -> (String, Result<String, Errno>, Result<String, Errno>) {
        let (one, two) = (random_path(random), random_path(random));
        let real = |result: io::Result<String>| result.map_err(|error| errno(&error));
        let nothing = |()| String::new();
        let (folder, dir) = (&self.folder, &self.dir);
        match random.below(16) {
            0 | 1 => (
                format!("mkdir {one}"),
                folder.create_directory_at(&one).map(nothing),
                real(dir.create_dir(&one).map(nothing)),
            ),
            2 => (
                format!("rmdir {one}"),
                folder.remove_directory_at(&one).map(nothing),
                real(dir.remove_dir(&one).map(nothing)),
            ),
            3 => (
                format!("unlink {one}"),
                folder.unlink_file_at(&one).map(nothing),
                real(dir.remove_file(&one).map(nothing)),
            ),
            4..7 => (
                format!("rename {one} {two}"),
                folder.rename_at(&one, folder, &two).map(nothing),
                real(dir.rename(&one, dir, &two).map(nothing)),
            ),
            7 => (
                format!("link {one} {two}"),
                folder.link_at(&one, false, folder, &two).map(nothing),
                real(dir.hard_link(&one, dir, &two).map(nothing)),
            ),
            8 => (
                format!("symlink {one} {two}"),
                folder.symlink_at(&one, &two).map(nothing),
                real(dir.symlink(&one, &two).map(nothing)),
            ),
            9 => (
                format!("readlink {one}"),
                folder.readlink_at(&one).map(|target| target.to_string()),
                real(dir.read_link(&one).map(|target| target.into_os_string().into_string().unwrap())),
            ),
            10 => {
                let shown = |kind: Kind, size: u64, links: u64| match kind {
                    Kind::Folder => format!("{kind:?}"),
                    _ => format!("{kind:?} {size} {links}"),
                };
                (
                    format!("stat {one}"),
                    folder.stat_at(&one, true).map(|stat| shown(stat.kind, stat.size, stat.links)),
                    real(dir.metadata(&one).map(|meta| {
                        let std = if meta.is_dir() { Kind::Folder } else { Kind::File };
                        shown(std, meta.len(), meta.nlink())
                    })),
                )
            }
            11 | 12 => self.open(random, &one),
            _ => self.use_open(random),
        }
    }

    fn open(
        &mut self,
        random: &mut Random,
        path: &str,
    ) -> (String, Result<String, Errno>, Result<String, Errno>) {
        let create = random.below(3) > 0;
        let flags = OpenFlags {
            create,
            exclusive: create && random.below(4) == 0,
            truncate: random.below(4) == 0,
            directory: false,
        };
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(create).truncate(flags.truncate).create_new(flags.exclusive);
        let both = Flags { read: true, write: true, mutate: false };
        let ours = self.folder.open_at(path, true, flags, both);
        let real = self.dir.open_with(path, &options);
        let results = (
            format!("open {path} {flags:?}"),
            ours.as_ref().map(|_| String::new()).map_err(|errno| *errno),
            real.as_ref().map(|_| String::new()).map_err(errno),
        );
        if let (Ok(ours), Ok(real)) = (ours, real) {
            self.open.push((ours, real.into_std()));
        }
        results
    }

    /// Reads, writes or cuts an open file, which may have no name any more.
    fn use_open(&mut self, random: &mut Random) -> (String, Result<String, Errno>, Result<String, Errno>) {
        if self.open.is_empty() {
            return (String::new(), Ok(String::new()), Ok(String::new()));
        }
        let at = random.below(self.open.len());
        let (ours, file) = &self.open[at];
        let offset = [random.below(100), random.below(200_000)][random.below(2)] as u64;
        let len = [random.below(50), random.below(100_000)][random.below(2)];
        match random.below(8) {
            0..3 => {
                let bytes = vec![u8::try_from(random.below(255)).unwrap() + 1; len];
                let real = file.write_all_at(&bytes, offset);
                let ours = ours.write(offset, &bytes);
                (
                    format!("write {at} {offset} {len}"),
                    ours.map(|_| String::new()),
                    real.map(|()| String::new()).map_err(|e| errno(&e)),
                )
            }
            3..6 => {
                let mut bytes = vec![0; len];
                let read = file.read_at(&mut bytes, offset).unwrap();
                bytes.truncate(read);
                let (read, _) = ours.read(offset, len as u64).unwrap();
                assert!(read == bytes, "read {at} {offset} {len}");
                let links = std::os::unix::fs::MetadataExt::nlink(&file.metadata().unwrap());
                (format!("fstat {at}"), ours.stat().map(|stat| stat.links.to_string()), Ok(links.to_string()))
            }
            6 => {
                let real = file.set_len(offset).map(|()| String::new()).map_err(|e| errno(&e));
                (format!("cut {at} {offset}"), ours.set_size(offset).map(|()| String::new()), real)
            }
            _ => {
                self.open.swap_remove(at);
                (format!("close {at}"), Ok(String::new()), Ok(String::new()))
            }
        }
    }
}

#[test]
fn random_sequences_end_as_they_do_on_linux() {
    for seed in 0..20 {
        let mut random = Random::new(seed);
        let scratch = tempfile::tempdir().unwrap();
        let dir = Dir::open_ambient_dir(scratch.path(), ambient_authority()).unwrap();
        let (files, folder) = opened(Quota::default());
        let mut pair = Pair { folder, dir, open: Vec::new() };
        let mut succeeded = 0;
        for step in 0..1000 {
            let (done, ours, real) = pair.step(&mut random);
            // Of two reasons to refuse a link Linux finds that of the old path first, as we do; cap-std that of the folders.
            if !done.starts_with("link") || ours.is_ok() || real.is_ok() {
                assert_eq!(ours, real, "seed {seed}, step {step}: {done}");
            }
            succeeded += usize::from(ours.is_ok());
            if step % 10 == 0 {
                audit(&files);
            }
        }
        assert!(succeeded > 200, "only {succeeded} operations succeeded");
        let (mut left, mut right) = (BTreeMap::new(), BTreeMap::new());
        ours(&pair.folder, "", &mut left);
        real(&pair.dir, "", &mut right);
        assert_eq!(left, right);
        drop(pair);
        audit(&files);
    }
}
