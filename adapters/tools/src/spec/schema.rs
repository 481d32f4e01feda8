//! JSON Schemas that every known client and model takes.
//!
//! What some of them reject is never written: `$ref`, `$defs`, `oneOf`, `allOf`, lists of types, null as a default, `format`, bare
//! `true` and `false` as schemas. So everything is inlined; an integer says `minimum` and `maximum`; and an optional argument
//! is one that is not required. Of what an answer holds, text or a number that may be null has no `type` at all. An object that
//! may be null is `anyOf` the object and null: clients that make classes of schemas (FastMCP, and what is built on it) take
//! an object without a `type` for one that is never null. Arguments have no `anyOf`, which some models' interfaces refuse.

use serde_json::{Map, Value as Json, json};

use super::field::{Absent, Field, Kind};

/// Text lengths up to this many characters are published as `maxLength`; larger ones only in the description, because some
/// clients refuse large bounds.
const PUBLISHED_LENGTH: usize = 4_096;

/// The schema of a tool's arguments.
pub(crate) fn input(fields: &[Field]) -> Json {
    fields
        .iter()
        .fold(Object::new(), |object, field| {
            let schema = argument(field);
            if field.is_required() {
                object.required(field.name, schema)
            } else {
                object.optional(field.name, schema)
            }
        })
        .build()
}

fn argument(field: &Field) -> Json {
    let mut schema = Map::new();
    match &field.kind {
        Kind::Text { min, max, characters, absent } => {
            schema.insert("type".into(), "string".into());
            if *min > 0 {
                schema.insert("minLength".into(), (*min).into());
            }
            let most = characters.unwrap_or(*max);
            if most <= PUBLISHED_LENGTH {
                schema.insert("maxLength".into(), most.into());
            }
            if let Absent::Default(default) = absent {
                schema.insert("default".into(), (*default).into());
            }
        }
        Kind::Integer { min, max, absent } | Kind::Number { min, max, absent } => {
            let is_whole = matches!(field.kind, Kind::Integer { .. });
            schema.insert("type".into(), if is_whole { "integer" } else { "number" }.into());
            schema.insert("minimum".into(), (*min).into());
            schema.insert("maximum".into(), (*max).into());
            if let Absent::Default(default) = absent {
                schema.insert("default".into(), (*default).into());
            }
        }
        Kind::Flag { default } => {
            schema.insert("type".into(), "boolean".into());
            schema.insert("default".into(), (*default).into());
        }
        Kind::Choice { of, absent } => {
            schema.insert("type".into(), "string".into());
            schema.insert("enum".into(), of.to_vec().into());
            if let Absent::Default(default) = absent {
                schema.insert("default".into(), (*default).into());
            }
        }
        Kind::Texts { .. } => {
            schema.insert("type".into(), "array".into());
            schema.insert("items".into(), json!({"type": "string"}));
        }
        Kind::Object { .. } => {
            schema.insert("type".into(), "object".into());
        }
    }
    schema.insert("description".into(), field.description.clone().into());
    Json::Object(schema)
}

/// A schema that says nothing but what it is for: anything fulfils it.
pub(crate) fn untyped(description: &str) -> Json {
    json!({"description": description})
}

/// Text.
pub(crate) fn text(description: &str) -> Json {
    json!({"type": "string", "description": description})
}

/// True or false.
pub(crate) fn flag(description: &str) -> Json {
    json!({"type": "boolean", "description": description})
}

/// A whole number from `minimum`.
pub(crate) fn integer(minimum: i64, description: &str) -> Json {
    json!({"type": "integer", "minimum": minimum, "description": description})
}

/// A number from 0.
pub(crate) fn number(description: &str) -> Json {
    json!({"type": "number", "minimum": 0, "description": description})
}

/// A list.
pub(crate) fn list(items: &Json, description: &str) -> Json {
    json!({"type": "array", "items": items, "description": description})
}

/// Text or null. Its one keyword says nothing about null, so null validates.
pub(crate) fn text_or_null(description: &str) -> Json {
    anything(description)
}

/// A number from 1, or null.
pub(crate) fn number_or_null(description: &str) -> Json {
    json!({"minimum": 1, "description": description})
}

/// Anything, null too. The keyword refuses nothing; it is there because linters take a schema without any for a mistake.
pub(crate) fn anything(description: &str) -> Json {
    json!({"minLength": 0, "description": description})
}

/// An object schema, put together property by property.
#[derive(Default)]
pub(crate) struct Object {
    properties: Map<String, Json>,
    required: Vec<Json>,
    description: Option<&'static str>,
    open: bool,
}

impl Object {
    /// Without properties. Further properties are refused.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Says what it is.
    #[must_use]
    pub(crate) fn description(mut self, text: &'static str) -> Self {
        self.description = Some(text);
        self
    }

    /// Takes further properties than the named ones.
    #[must_use]
    pub(crate) fn open(mut self) -> Self {
        self.open = true;
        self
    }

    /// Adds a property that is always there.
    #[must_use]
    pub(crate) fn required(mut self, name: &str, schema: Json) -> Self {
        self.required.push(name.into());
        self.optional(name, schema)
    }

    /// Adds a property that may be left out.
    #[must_use]
    pub(crate) fn optional(mut self, name: &str, schema: Json) -> Self {
        self.properties.insert(name.into(), schema);
        self
    }

    /// Whether it has a property of that name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.properties.contains_key(name)
    }

    /// The schema.
    pub(crate) fn build(self) -> Json {
        let mut schema = Map::new();
        schema.insert("type".into(), "object".into());
        self.fill(schema)
    }

    /// The schema of this object or null, for answers.
    pub(crate) fn or_null(mut self) -> Json {
        let description = self.description.take();
        let mut schema = Map::new();
        if let Some(text) = description {
            schema.insert("description".into(), text.into());
        }
        schema.insert("anyOf".into(), json!([self.build(), {"type": "null"}]));
        Json::Object(schema)
    }

    fn fill(self, mut schema: Map<String, Json>) -> Json {
        if let Some(text) = self.description {
            schema.insert("description".into(), text.into());
        }
        schema.insert("properties".into(), Json::Object(self.properties));
        if !self.required.is_empty() {
            schema.insert("required".into(), Json::Array(self.required));
        }
        if !self.open {
            schema.insert("additionalProperties".into(), false.into());
        }
        Json::Object(schema)
    }
}
