//! The port through which whoever runs things is reached.

use std::sync::Arc;

use async_trait::async_trait;

use crate::sandbox::{ChunkSource, Machine, Notes, Reached, SandboxId, SandboxSpec, SavedState, Snapshot};
use crate::{Abilities, CommandRequest, Error, ErrorCode, EvalRequest, GuestInfo, Outcome, Result};

/// Runs snippets. Dropping a returned future cancels its work and frees everything it held; that must be enough.
#[async_trait]
pub trait Provider: Send + Sync {
    /// The word that outcomes carry: `wasm`, `docker`, `kubernetes`.
    fn name(&self) -> &'static str;

    /// The languages it offers, sorted. Must be quick and start nothing (S3-02).
    fn guests(&self) -> Vec<GuestInfo>;

    /// What it can do, whatever is allowed of it. Default: nothing.
    fn abilities(&self) -> Abilities {
        Abilities::default()
    }

    /// Whether it can serve now. Quick: bounded by a time limit of its own, and remembered for a moment.
    ///
    /// # Errors
    /// `provider_unavailable` with what to do.
    async fn ready(&self) -> Result<()> {
        Ok(())
    }

    /// Whether it can make such a sandbox now: [`Provider::ready`], and what it needs for this one is there. Starts and fetches
    /// nothing.
    ///
    /// # Errors
    /// `provider_unavailable`, `capability_unavailable` with what to do.
    async fn can_make(&self, _spec: &SandboxSpec) -> Result<()> {
        self.ready().await
    }

    /// Refuses what it cannot give a new sandbox. Starts nothing.
    ///
    /// # Errors
    /// `args_invalid`, `path_denied`, `capability_unavailable`.
    fn check(&self, spec: &SandboxSpec) -> Result<()> {
        match spec.image {
            Some(_) => Err(Error::new(
                ErrorCode::CapabilityUnavailable,
                format!("the {} provider has no images", self.name()),
            )
            .with_hint("the docker provider has them, where the operator allows images")),
            None => Ok(()),
        }
    }

    /// Bytes that the files of such a sandbox can have: those that it asks for, or fewer where there is no room for them beside its
    /// memory.
    fn disk(&self, spec: &SandboxSpec) -> u64 {
        spec.disk
    }

    /// The images that the operator allows, the default first. Default none.
    fn images(&self) -> Vec<String> {
        Vec::new()
    }

    /// The bytes that the first chunk of each of its saved states begins with; empty: those of no other provider.
    fn mark(&self) -> &'static [u8] {
        b""
    }

    /// Ends all that it keeps running, such as containers that wait. For the end of a process; machines are dropped before.
    async fn close(&self) {}

    /// Gives memory back to the system that was let go of, as far as it has been kept for later. Takes milliseconds and may be called
    /// at any time; not for the event loop. Whoever looks after sandboxes calls it first at the beginning: a provider may set the process's
    /// allocator up then, so that large blocks go back by themselves. Default: there is none.
    fn give_memory_back(&self) {}

    /// Runs a checked request in a fresh instance.
    ///
    /// # Errors
    /// Only what kept it from running; how a run ended is an [`Outcome`].
    async fn eval(&self, request: EvalRequest) -> Result<Outcome>;

    /// A sandbox that is awake: a new one, or one that goes on from a state. Of a state of another provider it takes the
    /// files.
    ///
    /// # Errors
    /// `capability_unavailable` where sandboxes cannot be kept; what a grant of `spec` names and the host does not have.
    async fn machine(
        &self,
        spec: &SandboxSpec,
        state: Option<Arc<dyn Snapshot>>,
    ) -> Result<Box<dyn Machine>> {
        let _ = (spec, state);
        Err(self.keeps_nothing())
    }

    /// The same for a sandbox that has a record: something of it may be kept under its id over the end of the machine, such as a
    /// volume, which [`Provider::kept`] names and [`Provider::forget`] removes. What is kept only saves time: the state is the
    /// sandbox. A sandbox may have several machines at a time. Default: nothing is kept.
    ///
    /// # Errors
    /// As [`Provider::machine`].
    async fn machine_of(
        &self,
        id: &SandboxId,
        spec: &SandboxSpec,
        state: Option<Arc<dyn Snapshot>>,
    ) -> Result<Box<dyn Machine>> {
        let _ = id;
        self.machine(spec, state).await
    }

    /// The sandboxes of which something is kept, in no order, each once at least. Default: none.
    ///
    /// # Errors
    /// `provider_unavailable`.
    async fn kept(&self) -> Result<Vec<SandboxId>> {
        Ok(Vec::new())
    }

    /// Removes what earlier processes of this installation made and left behind. Called now and then, by servers and by who sweeps.
    /// Default: nothing is left behind.
    ///
    /// # Errors
    /// `provider_unavailable`.
    async fn tidy(&self) -> Result<()> {
        Ok(())
    }

    /// Removes what is kept of a sandbox that is destroyed, or is another provider's now. Quick: it is done in the background, as
    /// often as it takes. Default: nothing is kept.
    fn forget(&self, id: &SandboxId) {
        let _ = id;
    }

    /// Reads saved state; what it consists of may be read later.
    ///
    /// # Errors
    /// `state_damaged`; `guest_mismatch` when it belongs to other guests.
    fn load(&self, state: &SavedState, chunks: Arc<dyn ChunkSource>) -> Result<Arc<dyn Snapshot>> {
        let _ = (state, chunks);
        Err(self.keeps_nothing())
    }

    /// What there is to say of saved state before it is opened: what was lost, and what belongs to other guests than those that are
    /// here. Quick: reads one chunk. Default: nothing.
    ///
    /// # Errors
    /// `state_damaged`.
    fn notes(&self, state: &SavedState, chunks: &dyn ChunkSource) -> Result<Notes> {
        let _ = (state, chunks);
        Ok(Notes::default())
    }

    /// Notes the chunks that saved state consists of; those that are noted already need not be followed.
    ///
    /// # Errors
    /// `state_damaged`.
    fn reach(&self, state: &SavedState, chunks: &dyn ChunkSource, reached: &mut Reached) -> Result<()> {
        let _ = (state, chunks, reached);
        Err(self.keeps_nothing())
    }

    /// The error of a provider without sandboxes that last.
    fn keeps_nothing(&self) -> Error {
        Error::new(
            ErrorCode::CapabilityUnavailable,
            format!("the {} provider has no persistent sandboxes", self.name()),
        )
        .with_hint("the wasm provider does")
    }

    /// Runs a checked program of the user's own.
    ///
    /// # Errors
    /// `bad_component` for what is no program or wants what it is not granted; `capability_unavailable` where
    /// programs cannot be run.
    async fn command(&self, request: CommandRequest) -> Result<Outcome> {
        Err(Error::new(
            ErrorCode::CapabilityUnavailable,
            format!("`{}` cannot be run by the {} provider", request.name, self.name()),
        )
        .with_hint("the wasm provider runs WebAssembly programs"))
    }
}
