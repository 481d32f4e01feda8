//! Packages of a sandbox: the port to those who fetch them, and their life in the file tree.
//!
//! A front door asks for requirements; [`present()`] says what lies in the tree; a [`Packages`] resolves the rest, fetches
//! it and lays it out in memory; [`install()`] writes it. Nothing that a package holds runs on the host; what has to be built is
//! built in a sandbox of its own ([`BuildMachines`]).
//!
//! | step | module |
//! | --- | --- |
//! | requirements from `requirements.txt` and `package.json` | [`requirements_txt`], [`package_json`] |
//! | what is there | [`present()`] |
//! | resolve, fetch, lay out | [`Packages`] |
//! | build | [`BuildMachines`] |
//! | write, upgrade, remove | [`install()`], [`install_anew()`], [`install_and_remove()`], [`uninstall()`] |
//! | npm's lock file, obeyed and written | [`LockFile`], [`Project`], [`Packages::lock`] |
//! | all of it in one | [`add()`] |

mod add;
mod building;
mod install;
mod lists;
mod local;
mod locking;
mod present;

use std::collections::BTreeMap;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

pub use self::add::{Added, Adding, Group, Saving, add};
pub use self::building::{Build, BuildMachines, Built};
pub use self::install::{Installed, install, install_and_remove, install_anew, uninstall};
pub use self::lists::{RequirementsLine, listed, package_json, requirements_txt};
pub use self::local::{Local, LocalContent};
pub use self::locking::{LockFile, LockRequest, LockText, Locking, Placed, Project};
pub use self::present::{present, whole};
use crate::sandbox::Owner;
use crate::{Error, GuestPath, Result};

/// Whose packages are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PackageManager {
    /// Python's: wheels.
    Pip,
    /// JavaScript's: tarballs with a `package.json`.
    Npm,
}

impl PackageManager {
    /// The name as users write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pip => "pip",
            Self::Npm => "npm",
        }
    }

    /// The folder that files of packages are relative to: `/workspace/.local` for pip (below it
    /// `lib/pythonX.Y/site-packages` and `bin`), `/workspace` for npm (below it `node_modules`).
    ///
    /// # Errors
    /// Never for these paths.
    pub fn root(self) -> Result<GuestPath> {
        GuestPath::parse(match self {
            Self::Pip => "/workspace/.local",
            Self::Npm => "/workspace",
        })
    }
}

/// Where modules of Python lie below the root, for a version such as `3.14.0`.
pub fn site_packages(python: &str) -> String {
    let mut parts = python.split('.');
    let (major, minor) = (parts.next().unwrap_or("3"), parts.next().unwrap_or("0"));
    format!("lib/python{major}.{minor}/site-packages")
}

/// A package that lies in the tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Present {
    /// Its name, as it names itself.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Its folder, relative to the root: `…/NAME-VERSION.dist-info`, or `node_modules/NAME`.
    pub path: String,
    /// What it requires, as it says: `urllib3<3,>=1.21.1`, `ms@^2.1.3`.
    pub requires: Vec<String>,
    /// What the `package.json` of a JavaScript package says that a lock file tells; else null.
    #[serde(skip)]
    pub about: Json,
}

/// A package that a lock file of npm names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Locked {
    /// Its folder, as in [`Present::path`].
    pub path: String,
    /// Its name in the registry; another than the folder's for an alias.
    pub package: String,
    /// The version, and no other.
    pub version: String,
    /// The hash that the lock file gives (`sha512-…`). Default none: the registry's counts.
    pub integrity: Option<String>,
    /// Whether it is left out where it cannot be had.
    pub optional: bool,
}

/// What is to be installed.
#[derive(Clone, Debug)]
pub struct PackageRequest {
    /// Who asks: so much is fetched at one time for each owner.
    pub owner: Owner,
    /// Whose packages.
    pub manager: PackageManager,
    /// Requirements as the user wrote them: `requests[socks]>=2,<3`, `left-pad@^1`. At most
    /// [`PackageRequest::MAX_REQUIREMENTS`].
    pub requirements: Vec<String>,
    /// What is to be installed from the sandbox's own files. Default none.
    pub local: Vec<Local>,
    /// Versions that packages of Python must have if they are needed, written as requirements are. At most
    /// [`PackageRequest::MAX_REQUIREMENTS`]. Default none.
    pub constraints: Vec<String>,
    /// What lies in the tree already; what satisfies a requirement is kept.
    pub present: Vec<Present>,
    /// What a lock file of npm names: this is fetched and nothing else, whatever is present. Empty: versions are looked for.
    pub locked: Vec<Locked>,
    /// The project of npm, of which all is installed that it lists. The versions of its lock file, if it has one, are taken where
    /// they satisfy what is required, and what neither its `package.json` nor the requirements need is removed. None: the
    /// requirements alone, over what lies in the tree.
    pub project: Option<Project>,
    /// Whether the newest versions are wanted of what is named, as with `--upgrade`.
    pub upgrade: bool,
    /// The version of the sandbox's Python, such as `3.14.0`.
    pub python: String,
    /// Whether nothing may be installed but what the requirements name, as a lock file of Python does. Default false.
    pub closed: bool,
    /// Whether that Python is a guest's, which has packages of its own and for which source distributions can be built; else it is
    /// a container's.
    pub is_guest: bool,
}

impl PackageRequest {
    /// Most requirements.
    pub const MAX_REQUIREMENTS: usize = 500;
    /// Longest requirement, in bytes.
    pub const MAX_BYTES: usize = 2048;

    /// Checks the bounds.
    ///
    /// # Errors
    /// `args_invalid` without a requirement or a project, and for one that is too long or holds control characters; `too_large` for
    /// too many.
    pub fn check(&self) -> Result<()> {
        if self.requirements.is_empty() && self.local.is_empty() && self.project.is_none() {
            return Err(Error::args_invalid("no package is named")
                .with_hint("name packages, or a file with `-r requirements.txt`"));
        }
        let count = self.requirements.len().max(self.constraints.len());
        if count > Self::MAX_REQUIREMENTS {
            let most = Self::MAX_REQUIREMENTS;
            return Err(Error::new(
                crate::ErrorCode::TooLarge,
                format!("{count} requirements are more than {most}"),
            ));
        }
        for text in self.requirements.iter().chain(&self.constraints) {
            if text.trim().is_empty() || text.len() > Self::MAX_BYTES || text.chars().any(char::is_control) {
                let shown: String = text.escape_debug().take(64).collect();
                return Err(Error::args_invalid(format!("`{shown}` is not a requirement")));
            }
        }
        Ok(())
    }
}

/// One file of a package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackageFile {
    /// Where it lies below the root: relative, with plain components.
    pub path: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Whether it is a program that is started by its name.
    pub executable: bool,
}

impl PackageFile {
    /// Whether it is compiled code, which can be made anew at any time.
    pub fn is_bytecode(&self) -> bool {
        self.path.contains("/__pycache__/") && self.path.ends_with(".pyc")
    }
}

/// A package as it is laid out, in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Its folder, as in [`Present::path`].
    pub path: String,
    /// The archive's SHA-256 in hexadecimal digits.
    pub sha256: String,
    /// Its files and programs.
    pub files: Vec<PackageFile>,
}

/// What an installation needs.
#[derive(Clone, Debug, Default)]
pub struct Fetched {
    /// What is to be written, dependencies included, sorted by path.
    pub packages: Vec<Package>,
    /// What was there and fits.
    pub satisfied: Vec<Present>,
    /// What was there and is removed, because nothing of the project needs it.
    pub removed: Vec<Present>,
    /// How a lock file is to name what is new, and what was left out because it is for other machines.
    pub placed: Vec<Placed>,
    /// Why the project's lock file was not obeyed, and is left as it is. Default none: it was.
    pub unlocked: Option<String>,
    /// What the user should know: scripts that were not run, optional packages that were left out.
    pub notes: Vec<String>,
}

/// What goes on, for those who show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "event")]
pub enum PackageEvent {
    /// Versions are looked for; so many packages are known.
    Resolving {
        /// Packages of which the index was asked.
        packages: usize,
    },
    /// An archive is on its way.
    Downloading {
        /// The package.
        name: String,
        /// Bytes so far.
        bytes: u64,
        /// Bytes in all, where the index says.
        total: Option<u64>,
    },
    /// A package is built from its source.
    Building {
        /// The package.
        name: String,
    },
    /// The modules of a package are compiled.
    Compiling {
        /// The package.
        name: String,
    },
    /// An archive is unpacked.
    Unpacking {
        /// The package.
        name: String,
    },
}

/// Hears what goes on. It is called often, and must not block.
pub type PackageProgress<'a> = &'a (dyn Fn(PackageEvent) + Send + Sync);

/// What the operator lets sandboxes have of packages, for callers to see. It names no index. Default: nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PackageOffer {
    /// Whose packages there are.
    pub managers: Vec<PackageManager>,
    /// The names that are allowed, dependencies included, as the operator wrote them: `*` is any characters, `pip:` or `npm:` before
    /// one makes it that manager's alone.
    pub allow: Vec<String>,
    /// Packages of one call, dependencies included.
    pub packages: u64,
    /// Bytes of all unpacked files of one call.
    pub bytes: u64,
}

/// How much of a package an index is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// Its versions, and what each needs.
    Needs,
    /// All that is known of it.
    Whole,
}

/// What an index says of a package of npm.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Described {
    /// What it says of the version that was asked for: its `package.json` and more, without the archive's address.
    pub about: Json,
    /// All versions, the oldest first.
    pub versions: Vec<String>,
    /// The names of versions, such as `latest`.
    pub tags: BTreeMap<String, String>,
}

/// Where packages come from.
#[async_trait]
pub trait Packages: Send + Sync {
    /// What can be had. Connects to nothing. Default: nothing is told.
    fn offer(&self) -> PackageOffer {
        PackageOffer::default()
    }

    /// Finds versions that fit together, fetches them and lays them out. Dropping the future ends it.
    ///
    /// # Errors
    /// `capability_unavailable` when packages are off, not allowed, or need native code; `not_found` for an unknown name;
    /// `unsatisfiable` when no versions fit together; `index_unavailable`; `package_refused` for a wrong hash or a bad
    /// archive; `too_large` past a bound; `args_invalid` for what is no requirement.
    async fn fetch(&self, request: &PackageRequest, progress: PackageProgress<'_>) -> Result<Fetched>;

    /// What the index says of a package of npm, and of the version that a requirement such as `ms@^2` means, whatever machines
    /// that is for. Default: none is asked.
    ///
    /// # Errors
    /// As [`Packages::fetch`].
    async fn describe(&self, _owner: &Owner, _requirement: &str, _detail: Detail) -> Result<Described> {
        let message = "no package index is available here";
        Err(Error::new(crate::ErrorCode::CapabilityUnavailable, message)
            .with_hint("have the operator allow packages"))
    }

    /// The lock file of what lies in a tree of npm now. Default: none is written.
    ///
    /// # Errors
    /// `args_invalid` when the `package.json` or the lock file before cannot be read.
    fn lock(&self, _request: &LockRequest) -> Result<LockText> {
        Ok(LockText::default())
    }
}
