//! What a call writes: the first bytes of each stream are kept, all are counted.

use std::sync::Arc;

use dormouse_core::{Captured, OutputSink, Stream};

#[derive(Default)]
struct Kept {
    bytes: Vec<u8>,
    total: u64,
}

/// The output of one call.
pub(super) struct Capture {
    most: u64,
    sink: Option<Arc<dyn OutputSink>>,
    streams: [Kept; 2],
}

impl Capture {
    /// Keeps `most` bytes of each stream, and passes the same on to the sink.
    pub(super) fn new(most: u64, sink: Option<Arc<dyn OutputSink>>) -> Self {
        Self { most, sink, streams: Default::default() }
    }

    pub(super) fn add(&mut self, stream: Stream, bytes: &[u8]) {
        let kept = &mut self.streams[usize::from(stream == Stream::Stderr)];
        let room = self.most.saturating_sub(kept.bytes.len() as u64);
        let head = &bytes[..bytes.len().min(usize::try_from(room).unwrap_or(usize::MAX))];
        kept.total = kept.total.saturating_add(bytes.len() as u64);
        kept.bytes.extend_from_slice(head);
        if let (Some(sink), false) = (&self.sink, head.is_empty()) {
            sink.write(stream, head);
        }
    }

    /// Standard output and standard error.
    pub(super) fn captured(self) -> [Captured; 2] {
        self.streams.map(|kept| Captured::from_bytes(&kept.bytes, kept.total))
    }
}
