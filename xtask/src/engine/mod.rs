//! `cargo xtask engine`: the container engine of the tests. It is the one that answers already (`DOCKER_HOST`, else the
//! default socket), or a dockerd of our own in a private folder, which leaves nothing behind.
//!
//! | what | room |
//! | --- | --- |
//! | one command of the docker command line | [`client`] |
//! | the process that has a dockerd started, holds it and cleans up after it | [`keeper`] |
//! | dockerd itself: its arguments, its start, its end | [`daemon`] |
//! | what dockerd needs of the machine: cgroups, a bridge | [`ground`] |
//! | gVisor as a second runtime | [`runsc`] |
//! | what is in an engine, to compare before and after | [`inventory`] |
//! | the engine of one run of `cargo xtask test` | [`session`] |

mod arguments;
mod client;
mod daemon;
mod ground;
mod inventory;
mod keeper;
mod runsc;
mod session;

use std::path::PathBuf;

use anyhow::{Result, bail};

pub(crate) use self::arguments::{Arguments, run};
pub(crate) use self::client::Client;
pub(crate) use self::session::{Session, Start};

use self::keeper::Keeper;
use crate::apt;
use crate::guests::on_path;
use crate::progress::Progress;

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

/// Installs the engine and its command line where they are missing. The error is the cause to go on without.
pub(crate) fn install() -> Result<()> {
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
