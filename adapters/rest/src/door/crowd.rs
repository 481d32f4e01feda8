//! Who is connected: how many, who goes when one more comes, and how many requests are worked on.
//!
//! A connection is *known* once a request that came over it was let in, and *idle* while it has no request. Those that are
//! idle make room for new ones: nobody can fill the door by connecting and saying nothing. The first to go are those that
//! are not known, from the address that has the most of them; of these the one that has been idle for longest.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use dormouse_core::sandbox::Owner;
use dormouse_core::{Error, ErrorCode, Result};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

/// Connections at one time; further ones wait until one ends.
pub const MAX_CONNECTIONS: usize = 512;
/// Those of them that have no request; for a further one another is closed.
const MAX_IDLE: usize = 256;
/// Requests that are let in at one time; further ones wait, with nothing read but their heads.
pub const MAX_REQUESTS: usize = 256;
/// Those of them that are one owner's; further ones are told `busy`.
pub const MAX_OF_OWNER: usize = 128;
/// A connection may be idle for this long before it is closed for another: long enough for a first request that is sent at once.
/// While nobody has been here for longer nobody is let in, so it bounds how many come in a second (5 000).
const GRACE: Duration = Duration::from_millis(50);
/// How soon it is looked again for one that may be closed.
const AGAIN: Duration = Duration::from_millis(10);

/// Everybody who is connected. Clones are the same crowd.
#[derive(Clone)]
pub(super) struct Crowd(Arc<Inner>);

struct Inner {
    seats: Mutex<Seats>,
    changed: Notify,
    requests: Arc<Semaphore>,
}

#[derive(Default)]
struct Seats {
    last: u64,
    all: HashMap<u64, Seat>,
}

/// One connection.
struct Seat {
    address: IpAddr,
    known: bool,
    /// Since when it has no request; none: it has one.
    idle: Option<Instant>,
    /// Whose request it has, once that was let in.
    owner: Option<Owner>,
    /// The place of that request.
    place: Option<OwnedSemaphorePermit>,
    /// It is to be closed.
    leaves: bool,
    leave: CancellationToken,
}

impl Default for Crowd {
    fn default() -> Self {
        let requests = Arc::new(Semaphore::new(MAX_REQUESTS));
        Self(Arc::new(Inner { seats: Mutex::default(), changed: Notify::new(), requests }))
    }
}

impl Crowd {
    /// A seat for a new connection, as soon as there is one.
    pub(super) async fn enter(&self, address: IpAddr) -> Guest {
        loop {
            let changed = self.0.changed.notified();
            if let Some(guest) = self.try_enter(address) {
                return guest;
            }
            let _ = tokio::time::timeout(AGAIN, changed).await;
        }
    }

    fn try_enter(&self, address: IpAddr) -> Option<Guest> {
        let mut seats = self.seats();
        if seats.all.values().filter(|seat| seat.is_idle()).count() >= MAX_IDLE {
            seats.make_room()?;
        }
        if seats.all.len() >= MAX_CONNECTIONS {
            return None;
        }
        seats.last += 1;
        let (id, leave) = (seats.last, CancellationToken::new());
        let seat = Seat {
            address,
            known: false,
            idle: Some(Instant::now()),
            owner: None,
            place: None,
            leaves: false,
            leave: leave.clone(),
        };
        seats.all.insert(id, seat);
        Some(Guest(Arc::new(Held { crowd: self.clone(), id, leave })))
    }

    fn seats(&self) -> MutexGuard<'_, Seats> {
        self.0.seats.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Seats {
    /// Asks one to leave; none when all came just now.
    fn make_room(&mut self) -> Option<()> {
        let mut strangers: HashMap<IpAddr, usize> = HashMap::new();
        for seat in self.all.values().filter(|seat| seat.is_idle() && !seat.known) {
            *strangers.entry(seat.address).or_default() += 1;
        }
        let now = Instant::now();
        let rank = |seat: &Seat| {
            let age = now.saturating_duration_since(seat.idle?);
            let of_address = match seat.known {
                false => *strangers.get(&seat.address)?,
                // Not before all strangers have gone, even if those came just now.
                true => strangers.is_empty().then_some(0)?,
            };
            (seat.is_idle() && age >= GRACE).then_some((of_address, age))
        };
        let seat = self.all.values_mut().filter_map(|seat| Some((rank(seat)?, seat)));
        let (_, seat) = seat.max_by_key(|(rank, _)| *rank)?;
        seat.leaves = true;
        seat.leave.cancel();
        Some(())
    }
}

impl Seat {
    fn is_idle(&self) -> bool {
        self.idle.is_some() && !self.leaves
    }
}

/// One connection's seat, free again when its last clone is dropped.
#[derive(Clone)]
pub(super) struct Guest(Arc<Held>);

struct Held {
    crowd: Crowd,
    id: u64,
    leave: CancellationToken,
}

impl Guest {
    /// Over when the connection is to be closed.
    pub(super) async fn asked_to_leave(&self) {
        self.0.leave.cancelled().await;
    }

    /// Whether it has never had a request that was let in, and has none now.
    pub(super) fn is_stranger(&self) -> bool {
        self.seat(|seat| !seat.known && seat.idle.is_some()).unwrap_or(true)
    }

    /// A request has come over the connection. None: it is being closed, and the request is not begun.
    pub(super) fn begin(&self) -> Option<Turn> {
        let begun = self.seat(|seat| {
            if !seat.leaves {
                seat.idle = None;
            }
            !seat.leaves
        });
        (begun == Some(true)).then(|| Turn(self.clone()))
    }

    /// The request that has come is let in, as this owner's, once there is a place for it. The place is free again when the
    /// answer has gone.
    ///
    /// # Errors
    /// `busy` when the owner has as many as one may.
    pub(super) async fn admitted(&self, owner: &Owner) -> Result<()> {
        {
            let mut seats = self.0.crowd.seats();
            let theirs = seats.all.values().filter(|seat| seat.owner.as_ref() == Some(owner)).count();
            if theirs >= MAX_OF_OWNER {
                let message = format!("{MAX_OF_OWNER} requests are in progress already");
                return Err(Error::new(ErrorCode::Busy, message)
                    .with_hint("wait for one of them to end, then try again"));
            }
            if let Some(seat) = seats.all.get_mut(&self.0.id) {
                (seat.known, seat.owner) = (true, Some(owner.clone()));
            }
        }
        let place = self.0.crowd.0.requests.clone().acquire_owned().await;
        let place = place.map_err(|error| Error::internal("no more requests are accepted", error))?;
        self.seat(|seat| seat.place = Some(place));
        Ok(())
    }

    fn seat<T>(&self, look: impl FnOnce(&mut Seat) -> T) -> Option<T> {
        self.0.crowd.seats().all.get_mut(&self.0.id).map(look)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.crowd.seats().all.remove(&self.id);
        self.crowd.0.changed.notify_one();
    }
}

/// A request, from its head to the end of its answer.
pub(super) struct Turn(Guest);

impl Drop for Turn {
    fn drop(&mut self) {
        self.0.seat(|seat| (seat.idle, seat.owner, seat.place) = (Some(Instant::now()), None, None));
        self.0.0.crowd.0.changed.notify_one();
    }
}
