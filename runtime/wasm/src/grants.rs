//! Turns the grants of a run into a WASI context: what is not named here does not exist for the guest.

use std::time::{Duration, SystemTime};

use dormouse_core::grants::WallClock;
use dormouse_core::{Access, Error, ErrorCode, Grants, Mount, Result};
use rand_chacha::ChaCha12Rng;
use rand_chacha::rand_core::SeedableRng as _;
use wasmtime_wasi::{FsPerms, HostMonotonicClock, HostWallClock, WasiCtx, WasiCtxBuilder};

use crate::clock::Monotonic;
use crate::stdio::{Input, Output};

/// Random bytes that a guest may ask for in one call.
const MAX_RANDOM: u64 = 1 << 20;

/// What is to become of a mount whose folder cannot be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Missing {
    /// The run is refused: who asked for it can ask otherwise.
    Refused,
    /// The run goes on without it: a sandbox that was made long ago.
    LeftOut,
}

/// The context of one run; its monotonic clock begins at 0 unless it is given one that goes on.
pub(crate) fn context(
    grants: &Grants,
    program: &str,
    stdin: &Input,
    (stdout, stderr): (&Output, &Output),
    missing: Missing,
    monotonic: Option<&Monotonic>,
) -> Result<WasiCtx> {
    let mut wasi = WasiCtxBuilder::new();
    wasi.stdin(stdin.clone())
        .stdout(stdout.clone())
        .stderr(stderr.clone())
        .max_random_size(MAX_RANDOM)
        .allow_tcp(false)
        .allow_udp(false)
        .allow_ip_name_lookup(false)
        // Files are few and local; a thread hop for each access would cost more than the access.
        .allow_blocking_current_thread(true);
    if !grants.environment.is_empty() {
        wasi.envs(&grants.environment);
    }
    if !grants.arguments.is_empty() || grants.program.is_some() {
        wasi.arg(grants.program.as_deref().unwrap_or(program)).args(&grants.arguments);
    }
    if let Some(seed) = grants.seed {
        wasi.secure_random(ChaCha12Rng::seed_from_u64(seed))
            .insecure_random(ChaCha12Rng::seed_from_u64(!seed))
            .insecure_random_seed(u128::from(seed));
    }
    if let Some(clock) = monotonic {
        wasi.monotonic_clock(clock.clone());
    }
    if let WallClock::Fixed(instant) = grants.clock {
        let since = instant.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        wasi.wall_clock(FixedWall(since)).monotonic_clock(Counter::default());
    }
    if let Some(project) = &grants.project {
        preopen(&mut wasi, &project.mount()?)?;
    }
    for mount in &grants.mounts {
        match preopen(&mut wasi, mount) {
            Err(error) if missing == Missing::LeftOut => {
                tracing::warn!(%error, "a sandbox goes on without a mount");
            }
            opened => opened?,
        }
    }
    Ok(wasi.build())
}

fn preopen(wasi: &mut WasiCtxBuilder, mount: &Mount) -> Result<()> {
    let permissions = match mount.access {
        Access::ReadOnly => FsPerms::ReadOnly,
        Access::ReadWrite => FsPerms::ReadWrite,
    };
    wasi.preopened_dir(&mount.source, mount.target.as_str(), permissions).map_err(|error| {
        Error::new(ErrorCode::PathDenied, format!("`{}` cannot be mounted", mount.source.display()))
            .with_hint("a mount's source must be a folder that exists and that you can read")
            .with_source(error)
    })?;
    Ok(())
}

/// A wall clock that stands still.
struct FixedWall(Duration);

impl HostWallClock for FixedWall {
    fn resolution(&self) -> Duration {
        Duration::from_nanos(1)
    }

    fn now(&self) -> Duration {
        self.0
    }
}

/// A monotonic clock that advances 1 µs a reading, so that the same program sees the same times.
#[derive(Default)]
struct Counter(std::sync::atomic::AtomicU64);

impl HostMonotonicClock for Counter {
    fn resolution(&self) -> u64 {
        1_000
    }

    fn now(&self) -> u64 {
        self.0.fetch_add(1_000, std::sync::atomic::Ordering::Relaxed)
    }
}
