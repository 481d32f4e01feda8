//! What all parts of this crate share: the engine, who we are on it, and what goes on in the background.
//!
//! Does not own: containers, nor those that wait ([`crate::pool`]), nor when what is left is removed ([`dormouse_containers::upkeep`]).

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use dormouse_containers::identity::Identity;
use dormouse_containers::leftovers::{Leftovers, Removed};
use dormouse_containers::tools::KnownTools;
use dormouse_containers::upkeep::{self, Upkeep};
use dormouse_containers::{Background, Patience};
use dormouse_core::{Error, ErrorCode, Result};

use crate::engine::Engine;
use crate::image::Images;
use crate::reap;
use crate::settings::Settings;
use crate::thing::{self, Thing};
use crate::watch::Watch;

/// The folder of the state folder that tells installations apart.
const FOLDER: &str = "docker";

/// What all parts of this crate share.
pub(crate) struct Shared {
    pub(crate) settings: Settings,
    pub(crate) engine: Engine,
    pub(crate) identity: Identity,
    pub(crate) images: Images,
    pub(crate) watch: Watch,
    pub(crate) leftovers: Arc<Leftovers<Thing>>,
    /// What is expected of the engine.
    pub(crate) patience: Patience,
    /// What goes on in the background and has to come to its end.
    pub(crate) background: Arc<Background>,
    /// Volumes that no container had when it was last looked.
    loose: Mutex<HashSet<String>>,
    /// By image, what it has.
    pub(crate) tools: KnownTools,
    /// Held while the image of relays is looked for, and made.
    pub(crate) relays: tokio::sync::Mutex<()>,
    /// Whether what earlier processes left behind was removed.
    reaped: tokio::sync::OnceCell<()>,
}

impl Shared {
    /// Connects to nothing yet.
    ///
    /// # Errors
    /// `state_unavailable` when the state folder cannot be used.
    pub(crate) fn new(settings: Settings) -> Result<Arc<Self>> {
        let engine = Engine::new(settings.address.clone(), settings.dial.clone(), settings.answer_within);
        let identity = Identity::claim(settings.state.as_deref(), FOLDER)?;
        let patience = settings.patience();
        Ok(Arc::new(Self {
            settings,
            engine,
            identity,
            images: Images::default(),
            watch: Watch::default(),
            leftovers: Arc::default(),
            patience,
            background: Arc::default(),
            loose: Mutex::default(),
            tools: KnownTools::default(),
            relays: tokio::sync::Mutex::default(),
            reaped: tokio::sync::OnceCell::new(),
        }))
    }

    /// Whether it answers, with what earlier processes left behind removed once.
    ///
    /// # Errors
    /// `provider_unavailable`.
    pub(crate) async fn prepare(self: &Arc<Self>) -> Result<()> {
        if self.background.is_closed() {
            return Err(Error::new(ErrorCode::ProviderUnavailable, "the docker provider is closed"));
        }
        self.background.here();
        self.engine.ready().await?;
        let reaped = self.reaped.get_or_try_init(|| async {
            self.reap().await?;
            self.background.spawn_endless(upkeep::tidy(Arc::downgrade(self)));
            Ok(())
        });
        reaped.await.map(|_| ())
    }

    /// Removes what processes of this installation left behind that are no more; what cannot be removed now is later.
    ///
    /// # Errors
    /// `provider_unavailable`.
    pub(crate) async fn reap(&self) -> Result<()> {
        for thing in reap::reap(&self.identity, &self.engine).await? {
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
        if self.reaped.initialized() || self.background.is_closed() || !self.identity.lasts() {
            return Ok(());
        }
        self.background.here();
        self.engine.ready().await?;
        self.reap().await
    }

    /// Removes a container in the background, as often as it takes.
    pub(crate) fn remove(self: &Arc<Self>, id: String) {
        upkeep::remove(self, Thing::Container(id), false);
    }

    /// The same for one that may not be there yet: its creation was not waited for.
    pub(crate) fn remove_late(self: &Arc<Self>, name: String) {
        upkeep::remove(self, Thing::Container(name), true);
    }

    /// Begins to watch the engine's events, once.
    pub(crate) fn start_watch(self: &Arc<Self>) {
        if !self.watch.must_start() {
            return;
        }
        let shared = Arc::downgrade(self);
        self.background.spawn_endless(async move {
            // Ends with the provider: `close` aborts it, and so does the end of the runtime.
            if let Some(shared) = shared.upgrade() {
                shared.watch.run(&shared.engine, &shared.identity).await;
            }
        });
    }
}

/// Removes a container that did not come up, also one that the engine creates after it was waited for.
pub(crate) struct Unborn(Arc<Shared>, Option<String>);

impl Unborn {
    /// One that is to be created under a name.
    pub(crate) fn new(shared: &Arc<Shared>, name: &str) -> Self {
        Self(shared.clone(), Some(name.to_owned()))
    }

    /// It is there, and somebody else's affair from here on.
    pub(crate) fn born(&mut self) {
        self.1 = None;
    }
}

impl Drop for Unborn {
    fn drop(&mut self) {
        if let Some(name) = self.1.take() {
            self.0.remove_late(name);
        }
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
        self.settings.look_every
    }

    async fn discard(&self, thing: &Thing) -> Result<Removed> {
        thing::remove(&self.engine, thing).await
    }

    /// Takes up what processes that ended meanwhile left, and volumes of this process that no container had this time nor
    /// the last: one that is just being made has none for a moment.
    async fn look_around(&self) -> Result<()> {
        self.reap().await?;
        let now = reap::loose_volumes(&self.identity, &self.engine).await?;
        let mut loose = self.loose.lock().unwrap_or_else(PoisonError::into_inner);
        for name in now.intersection(&loose) {
            self.leftovers.add(Thing::Volume(name.clone()), false);
        }
        *loose = now;
        Ok(())
    }
}
