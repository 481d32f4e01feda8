//! The files of a folder of a sandbox, for whoever puts them somewhere else.

use async_trait::async_trait;

use super::Sandboxes;
use crate::sandbox::{Contents, Entry, Handle, Owner, SandboxId};
use crate::{GuestPath, Result};

/// A folder of a sandbox that nobody calls meanwhile.
struct Folder {
    sandboxes: Sandboxes,
    owner: Owner,
    id: SandboxId,
    path: GuestPath,
}

impl Sandboxes {
    /// What lies in a folder of a sandbox. Each look at it is a call, so that the sandbox must be there still, and be called by
    /// nobody who changes it.
    ///
    /// # Errors
    /// `unknown_sandbox`.
    pub fn contents(&self, owner: &Owner, handle: &Handle<'_>, path: GuestPath) -> Result<Box<dyn Contents>> {
        let id = self.find(owner, handle)?.id;
        Ok(Box::new(Folder { sandboxes: self.clone(), owner: owner.clone(), id, path }))
    }
}

#[async_trait]
impl Contents for Folder {
    async fn list(&self) -> Result<Vec<Entry>> {
        let (handle, path) = (Handle::IdOrName(self.id.as_str()), self.path.clone());
        let mut call = self.sandboxes.begin_to_look(&self.owner, &handle).await?;
        // As many as the sandbox's own quota lets there be.
        let listed = call
            .run(|machine| Box::pin(async move { machine.files().list(&path, true, usize::MAX).await }))
            .await?;
        Ok(listed.0)
    }

    async fn read(&self, path: &str, offset: u64, most: u64) -> Result<Vec<u8>> {
        let (handle, path) =
            (Handle::IdOrName(self.id.as_str()), GuestPath::parse(&format!("{}/{path}", self.path))?);
        Ok(self.sandboxes.read(&self.owner, &handle, path, offset, most).await?.bytes)
    }
}
