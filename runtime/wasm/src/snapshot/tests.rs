//! Saved states that lie about themselves under true names: refused by name, before anything large is made.

use dormouse_files::MemoryChunks;

use super::*;
use crate::saved::SavedInterpreter;

fn saved() -> (MemoryChunks, WasmSnapshot) {
    let pages = vec![(1, Arc::new([7; PAGE])), (40, Arc::new([9; PAGE]))];
    let interpreter = SavedInterpreter {
        language: GuestName::python(),
        guest: "ab".repeat(32),
        stack_pointer: 1 << 20,
        memory: 1 << 20,
        pages,
        closed: vec!["open".into()],
        held: Vec::new(),
    };
    let stored = Arc::new(StoredInterpreter::new(interpreter));
    let interpreters = Some(BTreeMap::from([(GuestName::python(), stored)]));
    let tree = Some(Tree::new(Quota::default()));
    (MemoryChunks::default(), WasmSnapshot { interpreters, tree, older: Vec::new(), parts: Parts::default() })
}

/// Reads a state as a restore does: all of its interpreters.
fn read(state: &SavedState, chunks: &MemoryChunks) -> Result<WasmSnapshot> {
    let source: Arc<dyn ChunkSource> = Arc::new(chunks.clone());
    let read = WasmSnapshot::load(state, &source, Quota::default())?;
    for stored in read.interpreters.iter().flat_map(BTreeMap::values) {
        stored.interpreter()?;
    }
    WasmSnapshot::reach(state, source.as_ref(), &mut Reached::default())?;
    Ok(read)
}

fn rooted(bytes: &[u8], chunks: &MemoryChunks) -> SavedState {
    let mut sink = chunks.clone();
    SavedState { root: put(&mut sink, bytes).unwrap(), bytes: 0 }
}

fn forged(head: &Head, regions: &[(u32, ChunkId)], chunks: &MemoryChunks) -> SavedState {
    let mut sink = chunks.clone();
    let index = put(&mut sink, &postcard::to_stdvec(regions).unwrap()).unwrap();
    let manifest = Manifest { interpreters: Some(vec![(head.clone(), vec![index])]), files: None };
    rooted(&[MARK.as_slice(), &postcard::to_stdvec(&manifest).unwrap()].concat(), chunks)
}

#[test]
fn lif_03_every_cut_and_changed_root_is_refused_or_a_state() {
    let (chunks, snapshot) = saved();
    let state = snapshot.save(&mut chunks.clone()).unwrap();
    assert_eq!(read(&state, &chunks).unwrap().closed_files(), ["open"]);
    let root = chunk::fetch(&chunks, &state.root).unwrap();
    for end in 1..root.len() {
        assert!(read(&rooted(&root[..end], &chunks), &chunks).is_err(), "cut at {end}");
    }
    let mut refused = 0;
    for at in 0..root.len() * 8 {
        let mut changed = root.clone();
        changed[at / 8] ^= 1 << (at % 8);
        if let Err(error) = read(&rooted(&changed, &chunks), &chunks) {
            let codes = [ErrorCode::StateDamaged, ErrorCode::StateUnavailable, ErrorCode::TooLarge];
            assert!(codes.contains(&error.code()) && error.hint().is_some(), "bit {at}: {error}");
            refused += 1;
        }
    }
    assert!(refused > 64, "{refused}");
}

#[test]
fn lif_03_a_missing_chunk_is_named_wherever_it_is() {
    let (chunks, snapshot) = saved();
    let state = snapshot.save(&mut chunks.clone()).unwrap();
    for id in chunks.ids() {
        let without = MemoryChunks::default();
        for other in chunks.ids().into_iter().filter(|other| *other != id) {
            without.replace(other, chunk::fetch(&chunks, &other).unwrap());
        }
        let error = read(&state, &without).err().unwrap_or_else(|| panic!("{id} is not missed"));
        assert_eq!(error.code(), ErrorCode::StateDamaged);
        assert!(error.message().contains(&id.to_string()), "{error}");
        without.replace(id, b"something else".to_vec());
        assert_eq!(read(&state, &without).err().map(|error| error.code()), Some(ErrorCode::StateDamaged));
    }
}

#[test]
fn lif_03_claims_of_a_terabyte_and_of_another_version_are_refused() {
    let (chunks, snapshot) = saved();
    let head = snapshot.interpreters.as_ref().unwrap()[&GuestName::python()].head.clone();
    let page = [&[0][..], &[1; PAGE]].concat();
    let region = put(&mut chunks.clone(), &page).unwrap();
    let code = |state: &SavedState| read(state, &chunks).err().map(|error| error.code());
    assert_eq!(code(&forged(&head, &[(0, region)], &chunks)), None);
    let damaged = Some(ErrorCode::StateDamaged);
    for memory in [1 << 40, u64::MAX, (1 << 20) + 1, MAX_MEMORY + PAGE as u64] {
        assert_eq!(
            code(&forged(&Head { memory, ..head.clone() }, &[(0, region)], &chunks)),
            damaged,
            "{memory}"
        );
    }
    for regions in
        [vec![(16, region)], vec![(u32::MAX, region)], vec![(1, region), (0, region)], vec![(0, region); 2]]
    {
        assert_eq!(code(&forged(&head, &regions, &chunks)), damaged, "{regions:?}");
    }
    for bytes in
        [vec![0; PAGE], vec![1; 3], [&[16][..], &[1; PAGE]].concat(), [page.clone(), page.clone()].concat()]
    {
        let region = put(&mut chunks.clone(), &bytes).unwrap();
        assert_eq!(code(&forged(&head, &[(0, region)], &chunks)), damaged, "{} bytes", bytes.len());
    }
    let later = rooted(b"dms\x03later", &chunks);
    let error = read(&later, &chunks).err().unwrap();
    assert_eq!(error.code(), ErrorCode::StateUnavailable);
    assert!(error.message().contains("version 3") && error.hint().is_some(), "{error}");
    for foreign in [&b"x"[..], b"DMOUSE\0\x02", b"SQLite format 3\0", b"{}"] {
        assert_eq!(code(&rooted(foreign, &chunks)), damaged);
    }
}
