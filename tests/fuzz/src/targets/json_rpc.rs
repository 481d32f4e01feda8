//! Lines of JSON-RPC, from clients and from other MCP servers; and the events in which servers send them.

use dormouse_mcp::fuzz::{Read, lines, read, read_long};
use dormouse_sources::fuzz::{events, messages};
use dormouse_tools::incoming;
use serde_json::Value as Json;

use crate::Target;

/// Longest line, in bytes.
const LONGEST: usize = 32 << 10;

pub(crate) const TARGET: Target = Target {
    words: &[
        "\"jsonrpc\":\"2.0\"",
        "\"id\":1",
        "\"id\":null",
        "\"method\":",
        "\"params\":{}",
        "\"result\":",
        "\"error\":{\"code\":-32600,\"message\":\"m\"}",
        "\"tools/call\"",
        "\"arguments\":{",
        "\"_meta\":{\"progressToken\":",
        "notifications/cancelled",
        "\\ud800",
        "\u{feff}",
        "data: ",
        "event: ",
        "\r\n",
        "\n\n",
        "[[[[[[[[",
    ],
    ..Target::new(
        "json_rpc",
        "lines of JSON-RPC (adapters/mcp), messages and events of servers (adapters/sources)",
        run,
    )
};

fn run(input: &[u8]) {
    for line in lines(input, LONGEST).into_iter().flatten() {
        assert!(line.len() <= LONGEST && !line.contains(&b'\n'));
        one(&line);
    }
    let whole = events(&[input]);
    let cut = input.len() / 3;
    assert_eq!(
        events(&[&input[..cut], &input[cut..]]),
        whole,
        "events are the same however the stream is cut"
    );
    assert_eq!(events(&input.chunks(1).collect::<Vec<_>>()), whole);
    for (_, data) in whole.0 {
        let _read = messages(&data);
    }
    let _read = messages(input);
}

fn one(line: &[u8]) {
    let text = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line).trim_ascii();
    let json: Option<Json> = serde_json::from_slice(text).ok();
    if let Some(json) = &json {
        let (counted, really) = (incoming::values(text), values(json));
        assert!(counted >= really, "{counted} values were counted, there are {really}");
    }
    let found = read(line);
    let is_plain = json.as_ref().is_some_and(|json| !has_doubles(text, json));
    match &found {
        Read::Message(message) if is_plain => {
            let again = read(message.to_string().as_bytes());
            assert_eq!(again, found, "a message that is written down is the same");
        }
        Read::Refused(error) => {
            let code = error["error"]["code"].as_i64();
            assert!(matches!(code, Some(-32_700 | -32_600 | -32_602)), "{error}");
            let id = error.get("id").filter(|id| !id.is_null());
            let asked = json.as_ref().and_then(|json| json.get("id"));
            // What cannot be read as a whole may have an id that can.
            assert!(
                id.is_none() || json.is_none() || is_same(id, asked),
                "an error has the id of its request, or none: {error}"
            );
        }
        Read::Message(_) | Read::Ignored => {}
    }
    if text.first() == Some(&b'{') && is_plain {
        assert_eq!(read_long(text), found, "a long line is read as a short one is");
    }
}

/// Whether two ids are the same; `-0` and `0` are.
fn is_same(one: Option<&Json>, other: Option<&Json>) -> bool {
    let number = |id: Option<&Json>| id.and_then(Json::as_f64);
    one == other || (number(one).is_some() && number(one) == number(other))
}

/// All values at and below this one.
fn values(json: &Json) -> usize {
    1 + match json {
        Json::Array(items) => items.iter().map(values).sum(),
        Json::Object(fields) => fields.values().map(values).sum(),
        _ => 0,
    }
}

/// Whether a field stands twice: the library's forms refuse it, and a value keeps the last one.
fn has_doubles(text: &[u8], json: &Json) -> bool {
    fn names(json: &Json) -> usize {
        match json {
            Json::Array(items) => items.iter().map(names).sum(),
            Json::Object(fields) => fields.len() + fields.values().map(names).sum::<usize>(),
            _ => 0,
        }
    }
    // Each name has one colon outside of texts.
    let (mut colons, mut quoted, mut escaped) = (0, false, false);
    for byte in text {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b':' if !quoted => colons += 1,
            _ => {}
        }
    }
    colons != names(json)
}
