//! A sandbox that is awake: a container, its files, what runs in it.

use std::sync::Arc;
use std::sync::atomic::AtomicI64;

use async_trait::async_trait;
use dormouse_core::sandbox::{Executed, Files, Include, Job, Lost, Machine, SandboxSpec, Snapshot, Variable};
use dormouse_core::{Bounds, Error, ErrorCode, EvalRequest, Language, Limits, Outcome, Programs, Result};
use dormouse_files::{Extras, Quota, Tree};

use crate::container::Size;
use crate::engine::unavailable;
use crate::interpreters::Interpreters;
use crate::lost::{Losses, left_out, with_note};
use crate::merge::Known;
use crate::mount;
use crate::pool::Pool;
use crate::provider::{Inner, check_include};
use crate::pulse;
use crate::room::Room;
use crate::running::{Sessions, Sweeping};
use crate::snapshot::{self, DockerSnapshot};
use crate::variables::{self, Variables};

/// Folders of a tree, from its root down.
const DEPTH: u32 = 1_024;
/// Bytes and names of a tree beside those of a container's volumes: its extras, and what another provider has elsewhere.
const BESIDES: u64 = 64 << 20;
const NAMES_BESIDES: u64 = 20_000;

/// A sandbox in a container.
pub(crate) struct DockerMachine {
    pub(crate) inner: Arc<Inner>,
    pub(crate) spec: SandboxSpec,
    pub(crate) room: Arc<Room>,
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
    /// Whether processes went on in it that no call waits for, when it was looked at last.
    pub(crate) works: bool,
    pub(crate) lost: Losses,
    /// Those of its Python, where it is asked for them.
    pub(crate) variables: Variables,
    /// What the next command says of files that could not be kept.
    dropped: Option<String>,
    /// Whether nothing was done in it yet.
    fresh: bool,
}

impl DockerMachine {
    /// One with a container of its own, and no files.
    ///
    /// # Errors
    /// What keeps the engine from it; `path_denied`; `busy` when none waits and one was required.
    pub(crate) async fn start(inner: &Arc<Inner>, spec: &SandboxSpec) -> Result<Self> {
        let room = Arc::new(claim(inner, spec).await?);
        Ok(Self {
            inner: inner.clone(),
            spec: spec.clone(),
            room,
            sessions: Sessions::default(),
            sweeping: Sweeping::default(),
            interpreters: Interpreters::default(),
            kills: Arc::default(),
            base: Tree::new(quota(inner, spec)),
            known: None,
            works: false,
            lost: Losses::default(),
            variables: Variables::default(),
            dropped: None,
            fresh: true,
        })
    }

    /// Makes sure that it can be used: what was cut off is dead, the container is there.
    ///
    /// # Errors
    /// `provider_unavailable` when it has ended.
    pub(crate) async fn settle(&mut self) -> Result<()> {
        self.fresh = false;
        let inner = self.inner.clone();
        pulse::watched(&inner.settings, "go on in a container", self.settle_now()).await
    }

    async fn settle_now(&mut self) -> Result<()> {
        let swept = self.sweeping.end().await;
        if self.is_gone() {
            return Err(unavailable("the sandbox's container has ended".into())
                .with_hint("call again: the sandbox goes on from what was saved last"));
        }
        match swept {
            Ok(()) => {
                self.room.lower().await;
                Ok(())
            }
            Err(error) => {
                tracing::warn!(container = self.room.id, %error, "a sandbox moves to another container");
                self.move_out().await
            }
        }
    }

    /// Takes the files into another container, and leaves this one with what cannot be ended in it.
    async fn move_out(&mut self) -> Result<()> {
        let tree = self.take_all().await?;
        self.move_into(&tree).await
    }

    /// Goes on in another container, with these files.
    async fn move_into(&mut self, tree: &Tree) -> Result<()> {
        let room = Arc::new(claim(&self.inner, &self.spec).await?);
        self.put(&room, tree).await?;
        self.room = room;
        self.lose_running();
        self.kills = Arc::default();
        self.works = false;
        (self.sessions, self.sweeping) = (Sessions::default(), Sweeping::default());
        Ok(())
    }
}

/// A container for a sandbox.
async fn claim(inner: &Arc<Inner>, spec: &SandboxSpec) -> Result<Room> {
    let image = inner.images.find(&inner.engine, &inner.settings, spec.image.as_deref()).await?;
    let binds = mount::binds(inner, &spec.mounts).await?;
    Pool::claim(inner, &image, Size::of(spec), binds, spec.warm_pool).await
}

/// What all files may be together: all that a container's volumes take, and what is kept besides.
fn quota(inner: &Inner, spec: &SandboxSpec) -> Quota {
    let names = Size::of(spec).names(&inner.settings);
    Quota {
        bytes: spec.disk.saturating_add(inner.settings.tmp).saturating_add(BESIDES),
        files: names.saturating_add(NAMES_BESIDES),
        depth: DEPTH,
        name_bytes: 255,
    }
}

#[async_trait]
impl Machine for DockerMachine {
    async fn eval(&mut self, request: EvalRequest) -> Result<Outcome> {
        self.settle().await?;
        self.room.admit()?;
        self.run_snippet(request).await
    }

    async fn exec(&mut self, request: EvalRequest, _: Arc<dyn Programs>) -> Result<Executed> {
        self.settle().await?;
        self.room.admit()?;
        let mut executed = self.run_line(request).await?;
        if let Some(note) = self.dropped.take() {
            executed.outcome.stderr = with_note(&note, &executed.outcome.stderr);
        }
        Ok(executed)
    }

    async fn job(&mut self, request: EvalRequest, _: Arc<dyn Programs>) -> Result<Job> {
        self.settle().await?;
        self.room.admit()?;
        self.line_beside(request)
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
        self.sweeping.begin(&self.room, &self.sessions);
        self.sweeping.end().await?;
        self.forget_shell().await
    }

    fn files(&mut self) -> &mut dyn Files {
        self
    }

    async fn snapshot(&mut self, include: Include) -> Result<Arc<dyn Snapshot>> {
        check_include(include)?;
        let (inner, fresh) = (self.inner.clone(), self.fresh);
        let taking = async {
            self.settle().await?;
            self.fresh = fresh;
            self.keep_variables().await;
            self.take().await
        };
        let tree = pulse::watched(&inner.settings, "save a sandbox's files", taking).await?;
        let tree = if include == Include::Files { variables::without(&tree)? } else { tree };
        Ok(Arc::new(DockerSnapshot(tree)))
    }

    async fn restore(&mut self, state: &dyn Snapshot) -> Result<()> {
        let tree = snapshot::tree(state)?;
        // Another provider has had interpreters of its own since.
        let ours = self.spec.pickles && state.as_any().is::<DockerSnapshot>();
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
        let inner = self.inner.clone();
        let putting = async {
            // Another container rather than an empty one: what fails leaves this one as it is, and nothing old is left.
            if self.fresh && !self.is_gone() {
                // If it fails half-way the next restore takes another one.
                self.fresh = false;
                self.put(&self.room.clone(), &tree).await
            } else {
                self.move_into(&tree).await
            }
        };
        pulse::watched(&inner.settings, "put a sandbox's files into a container", putting).await?;
        self.variables = kept;
        if self.variables.are_kept() {
            self.lost.tell(&Language::python());
        }
        self.lose(&state.languages());
        self.dropped = Extras::of(&tree).and_then(|(extras, _)| left_out(&extras));
        Ok(())
    }

    fn awake(&self) -> Vec<Language> {
        self.interpreters.awake()
    }

    fn is_gone(&self) -> bool {
        self.room.is_gone()
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

    fn lose(&mut self, languages: &[Language]) {
        let kept = self.variables.are_kept().then(Language::python);
        let gone: Vec<Language> =
            languages.iter().filter(|language| Some(*language) != kept.as_ref()).cloned().collect();
        self.lost.add(&gone);
    }
}
