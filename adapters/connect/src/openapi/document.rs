//! The document itself, and where the API is.

use std::collections::BTreeMap;
use std::time::Duration;

use dormouse_core::errand::Errand;
use dormouse_core::{Error, ErrorCode, Result};
use dormouse_sources::{Outside, Place, unreached};
use reqwest::Url;
use serde_json::Value as Json;

use super::Document;

/// Largest document, in bytes (16 MiB).
const MAX_DOCUMENT: usize = 16 << 20;
/// Most values of a YAML document.
const MAX_NODES: usize = 1_000_000;
/// Time for a document at an address.
const PATIENCE: Duration = Duration::from_secs(60);
/// Who is told of.
const WHOM: &str = "the server of the OpenAPI document";

/// Reads a document: its value, and its address if it has one.
pub(super) async fn read(
    document: &Document,
    base_url: Option<&str>,
    headers: &BTreeMap<String, String>,
    outside: &Outside,
) -> Result<(Json, Option<Url>)> {
    let (value, from) = match document {
        Document::Text(text) => (parsed(text)?, None),
        Document::Address(address) => {
            let base = base_url.and_then(|url| Url::parse(url).ok());
            let (bytes, url) = fetched(address, base.as_ref(), headers, outside).await?;
            let text = String::from_utf8(bytes).map_err(|_| wrong("is no text"))?;
            (parsed(&text)?, Some(url))
        }
    };
    match value["openapi"].as_str() {
        Some(version) if version.starts_with("3.") => Ok((value, from)),
        Some(_) => Err(wrong("is of another version than 3")),
        None if value.get("swagger").is_some() => {
            Err(wrong("is of version 2").with_hint("convert it to OpenAPI 3"))
        }
        None => Err(wrong("is none: it has no `openapi`")),
    }
}

/// The address of the API, and whether the operator wrote its host: as `base_url`, or as where the document is.
pub(super) fn base(
    value: &Json,
    given: Option<&str>,
    from: Option<&Url>,
    with_headers: bool,
) -> Result<(Url, bool)> {
    let hint = "give it a `base_url`";
    if let Some(given) = given {
        let url = Url::parse(given).map_err(|_| Error::args_invalid("the `base_url` cannot be read"))?;
        return Ok((url, true));
    }
    let server = &value["servers"][0];
    let mut url = server["url"].as_str().unwrap_or("/").to_owned();
    for (name, variable) in server["variables"].as_object().into_iter().flatten().take(20) {
        url = url.replace(&format!("{{{name}}}"), variable["default"].as_str().unwrap_or_default());
    }
    let joined = match from {
        Some(from) => from.join(&url).ok(),
        None => Url::parse(&url).ok(),
    };
    let found = joined.filter(|url| matches!(url.scheme(), "http" | "https") && url.host_str().is_some());
    let Some(found) = found else {
        return Err(wrong("does not say where the API is").with_hint(hint));
    };
    // Who wrote a document somewhere does not say where this operator's credentials go.
    match from {
        Some(from) if with_headers && from.origin() != found.origin() => {
            Err(wrong("names another server than its own, and there are headers").with_hint(hint))
        }
        _ => {
            let is_named = from.is_some_and(|from| from.host_str() == found.host_str());
            Ok((found, is_named))
        }
    }
}

/// Headers go along to the server of the API alone.
async fn fetched(
    document: &str,
    base: Option<&Url>,
    headers: &BTreeMap<String, String>,
    outside: &Outside,
) -> Result<(Vec<u8>, Url)> {
    let none = BTreeMap::new();
    let url = Url::parse(document)
        .map_err(|_| Error::args_invalid("the address of the OpenAPI document cannot be read"))?;
    let is_same = base.is_none_or(|base| base.origin() == url.origin());
    let plain = outside.with(Errand { set: BTreeMap::new(), ..outside.errand.clone() });
    let (headers, outside) = if is_same { (headers, outside) } else { (&none, &plain) };
    let place = Place::new(document, headers, outside)?;
    let request = place.client.get(place.url.clone()).headers(place.headers.clone());
    let asked = async {
        let response = place.send(request).await.map_err(|error| unreached(error, WHOM))?;
        if !response.status().is_success() {
            let status = response.status().as_u16();
            return Err(Error::new(
                ErrorCode::ProviderUnavailable,
                format!("{WHOM} answered with HTTP status {status}"),
            ));
        }
        body(response, MAX_DOCUMENT).await?.ok_or_else(too_large)
    };
    let bytes = tokio::time::timeout(PATIENCE, asked).await;
    let late = || {
        Error::new(
            ErrorCode::ProviderUnavailable,
            format!("{WHOM} gave no answer for {} s", PATIENCE.as_secs()),
        )
    };
    Ok((bytes.map_err(|_| late())??, url))
}

/// A whole body. None: it has more bytes than `most`.
pub(super) async fn body(mut response: reqwest::Response, most: usize) -> Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    while let Some(piece) = response.chunk().await.map_err(|error| unreached(error, "the server"))? {
        if bytes.len() + piece.len() > most {
            return Ok(None);
        }
        bytes.extend_from_slice(&piece);
    }
    Ok(Some(bytes))
}

/// JSON, else YAML.
pub(super) fn parsed(text: &str) -> Result<Json> {
    if text.len() > MAX_DOCUMENT {
        return Err(too_large());
    }
    if text.trim_start().starts_with('{')
        && let Ok(value) = serde_json::from_str(text)
    {
        return Ok(value);
    }
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_nodes: MAX_NODES,
            max_events: MAX_NODES * 3,
            max_aliases: 10_000,
            max_anchors: 10_000,
            max_recorded_anchor_events: MAX_NODES,
            max_recorded_anchor_bytes: MAX_DOCUMENT,
            max_documents: 1,
            max_total_scalar_bytes: MAX_DOCUMENT,
            max_depth: 64,
            flow_nesting_limit: 64,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: MAX_NODES,
            max_replay_stack_depth: 8,
            max_alias_expansions_per_anchor: 10_000,
        },
        strict_booleans: true,
        with_snippet: false,
    };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let place = error.location().map(|at| format!(" (line {}, column {})", at.line(), at.column()));
        let told = error.render_with_formatter(&serde_saphyr::UserMessageFormatter);
        let told: String =
            told.lines().next().unwrap_or_default().chars().filter(|c| !c.is_control()).take(200).collect();
        wrong(&format!("cannot be read{}: {told}", place.unwrap_or_default()))
    })
}

fn wrong(what: &str) -> Error {
    Error::args_invalid(format!("the OpenAPI document {what}"))
        .with_hint("name a file or an address of an OpenAPI document of version 3, in JSON or YAML")
}

fn too_large() -> Error {
    Error::new(ErrorCode::TooLarge, format!("the OpenAPI document has more than {MAX_DOCUMENT} bytes"))
}
