//! Files of a folder that are to be put somewhere else, such as into a container that has not been started.

use async_trait::async_trait;

use super::Entry;
use crate::Result;

/// What lies in one folder. It stays as it is for as long as this is held.
#[async_trait]
pub trait Contents: Send + Sync {
    /// All of it by path, each folder followed by what it holds; links with where they lead.
    ///
    /// # Errors
    /// What keeps it from being looked at.
    async fn list(&self) -> Result<Vec<Entry>>;

    /// The bytes of one of its files from `offset`, at most `most`; none past its end.
    ///
    /// # Errors
    /// `not_found`, and what keeps it from being read.
    async fn read(&self, path: &str, offset: u64, most: u64) -> Result<Vec<u8>>;

    /// Lets go of it and of what was made for it. Twice is as once; dropping it does the same without being waited for. Default:
    /// there is nothing to let go of.
    ///
    /// # Errors
    /// What could not be removed.
    async fn end(&self) -> Result<()> {
        Ok(())
    }
}
