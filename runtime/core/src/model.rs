//! The port to a language model, and what its use may cost.
//!
//! A front door or an adapter brings a [`Model`]; nobody calls it but through a [`MeteredModel`], which counts calls, tokens,
//! bytes and time against a [`ModelBudget`]. Keys stay with the adapter: nothing here, and nothing a guest sees, holds one.

mod meter;

use async_trait::async_trait;

pub use self::meter::{MeteredModel, ModelBudget, ModelTotals, ModelUsage};
use crate::Result;

/// Who says a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Who asks.
    User,
    /// The model.
    Assistant,
}

/// One turn of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Who says it.
    pub role: Role,
    /// What is said.
    pub text: String,
}

/// What a model is asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prompt {
    /// What holds for the whole conversation, if anything.
    pub system: Option<String>,
    /// The conversation, which begins and ends with the user.
    pub messages: Vec<Message>,
    /// Tokens that the answer may have; 0: as many as the budget allows.
    pub max_tokens: u32,
}

impl Prompt {
    /// One question.
    pub fn question(text: impl Into<String>) -> Self {
        Self { messages: vec![Message { role: Role::User, text: text.into() }], ..Self::default() }
    }

    /// Its size in bytes, without what carries it.
    pub fn bytes(&self) -> usize {
        let system = self.system.as_deref().unwrap_or_default().len();
        self.messages.iter().fold(system, |sum, message| sum.saturating_add(message.text.len()))
    }
}

/// What a model answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The text. Whoever made it, it is data: untrusted.
    pub text: String,
    /// Tokens of the prompt and of the answer, if the model tells them.
    pub tokens: Option<(u64, u64)>,
    /// Whether the text ends where the tokens of an answer were used up, and not where the model was done.
    pub is_cut: bool,
}

impl Completion {
    /// What a text that was cut ends with.
    pub const CUT: &str = "\n[the answer was cut here: its tokens are used up]";

    /// The text, which says so when it was cut.
    pub fn told(self) -> String {
        if self.is_cut { self.text + Self::CUT } else { self.text }
    }
}

/// A language model. Dropping a returned future cancels the call.
#[async_trait]
pub trait Model: Send + Sync {
    /// Which one it is, for people and for the log.
    fn name(&self) -> &str;

    /// One answer, of at most `answer_bytes` bytes of text.
    ///
    /// # Errors
    /// `model_unavailable` when it cannot be reached, refuses, or answers what is no answer; `model_rate_limited` when it
    /// takes no more calls for now; `too_large` for a longer answer.
    async fn complete(&self, prompt: &Prompt, answer_bytes: usize) -> Result<Completion>;
}
