//! The front door of the runtime: checks a request against the policy, finds it a place, hands it to the provider.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Semaphore;

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
    places: Semaphore,
    waiting: AtomicUsize,
}

impl Manager {
    /// A manager over one provider.
    pub fn new(policy: Policy, provider: Arc<dyn Provider>) -> Self {
        let places = Semaphore::new(policy.max_running.max(1));
        Self { inner: Arc::new(Inner { policy, provider, places, waiting: AtomicUsize::new(0) }) }
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
            guests: self.inner.provider.guests(),
            defaults: self.inner.policy.defaults.clone(),
            ceiling: self.inner.policy.ceiling.clone(),
            allow_writes: self.inner.policy.allow_writes,
            allow_eval: self.inner.policy.allow_eval,
            network: "none",
        }
    }

    /// Runs a snippet in a fresh instance (S1-04). Dropping the future cancels the run.
    ///
    /// # Errors
    /// `args_invalid` or `too_large` for the request, `write_denied` for a writable mount under a policy without
    /// writes, `busy` when too many runs wait, and what keeps the provider from running it.
    pub async fn eval(&self, mut request: EvalRequest) -> Result<Outcome> {
        self.admit(&mut request)?;
        let _place = self.place().await?;
        self.inner.provider.eval(request).await
    }

    /// Checks a snippet against the policy, wherever it is to run.
    ///
    /// # Errors
    /// `args_invalid`, `too_large` or `write_denied`.
    pub(crate) fn admit(&self, request: &mut EvalRequest) -> Result<()> {
        request.check()?;
        request.limits = request.limits.clone().within(&self.inner.policy.ceiling)?;
        request.bounds = request.bounds.clamped();
        request.allow_eval &= self.inner.policy.allow_eval;
        self.check_grants(&request.grants)
    }

    /// Runs a program of the user's own. Dropping the future cancels the run.
    ///
    /// # Errors
    /// As [`Manager::eval`], and `bad_component`.
    pub async fn command(&self, mut request: CommandRequest) -> Result<Outcome> {
        request.check()?;
        request.limits = request.limits.within(&self.inner.policy.ceiling)?;
        self.check_grants(&request.grants)?;
        let _place = self.place().await?;
        self.inner.provider.command(request).await
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

    /// One of the running places, after a bounded wait.
    pub(crate) async fn place(&self) -> Result<tokio::sync::SemaphorePermit<'_>> {
        if let Ok(place) = self.inner.places.try_acquire() {
            return Ok(place);
        }
        let waiting = Waiting::enter(&self.inner.waiting, self.inner.policy.max_waiting)?;
        let place = self.inner.places.acquire().await;
        drop(waiting);
        place.map_err(|error| Error::internal("the manager is closed", error))
    }
}

/// Counts one waiting request for as long as it lives.
struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    fn enter(count: &'a AtomicUsize, most: usize) -> Result<Self> {
        let before = count.fetch_add(1, Ordering::Relaxed);
        let waiting = Self(count);
        if before >= most {
            return Err(Error::new(ErrorCode::Busy, format!("{before} runs are waiting already"))
                .with_hint("try again later, or raise max_waiting"));
        }
        Ok(waiting)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
