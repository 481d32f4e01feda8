//! What an endpoint's answer says, whatever its interface.

/// What an endpoint's answer says.
pub(crate) struct Answer {
    /// The text; none when the model wrote none.
    pub(crate) text: Option<String>,
    /// Tokens of the prompt and of the answer.
    pub(crate) tokens: Option<(u64, u64)>,
    /// As [`Completion::is_cut`](dormouse_core::model::Completion::is_cut).
    pub(crate) is_cut: bool,
}
