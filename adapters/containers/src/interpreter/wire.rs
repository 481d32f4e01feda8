//! Frames between the host and an interpreter.
//!
//! The relay sends chunks: a `u32` length (big endian), a byte for the channel, and at most 64 KiB. Channel 1 is standard
//! output, 2 is standard error, 3 are the interpreter's own bytes, 4 says how it ended. All that was written to 1 and 2 before
//! a message went to 3 comes before it.
//!
//! Messages, in both directions: a `u32` length, a byte for the kind, the `u32` number of the request, and the payload.

use std::io;
use std::pin::Pin;

use bytes::{Buf as _, BytesMut};
use dormouse_core::{Error, ErrorCode, Status, Stream};
use serde::Deserialize;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

/// What the hello must say.
pub(super) const PROTOCOL: u32 = 1;
/// Largest chunk of the relay's.
const MAX_CHUNK: usize = 64 << 10;
const CHUNK_HEAD: usize = 5;
const MESSAGE_HEAD: usize = 9;

/// An interpreter that does not keep to the protocol.
pub(super) fn refused(what: &str) -> Error {
    Error::new(ErrorCode::GuestTrap, format!("the interpreter in the container sent {what}"))
        .with_hint("a program of the sandbox may have written to its descriptors")
}

/// The same, with the cause.
pub(super) fn broken(what: &str, error: serde_json::Error) -> Error {
    refused(&format!("{what} of an unknown form")).with_source(error)
}

/// One message.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Message {
    pub kind: u8,
    pub id: u32,
    pub payload: Vec<u8>,
}

/// How the interpreter's process ended.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
pub(super) struct Ended {
    #[serde(default)]
    exit: Option<i32>,
    #[serde(default)]
    signal: Option<i32>,
}

impl Ended {
    /// A process that ended itself has exited, like a program of the Wasm guests that does so.
    pub(super) fn status(self) -> Status {
        match self.exit {
            Some(status) => Status::Exited(status),
            None => Status::Stopped(self.error()),
        }
    }

    pub(super) fn error(self) -> Error {
        let how = match self {
            Self { exit: Some(status), .. } => format!("ended itself with status {status}"),
            Self { signal: Some(signal), .. } => format!("was ended by signal {signal}"),
            _ => "ended".into(),
        };
        let error = Error::new(ErrorCode::GuestTrap, format!("the interpreter in the container {how}"));
        match self.signal {
            Some(9) => error.with_hint("it reached the memory limit, or a program of the sandbox killed it"),
            _ => error.with_hint("its variables are lost; the next call starts a new one"),
        }
    }
}

/// What comes next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Part {
    Output(Stream, Vec<u8>),
    Message(Message),
    Ended(Ended),
}

/// The way from the interpreter to the host.
pub(super) struct Receiver {
    from: Pin<Box<dyn AsyncRead + Send>>,
    /// Bytes of chunks. The beginning is given up in one step, so that many small chunks take no longer than few large ones.
    raw: BytesMut,
    /// Bytes of messages.
    inner: BytesMut,
    ended: Option<Ended>,
}

impl Receiver {
    pub(super) fn new(from: Pin<Box<dyn AsyncRead + Send>>) -> Self {
        Self { from, raw: BytesMut::new(), inner: BytesMut::new(), ended: None }
    }

    /// Whether nothing will come any more.
    pub(super) fn is_over(&self) -> bool {
        self.ended.is_some()
    }

    /// The payload of the first message; none when the process ends without one.
    pub(super) async fn hello(&mut self, most: usize) -> Result<Option<Vec<u8>>, Error> {
        loop {
            match self.next(most).await? {
                Part::Message(Message { kind: b'H', id: 0, payload }) => return Ok(Some(payload)),
                Part::Message(_) => return Err(refused("no hello")),
                Part::Ended(_) => return Ok(None),
                Part::Output(..) => {}
            }
        }
    }

    /// The next part, with messages of at most `most` bytes. Nothing is lost when the future is dropped.
    pub(super) async fn next(&mut self, most: usize) -> Result<Part, Error> {
        loop {
            if let Some(part) = self.parsed(most)? {
                return Ok(part);
            }
            if let Some(ended) = self.ended {
                return Ok(Part::Ended(ended));
            }
            self.raw.reserve(CHUNK_HEAD + MAX_CHUNK);
            match self.from.as_mut().read_buf(&mut self.raw).await {
                Ok(0) | Err(_) => self.ended = Some(Ended::default()),
                Ok(_) => {}
            }
        }
    }

    fn parsed(&mut self, most: usize) -> Result<Option<Part>, Error> {
        loop {
            if let Some(message) = self.message(most)? {
                return Ok(Some(Part::Message(message)));
            }
            let Some((channel, bytes)) = self.chunk()? else { return Ok(None) };
            match channel {
                1 => return Ok(Some(Part::Output(Stream::Stdout, bytes))),
                2 => return Ok(Some(Part::Output(Stream::Stderr, bytes))),
                3 => self.inner.extend_from_slice(&bytes),
                4 => {
                    let ended = serde_json::from_slice(&bytes).map_err(|error| broken("an end", error))?;
                    self.ended = Some(ended);
                    return Ok(Some(Part::Ended(ended)));
                }
                _ => return Err(refused("a frame of an unknown kind")),
            }
        }
    }

    fn chunk(&mut self) -> Result<Option<(u8, Vec<u8>)>, Error> {
        let Some((head, rest)) = self.raw.split_first_chunk::<CHUNK_HEAD>() else { return Ok(None) };
        let [a, b, c, d, channel] = *head;
        let length = u32::from_be_bytes([a, b, c, d]) as usize;
        if length > MAX_CHUNK {
            return Err(refused("a frame that is too long"));
        }
        let Some(bytes) = rest.get(..length) else { return Ok(None) };
        let bytes = bytes.to_vec();
        self.raw.advance(CHUNK_HEAD + length);
        Ok(Some((channel, bytes)))
    }

    fn message(&mut self, most: usize) -> Result<Option<Message>, Error> {
        let Some((head, rest)) = self.inner.split_first_chunk::<MESSAGE_HEAD>() else { return Ok(None) };
        let [a, b, c, d, kind, e, f, g, h] = *head;
        let length = u32::from_be_bytes([a, b, c, d]) as usize;
        if length > most {
            return Err(refused("a message that is too long"));
        }
        let Some(payload) = rest.get(..length) else { return Ok(None) };
        let message = Message { kind, id: u32::from_be_bytes([e, f, g, h]), payload: payload.to_vec() };
        self.inner.advance(MESSAGE_HEAD + length);
        if self.inner.is_empty() {
            self.inner = BytesMut::new();
        }
        Ok(Some(message))
    }
}

/// The way from the host to the interpreter.
pub(super) struct Sender {
    to: Pin<Box<dyn AsyncWrite + Send>>,
}

impl Sender {
    pub(super) fn new(to: Pin<Box<dyn AsyncWrite + Send>>) -> Self {
        Self { to }
    }

    /// Sends bytes of whole messages.
    pub(super) async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.to.write_all(bytes).await?;
        self.to.flush().await
    }
}

/// Adds a message to `bytes`.
pub(super) fn write(bytes: &mut Vec<u8>, kind: u8, id: u32, payload: &[u8]) -> Result<(), Error> {
    let length = u32::try_from(payload.len())
        .map_err(|_| Error::new(ErrorCode::TooLarge, "the request is larger than 4 GiB"))?;
    bytes.extend_from_slice(&length.to_be_bytes());
    bytes.push(kind);
    bytes.extend_from_slice(&id.to_be_bytes());
    bytes.extend_from_slice(payload);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(channel: u8, bytes: &[u8]) -> Vec<u8> {
        let mut out = u32::try_from(bytes.len()).unwrap().to_be_bytes().to_vec();
        out.push(channel);
        out.extend_from_slice(bytes);
        out
    }

    async fn parts(bytes: Vec<u8>) -> Vec<Result<Part, ErrorCode>> {
        let mut receiver = Receiver::new(Box::pin(std::io::Cursor::new(bytes)));
        let mut found = Vec::new();
        loop {
            let part = receiver.next(100).await.map_err(|error| error.code());
            let last = !matches!(part, Ok(Part::Output(..) | Part::Message(_)));
            found.push(part);
            if last {
                return found;
            }
        }
    }

    #[tokio::test]
    async fn messages_are_put_together_from_chunks() {
        let mut message = Vec::new();
        write(&mut message, b'R', 7, b"text").unwrap();
        let mut bytes = chunk(3, &message[..3]);
        bytes.extend(chunk(1, b"out"));
        bytes.extend(chunk(3, &message[3..]));
        bytes.extend(chunk(4, b"{\"signal\":9}"));
        let wanted = vec![
            Ok(Part::Output(Stream::Stdout, b"out".to_vec())),
            Ok(Part::Message(Message { kind: b'R', id: 7, payload: b"text".to_vec() })),
            Ok(Part::Ended(Ended { exit: None, signal: Some(9) })),
        ];
        assert_eq!(parts(bytes).await, wanted);
    }

    #[tokio::test]
    async fn what_is_no_frame_is_refused() {
        let mut long = Vec::new();
        write(&mut long, b'R', 7, &[b'x'; 101]).unwrap();
        for bytes in [b"hello, world".to_vec(), chunk(9, b"x"), chunk(4, b"x"), chunk(3, &long)] {
            assert_eq!(parts(bytes).await, vec![Err(ErrorCode::GuestTrap)]);
        }
        assert_eq!(parts(chunk(1, b"cut")[..7].to_vec()).await, vec![Ok(Part::Ended(Ended::default()))]);
    }
}
