//! What all parts of this crate share: the engine, who we are on it, and what goes on in the background.
//!
//! Owns: that what could not be removed is tried
//! again. Does not own: containers, which have it, nor those that wait ([`crate::pool`]).

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use dormouse_containers::identity::Identity;
use dormouse_containers::leftovers::Leftovers;
use dormouse_containers::{Background, Patience};
use dormouse_core::{Error, ErrorCode, Result};
use tokio::time::Instant;

use crate::engine::Engine;
use crate::image::{Images, Tools};
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
    /// What has no end of its own.
    watching: Mutex<Vec<tokio::task::JoinHandle<()>>>,
    /// By image, what it has.
    tools: Mutex<HashMap<String, Arc<Tools>>>,
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
            watching: Mutex::default(),
            tools: Mutex::default(),
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
            self.watching().push(tokio::spawn(tidy(Arc::downgrade(self))));
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
        self.work_off(false).await;
        Ok(())
    }

    /// Tries what is to be removed and is due. How many are left?
    pub(crate) async fn work_off(&self, all: bool) -> usize {
        self.leftovers
            .work(all, |thing: Thing| async move { thing::remove(&self.engine, &thing).await })
            .await
    }

    fn watching(&self) -> std::sync::MutexGuard<'_, Vec<tokio::task::JoinHandle<()>>> {
        self.watching.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends what has no end of its own.
    pub(crate) fn end_watching(&self) {
        for watching in self.watching().drain(..) {
            watching.abort();
        }
    }

    /// Removes a container in the background, as often as it takes.
    pub(crate) fn remove(self: &Arc<Self>, id: String) {
        self.remove_soon(Thing::Container(id), false);
    }

    /// The same for one that may not be there yet: its creation was not waited for.
    pub(crate) fn remove_late(self: &Arc<Self>, name: String) {
        self.remove_soon(Thing::Container(name), true);
    }

    fn remove_soon(self: &Arc<Self>, thing: Thing, late: bool) {
        let shared = self.clone();
        let _removing = self.background.spawn(async move {
            if late {
                return shared.leftovers.add(thing, true);
            }
            if let Err(error) = thing::remove(&shared.engine, &thing).await {
                tracing::debug!(?thing, %error, "it was not removed");
                shared.leftovers.add(thing, false);
            }
        });
    }

    /// Begins to watch the engine's events, once.
    pub(crate) fn start_watch(self: &Arc<Self>) {
        if !self.watch.must_start() {
            return;
        }
        let shared = Arc::downgrade(self);
        let watching = tokio::spawn(async move {
            // Ends with the provider: `close` aborts it, and so does the end of the runtime.
            if let Some(shared) = shared.upgrade() {
                shared.watch.run(&shared.engine, &shared.identity).await;
            }
        });
        self.watching().push(watching);
    }

    pub(crate) fn tools(&self, image: &str) -> Option<Arc<Tools>> {
        self.tools.lock().unwrap_or_else(PoisonError::into_inner).get(image).cloned()
    }

    pub(crate) fn note_tools(&self, image: &str, tools: &Arc<Tools>) {
        self.tools.lock().unwrap_or_else(PoisonError::into_inner).insert(image.to_owned(), tools.clone());
    }
}

/// Works off what is left, for as long as the provider is there and not closed, and looks from time to time for what nobody has on
/// a list: what other processes of this installation left that ended meanwhile, and volumes whose container is gone.
async fn tidy(shared: Weak<Shared>) {
    let mut loose = HashSet::new();
    let mut looked = Instant::now();
    loop {
        let Some((leftovers, every)) =
            shared.upgrade().map(|shared| (shared.leftovers.clone(), shared.settings.look_every))
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
            if let Err(error) = look_around(&shared, &mut loose).await {
                tracing::debug!(%error, "what is left was not looked for");
            }
        }
    }
}

/// Takes up what processes that ended meanwhile left, and volumes of this process that no container had this time nor
/// the last: one that is just being made has none for a moment.
async fn look_around(shared: &Arc<Shared>, loose: &mut HashSet<String>) -> Result<()> {
    shared.reap().await?;
    let now = reap::loose_volumes(&shared.identity, &shared.engine).await?;
    for name in now.intersection(loose) {
        shared.leftovers.add(Thing::Volume(name.clone()), false);
    }
    *loose = now;
    Ok(())
}
