//! Sandboxes of an owner that was made up for them: they are made for one opening, and all of them end with it.

use std::sync::Arc;
use std::time::Duration;

use dormouse_core::sandbox::{Handle, Owner, SandboxId};
use dormouse_core::{Access, Error, ErrorCode, Grants, Result, Sandboxes};
use dormouse_tools::{CallContext, Profile, Reply, Surface, Toolset};
use serde_json::{Map, Value as Json};

/// The session key of the sandbox that is made first.
pub(crate) const KEY: &str = "source";
/// What a process that was killed left is destroyed after a day: it cannot do it itself.
const RETENTION_MS: u64 = 24 * 3_600_000;
/// Time after which an endpoint that was given up while it opened is looked for again.
pub(crate) const LATER: Duration = Duration::from_secs(2);
/// Sandboxes that are looked for at a time.
const PAGE: usize = 100;

/// Makes a surface over the sandboxes, with what the operator gives every surface; grants come here.
pub type MakeSurface = dyn Fn() -> Surface + Send + Sync;

/// An installation's sandboxes, and the tools over them.
#[derive(Clone)]
pub(crate) struct Installation {
    pub(crate) sandboxes: Sandboxes,
    pub(crate) make: Arc<MakeSurface>,
}

impl Installation {
    /// Makes an owner a sandbox with the arguments of `sandbox_create`, under [`KEY`].
    ///
    /// # Errors
    /// What the tool says.
    pub(crate) async fn create(
        &self,
        mut arguments: Map<String, Json>,
        grants: &Grants,
        owner: &Owner,
    ) -> Result<()> {
        arguments.insert("session_key".into(), KEY.into());
        arguments.insert("retention_ms".into(), RETENTION_MS.min(self.longest()).into());
        if grants.mounts.iter().any(|mount| mount.access == Access::ReadWrite) {
            arguments.insert("allow_writes".into(), true.into());
        }
        let setup =
            (self.make)().with_grants(grants).with_profile(Profile::Sandbox).with_tools(Toolset::All)?;
        let context = CallContext::of(owner.clone());
        let reply = setup.call("sandbox_create", arguments, context).await?;
        if reply.is_error { Err(refused(&reply)) } else { Ok(()) }
    }

    fn longest(&self) -> u64 {
        u64::try_from(self.sandboxes.rules().ceiling.retention.as_millis()).unwrap_or(u64::MAX)
    }

    /// An owner whom nobody else is, and what takes along all that is made for him.
    ///
    /// # Errors
    /// `internal` without random numbers.
    pub(crate) fn estate(&self) -> Result<(Owner, Estate)> {
        let owner = Owner::parse(&format!("source-{}", SandboxId::random()?))?;
        let estate = Estate { sandboxes: self.sandboxes.clone(), owner: Some(owner.clone()) };
        Ok((owner, estate))
    }
}

/// The error that an answer tells.
fn refused(reply: &Reply) -> Error {
    let told = &reply.structured["error"];
    let code = serde_json::from_value(told["code"].clone()).unwrap_or(ErrorCode::Internal);
    let error = Error::new(code, told["message"].as_str().unwrap_or("the sandbox was not made"));
    match told["hint"].as_str() {
        Some(hint) => error.with_hint(hint),
        None => error,
    }
}

/// All that was made for an owner. Ended, or dropped, nothing of it is left.
pub(crate) struct Estate {
    sandboxes: Sandboxes,
    owner: Option<Owner>,
}

impl Estate {
    pub(crate) async fn end(mut self) -> Result<()> {
        let Some(owner) = self.owner.take() else { return Ok(()) };
        // Giving up the wait does not give up the work.
        let ending = tokio::spawn(destroy_all(self.sandboxes.clone(), owner));
        ending.await.unwrap_or_else(|error| Err(Error::internal("destroying a sandbox broke down", error)))
    }
}

impl Drop for Estate {
    fn drop(&mut self) {
        let Some(owner) = self.owner.take() else { return };
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) => {
                let sandboxes = self.sandboxes.clone();
                runtime.spawn(async move {
                    // What was being made when it was given up may be there only a moment later.
                    for wait in [Duration::ZERO, LATER] {
                        tokio::time::sleep(wait).await;
                        if let Err(error) = destroy_all(sandboxes.clone(), owner.clone()).await {
                            tracing::warn!(%error, "a sandbox of a source is left");
                        }
                    }
                });
            }
            Err(_) => tracing::warn!("a sandbox of a source is left: dropped outside a runtime"),
        }
    }
}

async fn destroy_all(sandboxes: Sandboxes, owner: Owner) -> Result<()> {
    loop {
        let all = sandboxes.list(&owner, None, None, PAGE).await?;
        if all.is_empty() {
            return Ok(());
        }
        for view in all {
            let destroyed = sandboxes.destroy(&owner, &Handle::IdOrName(view.sandbox.id.as_str())).await;
            match destroyed {
                Err(error) if error.code() != ErrorCode::UnknownSandbox => return Err(error),
                _ => {}
            }
        }
    }
}
