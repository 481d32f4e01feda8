//! JSON-RPC messages, and what a request can come to.

use std::sync::Arc;

use dormouse_core::{Error, ErrorCode};
use serde_json::{Map, Value as Json, json};

use crate::Progress;

/// Most bytes of one message: a body, an event or a line (4 MiB).
pub(super) const MAX_MESSAGE: usize = 4 << 20;
/// Characters of a server's text that an error repeats.
const SHOWN: usize = 1_000;
/// Most messages of one batch.
const MAX_BATCH: usize = 100;

/// A request that is to be sent.
#[derive(Clone)]
pub(super) struct Request {
    pub(super) id: u64,
    pub(super) method: &'static str,
    pub(super) params: Map<String, Json>,
    pub(super) progress: Option<Arc<dyn Progress>>,
    /// Headers of its own, for HTTP.
    pub(super) headers: Vec<(String, String)>,
}

impl Request {
    pub(super) fn body(&self) -> Json {
        json!({"jsonrpc": "2.0", "id": self.id, "method": self.method, "params": self.params})
    }

    /// Passes a notification on, if it is of this request's progress.
    pub(super) fn hear(&self, method: &str, params: &Json) {
        let Some(progress) = &self.progress else { return };
        if method == "notifications/progress" && params["progressToken"].as_u64() == Some(self.id) {
            let message = cut(params["message"].as_str().unwrap_or_default());
            progress.progress(&message, params["progress"].as_f64(), params["total"].as_f64());
        }
    }
}

/// A notification that is to be sent.
pub(super) fn notification(method: &str, params: &Json) -> Json {
    json!({"jsonrpc": "2.0", "method": method, "params": params})
}

/// That a request is given up.
pub(super) fn cancelled(id: u64) -> Json {
    notification("notifications/cancelled", &json!({"requestId": id, "reason": "the caller gave up"}))
}

/// What came in.
pub(super) enum Incoming {
    /// The answer to a request of ours.
    Answer { id: u64, answered: Answered },
    /// The server asks something.
    Asked { id: Json, method: String },
    /// The server tells something.
    Told { method: String, params: Json },
}

/// What a request came to.
pub(super) type Answered = Result<Json, Failed>;

/// Why it brought nothing.
#[derive(Debug)]
pub(super) enum Failed {
    /// The server says no.
    Refused { code: i64, message: String },
    /// The server says no in HTTP's words alone.
    Status(u16),
    /// There is no answer that can be used.
    Broken(Error),
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self::Broken(error)
    }
}

impl Failed {
    /// The error of it, outside a call.
    pub(super) fn into_error(self) -> Error {
        match self {
            Self::Refused { code, message } => {
                unavailable(format!("the MCP server answered with error {code}: {message}"))
            }
            Self::Status(status) => {
                let error = unavailable(format!("the MCP server answered with HTTP status {status}"));
                match status {
                    300..=399 => error.with_hint("redirects are not followed: name the server's own address"),
                    401 | 403 => error.with_hint("look at the headers of the entry"),
                    404 | 405 => error.with_hint("look at the path of the address: /mcp and /sse are usual"),
                    _ => error,
                }
            }
            Self::Broken(error) => error,
        }
    }
}

pub(super) fn unavailable(message: impl Into<String>) -> Error {
    Error::new(ErrorCode::ProviderUnavailable, message)
}

pub(super) fn closed() -> Error {
    unavailable("the MCP server is closed")
}

pub(super) fn too_long() -> Error {
    let message = format!("a message of the MCP server has more than {MAX_MESSAGE} bytes");
    Error::new(ErrorCode::TooLarge, message).with_hint("have the tool answer with less")
}

/// A server's text, fit to be shown.
pub(super) fn cut(text: &str) -> String {
    text.chars().filter(|c| !c.is_control() || *c == '\n').take(SHOWN).collect()
}

/// The messages in a body, an event or a line. None when it is no JSON-RPC.
pub(super) fn read(bytes: &[u8]) -> Option<Vec<Incoming>> {
    match serde_json::from_slice(bytes).ok()? {
        Json::Array(batch) if batch.len() > MAX_BATCH => None,
        Json::Array(batch) => Some(batch.into_iter().filter_map(one).collect()),
        message => one(message).map(|message| vec![message]),
    }
}

fn one(mut message: Json) -> Option<Incoming> {
    let method = message["method"].as_str().map(str::to_owned);
    let id = message.get_mut("id").map(Json::take).filter(|id| !id.is_null());
    match (method, id) {
        (Some(method), Some(id)) if id.is_string() || id.is_number() => Some(Incoming::Asked { id, method }),
        (Some(method), None) => {
            let params = message.get_mut("params").map(Json::take).unwrap_or_default();
            Some(Incoming::Told { method, params })
        }
        (None, Some(id)) => Some(Incoming::Answer { id: id.as_u64()?, answered: answered(message)? }),
        _ => None,
    }
}

fn answered(mut message: Json) -> Option<Answered> {
    if let Some(error) = message.get("error") {
        let code = error["code"].as_i64()?;
        let message = cut(error["message"].as_str().unwrap_or_default());
        return Some(Err(Failed::Refused { code, message }));
    }
    message.get_mut("result").map(|result| Ok(result.take()))
}

/// The answer to a server's own request: it may ask whether we are there, and nothing else.
pub(super) fn reply(id: &Json, method: &str) -> Json {
    match method {
        "ping" => json!({"jsonrpc": "2.0", "id": id, "result": {}}),
        _ => {
            json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "this client offers nothing"}})
        }
    }
}

/// Whether a body of a refusal says no in JSON-RPC's words.
pub(super) fn refusal(bytes: &[u8]) -> Option<Failed> {
    let body: Json = serde_json::from_slice(bytes).ok()?;
    answered(body)?.err()
}
