//! The guest's face: flags, refusals, and files that live on without a name.

use dormouse_types::Access;

use super::*;
use crate::tests::{BOTH, CREATE, audit, opened, path};
use crate::{Quota, Tree};

const READ: Flags = Flags { read: true, write: false, mutate: false };
const WRITE: Flags = Flags { read: false, write: true, mutate: false };
const PLAIN: OpenFlags = OpenFlags { create: false, directory: false, exclusive: false, truncate: false };

fn refusal(result: Result<Handle, Errno>) -> Errno {
    result.map(|handle| handle.stat()).unwrap_err()
}

#[test]
fn open_flags_decide_what_may_stand_there() {
    let (_files, folder) = opened(Quota::default());
    folder.create_directory_at("d").unwrap();
    folder.symlink_at("f", "to-f").unwrap();
    folder.symlink_at("none", "to-none").unwrap();
    folder.open_at("f", true, CREATE, BOTH).unwrap().write(0, b"abc").unwrap();
    let open = |path: &str, follow, open, flags| refusal(folder.open_at(path, follow, open, flags));
    let exclusive = OpenFlags { exclusive: true, ..CREATE };
    let directory = OpenFlags { directory: true, ..PLAIN };
    let truncate = OpenFlags { truncate: true, ..PLAIN };
    assert_eq!(open("none", true, PLAIN, READ), Errno::NoEntry);
    assert_eq!(open("f", true, exclusive, BOTH), Errno::Exists);
    assert_eq!(open("to-none", true, exclusive, BOTH), Errno::Exists);
    assert_eq!(open("d", true, exclusive, READ), Errno::Exists);
    assert_eq!(open("to-f", false, PLAIN, READ), Errno::Loop);
    assert_eq!(open("f", true, directory, READ), Errno::NotDirectory);
    assert_eq!(open("f/", true, PLAIN, READ), Errno::NotDirectory);
    assert_eq!(open("g/", true, CREATE, READ), Errno::IsDirectory);
    for (flags, with) in [(PLAIN, WRITE), (CREATE, READ), (truncate, READ)] {
        assert_eq!(open("d", true, flags, with), Errno::IsDirectory);
    }
    for bad in [OpenFlags { create: true, ..directory }, OpenFlags { truncate: true, ..directory }] {
        assert_eq!(open("d", true, bad, READ), Errno::Invalid);
    }
    let file = folder.open_at("to-none", true, CREATE, WRITE).unwrap();
    assert_eq!(folder.stat_at("none", false).unwrap().inode, file.stat().unwrap().inode);
    assert_eq!(folder.open_at("to-f", true, truncate, BOTH).unwrap().stat().unwrap().size, 0);
    assert_eq!(folder.open_at("d", true, directory, READ).unwrap().flags(), folder.flags());
    assert_eq!(folder.open_at(".", true, PLAIN, READ).unwrap().kind(), Kind::Folder);
}

#[test]
fn a_handle_does_what_it_was_opened_for() {
    let (_files, folder) = opened(Quota::default());
    let file = folder.open_at("f", true, CREATE, WRITE).unwrap();
    assert_eq!(file.write(0, b"abc"), Ok(3));
    assert_eq!(file.read(0, 1), Err(Errno::BadDescriptor));
    let file = folder.open_at("f", true, PLAIN, READ).unwrap();
    assert_eq!(file.read(0, 9), Ok((b"abc".to_vec(), true)));
    assert_eq!(file.read(0, 2), Ok((b"ab".to_vec(), false)));
    assert_eq!(file.read(u64::MAX, u64::MAX), Ok((Vec::new(), true)));
    for refused in [file.write(0, b"x"), file.append(b"x"), file.set_size(0).map(|()| 0)] {
        assert_eq!(refused, Err(Errno::BadDescriptor));
    }
    assert_eq!(folder.open_at("f", true, PLAIN, Flags::default()).unwrap().flags(), READ);
    assert_eq!(folder.write(0, b"x"), Err(Errno::IsDirectory));
    assert_eq!(folder.read(0, 1), Err(Errno::IsDirectory));
    assert!(matches!(file.list(), Err(Errno::NotDirectory)));
    assert_eq!(file.stat_at("x", true), Err(Errno::NotDirectory));
    assert_eq!(file.create_directory_at("x"), Err(Errno::NotDirectory));
}

#[test]
fn nothing_can_be_changed_through_a_folder_granted_for_reading() {
    let (files, folder) = opened(Quota::default());
    folder.create_directory_at("d").unwrap();
    folder.open_at("d/f", true, CREATE, BOTH).unwrap().write(0, b"abc").unwrap();
    let (before, usage) = (files.list(&path("/"), 9, 99).unwrap(), files.usage());
    let granted = files.open_folder(&path("/w"), Access::ReadOnly).unwrap();
    let inner = granted.open_at("d", true, PLAIN, READ).unwrap();
    assert!(!inner.flags().mutate);
    let file = inner.open_at("f", true, PLAIN, READ).unwrap();
    assert_eq!(file.read(0, 9).unwrap().0, b"abc");
    let truncate = OpenFlags { truncate: true, ..PLAIN };
    for (flags, with) in
        [(PLAIN, WRITE), (CREATE, READ), (truncate, READ), (PLAIN, Flags { mutate: true, ..READ })]
    {
        assert_eq!(refusal(inner.open_at("f", true, flags, with)), Errno::NotPermitted);
    }
    let now = NewTime::Now;
    for refused in [
        file.write(0, b"x").map(|_| ()),
        file.append(b"x").map(|_| ()),
        file.set_size(0),
        file.set_times(now, now),
        inner.set_times(now, now),
        inner.set_times_at("f", true, now, now),
        inner.create_directory_at("g"),
        inner.unlink_file_at("f"),
        granted.remove_directory_at("d"),
        inner.symlink_at("f", "g"),
        inner.link_at("f", false, &folder, "g"),
        folder.link_at("d/f", false, &inner, "g"),
        inner.rename_at("f", &folder, "g"),
        folder.rename_at("d/f", &inner, "g"),
    ] {
        assert_eq!(refused, Err(Errno::NotPermitted));
    }
    assert_eq!((files.list(&path("/"), 9, 99).unwrap(), files.usage()), (before, usage));
}

#[test]
fn a_file_without_a_name_lives_and_costs_as_long_as_it_is_open() {
    let (files, folder) = opened(Quota { bytes: 100, files: 3, ..Quota::default() });
    let file = folder.open_at("f", true, CREATE, BOTH).unwrap();
    file.write(0, &[1; 100]).unwrap();
    let again = file.clone();
    folder.unlink_file_at("f").unwrap();
    assert_eq!(file.stat().unwrap().links, 0);
    let other = folder.open_at("g", true, CREATE, BOTH).unwrap();
    assert_eq!(other.write(0, b"x"), Err(Errno::NoSpace));
    assert_eq!(refusal(folder.open_at("h", true, CREATE, BOTH)), Errno::NoSpace);
    drop(file);
    assert_eq!(other.write(0, b"x"), Err(Errno::NoSpace));
    assert_eq!(again.read(99, 9).unwrap().0, [1]);
    drop(again);
    assert_eq!(other.write(0, &[2; 100]), Ok(100));
    audit(&files);
    // The same for what a rename takes the place of, and for a folder.
    folder.open_at("h", true, CREATE, BOTH).unwrap();
    folder.rename_at("h", &folder, "g").unwrap();
    assert_eq!(other.read(0, 1).unwrap().0, [2]);
    assert_eq!(files.usage().bytes, 100);
    drop(other);
    assert_eq!(files.usage().bytes, 0);
    folder.create_directory_at("d").unwrap();
    let removed = folder.open_at("d", true, PLAIN, READ).unwrap();
    folder.remove_directory_at("d").unwrap();
    assert_eq!(removed.create_directory_at("x"), Err(Errno::NoEntry));
    assert_eq!(refusal(removed.open_at("x", true, CREATE, BOTH)), Errno::NoEntry);
    assert_eq!(folder.rename_at("g", &removed, "x"), Err(Errno::NoEntry));
    assert_eq!(removed.list().unwrap().count(), 0);
    audit(&files);
    drop(removed);
    assert_eq!((files.handles(), files.usage().files), (1, 2));
}

#[test]
fn a_replaced_tree_leaves_its_handles_dead() {
    let (files, folder) = opened(Quota::default());
    let file = folder.open_at("f", true, CREATE, BOTH).unwrap();
    let then = files.snapshot();
    file.write(0, b"later").unwrap();
    files.restore(then);
    assert_eq!(files.handles(), 0);
    assert_eq!(file.read(0, 1), Err(Errno::BadDescriptor));
    assert_eq!(file.write(0, b"x"), Err(Errno::BadDescriptor));
    assert_eq!(folder.create_directory_at("d"), Err(Errno::BadDescriptor));
    let fresh = files.open_folder(&path("/w"), Access::ReadWrite).unwrap();
    assert_eq!(folder.rename_at("f", &fresh, "g"), Err(Errno::BadDescriptor));
    assert_eq!(fresh.rename_at("f", &folder, "g"), Err(Errno::BadDescriptor));
    assert!(!folder.is_same(&fresh));
    drop((file.clone(), file, folder));
    assert_eq!(files.handles(), 1);
    assert_eq!(fresh.stat_at("f", true).unwrap().size, 0);
    audit(&files);
}

#[test]
fn identity_follows_the_node_and_not_its_names_or_content() {
    let (files, folder) = opened(Quota::default());
    let file = folder.open_at("f", true, CREATE, BOTH).unwrap();
    folder.link_at("f", false, &folder, "g").unwrap();
    let other = folder.open_at("g", true, PLAIN, READ).unwrap();
    let hash = file.metadata_hash().unwrap();
    file.write(0, b"x").unwrap();
    folder.rename_at("f", &folder, "h").unwrap();
    assert!(file.is_same(&other));
    assert_eq!(folder.metadata_hash_at("g", true), Ok(hash));
    assert_ne!(folder.metadata_hash(), Ok(hash));
    let fork = Files::new(files.snapshot()).open_folder(&path("/w"), Access::ReadWrite).unwrap();
    assert!(!fork.open_at("g", true, PLAIN, READ).unwrap().is_same(&other));
    assert_eq!(folder.link_at("g", false, &fork, "x"), Err(Errno::CrossDevice));
    assert_eq!(folder.rename_at("g", &fork, "x"), Err(Errno::CrossDevice));
}

#[test]
fn times_are_those_of_the_clock_or_the_program() {
    use std::sync::atomic::{AtomicU64, Ordering};
    static CLOCK: AtomicU64 = AtomicU64::new(10);
    let files = Files::with_clock(Tree::default(), || CLOCK.load(Ordering::Relaxed));
    let folder = files.open_folder(&path("/"), Access::ReadWrite).unwrap();
    let times = |at: &str| {
        let times = folder.stat_at(at, false).unwrap().times;
        (times.accessed, times.modified, times.changed)
    };
    let file = folder.open_at("f", true, CREATE, BOTH).unwrap();
    assert_eq!((times("f"), times(".")), ((10, 10, 10), (0, 10, 10)));
    CLOCK.store(20, Ordering::Relaxed);
    file.read(0, 1).unwrap();
    assert_eq!(times("f"), (10, 10, 10), "reading leaves no trace");
    file.write(0, b"").unwrap();
    assert_eq!(times("f"), (10, 10, 10), "nor does writing nothing");
    file.write(0, b"x").unwrap();
    assert_eq!((times("f"), times(".")), ((10, 20, 20), (0, 10, 10)));
    CLOCK.store(30, Ordering::Relaxed);
    file.set_times(NewTime::At(u64::MAX), NewTime::Keep).unwrap();
    assert_eq!(times("f"), (u64::MAX, 20, 30));
    folder.symlink_at("f", "l").unwrap();
    folder.set_times_at("l", true, NewTime::Keep, NewTime::Now).unwrap();
    assert_eq!(times("f"), (u64::MAX, 30, 30));
    folder.set_times_at("l", false, NewTime::At(1), NewTime::At(2)).unwrap();
    assert_eq!((times("l"), times("f")), ((1, 2, 30), (u64::MAX, 30, 30)));
    CLOCK.store(40, Ordering::Relaxed);
    folder.link_at("f", false, &folder, "g").unwrap();
    folder.rename_at("l", &folder, "m").unwrap();
    assert_eq!((times("g"), times("m"), times(".")), ((u64::MAX, 30, 40), (1, 2, 40), (0, 40, 40)));
}

#[test]
fn depth_size_and_links_are_bounded_to_the_last() {
    let (files, folder) = opened(Quota { depth: 6, files: 200_000, ..Quota::default() });
    for at in 1..6 {
        folder.create_directory_at(&vec!["d"; at].join("/")).unwrap();
    }
    assert_eq!(folder.create_directory_at("d/d/d/d/d/d"), Err(Errno::NameTooLong));
    folder.open_at("d/d/d/d/d/f", true, CREATE, BOTH).unwrap();
    folder.create_directory_at("e").unwrap();
    folder.create_directory_at("e/e").unwrap();
    assert_eq!(folder.rename_at("e", &folder, "d/d/d/d/e"), Err(Errno::NameTooLong));
    folder.rename_at("e", &folder, "d/d/d/e").unwrap();
    audit(&files);

    let file = folder.open_at("f", true, CREATE, BOTH).unwrap();
    let bytes = files.quota().bytes;
    file.set_size(bytes).unwrap();
    assert_eq!(file.set_size(bytes + 1), Err(Errno::NoSpace));
    assert_eq!(file.write(bytes, b"x"), Err(Errno::NoSpace));
    assert_eq!(file.write(bytes, b""), Ok(0));
    assert_eq!(file.write(bytes - 1, b"x"), Ok(1));
    assert_eq!(file.write(u64::MAX, b"x"), Err(Errno::FileTooLarge));
    assert_eq!(file.set_size(u64::MAX), Err(Errno::FileTooLarge));
    assert_eq!(folder.symlink_at("f", "l"), Err(Errno::NoSpace), "a target costs its bytes");
    file.set_size(0).unwrap();

    for at in 1..Quota::MAX_LINKS {
        folder.link_at("f", false, &folder, &format!("l{at}")).unwrap();
    }
    assert_eq!(folder.link_at("f", false, &folder, "more"), Err(Errno::TooManyLinks));
    assert_eq!(file.stat().unwrap().links, u64::from(Quota::MAX_LINKS));
}

#[test]
fn a_hundred_thousand_files_fit_in_a_folder_and_ten_thousand_folders_not_in_each_other() {
    let (files, folder) = opened(Quota { files: 100_001, ..Quota::default() });
    for at in 0..100_000 {
        folder.open_at(&format!("file-{at}"), true, CREATE, WRITE).unwrap();
    }
    assert_eq!(refusal(folder.open_at("more", true, CREATE, WRITE)), Errno::NoSpace);
    assert_eq!(folder.list().unwrap().count(), 100_000);
    audit(&files);
    files.remove(&path("/w"), true).unwrap();
    assert_eq!(files.usage().bytes, 0);
    let root = files.open_folder(&path("/"), Access::ReadWrite).unwrap();
    let mut at = root;
    let mut made = 0;
    while made < 10_000 {
        if let Err(errno) = at.create_directory_at("d") {
            assert_eq!(errno, Errno::NameTooLong);
            break;
        }
        at = at.open_at("d", true, PLAIN, READ).unwrap();
        made += 1;
    }
    assert_eq!(made, files.quota().depth);
    drop(at);
    audit(&files);
}

#[test]
fn links_hold_what_was_given_and_lead_nowhere_outside() {
    let (_files, folder) = opened(Quota::default());
    assert_eq!(folder.symlink_at("/etc/passwd", "l"), Err(Errno::NotPermitted));
    assert_eq!(folder.symlink_at("", "l"), Err(Errno::NoEntry));
    assert_eq!(folder.symlink_at(&"x".repeat(4096), "l"), Err(Errno::NameTooLong));
    assert_eq!(folder.symlink_at("a\0", "l"), Err(Errno::Invalid));
    folder.symlink_at(&"x/".repeat(2047), "l").unwrap();
    assert_eq!(folder.readlink_at("l").unwrap().len(), 4094);
    assert_eq!(folder.symlink_at("x", "l"), Err(Errno::Exists));
    folder.symlink_at("../w/f", "round").unwrap();
    folder.open_at("f", true, CREATE, BOTH).unwrap();
    assert_eq!(refusal(folder.open_at("round", true, PLAIN, READ)), Errno::NotPermitted);
    assert_eq!(folder.readlink_at("f").err(), Some(Errno::Invalid));
    folder.link_at("round", false, &folder, "round2").unwrap();
    assert_eq!(folder.readlink_at("round2").unwrap().as_ref(), "../w/f");
    assert_eq!(folder.link_at(".", false, &folder, "x"), Err(Errno::NotPermitted));
    assert_eq!(folder.rename_at(".", &folder, "x"), Err(Errno::Busy));
    assert_eq!(folder.remove_directory_at("."), Err(Errno::Invalid));
}
