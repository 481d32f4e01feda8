//! The tools' face: whole files by path, all or nothing.

use std::io;

use dormouse_types::{Access, ErrorCode};

use super::*;
use crate::tests::{BOTH, CREATE, audit, opened, path};
use crate::{Flags, OpenFlags, Quota};

fn code<T>(result: Result<T>) -> ErrorCode {
    result.map(|_| ()).unwrap_err().code()
}

#[test]
fn a_file_is_replaced_at_once_and_who_has_it_open_keeps_the_old() {
    let (files, folder) = opened(Quota::default());
    files.write(&path("/w/a/b/f"), b"old").unwrap();
    folder.link_at("a/b/f", false, &folder, "other").unwrap();
    let held = folder.open_at("a/b/f", true, OpenFlags::default(), BOTH).unwrap();
    files.write(&path("/w/a/b/f"), b"new!").unwrap();
    assert_eq!(held.read(0, 9).unwrap().0, b"old");
    assert_eq!(files.read(&path("/w/other"), 0, 9).unwrap(), b"old");
    assert_eq!(files.read(&path("/w/a/b/f"), 1, 2).unwrap(), b"ew");
    assert_eq!(files.read(&path("/w/a/b/f"), 9, 2).unwrap(), b"");
    assert_eq!(files.usage(), crate::Usage { bytes: 7, files: 5 });
    folder.symlink_at("a/b/f", "link").unwrap();
    files.write(&path("/w/link"), b"through").unwrap();
    assert_eq!(files.read(&path("/w/a/b/f"), 0, 9).unwrap(), b"through");
    assert_eq!(code(files.write(&path("/w/a"), b"")), ErrorCode::ArgsInvalid);
    assert_eq!(code(files.write(&path("/"), b"")), ErrorCode::ArgsInvalid);
    assert_eq!(code(files.write(&path("/w/other/f"), b"")), ErrorCode::ArgsInvalid);
    audit(&files);
}

#[test]
fn what_does_not_fit_leaves_everything_as_it_was() {
    let (files, _folder) = opened(Quota { bytes: 100, files: 4, ..Quota::default() });
    files.write(&path("/w/f"), &[1; 100]).unwrap();
    let before = files.list(&path("/"), 9, 99).unwrap();
    for (place, len) in [("/w/f", 101), ("/w/g", 1), ("/w/x/y/f", 0)] {
        assert_eq!(code(files.write(&path(place), &vec![2; len])), ErrorCode::LimitDisk);
        assert_eq!(
            code(files.write_from(&path(place), &mut io::repeat(2).take(len as u64))),
            ErrorCode::LimitDisk
        );
        assert_eq!(files.list(&path("/"), 9, 99).unwrap(), before);
        audit(&files);
    }
    assert_eq!(code(files.write_from(&path("/w/f"), &mut io::repeat(0))), ErrorCode::LimitDisk, "it ends");
    files.write(&path("/w/f"), &[3; 100]).unwrap();
    let text = String::from_utf8(vec![3; 100]).unwrap();
    assert_eq!(code(files.edit(&path("/w/f"), &text, &"x".repeat(101), false)), ErrorCode::LimitDisk);
    assert_eq!(files.edit(&path("/w/f"), &text, &"x".repeat(99), false).unwrap(), 1);
    files.write(&path("/w/g"), b"1").unwrap();
    audit(&files);
}

#[test]
fn what_is_added_to_a_file_is_all_that_is_touched() {
    let (files, folder) = opened(Quota { bytes: 100, files: 9, ..Quota::default() });
    assert_eq!(files.append(&path("/w/a/f"), b"one").unwrap(), 3);
    folder.link_at("a/f", false, &folder, "other").unwrap();
    folder.symlink_at("a/f", "link").unwrap();
    let held = folder.open_at("a/f", true, OpenFlags::default(), BOTH).unwrap();
    assert_eq!(files.append(&path("/w/link"), b"two").unwrap(), 6);
    assert_eq!(held.read(0, 9).unwrap().0, b"onetwo");
    assert_eq!(files.read(&path("/w/other"), 0, 9).unwrap(), b"onetwo");
    assert_eq!(code(files.append(&path("/w/a/f"), &[1; 92])), ErrorCode::LimitDisk);
    assert_eq!(code(files.append(&path("/w/new"), &[1; 92])), ErrorCode::LimitDisk);
    assert_eq!(code(files.append(&path("/w/a"), b"x")), ErrorCode::ArgsInvalid);
    assert_eq!(code(files.append(&path("/w/a/f/g"), b"x")), ErrorCode::ArgsInvalid);
    assert_eq!(files.read(&path("/w/a/f"), 0, 9).unwrap(), b"onetwo");
    audit(&files);
}

/// A hole of nearly 4 GiB and one byte take one block, not a copy of it all.
#[test]
fn fs_08_adding_a_byte_to_a_hole_takes_a_block() {
    let (files, folder) = opened(Quota { bytes: 4 << 30, files: 9, ..Quota::default() });
    files.write(&path("/w/f"), b"").unwrap();
    let held = folder.open_at("f", true, OpenFlags::default(), BOTH).unwrap();
    let hole = (4 << 30) - 10;
    held.set_size(hole).unwrap();
    let begin = std::time::Instant::now();
    for byte in 1..=10 {
        assert_eq!(files.append(&path("/w/f"), b"x").unwrap(), hole + byte);
    }
    assert!(begin.elapsed() < std::time::Duration::from_secs(5), "{:?}", begin.elapsed());
    assert_eq!(code(files.append(&path("/w/f"), b"x")), ErrorCode::LimitDisk);
    assert_eq!(files.read(&path("/w/f"), hole - 1, 99).unwrap(), b"\0xxxxxxxxxx");
    let blocks = files.with(|live, _| {
        let found = live.tree.resolve(ROOT, "w/f", true).unwrap().found().unwrap();
        live.tree.content(found.ino).unwrap().blocks().len()
    });
    assert_eq!(blocks, 1);
    audit(&files);
}

/// Text that differs only at its end from what stands everywhere in the file.
#[test]
fn fs_08_an_edit_takes_no_longer_for_text_that_nearly_stands_everywhere() {
    let (files, _folder) = opened(Quota { bytes: 64 << 20, files: 9, ..Quota::default() });
    files.write(&path("/w/f"), &vec![b'a'; Files::MAX_EDIT]).unwrap();
    let old = format!("{}b", "a".repeat(1 << 20));
    let begin = std::time::Instant::now();
    assert_eq!(code(files.edit(&path("/w/f"), &old, "", true)), ErrorCode::ArgsInvalid);
    assert_eq!(files.edit(&path("/w/f"), "aa", "b", true).unwrap(), Files::MAX_EDIT / 2);
    assert!(begin.elapsed() < std::time::Duration::from_secs(10), "{:?}", begin.elapsed());
}

#[test]
fn an_edit_says_how_often_it_found_the_text() {
    let (files, _folder) = opened(Quota::default());
    let place = path("/w/f");
    files.write(&place, "aXbXc ü\u{0} aaa".as_bytes()).unwrap();
    let message = |old: &str| files.edit(&place, old, "y", false).unwrap_err().message().to_owned();
    assert_eq!(message(""), "the text to replace is empty");
    assert_eq!(message("X"), "`/w/f` holds the text to replace 2 times");
    assert_eq!(message("Z"), "`/w/f` does not hold the text to replace");
    assert_eq!(files.edit(&place, "X", "--", true).unwrap(), 2);
    assert_eq!(files.edit(&place, "ü", "u", false).unwrap(), 1);
    assert_eq!(files.edit(&place, "aa", "b", false).unwrap(), 1, "places do not overlap");
    assert_eq!(files.read(&place, 0, 99).unwrap(), b"a--b--c u\0 ba");
    files.write(&place, &[0xff, b'x', 0xfe]).unwrap();
    assert_eq!(files.edit(&place, "x", "", false).unwrap(), 1);
    assert_eq!(files.read(&place, 0, 99).unwrap(), [0xff, 0xfe], "a file need not be text");
    files.write(&place, &vec![b'a'; Files::MAX_EDIT]).unwrap();
    assert_eq!(code(files.edit(&place, "a", "bb", true)), ErrorCode::TooLarge);
    assert_eq!(files.edit(&place, "a", "b", true).unwrap(), Files::MAX_EDIT);
    files.write(&place, &vec![b'a'; Files::MAX_EDIT + 1]).unwrap();
    assert_eq!(code(files.edit(&place, "a", "b", true)), ErrorCode::TooLarge);
    assert_eq!(code(files.edit(&path("/w"), "a", "b", true)), ErrorCode::ArgsInvalid);
    assert_eq!(code(files.edit(&path("/none"), "a", "b", true)), ErrorCode::NotFound);
}

#[test]
fn an_edit_loses_nobody_elses_change() {
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::sync::{Arc, OnceLock};
    // The clock is asked once a call, and so stands between an edit's look and its change.
    let (slot, calls) = (Arc::new(OnceLock::<Files>::new()), Arc::new(AtomicU32::new(100)));
    let (inner, count) = (slot.clone(), calls.clone());
    let files = Files::with_clock(Tree::default(), move || {
        if count.fetch_add(1, Ordering::Relaxed) == 1
            && let Some(files) = inner.get()
        {
            let folder = files.open_folder(&path("/"), Access::ReadWrite).unwrap();
            let file = folder.open_at("f", true, OpenFlags::default(), BOTH).unwrap();
            file.write(0, b"B").unwrap();
        }
        7
    });
    files.write(&path("/f"), b"aaa x").unwrap();
    assert!(slot.set(files.clone()).is_ok());
    calls.store(0, Ordering::Relaxed);
    assert_eq!(code(files.edit(&path("/f"), "x", "y", false)), ErrorCode::Busy);
    assert_eq!(files.read(&path("/f"), 0, 9).unwrap(), b"Baa x");
    assert_eq!(files.edit(&path("/f"), "x", "y", false).unwrap(), 1);
}

#[test]
fn a_list_is_bounded_in_levels_and_in_entries() {
    let (files, folder) = opened(Quota::default());
    for name in ["b/x", "b/c/y", "a", "b.txt"] {
        files.write(&path(&format!("/w/{name}")), b"1").unwrap();
    }
    folder.symlink_at("b", "link").unwrap();
    let names = |levels, limit| {
        let list = files.list(&path("/w"), levels, limit).unwrap();
        (list.entries.into_iter().map(|entry| entry.path).collect::<Vec<_>>().join(" "), list.more)
    };
    assert_eq!(names(1, 99), ("a b b.txt link".into(), false));
    assert_eq!(names(2, 99), ("a b b/c b/x b.txt link".into(), false));
    assert_eq!(names(9, 99), ("a b b/c b/c/y b/x b.txt link".into(), false));
    assert_eq!(names(9, 7), ("a b b/c b/c/y b/x b.txt link".into(), false));
    assert_eq!(names(9, 6), ("a b b/c b/c/y b/x b.txt".into(), true));
    assert_eq!(names(9, 0), (String::new(), true));
    let link = files.list(&path("/w"), 1, 99).unwrap().entries.pop().unwrap();
    assert_eq!((link.stat.kind, link.target.as_deref()), (Kind::Link, Some("b")));
    let file = files.list(&path("/w/a"), 1, 99).unwrap();
    assert_eq!((file.entries.len(), file.entries[0].path.as_str()), (1, ""));
    assert_eq!(files.list(&path("/w/link"), 1, 99).unwrap().entries.len(), 2, "the path itself is followed");
    assert_eq!(code(files.list(&path("/none"), 1, 1)), ErrorCode::NotFound);
}

#[test]
fn folders_are_made_and_removed_with_what_they_hold() {
    let (files, folder) = opened(Quota::default());
    files.make_folder(&path("/w/a/b/c")).unwrap();
    files.make_folder(&path("/w/a/b/c")).unwrap();
    files.make_folder(&path("/")).unwrap();
    files.write(&path("/w/a/f"), b"123").unwrap();
    folder.link_at("a/f", false, &folder, "g").unwrap();
    folder.symlink_at("..", "a/up").unwrap();
    assert_eq!(code(files.make_folder(&path("/w/g"))), ErrorCode::ArgsInvalid);
    assert_eq!(code(files.make_folder(&path("/w/g/x"))), ErrorCode::ArgsInvalid);
    assert_eq!(code(files.remove(&path("/w/a"), false)), ErrorCode::ArgsInvalid);
    assert_eq!(code(files.remove(&path("/"), true)), ErrorCode::Busy);
    assert_eq!(code(files.remove(&path("/none"), true)), ErrorCode::NotFound);
    let held = folder.open_at("a/b/h", true, CREATE, BOTH).unwrap();
    held.write(0, b"held").unwrap();
    files.remove(&path("/w/a"), true).unwrap();
    assert_eq!(files.usage(), crate::Usage { bytes: 7, files: 3 });
    drop(held);
    assert_eq!(files.usage(), crate::Usage { bytes: 3, files: 2 });
    files.rename(&path("/w/g"), &path("/h"), false).unwrap();
    assert_eq!(code(files.rename(&path("/w"), &path("/w/x/y"), false)), ErrorCode::ArgsInvalid);
    assert_eq!(files.stat(&path("/h")).unwrap().size, 3);
    files.write(&path("/full/f"), b"1").unwrap();
    for (from, to, blamed) in [
        ("/w", "/full", "/full"),
        ("/h", "/full", "/full"),
        ("/w", "/h", "/h"),
        ("/none", "/full", "/none"),
        ("/h", "/full/f/x", "/full/f/x"),
    ] {
        let refused = files.rename(&path(from), &path(to), true).unwrap_err();
        assert!(refused.message().starts_with(&format!("`{blamed}`: ")), "{from} {to}: {refused}");
        assert!(!refused.hint().unwrap_or_default().contains("recursive"), "{refused}");
    }
    audit(&files);
}

#[test]
fn streams_go_in_and_out_whole() {
    let (files, _folder) = opened(Quota::default());
    let bytes: Vec<u8> = (0..3_000_001_u32).map(|at| u8::try_from(at % 251).unwrap()).collect();
    assert_eq!(files.write_from(&path("/w/f"), &mut bytes.as_slice()).unwrap(), bytes.len() as u64);
    let mut out = Vec::new();
    assert_eq!(files.read_to(&path("/w/f"), &mut out).unwrap(), bytes.len() as u64);
    assert!(out == bytes);
    let mut small = [0_u8; 10];
    assert_eq!(code(files.read_to(&path("/w/f"), &mut small.as_mut_slice())), ErrorCode::Internal);
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("gone"))
        }
    }
    assert_eq!(code(files.write_from(&path("/w/g"), &mut Broken)), ErrorCode::Internal);
    assert_eq!(code(files.stat(&path("/w/g"))), ErrorCode::NotFound);
}

#[test]
fn a_preopen_is_a_folder_and_the_host_follows_links_within_the_tree() {
    let (files, folder) = opened(Quota::default());
    files.write(&path("/tmp/f"), b"1").unwrap();
    folder.symlink_at("../tmp", "out").unwrap();
    folder.symlink_at("../../tmp", "further").unwrap();
    assert_eq!(files.read(&path("/w/out/f"), 0, 9).unwrap(), b"1");
    assert_eq!(code(files.read(&path("/w/further/f"), 0, 9)), ErrorCode::PathDenied);
    assert_eq!(folder.stat_at("out/f", true), Err(Errno::NotPermitted));
    let opened = files.open_folder(&path("/w/out"), Access::ReadOnly).unwrap();
    assert_eq!(
        opened.open_at("f", true, OpenFlags::default(), Flags::default()).unwrap().read(0, 9).unwrap().0,
        b"1"
    );
    assert_eq!(code(files.open_folder(&path("/tmp/f"), Access::ReadOnly)), ErrorCode::ArgsInvalid);
    assert_eq!(code(files.open_folder(&path("/none"), Access::ReadOnly)), ErrorCode::NotFound);
}
