//! What all parts of this crate share: the cluster, who we are in it, and what goes on in the background.
//!
//! Does not own: pods, nor when what is left is removed ([`dormouse_containers::upkeep`]).

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use dormouse_containers::identity::{Identity, OWNER, PROCESS};
use dormouse_containers::leftovers::{Leftovers, Removed};
use dormouse_containers::tools::KnownTools;
use dormouse_containers::upkeep::{self, Upkeep};
use dormouse_containers::{Background, Patience};
use dormouse_core::sandbox::SandboxId;
use dormouse_core::{Error, ErrorCode, Result};
use kube::api::{Patch, PatchParams};
use tokio::sync::OnceCell;
use tokio::time::Instant;

use crate::cluster::Cluster;
use crate::keep::{self, Uses};
use crate::kinds::Kind;
use crate::left::{self, Thing};
use crate::manifest;
use crate::settings::{Mode, Settings};
use crate::size::Vetted;
use crate::watch::Watch;

/// The folder of the state folder that tells installations apart.
const FOLDER: &str = "kubernetes";
/// Who the server takes for the manager of our fields.
const MANAGER: &str = "dormouse";

/// What all parts of this crate share.
pub(crate) struct Shared {
    pub(crate) settings: Settings,
    pub(crate) cluster: Cluster,
    pub(crate) identity: Identity,
    pub(crate) patience: Patience,
    pub(crate) background: Arc<Background>,
    pub(crate) watch: Watch,
    pub(crate) leftovers: Arc<Leftovers<Thing>>,
    /// What it uses just now that outlives pods.
    pub(crate) uses: Uses,
    /// By pool, what its template was found to be, and when.
    pub(crate) vetted: Mutex<HashMap<String, (Instant, Arc<Vetted>)>>,
    /// By image or pool, what it has.
    pub(crate) tools: KnownTools,
    prepared: OnceCell<()>,
}

impl Shared {
    /// Connects to nothing yet.
    ///
    /// # Errors
    /// `state_unavailable` when the state folder cannot be used; `args_invalid` for settings that cannot be.
    pub(crate) fn new(settings: Settings) -> Result<Arc<Self>> {
        settings.check()?;
        let identity = Identity::claim(settings.state.as_deref(), FOLDER)?;
        Ok(Arc::new(Self {
            cluster: Cluster::new(&settings),
            identity,
            patience: settings.patience(),
            background: Arc::default(),
            watch: Watch::default(),
            leftovers: Arc::default(),
            uses: Uses::default(),
            vetted: Mutex::default(),
            tools: KnownTools::default(),
            prepared: OnceCell::new(),
            settings,
        }))
    }

    /// What is made and watched: pods, or claims on them.
    pub(crate) fn kind(&self) -> Kind {
        match self.settings.mode {
            Mode::Pods => Kind::Pod,
            Mode::AgentSandbox => Kind::Claim,
        }
    }

    /// What is kept of sandboxes over the end of their pods.
    pub(crate) fn keeps(&self) -> Kind {
        match self.settings.mode {
            Mode::Pods => Kind::Volume,
            Mode::AgentSandbox => Kind::Claim,
        }
    }

    /// Whether it answers, with what earlier processes left behind removed once, and for pods the policy that isolates them.
    ///
    /// # Errors
    /// `provider_unavailable`; what keeps the policy from being made.
    pub(crate) async fn prepare(self: &Arc<Self>) -> Result<()> {
        if self.background.is_closed() {
            return Err(Error::new(ErrorCode::ProviderUnavailable, "the kubernetes provider is closed"));
        }
        self.background.here();
        let prepared = self.prepared.get_or_try_init(|| async {
            self.cluster.ready().await?;
            if self.settings.mode == Mode::Pods {
                self.isolate().await?;
            }
            self.reap().await?;
            self.begin_watch();
            Ok(())
        });
        prepared.await.map(|_| ())
    }

    /// Applies the policies that let nothing in and out of this installation's pods, but what the operator allows.
    async fn isolate(&self) -> Result<()> {
        let owner = self.identity.owner();
        let api = self.cluster.of(Kind::Policy).await?;
        let options = PatchParams::apply(MANAGER).force();
        for (name, policy) in manifest::policies(&self.settings, owner, (OWNER, owner))? {
            let policy = Patch::Apply(policy);
            let applied = api.patch(&name, &options, &policy);
            self.cluster.ask("isolate pods by a network policy", applied).await?;
        }
        Ok(())
    }

    /// Removes what processes of this installation left behind that are no more; what cannot be removed now is later.
    async fn reap(&self) -> Result<()> {
        for thing in left::orphans(&self.cluster, self.kind(), &self.identity).await? {
            self.leftovers.add(thing, false);
        }
        upkeep::work_off(self, false).await;
        Ok(())
    }

    /// The same for a provider that has made nothing yet, and so looks for nothing by itself.
    ///
    /// # Errors
    /// `provider_unavailable`.
    pub(crate) async fn tidy(&self) -> Result<()> {
        if self.prepared.initialized() || self.background.is_closed() || !self.identity.lasts() {
            return Ok(());
        }
        self.background.here();
        self.cluster.ready().await?;
        self.reap().await
    }

    fn begin_watch(self: &Arc<Self>) {
        if !self.watch.must_start() {
            return;
        }
        let shared = Arc::downgrade(self);
        self.background.spawn_endless(async move {
            // Ends with the provider: `close` aborts it, and so does the end of the runtime.
            if let Some(shared) = shared.upgrade() {
                let selector = left::selector(PROCESS, shared.identity.process());
                shared.watch.run(&shared.cluster, shared.kind(), &selector).await;
            }
        });
        self.background.spawn_endless(upkeep::tidy(Arc::downgrade(self)));
    }

    /// Removes one in the background, as often as it takes. `late`: it may not be there yet.
    pub(crate) fn remove(self: &Arc<Self>, thing: Thing, late: bool) {
        self.watch.remove(&thing.name);
        upkeep::remove(self, thing, late);
    }

    /// Removes what is kept of a sandbox, in the background. What cannot be listed now is found by a later sweep.
    pub(crate) fn forget(self: &Arc<Self>, id: &SandboxId) {
        self.background.here();
        let kind = self.keeps();
        if kind == Kind::Volume {
            return upkeep::remove(self, Thing::new(kind, keep::name(&self.identity, id)), false);
        }
        let (shared, id) = (self.clone(), id.clone());
        let _removing = self.background.spawn(async move {
            match left::of_sandbox(&shared.cluster, kind, (&shared.identity, &id)).await {
                Ok(all) => {
                    let names = all.into_iter().filter_map(|object| object.metadata.name);
                    names.for_each(|name| shared.leftovers.add(Thing::new(kind, name), false));
                }
                Err(error) => {
                    tracing::debug!(%error, sandbox = %id, "what is kept of a sandbox stays for now")
                }
            }
        });
    }
}

#[async_trait]
impl Upkeep for Shared {
    type Thing = Thing;

    fn background(&self) -> &Background {
        &self.background
    }

    fn leftovers(&self) -> &Arc<Leftovers<Thing>> {
        &self.leftovers
    }

    fn look_every(&self) -> Duration {
        Duration::from_millis(self.settings.look_every_ms)
    }

    async fn discard(&self, thing: &Thing) -> Result<Removed> {
        left::remove(&self.cluster, thing).await
    }

    async fn look_around(&self) -> Result<()> {
        self.reap().await
    }
}
