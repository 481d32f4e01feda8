//! One request as one call of a tool.

use std::collections::HashSet;
use std::fmt;

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{FromRequestParts as _, RawPathParams, Request};
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use data_encoding::BASE64;
use dormouse_core::sandbox::Owner;
use dormouse_core::{Error, ErrorCode, Result};
use dormouse_tools::{CallContext, MAX_CONTENT, Reply, by_likeness, incoming, unread};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::{Map, Number, Value as Json};

use crate::door::MAX_BODY;
use crate::route::{Form, Route, Source};
use crate::router::Shared;
use crate::status;

/// Fields of a query.
const MAX_FIELDS: usize = 64;

/// Calls the tool of the route.
pub(crate) async fn answer(shared: &Shared, route: &Route, request: Request) -> Response {
    let (mut parts, body) = request.into_parts();
    if let Err(response) = is_of_form(route, &parts) {
        return *response;
    }
    let arguments = match gathered(shared, route, &mut parts, body).await {
        Ok(arguments) => arguments,
        Err(error) => return refused(shared, route, &error),
    };
    match call(shared, route.tool, arguments, &owner(&parts)).await {
        Ok(reply) => status::answer(reply),
        Err(error) => status::refusal(&error),
    }
}

/// Who calls.
pub(crate) fn owner(parts: &Parts) -> Owner {
    parts.extensions.get::<Owner>().cloned().unwrap_or_else(Owner::local)
}

/// Calls a tool for this owner.
pub(crate) async fn call(
    shared: &Shared,
    tool: &str,
    arguments: Map<String, Json>,
    owner: &Owner,
) -> Result<Reply> {
    let context = CallContext::of(owner.clone());
    // Giving a call up drops it, and what it does not need the caller for goes on.
    tokio::select! {
        biased;
        () = shared.closing.cancelled() => shared.surface.refuse_at_end(tool),
        reply = shared.surface.call(tool, arguments, context) => reply,
    }
}

/// The answer of a tool that is not even tried, in its own form.
pub(crate) fn refused(shared: &Shared, route: &Route, error: &Error) -> Response {
    match shared.surface.refuse(route.tool, error) {
        Ok(reply) => status::answer(reply),
        Err(error) => status::refusal(&error),
    }
}

/// A body of JSON says so: a form of a web page cannot.
fn is_of_form(route: &Route, parts: &Parts) -> std::result::Result<(), Box<Response>> {
    let wanted = match route.form {
        Form::Json => "application/json",
        Form::BytesIn => "application/octet-stream",
        Form::BytesOut => return Ok(()),
    };
    let is_plain = |coding: &HeaderValue| coding.as_bytes().eq_ignore_ascii_case(b"identity");
    if parts.headers.get_all(header::CONTENT_ENCODING).iter().any(|coding| !is_plain(coding)) {
        let error =
            Error::args_invalid("the body is compressed").with_hint("send it without `Content-Encoding`");
        return Err(Box::new(status::refusal_as(StatusCode::UNSUPPORTED_MEDIA_TYPE, &error)));
    }
    let Some(given) = parts.headers.get(header::CONTENT_TYPE) else { return Ok(()) };
    let essence = given.to_str().unwrap_or_default().split(';').next().unwrap_or_default().trim();
    if essence.eq_ignore_ascii_case(wanted) {
        return Ok(());
    }
    let error = Error::args_invalid("the body has a content type that this address does not accept")
        .with_hint(format!("send `Content-Type: {wanted}`"));
    Err(Box::new(status::refusal_as(StatusCode::UNSUPPORTED_MEDIA_TYPE, &error)))
}

/// The arguments of a request, each from its place. What the tool does not know is passed on, so that it says so.
async fn gathered(
    shared: &Shared,
    route: &Route,
    parts: &mut Parts,
    body: Body,
) -> Result<Map<String, Json>> {
    let schema = shared.surface.get(route.tool).map(|spec| &spec.input_schema["properties"]);
    let mut arguments = in_path(parts).await?;
    let known = |name: &str| schema.and_then(|schema| schema.get(name)).is_some();
    for (name, text) in in_query(parts)? {
        match route.source(&name) {
            Source::Query if !known(&name) => return Err(unknown(route, &name, schema)),
            Source::Query => {}
            Source::Path | Source::Body | Source::Nowhere => return Err(out_of_place(&name, "query")),
        }
        let kind = schema.and_then(|schema| schema[&name]["type"].as_str()).unwrap_or_default();
        arguments.insert(name, typed(kind, text));
    }
    let bytes = to_bytes(body, MAX_BODY).await.map_err(|_| {
        Error::new(ErrorCode::TooLarge, "the body is too large or broke off")
            .with_hint("send it again, in smaller parts")
    })?;
    match route.form {
        Form::BytesIn => {
            arguments.insert("content_base64".into(), as_base64(bytes).await?.into());
        }
        _ if bytes.is_empty() => {}
        Form::Json if route.source("") == Source::Body => {
            for (name, value) in object(shared, parts, bytes).await? {
                if route.source(&name) == Source::Path {
                    return Err(out_of_place(&name, "body"));
                }
                arguments.insert(name, value);
            }
        }
        Form::Json | Form::BytesOut => {
            return Err(Error::args_invalid("a request with this method has no body")
                .with_hint("give arguments in the query"));
        }
    }
    Ok(arguments)
}

/// A field that a query cannot have, and those that it can.
fn unknown(route: &Route, name: &str, schema: Option<&Json>) -> Error {
    let shown: String = name.escape_debug().take(64).collect();
    let fields = schema.and_then(Json::as_object).into_iter().flat_map(Map::keys);
    let taken = fields.map(String::as_str).filter(|field| route.source(field) == Source::Query);
    let taken: Vec<String> = by_likeness(name, taken).into_iter().map(|field| format!("`{field}`")).collect();
    Error::args_invalid(format!("there is no field `{shown}`")).with_hint(if taken.is_empty() {
        "this request takes no fields in its query".to_owned()
    } else {
        format!("the query can have {}", taken.join(", "))
    })
}

fn out_of_place(name: &str, place: &str) -> Error {
    let shown: String = name.escape_debug().take(64).collect();
    Error::args_invalid(format!("the field `{shown}` is not taken from the {place} here"))
        .with_hint("look at `/openapi.json`")
}

pub(crate) async fn in_path(parts: &mut Parts) -> Result<Map<String, Json>> {
    let found = RawPathParams::from_request_parts(parts, &()).await;
    let found = found.map_err(|_| {
        Error::args_invalid("the path is not UTF-8").with_hint("write it in UTF-8, then as `%XX`")
    })?;
    Ok(found.iter().map(|(name, text)| (name.to_owned(), text.into())).collect())
}

pub(crate) fn in_query(parts: &Parts) -> Result<Vec<(String, String)>> {
    let query = parts.uri.query().unwrap_or_default();
    let (mut pairs, mut names) = (Vec::new(), HashSet::new());
    for (name, text) in form_urlencoded::parse(query.as_bytes()) {
        if pairs.len() == MAX_FIELDS {
            let message = format!("the query has more than {MAX_FIELDS} fields");
            return Err(Error::args_invalid(message).with_hint("look at `/openapi.json`"));
        }
        if !names.insert(name.clone()) {
            return Err(Error::args_invalid("the query has a field twice").with_hint("give each field once"));
        }
        pairs.push((name.into_owned(), text.into_owned()));
    }
    Ok(pairs)
}

/// A text of the query as the tool's schema wants it. What is not of its type stays text, which the tool refuses.
pub(crate) fn typed(kind: &str, text: String) -> Json {
    match (kind, text.as_str()) {
        ("integer" | "number", digits) => match (digits.parse::<u64>(), digits.parse::<Number>()) {
            (Ok(whole), _) => whole.into(),
            // One that is out of range is told so.
            (_, Ok(number)) => number.into(),
            _ => text.into(),
        },
        ("boolean", "true") => true.into(),
        ("boolean", "false") => false.into(),
        _ => text.into(),
    }
}

/// The body of a file, as the tool takes it. What is too large is refused before it is written out.
async fn as_base64(bytes: Bytes) -> Result<String> {
    if bytes.len() > MAX_CONTENT {
        let message = format!("the body has {} bytes, at most {MAX_CONTENT} are taken", bytes.len());
        return Err(Error::new(ErrorCode::TooLarge, message)
            .with_hint("send it in pieces, with the `offset` where each starts in the query"));
    }
    if bytes.len() <= incoming::AT_ONCE {
        return Ok(BASE64.encode(&bytes));
    }
    let written = tokio::task::spawn_blocking(move || BASE64.encode(&bytes)).await;
    written.map_err(|error| Error::internal("the body was not read", error))
}

async fn object(shared: &Shared, parts: &Parts, bytes: Bytes) -> Result<Map<String, Json>> {
    if !parts.headers.contains_key(header::CONTENT_TYPE) {
        return Err(Error::args_invalid("the body has no content type")
            .with_hint("send `Content-Type: application/json`"));
    }
    let places = shared.surface.owners().of(&owner(parts));
    incoming::read(bytes, places, fields).await?
}

/// The fields of a body, each of which may be there once.
pub(crate) fn fields(text: &[u8]) -> Result<Map<String, Json>> {
    let fields: Fields =
        serde_json::from_slice(text).map_err(|error| unread::refusal("body", text, &error))?;
    match fields.twice {
        false => Ok(fields.all),
        true => Err(Error::args_invalid("the body has a field twice").with_hint("give each field once")),
    }
}

/// The fields of a body.
#[derive(Default)]
struct Fields {
    all: Map<String, Json>,
    /// Whether one of them stands there twice.
    twice: bool,
}

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> std::result::Result<Self, D::Error> {
        reader.deserialize_map(Self::default())
    }
}

impl<'de> Visitor<'de> for Fields {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut entries: A) -> std::result::Result<Self, A::Error> {
        while let Some((name, value)) = entries.next_entry()? {
            self.twice |= self.all.insert(name, value).is_some();
        }
        Ok(self)
    }
}
