//! A provider whose sandboxes only pretend.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use tokio::sync::Semaphore;

use super::machine::{FakeMachine, State};
use crate::sandbox::chunk::fetch;
use crate::sandbox::{ChunkSource, Machine, Reached, SandboxId, SandboxSpec, SavedState, Snapshot};
use crate::{Error, ErrorCode, EvalRequest, GuestInfo, Language, Outcome, Provider, Result};

/// Runs the words of [`Machine::eval`] of its machines: `set NAME TEXT`, `get NAME`, `write PATH TEXT`, `wait` (until
/// [`FakeProvider::let_go`]), `stop` (as a time limit does), `spec` (the memory and the mounts that it was woken with); whatever
/// else is printed.
#[derive(Clone, Default)]
pub struct FakeProvider {
    pub(super) shared: Arc<Shared>,
    containers: bool,
}

#[derive(Default)]
pub(super) struct Shared {
    pub(super) machines: AtomicUsize,
    pub(super) woken: AtomicUsize,
    pub(super) waiting: AtomicUsize,
    pub(super) gate: Gate,
    pub(super) down: AtomicBool,
    /// The sandboxes that were woken and not forgotten since.
    kept: Mutex<BTreeSet<SandboxId>>,
}

pub(super) struct Gate(pub(super) Semaphore);

impl Default for Gate {
    fn default() -> Self {
        Self(Semaphore::new(0))
    }
}

impl FakeProvider {
    /// The word of [`FakeProvider::containers`].
    pub(super) const CONTAINERS: &'static str = "docker";

    /// One that pretends to have containers: variables last only while a machine is awake.
    pub fn containers() -> Self {
        Self { containers: true, ..Self::default() }
    }

    /// From now on nothing can be reached, and every machine of [`FakeProvider::containers`] is gone; or all is well again.
    pub fn set_down(&self, down: bool) {
        self.shared.down.store(down, Ordering::SeqCst);
    }

    /// Machines that are in memory.
    pub fn machines(&self) -> usize {
        self.shared.machines.load(Ordering::SeqCst)
    }

    /// Machines that were ever made.
    pub fn woken(&self) -> usize {
        self.shared.woken.load(Ordering::SeqCst)
    }

    /// The sandboxes of which it says that something is kept.
    pub fn keeps(&self) -> MutexGuard<'_, BTreeSet<SandboxId>> {
        self.shared.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs that are in the word `wait`, and jobs that never start.
    pub fn waiting(&self) -> usize {
        self.shared.waiting.load(Ordering::SeqCst)
    }

    /// Ends the word `wait` of so many runs.
    pub fn let_go(&self, runs: usize) {
        self.shared.gate.0.add_permits(runs);
    }
}

#[async_trait]
impl Provider for FakeProvider {
    fn name(&self) -> &'static str {
        if self.containers { Self::CONTAINERS } else { "fake" }
    }

    async fn ready(&self) -> Result<()> {
        match self.shared.down.load(Ordering::SeqCst) {
            true => Err(Error::new(ErrorCode::ProviderUnavailable, "nothing answers")),
            false => Ok(()),
        }
    }

    fn check(&self, spec: &SandboxSpec) -> Result<()> {
        match &spec.image {
            Some(image) if !self.containers || image != "good" => Err(Error::args_invalid("no such image")),
            _ => Ok(()),
        }
    }

    fn mark(&self) -> &'static [u8] {
        if self.containers { br#"{"provider":"docker""# } else { b"" }
    }

    fn guests(&self) -> Vec<GuestInfo> {
        let interpreter = "Fake 1".into();
        vec![GuestInfo { language: Language::python(), interpreter, available: true, note: None }]
    }

    async fn eval(&self, request: EvalRequest) -> Result<Outcome> {
        self.machine(&SandboxSpec::default(), None).await?.eval(request).await
    }

    async fn machine(
        &self,
        spec: &SandboxSpec,
        state: Option<Arc<dyn Snapshot>>,
    ) -> Result<Box<dyn Machine>> {
        self.ready().await?;
        self.shared.woken.fetch_add(1, Ordering::SeqCst);
        let mut machine = FakeMachine::new(self.shared.clone(), spec.clone(), self.name());
        if let Some(state) = state {
            machine.restore(state.as_ref()).await?;
        }
        Ok(Box::new(machine))
    }

    async fn machine_of(
        &self,
        id: &SandboxId,
        spec: &SandboxSpec,
        state: Option<Arc<dyn Snapshot>>,
    ) -> Result<Box<dyn Machine>> {
        self.keeps().insert(id.clone());
        self.machine(spec, state).await
    }

    async fn kept(&self) -> Result<Vec<SandboxId>> {
        Ok(self.keeps().iter().cloned().collect())
    }

    fn forget(&self, id: &SandboxId) {
        self.keeps().remove(id);
    }

    fn load(&self, state: &SavedState, chunks: Arc<dyn ChunkSource>) -> Result<Arc<dyn Snapshot>> {
        let bytes = fetch(chunks.as_ref(), &state.root)?;
        let state: State =
            serde_json::from_slice(&bytes).map_err(|error| Error::internal("no state", error))?;
        assert_eq!(state.provider, self.name(), "each provider reads its own");
        Ok(Arc::new(state))
    }

    fn reach(&self, state: &SavedState, _: &dyn ChunkSource, reached: &mut Reached) -> Result<()> {
        reached.leaf(state.root);
        Ok(())
    }
}
