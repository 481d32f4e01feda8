//! A typed value as a REPL would show it: JSON where it can be written so, else in Python's notation (S3-08).

use std::fmt::Write as _;

use data_encoding::BASE64;
use dormouse_core::{Outcome, Status};
use serde_json::{Map, Value as Json, json};

/// Classes whose objects are used up by being shown, besides those that are called iterators.
const USED_UP: [&str; 6] = ["generator", "map", "filter", "zip", "enumerate", "reversed"];

/// The text for a typed value.
pub(crate) fn plain(typed: &Json) -> String {
    let mut text = String::new();
    if !json(typed, &mut text) {
        text.clear();
        notation(typed, &mut text);
    }
    if typed["truncated"] == true {
        text.push_str("\n(truncated)");
    }
    if let Some(taken) = taken(typed) {
        let _ = write!(text, "\n(showing it has taken {taken} items out of the iterator)");
    }
    text
}

/// How many items were taken out of an iterator to show it.
fn taken(typed: &Json) -> Option<usize> {
    let class = typed["class"].as_str()?;
    let used_up = USED_UP.contains(&class) || class.ends_with("iterator") || class.starts_with("itertools.");
    let taken = typed["preview"].as_array()?.len();
    (used_up && taken > 0).then_some(taken)
}

/// Writes JSON; false where it cannot say what the value is.
fn json(typed: &Json, text: &mut String) -> bool {
    let value = &typed["value"];
    match (typed["type"].as_str().unwrap_or_default(), value) {
        ("null", _) => text.push_str("null"),
        ("int", Json::String(digits)) => text.push_str(digits),
        ("float", Json::String(name)) if name == "-0" => text.push_str("-0.0"),
        ("float", Json::String(_)) => return false,
        ("bool" | "int" | "float" | "string", _) => {
            let _ = write!(text, "{value}");
        }
        ("array", Json::Array(items)) => {
            return within(text, ["[", "]"], items, json);
        }
        ("array", Json::Object(items)) => {
            return within(text, ["{", "}"], items, |(key, item), text| {
                let _ = write!(text, "{}:", Json::from(key.as_str()));
                json(item, text)
            });
        }
        _ => return false,
    }
    true
}

/// Writes items between brackets, with commas; false where one of them could not be written.
fn within<T>(
    text: &mut String,
    [open, close]: [&str; 2],
    items: impl IntoIterator<Item = T>,
    mut write: impl FnMut(T, &mut String) -> bool,
) -> bool {
    text.push_str(open);
    for (index, item) in items.into_iter().enumerate() {
        if index > 0 {
            text.push(',');
        }
        if !write(item, text) {
            return false;
        }
    }
    text.push_str(close);
    true
}

/// Writes what Python's own `repr` would say, as far as the value is known.
fn notation(typed: &Json, text: &mut String) {
    let class = typed["class"].as_str().unwrap_or_default();
    let cut = if typed["truncated"] == true || typed["exhausted"] == false { ", ..." } else { "" };
    match typed["type"].as_str().unwrap_or_default() {
        "null" => text.push_str("None"),
        "bool" => text.push_str(if typed["value"] == true { "True" } else { "False" }),
        "float" => text.push_str(match typed["value"].as_str() {
            Some("NaN") => "nan",
            Some("Infinity") => "inf",
            Some("-Infinity") => "-inf",
            _ => {
                json(typed, text);
                return;
            }
        }),
        "string" => literal("", typed["value"].as_str().unwrap_or_default().chars(), text),
        "bytes" => {
            let bytes = BASE64.decode(typed["value"].as_str().unwrap_or_default().as_bytes());
            let wrapped = !class.is_empty();
            if wrapped {
                let _ = write!(text, "{class}(");
            }
            literal("b", bytes.unwrap_or_default().into_iter().map(Byte), text);
            text.push_str(if wrapped { ")" } else { "" });
        }
        "array" => array(typed, (class, cut), text),
        "iterable" => {
            let items = typed["preview"].as_array().map(Vec::as_slice).unwrap_or_default();
            let brackets = match (class, items.is_empty() && cut.is_empty()) {
                ("set", false) => ["{", "}"].map(str::to_owned),
                ("set", true) => return text.push_str("set()"),
                ("frozenset", false) => ["frozenset({".into(), "})".into()],
                (class, _) if taken(typed).is_some() => [format!("<{class}: "), ">".into()],
                (class, _) => [format!("{class}(["), "])".into()],
            };
            listed(text, [&brackets[0], cut, &brackets[1]], items, notation);
        }
        "object" => match typed["repr"].as_str() {
            Some(own) => text.push_str(own),
            None => object(class, typed["properties"].as_object(), text),
        },
        "reference" => text.push_str("..."),
        "unknown" => {
            let _ = write!(text, "<{class}: {}>", typed["reason"].as_str().unwrap_or_default());
        }
        _ => {
            json(typed, text);
        }
    }
}

fn array(typed: &Json, (class, cut): (&str, &str), text: &mut String) {
    let entry = |text: &mut String, key: &dyn Fn(&mut String), item: &Json| {
        key(text);
        text.push_str(": ");
        notation(item, text);
    };
    match (&typed["value"], &typed["entries"]) {
        (Json::Array(items), _) => {
            let one = class == "tuple" && items.len() == 1 && cut.is_empty();
            let brackets = match (class, one) {
                ("tuple", true) => ["(", ",", ")"],
                ("tuple", false) => ["(", cut, ")"],
                _ => ["[", cut, "]"],
            };
            listed(text, brackets, items, notation);
        }
        (Json::Object(items), _) => listed(text, ["{", cut, "}"], items, |(key, item), text| {
            entry(text, &|text| literal("", key.chars(), text), item);
        }),
        (_, Json::Array(pairs)) => listed(text, ["{", cut, "}"], pairs, |pair, text| {
            entry(text, &|text| notation(&pair[0], text), &pair[1]);
        }),
        _ => text.push_str(if typed["is_list"] == true { "[...]" } else { "{...}" }),
    }
}

fn object(class: &str, properties: Option<&Map<String, Json>>, text: &mut String) {
    let _ = write!(text, "<{class} object");
    for (index, (name, value)) in properties.into_iter().flatten().enumerate() {
        let _ = write!(text, "{} {name}=", if index > 0 { "," } else { ":" });
        notation(value, text);
    }
    text.push('>');
}

/// Writes items between brackets as Python does, and what stands in for those that are left out.
fn listed<T>(
    text: &mut String,
    [open, cut, close]: [&str; 3],
    items: impl IntoIterator<Item = T>,
    write: impl Fn(T, &mut String),
) {
    text.push_str(open);
    for (index, item) in items.into_iter().enumerate() {
        if index > 0 {
            text.push_str(", ");
        }
        write(item, text);
    }
    text.push_str(cut);
    text.push_str(close);
}

/// A byte as a part of a literal.
struct Byte(u8);

/// A part of a literal: a character that can be shown, or how it is escaped.
trait Part {
    fn put(self, quote: char, text: &mut String);
}

impl Part for char {
    fn put(self, quote: char, text: &mut String) {
        match self {
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\t' => text.push_str("\\t"),
            '\\' => text.push_str("\\\\"),
            _ if self == quote => text.extend(['\\', quote]),
            _ if self.is_control() => {
                let _ = write!(text, "\\x{:02x}", u32::from(self));
            }
            _ => text.push(self),
        }
    }
}

impl Part for Byte {
    fn put(self, quote: char, text: &mut String) {
        if self.0.is_ascii() {
            char::from(self.0).put(quote, text);
        } else {
            let _ = write!(text, "\\x{:02x}", self.0);
        }
    }
}

fn literal<P: Part>(prefix: &str, parts: impl Iterator<Item = P>, text: &mut String) {
    text.push_str(prefix);
    text.push('\'');
    parts.for_each(|part| part.put('\'', text));
    text.push('\'');
}

/// What a run printed, then its value or its traceback. Empty when there is nothing.
pub(crate) fn told(outcome: &Outcome) -> String {
    let mut text = outcome.stdout.text.clone();
    let mut part = |more: &str| {
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(more);
    };
    if !outcome.stderr.text.is_empty() {
        part(&outcome.stderr.text);
    }
    match &outcome.status {
        Status::Raised(exception) => {
            let short = || format!("{}: {}", exception.class, exception.message);
            part(&exception.traceback.clone().unwrap_or_else(short));
        }
        Status::Exited(status) => part(&format!("(exited with status {status})")),
        Status::Returned(value) if value.type_name() != "null" => part(&plain(&json!(value))),
        _ => {}
    }
    let dropped = outcome.stdout.dropped_bytes + outcome.stderr.dropped_bytes;
    if dropped > 0 {
        part(&format!("({dropped} bytes of output were left out)"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn int(value: i64) -> Json {
        json!({"type": "int", "value": value})
    }

    #[test]
    fn what_is_json_is_shown_as_json() {
        for (typed, text) in [
            (json!({"type": "null", "value": null}), "null"),
            (int(3), "3"),
            (
                json!({"type": "int", "value": "1267650600228229401496703205376"}),
                "1267650600228229401496703205376",
            ),
            (json!({"type": "float", "value": 1.5}), "1.5"),
            (json!({"type": "string", "value": "a\nb"}), r#""a\nb""#),
            (json!({"type": "array", "is_list": true, "count": 2, "value": [int(1), int(2)]}), "[1,2]"),
            (json!({"type": "array", "is_list": false, "count": 1, "value": {"a": int(1)}}), r#"{"a":1}"#),
            (
                json!({"type": "array", "is_list": true, "count": 9, "value": [int(1)], "truncated": true}),
                "[1]\n(truncated)",
            ),
        ] {
            assert_eq!(plain(&typed), text);
        }
    }

    #[test]
    fn the_rest_is_shown_as_python_writes_it() {
        let list = |class: &str, items: Json| json!({"type": "array", "class": class, "is_list": true, "count": 1, "value": items});
        let iterable = |class: &str, items: Json| json!({"type": "iterable", "class": class, "preview": items, "exhausted": true});
        let nan = json!({"type": "float", "value": "NaN"});
        let bytes = json!({"type": "bytes", "value": "YSdiAP8K", "length": 6});
        for (typed, text) in [
            (nan.clone(), "nan"),
            (bytes.clone(), r"b'a\'b\x00\xff\n'"),
            (json!({"type": "bytes", "class": "bytearray", "value": "YQ==", "length": 1}), "bytearray(b'a')"),
            (json!({"type": "array", "is_list": true, "count": 1, "value": [nan]}), "[nan]"),
            (list("tuple", json!([bytes])), r"(b'a\'b\x00\xff\n',)"),
            (
                json!({"type": "array", "is_list": false, "count": 2, "entries": [
                    [int(1), {"type": "string", "value": "it's"}],
                    [{"type": "null", "value": null}, {"type": "bool", "value": true}],
                ]}),
                r"{1: 'it\'s', None: True}",
            ),
            (iterable("set", json!([int(1), int(2)])), "{1, 2}"),
            (iterable("set", json!([])), "set()"),
            (iterable("frozenset", json!([int(1)])), "frozenset({1})"),
            (iterable("dict_keys", json!([int(1)])), "dict_keys([1])"),
            (
                json!({"type": "iterable", "class": "set", "preview": [int(1)], "exhausted": false, "size_hint": 9}),
                "{1, ...}",
            ),
            (
                iterable("generator", json!([int(1)])),
                "<generator: 1>\n(showing it has taken 1 items out of the iterator)",
            ),
            (json!({"type": "object", "class": "C", "id": 1, "repr": "<C>"}), "<C>"),
            (
                json!({"type": "object", "class": "C", "id": 1, "properties": {"a": int(1), "b": int(2)}}),
                "<C object: a=1, b=2>",
            ),
            (
                json!({"type": "array", "is_list": true, "count": 1, "value": [{"type": "reference", "class": "list", "id": 1}]}),
                "[...]",
            ),
            (json!({"type": "unknown", "class": "C", "reason": "value too large"}), "<C: value too large>"),
        ] {
            assert_eq!(plain(&typed), text);
        }
    }
}
