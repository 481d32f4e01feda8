//! What a trap means: exactly one named reason for each way a guest can be ended.

use dormouse_core::{Error, ErrorCode, Limits, Status};
use wasmtime::Trap;
use wasmtime_wasi::I32Exit;

use crate::entry::Left;
use crate::state::Host;

/// The status of a run whose call ended without an answer.
pub(crate) fn left(left: Left, host: &Host, limits: &Limits) -> Status {
    match left {
        Left::Late => Status::Stopped(time(limits)),
        Left::Failed(error) => status(error, host, limits),
        Left::TooLong { bytes, most } => Status::Stopped(
            Error::new(
                ErrorCode::GuestTrap,
                format!("the interpreter answered with {bytes} bytes, at most {most} were asked for"),
            )
            .with_hint(
                "the snippet has changed the interpreter's own modules; the next call gets a fresh one",
            ),
        ),
        Left::Gone => Status::Stopped(
            Error::new(ErrorCode::GuestTrap, "the interpreter is gone: an earlier call was stopped")
                .with_hint("reset the sandbox, or restore its last checkpoint"),
        ),
    }
}

/// The status of a run that trapped.
fn status(error: wasmtime::Error, host: &Host, limits: &Limits) -> Status {
    if let Some(exit) = error.downcast_ref::<I32Exit>() {
        return Status::Exited(exit.0);
    }
    // A failure of the host's own, in a host call: said as it is.
    let error = match error.downcast::<Error>() {
        Ok(own) => return Status::Stopped(own),
        Err(error) => error,
    };
    Status::Stopped(match error.downcast_ref::<Trap>() {
        Some(Trap::OutOfFuel) => fuel(limits),
        Some(Trap::StackOverflow) => stack(),
        _ if host.limiter.refused() => memory(limits),
        Some(Trap::AllocationTooLarge) => memory(limits),
        trap => other(trap.copied(), error),
    })
}

/// The wall-clock limit was reached.
pub(crate) fn time(limits: &Limits) -> Error {
    Error::new(
        ErrorCode::LimitTime,
        format!("the wall-clock limit of {} ms was reached", limits.wall.as_millis()),
    )
    .with_hint("raise the time-out, or split the work into smaller runs")
}

/// The memory limit is too small, or was reached.
pub(crate) fn memory(limits: &Limits) -> Error {
    Error::new(ErrorCode::LimitMemory, format!("the memory limit of {} bytes was reached", limits.memory))
        .with_hint("raise the memory limit, or work on less data at a time")
}

/// An interpreter holds more than the run may: its limit is lower than it was, or too small for any. `kept`: it belongs to a
/// sandbox, which can have a fresh one.
pub(crate) fn held(held: usize, limits: &Limits, kept: bool) -> Error {
    if !kept {
        return memory(limits);
    }
    let most = limits.memory;
    Error::new(
        ErrorCode::LimitMemory,
        format!("the interpreter holds {held} bytes of memory, more than its limit of {most}"),
    )
    .with_hint("an interpreter gives nothing back: reset the sandbox (sandbox_reset), which keeps its files, or have the limit raised")
}

fn fuel(limits: &Limits) -> Error {
    let budget = limits.fuel.unwrap_or_default();
    Error::new(ErrorCode::LimitFuel, format!("the fuel budget of {budget} was used up"))
        .with_hint("raise the fuel, or leave it out and rely on the time-out")
}

fn stack() -> Error {
    Error::new(ErrorCode::LimitStack, "the call stack was exhausted")
        .with_hint("the recursion is too deep for the interpreter itself; use a loop or an explicit stack")
}

fn other(trap: Option<Trap>, error: wasmtime::Error) -> Error {
    let text = format!("{error:#}");
    // Host functions refuse what passes their caps with errors of their own, not with traps.
    if trap.is_none()
        && ["fuel", "table has no free keys", "too large", "handle"].iter().any(|word| text.contains(word))
    {
        return Error::new(ErrorCode::LimitHost, "a host call passed one of its caps")
            .with_hint("move less data in one call, and close files that are no longer needed")
            .with_source(error);
    }
    let reason = trap.map_or_else(|| "a host call failed".to_owned(), |trap| trap.to_string());
    Error::new(ErrorCode::GuestTrap, format!("the interpreter crashed: {reason}"))
        .with_hint("the instance is gone, the next call gets a fresh one")
        .with_source(error)
}
