//! What a sweep takes, and what it must not.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use dormouse_core::ErrorCode;
use dormouse_core::sandbox::{ChunkId, Ledger as _};

use crate::support::{Dice, State, Whole, content, created, destroy, noise, sandbox, store, swept};

#[test]
fn a_sweep_takes_what_nobody_needs_and_gives_the_room_back() {
    let place = tempfile::tempdir().unwrap();
    let store = store(place.path());
    let shared = noise(1, 9000);
    let save = |time: u64, own: &[u8]| {
        let new = created(&store, &sandbox(time));
        store.update(&new, Some(&State::of(vec![shared.clone(), own.to_vec()]))).unwrap()
    };
    let stays = save(1, &noise(2, 9000));
    let goes: Vec<_> = (10..310).map(|time| save(time, &noise(time, 9000))).collect();
    assert_eq!(swept(&store).chunks, 0);
    let size = || std::fs::metadata(place.path().join("state.db")).unwrap().len();
    let before = size();
    goes.into_iter().for_each(|sandbox| destroy(&store, &sandbox));
    let swept = swept(&store);
    // Its own chunk and its root each.
    assert_eq!(swept.chunks, 600);
    assert!(swept.bytes > 300 * 9000);
    assert!(size() < before / 10, "{before} became {}", size());
    assert_eq!(content(&store, &stays.state.unwrap()).unwrap()[0], shared);
}

#[test]
fn a_state_that_cannot_be_followed_keeps_all_chunks() {
    let place = tempfile::tempdir().unwrap();
    let store = store(place.path());
    let one = created(&store, &sandbox(1));
    let one = store.update(&one, Some(&State::numbered(1))).unwrap();
    let first = one.state.unwrap();
    store.update(&one, Some(&State::numbered(100))).unwrap();
    let fails = |_: &_, _: &mut _| Err(dormouse_core::sandbox::chunk::damaged("a test"));
    assert_eq!(store.sweep(&fails, None).unwrap_err().code(), ErrorCode::StateDamaged);
    content(&store, &first).unwrap();
    swept(&store);
    assert!(content(&store, &first).is_err());
}

#[test]
fn a_chunk_that_is_swept_while_it_is_saved_is_saved_again() {
    let place = tempfile::tempdir().unwrap();
    let store = Arc::new(store(place.path()));
    let chunks = vec![noise(1, 500), noise(2, 500), noise(3, 500)];
    let left = created(&store, &sandbox(1));
    destroy(&store, &store.update(&left, Some(&State::of(chunks.clone()))).unwrap());
    // The chunks are there and nobody needs them. The save finds them; then they are swept.
    let shared = store.clone();
    let between = move |at: usize| {
        if at == 1 {
            swept(&shared);
        }
    };
    let new = created(&store, &sandbox(2));
    let state = State { chunks: chunks.clone(), between: Some(Box::new(between)) };
    let saved = store.update(&new, Some(&state)).unwrap();
    assert_eq!(content(&store, &saved.state.unwrap()).unwrap(), chunks);
}

#[test]
fn lif_01_what_a_packed_chunk_names_is_saved_again_when_it_was_swept() {
    let place = tempfile::tempdir().unwrap();
    let store = Arc::new(store(place.path()));
    let chunks = vec![noise(1, 500), noise(2, 500), noise(3, 500)];
    // The chunks are there and nobody needs them, under another root.
    let others = [chunks.clone(), vec![noise(4, 500)]].concat();
    let left = created(&store, &sandbox(1));
    destroy(&store, &store.update(&left, Some(&State::of(others))).unwrap());
    let shared = store.clone();
    let between = move |at: usize| {
        if at == 2 {
            swept(&shared);
        }
    };
    let new = created(&store, &sandbox(2));
    let state = Whole(State { chunks: chunks.clone(), between: Some(Box::new(between)) });
    let saved = store.update(&new, Some(&state)).unwrap();
    assert_eq!(content(&store, &saved.state.unwrap()).unwrap(), chunks);
}

#[test]
fn a_large_state_is_written_ahead_and_whole_even_if_that_is_swept() {
    let place = tempfile::tempdir().unwrap();
    let store = Arc::new(store(place.path()));
    let chunks: Vec<_> = (0..160).map(|number| noise(number, 1 << 18)).collect();
    let (shared, first, done) = (store.clone(), ChunkId::of(&chunks[0]), AtomicBool::new(false));
    let between = move |at: usize| {
        if at == 158 && !done.swap(true, Ordering::SeqCst) {
            assert!(shared.chunks().get(&first).unwrap().is_some(), "it was written ahead");
            assert!(swept(&shared).chunks > 30);
        }
    };
    let new = created(&store, &sandbox(2));
    let state = State { chunks: chunks.clone(), between: Some(Box::new(between)) };
    let saved = store.update(&new, Some(&state)).unwrap();
    assert!(content(&store, &saved.state.unwrap()).unwrap() == chunks);
}

#[test]
fn saving_and_sweeping_at_once_loses_nothing() {
    let place = tempfile::tempdir().unwrap();
    let stores = [store(place.path()), store(place.path())];
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let sweeper = scope.spawn(|| {
            let mut removed = 0;
            while !done.load(Ordering::SeqCst) {
                for store in &stores {
                    removed += swept(store).chunks;
                }
            }
            removed
        });
        let savers: Vec<_> = (0..4_u64)
            .map(|number| {
                let store = &stores[usize::try_from(number).unwrap() % 2];
                scope.spawn(move || {
                    let mut dice = Dice(number + 1);
                    let mut own = created(store, &sandbox(number));
                    for _ in 0..60 {
                        // Few different chunks, so that what one lets go another takes up.
                        let chunks: Vec<_> = (0..4).map(|_| noise(dice.roll(12) as u64, 2000)).collect();
                        own = store.update(&own, Some(&State::of(chunks.clone()))).unwrap();
                        assert_eq!(content(store, &own.state.unwrap()).unwrap(), chunks);
                    }
                })
            })
            .collect();
        let ended: Vec<_> = savers.into_iter().map(|saver| saver.join()).collect();
        done.store(true, Ordering::SeqCst);
        assert!(ended.into_iter().all(|end| end.is_ok()));
        assert!(sweeper.join().unwrap() > 0);
    });
}
