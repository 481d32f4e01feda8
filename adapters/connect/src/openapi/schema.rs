//! Schemas of a document, so that each stands by itself: what it refers to goes with it, and OpenAPI's own words become JSON Schema's.

use std::collections::BTreeSet;

use serde_json::{Map, Value as Json, json};

/// Largest schema, in bytes (32 KiB). Of a larger one only the beginning of its description stays.
const MAX_SCHEMA: usize = 32 << 10;
/// How deep a schema is.
const MAX_DEPTH: usize = 48;
/// References that are followed from one to the next.
const MAX_STEPS: usize = 16;
/// Words that say nothing to who calls.
const PASSED: [&str; 7] =
    ["example", "examples", "xml", "discriminator", "externalDocs", "deprecated", "$schema"];
/// Where a document's schemas are, and where those of a schema are.
const FROM: &str = "#/components/schemas/";
const TO: &str = "#/$defs/";

/// What a part of the document says, a reference to another part of it followed.
pub(super) fn resolved<'a>(root: &'a Json, mut part: &'a Json) -> &'a Json {
    for _ in 0..MAX_STEPS {
        let Some(target) = part.get("$ref").and_then(Json::as_str) else { return part };
        match target.strip_prefix('#').and_then(|pointer| root.pointer(pointer)) {
            Some(next) => part = next,
            None => return &Json::Null,
        }
    }
    &Json::Null
}

/// Schemas that are put together, and what they refer to.
#[derive(Default)]
pub(super) struct Gathered {
    wanted: BTreeSet<String>,
}

impl Gathered {
    /// A schema of the document, its references changed to where [`Gathered::definitions`] puts what they name.
    pub(super) fn take(&mut self, schema: &Json) -> Json {
        self.converted(schema, 0)
    }

    /// What was referred to, and what that refers to. None: it is too large.
    pub(super) fn definitions(mut self, root: &Json) -> Option<Map<String, Json>> {
        let (mut found, mut bytes) = (Map::new(), 0);
        while let Some(name) = self.wanted.iter().find(|name| !found.contains_key(*name)).cloned() {
            let schema = &root["components"]["schemas"][name.replace("~1", "/").replace("~0", "~")];
            let schema = self.converted(schema, 0);
            bytes += schema.to_string().len();
            if bytes > MAX_SCHEMA {
                return None;
            }
            found.insert(name, schema);
        }
        Some(found)
    }

    fn converted(&mut self, schema: &Json, depth: usize) -> Json {
        if depth > MAX_DEPTH {
            return json!({});
        }
        match schema {
            Json::Object(map) => self.object(map, depth),
            Json::Array(items) => items.iter().map(|item| self.converted(item, depth + 1)).collect(),
            other => other.clone(),
        }
    }

    fn object(&mut self, map: &Map<String, Json>, depth: usize) -> Json {
        if let Some(target) = map.get("$ref").and_then(Json::as_str) {
            let Some(name) = target.strip_prefix(FROM).filter(|name| !name.contains('/')) else {
                return json!({});
            };
            self.wanted.insert(name.to_owned());
            return json!({"$ref": format!("{TO}{name}")});
        }
        let mut out = Map::new();
        for (key, value) in map {
            let value = match key.as_str() {
                // Names in here are those of properties, whatever they are.
                "properties" | "patternProperties" => match value {
                    Json::Object(inner) => {
                        let each =
                            inner.iter().map(|(name, one)| (name.clone(), self.converted(one, depth + 2)));
                        Json::Object(each.collect())
                    }
                    _ => continue,
                },
                "enum" | "const" | "default" | "required" => value.clone(),
                key if PASSED.contains(&key) || key.starts_with("x-") => continue,
                "nullable" | "exclusiveMinimum" | "exclusiveMaximum" if value.is_boolean() => continue,
                _ => self.converted(value, depth + 1),
            };
            out.insert(key.clone(), value);
        }
        modernised(map, &mut out);
        out.into()
    }
}

/// What version 3.0 says in words of its own.
fn modernised(map: &Map<String, Json>, out: &mut Map<String, Json>) {
    for (word, exclusive) in [("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")] {
        if map.get(exclusive) == Some(&Json::Bool(true))
            && let Some(bound) = out.remove(word)
        {
            out.insert(exclusive.into(), bound);
        }
    }
    if map.get("nullable") == Some(&Json::Bool(true)) {
        if let Some(kind) = out.get("type").and_then(Json::as_str).map(str::to_owned) {
            out.insert("type".into(), json!([kind, "null"]));
        }
        if let Some(Json::Array(all)) = out.get_mut("enum")
            && !all.contains(&Json::Null)
        {
            all.push(Json::Null);
        }
    }
}

/// A schema with the definitions it refers to. Too large ones become any value.
pub(super) fn whole(root: &Json, schema: &Json) -> Json {
    let mut gathered = Gathered::default();
    let taken = gathered.take(schema);
    match (taken, gathered.definitions(root)) {
        (Json::Object(mut map), Some(definitions)) => {
            if !definitions.is_empty() {
                map.insert("$defs".into(), definitions.into());
            }
            let whole = Json::Object(map);
            if whole.to_string().len() <= MAX_SCHEMA { whole } else { json!({}) }
        }
        _ => json!({}),
    }
}
