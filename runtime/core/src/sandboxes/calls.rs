//! What a sandbox does for a call: evaluate, show and bind variables, read and write files. Names of files are `folders`'.

use std::time::{Duration, Instant};

use super::Sandboxes;
use super::history::Begun;
use super::providers::with_fallback;
use crate::mistaken::Read;
use crate::sandbox::{Batch, Files, Handle, Lost, Owner, Piece, SandboxId, Variable};
use crate::{Bounds, Error, EvalRequest, GuestName, GuestPath, Language, Limits, Outcome, Result};

/// How long files are written without giving way.
const AT_ONCE: Duration = Duration::from_millis(1);

impl Sandboxes {
    /// Runs a snippet in a sandbox; its variables and files last. Dropping the future cancels the run: the interpreter is
    /// then as after a stopped one.
    ///
    /// # Errors
    /// As [`Runtime::eval`](crate::Runtime::eval), `unknown_sandbox`, `invalid_state`, `busy`.
    pub async fn eval(
        &self,
        owner: &Owner,
        handle: &Handle<'_>,
        mut request: EvalRequest,
    ) -> Result<(SandboxId, Outcome)> {
        // Memory is the sandbox's own, whatever the request says.
        request.context.limits.memory = request.context.limits.memory.min(self.inner.rules.ceiling.memory);
        self.inner.admission.admit(&mut request)?;
        let read = Read::of(&request);
        let mut call = self.begin_to_run(owner, handle).await?;
        let guest = GuestName::from(&request.language);
        call.beside_no_run(&guest)?;
        let place = call.admitted(&guest).await?;
        request.context.callbacks = request.context.callbacks.giving_up(&place.seat());
        let language = request.language.to_string();
        self.connect(&call.record, ("eval", &language), &mut request.context);
        let run = async {
            let limits = &request.context.limits;
            let begun = Begun::new(&mut call, guest, &request.code, limits).await?;
            let evaluated = call.run(|machine| {
                request.context.taint.join(machine.taint());
                machine.eval(request)
            });
            Ok::<_, Error>((begun, evaluated.await?))
        };
        let (begun, outcome) = self.inner.admission.share(owner, run).await?;
        let mut outcome = with_fallback(outcome, &call.record.spec, &self.inner.rules);
        read.hint(&mut outcome);
        outcome.warning = call.warning();
        if let Some(begun) = begun {
            call.live.history.add(begun, &outcome, &self.inner.rules);
        }
        let id = call.record.id.clone();
        Ok(call.answer((id, outcome)).await)
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
        let mut call = self.begin_call(owner, handle).await?;
        let _place = call.admitted(&(&language).into()).await?;
        let got = call.run(|machine| {
            Box::pin(async move { machine.get(&language, &name, query.as_deref(), (&limits, &bounds)).await })
        });
        let outcome = self.inner.admission.share(owner, got).await?;
        let outcome = with_fallback(outcome, &call.record.spec, &self.inner.rules);
        Ok(call.answer(outcome).await)
    }

    /// Binds a global to the value of JSON text (S3-05). Answers what was lost before and no other answer has told.
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
    ) -> Result<Option<Lost>> {
        let limits = self.limits();
        let mut call = self.begin_to_grow(owner, handle).await?;
        let _place = call.admitted(&(&language).into()).await?;
        let set = call.run(|machine| {
            Box::pin(async move {
                machine.set(&language, &name, &json, &limits).await?;
                Ok(machine.tell(&language))
            })
        });
        let set = self.inner.admission.share(owner, set).await;
        call.answer(set).await
    }

    /// The globals of a language, by name (S3-09), and what was lost before and no other answer has told.
    ///
    /// # Errors
    /// As [`Sandboxes::eval`].
    pub async fn variables(
        &self,
        owner: &Owner,
        handle: &Handle<'_>,
        language: Language,
    ) -> Result<(Vec<Variable>, Option<Lost>)> {
        let limits = self.limits();
        let mut call = self.begin_to_look(owner, handle).await?;
        // Showing a value can run code of the sandbox.
        let _place = call.admitted(&(&language).into()).await?;
        let listed = call.run(|machine| {
            Box::pin(async move {
                let variables = machine.variables(&language, &limits).await?;
                Ok((variables, machine.tell(&language)))
            })
        });
        self.inner.admission.share(owner, listed).await
    }

    /// Fresh interpreters; the files stay (S3-11).
    ///
    /// # Errors
    /// As [`Sandboxes::eval`].
    pub async fn reset(&self, owner: &Owner, handle: &Handle<'_>) -> Result<SandboxId> {
        self.inner.ledger.writable()?;
        let mut call = self.begin_call(owner, handle).await?;
        call.run(|machine| machine.reset()).await?;
        let id = call.record.id.clone();
        self.end_run_in(&id, "the sandbox was reset");
        Ok(call.answer(id).await)
    }

    /// The bytes of a file from `offset`, at most `most`.
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
    ) -> Result<Piece> {
        let mut call = self.begin_to_look(owner, handle).await?;
        call.run(|machine| Box::pin(async move { read(machine.files(), &path, offset, most).await })).await
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
        let mut call = self.begin_to_grow(owner, handle).await?;
        let done =
            call.run(|machine| Box::pin(async move { machine.files().write(&path, &bytes).await })).await;
        call.answer(done).await
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
        let mut call = self.begin_to_grow(owner, handle).await?;
        let done =
            call.run(|machine| Box::pin(async move { machine.files().append(&path, &bytes).await })).await;
        call.answer(done).await
    }

    /// Makes folders and writes files, all or none, also when the future is dropped. They are saved when it returns; see [`telling`](super::telling) for where they could
    /// not be.
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
        let contents = async move { Ok(Batch { folders, files }) };
        self.upload_at_its_turn(owner, handle, contents).await.map(drop)
    }

    /// As [`Sandboxes::upload`]; `contents` is waited for when the call's turn in the sandbox has come, so that what it takes
    /// memory for is not held while the sandbox is busy. Answers how many files there were, and their bytes.
    ///
    /// # Errors
    /// As [`Sandboxes::upload`], and those of `contents`.
    pub async fn upload_at_its_turn(
        &self,
        owner: &Owner,
        handle: &Handle<'_>,
        contents: impl Future<Output = Result<Batch>>,
    ) -> Result<(usize, u64)> {
        let call = self.begin_to_grow(owner, handle).await?;
        // Before anything is done to the sandbox: where there are no contents, nothing has to be put back.
        let Batch { folders, files } = contents.await?;
        let sizes = (files.len(), files.iter().map(|(_, bytes)| bytes.len() as u64).sum());
        let (admission, by) = (self.inner.admission.clone(), owner.clone());
        let written = call.all_or_none(|machine| {
            Box::pin(async move {
                let writing = write_all(machine.files(), &folders, &files);
                admission.share(&by, writing).await
            })
        });
        let (call, written) = written.await?;
        call.answer_saved(written.map(|()| sizes)).await
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
        let mut call = self.begin_to_grow(owner, handle).await?;
        let done = call
            .run(|machine| Box::pin(async move { machine.files().edit(&path, &old, &new, all).await }))
            .await;
        call.answer(done).await
    }

    /// The limits of small work in a sandbox: the operator's defaults.
    fn limits(&self) -> Limits {
        self.inner.admission.policy().defaults.clone()
    }
}

/// As much of a file as was asked for, in as many reads as it takes.
async fn read(files: &mut dyn Files, path: &GuestPath, offset: u64, most: u64) -> Result<Piece> {
    let mut piece = files.read(path, offset, most).await?;
    loop {
        let had = piece.bytes.len() as u64;
        if had >= most || offset.saturating_add(had) >= piece.size {
            return Ok(piece);
        }
        let more = files.read(path, offset.saturating_add(had), most - had).await?;
        if more.bytes.is_empty() {
            return Ok(piece);
        }
        piece.bytes.extend_from_slice(&more.bytes);
    }
}

/// Files in memory are written without ever waiting: gives the event loop back after a while.
async fn give_way(since: &mut Instant) {
    if since.elapsed() > AT_ONCE {
        tokio::task::yield_now().await;
        *since = Instant::now();
    }
}

async fn write_all(
    into: &mut dyn Files,
    folders: &[GuestPath],
    files: &[(GuestPath, Vec<u8>)],
) -> Result<()> {
    let mut since = Instant::now();
    for folder in folders {
        into.make_folder(folder).await?;
        give_way(&mut since).await;
    }
    for (path, bytes) in files {
        into.write(path, bytes).await?;
        give_way(&mut since).await;
    }
    Ok(())
}
