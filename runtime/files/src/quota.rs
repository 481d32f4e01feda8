//! How much a tree may hold, and how much it holds.
//!
//! Owns: the numbers, their defaults, and the comparison. Does not own: what is charged when; `tree` does that.

use crate::Errno;

/// What a tree may hold. Removing gives back: this bounds a store, not the writes of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    /// Bytes of all files and link targets together. A file counts its size, holes included. Default 64 MiB.
    pub bytes: u64,
    /// Names: files, folders and links, a file with two names twice. Default 10 000.
    pub files: u64,
    /// Folders from `/` down to the deepest folder. Default 128: several times what package managers nest, and little enough
    /// for programs that walk a tree by recursion.
    pub depth: u32,
    /// Bytes of one name. Default and most 255.
    pub name_bytes: u32,
}

impl Default for Quota {
    fn default() -> Self {
        Self { bytes: 64 << 20, files: 10_000, depth: 128, name_bytes: 255 }
    }
}

impl Quota {
    /// The largest file whatever the quota, in bytes: 1 TiB.
    pub const MAX_FILE: u64 = 1 << 40;
    /// The longest path or link target, in bytes.
    pub const MAX_PATH: usize = 4096;
    /// The most names of one file.
    pub const MAX_LINKS: u32 = 65_000;
    /// The most symbolic links on the way to a file.
    pub const MAX_FOLLOWED: u32 = 40;
}

/// What a tree holds, counted as [`Quota`] counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Bytes of all files and link targets.
    pub bytes: u64,
    /// Names.
    pub files: u64,
}

impl Usage {
    /// This and `bytes` more, `files` more, if the quota has room for what is added.
    ///
    /// # Errors
    /// `NoSpace`. A tree that is over its quota can still shrink.
    pub(crate) fn plus(self, bytes: u64, files: u64, quota: &Quota) -> Result<Self, Errno> {
        let sum = Self { bytes: self.bytes.saturating_add(bytes), files: self.files.saturating_add(files) };
        let full = (bytes > 0 && sum.bytes > quota.bytes) || (files > 0 && sum.files > quota.files);
        if full { Err(Errno::NoSpace) } else { Ok(sum) }
    }

    /// This without what was given back.
    pub(crate) fn minus(self, bytes: u64, files: u64) -> Self {
        Self { bytes: self.bytes.saturating_sub(bytes), files: self.files.saturating_sub(files) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_byte_and_the_last_name_fit_and_one_more_does_not() {
        let quota = Quota { bytes: 10, files: 2, ..Quota::default() };
        let full = Usage::default().plus(10, 2, &quota).unwrap();
        assert_eq!(full, Usage { bytes: 10, files: 2 });
        assert_eq!(full.plus(1, 0, &quota), Err(Errno::NoSpace));
        assert_eq!(full.plus(0, 1, &quota), Err(Errno::NoSpace));
        assert_eq!(full.plus(u64::MAX, 0, &quota), Err(Errno::NoSpace));
        assert_eq!(full.minus(1, 0).plus(1, 0, &quota), Ok(full));
        assert_eq!(full.plus(0, 0, &Quota { bytes: 0, files: 0, ..quota }), Ok(full));
    }
}
