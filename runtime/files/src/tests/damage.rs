//! Saved trees whose bytes are not what was saved: refused, or a tree all the same.

use std::sync::Arc;

use dormouse_types::Reached;
use dormouse_types::{ErrorCode, Result};
use serde::Serialize;

use super::{opened, path};
use crate::format::{self, BlockRecord, BodyRecord, Head, NameRecord, NodeRecord, Pages};
use crate::{ChunkId, Files, Kind, MemoryChunks, Quota, Root, Times, load, reachable, save};

/// A tree with every kind of record: pages of pages, small and large files, holes, links.
fn saved() -> (MemoryChunks, Root, Vec<ChunkId>) {
    let (files, folder) = opened(Quota::default());
    for at in 0..40 {
        files.write(&path(&format!("/w/f{at}")), format!("{at}").as_bytes()).unwrap();
    }
    files.write(&path("/w/d/e/large"), &vec![1; 400_000]).unwrap();
    folder.symlink_at("d/e", "link").unwrap();
    folder.link_at("f3", false, &folder, "hard").unwrap();
    let file = folder.open_at("hole", true, super::CREATE, super::BOTH).unwrap();
    file.write(1 << 20, b"end").unwrap();
    drop(file);
    let mut chunks = MemoryChunks::default();
    let root = save(&files.snapshot(), &mut chunks).unwrap();
    let mut reached = Reached::default();
    reachable(root, &chunks, &mut reached).unwrap();
    let mut records: Vec<ChunkId> = reached.iter().copied().collect();
    records.sort_unstable();
    let blocks = [ChunkId::of(&vec![1; 65536]), ChunkId::of(&vec![1; 400_000 % 65536]), ChunkId::of(b"end")];
    records.retain(|id| !blocks.contains(id));
    (chunks, root, records)
}

fn bytes(chunks: &MemoryChunks, id: &ChunkId) -> Vec<u8> {
    crate::ChunkSource::get(chunks, id).unwrap().unwrap()
}

/// Loads; whatever loads must be a tree that can be listed, read, changed and saved.
fn try_load(chunks: &MemoryChunks, root: Root) -> Result<()> {
    let tree = load(root, Arc::new(chunks.clone()), Quota::default())?;
    tree.audit(0).unwrap();
    let files = Files::new(tree);
    for entry in files.list(&path("/"), 99, 1000).unwrap().entries {
        if let Ok(place) = dormouse_types::GuestPath::parse(&format!("/{}", entry.path)) {
            let _ = files.read(&place, 0, 1 << 22);
        }
    }
    files.write(&path("/new/one"), b"x").unwrap();
    super::audit(&files);
    save(&files.snapshot(), &mut chunks.clone()).map(|_| ())
}

/// Puts other bytes in the place of a chunk, under their true name, in all chunks above it. Answers the new root.
fn forge(chunks: &MemoryChunks, root: Root, old: ChunkId, new: Vec<u8>) -> Root {
    let id = ChunkId::of(&new);
    chunks.replace(id, new);
    if root.0 == old {
        return Root(id);
    }
    for parent in chunks.ids() {
        let mut held = bytes(chunks, &parent);
        let found = held.windows(32).position(|window| window == old.as_bytes());
        if let Some(at) = found.filter(|_| parent != id) {
            held[at..at + 32].copy_from_slice(id.as_bytes());
            let forged = forge(chunks, root, parent, held);
            if forged != root {
                return forged;
            }
        }
    }
    root
}

#[test]
fn a_chunk_that_is_not_what_its_name_says_is_refused() {
    let (chunks, root, records) = saved();
    assert!(records.len() >= 6, "{records:?}");
    try_load(&chunks, root).unwrap();
    for id in &records {
        let whole = bytes(&chunks, id);
        let damaged = |bytes: Vec<u8>| {
            let (chunks, _, _) = saved();
            chunks.replace(*id, bytes);
            let error = try_load(&chunks, root).unwrap_err();
            assert_eq!(error.code(), ErrorCode::StateDamaged);
            assert!(error.message().contains("damaged"), "{error}");
        };
        damaged(Vec::new());
        damaged(whole[..whole.len() - 1].to_vec());
        damaged([&whole[..], &[0]].concat());
        for at in [0, whole.len() / 2, whole.len() - 1] {
            let mut flipped = whole.clone();
            flipped[at] ^= 1;
            damaged(flipped);
        }
        let (chunks, _, _) = saved();
        chunks.retain(|other| other != id);
        assert!(try_load(&chunks, root).unwrap_err().message().contains("missing"));
    }
}

#[test]
fn every_truncation_and_flipped_bit_under_a_true_name_is_refused_or_a_tree() {
    let (chunks, root, records) = saved();
    let (mut refused, mut loaded) = (0, 0);
    let mut attempt = |id: &ChunkId, new: Vec<u8>| {
        let copy = MemoryChunks::default();
        for id in chunks.ids() {
            copy.replace(id, bytes(&chunks, &id));
        }
        let forged = forge(&copy, root, *id, new);
        assert_ne!(forged, root);
        match try_load(&copy, forged) {
            Ok(()) => loaded += 1,
            Err(_) => refused += 1,
        }
    };
    for id in &records {
        let whole = bytes(&chunks, id);
        // Every bit of small chunks, a sample of large ones.
        let step = whole.len().div_ceil(25) | 1;
        for at in (0..whole.len()).step_by(step) {
            attempt(id, whole[..at].to_vec());
            for bit in 0..8 {
                let mut flipped = whole.clone();
                flipped[at] ^= 1 << bit;
                attempt(id, flipped);
            }
        }
    }
    assert!(refused > 500 && loaded > 50, "{refused} refused, {loaded} loaded");
}

fn node(ino: u64, links: u32, body: BodyRecord) -> NodeRecord {
    NodeRecord { ino, links, times: Times::default(), body }
}

fn folder(parent: u64, names: &[(&str, u64, Kind)]) -> BodyRecord {
    let names: Vec<NameRecord> = names
        .iter()
        .map(|(name, ino, kind)| NameRecord { name: (*name).into(), ino: *ino, kind: *kind })
        .collect();
    BodyRecord::Folder { parent, names: if names.is_empty() { Pages::Empty } else { Pages::Few(names) } }
}

fn put<T: Serialize>(chunks: &MemoryChunks, record: &T) -> ChunkId {
    let bytes = postcard::to_stdvec(record).unwrap();
    let id = ChunkId::of(&bytes);
    chunks.replace(id, bytes);
    id
}

/// What is wrong with a tree of these nodes.
fn verdict(next: u64, nodes: Vec<NodeRecord>) -> String {
    let chunks = MemoryChunks::default();
    let bytes = format::encode_head(&Head { next, nodes: Pages::Few(nodes) }, false).unwrap();
    let root = ChunkId::of(&bytes);
    chunks.replace(root, bytes);
    match load(Root(root), Arc::new(chunks), Quota { bytes: 1000, files: 20, depth: 3, name_bytes: 10 }) {
        Ok(_) => "a tree".into(),
        Err(error) => error.message().replace("the saved state is damaged: ", ""),
    }
}

#[test]
fn records_that_make_no_tree_are_refused_by_name() {
    use Kind::{File, Folder, Link};
    let empty = || folder(1, &[]);
    let file = |size| BodyRecord::File { size, blocks: Pages::Empty };
    let small = |size, len| BodyRecord::Small { size, bytes: vec![1; len] };
    let link = |target: &str| BodyRecord::Link { target: target.into() };
    let root = |names: &[(&str, u64, Kind)]| node(1, 1, folder(1, names));
    let one = |name: &str| vec![root(&[(name, 2, File)]), node(2, 1, file(1))];
    let body = |kind, body| vec![root(&[("a", 2, kind)]), node(2, 1, body)];
    let id = ChunkId::of(b"");
    let block = |indices: &[u32], size| BodyRecord::File {
        size,
        blocks: Pages::Few(indices.iter().map(|index| BlockRecord { index: *index, id }).collect()),
    };
    for (nodes, wanted) in [
        (one("a"), "a tree"),
        (vec![], "a page of 0 entries, not 1 to 32"),
        (vec![node(1, 1, file(1))], "there is no root folder"),
        (vec![node(1, 1, folder(2, &[]))], "the root lies in a folder"),
        (vec![node(2, 1, empty())], "there is no root folder"),
        (vec![root(&[]), node(2, 1, file(1))], "node 2 has 0 names, not 1"),
        (vec![root(&[]), node(2, 0, file(1))], "1 nodes have no name"),
        (vec![root(&[("a", 3, File)]), node(2, 1, file(1))], "`a` leads nowhere"),
        (vec![root(&[("a", 2, File)]), node(2, 2, file(1))], "node 2 has 1 names, not 2"),
        (vec![root(&[("a", 2, Folder)]), node(2, 1, file(1))], "`a` is of another kind"),
        (vec![root(&[("a", 1, Folder)])], "the folder `a` has another place"),
        (vec![root(&[("a", 2, Folder)]), node(2, 1, folder(2, &[]))], "the folder `a` has another place"),
        (
            vec![root(&[("a", 2, Folder), ("b", 2, Folder)]), node(2, 2, empty())],
            "the folder `b` has another place",
        ),
        (
            vec![
                root(&[]),
                node(2, 1, folder(3, &[("a", 3, Folder)])),
                node(3, 1, folder(2, &[("b", 2, Folder)])),
            ],
            "node 2 has 0 names, not 1",
        ),
        (vec![root(&[("b", 2, File), ("a", 2, File)]), node(2, 2, file(1))], "a page is out of order"),
        (vec![root(&[("a", 2, File), ("a", 2, File)]), node(2, 2, file(1))], "a page is out of order"),
        (vec![root(&[("a", 2, File)]), node(2, 1, file(1)), node(2, 1, file(1))], "a page is out of order"),
        (one(""), "`` is no name"),
        (one("."), "`.` is no name"),
        (one(".."), "`..` is no name"),
        (one("a/b"), "`a/b` is no name"),
        (one("a\0"), "`a\\0` is no name"),
        (one("elevenbytes"), "the name `elevenbytes` is longer than 10"),
        (vec![root(&[("a", 9, File)]), node(9, 1, file(1))], "node 9 has a number out of range"),
        (body(File, file(1001)), "the saved files hold more than the quota of 1000 bytes and 20 names"),
        (body(File, file(u64::MAX)), "a file of 18446744073709551615 bytes"),
        (body(File, small(3, 4)), "node 2 has 4 bytes inside"),
        (body(File, small(3, 0)), "node 2 has 0 bytes inside"),
        (body(File, small(600, 513)), "node 2 has 513 bytes inside"),
        (body(File, block(&[0], 1)), "a tree"),
        (body(File, block(&[0], 0)), "block 0 lies past the end of its file"),
        (body(File, block(&[1], 900)), "block 1 lies past the end of its file"),
        (body(File, block(&[u32::MAX], 900)), "block 4294967295 lies past the end of its file"),
        (body(File, block(&[], 900)), "a page of 0 entries, not 1 to 32"),
        (body(File, block(&[0, 0], 900)), "a page is out of order"),
        (body(Link, link("x")), "a tree"),
        (body(Link, link("/etc")), "the link 2 leads nowhere"),
        (body(Link, link("")), "the link 2 leads nowhere"),
        (body(Link, link("a\0")), "the link 2 leads nowhere"),
    ] {
        assert_eq!(verdict(5, nodes), wanted);
    }
    assert_eq!(verdict(u64::MAX, one("a")), "the next node's number is out of range");
    let deep = |levels: u64| {
        let mut nodes = vec![root(&[("a", 2, Folder)])];
        nodes.extend((2..levels + 1).map(|ino| node(ino, 1, folder(ino - 1, &[("a", ino + 1, Folder)]))));
        nodes.push(node(levels + 1, 1, folder(levels, &[])));
        verdict(levels + 2, nodes)
    };
    assert_eq!(deep(3), "a tree");
    assert_eq!(deep(4), "a folder lies deeper than 3");
}

#[test]
fn few_bytes_never_make_much_memory() {
    // A page of pages, each the same, thirteen levels deep: 32^13 entries if they were believed.
    let chunks = MemoryChunks::default();
    let leaf = (0..32_u64).map(|at| node(at + 1, 1, folder(1, &[]))).collect();
    let mut id = put(&chunks, &format::Page::Leaf(leaf));
    for _ in 0..12 {
        id = put(&chunks, &format::Page::<NodeRecord>::Branch(vec![id; 32]));
    }
    let head = |nodes| format::encode_head(&Head { next: 100, nodes }, false).unwrap();
    let mut verdicts = Vec::new();
    for bytes in [
        head(Pages::Root(id)),
        head(Pages::Root(put(&chunks, &format::Page::<NodeRecord>::Branch(vec![id; 32])))),
        // A count of 2^60 records in a handful of bytes.
        [b"dmf\x01\x64\x01".as_slice(), &[0xff; 8], &[0x0f]].concat(),
        b"dmf\x03whatever".to_vec(),
        b"dmf".to_vec(),
        Vec::new(),
    ] {
        let root = ChunkId::of(&bytes);
        chunks.replace(root, bytes);
        let error = load(Root(root), Arc::new(chunks.clone()), Quota::default()).unwrap_err();
        verdicts.push(error.message().replace(&root.to_string(), "ID"));
    }
    assert_eq!(verdicts[0], "the saved state is damaged: a page is out of order");
    assert!(verdicts[1].ends_with("lies too deep"), "{}", verdicts[1]);
    assert_eq!(verdicts[2], "the saved state is damaged: chunk ID has another form");
    assert!(
        verdicts[3].ends_with("they are of version 3, this installation reads up to version 2"),
        "{}",
        verdicts[3]
    );
    assert_eq!(verdicts[4], "the saved state is damaged: chunk ID is no root");
}

#[test]
fn a_block_that_is_gone_or_false_is_an_error_of_reading_and_changes_nothing() {
    let (chunks, root, _) = saved();
    let block = ChunkId::of(&vec![1; 65536]);
    for false_bytes in [None, Some(vec![2; 65536]), Some(vec![1; 65537])] {
        let (chunks, block) = (chunks.clone(), block);
        match false_bytes {
            None => chunks.retain(|id| *id != block),
            Some(bytes) => chunks.replace(block, bytes),
        }
        let files = Files::new(load(root, Arc::new(chunks), Quota::default()).unwrap());
        let large = path("/w/d/e/large");
        let error = files.read(&large, 0, 10).unwrap_err();
        assert_eq!((error.code(), error.hint().is_some()), (ErrorCode::StateDamaged, true));
        let folder = files.open_folder(&path("/w"), dormouse_types::Access::ReadWrite).unwrap();
        let file = folder.open_at("d/e/large", true, super::OpenFlags::default(), super::BOTH).unwrap();
        assert_eq!(file.read(0, 1), Err(crate::Errno::Io));
        assert_eq!(file.write(65530, &[0; 10]), Err(crate::Errno::Io));
        assert_eq!(file.set_size(10), Err(crate::Errno::Io));
        assert_eq!(file.stat().unwrap().size, 400_000);
        assert_eq!(file.write(0, &vec![5; 65536]), Ok(65536), "nothing of the old block is needed");
        assert_eq!(file.read(0, 2).unwrap().0, [5, 5]);
        assert_eq!(file.read(393_216, 2).unwrap().0, [1, 1], "the last block is another chunk");
        super::audit(&files);
    }
}
