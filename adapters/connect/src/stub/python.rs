//! Stubs in Python.

use serde_json::Value as Json;

use super::{Shape, Told};
use crate::text;

/// The keywords of Python, sorted: no parameter can be called like that.
const KEYWORDS: [&str; 35] = [
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def",
    "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is",
    "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while", "with", "yield",
];

/// Longest key of an object that is written down, in bytes.
const MAX_KEY: usize = 64;

/// The call in one line.
pub(super) fn signature(told: &Told<'_>) -> String {
    format!(
        "tools.{}.{}({}) -> {}",
        told.server,
        told.name,
        parameters(told, &mut |shape, _| simple(shape)),
        answer(told)
    )
}

/// An asynchronous function, with its types before it.
pub(super) fn stub(told: &Told<'_>, indent: &str) -> String {
    let mut classes = Vec::new();
    let base = pascal(told.name);
    let parameters = parameters(told, &mut |shape, name| {
        annotated(shape, &format!("{base}{}", pascal(name)), &mut classes)
    });
    let answer = match &told.answer {
        Some(shape) => annotated(shape, &format!("{base}Result"), &mut classes),
        None => "Any".into(),
    };
    let mut doc = quoted(&told.text());
    let by_name: Vec<String> = told
        .described()
        .map(|(field, text)| format!("    {}: {text}", text::line(&field.name, 64)))
        .collect();
    if !by_name.is_empty() {
        doc = format!("{doc}\n\nArgs:\n{}", quoted(&by_name.join("\n")));
    }
    let odd: Vec<String> = told
        .fields
        .iter()
        .filter(|field| !is_parameter(&field.name))
        .map(|field| {
            let shape = simple(&field.shape);
            format!(
                "    {}: {}{}",
                literal(&Json::from(text::line(&field.name, 64))),
                quoted(&shape),
                if field.required { " (required)" } else { "" }
            )
        })
        .collect();
    if !odd.is_empty() {
        doc = format!(
            "{doc}\n\nArguments for a dict in place of keywords, `{}({{...}})`:\n{}",
            told.name,
            quoted(&odd.join("\n"))
        );
    }
    let doc = text::indented(doc.trim(), usize::MAX, &format!("{indent}    "));
    let classes: String =
        classes.iter().map(|class| format!("{}\n\n", text::indented(class, usize::MAX, indent))).collect();
    let body = match doc.trim() {
        "" => "...".to_owned(),
        doc => format!("\"\"\"{doc}\n{indent}    \"\"\""),
    };
    format!("{classes}{indent}async def {}({parameters}) -> {answer}:\n{indent}    {body}\n", told.name)
}

fn parameters(told: &Told<'_>, shape: &mut dyn FnMut(&Shape, &str) -> String) -> String {
    let named = told.fields.iter().filter(|field| is_parameter(&field.name));
    let parameters: Vec<String> = named
        .map(|field| {
            let annotation = shape(&field.shape, &field.name);
            match (&field.default, field.required) {
                (_, true) => format!("{}: {annotation}", field.name),
                (Some(default), false) => format!("{}: {annotation} = {}", field.name, literal(default)),
                (None, false) => format!("{}: {annotation} = ...", field.name),
            }
        })
        .collect();
    match parameters.is_empty() {
        true => String::new(),
        false => format!("*, {}", parameters.join(", ")),
    }
}

fn answer(told: &Told<'_>) -> String {
    told.answer.as_ref().map_or_else(|| "Any".into(), simple)
}

/// A type in one line; objects are dictionaries.
fn simple(shape: &Shape) -> String {
    match shape {
        Shape::Any => "Any".into(),
        Shape::Null => "None".into(),
        Shape::Boolean => "bool".into(),
        Shape::Integer => "int".into(),
        Shape::Number => "float".into(),
        Shape::Text => "str".into(),
        Shape::Literals(all) => literals(all),
        Shape::List(items) => format!("list[{}]", simple(items)),
        Shape::Map(values) => format!("dict[str, {}]", simple(values)),
        Shape::Object(_) => "dict".into(),
        Shape::Union(members) => members.iter().map(simple).collect::<Vec<_>>().join(" | "),
    }
}

/// A type; objects become classes of their own, in the functional form where a key cannot be a name.
fn annotated(shape: &Shape, name: &str, classes: &mut Vec<String>) -> String {
    match shape {
        Shape::List(items) => format!("list[{}]", annotated(items, name, classes)),
        Shape::Map(values) => format!("dict[str, {}]", annotated(values, name, classes)),
        Shape::Union(members) => {
            let mut all = Vec::new();
            for (at, member) in members.iter().enumerate() {
                let name = if at == 0 { name.to_owned() } else { format!("{name}{}", at + 1) };
                all.push(annotated(member, &name, classes));
            }
            all.join(" | ")
        }
        Shape::Object(fields) if !fields.is_empty() && fields.iter().all(|field| is_plain(&field.name)) => {
            let is_class = fields.iter().all(|field| is_parameter(&field.name));
            let lines: Vec<String> = fields
                .iter()
                .map(|field| {
                    let inner = annotated(&field.shape, &format!("{name}{}", pascal(&field.name)), classes);
                    let inner = if field.required { inner } else { format!("NotRequired[{inner}]") };
                    let comment = text::line(&field.description, 100);
                    let comment = if comment.is_empty() { String::new() } else { format!("  # {comment}") };
                    match is_class {
                        true => format!("    {}: {inner}{comment}", field.name),
                        false => {
                            format!("    {}: {inner},{comment}", literal(&Json::from(field.name.as_str())))
                        }
                    }
                })
                .collect();
            let lines = lines.join("\n");
            classes.push(match is_class {
                true => format!("class {name}(TypedDict):\n{lines}"),
                false => format!("{name} = TypedDict(\"{name}\", {{\n{lines}\n}})"),
            });
            name.to_owned()
        }
        other => simple(other),
    }
}

fn literals(all: &[Json]) -> String {
    format!("Literal[{}]", all.iter().map(literal).collect::<Vec<_>>().join(", "))
}

fn literal(value: &Json) -> String {
    match value {
        Json::Null => "None".into(),
        Json::Bool(true) => "True".into(),
        Json::Bool(false) => "False".into(),
        Json::Array(all) => format!("[{}]", all.iter().map(literal).collect::<Vec<_>>().join(", ")),
        Json::Object(map) => {
            let entries = map
                .iter()
                .map(|(key, value)| format!("{}: {}", literal(&Json::from(key.as_str())), literal(value)));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
        }
        // JSON's escapes are Python's, and what is not seen is escaped as in JSON.
        Json::String(text) => super::escaped(text),
        Json::Number(number) => number.to_string(),
    }
}

/// A text that cannot end the string it stands in.
fn quoted(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}

/// Whether a key can stand in a text as it is.
fn is_plain(key: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-$@.:/ ".contains(c);
    key.len() <= MAX_KEY && key.chars().all(plain)
}

fn is_parameter(name: &str) -> bool {
    let mut characters = name.chars();
    let begins = characters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    begins
        && characters.all(|c| c.is_ascii_alphanumeric() || c == '_')
        && name.len() <= 64
        && KEYWORDS.binary_search(&name).is_err()
}

/// `list_issues` as `ListIssues`.
fn pascal(name: &str) -> String {
    let parts = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|part| !part.is_empty());
    let capital = |part: &str| {
        let (first, rest) = part.split_at(1);
        format!("{}{rest}", first.to_ascii_uppercase())
    };
    parts.map(capital).collect()
}
