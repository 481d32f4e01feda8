//! What is said between a server and its helpers, over sockets of packets: each message is one packet, and comes whole or
//! not at all.
//!
//! A request is one byte for its kind and what it names, and carries one end of a pair of sockets, its channel. On that the
//! answer comes: `=` and its bytes, with descriptors where some are handed over, or `!` and the number and the text of an
//! error. A program's channel stays open: `T` and `K` ask for signals to its group, `X` says that it has ended, and
//! how: `S` and an exit status, or `K` and a signal. `G` says that it and its group are gone.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use dormouse_sources::Ended;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::Interest;
use tokio::net::UnixStream;

/// Largest packet, in bytes (32 KiB).
const PACKET: usize = 32 << 10;
/// Largest table of programs, in bytes (256 KiB).
const TABLE: usize = 256 << 10;
/// Longest name that is looked up, in bytes: DNS knows none that is longer.
const NAME: usize = 255;
/// Longest text of an error, in bytes.
const TEXT: usize = 256;
/// Descriptors of one packet.
const HANDED: usize = 3;

/// Asks a program to end.
pub(super) const ASK: u8 = b'T';
/// Ends it.
pub(super) const KILL: u8 = b'K';
/// It has ended; others of its group may run.
pub(super) const ENDED: u8 = b'X';
/// All of it is gone.
pub(super) const GONE: u8 = b'G';

/// What is asked of a helper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Request<'a> {
    /// The addresses of a name.
    Name(&'a str),
    /// A connection to the container engine.
    Engine,
    /// The program of that place in the table.
    Program(usize),
    /// The file of that place in the table.
    File(usize),
}

impl<'a> Request<'a> {
    fn bytes(self) -> io::Result<Vec<u8>> {
        Ok(match self {
            Self::Name(name) if name.len() > NAME => {
                return Err(io::Error::new(io::ErrorKind::InvalidInput, "the name is too long"));
            }
            Self::Name(name) => [b"N", name.as_bytes()].concat(),
            Self::Engine => b"E".to_vec(),
            Self::Program(at) => format!("P{at}").into_bytes(),
            Self::File(at) => format!("F{at}").into_bytes(),
        })
    }

    /// Reads one; none for what is none.
    pub(super) fn read(bytes: &'a [u8]) -> Option<Self> {
        let (kind, rest) = bytes.split_first()?;
        let rest = std::str::from_utf8(rest).ok().filter(|rest| rest.len() <= NAME)?;
        match kind {
            b'N' => Some(Self::Name(rest)),
            b'E' if rest.is_empty() => Some(Self::Engine),
            b'P' => rest.parse().ok().map(Self::Program),
            b'F' => rest.parse().ok().map(Self::File),
            _ => None,
        }
    }
}

/// Two ends of a socket of packets. Neither is kept by programs that are started.
pub(super) fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?)
}

/// Sends a packet; `DONTWAIT` among the flags returns an error where it would wait.
pub(super) fn send(
    socket: impl AsFd,
    bytes: &[u8],
    handed: &[BorrowedFd<'_>],
    flags: SendFlags,
) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(HANDED))];
    let mut with = SendAncillaryBuffer::new(&mut space);
    if !handed.is_empty() && !with.push(SendAncillaryMessage::ScmRights(handed)) {
        return Err(io::Error::other("too many descriptors"));
    }
    // Whoever has gone is an error, and not a signal that ends this process.
    let flags = flags | SendFlags::NOSIGNAL;
    loop {
        match sendmsg(socket.as_fd(), &[IoSlice::new(bytes)], &mut with, flags) {
            Err(Errno::INTR) => {}
            sent => return Ok(sent.map(drop)?),
        }
    }
}

/// The next packet and what is handed over with it; no bytes at the end.
pub(super) fn receive(socket: impl AsFd, flags: RecvFlags) -> io::Result<(Vec<u8>, Vec<OwnedFd>)> {
    let mut bytes = vec![0; PACKET];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(HANDED))];
    let mut with = RecvAncillaryBuffer::new(&mut space);
    let received = loop {
        let mut into = [IoSliceMut::new(&mut bytes)];
        match recvmsg(socket.as_fd(), &mut into, &mut with, flags | RecvFlags::CMSG_CLOEXEC) {
            Err(Errno::INTR) => {}
            received => break received?,
        }
    };
    bytes.truncate(received.bytes);
    let mut handed = Vec::new();
    for message in with.drain() {
        if let RecvAncillaryMessage::ScmRights(descriptors) = message {
            handed.extend(descriptors);
        }
    }
    Ok((bytes, handed))
}

/// Sends the table of what the operator's files name. The helper takes it before anything else.
pub(super) fn send_table(socket: impl AsFd, table: &[impl Serialize]) -> io::Result<()> {
    let text = serde_json::to_vec(table).map_err(io::Error::other)?;
    if text.len() > TABLE {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "what the files name is too much"));
    }
    for piece in text.chunks(PACKET - 1) {
        send(&socket, &[b"+", piece].concat(), &[], SendFlags::empty())?;
    }
    send(&socket, b".", &[], SendFlags::empty())
}

/// The table that was sent by [`send_table`].
pub(super) fn receive_table<T: DeserializeOwned>(socket: impl AsFd) -> io::Result<Vec<T>> {
    let mut text = Vec::new();
    loop {
        let (piece, _) = receive(&socket, RecvFlags::empty())?;
        match piece.split_first() {
            Some((b'+', piece)) if text.len() + piece.len() <= TABLE => text.extend_from_slice(piece),
            Some((b'.', _)) => return serde_json::from_slice(&text).map_err(io::Error::other),
            _ => return Err(io::ErrorKind::InvalidData.into()),
        }
    }
}

/// Answers on a channel.
pub(super) fn answer(channel: impl AsFd, answer: io::Result<(Vec<u8>, Vec<OwnedFd>)>) -> io::Result<()> {
    let (bytes, handed) = match answer {
        Ok((bytes, handed)) => ([b"=", bytes.as_slice()].concat(), handed),
        Err(error) => {
            let mut text = error.to_string();
            text.truncate(text.floor_char_boundary(TEXT));
            (format!("!{} {text}", error.raw_os_error().unwrap_or_default()).into_bytes(), Vec::new())
        }
    };
    let handed: Vec<BorrowedFd<'_>> = handed.iter().map(AsFd::as_fd).collect();
    send(channel, &bytes, &handed, SendFlags::empty())
}

/// Sends a request with the other end of a new channel, outside of the event loop; this end.
pub(super) fn ask(helper: impl AsFd, request: Request<'_>) -> io::Result<OwnedFd> {
    let (ours, theirs) = pair()?;
    send(helper, &request.bytes()?, &[theirs.as_fd()], SendFlags::DONTWAIT)?;
    Ok(ours)
}

/// The answer to [`ask`], within that time.
pub(super) fn answered(channel: &OwnedFd, time: Duration) -> io::Result<(Vec<u8>, Vec<OwnedFd>)> {
    let time = Timespec::try_from(time).map_err(io::Error::other)?;
    let mut waited = [PollFd::new(channel, PollFlags::IN)];
    loop {
        match poll(&mut waited, Some(&time)) {
            Ok(0) => return Err(io::ErrorKind::TimedOut.into()),
            Ok(_) => break,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let (bytes, handed) = receive(channel, RecvFlags::DONTWAIT)?;
    read(&bytes).map(|bytes| (bytes, handed))
}

/// What an answer says.
fn read(bytes: &[u8]) -> io::Result<Vec<u8>> {
    match bytes.split_first() {
        Some((b'=', bytes)) => Ok(bytes.to_vec()),
        Some((b'!', told)) => Err(error(&String::from_utf8_lossy(told))),
        _ => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the helper of the server has gone")),
    }
}

/// The server's end of the channel of one request. The event loop knows sockets of this family by this type, and looks at
/// nothing but whether there is something to read.
#[derive(Debug)]
pub(super) struct Channel(UnixStream);

impl Channel {
    /// Sends a request with the other end of a new channel. Is to be called within the event loop.
    pub(super) fn send(helper: impl AsFd, request: Request<'_>) -> io::Result<Self> {
        let (ours, theirs) = pair()?;
        let ours = std::os::unix::net::UnixStream::from(ours);
        ours.set_nonblocking(true)?;
        let channel = UnixStream::from_std(ours)?;
        // The helper does nothing but take requests, so there is always room for the few that are under way.
        send(helper, &request.bytes()?, &[theirs.as_fd()], SendFlags::DONTWAIT)?;
        Ok(Self(channel))
    }

    /// The answer.
    pub(super) async fn answer(&self) -> io::Result<(Vec<u8>, Vec<OwnedFd>)> {
        let (bytes, handed) = self.receive().await?;
        read(&bytes).map(|bytes| (bytes, handed))
    }

    /// Says one byte.
    pub(super) fn tell(&self, word: u8) -> io::Result<()> {
        send(&self.0, &[word], &[], SendFlags::DONTWAIT)
    }

    /// Waits for what begins with that byte, past others; what follows it.
    ///
    /// # Errors
    /// When the helper has gone.
    pub(super) async fn heard(&self, word: u8) -> io::Result<Vec<u8>> {
        loop {
            match self.receive().await?.0.split_first() {
                Some((said, rest)) if *said == word => return Ok(rest.to_vec()),
                Some(_) => {}
                None => return Err(io::ErrorKind::UnexpectedEof.into()),
            }
        }
    }

    async fn receive(&self) -> io::Result<(Vec<u8>, Vec<OwnedFd>)> {
        self.0.async_io(Interest::READABLE, || receive(&self.0, RecvFlags::DONTWAIT)).await
    }
}

/// That a program has ended, and how, if that is known.
pub(super) fn ended(how: Option<Ended>) -> Vec<u8> {
    let how = match how {
        Some(Ended::Status(status)) => format!("S{status}"),
        Some(Ended::Signal(signal)) => format!("K{signal}"),
        None => String::new(),
    };
    [&[ENDED][..], how.as_bytes()].concat()
}

/// What stands after the first byte of [`ended`].
pub(super) fn how(told: &[u8]) -> Option<Ended> {
    let (kind, number) = told.split_first()?;
    let number = std::str::from_utf8(number).ok()?.parse().ok()?;
    match kind {
        b'S' => Some(Ended::Status(number)),
        b'K' => Some(Ended::Signal(number)),
        _ => None,
    }
}

/// An error as it was where it came from, as far as a number and a text tell.
fn error(told: &str) -> io::Error {
    let (number, text) = told.split_once(' ').unwrap_or(("0", told));
    match number.parse() {
        Ok(number) if number > 0 => io::Error::from_raw_os_error(number),
        _ => io::Error::other(text.to_owned()),
    }
}
