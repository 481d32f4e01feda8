//! Private readers for the fuzz targets of `tests/fuzz`. No part of the crate's interface: it changes with them.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use serde_json::Value as Json;

use crate::line::{Line, LineReader};
use crate::parse::{self, Parsed};

/// What comes of a line.
#[derive(Debug, PartialEq)]
pub enum Read {
    /// A message, as JSON.
    Message(Json),
    /// An error that is answered at once, as JSON.
    Refused(Json),
    /// Nothing.
    Ignored,
}

/// Reads a line as the transport does.
pub fn read(line: &[u8]) -> Read {
    told(parse::parse(line))
}

/// Reads the line of an object as a long one is read, whatever its length.
pub fn read_long(line: &[u8]) -> Read {
    told(parse::parse_long(line))
}

/// Splits a stream into lines of at most `most` bytes; those that were longer are none.
pub fn lines(stream: &[u8], most: usize) -> Vec<Option<Vec<u8>>> {
    let mut reader = LineReader::new(stream, most);
    let mut lines = Vec::new();
    let mut context = Context::from_waker(Waker::noop());
    // A stream in memory is always ready.
    while let Poll::Ready(line) = pin!(reader.next()).poll(&mut context) {
        match line {
            Line::Whole(line) => lines.push(Some(line)),
            Line::TooLong => lines.push(None),
            Line::End => break,
        }
    }
    lines
}

fn told(parsed: Parsed) -> Read {
    match parsed {
        Parsed::Message(message) => Read::Message(serde_json::to_value(message).unwrap_or_default()),
        Parsed::Refused(error) => Read::Refused(serde_json::to_value(error).unwrap_or_default()),
        Parsed::Ignored => Read::Ignored,
    }
}
