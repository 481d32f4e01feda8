//! The front door: what an installation runs, once or in sandboxes that last.

use std::sync::Arc;

use crate::admission::Admission;
use crate::connections::Taint;
use crate::mistaken::Read;
use crate::network::{Network, NetworkGrant, NetworkProfile, NetworkRun, OpenDoor};
use crate::sandbox::{Ledger, Owner};
use crate::sandboxes::{Clock, Rules, Sandboxes};
use crate::{Capabilities, CommandRequest, EvalRequest, Outcome, Policy, Provider, Result, RunContext};

/// What the audit of the network calls the language of a program.
const PROGRAM: &str = "wasm";

/// What an installation runs: snippets and programs, each in a sandbox that ends with it, and the calls of persistent sandboxes.
/// All of them share one policy, and its places, processor time and memory. Cheap to clone; clones share everything.
#[derive(Clone)]
pub struct Runtime {
    admission: Admission,
    provider: Arc<dyn Provider>,
    sandboxes: Option<Sandboxes>,
}

impl Runtime {
    /// Over one provider, without persistent sandboxes. Starts nothing.
    pub fn new(policy: Policy, provider: Arc<dyn Provider>) -> Self {
        Self { admission: Admission::new(policy), provider, sandboxes: None }
    }

    /// With the persistent sandboxes that a ledger knows. Starts nothing; call [`Sandboxes::keep_up`] in a server.
    #[must_use]
    pub fn with_sandboxes(mut self, ledger: Arc<dyn Ledger>, rules: Rules, clock: Arc<dyn Clock>) -> Self {
        let (admission, provider) = (self.admission.clone(), self.provider.clone());
        self.sandboxes = Some(Sandboxes::new(admission, provider, ledger, rules, clock));
        self
    }

    /// The persistent sandboxes. None: nothing is kept here.
    pub fn sandboxes(&self) -> Option<&Sandboxes> {
        self.sandboxes.as_ref()
    }

    /// Who runs things.
    pub fn provider(&self) -> &Arc<dyn Provider> {
        &self.provider
    }

    /// The operator's rules.
    pub fn policy(&self) -> &Policy {
        self.admission.policy()
    }

    /// Lets runs and sandboxes have what a network allows. Sandboxes that asked for none get `usual`. The first one given counts.
    pub fn set_network(&self, network: Arc<dyn Network>, usual: Option<NetworkGrant>) {
        self.admission.set_network(network, usual);
    }

    /// What there is of the network to ask for.
    pub fn networks(&self) -> Vec<NetworkProfile> {
        self.admission.network().map(|network| network.profiles()).unwrap_or_default()
    }

    /// Gives a run of an owner its door to the network, and its variables. `run` is how the audit calls it.
    ///
    /// # Errors
    /// `network_denied` where there is no network, or for what is beyond the operator's rules; `args_invalid` for what cannot be read.
    pub fn give_network(
        &self,
        owner: &Owner,
        grant: &NetworkGrant,
        (run, language): (&str, &str),
        context: &mut RunContext,
    ) -> Result<()> {
        let open = self.open_door(owner, grant, (run, language), &context.taint)?;
        context.offer_variables(open.environment);
        context.network = Some(open.door);
        Ok(())
    }

    /// The same for a program of the user's own.
    ///
    /// # Errors
    /// As [`Runtime::give_network`].
    pub fn give_network_to_program(
        &self,
        owner: &Owner,
        grant: &NetworkGrant,
        run: &str,
        request: &mut CommandRequest,
    ) -> Result<()> {
        let open = self.open_door(owner, grant, (run, PROGRAM), &Taint::default())?;
        request.grants.offer_variables(open.environment);
        request.network = Some(open.door);
        Ok(())
    }

    fn open_door(
        &self,
        owner: &Owner,
        grant: &NetworkGrant,
        (run, language): (&str, &str),
        taint: &Taint,
    ) -> Result<OpenDoor> {
        let of = NetworkRun { owner, sandbox: None, run, language, taint };
        self.admission.needs_network()?.door(&of, grant)
    }

    /// What this installation can do. Starts nothing.
    pub fn capabilities(&self) -> Capabilities {
        let policy = self.policy();
        let has_rules = self.admission.network().is_some();
        Capabilities {
            providers: vec![self.provider.name()],
            abilities: self.provider.abilities().with_rules(has_rules),
            guests: self.provider.guests(),
            defaults: policy.defaults.clone(),
            ceiling: policy.ceiling.clone(),
            allow_writes: policy.allow_writes,
            allow_eval: policy.allow_eval,
            network: if has_rules { "rules" } else { "none" },
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
    /// As [`Runtime::eval`].
    pub async fn eval_for(&self, owner: &Owner, mut request: EvalRequest) -> Result<Outcome> {
        self.admission.admit(&mut request)?;
        let (read, memory) = (Read::of(&request), request.context.limits.memory);
        let place = self.admission.place(owner).await?;
        request.context.callbacks = request.context.callbacks.giving_up(&place.seat());
        let mut outcome = self.admission.share(owner, self.provider.eval(request)).await?;
        read.hint(&mut outcome);
        outcome.tell_ceiling(memory, self.policy().ceiling.memory);
        Ok(outcome)
    }

    /// Does a part of a run of the local owner's: admitted as a run is, in a place and a share of the processor's time of its own.
    ///
    /// # Errors
    /// As [`Runtime::eval`], and of `work`.
    pub async fn part<T, F>(&self, mut request: EvalRequest, work: impl FnOnce(EvalRequest) -> F) -> Result<T>
    where
        F: Future<Output = Result<T>>,
    {
        self.admission.admit(&mut request)?;
        let owner = Owner::local();
        let place = self.admission.place(&owner).await?;
        request.context.callbacks = request.context.callbacks.giving_up(&place.seat());
        self.admission.share(&owner, work(request)).await
    }

    /// Runs a program of the user's own. Dropping the future cancels the run.
    ///
    /// # Errors
    /// As [`Runtime::eval`], and `bad_component`.
    pub async fn command(&self, mut request: CommandRequest) -> Result<Outcome> {
        request.check()?;
        request.limits = request.limits.within(&self.policy().ceiling)?;
        self.admission.check_grants(&request.grants)?;
        let owner = Owner::local();
        let _place = self.admission.place(&owner).await?;
        self.admission.share(&owner, self.provider.command(request)).await
    }
}
