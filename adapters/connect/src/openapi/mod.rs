//! HTTP APIs that an OpenAPI document describes, as servers with a tool for each operation.
//!
//! | step | module |
//! | --- | --- |
//! | the document: a file or an address, JSON or YAML, bounded | `document` |
//! | its operations as tools | `operation` |
//! | schemas that stand by themselves | `schema` |
//! | a call as a request | `request` |
//! | the endpoint: requests that are sent, responses as answers | `api` |

mod api;
mod document;
mod operation;
mod request;
mod schema;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use dormouse_core::{Error, Result};
use dormouse_sources::{Opened, Outside, Place};

use self::api::Api;

/// An OpenAPI document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Document {
    /// Its text, JSON or YAML, at most 16 MiB.
    Text(String),
    /// Where it is. It is fetched when the API is used first.
    Address(String),
}

/// Reads a document, and makes a server of it. Nothing of the API is asked.
///
/// # Errors
/// `args_invalid` for what is no OpenAPI 3 document, or says not where the API is; `too_large`; `provider_unavailable` when its address
/// cannot be reached.
pub(crate) async fn open(
    document: &Document,
    base_url: Option<&str>,
    headers: &BTreeMap<String, String>,
    outside: &Outside,
) -> Result<Opened> {
    let (value, from) = document::read(document, base_url, headers, outside).await?;
    let set = &outside.errand.set;
    let with_headers = !headers.is_empty() || !set.is_empty();
    let (base, is_named) = document::base(&value, base_url, from.as_ref(), with_headers)?;
    let given = headers.keys().chain(set.keys()).map(|name| name.to_ascii_lowercase()).collect();
    let operations = operation::all(&value, &given)?;
    if operations.is_empty() {
        return Err(Error::args_invalid("the OpenAPI document has no operation that can be called"));
    }
    let place = if is_named {
        Place::new(base.as_str(), headers, outside)?
    } else {
        // Whoever wrote the document does not send this machine into the networks behind it.
        Place::outer(base.as_str(), headers, outside)
            .map_err(|error| error.with_hint("if the API is there, give it a `base_url`"))?
    };
    let api = Api::new(place, headers, operations);
    Ok(Opened::new("openapi", Arc::new(api)))
}
