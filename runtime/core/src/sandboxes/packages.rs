//! Packages in a sandbox: fetched by the host, written into its files.

use std::sync::Arc;

use super::Sandboxes;
use crate::packages::{Added, Adding, PackageManager, PackageProgress, Packages, add};
use crate::sandbox::{Handle, Include, Machine, Owner, SandboxId};
use crate::{Error, ErrorCode, EvalRequest, Language, Result, Status, Value};

impl Sandboxes {
    /// Lets sandboxes have packages for a Python of this version, such as `3.14.7`. Only the first call counts.
    pub fn supply(&self, packages: Arc<dyn Packages>, python: impl Into<String>) {
        let _ = self.inner.packages.set((packages, python.into()));
    }

    /// Adds packages to a sandbox (S2-24); all or none.
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
        let mut visit = self.visit(owner, handle).await?;
        let endings = visit.seat.endings.clone();
        let machine = visit.machine().await?;
        let python = match manager {
            PackageManager::Pip if machine.forgets() => own_python(machine.as_mut()).await?,
            _ => python,
        };
        let adding = Adding { manager, requirements, upgrade, folder: None, saves: true, python };
        let before = machine.snapshot(Include::Files).await?;
        let done = endings.unless(add(machine.files(), packages.as_ref(), &adding, progress)).await;
        if done.is_err() {
            machine.restore(before.as_ref()).await?;
        }
        Ok((visit.record.id.clone(), done?))
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
