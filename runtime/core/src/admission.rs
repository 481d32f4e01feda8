//! Admission: checks a request against the policy, and finds it a place and a turn. Runs and calls of persistent sandboxes share it.

use std::sync::Arc;

use crate::memory::Memory;
use crate::places::{Place, Places};
use crate::sandbox::Owner;
use crate::turns::Turns;
use crate::{Access, Error, ErrorCode, EvalRequest, Grants, Policy, Project, Result};

/// The operator's rules, and what there is of places, processor time and memory. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Admission {
    inner: Arc<Inner>,
}

struct Inner {
    policy: Policy,
    places: Places,
    turns: Turns,
    memory: Memory,
}

impl Admission {
    pub(crate) fn new(policy: Policy) -> Self {
        let (places, turns, memory) = (Places::new(&policy), Turns::default(), Memory::new(&policy));
        Self { inner: Arc::new(Inner { policy, places, turns, memory }) }
    }

    /// The operator's rules.
    pub(crate) fn policy(&self) -> &Policy {
        &self.inner.policy
    }

    /// Checks a snippet against the policy, wherever it is to run.
    ///
    /// # Errors
    /// `args_invalid`, `too_large` or `write_denied`.
    pub(crate) fn admit(&self, request: &mut EvalRequest) -> Result<()> {
        request.check()?;
        request.context.limits = request.context.limits.clone().within(&self.inner.policy.ceiling)?;
        request.context.bounds = request.context.bounds.clamped();
        request.allow_eval &= self.inner.policy.allow_eval;
        self.check_grants(&request.context.grants)
    }

    pub(crate) fn check_grants(&self, grants: &Grants) -> Result<()> {
        let mount = grants.mounts.iter().find(|mount| mount.access == Access::ReadWrite);
        let project = grants.project.as_ref().filter(|project| project.access == Access::ReadWrite);
        let writable = mount.map(|mount| mount.target.as_str()).or(project.map(|_| Project::TARGET));
        match writable {
            Some(target) if !self.inner.policy.allow_writes => Err(Error::new(
                ErrorCode::WriteDenied,
                format!("writing below `{target}` is not allowed here"),
            )
            .with_hint("mount it read-only, or have the operator allow writes")),
            _ => Ok(()),
        }
    }

    /// A place for a run of an owner, after a bounded wait.
    ///
    /// # Errors
    /// `busy`.
    pub(crate) async fn place(&self, owner: &Owner) -> Result<Place> {
        self.inner.places.run(owner).await
    }

    /// A place for a job of an owner, which is not waited for.
    ///
    /// # Errors
    /// `busy`.
    pub(crate) fn job_place(&self, owner: &Owner) -> Result<Place> {
        self.inner.places.job(owner)
    }

    /// Does what computes for an owner, in turns with what others compute, and on account of the owner's memory.
    pub(crate) async fn share<T>(&self, owner: &Owner, work: impl Future<Output = T>) -> T {
        self.inner.turns.share(owner, self.inner.memory.share(owner, work)).await
    }
}
