//! A sandbox that is awake: a container, its files, what runs in it.
//!
//! What it does is in `machine/interpreters.rs` (snippets), `machine/keeping.rs` (what goes on of them), [`crate::commands`]
//! (command lines), [`crate::files`] (single files) and [`crate::saving`].

mod interpreters;
mod keeping;

use std::sync::Arc;
use std::sync::atomic::AtomicI64;

use async_trait::async_trait;
use dormouse_core::sandbox::{
    ChunkId, Executed, Files, Include, Job, Lost, Machine, SandboxSpec, Snapshot, Variable,
};
use dormouse_core::{
    Bounds, Error, ErrorCode, EvalRequest, GuestName, Language, Limits, LineRequest, Outcome, Programs,
    Result, RunContext,
};
use dormouse_files::{Extras, Quota, Tree};

use crate::lasting;
use crate::lost::{Losses, left_out, with_note};
use crate::merge::Known;
use crate::network::{Connected, Network, used};
use crate::port::{Container, Engine};
use crate::pulse;
use crate::running::{Sessions, Sweeping};
use crate::snapshot::{self, FilesSnapshot, Saved, check_include};
use crate::variables::{self, Variables};

use self::interpreters::Interpreters;

/// Folders of a tree, from its root down.
const DEPTH: u32 = 1_024;
/// Bytes and names of a tree beside those of a container's volumes: its extras, and what another provider has elsewhere.
const BESIDES: u64 = 64 << 20;
const NAMES_BESIDES: u64 = 20_000;

/// What to do where a container is lost.
const GOES_ON: &str = "call again: the sandbox goes on from what was saved last";

/// A sandbox in a container.
pub struct ContainerMachine {
    pub(crate) engine: Arc<dyn Engine>,
    pub(crate) spec: SandboxSpec,
    pub(crate) container: Arc<dyn Container>,
    pub(crate) sessions: Sessions,
    pub(crate) sweeping: Sweeping,
    pub(crate) interpreters: Interpreters,
    /// How many processes the kernel had killed for want of memory when it was looked at last.
    pub(crate) kills: Arc<AtomicI64>,
    /// The files as they were saved or put there last, with those outside the folders that a container has, kept for the
    /// provider that they came from.
    pub(crate) base: Tree,
    /// What is known of the files that `base` was made of; none: nothing.
    pub(crate) known: Option<Known>,
    /// Where the last state that was taken is saved, once it is; none: none was taken since files were put there.
    pub(crate) saved: Option<Saved>,
    /// Whether processes went on in it that no call waits for, when it was looked at last.
    pub(crate) works: bool,
    pub(crate) lost: Losses,
    /// Those of its Python, where it is asked for them.
    pub(crate) variables: Variables,
    pub(crate) network: Network,
    /// What the next command says of files that could not be kept.
    dropped: Option<String>,
    /// Whether nothing was done in it yet.
    fresh: bool,
    /// Whether its container takes no programs any more, so that nothing can be had of it.
    given_up: bool,
}

impl ContainerMachine {
    /// One with a container of its own, and no files.
    ///
    /// # Errors
    /// What keeps the engine from it; `path_denied`; `busy` when none waits and one was required.
    pub async fn start(engine: &Arc<dyn Engine>, spec: &SandboxSpec) -> Result<Self> {
        let container = engine.create(spec).await?;
        Ok(Self {
            engine: engine.clone(),
            spec: spec.clone(),
            container,
            sessions: Sessions::default(),
            sweeping: Sweeping::default(),
            interpreters: Interpreters::default(),
            kills: Arc::default(),
            base: Tree::new(quota(engine.as_ref(), spec)),
            known: None,
            saved: None,
            works: false,
            lost: Losses::default(),
            variables: Variables::default(),
            network: Network::default(),
            dropped: None,
            fresh: true,
            given_up: false,
        })
    }

    /// Sees to it that one which begins without a state has no files: a `/workspace` that outlives its containers may have some.
    ///
    /// # Errors
    /// `provider_unavailable`.
    pub async fn begin_empty(&mut self) -> Result<()> {
        lasting::has(self.container.as_ref(), None).await.map(drop)
    }

    /// Makes sure that it can be used: what was cut off is dead, the container is there.
    ///
    /// # Errors
    /// `provider_unavailable` when it has ended.
    pub(crate) async fn settle(&mut self) -> Result<()> {
        self.fresh = false;
        let engine = self.engine.clone();
        pulse::watched(engine.patience(), "go on in a container", self.settle_now()).await
    }

    async fn settle_now(&mut self) -> Result<()> {
        let swept = self.sweeping.end().await;
        if self.is_gone() {
            let why = self.container.why_gone().map(|why| format!(": {why}")).unwrap_or_default();
            return Err(Error::new(
                ErrorCode::ProviderUnavailable,
                format!("the sandbox's container has ended{why}"),
            )
            .with_hint(GOES_ON));
        }
        match swept {
            Ok(()) => {
                self.container.lower().await;
                Ok(())
            }
            Err(error) => {
                tracing::warn!(container = self.container.id(), %error, "a sandbox moves to another container");
                match self.move_out().await {
                    Err(error) if self.container.answers().await => {
                        self.given_up = true;
                        Err(Error::new(
                            ErrorCode::ProviderUnavailable,
                            "what a command left running cannot be ended, and the sandbox's container takes no other program",
                        )
                        .with_hint(GOES_ON)
                        .with_source(error))
                    }
                    moved => moved,
                }
            }
        }
    }

    /// Gives a run its network, if it has one.
    async fn connect(&mut self, context: &mut RunContext) -> Result<Option<Connected>> {
        self.network.connect(self.container.as_ref(), &self.spec, context).await
    }

    /// Takes the files into another container, and leaves this one with what cannot be ended in it.
    async fn move_out(&mut self) -> Result<()> {
        let tree = self.take_all().await?;
        self.move_into(&tree, None).await
    }

    /// Goes on in another container, with these files, which are saved under that chunk, if they are.
    async fn move_into(&mut self, tree: &Tree, root: Option<ChunkId>) -> Result<()> {
        let container = self.engine.create(&self.spec).await?;
        self.put(&container, tree, root).await?;
        self.container = container;
        self.network.leave();
        self.given_up = false;
        self.lose_running();
        self.kills = Arc::default();
        self.works = false;
        (self.sessions, self.sweeping) = (Sessions::default(), Sweeping::default());
        Ok(())
    }
}

impl Drop for ContainerMachine {
    fn drop(&mut self) {
        if self.container.volume().is_some() {
            let saved = self.saved_whole();
            lasting::let_go(&self.container, saved);
        }
    }
}

/// What all files may be together: all that a container's volumes take, and what is kept besides.
fn quota(engine: &dyn Engine, spec: &SandboxSpec) -> Quota {
    let room = engine.room(spec);
    Quota {
        bytes: room.bytes.saturating_add(BESIDES),
        files: room.names.saturating_add(NAMES_BESIDES),
        depth: DEPTH,
        name_bytes: 255,
    }
}

#[async_trait]
impl Machine for ContainerMachine {
    async fn eval(&mut self, mut request: EvalRequest) -> Result<Outcome> {
        self.settle().await?;
        self.container.admit()?;
        let connected = self.connect(&mut request.context).await?;
        let mut outcome = self.run_snippet(request).await?;
        outcome.network = used(connected.as_ref());
        Ok(outcome)
    }

    async fn exec(&mut self, mut request: LineRequest, _: Arc<dyn Programs>) -> Result<Executed> {
        self.settle().await?;
        self.container.admit()?;
        let connected = self.connect(&mut request.context).await?;
        let mut executed = self.run_line(request).await?;
        executed.outcome.network = used(connected.as_ref());
        if let Some(note) = self.dropped.take() {
            executed.outcome.stderr = with_note(&note, &executed.outcome.stderr);
        }
        Ok(executed)
    }

    async fn job(&mut self, mut request: LineRequest, _: Arc<dyn Programs>) -> Result<Job> {
        self.settle().await?;
        self.container.admit()?;
        let connected = self.connect(&mut request.context).await?;
        let running = self.line_beside(request)?;
        let told = move |mut executed: Executed| {
            executed.outcome.network = used(connected.as_ref());
            executed
        };
        Ok(Box::pin(async move { running.await.map(told) }))
    }

    async fn get(
        &mut self,
        language: &Language,
        name: &str,
        query: Option<&str>,
        with: (&Limits, &Bounds),
    ) -> Result<Outcome> {
        self.settle().await?;
        self.value(language, name, query, with).await
    }

    async fn set(&mut self, language: &Language, name: &str, json: &str, limits: &Limits) -> Result<()> {
        self.settle().await?;
        self.bind(language, name, json, limits).await
    }

    async fn variables(&mut self, language: &Language, limits: &Limits) -> Result<Vec<Variable>> {
        self.settle().await?;
        self.globals(language, limits).await
    }

    async fn reset(&mut self) -> Result<()> {
        self.settle().await?;
        self.interpreters.clear();
        self.variables.clear();
        self.lost = Losses::default();
        self.sweeping.begin(&self.container, &self.sessions);
        self.sweeping.end().await?;
        self.forget_shell().await
    }

    fn files(&mut self) -> &mut dyn Files {
        self
    }

    async fn snapshot(&mut self, include: Include) -> Result<Arc<dyn Snapshot>> {
        check_include(self.engine.name(), include)?;
        let (engine, fresh) = (self.engine.clone(), self.fresh);
        let taking = async {
            self.settle().await?;
            self.fresh = fresh;
            self.keep_variables().await;
            self.take().await
        };
        let tree = pulse::watched(engine.patience(), "save a sandbox's files", taking).await?;
        let tree = if include == Include::Files { variables::without(&tree)? } else { tree };
        let snapshot = FilesSnapshot::new(tree);
        self.saved = Some(snapshot.saved.clone());
        Ok(Arc::new(snapshot))
    }

    async fn restore(&mut self, state: &dyn Snapshot) -> Result<()> {
        let tree = snapshot::tree(state)?;
        // Another provider has had interpreters of its own since.
        let ours = self.spec.pickles && state.of::<FilesSnapshot>().is_some();
        let (tree, kept) = match ours {
            true => (tree.clone(), Variables::of(&tree)),
            false => (variables::without(&tree)?, Variables::default()),
        };
        let quota = self.base.quota();
        if tree.usage().bytes > quota.bytes || tree.usage().files > quota.files {
            return Err(Error::new(
                ErrorCode::LimitDisk,
                "the state's files are more than the sandbox may have",
            )
            .with_hint("restore it into a sandbox with more disk"));
        }
        let root = snapshot::saved_under(state);
        let engine = self.engine.clone();
        let putting = async {
            // Another container rather than an empty one: what fails leaves this one as it is, and nothing old is left.
            if self.fresh && !self.is_gone() {
                // If it fails half-way the next restore takes another one.
                self.fresh = false;
                self.put(&self.container.clone(), &tree, root).await
            } else {
                self.move_into(&tree, root).await
            }
        };
        pulse::watched(engine.patience(), "put a sandbox's files into a container", putting).await?;
        self.variables = kept;
        if self.variables.are_kept() {
            self.lost.tell(&GuestName::python());
        }
        self.lose(&state.guests());
        self.dropped = Extras::of(&tree).and_then(|(extras, _)| left_out(&extras));
        Ok(())
    }

    fn awake(&self) -> Vec<GuestName> {
        self.interpreters.awake().into_iter().map(GuestName::from).collect()
    }

    fn is_gone(&self) -> bool {
        self.given_up || self.container.is_gone()
    }

    fn forgets(&self) -> bool {
        true
    }

    fn works_on(&self) -> bool {
        self.works && !self.is_gone()
    }

    fn lost(&self) -> Vec<Lost> {
        self.lost.all()
    }

    fn lose(&mut self, guests: &[GuestName]) {
        let kept = self.variables.are_kept().then(GuestName::python);
        let gone: Vec<GuestName> =
            guests.iter().filter(|guest| Some(*guest) != kept.as_ref()).cloned().collect();
        self.lost.add(&gone);
    }
}
