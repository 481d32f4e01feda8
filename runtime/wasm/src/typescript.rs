//! TypeScript becomes JavaScript by blanking out its types: every other character keeps its line and column.
//!
//! The parser runs on the host, so its input is bounded: the source to 256 KiB, its time by the stack and the size. It
//! recurses with the nesting of the source, on a thread whose stack is large enough for the deepest source there can be.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use dormouse_core::{Captured, Error, ErrorCode, EvalRequest, Exception, Outcome, Result, Status, Usage};
use swc_common::errors::{DiagnosticBuilder, Emitter, Handler};
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
    Invalid(Box<Exception>),
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
pub(crate) fn refused(exception: Box<Exception>, begin: Instant) -> Outcome {
    Outcome {
        status: Status::Raised(*exception),
        stdout: Captured::default(),
        stderr: Captured::default(),
        usage: Usage { wall: begin.elapsed(), ..Usage::default() },
        provider: crate::PROVIDER,
    }
}

fn operate_on(code: String, name: &str) -> Stripped {
    let map: Lrc<SourceMap> = Lrc::default();
    let first = Arc::new(Mutex::new(None));
    let emitter = First { map: map.clone(), first: first.clone() };
    let handler = Handler::with_emitter(false, false, Box::new(emitter));
    let options = Options { filename: Some(name.to_owned()), mode: Mode::StripOnly, ..Options::default() };
    let lines = code.clone();
    match GLOBALS.set(&Globals::new(), || operate(&map, &handler, code, options)) {
        Ok(output) => Stripped::Code(output.code),
        Err(error) => {
            let place = first.lock().unwrap_or_else(PoisonError::into_inner).take();
            let place = place.unwrap_or(Place { message: error.message, line: None, column: None });
            Stripped::Invalid(Box::new(exception(name, place, &lines)))
        }
    }
}

/// What the parser said first, and where.
struct Place {
    message: String,
    line: Option<u32>,
    column: Option<u32>,
}

/// Keeps the first diagnostic: the others follow from it.
struct First {
    map: Lrc<SourceMap>,
    first: Arc<Mutex<Option<Place>>>,
}

impl Emitter for First {
    fn emit(&mut self, diagnostic: &mut DiagnosticBuilder<'_>) {
        let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        if first.is_some() {
            return;
        }
        let at = diagnostic.span.primary_span().map(|span| self.map.lookup_char_pos(span.lo));
        let number = |value: usize| u32::try_from(value).ok();
        *first = Some(Place {
            message: diagnostic.message(),
            line: at.as_ref().and_then(|at| number(at.line)),
            column: at.as_ref().and_then(|at| number(at.col.0 + 1)),
        });
    }
}

fn exception(name: &str, place: Place, code: &str) -> Exception {
    let line = place.line.and_then(|line| code.lines().nth(line.checked_sub(1)? as usize));
    Exception {
        class: "SyntaxError".into(),
        message: place.message,
        code: serde_json::Value::Null,
        file: Some(name.to_owned()),
        line: place.line,
        column: place.column,
        stack_trace: Vec::new(),
        excerpt: line.map(|line| line.chars().take(200).collect()),
        traceback: None,
        previous: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use dormouse_core::Language;

    use super::*;

    async fn strip_text(code: impl Into<String>) -> Stripped {
        strip(&EvalRequest::new(Language::typescript(), code)).await.unwrap()
    }

    #[tokio::test]
    async fn types_are_blanked_and_everything_else_keeps_its_place() {
        let Stripped::Code(code) = strip_text("const x: number = 1;\nx as any").await else { panic!("refused") };
        assert_eq!(code, "const x         = 1;\nx       ");
    }

    #[tokio::test]
    async fn what_cannot_be_blanked_is_a_syntax_error_with_its_place() {
        let Stripped::Invalid(error) = strip_text("1;\nenum A { b }").await else { panic!("taken") };
        assert_eq!((error.class.as_str(), error.line, error.column), ("SyntaxError", Some(2), Some(1)));
        assert!(!error.message.is_empty());
    }

    /// The parser recurses; its stack is made for the deepest source that the size allows.
    #[tokio::test(flavor = "multi_thread")]
    async fn hostile_nesting_neither_crashes_nor_hangs_the_host() {
        let most = MAX_SOURCE;
        let deep = [
            "(".repeat(most),
            "[".repeat(most),
            "{".repeat(most),
            "!".repeat(most - 1) + "1",
            "a+".repeat(most / 2 - 1) + "a",
            "a?".repeat(most / 4) + &":b".repeat(most / 4),
            "<T>".repeat(most / 3),
            "x as ".repeat(most / 5),
            "type A = ".to_owned() + &"A<".repeat(most / 2 - 10),
            "`${".repeat(most / 3),
            "()=>".repeat(most / 4),
            "if(a)".repeat(most / 5),
        ];
        for code in deep {
            let begin = code.chars().take(8).collect::<String>();
            let done = tokio::time::timeout(std::time::Duration::from_secs(60), strip_text(code)).await;
            assert!(done.is_ok(), "{begin}");
        }
    }
}
