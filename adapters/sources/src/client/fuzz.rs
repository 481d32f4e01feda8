//! Private readers for the fuzz targets of `tests/fuzz`. No part of the crate's interface: it changes with them.

use dormouse_core::Result;

use super::http::address as parse;
use super::sse::Parser;
use super::wire::{self, Incoming};

/// What a server's message or batch holds, each in words; none when it is no JSON-RPC.
pub fn messages(bytes: &[u8]) -> Option<Vec<String>> {
    let told = |message| match message {
        Incoming::Answer { id, answered } => format!("answer {id} {}", answered.is_ok()),
        Incoming::Asked { id, method } => format!("asked {}", wire::reply(&id, &method)),
        Incoming::Told { method, params } => format!("told {method} {params}"),
    };
    wire::read(bytes).map(|messages| messages.into_iter().map(told).collect())
}

/// The events of a stream that comes in pieces, each as its kind and its data; false after those that came before one that was
/// too long.
pub fn events(pieces: &[&[u8]]) -> (Vec<(String, Vec<u8>)>, bool) {
    let (mut parser, mut events) = (Parser::default(), Vec::new());
    let whole = pieces.iter().all(|piece| parser.feed(piece, &mut events).is_ok());
    (events.into_iter().map(|event| (event.kind, event.data)).collect(), whole)
}

/// The address of a server.
///
/// # Errors
/// `args_invalid` for one that is not http or https, or holds a password.
pub fn address(url: &str) -> Result<String> {
    parse(url).map(|url| url.to_string())
}
