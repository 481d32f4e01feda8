//! How the provider is set up, decided once at start.

use std::path::{Path, PathBuf};

use dormouse_core::{Error, ErrorCode, Result};

use crate::guest::Guests;
use crate::processor::Processors;
use crate::release::{self, GUESTS};

/// Where instances take their memory from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allocation {
    /// Slots reserved once, reused for ever: for anything that runs more than one snippet.
    Pooling {
        /// Instances that can live at one time. From 1; each reserves two memories of 4.1 GiB of address space, no memory.
        instances: u32,
    },
    /// Memory mapped for each instance: quickest for one snippet in one process.
    OnDemand,
}

/// Settings of the WebAssembly provider.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Folder of guests and compiled artifacts, mode 0700. Default: [`Settings::default_cache`].
    pub cache: PathBuf,
    /// Folder of guests and compiled artifacts that were installed with the program, laid out as the cache folder. It is read
    /// and never written, and its guests go before those of the cache folder. Default: [`Settings::default_installed`].
    pub installed: Option<PathBuf>,
    /// Folders of guests and machine code of other releases, laid out as the cache folder. They are read and never written, and
    /// only the memory of sandboxes that were saved with these guests is woken with them; new interpreters never are. Default:
    /// [`Settings::releases_beside`] of the folder that was installed with the program.
    pub kept: Vec<PathBuf>,
    /// For which processors machine code is made and looked for. Default: every one where guests were installed, which are for
    /// every one; else this one.
    pub processors: Processors,
    /// Memory of instances. Default: pooling with 128 instances.
    pub allocation: Allocation,
    /// Unused instances kept ready for each guest that has run. Default 0: each run instantiates for itself.
    pub ready: usize,
    /// Manifests of further languages (docs/guests.md).
    pub manifests: Vec<PathBuf>,
}

impl Settings {
    /// The default settings.
    ///
    /// # Errors
    /// `internal` when no cache folder can be named.
    pub fn new() -> Result<Self> {
        Self::default_cache().map(Self::with_cache)
    }

    /// The default settings with a cache folder of one's own.
    pub fn with_cache(cache: impl Into<PathBuf>) -> Self {
        let installed = Self::default_installed();
        Self {
            cache: cache.into(),
            processors: if installed.is_some() { Processors::of_releases() } else { Processors::This },
            kept: installed.as_deref().map(Self::releases_beside).unwrap_or_default(),
            installed,
            allocation: Allocation::Pooling { instances: 128 },
            ready: 0,
            manifests: Vec::new(),
        }
    }

    /// The folders outside the cache folder in which guests lie: what was installed with the program, what other releases have
    /// installed, and those of the manifests and of the components that they name. What cannot be read is left out.
    pub fn guest_folders(&self) -> Vec<PathBuf> {
        let installed = self.installed.iter().chain(&self.kept).cloned();
        installed.chain(Guests::folders(&self.manifests)).collect()
    }

    /// The folders of other releases beside that of an installation, `lib/dormouse/VERSION`, that hold guests, sorted.
    pub fn releases_beside(installed: &Path) -> Vec<PathBuf> {
        let folders = installed.parent().and_then(|place| place.read_dir().ok());
        let folders = folders.into_iter().flatten().flatten().map(|entry| entry.path());
        let is_other = |folder: &PathBuf| folder != installed && folder.join(GUESTS).is_dir();
        let mut others: Vec<PathBuf> = folders.filter(is_other).collect();
        others.sort();
        others
    }

    /// Takes the guests and machine code that are in this folder, and those of other releases beside it.
    ///
    /// # Errors
    /// `version_mismatch` when the folder belongs to another release than this program.
    pub fn set_installed(&mut self, folder: PathBuf) -> Result<()> {
        release::check(&folder)?;
        self.kept = Self::releases_beside(&folder);
        (self.installed, self.processors) = (Some(folder), Processors::of_releases());
        Ok(())
    }

    /// `../lib/dormouse/VERSION` beside the running program, links resolved, if it holds guests; VERSION is that of this crate,
    /// so that a program never takes the guests of another release. None: the program was not installed.
    pub fn default_installed() -> Option<PathBuf> {
        let folder = release::place()?.join(release::VERSION);
        folder.join(GUESTS).is_dir().then_some(folder)
    }

    /// `$DORMOUSE_CACHE_DIR`, else `$XDG_CACHE_HOME/dormouse`, else `~/.cache/dormouse`.
    ///
    /// # Errors
    /// `internal` when none of these variables is set.
    pub fn default_cache() -> Result<PathBuf> {
        let absolute =
            |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        absolute("DORMOUSE_CACHE_DIR")
            .or_else(|| Some(absolute("XDG_CACHE_HOME")?.join("dormouse")))
            .or_else(|| Some(absolute("HOME")?.join(".cache/dormouse")))
            .ok_or_else(|| {
                Error::new(ErrorCode::Internal, "no cache folder: HOME is not set")
                    .with_hint("set DORMOUSE_CACHE_DIR to an absolute path")
            })
    }
}
