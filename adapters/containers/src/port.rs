//! What an engine of containers is asked for, and nothing else: the same for each of them.
//!
//! Owns: the traits that an engine implements. Does not own: what is done in a container, which is made of these calls alone.

use std::fmt;
use std::io::{self, Write};
use std::pin::Pin;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use dormouse_core::network::Proxy;
use dormouse_core::sandbox::SandboxSpec;
use dormouse_core::{Error, ErrorCode, Result};
use futures::Stream;
use futures::future::BoxFuture;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::background::Background;
use crate::patience::Patience;
use crate::program::{Exec, Program, Written};
use crate::pulse::Pulse;
use crate::volume::Volume;

/// Bytes that are moved at a time: 256 KiB.
const STEP: usize = 256 << 10;
/// Pieces on their way.
const UNDER_WAY: usize = 8;

/// A tar archive, piece by piece.
pub type Archive = Pin<Box<dyn Stream<Item = io::Result<Bytes>> + Send>>;

/// What a container's own folders can hold.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    /// Bytes of all of them.
    pub bytes: u64,
    /// Names in all of them.
    pub names: u64,
}

/// An engine that runs containers.
#[async_trait]
pub trait Engine: Send + Sync + 'static {
    /// The provider's name, as answers say it.
    fn name(&self) -> &'static str;

    /// What is expected of it.
    fn patience(&self) -> &Patience;

    /// What the folders of a sandbox like this can hold.
    fn room(&self, spec: &SandboxSpec) -> Room;

    /// A container that runs, in which nothing has run yet. It is removed when the last that holds it is dropped. Its folders are
    /// empty, unless it has a volume ([`Container::volume`]).
    ///
    /// # Errors
    /// What keeps the engine from it; `path_denied` for a folder of the host; `busy` when one that waits is required and none does.
    async fn create(&self, spec: &SandboxSpec) -> Result<Arc<dyn Container>>;
}

/// A container that runs.
#[async_trait]
pub trait Container: Send + Sync + 'static {
    /// What the engine calls it.
    fn id(&self) -> &str;

    /// What people call the image that it was made of.
    fn image(&self) -> &str;

    /// Whether the image has a program, of those that make a difference: `bash`, `python3`, `node`, `php`, `rm`, `stat`.
    fn has(&self, program: &str) -> bool;

    /// Its memory limit, in bytes.
    fn memory(&self) -> u64;

    /// What is expected of its engine.
    fn patience(&self) -> &Patience;

    /// Its volume at `/workspace`, where that outlives the container. Default none: it goes with it.
    fn volume(&self) -> Option<&Volume> {
        None
    }

    /// Where work goes that must come to its end.
    fn background(&self) -> &Arc<Background>;

    /// The session of its own main process, where the sandbox's user runs that: nothing in it is the sandbox's. Default none.
    fn main_session(&self) -> Option<u32> {
        None
    }

    /// Whether it has ended by itself, as far as is known.
    fn is_gone(&self) -> bool;

    /// Why it has ended, if that is known. Default: it is not.
    fn why_gone(&self) -> Option<String> {
        None
    }

    /// Asks the engine whether it has ended. An engine that does not answer says nothing.
    async fn look(&self);

    /// Whether the engine answers.
    async fn answers(&self) -> bool;

    /// Starts a program, with a standard input that can be written or with none.
    fn exec(&self, exec: Exec, input: bool) -> BoxFuture<'static, Result<Program>>;

    /// Runs a program of ours to its end, if need be and the engine can with more memory than the limit; it can be run twice.
    ///
    /// # Errors
    /// `provider_unavailable`.
    async fn insist(&self, argv: Vec<String>, input: Vec<u8>, most: u64) -> Result<Written>;

    /// Whether its memory limit is reached, or nearly so, as far as the engine says.
    async fn is_full(&self) -> bool;

    /// Takes back what the memory limit was raised by.
    async fn lower(&self);

    /// Refuses programs of the sandbox's while more than its limit is in use.
    ///
    /// # Errors
    /// `limit_memory`.
    fn admit(&self) -> Result<()>;

    /// Kills all that the sandbox runs, but what is in these sessions.
    ///
    /// # Errors
    /// `provider_unavailable` when it cannot be done: the container is of no use then.
    async fn sweep(&self, keep: &[u32]) -> Result<()>;

    /// Holds all its processes still.
    ///
    /// # Errors
    /// `provider_unavailable`; `capability_unavailable` where the engine has no means for it.
    async fn hold(self: Arc<Self>) -> Result<Box<dyn Held>>;

    /// Unpacks an archive in one of its folders.
    ///
    /// # Errors
    /// `limit_disk` when it does not fit; `provider_unavailable`.
    async fn put(&self, folder: &str, archive: Archive) -> Result<()>;

    /// An archive of one of its folders, whose entries begin with the folder's own name. A stream that breaks off ends with an error
    /// that holds a [`BrokenOff`].
    ///
    /// # Errors
    /// `provider_unavailable`.
    async fn get(&self, folder: &str) -> Result<Archive>;

    /// Lets its programs reach a proxy, which nothing else reaches by this. Default: there is no way.
    ///
    /// # Errors
    /// `capability_unavailable` where the engine has no means for it; `provider_unavailable`.
    async fn reach(&self, proxy: Arc<dyn Proxy>) -> Result<Reached> {
        drop(proxy);
        Err(Error::new(
            ErrorCode::CapabilityUnavailable,
            "programs of this provider's containers reach no network by rules",
        ))
    }
}

/// A way from a container's programs to a proxy. It ends when it is dropped.
pub trait Way: Send + Sync {
    /// Whether it leads there still.
    fn is_open(&self) -> bool;
}

/// Where a container's programs find a proxy.
pub struct Reached {
    /// The proxy's URL.
    pub url: String,
    /// The file with the certificates of authorities that they are to trust.
    pub authorities: String,
    /// What keeps the way open.
    pub way: Box<dyn Way>,
}

/// A container whose processes are held still. Dropped, they go on, in the background.
#[async_trait]
pub trait Held: Send {
    /// Lets them go on, and waits until they do.
    async fn end(self: Box<Self>);
}

/// An engine that broke off in the middle of a stream.
#[derive(Debug)]
pub struct BrokenOff(pub Box<dyn std::error::Error + Send + Sync>);

impl fmt::Display for BrokenOff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for BrokenOff {}

/// What `write` writes, as a stream, and the thread that writes it. Where it fails the stream ends with its error, so that nothing is
/// taken as whole.
pub fn pieces(
    write: impl FnOnce(&mut dyn Write) -> io::Result<()> + Send + 'static,
) -> (Archive, JoinHandle<()>) {
    let (sender, mut receiver) = mpsc::channel::<io::Result<Bytes>>(UNDER_WAY);
    let writing = tokio::task::spawn_blocking(move || {
        let mut pieces = Pieces { sender: &sender, piece: Vec::with_capacity(STEP) };
        let written = write(&mut pieces).and_then(|()| pieces.flush());
        if let Err(error) = written {
            // The engine sees a body that breaks off, and takes nothing as whole.
            let _told = sender.blocking_send(Err(error));
        }
    });
    let pulse = Pulse::here();
    let body = futures::stream::poll_fn(move |context| {
        let piece = receiver.poll_recv(context);
        if piece.is_ready() {
            // The engine wants more.
            pulse.iter().for_each(Pulse::beat);
        }
        piece
    });
    (Box::pin(body), writing)
}

/// Collects small writes into pieces.
struct Pieces<'a> {
    sender: &'a mpsc::Sender<io::Result<Bytes>>,
    piece: Vec<u8>,
}

impl Write for Pieces<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.piece.extend_from_slice(bytes);
        if self.piece.len() >= STEP {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.piece.is_empty() {
            return Ok(());
        }
        let piece = std::mem::replace(&mut self.piece, Vec::with_capacity(STEP));
        self.sender.blocking_send(Ok(piece.into())).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}
