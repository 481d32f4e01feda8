//! `cargo xtask engine`: the container engine of the tests. It is the one that answers already (`DOCKER_HOST`, else the
//! default socket), or a dockerd of our own in a private folder, which leaves nothing behind.
//!
//! | what | module |
//! | --- | --- |
//! | one command of the docker command line | [`client`] |
//! | the process that has a dockerd started, holds it and cleans up after it | [`keeper`] |
//! | dockerd itself: its arguments, its start, its end | [`daemon`] |
//! | what dockerd needs of the machine: cgroups, a bridge | [`ground`] |
//! | gVisor as a second runtime | [`runsc`] |
//! | what is in an engine, to compare before and after | [`inventory`] |
//! | the engine of one run of `cargo xtask test` | [`session`] |
//! | the images of the tests | [`images`] |
//! | the API machinery of Kubernetes | [`kubernetes`] |

#![allow(clippy::disallowed_methods, reason = "an engine is a program")]

mod arguments;
mod client;
mod daemon;
mod ground;
mod images;
mod inventory;
mod keeper;
mod kubernetes;
mod runsc;
mod session;

use std::path::PathBuf;

use anyhow::{Result, bail};
use dormouse_chores::apt;
use dormouse_chores::program::on_path;
use dormouse_chores::progress::Progress;

pub use self::arguments::{Arguments, run};
use self::client::Client;
use self::keeper::Keeper;
pub use self::kubernetes::{ADDRESS as KUBERNETES, Machinery};
pub use self::session::{Session, Start};

/// What the engine is installed from, and what starts it here: dockerd with its parts, and `ip` for the bridge.
const PACKAGES: [&str; 2] = ["docker.io", "iproute2"];

/// An engine to test against.
pub(crate) struct Engine {
    client: Client,
    /// None: it was there before, and stays.
    keeper: Option<Keeper>,
}

impl Engine {
    /// The engine that answers already, else one of our own, which ends with the returned value.
    pub(crate) fn provide() -> Result<Self> {
        if let Some(client) = arguments::answering()? {
            return Ok(Self { client, keeper: None });
        }
        let keeper = Keeper::held()?;
        Ok(Self { client: keeper.client(), keeper: Some(keeper) })
    }

    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    /// Whether it is our own: then all that is in it is ours.
    pub(crate) fn is_own(&self) -> bool {
        self.keeper.is_some()
    }

    /// Ends it when it is our own. An error says what it left behind.
    pub(crate) fn stop(self) -> Result<()> {
        self.keeper.map_or(Ok(()), Keeper::stop)
    }
}

/// Where dockerd is, if it is installed.
fn dockerd() -> Option<PathBuf> {
    let usual = || Some(PathBuf::from("/usr/sbin/dockerd")).filter(|path| path.is_file());
    on_path("dockerd").or_else(usual)
}

/// Installs the engine and its command line where they are missing.
///
/// # Errors
///
/// The cause to go on without an engine.
pub fn install() -> Result<()> {
    let progress = Progress::new("docker");
    let otherwise =
        "there is no dockerd, and apt-get cannot install docker.io here (it needs root and Debian)";
    let answers = matches!(Client::find(), Ok(Some(_)));
    if !answers && dockerd().is_none() {
        apt::install_quietly(&progress, &PACKAGES, otherwise)?;
    }
    // Later Debians have the command line as a package of its own.
    if on_path("docker").is_none() {
        apt::install_quietly(&progress, &["docker-cli"], "there is no docker command line")?;
    }
    if !answers && dockerd().is_none() {
        bail!("its package was installed, and there is no dockerd");
    }
    Ok(())
}
