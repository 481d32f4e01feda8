//! Arguments that a server of the newer era wants repeated in headers (`x-mcp-header`), and how texts fit into headers.

use std::collections::HashMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value as Json};

use crate::Listed;

/// How a text that is no header begins and ends once it is one.
const PREFIX: &str = "=?base64?";
const SUFFIX: &str = "?=";
/// Most arguments of a tool that are repeated, the longest of them in bytes, and how deep they lie.
const MAX_MIRRORED: usize = 16;
const MAX_VALUE: usize = 4_096;
const MAX_DEPTH: usize = 8;

/// Which arguments of a tool are repeated: their place, and the header.
pub(super) struct Mirror(Vec<(Vec<String>, String)>);

impl Mirror {
    /// The headers of a call.
    pub(super) fn headers(&self, arguments: &Map<String, Json>) -> Vec<(String, String)> {
        let headers = self.0.iter().filter_map(|(place, header)| {
            let (first, rest) = place.split_first()?;
            let value = rest.iter().try_fold(arguments.get(first)?, |value, step| value.get(step))?;
            let text = match value {
                Json::String(text) => text.clone(),
                Json::Bool(flag) => flag.to_string(),
                Json::Number(number) => number.to_string(),
                _ => return None,
            };
            (text.len() <= MAX_VALUE).then(|| (header.clone(), encoded(&text)))
        });
        headers.collect()
    }
}

/// The tools that want it.
pub(super) fn all(tools: &[Listed]) -> HashMap<String, Mirror> {
    let found = tools.iter().filter_map(|tool| {
        let mut places = Vec::new();
        collect(&tool.input_schema, &mut Vec::new(), &mut places);
        (!places.is_empty()).then(|| (tool.name.clone(), Mirror(places)))
    });
    found.collect()
}

fn collect(schema: &Json, place: &mut Vec<String>, found: &mut Vec<(Vec<String>, String)>) {
    let Some(properties) = schema.get("properties").and_then(Json::as_object) else { return };
    if place.len() >= MAX_DEPTH {
        return;
    }
    for (name, property) in properties {
        place.push(name.clone());
        if let Some(header) = property.get("x-mcp-header").and_then(Json::as_str)
            && is_token(header)
            && found.len() < MAX_MIRRORED
        {
            found.push((place.clone(), format!("mcp-param-{header}")));
        }
        collect(property, place, found);
        place.pop();
    }
}

fn is_token(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    (1..=64).contains(&text.len()) && text.chars().all(plain)
}

/// The text as the value of a header.
pub(super) fn encoded(text: &str) -> String {
    let plain = text.chars().all(|c| (' '..='~').contains(&c)) && text.trim() == text;
    match plain && !(text.starts_with(PREFIX) && text.ends_with(SUFFIX)) {
        true => text.to_owned(),
        false => format!("{PREFIX}{}{SUFFIX}", STANDARD.encode(text)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn marked_arguments_become_headers() {
        let input_schema = json!({"properties": {
            "region": {"type": "string", "x-mcp-header": "Region"}, "plain": {"type": "string"},
            "deep": {"properties": {"n": {"type": "integer", "x-mcp-header": "N"}}}, "bad": {"x-mcp-header": "a b"},
        }});
        let tool = Listed {
            name: "t".into(),
            description: String::new(),
            input_schema,
            output_schema: None,
            annotations: None,
        };
        let Json::Object(arguments) = json!({"region": "Zürich", "plain": "x", "deep": {"n": 3}, "bad": "x"})
        else {
            panic!("a map")
        };
        let headers = all(&[tool])["t"].headers(&arguments);
        let expected = [("mcp-param-Region", "=?base64?WsO8cmljaA==?="), ("mcp-param-N", "3")];
        assert_eq!(headers, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
        assert_eq!(encoded("plain text"), "plain text");
        assert_eq!(encoded(" x"), "=?base64?IHg=?=");
        assert_eq!(encoded("=?base64?eA==?="), "=?base64?PT9iYXNlNjQ/ZUE9PT89?=");
    }
}
