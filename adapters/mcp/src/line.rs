//! Reads lines of bounded length. What is longer is drained, not kept.

use std::io;

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

/// Capacity that the buffer keeps between lines, in bytes (1 MiB), however long the last line was.
const KEPT: usize = 1 << 20;

/// What was read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// A whole line, without its line feed. The last one may have had none.
    Whole(Vec<u8>),
    /// A line that was longer than allowed and is gone. The rest of it is skipped by the next read.
    TooLong,
    /// The end of the stream, or a failure of it.
    End,
}

/// Splits a stream into lines of at most `most` bytes.
pub(crate) struct LineReader<R> {
    inner: BufReader<R>,
    line: Vec<u8>,
    most: usize,
    /// Inside a line that was given up.
    skipping: bool,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    pub(crate) fn new(inner: R, most: usize) -> Self {
        Self { inner: BufReader::new(inner), line: Vec::new(), most, skipping: false }
    }

    /// The next line. A read that is dropped half-way loses nothing: bytes are taken over and consumed without a
    /// pause between.
    pub(crate) async fn next(&mut self) -> Line {
        loop {
            let available = match self.inner.fill_buf().await {
                Ok(available) => available,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => {
                    tracing::warn!(%error, "the input cannot be read");
                    return Line::End;
                }
            };
            if available.is_empty() {
                return if self.line.is_empty() { Line::End } else { Line::Whole(self.take()) };
            }
            let end = available.iter().position(|byte| *byte == b'\n');
            let part = &available[..end.unwrap_or(available.len())];
            let too_long = !self.skipping && self.line.len() + part.len() > self.most;
            if !self.skipping && !too_long {
                self.line.extend_from_slice(part);
            }
            let used = part.len() + usize::from(end.is_some());
            self.inner.consume(used);
            let whole = end.is_some() && !self.skipping && !too_long;
            self.skipping = end.is_none() && (self.skipping || too_long);
            if too_long {
                self.take();
                return Line::TooLong;
            }
            if whole {
                return Line::Whole(self.take());
            }
        }
    }

    /// The line so far. A small buffer stays for the next one.
    fn take(&mut self) -> Vec<u8> {
        let capacity = self.line.capacity().min(KEPT);
        std::mem::replace(&mut self.line, Vec::with_capacity(capacity))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn lines(input: &[u8], most: usize) -> Vec<Line> {
        let mut reader = LineReader::new(input, most);
        let mut lines = Vec::new();
        loop {
            match reader.next().await {
                Line::End => return lines,
                line => lines.push(line),
            }
        }
    }

    fn whole(text: &str) -> Line {
        Line::Whole(text.into())
    }

    #[tokio::test]
    async fn a_line_may_be_as_long_as_the_limit_and_no_longer() {
        assert_eq!(
            lines(b"ab\nabc\n\nabcd\nabc", 3).await,
            [whole("ab"), whole("abc"), whole(""), Line::TooLong, whole("abc")]
        );
        assert_eq!(lines(b"abcd", 3).await, [Line::TooLong]);
    }

    #[tokio::test]
    async fn a_huge_line_is_reported_once_and_never_kept() {
        let input: Vec<u8> = [vec![b'x'; 1 << 20], b"\nok\n".to_vec()].concat();
        let mut reader = LineReader::new(input.as_slice(), 1_000);
        assert_eq!(reader.next().await, Line::TooLong);
        assert_eq!(reader.next().await, whole("ok"));
        assert!(reader.line.capacity() < 100_000);
    }
}
