//! The front door of the runtime: checks a request against the policy, finds it a place, hands it to the provider.

use std::sync::Arc;

use crate::memory::Memory;
use crate::mistaken::Read;
use crate::places::{Place, Places};
use crate::sandbox::Owner;
use crate::turns::Turns;
use crate::{
    Access, Capabilities, CommandRequest, Error, ErrorCode, EvalRequest, Grants, Outcome, Policy, Project,
    Provider, Result,
};

/// Owns the policy and the providers. Cheap to clone.
#[derive(Clone)]
pub struct Manager {
    inner: Arc<Inner>,
}

struct Inner {
    policy: Policy,
    provider: Arc<dyn Provider>,
    places: Places,
    turns: Turns,
    memory: Memory,
}

impl Manager {
    /// A manager over one provider.
    pub fn new(policy: Policy, provider: Arc<dyn Provider>) -> Self {
        let (places, turns, memory) = (Places::new(&policy), Turns::default(), Memory::new(&policy));
        Self { inner: Arc::new(Inner { policy, provider, places, turns, memory }) }
    }

    /// Who runs things.
    pub fn provider(&self) -> &Arc<dyn Provider> {
        &self.inner.provider
    }

    /// The operator's rules.
    pub fn policy(&self) -> &Policy {
        &self.inner.policy
    }

    /// What this installation can do. Starts nothing.
    pub fn capabilities(&self) -> Capabilities {
        Capabilities {
            providers: vec![self.inner.provider.name()],
            abilities: self.inner.provider.abilities(),
            guests: self.inner.provider.guests(),
            defaults: self.inner.policy.defaults.clone(),
            ceiling: self.inner.policy.ceiling.clone(),
            allow_writes: self.inner.policy.allow_writes,
            allow_eval: self.inner.policy.allow_eval,
            network: "none",
        }
    }

    /// Runs a snippet of the local owner in a fresh instance (S1-04). Dropping the future cancels the run.
    ///
    /// # Errors
    /// `args_invalid` or `too_large` for the request, `write_denied` for a writable mount under a policy without
    /// writes, `busy` when too many runs wait or no place comes free in time, and what keeps the provider from running it.
    pub async fn eval(&self, request: EvalRequest) -> Result<Outcome> {
        self.eval_for(&Owner::local(), request).await
    }

    /// The same for an owner, in whose share of places and processor time it runs.
    ///
    /// # Errors
    /// As [`Manager::eval`].
    pub async fn eval_for(&self, owner: &Owner, mut request: EvalRequest) -> Result<Outcome> {
        self.admit(&mut request)?;
        let (read, memory) = (Read::of(&request), request.context.limits.memory);
        let _place = self.place(owner).await?;
        let mut outcome = self.share(owner, self.inner.provider.eval(request)).await?;
        read.hint(&mut outcome);
        outcome.tell_ceiling(memory, self.inner.policy.ceiling.memory);
        Ok(outcome)
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

    /// Runs a program of the user's own. Dropping the future cancels the run.
    ///
    /// # Errors
    /// As [`Manager::eval`], and `bad_component`.
    pub async fn command(&self, mut request: CommandRequest) -> Result<Outcome> {
        request.check()?;
        request.limits = request.limits.within(&self.inner.policy.ceiling)?;
        self.check_grants(&request.grants)?;
        let owner = Owner::local();
        let _place = self.place(&owner).await?;
        self.share(&owner, self.inner.provider.command(request)).await
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
