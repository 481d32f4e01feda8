//! A program in a container: what is to be run, what it reads and writes, how it ended.
//!
//! Owns: the types. Does not own: running one ([`crate::exec`]), and how an engine starts it ([`crate::port`]).

use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use dormouse_core::{Captured, OutputSink, Result, Stream};
use futures::future::BoxFuture;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{OwnedRwLockReadGuard, RwLock};

use crate::line::Marks;

/// What a program reads.
pub type Input = Pin<Box<dyn AsyncWrite + Send>>;
/// What a program writes, as the engine sends it.
pub type Output = Pin<Box<dyn futures::Stream<Item = Result<(Stream, Bytes)>> + Send>>;
/// What a program writes to its standard output.
pub type Reader = Pin<Box<dyn AsyncRead + Send>>;

/// The status of a program that was killed.
pub const KILLED: i64 = 137;
/// The engine's status of a program that it could not start.
pub const NOT_STARTED: i64 = 126;

/// A program that was started.
pub struct Program {
    /// What it writes. It ends when nobody has its streams any more.
    pub output: Output,
    /// What it reads.
    pub input: Input,
    /// Its exit status, asked for when its output has ended.
    pub status: BoxFuture<'static, Result<i64>>,
}

/// The starts that are under way in a container. The engine accepts a start before the program runs, so a caller who gives up
/// in between would leave one that begins after everything was ended: a sweep waits until no start is under way.
#[derive(Clone, Default)]
pub struct Starts(Arc<RwLock<()>>);

impl Starts {
    pub(crate) async fn enter(&self) -> OwnedRwLockReadGuard<()> {
        self.0.clone().read_owned().await
    }

    /// Waits until what was begun to be started runs.
    pub(crate) async fn settled(&self) {
        drop(self.0.write().await);
    }
}

/// A program that is to be run.
#[derive(Clone, Default)]
pub struct Exec {
    /// Its name and its arguments.
    pub argv: Vec<String>,
    /// Environment variables, `NAME=VALUE`.
    pub environment: Vec<String>,
    /// The folder it starts in; none: the container's.
    pub directory: Option<String>,
    /// All of its standard input.
    pub input: Bytes,
    /// Bytes kept of each stream.
    pub most: u64,
    /// Who hears what it writes.
    pub sink: Option<Arc<dyn OutputSink>>,
    /// The marks by which a line's wrapper says how it goes, if it is a line.
    pub marks: Option<Marks>,
    /// The starts that a sweep waits for, if a sweep may have to end it.
    pub starts: Option<Starts>,
}

/// The beginning of what was written to a stream.
#[derive(Clone, Debug, Default)]
pub struct Kept {
    /// Those that were kept.
    pub bytes: Vec<u8>,
    /// How many were written.
    pub total: u64,
}

impl Kept {
    pub(crate) fn push(&mut self, bytes: &[u8], most: u64, sink: Option<(&dyn OutputSink, Stream)>) {
        let room = usize::try_from(most.saturating_sub(self.total)).unwrap_or(usize::MAX);
        self.total += bytes.len() as u64;
        let fits = bytes.get(..room.min(bytes.len())).unwrap_or_default();
        if sink.is_none_or(|(sink, _)| !sink.keeps()) {
            self.bytes.extend_from_slice(fits);
        }
        if let Some((sink, stream)) = sink
            && !fits.is_empty()
        {
            sink.write(stream, fits);
        }
    }

    pub(crate) fn captured(&self) -> Captured {
        Captured::from_bytes(&self.bytes, self.total)
    }

    /// As text; what is no text is replaced.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}

/// What a program wrote and how it ended. Shared, so that it can be looked at when the program was cut off.
#[derive(Debug, Default)]
pub struct Written {
    /// Its standard output.
    pub stdout: Kept,
    /// Its standard error, without marks.
    pub stderr: Kept,
    /// Its exit status. None: it is not known, or it has not ended.
    pub code: Option<i64>,
    /// What its marks said.
    pub marks: Option<Marks>,
}

impl Written {
    /// Whether it may be that there was no memory for it: it was killed, or did not begin.
    pub fn was_kept_out(&self) -> bool {
        matches!(self.code, Some(KILLED | NOT_STARTED))
    }
}
