//! The open connections: how many there may be, which is closed for a new one, and how many requests are in progress.
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

/// The open connections. Clones are the same ones.
#[derive(Clone)]
pub(super) struct Connections(Arc<Inner>);

struct Inner {
    table: Mutex<Table>,
    changed: Notify,
    requests: Arc<Semaphore>,
}

#[derive(Default)]
struct Table {
    last: u64,
    all: HashMap<u64, Connection>,
}

/// One connection.
struct Connection {
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

impl Default for Connections {
    fn default() -> Self {
        let requests = Arc::new(Semaphore::new(MAX_REQUESTS));
        Self(Arc::new(Inner { table: Mutex::default(), changed: Notify::new(), requests }))
    }
}

impl Connections {
    /// Admits a new connection, as soon as there is room for it.
    pub(super) async fn admit(&self, address: IpAddr) -> Client {
        loop {
            let changed = self.0.changed.notified();
            if let Some(client) = self.try_admit(address) {
                return client;
            }
            let _ = tokio::time::timeout(AGAIN, changed).await;
        }
    }

    fn try_admit(&self, address: IpAddr) -> Option<Client> {
        let mut table = self.table();
        if table.all.values().filter(|connection| connection.is_idle()).count() >= MAX_IDLE {
            table.make_room()?;
        }
        if table.all.len() >= MAX_CONNECTIONS {
            return None;
        }
        table.last += 1;
        let (id, leave) = (table.last, CancellationToken::new());
        let connection = Connection {
            address,
            known: false,
            idle: Some(Instant::now()),
            owner: None,
            place: None,
            leaves: false,
            leave: leave.clone(),
        };
        table.all.insert(id, connection);
        Some(Client(Arc::new(Registered { connections: self.clone(), id, leave })))
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.0.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    /// Asks one to leave; none when all came just now.
    fn make_room(&mut self) -> Option<()> {
        let mut strangers: HashMap<IpAddr, usize> = HashMap::new();
        for connection in self.all.values().filter(|connection| connection.is_idle() && !connection.known) {
            *strangers.entry(connection.address).or_default() += 1;
        }
        let now = Instant::now();
        let rank = |connection: &Connection| {
            let age = now.saturating_duration_since(connection.idle?);
            let of_address = match connection.known {
                false => *strangers.get(&connection.address)?,
                // Not before all strangers have gone, even if those came just now.
                true => strangers.is_empty().then_some(0)?,
            };
            (connection.is_idle() && age >= GRACE).then_some((of_address, age))
        };
        let connection = self.all.values_mut().filter_map(|connection| Some((rank(connection)?, connection)));
        let (_, connection) = connection.max_by_key(|(rank, _)| *rank)?;
        connection.leaves = true;
        connection.leave.cancel();
        Some(())
    }
}

impl Connection {
    fn is_idle(&self) -> bool {
        self.idle.is_some() && !self.leaves
    }
}

/// The client at the other end of a connection, which counts until the last clone is dropped.
#[derive(Clone)]
pub(super) struct Client(Arc<Registered>);

struct Registered {
    connections: Connections,
    id: u64,
    leave: CancellationToken,
}

impl Client {
    /// Over when the connection is to be closed.
    pub(super) async fn asked_to_leave(&self) {
        self.0.leave.cancelled().await;
    }

    /// Whether it has never had a request that was let in, and has none now.
    pub(super) fn is_stranger(&self) -> bool {
        self.connection(|connection| !connection.known && connection.idle.is_some()).unwrap_or(true)
    }

    /// A request has come over the connection. None: it is being closed, and the request is not begun.
    pub(super) fn begin(&self) -> Option<InProgress> {
        let begun = self.connection(|connection| {
            if !connection.leaves {
                connection.idle = None;
            }
            !connection.leaves
        });
        (begun == Some(true)).then(|| InProgress(self.clone()))
    }

    /// The request that has come is let in, as this owner's, once there is a place for it. The place is free again when the
    /// answer has gone.
    ///
    /// # Errors
    /// `busy` when the owner has as many as one may.
    pub(super) async fn admitted(&self, owner: &Owner) -> Result<()> {
        {
            let mut table = self.0.connections.table();
            let theirs =
                table.all.values().filter(|connection| connection.owner.as_ref() == Some(owner)).count();
            if theirs >= MAX_OF_OWNER {
                let message = format!("{MAX_OF_OWNER} requests are in progress already");
                return Err(Error::new(ErrorCode::Busy, message)
                    .with_hint("wait for one of them to end, then try again"));
            }
            if let Some(connection) = table.all.get_mut(&self.0.id) {
                (connection.known, connection.owner) = (true, Some(owner.clone()));
            }
        }
        let place = self.0.connections.0.requests.clone().acquire_owned().await;
        let place = place.map_err(|error| Error::internal("no more requests are accepted", error))?;
        self.connection(|connection| connection.place = Some(place));
        Ok(())
    }

    fn connection<T>(&self, look: impl FnOnce(&mut Connection) -> T) -> Option<T> {
        self.0.connections.table().all.get_mut(&self.0.id).map(look)
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        self.connections.table().all.remove(&self.id);
        self.connections.0.changed.notify_one();
    }
}

/// A request, from its head to the end of its answer.
pub(super) struct InProgress(Client);

impl Drop for InProgress {
    fn drop(&mut self) {
        self.0.connection(|connection| {
            (connection.idle, connection.owner, connection.place) = (Some(Instant::now()), None, None)
        });
        self.0.0.connections.0.changed.notify_one();
    }
}
