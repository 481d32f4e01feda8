//! Keeps an answer short enough for every client: the text of a result has at most 256 KiB.
//!
//! Each part has a budget in encoded bytes, because escaping can make text six times as long. The budgets lie above
//! what the default limits produce, so that usually nothing is cut here.

use dormouse_core::{Captured, Exception, Outcome, Status, Value};

/// Largest text of one result, in bytes (256 KiB). Some clients give up at 1 MiB a message, and the same JSON travels
/// twice in it.
#[cfg(test)]
pub(crate) const MAX_TEXT: usize = 256 << 10;
/// Encoded bytes of each of standard output and standard error (56 KiB).
pub(crate) const STREAM: usize = 56 << 10;
/// Encoded bytes of the value or of the exception (128 KiB).
pub(crate) const VALUE: usize = 128 << 10;
/// Encoded bytes of the message of an exception that had to be cut (16 KiB).
const MESSAGE: usize = 16 << 10;
/// Encoded bytes of one short text (a class, a file, a frame) of an exception that had to be cut.
const WORD: usize = 512;

/// The outcome with every part cut to its budget. Output that is cut is counted as dropped.
#[must_use]
pub(crate) fn fit(mut outcome: Outcome) -> Outcome {
    cut_stream(&mut outcome.stdout);
    cut_stream(&mut outcome.stderr);
    match &mut outcome.status {
        Status::Returned(value) => {
            if encoded_len(value) > VALUE {
                let class = value.type_name().into();
                *value = Value::Unknown { class, reason: "value too large".into() };
            }
        }
        Status::Raised(exception) => {
            if encoded_len(exception) > VALUE {
                cut_exception(exception);
            }
        }
        Status::Exited(_) | Status::Stopped(_) => {}
    }
    outcome
}

fn cut_stream(stream: &mut Captured) {
    let kept = cut(&stream.text, STREAM).len();
    if kept < stream.text.len() {
        let gone = (stream.text.len() - kept) as u64;
        stream.text.truncate(kept);
        stream.dropped_bytes = (stream.dropped_bytes + gone).min(stream.total_bytes);
    }
}

/// Class, place and message stay; what is left goes.
fn cut_exception(exception: &mut Exception) {
    exception.previous.clear();
    exception.excerpt = None;
    exception.traceback = None;
    exception.stack_trace.truncate(30);
    for word in exception.stack_trace.iter_mut().chain(exception.file.as_mut()).chain([&mut exception.class])
    {
        word.truncate(cut(word, WORD).len());
    }
    if encoded_len(&exception.code) > WORD {
        exception.code = None;
    }
    exception.message.truncate(cut(&exception.message, MESSAGE).len());
}

/// The longest beginning of `text` that takes at most `budget` bytes inside a JSON string.
pub(crate) fn cut(text: &str, budget: usize) -> &str {
    let mut left = budget;
    for (at, character) in text.char_indices() {
        let cost = match character {
            '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
            '\u{0}'..='\u{1f}' => 6,
            other => other.len_utf8(),
        };
        if cost > left {
            return &text[..at];
        }
        left -= cost;
    }
    text
}

/// Bytes of the JSON text, counted without keeping it.
pub(crate) fn encoded_len(value: &impl serde::Serialize) -> usize {
    struct Count(usize);
    impl std::io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    match serde_json::to_writer(&mut count, value) {
        Ok(()) => count.0,
        Err(_) => usize::MAX,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode;

    fn outcome(status: Status, output: &str) -> Outcome {
        let stream = Captured::from_bytes(output.as_bytes(), output.len() as u64);
        Outcome {
            status,
            stdout: stream.clone(),
            stderr: stream,
            usage: Default::default(),
            provider: "wasm",
            fallback_from: None,
            recovery: None,
            warning: None,
            closed_files: Vec::new(),
            recovery_reason: None,
            network: None,
        }
    }

    fn exception(text: &str) -> Exception {
        let cause = serde_json::json!({
            "class": text, "message": text, "file": text, "code": text, "stack_trace": vec![text; 100],
            "excerpt": text, "traceback": text,
        });
        let mut whole: Exception = serde_json::from_value(cause).expect("an exception");
        whole.previous = vec![whole.clone(); 10];
        whole
    }

    #[test]
    fn the_worst_answer_stays_within_the_cap() {
        let nasty = "\u{1}".repeat(200_000);
        let value = Value::String { value: nasty.clone(), truncated: false, length: None };
        for status in [Status::Returned(value), Status::Raised(exception(&nasty)), Status::Exited(1)] {
            let reply = encode::reply(&fit(outcome(status, &nasty)), None);
            assert!(reply.text.len() <= MAX_TEXT, "{} bytes", reply.text.len());
            assert_eq!(reply.structured["truncated"]["stdout_bytes"], 200_000 - STREAM / 6);
        }
    }

    #[test]
    fn an_answer_within_the_budgets_is_left_alone() {
        let text = "é".repeat(STREAM / 2);
        let fitted = fit(outcome(Status::Returned(Value::null()), &text));
        assert_eq!(fitted.stdout.text, text);
        assert!(!fitted.stdout.is_truncated());
        let fitted = fit(outcome(Status::Returned(Value::null()), &(text + "x")));
        assert_eq!(fitted.stdout.dropped_bytes, 1);
    }

    #[test]
    fn the_cost_of_each_character_is_what_the_encoder_writes() {
        for character in ('\u{0}'..='\u{ff}').chain(['€', '\u{2028}', '😀']) {
            let text = character.to_string();
            let cost = serde_json::to_string(&text).expect("text").len() - 2;
            assert_eq!((cut(&text, cost), cut(&text, cost - 1)), (text.as_str(), ""), "{character:?}");
        }
    }
}
