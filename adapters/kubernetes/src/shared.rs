//! What all parts of this crate share: the cluster, who we are in it, and what goes on in the background.
//!
//! Owns: that what could not be removed is tried again, and that what nobody has is found. Does not own: pods, which have it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use dormouse_containers::identity::{Identity, OWNER, PROCESS};
use dormouse_containers::leftovers::Leftovers;
use dormouse_containers::{Background, Patience};
use dormouse_core::{Error, ErrorCode, Result};
use kube::api::{Patch, PatchParams};
use tokio::sync::OnceCell;
use tokio::time::Instant;

use crate::cluster::Cluster;
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

/// The programs that an image has, of those that make a difference.
pub(crate) type Tools = std::collections::BTreeSet<String>;

/// What all parts of this crate share.
pub(crate) struct Shared {
    pub(crate) settings: Settings,
    pub(crate) cluster: Cluster,
    pub(crate) identity: Identity,
    pub(crate) patience: Patience,
    pub(crate) background: Arc<Background>,
    pub(crate) watch: Watch,
    pub(crate) leftovers: Arc<Leftovers<Thing>>,
    /// By pool, what its template was found to be, and when.
    pub(crate) vetted: Mutex<HashMap<String, (Instant, Arc<Vetted>)>>,
    /// By image or pool, what it has.
    tools: Mutex<HashMap<String, Arc<Tools>>>,
    /// What has no end of its own.
    watching: Mutex<Vec<tokio::task::JoinHandle<()>>>,
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
            vetted: Mutex::default(),
            tools: Mutex::default(),
            watching: Mutex::default(),
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

    /// Applies the policy that lets nothing in and out of this installation's pods.
    async fn isolate(&self) -> Result<()> {
        let owner = self.identity.owner();
        let api = self.cluster.of(Kind::Policy).await?;
        let policy = Patch::Apply(manifest::policy(owner, (OWNER, owner)));
        let name = manifest::policy_name(owner);
        let options = PatchParams::apply(MANAGER).force();
        self.cluster
            .ask("isolate pods by a network policy", api.patch(&name, &options, &policy))
            .await
            .map(drop)
    }

    /// Removes what processes of this installation left behind that are no more; what cannot be removed now is later.
    async fn reap(&self) -> Result<()> {
        for thing in left::orphans(&self.cluster, self.kind(), &self.identity).await? {
            self.leftovers.add(thing, false);
        }
        self.work_off(false).await;
        Ok(())
    }

    /// Tries what is to be removed and is due. How many are left?
    pub(crate) async fn work_off(&self, all: bool) -> usize {
        self.leftovers
            .work(all, |thing: Thing| async move { left::remove(&self.cluster, &thing).await })
            .await
    }

    fn begin_watch(self: &Arc<Self>) {
        if !self.watch.must_start() {
            return;
        }
        let shared = Arc::downgrade(self);
        let watching = tokio::spawn(async move {
            // Ends with the provider: `close` aborts it, and so does the end of the runtime.
            if let Some(shared) = shared.upgrade() {
                let selector = left::selector(PROCESS, shared.identity.process());
                shared.watch.run(&shared.cluster, shared.kind(), &selector).await;
            }
        });
        let tidying = tokio::spawn(tidy(Arc::downgrade(self)));
        self.watching().extend([watching, tidying]);
    }

    /// Ends what has no end of its own.
    pub(crate) fn end_watching(&self) {
        for watching in self.watching().drain(..) {
            watching.abort();
        }
    }

    fn watching(&self) -> std::sync::MutexGuard<'_, Vec<tokio::task::JoinHandle<()>>> {
        self.watching.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes one in the background, as often as it takes. `late`: it may not be there yet.
    pub(crate) fn remove(self: &Arc<Self>, thing: Thing, late: bool) {
        self.watch.remove(&thing.name);
        let shared = self.clone();
        let _removing = self.background.spawn(async move {
            if late {
                return shared.leftovers.add(thing, true);
            }
            if let Err(error) = left::remove(&shared.cluster, &thing).await {
                tracing::debug!(?thing, %error, "it was not removed");
                shared.leftovers.add(thing, false);
            }
        });
    }

    pub(crate) fn tools(&self, of: &str) -> Option<Arc<Tools>> {
        self.tools.lock().unwrap_or_else(PoisonError::into_inner).get(of).cloned()
    }

    pub(crate) fn note_tools(&self, of: &str, tools: &Arc<Tools>) {
        self.tools.lock().unwrap_or_else(PoisonError::into_inner).insert(of.to_owned(), tools.clone());
    }
}

/// Works off what is left, for as long as the provider is there and not closed, and looks from time to time for what other
/// processes of this installation left that ended meanwhile.
async fn tidy(shared: Weak<Shared>) {
    let mut looked = Instant::now();
    loop {
        let Some((leftovers, every)) = shared
            .upgrade()
            .map(|shared| (shared.leftovers.clone(), Duration::from_millis(shared.settings.look_every_ms)))
        else {
            return;
        };
        let look = looked + every;
        let until = leftovers.next().map_or(look, |next| next.min(look));
        tokio::select! {
            () = tokio::time::sleep_until(until) => {}
            () = leftovers.added() => {}
        }
        let Some(shared) = shared.upgrade().filter(|shared| !shared.background.is_closed()) else { return };
        shared.work_off(false).await;
        if look <= Instant::now() {
            looked = Instant::now();
            if let Err(error) = shared.reap().await {
                tracing::debug!(%error, "what is left was not looked for");
            }
        }
    }
}
