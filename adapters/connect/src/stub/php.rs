//! Functions with PHPDoc.

use serde_json::Value as Json;

use super::{Field, Shape, Told};
use crate::text;

/// The call in one line.
pub(super) fn signature(told: &Told<'_>) -> String {
    let named = told.fields.iter().filter(|field| is_parameter(&field.name));
    let arguments: Vec<String> = named
        .map(|field| {
            let default = match (&field.default, field.required) {
                (_, true) => String::new(),
                (Some(default), false) => format!(" = {}", literal(default)),
                (None, false) => " = ?".into(),
            };
            format!("{}: {}{default}", field.name, documented(&field.shape))
        })
        .collect();
    format!("tools()->{}->{}({}): {}", told.server, told.name, arguments.join(", "), answer(told))
}

/// A function with its comment.
pub(super) fn stub(told: &Told<'_>, indent: &str) -> String {
    let mut doc = told.text();
    doc.push('\n');
    for field in &told.fields {
        let text = text::line(&field.description, super::MAX_ARGUMENT);
        let (name, shape) = (text::line(&field.name, 64), documented(&field.shape));
        doc = match is_parameter(&field.name) {
            true => format!("{doc}\n@param {shape} ${name} {text}"),
            false => format!(
                "{doc}\nTakes `{name}` ({shape}) as `...[{} => $value]`. {text}",
                literal(&Json::from(name.as_str()))
            ),
        };
    }
    doc = format!("{doc}\n@return {}", answer(told));
    let named = told.fields.iter().filter(|field| is_parameter(&field.name));
    let parameters: Vec<String> = named
        .map(|field| match (&field.default, field.required) {
            (_, true) => format!("{} ${}", native(&field.shape), field.name),
            (Some(default), false) => {
                format!("{} ${} = {}", native(&field.shape), field.name, literal(default))
            }
            (None, false) => format!("{} ${} = null", optional(&field.shape), field.name),
        })
        .collect();
    let returns = told.answer.as_ref().map_or("mixed", native);
    format!(
        "{}{indent}function {}({}): {returns} {{}}\n",
        super::comment(doc.trim(), indent),
        told.name,
        parameters.join(", ")
    )
}

fn answer(told: &Told<'_>) -> String {
    told.answer.as_ref().map_or_else(|| "mixed".into(), documented)
}

/// A type of PHP itself.
fn native(shape: &Shape) -> &'static str {
    match shape {
        Shape::Boolean => "bool",
        Shape::Integer => "int",
        Shape::Number => "float",
        Shape::Text => "string",
        Shape::List(_) | Shape::Map(_) | Shape::Object(_) => "array",
        Shape::Literals(all) if all.iter().all(Json::is_string) => "string",
        Shape::Null => "null",
        Shape::Any | Shape::Literals(_) | Shape::Union(_) => "mixed",
    }
}

fn optional(shape: &Shape) -> String {
    match native(shape) {
        "mixed" | "null" => "mixed".into(),
        kind => format!("?{kind}"),
    }
}

/// A type in PHPDoc's words.
fn documented(shape: &Shape) -> String {
    match shape {
        Shape::Literals(all) => all.iter().map(literal).collect::<Vec<_>>().join("|"),
        Shape::List(items) => format!("list<{}>", documented(items)),
        Shape::Map(values) => format!("array<string, {}>", documented(values)),
        Shape::Object(fields) => {
            format!("array{{{}}}", fields.iter().map(member).collect::<Vec<_>>().join(", "))
        }
        Shape::Union(members) => members.iter().map(documented).collect::<Vec<_>>().join("|"),
        other => native(other).into(),
    }
}

fn member(field: &Field) -> String {
    let name = match is_parameter(&field.name) {
        true => field.name.clone(),
        false => literal(&Json::from(text::line(&field.name, 64))),
    };
    format!("{name}{}: {}", if field.required { "" } else { "?" }, documented(&field.shape))
}

fn literal(value: &Json) -> String {
    match value {
        Json::String(text) => {
            format!("'{}'", text::line(text, 100).replace('\\', "\\\\").replace('\'', "\\'"))
        }
        Json::Array(all) => format!("[{}]", all.iter().map(literal).collect::<Vec<_>>().join(", ")),
        Json::Object(map) => {
            let entries = map
                .iter()
                .map(|(key, value)| format!("{} => {}", literal(&Json::from(key.as_str())), literal(value)));
            format!("[{}]", entries.collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

fn is_parameter(name: &str) -> bool {
    let mut characters = name.chars();
    let begins = characters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    begins && characters.all(|c| c.is_ascii_alphanumeric() || c == '_') && name.len() <= 64 && name != "this"
}
