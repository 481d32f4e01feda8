//! A model that calls tools, in place of a script: the interface `…/chat/completions` with functions.
//!
//! Sending, its bounds, the key and the form of messages are `dormouse-models`'; here is what a conversation with tools may use
//! in one repetition.
//!
//! | step | module |
//! | --- | --- |
//! | the endpoint of a plan | [`Client`] |
//! | what was said so far, what may still be used | [`Conversation`] |

use std::sync::Arc;
use std::time::Duration;

use dormouse_core::{Error, ErrorCode, Result};
use dormouse_models::openai::{self, ToolCall};
use dormouse_models::{Api, Endpoint, HttpModel, Key};
use dormouse_sources::{Outside, Tool};
use serde_json::Value as Json;

use crate::config::ModelSpec;

/// Most bytes of a conversation that are sent (4 MiB).
const MAX_PROMPT: usize = 4 << 20;
/// Most bytes of one answer, text and arguments (1 MiB).
const MAX_ANSWER: usize = 1 << 20;
/// Most bytes of a tool's output that the model sees (32 KiB).
pub(crate) const MAX_RESULT: usize = 32 << 10;
/// Bytes that count as one token where the endpoint does not tell.
const BYTES_PER_TOKEN: usize = 4;

/// What a model said.
pub(crate) struct Answer {
    /// Its text, if there is some.
    pub(crate) text: Option<String>,
    /// The tools that it wants to be called, at most 32.
    pub(crate) wanted: Vec<ToolCall>,
}

/// The endpoint of a plan.
pub(crate) struct Client {
    model: Arc<HttpModel>,
    spec: Arc<ModelSpec>,
}

impl Client {
    /// Reads the key; connects to nothing yet.
    ///
    /// # Errors
    /// `args_invalid` for an address that is none, or a key that is not there.
    pub(crate) fn new(spec: &ModelSpec, outside: &Outside) -> Result<Self> {
        let time = Duration::from_secs(spec.budget.call_seconds);
        let mut endpoint = Endpoint::new(&spec.url, Api::OpenAi, &spec.name)?.with_time(time);
        if let Some(variable) = &spec.api_key_env {
            endpoint = endpoint.with_key(Key::from_env(variable)?);
        }
        let model = HttpModel::with_names(endpoint, outside.names.as_ref())?;
        Ok(Self { model: Arc::new(model), spec: Arc::new(spec.clone()) })
    }

    /// A conversation in which nothing was said, with the whole budget.
    pub(crate) fn conversation(&self) -> Conversation {
        let (model, spec) = (self.model.clone(), self.spec.clone());
        let messages = spec.system.iter().map(|text| openai::system(text)).collect();
        Conversation { model, spec, messages, calls: 0, tokens: (0, 0) }
    }
}

/// What was said in one repetition, and what it used.
pub(crate) struct Conversation {
    model: Arc<HttpModel>,
    spec: Arc<ModelSpec>,
    messages: Vec<Json>,
    calls: u32,
    tokens: (u64, u64),
}

impl Conversation {
    /// Tokens of prompts and of answers so far.
    pub(crate) fn tokens(&self) -> (u64, u64) {
        self.tokens
    }

    /// Answers that one turn may have.
    pub(crate) fn max_iterations(&self) -> u32 {
        self.spec.max_iterations
    }

    /// The user says something.
    pub(crate) fn user(&mut self, text: &str) {
        self.messages.push(openai::user(text));
    }

    /// A tool answers what the model wanted of it.
    pub(crate) fn result(&mut self, wanted: &ToolCall, text: &str) {
        self.messages.push(openai::tool(&wanted.id, text));
    }

    /// What the model says to all that.
    ///
    /// # Errors
    /// `budget_exhausted`, `too_large`, `model_unavailable`, `model_rate_limited`.
    pub(crate) async fn ask(&mut self, tools: &[Arc<Tool>]) -> Result<Answer> {
        let budget = &self.spec.budget;
        if self.calls >= budget.calls {
            return Err(spent(&format!("{} requests", budget.calls)));
        }
        let left = budget.tokens.saturating_sub(self.tokens.0.saturating_add(self.tokens.1));
        let answer_tokens = left.min(u64::from(budget.answer_tokens));
        if answer_tokens == 0 {
            return Err(spent(&format!("{} tokens", budget.tokens)));
        }
        let functions = tools.iter().filter(|tool| openai::can_carry(&tool.name)).map(|tool| function(tool));
        let body = openai::body(&self.spec.name, &self.messages, functions.collect(), answer_tokens);
        let bytes = body.to_string().into_bytes();
        if bytes.len() > MAX_PROMPT {
            let message = format!("the conversation has more than {MAX_PROMPT} bytes");
            return Err(Error::new(ErrorCode::TooLarge, message).with_hint("let the tools print less"));
        }
        self.calls += 1;
        let answered = self.model.exchange(&bytes, MAX_ANSWER).await?;
        let read = openai::answer(&answered).and_then(|mut answer| Some((answer.calls()?, answer)));
        let (wanted, answer) = read.ok_or_else(|| {
            Error::new(ErrorCode::ModelUnavailable, "the model's endpoint answered in an unexpected format")
                .with_hint("check the address of the endpoint; it must serve chat/completions with tools")
        })?;
        let guess = |bytes: usize| (bytes / BYTES_PER_TOKEN) as u64;
        let (asked, said) = answer.tokens.unwrap_or((guess(bytes.len()), guess(answered.len())));
        self.tokens = (self.tokens.0.saturating_add(asked), self.tokens.1.saturating_add(said));
        let text = answer.text.filter(|text| !text.is_empty());
        self.messages.push(openai::assistant(text.as_deref(), &wanted));
        Ok(Answer { text, wanted })
    }
}

fn function(tool: &Tool) -> Json {
    openai::function(&tool.name, &tool.listed.description, &tool.listed.input_schema)
}

fn spent(what: &str) -> Error {
    Error::new(ErrorCode::BudgetExhausted, format!("the model has used its budget of {what}"))
        .with_hint("raise `model.budget`, or ask less")
}
