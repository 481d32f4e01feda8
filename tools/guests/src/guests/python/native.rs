//! Packages of PyPI that are native code, linked with the interpreter: pydantic-core, jiter and rpds-py in Rust, regex in C.

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

pub(super) const RPDS: PythonFile = PythonFile {
    project: "rpds-py",
    file: "rpds_py-2026.9.1.tar.gz",
    sha256: "4793ef7f78268b124b73fa933440f01d258bbae01de9fa53e9080c9ab0425a12",
};

pub(super) const REGEX: PythonFile = PythonFile {
    project: "regex",
    file: "regex-2026.11.19.tar.gz",
    sha256: "2826a006b68acfd3ed5074433caafe21d7f9d026eb82cb856724a4a893a70915",
};

/// The sources of regex in C, below its folder `src`, which are compiled with the driver.
pub(super) const REGEX_C: [&str; 2] = ["_regex.c", "_regex_unicode.c"];

/// The crate that holds those in Rust, below the guest's folder.
const CRATE: [&str; 4] = ["Cargo.toml", "Cargo.lock", "lib.rs", "pyo3.txt"];

/// What packages have of Python that have nothing else of it: maturin would write it.
const MODULES: [(&str, &str); 2] = [
    ("jiter", "from .jiter import *\nfrom .jiter import __doc__, __version__\n"),
    ("rpds", "from .rpds import *\nfrom .rpds import __doc__\n"),
];

/// What was built.
pub(super) struct Native {
    /// The extensions in Rust, as a static library.
    pub(super) library: PathBuf,
    /// A folder with the packages' own modules in Python.
    pub(super) packages: PathBuf,
}

pub(super) fn build(job: &Job<'_>) -> Result<Native> {
    let pydantic_core = job.prepare("pydantic_core")?;
    let jiter = job.prepare("jiter")?;
    let rpds = job.prepare("rpds_py")?;
    let regex = job.prepare("regex")?;
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
    let copied: [(&str, PathBuf, &[&str]); 2] = [
        ("pydantic_core", pydantic_core.join("python/pydantic_core"), &["__init__.py", "core_schema.py"]),
        ("regex", regex.join("regex"), &["__init__.py", "_main.py", "_regex_core.py"]),
    ];
    for (name, from, files) in copied {
        fs::create_dir(packages.join(name))?;
        for file in files {
            fs::copy(from.join(file), packages.join(name).join(file))?;
        }
    }
    for (name, text) in MODULES {
        fs::create_dir(packages.join(name))?;
        fs::write(packages.join(name).join("__init__.py"), text)?;
    }
    let all = [(&pydantic_core, &PYDANTIC_CORE), (&jiter, &JITER), (&rpds, &RPDS), (&regex, &REGEX)];
    for (source, file) in all {
        let info = packages.join(file.file.replace(".tar.gz", ".dist-info"));
        fs::create_dir(&info)?;
        fs::copy(source.join("PKG-INFO"), info.join("METADATA"))?;
    }
    Ok(Native { library, packages })
}
