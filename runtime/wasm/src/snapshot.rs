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

use std::any::Any;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::{Arc, OnceLock};

use dormouse_core::sandbox::chunk::{self, damaged};
use dormouse_core::sandbox::{ChunkId, ChunkSink, ChunkSource, Reached, SavedState, Snapshot};
use dormouse_core::{Error, ErrorCode, Language, Result};
use dormouse_files::{Extras, Held, Quota, Root, Tree};
use serde::{Deserialize, Serialize};

pub(crate) use self::notes::replaced;
pub(crate) use self::parts::Parts;
use crate::doors::PAGE;
use crate::saved::{MAX_MEMORY, Page, SavedInterpreter};
use crate::trim;

/// First bytes of a root, with its version.
const MARK: &[u8; 4] = b"dms\x01";
/// The same of a state whose interpreters have files open.
const MARK_OPEN: &[u8; 4] = b"dms\x02";
/// Pages of one region.
const REGION: u32 = 16;
/// Bytes of one page in a region: its place, and its difference.
const RECORD: usize = 1 + PAGE;
/// Regions that one chunk lists.
const LISTED: usize = 4_096;
/// Interpreters that a state can hold; there are fewer languages.
const MAX_INTERPRETERS: usize = 64;

/// The state. What it does not include is none.
#[derive(Clone)]
pub(crate) struct WasmSnapshot {
    /// By language, the memory that was used last. None: the state is without interpreters, and says nothing about them.
    pub(crate) interpreters: Option<BTreeMap<Language, Arc<Kept>>>,
    /// None: the state is without files.
    pub(crate) tree: Option<Tree>,
    /// Memory of other builds of guests than the ones in `interpreters`; of each language the one that was used last comes first.
    pub(crate) older: Vec<Arc<Kept>>,
    pub(crate) parts: Parts,
}

/// One interpreter of a state: in memory, in the store, or both.
pub(crate) struct Kept {
    head: Head,
    /// What it has open of the files that were saved with it.
    held: Vec<Held>,
    here: OnceLock<Arc<SavedInterpreter>>,
    /// The chunks that list the regions, once they are known.
    index: OnceLock<Vec<ChunkId>>,
    source: Option<Arc<dyn ChunkSource>>,
}

/// Regions, ascending, each with its chunk.
type Regions = Vec<(u32, ChunkId)>;

/// What an interpreter fits.
#[derive(Clone, Serialize, Deserialize)]
struct Head {
    language: Language,
    guest: String,
    stack_pointer: u32,
    memory: u64,
    /// How many are saved.
    pages: u64,
    closed: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct Manifest {
    interpreters: Option<Vec<(Head, Vec<ChunkId>)>>,
    files: Option<Root>,
}

impl Kept {
    /// One that is in memory.
    pub(crate) fn new(interpreter: SavedInterpreter) -> Self {
        let SavedInterpreter { language, guest, stack_pointer, memory, pages, closed, held } = &interpreter;
        let held = held.clone();
        let head = Head {
            language: language.clone(),
            guest: guest.clone(),
            stack_pointer: *stack_pointer,
            memory: *memory,
            pages: pages.len() as u64,
            closed: closed.clone(),
        };
        Self { head, held, here: Arc::new(interpreter).into(), index: OnceLock::new(), source: None }
    }

    /// Bytes of its pages.
    pub(crate) fn bytes(&self) -> u64 {
        self.head.pages.saturating_mul(PAGE as u64)
    }

    /// Bytes of its pages that are in memory.
    pub(crate) fn in_memory(&self) -> u64 {
        self.here.get().map_or(0, |_| self.bytes())
    }

    /// Bytes of its linear memory.
    pub(crate) fn size(&self) -> u64 {
        self.head.memory
    }

    /// What it has open of the files that were saved with it.
    pub(crate) fn held(&self) -> &[Held] {
        &self.held
    }

    /// The same for other files than those that were saved with it: it has nothing open of them.
    pub(crate) fn without_files(&self) -> Self {
        let (here, index) = (self.here.clone(), self.index.clone());
        Self { head: self.head.clone(), held: Vec::new(), here, index, source: self.source.clone() }
    }

    /// Its language.
    pub(crate) fn language(&self) -> &Language {
        &self.head.language
    }

    /// The guest that it belongs to, by SHA-256.
    pub(crate) fn guest(&self) -> &str {
        &self.head.guest
    }

    /// The interpreter, read from the store if need be.
    ///
    /// # Errors
    /// `state_damaged`.
    pub(crate) fn interpreter(&self) -> Result<Arc<SavedInterpreter>> {
        if let Some(here) = self.here.get() {
            return Ok(here.clone());
        }
        let (Some(index), Some(source)) = (self.index.get(), &self.source) else {
            return Err(damaged("an interpreter is nowhere"));
        };
        let regions = regions(index, source.as_ref())?;
        let held = self.head.memory / PAGE as u64;
        if regions.last().is_some_and(|(number, _)| u64::from(*number) * u64::from(REGION) >= held) {
            return Err(damaged("a region lies outside its memory"));
        }
        let mut pages = Vec::new();
        for (number, id) in regions {
            read_region(number, &chunk::fetch(source.as_ref(), &id)?, &mut pages)?;
        }
        let Head { language, guest, stack_pointer, memory, closed, .. } = self.head.clone();
        if pages.last().is_some_and(|(page, _)| u64::from(*page) >= memory / PAGE as u64) {
            return Err(damaged("a page lies outside its memory"));
        }
        let held = self.held.clone();
        let read = SavedInterpreter { language, guest, stack_pointer, memory, pages, closed, held };
        Ok(self.here.get_or_init(|| Arc::new(read)).clone())
    }

    /// Saves it; returns the chunks that list its regions.
    fn save(&self, sink: &mut dyn ChunkSink) -> Result<Vec<ChunkId>> {
        let mends = sink.mends() && self.here.get().is_some();
        if let Some(index) = self.index.get().filter(|_| !mends) {
            let mut kept = true;
            for id in index {
                // What is damaged and not in memory stays as damaged as it is.
                kept = kept && (sink.has(id)? || (self.here.get().is_none() && sink.is_damaged(id)?));
            }
            if kept {
                return Ok(index.clone());
            }
        }
        let interpreter = self.interpreter()?;
        let mut regions = Regions::new();
        for pages in interpreter.pages.chunk_by(|(one, _), (other, _)| one / REGION == other / REGION) {
            let Some((first, _)) = pages.first() else { continue };
            let region = write_region(pages);
            regions.push((first / REGION, put(sink, &region)?));
        }
        let mut index = Vec::new();
        for listed in regions.chunks(LISTED) {
            let bytes = postcard::to_stdvec(listed)
                .map_err(|error| Error::internal("the state cannot be written down", error))?;
            index.push(put(sink, &bytes)?);
        }
        Ok(self.index.get_or_init(|| index).clone())
    }
}

fn put(sink: &mut dyn ChunkSink, bytes: &[u8]) -> Result<ChunkId> {
    let id = ChunkId::of(bytes);
    if !sink.has(&id)? {
        sink.put(&id, bytes)?;
    }
    Ok(id)
}

/// The regions that these chunks list.
fn regions(index: &[ChunkId], source: &dyn ChunkSource) -> Result<Regions> {
    let mut all = Regions::new();
    for id in index {
        let bytes = chunk::fetch(source, id)?;
        let listed: Regions = postcard::from_bytes(&bytes)
            .map_err(|error| damaged("a list of regions has another form").with_source(error))?;
        all.extend(listed);
    }
    if !all.is_sorted_by(|(one, _), (other, _)| one < other) {
        return Err(damaged("regions are out of order"));
    }
    Ok(all)
}

fn write_region(pages: &[(u32, Page)]) -> Vec<u8> {
    let mut region = Vec::with_capacity(pages.len() * RECORD);
    for (number, page) in pages {
        region.push(u8::try_from(number % REGION).unwrap_or_default());
        region.extend_from_slice(page.as_slice());
    }
    region
}

fn read_region(region: u32, bytes: &[u8], pages: &mut Vec<(u32, Page)>) -> Result<()> {
    let (records, rest) = bytes.as_chunks::<RECORD>();
    if !rest.is_empty() || records.is_empty() {
        return Err(damaged("a region has another length"));
    }
    for record in records {
        let Some((place, page)) = record.split_first_chunk::<1>() else { continue };
        let number = region.checked_mul(REGION).and_then(|first| first.checked_add(place[0].into()));
        let number = number.filter(|_| u32::from(place[0]) < REGION);
        let number = number.ok_or_else(|| damaged("a page lies outside its region"))?;
        if pages.last().is_some_and(|(last, _)| *last >= number) {
            return Err(damaged("pages are out of order"));
        }
        let page = page.try_into().map_err(|_| damaged("a page has another length"))?;
        pages.push((number, Arc::new(page)));
    }
    Ok(())
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
                let kept = Arc::new(Kept { head, held, here, index, source: Some(source.clone()) });
                match latest.entry(language) {
                    Entry::Vacant(place) => {
                        place.insert(kept);
                    }
                    Entry::Occupied(_) => older.push(kept),
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
        if let Some(own) = snapshot.as_any().downcast_ref::<Self>() {
            return Ok(own.clone());
        }
        let tree = snapshot.files().and_then(|files| files.downcast_ref::<Tree>());
        let tree = tree.ok_or_else(|| {
            Error::new(ErrorCode::InvalidState, "the state belongs to another provider and has no files")
        })?;
        Ok(Self { interpreters: None, tree: Some(tree.clone()), older: Vec::new(), parts: Parts::default() })
    }
}

impl Snapshot for WasmSnapshot {
    fn save(&self, sink: &mut dyn ChunkSink) -> Result<SavedState> {
        let interpreters = match &self.interpreters {
            Some(kept) => {
                let mut list = Vec::new();
                for kept in kept.values().chain(&self.older) {
                    list.push((kept.head.clone(), kept.save(sink)?));
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
        let mut open: Vec<Vec<Held>> = latest.chain(&self.older).map(|kept| kept.held().to_vec()).collect();
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
        let interpreters = latest.chain(&self.older).map(|kept| kept.bytes());
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
        let kept = self.interpreters.iter().flat_map(BTreeMap::values);
        kept.flat_map(|kept| kept.head.closed.iter().cloned()).collect()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn files(&self) -> Option<&dyn Any> {
        self.tree.as_ref().map(|tree| tree as &dyn Any)
    }

    fn languages(&self) -> Vec<Language> {
        match (&self.interpreters, &self.tree) {
            (Some(interpreters), _) => interpreters.keys().cloned().collect(),
            // A container's, which knows what ran in it.
            (None, Some(tree)) => Extras::of(tree).map(|(extras, _)| extras.languages()).unwrap_or_default(),
            (None, None) => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests;
