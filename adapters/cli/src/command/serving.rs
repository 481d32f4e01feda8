//! What the servers share: the tools over one runtime, upkeep while they are served, and what is saved at the end.

use std::fs::{DirBuilder, File};
use std::future::Future;
use std::io;
use std::num::NonZero;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use dormouse::network::NetworkGrant;
use dormouse::{Dormouse, Error, ErrorCode, Result, Runtime, Sandboxes};
use dormouse_connect::Connectors;
use dormouse_docker::DockerProvider;
use dormouse_rest::door::MAX_CONNECTIONS;
use dormouse_tools::{Owners, Profile, Surface, Toolset};
use rustix::fs::Mode;

use crate::args::PlaceArgs;
use crate::descriptors;
use crate::exit;
use crate::log;
use crate::settings::network::Opened;
use crate::settings::wall::Confined;
use crate::settings::{self, Mcp};
use crate::signals::{self, BY_SIGNAL};
use crate::wall::{self, Confine, Wall};

/// How long the end waits for what cannot be cancelled.
const SHUTDOWN: Duration = Duration::from_millis(100);

/// A runtime that is to be served.
pub(super) struct Serving {
    dormouse: Dormouse,
    docker: Option<DockerProvider>,
    meant: Mcp,
    wall: Wall,
    /// What each owner has in progress, over all doors.
    owners: Arc<Owners>,
    /// The servers whose tools programs can call.
    connectors: Option<Connectors>,
    /// What looks after the rules of the network, until somebody serves.
    network: Mutex<Option<Opened>>,
}

impl Serving {
    /// Sets it up. Starts nothing.
    ///
    /// # Errors
    /// As [`dormouse::Builder::build`].
    pub(super) fn new(place: &PlaceArgs, mut meant: Mcp) -> Result<Self> {
        // Before the wall: it reads this machine's own settings and certificates, and what its disk and its limits are.
        let packages = settings::packages::indexes(&meant.packages, place, meant.confined.resolver())?;
        meant.policy.max_memory.get_or_insert_with(dormouse::runs_memory);
        if let Some(folder) = &meant.state {
            meant.rules.quota = dormouse::fitted(meant.rules.quota, folder, meant.policy.owners_share);
        }
        let rules = settings::given::rules(meant.rules.clone(), &meant.policy, meant.mounts.clone());
        let lasting = meant.state.is_some().then_some(&rules);
        descriptors::raise(&dormouse::Capacity::of(&meant.policy, lasting, 0, meant.ready));
        // So are secrets.
        let network = match meant.network.take() {
            Some(network) => {
                Some(before_the_wall(network.open(meant.confined.resolver(), meant.confined.operator()))?)
            }
            None => None,
        };
        let wall = confine(place, &meant.confined, meant.state.as_deref())?;
        log::detach();
        if meant.profiles.contains(&Profile::Eval) && meant.grants.project.is_none() {
            tracing::warn!(
                "the profile `eval` has no project, so that snippets have no container(): name one with --project"
            );
        }
        let lasts = |profile: &Profile| !matches!(profile, Profile::Eval | Profile::Sandbox);
        if meant.grants.project.is_some() && meant.profiles.iter().any(lasts) {
            tracing::warn!("persistent sandboxes do not see the project: give them a folder with --mount");
        }
        let mut builder =
            settings::builder(place)?.policy(meant.policy.clone()).ready(meant.ready).rules(rules);
        if let Some(folder) = &meant.state {
            builder = builder.state(folder);
        }
        let dormouse = builder.build()?;
        if let Some(network) = &network {
            // Who offers no tool that asks for a network gives it to all sandboxes.
            let asks = |profile: &Profile| matches!(profile, Profile::Sandbox | Profile::Eval);
            let usual = (!meant.profiles.iter().any(asks)).then(NetworkGrant::default);
            let has_rules = !network.outside.gate().settings().profiles.is_empty();
            dormouse.runtime().set_network(network.outside.clone(), usual.filter(|_| has_rules));
        }
        if let Some(sandboxes) = dormouse.runtime().sandboxes() {
            settings::packages::offer(&dormouse, packages)?;
            if let Some(remotes) = &meant.remotes {
                sandboxes.offer(remotes.clone());
            }
        }
        // Last: what somebody here has needs no container.
        if let Some(folder) = &meant.state {
            let folder = meant.installation.as_ref().unwrap_or(folder);
            settings::kubernetes::offer(&dormouse, folder, meant.confined.cluster())?;
        }
        let docker = match &meant.state {
            Some(folder) => {
                let (dial, folder) = (meant.confined.dial(), meant.installation.as_ref().unwrap_or(folder));
                settings::docker::offer(&dormouse, &meant.docker, folder, &meant.docker_roots, dial)?
            }
            None => None,
        };
        let outside = meant.confined.outside();
        let gate = network.as_ref().map(|network| network.outside.clone());
        let connectors =
            meant.connected.take().map(|connected| connected.connect(outside, gate)).transpose()?;
        let network = Mutex::new(network);
        Ok(Self { dormouse, docker, meant, wall, owners: Arc::default(), connectors, network })
    }

    /// The tools that were chosen.
    ///
    /// # Errors
    /// `args_invalid` for a tool that the profile does not have.
    pub(super) fn surface(&self) -> Result<Arc<Surface>> {
        self.surface_of(&self.meant.profiles, self.meant.toolset.clone())
    }

    /// The tools behind routes: those that were named, else all of the profile `sandbox`.
    ///
    /// # Errors
    /// As [`Serving::surface`].
    pub(super) fn routes(&self) -> Result<Arc<Surface>> {
        let toolset = match (&self.meant.toolset, self.meant.profiles.as_slice()) {
            (named @ Toolset::Named(_), [Profile::Sandbox]) => named.clone(),
            _ => Toolset::All,
        };
        self.surface_of(&[Profile::Sandbox], toolset)
    }

    fn surface_of(&self, profiles: &[Profile], toolset: Toolset) -> Result<Arc<Surface>> {
        let (model, budget) = self.meant.model.clone();
        let surface = Surface::new(self.dormouse.runtime().clone())
            .with_profiles(profiles)
            .with_grants(&self.meant.grants)
            .with_skills(self.meant.skills.clone())
            .with_model(model, budget)
            .with_confinement(self.wall.word())
            .with_owners(self.owners.clone())
            .with_host(self.meant.host.clone());
        let surface = match &self.connectors {
            Some(connectors) => surface.with_connections(Arc::new(connectors.clone())),
            None => surface,
        };
        let surface = match &self.meant.started_in {
            Some(folder) => surface.with_working_folder(folder),
            None => surface,
        };
        let surface = match &self.meant.session {
            Some(key) => surface.with_session_key(key.clone()),
            None => surface,
        };
        Ok(Arc::new(surface.with_tools(toolset)?))
    }

    /// What runs snippets and sandboxes.
    pub(super) fn runtime(&self) -> &Runtime {
        self.dormouse.runtime()
    }

    /// The sandboxes, if some are kept.
    pub(super) fn sandboxes(&self) -> Option<&Sandboxes> {
        self.dormouse.runtime().sandboxes()
    }

    /// Containers, if images are allowed.
    pub(super) fn docker(&self) -> Option<&DockerProvider> {
        self.docker.as_ref()
    }

    /// What it was set up with.
    pub(super) fn meant(&self) -> &Mcp {
        &self.meant
    }

    /// Starts the containers that wait, beside everything else.
    fn warm(&self) -> Option<tokio::task::JoinHandle<()>> {
        let provider = self.docker.clone().filter(|_| self.meant.docker.docker_warm > 0)?;
        let spec = settings::docker::container(self.sandboxes()?.rules());
        Some(tokio::spawn(async move {
            if let Err(error) = provider.warm(&spec).await {
                tracing::warn!(%error, "no containers wait");
            }
        }))
    }

    /// Serves to the end, then saves every sandbox.
    ///
    /// # Errors
    /// `internal` when the event loop cannot be started; why not everything could be saved.
    pub(super) fn run<T>(&self, serve: impl Future<Output = T>) -> Result<T> {
        // Runs that compute have at most one core each (`dormouse_core::turns`); one worker more is left for whoever comes.
        let workers = std::thread::available_parallelism().map_or(2, NonZero::get) + 1;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(workers)
            .max_blocking_threads(self.dormouse.capacity().blocking_threads(MAX_CONNECTIONS))
            .enable_all()
            .build()
            .map_err(|error| Error::internal("the event loop cannot be started", error))?;
        let (served, saved) = runtime.block_on(async {
            let upkeep = self.sandboxes().map(Sandboxes::keep_up);
            let warming = self.warm();
            let network = self.network.lock().unwrap_or_else(PoisonError::into_inner).take();
            let network = network.map(|network| tokio::spawn(network.keep_up()));
            let served = serve.await;
            upkeep.inspect(tokio::task::JoinHandle::abort);
            warming.inspect(tokio::task::JoinHandle::abort);
            network.inspect(tokio::task::JoinHandle::abort);
            let saved = match self.sandboxes() {
                Some(sandboxes) => sandboxes.close().await,
                None => Ok(()),
            };
            if let Some(connectors) = &self.connectors {
                connectors.close().await;
            }
            (served, saved)
        });
        // Runs that are in progress end here; a thread that waits for standard input cannot be asked to.
        runtime.shutdown_timeout(SHUTDOWN);
        saved.map(|()| served).inspect_err(|error| tracing::error!(%error, "not everything could be saved"))
    }
}

/// Does what has to be done before there is an event loop to serve with; no thread of it is left.
fn before_the_wall<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    let event_loop = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let event_loop =
        event_loop.map_err(|error| Error::internal("the event loop cannot be started", error))?;
    event_loop.block_on(work)
}

/// Confines the process, before it has a second thread, and says so. The folders that it keeps things in are made before.
fn confine(place: &PlaceArgs, confined: &Confined, state: Option<&Path>) -> Result<Wall> {
    if confined.confine == Confine::Off {
        return wall::raise(Confine::Off, &confined.reach);
    }
    // A confined process changes no modes, so what it makes must be its own to read and write as it is made.
    let masked = rustix::process::umask(Mode::empty());
    rustix::process::umask(masked.difference(Mode::RWXU));
    let mut reach = confined.reach.clone();
    let provider = settings::provider(place)?;
    for folder in state.into_iter().chain([provider.cache.as_path()]) {
        let is_there = folder.is_dir();
        let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
        // What is kept in it is to be found after a loss of power; later the folder around it is out of reach.
        match made.and_then(|()| File::open(folder.join(".."))?.sync_all()) {
            // Then it is looked at.
            Err(error) if is_there && error.kind() == io::ErrorKind::ReadOnlyFilesystem => {}
            made => made.map_err(|error| {
                Error::new(ErrorCode::StateUnavailable, format!("`{}` cannot be made", folder.display()))
                    .with_hint("name a folder that you can make and write: --state-dir, --cache-dir")
                    .with_source(error)
            })?,
        }
        reach.write.push(folder.to_owned());
    }
    reach.read.extend(provider.guest_folders());
    wall::raise(confined.confine, &reach)
}

/// From now on SIGTERM, SIGINT and SIGHUP do not end the process; the future is over when one came. When one more comes, more
/// than a second later, the process ends at once. Is to be called within the event loop.
pub(super) fn asked_to_end() -> impl Future<Output = ()> {
    let mut signals = signals::of_a_server();
    async move {
        signals::next(&mut signals).await;
        tokio::spawn(async move { exit::end(BY_SIGNAL + signals::next_later(&mut signals).await) });
    }
}
