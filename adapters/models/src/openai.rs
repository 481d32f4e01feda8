//! The interface `…/chat/completions`.

use dormouse_core::model::{Prompt, Role};
use serde::Deserialize;
use serde_json::{Value as Json, json};

use crate::client::Answer as Read;

/// The request's body.
pub(crate) fn body(model: &str, prompt: &Prompt) -> Json {
    let system = prompt.system.iter().map(|text| json!({"role": "system", "content": text}));
    let messages = prompt.messages.iter().map(|message| {
        let role = match message.role {
            Role::User => "user",
            Role::Assistant => "assistant",
        };
        json!({"role": role, "content": message.text})
    });
    let messages: Vec<Json> = system.chain(messages).collect();
    json!({"model": model, "messages": messages, "max_tokens": prompt.max_tokens, "stream": false})
}

#[derive(Deserialize)]
struct Answer {
    choices: Vec<Choice>,
    usage: Option<Usage>,
}

#[derive(Deserialize)]
struct Choice {
    message: Said,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Said {
    content: Option<String>,
}

#[derive(Deserialize)]
struct Usage {
    #[serde(default)]
    prompt_tokens: u64,
    #[serde(default)]
    completion_tokens: u64,
}

/// What the answer says, if it has the form.
pub(crate) fn answer(bytes: &[u8]) -> Option<Read> {
    let answer: Answer = serde_json::from_slice(bytes).ok()?;
    let choice = answer.choices.into_iter().next()?;
    let tokens = answer.usage.map(|usage| (usage.prompt_tokens, usage.completion_tokens));
    let is_cut = choice.finish_reason.as_deref() == Some("length");
    Some(Read { text: choice.message.content, tokens, is_cut })
}
