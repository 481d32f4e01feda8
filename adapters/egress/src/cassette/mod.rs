//! Answers that are written down, and given again without a network: a run of a program repeats in a test.
//!
//! A request is recognised by what its guest wrote, with placeholders in place of secrets, so a recording holds no secret of the
//! operator's and can be played by whoever has none. The first answer to a request is given to the first that is the same, the second to
//! the second, and the last one to all that follow. Answers are written down as a guest sees them: washed.
//!
//! | what | module |
//! | --- | --- |
//! | what a request is recognised by | `asked` |
//! | the file: lines, and the hash of all of them | `line` |
//! | where it lies, and what lies there before it is whole | `place` |
//! | writing it | `record` |
//! | reading it, and answering from it | `replay` |

mod asked;
mod line;
mod place;
mod record;
mod replay;

use std::path::Path;

use dormouse_core::Result;

use crate::reason::{Reason, Refusal};
use record::Recorder;
use replay::Player;

pub(crate) use asked::Asked;
pub(crate) use record::Tape;
pub(crate) use replay::{Pieces, Replayed};

/// A recording of requests and their answers: one that is made, or one that is played.
#[derive(Debug)]
pub struct Cassette(Mode);

#[derive(Debug)]
enum Mode {
    Record(Recorder),
    Replay(Player),
}

impl Cassette {
    /// One that is made from here on, in a file that nobody but its owner can read. It is written beside it, as `NAME.part`, and takes
    /// the place of an earlier recording when it is whole.
    ///
    /// Everything happens as without it, except that a request's body is read as a whole before it leaves. WebSockets and streams of
    /// bytes are not recorded.
    ///
    /// # Errors
    /// `conflict` for what is there and no recording, and where another process records; `state_unavailable` for what cannot be written.
    pub fn record(path: &Path) -> Result<Self> {
        Ok(Self(Mode::Record(Recorder::create(path)?)))
    }

    /// One that is played: nothing leaves, no name is looked up, no secret is read. Rules and budgets count as ever.
    ///
    /// # Errors
    /// `not_found`; `args_invalid` for what is no file, or no recording, was changed or cut, or is past 256 MiB or 100,000 requests. One
    /// that a process was making when it was killed is played up to where it is whole.
    pub fn replay(path: &Path) -> Result<Self> {
        Ok(Self(Mode::Replay(Player::read(path)?)))
    }

    /// To be called before this process gives up the right to put one file in the place of another.
    ///
    /// # Errors
    /// `state_unavailable` for a recording that could not be finished then.
    pub fn before_the_wall(&mut self) -> Result<()> {
        match &mut self.0 {
            Mode::Record(recorder) => recorder.hold(),
            Mode::Replay(_) => Ok(()),
        }
    }

    /// Whether it is played.
    pub(crate) fn is_played(&self) -> bool {
        matches!(self.0, Mode::Replay(_))
    }

    /// Ends a recording, and puts it in its place: what comes later is not in it. One without a request leaves an earlier one there.
    ///
    /// # Errors
    /// `state_unavailable` if it could not be written.
    pub(crate) fn finish(&self) -> Result<()> {
        match &self.0 {
            Mode::Record(recorder) => recorder.finish(),
            Mode::Replay(_) => Ok(()),
        }
    }

    /// What becomes of a request with this body.
    ///
    /// # Errors
    /// `not_recorded` for one that is not in what is played; why there was no answer when it was recorded.
    pub(crate) fn meet(&self, asked: &Asked, body: &[u8]) -> std::result::Result<Met, Refusal> {
        match &self.0 {
            Mode::Record(recorder) => Ok(Met::Recorded(recorder.begin(asked, body))),
            Mode::Replay(player) => player.answer(asked, body).map(Met::Replayed),
        }
    }
}

/// What becomes of a request.
pub(crate) enum Met {
    /// It is sent, and this takes its answer.
    Recorded(Tape),
    /// It is answered.
    Replayed(Replayed),
}

/// What is said of what is in no recording.
pub(crate) fn missing(what: &str) -> Refusal {
    Refusal::new(Reason::NotRecorded, format!("{what} is not in the recording that is played"))
}

#[cfg(test)]
#[path = "cassette_tests.rs"]
mod tests;
