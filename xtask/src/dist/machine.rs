//! The machines that releases are made for, and how a release for another one is made on this one.
//!
//! Everything is made by cross compilation: the programs by a compiler that has the other architecture's standard library, machine
//! code by the engine's own compiler. What has to be run to be packed, which is little, runs in qemu.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use dormouse_chores::Cache;
use dormouse_chores::apt;
use dormouse_chores::process::{self, plain_cargo};
use dormouse_chores::program::on_path;
use dormouse_chores::progress::Progress;
use dormouse_chores::rustc_web;
use dormouse_chores::workspace;

/// A machine, by the architecture of its processor. They all run Linux with glibc.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Machine {
    #[value(name = "x86_64")]
    X86_64,
    #[value(name = "aarch64")]
    Aarch64,
}

/// What one is called by each kind of package, and what makes programs for it elsewhere.
struct Names {
    architecture: &'static str,
    people: &'static str,
    debian: &'static str,
    node: &'static str,
    /// Of the Debian packages that make programs for it.
    tools: [(&'static str, &'static str); 3],
    /// How `xz` is told of its machine code.
    filter: &'static str,
}

impl Machine {
    /// This one.
    pub(crate) const HERE: Self = if cfg!(target_arch = "aarch64") { Self::Aarch64 } else { Self::X86_64 };

    const fn names(self) -> Names {
        match self {
            Self::X86_64 => Names {
                architecture: "x86_64",
                people: "x86-64",
                debian: "amd64",
                node: "x64",
                tools: [
                    ("x86_64-linux-gnu-gcc", "gcc-x86-64-linux-gnu"),
                    ("x86_64-linux-gnu-strip", "binutils-x86-64-linux-gnu"),
                    ("qemu-x86_64", "qemu-user"),
                ],
                filter: "--x86",
            },
            Self::Aarch64 => Names {
                architecture: "aarch64",
                people: "arm64",
                debian: "arm64",
                node: "arm64",
                tools: [
                    ("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu"),
                    ("aarch64-linux-gnu-strip", "binutils-aarch64-linux-gnu"),
                    ("qemu-aarch64", "qemu-user"),
                ],
                filter: "--arm64",
            },
        }
    }

    /// In the names of archives, in triples and in Python's tags.
    pub(crate) const fn architecture(self) -> &'static str {
        self.names().architecture
    }

    /// In sentences.
    pub(crate) const fn people(self) -> &'static str {
        self.names().people
    }

    /// By Debian and by container engines.
    pub(crate) const fn debian(self) -> &'static str {
        self.names().debian
    }

    /// By Node.js.
    pub(crate) const fn node(self) -> &'static str {
        self.names().node
    }

    /// How `xz` is told of its machine code.
    pub(crate) const fn filter(self) -> &'static str {
        self.names().filter
    }

    pub(crate) fn is_here(self) -> bool {
        self == Self::HERE
    }

    pub(crate) fn triple(self) -> String {
        format!("{}-unknown-linux-gnu", self.architecture())
    }

    /// Where its libraries lie, as Debian installs them beside those of this machine.
    pub(crate) fn libraries(self) -> PathBuf {
        Path::new("/usr").join(format!("{}-linux-gnu", self.architecture()))
    }

    /// What strips programs of it.
    pub(crate) fn strip(self) -> Command {
        Command::new(if self.is_here() { "strip" } else { self.names().tools[1].0 })
    }

    /// A program of it, ready to be run here.
    pub(crate) fn run(self, program: &Path) -> Command {
        if self.is_here() {
            return Command::new(program);
        }
        self.run_in(&self.libraries(), program)
    }

    /// A program that finds its libraries below a folder, which stands for the root.
    pub(crate) fn run_in(self, root: &Path, program: &Path) -> Command {
        let mut command = Command::new(self.names().tools[2].0);
        command.arg("-L").arg(root).arg(program);
        command
    }

    /// A program of another machine, with a variable `NAME=VALUE` that is not for what runs it.
    pub(crate) fn run_with(self, variable: &str, program: &Path) -> Command {
        let mut command = Command::new(self.names().tools[2].0);
        command.arg("-L").arg(self.libraries()).args(["-E", variable]).arg(program);
        command
    }

    /// Where cargo puts what it makes for it.
    pub(crate) fn made(self, profile: &str) -> PathBuf {
        if self.is_here() {
            return process::target().join(profile);
        }
        self.target().join(self.triple()).join(profile)
    }

    /// A target folder of its own: another compiler is at work in it.
    fn target(self) -> PathBuf {
        process::target().join(format!("cross-{}", self.architecture()))
    }

    /// Cargo, asked to build for it.
    pub(crate) fn build(self, profile: &str, words: &[&str]) -> Result<()> {
        let mut cargo = plain_cargo();
        cargo.args(["build", "--locked", "--profile", profile]).args(words).current_dir(workspace());
        if !self.is_here() {
            let [(gcc, _), ..] = self.names().tools;
            let (triple, variable) = (self.triple(), self.triple().replace('-', "_"));
            if let Some(rustc) = self.compiler()? {
                cargo.env("RUSTC", rustc);
            }
            cargo.args(["--target", &triple]).arg("--target-dir").arg(self.target());
            cargo.env(format!("CARGO_TARGET_{}_LINKER", variable.to_uppercase()), gcc);
            cargo.env(format!("CC_{variable}"), gcc).env("CARGO_INCREMENTAL", "0");
            // The stable interface of Python is the same everywhere: no Python of that machine is asked for it.
            cargo.env("PYO3_NO_PYTHON", "1");
        }
        ensure!(cargo.status()?.success(), "`cargo build` for {} failed", self.people());
        Ok(())
    }

    /// The program that makes machine code for it.
    pub(crate) fn precompiler(self) -> Result<PathBuf> {
        if self.is_here() {
            return Ok(process::tool("dormouse-precompile"));
        }
        let package = ["--package", "dormouse-precompile", "--features", "arm64"];
        let mut cargo = plain_cargo();
        cargo.args(["build", "--locked", "--release"]).args(package).current_dir(workspace());
        cargo.arg("--target-dir").arg(self.target());
        ensure!(cargo.status()?.success(), "`dormouse-precompile` does not compile");
        Ok(self.target().join("release/dormouse-precompile"))
    }

    /// Installs what makes and runs programs of it here.
    pub(crate) fn provide(self) -> Result<()> {
        ensure!(
            self.is_here() || self == Self::Aarch64,
            "releases for {} are made on such a machine alone",
            self.people()
        );
        let tools = self.names().tools;
        let missing = tools.iter().filter(|(program, _)| !self.is_here() && on_path(program).is_none());
        let mut packages: Vec<&str> = missing.map(|(_, package)| *package).collect();
        // The C compiler only recommends it.
        let library = format!("libc6-dev-{}-cross", self.debian());
        if !self.is_here() && !self.libraries().join("include/stdio.h").exists() {
            packages.push(&library);
        }
        if packages.is_empty() {
            return Ok(());
        }
        apt::install_quietly(&Progress::new("dist"), &packages, "apt-get cannot install it here")
    }

    /// A compiler with its standard library: cargo's own (none) where rustup has added it, or else Debian's, which is unpacked into
    /// the cache folder.
    fn compiler(self) -> Result<Option<PathBuf>> {
        let said =
            Command::new("rustc").args(["--print", "target-libdir", "--target", &self.triple()]).output();
        let folder =
            said.map(|said| String::from_utf8_lossy(&said.stdout).trim().to_owned()).unwrap_or_default();
        let has_library = |entry: fs::DirEntry| entry.file_name().to_string_lossy().starts_with("libstd-");
        if fs::read_dir(folder).is_ok_and(|entries| entries.flatten().any(has_library)) {
            return Ok(None);
        }
        let (triple, other) = (self.triple(), self.debian());
        let place = Cache::open()?.toolchain()?.join(format!("rustc-{}", self.architecture()));
        let library = format!("libstd-rust-web-dev:{other}");
        rustc_web::provide(&Progress::new("dist"), &place, &[&library], Some(other), |_| Ok(()))
            .map(Some)
            .with_context(|| {
                format!(
                    "no Rust compiler with a standard library for {triple}: add it with `rustup target add {triple}`, or use a \
                     Debian whose apt knows rustc-web"
                )
            })
    }
}
