//! The interface `…/chat/completions`: messages, requests and answers, with functions that a model may call or without.
//!
//! What an endpoint answers is untrusted: whatever it is, it becomes an [`Answer`] of our own making, or none.

use serde::Deserialize;
use serde_json::{Map, Value as Json, json};

/// Calls of one answer that are looked at.
const MAX_CALLS: usize = 32;
/// Longest name and id that is repeated, in characters.
const MAX_NAME: usize = 128;
/// Longest name of a function, in bytes.
const MAX_FUNCTION: usize = 64;

/// What the model is told to be.
pub fn system(text: &str) -> Json {
    json!({"role": "system", "content": text})
}

/// What a user says.
pub fn user(text: &str) -> Json {
    json!({"role": "user", "content": text})
}

/// What the model has said, with the calls that it wanted. Arguments that were no JSON object are empty here, because endpoints
/// refuse others.
pub fn assistant(text: Option<&str>, calls: &[ToolCall]) -> Json {
    let mut message = json!({"role": "assistant", "content": text});
    if !calls.is_empty() {
        let call = |call: &ToolCall| {
            let arguments = Json::Object(call.arguments.clone().unwrap_or_default()).to_string();
            json!({"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}})
        };
        message["tool_calls"] = calls.iter().map(call).collect();
    }
    message
}

/// What the call with this id came to.
pub fn tool(id: &str, text: &str) -> Json {
    json!({"role": "tool", "tool_call_id": id, "content": text})
}

/// A function that the model may call.
pub fn function(name: &str, description: &str, parameters: &Json) -> Json {
    json!({"type": "function", "function": {"name": name, "description": description, "parameters": parameters}})
}

/// Whether the interface can carry a function of that name: 1 to 64 letters, digits, `_` and `-`.
pub fn can_carry(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    (1..=MAX_FUNCTION).contains(&name.len()) && name.bytes().all(plain)
}

/// The request's body. `max_tokens` are those that the answer may have.
pub fn body(model: &str, messages: &[Json], functions: Vec<Json>, max_tokens: u64) -> Json {
    let mut body = json!({"model": model, "messages": messages, "max_tokens": max_tokens, "stream": false});
    if !functions.is_empty() {
        body["tools"] = functions.into();
    }
    body
}

/// What a model said.
pub struct Answer {
    /// Its text; none when the model wrote none.
    pub text: Option<String>,
    /// Tokens of the prompt and of the answer, if the endpoint tells.
    pub tokens: Option<(u64, u64)>,
    /// Whether it ended because it had used up its tokens.
    pub is_cut: bool,
    calls: Json,
}

/// A call that a model wants.
#[derive(Debug, PartialEq)]
pub struct ToolCall {
    /// The model's name for the call, at most 128 characters.
    pub id: String,
    /// The function's name, at most 128 characters; the model may have made it up.
    pub name: String,
    /// The arguments, or what stands in their place.
    pub arguments: Result<Map<String, Json>, String>,
}

#[derive(Deserialize)]
struct Body {
    choices: Vec<Choice>,
    usage: Option<Usage>,
}

#[derive(Deserialize)]
struct Choice {
    message: Said,
    #[serde(default)]
    finish_reason: Json,
}

#[derive(Deserialize)]
struct Said {
    content: Option<String>,
    /// Read when it is asked for: who offered no function does not look at it.
    #[serde(default)]
    tool_calls: Json,
}

#[derive(Deserialize)]
struct Usage {
    #[serde(default)]
    prompt_tokens: u64,
    #[serde(default)]
    completion_tokens: u64,
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

/// What the answer says, if it has the form.
pub fn answer(bytes: &[u8]) -> Option<Answer> {
    let body: Body = serde_json::from_slice(bytes).ok()?;
    let Choice { message, finish_reason } = body.choices.into_iter().next()?;
    let tokens = body.usage.map(|usage| (usage.prompt_tokens, usage.completion_tokens));
    let is_cut = finish_reason == "length";
    Some(Answer { text: message.content, tokens, is_cut, calls: message.tool_calls })
}

impl Answer {
    /// The functions that the model wants to be called, at most 32. None when they have not the form.
    pub fn calls(&mut self) -> Option<Vec<ToolCall>> {
        let calls: Option<Vec<Called>> = serde_json::from_value(self.calls.take()).ok()?;
        let calls = calls.unwrap_or_default().into_iter().take(MAX_CALLS).enumerate();
        Some(calls.map(|(at, call)| ToolCall::new(at, call)).collect())
    }
}

impl ToolCall {
    fn new(at: usize, call: Called) -> Self {
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
        Self { id, name: call.function.name.chars().take(MAX_NAME).collect(), arguments }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(message: &Json) -> Option<Answer> {
        answer(json!({"choices": [{"message": message}]}).to_string().as_bytes())
    }

    #[test]
    fn an_answer_is_read_with_its_calls_and_repeated_as_endpoints_take_it() {
        let mut answer = answer(
            json!({
                "choices": [{"finish_reason": "length", "message": {"content": "x", "tool_calls": [
                    {"id": "a", "function": {"name": "f", "arguments": "{\"n\": 1}"}},
                    {"function": {"name": "g", "arguments": {"n": 2}}},
                    {"id": "c", "function": {"name": "h"}},
                    {"id": "d", "function": {"name": "i", "arguments": "no JSON"}},
                    {"id": "e", "function": {"name": "j", "arguments": [1]}},
                ]}}],
                "usage": {"prompt_tokens": 3},
            })
            .to_string()
            .as_bytes(),
        )
        .unwrap();
        assert_eq!((answer.text.as_deref(), answer.tokens, answer.is_cut), (Some("x"), Some((3, 0)), true));
        let calls = answer.calls().unwrap();
        let map = |value: Json| value.as_object().cloned().unwrap();
        let read: Vec<_> = calls.iter().map(|call| (call.id.as_str(), call.arguments.clone())).collect();
        assert_eq!(
            read,
            [
                ("a", Ok(map(json!({"n": 1})))),
                ("call_1", Ok(map(json!({"n": 2})))),
                ("c", Ok(Map::new())),
                ("d", Err("no JSON".into())),
                ("e", Err("[1]".into())),
            ]
        );
        let message = assistant(None, &calls[2..4]);
        let call = |id: &str, name: &str| json!({"id": id, "type": "function", "function": {"name": name, "arguments": "{}"}});
        let calls = [call("c", "h"), call("d", "i")];
        assert_eq!(message, json!({"role": "assistant", "content": null, "tool_calls": calls}));
    }

    #[test]
    fn what_is_not_asked_for_may_have_any_form() {
        let mut odd = said(&json!({"content": "x", "tool_calls": "no list"})).unwrap();
        assert_eq!(odd.text.as_deref(), Some("x"));
        assert_eq!(odd.calls(), None);
        assert_eq!(said(&json!({"content": null, "tool_calls": null})).unwrap().calls(), Some(Vec::new()));
        assert!(said(&json!({"content": [1]})).is_none());
        assert!(answer(b"{\"choices\": []}").is_none());
        let many = vec![json!({"function": {"name": "x".repeat(200)}}); 40];
        let calls = said(&json!({"tool_calls": many})).unwrap().calls().unwrap();
        assert_eq!((calls.len(), calls[0].name.len()), (32, 128));
    }

    #[test]
    fn names_of_functions_are_plain() {
        assert!(can_carry("sandbox_exec-2") && can_carry(&"x".repeat(64)));
        assert!(!can_carry("") && !can_carry("a b") && !can_carry("ä") && !can_carry(&"x".repeat(65)));
    }
}
