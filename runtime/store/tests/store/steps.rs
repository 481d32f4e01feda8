//! Sweeps in steps: cut off in the middle, beside saves, over states of several levels, and over a database of the first form.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use dormouse_core::Result;
use dormouse_core::sandbox::chunk::fetch;
use dormouse_core::sandbox::{
    ChunkId, ChunkSink, ChunkSource, Ledger as _, Phase, Reached, SavedState, Snapshot,
};

use crate::support::{Dice, State, content, created, destroy, noise, reach, sandbox, store, swept};

/// A time at which no more is done.
fn at_once() -> Option<Instant> {
    Some(Instant::now())
}

#[test]
fn lif_09_a_sweep_that_is_cut_off_is_taken_up_where_it_was() {
    let place = tempfile::tempdir().unwrap();
    let store = store(place.path());
    let gone = created(&store, &sandbox(1));
    let chunks: Vec<_> = (0..300).map(|seed| noise(seed, 100)).collect();
    destroy(&store, &store.update(&gone, Some(&State::of(chunks))).unwrap());
    // Each goes on for one transaction, of at most 128 chunks.
    let mut removed = 0;
    for step in 0.. {
        let swept = store.sweep(&reach(&store), at_once()).unwrap();
        assert!(swept.chunks <= 128 && (swept.chunks > 0 || swept.whole), "{swept:?}");
        removed += swept.chunks;
        if swept.whole {
            assert!(step >= 2);
            break;
        }
        assert_eq!(store.disk().unwrap().swept, None);
    }
    assert_eq!(removed, 301);
    assert!(store.disk().unwrap().swept.is_some());
}

#[test]
fn lif_09_what_is_doomed_is_saved_again_by_whoever_needs_it() {
    let place = tempfile::tempdir().unwrap();
    let store = store(place.path());
    let gone = created(&store, &sandbox(1));
    let chunks: Vec<_> = (0..300).map(|seed| noise(seed, 100)).collect();
    destroy(&store, &store.update(&gone, Some(&State::of(chunks.clone()))).unwrap());
    assert!(!store.sweep(&reach(&store), at_once()).unwrap().whole);
    let there = |seed: u64| store.chunks().get(&ChunkId::of(&noise(seed, 100))).unwrap().is_some();
    assert!(there(0) && !there(299), "the latest go first");
    // The first of them are still there, and are to go, up to one that is now the latest of all.
    let latest = (0..300).rfind(|seed| there(*seed)).unwrap();
    let latest = usize::try_from(latest).unwrap();
    let saved = [&chunks[latest - 9..=latest], &chunks[..50]].map(|some| {
        let new = created(&store, &sandbox(1 + some.len() as u64));
        (store.update(&new, Some(&State::of(some.to_vec()))).unwrap().state.unwrap(), some)
    });
    assert!(swept(&store).whole);
    for (state, some) in saved {
        assert_eq!(content(&store, &state).unwrap(), some);
    }
    assert!(!there(60));
}

/// A state of pages of leaves. What is there is trusted to be whole, as interpreters and trees do.
struct Nested(Vec<Vec<u64>>);

/// Pages and leaves of which states are made, few, so that what one lets go another takes up.
const PAGES: usize = 10;
const LEAVES: usize = 30;

impl Nested {
    fn random(dice: &mut Dice) -> Self {
        // A page has always the same leaves.
        let page = |number: u64| (0..4).map(|at| (number * 7 + at * 3) % LEAVES as u64).collect();
        Self((0..3).map(|_| page(dice.roll(PAGES) as u64)).collect())
    }

    fn leaf(seed: u64) -> Vec<u8> {
        noise(seed, 600)
    }

    fn page(leaves: &[u64]) -> Vec<u8> {
        leaves.iter().flat_map(|seed| *ChunkId::of(&Self::leaf(*seed)).as_bytes()).collect()
    }

    fn root(&self) -> Vec<u8> {
        self.0.iter().flat_map(|page| *ChunkId::of(&Self::page(page)).as_bytes()).collect()
    }
}

impl Snapshot for Nested {
    fn save(&self, sink: &mut dyn ChunkSink) -> Result<SavedState> {
        let root = self.root();
        let saved = SavedState { root: ChunkId::of(&root), bytes: 1 };
        if sink.has(&saved.root)? {
            return Ok(saved);
        }
        for leaves in &self.0 {
            let page = Self::page(leaves);
            if sink.has(&ChunkId::of(&page))? {
                continue;
            }
            for bytes in leaves.iter().map(|seed| Self::leaf(*seed)) {
                if !sink.has(&ChunkId::of(&bytes))? {
                    sink.put(&ChunkId::of(&bytes), &bytes)?;
                }
            }
            sink.put(&ChunkId::of(&page), &page)?;
        }
        sink.put(&saved.root, &root)?;
        Ok(saved)
    }

    fn bytes(&self) -> u64 {
        1
    }

    fn closed_files(&self) -> Vec<String> {
        Vec::new()
    }
}

fn named(bytes: &[u8]) -> Vec<ChunkId> {
    bytes.chunks(32).map(|id| ChunkId::from_bytes(id.try_into().unwrap())).collect()
}

/// All that a nested state consists of, read and checked.
fn follow(source: &dyn ChunkSource, state: &SavedState, reached: &mut Reached) -> Result<()> {
    if !reached.branch(state.root) {
        return Ok(());
    }
    for page in named(&fetch(source, &state.root)?) {
        if reached.branch(page) {
            for leaf in named(&fetch(source, &page)?) {
                fetch(source, &leaf)?;
                reached.leaf(leaf);
            }
        }
    }
    Ok(())
}

/// A save that is given up after much of it was written ahead.
struct GivenUp(u64, Nested);

impl Snapshot for GivenUp {
    fn save(&self, sink: &mut dyn ChunkSink) -> Result<SavedState> {
        self.1.save(sink)?;
        for at in 0..70 {
            let bytes = noise(self.0 * 100 + at, 1 << 18);
            sink.put(&ChunkId::of(&bytes), &bytes)?;
        }
        Err(dormouse_core::Error::args_invalid("given up"))
    }

    fn bytes(&self) -> u64 {
        1
    }

    fn closed_files(&self) -> Vec<String> {
        Vec::new()
    }
}

#[test]
fn lif_09_saves_beside_sweeps_that_are_cut_off_anywhere_are_whole() {
    let place = tempfile::tempdir().unwrap();
    let stores = [store(place.path()), store(place.path())];
    let (done, removed, cut) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut dice = Dice(77);
            while !done.load(Ordering::SeqCst) {
                let store = &stores[dice.roll(2)];
                let source = store.chunks();
                let until = Instant::now() + Duration::from_millis(dice.roll(60) as u64);
                let follow =
                    |state: &SavedState, reached: &mut Reached| follow(source.as_ref(), state, reached);
                let swept = store.sweep(&follow, (dice.roll(4) > 0).then_some(until)).unwrap();
                removed.fetch_add(swept.chunks, Ordering::SeqCst);
                cut.fetch_add(u64::from(!swept.whole), Ordering::SeqCst);
            }
        });
        let savers: Vec<_> = (0..4_u64)
            .map(|number| {
                let store = &stores[usize::try_from(number).unwrap() % 2];
                scope.spawn(move || {
                    let mut dice = Dice(number + 1);
                    let mut own = created(store, &sandbox(number));
                    for turn in 0..150 {
                        own = store.update(&own, Some(&Nested::random(&mut dice))).unwrap();
                        let state = own.state.unwrap();
                        follow(store.chunks().as_ref(), &state, &mut Reached::default()).unwrap();
                        if number == 0 && turn % 30 == 0 {
                            let given_up = GivenUp(turn, Nested::random(&mut dice));
                            store.update(&own, Some(&given_up)).unwrap_err();
                        }
                    }
                })
            })
            .collect();
        let ended: Vec<_> = savers.into_iter().map(|saver| saver.join()).collect();
        done.store(true, Ordering::SeqCst);
        assert!(ended.into_iter().all(|end| end.is_ok()));
    });
    assert!(removed.load(Ordering::SeqCst) > 100 && cut.load(Ordering::SeqCst) > 0, "{removed:?}, {cut:?}");
    // What is left is what the last states consist of, and nothing else.
    let store = &stores[0];
    let source = store.chunks();
    let follow = |state: &SavedState, reached: &mut Reached| follow(source.as_ref(), state, reached);
    assert!(store.sweep(&follow, None).unwrap().whole);
    assert_eq!(store.sweep(&follow, None).unwrap().chunks, 0);
    let mut reached = Reached::default();
    for sandbox in store.in_phase(Phase::Running).unwrap() {
        follow(&sandbox.state.unwrap(), &mut reached).unwrap();
    }
    let kept: i64 = rusqlite::Connection::open(place.path().join("state.db"))
        .unwrap()
        .query_row("SELECT count(*) FROM chunks", (), |row| row.get(0))
        .unwrap();
    assert_eq!(usize::try_from(kept).unwrap(), reached.len());
}

#[test]
fn lif_09_a_database_of_the_first_form_is_swept_without_a_loss() {
    let place = tempfile::tempdir().unwrap();
    let state = |seed: u64| State::of((0..40).map(|at| noise(seed * 100 + at, 100)).collect());
    let (kept, gone) = {
        let store = store(place.path());
        let save = |time| {
            let new = created(&store, &sandbox(time));
            store.update(&new, Some(&state(time))).unwrap()
        };
        let (kept, gone) = (save(1), save(2));
        destroy(&store, &gone);
        (kept, gone)
    };
    let old = rusqlite::Connection::open(place.path().join("state.db")).unwrap();
    // In the first form a chunk's number said nothing.
    old.execute_batch(
        "DROP TABLE doomed; DROP TABLE numbers; DROP TABLE runs; DROP TABLE run_calls; DROP TABLE run_answers;
         PRAGMA user_version = 1;
         UPDATE chunks SET number = number + 100000; UPDATE chunks SET number = 200000 - number;",
    )
    .unwrap();
    drop(old);
    let store = store(place.path());
    assert!(!store.sweep(&reach(&store), at_once()).unwrap().whole);
    let new = created(&store, &sandbox(3));
    let new = store.update(&new, Some(&state(2))).unwrap();
    assert!(swept(&store).whole);
    for (sandbox, seed) in [(&kept, 1), (&new, 2)] {
        assert_eq!(content(&store, &sandbox.state.unwrap()).unwrap(), state(seed).chunks);
    }
    assert_eq!(new.state, gone.state);
    destroy(&store, &new);
    assert_eq!(swept(&store).chunks, 41);
}
