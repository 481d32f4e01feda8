//! What a sandbox does for a call: evaluate, show and bind variables, read and write files.

use super::Sandboxes;
use super::history::Begun;
use super::providers::noted;
use crate::sandbox::{Entry, Files, Handle, Include, Owner, SandboxId, Variable};
use crate::{Bounds, ErrorCode, EvalRequest, GuestPath, Language, Limits, Outcome, Result};

/// Entries that a listing gives at most.
pub(super) const MAX_ENTRIES: usize = 10_000;

impl Sandboxes {
    /// Runs a snippet in a sandbox; its variables and files last. Dropping the future cancels the run: the interpreter is
    /// then as after a stopped one.
    ///
    /// # Errors
    /// As [`Manager::eval`](crate::Manager::eval), `unknown_sandbox`, `invalid_state`, `busy`.
    pub async fn eval(
        &self,
        owner: &Owner,
        handle: &Handle<'_>,
        mut request: EvalRequest,
    ) -> Result<(SandboxId, Outcome)> {
        // Memory is the sandbox's own, whatever the request says.
        request.limits.memory = request.limits.memory.min(self.inner.rules.ceiling.memory);
        self.inner.manager.admit(&mut request)?;
        let mut visit = self.visit(owner, handle).await?;
        let _place = visit.seat.endings.unless(self.inner.manager.place()).await?;
        let begun = Begun::new(&mut visit, &request).await?;
        let outcome = noted(visit.run(|machine| machine.eval(request)).await?, &visit.record.spec);
        if let Some(begun) = begun {
            visit.live.history.add(begun, &outcome, &self.inner.rules);
        }
        Ok((visit.record.id.clone(), outcome))
    }

    /// The value of a global, or of an expression over it, evaluated in the sandbox (S3-08).
    ///
    /// # Errors
    /// As [`Sandboxes::eval`]; `not_found` when there is no such global.
    pub async fn get_variable(
        &self,
        owner: &Owner,
        handle: &Handle<'_>,
        language: Language,
        name: String,
        query: Option<String>,
        bounds: Bounds,
    ) -> Result<Outcome> {
        let limits = self.limits();
        let bounds = bounds.clamped();
        let mut visit = self.visit(owner, handle).await?;
        let _place = visit.seat.endings.unless(self.inner.manager.place()).await?;
        let outcome = visit
            .run(|machine| {
                Box::pin(
                    async move { machine.get(&language, &name, query.as_deref(), (&limits, &bounds)).await },
                )
            })
            .await?;
        Ok(noted(outcome, &visit.record.spec))
    }

    /// Binds a global to the value of JSON text (S3-05).
    ///
    /// # Errors
    /// As [`Sandboxes::eval`]; `args_invalid` with the guest's reason.
    pub async fn set_variable(
        &self,
        owner: &Owner,
        handle: &Handle<'_>,
        language: Language,
        name: String,
        json: String,
    ) -> Result<()> {
        let limits = self.limits();
        let mut visit = self.visit(owner, handle).await?;
        let _place = visit.seat.endings.unless(self.inner.manager.place()).await?;
        visit
            .run(|machine| Box::pin(async move { machine.set(&language, &name, &json, &limits).await }))
            .await
    }

    /// The globals of a language, by name (S3-09).
    ///
    /// # Errors
    /// As [`Sandboxes::eval`].
    pub async fn variables(
        &self,
        owner: &Owner,
        handle: &Handle<'_>,
        language: Language,
    ) -> Result<Vec<Variable>> {
        let limits = self.limits();
        let mut visit = self.visit(owner, handle).await?;
        let _place = self.inner.manager.place().await?;
        visit.run(|machine| Box::pin(async move { machine.variables(&language, &limits).await })).await
    }

    /// Fresh interpreters; the files stay (S3-11).
    ///
    /// # Errors
    /// As [`Sandboxes::eval`].
    pub async fn reset(&self, owner: &Owner, handle: &Handle<'_>) -> Result<SandboxId> {
        let mut visit = self.visit(owner, handle).await?;
        visit.run(|machine| machine.reset()).await?;
        Ok(visit.record.id.clone())
    }

    /// The bytes of a file from `offset`, at most `most`, and the size of the whole.
    ///
    /// # Errors
    /// `unknown_sandbox`, `not_found`, `invalid_state` when it is no file.
    pub async fn read(
        &self,
        owner: &Owner,
        handle: &Handle<'_>,
        path: GuestPath,
        offset: u64,
        most: u64,
    ) -> Result<(Vec<u8>, u64)> {
        let mut visit = self.visit(owner, handle).await?;
        visit.run(|machine| Box::pin(async move { read(machine.files(), &path, offset, most).await })).await
    }

    /// Replaces a file as a whole, or makes it and its folders.
    ///
    /// # Errors
    /// `unknown_sandbox`; `limit_disk`, the file then is as it was.
    pub async fn write(
        &self,
        owner: &Owner,
        handle: &Handle<'_>,
        path: GuestPath,
        bytes: Vec<u8>,
    ) -> Result<()> {
        let mut visit = self.visit(owner, handle).await?;
        visit.run(|machine| Box::pin(async move { machine.files().write(&path, &bytes).await })).await
    }

    /// Adds to the end of a file, or makes it and its folders. Answers the size that it has then.
    ///
    /// # Errors
    /// As [`Sandboxes::write`]; `invalid_state` when it is no file.
    pub async fn append(
        &self,
        owner: &Owner,
        handle: &Handle<'_>,
        path: GuestPath,
        bytes: Vec<u8>,
    ) -> Result<u64> {
        let mut visit = self.visit(owner, handle).await?;
        visit
            .run(|machine| {
                Box::pin(async move {
                    let files = machine.files();
                    let mut whole = match read(files, &path, 0, u64::MAX).await {
                        Ok((whole, _)) => whole,
                        Err(error) if error.code() == ErrorCode::NotFound => Vec::new(),
                        Err(error) => return Err(error),
                    };
                    whole.extend_from_slice(&bytes);
                    files.write(&path, &whole).await?;
                    Ok(whole.len() as u64)
                })
            })
            .await
    }

    /// Makes folders and writes files, all or none.
    ///
    /// # Errors
    /// As [`Sandboxes::write`] and [`Sandboxes::make_folder`]; the files then are as they were.
    pub async fn upload(
        &self,
        owner: &Owner,
        handle: &Handle<'_>,
        folders: Vec<GuestPath>,
        files: Vec<(GuestPath, Vec<u8>)>,
    ) -> Result<()> {
        let mut visit = self.visit(owner, handle).await?;
        let before = visit.run(|machine| machine.snapshot(Include::Files)).await?;
        let done = visit
            .run(|machine| Box::pin(async move { write_all(machine.files(), &folders, &files).await }))
            .await;
        if done.is_err() {
            visit.machine().await?.restore(before.as_ref()).await?;
        }
        done
    }

    /// Replaces text in a file; answers in how many places.
    ///
    /// # Errors
    /// `unknown_sandbox`, `not_found`, `limit_disk`; `args_invalid` when `old` stands nowhere, or in several places
    /// without `all`.
    pub async fn edit(
        &self,
        owner: &Owner,
        handle: &Handle<'_>,
        path: GuestPath,
        (old, new): (String, String),
        all: bool,
    ) -> Result<usize> {
        let mut visit = self.visit(owner, handle).await?;
        visit.run(|machine| Box::pin(async move { machine.files().edit(&path, &old, &new, all).await })).await
    }

    /// The entries below a folder, by path, at most `most` (10 000), and how many there are in all.
    ///
    /// # Errors
    /// `unknown_sandbox`, `not_found`.
    pub async fn list_files(
        &self,
        owner: &Owner,
        handle: &Handle<'_>,
        path: GuestPath,
        recursive: bool,
        most: usize,
    ) -> Result<(Vec<Entry>, u64)> {
        let most = most.min(MAX_ENTRIES);
        let mut visit = self.visit(owner, handle).await?;
        visit.run(|machine| Box::pin(async move { machine.files().list(&path, recursive, most).await })).await
    }

    /// Removes a file, or a folder with all that is in it.
    ///
    /// # Errors
    /// `unknown_sandbox`, `not_found`.
    pub async fn remove_file(&self, owner: &Owner, handle: &Handle<'_>, path: GuestPath) -> Result<()> {
        let mut visit = self.visit(owner, handle).await?;
        visit.run(|machine| Box::pin(async move { machine.files().remove(&path).await })).await
    }

    /// Makes a folder and those above it.
    ///
    /// # Errors
    /// `unknown_sandbox`, `limit_disk`, `invalid_state` when a file is in the way.
    pub async fn make_folder(&self, owner: &Owner, handle: &Handle<'_>, path: GuestPath) -> Result<()> {
        let mut visit = self.visit(owner, handle).await?;
        visit.run(|machine| Box::pin(async move { machine.files().make_folder(&path).await })).await
    }

    /// The limits of small work in a sandbox: the operator's defaults.
    fn limits(&self) -> Limits {
        self.inner.manager.policy().defaults.clone()
    }
}

/// As much of a file as was asked for, in as many reads as it takes.
async fn read(files: &mut dyn Files, path: &GuestPath, offset: u64, most: u64) -> Result<(Vec<u8>, u64)> {
    let (mut bytes, size) = files.read(path, offset, most).await?;
    loop {
        let had = bytes.len() as u64;
        if had >= most || offset.saturating_add(had) >= size {
            return Ok((bytes, size));
        }
        let (more, _) = files.read(path, offset.saturating_add(had), most - had).await?;
        if more.is_empty() {
            return Ok((bytes, size));
        }
        bytes.extend_from_slice(&more);
    }
}

async fn write_all(
    into: &mut dyn Files,
    folders: &[GuestPath],
    files: &[(GuestPath, Vec<u8>)],
) -> Result<()> {
    for folder in folders {
        into.make_folder(folder).await?;
    }
    for (path, bytes) in files {
        into.write(path, bytes).await?;
    }
    Ok(())
}
