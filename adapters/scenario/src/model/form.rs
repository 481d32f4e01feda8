//! Requests and answers of `…/chat/completions` with functions. What a model answers is untrusted: whatever it is, it becomes
//! an [`Answer`] of our own making, or none.

use std::sync::Arc;

use dormouse_sources::Tool;
use serde::Deserialize;
use serde_json::{Map, Value as Json, json};

/// Calls of one answer that are looked at.
const MAX_CALLS: usize = 32;
/// Longest name and id that is repeated, in characters.
const MAX_NAME: usize = 128;

/// What a model said.
pub(crate) struct Answer {
    /// Its text, if there is some.
    pub(crate) text: Option<String>,
    /// The tools that it wants to be called, at most 32.
    pub(crate) wanted: Vec<Wanted>,
    /// Tokens of the prompt and of the answer, if the endpoint tells.
    pub(super) tokens: Option<(u64, u64)>,
    /// The same as a message of the conversation.
    pub(super) message: Json,
}

/// A call that a model wants.
pub(crate) struct Wanted {
    /// Its name for the call.
    pub(super) id: String,
    /// The tool's name; the model may have made it up.
    pub(crate) tool: String,
    /// The arguments, or what stands in their place.
    pub(crate) arguments: Result<Map<String, Json>, String>,
}

pub(super) fn system(text: &str) -> Json {
    json!({"role": "system", "content": text})
}

pub(super) fn user(text: &str) -> Json {
    json!({"role": "user", "content": text})
}

pub(super) fn result(id: &str, text: &str) -> Json {
    json!({"role": "tool", "tool_call_id": id, "content": text})
}

/// Whether the interface can carry a tool of that name.
pub(crate) fn can_carry(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    (1..=64).contains(&name.len()) && name.bytes().all(plain)
}

pub(super) fn body(model: &str, messages: &[Json], tools: &[Arc<Tool>], max_tokens: u64) -> Json {
    let functions: Vec<Json> =
        tools.iter().filter(|tool| can_carry(&tool.name)).map(|tool| function(tool)).collect();
    let mut body = json!({"model": model, "messages": messages, "max_tokens": max_tokens, "stream": false});
    if !functions.is_empty() {
        body["tools"] = functions.into();
    }
    body
}

fn function(tool: &Tool) -> Json {
    let Tool { name, listed, .. } = tool;
    let (description, parameters) = (&listed.description, &listed.input_schema);
    json!({"type": "function", "function": {"name": name, "description": description, "parameters": parameters}})
}

#[derive(Deserialize)]
struct Body {
    choices: Vec<Choice>,
    usage: Option<Usage>,
}

#[derive(Deserialize)]
struct Choice {
    message: Said,
}

#[derive(Deserialize)]
struct Said {
    content: Option<String>,
    tool_calls: Option<Vec<Called>>,
}

#[derive(Deserialize)]
struct Called {
    #[serde(default)]
    id: String,
    function: Function,
}

#[derive(Deserialize)]
struct Function {
    name: String,
    /// A text that holds JSON; some endpoints send the JSON itself.
    #[serde(default)]
    arguments: Json,
}

#[derive(Deserialize)]
struct Usage {
    #[serde(default)]
    prompt_tokens: u64,
    #[serde(default)]
    completion_tokens: u64,
}

/// The answer, if it has the form.
pub(super) fn answer(bytes: &[u8]) -> Option<Answer> {
    let body: Body = serde_json::from_slice(bytes).ok()?;
    let Said { content, tool_calls } = body.choices.into_iter().next()?.message;
    let calls = tool_calls.unwrap_or_default().into_iter().take(MAX_CALLS).enumerate();
    let wanted: Vec<Wanted> = calls.map(|(at, call)| want(at, call)).collect();
    let text = content.filter(|text| !text.is_empty());
    let mut message = json!({"role": "assistant", "content": text});
    if !wanted.is_empty() {
        message["tool_calls"] = wanted.iter().map(said).collect();
    }
    let tokens = body.usage.map(|usage| (usage.prompt_tokens, usage.completion_tokens));
    Some(Answer { text, wanted, tokens, message })
}

fn want(at: usize, call: Called) -> Wanted {
    let id = match call.id.is_empty() {
        true => format!("call_{at}"),
        false => call.id.chars().take(MAX_NAME).collect(),
    };
    let arguments = match call.function.arguments {
        Json::Object(map) => Ok(map),
        Json::Null => Ok(Map::new()),
        Json::String(text) if text.trim().is_empty() => Ok(Map::new()),
        Json::String(text) => match serde_json::from_str(&text) {
            Ok(Json::Object(map)) => Ok(map),
            _ => Err(text),
        },
        other => Err(other.to_string()),
    };
    Wanted { id, tool: call.function.name.chars().take(MAX_NAME).collect(), arguments }
}

/// A wanted call as the conversation repeats it: arguments that were no JSON object are empty there, because endpoints
/// refuse others.
fn said(wanted: &Wanted) -> Json {
    let arguments = wanted.arguments.clone().unwrap_or_default();
    let arguments = Json::Object(arguments).to_string();
    json!({"id": wanted.id, "type": "function", "function": {"name": wanted.tool, "arguments": arguments}})
}
