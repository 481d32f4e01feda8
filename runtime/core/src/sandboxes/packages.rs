//! Packages in a sandbox: fetched by the host, written into its files.

use std::pin::pin;
use std::sync::Arc;

use tokio::sync::mpsc::unbounded_channel;

use super::Sandboxes;
use crate::packages::{
    Added, Adding, Locking, PackageManager, PackageOffer, PackageProgress, Packages, Saving, add,
};
use crate::sandbox::{Handle, Machine, Owner, SandboxId};
use crate::{Error, ErrorCode, EvalRequest, GuestPath, Language, Result, Status, Value};

/// The folder that paths of projects are seen from.
const DIRECTORY: &str = "/workspace";

impl Sandboxes {
    /// Lets sandboxes have packages for a Python of this version, such as `3.14.7`. Only the first call counts.
    pub fn supply(&self, packages: Arc<dyn Packages>, python: impl Into<String>) {
        let _ = self.inner.packages.set((packages, python.into()));
    }

    /// What sandboxes can have of packages. Connects to nothing.
    pub fn package_offer(&self) -> PackageOffer {
        self.inner.packages.get().map(|(packages, _)| packages.offer()).unwrap_or_default()
    }

    /// Adds packages to a sandbox (S2-24); all or none, also when the future is dropped.
    ///
    /// # Errors
    /// `unknown_sandbox`; `capability_unavailable` where there are no packages; what [`Packages::fetch`] and writing say.
    /// The files then are as they were.
    pub async fn install(
        &self,
        owner: &Owner,
        handle: &Handle<'_>,
        manager: PackageManager,
        requirements: Vec<String>,
        upgrade: bool,
        progress: PackageProgress<'_>,
    ) -> Result<(SandboxId, Added)> {
        let Some((packages, python)) = self.inner.packages.get().cloned() else {
            return Err(Error::new(ErrorCode::CapabilityUnavailable, "packages cannot be installed here")
                .with_hint("have the operator turn them on with `--packages`"));
        };
        let mut call = self.begin_to_grow(owner, handle).await?;
        let is_guest = manager == PackageManager::Npm || !call.machine().await?.forgets();
        let python = match is_guest {
            true => python,
            false => call.run(|machine| Box::pin(own_python(machine))).await?,
        };
        let owner = owner.clone();
        let saves = Some(Saving::default());
        let (constraints, locked, folder) = (Vec::new(), Vec::new(), None);
        let locking = Some(Locking { named: true, whole: false, without_dev: false, writes: true });
        let adding = Adding {
            owner,
            manager,
            requirements,
            directory: GuestPath::parse(DIRECTORY)?,
            constraints,
            locked,
            locking,
            upgrade,
            folder,
            saves,
            python,
            closed: false,
            is_guest,
        };
        let (says, mut said) = unbounded_channel();
        let added = call.all_or_none(move |machine| {
            Box::pin(async move {
                let tells = |event| drop(says.send(event));
                add(machine.files(), packages.as_ref(), &adding, &tells).await
            })
        });
        let mut added = pin!(added);
        loop {
            tokio::select! {
                biased;
                Some(event) = said.recv() => progress(event),
                added = &mut added => {
                    let (call, added) = added?;
                    let id = call.record.id.clone();
                    return Ok(call.answer((id, added?)).await);
                }
            }
        }
    }
}

/// The version of the Python that a container has.
async fn own_python(machine: &mut dyn Machine) -> Result<String> {
    let code = "__import__('platform').python_version()";
    let outcome = machine.eval(EvalRequest::new(Language::python(), code)).await?;
    match outcome.status {
        Status::Returned(Value::String { value, .. }) => Ok(value),
        Status::Stopped(error) => Err(error),
        _ => {
            Err(Error::new(ErrorCode::CapabilityUnavailable, "the sandbox's Python does not say its version"))
        }
    }
}
