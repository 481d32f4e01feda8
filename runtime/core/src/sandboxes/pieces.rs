//! Files of any size that come in pieces: gathered beside their place, and put there as a whole when the last piece has come.
//!
//! Owns: where the pieces lie meanwhile, and that they go when the rest does not come. Does not own: how large a piece is; each is
//! one call, and other calls come between.

use super::Sandboxes;
use crate::sandbox::{Files, Handle, Owner, Piece, SandboxId, must_be_seen};
use crate::{Error, ErrorCode, GuestPath, Result};

/// What a file is called while its pieces come, with random digits, in the folder where it will be.
const PART: &str = ".upload-";

/// A file that comes in pieces. Dropped before [`Upload::finish`] it leaves nothing; a process that is killed leaves the file of the
/// pieces, which is called `.upload-` and digits.
pub struct Upload {
    sandboxes: Sandboxes,
    owner: Owner,
    sandbox: SandboxId,
    path: GuestPath,
    part: GuestPath,
    bytes: u64,
    /// Whether `part` may be there.
    begun: bool,
}

impl Sandboxes {
    /// Begins a file that comes in pieces. Nothing is written before the first.
    ///
    /// # Errors
    /// `unknown_sandbox`; `path_denied` for a path that is not among the sandbox's files; `args_invalid` for one that is too long.
    pub fn upload_in_pieces(&self, owner: &Owner, handle: &Handle<'_>, path: GuestPath) -> Result<Upload> {
        let record = self.find(owner, handle)?;
        // The error names the file that is meant, and not its pieces.
        must_be_seen(&path, &record.spec.mounts)?;
        let sandbox = record.id;
        let mut random = [0; 8];
        getrandom::fill(&mut random).map_err(|error| Error::internal("no random numbers", error))?;
        let (folder, _) = path.as_str().rsplit_once('/').unwrap_or_default();
        let part = GuestPath::parse(&format!("{folder}/{PART}{:016x}", u64::from_le_bytes(random)))?;
        let (sandboxes, owner) = (self.clone(), owner.clone());
        Ok(Upload { sandboxes, owner, sandbox, path, part, bytes: 0, begun: false })
    }
}

impl Sandboxes {
    /// Writes a piece of a file that its caller keeps count of: from byte 0 the file begins anew, from another it must have that many
    /// bytes. Answers how many it has then. The piece is saved when it returns.
    ///
    /// # Errors
    /// As [`Sandboxes::append`]; `conflict` when the file has another number of bytes.
    pub async fn write_piece(
        &self,
        owner: &Owner,
        handle: &Handle<'_>,
        path: GuestPath,
        offset: u64,
        bytes: Vec<u8>,
    ) -> Result<u64> {
        let mut call = self.begin_to_grow(owner, handle).await?;
        let written = call
            .run(|machine| Box::pin(async move { piece(machine.files(), &path, offset, &bytes).await }))
            .await;
        call.answer_saved(written).await
    }
}

async fn piece(files: &mut dyn Files, path: &GuestPath, offset: u64, bytes: &[u8]) -> Result<u64> {
    if offset == 0 {
        files.write(path, bytes).await?;
        return Ok(bytes.len() as u64);
    }
    let has = match files.read(path, 0, 0).await {
        Ok(Piece { size, .. }) => size,
        Err(error) if error.code() == ErrorCode::NotFound => 0,
        Err(error) => return Err(error),
    };
    if has != offset {
        let message = format!("`{path}` has {has} bytes, but the piece starts at {offset}");
        return Err(Error::new(ErrorCode::Conflict, message).with_hint(format!("continue at byte {has}")));
    }
    files.append(path, bytes).await
}

impl Upload {
    /// Adds a piece; answers how many bytes there are now.
    ///
    /// # Errors
    /// As [`Sandboxes::append`].
    pub async fn add(&mut self, bytes: Vec<u8>) -> Result<u64> {
        self.begun = true;
        let handle = Handle::IdOrName(self.sandbox.as_str());
        self.bytes = self.sandboxes.append(&self.owner, &handle, self.part.clone(), bytes).await?;
        Ok(self.bytes)
    }

    /// Puts the file in its place; answers its bytes. What had the place before gives way now.
    ///
    /// # Errors
    /// As [`Sandboxes::rename_file`]; the pieces are gone then.
    pub async fn finish(mut self) -> Result<u64> {
        if !self.begun {
            self.add(Vec::new()).await?;
        }
        let handle = Handle::IdOrName(self.sandbox.as_str());
        let names = (self.part.clone(), self.path.clone());
        match self.sandboxes.rename_file(&self.owner, &handle, names, true).await {
            Ok(()) => {
                self.begun = false;
                Ok(self.bytes)
            }
            Err(error) => {
                self.abandon().await;
                Err(error)
            }
        }
    }

    /// Removes the pieces, and waits for that.
    pub async fn abandon(mut self) {
        if std::mem::take(&mut self.begun) {
            remove(&self.sandboxes, &self.owner, &self.sandbox, self.part.clone()).await;
        }
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        if std::mem::take(&mut self.begun) {
            let (sandboxes, owner) = (self.sandboxes.clone(), self.owner.clone());
            let (sandbox, part) = (self.sandbox.clone(), self.part.clone());
            runtime.spawn(async move { remove(&sandboxes, &owner, &sandbox, part).await });
        }
    }
}

async fn remove(sandboxes: &Sandboxes, owner: &Owner, sandbox: &SandboxId, part: GuestPath) {
    let handle = Handle::IdOrName(sandbox.as_str());
    if let Err(error) = sandboxes.remove_file(owner, &handle, part, false).await {
        tracing::debug!(%error, %sandbox, "the pieces of a file that did not come to its end stay");
    }
}
