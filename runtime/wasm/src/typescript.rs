//! TypeScript becomes JavaScript by blanking out its types: every other character keeps its line and column.
//!
//! The parser runs on the host, so its input is bounded. It recurses with the nesting of the source, on a thread whose stack
//! is large enough for the deepest source there can be, and it takes quadratic time for some nestings, so brackets nest
//! at most 512 deep and at most two parsers run at one time. A run that waits longer than its limit is told so; its parser
//! goes on to its end, which is seconds for the worst source we know.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use dormouse_core::{Captured, Error, ErrorCode, EvalRequest, Exception, Outcome, Result, Status, Usage};
use swc_common::errors::{DiagnosticBuilder, Emitter, Handler};
use swc_common::sync::Lrc;
use swc_common::{GLOBALS, Globals, SourceMap};
use swc_ts_fast_strip::{Mode, Options, operate};
use tokio::sync::Semaphore;

use crate::trap;

/// Largest TypeScript source, in bytes.
pub(crate) const MAX_SOURCE: usize = 128 << 10;
/// Deepest nesting of brackets.
const MAX_NESTING: usize = 512;
/// Parsers that may run at one time.
static PARSERS: Semaphore = Semaphore::const_new(2);
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
    /// The run's time was over first.
    Late(Error),
}

/// Strips the types of a request's code.
///
/// # Errors
/// `too_large` for a source past the bounds.
pub(crate) async fn strip(request: &EvalRequest) -> Result<Stripped> {
    check(&request.code)?;
    match tokio::time::timeout(request.limits.wall, parse(&request.code, &request.name)).await {
        Ok(stripped) => stripped,
        Err(_) => Ok(Stripped::Late(trap::time(&request.limits))),
    }
}

/// Refuses what would take the parser too long.
fn check(code: &str) -> Result<()> {
    let refuse = |what: String| {
        Error::new(ErrorCode::TooLarge, what).with_hint("compile large programs to JavaScript first")
    };
    if code.len() > MAX_SOURCE {
        return Err(refuse(format!(
            "the source has {} bytes, at most {MAX_SOURCE} of TypeScript are taken",
            code.len()
        )));
    }
    let mut depth = 0usize;
    for byte in code.bytes() {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MAX_NESTING {
            return Err(refuse(format!("the source nests brackets more than {MAX_NESTING} deep")));
        }
    }
    Ok(())
}

async fn parse(code: &str, name: &str) -> Result<Stripped> {
    let permit = PARSERS.acquire().await.map_err(|error| Error::internal("the parsers are closed", error))?;
    let (code, name) = (code.to_owned(), name.to_owned());
    let (done, result) = tokio::sync::oneshot::channel();
    std::thread::Builder::new()
        .name("dormouse-typescript".into())
        .stack_size(STACK_BASE + code.len().saturating_mul(STACK_PER_BYTE))
        .spawn(move || {
            let _permit = permit;
            let _ = done.send(operate_on(code, &name));
        })
        .map_err(|error| Error::internal("no thread for the TypeScript parser", error))?;
    result.await.map_err(|error| Error::internal("the TypeScript parser crashed", error))
}

/// The outcome of a source that never ran.
pub(crate) fn refused(status: Status, begin: Instant) -> Outcome {
    Outcome {
        status,
        stdout: Captured::default(),
        stderr: Captured::default(),
        usage: Usage { wall: begin.elapsed(), ..Usage::default() },
        provider: crate::PROVIDER,
        fallback_from: None,
        recovery: None,
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
        code: None,
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
        let Stripped::Code(code) = strip_text("const x: number = 1;\nx as any").await else {
            panic!("refused")
        };
        assert_eq!(code, "const x         = 1;\nx       ");
    }

    #[tokio::test]
    async fn what_cannot_be_blanked_is_a_syntax_error_with_its_place() {
        let Stripped::Invalid(error) = strip_text("1;\nenum A { b }").await else { panic!("taken") };
        assert_eq!((error.class.as_str(), error.line, error.column), ("SyntaxError", Some(2), Some(1)));
        assert!(!error.message.is_empty());
    }

    /// The parser recurses; its stack is made for the deepest source that the bounds allow.
    #[tokio::test(flavor = "multi_thread")]
    async fn hostile_nesting_neither_crashes_nor_hangs_the_host() {
        let most = MAX_SOURCE;
        let deep = [
            "(".repeat(MAX_NESTING),
            "a<(".repeat(MAX_NESTING),
            "async(".repeat(MAX_NESTING),
            "{".repeat(MAX_NESTING),
            "!".repeat(most - 1) + "1",
            "a+".repeat(most / 2 - 1) + "a",
            "a?".repeat(most / 4) + &":b".repeat(most / 4),
            "x as ".repeat(most / 5),
            "type A = ".to_owned() + &"A<".repeat(4_000),
            "()=>".repeat(most / 4),
            "if(a)".repeat(most / 5),
        ];
        for code in deep {
            let begin = code.chars().take(8).collect::<String>();
            let stripped = strip_text(code).await;
            assert!(!matches!(stripped, Stripped::Late(_)), "{begin}");
        }
    }

    #[tokio::test]
    async fn a_source_past_the_bounds_is_refused_before_it_is_parsed() {
        for code in [" ".repeat(MAX_SOURCE + 1), "[".repeat(MAX_NESTING + 1)] {
            let refused = strip(&EvalRequest::new(Language::typescript(), code)).await;
            assert_eq!(refused.err().map(|error| error.code()), Some(ErrorCode::TooLarge));
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_parser_that_takes_longer_than_the_run_may_is_not_waited_for() {
        let mut request = EvalRequest::new(Language::typescript(), "<T>".repeat(20_000));
        request.limits.wall = std::time::Duration::from_millis(50);
        assert!(matches!(strip(&request).await, Ok(Stripped::Late(_))));
    }
}
