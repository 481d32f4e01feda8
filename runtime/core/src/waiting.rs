//! A program that waits: what it waits for, and what it is answered.
//!
//! A guest whose program awaits something and has nothing else to do comes back with an empty stack (`wit/waiting.wit`). All that
//! the program is lies in the guest's memory then: its state can be taken, and it can go on in another instance, another process, at
//! another time.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{Captured, Outcome, Usage};

/// One call of a host function that a program has made and whose answer it waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingCall {
    /// A number that no other call of the program has, 1 or more.
    pub id: u32,
    /// The function's name.
    pub name: String,
    /// Its arguments, as the JSON text of an object.
    pub arguments: String,
}

/// What a program waits for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wanted {
    /// Calls that it has made since it waited last, in that order.
    pub calls: Vec<PendingCall>,
    /// Calls of before whose answers it does not want any more.
    pub cancelled: Vec<u32>,
    /// How long until it goes on without an answer. None: it waits for an answer, however long that takes.
    pub time: Option<Duration>,
}

/// What a call came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallAnswer {
    /// The call's number.
    pub id: u32,
    /// JSON text, or a message that the program sees as its language's exception.
    pub outcome: std::result::Result<String, String>,
}

/// How far a program came.
#[derive(Debug)]
pub enum Progress {
    /// To its end.
    Ended(Box<Outcome>),
    /// To a point where it waits.
    Waits(Paused),
}

impl Progress {
    /// Whether a limit or a crash has ended the program, and its instance with it.
    pub fn is_stopped(&self) -> bool {
        matches!(self, Self::Ended(outcome) if outcome.stopped().is_some())
    }
}

/// A program at a point where it waits.
#[derive(Debug)]
pub struct Paused {
    /// What it waits for.
    pub wanted: Wanted,
    /// What it has written to standard output since it went on last.
    pub stdout: Captured,
    /// The same of standard error.
    pub stderr: Captured,
    /// What it has used since then.
    pub usage: Usage,
}
