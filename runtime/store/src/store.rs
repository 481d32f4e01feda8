//! The store: a folder, its database, its leases.

use std::path::Path;
use std::sync::Arc;

use dormouse_core::Result;

use crate::database::Database;
use crate::folder::Folder;

/// How a store is opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Most bytes of the database; what does not fit is `state_unavailable`. The log beside it takes up to as much as one
    /// change needs. Default none: the disk's size. Each process has its own bound.
    pub most_bytes: Option<u64>,
}

/// A state folder. Any number of processes and threads may have it open; reading never waits for writing.
///
/// ```
/// use dormouse_core::sandbox::{Ledger, Owner};
/// use dormouse_store::{Settings, Store};
///
/// let place = tempfile::tempdir()?;
/// let store = Store::open(&place.path().join("state"), &Settings::default())?;
/// assert!(store.list(&Owner::local(), None, None, 100)?.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Store {
    pub(crate) folder: Folder,
    pub(crate) database: Arc<Database>,
}

impl Store {
    /// Opens a folder, or makes it with mode 0700. Its records are checked, its chunks are not.
    ///
    /// # Errors
    /// `state_unavailable` when the folder cannot be used: others can write it, it is read-only or full, it is of a later
    /// version or another program's. `state_damaged` when the database does not hold together.
    pub fn open(folder: &Path, settings: &Settings) -> Result<Self> {
        let folder = Folder::open(folder)?;
        let database = Arc::new(Database::open(&folder, settings.most_bytes)?);
        Ok(Self { folder, database })
    }
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").field("folder", &self.folder).finish_non_exhaustive()
    }
}
