//! The operations of a document as tools.

use std::collections::BTreeSet;

use dormouse_core::{Error, ErrorCode, Result};
use dormouse_sources::Listed;
use serde_json::{Map, Value as Json, json};

use super::schema::{Gathered, resolved, whole};

/// Most operations, and bytes of all their schemas and descriptions (16 MiB).
const MAX_OPERATIONS: usize = 2_000;
const MAX_TOTAL: usize = 16 << 20;
/// Most parameters of one.
const MAX_PARAMETERS: usize = 100;
/// Longest name, in characters, and longest description, in bytes.
const MAX_NAME: usize = 128;
const MAX_DESCRIPTION: usize = 8 << 10;
/// What an operation can be asked by.
const METHODS: [&str; 7] = ["get", "put", "post", "delete", "patch", "head", "options"];
/// Headers that OpenAPI takes for no parameters, and those that are the connection's.
const NOT_PARAMETERS: [&str; 9] = [
    "accept",
    "content-type",
    "authorization",
    "host",
    "content-length",
    "connection",
    "transfer-encoding",
    "cookie",
    "idempotency-key",
];
/// The argument that holds a body which is no plain object.
pub(super) const BODY: &str = "body";

/// Where a parameter stands in a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Within {
    Path,
    Query,
    Header,
    Cookie,
}

/// How a list or an object is written as a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// Each item as a parameter of the same name, each key as one of its own.
    Exploded,
    /// Items with this between them.
    Joined(char),
    /// `name[key]`.
    Deep,
    /// As JSON.
    Json,
}

/// One parameter.
#[derive(Clone, Debug)]
pub(super) struct Parameter {
    pub(super) name: String,
    pub(super) within: Within,
    pub(super) style: Style,
    /// The tool's argument.
    pub(super) argument: String,
}

/// How a body is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    Json,
    Form,
    Text,
}

/// The body of a request.
#[derive(Clone, Debug)]
pub(super) struct Body {
    pub(super) encoding: Encoding,
    pub(super) content_type: String,
    /// The arguments that are its keys. None: it is the argument `body`.
    pub(super) keys: Option<Vec<String>>,
}

/// One operation, and its tool.
#[derive(Clone, Debug)]
pub(super) struct Operation {
    pub(super) tool: Listed,
    pub(super) method: &'static str,
    pub(super) path: String,
    pub(super) parameters: Vec<Parameter>,
    pub(super) body: Option<Body>,
}

/// All operations that can be called. `given` are the operator's headers, in lower case: parameters of these names are no arguments.
pub(super) fn all(root: &Json, given: &BTreeSet<String>) -> Result<Vec<Operation>> {
    let (mut operations, mut names, mut bytes) = (Vec::new(), BTreeSet::new(), 0);
    for (path, item) in root["paths"].as_object().into_iter().flatten() {
        let item = resolved(root, item);
        for method in METHODS {
            let Some(operation) = item.get(method).filter(|operation| operation.is_object()) else {
                continue;
            };
            let mut made = match one(root, (path, method), (item, operation), given) {
                Ok(made) => made,
                Err(why) => {
                    tracing::warn!(path, method, why, "an operation of an OpenAPI document is left out");
                    continue;
                }
            };
            if !names.insert(made.tool.name.clone()) {
                made.tool.name = by_path(method, path);
                if !names.insert(made.tool.name.clone()) {
                    tracing::warn!(path, method, "two operations of an OpenAPI document have one name");
                    continue;
                }
            }
            bytes += made.tool.description.len() + made.tool.input_schema.to_string().len();
            bytes += made.tool.output_schema.as_ref().map_or(0, |schema| schema.to_string().len());
            operations.push(made);
            if operations.len() > MAX_OPERATIONS || bytes > MAX_TOTAL {
                let message = format!(
                    "the OpenAPI document has more than {MAX_OPERATIONS} operations, or {MAX_TOTAL} bytes of schemas"
                );
                return Err(
                    Error::new(ErrorCode::TooLarge, message).with_hint("cut out those that are needed")
                );
            }
        }
    }
    Ok(operations)
}

fn one(
    root: &Json,
    (path, method): (&str, &'static str),
    (item, operation): (&Json, &Json),
    given: &BTreeSet<String>,
) -> Result<Operation, String> {
    if !path.starts_with('/') {
        return Err("its path does not begin with `/`".into());
    }
    let mut arguments = Arguments::default();
    let parameters = parameters(root, item, operation, given, &mut arguments)?;
    for name in placeholders(path) {
        if !parameters.iter().any(|one| one.within == Within::Path && one.name == name) {
            return Err(format!("its path has `{{{}}}`, and no such parameter", name.escape_debug()));
        }
    }
    let body = body(root, operation, &mut arguments)?;
    let name = operation["operationId"].as_str().filter(|id| !id.is_empty());
    let name = name.map_or_else(
        || by_path(method, path),
        |id| id.chars().filter(|c| !c.is_control()).take(MAX_NAME).collect(),
    );
    let summary = operation["summary"].as_str().unwrap_or_default().trim();
    let description = operation["description"].as_str().unwrap_or_default().trim();
    let mut text = match (summary, description) {
        ("", text) | (text, "") => text.to_owned(),
        (summary, description) if description.starts_with(summary) => description.to_owned(),
        (summary, description) => format!("{summary}\n\n{description}"),
    };
    if operation["deprecated"] == true {
        text = format!("(deprecated) {text}");
    }
    text.truncate(text.floor_char_boundary(MAX_DESCRIPTION.min(text.len())));
    let annotations = json!({"readOnlyHint": matches!(method, "get" | "head" | "options"), "destructiveHint": method == "delete"});
    let tool = Listed {
        name,
        description: text,
        input_schema: arguments.schema(root),
        output_schema: answered(root, operation),
        annotations: Some(annotations),
    };
    Ok(Operation { tool, method, path: path.to_owned(), parameters, body })
}

/// The arguments of a tool as they are gathered.
#[derive(Default)]
struct Arguments {
    properties: Map<String, Json>,
    required: Vec<String>,
    gathered: Gathered,
}

impl Arguments {
    /// Adds one under its name, or with `_2` after it where that is taken. The name.
    fn add(&mut self, name: &str, schema: &Json, description: Option<&str>, is_required: bool) -> String {
        let mut argument = name.to_owned();
        let mut number = 1;
        while self.properties.contains_key(&argument) {
            number += 1;
            argument = format!("{name}_{number}");
        }
        let mut taken = self.gathered.take(schema);
        if let (Some(text), Json::Object(map)) = (description, &mut taken)
            && !map.contains_key("description")
            && !map.contains_key("$ref")
        {
            map.insert("description".into(), text.chars().take(500).collect::<String>().into());
        }
        self.properties.insert(argument.clone(), taken);
        if is_required {
            self.required.push(argument.clone());
        }
        argument
    }

    /// The schema of all. One that would be too large says their names alone.
    fn schema(self, root: &Json) -> Json {
        let names: Vec<String> = self.properties.keys().cloned().collect();
        let mut schema =
            json!({"type": "object", "properties": self.properties, "additionalProperties": false});
        if !self.required.is_empty() {
            schema["required"] = json!(self.required);
        }
        match self.gathered.definitions(root) {
            Some(definitions) if definitions.is_empty() => {}
            Some(definitions) => schema["$defs"] = definitions.into(),
            None => {
                let any: Map<String, Json> = names.into_iter().map(|name| (name, json!({}))).collect();
                schema["properties"] = any.into();
            }
        }
        schema
    }
}

/// The parameters of an operation, and of its path.
fn parameters(
    root: &Json,
    item: &Json,
    operation: &Json,
    given: &BTreeSet<String>,
    arguments: &mut Arguments,
) -> Result<Vec<Parameter>, String> {
    let mut all: Vec<(&str, Within, &Json)> = Vec::new();
    for list in [&operation["parameters"], &item["parameters"]] {
        for one in list.as_array().into_iter().flatten().take(MAX_PARAMETERS) {
            let one = resolved(root, one);
            let name = one["name"].as_str().ok_or("a parameter has no name")?;
            let within = match one["in"].as_str() {
                Some("path") => Within::Path,
                Some("query") => Within::Query,
                Some("header") => Within::Header,
                Some("cookie") => Within::Cookie,
                _ => return Err(format!("the parameter `{}` stands nowhere", name.escape_debug())),
            };
            // The operation's own come first.
            if !all.iter().any(|(other, place, _)| *other == name && *place == within) {
                all.push((name, within, one));
            }
        }
    }
    let lower = |name: &str| name.to_ascii_lowercase();
    all.retain(|(name, within, _)| {
        *within != Within::Header
            || !(NOT_PARAMETERS.contains(&lower(name).as_str()) || given.contains(&lower(name)))
    });
    let made = all.into_iter().map(|(name, within, one)| {
        let content = one["content"].as_object().and_then(|content| content.values().next());
        let schema = content.map_or(&one["schema"], |content| &content["schema"]);
        let is_required = within == Within::Path || one["required"] == true;
        let argument = arguments.add(name, schema, one["description"].as_str(), is_required);
        let style = if content.is_some() { Style::Json } else { style(within, one) };
        Parameter { name: name.to_owned(), within, style, argument }
    });
    Ok(made.collect())
}

fn style(within: Within, parameter: &Json) -> Style {
    let explode = parameter["explode"].as_bool();
    match (within, parameter["style"].as_str()) {
        (Within::Query, Some("deepObject")) => Style::Deep,
        (Within::Query, Some("spaceDelimited")) if explode != Some(true) => Style::Joined(' '),
        (Within::Query, Some("pipeDelimited")) if explode != Some(true) => Style::Joined('|'),
        (Within::Query | Within::Cookie, _) if explode != Some(false) => Style::Exploded,
        _ => Style::Joined(','),
    }
}

/// The body, and its arguments.
fn body(root: &Json, operation: &Json, arguments: &mut Arguments) -> Result<Option<Body>, String> {
    let body = resolved(root, &operation["requestBody"]);
    let Some(content) = body["content"].as_object().filter(|content| !content.is_empty()) else {
        return Ok(None);
    };
    let is_required = body["required"] == true;
    let plain = |kind: &str| kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let encoding = |kind: &str| match plain(kind).as_str() {
        "application/json" | "*/*" | "application/*" => Some(Encoding::Json),
        kind if kind.ends_with("+json") => Some(Encoding::Json),
        "application/x-www-form-urlencoded" => Some(Encoding::Form),
        kind if kind.starts_with("text/") => Some(Encoding::Text),
        _ => None,
    };
    let order = |encoding: Encoding| match encoding {
        Encoding::Json => 0,
        Encoding::Form => 1,
        Encoding::Text => 2,
    };
    let usable = content.iter().filter_map(|(kind, media)| Some((encoding(kind)?, kind, media)));
    let Some((encoding, kind, media)) = usable.min_by_key(|(encoding, ..)| order(*encoding)) else {
        let kinds: Vec<&str> = content.keys().take(4).map(String::as_str).collect();
        return match is_required {
            true => Err(format!("it takes a body of the kind {}, which cannot be sent", kinds.join(", "))),
            false => Ok(None),
        };
    };
    let content_type = match (encoding, kind.contains('*')) {
        (Encoding::Json, true) => "application/json".into(),
        (Encoding::Text, true) => "text/plain".into(),
        _ => kind.clone(),
    };
    let schema = &media["schema"];
    let keys = match encoding {
        Encoding::Text => None,
        Encoding::Json | Encoding::Form => flat(root, schema, arguments, is_required),
    };
    match (&keys, encoding) {
        (None, Encoding::Text) => {
            arguments.add(BODY, &json!({"type": "string"}), body["description"].as_str(), is_required);
        }
        (None, _) => {
            arguments.add(BODY, schema, body["description"].as_str(), is_required);
        }
        (Some(_), _) => {}
    }
    Ok(Some(Body { encoding, content_type, keys }))
}

/// The keys of a body that is a plain object become arguments, if none is one already.
fn flat(root: &Json, schema: &Json, arguments: &mut Arguments, is_required: bool) -> Option<Vec<String>> {
    let schema = resolved(root, schema);
    let properties = schema["properties"].as_object()?;
    let is_plain = !["allOf", "anyOf", "oneOf", "not", "patternProperties"]
        .iter()
        .any(|word| schema.get(word).is_some());
    let is_open = schema.get("additionalProperties").is_some_and(|more| more != false);
    let is_nullable = schema["nullable"] == true;
    let collides = properties.keys().any(|name| arguments.properties.contains_key(name));
    if !is_plain
        || is_open
        || is_nullable
        || collides
        || properties.is_empty()
        || properties.len() > MAX_PARAMETERS
    {
        return None;
    }
    let required = schema["required"].as_array();
    let needs = |name: &str| required.is_some_and(|required| required.iter().any(|one| one == name));
    // Keys that only an answer has.
    let sent = properties.iter().filter(|(name, one)| resolved(root, one)["readOnly"] != true || needs(name));
    Some(sent.map(|(name, one)| arguments.add(name, one, None, is_required && needs(name))).collect())
}

/// The schema of a successful answer, if it is JSON.
fn answered(root: &Json, operation: &Json) -> Option<Json> {
    let responses = operation["responses"].as_object()?;
    let success = responses
        .iter()
        .find(|(status, _)| status.starts_with('2'))
        .or_else(|| responses.get_key_value("default"))?;
    let content = resolved(root, success.1)["content"].as_object()?;
    let (_, media) = content.iter().find(|(kind, _)| kind.contains("json"))?;
    let schema = whole(root, media.get("schema")?);
    schema.as_object().is_some_and(|map| !map.is_empty()).then_some(schema)
}

/// `get /pets/{id}` as `get_pets_id`.
fn by_path(method: &str, path: &str) -> String {
    let parts = path.split(|c: char| !c.is_ascii_alphanumeric()).filter(|part| !part.is_empty());
    let name = std::iter::once(method).chain(parts).collect::<Vec<_>>().join("_");
    name.chars().take(MAX_NAME).collect()
}

/// The names in braces.
pub(super) fn placeholders(path: &str) -> impl Iterator<Item = &str> {
    path.split('{').skip(1).filter_map(|part| part.split_once('}').map(|(name, _)| name))
}
