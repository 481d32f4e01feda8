//! The phase `dist` of `cargo xtask test`: makes what people install, unpacks it where nothing of Dormouse is, and uses it as
//! they do in their first minute.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use dormouse_chores::digest::sha256;
use dormouse_chores::outcome::Outcome;
use dormouse_chores::process;
use dormouse_chores::progress::{complain, tell};
use dormouse_test_engine::{Session, Start};

use super::{Arguments, Machine, Made, crates, done, make, sbom};

mod kept;
mod npm;
mod python;

/// The trial that needs root.
const AS_NOBODY: &str = "root's installation, used by somebody who can write nothing";

/// The trial that needs an engine, and root.
const IMAGE: &str = "container image";

type Trial = fn(&Made) -> Result<()>;

/// Makes it and tries it.
pub(crate) fn run() -> Result<Outcome> {
    let folder = process::target().join("dist-trial");
    let last = tempfile::tempdir()?;
    kept::last_release(last.path())?;
    let made = make(&Arguments {
        into: Some(folder.clone()),
        arch: Machine::HERE,
        quick: true,
        tried: false,
        keep: Some(last.path().to_owned()),
    })?;
    let trials: [(&str, Trial); 15] = [
        ("checksums", checksums),
        ("archive", archive),
        ("bill of materials", sbom::trial),
        ("further archives", further),
        ("Debian package", debian),
        (AS_NOBODY, as_nobody),
        ("damage", damage),
        ("guests of the last release", kept::run),
        ("Python wheel", python::wheel),
        ("types of the Python package", python::types),
        ("npm packages", npm::packages),
        ("types of the npm package", npm::types),
        (IMAGE, image),
        ("MCP bundle", bundle),
        ("crates", |made| crates::trial(made, &Installed::of(made)?.library(made))),
    ];
    let outcome = try_all(&made, &trials)?;
    fs::remove_dir_all(folder)?;
    Ok(outcome)
}

/// Tries what does not need to be run by a program of another kind, such as Python: what was made for another machine runs in qemu.
pub(crate) fn anywhere(made: &Made) -> Result<()> {
    let mut trials: Vec<(&str, Trial)> = vec![
        ("archive", archive),
        ("bill of materials", sbom::trial),
        ("further archives", further),
        ("Debian package", debian),
        ("damage", damage),
    ];
    if !made.release.machine.is_here() {
        trials.push((IMAGE, libraries));
    }
    let outcome = try_all(made, &trials)?;
    ensure!(outcome.ok, "of what was made {} trials failed", outcome.problems.len());
    tell(&format!("{} trials passed", outcome.totals.passed));
    Ok(())
}

fn try_all(made: &Made, trials: &[(&str, Trial)]) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    for &(name, trial) in trials {
        if [AS_NOBODY, IMAGE].contains(&name) && fs::metadata("/proc/self")?.uid() != 0 {
            complain(&format!("left out: {name}: only root can make another user's"));
            outcome.add(Outcome::skipped());
            continue;
        }
        outcome.add(match trial(made) {
            Ok(()) => Outcome::passed(),
            Err(error) => {
                let problem = format!("{name}: {error:#}");
                complain(&problem);
                Outcome::failed(problem)
            }
        });
    }
    Ok(outcome)
}

/// A prefix that holds an archive, and a home folder with nothing in it.
struct Installed {
    place: tempfile::TempDir,
    prefix: PathBuf,
    machine: Machine,
}

impl Installed {
    /// Unpacks an archive.
    fn of(made: &Made) -> Result<Self> {
        let place = tempfile::tempdir()?;
        fs::create_dir(place.path().join("home"))?;
        let prefix = place.path().join("prefix");
        fs::create_dir(&prefix)?;
        let installed = Self { place, prefix, machine: made.release.machine };
        installed.add(&made.archive(""))?;
        Ok(installed)
    }

    fn add(&self, archive: &Path) -> Result<()> {
        let mut tar = Command::new("tar");
        tar.args(["--xz", "--strip-components=1", "-xf"]).arg(archive);
        done(tar.arg("-C").arg(&self.prefix))
    }

    fn home(&self) -> PathBuf {
        self.place.path().join("home")
    }

    /// The guests and machine code of it.
    fn library(&self, made: &Made) -> PathBuf {
        made.release.library(&self.prefix)
    }

    /// Runs the program with these words, and with no variable of ours.
    fn dormouse(&self, words: &[&str]) -> Result<Output> {
        let mut command = self.machine.run(&self.prefix.join("bin/dormouse"));
        command.args(words).env_clear().env("HOME", self.home()).env("PATH", "/usr/bin:/bin");
        Ok(command.output()?)
    }

    /// What it prints when all goes well.
    fn prints(&self, words: &[&str], wanted: &str) -> Result<()> {
        let ran = self.dormouse(words)?;
        let (said, complaint) = (text(&ran.stdout), text(&ran.stderr));
        ensure!(ran.status.success() && said == wanted, "{words:?} printed {said:?} and {complaint:?}");
        ensure!(!complaint.contains("compiled"), "{words:?}: {complaint}");
        Ok(())
    }

    /// The MCP server, which confines its own process, has the guests in its reach.
    fn serves(&self) -> Result<()> {
        let mut command = self.machine.run(&self.prefix.join("bin/dormouse"));
        command.arg("mcp");
        if !self.machine.is_here() {
            // The emulator has a thread of its own by then, which nothing could confine.
            command.arg("--no-confine");
        }
        command.env_clear().env("HOME", self.home()).env("PATH", "/usr/bin:/bin");
        serves(&mut command)
    }

    /// Every language answers, and a persistent sandbox goes on in the next process.
    fn answers(&self) -> Result<()> {
        self.prints(&["eval", "sum(n * n for n in range(4))"], "14\n")?;
        self.prints(&["eval", "-l", "javascript", "[1, 2, 3].map(n => n * n)"], "[1, 4, 9]\n")?;
        self.prints(&["eval", "-l", "typescript", "const n: number = 6 * 7; n"], "42\n")?;
        self.prints(&["eval", "-l", "php", "array_sum([1, 2, 3])"], "6\n")?;
        let home = self.home();
        ensure!(
            self.dormouse(&["sandbox", "create", "box"])?.status.success(),
            "no sandbox in {}",
            home.display()
        );
        ensure!(self.dormouse(&["sandbox", "eval", "box", "x = 20"])?.status.success(), "no first snippet");
        self.prints(&["sandbox", "eval", "box", "x + 1"], "21\n")?;
        self.prints(&["sandbox", "exec", "box", "echo 'a b' > f; wc -w < f"], "2\n")?;
        self.serves()?;
        let compiled = find(&home, "cwasm")?;
        ensure!(compiled.is_empty(), "machine code was made here: {compiled:?}");
        Ok(())
    }
}

/// What an MCP client says to a server, the last of it a snippet.
const CLIENT: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"trial","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"sandbox_eval","arguments":{"code":"6 * 7"}}}
"#;

/// Whether a server of MCP that is started so answers a snippet, and ends with its input.
fn serves(command: &mut Command) -> Result<()> {
    let mut server = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let mut input = server.stdin.take().context("a pipe was asked for")?;
    input.write_all(CLIENT.as_bytes())?;
    // As a client does: the end of the input is the end of the session, and of calls that go on for long.
    let mut answers = BufReader::new(server.stdout.take().context("a pipe was asked for")?);
    let (mut said, mut last) = (String::new(), 0);
    while answers.read_line(&mut said)? > 0 && !said[last..].contains("\"id\":2") {
        last = said.len();
    }
    drop(input);
    let ended = server.wait_with_output()?;
    let complaint = text(&ended.stderr);
    ensure!(said.contains(r#""value":42"#) && ended.status.success(), "mcp: {said:?} {complaint:?}");
    Ok(())
}

/// The files that are listed have the sums that are listed.
fn checksums(made: &Made) -> Result<()> {
    done(
        Command::new("sha256sum")
            .args(["--check", "--strict", "--quiet", "SHA256SUMS"])
            .current_dir(&made.folder),
    )?;
    let listed = fs::read_to_string(made.folder.join("SHA256SUMS"))?.lines().count();
    let there = fs::read_dir(&made.folder)?.count();
    ensure!(listed + 1 == there, "{listed} of {there} files have a checksum");
    Ok(())
}

fn archive(made: &Made) -> Result<()> {
    let installed = Installed::of(made)?;
    let version = format!("dormouse {}", made.release.version);
    let said = installed.dormouse(&["--version"])?;
    ensure!(text(&said.stdout).starts_with(&version), "it says {:?}", text(&said.stdout));
    installed.answers()?;
    if installed.machine.is_here() {
        let looked = installed.dormouse(&["doctor"])?;
        let found = text(&looked.stdout);
        ensure!(looked.status.success() && !found.contains("FAIL"), "the doctor finds {found}");
    } else {
        complain(
            "left out: `dormouse doctor`: it reserves a server's pool, which takes more memory in the emulator than there may be",
        );
    }
    let path = installed.dormouse(&["guests", "path", "python"])?;
    ensure!(text(&path.stderr).contains("-guests.tar.xz"), "{}", text(&path.stderr));
    let page = installed.prefix.join("share/man/man1/dormouse-eval.1.gz");
    let shown = Command::new("gzip").arg("-dc").arg(&page).output()?;
    ensure!(text(&shown.stdout).contains("Evaluate"), "`{}` is no manual page", page.display());
    let bill = installed.prefix.join("share/doc/dormouse-sandbox/sbom.cdx.json");
    ensure!(fs::read(bill)? == fs::read(made.bill())?, "the archive holds another bill of materials");
    Ok(())
}

/// What comes apart: without it an error says so, with it it works.
fn further(made: &Made) -> Result<()> {
    let installed = Installed::of(made)?;
    // In a language that every release has with fuel, a trial's too.
    let counting = ["eval", "--language", "javascript", "--fuel", "1000000000", "1 + 1"];
    let refused = installed.dormouse(&counting)?;
    let complaint = text(&refused.stderr);
    ensure!(!refused.status.success() && complaint.contains("-fuel.tar.xz"), "without fuel: {complaint}");
    installed.add(&made.archive("-fuel"))?;
    installed.prints(&counting, "2\n")?;
    installed.add(&made.archive("-git"))?;
    ensure!(installed.dormouse(&["sandbox", "create", "box"])?.status.success(), "no sandbox");
    let line = "git init -q r && cd r && echo a > a && git add a && git -c user.name=a -c user.email=a@b.c commit -qm first && git log --format=%s";
    installed.prints(&["sandbox", "exec", "box", line], "first\n")
}

fn debian(made: &Made) -> Result<()> {
    let place = tempfile::tempdir()?;
    fs::create_dir(place.path().join("home"))?;
    done(Command::new("dpkg-deb").arg("--extract").arg(made.debian()).arg(place.path()))?;
    let about = Command::new("dpkg-deb").arg("--info").arg(made.debian()).output()?;
    ensure!(text(&about.stdout).contains("Package: dormouse-sandbox\n"), "{}", text(&about.stdout));
    let prefix = place.path().join("usr");
    Installed { place, prefix, machine: made.release.machine }.answers()
}

/// A prefix and a home folder that nobody can write: what needs no state works.
fn as_nobody(made: &Made) -> Result<()> {
    let installed = Installed::of(made)?;
    let nobody = ["--reuid=65534", "--regid=65534", "--clear-groups", "--no-new-privs"];
    for folder in [installed.place.path(), &installed.prefix] {
        fs::set_permissions(folder, fs::Permissions::from_mode(0o755))?;
    }
    let mut command = Command::new("setpriv");
    command.args(nobody).arg(installed.prefix.join("bin/dormouse")).args(["eval", "1 + 1"]);
    let ran = command.env_clear().env("HOME", installed.home()).env("PATH", "/usr/bin:/bin").output()?;
    let complaint = text(&ran.stderr);
    ensure!(ran.status.success() && text(&ran.stdout) == "2\n", "{} {complaint}", text(&ran.stdout));
    Ok(())
}

/// An artifact that lost bytes is not used, and the error says what to do.
fn damage(made: &Made) -> Result<()> {
    let installed = Installed::of(made)?;
    let artifacts = find(&installed.library(made), "cwasm")?;
    for artifact in &artifacts {
        let mut bytes = fs::read(artifact)?;
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(artifact, bytes)?;
    }
    let ran = installed.dormouse(&["eval", "1 + 1"])?;
    let complaint = text(&ran.stderr);
    ensure!(
        !ran.status.success() && complaint.contains("guest_missing"),
        "{} {complaint}",
        text(&ran.stdout)
    );
    ensure!(complaint.contains("install the release again"), "{complaint}");
    Ok(())
}

/// The image, in an engine: with a root that cannot be written and without a network.
fn image(made: &Made) -> Result<()> {
    let session = match Session::start()? {
        Start::Ready(session) => session,
        Start::Skipped(cause) => {
            complain(&format!("left out: {IMAGE}: {cause}"));
            return Ok(());
        }
    };
    let docker = |words: &[&str]| {
        let mut docker = Command::new("docker");
        docker.args(words).envs(session.environment());
        docker
    };
    let said = |words: &[&str]| -> Result<String> {
        let ran = docker(words).output()?;
        ensure!(ran.status.success(), "docker {}: {}", words.join(" "), text(&ran.stderr));
        Ok(text(&ran.stdout).trim().to_owned())
    };
    let name = format!("dormouse-sandbox:{}", made.release.version);
    said(&["load", "--quiet", "--input", made.image().to_str().context("a path is text")?])?;
    let confined = ["--read-only", "--tmpfs", "/tmp", "--network", "none", "--cap-drop", "ALL"];
    let state = ["--tmpfs", "/state:uid=65532,gid=65532,mode=0700"];
    let used = || -> Result<()> {
        let program = ["--entrypoint", "/usr/bin/dormouse", &name];
        let run = [&["run", "--rm", "-i"][..], &confined, &state, &program].concat();
        for (words, wanted) in [(["eval", "6 * 7"], "42"), (["eval", "open('/etc/passwd')"], "")] {
            let ran = docker(&[&run[..], &words].concat()).output()?;
            ensure!(
                text(&ran.stdout).trim() == wanted,
                "{words:?}: {} {}",
                text(&ran.stdout),
                text(&ran.stderr)
            );
        }
        serves(&mut docker(&[&run[..], &["mcp"]].concat()))?;
        // As it is meant to be run: the server of many owners.
        let place = tempfile::tempdir()?;
        let tokens = place.path().join("tokens");
        fs::write(&tokens, "somebody a-token-of-this-trial\n")?;
        fs::set_permissions(&tokens, fs::Permissions::from_mode(0o400))?;
        std::os::unix::fs::chown(&tokens, Some(65_532), Some(65_532))?;
        let mount = format!("{}:/run/secrets/tokens:ro", tokens.display());
        let id = said(&[&["run", "-d"][..], &confined, &state, &["--volume", &mount, &name]].concat())?;
        let healthy = (0..120).find_map(|_| {
            std::thread::sleep(Duration::from_millis(250));
            docker(&["exec", &id, "/usr/bin/dormouse", "health"])
                .output()
                .ok()
                .filter(|ran| ran.status.success())
        });
        let log = said(&["logs", &id]);
        let user = said(&["exec", &id, "/usr/bin/dormouse", "eval", "1 + 1"]);
        said(&["rm", "--force", "--volumes", &id])?;
        ensure!(healthy.is_some_and(|ran| text(&ran.stdout).contains("ok")), "no health: {log:?}");
        ensure!(user? == "2", "no snippet beside the server");
        Ok(())
    };
    let used = used();
    said(&["rmi", "--force", &name])?;
    used?;
    let size = fs::metadata(made.image())?.len();
    ensure!(size <= 120_000_000, "the image is {size} bytes large");
    let outcome = session.finish()?;
    ensure!(
        outcome.problems.iter().all(|problem| problem.contains("no test has started")),
        "{:?}",
        outcome.problems
    );
    Ok(())
}

/// The image holds what its program is started with: the loader, told to look there alone, starts it.
fn libraries(made: &Made) -> Result<()> {
    let place = tempfile::tempdir()?;
    let unpack = |archive: &Path, zip: &str| {
        let mut tar = Command::new("tar");
        tar.arg(zip).arg(archive).arg("-C").arg(place.path());
        done(&mut tar)
    };
    unpack(&made.image(), "-xf")?;
    let manifest: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(place.path().join("manifest.json"))?)?;
    let layer = manifest[0]["Layers"][0].as_str().context("the image has a layer")?;
    unpack(&place.path().join(layer), "-xzf")?;
    let mut program = made.release.machine.run_in(place.path(), &place.path().join("usr/bin/dormouse"));
    let ran = program
        .args(["eval", "6 * 7"])
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("HOME", place.path())
        .output()?;
    ensure!(text(&ran.stdout) == "42\n", "{} {}", text(&ran.stdout), text(&ran.stderr));
    Ok(())
}

/// The bundle, unpacked and started as a client does.
fn bundle(made: &Made) -> Result<()> {
    let place = tempfile::tempdir()?;
    done(Command::new("unzip").arg("-q").arg(made.bundle()).arg("-d").arg(place.path()))?;
    let read =
        |path: &Path| -> Result<serde_json::Value> { Ok(serde_json::from_str(&fs::read_to_string(path)?)?) };
    let manifest = read(&place.path().join("manifest.json"))?;
    let config = &manifest["server"]["mcp_config"];
    let here = place.path().to_str().context("a path is text")?;
    let state = place.path().join("state");
    let filled = |word: &serde_json::Value| {
        let word = word.as_str().unwrap_or_default().replace("${__dirname}", here);
        word.replace("${user_config.state}", &state.display().to_string())
    };
    let mut server = Command::new(filled(&config["command"]));
    server.args(config["args"].as_array().into_iter().flatten().map(filled));
    serves(server.env_clear().env("HOME", place.path().join("home")).env("PATH", "/usr/bin:/bin"))?;
    let listed = read(&made.folder.join("server.json"))?;
    let sum = sha256(&fs::read(made.bundle())?);
    ensure!(listed["packages"][0]["fileSha256"] == sum, "server.json names another bundle");
    Ok(())
}

/// The files below a folder whose names end so.
fn find(folder: &Path, extension: &str) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(find(&path, extension)?);
        } else if path.extension().is_some_and(|end| end == extension) {
            found.push(path);
        }
    }
    Ok(found)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
