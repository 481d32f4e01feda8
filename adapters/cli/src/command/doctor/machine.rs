//! What the machine gives us: address space, memory images, the cache folder, a clock.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use rustix::process::{Resource, geteuid, getrlimit};

use crate::print::Row;
use crate::wall::{self, Wall};

/// Where the kernel says what it is.
const RELEASE: &str = "/proc/sys/kernel/osrelease";
/// How the kernel promises memory: 2 counts every reservation.
const OVERCOMMIT: &str = "/proc/sys/vm/overcommit_memory";

/// Whether the engine starts as a server starts it, with a pool of so many instances.
pub(super) fn engine(started: dormouse::Result<()>, instances: u32) -> Row {
    let name = "engine";
    match started {
        Ok(()) => good(name, format!("{} with a pool of {instances} instances", env!("DORMOUSE_ENGINE"))),
        Err(error) => {
            let pool = "single runs work without a pool; for servers raise the address-space limit: ulimit -v unlimited";
            // A processor that is too old runs nothing, with a pool and without.
            let is_old = error.code() == dormouse::ErrorCode::CapabilityUnavailable;
            let hint = error.hint().filter(|_| is_old).unwrap_or(pool);
            bad(name, format!("{}{}", error.message(), causes(&error)), hint)
        }
    }
}

/// All other checks.
pub(super) fn rows(cache: &Path) -> Vec<Row> {
    vec![address_space(), overcommit(), images(), pagemap_scan(), folder(cache), clock(), confinement()]
}

fn good(name: &str, found: impl Into<String>) -> Row {
    Row { good: Some(true), name: name.into(), found: found.into(), hint: None }
}

fn bad(name: &str, found: impl Into<String>, hint: &str) -> Row {
    Row { good: Some(false), name: name.into(), found: found.into(), hint: Some(hint.into()) }
}

fn causes(error: &dormouse::Error) -> String {
    let mut text = String::new();
    let mut cause = std::error::Error::source(error);
    while let Some(source) = cause {
        text += &format!(": {source}");
        cause = source.source();
    }
    text
}

fn address_space() -> Row {
    let name = "address space";
    match getrlimit(Resource::As).current {
        None => good(name, "not limited"),
        Some(bytes) => bad(
            name,
            format!("limited to {} GiB; each instance of a pool reserves about 8.2 GiB", bytes >> 30),
            "ulimit -v unlimited",
        ),
    }
}

fn overcommit() -> Row {
    let name = "overcommit";
    match fs::read_to_string(OVERCOMMIT).as_deref().map(str::trim) {
        Ok("2") => bad(
            name,
            "the kernel counts every reservation (vm.overcommit_memory = 2)",
            "sysctl vm.overcommit_memory=0",
        ),
        Ok(mode) => good(name, format!("vm.overcommit_memory = {mode}")),
        Err(_) => Row { good: None, ..good(name, "the kernel does not say") },
    }
}

/// Images of memory are files in memory, mapped privately.
fn images() -> Row {
    let name = "memory images";
    match rustix::fs::memfd_create("dormouse-doctor", rustix::fs::MemfdFlags::CLOEXEC) {
        Ok(_) => good(name, "copy-on-write"),
        Err(error) => bad(
            name,
            format!("no files in memory (memfd_create: {error}); every instance copies its image"),
            "a seccomp filter that forbids memfd_create is the usual cause",
        ),
    }
}

fn pagemap_scan() -> Row {
    let name = "page scan";
    let release = fs::read_to_string(RELEASE).unwrap_or_default();
    let release = release.trim();
    if kernel(release) >= (6, 7) {
        return good(name, format!("kernel {release} finds written pages by itself (PAGEMAP_SCAN)"));
    }
    // Slower, not broken.
    let found =
        format!("kernel {release} cannot (PAGEMAP_SCAN came with 6.7); resetting an instance takes longer");
    Row { good: None, ..good(name, found) }
}

/// Major and minor version.
fn kernel(release: &str) -> (u32, u32) {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(|number| number.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

/// The cache holds machine code: it must be this user's own.
fn folder(path: &Path) -> Row {
    let name = "cache folder";
    let shown = path.display();
    let Ok(metadata) = fs::symlink_metadata(path) else {
        return bad(name, format!("`{shown}` does not exist"), "build the guests: dormouse guests build");
    };
    let private = "it must be a folder that only you can write: chmod 0700, or set DORMOUSE_CACHE_DIR";
    if !metadata.is_dir() {
        return bad(name, format!("`{shown}` is not a folder"), private);
    }
    if metadata.uid() != geteuid().as_raw() {
        return bad(name, format!("`{shown}` belongs to user {}", metadata.uid()), private);
    }
    if metadata.mode() & 0o022 != 0 {
        return bad(
            name,
            format!("others can write `{shown}` (mode {:o})", metadata.mode() & 0o777),
            private,
        );
    }
    good(name, format!("{shown} (mode {:o})", metadata.mode() & 0o777))
}

/// What the kernel can do to confine the servers, which do so themselves.
fn confinement() -> Row {
    let name = "confinement";
    match wall::available() {
        Ok(wall @ Wall::Whole) => good(name, wall.told()),
        Ok(wall) => Row {
            hint: Some("servers use as much of it as there is; `--confine` requires all of it".into()),
            good: None,
            ..good(name, wall.told())
        },
        Err(error) => Row { good: None, ..good(name, format!("{}{}", error.message(), causes(&error))) },
    }
}

/// Time limits need a clock that advances, and certificates and traces one that is about right.
fn clock() -> Row {
    let name = "clock";
    let begin = Instant::now();
    std::thread::sleep(Duration::from_millis(1));
    let slept = begin.elapsed();
    let year_2020 = SystemTime::UNIX_EPOCH + Duration::from_secs(1_577_836_800);
    if SystemTime::now() < year_2020 {
        return bad(name, "the time of day is before 2020", "set the clock");
    }
    if slept > Duration::from_millis(20) {
        let found = format!("a sleep of 1 ms took {:.0} ms: time limits end late", slept.as_secs_f64() * 1e3);
        return Row { good: None, ..good(name, found) };
    }
    good(name, format!("a sleep of 1 ms took {:.1} ms", slept.as_secs_f64() * 1e3))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn an_engine_that_does_not_start_says_what_to_do_about_its_own_cause() {
        use dormouse::{Error, ErrorCode};
        let hint = |code| engine(Err(Error::new(code, "it does not").with_hint("do this")), 8).hint.unwrap();
        assert_eq!(hint(ErrorCode::CapabilityUnavailable), "do this");
        assert!(hint(ErrorCode::Internal).contains("ulimit -v"));
    }

    #[test]
    fn kernel_versions_compare_by_number() {
        assert!(kernel("6.18.44-x") > (6, 7));
        assert!(kernel("5.15.0") < (6, 7));
        assert_eq!(kernel(""), (0, 0));
    }

    #[test]
    fn a_cache_that_others_can_write_fails() {
        let folder_path = tempfile::tempdir().unwrap();
        let set = |mode| fs::set_permissions(folder_path.path(), fs::Permissions::from_mode(mode)).unwrap();
        set(0o700);
        assert_eq!(folder(folder_path.path()).good, Some(true));
        set(0o770);
        assert_eq!(folder(folder_path.path()).good, Some(false));
        assert_eq!(folder(&folder_path.path().join("none")).good, Some(false));
    }
}
