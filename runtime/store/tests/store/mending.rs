//! Damage that is seen: who has the bytes writes them anew, others go on, what is damaged can be found and removed.

use std::path::Path;

use dormouse_core::ErrorCode;
use dormouse_core::sandbox::{
    CheckpointId, ChunkId, Handle, Include, Ledger as _, NewCheckpoint, Owner, Phase, Timestamp,
};
use dormouse_store::check;

use crate::support::{MANY, State, Whole, content, created, destroy, noise, reach, sandbox, store, swept};

/// Changes what lies under a name.
fn damage(folder: &Path, id: &ChunkId) {
    let connection = rusqlite::Connection::open(folder.join("state.db")).unwrap();
    let changed = "UPDATE chunks SET data = zeroblob(length(data)) WHERE id = ?1";
    assert_eq!(connection.execute(changed, [id.as_bytes()]).unwrap(), 1);
}

#[test]
fn r_14_a_chunk_that_was_found_damaged_is_mended_by_the_next_save_that_has_its_bytes() {
    let place = tempfile::tempdir().unwrap();
    let (store, other) = (store(place.path()), store(place.path()));
    let chunks = vec![noise(1, 5000), noise(2, 5000)];
    let state = || Whole(State::of(chunks.clone()));
    let one = store.update(&created(&store, &sandbox(1)), Some(&state())).unwrap();
    let saved = one.state.unwrap();
    damage(place.path(), &ChunkId::of(&chunks[0]));
    // Before anybody has looked, nobody knows.
    let two = store.update(&created(&store, &sandbox(2)), Some(&state())).unwrap();
    assert_eq!(content(&store, &saved).unwrap_err().code(), ErrorCode::StateDamaged);
    // Another process that saves the same state writes it, though its root is there.
    let three = other.update(&created(&other, &sandbox(3)), Some(&state())).unwrap();
    for state in [saved, two.state.unwrap(), three.state.unwrap()] {
        assert_eq!(content(&store, &state).unwrap(), chunks);
    }
    // And a sweep takes none of it, nor finds what was marked.
    assert_eq!(swept(&store).chunks, 0);
    assert_eq!(content(&store, &saved).unwrap(), chunks);
}

#[test]
fn r_14_a_damaged_root_stops_no_sweep_of_others() {
    let place = tempfile::tempdir().unwrap();
    let store = store(place.path());
    let one = store.update(&created(&store, &sandbox(1)), Some(&State::numbered(1))).unwrap();
    let two = store.update(&created(&store, &sandbox(2)), Some(&State::numbered(100))).unwrap();
    let gone = store.update(&created(&store, &sandbox(3)), Some(&State::numbered(200))).unwrap();
    let root = one.state.unwrap().root;
    damage(place.path(), &root);
    let last = gone.state.unwrap();
    destroy(&store, &gone);
    let done = swept(&store);
    assert!(done.whole && done.chunks > 0, "{done:?}");
    assert!(content(&store, &last).is_err());
    assert_eq!(content(&store, &two.state.unwrap()).unwrap(), State::numbered(100).chunks);
    // The damaged root is still there, and whoever has the whole state makes it whole.
    let again = store.update(&one, Some(&State::numbered(1))).unwrap();
    assert_eq!(content(&store, &again.state.unwrap()).unwrap(), State::numbered(1).chunks);
}

#[test]
fn r_14_a_damaged_row_ends_no_listing_and_can_be_removed() {
    let place = tempfile::tempdir().unwrap();
    let (store, owner) = (store(place.path()), Owner::local());
    let all: Vec<_> = (1..=4).map(|number| created(&store, &sandbox(number))).collect();
    let bad = all[1].id.clone();
    let connection = rusqlite::Connection::open(place.path().join("state.db")).unwrap();
    let changed = "UPDATE sandboxes SET last_activity_at = 77 WHERE id = ?1";
    assert_eq!(connection.execute(changed, [bad.as_str()]).unwrap(), 1);
    let ids = |all: Vec<dormouse_core::sandbox::Sandbox>| {
        all.into_iter().map(|sandbox| sandbox.created_at.0).collect::<Vec<_>>()
    };
    assert_eq!(ids(store.list(&owner, None, None, 10).unwrap()), [1, 3, 4]);
    assert_eq!(ids(store.list(&owner, None, None, 2).unwrap()), [1, 3], "a page is full all the same");
    assert_eq!(ids(store.in_phase(Phase::Running).unwrap()), [1, 3, 4]);
    let error = store.find(&owner, &Handle::IdOrName(bad.as_str())).unwrap_err();
    assert_eq!(error.code(), ErrorCode::StateDamaged);
    assert!(error.hint().unwrap().contains("sandbox_destroy"), "{error:?}");
    let checked =
        check(place.path(), &|state, _, reached| reach(&store)(state, reached), &mut |_, _| {}).unwrap();
    assert_eq!(checked.damaged[0].sandbox, bad.as_str());
    // What is whole is not thrown away like that, and nothing of another owner's.
    assert_eq!(store.discard(&owner, &Handle::IdOrName(all[0].id.as_str())).unwrap(), None);
    let stranger = Owner::parse("somebody").unwrap();
    assert_eq!(store.discard(&stranger, &Handle::IdOrName(bad.as_str())).unwrap(), None);
    assert_eq!(store.discard(&owner, &Handle::IdOrName("box 2")).unwrap(), Some(bad.clone()));
    assert_eq!(store.discard(&owner, &Handle::IdOrName(bad.as_str())).unwrap(), None);
    assert_eq!(ids(store.list(&owner, None, None, 10).unwrap()), [1, 3, 4]);
}

#[test]
fn state_check_calls_a_folder_of_a_later_version_neither_whole_nor_damaged() {
    let place = tempfile::tempdir().unwrap();
    created(&store(place.path()), &sandbox(1));
    let later = rusqlite::Connection::open(place.path().join("state.db")).unwrap();
    later.execute_batch("PRAGMA user_version = 99").unwrap();
    let error = check(place.path(), &|_, _, _| Ok(()), &mut |_, _| {}).unwrap_err();
    assert_eq!(error.code(), ErrorCode::StateUnavailable);
    assert!(error.message().contains("has version 99"), "{error}");
    assert!(error.hint().is_some());
}

#[test]
fn state_check_reads_everything_and_names_what_is_damaged() {
    let place = tempfile::tempdir().unwrap();
    let store = store(place.path());
    let mut sandboxes = Vec::new();
    for number in 0..10 {
        let new = created(&store, &sandbox(number));
        sandboxes.push(store.update(&new, Some(&State::numbered(number * 100))).unwrap());
    }
    let label = NewCheckpoint {
        id: CheckpointId::random().unwrap(),
        sandbox: sandboxes[0].id.clone(),
        name: None,
        include: Include::Both,
        created_at: Timestamp(1),
    };
    store.add_checkpoint(&label, &State::numbered(500), &MANY).unwrap();
    let look = || {
        let mut last = (0, 0);
        let mut progress = |done, all| last = (done, all);
        let checked =
            check(place.path(), &|state, _, reached| reach(&store)(state, reached), &mut progress).unwrap();
        assert_eq!(last, (checked.chunks, checked.chunks), "progress comes to the end");
        checked
    };
    let before = look();
    assert!(before.is_whole(), "{before:?}");
    assert_eq!((before.sandboxes, before.checkpoints), (10, 1));
    assert!(before.chunks >= 30 && before.bytes > 60_000);

    // A chunk of a sandbox that a checkpoint of another shares, a root, and a chunk that is gone.
    damage(place.path(), &ChunkId::of(&State::numbered(500).chunks[1]));
    damage(place.path(), &sandboxes[2].state.unwrap().root);
    let connection = rusqlite::Connection::open(place.path().join("state.db")).unwrap();
    let gone = ChunkId::of(&State::numbered(700).chunks[1]);
    connection.execute("DELETE FROM chunks WHERE id = ?1", [gone.as_bytes()]).unwrap();
    let after = look();
    assert!(!after.is_whole() && after.damaged_chunks.len() == 2 && after.database.is_empty(), "{after:?}");
    let named = |id: &str, checkpoint: Option<&str>| {
        let mut found = after.damaged.iter();
        found.any(|one| one.sandbox == id && one.checkpoint.as_deref() == checkpoint && !one.why.is_empty())
    };
    assert_eq!(after.damaged.len(), 4, "{after:?}");
    for number in [2, 5, 7] {
        assert!(named(sandboxes[number].id.as_str(), None), "{number}: {after:?}");
    }
    assert!(named(sandboxes[0].id.as_str(), Some(label.id.as_str())));
}
