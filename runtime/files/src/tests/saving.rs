//! Saving and loading: nothing is lost, nothing is written twice, nothing is read early.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use dormouse_types::ErrorCode;
use dormouse_types::Reached;

use super::{BOTH, CREATE, audit, opened, path};
use crate::testing::Random;
use crate::{
    ChunkId, ChunkSink, ChunkSource, Errno, FileList, Files, MemoryChunks, OpenFlags, Quota, Root, load,
    reachable, save,
};

const LARGE: Quota = Quota { bytes: 1 << 30, files: 200_000, depth: 128, name_bytes: 255 };

/// A store that counts, and checks that a chunk comes after all that it names.
#[derive(Default)]
struct Counted {
    chunks: MemoryChunks,
    put: usize,
    asked: usize,
}

impl ChunkSink for Counted {
    fn has(&mut self, id: &ChunkId) -> dormouse_types::Result<bool> {
        self.asked += 1;
        self.chunks.has(id)
    }
    fn put(&mut self, id: &ChunkId, bytes: &[u8]) -> dormouse_types::Result<()> {
        assert_eq!(*id, ChunkId::of(bytes));
        assert!(!bytes.is_empty() && bytes.len() <= crate::MAX_CHUNK);
        assert!(!self.chunks.has(id)?, "a chunk was written twice");
        self.put += 1;
        self.chunks.put(id, bytes)
    }
}

/// A source that counts what is read.
struct Read(MemoryChunks, Arc<AtomicUsize>);

impl ChunkSource for Read {
    fn get(&self, id: &ChunkId) -> dormouse_types::Result<Option<Vec<u8>>> {
        let bytes = self.0.get(id)?;
        self.1.fetch_add(bytes.as_ref().map_or(0, Vec::len), Ordering::Relaxed);
        Ok(bytes)
    }
}

/// A list of everything, and the content of each file.
type Seen = (FileList, Vec<Vec<u8>>);

/// Everything that can be seen of a tree.
fn seen(files: &Files) -> Seen {
    let list = files.list(&path("/"), 200, 1 << 20).unwrap();
    let contents = list
        .entries
        .iter()
        .filter(|entry| entry.stat.kind == crate::Kind::File)
        .map(|entry| files.read(&path(&format!("/{}", entry.path)), 0, 1 << 22).unwrap())
        .collect();
    (list, contents)
}

fn reach(root: Root, chunks: &MemoryChunks) -> BTreeSet<ChunkId> {
    let mut reached = Reached::default();
    reachable(root, chunks, &mut reached).unwrap();
    reached.iter().copied().collect()
}

/// Changes something at random: mostly files of all sizes in a few folders.
fn change(files: &Files, random: &mut Random) {
    let name = format!("/w/d{}/f{}", random.below(8), random.below(60));
    match random.below(8) {
        0 => drop(files.remove(&path(&format!("/w/d{}", random.below(8))), true)),
        1 => drop(files.remove(&path(&name), true)),
        2 => {
            let folder = files.open_folder(&path("/w"), dormouse_types::Access::ReadWrite).unwrap();
            let _ = folder.symlink_at("d1/f1", &format!("l{}", random.below(9)));
            let _ = folder.link_at(&name[3..], false, &folder, &format!("h{}", random.below(9)));
        }
        3 => {
            let folder = files.open_folder(&path("/w"), dormouse_types::Access::ReadWrite).unwrap();
            if let Ok(file) = folder.open_at(&name[3..], true, CREATE, BOTH) {
                let offset = [0, 500, 65_000, 3_000_000][random.below(4)] + random.below(1000) as u64;
                file.write(offset, &vec![b'x'; random.below(70_000)]).unwrap();
            }
        }
        _ => {
            let len = [0, random.below(600), 512, 513, random.below(200_000)][random.below(5)];
            files.write(&path(&name), &vec![u8::try_from(random.below(256)).unwrap(); len]).unwrap();
        }
    }
}

#[test]
fn what_is_saved_comes_back_whole_and_the_second_time_writes_what_changed() {
    for seed in 0..3 {
        let mut random = Random::new(seed);
        let (mut files, folder) = opened(LARGE);
        drop(folder);
        let mut sink = Counted::default();
        let mut saved: Vec<(Root, Seen)> = Vec::new();
        for round in 0..12 {
            for _ in 0..random.below(60) {
                change(&files, &mut random);
            }
            let tree = files.snapshot();
            let root = save(&tree, &mut sink).unwrap();
            assert_eq!(save(&tree, &mut sink).unwrap(), root);
            saved.push((root, seen(&files)));
            let loaded = load(root, Arc::new(sink.chunks.clone()), LARGE).unwrap();
            assert_eq!(loaded.usage(), tree.usage());
            let woken = Files::new(loaded.clone());
            assert_eq!(seen(&woken), seen(&files), "seed {seed}, round {round}");
            drop(tree);
            let mut other = Counted::default();
            let moved = save(&loaded, &mut other).unwrap();
            assert_eq!(reach(moved, &other.chunks), other.chunks.ids().into_iter().collect());
            if round % 3 == 2 {
                // Go on with what was loaded.
                files = Files::with_clock(loaded, || 8);
            }
            audit(&files);
        }
        // Collect everything but two roots.
        let kept = [saved[3].clone(), saved[11].clone()];
        let mut wanted = Reached::default();
        for (root, _) in &kept {
            reachable(*root, &sink.chunks, &mut wanted).unwrap();
        }
        sink.chunks.retain(|id| wanted.has(id));
        for (root, then) in kept {
            let loaded = load(root, Arc::new(sink.chunks.clone()), LARGE).unwrap();
            assert_eq!(seen(&Files::new(loaded)), then);
        }
    }
}

#[test]
fn one_changed_file_of_ten_thousand_writes_a_handful_of_chunks() {
    let (files, _folder) = opened(LARGE);
    for at in 0..10_000 {
        let bytes = format!("file {at} ").repeat(100 + at % 3);
        files.write(&path(&format!("/w/d{}/f{at}", at % 100)), bytes.as_bytes()).unwrap();
    }
    let mut sink = Counted::default();
    save(&files.snapshot(), &mut sink).unwrap();
    assert!(sink.put > 10_000);
    (sink.put, sink.asked) = (0, 0);
    let folder = files.open_folder(&path("/w/d7"), dormouse_types::Access::ReadWrite).unwrap();
    folder.open_at("f5007", true, OpenFlags::default(), BOTH).unwrap().write(3, b"changed").unwrap();
    let root = save(&files.snapshot(), &mut sink).unwrap();
    assert!(sink.put <= 6, "{} chunks", sink.put);
    assert!(sink.asked < 300, "{} questions", sink.asked);
    (sink.put, sink.asked) = (0, 0);
    save(&files.snapshot(), &mut sink).unwrap();
    assert_eq!((sink.put, sink.asked), (0, 2), "an unchanged tree costs its root page and its head");
    files.write(&path("/w/d7/new"), &[9; 100]).unwrap();
    save(&files.snapshot(), &mut sink).unwrap();
    assert!(sink.put <= 9, "{} chunks", sink.put);
    let loaded = load(root, Arc::new(sink.chunks.clone()), LARGE).unwrap();
    (sink.put, sink.asked) = (0, 0);
    save(&loaded, &mut sink).unwrap();
    assert_eq!((sink.put, sink.asked), (0, 2), "what was loaded is known to be saved");
}

#[test]
fn waking_reads_no_content_until_it_is_used() {
    let (files, folder) = opened(LARGE);
    for at in 0_u8..100 {
        files.write(&path(&format!("/w/f{at}")), &vec![at; 300_000]).unwrap();
    }
    let sparse = folder.open_at("sparse", true, CREATE, BOTH).unwrap();
    sparse.write(500 << 20, b"end").unwrap();
    let mut chunks = MemoryChunks::default();
    let root = save(&files.snapshot(), &mut chunks).unwrap();
    assert!(chunks.bytes() < 31 << 20, "holes are not stored, and the last short blocks are short");
    let read = Arc::new(AtomicUsize::new(0));
    let woken = Files::new(load(root, Arc::new(Read(chunks.clone(), read.clone())), LARGE).unwrap());
    assert!(read.load(Ordering::Relaxed) < 100_000);
    read.store(0, Ordering::Relaxed);
    assert_eq!(woken.read(&path("/w/f3"), 70_000, 10).unwrap(), [3; 10]);
    assert_eq!(read.load(Ordering::Relaxed), 64 << 10, "one block");
    assert_eq!(woken.read(&path("/w/f3"), 70_000, 10).unwrap(), [3; 10]);
    assert_eq!(read.load(Ordering::Relaxed), 64 << 10, "once");
    let fork = Files::new(woken.snapshot());
    fork.write(&path("/w/f4"), &[1; 300_000]).unwrap();
    assert_eq!(read.load(Ordering::Relaxed), 64 << 10, "replacing reads nothing");
    assert_eq!(woken.read(&path("/w/sparse"), 500 << 20, 10).unwrap(), b"end");
    assert_eq!(woken.read(&path("/w/f4"), 0, 3).unwrap(), [4; 3]);
}

#[test]
fn a_saved_tree_is_copied_to_a_second_store_whole() {
    let (files, _folder) = opened(LARGE);
    for at in 0_u8..50 {
        files.write(&path(&format!("/w/f{at}")), &vec![at; 1000 * usize::from(at)]).unwrap();
    }
    let tree = files.snapshot();
    let (mut one, mut two) = (MemoryChunks::default(), MemoryChunks::default());
    let root = save(&tree, &mut one).unwrap();
    assert_eq!(save(&tree, &mut two).unwrap(), root);
    assert_eq!(one.ids(), two.ids());
    let loaded = load(root, Arc::new(one.clone()), LARGE).unwrap();
    let mut three = MemoryChunks::default();
    assert_eq!(save(&loaded, &mut three).unwrap(), root);
    assert_eq!(one.ids(), three.ids());
    assert_eq!(reach(root, &one), one.ids().into_iter().collect());
}

#[test]
fn mem_07_what_was_saved_can_be_let_go_of_and_is_read_again() {
    for seed in 0..6 {
        let mut random = Random::new(seed);
        let (files, _folder) = opened(LARGE);
        for _ in 0..200 {
            change(&files, &mut random);
        }
        files.write(&path("/w/large"), &vec![5; 3 << 20]).unwrap();
        let then = seen(&files);
        let (fork, mut chunks) = (files.snapshot(), MemoryChunks::default());
        let saved = files.snapshot();
        let root = save(&saved, &mut chunks).unwrap();
        let source: Arc<dyn ChunkSource> = Arc::new(chunks.clone());
        // What changes after the save is not in the store.
        files.write(&path("/w/later"), &vec![6; 200_000]).unwrap();
        let before = files.snapshot().in_memory();
        let gone = saved.let_go(&source);
        assert!(gone > 3 << 20);
        let left = files.snapshot().in_memory();
        assert!(left + gone == before && left < 2_000_000, "{left} of {before}");
        assert_eq!(seen(&Files::new(fork)), then);
        assert_eq!(files.read(&path("/w/later"), 0, 300_000).unwrap(), vec![6; 200_000]);
        files.remove(&path("/w/later"), false).unwrap();
        assert_eq!(seen(&files), then);
        // It goes on as before: changes, and saves without reading what did not change.
        saved.let_go(&source);
        for _ in 0..50 {
            change(&files, &mut random);
        }
        let now = seen(&files);
        saved.let_go(&source);
        let again = save(&files.snapshot(), &mut chunks).unwrap();
        assert_eq!(seen(&Files::new(load(again, source, LARGE).unwrap())), now);
        assert_eq!(save(&saved, &mut chunks).unwrap(), root);
    }
}

/// The block of a large file that was cut has a name, and is saved without one.
#[test]
fn mem_07_a_block_that_lies_within_a_record_is_not_let_go_of() {
    let (files, folder) = opened(LARGE);
    let file = folder.open_at("f", true, CREATE, BOTH).unwrap();
    file.write(0, b"small").unwrap();
    file.write(1 << 20, b"end").unwrap();
    save(&files.snapshot(), &mut MemoryChunks::default()).unwrap();
    file.set_size(100).unwrap();
    let (tree, mut chunks) = (files.snapshot(), MemoryChunks::default());
    save(&tree, &mut chunks).unwrap();
    let source: Arc<dyn ChunkSource> = Arc::new(chunks);
    assert_eq!(tree.let_go(&source), 0);
    assert_eq!(files.read(&path("/w/f"), 0, 5).unwrap(), b"small");
}

#[test]
fn an_open_file_without_a_name_is_not_saved() {
    let (files, folder) = opened(LARGE);
    let file = folder.open_at("gone", true, CREATE, BOTH).unwrap();
    file.write(0, &[1; 200_000]).unwrap();
    folder.unlink_file_at("gone").unwrap();
    assert_eq!(files.usage().bytes, 200_000);
    let mut chunks = MemoryChunks::default();
    let root = save(&files.snapshot(), &mut chunks).unwrap();
    assert!(chunks.bytes() < 1000);
    let loaded = load(root, Arc::new(chunks), LARGE).unwrap();
    assert_eq!((loaded.usage().bytes, loaded.usage().files), (0, 1));
    assert_eq!(file.read(0, 3).unwrap().0, [1; 3]);
}

#[test]
fn a_tree_that_holds_more_than_the_quota_is_refused_with_a_hint() {
    let (files, _folder) = opened(LARGE);
    files.write(&path("/w/a"), &[1; 100]).unwrap();
    let mut chunks = MemoryChunks::default();
    let root = save(&files.snapshot(), &mut chunks).unwrap();
    let source: Arc<dyn ChunkSource> = Arc::new(chunks);
    for (bytes, names, fits) in [(100, 2, true), (99, 2, false), (100, 1, false)] {
        let loaded = load(root, source.clone(), Quota { bytes, files: names, ..LARGE });
        assert_eq!(loaded.is_ok(), fits);
        if let Err(error) = loaded {
            assert_eq!(error.code(), ErrorCode::TooLarge);
            assert!(error.hint().is_some());
        }
    }
    let lowered = load(root, source, LARGE).unwrap().with_quota(Quota { bytes: 50, ..LARGE });
    let files = Files::new(lowered);
    let folder = files.open_folder(&path("/w"), dormouse_types::Access::ReadWrite).unwrap();
    let file = folder.open_at("a", true, OpenFlags::default(), BOTH).unwrap();
    assert_eq!(file.append(b"x"), Err(Errno::NoSpace));
    file.set_size(60).unwrap();
    assert_eq!(file.set_size(61), Err(Errno::NoSpace));
    file.set_size(49).unwrap();
    file.append(b"x").unwrap();
    audit(&files);
}

/// A store that fails after some chunks.
struct Full(Mutex<usize>, MemoryChunks);

impl ChunkSink for Full {
    fn has(&mut self, id: &ChunkId) -> dormouse_types::Result<bool> {
        self.1.has(id)
    }
    fn put(&mut self, id: &ChunkId, bytes: &[u8]) -> dormouse_types::Result<()> {
        let mut left = self.0.lock().unwrap();
        *left = left
            .checked_sub(1)
            .ok_or_else(|| dormouse_types::Error::new(dormouse_types::ErrorCode::StateUnavailable, "full"))?;
        self.1.put(id, bytes)
    }
}

#[test]
fn a_save_that_failed_is_taken_up_again() {
    let (files, _folder) = opened(LARGE);
    for at in 0_u8..200 {
        files.write(&path(&format!("/w/d{}/f{at}", at % 5)), &vec![at; 1000 * usize::from(at % 90)]).unwrap();
    }
    let tree = files.snapshot();
    let mut sink = Full(Mutex::new(0), MemoryChunks::default());
    let mut failed = 0;
    let root = loop {
        *sink.0.lock().unwrap() = 7;
        match save(&tree, &mut sink) {
            Ok(root) => break root,
            Err(error) => assert_eq!(error.code(), ErrorCode::StateUnavailable),
        }
        failed += 1;
    };
    assert!(failed > 5);
    let loaded = Files::new(load(root, Arc::new(sink.1), LARGE).unwrap());
    assert_eq!(seen(&loaded), seen(&files));
}
