//! What the program `tool` says of a tool.

use serde_json::Value as Json;

use super::{Field, Shape, Told};
use crate::text;
use crate::tools::Tool;

/// What every tool takes.
const OPTIONS: &str = "
  --json OBJECT   all arguments as a JSON object
  -r              print a text without quotes
  -               as a value: the standard input
";

/// The call in one line.
pub(super) fn signature(told: &Told<'_>) -> String {
    let options = told.fields.iter().map(|field| match field.required {
        true => usage(field),
        false => format!("[{}]", usage(field)),
    });
    let options: String = options.map(|option| format!(" {option}")).collect();
    format!("tool {} {}{options}", told.server, told.name)
}

/// The text of `--help` for a tool.
pub(crate) fn help_of(server: &str, tool: &Tool) -> String {
    help(&Told::new(server, tool))
}

pub(super) fn help(told: &Told<'_>) -> String {
    let mut help = format!("usage: {}\n", signature(told));
    let text = told.text();
    if !text.trim().is_empty() {
        help = format!("{help}\n{}\n", text.trim());
    }
    if !told.fields.is_empty() {
        help.push_str("\narguments:\n");
    }
    for field in &told.fields {
        let mut about = text::line(&field.description, super::MAX_ARGUMENT);
        if let Some(default) = &field.default {
            about = format!("{about} (default {})", text::line(&default.to_string(), 100)).trim().to_owned();
        }
        if field.required {
            about = format!("{about} (required)").trim().to_owned();
        }
        help = format!("{help}  {}\n      {about}\n", usage(field));
    }
    help + OPTIONS
}

/// An option with what it takes.
fn usage(field: &Field) -> String {
    let name = text::line(&field.name, 64);
    match value(&field.shape) {
        Some(value) => format!("--{name} {value}"),
        None => format!("--{name}"),
    }
}

/// What an option takes. None: nothing.
fn value(shape: &Shape) -> Option<String> {
    Some(match shape {
        Shape::Boolean => return None,
        Shape::Integer => "INTEGER".into(),
        Shape::Number => "NUMBER".into(),
        Shape::Text => "TEXT".into(),
        Shape::Literals(all) => {
            let words = all.iter().map(|one| match one {
                Json::String(text) => text::line(text, 100),
                other => other.to_string(),
            });
            words.collect::<Vec<_>>().join("|")
        }
        Shape::List(items) => format!("{}...", value(items).unwrap_or_else(|| "true|false".into())),
        Shape::Union(members) => {
            let words = members.iter().filter(|one| **one != Shape::Null);
            let words: Vec<String> =
                words.map(|one| value(one).unwrap_or_else(|| "true|false".into())).collect();
            words.join("|")
        }
        Shape::Any | Shape::Null | Shape::Map(_) | Shape::Object(_) => "JSON".into(),
    })
}
