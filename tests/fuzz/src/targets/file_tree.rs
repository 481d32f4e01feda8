//! A saved tree of files, under true names: it is refused, or it is a tree that works.

use std::sync::Arc;

use dormouse_core::sandbox::Reached;
use dormouse_core::{Access, GuestPath};
use dormouse_files::{
    Extras, Files, Flags, MemoryChunks, OpenFlags, Quota, Root, Tree, fuzz, load, reachable, save,
};

use crate::{Target, chunks};

/// Small, so that inputs can pass it.
const QUOTA: Quota = Quota { bytes: LARGEST as u64, files: 200, depth: 16, name_bytes: 100 };
/// Bytes of all files together.
const LARGEST: usize = 1 << 20;

pub(crate) const TARGET: Target = Target {
    seeds,
    words: &["dmf\u{1}", "dmf\u{2}", "dmd\u{1}", "dmx\u{1}", "chunk:\0\0", "chunk:\u{1}\0", "..", "/"],
    ..Target::new("file_tree", "saved trees of files (runtime/files)", run)
};

fn run(input: &[u8]) {
    let Some((mut chunks, root)) = chunks::read(input) else { return };
    let walked = reachable(Root(root), &chunks, &mut Reached::default());
    let Ok(tree) = load(Root(root), Arc::new(chunks.clone()), QUOTA) else { return };
    walked.expect("what can be loaded can be walked");
    let usage = tree.usage();
    assert!(usage.bytes <= QUOTA.bytes && usage.files <= QUOTA.files);
    fuzz::audit(&tree).expect("what is loaded is a tree");
    let _read = Extras::of(&tree);
    let files = Files::new(tree);
    let before = names(&files);
    // A block is looked for when it is read.
    let can_be_read = |name: &str| {
        GuestPath::parse(&format!("/{name}")).is_ok_and(|path| files.read(&path, 0, LARGEST).is_ok())
    };
    let mut named = before.iter().filter(|(_, told)| told.starts_with("File "));
    let is_whole = named.all(|(name, _)| can_be_read(name));
    let new = GuestPath::parse("/new").expect("a path");
    if files.write(&new, b"x").is_ok() {
        assert_eq!(files.read(&new, 0, 10).ok().as_deref(), Some(&b"x"[..]));
        let _gone = files.remove(&new, false);
    }
    let changed = files.snapshot();
    fuzz::audit(&changed).expect("a tree stays one");
    let saved = match save(&changed, &mut chunks) {
        Ok(Root(saved)) => saved,
        Err(error) => return assert!(!is_whole, "{error}"),
    };
    let again = load(Root(saved), Arc::new(chunks), QUOTA).expect("what is saved can be loaded");
    assert_eq!(names(&Files::new(again)), names(&files));
}

/// The names of a tree, with kinds, sizes and targets.
fn names(files: &Files) -> Vec<(String, String)> {
    let root = GuestPath::parse("/").expect("a path");
    let listed = files.list(&root, 99, 1_000).expect("the root can be listed").entries;
    let told = listed
        .into_iter()
        .map(|one| (one.path, format!("{:?} {} {:?}", one.stat.kind, one.stat.size, one.target)));
    told.collect()
}

fn seeds() -> Vec<Vec<u8>> {
    let saved = |fill: &dyn Fn(&Files)| {
        let files = Files::new(Tree::new(QUOTA));
        fill(&files);
        let mut chunks = MemoryChunks::default();
        save(&files.snapshot(), &mut chunks)
            .map(|Root(root)| chunks::write(&chunks, root))
            .unwrap_or_default()
    };
    let path = |text: &str| GuestPath::parse(text).expect("a path");
    let small = |files: &Files| {
        let _done = files.write(&path("/a"), b"one");
        let _done = files.make_folder(&path("/b/c"));
    };
    let large = |files: &Files| {
        for number in 0..40 {
            let _done = files.write(&path(&format!("/w/f{number}")), &[7; 20]);
        }
        let _done = files.write(&path("/w/d/large"), &[1; 30_000]);
        let Ok(folder) = files.open_folder(&path("/w"), Access::ReadWrite) else { return };
        let _done = folder.symlink_at("d/large", "link");
        let _done = folder.link_at("f3", false, &folder, "hard");
        let create = OpenFlags { create: true, ..OpenFlags::default() };
        if let Ok(file) = folder.open_at("hole", true, create, Flags { write: true, ..Flags::default() }) {
            let _done = file.write(200_000, b"end");
        }
    };
    let dressed = |files: &Files| {
        let _done = files.write(&path("/workspace/run"), b"#!/bin/sh\n");
        let mut extras = Extras::plain();
        extras.modes.insert("workspace/run".into(), 0o755);
        extras.links.insert("workspace/l".into(), "/usr/bin/env".into());
        let _done = extras.put(files);
    };
    vec![saved(&small), saved(&large), saved(&dressed)]
}
