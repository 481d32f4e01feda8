//! One bound for a whole report: past it, texts of tools are cut much shorter, the latest first.

use super::record::{RepetitionRecord, Step};
use super::text::Text;

/// Bytes of texts that one report keeps in full size (32 MiB).
const MOST: usize = 32 << 20;
/// Bytes that are kept of each text past that.
const AFTER: usize = 512;

/// Counts a repetition's texts against what there is room for, and cuts them where there is none.
pub(crate) fn bound(repetition: &mut RepetitionRecord, used: &mut usize) {
    let steps = repetition.turns.iter_mut().flat_map(|turn| turn.steps.iter_mut());
    let of_steps = steps.flat_map(|step| match step {
        Step::Said { text, .. } => vec![text],
        Step::Called(call) => {
            [&mut call.arguments, &mut call.output].into_iter().chain(call.structured.as_mut()).collect()
        }
    });
    let of_gates = repetition.gates.iter_mut().flat_map(|gate| {
        let details = &mut gate.details;
        [&mut details.arguments, &mut details.output, &mut details.payload].into_iter().flatten()
    });
    for text in of_steps.chain(of_gates) {
        take(text, used);
    }
}

fn take(text: &mut Text, used: &mut usize) {
    if used.saturating_add(text.text.len()) > MOST {
        text.shrink(AFTER);
    }
    *used = used.saturating_add(text.text.len());
}
