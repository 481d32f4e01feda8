//! What a root says after its list of interpreters and files: parts, each with a number, so that a reader that does not know one
//! goes past it. Roots of earlier installations have none, and earlier installations go past all of them.

use dormouse_core::sandbox::Lost;
use dormouse_core::sandbox::chunk::damaged;
use dormouse_core::{Error, Result};
use dormouse_files::Held;
use serde::{Deserialize, Serialize};

/// What was lost and no answer has told yet.
const LOST: u32 = 1;
/// The monotonic clock of the guests.
const CLOCK: u32 = 2;
/// What interpreters have open.
const OPEN: u32 = 3;
/// That the sandbox has read what a server sent that the operator does not trust.
const TAINTED: u32 = 4;
/// Files that one interpreter has open at most, which is more than its descriptors.
const MAX_HELD: usize = 1_024;
/// Most bytes of a reason that is read.
const LONGEST: usize = 1_000;

/// The parts that this installation knows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Parts {
    /// What was lost of interpreters and no answer has told yet, by language.
    pub(crate) lost: Vec<Lost>,
    /// What the monotonic clock of the guests showed when the latest of their states was taken, in nanoseconds.
    pub(crate) clock: u64,
    /// Whether it has read what a server sent that the operator does not trust.
    pub(crate) tainted: bool,
    /// What each memory of the root's list has open of the files that were saved with it; none: nothing is open. Only in a root.
    pub(crate) open: Vec<Vec<Held>>,
}

/// All parts, with their numbers.
#[derive(Default, Serialize, Deserialize)]
struct Form(Vec<(u32, Vec<u8>)>);

impl Parts {
    /// Adds them to the end of a root, those that say something.
    ///
    /// # Errors
    /// `internal` when they cannot be written down.
    pub(super) fn write(&self, root: &mut Vec<u8>) -> Result<()> {
        let mut form = Form::default();
        if !self.lost.is_empty() {
            form.0.push((LOST, bytes(&self.lost)?));
        }
        if self.clock > 0 {
            form.0.push((CLOCK, bytes(&self.clock)?));
        }
        if self.tainted {
            form.0.push((TAINTED, bytes(&self.tainted)?));
        }
        if !self.open.is_empty() {
            form.0.push((OPEN, bytes(&self.open)?));
        }
        if !form.0.is_empty() {
            root.extend_from_slice(&bytes(&form)?);
        }
        Ok(())
    }

    /// Reads them from the end of a root.
    ///
    /// # Errors
    /// `state_damaged`.
    pub(super) fn read(rest: &[u8]) -> Result<Self> {
        if rest.is_empty() {
            return Ok(Self::default());
        }
        let form: Form = of(rest)?;
        let mut parts = Self::default();
        for (number, bytes) in form.0 {
            match number {
                LOST => parts.lost = of(&bytes)?,
                CLOCK => parts.clock = of(&bytes)?,
                OPEN => parts.open = of(&bytes)?,
                TAINTED => parts.tainted = of(&bytes)?,
                _ => {}
            }
        }
        if parts.open.iter().any(|held| held.len() > MAX_HELD) {
            return Err(damaged("an interpreter has too much open"));
        }
        if parts.lost.iter().any(|lost| lost.reason.len() > LONGEST) {
            return Err(damaged("a part of its root is too long"));
        }
        Ok(parts)
    }
}

fn bytes(part: &impl Serialize) -> Result<Vec<u8>> {
    postcard::to_stdvec(part).map_err(|error| Error::internal("the state cannot be written down", error))
}

fn of<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T> {
    postcard::from_bytes(bytes)
        .map_err(|error| damaged("a part of its root has another form").with_source(error))
}

#[cfg(test)]
mod tests {
    use dormouse_core::{ErrorCode, GuestName, Recovery};

    use super::*;

    #[test]
    fn parts_come_back_and_those_that_nobody_knows_are_gone_past() {
        let lost = Lost {
            guest: GuestName::python(),
            recovery: Recovery::Earlier,
            reason: "it could not be saved".into(),
        };
        let parts = Parts { lost: vec![lost], clock: 7, tainted: true, open: vec![Vec::new()] };
        let mut root = Vec::new();
        parts.write(&mut root).unwrap();
        assert_eq!(Parts::read(&root).unwrap(), parts);
        let mut form: Form = of(&root).unwrap();
        form.0.insert(1, (77, b"of a later installation".to_vec()));
        assert_eq!(Parts::read(&bytes(&form).unwrap()).unwrap(), parts);
        assert_eq!(Parts::read(&[]).unwrap(), Parts::default());
        let mut none = Vec::new();
        Parts::default().write(&mut none).unwrap();
        assert!(none.is_empty(), "a state without parts is as it always was");
        for end in 1..root.len() {
            assert_eq!(
                Parts::read(&root[..end]).unwrap_err().code(),
                ErrorCode::StateDamaged,
                "cut at {end}"
            );
        }
    }
}
