//! One line of input as a message, as an error to answer, or as nothing.

use std::collections::HashSet;
use std::fmt;

use dormouse_tools::incoming::{self, AT_ONCE};
use dormouse_tools::unread;
use rmcp::model::{ClientJsonRpcMessage, ErrorCode, ErrorData, RequestId, ServerJsonRpcMessage};
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value as Json;

use crate::long;

/// What a line is.
pub(crate) enum Parsed {
    /// A message to serve.
    Message(Box<ClientJsonRpcMessage>),
    /// Something that gets this error at once.
    Refused(Box<ServerJsonRpcMessage>),
    /// Nothing that is answered: an empty line, words that are no JSON, a notification or an answer of unknown form.
    Ignored,
}

/// Reads a line. Nesting is bounded by the JSON reader (128 levels). A line of more than [`AT_ONCE`] bytes takes its time:
/// read it away from the threads that serve everybody.
///
/// A line that is no JSON and does not even begin like a message is not answered: it is what some program says in between. Nor is
/// an error, so that a peer that echoes what it reads is not answered for ever. An error has the request's id where one can be read; else, as the protocol has it, none.
pub(crate) fn parse(line: &[u8]) -> Parsed {
    let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line).trim_ascii();
    match line.first() {
        Some(b'{') => {}
        Some(b'[') => return invalid("a batch: send one message at a time", None),
        Some(_) => return no_object(line),
        None => return Parsed::Ignored,
    }
    if line.len() > AT_ONCE {
        return parse_long(line);
    }
    match serde_json::from_slice(line) {
        Ok(message) => once(message, line),
        Err(_) => match value(line) {
            Ok(value) => classify(&value),
            Err(refused) => refused,
        },
    }
}

/// What does not begin like a message.
fn no_object(line: &[u8]) -> Parsed {
    if std::str::from_utf8(line).is_err() {
        return refused(ErrorCode::PARSE_ERROR, "the line is not UTF-8".into(), None);
    }
    if serde_json::from_slice::<IgnoredAny>(line).is_ok() {
        return invalid("the message is not an object", None);
    }
    tracing::debug!(bytes = line.len(), "a line that is no message was ignored");
    Parsed::Ignored
}

/// Reads a long line once, and what the library reads of it without the arguments of a call.
pub(crate) fn parse_long(line: &[u8]) -> Parsed {
    if let Err(error) = incoming::measured(line) {
        return Parsed::Refused(Box::new(long::unread(line, &error)));
    }
    let mut value = match value(line) {
        Ok(value) => value,
        Err(refused) => return refused,
    };
    let arguments = long::take(&mut value);
    match ClientJsonRpcMessage::deserialize(&value) {
        Ok(mut message) => {
            if let Some(arguments) = arguments {
                long::put(&mut message, arguments);
            }
            once(message, line)
        }
        Err(_) => classify(&value),
    }
}

fn value(line: &[u8]) -> Result<Json, Parsed> {
    serde_json::from_slice(line).map_err(|error| {
        let id = serde_json::from_slice(line).ok().and_then(|WithId { id }| id);
        refused(ErrorCode::PARSE_ERROR, unreadable(line, "line", &error), id)
    })
}

/// Why a text that is named `name` cannot be read, and what to do about it.
pub(crate) fn unreadable(text: &[u8], name: &str, error: &serde_json::Error) -> String {
    let refusal = unread::refusal(name, text, error);
    format!("{}: {}", refusal.message(), refusal.hint().unwrap_or_default())
}

/// What is read of a message whose other members need not be right, as a text with half a surrogate pair is not.
#[derive(serde::Deserialize)]
struct WithId {
    id: Option<RequestId>,
}

/// What is JSON and no message.
fn classify(value: &Json) -> Parsed {
    let has = |name: &str| value.get(name).is_some();
    if has("result") || has("error") || (has("method") && !has("id")) {
        tracing::debug!("an answer or a notification of unknown form was ignored");
        return Parsed::Ignored;
    }
    let id = value.get("id").and_then(|id| serde_json::from_value(id.clone()).ok());
    let sound = value["jsonrpc"] == "2.0" && value["method"].is_string();
    match id {
        Some(id) if sound => refused(ErrorCode::INVALID_PARAMS, misshapen(&value["params"]), Some(id)),
        Some(id) => invalid("the request does not have the form of JSON-RPC 2.0", Some(id)),
        None => invalid("the request needs an `id` that is text or a whole number of 64 bits", None),
    }
}

/// What is wrong with parameters that have not the form of their method's.
pub(crate) fn misshapen(params: &Json) -> String {
    if !params.is_object() {
        return "`params` is not an object".into();
    }
    match params.get("arguments") {
        Some(arguments) if !arguments.is_object() => {
            "`arguments` is not an object: give the tool's arguments by their names, as `{\"code\": \"1 + 1\"}`".into()
        }
        _ => "`params` does not have the form that its method needs".into(),
    }
}

/// The message that was read of `line`, if none of a call's arguments is there twice.
fn once(message: ClientJsonRpcMessage, line: &[u8]) -> Parsed {
    match repeated_argument(line) {
        Some(refusal) => Parsed::Refused(Box::new(refusal)),
        None => Parsed::Message(Box::new(message)),
    }
}

/// The answer to a call that gives an argument twice: a reader of JSON keeps the last one and says nothing.
pub(crate) fn repeated_argument(text: &[u8]) -> Option<ServerJsonRpcMessage> {
    let call: Call = serde_json::from_slice(text).ok()?;
    let name = call.params.arguments.repeated?;
    let shown: String = name.escape_debug().take(64).collect();
    let message = format!("the argument `{shown}` is given twice: give each argument once");
    Some(ServerJsonRpcMessage::error(ErrorData::new(ErrorCode::INVALID_PARAMS, message, None), call.id))
}

/// A call, of which only the names of its arguments are read.
#[derive(Deserialize)]
struct Call {
    id: Option<RequestId>,
    params: Params,
}

#[derive(Deserialize)]
struct Params {
    arguments: Names,
}

/// The names of an object's entries.
#[derive(Default)]
struct Names {
    seen: HashSet<String>,
    /// One that is there twice.
    repeated: Option<String>,
}

impl<'de> Deserialize<'de> for Names {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        reader.deserialize_map(Self::default())
    }
}

impl<'de> Visitor<'de> for Names {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut entries: A) -> Result<Self, A::Error> {
        while let Some((name, _)) = entries.next_entry::<String, IgnoredAny>()? {
            if let Some(name) = self.seen.replace(name) {
                self.repeated = Some(name);
            }
        }
        Ok(self)
    }
}

fn invalid(message: &str, id: Option<RequestId>) -> Parsed {
    refused(ErrorCode::INVALID_REQUEST, message.into(), id)
}

fn refused(code: ErrorCode, message: String, id: Option<RequestId>) -> Parsed {
    Parsed::Refused(Box::new(ServerJsonRpcMessage::error(ErrorData::new(code, message, None), id)))
}

/// The answer to a line that was too long to be read.
pub(crate) fn too_long(most: usize) -> ServerJsonRpcMessage {
    let message = format!("a message is longer than {most} bytes and was dropped");
    ServerJsonRpcMessage::error(ErrorData::new(ErrorCode::INVALID_REQUEST, message, None), None)
}

/// The answer to a request whose id another one has that is still worked on. It has no id: with it, it would be the answer to
/// the other one.
pub(crate) fn repeated(id: &RequestId) -> ServerJsonRpcMessage {
    let shown: String = id.to_string().chars().take(64).collect();
    let message = format!("the id `{shown}` is that of a request in progress; this one was dropped");
    ServerJsonRpcMessage::error(ErrorData::new(ErrorCode::INVALID_REQUEST, message, None), None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fuzz;

    /// The code and the id of the error that a line gets; None when it is ignored.
    fn answer(line: &[u8]) -> Option<(i32, Option<String>)> {
        match parse(line) {
            Parsed::Refused(error) => match *error {
                ServerJsonRpcMessage::Error(error) => {
                    Some((error.error.code.0, error.id.map(|id| id.to_string())))
                }
                _ => panic!("not an error"),
            },
            Parsed::Message(_) => panic!("`{}` is a message", line.escape_ascii()),
            Parsed::Ignored => None,
        }
    }

    #[test]
    fn what_is_no_message_is_answered_as_json_rpc_says_or_ignored() {
        let deep = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"a","params":{}"#, "[".repeat(100_000));
        for (line, expected) in [
            ("", None),
            ("hello", None),
            ("5 6", None),
            ("5", Some((-32_600, None))),
            ("null", Some((-32_600, None))),
            (r#""x""#, Some((-32_600, None))),
            ("{", Some((-32_700, None))),
            (deep.as_str(), Some((-32_700, None))),
            (r#"{"id":1e999}"#, Some((-32_700, None))),
            (
                r#"{"jsonrpc":"2.0","id":7,"method":"a","params":{"b":"\ud83d"}}"#,
                Some((-32_700, Some("7".into()))),
            ),
            ("[]", Some((-32_600, None))),
            (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, Some((-32_600, None))),
            ("{}", Some((-32_600, None))),
            (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, Some((-32_600, None))),
            (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, Some((-32_600, None))),
            (r#"{"jsonrpc":"2.0","id":9223372036854775808,"method":"ping"}"#, Some((-32_600, None))),
            (r#"{"jsonrpc":"2.0","id":[1],"method":"ping"}"#, Some((-32_600, None))),
            (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, Some((-32_600, Some("1".into())))),
            (r#"{"id":"a","method":"ping"}"#, Some((-32_600, Some("a".into())))),
            (r#"{"jsonrpc":"2.0","id":2,"method":5}"#, Some((-32_600, Some("2".into())))),
            (r#"{"jsonrpc":"2.0","id":3,"method":"ping","params":[]}"#, Some((-32_602, Some("3".into())))),
            (
                r#"{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"a","arguments":{"b":1,"b":2}}}"#,
                Some((-32_602, Some("4".into()))),
            ),
            (r#"{"jsonrpc":"2.0","method":5}"#, None),
            (r#"{"jsonrpc":"2.0","error":5}"#, None),
        ] {
            let shown: String = line.chars().take(80).collect();
            assert_eq!(answer(line.as_bytes()), expected, "{shown}");
        }
        for (line, id) in [
            (&b"\xff\xfe5\0"[..], None),
            (b"\"\xff\"", None),
            (b"hello \xff", None),
            (b"{\"id\": 1, \"method\": \"\xff\"}", Some("1".into())),
        ] {
            assert_eq!(answer(line), Some((-32_700, id)), "{}", line.escape_ascii());
        }
    }

    #[test]
    fn a_long_line_is_read_as_a_short_one() {
        for params in [
            r#"{"name":"x","arguments":{"a":1}}"#,
            r#"{"arguments":{"a":1},"name":"x"}"#,
            r#"{"arguments":{"a":1}}"#,
            r#"{"name":5,"arguments":{"a":1},"more":{}}"#,
            r#"{"name":"x","arguments":5}"#,
            r#"{"name":"x"}"#,
            "[]",
        ] {
            for id in [r#""id":1,"#, r#""id":null,"#, ""] {
                let line = format!(r#"{{"jsonrpc":"2.0",{id}"method":"tools/call","params":{params}}}"#);
                let (short, long) = (fuzz::read(line.as_bytes()), fuzz::read_long(line.as_bytes()));
                assert_eq!(long, short, "{line}");
            }
        }
    }

    #[test]
    fn a_mark_at_the_beginning_and_a_carriage_return_at_the_end_do_not_matter() {
        let line = "\u{feff}{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\r";
        assert!(matches!(parse(line.as_bytes()), Parsed::Message(_)));
    }
}
