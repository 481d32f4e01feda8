//! TypeScript becomes JavaScript by blanking out its types: every other character keeps its line and column.
//!
//! The parser runs on the host, so its input is bounded: the source to 256 KiB, its time by the stack and the size. It
//! recurses with the nesting of the source, on a thread whose stack is large enough for the deepest source there can be.

use std::time::Instant;

use dormouse_core::{Captured, Error, ErrorCode, EvalRequest, Exception, Outcome, Result, Status, Usage};
use swc_common::errors::{ColorConfig, Handler};
use swc_common::sync::Lrc;
use swc_common::{GLOBALS, Globals, SourceMap};
use swc_ts_fast_strip::{Mode, Options, operate};

/// Largest TypeScript source, in bytes.
pub(crate) const MAX_SOURCE: usize = 256 << 10;
/// Stack of the parser's thread for each byte of source: one nested expression takes about 12 frames a byte.
const STACK_PER_BYTE: usize = 8 << 10;
/// Stack for what does not depend on the source.
const STACK_BASE: usize = 4 << 20;

/// What became of a source.
pub(crate) enum Stripped {
    /// JavaScript.
    Code(String),
    /// It is not TypeScript, or uses what cannot be blanked out (enums, namespaces, parameter properties).
    Invalid(Exception),
}

/// Strips the types of a request's code.
///
/// # Errors
/// `too_large` for a source past the bound.
pub(crate) async fn strip(request: &EvalRequest) -> Result<Stripped> {
    if request.code.len() > MAX_SOURCE {
        return Err(Error::new(
            ErrorCode::TooLarge,
            format!(
                "the source has {} bytes, at most {MAX_SOURCE} of TypeScript are taken",
                request.code.len()
            ),
        )
        .with_hint("compile large programs to JavaScript first"));
    }
    let (code, name) = (request.code.clone(), request.name.clone());
    let (done, result) = tokio::sync::oneshot::channel();
    std::thread::Builder::new()
        .name("dormouse-typescript".into())
        .stack_size(STACK_BASE + code.len().saturating_mul(STACK_PER_BYTE))
        .spawn(move || {
            let _ = done.send(operate_on(code, &name));
        })
        .map_err(|error| Error::internal("no thread for the TypeScript parser", error))?;
    result.await.map_err(|error| Error::internal("the TypeScript parser crashed", error))
}

/// The outcome of a source that was refused: an exception of the guest's kind, with nothing run.
pub(crate) fn refused(exception: Exception, begin: Instant) -> Outcome {
    Outcome {
        status: Status::Raised(exception),
        stdout: Captured::default(),
        stderr: Captured::default(),
        usage: Usage { wall: begin.elapsed(), ..Usage::default() },
        provider: crate::PROVIDER,
    }
}

fn operate_on(code: String, name: &str) -> Stripped {
    let map: Lrc<SourceMap> = Lrc::default();
    let handler = Handler::with_emitter_writer(Box::new(std::io::sink()), Some(map.clone()));
    let _ = ColorConfig::Never;
    let options = Options { filename: Some(name.to_owned()), mode: Mode::StripOnly, ..Options::default() };
    match GLOBALS.set(&Globals::new(), || operate(&map, &handler, code, options)) {
        Ok(output) => Stripped::Code(output.code),
        Err(error) => Stripped::Invalid(exception(name, &format!("{error:?}"))),
    }
}

fn exception(name: &str, message: &str) -> Exception {
    Exception {
        class: "SyntaxError".into(),
        message: message.to_owned(),
        code: serde_json::Value::Null,
        file: Some(name.to_owned()),
        line: None,
        column: None,
        stack_trace: Vec::new(),
        excerpt: None,
        traceback: None,
        previous: Vec::new(),
    }
}
