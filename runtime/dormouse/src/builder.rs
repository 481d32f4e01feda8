//! The engine of an embedding program, and how it is set up.

use std::path::PathBuf;
use std::sync::Arc;

use dormouse_core::sandboxes::{Clock, Rules, SystemClock};
use dormouse_core::{CommandRequest, Language, Outcome, Policy, Result, Runtime};
use dormouse_store::Store;
use dormouse_wasm::{Allocation, Settings, WasmProvider};

use crate::{Capacity, Snippet, fit};

/// The runtime of one program. Cheap to clone; clones share everything.
#[derive(Clone)]
pub struct Dormouse {
    runtime: Runtime,
    provider: Arc<WasmProvider>,
    capacity: Capacity,
}

impl Dormouse {
    /// With the default policy and settings.
    ///
    /// # Errors
    /// As [`Builder::build`].
    pub fn new() -> Result<Self> {
        Self::builder()?.build()
    }

    /// To choose policy and settings.
    ///
    /// # Errors
    /// `internal` when no cache folder can be named.
    pub fn builder() -> Result<Builder> {
        Settings::new().map(Builder::new)
    }

    /// The same with this folder of guests and artifacts in the place of the user's cache folder.
    pub fn builder_in(cache: impl Into<PathBuf>) -> Builder {
        Builder::new(Settings::with_cache(cache))
    }

    /// A run of `code` in `language` (`python`, `javascript`, `typescript`, or a registered one).
    pub fn snippet(&self, language: &str, code: impl Into<String>) -> Snippet {
        Snippet::new((self.runtime.clone(), self.provider.clone()), Language::parse(language), code.into())
    }

    /// Runs a program of the user's own: a `wasi:cli` command component or a preview1 core module.
    ///
    /// # Errors
    /// `bad_component` for what is no program or wants what it is not granted, and as [`Snippet::run`].
    pub async fn command(&self, request: CommandRequest) -> Result<Outcome> {
        self.runtime.command(request).await
    }

    /// What it has room for, and what that takes.
    pub fn capacity(&self) -> &Capacity {
        &self.capacity
    }

    /// The runtime below it, for adapters.
    pub fn runtime(&self) -> &Runtime {
        &self.runtime
    }
}

/// Bytes that the database may take when all sandboxes are bound to so many: what calls have done that were taken before is
/// saved all the same.
fn with_grace(most: u64) -> u64 {
    most.saturating_add(most / 4).saturating_add(64 << 20)
}

/// Sets up a [`Dormouse`].
pub struct Builder {
    policy: Policy,
    settings: Settings,
    installed: Option<PathBuf>,
    kept: Vec<PathBuf>,
    allocation: Option<Allocation>,
    state: Option<PathBuf>,
    rules: Rules,
    clock: Arc<dyn Clock>,
}

impl Builder {
    fn new(settings: Settings) -> Self {
        Self {
            policy: Policy::default(),
            settings,
            installed: None,
            kept: Vec::new(),
            allocation: None,
            state: None,
            rules: Rules::default(),
            clock: Arc::new(SystemClock),
        }
    }

    /// The operator's rules. Default: [`Policy::default`].
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// Folder of guests and artifacts. Default: the user's cache folder.
    #[must_use]
    pub fn cache(mut self, folder: impl Into<PathBuf>) -> Self {
        self.settings.cache = folder.into();
        self
    }

    /// Folder of guests and machine code of an installed release, laid out as the cache folder, such as
    /// `/usr/lib/dormouse/0.1.0`. It has to be of this version, and nobody but this user and root may be able to write it. Saved
    /// memory is also woken with the guests of other releases beside it. Default: [`Settings::default_installed`].
    #[must_use]
    pub fn installed(mut self, folder: impl Into<PathBuf>) -> Self {
        self.installed = Some(folder.into());
        self
    }

    /// A further folder of guests and machine code of another release, laid out as the cache folder, with which memory is woken that
    /// was saved with these guests. Can be called several times. Default: those beside [`Builder::installed`].
    #[must_use]
    pub fn kept(mut self, folder: impl Into<PathBuf>) -> Self {
        self.kept.push(folder.into());
        self
    }

    /// Unused instances kept ready per guest. Default 0.
    #[must_use]
    pub fn ready(mut self, instances: usize) -> Self {
        self.settings.ready = instances;
        self
    }

    /// Where instances take their memory from. Default: a pool of as many as [`Capacity::instances`] says.
    #[must_use]
    pub fn allocation(mut self, allocation: Allocation) -> Self {
        self.allocation = Some(allocation);
        self
    }

    /// Registers a further language by its manifest (docs/guests.md).
    #[must_use]
    pub fn manifest(mut self, file: impl Into<PathBuf>) -> Self {
        self.settings.manifests.push(file.into());
        self
    }

    /// Keeps sandboxes in this folder, which is made if it is missing. Default: none are kept.
    #[must_use]
    pub fn state(mut self, folder: impl Into<PathBuf>) -> Self {
        self.state = Some(folder.into());
        self
    }

    /// How many sandboxes there may be, how much of them is kept and how long, and which folders of the host they see: by
    /// default those that their specs name, as they name them ([`MountRule`](dormouse_core::sandboxes::MountRule)). Default:
    /// [`Rules::default`], and as many bytes as fit the machine ([`fitted`](crate::fitted)).
    #[must_use]
    pub fn rules(mut self, rules: Rules) -> Self {
        self.rules = rules;
        self
    }

    /// The clock that sandboxes live by. Default: the system's.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// The runtime. Nothing is loaded before the first run.
    ///
    /// # Errors
    /// `args_invalid` when the numbers do not fit together ([`Capacity`]); `version_mismatch` when the folder of installed guests is
    /// another release's; `internal` when the engine cannot be set up on this
    /// machine; `state_unavailable` and `state_damaged` for the state folder.
    pub fn build(mut self) -> Result<Dormouse> {
        if let Some(folder) = self.installed.take() {
            self.settings.set_installed(folder)?;
        }
        self.settings.kept.append(&mut self.kept);
        let rules = self.state.is_some().then_some(&self.rules);
        let (ready, manifests) = (self.settings.ready, self.settings.manifests.len());
        let capacity = Capacity::of(&self.policy, rules, manifests, ready);
        self.settings.allocation = capacity.allocation(self.allocation)?;
        let provider = Arc::new(WasmProvider::new(self.settings)?);
        self.policy.max_memory.get_or_insert_with(fit::runs_memory);
        let runtime = Runtime::new(self.policy, provider.clone());
        let runtime = match self.state {
            Some(folder) => {
                let quota = fit::fitted(self.rules.quota, &folder, runtime.policy().owners_share);
                let settings = dormouse_store::Settings { most_bytes: quota.saved.in_all.map(with_grace) };
                let ledger = Arc::new(Store::open(&folder, &settings)?);
                let rules = Rules { quota, ..self.rules };
                runtime.with_sandboxes(ledger, rules, self.clock)
            }
            None => runtime,
        };
        Ok(Dormouse { runtime, provider, capacity })
    }
}
