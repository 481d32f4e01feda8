//! Where characters, words and sentences end.

use icu_segmenter::{GraphemeClusterSegmenter, SentenceSegmenter, WordSegmenter};

/// Set where a segment is like a word.
const WORD: u32 = 1 << 31;

/// The ends of all segments, in units of UTF-16; `kind` as `native_segments` has it.
pub(super) fn ends(kind: u32, units: &[u16]) -> Vec<u32> {
    let place = |end: usize| u32::try_from(end).unwrap_or(u32::MAX) & !WORD;
    match kind {
        0 => GraphemeClusterSegmenter::new().segment_utf16(units).map(place).filter(|end| *end > 0).collect(),
        1 => {
            let words = WordSegmenter::new_auto(Default::default());
            let mut found = Vec::new();
            let mut breaks = words.segment_utf16(units);
            while let Some(end) = breaks.next() {
                if end > 0 {
                    found.push(place(end) | if breaks.is_word_like() { WORD } else { 0 });
                }
            }
            found
        }
        _ => SentenceSegmenter::new(Default::default())
            .segment_utf16(units)
            .map(place)
            .filter(|end| *end > 0)
            .collect(),
    }
}
