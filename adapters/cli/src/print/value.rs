//! A typed value as people read it: JSON notation, with names and marks for what JSON cannot say.

use dormouse::Value;
use dormouse::value::{Items, Numeral};

use super::escape::{line, quoted};
use super::layout::{Item, Node};
use super::paint::{DIM, NUMBER, PLAIN, TEXT, WORD};

/// The value as a tree to be laid out. `offset` is how many items of the outermost container were skipped.
pub(crate) fn tree(value: &Value, offset: u64) -> Node {
    match value {
        Value::Null { undefined, .. } => word(if *undefined { "undefined" } else { "null" }),
        Value::Bool { value } => word(if *value { "true" } else { "false" }),
        Value::Int { value, truncated, .. } => number(value, *truncated),
        Value::Float { value } => number(value, false),
        Value::String { value, truncated, .. } => Node::leaf(TEXT, cut(quoted(value), *truncated)),
        Value::Bytes { value, truncated, .. } => {
            Node::leaf(TEXT, cut(format!("base64:{}", line(value)), *truncated))
        }
        Value::Array { class, is_list, count, value, entries, .. } => {
            let items = items(value.as_ref(), entries.as_deref());
            let brackets = if *is_list { ("[", "]") } else { ("{", "}") };
            group(class.as_deref(), brackets, items, Some(*count), true, offset)
        }
        Value::Iterable { class, preview, exhausted, size_hint, .. } => {
            let items = preview.as_ref().map(|items| list(items));
            group(Some(class), ("[", "]"), items, *size_hint, *exhausted, offset)
        }
        Value::Object { class, properties, repr, truncated, .. } => match (repr, properties) {
            (Some(repr), _) => Node::leaf(PLAIN, line(repr)),
            (None, Some(properties)) => {
                let items = properties.iter().map(|(key, value)| property(&line(key), value)).collect();
                let mut node = group(Some(class), ("{", "}"), Some(items), None, !*truncated, 0);
                node.spaced();
                node
            }
            (None, None) => Node::leaf(
                PLAIN,
                if *truncated { format!("{} {{…}}", line(class)) } else { format!("<{}>", line(class)) },
            ),
        },
        Value::Reference { class, id } => Node::leaf(DIM, format!("<cycle to {} #{id}>", line(class))),
        Value::Resource { class, id } => Node::leaf(PLAIN, format!("<{} #{id}>", line(class))),
        Value::Unknown { class, reason } => Node::leaf(DIM, format!("<{}: {}>", line(class), line(reason))),
    }
}

/// A word of a language, such as its null.
pub(crate) fn word(word: &str) -> Node {
    Node::leaf(WORD, word)
}

/// The type in words, with what was cut.
pub(crate) fn summary(value: &Value) -> String {
    match value {
        Value::String { value, truncated: true, length: Some(length) } => {
            format!("string, {} of {length} bytes", value.len())
        }
        Value::Bytes { length, truncated, .. } => {
            format!(
                "{length} {}{}",
                if *length == 1 { "byte" } else { "bytes" },
                if *truncated { ", cut" } else { "" }
            )
        }
        Value::Array { class, is_list, count, .. } => {
            let usual = if *is_list { "list" } else { "map" };
            format!("{} of {count}", line(class.as_deref().unwrap_or(usual)))
        }
        Value::Iterable { class, size_hint: Some(count), .. } => format!("{} of {count}", line(class)),
        Value::Iterable { class, .. } | Value::Object { class, .. } => line(class),
        other => other.type_name().into(),
    }
}

fn number(value: &Numeral, truncated: bool) -> Node {
    Node::leaf(NUMBER, cut(line(&value.to_string()), truncated))
}

fn cut(mut text: String, truncated: bool) -> String {
    if truncated {
        text.push('…');
    }
    text
}

fn list(values: &[Value]) -> Vec<Item> {
    values.iter().map(|value| Item { key: None, value: tree(value, 0) }).collect()
}

fn items(value: Option<&Items>, entries: Option<&[(Value, Value)]>) -> Option<Vec<Item>> {
    if let Some(entries) = entries {
        let pair = |(key, value): &(Value, Value)| Item { key: Some(tree(key, 0)), value: tree(value, 0) };
        return Some(entries.iter().map(pair).collect());
    }
    Some(match value? {
        Items::List(values) => list(values),
        Items::Dictionary(map) => map.iter().map(|(key, value)| property(&quoted(key), value)).collect(),
    })
}

/// A named value.
fn property(name: &str, value: &Value) -> Item {
    Item { key: Some(Node::leaf(PLAIN, name)), value: tree(value, 0) }
}

/// A container, with what stands before and after the items that are shown. Without items it was too deep.
fn group(
    class: Option<&str>,
    (open, close): (&'static str, &'static str),
    items: Option<Vec<Item>>,
    count: Option<u64>,
    whole: bool,
    offset: u64,
) -> Node {
    let head = class.map(|class| format!("{} ", line(class))).unwrap_or_default();
    let opened = items.is_some();
    let items = items.unwrap_or_default();
    let seen = offset + items.len() as u64;
    let more = match count {
        Some(count) if count > seen => Some(format!("… {} more", count - seen)),
        None if !whole || !opened => Some("…".into()),
        _ => None,
    };
    let before = (offset > 0 && opened).then(|| format!("… {offset} before"));
    Node::Group { head, open, close, before, items, more, spaced: false }
}

#[cfg(test)]
mod tests {
    use dormouse::Bounds;

    use super::super::paint::Paint;
    use super::*;

    fn shown(json: &str, offset: u64) -> String {
        tree(&Value::from_guest(json, &Bounds::MAX).unwrap(), offset).inline(Paint::default())
    }

    #[test]
    fn every_form_of_value_has_one_line() {
        for (json, line) in [
            (r#"{"type":"null","value":null}"#, "null"),
            (r#"{"type":"null","value":null,"undefined":true}"#, "undefined"),
            (r#"{"type":"int","value":"123456789012345678901"}"#, "123456789012345678901"),
            (r#"{"type":"float","value":1.0}"#, "1.0"),
            (r#"{"type":"float","value":"-Infinity"}"#, "-Infinity"),
            (r#"{"type":"string","value":"a\u001b","truncated":true,"length":9}"#, r#""a\u001b"…"#),
            (r#"{"type":"bytes","value":"AAE=","length":2}"#, "base64:AAE="),
            (r#"{"type":"array","is_list":true,"count":0,"value":[]}"#, "[]"),
            (
                r#"{"type":"array","is_list":true,"count":3,"value":[{"type":"int","value":1}]}"#,
                "[1, … 2 more]",
            ),
            (
                r#"{"type":"array","class":"tuple","is_list":true,"count":9,"truncated":true}"#,
                "tuple [… 9 more]",
            ),
            (
                r#"{"type":"array","is_list":false,"count":1,"value":{"b":{"type":"bool","value":true}}}"#,
                r#"{"b": true}"#,
            ),
            (
                r#"{"type":"array","is_list":false,"count":1,"entries":[[{"type":"int","value":1},{"type":"null","value":null}]]}"#,
                "{1: null}",
            ),
            (r#"{"type":"iterable","class":"generator","preview":[],"exhausted":false}"#, "generator […]"),
            (
                r#"{"type":"object","class":"P","id":1,"properties":{"x":{"type":"int","value":1}}}"#,
                "P { x: 1 }",
            ),
            (r#"{"type":"object","class":"P","id":1,"repr":"P(\u001b)"}"#, "P(␛)"),
            (r#"{"type":"object","class":"P","id":1,"truncated":true}"#, "P {…}"),
            (r#"{"type":"reference","class":"P","id":1}"#, "<cycle to P #1>"),
            (r#"{"type":"unknown","class":"P","reason":"no"}"#, "<P: no>"),
        ] {
            assert_eq!(shown(json, 0), line, "{json}");
        }
    }

    #[test]
    fn skipped_items_are_counted() {
        let json = r#"{"type":"array","is_list":true,"count":9,"truncated":true,"value":[{"type":"int","value":4}]}"#;
        assert_eq!(shown(json, 4), "[… 4 before, 4, … 4 more]");
    }
}
