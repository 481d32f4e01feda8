//! What a run writes: bounded, drained, counted.

use serde::Serialize;

/// One of the two output streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// What was kept of one stream.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Captured {
    /// The first bytes, as UTF-8; each invalid sequence, and a character cut at the end, is shown as U+FFFD.
    pub text: String,
    /// All bytes that the run wrote, kept or not.
    pub total_bytes: u64,
    /// Bytes that were drained and not kept.
    pub dropped_bytes: u64,
}

impl Captured {
    /// Text from the kept bytes of a stream that wrote `total` bytes in all.
    pub fn from_bytes(kept: &[u8], total: u64) -> Self {
        // A character that the cut went through is dropped whole, so that the text ends on a character.
        let cut = total > kept.len() as u64;
        let end = match std::str::from_utf8(kept) {
            Err(error) if cut && error.error_len().is_none() => error.valid_up_to(),
            _ => kept.len(),
        };
        let text = String::from_utf8_lossy(&kept[..end]).into_owned();
        Self { text, total_bytes: total, dropped_bytes: total - end as u64 }
    }

    /// Whether something was not kept.
    pub fn is_truncated(&self) -> bool {
        self.dropped_bytes > 0
    }
}

/// Receives output while the run goes on. Called on the run's own thread: be quick, and never block.
pub trait OutputSink: Send + Sync {
    /// Some bytes of one stream, in the order they were written. Bytes past the output limit are not passed on.
    fn write(&self, stream: Stream, bytes: &[u8]);

    /// So many bytes more have come from elsewhere for the run, such as those of a repository: they are no output. Default: that is
    /// not told.
    fn received(&self, bytes: u64) {
        let _ = bytes;
    }

    /// Whether it keeps what is to be kept, so that the outcome's streams need no text. Default false.
    fn keeps(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_ends_on_a_character_and_counts_what_is_gone() {
        let whole = "aé".as_bytes();
        assert_eq!(Captured::from_bytes(whole, 3).text, "aé");
        let cut = Captured::from_bytes(&whole[..2], 3);
        assert_eq!((cut.text.as_str(), cut.dropped_bytes), ("a", 2));
        assert!(cut.is_truncated());
        assert_eq!(Captured::from_bytes(b"a\xffb", 3).text, "a\u{fffd}b");
    }
}
