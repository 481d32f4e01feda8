//! The two ends of a connection: the guest's, which never waits by itself, and the host's, which is a stream. Each direction holds at
//! most 64 KiB.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use dormouse_core::network::{Problem, Trouble};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Bytes that lie in one direction at most.
pub(crate) const CAPACITY: usize = 64 << 10;

/// The head of an answer: its status and its headers.
pub(crate) type Head = (u16, Vec<(String, Vec<u8>)>);

/// Bytes on their way in one direction.
#[derive(Default)]
struct Way {
    bytes: VecDeque<u8>,
    /// Nothing more is written.
    ended: bool,
    /// Nobody reads any more.
    unread: bool,
}

impl Way {
    fn put(&mut self, bytes: &[u8]) -> usize {
        let taken = bytes.len().min(CAPACITY - self.bytes.len());
        self.bytes.extend(&bytes[..taken]);
        taken
    }

    fn has_room(&self) -> bool {
        self.bytes.len() < CAPACITY
    }

    fn take(&mut self, most: usize) -> Vec<u8> {
        let most = most.min(self.bytes.len());
        self.bytes.drain(..most).collect()
    }
}

#[derive(Default)]
struct State {
    out: Way,
    back: Way,
    head: Option<Head>,
    problem: Option<Problem>,
    guest: Option<Waker>,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

#[derive(Clone, Default)]
struct Shared(Arc<Mutex<State>>);

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The ends of a new connection, and what tells the guest how it goes.
pub(super) fn pipe() -> (GuestEnd, HostEnd, Teller) {
    let shared = Shared::default();
    (GuestEnd(shared.clone()), HostEnd(shared.clone()), Teller(shared))
}

/// The guest's end.
pub(crate) struct GuestEnd(Shared);

impl GuestEnd {
    /// Sends what there is room for.
    pub(crate) fn send(&self, bytes: &[u8]) -> Result<usize, Problem> {
        let mut state = self.0.lock();
        if let Some(problem) = &state.problem {
            return Err(problem.clone());
        }
        if state.out.ended {
            return Err(Problem::new(Trouble::Closed, "the program has said that it sends nothing more"));
        }
        if state.out.unread {
            return Err(Problem::new(Trouble::Closed, "the connection was closed by the other side"));
        }
        let taken = state.out.put(bytes);
        wake(&mut state.reader);
        Ok(taken)
    }

    /// Takes what has come. None: nothing now; empty: the end.
    pub(crate) fn receive(&self, most: usize) -> Result<Option<Vec<u8>>, Problem> {
        let mut state = self.0.lock();
        if !state.back.bytes.is_empty() {
            let bytes = state.back.take(most);
            wake(&mut state.writer);
            return Ok(Some(bytes));
        }
        match &state.problem {
            Some(problem) => Err(problem.clone()),
            None => Ok(state.back.ended.then(Vec::new)),
        }
    }

    /// The head of an answer, once.
    pub(crate) fn head(&self) -> Result<Option<Head>, Problem> {
        let mut state = self.0.lock();
        match state.head.take() {
            Some(head) => Ok(Some(head)),
            None => state.problem.clone().map_or(Ok(None), Err),
        }
    }

    /// Says that nothing more is sent.
    pub(crate) fn finish(&self) {
        let mut state = self.0.lock();
        state.out.ended = true;
        wake(&mut state.reader);
    }

    /// Whether it can be read and written now; whoever polls is woken when that changes.
    pub(crate) fn poll_ready(&self, cx: &Context<'_>) -> (bool, bool) {
        let mut state = self.0.lock();
        state.guest = Some(cx.waker().clone());
        let failed = state.problem.is_some();
        let reads = failed || state.head.is_some() || state.back.ended || !state.back.bytes.is_empty();
        (reads, failed || state.out.unread || state.out.has_room())
    }
}

impl Drop for GuestEnd {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        (state.out.ended, state.back.unread) = (true, true);
        wake(&mut state.reader);
        wake(&mut state.writer);
    }
}

/// The host's end.
pub(super) struct HostEnd(Shared);

/// Tells the guest how its connection goes. Dropped, the connection is at its end.
pub(super) struct Teller(Shared);

impl Teller {
    /// The head of an answer is there.
    pub(super) fn answer(&self, head: Head) {
        let mut state = self.0.lock();
        state.head = Some(head);
        wake(&mut state.guest);
    }

    /// It failed, which the guest is told after what has come.
    pub(super) fn fail(&self, problem: Problem) {
        let mut state = self.0.lock();
        state.problem = Some(problem);
        wake(&mut state.guest);
    }
}

impl Drop for Teller {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        (state.back.ended, state.out.unread) = (true, true);
        wake(&mut state.guest);
    }
}

impl AsyncRead for HostEnd {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let mut state = self.0.lock();
        if state.out.bytes.is_empty() && !state.out.ended {
            state.reader = Some(cx.waker().clone());
            return Poll::Pending;
        }
        let bytes = state.out.take(buf.remaining());
        buf.put_slice(&bytes);
        wake(&mut state.guest);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for HostEnd {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let mut state = self.0.lock();
        if state.back.unread {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        if !state.back.has_room() {
            state.writer = Some(cx.waker().clone());
            return Poll::Pending;
        }
        let taken = state.back.put(buf);
        wake(&mut state.guest);
        Poll::Ready(Ok(taken))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut state = self.0.lock();
        state.back.ended = true;
        wake(&mut state.guest);
        Poll::Ready(Ok(()))
    }
}

fn wake(waker: &mut Option<Waker>) {
    if let Some(waker) = waker.take() {
        waker.wake();
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    async fn readable(end: &GuestEnd) {
        poll_fn(|cx| if end.poll_ready(cx).0 { Poll::Ready(()) } else { Poll::Pending }).await;
    }

    #[tokio::test]
    async fn bytes_go_both_ways_and_end() {
        let (guest, mut host, teller) = pipe();
        assert_eq!(guest.receive(10), Ok(None));
        assert_eq!(guest.send(b"hello"), Ok(5));
        let mut read = [0; 5];
        host.read_exact(&mut read).await.unwrap();
        assert_eq!(&read, b"hello");
        guest.finish();
        assert_eq!(host.read(&mut read).await.unwrap(), 0);
        assert_eq!(guest.send(b"x").unwrap_err().trouble, Trouble::Closed);
        let answering = tokio::spawn(async move {
            host.write_all(b"world").await.unwrap();
            drop(host);
            teller.fail(Problem::new(Trouble::Reset, "it broke"));
        });
        answering.await.unwrap();
        readable(&guest).await;
        assert_eq!(guest.receive(3), Ok(Some(b"wor".to_vec())));
        assert_eq!(guest.receive(3), Ok(Some(b"ld".to_vec())));
        assert_eq!(guest.receive(3).unwrap_err().trouble, Trouble::Reset);
    }

    #[tokio::test]
    async fn net_22_a_side_that_does_not_read_stops_the_other_one() {
        let (guest, mut host, teller) = pipe();
        assert_eq!(guest.send(&vec![1; CAPACITY + 1]), Ok(CAPACITY));
        assert_eq!(guest.send(b"x"), Ok(0));
        let mut writing = Box::pin(async {
            host.write_all(&vec![2; 3 * CAPACITY]).await.unwrap();
            drop(teller);
        });
        let (mut read, mut over) = (0, false);
        loop {
            over = over || writing.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready();
            match guest.receive(usize::MAX).unwrap() {
                None => panic!("nothing comes"),
                Some(bytes) if bytes.is_empty() => break,
                Some(bytes) => read += bytes.len(),
            }
        }
        assert_eq!(read, 3 * CAPACITY);
    }

    #[tokio::test]
    async fn who_closes_ends_the_other_side() {
        let (guest, mut host, _teller) = pipe();
        drop(guest);
        assert_eq!(host.read(&mut [0; 1]).await.unwrap(), 0);
        assert!(host.write_all(b"x").await.is_err());
        let (guest, _host, teller) = pipe();
        drop(teller);
        assert_eq!(guest.receive(1), Ok(Some(Vec::new())));
        assert_eq!(guest.send(b"x").unwrap_err().trouble, Trouble::Closed);
    }
}
