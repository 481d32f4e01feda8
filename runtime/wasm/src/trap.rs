//! What a trap means: exactly one named reason for each way a guest can be ended.

use dormouse_core::{Error, ErrorCode, Exception, GuestName, Limits, MIB, Status};
use wasmtime::Trap;
use wasmtime_wasi::I32Exit;

use crate::entry::Left;
use crate::limiter::Refused;
use crate::state::Host;
use crate::task::Task;

/// What is said where it is not a run's own limit that was reached.
const IN_ALL: &str = "all runs together have the memory that they may have";

/// The status of a run whose call ended without an answer.
pub(crate) fn left(left: Left, host: &Host, limits: &Limits) -> Status {
    match left {
        Left::Late => Status::Stopped(time(limits, &host.net.waited_for())),
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
        trap => match (host.limiter.refused(), trap) {
            (Some(Refused::Limit), _) | (None, Some(Trap::AllocationTooLarge)) => memory(limits),
            (Some(Refused::InAll), _) => memory_in_all(),
            (None, trap) => other(trap.copied(), error),
        },
    })
}

/// The wall-clock limit was reached. `places`: where the connections lead to that the program waited for.
fn time(limits: &Limits, places: &[String]) -> Error {
    let error = Error::new(
        ErrorCode::LimitTime,
        format!("the wall-clock limit of {} ms was reached", limits.wall.as_millis()),
    );
    if places.is_empty() {
        return error.with_hint("raise the time-out, or split the work into smaller runs");
    }
    error.with_hint(format!(
        "it waited with a connection to `{}` open, which keeps a run from its end: close what is not needed any more (a WebSocket, \
         a client's session), or raise the time-out",
        places.join("`, `")
    ))
}

/// The memory limit is too small, or was reached.
pub(crate) fn memory(limits: &Limits) -> Error {
    Error::new(ErrorCode::LimitMemory, format!("the memory limit of {} bytes was reached", limits.memory))
        .with_hint("raise the memory limit, or work on less data at a time")
}

/// All runs together have the memory that they may have.
fn memory_in_all() -> Error {
    Error::new(ErrorCode::Busy, IN_ALL).with_hint(
        "try again when other runs have ended, work on less data at a time, or have the operator allow more (`--runs-memory SIZE`)",
    )
}

/// Whether an exception is a language's own way to say that there is no more memory.
pub(crate) fn is_of_memory(exception: &Exception) -> bool {
    match exception.class.as_str() {
        "MemoryError" | "OutOfMemoryError" => true,
        "InternalError" => exception.message == "out of memory",
        _ => false,
    }
}

/// What can be done about such an exception.
pub(crate) fn raise_memory(refused: Refused, limits: &Limits) -> String {
    match refused {
        Refused::Limit => format!(
            "the memory limit of {} MiB was reached: raise it, or work on less data at a time",
            limits.memory.div_ceil(MIB)
        ),
        Refused::InAll => {
            format!("{IN_ALL}: try again when other runs have ended, or work on less data at a time")
        }
    }
}

/// The memory limit is less than a fresh interpreter takes that has `image` bytes, or leaves it nothing; none: it is enough.
pub(crate) fn too_small(language: &GuestName, image: usize, limits: &Limits) -> Option<Error> {
    let least = (image as u64 + MIB).div_ceil(MIB);
    (limits.memory < least * MIB).then(|| {
        let (asked, title) = (limits.memory, language.title());
        Error::args_invalid(format!(
            "a memory limit of {asked} bytes ({} MiB) is too small for {title}: its interpreter alone takes {least} MiB",
            asked / MIB
        ))
        .with_hint(format!("ask for {least} MiB or more; what the program holds comes on top"))
    })
}

/// An interpreter, which had `image` bytes when it was fresh, holds more than the run may: its limit is lower than it was, or
/// too small for any. `kept`: it belongs to a sandbox, which can have a fresh one.
pub(crate) fn held((held, image): (usize, usize), request: &Task, kept: bool) -> Error {
    let limits = &request.context.limits;
    if !kept {
        return memory(limits);
    }
    if let Some(error) = too_small(&request.guest, image, limits) {
        return Error::new(ErrorCode::LimitMemory, error.message())
            .with_hint("make a sandbox with more memory, or have the operator's ceiling raised");
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_memory_of_a_language_is_its_image_and_a_little() {
        let limits = |mib: u64| Limits { memory: mib * MIB, ..Limits::default() };
        let image = (43 << 20) - 7;
        for (mib, told) in [(16, true), (43, true), (44, false), (128, false)] {
            let error = too_small(&GuestName::python(), image, &limits(mib));
            assert_eq!(error.is_some(), told, "{mib} MiB");
            if let Some(error) = error {
                assert_eq!(error.code(), ErrorCode::ArgsInvalid);
                assert!(error.message().ends_with("Python: its interpreter alone takes 44 MiB"), "{error}");
                assert!(error.hint().is_some_and(|hint| hint.contains("44 MiB")));
            }
        }
    }

    #[test]
    fn a_sandbox_whose_interpreter_grew_is_told_to_reset_it_and_a_small_one_that_it_is_small() {
        let request = |mib: u64| {
            let mut request = Task::new(GuestName::python(), "1");
            request.context.limits.memory = mib * MIB;
            request
        };
        let image = 42 << 20;
        let hint = |error: Error| error.hint().unwrap_or_default().to_owned();
        let grown = held((100 << 20, image), &request(64), true);
        assert_eq!(grown.code(), ErrorCode::LimitMemory);
        assert!(hint(grown).contains("sandbox_reset"));
        let small = held((image, image), &request(16), true);
        assert_eq!(small.code(), ErrorCode::LimitMemory);
        assert!(small.message().contains("43 MiB") && hint(small).contains("with more memory"));
    }
}
