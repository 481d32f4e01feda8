//! A JSON Schema as a shape that languages can write down. Whatever a schema says, its shape is small.

use serde_json::{Map, Value as Json};

/// Parts of a schema that are looked at, references followed; further ones are any value.
const MAX_PARTS: usize = 400;
/// How deep a shape is.
const MAX_DEPTH: usize = 6;
/// Most arguments, or keys of an object.
const MAX_FIELDS: usize = 100;
/// Most literals or members of a union.
const MAX_CHOICES: usize = 40;
/// Bytes of a literal or a default as JSON; longer ones are left out.
const MAX_LITERAL: usize = 100;

/// What a value looks like.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Shape {
    Any,
    Null,
    Boolean,
    Integer,
    Number,
    Text,
    /// One of these: texts, numbers, booleans and null.
    Literals(Vec<Json>),
    List(Box<Shape>),
    /// An object with any keys.
    Map(Box<Shape>),
    Object(Vec<Field>),
    Union(Vec<Shape>),
}

/// An argument, or a key of an object.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) shape: Shape,
    pub(crate) required: bool,
    /// Small ones alone.
    pub(crate) default: Option<Json>,
    pub(crate) description: String,
}

/// The arguments of a tool, those that are required first, else in the schema's order.
pub(crate) fn fields(schema: &Json) -> Vec<Field> {
    let mut reader = Reader { root: schema, left: MAX_PARTS };
    let mut fields = match reader.shape(schema, 0) {
        Shape::Object(fields) => fields,
        _ => Vec::new(),
    };
    fields.sort_by_key(|field| !field.required);
    fields
}

impl Shape {
    pub(crate) fn of(schema: &Json) -> Self {
        Reader { root: schema, left: MAX_PARTS }.shape(schema, 0)
    }
}

struct Reader<'a> {
    root: &'a Json,
    left: usize,
}

impl<'a> Reader<'a> {
    fn shape(&mut self, schema: &'a Json, depth: usize) -> Shape {
        let Json::Object(map) = schema else { return Shape::Any };
        if depth > MAX_DEPTH || self.left == 0 {
            return Shape::Any;
        }
        self.left -= 1;
        if let Some(target) = map.get("$ref").and_then(Json::as_str) {
            let pointer = target.strip_prefix('#');
            let part = pointer.and_then(|pointer| self.root.pointer(pointer));
            return part.map_or(Shape::Any, |part| self.shape(part, depth + 1));
        }
        if let Some(literal) = map.get("const") {
            return literals(std::slice::from_ref(literal));
        }
        if let Some(Json::Array(all)) = map.get("enum") {
            return literals(all);
        }
        for word in ["anyOf", "oneOf"] {
            if let Some(Json::Array(all)) = map.get(word) {
                let nullable = map.get("nullable").is_some_and(|nullable| nullable == true);
                let members = all.iter().take(MAX_CHOICES).map(|one| self.shape(one, depth + 1));
                return union(members.chain(nullable.then_some(Shape::Null)).collect());
            }
        }
        if let Some(Json::Array(all)) = map.get("allOf") {
            return self.all_of(map, all, depth);
        }
        let shape = match map.get("type") {
            Some(Json::String(kind)) => self.kind(kind, map, depth),
            Some(Json::Array(kinds)) => {
                let kinds = kinds.iter().filter_map(Json::as_str).take(MAX_CHOICES);
                union(kinds.map(|kind| self.kind(kind, map, depth)).collect())
            }
            _ if map.contains_key("properties") => self.kind("object", map, depth),
            _ if map.contains_key("items") => self.kind("array", map, depth),
            _ => Shape::Any,
        };
        match map.get("nullable") {
            Some(Json::Bool(true)) => union(vec![shape, Shape::Null]),
            _ => shape,
        }
    }

    fn kind(&mut self, kind: &str, map: &'a Map<String, Json>, depth: usize) -> Shape {
        match kind {
            "null" => Shape::Null,
            "boolean" => Shape::Boolean,
            "integer" => Shape::Integer,
            "number" => Shape::Number,
            "string" => Shape::Text,
            "array" => {
                let items = map.get("items").map_or(Shape::Any, |items| self.shape(items, depth + 1));
                Shape::List(Box::new(items))
            }
            "object" => self.object(map, depth),
            _ => Shape::Any,
        }
    }

    fn object(&mut self, map: &'a Map<String, Json>, depth: usize) -> Shape {
        let Some(Json::Object(properties)) = map.get("properties") else {
            // At the top it has no arguments.
            let values = map.get("additionalProperties").filter(|values| values.is_object());
            return match values {
                Some(values) => Shape::Map(Box::new(self.shape(values, depth + 1))),
                None if depth == 0 => Shape::Object(Vec::new()),
                None => Shape::Map(Box::new(Shape::Any)),
            };
        };
        let required = map.get("required").and_then(Json::as_array);
        let is_required =
            |name: &str| required.is_some_and(|required| required.iter().take(1_000).any(|one| one == name));
        let fields = properties.iter().take(MAX_FIELDS).map(|(name, schema)| {
            let default = schema.get("default").filter(|default| default.to_string().len() <= MAX_LITERAL);
            Field {
                name: name.clone(),
                shape: self.shape(schema, depth + 1),
                required: is_required(name),
                default: default.cloned(),
                description: schema["description"].as_str().unwrap_or_default().to_owned(),
            }
        });
        Shape::Object(fields.collect())
    }

    /// Objects that are put together; of anything else the first part.
    fn all_of(&mut self, map: &'a Map<String, Json>, all: &'a [Json], depth: usize) -> Shape {
        let mut shapes: Vec<Shape> =
            all.iter().take(MAX_CHOICES).map(|one| self.shape(one, depth + 1)).collect();
        if map.contains_key("properties") {
            shapes.push(self.object(map, depth));
        }
        let mut fields: Vec<Field> = Vec::new();
        let mut first = None;
        for shape in shapes {
            match shape {
                // What stands later says more.
                Shape::Object(more) => {
                    fields.retain(|field| more.iter().all(|other| other.name != field.name));
                    fields.extend(more);
                }
                Shape::Any => {}
                other => {
                    first.get_or_insert(other);
                }
            }
        }
        match (fields.is_empty(), first) {
            (false, _) => {
                fields.truncate(MAX_FIELDS);
                Shape::Object(fields)
            }
            (true, Some(shape)) => shape,
            (true, None) => Shape::Any,
        }
    }
}

fn literals(all: &[Json]) -> Shape {
    let plain = |one: &Json| !one.is_array() && !one.is_object() && one.to_string().len() <= MAX_LITERAL;
    match all.len() <= MAX_CHOICES && !all.is_empty() && all.iter().all(plain) {
        true => Shape::Literals(all.to_vec()),
        false if !all.is_empty() && all.iter().all(Json::is_string) => Shape::Text,
        false => Shape::Any,
    }
}

fn union(members: Vec<Shape>) -> Shape {
    let mut distinct: Vec<Shape> = Vec::new();
    for member in members {
        let further = match member {
            Shape::Union(inner) => inner,
            Shape::Any => return Shape::Any,
            other => vec![other],
        };
        for one in further {
            if !distinct.contains(&one) {
                distinct.push(one);
            }
        }
    }
    match distinct.len() {
        0 => Shape::Any,
        1 => distinct.remove(0),
        _ => Shape::Union(distinct),
    }
}
