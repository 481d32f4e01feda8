//! The interface `…/v1/messages`.

use dormouse_core::model::{Completion, Prompt, Role};
use serde::Deserialize;
use serde_json::{Value as Json, json};

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

/// The answer's text and tokens, if it has the form.
pub(crate) fn completion(bytes: &[u8]) -> Option<Completion> {
    let answer: Answer = serde_json::from_slice(bytes).ok()?;
    let text = answer.content.iter().filter(|block| block.kind == "text").map(|block| block.text.as_str());
    let tokens = answer.usage.map(|usage| (usage.input_tokens, usage.output_tokens));
    Some(Completion { text: text.collect(), tokens })
}
