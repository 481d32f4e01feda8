//! How a stream that is carried comes to its end: who said so, and who went first.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

/// Longest head of a frame, in bytes.
const MAX_HEAD: usize = 14;
/// The kind of a frame that ends a WebSocket.
const CLOSE: u8 = 8;

/// One end of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Guest = 1,
    Server = 2,
}

/// What is known of the end.
#[derive(Debug, Default)]
pub(crate) struct Ending {
    is_closed: AtomicBool,
    gone: AtomicU8,
}

impl Ending {
    /// One side said that the WebSocket is over.
    pub(crate) fn closed(&self) {
        self.is_closed.store(true, Ordering::Relaxed);
    }

    /// Whether one did.
    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Relaxed)
    }

    /// One side sends nothing more.
    pub(crate) fn gone(&self, side: Side) {
        let _ = self.gone.compare_exchange(0, side as u8, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Whether it was the server that went first.
    pub(crate) fn is_servers(&self) -> bool {
        self.gone.load(Ordering::Relaxed) == Side::Server as u8
    }
}

/// Looks for the end among the frames of one direction of a WebSocket, and at nothing else in them.
#[derive(Debug, Default)]
pub(crate) struct Heads {
    head: Vec<u8>,
    /// Bytes of payload that come before the next head.
    left: u64,
}

impl Heads {
    /// Whether the end is among these bytes.
    pub(crate) fn end_in(&mut self, mut bytes: &[u8]) -> bool {
        let mut is_there = false;
        while !bytes.is_empty() {
            if self.left > 0 {
                let count = usize::try_from(self.left).map_or(bytes.len(), |left| left.min(bytes.len()));
                self.left -= count as u64;
                bytes = &bytes[count..];
                continue;
            }
            self.head.push(bytes[0]);
            bytes = &bytes[1..];
            if let Some((kind, length)) = self.read() {
                is_there |= kind == CLOSE;
                self.left = length;
                self.head.clear();
            }
        }
        is_there
    }

    /// The kind of a frame and the length of its payload, where its head is whole.
    fn read(&self) -> Option<(u8, u64)> {
        let [first, second, rest @ ..] = self.head.as_slice() else { return None };
        let mask = if second & 0x80 == 0 { 0 } else { 4 };
        let (length, size) = match second & 0x7f {
            126 => (u64::from(u16::from_be_bytes(*rest.first_chunk()?)), 2),
            127 => (u64::from_be_bytes(*rest.first_chunk()?), 8),
            short => (u64::from(short), 0),
        };
        debug_assert!(self.head.len() <= MAX_HEAD);
        (rest.len() >= size + mask).then_some((first & 0x0f, length))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_found_among_frames_however_they_are_cut() {
        let long = [&[0x82, 127, 0, 0, 0, 0, 0, 1, 0, 0][..], &[8; 65_536]].concat();
        let medium = [&[0x81, 0x80 | 126, 0, 200, 1, 2, 3, 4][..], &[0x88; 200]].concat();
        let ping = [0x89, 2, 0x88, 0x88];
        let before = [&long[..], &medium, &ping, &[0x81, 0]].concat();
        for close in [&[0x88, 0][..], &[0x88, 0x82, 0, 0, 0, 0, 3, 0xe8]] {
            let all = [&before[..], close].concat();
            for piece in [1, 3, 1_000, all.len()] {
                let mut heads = Heads::default();
                let found = all.chunks(piece).filter(|bytes| heads.end_in(bytes)).count();
                assert_eq!(found, 1, "{piece}");
                let mut heads = Heads::default();
                assert!(!before.chunks(piece).any(|bytes| heads.end_in(bytes)), "{piece}");
            }
        }
    }
}
