//! Handles that last over a snapshot, a save and a fork.

use std::sync::Arc;

use super::{BOTH, CREATE, audit, opened, path};
use crate::{
    ChunkId, ChunkSink, Errno, Files, Flags, MemoryChunks, OpenFlags, Quota, Root, Tree, load, save,
};

fn saved(tree: &Tree) -> Tree {
    let mut chunks = MemoryChunks::default();
    let root = save(tree, &mut chunks).unwrap();
    load(root, Arc::new(chunks), Quota::default()).unwrap()
}

#[test]
fn a_file_without_a_name_is_saved_for_who_holds_it_and_gone_when_it_is_closed() {
    let (files, folder) = opened(Quota::default());
    let file = folder.open_at("a", true, CREATE, BOTH).unwrap();
    file.write(0, &[7; 1000]).unwrap();
    folder.unlink_file_at("a").unwrap();
    let held = file.held();
    assert_eq!(files.snapshot().usage().bytes, 0, "nobody is to have it");
    let tree = files.snapshot_with(&[held]);
    assert_eq!(tree.usage(), files.usage(), "it counts");
    for tree in [tree.clone(), saved(&tree)] {
        let woken = Files::new(tree);
        let again = woken.hold(&held).unwrap();
        woken.forget_unheld();
        audit(&woken);
        assert_eq!(again.read(0, 2000).unwrap().0, [7; 1000]);
        again.append(b"more").unwrap();
        assert_eq!(again.stat().unwrap().links, 0);
        drop(again);
        assert_eq!(woken.usage().bytes, 0);
        assert_eq!(woken.hold(&held).unwrap_err(), Errno::NoEntry);
        audit(&woken);
    }
    assert_eq!(file.stat().unwrap().size, 1000, "forks share nothing");
}

#[test]
fn what_nobody_holds_of_a_saved_tree_is_let_go_and_does_not_come_back() {
    let (files, folder) = opened(Quota::default());
    let (a, b) =
        (folder.open_at("a", true, CREATE, BOTH).unwrap(), folder.open_at("b", true, CREATE, BOTH).unwrap());
    a.write(0, b"aa").unwrap();
    b.write(0, b"bbb").unwrap();
    folder.unlink_file_at("a").unwrap();
    folder.unlink_file_at("b").unwrap();
    let tree = saved(&files.snapshot_with(&[a.held(), b.held()]));
    let woken = Files::new(tree);
    let again = woken.hold(&a.held()).unwrap();
    // A snapshot before the others were let go of does not have them either.
    assert_eq!(saved(&woken.snapshot_with(&[again.held()])).usage().bytes, 2);
    assert_eq!(saved(&woken.snapshot()).usage().bytes, 0);
    woken.forget_unheld();
    assert_eq!(woken.usage().bytes, 2);
    audit(&woken);
}

#[test]
fn a_handle_is_the_same_file_whatever_its_name_is_and_open_for_no_more() {
    let (files, folder) = opened(Quota::default());
    let made = folder.open_at("a", true, CREATE, BOTH).unwrap();
    made.write(0, b"first").unwrap();
    let read = folder.open_at("a", true, OpenFlags::default(), Flags::default()).unwrap();
    folder.rename_at("a", &folder, "b").unwrap();
    folder.open_at("a", true, CREATE, BOTH).unwrap().write(0, b"second").unwrap();
    let woken = Files::new(saved(&files.snapshot_with(&[read.held()])));
    let again = woken.hold(&read.held()).unwrap();
    assert_eq!(again.read(0, 9).unwrap().0, b"first");
    assert_eq!(again.write(0, b"x"), Err(Errno::BadDescriptor));
    let node = again.stat().unwrap().inode;
    assert!(again.is_open_as(node, true, false));
    assert!(!again.is_open_as(node, true, true) && !again.is_open_as(node + 1, true, false));
    woken.restore(Tree::default());
    assert!(!again.is_open_as(node, true, false), "its tree is gone");
    // A folder, and one that was removed.
    let held = folder.held();
    let listed = files.hold(&held).unwrap().list().unwrap();
    assert_eq!(listed.count(), 2);
    assert_eq!(Files::new(Tree::default()).hold(&held).unwrap_err(), Errno::NoEntry);
    assert!(files.read(&path("/w/b"), 0, 9).is_ok());
}

#[test]
fn a_tree_of_the_first_version_has_no_file_without_a_name() {
    let (files, folder) = opened(Quota::default());
    let file = folder.open_at("a", true, CREATE, BOTH).unwrap();
    file.write(0, b"bytes").unwrap();
    let mut chunks = MemoryChunks::default();
    let root = save(&files.snapshot(), &mut chunks).unwrap();
    let bytes = crate::ChunkSource::get(&chunks, &root.0).unwrap().unwrap();
    assert_eq!(&bytes[..4], b"dmf\x01", "as before, where nothing is open");
    folder.unlink_file_at("a").unwrap();
    let root = save(&files.snapshot_with(&[file.held()]), &mut chunks).unwrap();
    let bytes = crate::ChunkSource::get(&chunks, &root.0).unwrap().unwrap();
    assert_eq!(&bytes[..4], b"dmf\x02");
    let forged = [b"dmf\x01", &bytes[4..]].concat();
    let id = ChunkId::of(&forged);
    chunks.put(&id, &forged).unwrap();
    let refused = load(Root(id), Arc::new(chunks), Quota::default()).unwrap_err();
    assert!(refused.message().contains("no name"), "{refused}");
}
