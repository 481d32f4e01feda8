//! How many files, folders and connections a server may hold open, and whether that is enough.
//!
//! A process begins with a soft limit, often 1,024, which is too low for a server; up to the hard limit it may raise it
//! itself. What it can hold at most follows from its own bounds:
//!
//! | what | descriptors |
//! | --- | --- |
//! | connections ([`MAX_CONNECTIONS`]) | 512, and one more while one is taken |
//! | open files of guests below mounts | 128 for each instance, the most that one can have |
//! | folders of mounts that guests see | 8 for each instance |
//! | sandboxes in memory: leases, and the shell's and jobs' pipes | 8 for each |
//! | the database, its log, its locks, artifacts, the event loop | 128 |
//! | connections to models, indexes, repositories, engines and MCP servers | 256 |
//! | what tools open below mounts and roots for one call | 4 for each thread that may wait for a disk |
//!
//! Guests' open files are nearly all of it, and few guests have more than a handful. So less is no error: a guest that then opens
//! one more file gets the language's own error. It is a warning when there are fewer than eight for each instance.

use dormouse::Capacity;
use dormouse_rest::door::MAX_CONNECTIONS;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// No more than this is asked for: some programs that are started look at each number up to the limit.
const MOST: u64 = 65_536;
/// Files of mounts that one instance may have open, and how many of them it should be able to have.
const FILES: u64 = 128;
const FEW: u64 = 8;
/// Folders of mounts that an instance sees.
const FOLDERS: u64 = 8;
/// What a sandbox in memory holds.
const OF_SANDBOX: u64 = 8;
/// The state folder, artifacts and the event loop.
const OWN: u64 = 128;
/// Connections to others.
const OUTWARD: u64 = 256;
/// What a call holds on a thread that waits for a disk.
const OF_CALL: u64 = 4;

/// What a server can hold when each instance has so many files open.
fn held(capacity: &Capacity, files: u64) -> u64 {
    let (instances, awake) = (capacity.instances() as u64, capacity.awake as u64);
    let guests = instances * (files + FOLDERS) + awake * OF_SANDBOX;
    let calls = capacity.blocking_threads(MAX_CONNECTIONS) as u64 * OF_CALL;
    MAX_CONNECTIONS as u64 + 1 + guests + OWN + OUTWARD + calls
}

/// Raises the soft limit as far as is of use, and says when what remains may be too little.
pub(crate) fn raise(capacity: &Capacity) {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let wanted = maximum.unwrap_or(MOST).min(MOST);
    let mut now = current.unwrap_or(MOST);
    if now < wanted {
        match setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum }) {
            Ok(()) => now = wanted,
            Err(error) => tracing::warn!(%error, "the number of open files cannot be raised"),
        }
    }
    let (needed, least) = (held(capacity, FILES), held(capacity, FEW));
    if now < least {
        tracing::warn!(
            allowed = now,
            least,
            "fewer files may be open than this server is likely to need; raise `ulimit -Hn`"
        );
    } else if now < needed {
        tracing::info!(allowed = now, needed, "not every guest can have all files of mounts open at once");
    }
}

#[cfg(test)]
mod tests {
    use dormouse::Policy;
    use dormouse::sandboxes::Rules;

    use super::*;

    #[test]
    fn mem_04_what_a_server_can_hold_is_below_what_it_asks_for() {
        let policy = Policy { owners_share: true, ..Policy::default() };
        let capacity = Capacity::of(&policy, Some(&Rules::default()), 0, 0);
        assert_eq!((held(&capacity, FILES), held(&capacity, FEW)), (41_329, 8_929));
        assert!(held(&capacity, FILES) < MOST);
    }
}
