//! Python and JavaScript packages from the operator's indexes: the port [`Packages`] of `dormouse-core`.
//!
//! Off unless the operator says so, and then for the names of a list. The host resolves, downloads, checks hashes, unpacks
//! into memory and lays out; nothing that a package holds is run, compiled or imported here. Only what is pure Python or
//! pure JavaScript is taken. Source distributions of Python are built in a sandbox of their own, if there is one
//! ([`Indexes::build_in`]).
//!
//! | step | module |
//! | --- | --- |
//! | what the operator says | [`Settings`], [`Index`], [`AllowList`], [`Bounds`], [`system_index`] |
//! | bytes from an index: bounded, with time-outs, from the cache when they are there | `source`, `cache`, `digest` |
//! | an archive's files, checked | `archive` |
//! | Python: an index page, wheels, resolution, layout | `pip` |
//! | JavaScript: a package's document, the tree of `node_modules`, layout | `npm` |
//! | `pip` and `npm` of a sandbox's command line | [`PackagePrograms`] |

mod allow;
mod archive;
mod cache;
mod digest;
#[doc(hidden)]
pub mod fuzz;
mod npm;
mod pip;
mod programs;
mod settings;
mod source;
mod system;

use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use dormouse_core::fair::Fair;
use dormouse_core::packages::{
    BuildMachines, Described, Detail, Fetched, LockRequest, LockText, PackageManager, PackageOffer,
    PackageProgress, PackageRequest, Packages,
};
use dormouse_core::sandbox::Owner;
use dormouse_core::{Error, ErrorCode, Result};

pub use allow::AllowList;
pub use programs::PackagePrograms;
pub use settings::{Bounds, Index, Mode, Settings};
pub use system::system_index;

/// Calls at one time, shared between owners: each may hold all its unpacked files in memory. Others wait, in their own time.
const CALLS: usize = 4;
/// Calls that wait.
const WAITING: usize = 1_024;

/// Packages from the operator's indexes. Cheap to share; connections and the cache are kept.
pub struct Indexes {
    settings: Settings,
    source: source::Source,
    places: Arc<Fair>,
    /// Where source distributions are built.
    machines: OnceLock<Arc<dyn BuildMachines>>,
}

impl Indexes {
    /// Connects to nothing yet.
    ///
    /// # Errors
    /// `internal` when the system's certificates cannot be used, or the folder of the cache cannot be made;
    /// `args_invalid` when the machine's own configuration is asked for and names no address that can be one.
    pub fn new(mut settings: Settings) -> Result<Self> {
        if settings.mode == Mode::System {
            for (index, manager) in
                [(&mut settings.pip, PackageManager::Pip), (&mut settings.npm, PackageManager::Npm)]
            {
                if index.is_none() {
                    *index = system_index(manager)?;
                }
            }
        }
        let source = source::Source::new(&settings)?;
        let places = Fair::new(CALLS, true, WAITING);
        Ok(Self { settings, source, places, machines: OnceLock::new() })
    }

    /// Takes source distributions of Python too, and builds them there, for sandboxes whose Python is a guest's. Only the first call
    /// counts. Default: only wheels are taken.
    pub fn build_in(&self, machines: Arc<dyn BuildMachines>) {
        let _ = self.machines.set(machines);
    }

    fn check_on(&self) -> Result<()> {
        if self.settings.mode != Mode::Off {
            return Ok(());
        }
        Err(Error::new(ErrorCode::CapabilityUnavailable, "packages cannot be installed here").with_hint(
            "have the operator allow them with `--packages on` (`DORMOUSE_PACKAGES`) and a list of names",
        ))
    }

    /// Does work in one of the owner's places, within the time of a call.
    async fn in_time<T>(&self, owner: &Owner, work: impl Future<Output = Result<T>> + Send) -> Result<T> {
        let placed = async {
            let line = self.places.line(owner).map_err(|_| {
                Error::new(ErrorCode::Busy, "too many calls wait to install packages")
                    .with_hint("try again later")
            })?;
            let _place = line.await;
            // First too: calls that end early leave their downloads.
            self.source.tidy().await;
            let done = work.await?;
            self.source.tidy().await;
            Ok(done)
        };
        let time = self.settings.time;
        tokio::time::timeout(time, placed).await.unwrap_or_else(|_| {
            let message = format!("the packages were not available within {:.1} s", time.as_secs_f64());
            Err(Error::new(ErrorCode::IndexUnavailable, message)
                .with_hint("try again, or install fewer packages at a time"))
        })
    }

    async fn resolved(&self, request: &PackageRequest, progress: PackageProgress<'_>) -> Result<Fetched> {
        let (source, settings, index) = (&self.source, &self.settings, self.index(request.manager)?);
        match request.manager {
            PackageManager::Pip => {
                let machines = self.machines.get().filter(|_| request.is_guest).map(Arc::as_ref);
                pip::fetch(source, settings, (index, machines), request, progress).await
            }
            PackageManager::Npm => npm::fetch(source, settings, index, request, progress).await,
        }
    }

    fn index(&self, manager: PackageManager) -> Result<&Index> {
        let (index, option, programs) = match manager {
            PackageManager::Pip => {
                (&self.settings.pip, "`--pip-index URL` (`DORMOUSE_PIP_INDEX`)", "pip and uv")
            }
            PackageManager::Npm => {
                (&self.settings.npm, "`--npm-registry URL` (`DORMOUSE_NPM_REGISTRY`)", "npm")
            }
        };
        index.as_ref().ok_or_else(|| {
            let message = format!("no index of {} packages is set", manager.as_str());
            Error::new(ErrorCode::CapabilityUnavailable, message).with_hint(match self.settings.mode {
                Mode::System => format!("{programs} of this machine name none: have the operator set {option}"),
                _ => format!(
                    "have the operator set {option}, or `--packages system` for what {programs} of this machine use"
                ),
            })
        })
    }
}

#[async_trait]
impl Packages for Indexes {
    fn offer(&self) -> PackageOffer {
        let Settings { mode, allow, bounds, .. } = &self.settings;
        let all = [(&self.settings.pip, PackageManager::Pip), (&self.settings.npm, PackageManager::Npm)];
        let has = |(index, manager): (&Option<Index>, PackageManager)| {
            index.as_ref().filter(|_| *mode != Mode::Off).map(|_| manager)
        };
        PackageOffer {
            managers: all.into_iter().filter_map(has).collect(),
            allow: allow.entries(),
            packages: bounds.packages as u64,
            bytes: bounds.unpacked,
        }
    }

    async fn fetch(&self, request: &PackageRequest, progress: PackageProgress<'_>) -> Result<Fetched> {
        self.check_on()?;
        request.check()?;
        self.in_time(&request.owner, self.resolved(request, progress)).await
    }

    async fn describe(&self, owner: &Owner, requirement: &str, detail: Detail) -> Result<Described> {
        self.check_on()?;
        let index = self.index(PackageManager::Npm)?;
        let described = npm::describe(&self.source, &self.settings, index, requirement, detail);
        self.in_time(owner, described).await
    }

    fn lock(&self, request: &LockRequest) -> Result<LockText> {
        npm::lock_file(request)
    }
}
