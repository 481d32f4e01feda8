//! Input and output streams of a file in the tree: bounded reads, writes that are done when they return.
//!
//! A stream that failed or came to the end is asked again by the next call: what was removed meanwhile has made room, what
//! was appended can be read.

use async_trait::async_trait;
use bytes::Bytes;
use dormouse_files::{Errno, Handle};
use wasmtime_wasi::p2::{InputStream, OutputStream, Pollable, StreamError, StreamResult};

use crate::disk::DiskBudget;

/// Bytes that one write may bring. Reads are bounded by [`Handle::MAX_READ`].
const PERMIT: usize = 64 << 10;

/// `filesystem-error-code` finds the reason in it.
fn failed(errno: Errno) -> StreamError {
    StreamError::LastOperationFailed(errno.into())
}

/// Reads a file from a place on.
pub(in crate::disk) struct Reads {
    handle: Handle,
    at: u64,
}

impl Reads {
    pub(in crate::disk) fn new(handle: Handle, at: u64) -> Self {
        Self { handle, at }
    }
}

#[async_trait]
impl InputStream for Reads {
    fn read(&mut self, size: usize) -> StreamResult<Bytes> {
        if size == 0 {
            return Ok(Bytes::new());
        }
        let (bytes, _) = self.handle.read(self.at, size as u64).map_err(failed)?;
        if bytes.is_empty() {
            return Err(StreamError::Closed);
        }
        self.at += bytes.len() as u64;
        Ok(bytes.into())
    }
}

#[async_trait]
impl Pollable for Reads {
    async fn ready(&mut self) {}
}

/// Writes a file from a place on, or at its end.
pub(in crate::disk) struct Writes {
    handle: Handle,
    /// Where the next byte goes; none: the end.
    at: Option<u64>,
    budget: DiskBudget,
}

impl Writes {
    pub(in crate::disk) fn new(handle: Handle, at: Option<u64>, budget: DiskBudget) -> Self {
        Self { handle, at, budget }
    }
}

#[async_trait]
impl OutputStream for Writes {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        let written = match &mut self.at {
            Some(at) => self.handle.write(*at, &bytes).inspect(|written| *at += written),
            None => self.handle.append(&bytes),
        };
        self.budget.note(written.map_err(failed)?);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(PERMIT)
    }

    async fn blocking_write_and_flush(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.write(bytes)
    }
}

#[async_trait]
impl Pollable for Writes {
    async fn ready(&mut self) {}
}
