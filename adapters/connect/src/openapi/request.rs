//! A call as a request: where each argument goes.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::Url;
use serde_json::{Map, Value as Json};

use super::operation::{BODY, Encoding, Operation, Parameter, Style, Within};

/// What stands in a path or a query as it is.
const KEPT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');
/// Longest address, in bytes.
const MAX_ADDRESS: usize = 16 << 10;

/// A request that can be sent.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) url: Url,
    pub(super) headers: Vec<(String, String)>,
    /// Its kind, and its bytes.
    pub(super) body: Option<(String, Vec<u8>)>,
}

impl Asked {
    /// The request of a call.
    ///
    /// # Errors
    /// What stands against its arguments.
    pub(super) fn new(
        base: &Url,
        operation: &Operation,
        mut arguments: Map<String, Json>,
    ) -> Result<Self, String> {
        let (mut path, mut query, mut headers, mut cookies) =
            (operation.path.clone(), Vec::new(), Vec::new(), Vec::new());
        for parameter in &operation.parameters {
            let Some(value) = arguments.remove(&parameter.argument).filter(|value| !value.is_null()) else {
                continue;
            };
            match parameter.within {
                Within::Path => {
                    let text = joined(parameter, &value);
                    if text.is_empty() {
                        return Err(format!("the argument `{}` is empty", parameter.argument));
                    }
                    let encoded = utf8_percent_encode(&text, KEPT).to_string();
                    path = path.replace(&format!("{{{}}}", parameter.name), &encoded);
                }
                Within::Query => query.extend(pairs(parameter, &value)),
                Within::Header => headers.push((parameter.name.clone(), joined(parameter, &value))),
                Within::Cookie => cookies.extend(pairs(parameter, &value)),
            }
        }
        if !cookies.is_empty() {
            let cookies = cookies.iter().map(|(name, value)| format!("{}={}", encoded(name), encoded(value)));
            headers.push(("cookie".into(), cookies.collect::<Vec<_>>().join("; ")));
        }
        let url = address(base, &path, &query)?;
        let body = body(operation, &mut arguments)?;
        // A schema that refers to itself is not checked, and would let them pass.
        if let Some(name) = arguments.keys().next() {
            let shown: String = name.escape_debug().take(64).collect();
            return Err(format!("there is no argument `{shown}`"));
        }
        Ok(Self { url, headers, body })
    }
}

/// The address: always below the base, whatever the arguments say.
fn address(base: &Url, path: &str, query: &[(String, String)]) -> Result<Url, String> {
    // Addresses know these also with escapes, and lead upwards.
    if path.split('/').any(|step| matches!(step, "." | "..")) {
        return Err("an argument for the path is `.` or `..`".into());
    }
    if let Some(name) = super::operation::placeholders(path).next() {
        return Err(format!("the argument `{name}` is missing"));
    }
    let mut url = base.clone();
    url.set_path(&format!("{}{path}", base.path().trim_end_matches('/')));
    let mut parts: Vec<String> =
        base.query().filter(|query| !query.is_empty()).map(str::to_owned).into_iter().collect();
    parts.extend(query.iter().map(|(name, value)| format!("{}={}", encoded(name), encoded(value))));
    url.set_query((!parts.is_empty()).then(|| parts.join("&")).as_deref());
    if url.as_str().len() > MAX_ADDRESS {
        return Err(format!("the arguments make an address of more than {MAX_ADDRESS} bytes"));
    }
    Ok(url)
}

fn body(
    operation: &Operation,
    arguments: &mut Map<String, Json>,
) -> Result<Option<(String, Vec<u8>)>, String> {
    let Some(body) = &operation.body else { return Ok(None) };
    let value = match &body.keys {
        Some(keys) => {
            let given = keys.iter().filter_map(|key| Some((key.clone(), arguments.remove(key)?)));
            let given: Map<String, Json> = given.collect();
            let is_needed = operation.tool.input_schema["required"]
                .as_array()
                .is_some_and(|required| required.iter().any(|one| keys.iter().any(|key| one == key)));
            if given.is_empty() && !is_needed && body.encoding == Encoding::Form {
                return Ok(None);
            }
            Json::Object(given)
        }
        None => {
            // It has another name where a parameter is called so.
            let taken = operation.parameters.iter().any(|parameter| parameter.argument == BODY);
            let name = if taken { format!("{BODY}_2") } else { BODY.to_owned() };
            match arguments.remove(&name) {
                Some(value) => value,
                None => return Ok(None),
            }
        }
    };
    let bytes = match (body.encoding, value) {
        (Encoding::Json, value) => value.to_string().into_bytes(),
        (Encoding::Text, Json::String(text)) => text.into_bytes(),
        (Encoding::Form, Json::Object(map)) => {
            let pairs = map.iter().flat_map(|(name, value)| exploded(name, value));
            let pairs = pairs.map(|(name, value)| format!("{}={}", encoded(&name), encoded(&value)));
            pairs.collect::<Vec<_>>().join("&").into_bytes()
        }
        _ => return Err("the argument `body` is of another kind".into()),
    };
    Ok(Some((body.content_type.clone(), bytes)))
}

/// A parameter as one text.
fn joined(parameter: &Parameter, value: &Json) -> String {
    let between = match parameter.style {
        Style::Joined(between) => between,
        Style::Json => return value.to_string(),
        Style::Exploded | Style::Deep => ',',
    };
    match value {
        Json::Array(items) => items.iter().map(plain).collect::<Vec<_>>().join(&between.to_string()),
        Json::Object(map) => {
            let parts = map.iter().flat_map(|(key, value)| [key.clone(), plain(value)]);
            parts.collect::<Vec<_>>().join(&between.to_string())
        }
        other => plain(other),
    }
}

/// A parameter as pairs of names and values.
fn pairs(parameter: &Parameter, value: &Json) -> Vec<(String, String)> {
    let name = &parameter.name;
    match (parameter.style, value) {
        (Style::Exploded, Json::Object(map)) => {
            map.iter().map(|(key, value)| (key.clone(), plain(value))).collect()
        }
        (Style::Exploded, value) => exploded(name, value),
        (Style::Deep, Json::Object(map)) => {
            map.iter().flat_map(|(key, value)| exploded(&format!("{name}[{key}]"), value)).collect()
        }
        (Style::Joined(_) | Style::Json | Style::Deep, value) => {
            vec![(name.clone(), joined(parameter, value))]
        }
    }
}

fn exploded(name: &str, value: &Json) -> Vec<(String, String)> {
    match value {
        Json::Array(items) => items.iter().map(|item| (name.to_owned(), plain(item))).collect(),
        other => vec![(name.to_owned(), plain(other))],
    }
}

fn plain(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn encoded(text: &str) -> String {
    utf8_percent_encode(text, KEPT).to_string()
}
