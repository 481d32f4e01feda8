//! MCP clients: how a server is reached, and how its answers become plain data. Whatever a server sends is bounded.
//!
//! | step | module |
//! | --- | --- |
//! | which era both sides speak, list, call, close | `remote` |
//! | what a list of tools may hold | `listing` |
//! | headers that repeat what a message says | `mirror` |
//! | Streamable HTTP | `streamable` |
//! | HTTP+SSE, the first revision's | `legacy` |
//! | a program's standard input and output | `program` |
//! | who waits for which answer on a stream | `duplex` |
//! | addresses, headers, bodies | `http` |
//! | events | `sse` |
//! | messages | `wire` |
//!
//! A server is asked with `server/discover` first (2026-07-28); one that does not know it is greeted with `initialize`; one
//! that takes no POST at its address is asked for a stream of events. Nothing is offered to servers: no sampling, no roots.

mod duplex;
pub mod fuzz;
mod http;
mod legacy;
mod listing;
mod mirror;
mod program;
mod remote;
mod sse;
mod streamable;
#[cfg(test)]
mod tests;
mod wire;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use dormouse_core::Result;
use dormouse_http::Unsent;
use serde_json::Value as Json;

pub use self::http::{Place, unreached};
use self::legacy::Legacy;
use self::program::Serving;
use self::remote::Remote;
use self::streamable::Streamable;
use self::wire::{Answered, Failed, Request};
use crate::outside::{Outside, Program, Starter};
use crate::{Endpoint, Opened};

/// Which words both sides use.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Era {
    /// After `initialize`, in this revision.
    Legacy(String),
    /// 2026-07-28: every request says everything.
    Modern,
}

/// The newest revision.
const MODERN: &str = "2026-07-28";
/// What `initialize` asks for.
const INITIALIZED: &str = "2025-11-25";
/// What `initialize` may come to.
const LEGACY: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

impl Era {
    fn version(&self) -> &str {
        match self {
            Self::Legacy(version) => version,
            Self::Modern => MODERN,
        }
    }
}

/// How long a server is waited for.
#[derive(Clone, Copy, Debug)]
struct Patience {
    /// For the first question, which old servers may not answer at all.
    discover: Duration,
    /// For the handshake, and for each page of a list.
    answer: Duration,
    /// For a call. Callers give up earlier by dropping it.
    call: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            discover: Duration::from_secs(5),
            answer: Duration::from_secs(20),
            call: Duration::from_secs(3_600),
        }
    }
}

/// A way to a server, whatever carries the messages.
#[async_trait]
trait Link: Send + Sync {
    /// The era is known: messages say so from here on, where the transport has a place for it.
    fn agree(&self, era: Era);
    /// Sends a request and waits for its answer. Dropping the future tells the server that it is given up.
    async fn request(&self, request: Request) -> Answered;
    /// Sends what has no answer.
    async fn notify(&self, message: Json) -> Result<(), Failed>;
    /// Ends it. Whoever waits is told.
    async fn close(&self) -> Result<()>;
    /// Whether requests can still be sent, as far as is known.
    fn is_open(&self) -> bool {
        true
    }
    /// Whether the server has said since this was asked last that its list of tools has changed.
    fn has_changed(&self) -> bool {
        false
    }
}

/// Whether an entry's address and headers can be used. Connects to nothing.
pub(crate) fn check_url(url: &str, headers: &BTreeMap<String, String>) -> Result<()> {
    http::address(url)?;
    http::checked(headers).map(drop)
}

/// Connects to a server at an address: Streamable HTTP in both eras, else HTTP+SSE.
pub(crate) async fn open_url(
    url: &str,
    headers: &BTreeMap<String, String>,
    outside: &Outside,
) -> Result<Opened> {
    let place = Place::new(url, headers, outside)?;
    let endpoint = connect(place.clone(), place, Patience::default()).await?;
    Ok(Opened { url: url.to_owned(), headers: headers.clone(), endpoint })
}

/// Starts a program and greets it. Old programs may end when they are asked what they do not know: they are started again.
pub(crate) async fn open_command(program: &Program, programs: &dyn Starter) -> Result<Opened> {
    greet_command(program, programs, Patience::default()).await
}

async fn greet_command(program: &Program, programs: &dyn Starter, patience: Patience) -> Result<Opened> {
    let mut serving = Arc::new(Serving::start(program, programs).await?);
    let endpoint = match remote::discover(serving.clone(), patience).await {
        Ok(remote) => remote,
        Err((_, failed)) => {
            if let Failed::Broken(_) = failed {
                serving.close().await?;
                serving = Arc::new(Serving::start(program, programs).await?);
            }
            let greeted = remote::initialize(serving.clone(), patience).await;
            greeted.map_err(|failed| serving.told(failed.into_error()))?
        }
    };
    Ok(Opened::new("stdio", Arc::new(endpoint)))
}

/// Connects to a server in a container, whose `/sse` or `/mcp` answers.
pub(crate) async fn open_container(base: &str, has_sse: bool) -> Result<Arc<dyn Endpoint>> {
    let place = Place::new(base, &BTreeMap::new(), &Outside::default())?;
    match has_sse {
        true => events(place.at("/sse"), Patience::default()).await.map_err(Failed::into_error),
        false => connect(place.at("/mcp"), place.at("/sse"), Patience::default()).await,
    }
}

async fn connect(place: Place, stream: Place, patience: Patience) -> Result<Arc<dyn Endpoint>> {
    let link = || Arc::new(Streamable::new(place.clone())) as Arc<dyn Link>;
    if let Ok(remote) = remote::discover(link(), patience).await {
        return Ok(Arc::new(remote));
    }
    let failed = match remote::initialize(link(), patience).await {
        Ok(remote) => return Ok(Arc::new(remote)),
        Err(failed) => failed,
    };
    // A server of the first revision takes no POST where its stream is.
    match failed {
        Failed::Status(400..=499) => events(stream, patience).await.map_err(|_| failed.into_error()),
        failed => Err(failed.into_error()),
    }
}

async fn events(place: Place, patience: Patience) -> Result<Arc<dyn Endpoint>, Failed> {
    let link = Arc::new(Legacy::open(place).await?);
    let remote: Remote = remote::initialize(link, patience).await?;
    Ok(Arc::new(remote))
}

/// Looks whether a server is there, by status alone.
pub(crate) struct Probe(Place);

impl Probe {
    pub(crate) fn new(base: &str) -> Result<Self> {
        Place::new(base, &BTreeMap::new(), &Outside::default()).map(Self)
    }

    /// The status of a path, or why there is none. What would follow is not read.
    pub(crate) async fn status(&self, path: &str) -> Result<u16, &'static str> {
        let place = self.0.at(path);
        match place.send(place.get(&place.url)).await {
            Ok(response) => Ok(response.status().as_u16()),
            Err(Unsent::Client(error)) if error.is_connect() => {
                Err(http::cause(&error).unwrap_or("no connection"))
            }
            Err(_) => Err("connection closed"),
        }
    }
}
