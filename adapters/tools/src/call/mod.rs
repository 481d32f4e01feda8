//! A call: who makes it, what it may have meanwhile, and how its answer is written.
//!
//! | step | module |
//! | --- | --- |
//! | the JSON that callers send, measured before it is read; why it cannot be read | [`incoming`], [`unread`] |
//! | what one owner may have in progress | [`places`] |
//! | an outcome or an error as structured content and text | [`encode`], `fit` |
//! | that another provider has answered | `fallback` |
//! | that what a call did could not be saved | [`unsaved`] |
//! | the names of tools in hints, in the words of each door | `hints` |

pub mod encode;
pub(crate) mod fallback;
pub(crate) mod fit;
pub(crate) mod hints;
pub mod incoming;
pub mod places;
pub(crate) mod plain;
pub mod unread;
pub mod unsaved;

use std::sync::Arc;

use dormouse_core::sandbox::Owner;
use dormouse_core::{Approver, MeteredModel, Model, OutputSink};
use serde_json::{Map, Value as Json};

use crate::spec::{Answered, ErrorFields};

/// Who calls, and where output goes meanwhile.
#[derive(Clone)]
pub struct CallContext {
    /// Whose sandboxes are meant, and who pays; goes to the log. Default [`Owner::local`].
    pub owner: Owner,
    /// Receives output while the call runs. Default none.
    pub output: Option<Arc<dyn OutputSink>>,
    /// The model that the caller offers, for where the operator has named none. Default none.
    pub model: Option<Arc<dyn Model>>,
    /// Who is asked whether a program may call a tool of another server. Default nobody.
    pub approver: Option<Arc<dyn Approver>>,
}

impl CallContext {
    /// A call of this owner, without output on the way, without a model, and with nobody to ask.
    pub fn of(owner: Owner) -> Self {
        Self { owner, output: None, model: None, approver: None }
    }
}

impl Default for CallContext {
    fn default() -> Self {
        Self::of(Owner::local())
    }
}

/// The answer to a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// One JSON object that fulfils the tool's output schema.
    pub structured: Json,
    /// The same for readers of text: the JSON, or `Error: <message>` with a hint. At most 256 KiB.
    pub text: String,
    /// Whether the call was refused, or its run ended by a limit or a crash. An exception or an exit is no error.
    pub is_error: bool,
}

/// Who calls a verb, and where output goes meanwhile.
pub(crate) struct Caller {
    pub(crate) owner: Owner,
    pub(crate) output: Option<Arc<dyn OutputSink>>,
    /// The language model that the call may use, if there is one.
    pub(crate) model: Option<MeteredModel>,
    /// Who is asked whether a program may call a tool of another server, if anybody is.
    pub(crate) approver: Option<Arc<dyn Approver>>,
}

/// What a verb answers, of the type that its schema is made of.
pub(crate) struct Answer<R> {
    pub(crate) fields: R,
    text: Option<String>,
    error: Option<ErrorFields>,
    is_error: bool,
}

impl<R> Answer<R> {
    /// In other words than the JSON's.
    pub(crate) fn with_text(mut self, text: impl Into<String>) -> Self {
        self.text = Some(text.into());
        self
    }

    /// Of a run that has ended with an error, which stands beside what is told of the run.
    pub(crate) fn stopped_by(mut self, error: ErrorFields) -> Self {
        self.error = Some(error);
        self.failed()
    }

    /// Of work that was done and shows something wrong, such as a test that fails.
    pub(crate) fn failed(mut self) -> Self {
        self.is_error = true;
        self
    }
}

impl<R> From<R> for Answer<R> {
    fn from(fields: R) -> Self {
        Self { fields, text: None, error: None, is_error: false }
    }
}

impl<R: Answered> Answer<R> {
    /// The reply. `tells_none`: a call that went well says `error: null`.
    pub(crate) fn reply(self, tells_none: bool) -> Reply {
        let mut fields: Map<String, Json> = self.fields.into_fields();
        if self.error.is_some() || tells_none {
            fields.insert("error".into(), self.error.map(ErrorFields::into_json).unwrap_or_default());
        }
        let structured = Json::Object(fields);
        let text = self.text.unwrap_or_else(|| structured.to_string());
        Reply { structured, text, is_error: self.is_error }
    }
}
