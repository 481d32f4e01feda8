//! Packages of PyPI that are native code in Rust, linked with the interpreter: pydantic-core and jiter.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result};

use crate::guests::job::{Job, empty};
use crate::guests::source::PythonFile;

pub(super) const PYDANTIC_CORE: PythonFile = PythonFile {
    project: "pydantic-core",
    file: "pydantic_core-2.50.5.tar.gz",
    sha256: "1e740886083ff95530d694e6a3f09ed914bcf92a496d16acd307c6c3484fc36d",
};

pub(super) const JITER: PythonFile = PythonFile {
    project: "jiter",
    file: "jiter-0.19.0.tar.gz",
    sha256: "ba3064f8be276d7cfb83c2fb85c858be533da2c2f80f9b048c3781b45a57a195",
};

/// The crate that holds both, below the guest's folder.
const CRATE: [&str; 4] = ["Cargo.toml", "Cargo.lock", "lib.rs", "pyo3.txt"];

/// What `jiter` has of Python: maturin would write it.
const JITER_MODULE: &str = "from .jiter import *\nfrom .jiter import __doc__, __version__\n";

/// What was built.
pub(super) struct Native {
    /// The extensions, as a static library.
    pub(super) library: PathBuf,
    /// A folder with the packages' own modules in Python.
    pub(super) packages: PathBuf,
}

pub(super) fn build(job: &Job<'_>) -> Result<Native> {
    let pydantic_core = job.prepare("pydantic_core")?;
    let jiter = job.prepare("jiter")?;
    // Beside the sources, which its manifest names.
    let own = job.scratch.join("native-packages");
    fs::create_dir_all(&own)?;
    for name in CRATE {
        let from = job.guest.join("native").join(name);
        let text = fs::read(&from).with_context(|| format!("cannot read `{}`", from.display()))?;
        let into = own.join(name);
        if fs::read(&into).ok().as_ref() != Some(&text) {
            fs::write(into, text)?;
        }
    }
    let configuration = own.join("pyo3.txt");
    let environment = [("PYO3_CONFIG_FILE", configuration.as_os_str())];
    let library = job.cargo_in(&own, "dormouse_python", &[], &environment)?;
    let packages = job.scratch.join("packages");
    empty(&packages)?;
    let places = [("pydantic_core", pydantic_core.join("python/pydantic_core"))];
    for (name, from) in places {
        fs::create_dir(packages.join(name))?;
        for file in ["__init__.py", "core_schema.py"] {
            fs::copy(from.join(file), packages.join(name).join(file))?;
        }
    }
    fs::create_dir(packages.join("jiter"))?;
    fs::write(packages.join("jiter/__init__.py"), JITER_MODULE)?;
    for (source, file) in [(&pydantic_core, &PYDANTIC_CORE), (&jiter, &JITER)] {
        let info = packages.join(file.file.replace(".tar.gz", ".dist-info"));
        fs::create_dir(&info)?;
        fs::copy(source.join("PKG-INFO"), info.join("METADATA"))?;
    }
    Ok(Native { library, packages })
}
