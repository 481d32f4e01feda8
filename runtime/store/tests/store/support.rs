//! Sandboxes, states and folders to test with.

use std::path::Path;

use dormouse_core::sandbox::chunk;
use dormouse_core::sandbox::{
    ChunkId, ChunkSink, Created, Ledger, Name, Owner, Phase, Quota, Reached, Sandbox, SandboxId, SandboxSpec,
    SavedState, SessionKey, Share, Snapshot, Swept, Timestamp,
};
use dormouse_core::{Error, Result};
use dormouse_store::{Settings, Store};

/// A quota that nobody reaches.
pub(crate) const MANY: Quota = Quota {
    per_owner: 100_000,
    in_all: 100_000,
    checkpoints: 100_000,
    saved: Share { of_owner: None, in_all: None },
    awake: Share { of_owner: None, in_all: None },
};

pub(crate) fn store(folder: &Path) -> Store {
    Store::open(folder, &Settings::default()).unwrap()
}

/// A sandbox as it is when it is running, made at that time and called by it.
pub(crate) fn sandbox(time: u64) -> Sandbox {
    Sandbox {
        id: SandboxId::random().unwrap(),
        owner: Owner::local(),
        name: Name::parse(&format!("box {time}")).unwrap(),
        session_key: None,
        phase: Phase::Running,
        stop_reason: None,
        spec: SandboxSpec::default(),
        state: None,
        generation: 0,
        created_at: Timestamp(time),
        last_activity_at: Timestamp(time),
        stopped_at: None,
        used: false,
    }
}

pub(crate) fn keyed(time: u64, key: &str) -> Sandbox {
    Sandbox { session_key: Some(SessionKey::parse(key).unwrap()), ..sandbox(time) }
}

pub(crate) fn created(store: &Store, sandbox: &Sandbox) -> Sandbox {
    match store.create(sandbox, &MANY).unwrap() {
        Created::New(sandbox) => sandbox,
        Created::Existing(_) => panic!("it was there already"),
    }
}

/// Random numbers that are the same in each run.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 16).unwrap() % sides
    }
}

/// Bytes that do not shrink, of that seed.
pub(crate) fn noise(seed: u64, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    let mut dice = Dice(seed.wrapping_mul(2).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    bytes.chunks_mut(4).for_each(|four| {
        let word = u32::try_from(dice.roll(1 << 32)).unwrap().to_le_bytes();
        four.copy_from_slice(&word[..four.len()]);
    });
    bytes
}

/// A state of some chunks: its root is the list of their names. `between` happens after each chunk.
pub(crate) struct State {
    pub(crate) chunks: Vec<Vec<u8>>,
    pub(crate) between: Option<Box<dyn Fn(usize) + Send + Sync>>,
}

impl State {
    pub(crate) fn of(chunks: Vec<Vec<u8>>) -> Self {
        Self { chunks, between: None }
    }

    /// A state that says which one it is.
    pub(crate) fn numbered(number: u64) -> Self {
        Self::of(vec![
            number.to_le_bytes().to_vec(),
            noise(number, 6000),
            // Shared with its neighbours.
            noise(number / 4, 3000),
        ])
    }
}

impl Snapshot for State {
    fn save(&self, sink: &mut dyn ChunkSink) -> Result<SavedState> {
        let mut root = Vec::new();
        for (at, bytes) in self.chunks.iter().enumerate() {
            let id = ChunkId::of(bytes);
            if !sink.has(&id)? {
                sink.put(&id, bytes)?;
            }
            root.extend(id.as_bytes());
            if let Some(between) = &self.between {
                between(at);
            }
        }
        sink.put(&ChunkId::of(&root), &root)?;
        let bytes = self.chunks.iter().map(Vec::len).sum::<usize>() + root.len();
        Ok(SavedState { root: ChunkId::of(&root), bytes: bytes as u64 })
    }

    fn bytes(&self) -> u64 {
        0
    }

    fn closed_files(&self) -> Vec<String> {
        Vec::new()
    }
}

/// A state that looks below what is kept only when something is to be mended, as those of interpreters and trees do.
pub(crate) struct Whole(pub(crate) State);

impl Snapshot for Whole {
    fn save(&self, sink: &mut dyn ChunkSink) -> Result<SavedState> {
        let root: Vec<u8> = self.0.chunks.iter().flat_map(|bytes| *ChunkId::of(bytes).as_bytes()).collect();
        if !sink.mends() && sink.has(&ChunkId::of(&root))? {
            return Ok(SavedState { root: ChunkId::of(&root), bytes: 0 });
        }
        self.0.save(sink)
    }

    fn bytes(&self) -> u64 {
        0
    }

    fn closed_files(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Removes a sandbox.
pub(crate) fn destroy(store: &Store, sandbox: &Sandbox) {
    store.update(&Sandbox { phase: Phase::Destroyed, ..sandbox.clone() }, None).unwrap();
}

/// The chunks of a state, as [`Ledger::sweep`] asks for them.
pub(crate) fn reach(store: &Store) -> impl Fn(&SavedState, &mut Reached) -> Result<()> {
    let consists = consists(store);
    move |state, reached| {
        if reached.branch(state.root) {
            let ids = reached.follow(|| consists(state))?;
            ids.into_iter().flatten().for_each(|id| reached.leaf(id));
        }
        Ok(())
    }
}

/// Sweeps to the end.
pub(crate) fn swept(store: &Store) -> Swept {
    store.sweep(&reach(store), None).unwrap()
}

/// The chunks of a state, its root last.
fn consists(store: &Store) -> impl Fn(&SavedState) -> Result<Vec<ChunkId>> {
    let chunks = store.chunks();
    move |state| {
        let root = chunk::fetch(chunks.as_ref(), &state.root)?;
        let ids = root.chunks(32).map(|id| id.try_into().map(ChunkId::from_bytes));
        let ids: std::result::Result<Vec<_>, _> = ids.collect();
        let mut ids = ids.map_err(|error| Error::internal("not a root", error))?;
        ids.push(state.root);
        Ok(ids)
    }
}

/// The bytes of a state, all chunks one after the other but the root.
pub(crate) fn content(store: &Store, state: &SavedState) -> Result<Vec<Vec<u8>>> {
    let mut ids = consists(store)(state)?;
    ids.pop();
    ids.iter().map(|id| chunk::fetch(store.chunks().as_ref(), id)).collect()
}
