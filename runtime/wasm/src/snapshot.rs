//! A sandbox's state at one moment: its interpreters and its files, in memory or still in the store.
//!
//! The saved form, version 2: a root chunk (a mark, then postcard) names the root of the file tree and each interpreter: its
//! guest, its memory and the chunks that list its regions. A region is the saved pages of 64 KiB of memory, one chunk: for
//! each page its place in the region (one byte) and its difference from the guest's image ([`crate::saved`]). Regions
//! that did not change are the same chunk, in this state and in others. Of a language whose guest was replaced there may be several memories,
//! each with its guest; the one that was used last comes first. What else there is to say, such as what they have open, stands in
//! [`parts`] after that. Version 1 is still written where nothing is open.

mod notes;
mod parts;
mod stored;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::{Arc, OnceLock};

use dormouse_core::sandbox::chunk::{self, damaged};
use dormouse_core::sandbox::{ChunkId, ChunkSink, ChunkSource, Reached, SavedState, Snapshot};
use dormouse_core::{Error, ErrorCode, GuestName, Result};
use dormouse_files::{Extras, Held, Quota, Root, Tree};
use serde::{Deserialize, Serialize};

pub(crate) use self::notes::replaced;
pub(crate) use self::parts::Parts;
pub(crate) use self::stored::StoredInterpreter;
use self::stored::{Head, LISTED, REGION, put, regions};
use crate::saved::{MAX_MEMORY, PAGE};
use crate::trim;

/// First bytes of a root, with its version.
const MARK: &[u8; 4] = b"dms\x01";
/// The same of a state whose interpreters have files open.
const MARK_OPEN: &[u8; 4] = b"dms\x02";
/// Interpreters that a state can hold; there are fewer languages.
const MAX_INTERPRETERS: usize = 64;

/// The state. What it does not include is none.
#[derive(Clone)]
pub(crate) struct WasmSnapshot {
    /// By language, the memory that was used last. None: the state is without interpreters, and says nothing about them.
    pub(crate) interpreters: Option<BTreeMap<GuestName, Arc<StoredInterpreter>>>,
    /// None: the state is without files.
    pub(crate) tree: Option<Tree>,
    /// Memory of other builds of guests than the ones in `interpreters`; of each language the one that was used last comes first.
    pub(crate) older: Vec<Arc<StoredInterpreter>>,
    pub(crate) parts: Parts,
}
#[derive(Serialize, Deserialize)]
struct Manifest {
    interpreters: Option<Vec<(Head, Vec<ChunkId>)>>,
    files: Option<Root>,
}
impl WasmSnapshot {
    /// Reads a saved state; its interpreters and the content of its files are read when they are used.
    ///
    /// # Errors
    /// `state_damaged`; `too_large` when it holds more files than `quota`.
    pub(crate) fn load(state: &SavedState, source: &Arc<dyn ChunkSource>, quota: Quota) -> Result<Self> {
        let (manifest, mut parts) = manifest(state, source.as_ref())?;
        let mut open = std::mem::take(&mut parts.open).into_iter();
        let tree = match manifest.files {
            Some(root) => Some(dormouse_files::load(root, source.clone(), quota)?),
            None => None,
        };
        let mut older = Vec::new();
        let interpreters = manifest.interpreters.map(|list| {
            let mut latest = BTreeMap::new();
            for (head, index) in list {
                let language = head.language.clone();
                let (here, index) = (OnceLock::new(), OnceLock::from(index));
                let held = open.next().unwrap_or_default();
                let stored =
                    Arc::new(StoredInterpreter { head, held, here, index, source: Some(source.clone()) });
                match latest.entry(language) {
                    Entry::Vacant(place) => {
                        place.insert(stored);
                    }
                    Entry::Occupied(_) => older.push(stored),
                }
            }
            latest
        });
        Ok(Self { interpreters, tree, older, parts })
    }

    /// Notes every chunk of a saved state.
    ///
    /// # Errors
    /// `state_damaged`.
    pub(crate) fn reach(state: &SavedState, source: &dyn ChunkSource, reached: &mut Reached) -> Result<()> {
        if !reached.branch(state.root) {
            return Ok(());
        }
        let Some((manifest, _)) = reached.follow(|| manifest(state, source))? else { return Ok(()) };
        for (_, index) in manifest.interpreters.iter().flatten() {
            for id in index {
                if reached.branch(*id) {
                    let listed = reached.follow(|| regions(&[*id], source))?;
                    listed.into_iter().flatten().for_each(|(_, id)| reached.leaf(id));
                }
            }
        }
        match manifest.files {
            Some(root) => dormouse_files::reachable(root, source, reached),
            None => Ok(()),
        }
    }
}

fn manifest(state: &SavedState, source: &dyn ChunkSource) -> Result<(Manifest, Parts)> {
    let bytes = chunk::fetch(source, &state.root)?;
    // A container's, where containers cannot be had: its files.
    if let Some(root) = dormouse_files::root_alone(&bytes)? {
        return Ok((Manifest { interpreters: None, files: Some(root) }, Parts::default()));
    }
    let rest = match bytes.split_first_chunk() {
        Some((mark, rest)) if mark == MARK || mark == MARK_OPEN => rest,
        Some(([b'd', b'm', b's', version], _)) => {
            return Err(Error::new(
                ErrorCode::StateUnavailable,
                format!(
                    "the state is of version {version}, this installation reads up to version {}",
                    MARK_OPEN[3]
                ),
            )
            .with_hint("use the installation that saved it"));
        }
        _ => return Err(damaged("its root is none")),
    };
    let (manifest, rest): (Manifest, _) = postcard::take_from_bytes(rest)
        .map_err(|error| damaged("its root has another form").with_source(error))?;
    for (count, (head, index)) in manifest.interpreters.iter().flatten().enumerate() {
        let fits = head.memory <= MAX_MEMORY && head.memory.is_multiple_of(PAGE as u64);
        let most = MAX_MEMORY / (u64::from(REGION) * (PAGE * LISTED) as u64) + 1;
        if !fits || index.len() as u64 > most || count >= MAX_INTERPRETERS {
            return Err(damaged("an interpreter has impossible sizes"));
        }
    }
    Ok((manifest, Parts::read(rest)?))
}

impl WasmSnapshot {
    /// A state of this provider's, or the files of another's.
    ///
    /// # Errors
    /// `invalid_state` for another provider's without files.
    pub(crate) fn of(snapshot: &dyn Snapshot) -> Result<Self> {
        if let Some(own) = snapshot.of::<Self>() {
            return Ok(own.clone());
        }
        let tree = snapshot.files();
        let tree = tree.ok_or_else(|| {
            Error::new(ErrorCode::InvalidState, "the state belongs to another provider and has no files")
        })?;
        Ok(Self { interpreters: None, tree: Some(tree.clone()), older: Vec::new(), parts: Parts::default() })
    }
}

impl Snapshot for WasmSnapshot {
    fn save(&self, sink: &mut dyn ChunkSink) -> Result<SavedState> {
        let interpreters = match &self.interpreters {
            Some(stored) => {
                let mut list = Vec::new();
                for stored in stored.values().chain(&self.older) {
                    list.push((stored.head.clone(), stored.save(sink)?));
                }
                Some(list)
            }
            None => None,
        };
        let files = match &self.tree {
            Some(tree) => Some(dormouse_files::save(tree, sink)?),
            None => None,
        };
        let latest = self.interpreters.iter().flat_map(BTreeMap::values);
        let mut open: Vec<Vec<Held>> =
            latest.chain(&self.older).map(|stored| stored.held().to_vec()).collect();
        if open.iter().all(Vec::is_empty) {
            open.clear();
        }
        let mut root = if open.is_empty() { MARK } else { MARK_OPEN }.to_vec();
        let manifest = postcard::to_stdvec(&Manifest { interpreters, files })
            .map_err(|error| Error::internal("the state cannot be written down", error))?;
        root.extend_from_slice(&manifest);
        Parts { open, ..self.parts.clone() }.write(&mut root)?;
        Ok(SavedState { root: put(sink, &root)?, bytes: self.bytes() })
    }

    fn bytes(&self) -> u64 {
        let latest = self.interpreters.iter().flat_map(BTreeMap::values);
        let interpreters = latest.chain(&self.older).map(|stored| stored.bytes());
        interpreters.sum::<u64>() + self.tree.as_ref().map_or(0, |tree| tree.usage().bytes)
    }

    fn let_go(&self, source: &Arc<dyn ChunkSource>) -> u64 {
        let bytes = self.tree.as_ref().map_or(0, |tree| tree.let_go(source));
        trim::after(bytes);
        bytes
    }

    fn hold(&self) -> Result<()> {
        self.tree.as_ref().map_or(Ok(()), Tree::hold)
    }

    fn closed_files(&self) -> Vec<String> {
        let stored = self.interpreters.iter().flat_map(BTreeMap::values);
        stored.flat_map(|stored| stored.head.closed.iter().cloned()).collect()
    }

    fn files(&self) -> Option<&Tree> {
        self.tree.as_ref()
    }

    fn guests(&self) -> Vec<GuestName> {
        match (&self.interpreters, &self.tree) {
            (Some(interpreters), _) => interpreters.keys().cloned().collect(),
            // A container's, which knows what ran in it.
            (None, Some(tree)) => Extras::of(tree).map(|(extras, _)| extras.guests()).unwrap_or_default(),
            (None, None) => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests;
