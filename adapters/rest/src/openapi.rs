//! The routes as an OpenAPI 3.1 document, made of the tools' own schemas.

use dormouse_core::ErrorCode;
use dormouse_tools::{Surface, ToolSpec};
use serde_json::{Map, Value as Json, json};

use crate::decision;
use crate::route::{Form, Method, ROUTES, Route, Source};

/// What a caller has to know before the first call.
const ABOUT: &str = "Run untrusted Python, JavaScript, TypeScript and PHP in sandboxes that keep their variables and \
files. An exception of a snippet, and a run that a limit ended, are answers with status 200; a request that was refused \
answers with a 4xx or 5xx status and `error`, which has a stable code.";

/// The document.
pub(crate) fn document(surface: &Surface, with_tokens: bool) -> Json {
    let mut paths: Map<String, Json> = Map::new();
    for route in ROUTES {
        let Some(spec) = route.tool(surface) else { continue };
        paths.entry(route.path).or_insert_with(|| json!({}))[method(route.method)] = operation(route, spec);
    }
    if let Some(run) = surface.get("sandbox_run") {
        let operation = decision::operation(&run.output_schema);
        paths.insert(decision::PATH.into(), json!({"post": operation}));
    }
    paths.insert("/health".into(), json!({"get": health()}));
    let mut document = json!({
        "openapi": "3.1.0",
        "info": {"title": "Dormouse", "version": env!("CARGO_PKG_VERSION"), "description": ABOUT},
        "paths": paths,
        "components": {"schemas": {"Refusal": refusal()}},
    });
    if with_tokens {
        document["components"]["securitySchemes"] = json!({"token": {"type": "http", "scheme": "bearer"}});
        document["security"] = json!([{"token": []}]);
    }
    document
}

fn method(method: Method) -> &'static str {
    match method {
        Method::Get => "get",
        Method::Post => "post",
        Method::Put => "put",
        Method::Delete => "delete",
    }
}

fn operation(route: &Route, spec: &ToolSpec) -> Json {
    let fields = spec.input_schema["properties"].as_object();
    let needed = |name: &str| {
        let required = spec.input_schema["required"].as_array();
        required.is_some_and(|required| required.iter().any(|it| it == name))
    };
    let mut parameters = Vec::new();
    let mut members = Map::new();
    for (name, schema) in fields.into_iter().flatten() {
        match route.source(name) {
            Source::Nowhere => {}
            Source::Body => drop(members.insert(name.clone(), schema.clone())),
            Source::Path => parameters.push(parameter(name, "path", true, schema)),
            Source::Query => parameters.push(parameter(name, "query", needed(name), schema)),
        }
    }
    let mut operation = json!({
        "operationId": route.id,
        "summary": spec.title,
        "description": spec.description,
        "responses": responses(route, spec),
    });
    if !parameters.is_empty() {
        operation["parameters"] = parameters.into();
    }
    let required: Vec<&String> = members.keys().filter(|name| needed(name)).collect();
    match route.form {
        Form::BytesIn => {
            operation["requestBody"] = json!({
                "required": true,
                "description": "The bytes of the file, or of a piece of it that begins at `offset`; at most 8 MiB.",
                "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
            });
        }
        Form::Json if !members.is_empty() => {
            let is_required = !required.is_empty();
            let mut schema = json!({"type": "object", "properties": members, "additionalProperties": false});
            if let Some(required) = spec.input_schema["required"].as_array() {
                let of_body =
                    |name: &&Json| name.as_str().is_some_and(|name| route.source(name) == Source::Body);
                schema["required"] = required.iter().filter(of_body).cloned().collect::<Vec<_>>().into();
            }
            operation["requestBody"] =
                json!({"required": is_required, "content": {"application/json": {"schema": schema}}});
        }
        Form::Json | Form::BytesOut => {}
    }
    operation
}

fn parameter(name: &str, place: &str, required: bool, schema: &Json) -> Json {
    json!({
        "name": name,
        "in": place,
        "required": required,
        "description": schema["description"],
        "schema": schema,
    })
}

fn responses(route: &Route, spec: &ToolSpec) -> Json {
    let done = match route.form {
        Form::BytesOut => json!({
            "description": "The bytes of the file.",
            "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
        }),
        Form::Json | Form::BytesIn => json!({
            "description": "The answer.",
            "content": {"application/json": {"schema": spec.output_schema}},
        }),
    };
    let mut responses = Map::new();
    if spec.output_schema["properties"]["created"].is_object() {
        responses.insert("201".into(), done.clone());
    }
    responses.insert("200".into(), done);
    responses.insert("4XX".into(), refused("The request was refused."));
    responses.insert("5XX".into(), refused("The server cannot do it."));
    Json::Object(responses)
}

/// The answer to a request that was refused.
pub(crate) fn refused(what: &str) -> Json {
    let schema = json!({"$ref": "#/components/schemas/Refusal"});
    json!({"description": what, "content": {"application/json": {"schema": schema}}})
}

/// The schema of an answer to a refused request. A tool may add its other fields.
fn refusal() -> Json {
    let codes: Vec<&str> = ErrorCode::ALL.iter().map(|code| code.as_str()).collect();
    json!({
        "type": "object",
        "required": ["error"],
        "properties": {
            "error": {
                "type": "object",
                "required": ["code", "message", "hint"],
                "additionalProperties": false,
                "properties": {
                    "code": {"type": "string", "enum": codes, "description": "Stable name."},
                    "message": {"type": "string", "description": "What happened, with the limit and the value."},
                    "hint": {"type": "string", "description": "What to do about it."},
                },
            },
        },
    })
}

fn health() -> Json {
    let schema = json!({
        "type": "object",
        "required": ["status"],
        "properties": {"status": {"type": "string", "enum": ["ok"]}},
    });
    json!({
        "operationId": "health",
        "summary": "Whether the server answers",
        "security": [],
        "responses": {
            "200": {"description": "It does.", "content": {"application/json": {"schema": schema}}},
            "4XX": refused("The request was refused."),
        },
    })
}
