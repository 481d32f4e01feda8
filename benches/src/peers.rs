//! The peers: where they are, how they are installed, how they are started.
//!
//! They live below the cache folder, in `bench-peers/`: a virtual environment for Python packages, a folder of node
//! modules. Nothing is installed unless `--install-peers` asks for it.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow, ensure};

use crate::driver::Driver;
use crate::launch;

/// Debian's Python, the native interpreter that ratios are taken against.
pub(crate) const NATIVE_PYTHON: &str = "/usr/bin/python3";

/// Who ours is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Peer {
    /// CPython on Wasmtime, pre-initialised; from PyPI.
    Pyeryx,
    /// QuickJS on WebAssembly in node; from npm.
    Quickjs,
    /// The system's Python, without a sandbox.
    Python,
    /// The system's node, without a sandbox.
    Node,
    /// The system's PHP, without a sandbox: there is no sandboxed one to compare with.
    Php,
}

impl Peer {
    /// Every peer, in the order of the table's head.
    pub(crate) const ALL: [Peer; 5] = [Peer::Pyeryx, Peer::Quickjs, Peer::Python, Peer::Node, Peer::Php];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Peer::Pyeryx => "pyeryx",
            Peer::Quickjs => "quickjs-emscripten",
            Peer::Python => "native python3",
            Peer::Node => "native node",
            Peer::Php => "native php",
        }
    }

    fn script(self) -> (&'static str, &'static str) {
        match self {
            Peer::Pyeryx => ("pyeryx.py", include_str!("../peers/pyeryx.py")),
            Peer::Quickjs => ("quickjs.mjs", include_str!("../peers/quickjs.mjs")),
            Peer::Python => ("native.py", include_str!("../peers/native.py")),
            Peer::Node => ("native.mjs", include_str!("../peers/native.mjs")),
            Peer::Php => ("native.php", include_str!("../peers/native.php")),
        }
    }

    fn hint(self) -> &'static str {
        match self {
            Peer::Pyeryx => "peer not installed: pyeryx (pip install pyeryx)",
            Peer::Quickjs => "peer not installed: quickjs-emscripten (npm install quickjs-emscripten)",
            Peer::Python => "peer not installed: python3 (apt-get install python3)",
            Peer::Node => "peer not installed: node (apt-get install nodejs)",
            Peer::Php => "peer not installed: php (apt-get install php-cli)",
        }
    }
}

/// The peers of this machine.
pub(crate) struct Peers {
    folder: PathBuf,
    wanted: bool,
}

impl Peers {
    pub(crate) fn new(cache: &Path, wanted: bool) -> Self {
        Self { folder: cache.join("bench-peers"), wanted }
    }

    /// Whether peers are measured at all.
    pub(crate) fn wanted(&self) -> bool {
        self.wanted
    }

    fn venv_python(&self) -> PathBuf {
        self.folder.join("python/bin/python")
    }

    fn modules(&self) -> PathBuf {
        self.folder.join("node")
    }

    /// Starts a peer's driver.
    ///
    /// # Errors
    /// What keeps it from running, in words for the table.
    pub(crate) fn start(&self, peer: Peer) -> Result<Driver> {
        ensure!(self.wanted, "left out (--no-peers)");
        let missing = || anyhow!(peer.hint());
        let (name, text) = peer.script();
        fs::create_dir_all(&self.folder).context("the folder of peers cannot be made")?;
        let script = self.folder.join(name);
        fs::write(&script, text).context("the peer's driver cannot be written")?;
        let mut command = match peer {
            Peer::Pyeryx => launch::command(self.venv_python()),
            Peer::Python => launch::command(NATIVE_PYTHON),
            Peer::Quickjs | Peer::Node => launch::command("node"),
            Peer::Php => launch::command("php"),
        };
        command.arg(script).arg(self.modules());
        let mut driver = Driver::start(&mut command).map_err(|_| missing())?;
        driver.version().map_err(|_| missing())?;
        Ok(driver)
    }

    /// Name and version of a peer, or what is missing.
    pub(crate) fn describe(&self, peer: Peer) -> String {
        match self.start(peer).and_then(|mut driver| driver.version()) {
            Ok(version) => format!("{} {version}", peer.name()),
            Err(why) => format!("{why:#}"),
        }
    }

    /// Installs the peers by their package names.
    ///
    /// # Errors
    /// What is missing for it, or what the package client said.
    pub(crate) fn install(&self) -> Result<()> {
        let python = newer_python().context("pyeryx needs Python 3.12 or newer, which was not found")?;
        fs::create_dir_all(self.modules()).context("the folder of peers cannot be made")?;
        launch::output(launch::command(python).args(["-m", "venv"]).arg(self.folder.join("python")))?;
        let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--upgrade", "pyeryx"];
        launch::output(launch::command(self.venv_python()).args(pip))?;
        let npm = ["install", "--silent", "--no-fund", "--no-audit", "--no-save", "quickjs-emscripten"];
        launch::output(launch::command("npm").args(npm).current_dir(self.modules()))?;
        Ok(())
    }
}

/// A Python of at least 3.12: on the path, or one of pyenv's.
fn newer_python() -> Option<PathBuf> {
    let on_path = ["python3.14", "python3.13", "python3.12", "python3"].map(PathBuf::from);
    let root = std::env::var_os("PYENV_ROOT")
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".pyenv")));
    let pyenv = root.and_then(|root| fs::read_dir(root.join("versions")).ok());
    let pyenv = pyenv.into_iter().flatten().flatten().map(|entry| entry.path().join("bin/python3"));
    let test = "import sys, venv; print(sys.version_info >= (3, 12))";
    let new_enough = |python: &PathBuf| {
        launch::output(launch::command(python).args(["-c", test])).is_ok_and(|said| said == "True")
    };
    on_path.into_iter().chain(pyenv).find(new_enough)
}
