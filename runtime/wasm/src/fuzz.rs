//! Private readers for the fuzz targets of `tests/fuzz`. No part of the crate's interface: it changes with them.

use std::sync::Arc;

use dormouse_core::Result;
use dormouse_core::sandbox::{ChunkSink, ChunkSource, Reached, SavedState, Snapshot as _};
use dormouse_files::Quota;

use crate::SavedInterpreter;
use crate::snapshot::{Parts, StoredInterpreter, WasmSnapshot};

/// Reads a saved state as a restore does, all of its interpreters, and saves it again.
///
/// # Errors
/// As a restore's.
pub fn resave(
    state: &SavedState,
    source: &Arc<dyn ChunkSource>,
    quota: Quota,
    sink: &mut dyn ChunkSink,
) -> Result<SavedState> {
    let snapshot = WasmSnapshot::load(state, source, quota)?;
    for kept in snapshot.interpreters.iter().flat_map(|latest| latest.values()).chain(&snapshot.older) {
        kept.interpreter()?;
    }
    snapshot.save(sink)
}

/// Notes every chunk of a saved state.
///
/// # Errors
/// As a check's of the state folder.
pub fn reach(state: &SavedState, source: &dyn ChunkSource, reached: &mut Reached) -> Result<()> {
    WasmSnapshot::reach(state, source, reached)
}

/// Saves a state of one interpreter and no files.
///
/// # Errors
/// What the sink says.
pub fn save(interpreter: SavedInterpreter, sink: &mut dyn ChunkSink) -> Result<SavedState> {
    let latest = (interpreter.guest().clone(), Arc::new(StoredInterpreter::new(interpreter)));
    let interpreters = Some([latest].into());
    WasmSnapshot { interpreters, tree: None, older: Vec::new(), parts: Parts::default() }.save(sink)
}
