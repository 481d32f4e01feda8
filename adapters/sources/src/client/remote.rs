//! A server that has been greeted, as an endpoint.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use dormouse_core::{Error, ErrorCode, Result};
use serde_json::{Map, Value as Json, json};

use super::listing::Listing;
use super::mirror::{self, Mirror};
use super::wire::{self, Answered, Failed, Request, notification, unavailable};
use super::{Era, INITIALIZED, LEGACY, Link, MODERN, Patience, http};
use crate::{Call, Endpoint, Listed, Progress, ToolAnswer};

/// JSON-RPC's codes.
const METHOD_NOT_FOUND: i64 = -32601;
const INVALID_PARAMS: i64 = -32602;
/// Where a call's key stands in its `_meta`.
const KEY: &str = "dormouse/idempotencyKey";
/// Content blocks of one answer.
const MAX_BLOCKS: usize = 10_000;

/// An endpoint behind a link.
pub(super) struct Remote {
    link: Arc<dyn Link>,
    era: Era,
    patience: Patience,
    last: AtomicU64,
    /// Arguments that go into headers as well, by tool. Only for servers of the newer era.
    mirrors: Mutex<HashMap<String, Mirror>>,
}

/// Greets a server in the newer era. The link comes back when the server does not speak it.
pub(super) async fn discover(
    link: Arc<dyn Link>,
    patience: Patience,
) -> Result<Remote, (Arc<dyn Link>, Failed)> {
    link.agree(Era::Modern);
    let remote = Remote::new(link.clone(), Era::Modern, patience);
    let asked = remote.ask("server/discover", Map::new(), None, Vec::new(), patience.discover).await;
    let failed = match asked {
        Ok(told) => match told["supportedVersions"].as_array() {
            Some(versions) if versions.iter().any(|version| version == MODERN) => return Ok(remote),
            _ => unavailable("the MCP server does not speak this revision"),
        },
        Err(failed) => return Err((link, failed)),
    };
    // It answered, so that it can be asked again on the same link.
    Err((link, Failed::Refused { code: METHOD_NOT_FOUND, message: failed.message().to_owned() }))
}

/// Greets a server in the older era.
pub(super) async fn initialize(link: Arc<dyn Link>, patience: Patience) -> Result<Remote, Failed> {
    link.agree(Era::Legacy(INITIALIZED.into()));
    let mut remote = Remote::new(link, Era::Legacy(INITIALIZED.into()), patience);
    // The first id was the question before.
    remote.last.store(1, Ordering::Relaxed);
    let params = json!({"protocolVersion": INITIALIZED, "capabilities": {}, "clientInfo": us()});
    let Json::Object(params) = params else { return Err(unavailable("no parameters").into()) };
    let greeted = remote.ask("initialize", params, None, Vec::new(), patience.answer).await;
    let told = match greeted {
        Ok(told) => told,
        Err(failed) => {
            let _ = remote.link.close().await;
            return Err(failed);
        }
    };
    let version = told["protocolVersion"].as_str().unwrap_or_default();
    if !LEGACY.contains(&version) {
        let _ = remote.link.close().await;
        let shown = wire::cut(&version.chars().take(32).collect::<String>());
        return Err(unavailable(format!("the MCP server speaks the unknown revision `{shown}`")).into());
    }
    remote.era = Era::Legacy(version.to_owned());
    remote.link.agree(remote.era.clone());
    let told = remote.link.notify(notification("notifications/initialized", &json!({})));
    tokio::time::timeout(patience.answer, told).await.map_err(|_| http::late(patience.answer))??;
    Ok(remote)
}

fn us() -> Json {
    json!({"name": "dormouse", "version": env!("CARGO_PKG_VERSION")})
}

impl Remote {
    fn new(link: Arc<dyn Link>, era: Era, patience: Patience) -> Self {
        Self { link, era, patience, last: AtomicU64::new(0), mirrors: Mutex::default() }
    }

    async fn ask(
        &self,
        method: &'static str,
        mut params: Map<String, Json>,
        progress: Option<Arc<dyn Progress>>,
        mut headers: Vec<(String, String)>,
        patience: Duration,
    ) -> Answered {
        let id = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        let mut meta = match params.remove("_meta") {
            Some(Json::Object(meta)) => meta,
            _ => Map::new(),
        };
        if progress.is_some() {
            meta.insert("progressToken".into(), id.into());
        }
        if self.era == Era::Modern {
            meta.insert("io.modelcontextprotocol/protocolVersion".into(), MODERN.into());
            meta.insert("io.modelcontextprotocol/clientCapabilities".into(), json!({}));
            meta.insert("io.modelcontextprotocol/clientInfo".into(), us());
            headers.push(("mcp-method".into(), method.into()));
            if let Some(name) = params.get("name").and_then(Json::as_str) {
                headers.push(("mcp-name".into(), mirror::encoded(name)));
            }
        }
        if !meta.is_empty() {
            params.insert("_meta".into(), meta.into());
        }
        let request = self.link.request(Request { id, method, params, progress, headers });
        let answered = tokio::time::timeout(patience, request).await;
        answered.unwrap_or_else(|_| Err(http::late(patience).into()))
    }

    /// The answer, or what a refusal of a call means.
    fn called(answered: Answered) -> Result<Json> {
        match answered {
            Ok(answer) => Ok(answer),
            Err(Failed::Refused { code, message }) => {
                let lower = message.to_lowercase();
                let unknown =
                    ["not found", "unknown tool", "no such tool"].iter().any(|part| lower.contains(part));
                Err(match code {
                    METHOD_NOT_FOUND => Error::new(ErrorCode::NotFound, message),
                    INVALID_PARAMS if unknown => Error::new(ErrorCode::NotFound, message),
                    INVALID_PARAMS => Error::args_invalid(message),
                    code => Failed::Refused { code, message }.into_error(),
                })
            }
            Err(failed) => Err(failed.into_error()),
        }
    }

    fn mirrors(&self) -> std::sync::MutexGuard<'_, HashMap<String, Mirror>> {
        self.mirrors.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Endpoint for Remote {
    async fn list(&self) -> Result<Vec<Listed>> {
        let (mut listing, mut cursor) = (Listing::default(), None::<String>);
        loop {
            let params = cursor.map(|cursor| ("cursor".to_owned(), Json::from(cursor))).into_iter().collect();
            let page = self.ask("tools/list", params, None, Vec::new(), self.patience.answer).await;
            cursor = listing.add(page.map_err(Failed::into_error)?)?;
            if cursor.is_none() {
                break;
            }
        }
        let tools = listing.tools;
        if self.era == Era::Modern {
            *self.mirrors() = mirror::all(&tools);
        }
        Ok(tools)
    }

    async fn call(&self, call: Call) -> Result<ToolAnswer> {
        let headers = self.mirrors().get(&call.tool).map(|mirror| mirror.headers(&call.arguments));
        let mut params = Map::new();
        params.insert("name".into(), call.tool.into());
        params.insert("arguments".into(), call.arguments.into());
        if let Some(key) = call.key {
            params.insert("_meta".into(), json!({KEY: key}));
        }
        let headers = headers.unwrap_or_default();
        let answered = self.ask("tools/call", params, call.progress, headers, self.patience.call).await;
        answer(Self::called(answered)?)
    }

    async fn close(&self) -> Result<()> {
        self.link.close().await
    }

    fn is_open(&self) -> bool {
        self.link.is_open()
    }

    fn has_changed(&self) -> bool {
        self.link.has_changed()
    }
}

/// What a tool answered, as it came.
fn answer(mut result: Json) -> Result<ToolAnswer> {
    match result["resultType"].as_str() {
        None | Some("complete") => {}
        Some(other) => {
            let shown = wire::cut(&other.chars().take(32).collect::<String>());
            return Err(unavailable(format!(
                "the MCP server answered with `{shown}`, which was not offered"
            )));
        }
    }
    let content = match result.get_mut("content").map(Json::take) {
        Some(Json::Array(content)) if content.len() <= MAX_BLOCKS => content,
        Some(Json::Array(_)) => {
            let message = format!("an answer of the MCP server has more than {MAX_BLOCKS} blocks");
            return Err(Error::new(ErrorCode::TooLarge, message));
        }
        // Servers of the newer era may leave it out where there is structured content.
        None if result.get("structuredContent").is_some() => Vec::new(),
        _ => return Err(unavailable("the MCP server's answer is no result of a tool")),
    };
    let structured = result.get_mut("structuredContent").map(Json::take).filter(|content| !content.is_null());
    Ok(ToolAnswer { content, structured, is_error: result["isError"].as_bool().unwrap_or(false) })
}
