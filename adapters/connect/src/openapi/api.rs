//! The endpoint: requests that are sent, and responses as answers of tools.

use std::collections::BTreeMap;

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dormouse_core::{Error, ErrorCode, Result};
use dormouse_sources::{Call, Endpoint, Listed, Place, ToolAnswer, unreached};
use reqwest::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use reqwest::{Method, Response};
use serde_json::{Value as Json, json};

use super::document::body;
use super::operation::Operation;
use super::request::Asked;

/// Largest body of a response, in bytes (32 MiB).
const MAX_BODY: usize = 32 << 20;
/// Bytes read of a response that says no, and characters of it that are told.
const REFUSAL: usize = 64 << 10;
const SHOWN: usize = 2_000;
/// Shorter values of headers are not looked for in responses: they stand everywhere.
const LEAST_SECRET: usize = 6;
/// What stands in a secret's place.
const WASHED: &str = "***";

/// An API.
pub(super) struct Api {
    place: Place,
    operations: BTreeMap<String, Operation>,
    /// In the document's order.
    tools: Vec<Listed>,
    /// What no program is to see.
    secrets: Vec<String>,
}

impl Api {
    pub(super) fn new(place: Place, headers: &BTreeMap<String, String>, operations: Vec<Operation>) -> Self {
        let tools = operations.iter().map(|operation| operation.tool.clone()).collect();
        let operations =
            operations.into_iter().map(|operation| (operation.tool.name.clone(), operation)).collect();
        Self { place, operations, tools, secrets: secrets(headers) }
    }

    fn request(
        &self,
        operation: &Operation,
        asked: Asked,
        key: Option<&str>,
    ) -> Result<reqwest::RequestBuilder> {
        let method = Method::from_bytes(operation.method.to_ascii_uppercase().as_bytes())
            .map_err(|error| Error::internal("a method of HTTP", error))?;
        let is_read = matches!(operation.method, "get" | "head" | "options");
        let mut request = self.place.client.request(method, asked.url);
        request = request.header("accept", "application/json, */*;q=0.5");
        if let Some(key) = key.filter(|_| !is_read) {
            request = request.header("idempotency-key", key);
        }
        for (name, value) in asked.headers {
            let refused =
                || Error::args_invalid(format!("the header `{}` cannot be sent", name.escape_debug()));
            let header = HeaderName::from_bytes(name.as_bytes()).map_err(|_| refused())?;
            let value = HeaderValue::from_str(&value).map_err(|_| refused())?;
            request = request.header(header, value);
        }
        if let Some((kind, bytes)) = asked.body {
            request = request.header(CONTENT_TYPE, kind).body(bytes);
        }
        // The operator's last: they take the place of any others.
        Ok(request.headers(self.place.headers.clone()))
    }

    async fn answer(&self, response: Response) -> Result<ToolAnswer> {
        let status = response.status();
        let kind =
            response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        if !status.is_success() {
            let bytes = body(response, REFUSAL).await.ok().flatten().unwrap_or_default();
            let text: String =
                self.washed(&String::from_utf8_lossy(&bytes)).trim().chars().take(SHOWN).collect();
            let why = if status.is_redirection() { " (redirects are not followed)" } else { "" };
            let told = format!("HTTP status {status}{why}: {text}");
            let content = vec![json!({"type": "text", "text": told.trim_end_matches([':', ' '])})];
            return Ok(ToolAnswer { content, structured: None, is_error: true });
        }
        let bytes = body(response, MAX_BODY).await?.ok_or_else(|| {
            Error::new(ErrorCode::TooLarge, format!("the answer has more than {} MiB", MAX_BODY >> 20))
                .with_hint("ask for less, such as a page")
        })?;
        Ok(self.success(&kind, bytes))
    }

    fn success(&self, kind: &str, bytes: Vec<u8>) -> ToolAnswer {
        let block = |block: Json| ToolAnswer { content: vec![block], ..ToolAnswer::default() };
        if bytes.is_empty() {
            return ToolAnswer::default();
        }
        if kind.ends_with("json")
            && let Ok(mut value) = serde_json::from_slice::<Json>(&bytes)
        {
            self.wash(&mut value);
            return ToolAnswer { structured: Some(value), ..ToolAnswer::default() };
        }
        if kind.starts_with("image/") {
            return block(json!({"type": "image", "data": STANDARD.encode(&bytes), "mimeType": kind}));
        }
        let is_text =
            kind.starts_with("text/") || kind.ends_with("json") || kind.ends_with("xml") || kind.is_empty();
        match String::from_utf8(bytes) {
            Ok(text) if is_text => block(json!({"type": "text", "text": self.washed(&text)})),
            Ok(text) => binary(kind, text.as_bytes()),
            Err(error) => binary(kind, error.as_bytes()),
        }
    }

    fn washed(&self, text: &str) -> String {
        self.secrets.iter().fold(text.to_owned(), |text, secret| text.replace(secret, WASHED))
    }

    /// Takes secrets out of all texts.
    fn wash(&self, value: &mut Json) {
        match value {
            Json::String(text) if self.secrets.iter().any(|secret| text.contains(secret)) => {
                *text = self.washed(text)
            }
            Json::Array(items) => items.iter_mut().for_each(|item| self.wash(item)),
            Json::Object(map) => {
                if map.keys().any(|key| self.secrets.iter().any(|secret| key.contains(secret))) {
                    *map = std::mem::take(map)
                        .into_iter()
                        .map(|(key, value)| (self.washed(&key), value))
                        .collect();
                }
                map.values_mut().for_each(|value| self.wash(value));
            }
            _ => {}
        }
    }
}

fn binary(kind: &str, bytes: &[u8]) -> ToolAnswer {
    let kind = if kind.is_empty() { "application/octet-stream" } else { kind };
    let resource = json!({"blob": STANDARD.encode(bytes), "mimeType": kind});
    ToolAnswer { content: vec![json!({"type": "resource", "resource": resource})], ..ToolAnswer::default() }
}

/// The values of headers, and what stands in them after a word such as `Bearer`; long ones first.
fn secrets(headers: &BTreeMap<String, String>) -> Vec<String> {
    let mut secrets: Vec<String> = headers
        .values()
        .flat_map(|value| [Some(value.as_str()), value.split_once(' ').map(|(_, rest)| rest)])
        .flatten()
        .map(|secret| secret.trim().to_owned())
        .filter(|secret| secret.len() >= LEAST_SECRET)
        .collect();
    secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    secrets
}

#[async_trait]
impl Endpoint for Api {
    async fn list(&self) -> Result<Vec<Listed>> {
        Ok(self.tools.clone())
    }

    async fn call(&self, call: Call) -> Result<ToolAnswer> {
        let Some(operation) = self.operations.get(&call.tool) else {
            return Err(Error::new(ErrorCode::NotFound, "there is no such operation"));
        };
        let asked = Asked::new(&self.place.url, operation, call.arguments).map_err(Error::args_invalid)?;
        let request = self.request(operation, asked, call.key.as_deref())?;
        let response = self.place.send(request).await.map_err(|error| {
            let was_sent = !error.is_connect();
            let error = unreached(error, "the API");
            match was_sent {
                true => Error::new(
                    error.code(),
                    format!("{}; nobody knows whether the call was made", error.message()),
                ),
                false => error,
            }
        })?;
        self.answer(response).await
    }

    async fn close(&self) -> Result<()> {
        Ok(())
    }
}
