//! Admission: checks a request against the policy, and finds it a place and a turn. Runs and calls of persistent sandboxes share it.

use std::sync::{Arc, OnceLock};

use crate::memory::Memory;
use crate::network::{Network, NetworkGrant};
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
    /// What the operator allows of the network.
    network: OnceLock<(Arc<dyn Network>, Option<NetworkGrant>)>,
}

impl Admission {
    pub(crate) fn new(policy: Policy) -> Self {
        let (places, turns, memory) = (Places::new(&policy), Turns::default(), Memory::new(&policy));
        Self { inner: Arc::new(Inner { policy, places, turns, memory, network: OnceLock::new() }) }
    }

    /// The operator's rules.
    pub(crate) fn policy(&self) -> &Policy {
        &self.inner.policy
    }

    /// Allows what a network allows, and gives it to sandboxes that asked for none as far as `usual` says. The first one counts.
    pub(crate) fn set_network(&self, network: Arc<dyn Network>, usual: Option<NetworkGrant>) {
        let _ = self.inner.network.set((network, usual));
    }

    /// What sandboxes have of the network that asked for none.
    pub(crate) fn usual_network(&self) -> Option<&NetworkGrant> {
        self.inner.network.get()?.1.as_ref()
    }

    /// What the operator allows of the network, if anything.
    pub(crate) fn network(&self) -> Option<&Arc<dyn Network>> {
        self.inner.network.get().map(|(network, _)| network)
    }

    /// Whether the network has a profile of this name.
    pub(crate) fn has_profile(&self, name: &str) -> bool {
        self.network().is_some_and(|network| network.profiles().iter().any(|profile| profile.name == name))
    }

    /// The network where it is needed.
    ///
    /// # Errors
    /// `network_denied`.
    pub(crate) fn needs_network(&self) -> Result<&Arc<dyn Network>> {
        self.network().ok_or_else(|| {
            Error::new(ErrorCode::NetworkDenied, "there is no network here: the operator allows none")
                .with_hint("the operator grants one with --allow-net HOST or --network FILE")
        })
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
