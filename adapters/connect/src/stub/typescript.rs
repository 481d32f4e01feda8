//! Declarations in TypeScript, for JavaScript as well.

use serde_json::Value as Json;

use super::{Field, Shape, Told};
use crate::text;

/// The call in one line.
pub(super) fn signature(told: &Told<'_>) -> String {
    format!("tools.{}.{}({}): Promise<{}>", told.server, told.name, arguments(told), answer(told))
}

/// A member of the server's interface, with its comment.
pub(super) fn stub(told: &Told<'_>) -> String {
    let mut doc = told.text();
    for (field, text) in told.described() {
        doc = format!("{doc}\n@param {} {text}", text::line(&field.name, 64));
    }
    format!("{}  {}({}): Promise<{}>;\n", super::comment(&doc, "  "), told.name, given(told), answer(told))
}

fn arguments(told: &Told<'_>) -> String {
    if told.fields.is_empty() { String::new() } else { object(&told.fields) }
}

/// The one parameter.
fn given(told: &Told<'_>) -> String {
    match told.fields.iter().any(|field| field.required) {
        _ if told.fields.is_empty() => String::new(),
        true => format!("args: {}", object(&told.fields)),
        false => format!("args?: {}", object(&told.fields)),
    }
}

fn answer(told: &Told<'_>) -> String {
    told.answer.as_ref().map_or_else(|| "any".into(), typed)
}

fn typed(shape: &Shape) -> String {
    match shape {
        Shape::Any => "any".into(),
        Shape::Null => "null".into(),
        Shape::Boolean => "boolean".into(),
        Shape::Integer | Shape::Number => "number".into(),
        Shape::Text => "string".into(),
        Shape::Literals(all) => all.iter().map(literal).collect::<Vec<_>>().join(" | "),
        Shape::List(items) => match items.as_ref() {
            Shape::Union(_) | Shape::Literals(_) => format!("({})[]", typed(items)),
            items => format!("{}[]", typed(items)),
        },
        Shape::Map(values) => format!("Record<string, {}>", typed(values)),
        Shape::Object(fields) => object(fields),
        Shape::Union(members) => {
            let members = members.iter().map(typed).collect::<Vec<_>>();
            members.join(" | ")
        }
    }
}

fn object(fields: &[Field]) -> String {
    let members = fields.iter().map(|field| {
        let default = field.default.as_ref().filter(|_| !field.required);
        let default =
            default.map(|default| format!(" /* = {} */", super::uncommented(&default_text(default))));
        let mark = if field.required { "" } else { "?" };
        format!("{}{mark}: {}{}", key(&field.name), typed(&field.shape), default.unwrap_or_default())
    });
    match fields.is_empty() {
        true => "{}".into(),
        false => format!("{{ {} }}", members.collect::<Vec<_>>().join("; ")),
    }
}

fn default_text(value: &Json) -> String {
    match value {
        Json::String(text) => super::escaped(text),
        other => text::line(&other.to_string(), 128),
    }
}

fn literal(value: &Json) -> String {
    match value {
        Json::String(text) => super::escaped(text),
        other => other.to_string(),
    }
}

fn key(name: &str) -> String {
    let mut characters = name.chars();
    let begins = characters.next().is_some_and(|c| c.is_ascii_alphabetic() || matches!(c, '_' | '$'));
    match begins && characters.all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '$')) {
        true => name.to_owned(),
        false => super::escaped(name),
    }
}
