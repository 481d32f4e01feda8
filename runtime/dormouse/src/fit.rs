//! How many bytes fit this machine, where the operator says nothing: of memory and of the state folder's disk.

use std::fs;
use std::path::Path;

use dormouse_core::sandbox::{Quota, Share};
use dormouse_store::Room;

/// All sandboxes that are awake may take this part of the memory: a half.
const OF_MEMORY: u64 = 2;
/// All that runs may add this part of the memory: a quarter.
const OF_RUNS: u64 = 4;
/// The state folder may take what it has and this many tenths of what is free.
const TENTHS_OF_DISK: u64 = 9;
/// But not less than this part of the disk: a quarter.
const PART_OF_FULL: u64 = 4;
/// The state folder takes no more by itself: 256 GiB.
const MOST_OF_DISK: u64 = 256 << 30;
/// Where there are several owners, one may have this part of what all may have: a half.
const OF_OWNER: u64 = 2;
/// What is assumed of a machine that does not tell its memory: 2 GiB.
const UNKNOWN: u64 = 2 << 30;

/// The quota with numbers for the bytes that it leaves open; `shared`: there are several owners. A single one may have all. Reads the machine's memory, and
/// the disk of the state folder.
#[must_use]
pub fn fitted(quota: Quota, state: &Path, shared: bool) -> Quota {
    let awake = filled(quota.awake, shared, || memory() / OF_MEMORY);
    let saved = filled(quota.saved, shared, || match dormouse_store::room(state) {
        Ok(room) => of_disk(room),
        Err(error) => {
            tracing::warn!(%error, "the disk of the state folder does not say what is free");
            MOST_OF_DISK
        }
    });
    Quota { saved, awake, ..quota }
}

/// Bytes that all runs together may add to the memory that they begin with, where the operator says nothing: a
/// quarter of this machine's memory, or of the control group's limit.
#[must_use]
pub fn runs_memory() -> u64 {
    memory() / OF_RUNS
}

/// A disk that is full just now will not be for ever: what it takes then is seen when it is written to.
fn of_disk(Room { taken, free, size }: Room) -> u64 {
    let more = (free / 10 * TENTHS_OF_DISK).max(size / PART_OF_FULL);
    taken.saturating_add(more).min(taken.max(MOST_OF_DISK))
}

fn filled(share: Share, shared: bool, most: impl FnOnce() -> u64) -> Share {
    let in_all = share.in_all.unwrap_or_else(most);
    let of_owner = share.of_owner.or_else(|| shared.then_some(in_all / OF_OWNER));
    Share { of_owner, in_all: Some(in_all) }
}

/// Bytes of memory that this process can have: the machine's, or those of its control group if these are fewer.
fn memory() -> u64 {
    let machine = fs::read_to_string("/proc/meminfo").ok().and_then(|text| total(&text));
    let group = fs::read_to_string("/proc/self/cgroup")
        .ok()
        .and_then(|text| limit(&text, Path::new("/sys/fs/cgroup")));
    machine.into_iter().chain(group).min().unwrap_or(UNKNOWN)
}

/// `MemTotal:       24577008 kB`
fn total(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

/// The lowest limit of the control groups around this process, as version 2 or version 1 of them has it.
fn limit(groups: &str, root: &Path) -> Option<u64> {
    let lowest = |root: &Path, path: &str, file: &str| {
        let inner = root.join(path.trim_start_matches('/'));
        let around = inner.ancestors().take_while(|folder| folder.starts_with(root));
        // `max` is no number, and no limit.
        around.filter_map(|folder| fs::read_to_string(folder.join(file)).ok()?.trim().parse().ok()).min()
    };
    let found = groups.lines().filter_map(|line| {
        let (_, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(':')?;
        match controllers {
            "" => lowest(root, path, "memory.max"),
            _ if controllers.split(',').any(|name| name == "memory") => {
                lowest(&root.join("memory"), path, "memory.limit_in_bytes")
            }
            _ => None,
        }
    });
    found.min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_is_read_as_the_kernel_writes_it() {
        assert_eq!(total("MemTotal:       24577008 kB\nMemFree: 1 kB\n"), Some(24_577_008 << 10));
        assert_eq!(total("MemFree: 1 kB\n"), None);
        assert!(memory() >= 64 << 20);
    }

    #[test]
    fn the_lowest_limit_around_the_process_counts() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path();
        let write = |file: &str, text: &str| {
            let file = root.join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        };
        write("a/memory.max", "4096\n");
        write("a/b/memory.max", "max\n");
        write("a/b/c/memory.max", "9999\n");
        assert_eq!(limit("0::/a/b/c\n", root), Some(4096));
        assert_eq!(limit("0::/\n", root), None);
        write("memory/x/memory.limit_in_bytes", "77\n");
        assert_eq!(limit("5:cpu:/x\n4:hugetlb,memory:/x\n0::/a/b/c\n", root), Some(77));
    }

    #[test]
    fn a_disk_that_is_full_at_the_start_leaves_a_part_of_it() {
        assert_eq!(of_disk(Room { taken: 5, free: 1_000, size: 2_000 }), 905);
        assert_eq!(of_disk(Room { taken: 5, free: 0, size: 2_000 }), 505);
        assert_eq!(of_disk(Room { taken: 5, free: MOST_OF_DISK * 4, size: MOST_OF_DISK * 4 }), MOST_OF_DISK);
    }

    #[test]
    fn what_the_operator_says_stays_and_the_rest_fits() {
        let place = tempfile::tempdir().unwrap();
        let told = Quota { saved: Share { of_owner: Some(5), in_all: None }, ..Quota::default() };
        let fitted = fitted(told, &place.path().join("state"), true);
        assert_eq!(fitted.saved.of_owner, Some(5));
        let (all, room) = (fitted.saved.in_all.unwrap(), dormouse_store::room(place.path()).unwrap());
        assert!(all > 0 && all <= MOST_OF_DISK && all <= room.size, "{all} of {room:?}");
        assert_eq!(fitted.awake.in_all, Some(memory() / 2));
        assert_eq!(fitted.awake.of_owner, Some(memory() / 2 / 2));
        assert_eq!(fitted.per_owner, 100);
    }
}
