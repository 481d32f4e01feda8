//! One bound for a whole report: past it, texts of tools are cut much shorter, the latest first.

use serde_json::Value as Json;

use super::record::{RepetitionRecord, Step};
use super::text::Text;

/// Bytes of texts that one report keeps in full size (32 MiB).
const MOST: usize = 32 << 20;
/// Bytes that are kept of each text past that.
const AFTER: usize = 512;

/// Counts a repetition's texts against what there is room for, and cuts them where there is none.
pub(crate) fn bound(repetition: &mut RepetitionRecord, used: &mut usize) {
    for step in repetition.turns.iter_mut().flat_map(|turn| turn.steps.iter_mut()) {
        match step {
            Step::Said { text, .. } => take(text, used),
            Step::Called(call) => {
                take(&mut call.arguments, used);
                take(&mut call.output, used);
                take_json(&mut call.structured, &mut call.structured_cut, used);
            }
        }
    }
    for details in repetition.gates.iter_mut().map(|gate| &mut gate.details) {
        [&mut details.arguments, &mut details.output].into_iter().flatten().for_each(|text| take(text, used));
        take_json(&mut details.payload, &mut details.payload_cut, used);
    }
}

fn take(text: &mut Text, used: &mut usize) {
    if used.saturating_add(text.text.len()) > MOST {
        text.shrink(AFTER);
    }
    *used = used.saturating_add(text.text.len());
}

/// The same for JSON: what has to be cut is a text from then on.
fn take_json(json: &mut Option<Json>, cut: &mut Option<Text>, used: &mut usize) {
    if let Some(whole) = json.as_ref() {
        let text = whole.to_string();
        if text.len() > AFTER && used.saturating_add(text.len()) > MOST {
            (*json, *cut) = (None, Some(Text { text, omitted_bytes: 0 }));
        } else {
            *used = used.saturating_add(text.len());
        }
    }
    if let Some(cut) = cut {
        take(cut, used);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_past_the_bound_becomes_a_text_that_is_cut() {
        let json = Json::from("x".repeat(AFTER * 2));
        let (mut whole, mut cut, mut used) = (Some(json.clone()), None, 0);
        take_json(&mut whole, &mut cut, &mut used);
        assert_eq!((whole.as_ref(), cut.as_ref(), used), (Some(&json), None, AFTER * 2 + 2));
        let mut used = MOST;
        take_json(&mut whole, &mut cut, &mut used);
        assert!(whole.is_none() && cut.is_some_and(|cut| cut.omitted_bytes > 0));
        let (mut whole, mut cut) = (Some(Json::Bool(true)), None);
        take_json(&mut whole, &mut cut, &mut used);
        assert_eq!((whole, cut), (Some(Json::Bool(true)), None));
    }
}
