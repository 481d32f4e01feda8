//! `cargo xtask dist`: what people install, made from what this workspace builds.
//!
//! Everything is staged as it lies below a prefix such as `/usr`, and packed from there: [`pack`] writes the archives, [`wheel`] the
//! Python package, [`image`] the one for containers, [`mcpb`] the bundle for clients of MCP, [`sbom`] the list of what is in them. Machine code comes along, so nothing is compiled where it is installed.

mod image;
mod mcpb;
mod pack;
mod sbom;
mod trial;
mod wheel;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use dormouse_chores::apt;
use dormouse_chores::digest::sha256;
use dormouse_chores::process::{self, plain_cargo};
use dormouse_chores::program::on_path;
use dormouse_chores::progress::{Progress, tell};
use dormouse_chores::workspace;

use crate::tools;

pub(crate) use self::trial::run as trial;

/// The guests that everybody gets. Git comes in an archive of its own: most never call it.
const LANGUAGES: [&str; 5] = ["python", "javascript", "typescript", "php", "shell"];
/// That archive's.
const GIT: [&str; 1] = ["git"];
/// The programs that pack, and the Debian packages that hold them.
const PROGRAMS: [(&str, &str); 6] = [
    ("zstd", "zstd"),
    ("strip", "binutils"),
    ("gzip", "gzip"),
    ("dpkg-deb", "dpkg"),
    ("zip", "zip"),
    ("unzip", "unzip"),
];
/// The processor that programs and machine code are made for.
const ARCHITECTURE: &str = "x86_64";

/// Arguments of `cargo xtask dist`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Folder for what is made
    #[arg(long, value_name = "DIR", default_value = "target/dist")]
    pub(crate) into: PathBuf,
    /// Take the program that tests have, and compress less: what is made is larger, and there in two minutes
    #[arg(long)]
    pub(crate) quick: bool,
}

/// What a release is called, and when it was made.
pub(crate) struct Release {
    pub(crate) version: String,
    /// The time of the last commit, in seconds since 1970: every file of the release has it.
    pub(crate) time: String,
    /// How hard zstd tries, from 1 to 19.
    pub(crate) level: u8,
}

impl Release {
    fn new(quick: bool) -> Result<Self> {
        let mut git = Command::new("git");
        let said = git.args(["log", "-1", "--format=%ct"]).current_dir(workspace()).output()?;
        let time = String::from_utf8(said.stdout)?.trim().to_owned();
        ensure!(time.parse::<u64>().is_ok(), "git does not tell the time of the last commit");
        Ok(Self { version: env!("CARGO_PKG_VERSION").to_owned(), time, level: if quick { 3 } else { 19 } })
    }

    /// The name that archives of this release begin with.
    pub(crate) fn name(&self) -> String {
        format!("dormouse-{}-{ARCHITECTURE}-linux", self.version)
    }

    /// Where guests and machine code lie below a prefix. A program looks for those of its own version alone.
    fn library(&self, prefix: &Path) -> PathBuf {
        prefix.join("lib/dormouse").join(&self.version)
    }
}

/// Makes everything, and says how large it is.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    make(arguments).map(drop)
}

/// What was made: the release, and the folder that it is in.
struct Made {
    release: Release,
    folder: PathBuf,
    wheel: PathBuf,
}

impl Made {
    /// An archive of the release; `part`: empty, `-git` or `-fuel`.
    fn archive(&self, part: &str) -> PathBuf {
        self.folder.join(format!("{}{part}.tar.zst", self.release.name()))
    }

    fn debian(&self) -> PathBuf {
        self.folder.join(format!("dormouse-sandbox_{}_amd64.deb", self.release.version))
    }

    fn image(&self) -> PathBuf {
        self.folder.join(format!("{}-image.tar", self.release.name()))
    }

    fn bundle(&self) -> PathBuf {
        self.folder.join(format!("{}.mcpb", self.release.name()))
    }

    fn bill(&self) -> PathBuf {
        self.folder.join(format!("{}.cdx.json", self.release.name()))
    }
}

fn make(arguments: &Arguments) -> Result<Made> {
    let release = Release::new(arguments.quick)?;
    let into = workspace().join(&arguments.into);
    fs::create_dir_all(&into)?;
    provide()?;
    let progress = Progress::new("dist");
    let Built { program, native } = build(arguments.quick)?;
    let stage = into.join("stage");
    if stage.exists() {
        fs::remove_dir_all(&stage)?;
    }
    let of = |part: &str| stage.join(part);
    let [prefix, git, fuel] = ["main", "git", "fuel"].map(of);
    progress.say("staging");
    stage_program(&program, &prefix)?;
    guests(&release.library(&prefix), &LANGUAGES, false)?;
    guests(&release.library(&git), &GIT, false)?;
    guests(&release.library(&fuel), &[&LANGUAGES[..], &GIT].concat(), true)?;
    let wheel = wheel::pack(&release, &prefix, &native, &stage.join("wheel"), &into)?;
    let made = Made { release, folder: into, wheel };
    let release = &made.release;
    let bill = sbom::bill(release, &[release.library(&prefix), release.library(&git)])?;
    documents(&prefix, &bill)?;
    fs::write(made.bill(), &bill)?;
    let mut files = vec![made.bill()];
    for (folder, part) in [(&prefix, ""), (&git, "-git"), (&fuel, "-fuel")] {
        let archive = made.archive(part);
        let _step = progress.step(&format!("packing {}", archive.file_name().unwrap_or_default().display()));
        pack::tar(release, folder, &archive)?;
        files.push(archive);
    }
    let _step = progress.step("packing the Debian package");
    pack::debian(release, &prefix, &stage.join("debian"), &made.debian())?;
    files.push(made.debian());
    files.push(made.wheel.clone());
    drop(_step);
    let _step = progress.step("packing the container image and the MCP bundle");
    image::pack(release, &prefix, &stage.join("image"), &made.image())?;
    files.push(made.image());
    files.extend(mcpb::pack(release, &prefix, &stage.join("mcpb"), &made.folder)?);
    sums(&made.folder, &files)?;
    fs::remove_dir_all(&stage)?;
    Ok(made)
}

/// Installs what packs, where it is missing.
fn provide() -> Result<()> {
    let missing = PROGRAMS.iter().filter(|(program, _)| on_path(program).is_none());
    let mut packages: Vec<&str> = missing.map(|(_, package)| *package).collect();
    if !image::certificates().exists() {
        packages.push("ca-certificates");
    }
    if packages.is_empty() {
        return Ok(());
    }
    apt::install_quietly(&Progress::new("dist"), &packages, "apt-get cannot install it here")
}

/// What cargo makes.
struct Built {
    program: PathBuf,
    /// The native part of the Python package.
    native: PathBuf,
}

fn build(quick: bool) -> Result<Built> {
    let profile = if quick { "release" } else { "dist" };
    // With the features of the whole workspace what tests have is there already; with their own nothing of the tests is in it.
    let parts: &[&str] = match quick {
        true => &["--workspace", "--bin", "dormouse", "--lib"],
        false => &["--package", "dormouse-cli", "--package", "dormouse-python"],
    };
    process::cargo(&[&["build", "--locked", "--profile", profile], parts].concat())?;
    let made = process::target().join(profile);
    Ok(Built { program: made.join("dormouse"), native: made.join("lib_native.so") })
}

/// The program, its manual pages and its completions.
fn stage_program(program: &Path, prefix: &Path) -> Result<()> {
    let folder = |below: &str| {
        let folder = prefix.join(below);
        fs::create_dir_all(&folder).map(|()| folder)
    };
    let installed = folder("bin")?.join("dormouse");
    done(Command::new("strip").arg("-o").arg(&installed).arg(program))?;
    let manual = folder("share/man/man1")?;
    done(Command::new(program).arg("manual").arg(&manual))?;
    for page in fs::read_dir(&manual)? {
        done(Command::new("gzip").args(["-9", "-n"]).arg(page?.path()))?;
    }
    let completions = [
        ("bash", "share/bash-completion/completions", "dormouse"),
        ("zsh", "share/zsh/site-functions", "_dormouse"),
        ("fish", "share/fish/vendor_completions.d", "dormouse.fish"),
    ];
    for (shell, below, name) in completions {
        let script = Command::new(program).args(["completions", shell]).output()?;
        ensure!(script.status.success(), "there are no completions for {shell}");
        fs::write(folder(below)?.join(name), script.stdout)?;
    }
    Ok(())
}

/// What belongs to the program and is read by people.
fn documents(prefix: &Path, bill: &str) -> Result<()> {
    let folder = prefix.join("share/doc/dormouse-sandbox");
    fs::create_dir_all(&folder)?;
    for file in ["README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT"] {
        fs::copy(workspace().join(file), folder.join(file)).with_context(|| file.to_owned())?;
    }
    fs::write(folder.join("sbom.cdx.json"), bill)?;
    Ok(())
}

/// Puts the current guests of languages, built and compiled first if need be, into the folder of an installation.
fn guests(library: &Path, languages: &[&str], fuel: bool) -> Result<()> {
    fs::create_dir_all(library)?;
    ensure!(
        tools::GUESTS.run(languages.iter().map(|&language| language.into()))?,
        "not all guests are built"
    );
    let mut command = Command::new(process::tool("dormouse-precompile"));
    command.arg("install").arg(library).args(languages);
    done(if fuel { command.arg("--fuel") } else { &mut command })
}

/// Writes the checksums of all that was made, and says its sizes.
fn sums(into: &Path, made: &[PathBuf]) -> Result<()> {
    let mut lines = String::new();
    for file in made {
        let bytes = fs::read(file)?;
        let name = file.file_name().unwrap_or_default().display();
        lines.push_str(&format!("{}  {name}\n", sha256(&bytes)));
        tell(&format!("{:>8.1} MB  {}", bytes.len() as f64 / 1e6, file.display()));
    }
    fs::write(into.join("SHA256SUMS"), lines)?;
    Ok(())
}

/// Runs a program to its end, which has to be a good one.
fn done(command: &mut Command) -> Result<()> {
    let shown = command.get_program().to_string_lossy().into_owned();
    let status = command.status().with_context(|| format!("`{shown}` does not start"))?;
    ensure!(status.success(), "`{shown}` failed");
    Ok(())
}

/// What cargo says in its own words.
fn cargo_says(words: &[&str]) -> Result<String> {
    let said = plain_cargo().args(words).current_dir(workspace()).output()?;
    ensure!(said.status.success(), "cargo {}: {}", words.join(" "), String::from_utf8_lossy(&said.stderr));
    Ok(String::from_utf8(said.stdout)?)
}
