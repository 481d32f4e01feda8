//! Signals that ask a command to end: SIGINT, SIGTERM and SIGHUP.
//!
//! The first gives up the call that runs; what has changed is saved, and the exit status tells which signal it was. The second
//! ends the process at once. One that the process was started to ignore, as `nohup` has it, stays ignored. Servers have a way
//! of their own.

use std::fs;
use std::future::{Future, poll_fn};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::Poll;
use std::time::Duration;

use dormouse::{Error, ErrorCode, Result};
use tokio::runtime::Handle;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::exit;

/// What a shell adds to the number of the signal that ended a process.
pub(crate) const BY_SIGNAL: u8 = 128;
/// Signals that come within this time are one request to end.
const TOGETHER: Duration = Duration::from_secs(1);

/// The first signal that came, or 0.
static CAME: AtomicU8 = AtomicU8::new(0);

/// Cancelled when it comes; there once it is watched for.
static ASKED: OnceLock<CancellationToken> = OnceLock::new();

/// All three.
pub(crate) const ALL: [SignalKind; 3] =
    [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];

/// From now on, and for as long as the event loop lives, these signals ask instead of ending the process. Only the first call
/// counts.
pub(crate) fn watch(on: &Handle, kinds: &[SignalKind]) {
    ASKED.get_or_init(|| {
        let _entered = on.enter();
        let ignored = ignored();
        let heeded = kinds.iter().filter(|kind| ignored >> (kind.as_raw_value() - 1) & 1 == 0);
        let mut signals: Vec<(u8, Signal)> =
            heeded.filter_map(|kind| Some((number(*kind), signal(*kind).ok()?))).collect();
        let asked = CancellationToken::new();
        let told = asked.clone();
        on.spawn(async move {
            CAME.store(next(&mut signals).await, Ordering::Release);
            told.cancel();
            exit::end(BY_SIGNAL + next_later(&mut signals).await);
        });
        asked
    });
}

/// The signals that ask a server to end: all three, but for SIGHUP where the process was started to ignore it. Is to be called
/// within the event loop.
pub(crate) fn of_a_server() -> Vec<(u8, Signal)> {
    let ignored = ignored();
    let heeded = ALL
        .iter()
        .filter(|kind| **kind != SignalKind::hangup() || ignored >> (kind.as_raw_value() - 1) & 1 == 0);
    let watched = |kind: &SignalKind| {
        signal(*kind).inspect_err(
            |error| tracing::warn!(%error, "a signal cannot be waited for; it ends the process at once"),
        )
    };
    heeded.filter_map(|kind| Some((number(*kind), watched(kind).ok()?))).collect()
}

/// Does something, unless the process is asked to end meanwhile, or was before.
///
/// # Errors
/// `cancelled` then, and those of `work`.
pub(crate) async fn unless_asked<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    tokio::select! {
        biased;
        () = asked() => Err(cancelled()),
        done = work => done,
    }
}

/// The same, with that much time to come to its end all the same.
///
/// # Errors
/// As [`unless_asked`].
pub(crate) async fn unless_asked_before<T>(
    work: impl Future<Output = Result<T>>,
    patience: Duration,
) -> Result<T> {
    let too_late = async {
        asked().await;
        tokio::time::sleep(patience).await;
    };
    tokio::select! {
        biased;
        done = work => done,
        () = too_late => Err(cancelled().with_hint("it may have been done nevertheless; check before you repeat it")),
    }
}

/// Is over when the process has been asked to end.
pub(crate) async fn asked() {
    match ASKED.get() {
        Some(asked) => asked.cancelled().await,
        None => std::future::pending().await,
    }
}

/// The exit status of a command: that of the signal, if one came.
pub(crate) fn status(status: u8) -> u8 {
    match CAME.load(Ordering::Acquire) {
        0 => status,
        number => BY_SIGNAL + number,
    }
}

fn cancelled() -> Error {
    let name = match i32::from(CAME.load(Ordering::Acquire)) {
        libc::SIGINT => "SIGINT",
        libc::SIGTERM => "SIGTERM",
        libc::SIGHUP => "SIGHUP",
        _ => "a signal",
    };
    Error::new(ErrorCode::Cancelled, format!("the call was cancelled by {name}"))
}

/// As [`next`], for those that come later than a second from now. Who passes a signal on may send it to a process and to the group
/// that it is in, as `timeout` does: that asks once.
pub(crate) async fn next_later(signals: &mut [(u8, Signal)]) -> u8 {
    let later = tokio::time::Instant::now() + TOGETHER;
    loop {
        let number = next(signals).await;
        if tokio::time::Instant::now() >= later {
            return number;
        }
    }
}

/// The number of the next one that comes.
pub(crate) async fn next(signals: &mut [(u8, Signal)]) -> u8 {
    poll_fn(|context| {
        let came = signals
            .iter_mut()
            .find_map(|(number, signal)| signal.poll_recv(context).is_ready().then_some(*number));
        came.map_or(Poll::Pending, Poll::Ready)
    })
    .await
}

fn number(kind: SignalKind) -> u8 {
    u8::try_from(kind.as_raw_value()).unwrap_or_default()
}

/// The signals that the process was started to ignore: a bit for each, from that of signal 1 on.
fn ignored() -> u64 {
    let told = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = told.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default()
}
