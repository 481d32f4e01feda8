//! The port to the network outside of a sandbox.
//!
//! Whoever implements it decides what may leave, and knows names, addresses, secrets and TLS; a provider only carries what a guest says
//! to the [`Door`] of its run, and back. Without a door a run has no network.

use std::any::Any;
use std::borrow::Cow;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use futures::Stream;
use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::connections::Taint;
use crate::sandbox::{Owner, SandboxId};
use crate::{Error, Result};

/// The profile that is meant where none is named.
pub const DEFAULT_PROFILE: &str = "default";

/// Why something failed. What a guest is told in `wit/net.wit`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// The rules do not allow it, or there is no network.
    Denied,
    /// The name is none, or has no address.
    UnknownName,
    /// Nobody takes connections there.
    Refused,
    /// The connection broke.
    Reset,
    /// There is no such connection any more.
    Closed,
    /// It took longer than it may.
    TimedOut,
    /// The server's certificate is not trusted.
    Untrusted,
    /// What was sent or came back is not what is spoken there.
    Protocol,
    /// A budget is spent, or as many connections are open as may be.
    Exhausted,
}

/// What failed, for whoever wrote the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Its kind.
    pub trouble: Trouble,
    /// A sentence, without values of secrets.
    pub text: String,
}

impl Problem {
    /// A problem of a kind.
    pub fn new(trouble: Trouble, text: impl Into<String>) -> Self {
        Self { trouble, text: text.into() }
    }

    /// What a run is told that has no network.
    pub fn none() -> Self {
        Self::new(
            Trouble::Denied,
            "this sandbox has no network: the operator grants one (--allow-net HOST, --network FILE), and a sandbox (`network`) or a call (`allow_network`) asks for it",
        )
    }
}

/// A stream of bytes in both directions.
pub trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Duplex for T {}

/// Serves the guest's end of a stream until either side is done. Dropping the future ends the stream.
pub type Serve =
    Box<dyn FnOnce(Box<dyn Duplex>) -> BoxFuture<'static, std::result::Result<(), Problem>> + Send>;

/// A body that comes in pieces. An error ends it.
pub type Pieces = Pin<Box<dyn Stream<Item = std::result::Result<Bytes, Problem>> + Send>>;

/// A request of a guest that has no HTTP of its own.
pub struct NetworkRequest {
    /// Its method, as the guest wrote it.
    pub method: String,
    /// Its whole URL.
    pub url: String,
    /// Its headers, in their order.
    pub headers: Vec<(String, Vec<u8>)>,
    /// Its body. None: it has none.
    pub body: Option<Pieces>,
}

/// The answer to one.
pub struct NetworkAnswer {
    /// The status of HTTP.
    pub status: u16,
    /// Its headers, in their order; names in lower case.
    pub headers: Vec<(String, Vec<u8>)>,
    /// Its body.
    pub body: Pieces,
}

/// What goes through the wall of one run.
pub trait Door: Any + Send + Sync {
    /// Opens a stream to a place, as far as the rules allow it. Nothing is looked up or dialled yet.
    ///
    /// # Errors
    /// `Denied`, `UnknownName`, `Exhausted`.
    fn open(&self, host: &str, port: u16) -> std::result::Result<Serve, Problem>;

    /// Sends a request, and answers when the head of its answer is there. Dropping the future, or the answer's body, ends it.
    fn exchange(
        &self,
        request: NetworkRequest,
    ) -> BoxFuture<'static, std::result::Result<NetworkAnswer, Problem>>;

    /// What was done so far.
    fn used(&self) -> NetworkUse;

    /// Goes on with a run that has done this before: it counts as done here, and `outgoing` hears of what leaves from here on. Called
    /// once, before the run goes on. Default: neither.
    fn go_on(&self, before: Option<&NetworkUse>, outgoing: Arc<dyn Outgoing>) {
        drop((before, outgoing));
    }

    /// The same door for programs that know nothing of it, and speak with a proxy of HTTP. Default none.
    ///
    /// # Errors
    /// `internal` without randomness.
    fn proxy(&self) -> Result<Option<Arc<dyn Proxy>>> {
        Ok(None)
    }
}

/// Hears of what may change something outside, before it leaves.
pub trait Outgoing: Send + Sync {
    /// A request that does more than read (RFC 9110, section 9.2.1), a WebSocket, or a connection whose bytes are the program's own
    /// affair. `what` names it, such as `POST https://api.example.com/v1/x`, without its query.
    ///
    /// # Errors
    /// What keeps it from being written down: it does not leave then.
    fn leaves(&self, what: &str) -> Result<()>;
}

/// A proxy of HTTP for the programs of one sandbox, before the door of its runs: what is asked for counts for the run that it was turned
/// to last.
pub trait Proxy: Send + Sync {
    /// Certificates of authorities in PEM, for programs that check who answers: of the proxy's own authority, whose key is in this
    /// process alone, and of those that the host trusts.
    fn authorities(&self) -> &str;

    /// From here on requests are those of another run of the same sandbox. A door that has no proxy refuses all of them.
    fn turn(&self, door: &Arc<dyn Door>);

    /// Serves a stream that a program has opened to the proxy, until either side is done. Dropping the future ends the stream.
    fn serve(&self, stream: Box<dyn Duplex>) -> BoxFuture<'static, ()>;
}

/// What of the operator's network a sandbox asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkGrant {
    /// The profile of the operator's file.
    pub profile: String,
    /// What of the profile is wanted, as lines such as `GET https://api.example.com/v1/**`. None: all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allow: Option<Vec<String>>,
}

impl Default for NetworkGrant {
    /// All of the profile `default`.
    fn default() -> Self {
        Self { profile: DEFAULT_PROFILE.into(), allow: None }
    }
}

/// A run that a door is for.
#[derive(Clone, Debug)]
pub struct NetworkRun<'a> {
    /// Whose it is.
    pub owner: &'a Owner,
    /// The sandbox, if it is one that lasts.
    pub sandbox: Option<&'a SandboxId>,
    /// How the audit calls it.
    pub run: &'a str,
    /// Its language, `bash`, or `wasm` for a program of the user's own.
    pub language: &'a str,
    /// Whether it has read what strangers may have written.
    pub taint: &'a Taint,
}

/// A door that was opened for a run.
#[derive(Clone)]
pub struct OpenDoor {
    /// The door.
    pub door: Arc<dyn Door>,
    /// Variables of the run's environment: placeholders of secrets.
    pub environment: Vec<(String, String)>,
}

/// The door of a run whose network cannot be had: everything is denied, and the program is told why.
pub struct Shut(Problem);

impl Shut {
    /// For what an error says.
    pub fn new(error: &Error) -> Self {
        Self(Problem::new(Trouble::Denied, error.message()))
    }
}

impl Door for Shut {
    fn open(&self, _: &str, _: u16) -> std::result::Result<Serve, Problem> {
        Err(self.0.clone())
    }

    fn exchange(&self, _: NetworkRequest) -> BoxFuture<'static, std::result::Result<NetworkAnswer, Problem>> {
        Box::pin(std::future::ready(Err(self.0.clone())))
    }

    fn used(&self) -> NetworkUse {
        NetworkUse::default()
    }
}

/// A profile that sandboxes can ask for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NetworkProfile {
    /// Its name.
    pub name: String,
    /// What it allows, in lines that a [`NetworkGrant`] can ask for.
    pub allows: Vec<String>,
    /// Names of the secrets whose placeholders it gives.
    pub secrets: Vec<String>,
}

/// What the operator allows, and who opens doors.
pub trait Network: Send + Sync {
    /// Whether a grant is one that can be given. A sandbox is not made with another.
    ///
    /// # Errors
    /// `network_denied` for what is beyond the operator's rules; `args_invalid` for what cannot be read.
    fn check(&self, owner: &Owner, grant: &NetworkGrant) -> Result<()>;

    /// The door of a run. Connections of a sandbox that lasts are kept from one run to the next.
    ///
    /// # Errors
    /// As [`Network::check`]; the operator may have changed the rules since.
    fn door(&self, run: &NetworkRun<'_>, grant: &NetworkGrant) -> Result<OpenDoor>;

    /// Ends connections that are kept for a sandbox: it sleeps, is gone, or is another from here on.
    fn forget(&self, owner: &Owner, sandbox: &SandboxId);

    /// What there is to ask for.
    fn profiles(&self) -> Vec<NetworkProfile>;
}

/// What a run did with its network.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkUse {
    /// Requests, refused ones too.
    pub requests: u64,
    /// Bytes of bodies that came back.
    pub bytes_in: u64,
    /// Bytes of bodies that were sent.
    pub bytes_out: u64,
    /// What was refused, each once, at most 16.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub denied: Vec<Denied>,
    /// How often a secret's value was masked in an answer.
    pub secrets_masked: u64,
}

/// What was refused: an agent can show it to its operator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Denied {
    /// The host.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// What was lacking: `host`, `port`, `protocol`, `method`, `path`, and others of docs/decisions/network.md.
    pub reason: Cow<'static, str>,
    /// The rule that came nearest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
}
