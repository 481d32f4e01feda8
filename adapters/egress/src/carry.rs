//! Bytes between a guest and a server, in both directions, counted: of a rule of `tcp`, and of a WebSocket that has begun.

use std::io;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

use crate::ending::{Heads, Side};
use crate::gate::Door;
use crate::note::Note;
use crate::reason::{Reason, Refusal};
use crate::secrets::Frames;
use crate::upstream::Place;

/// Longest silence, in both directions.
const SILENCE: Duration = Duration::from_secs(600);
/// Bytes that are carried at once.
const PIECE: usize = 16 << 10;

/// Carries bytes until both sides are done, one breaks, a bound is reached, or no rule allows it any more. `frames`: of a WebSocket, what
/// the server sends is washed of secrets.
///
/// # Errors
/// What ended it.
pub(crate) async fn carry(
    door: &Door,
    note: &Note,
    (place, websocket): (&Place, bool),
    guest: impl AsyncRead + AsyncWrite,
    server: impl AsyncRead + AsyncWrite,
    mut frames: Option<Frames>,
) -> Result<(), Refusal> {
    let (from_guest, to_guest) = tokio::io::split(guest);
    let (from_server, to_server) = tokio::io::split(server);
    let carrying = async {
        let heads = || websocket.then(Heads::default);
        let out = Pump { door, note, side: Side::Guest, heads: heads(), frames: None };
        let back = Pump { door, note, side: Side::Server, heads: heads(), frames: frames.as_mut() };
        tokio::try_join!(out.run(from_guest, to_server), back.run(from_server, to_guest))
    };
    let over = async {
        match door.0.run.deadline {
            Some(deadline) => tokio::time::sleep_until(deadline.into()).await,
            None => std::future::pending().await,
        }
    };
    let carried = tokio::select! {
        carried = carrying => carried,
        () = over => Err(Refusal::new(Reason::TimedOut, "the run is over")),
        () = door.revoked(place, websocket) => {
            Err(Refusal::new(Reason::Host, format!("no rule allows the host `{}` any more", place.host)))
        }
    };
    carried.map(|_| ())
}

/// One direction.
struct Pump<'a> {
    door: &'a Door,
    note: &'a Note,
    /// Who sends.
    side: Side,
    /// Of a WebSocket: where its end is.
    heads: Option<Heads>,
    frames: Option<&'a mut Frames>,
}

impl Pump<'_> {
    async fn run(
        mut self,
        mut from: impl AsyncRead + Unpin,
        mut to: impl AsyncWrite + Unpin,
    ) -> Result<(), Refusal> {
        let traffic = &self.note.traffic;
        let broke = |_: io::Error| Refusal::new(Reason::Reset, "the stream broke");
        let mut piece = vec![0; PIECE];
        let mut seen = traffic.total();
        loop {
            let until = self.door.until(SILENCE);
            let Ok(read) = tokio::time::timeout_at(until, from.read(&mut piece)).await else {
                // The other direction may have been busy.
                if traffic.total() == seen {
                    return Err(Refusal::new(Reason::TimedOut, "the stream was silent for too long"));
                }
                seen = traffic.total();
                continue;
            };
            let read = read.map_err(broke)?;
            let (budget, count) = match self.side {
                Side::Guest => (Reason::BytesOut, &traffic.sent),
                Side::Server => (Reason::BytesIn, &traffic.came),
            };
            self.door.0.account.spend(budget, read as u64)?;
            if read == 0 {
                traffic.ending.gone(self.side);
            }
            if self.heads.as_mut().is_some_and(|heads| heads.end_in(&piece[..read])) {
                traffic.ending.closed();
            }
            count.fetch_add(read as u64, Ordering::Relaxed);
            match &mut self.frames {
                None => to.write_all(&piece[..read]).await.map_err(broke)?,
                Some(frames) => {
                    let washed = if read == 0 { frames.end() } else { frames.push(&piece[..read])? };
                    // The stream may be dropped at any time, when its program ends.
                    traffic.masked.store(frames.found(), Ordering::Relaxed);
                    to.write_all(&washed).await.map_err(broke)?;
                }
            }
            if read == 0 {
                return to.shutdown().await.map_err(broke);
            }
            to.flush().await.map_err(broke)?;
        }
    }
}
