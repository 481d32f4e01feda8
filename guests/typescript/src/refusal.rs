//! Why a source is refused: the first thing that the parser said, because the others follow from it.

use std::sync::{Arc, Mutex, PoisonError};

use swc_common::errors::{DiagnosticBuilder, Emitter, Handler};
use swc_common::sync::Lrc;
use swc_common::{Loc, SourceMap};

/// What is wrong, and where.
#[derive(Clone)]
pub(crate) struct Refusal {
    pub(crate) message: String,
    /// Line and column, from 1.
    pub(crate) place: Option<(u32, u32)>,
}

impl Refusal {
    /// A place as it is told.
    pub(crate) fn place(at: &Loc) -> Option<(u32, u32)> {
        Some((u32::try_from(at.line).ok()?, u32::try_from(at.col.0 + 1).ok()?))
    }
}

/// Keeps the first diagnostic of a run of swc.
pub(crate) struct Diagnostics {
    pub(crate) handler: Handler,
    first: Arc<Mutex<Option<Refusal>>>,
}

impl Diagnostics {
    pub(crate) fn new(map: &Lrc<SourceMap>) -> Self {
        let first = Arc::new(Mutex::new(None));
        let keep = Keep { map: map.clone(), first: first.clone() };
        Self { handler: Handler::with_emitter(false, false, Box::new(keep)), first }
    }

    /// The first one; without any, `otherwise`.
    pub(crate) fn first(&self, otherwise: &str) -> Refusal {
        let first = self.first.lock().unwrap_or_else(PoisonError::into_inner).clone();
        first.unwrap_or_else(|| Refusal { message: otherwise.to_owned(), place: None })
    }
}

struct Keep {
    map: Lrc<SourceMap>,
    first: Arc<Mutex<Option<Refusal>>>,
}

impl Emitter for Keep {
    fn emit(&mut self, diagnostic: &mut DiagnosticBuilder<'_>) {
        let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        if first.is_some() {
            return;
        }
        let place = diagnostic
            .span
            .primary_span()
            .and_then(|span| Refusal::place(&self.map.lookup_char_pos(span.lo)));
        *first = Some(Refusal { message: diagnostic.message(), place });
    }
}
