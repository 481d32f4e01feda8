//! Values in what a server sends over a WebSocket become stars. Frames stay as long as they are, and where they are.
//!
//! A message may come in several frames, and a value may be cut by any of them. So the payload of a message is washed as one text, and
//! what lies between its frames (their heads, and frames of control) waits with the bytes before it that may begin a value.

use std::collections::VecDeque;

use crate::reason::{Reason, Refusal};
use crate::secrets::Washer;

/// Longest head of a frame from a server, in bytes.
const MAX_HEAD: usize = 10;
/// Longest payload of a frame of control, in bytes.
const MAX_CONTROL: u64 = 125;
/// Bytes of heads and frames of control that may wait for the rest of what may be a value.
const MAX_WAITING: usize = 4 << 10;

/// What the next byte belongs to.
enum At {
    /// The head of a frame, as far as it is there.
    Head(Vec<u8>),
    /// The payload of a message: bytes that are left of the frame, and whether it is the message's last.
    Message(u64, bool),
    /// A frame of control: bytes that are left, and its head, which its payload is added to, washed.
    Control(u64, Vec<u8>, Washer),
}

/// Goes over all that a server sends.
pub(crate) struct Frames {
    at: At,
    /// Of the message's payload.
    washer: Washer,
    /// Whether a message has begun and is not at its end.
    is_within: bool,
    /// What waits: after how many bytes of payload, counted from the one before, and the bytes.
    waiting: VecDeque<(usize, Vec<u8>)>,
    /// How often a value was found in what is over.
    found: u64,
}

impl Frames {
    /// At the beginning of a connection.
    pub(crate) fn new(washer: Washer) -> Self {
        Self { at: At::Head(Vec::new()), washer, is_within: false, waiting: VecDeque::new(), found: 0 }
    }

    /// How often a value was found.
    pub(crate) fn found(&self) -> u64 {
        let control = if let At::Control(_, _, washer) = &self.at { washer.found } else { 0 };
        self.found + self.washer.found + control
    }

    /// What of the bytes so far can be passed on.
    ///
    /// # Errors
    /// `encoding` for frames that cannot be looked into: masked, of an extension, or in an order that there is not.
    pub(crate) fn push(&mut self, mut bytes: &[u8]) -> Result<Vec<u8>, Refusal> {
        let mut out = Vec::with_capacity(bytes.len() + MAX_HEAD);
        while let Some((first, rest)) = bytes.split_first() {
            match &mut self.at {
                At::Head(head) => {
                    head.push(*first);
                    bytes = rest;
                    if let Some(frame) = Frame::read(head)? {
                        let head = std::mem::take(head);
                        self.begin(&frame, head, &mut out)?;
                    }
                }
                At::Message(left, _) => {
                    let (now, rest) = split(bytes, left);
                    let passed = self.washer.push(now);
                    bytes = rest;
                    self.release(&passed, &mut out);
                }
                At::Control(left, frame, washer) => {
                    let (now, rest) = split(bytes, left);
                    frame.extend(washer.push(now));
                    bytes = rest;
                }
            }
            self.step(&mut out)?;
        }
        Ok(out)
    }

    /// The rest, when the server is done.
    pub(crate) fn end(&mut self) -> Vec<u8> {
        let mut out = Vec::new();
        let rest = self.washer.end();
        self.release(&rest, &mut out);
        match &mut self.at {
            At::Head(head) => out.append(head),
            At::Control(_, frame, washer) => {
                out.append(frame);
                out.extend(washer.end());
            }
            At::Message(..) => {}
        }
        out
    }

    /// After the head of a frame.
    fn begin(&mut self, frame: &Frame, head: Vec<u8>, out: &mut Vec<u8>) -> Result<(), Refusal> {
        if frame.is_control {
            self.at = At::Control(frame.length, head, self.washer.again());
            return Ok(());
        }
        if frame.goes_on != self.is_within {
            return Err(unreadable("a message begins within another, or goes on without a beginning"));
        }
        self.is_within = true;
        self.at = At::Message(frame.length, frame.is_last);
        self.between(head, out)
    }

    /// Goes on to the next frame where one is at its end.
    fn step(&mut self, out: &mut Vec<u8>) -> Result<(), Refusal> {
        match &mut self.at {
            At::Message(0, is_last) => {
                if *is_last {
                    self.is_within = false;
                    let rest = self.washer.end();
                    self.release(&rest, out);
                }
                self.at = At::Head(Vec::new());
            }
            At::Control(0, frame, washer) => {
                frame.extend(washer.end());
                self.found += washer.found;
                let frame = std::mem::take(frame);
                self.at = At::Head(Vec::new());
                self.between(frame, out)?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Passes on what lies between two pieces of payload, or has it wait.
    fn between(&mut self, bytes: Vec<u8>, out: &mut Vec<u8>) -> Result<(), Refusal> {
        let kept = self.washer.kept();
        if kept == 0 {
            out.extend(bytes);
            return Ok(());
        }
        let (before, size) = self
            .waiting
            .iter()
            .fold((0, bytes.len()), |(before, size), (after, waits)| (before + after, size + waits.len()));
        if size > MAX_WAITING {
            return Err(unreadable("too many frames lie within what may be a secret"));
        }
        self.waiting.push_back((kept - before, bytes));
        Ok(())
    }

    /// Passes on payload, with what waited for it.
    fn release(&mut self, mut payload: &[u8], out: &mut Vec<u8>) {
        while let Some((after, _)) = self.waiting.front_mut() {
            if *after > payload.len() {
                *after -= payload.len();
                break;
            }
            let (now, rest) = payload.split_at(*after);
            out.extend_from_slice(now);
            payload = rest;
            if let Some((_, bytes)) = self.waiting.pop_front() {
                out.extend(bytes);
            }
        }
        out.extend_from_slice(payload);
    }
}

/// What the head of a frame says.
struct Frame {
    is_last: bool,
    is_control: bool,
    goes_on: bool,
    length: u64,
}

impl Frame {
    /// None: it is not whole.
    ///
    /// # Errors
    /// `encoding` for a frame that cannot be looked into.
    fn read(head: &[u8]) -> Result<Option<Self>, Refusal> {
        let [first, second, rest @ ..] = head else { return Ok(None) };
        let (is_last, kind) = (first & 0x80 != 0, first & 0x0f);
        if first & 0x70 != 0 {
            return Err(unreadable("a frame is of an extension that nobody asked for"));
        }
        if second & 0x80 != 0 {
            return Err(unreadable("a server's frame is masked"));
        }
        let length = match (second & 0x7f, rest) {
            (126, [one, two, ..]) => u64::from(u16::from_be_bytes([*one, *two])),
            (127, rest) => match rest.first_chunk() {
                Some(bytes) => u64::from_be_bytes(*bytes),
                None => return Ok(None),
            },
            (126, _) => return Ok(None),
            (short, _) => u64::from(short),
        };
        let is_control = kind >= 8;
        if !matches!(kind, 0..=2 | 8..=10) || is_control && (!is_last || length > MAX_CONTROL) {
            return Err(unreadable("a frame is of no known kind"));
        }
        if length >> 63 != 0 {
            return Err(unreadable("a frame is longer than one can be"));
        }
        Ok(Some(Self { is_last, is_control, goes_on: kind == 0, length }))
    }
}

/// What of the bytes belongs to a frame of which so many are left, and what comes after it.
fn split<'a>(bytes: &'a [u8], left: &mut u64) -> (&'a [u8], &'a [u8]) {
    let count = usize::try_from(*left).map_or(bytes.len(), |left| left.min(bytes.len()));
    *left -= count as u64;
    bytes.split_at(count)
}

fn unreadable(told: &str) -> Refusal {
    Refusal::new(
        Reason::Encoding,
        format!("what the server sends cannot be looked through for secrets: {told}"),
    )
}

#[cfg(test)]
#[path = "frames_tests.rs"]
mod tests;
