//! How much there may be of what sandboxes keep: their number, their checkpoints, and bytes of each kind.
//!
//! Owns: the numbers, the comparison, and what is said to who has too much. Does not own: what is counted; the ledger counts what is
//! saved, `sandboxes` what is in memory.

use bytesize::ByteSize;

use crate::{Error, ErrorCode, Result};

/// How many sandboxes and how much state there may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    /// Sandboxes of one owner that are not destroyed. Default 100.
    pub per_owner: u32,
    /// Sandboxes of all owners that are not destroyed. Default 10 000.
    pub in_all: u32,
    /// Checkpoints of one sandbox. Default 100.
    pub checkpoints: u32,
    /// Bytes of what is saved of sandboxes and of their checkpoints. An owner is charged what the states hold, uncompressed,
    /// each state once however many sandboxes and checkpoints share it; all together are charged what the state folder takes
    /// on its disk.
    pub saved: Share,
    /// Bytes of memory that sandboxes hold while they are awake: the memories of their interpreters, and what of their files
    /// is in memory.
    pub awake: Share,
}

/// How many bytes of something there may be. None: what fits the machine, where somebody looks at it; else without a bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// Of one owner.
    pub of_owner: Option<u64>,
    /// Of all owners together.
    pub in_all: Option<u64>,
}

impl Default for Quota {
    fn default() -> Self {
        let (saved, awake) = (Share::default(), Share::default());
        Self { per_owner: 100, in_all: 10_000, checkpoints: 100, saved, awake }
    }
}

/// What an owner has saved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stored {
    /// Bytes of all states of the owner's sandboxes and checkpoints, each state once.
    pub bytes: u64,
    /// The part of them that only checkpoints hold.
    pub checkpoints: u64,
}

impl Quota {
    /// Refuses `more` things besides the `count` that there are when that is more than `most`.
    ///
    /// # Errors
    /// `quota_exceeded`.
    pub fn check_count(count: u32, more: usize, most: u32, what: &str) -> Result<()> {
        if count as usize + more <= most as usize {
            return Ok(());
        }
        let asked = if more > 1 { format!(", {more} more are asked for") } else { String::new() };
        let message = format!("there are {count} {what}{asked}, at most {most} are allowed");
        Err(exceeded(message)
            .with_hint("remove one that is not needed, or have the operator raise the quota (`--quota`)"))
    }

    /// Refuses what an owner has saved when it is more than an owner may have.
    ///
    /// # Errors
    /// `quota_exceeded`, saying what there is.
    pub fn check_stored(&self, stored: &Stored) -> Result<()> {
        let Some(most) = self.saved.of_owner.filter(|most| stored.bytes > *most) else { return Ok(()) };
        let message = format!(
            "your saved sandboxes and checkpoints take {}, {} of it for checkpoints alone; at most {} is allowed",
            shown(stored.bytes),
            shown(stored.checkpoints),
            shown(most)
        );
        Err(exceeded(message).with_hint(
            "remove checkpoints (sandbox_remove_checkpoint) or sandboxes (sandbox_destroy), \
             or have the operator raise the quota (`--quota saved=SIZE`)",
        ))
    }

    /// Refuses what the state folder takes on its disk when it is more than it may.
    ///
    /// # Errors
    /// `quota_exceeded`, saying how much it takes.
    pub fn check_disk(&self, used: u64) -> Result<()> {
        let Some(most) = self.saved.in_all.filter(|most| used > *most) else { return Ok(()) };
        let message = format!(
            "the saved state of all owners takes {} on the disk, at most {} is allowed",
            shown(used),
            shown(most)
        );
        Err(exceeded(message).with_hint(
            "remove checkpoints (sandbox_remove_checkpoint) or sandboxes (sandbox_destroy) and try again in a moment, \
             or have the operator raise the quota (`--quota saved-in-all=SIZE`)",
        ))
    }
}

/// The error for more than may be.
pub(crate) fn exceeded(message: String) -> Error {
    Error::new(ErrorCode::QuotaExceeded, message)
}

/// A number of bytes for people, such as `1.5 GiB`.
pub(crate) fn shown(bytes: u64) -> String {
    ByteSize::b(bytes).display().iec().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_refused_is_named_with_what_there_is_and_what_to_remove() {
        let share = Share { of_owner: Some(3 << 29), in_all: Some(1 << 20) };
        let quota = Quota { saved: share, ..Quota::default() };
        let most = Stored { bytes: 3 << 29, checkpoints: 1 << 20 };
        quota.check_stored(&most).unwrap();
        let error = quota.check_stored(&Stored { bytes: most.bytes + (1 << 30), ..most }).unwrap_err();
        assert_eq!(error.code(), ErrorCode::QuotaExceeded);
        assert_eq!(
            error.message(),
            "your saved sandboxes and checkpoints take 2.5 GiB, 1.0 MiB of it for checkpoints alone; at most 1.5 GiB is allowed"
        );
        assert!(error.hint().unwrap().contains("sandbox_remove_checkpoint"));
        quota.check_disk(1 << 20).unwrap();
        assert!(quota.check_disk((1 << 20) + 1).unwrap_err().hint().unwrap().contains("saved-in-all"));
        let boundless = Quota::default();
        boundless.check_stored(&Stored { bytes: u64::MAX, checkpoints: 0 }).unwrap();
        boundless.check_disk(u64::MAX).unwrap();
    }

    #[test]
    fn the_last_one_fits_and_one_more_does_not() {
        Quota::check_count(1, 1, 2, "things").unwrap();
        assert_eq!(
            Quota::check_count(1, 100, 100, "sandboxes of one owner").unwrap_err().message(),
            "there are 1 sandboxes of one owner, 100 more are asked for, at most 100 are allowed"
        );
        assert_eq!(
            Quota::check_count(2, 1, 2, "things").unwrap_err().message(),
            "there are 2 things, at most 2 are allowed"
        );
    }
}
