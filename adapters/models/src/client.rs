//! Sends a prompt to an endpoint: bounded in time and size, with few retries, without redirects.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use dormouse_core::model::{Completion, Model, Prompt, Role};
use dormouse_core::{Error, ErrorCode, Resolve, Result};
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use reqwest::{Response, StatusCode};
use serde_json::Value as Json;
use tokio::time::Instant;

use crate::answer::Answer;
use crate::endpoint::{Api, Endpoint};
use crate::wash::Wash;
use crate::{anthropic, openai};

/// Tries of one call.
const TRIES: u32 = 3;
/// Wait after the first failed try; twice as long after each further one. An endpoint that says how long is believed.
const FIRST_WAIT: Duration = Duration::from_millis(250);
/// Time to connect.
const CONNECT: Duration = Duration::from_secs(10);
/// What may surround an answer's text: six bytes for each of its bytes (the longest JSON escape) and this much.
const AROUND: usize = 256 << 10;
/// Bytes read of an answer that says no.
const REFUSAL: usize = 16 << 10;

/// A model behind an endpoint. Cheap to share; connections are kept.
#[derive(Debug)]
pub struct HttpModel {
    endpoint: Endpoint,
    client: reqwest::Client,
    wash: Wash,
}

/// Why a try brought nothing.
struct Failed {
    error: Error,
    /// Whether another try may do better, and when the endpoint wants it.
    retry: Option<Option<Duration>>,
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self { error, retry: None }
    }
}

impl HttpModel {
    /// A client of the endpoint. Connects to nothing yet. Proxies are those of the environment, none for this machine.
    ///
    /// # Errors
    /// `internal` when the system's certificates cannot be used.
    pub fn new(endpoint: Endpoint) -> Result<Self> {
        Self::with_names(endpoint, None)
    }

    /// The same; names are looked up by somebody else than the system's resolver in this process.
    ///
    /// # Errors
    /// As [`HttpModel::new`].
    pub fn with_names(endpoint: Endpoint, names: Option<&Arc<dyn Resolve>>) -> Result<Self> {
        let mut builder = dormouse_http::client(names)
            .connect_timeout(CONNECT)
            .default_headers(headers(&endpoint)?)
            .user_agent(concat!("dormouse/", env!("CARGO_PKG_VERSION")));
        if endpoint.is_local() {
            builder = builder.no_proxy();
        } else if endpoint.url.scheme() == "http" && endpoint.key.is_some() {
            tracing::warn!("the key of the model's endpoint goes over the network unencrypted");
        }
        let client = builder
            .build()
            .map_err(|error| Error::internal("the HTTP client cannot be set up", error.without_url()))?;
        let wash = Wash::new(endpoint.key.as_ref());
        Ok(Self { endpoint, client, wash })
    }

    async fn attempt(&self, body: &[u8], most: usize) -> Result<Vec<u8>, Failed> {
        let request = self.client.post(self.endpoint.url.clone()).body(body.to_vec());
        let response = match request.send().await {
            Ok(response) => response,
            Err(error) => {
                let told = if error.is_connect() { "cannot be reached" } else { "broke the connection" };
                let error =
                    unavailable(format!("the model's endpoint {told}")).with_source(error.without_url());
                return Err(Failed { error, retry: Some(None) });
            }
        };
        if response.status() != StatusCode::OK {
            return Err(refused(response, &self.wash).await);
        }
        let room = most.saturating_mul(6).saturating_add(AROUND);
        let (bytes, whole) = read(response, room).await.map_err(|error| Failed {
            error: unavailable("the model's endpoint broke off its answer").with_source(error.without_url()),
            retry: Some(None),
        })?;
        if !whole {
            return Err(too_long(most).into());
        }
        Ok(bytes)
    }

    async fn tries(&self, body: &[u8], most: usize) -> Result<Vec<u8>> {
        let end = Instant::now() + self.endpoint.time;
        let mut wait = FIRST_WAIT;
        for tried in 1.. {
            let failed = match self.attempt(body, most).await {
                Ok(bytes) => return Ok(bytes),
                Err(failed) => failed,
            };
            tracing::debug!(error = %failed.error, cause = cause(&failed.error), tried, "the model gave no answer");
            let Some(asked) = failed.retry.filter(|_| tried < TRIES) else { return Err(failed.error) };
            let pause = asked.unwrap_or(wait);
            // A wait that cannot end in time is not begun: the caller is told how long it would be.
            if pause > self.endpoint.patience || Instant::now() + pause >= end {
                return Err(failed.error);
            }
            tokio::time::sleep(pause).await;
            wait *= 2;
        }
        Err(unavailable("the model was not asked"))
    }

    /// Posts a body of the caller's own making, and returns the answer's body, with the same bounds, tries and key as
    /// [`Model::complete`]: at most six times `answer_bytes` and 256 KiB, without the key.
    ///
    /// # Errors
    /// As [`Model::complete`]; the form of the answer is the caller's to check.
    pub async fn exchange(&self, body: &[u8], answer_bytes: usize) -> Result<Vec<u8>> {
        let answer = self.asked(body, answer_bytes).await?;
        Ok(match String::from_utf8(answer) {
            Ok(text) => self.wash.text(text).into_bytes(),
            Err(error) => self.wash.text(String::from_utf8_lossy(error.as_bytes()).into_owned()).into_bytes(),
        })
    }

    /// The answer's body as it came.
    async fn asked(&self, body: &[u8], answer_bytes: usize) -> Result<Vec<u8>> {
        let time = self.endpoint.time;
        match tokio::time::timeout(time, self.tries(body, answer_bytes)).await {
            Ok(answer) => answer,
            Err(_) => {
                let message = format!("the model did not answer within {:.1} s", time.as_secs_f64());
                Err(unavailable(message).with_hint("try again, or ask for a shorter answer"))
            }
        }
    }
}

#[async_trait]
impl Model for HttpModel {
    fn name(&self) -> &str {
        &self.endpoint.model
    }

    async fn complete(&self, prompt: &Prompt, answer_bytes: usize) -> Result<Completion> {
        let body = match self.endpoint.api {
            Api::OpenAi => openai_body(&self.endpoint.model, prompt),
            Api::Anthropic => anthropic::body(&self.endpoint.model, prompt),
        };
        let bytes = self.asked(body.to_string().as_bytes(), answer_bytes).await?;
        let answer =
            match self.endpoint.api {
                Api::OpenAi => openai::answer(&bytes)
                    .map(|openai::Answer { text, tokens, is_cut, .. }| Answer { text, tokens, is_cut }),
                Api::Anthropic => anthropic::answer(&bytes),
            };
        match answer {
            Some(Answer { text: Some(text), tokens, is_cut }) => {
                let text = self.wash.text(text);
                if text.len() > answer_bytes {
                    return Err(too_long(answer_bytes));
                }
                Ok(Completion { text, tokens, is_cut })
            }
            Some(Answer { text: None, is_cut: true, .. }) => Err(Error::new(
                ErrorCode::ModelUnavailable,
                "the model used up its tokens before it wrote a text",
            )
            .with_hint("allow it more tokens: max_tokens, or the operator's --llm-answer-tokens")),
            Some(Answer { text: None, .. }) => {
                Err(Error::new(ErrorCode::ModelUnavailable, "the model answered without a text")
                    .with_hint("ask in other words"))
            }
            None => Err(unavailable("the model's endpoint answered in an unexpected format")
                .with_hint("check the address of the endpoint and the API that is set for it")),
        }
    }
}

/// A prompt as a request without functions.
fn openai_body(model: &str, prompt: &Prompt) -> Json {
    let system = prompt.system.iter().map(|text| openai::system(text));
    let messages = prompt.messages.iter().map(|message| match message.role {
        Role::User => openai::user(&message.text),
        Role::Assistant => openai::assistant(Some(&message.text), &[]),
    });
    let messages: Vec<Json> = system.chain(messages).collect();
    openai::body(model, &messages, Vec::new(), prompt.max_tokens.into())
}

fn headers(endpoint: &Endpoint) -> Result<HeaderMap> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if endpoint.api == Api::Anthropic {
        let (name, version) = anthropic::VERSION;
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(version));
    }
    if let Some(key) = &endpoint.key {
        let (name, text) = match endpoint.api {
            Api::OpenAi => (AUTHORIZATION, format!("Bearer {}", key.reveal())),
            Api::Anthropic => (HeaderName::from_static("x-api-key"), key.reveal().to_owned()),
        };
        let mut value = HeaderValue::from_str(&text)
            .map_err(|_| Error::args_invalid("the key of the model's endpoint cannot be a header"))?;
        // Neither `Debug` nor a log of the library shows it then.
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Ok(headers)
}

/// What an answer that says no comes to. Its text is not passed on: endpoints repeat keys in it.
async fn refused(response: Response, wash: &Wash) -> Failed {
    let status = response.status();
    let after = retry_after(response.headers());
    let word = match read(response, REFUSAL).await {
        Ok((bytes, _)) => word(&bytes).filter(|word| !wash.finds(word)),
        Err(_) => None,
    };
    let told = match word {
        Some(word) => format!("{} ({word})", status.as_u16()),
        None => status.as_u16().to_string(),
    };
    if status == StatusCode::TOO_MANY_REQUESTS {
        let hint = match after {
            Some(after) => format!("try again in {} s", after.as_secs().max(1)),
            None => "try again later, or ask less often".into(),
        };
        let message = format!("the model's endpoint accepts no more requests at the moment: {told}");
        let error = Error::new(ErrorCode::ModelRateLimited, message).with_hint(hint);
        return Failed { error, retry: Some(after) };
    }
    let error = unavailable(format!("the model's endpoint answered {told}"));
    let again = status.is_server_error() || status == StatusCode::REQUEST_TIMEOUT;
    let hint = match status.as_u16() {
        401 | 403 => "have the operator check the key of the endpoint",
        404 => "have the operator check the address of the endpoint and the name of the model",
        300..=399 => "redirects are not followed: have the operator name the endpoint's own address",
        _ if again => "try again later",
        _ => "the endpoint does not accept this request; a shorter prompt may help",
    };
    Failed { error: error.with_hint(hint), retry: again.then_some(after) }
}

/// The body up to `most` bytes, and whether that is all of it.
async fn read(mut response: Response, most: usize) -> reqwest::Result<(Vec<u8>, bool)> {
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        if bytes.len() + chunk.len() > most {
            return Ok((bytes, false));
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok((bytes, true))
}

/// How long an endpoint asks to be left alone: seconds, or a date.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let date = httpdate::parse_http_date(text).ok()?;
    Some(date.duration_since(SystemTime::now()).unwrap_or_default())
}

/// The endpoint's own short name for its error, if it has one that is a plain word.
fn word(bytes: &[u8]) -> Option<String> {
    let body: Json = serde_json::from_slice(bytes).ok()?;
    let named = ["code", "type"].into_iter().find_map(|field| body["error"][field].as_str())?;
    let plain = named.len() <= 48 && named.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    plain.then(|| named.to_owned())
}

fn unavailable(message: impl Into<String>) -> Error {
    Error::new(ErrorCode::ModelUnavailable, message)
        .with_hint("try again; if it persists, have the operator check the endpoint")
}

fn too_long(most: usize) -> Error {
    Error::new(ErrorCode::TooLarge, format!("the model's answer has more than {most} bytes"))
        .with_hint("ask for a shorter answer")
}

fn cause(error: &Error) -> String {
    let mut next = std::error::Error::source(error);
    let mut text = String::new();
    while let Some(error) = next {
        text = if text.is_empty() { error.to_string() } else { format!("{text}: {error}") };
        next = error.source();
    }
    text
}
