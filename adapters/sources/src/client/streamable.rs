//! Streamable HTTP: each request is a POST, its answer a message or a stream of its own.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use dormouse_core::{Error, ErrorCode, Result};
use reqwest::header::HeaderValue;
use reqwest::{Response, StatusCode};
use serde_json::Value as Json;

use super::http::{self, Place};
use super::sse::Parser;
use super::wire::{self, Answered, Failed, Incoming, MAX_MESSAGE, Request, closed, too_long, unavailable};
use super::{Era, Link};

/// Most bytes of the stream of one request (64 MiB).
const MAX_STREAM: usize = 64 << 20;
/// Time for what is sent by the way: that a call is given up, that a session ends.
const ASIDE: Duration = Duration::from_secs(5);
/// Longest id of a session, in bytes.
const MAX_SESSION: usize = 1_024;
/// Requests of the server that are answered during one request of ours.
const MAX_ASKED: usize = 16;

/// A server behind one address.
#[derive(Clone)]
pub(super) struct Streamable {
    place: Place,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    era: Option<Era>,
    session: Option<HeaderValue>,
    closed: bool,
    /// Whether the connection broke, or the server has forgotten the session.
    lost: bool,
}

/// Tells the server that a call is given up, when it is dropped before its answer has come. Servers of the newer era see
/// it by the end of the stream.
struct Stay<'a> {
    link: &'a Streamable,
    id: u64,
    answered: bool,
}

impl Drop for Stay<'_> {
    fn drop(&mut self) {
        let legacy = matches!(self.link.state().era, Some(Era::Legacy(_)));
        if let (false, true, Ok(runtime)) = (self.answered, legacy, tokio::runtime::Handle::try_current()) {
            let (link, id) = (self.link.clone(), self.id);
            runtime.spawn(async move {
                let _ = tokio::time::timeout(ASIDE, link.send(&wire::cancelled(id), &[])).await;
            });
        }
    }
}

impl Streamable {
    pub(super) fn new(place: Place) -> Self {
        Self { place, state: Arc::default() }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn send(&self, message: &Json, headers: &[(String, String)]) -> Result<Response, Failed> {
        let mut request = self.place.post(&self.place.url, message);
        for (name, value) in headers {
            request = request.header(name, value);
        }
        {
            let state = self.state();
            if let Some(era) = &state.era {
                request = request.header("mcp-protocol-version", era.version());
            }
            if let Some(session) = &state.session {
                request = request.header("mcp-session-id", session.clone());
            }
        }
        http::send(&self.place, request).await
    }

    /// Remembers the session that the handshake began.
    fn begin(&self, response: &Response) -> Result<(), Failed> {
        let Some(session) = response.headers().get("mcp-session-id") else { return Ok(()) };
        let plain = session.as_bytes().iter().all(|byte| (0x21..=0x7e).contains(byte));
        if !plain || session.len() > MAX_SESSION {
            return Err(unavailable("the MCP server's session has an id that cannot be sent").into());
        }
        self.state().session = Some(session.clone());
        Ok(())
    }

    /// The answer in a stream of events; what else comes in it is heard.
    async fn follow(&self, request: &Request, mut response: Response) -> Answered {
        let (mut parser, mut events) = (Parser::default(), Vec::new());
        let (mut bytes, mut asked) = (0, 0);
        while let Some(piece) = response.chunk().await.map_err(http::broken)? {
            bytes += piece.len();
            if bytes > MAX_STREAM {
                let message = format!("an answer of the MCP server has more than {MAX_STREAM} bytes");
                return Err(Error::new(ErrorCode::TooLarge, message).into());
            }
            parser.feed(&piece, &mut events).map_err(|_| too_long())?;
            for event in events.drain(..) {
                if !matches!(event.kind.as_str(), "" | "message") {
                    continue;
                }
                for incoming in wire::read(&event.data).unwrap_or_default() {
                    match incoming {
                        Incoming::Answer { id, answered } if id == request.id => return answered,
                        Incoming::Answer { id, .. } => tracing::debug!(id, "an answer that nobody waits for"),
                        Incoming::Told { method, params } => request.hear(&method, &params),
                        Incoming::Asked { id, method } if asked < MAX_ASKED => {
                            asked += 1;
                            let reply = wire::reply(&id, &method);
                            let _ = tokio::time::timeout(ASIDE, self.send(&reply, &[])).await;
                        }
                        Incoming::Asked { .. } => {}
                    }
                }
            }
        }
        Err(unavailable("the MCP server ended its stream without an answer").into())
    }
}

#[async_trait]
impl Link for Streamable {
    fn agree(&self, era: Era) {
        self.state().era = Some(era);
    }

    async fn request(&self, request: Request) -> Answered {
        if self.state().closed {
            return Err(closed().into());
        }
        // A greeting is not to be cancelled.
        let mut stay = Stay { link: self, id: request.id, answered: request.method == "initialize" };
        let answered = async {
            let response = self.send(&request.body(), &request.headers).await?;
            if response.status() == StatusCode::NOT_FOUND {
                // The server has forgotten the session, whatever it says beside that: the next call begins a new one.
                self.state().lost = true;
            }
            if request.method == "initialize" {
                self.begin(&response)?;
            }
            if http::is(&response, "text/event-stream") {
                return self.follow(&request, response).await;
            }
            let body = http::body(response, MAX_MESSAGE).await?;
            for incoming in wire::read(&body).unwrap_or_default() {
                match incoming {
                    Incoming::Answer { id, answered } if id == request.id => return answered,
                    Incoming::Told { method, params } => request.hear(&method, &params),
                    _ => {}
                }
            }
            Err(unavailable("the MCP server's answer is not the answer to this request").into())
        }
        .await;
        stay.answered = true;
        if matches!(answered, Err(Failed::Broken(_) | Failed::Status(404))) {
            self.state().lost = true;
        }
        answered
    }

    async fn notify(&self, message: Json) -> Result<(), Failed> {
        self.send(&message, &[]).await.map(drop)
    }

    fn is_open(&self) -> bool {
        let state = self.state();
        !state.closed && !state.lost
    }

    async fn close(&self) -> Result<()> {
        let session = {
            let mut state = self.state();
            state.closed = true;
            state.session.take()
        };
        if let Some(session) = session {
            // Servers may refuse it: then the session ends when they see fit.
            let request = self.place.delete().header("mcp-session-id", session);
            let _ = tokio::time::timeout(ASIDE, self.place.send(request)).await;
        }
        Ok(())
    }
}
