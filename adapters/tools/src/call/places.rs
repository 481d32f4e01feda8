//! Bounds what one owner may have in progress: calls, the bytes of their arguments, and what is being received for them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use dormouse_core::sandbox::Owner;
use dormouse_core::{Error, ErrorCode, Result, released};
use serde_json::{Map, Value as Json};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::incoming::held;

/// Calls in progress at one time; more are answered with `busy`.
pub const MAX_CALLS: usize = 64;
/// Mebibytes that the arguments of all calls in progress hold; more are answered with `busy`.
const MAX_MIB: u32 = 256;
/// Kibibytes of all messages that are being received, read and answered; more are answered with `busy` (256 MiB).
const MAX_KIB: u32 = 256 << 10;

/// The places of each owner, made when an owner first calls. Owners are those that the operator names, so they are few.
#[derive(Default)]
pub struct Owners(Mutex<HashMap<Owner, Arc<Places>>>);

impl Owners {
    /// The places of this owner.
    pub fn of(&self, owner: &Owner) -> Arc<Places> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(places) = all.get(owner) {
            return places.clone();
        }
        all.entry(owner.clone()).or_default().clone()
    }
}

/// The places of one owner.
pub struct Places {
    calls: Arc<Semaphore>,
    mebibytes: Arc<Semaphore>,
    kibibytes: Arc<Semaphore>,
}

/// One call's place. Dropping it gives the place back.
pub(crate) struct Place {
    _call: OwnedSemaphorePermit,
    _mebibytes: OwnedSemaphorePermit,
}

/// Room for one message. Dropping it gives the room back.
pub struct Room(OwnedSemaphorePermit);

impl Drop for Room {
    fn drop(&mut self) {
        released::note((self.0.num_permits() as u64) << 10);
    }
}

impl Default for Places {
    fn default() -> Self {
        Self {
            calls: Arc::new(Semaphore::new(MAX_CALLS)),
            mebibytes: Arc::new(Semaphore::new(MAX_MIB as usize)),
            kibibytes: Arc::new(Semaphore::new(MAX_KIB as usize)),
        }
    }
}

impl Places {
    /// A place for a call with these arguments.
    ///
    /// # Errors
    /// `busy` when there is none; the caller is not made to wait.
    pub(crate) fn enter(&self, arguments: &Map<String, Json>) -> Result<Place> {
        let Ok(call) = self.calls.clone().try_acquire_owned() else {
            return Err(busy(format!("{MAX_CALLS} calls are in progress already")));
        };
        let mebibytes = u32::try_from(held(arguments) >> 20).unwrap_or(MAX_MIB).min(MAX_MIB);
        match self.mebibytes.clone().try_acquire_many_owned(mebibytes) {
            Ok(mebibytes) => Ok(Place { _call: call, _mebibytes: mebibytes }),
            Err(_) => Err(busy(format!("the calls in progress already hold {MAX_MIB} MiB of arguments"))),
        }
    }

    /// Room for a message of at most so many bytes, before any of them is read.
    ///
    /// # Errors
    /// `busy` when there is none.
    pub fn room(&self, bytes: usize) -> Result<Room> {
        let kibibytes = u32::try_from(bytes.div_ceil(1 << 10)).unwrap_or(MAX_KIB).min(MAX_KIB);
        match self.kibibytes.clone().try_acquire_many_owned(kibibytes) {
            Ok(permit) => Ok(Room(permit)),
            Err(_) => {
                Err(busy(format!("the requests in progress have {} MiB of bodies already", MAX_KIB >> 10)))
            }
        }
    }
}

fn busy(problem: String) -> Error {
    Error::new(ErrorCode::Busy, problem).with_hint("wait for a call to end, then try again")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_owner_has_places_of_its_own() {
        let (owners, nothing) = (Owners::default(), Map::new());
        let owner = |name: &str| Owner::parse(name).unwrap();
        let first = owners.of(&owner("a"));
        let held: Vec<_> = (0..MAX_CALLS).map(|_| first.enter(&nothing).unwrap()).collect();
        assert_eq!(owners.of(&owner("a")).enter(&nothing).err().unwrap().code(), ErrorCode::Busy);
        assert!(owners.of(&owner("b")).enter(&nothing).is_ok());
        drop(held);
        assert!(owners.of(&owner("a")).enter(&nothing).is_ok());
    }

    #[test]
    fn room_is_bounded_and_given_back() {
        let places = Places::default();
        let held: Vec<_> = (0..4).map(|_| places.room(64 << 20).unwrap()).collect();
        assert_eq!(places.room(1).err().unwrap().code(), ErrorCode::Busy);
        assert!(places.room(0).is_ok());
        drop(held);
        assert!(places.room(usize::MAX).is_ok(), "as much as there is");
    }
}
