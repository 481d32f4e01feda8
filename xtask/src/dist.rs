//! `cargo xtask dist`: what people install, made from what this workspace builds.
//!
//! Everything is staged as it lies below a prefix such as `/usr`, and packed from there: [`pack`] writes the archives, [`wheel`] the
//! Python package, [`npm`] those of Node.js, [`image`] the one for containers, [`mcpb`] the bundle for clients of MCP, [`mod@reference`] the pages about the packages, [`sbom`] the list of what is in them; [`machine`] knows for whom. Machine code comes along, so nothing is compiled where it is installed.

mod crates;
mod image;
mod machine;
mod mcpb;
mod npm;
mod pack;
mod reference;
mod sbom;
mod trial;
mod wheel;

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};
use dormouse_chores::apt;
use dormouse_chores::digest::sha256;
use dormouse_chores::process::plain_cargo;
use dormouse_chores::program::on_path;
use dormouse_chores::progress::{Progress, tell};
use dormouse_chores::workspace;

use crate::tools;

pub(crate) use self::machine::Machine;
pub(crate) use self::trial::run as trial;

/// The guests that everybody gets. Git comes in an archive of its own: most never call it.
const LANGUAGES: [&str; 5] = ["python", "javascript", "typescript", "php", "shell"];
/// That archive's.
const GIT: [&str; 1] = ["git"];
/// The guests that a trial gets with fuel: one, because what is made for the others takes minutes and is like it.
const COUNTED_IN_TRIALS: [&str; 1] = ["javascript"];
/// The programs that pack, and the Debian packages that hold them.
const PROGRAMS: [(&str, &str); 6] = [
    ("xz", "xz-utils"),
    ("strip", "binutils"),
    ("gzip", "gzip"),
    ("dpkg-deb", "dpkg"),
    ("zip", "zip"),
    ("unzip", "unzip"),
];
/// Arguments of `cargo xtask dist`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Folder for what is made. Default: `target/dist`, or `target/dist-ARCHITECTURE` for another machine than this
    #[arg(long, value_name = "DIR")]
    pub(crate) into: Option<PathBuf>,
    /// The machine it is made for
    #[arg(long, value_name = "ARCHITECTURE", default_value = Machine::HERE.architecture())]
    pub(crate) arch: Machine,
    /// Take the program that tests have, and compress less: what is made is larger, and there in two minutes
    #[arg(long)]
    pub(crate) quick: bool,
    /// Try the archives when they are made, as their users do; those of another machine in qemu
    #[arg(long = "try")]
    pub(crate) tried: bool,
    /// Guests of the last release, so that its sandboxes wake: its archive of components (`…-guests.tar.xz`), unpacked or not
    #[arg(long, value_name = "DIR|ARCHIVE")]
    pub(crate) keep: Option<PathBuf>,
}

/// What a release is called, and when it was made.
pub(crate) struct Release {
    pub(crate) version: String,
    pub(crate) machine: Machine,
    /// The time of the last commit, in seconds since 1970: every file of the release has it.
    pub(crate) time: String,
    /// Whether it is made for a trial: larger, and soon.
    pub(crate) quick: bool,
}

impl Release {
    fn new(machine: Machine, quick: bool) -> Result<Self> {
        let mut git = Command::new("git");
        let said = git.args(["log", "-1", "--format=%ct"]).current_dir(workspace()).output()?;
        let time = String::from_utf8(said.stdout)?.trim().to_owned();
        ensure!(time.parse::<u64>().is_ok(), "git does not tell the time of the last commit");
        Ok(Self { version: env!("CARGO_PKG_VERSION").to_owned(), machine, time, quick })
    }

    /// How `xz` is called: most of a release is machine code.
    fn squeeze(&self) -> String {
        if self.quick {
            return "-0 --threads=2".to_owned();
        }
        format!("{} --lzma2=preset=9e,dict=128MiB", self.machine.filter())
    }

    /// The name that archives of this release begin with.
    pub(crate) fn name(&self) -> String {
        format!("dormouse-{}-{}-linux", self.version, self.machine.architecture())
    }

    /// Where guests and machine code lie below a prefix. A program looks for those of its own version alone.
    fn library(&self, prefix: &Path) -> PathBuf {
        prefix.join("lib/dormouse").join(&self.version)
    }
}

/// Makes everything, and says how large it is.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let made = make(arguments)?;
    if arguments.tried { trial::anywhere(&made) } else { Ok(()) }
}

/// What was made: the release, and the folder that it is in.
struct Made {
    release: Release,
    folder: PathBuf,
    wheel: PathBuf,
    npm: npm::Packed,
}

impl Made {
    /// An archive of the release; `part`: empty, `-git`, `-fuel`, `-guests` or `-kept`.
    fn archive(&self, part: &str) -> PathBuf {
        self.folder.join(format!("{}{part}.tar.xz", self.release.name()))
    }

    fn debian(&self) -> PathBuf {
        let Release { version, machine, .. } = &self.release;
        self.folder.join(format!("dormouse-sandbox_{version}_{}.deb", machine.debian()))
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
    let machine = arguments.arch;
    let release = Release::new(machine, arguments.quick)?;
    let default = || match machine.is_here() {
        true => PathBuf::from("target/dist"),
        false => format!("target/dist-{}", machine.architecture()).into(),
    };
    let into = workspace().join(arguments.into.clone().unwrap_or_else(default));
    fs::create_dir_all(&into)?;
    provide()?;
    machine.provide()?;
    let progress = Progress::new("dist");
    let Built { program, python, node } = build(machine, arguments.quick)?;
    let stage = into.join("stage");
    if stage.exists() {
        fs::remove_dir_all(&stage)?;
    }
    let of = |part: &str| stage.join(part);
    let [prefix, git, fuel, components, kept] = ["main", "git", "fuel", "guests", "kept"].map(of);
    progress.say("staging");
    stage_program(machine, &program, &prefix)?;
    let all = [&LANGUAGES[..], &GIT].concat();
    ensure!(tools::GUESTS.run(all.iter().map(|&language| language.into()))?, "not all guests are built");
    let precompiler = Precompiler { program: machine.precompiler()?, machine };
    precompiler.run("install", &[], &release.library(&prefix), &LANGUAGES)?;
    precompiler.run("install", &[], &release.library(&git), &GIT)?;
    let counted = if release.quick { &COUNTED_IN_TRIALS[..] } else { &all };
    precompiler.run("install", &["--fuel"], &release.library(&fuel), counted)?;
    precompiler.components(&release.library(&components), &all)?;
    if let Some(last) = &arguments.keep {
        let _step = progress.step("compiling the guests of the last release");
        keep(&precompiler, &release.library(&kept), last, &stage.join("last"))?;
    }
    for part in [&prefix, &git, &fuel, &components, &kept] {
        record(&release, &release.library(part))?;
    }
    let wheel = wheel::pack(&release, &prefix, &python, &stage.join("wheel"), &into)?;
    let npm = npm::pack(&release, &prefix, &node, &stage.join("npm"), &into)?;
    let made = Made { release, folder: into, wheel, npm };
    let release = &made.release;
    let bill = sbom::bill(release, &[release.library(&prefix), release.library(&git)])?;
    documents(&prefix, &bill)?;
    fs::write(made.bill(), &bill)?;
    let mut files = vec![made.bill()];
    let parts = [(&prefix, ""), (&git, "-git"), (&fuel, "-fuel"), (&components, "-guests"), (&kept, "-kept")];
    for (folder, part) in parts.into_iter().filter(|(folder, _)| folder.exists()) {
        let archive = made.archive(part);
        let _step = progress.step(&format!("packing {}", archive.file_name().unwrap_or_default().display()));
        pack::tar(release, folder, &archive)?;
        files.push(archive);
    }
    let _step = progress.step("packing the Debian package");
    pack::debian(release, &prefix, &stage.join("debian"), &made.debian())?;
    files.push(made.debian());
    files.push(made.wheel.clone());
    let npm::Packed { main, platform, whole } = made.npm.clone();
    files.extend([main, platform, whole]);
    drop(_step);
    let _step = progress.step("packing the container image and the MCP bundle");
    image::pack(release, &prefix, &stage.join("image"), &made.image())?;
    files.push(made.image());
    files.extend(mcpb::pack(release, &prefix, &stage.join("mcpb"), &made.folder)?);
    drop(_step);
    if machine.is_here() {
        let _step = progress.step("writing the reference of the packages");
        files.push(reference::pack(release, &stage.join("wheel"), &stage.join("reference"), &made.folder)?);
    } else {
        progress.say("left out: the reference of the packages, which is that of this machine's release");
    }
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
    python: PathBuf,
    /// The native part of the npm package.
    node: PathBuf,
}

fn build(machine: Machine, quick: bool) -> Result<Built> {
    let profile = if quick { "release" } else { "dist" };
    // With the features of the whole workspace what tests have is there already; with their own nothing of the tests is in it.
    let parts: &[&str] = match quick && machine.is_here() {
        true => &["--workspace", "--bin", "dormouse", "--lib"],
        false => &["--package", "dormouse-cli", "--package", "dormouse-python", "--package", "dormouse-node"],
    };
    machine.build(profile, parts)?;
    let made = machine.made(profile);
    Ok(Built {
        program: made.join("dormouse"),
        python: made.join("lib_native.so"),
        node: made.join("libdormouse_node.so"),
    })
}

/// The program, its manual pages and its completions.
fn stage_program(machine: Machine, program: &Path, prefix: &Path) -> Result<()> {
    let folder = |below: &str| {
        let folder = prefix.join(below);
        fs::create_dir_all(&folder).map(|()| folder)
    };
    let installed = folder("bin")?.join("dormouse");
    done(machine.strip().arg("-o").arg(&installed).arg(program))?;
    let manual = folder("share/man/man1")?;
    done(machine.run(program).arg("manual").arg(&manual))?;
    for page in fs::read_dir(&manual)? {
        done(Command::new("gzip").args(["-9", "-n"]).arg(page?.path()))?;
    }
    let completions = [
        ("bash", "share/bash-completion/completions", "dormouse"),
        ("zsh", "share/zsh/site-functions", "_dormouse"),
        ("fish", "share/fish/vendor_completions.d", "dormouse.fish"),
    ];
    for (shell, below, name) in completions {
        let script = machine.run(program).args(["completions", shell]).output()?;
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

/// What fills the folder of an installation with guests.
struct Precompiler {
    program: PathBuf,
    machine: Machine,
}

impl Precompiler {
    /// A step that makes machine code.
    fn run(&self, step: &str, options: &[&str], library: &Path, words: &[impl AsRef<OsStr>]) -> Result<()> {
        fs::create_dir_all(library)?;
        let mut command = Command::new(&self.program);
        command.arg(step).args(["--arch", self.machine.architecture()]).args(options);
        done(command.arg(library).args(words))
    }

    /// Copies the components, which are the same for every machine.
    fn components(&self, library: &Path, languages: &[&str]) -> Result<()> {
        done(Command::new(&self.program).arg("components").arg(library).args(languages))
    }
}

/// Puts the guests of the last release, compiled by this one's engine, into the folder of an installation. `from`: the folder of an
/// installation or of a cache, a prefix, or an archive of one, which is unpacked into `unpacked`.
fn keep(precompiler: &Precompiler, library: &Path, from: &Path, unpacked: &Path) -> Result<()> {
    let from = workspace().join(from);
    let place = if from.is_dir() {
        from.clone()
    } else {
        fs::create_dir_all(unpacked)?;
        done(
            Command::new("tar")
                .args(["--xz", "--strip-components=1", "-xf"])
                .arg(&from)
                .arg("-C")
                .arg(unpacked),
        )?;
        unpacked.to_owned()
    };
    let releases = fs::read_dir(place.join("lib/dormouse")).into_iter().flatten().flatten();
    let below: Vec<PathBuf> = releases.map(|entry| entry.path()).collect();
    let last = match below.as_slice() {
        [] => place,
        [one] => one.clone(),
        _ => bail!("`{}` holds several releases: name the folder of one", from.display()),
    };
    precompiler.run("keep", &[], library, &[&last])
}

/// Notes of which release a folder of an installation is, where there is one.
fn record(release: &Release, library: &Path) -> Result<()> {
    if library.exists() {
        fs::write(library.join("release.json"), format!("{{\"version\":\"{}\"}}\n", release.version))?;
    }
    Ok(())
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
