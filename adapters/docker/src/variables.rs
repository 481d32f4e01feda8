//! Python's variables over a stop, for a sandbox that asks for them: pickled by the container's own interpreter, and loaded by it.
//!
//! Owns: when they are taken and given back, and where they lie in a tree. Does not own: what is in them
//! (`kernels/python/kept.py`). To the host they are bytes: nothing here reads them.

use std::sync::Arc;

use dormouse_core::sandbox::Lost;
use dormouse_core::{ErrorCode, GuestPath, Language, Recovery, Result};
use dormouse_files::{Files, Kind, Tree};

use crate::machine::DockerMachine;

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

impl DockerMachine {
    /// Has Python's variables pickled, where the sandbox wants that and something ran since the last time. What goes wrong leaves
    /// none: then they end with the container, which the next run says.
    pub(crate) async fn keep_variables(&mut self) {
        let python = Language::python();
        if !self.spec.pickles || !self.variables.stale || !self.interpreters.awake().contains(&python) {
            return;
        }
        match self.pickled(&python).await {
            Ok(kept) => self.variables = Variables { kept: Some(Arc::new(kept)), stale: false },
            Err(why) => {
                tracing::debug!(container = self.room.id, why, "variables are not kept");
                self.variables = Variables::default();
            }
        }
    }

    /// What is to be said of an interpreter that began with kept variables: which of them are missing.
    pub(crate) fn say_missing(&mut self, missing: Option<String>) {
        let python = Language::python();
        let before = self.lost.of(&python);
        let Some(reason) = missing.or_else(|| before.as_ref().map(|lost| lost.reason.clone())) else {
            return;
        };
        self.lost.note(Lost { language: python, recovery: Recovery::Earlier, reason });
    }
}
