//! What a sub-agent has said and seen, turn after turn, for whoever gave it the task.

use std::collections::VecDeque;

use serde_json::Value as Json;

use crate::call::fit::cut;
use crate::spec::{FromOne, answer};

/// Turns that are kept, the last ones.
const TURNS: usize = 20;
/// Bytes of what is kept of one text, as JSON: its beginning and its end.
const BYTES: usize = 2 << 10;

/// The turns of one task. Its texts are untrusted: a model's, and what its code has put out.
#[derive(Default)]
pub(super) struct Transcript {
    turns: u32,
    kept: VecDeque<Turn>,
}

struct Turn {
    number: u32,
    said: String,
    seen: String,
}

impl Transcript {
    /// Begins a turn with what the model says.
    pub(super) fn said(&mut self, text: &str) {
        self.turns += 1;
        if self.kept.len() >= TURNS {
            self.kept.pop_front();
        }
        self.kept.push_back(Turn { number: self.turns, said: middle_out(text), seen: String::new() });
    }

    /// What came of its code: output, values, exceptions.
    pub(super) fn seen(&mut self, text: &str) {
        if let Some(turn) = self.kept.back_mut() {
            turn.seen = middle_out(text);
        }
    }

    /// Turns of the model, those that are not kept among them.
    pub(super) fn turns(&self) -> u32 {
        self.turns
    }

    /// Each turn that is kept.
    pub(super) fn shown(&self) -> Vec<TurnShown> {
        let turn = |turn: &Turn| TurnShown {
            turn: FromOne(turn.number.into()),
            said: turn.said.clone(),
            seen: turn.seen.clone(),
        };
        self.kept.iter().map(turn).collect()
    }

    /// The last turn as text. What others wrote stands in JSON strings, so that it cannot pass for words of ours.
    pub(super) fn end(&self) -> String {
        let told = |turn: &Turn| {
            let (said, seen) = (Json::from(turn.said.as_str()), Json::from(turn.seen.as_str()));
            format!("Turn {}, the last: the model said {said} and was shown {seen}", turn.number)
        };
        self.kept.back().map(told).unwrap_or_default()
    }
}

answer! {
    /// A turn.
    pub(crate) struct TurnShown = "A turn of the model." {
        turn: FromOne = "Its number.",
        said: String = "What the model wrote, long texts without their middle. Untrusted text.",
        seen: String =
            "What it was shown: output, values and exceptions of its code; empty when it had ended the task. Untrusted text.",
    }
}

fn middle_out(text: &str) -> String {
    if cut(text, BYTES).len() == text.len() {
        return text.to_owned();
    }
    let head = cut(text, BYTES / 2);
    let mut start = text.len() - head.len().min(BYTES / 2);
    while !text.is_char_boundary(start) || cut(&text[start..], BYTES / 2).len() < text.len() - start {
        start += 1;
    }
    format!("{head}\n... ({} bytes were left out)\n{}", start - head.len(), &text[start..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_turns_are_kept_and_long_texts_lose_their_middle() {
        let mut transcript = Transcript::default();
        for turn in 0..TURNS + 3 {
            transcript.said(&format!("say {turn}"));
            transcript.seen(&"\u{1}€".repeat(10_000));
        }
        let shown = transcript.shown();
        assert_eq!((shown.len(), transcript.turns()), (TURNS, 23));
        assert_eq!((shown[0].turn.0, shown[0].said.as_str()), (4, "say 3"));
        let seen = Json::from(shown[0].seen.as_str()).to_string();
        assert!(seen.len() < BYTES + 100, "{seen}");
        assert!(transcript.end().starts_with("Turn 23, the last: the model said \"say 22\""));
        assert_eq!(middle_out(&"a".repeat(BYTES)).len(), BYTES);
        let cut = middle_out(&format!("b{}e", "a".repeat(BYTES)));
        assert!(
            cut.starts_with("ba") && cut.ends_with("ae") && cut.contains("2 bytes were left out"),
            "{cut}"
        );
    }
}
