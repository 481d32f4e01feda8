//! Private doors for the fuzz targets of `tests/fuzz`. No part of the crate's interface: it changes with them.

use std::sync::Arc;

use dormouse_core::Result;
use tokio::io::DuplexStream;

use crate::gate::{Gate, Options};
use crate::policy::Protocol;
use crate::secrets::{Frames, Washer, forms_of};

/// A gate whose connections lead to these servers in memory. TLS is left out where it would be spoken; nothing is looked up.
///
/// # Errors
/// As [`Gate::open`].
pub async fn gate(
    options: Options,
    server: impl Fn(&str, u16, Protocol) -> DuplexStream + Send + Sync + 'static,
) -> Result<Arc<Gate>> {
    let memory =
        move |place: &crate::upstream::Place| server(&place.host.to_string(), place.port, place.protocol);
    Gate::over(options, Some(Arc::new(memory))).await
}

/// What is passed on of the frames of a WebSocket, with stars in place of a value, when they come in these pieces. None: they cannot be
/// looked into.
pub fn frames<'a>(value: &str, pieces: impl Iterator<Item = &'a [u8]>) -> Option<Vec<u8>> {
    let mut frames = Frames::new(Washer::new(Arc::new(forms_of(&[value.to_owned()]))));
    let mut out = Vec::new();
    for piece in pieces {
        out.extend(frames.push(piece).ok()?);
    }
    out.extend(frames.end());
    Some(out)
}
