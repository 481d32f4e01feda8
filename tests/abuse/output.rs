//! Output and values: whatever is written or returned arrives bounded, counted and as data.

mod javascript;
mod php;
mod python;

use dormouse::Outcome;
use dormouse_tests::attack::Attack;
use dormouse_tests::case::case;
use dormouse_tests::ending::{assert_ends, exception, value};
use dormouse_tests::served::Served;
use dormouse_tests::{JAVASCRIPT, PHP, PYTHON, binary, sandbox};
use serde_json::json;

/// Bytes of each stream that are kept by default (S1-16).
const KEPT: usize = 16 << 10;
const GIB: u64 = 1 << 30;

/// Every stream is cut at the limit, on a character, and what was dropped is counted.
fn counted(outcome: &Outcome) {
    for stream in [&outcome.stdout, &outcome.stderr] {
        assert!(stream.text.len() <= KEPT);
        assert!(
            stream.total_bytes <= KEPT as u64 || stream.text.len() > KEPT - 4,
            "{} kept",
            stream.text.len()
        );
        assert_eq!(stream.total_bytes - stream.dropped_bytes, stream.text.len() as u64);
    }
}

/// `dormouse eval` on a terminal: nothing that a terminal acts on comes through.
fn shown_on_a_terminal(language: &str, code: &str) {
    let command = format!("{} eval -l {language} {code:?}", binary::path().display());
    let Some(script) = binary::installed("script", "out_04 on a terminal") else { return };
    let ran = binary::finish(binary::started(&script, &["-qefc", &command, "/dev/null"]), b"");
    let text = String::from_utf8_lossy(&ran.stdout);
    for hostile in ["\u{1b}]0;", "\u{1b}]52;", "\u{1b}[2J", "\u{202e}", "\u{9b}31m", "\u{7}"] {
        assert!(!text.contains(hostile), "{hostile:?} reached the terminal: {text:?}");
    }
    assert!(text.contains("title") && text.contains("reversed"), "the text itself is shown: {text:?}");
}
