//! How many files, folders and connections a server may hold open, and whether that is enough.
//!
//! A process begins with a soft limit, often 1,024, which is too low for a server; up to the hard limit it may raise it
//! itself. What it can hold at most follows from its own bounds:
//!
//! | what | descriptors |
//! | --- | --- |
//! | connections ([`MAX_CONNECTIONS`]) | 512, and one more while one is taken |
//! | open files of guests below mounts | 128 for each instance, the most that one can have; 128 instances |
//! | folders of mounts that guests see | 8 for each instance |
//! | sandboxes in memory: leases, and the shell's and jobs' pipes | 8 for each of 64 |
//! | the database, its log, its locks, artifacts, the event loop | 128 |
//! | connections to models, indexes, repositories, engines and MCP servers | 256 |
//! | what tools open below mounts and roots for one call | 4 for each of the 512 threads that may wait for a disk |
//!
//! Guests' open files are nearly all of it, and few guests have more than a handful. So less is a warning and no error: a
//! guest that then opens one more file gets the language's own error.

use dormouse_rest::door::MAX_CONNECTIONS;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// No more than this is asked for: some programs that are started look at each number up to the limit.
const MOST: u64 = 65_536;
/// Instances at one time, and the descriptors of each.
const INSTANCES: u64 = 128;
const OF_INSTANCE: u64 = 128 + 8;
/// Sandboxes in memory, and the descriptors of each.
const AWAKE: u64 = 64;
const OF_SANDBOX: u64 = 8;
/// The state folder, artifacts and the event loop.
const OWN: u64 = 128;
/// Connections to others.
const OUTWARD: u64 = 256;
/// Threads that may wait for a disk, and what a call holds on one of them.
const BLOCKING: u64 = 512;
const OF_CALL: u64 = 4;

/// What a server can hold at most.
const fn needed() -> u64 {
    let connections = MAX_CONNECTIONS as u64 + 1;
    connections + INSTANCES * OF_INSTANCE + AWAKE * OF_SANDBOX + OWN + OUTWARD + BLOCKING * OF_CALL
}

/// Raises the soft limit as far as is of use, and says when what remains may be too little.
pub(crate) fn raise() {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let wanted = maximum.unwrap_or(MOST).min(MOST);
    let mut now = current.unwrap_or(MOST);
    if now < wanted {
        match setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum }) {
            Ok(()) => now = wanted,
            Err(error) => tracing::warn!(%error, "the number of open files cannot be raised"),
        }
    }
    if now < needed() {
        let needed = needed();
        tracing::warn!(
            allowed = now,
            needed,
            "fewer files may be open than the bounds of this server add up to; raise `ulimit -Hn`"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mem_04_what_a_server_can_hold_is_below_what_it_asks_for() {
        assert_eq!(needed(), 20_865);
        assert!(needed() < MOST);
    }
}
