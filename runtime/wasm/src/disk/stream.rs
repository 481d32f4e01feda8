//! The output stream of a file, charged for each write.

use std::fs::File;
use std::io;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use wasmtime_wasi::p2::{DynOutputStream, OutputStream, Pollable, StreamError, StreamResult};

use super::{DiskBudget, hole_before};

/// An output stream of `wasmtime-wasi` whose writes are paid for first.
pub(super) struct Charged {
    inner: DynOutputStream,
    budget: DiskBudget,
    /// The file and the offset of the first write, until that write: later ones follow on and leave no hole. `None` when appending.
    start: Option<(Arc<File>, u64)>,
}

impl Charged {
    /// Charges `inner`, which writes to `start.0` from `start.1`, or appends.
    pub(super) fn new(inner: DynOutputStream, budget: DiskBudget, start: Option<(Arc<File>, u64)>) -> Self {
        Self { inner, budget, start }
    }

    fn charge(&mut self, bytes: usize) -> StreamResult<()> {
        if bytes == 0 {
            return Ok(());
        }
        let failed = |error: io::Error| StreamError::LastOperationFailed(error.into());
        let hole = match &self.start {
            Some((file, offset)) => hole_before(file, *offset).map_err(failed)?,
            None => 0,
        };
        self.budget.charge_bytes(bytes as u64, hole).map_err(|full| failed(full.into()))?;
        self.start = None;
        Ok(())
    }
}

#[async_trait]
impl OutputStream for Charged {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.charge(bytes.len())?;
        self.inner.write(bytes)
    }

    fn flush(&mut self) -> StreamResult<()> {
        self.inner.flush()
    }

    /// The permit ends at the budget, but never at zero: zero means "wait", and the guest would wait for ever. The write
    /// that follows says `ENOSPC`. (An error here would fail the flush of a guest that spent exactly its budget.)
    fn check_write(&mut self) -> StreamResult<usize> {
        let left = usize::try_from(self.budget.bytes_left()).unwrap_or(usize::MAX);
        Ok(self.inner.check_write()?.min(left.max(1)))
    }

    async fn blocking_write_and_flush(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.charge(bytes.len())?;
        self.inner.blocking_write_and_flush(bytes).await
    }

    async fn cancel(&mut self) {
        self.inner.cancel().await;
    }
}

#[async_trait]
impl Pollable for Charged {
    async fn ready(&mut self) {
        self.inner.ready().await;
    }
}
