//! Python's variables over a stop, for a sandbox that asks for them: pickled by the container's own interpreter, and loaded by it.
//!
//! Owns: what is kept of them, and where they lie in a tree. Does not own: what is in them
//! (`interpreters/python/kept.py`). To the host they are bytes: nothing here reads them.

use std::sync::Arc;

use dormouse_core::{ErrorCode, GuestPath, Result};
use dormouse_files::{Files, Kind, Tree};

/// Where they lie: beside what a tree does not hold of a container, outside the folders of a sandbox.
const PLACE: &str = "/.dormouse-python";
/// Most bytes of them (32 MiB).
pub(crate) const MOST: usize = 32 << 20;

/// The variables of a container's Python.
#[derive(Default)]
pub(crate) struct Variables {
    /// As they were pickled last, or as they came with the state that the sandbox began with.
    kept: Option<Arc<Vec<u8>>>,
    /// Whether something ran since.
    stale: bool,
}

impl Variables {
    /// Whether the next interpreter begins with some.
    pub(crate) fn are_kept(&self) -> bool {
        self.kept.is_some()
    }

    /// What the next interpreter begins with.
    pub(crate) fn kept(&self) -> Option<Arc<Vec<u8>>> {
        self.kept.clone()
    }

    /// As they are pickled now.
    pub(crate) fn pickled(kept: Vec<u8>) -> Self {
        Self { kept: Some(Arc::new(kept)), stale: false }
    }

    /// Whether something ran since they were pickled.
    pub(crate) fn is_stale(&self) -> bool {
        self.stale
    }

    /// Something runs now, after which they are others.
    pub(crate) fn touch(&mut self) {
        self.stale = true;
    }

    /// Forgets them.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Those that lie in a tree.
    pub(crate) fn of(tree: &Tree) -> Self {
        let files = Files::new(tree.clone());
        let read = || {
            let path = GuestPath::parse(PLACE).ok()?;
            files.stat(&path).ok().filter(|stat| stat.kind == Kind::File && stat.size <= most())?;
            files.read(&path, 0, MOST * 2).ok()
        };
        Self { kept: read().map(Arc::new), stale: false }
    }

    /// Puts them into a tree; what lay there of them before is gone.
    ///
    /// # Errors
    /// As [`Files::write`].
    pub(crate) fn put(&self, files: &Files) -> Result<()> {
        let path = GuestPath::parse(PLACE)?;
        match &self.kept {
            Some(kept) => files.write(&path, kept),
            None => match files.remove(&path, true) {
                Err(error) if error.code() != ErrorCode::NotFound => Err(error),
                _ => Ok(()),
            },
        }
    }

    /// Whether a tree has others than these.
    pub(crate) fn differ(&self, tree: &Tree) -> bool {
        Self::of(tree).kept != self.kept
    }
}

/// A tree without them.
///
/// # Errors
/// As [`Files::remove`].
pub(crate) fn without(tree: &Tree) -> Result<Tree> {
    if !Variables::of(tree).are_kept() {
        return Ok(tree.clone());
    }
    let files = Files::new(tree.clone());
    Variables::default().put(&files)?;
    Ok(files.snapshot())
}

/// What is read of a tree: the variables and their head.
fn most() -> u64 {
    u64::try_from(MOST * 2).unwrap_or(u64::MAX)
}
