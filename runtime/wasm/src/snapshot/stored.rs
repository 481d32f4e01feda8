//! One interpreter of a state, in memory or in the store, and how it is saved and read.

use std::sync::{Arc, OnceLock};

use dormouse_core::sandbox::chunk::{self, damaged};
use dormouse_core::sandbox::{ChunkId, ChunkSink, ChunkSource};
use dormouse_core::{Error, GuestName, Result};
use dormouse_files::Held;
use serde::{Deserialize, Serialize};

use crate::saved::{PAGE, Page, SavedInterpreter};

/// Pages of one region.
pub(super) const REGION: u32 = 16;
/// Bytes of one page in a region: its place, and its difference.
const RECORD: usize = 1 + PAGE;
/// Regions that one chunk lists.
pub(super) const LISTED: usize = 4_096;
/// Regions that are read without a pause, 1 MiB.
const TOGETHER: usize = 16;

/// One interpreter of a state: in memory, in the store, or both.
pub(crate) struct StoredInterpreter {
    pub(super) head: Head,
    /// What it has open of the files that were saved with it.
    pub(super) held: Vec<Held>,
    pub(super) here: OnceLock<Arc<SavedInterpreter>>,
    /// The chunks that list the regions, once they are known.
    pub(super) index: OnceLock<Vec<ChunkId>>,
    pub(super) source: Option<Arc<dyn ChunkSource>>,
}

/// Regions, ascending, each with its chunk.
pub(super) type Regions = Vec<(u32, ChunkId)>;

/// What an interpreter fits.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Head {
    pub(super) language: GuestName,
    pub(super) guest: String,
    pub(super) stack_pointer: u32,
    pub(super) memory: u64,
    /// How many are saved.
    pub(super) pages: u64,
    pub(super) closed: Vec<String>,
}

impl StoredInterpreter {
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
    pub(crate) fn language(&self) -> &GuestName {
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
        let mut reading = self.reading()?;
        while reading.goes_on()? {}
        reading.done()
    }

    /// The same on an event loop, which it gives back now and then.
    ///
    /// # Errors
    /// `state_damaged`.
    pub(crate) async fn brought(&self) -> Result<Arc<SavedInterpreter>> {
        let mut reading = self.reading()?;
        while reading.goes_on()? {
            tokio::task::yield_now().await;
        }
        reading.done()
    }

    fn reading(&self) -> Result<Reading<'_>> {
        let regions = match (self.here.get(), self.index.get(), &self.source) {
            (Some(_), ..) => Regions::new(),
            (None, Some(index), Some(source)) => regions(index, source.as_ref())?,
            _ => return Err(damaged("an interpreter is nowhere")),
        };
        let held = self.head.memory / PAGE as u64;
        if regions.last().is_some_and(|(number, _)| u64::from(*number) * u64::from(REGION) >= held) {
            return Err(damaged("a region lies outside its memory"));
        }
        Ok(Reading { stored: self, left: regions.into_iter(), pages: Vec::new() })
    }

    /// Saves it; returns the chunks that list its regions.
    pub(super) fn save(&self, sink: &mut dyn ChunkSink) -> Result<Vec<ChunkId>> {
        let mends = sink.mends() && self.here.get().is_some();
        if let Some(index) = self.index.get().filter(|_| !mends) {
            let mut stored = true;
            for id in index {
                // What is damaged and not in memory stays as damaged as it is.
                stored = stored && (sink.has(id)? || (self.here.get().is_none() && sink.is_damaged(id)?));
            }
            if stored {
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

/// An interpreter that is being read; of one that is in memory nothing is.
struct Reading<'a> {
    stored: &'a StoredInterpreter,
    left: std::vec::IntoIter<(u32, ChunkId)>,
    pages: Vec<(u32, Page)>,
}

impl Reading<'_> {
    /// Reads some more; whether there may be more still.
    fn goes_on(&mut self) -> Result<bool> {
        let Some(source) = self.stored.source.as_deref() else { return Ok(false) };
        for (number, id) in self.left.by_ref().take(TOGETHER) {
            read_region(number, &chunk::fetch(source, &id)?, &mut self.pages)?;
        }
        Ok(self.left.len() > 0)
    }

    /// What has been read.
    fn done(self) -> Result<Arc<SavedInterpreter>> {
        let Self { stored, pages, .. } = self;
        if let Some(here) = stored.here.get() {
            return Ok(here.clone());
        }
        let Head { language, guest, stack_pointer, memory, closed, .. } = stored.head.clone();
        if pages.last().is_some_and(|(page, _)| u64::from(*page) >= memory / PAGE as u64) {
            return Err(damaged("a page lies outside its memory"));
        }
        let held = stored.held.clone();
        let read = SavedInterpreter { language, guest, stack_pointer, memory, pages, closed, held };
        Ok(stored.here.get_or_init(|| Arc::new(read)).clone())
    }
}

pub(super) fn put(sink: &mut dyn ChunkSink, bytes: &[u8]) -> Result<ChunkId> {
    let id = ChunkId::of(bytes);
    if !sink.has(&id)? {
        sink.put(&id, bytes)?;
    }
    Ok(id)
}

/// The regions that these chunks list.
pub(super) fn regions(index: &[ChunkId], source: &dyn ChunkSource) -> Result<Regions> {
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
