//! The interface `…/v1/messages`.

use dormouse_core::model::{Prompt, Role};
use serde::Deserialize;
use serde_json::{Value as Json, json};

use crate::answer::Answer as Read;

/// The version of the interface that is spoken, a header.
pub(crate) const VERSION: (&str, &str) = ("anthropic-version", "2023-06-01");

/// The request's body.
pub(crate) fn body(model: &str, prompt: &Prompt) -> Json {
    let messages = prompt.messages.iter().map(|message| {
        let role = match message.role {
            Role::User => "user",
            Role::Assistant => "assistant",
        };
        json!({"role": role, "content": message.text})
    });
    let messages: Vec<Json> = messages.collect();
    let mut body = json!({"model": model, "max_tokens": prompt.max_tokens, "messages": messages});
    if let Some(system) = &prompt.system {
        body["system"] = system.as_str().into();
    }
    body
}

#[derive(Deserialize)]
struct Answer {
    content: Vec<Block>,
    stop_reason: Option<String>,
    usage: Option<Usage>,
}

#[derive(Deserialize)]
struct Block {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    text: String,
}

#[derive(Deserialize)]
struct Usage {
    #[serde(default)]
    input_tokens: u64,
    #[serde(default)]
    output_tokens: u64,
}

/// What the answer says, if it has the form.
pub(crate) fn answer(bytes: &[u8]) -> Option<Read> {
    let answer: Answer = serde_json::from_slice(bytes).ok()?;
    let mut texts = answer.content.iter().filter(|block| block.kind == "text").peekable();
    let text = texts.peek().is_some().then(|| texts.map(|block| block.text.as_str()).collect());
    let tokens = answer.usage.map(|usage| (usage.input_tokens, usage.output_tokens));
    Some(Read { text, tokens, is_cut: answer.stop_reason.as_deref() == Some("max_tokens") })
}
