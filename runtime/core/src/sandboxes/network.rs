//! The network of sandboxes: what one asked for when it was made, and the door of each of its runs.

use std::sync::Arc;

use super::Sandboxes;
use crate::network::{NetworkRun, Shut};
use crate::sandbox::{Handle, Owner, Sandbox, SandboxSpec};
use crate::{Error, ErrorCode, Result, RunContext};

impl Sandboxes {
    /// Whether a sandbox may have the network that it asks for.
    ///
    /// # Errors
    /// `network_denied` for what is beyond the operator's rules, `args_invalid` for what cannot be read.
    pub(super) fn check_network(&self, owner: &Owner, spec: &SandboxSpec) -> Result<()> {
        let Some(grant) = &spec.network else { return Ok(()) };
        self.inner.admission.needs_network()?.check(owner, grant)
    }

    /// Whether a sandbox was made with a network.
    ///
    /// # Errors
    /// `network_denied` if not; `unknown_sandbox`.
    pub fn has_network(&self, owner: &Owner, handle: &Handle<'_>) -> Result<()> {
        if self.get(owner, handle)?.sandbox.spec.network.is_some() {
            return Ok(());
        }
        Err(Error::new(ErrorCode::NetworkDenied, "the sandbox was made without a network")
            .with_hint("make one with `network`, and leave `allow_network` out"))
    }

    /// The door of a sandbox's run. Where the operator has taken the network back since the sandbox was made, the run begins all the
    /// same, and is told when it asks for something.
    pub(super) fn connect(&self, sandbox: &Sandbox, (run, language): (&str, &str), context: &mut RunContext) {
        let asked = sandbox.spec.network.as_ref();
        let Some(grant) = asked.or_else(|| self.inner.admission.usual_network()) else { return };
        let (owner, id, taint) = (&sandbox.owner, Some(&sandbox.id), &context.taint.clone());
        let of = NetworkRun { owner, sandbox: id, run, language, taint };
        match self.inner.admission.needs_network().and_then(|network| network.door(&of, grant)) {
            Ok(open) => {
                context.offer_variables(open.environment);
                context.network = Some(open.door);
            }
            Err(error) => context.network = Some(Arc::new(Shut::new(&error))),
        }
    }

    /// Whether runs of a sandbox have a door here.
    pub(super) fn reaches(&self, spec: &SandboxSpec) -> bool {
        let admission = &self.inner.admission;
        admission.network().is_some() && (spec.network.is_some() || admission.usual_network().is_some())
    }

    /// Ends the connections that are kept for a sandbox.
    pub(super) fn disconnect(&self, sandbox: &Sandbox) {
        if let Some(network) = self.inner.admission.network() {
            network.forget(&sandbox.owner, &sandbox.id);
        }
    }
}
