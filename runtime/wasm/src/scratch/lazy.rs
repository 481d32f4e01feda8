//! A run's folder, made when the run first asks which folders there are: most runs never do.

use std::sync::{Arc, OnceLock};

use dormouse_core::Result;
use wasmtime_wasi::{WasiCtx, WasiCtxBuilder};

use super::{Scratch, ScratchPool};

/// A folder that may still have to be made. Dropped after the descriptors that lead into it.
pub(crate) struct LazyScratch {
    pool: Arc<ScratchPool>,
    made: OnceLock<Scratch>,
}

impl LazyScratch {
    pub(crate) fn new(pool: Arc<ScratchPool>) -> Self {
        Self { pool, made: OnceLock::new() }
    }

    /// Whether nothing lies in it. One that cannot be read counts as used.
    pub(crate) fn is_empty(&self) -> bool {
        let Some(scratch) = self.made.get() else { return true };
        std::fs::read_dir(scratch.path()).is_ok_and(|mut entries| entries.next().is_none())
    }

    /// A context that shows the folder and nothing else.
    ///
    /// # Errors
    /// `internal` when no folder can be made.
    pub(crate) fn context(&self) -> Result<WasiCtx> {
        let scratch = match self.made.get() {
            Some(scratch) => scratch,
            None => {
                let scratch = self.pool.take()?;
                self.made.get_or_init(|| scratch)
            }
        };
        let mut wasi = WasiCtxBuilder::new();
        wasi.allow_blocking_current_thread(true);
        scratch.preopen(&mut wasi)?;
        Ok(wasi.build())
    }
}
