//! The second wall, around a server's own process (requirements S3-17): after it, the kernel refuses this process what it
//! does not need, whatever code runs in it.
//!
//! | half | module |
//! | --- | --- |
//! | files below the folders that were named, TCP, signals: Landlock | [`files`] |
//! | system calls, and what their arguments may be: a filter that allows what is listed | [`filter`], [`calls`] |
//!
//! Both hold for this thread and those that it starts, so they come before the second one, and for ever. What a server
//! needs beyond them is done by helpers that were made before ([`broker`](crate::broker)).

mod calls;
mod files;
mod filter;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

use dormouse::{Error, ErrorCode, Result};

/// Whether there is to be a wall.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Confine {
    /// No.
    Off,
    /// As much of it as the kernel has.
    Usual,
    /// All of it, or the process does not start.
    Must,
}

/// What the process is to reach still.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reach {
    /// Folders and files that are read.
    pub(crate) read: Vec<PathBuf>,
    /// Folders that are written.
    pub(crate) write: Vec<PathBuf>,
    /// Whether TCP connections are made. Which, is decided by name, by the rooms that make them.
    pub(crate) connects: bool,
    /// Whether connections are taken, on a socket that listens already.
    pub(crate) listens: bool,
    /// Whether it listens at ports that the kernel chooses.
    pub(crate) relays: bool,
    /// Whether there are helpers, which hand over descriptors.
    pub(crate) helped: bool,
}

/// What holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Wall {
    /// All of it.
    Whole,
    /// A part; what is missing, and why.
    Part(Vec<String>),
    /// Nothing was asked for.
    Off,
}

impl Wall {
    /// One word: `full`, `partial` or `off`.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Self::Whole => "full",
            Self::Part(_) => "partial",
            Self::Off => "off",
        }
    }

    /// One line for people.
    pub(crate) fn told(&self) -> String {
        match self {
            Self::Whole => "full: the kernel refuses this process what it does not need".into(),
            Self::Part(missing) => format!("partial: {}", missing.join("; ")),
            Self::Off => "off: what gets out of a sandbox can do what this user can".into(),
        }
    }
}

/// Confines this process, while it has one thread, for ever. Says in the log how much of the wall holds.
///
/// # Errors
/// `capability_unavailable` where all of it must be and the kernel does not have all of it; `path_denied` for a folder that
/// cannot be opened; `internal` when a second thread runs already.
pub(crate) fn raise(confine: Confine, reach: &Reach) -> Result<Wall> {
    if confine != Confine::Off && !is_alone() {
        let cause = std::io::Error::other("another thread runs already");
        return Err(Error::internal("the process cannot be confined", cause));
    }
    let wall = restrict(confine, reach)?;
    let told = wall.told();
    match wall {
        Wall::Part(_) => tracing::warn!("confinement is {told}"),
        _ => tracing::info!("confinement is {told}"),
    }
    Ok(wall)
}

/// Confines this thread and all that it starts, for ever.
fn restrict(confine: Confine, reach: &Reach) -> Result<Wall> {
    if confine == Confine::Off {
        return Ok(Wall::Off);
    }
    let mut missing = Vec::new();
    missing.extend(files::restrict(reach)?);
    missing.extend(filter::restrict(&calls::of_server(reach, std::process::id())));
    match missing.as_slice() {
        [] => Ok(Wall::Whole),
        missing if confine == Confine::Must => Err(Error::new(
            ErrorCode::CapabilityUnavailable,
            format!("`--confine` is not possible: {}", missing.join("; ")),
        )
        .with_hint("leave the option out: what the kernel has of it is set up in any case")),
        _ => Ok(Wall::Part(missing)),
    }
}

/// Whether this process has one thread. Where nobody can tell, it has: nothing of ours starts one before.
fn is_alone() -> bool {
    std::fs::read_dir("/proc/self/task").map_or(true, |threads| threads.count() == 1)
}

/// Confines a helper that looks up names and connects, as far as the kernel can.
pub(crate) fn raise_for_names() {
    // Nobody could be told more than that it has less of a wall; what it is asked is the same.
    let _ = files::restrict_names();
    let _ = filter::restrict(&calls::of_names(std::process::id()));
}

/// Confines a helper that opens files, as far as the kernel can: it reads, and does nothing else.
pub(crate) fn raise_for_files() {
    let _ = files::restrict_reading();
    let _ = filter::restrict(&calls::of_files(std::process::id()));
}

/// What this kernel has of the wall, tried in a thread that ends with it.
pub(crate) fn available() -> Result<Wall> {
    let tried = std::thread::spawn(|| restrict(Confine::Usual, &Reach::default())).join();
    tried.unwrap_or_else(|_| {
        Err(Error::new(ErrorCode::Internal, "the confinement of processes cannot be tried"))
    })
}
