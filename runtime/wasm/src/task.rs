//! What an instance runs: a snippet, a command line of the shell, or a command of git.

use dormouse_core::{EvalRequest, GuestName, Language, LineRequest, RunContext};

/// One of them, in the form that every guest is called in.
#[derive(Clone)]
pub(crate) struct Task {
    /// The guest that runs it.
    pub(crate) guest: GuestName,
    /// The source text, or the command line.
    pub(crate) code: String,
    /// The name that traces show.
    pub(crate) name: String,
    /// Whether it may make code from text: see [`EvalRequest::allow_eval`].
    pub(crate) allow_eval: bool,
    /// What it runs with.
    pub(crate) context: RunContext,
}

impl Task {
    /// One with default limits and no grants.
    pub(crate) fn new(guest: impl Into<GuestName>, code: impl Into<String>) -> Self {
        let EvalRequest { code, name, allow_eval, context, .. } = EvalRequest::new(Language::python(), code);
        Self { guest: guest.into(), code, name, allow_eval, context }
    }
}

impl From<EvalRequest> for Task {
    fn from(request: EvalRequest) -> Self {
        let EvalRequest { language, code, name, allow_eval, context } = request;
        Self { guest: language.into(), code, name, allow_eval, context }
    }
}

impl From<LineRequest> for Task {
    fn from(request: LineRequest) -> Self {
        let LineRequest { text: code, context } = request;
        Self { guest: GuestName::Shell, code, name: "bash".into(), allow_eval: true, context }
    }
}
