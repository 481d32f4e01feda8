//! Drafts, permissions, damage and what is tidied up in private folders.

use std::fs::Permissions;
use std::io::Read as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::time::{Duration, SystemTime};

use super::*;

fn folder() -> (tempfile::TempDir, PathBuf, Folder) {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("cache/inner");
    let folder = Folder::make(&path).unwrap();
    (place, path, folder)
}

fn text(mut file: File) -> String {
    let mut text = String::new();
    file.read_to_string(&mut text).unwrap();
    text
}

fn names(path: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn put(folder: &Folder, name: &str, bytes: &[u8]) -> File {
    folder.write(name, bytes, Durability::Unsynced).unwrap()
}

/// As if the file had been written so long ago.
fn age(path: &Path, seconds: u64) {
    let file = File::options().append(true).open(path).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(seconds)).unwrap();
}

#[test]
fn what_is_written_is_private_and_is_read_back() {
    let (_place, path, folder) = folder();
    for durability in [Durability::Synced, Durability::Unsynced] {
        folder.write("a", b"one", durability).unwrap();
        assert_eq!(text(folder.file("a").unwrap().unwrap()), "one");
        assert_eq!(fs::metadata(path.join("a")).unwrap().mode() & 0o777, 0o600);
    }
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o700);
    assert_eq!(names(&path), ["a"]);
    assert!(folder.file("b").unwrap().is_none());
    assert!(Folder::open(&path.join("none")).unwrap().is_none());
}

#[test]
fn cmp_06_a_file_that_is_replaced_stays_whole_for_who_has_it_open() {
    let (_place, path, folder) = folder();
    let first = put(&folder, "a", b"the first");
    let open = folder.file("a").unwrap().unwrap();
    put(&folder, "a", b"2");
    assert_eq!(text(open), "the first");
    assert_eq!(first.metadata().unwrap().len(), 9);
    assert_eq!(text(folder.file("a").unwrap().unwrap()), "2");
    assert_eq!(names(&path), ["a"]);
}

#[test]
fn cmp_06_writers_at_once_share_no_draft_and_readers_see_no_half() {
    let (_place, path, _) = folder();
    std::thread::scope(|threads| {
        for writer in 0..8_u8 {
            let path = &path;
            threads.spawn(move || {
                let folder = Folder::open(path).unwrap().unwrap();
                for _ in 0..40 {
                    put(&folder, "a", &vec![b'a' + writer; 100_000 + usize::from(writer)]);
                    let seen = text(folder.file("a").unwrap().unwrap());
                    let first = seen.as_bytes()[0];
                    assert_eq!(seen.len(), 100_000 + usize::from(first - b'a'));
                    assert!(seen.bytes().all(|byte| byte == first), "two writers are mixed");
                }
            });
        }
    });
    assert_eq!(names(&path), ["a"]);
}

#[test]
fn cmp_06_what_others_own_or_can_write_is_refused_with_its_reason() {
    let (_place, path, folder) = folder();
    put(&folder, "a", b"");
    let mode = |name: &str, mode| fs::set_permissions(path.join(name), Permissions::from_mode(mode)).unwrap();
    let why = |name: &str| folder.file(name).unwrap_err().message().to_owned();
    for bits in [0o620, 0o602, 0o666] {
        mode("a", bits);
        assert!(why("a").ends_with("others can write it"), "{bits:o}: {}", why("a"));
    }
    mode("a", 0o644);
    folder.file("a").unwrap().unwrap();
    symlink("a", path.join("link")).unwrap();
    assert!(why("link").ends_with("it is a symbolic link"), "{}", why("link"));
    fs::create_dir(path.join("folder")).unwrap();
    assert!(why("folder").ends_with("it is no file"), "{}", why("folder"));

    let whole = |path: &Path| Folder::open(path).err().map(|error| error.message().to_owned());
    symlink(&path, path.join("way")).unwrap();
    assert!(whole(&path.join("way")).unwrap().ends_with("it is a symbolic link"));
    assert!(whole(&path.join("a")).is_some());
    fs::set_permissions(&path, Permissions::from_mode(0o777)).unwrap();
    assert!(whole(&path).unwrap().ends_with("others can write it"));
    assert!(Folder::make(&path).is_err(), "nothing is written where others can write");
}

#[test]
fn cmp_06_what_was_installed_is_used_where_nobody_but_its_owner_can_write_it() {
    let (_place, path, folder) = folder();
    put(&folder, "a", b"x");
    let installed = || Folder::installed(&path).and_then(|folder| folder.unwrap().file("a")).map(drop);
    let refused = |why: &str| {
        let error = installed().unwrap_err();
        let hint = error.hint().unwrap_or_default();
        assert!(error.to_string().contains(why) && hint.contains("install the release again"), "{error:?}");
    };
    for mode in [0o700, 0o755] {
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        installed().unwrap();
    }
    for open in [&path, &path.join("a")] {
        let before = fs::metadata(open).unwrap().permissions();
        for mode in [0o775, 0o757] {
            fs::set_permissions(open, Permissions::from_mode(mode)).unwrap();
            refused("others can write it");
        }
        fs::set_permissions(open, before).unwrap();
    }
    // Only root can give files away.
    for owned in [&path.join("a"), &path] {
        if std::os::unix::fs::chown(owned, Some(65_534), None).is_ok() {
            refused("another user owns it");
        }
    }
    assert!(Folder::installed(&path.join("none")).unwrap().is_none());
}

#[test]
fn a_write_that_fails_leaves_nothing() {
    let (_place, path, folder) = folder();
    fs::create_dir(path.join("taken")).unwrap();
    let error = folder.write("taken", b"x", Durability::Synced).unwrap_err();
    assert!(error.hint().is_some(), "{error}");
    assert_eq!(names(&path), ["taken"]);
}

#[test]
fn drafts_of_processes_that_were_killed_go_after_an_hour() {
    let (_place, path, folder) = folder();
    for (name, seconds) in [(".draft-old", 3_700), (".draft-young", 3_500), (".a.cwasm.1", 3_700)] {
        fs::write(path.join(name), "half").unwrap();
        age(&path.join(name), seconds);
    }
    put(&folder, "kept", b"");
    age(&path.join("kept"), 1_000_000);
    folder.tidy(None, "other");
    assert_eq!(names(&path), [".draft-young", "kept"]);
}

#[test]
fn past_the_bound_the_oldest_go_and_take_their_checksums_with_them() {
    let (_place, path, folder) = folder();
    for (name, seconds) in [("a", 30), ("b", 20), ("c", 10), ("d", 40)] {
        for (extension, size) in [("cwasm", 90), ("sum", 10)] {
            let file = format!("{name}.{extension}");
            put(&folder, &file, &vec![0; size]);
            age(&path.join(file), seconds);
        }
    }
    folder.tidy(Some(400), "d.cwasm");
    assert_eq!(names(&path).len(), 8, "the bound is not reached");
    folder.tidy(Some(399), "d.cwasm");
    assert_eq!(names(&path), ["b.cwasm", "b.sum", "c.cwasm", "c.sum", "d.cwasm", "d.sum"]);
    // A checksum that was written later, for another boot, keeps its artifact.
    age(&path.join("b.sum"), 1);
    folder.tidy(Some(200), "d.cwasm");
    assert_eq!(names(&path), ["b.cwasm", "b.sum", "d.cwasm", "d.sum"]);
    folder.tidy(Some(0), "d.cwasm");
    assert_eq!(names(&path), ["d.cwasm", "d.sum"], "the newest stays");
}
