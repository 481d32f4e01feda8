//! The own tests of clients of HTTP: those of `requests` and `httpx`, run by pytest inside the Python guest, with the network of a run.
//! The servers that their fixtures would start run on this machine.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use dormouse_chores::arguments::Extent;
use dormouse_chores::outcome::Totals;
use dormouse_chores::progress::Progress;
use dormouse_chores::sources::{self, PythonFile};
use dormouse_chores::{Cache, folder, program, python, workspace};
use serde_json::{Value as Json, json};
use tempfile::TempDir;

use crate::expected::{Expected, Kind};
use crate::report::Report;
use crate::sandbox::each;

/// Our files: what runs the tests, in place of their fixtures; the servers; the list.
const FOLDER: &str = "packages/own";

/// What the tests are made of: in the guest, and on this machine for the servers. Those of `httpx` need a `chardet` and a `click` as old.
const INSTALLED: &str = "pytest==9.2.0 pytest-mock==3.17.0 requests==2.34.2 pysocks==1.7.1 httpx==0.28.1 h2==4.4.1 \
    socksio==1.0.0 chardet==5.2.0 click==8.1.8 pygments==2.21.0 rich==13.9.4 sniffio==1.3.1 pytest-httpbin==2.1.0 \
    httpbin==0.10.4 uvicorn==0.54.0 trustme==1.2.1";

/// The sources, which have the tests.
const SOURCES: [PythonFile; 2] = [
    PythonFile {
        project: "requests",
        file: "requests-2.34.2.tar.gz",
        sha256: "f288924cae4e29463698d6d60bc6a4da69c89185ad1e0bcc4104f584e960b9ed",
    },
    PythonFile {
        project: "httpx",
        file: "httpx-0.28.1.tar.gz",
        sha256: "75e98c5f16b0f35b567856f597f06ff2270a374470a5c2392242528e3e3e42fc",
    },
];

/// What of a source is unpacked. Tests of `requests` upload the second one.
const UNPACKED: [&str; 2] = ["*/tests", "*/requirements-dev.txt"];

/// What the text of a test begins with that ended its run.
const STOPPED: &str = "stopped: ";

/// One run of pytest: the package, its options, and the files.
type Part = (&'static str, &'static [&'static str], &'static [&'static str]);

/// As `pyproject.toml` and fixtures of the packages have it.
const REQUESTS: [&str; 2] = ["-p", "requests_fixtures"];
const HTTPX: [&str; 5] = ["--noconftest", "-p", "httpx_fixtures", "-W", "error"];

/// Parts that take a few seconds each, so that a slow machine does not come near the limit of a run (60 s); the longest first.
const PARTS: [Part; 5] = [
    ("requests", &REQUESTS, &["tests/test_requests.py"]),
    ("requests", &REQUESTS, &["tests", "--ignore=tests/test_requests.py"]),
    ("httpx", &HTTPX, &["tests", "--ignore=tests/client", "--ignore=tests/models"]),
    ("httpx", &HTTPX, &["tests/client"]),
    ("httpx", &HTTPX, &["tests/models"]),
];

/// Runs them; their list is one of its own.
pub(super) fn run(dormouse: &Path, extent: &Extent) -> Result<Totals> {
    let mut report = Report::default();
    let mut expected = Expected::load(FOLDER, "expected.txt")?;
    let mut told = BTreeSet::new();
    ensure!(expected.of(Kind::Stop).next().is_none(), "a test that ends its run is to be listed as `skip:`");
    match python::require() {
        Ok(()) => {
            let place = provide()?;
            let servers = Servers::start(&place)?;
            for (name, reason) in expected.of(Kind::Skip).filter(|(name, _)| extent.wants(name)) {
                report.skip(&format!("{reason} ({name})"), 1);
            }
            let without: Vec<&str> = expected.of(Kind::Skip).map(|(name, _)| name).collect();
            let runs = each("packages", &PARTS, async |index| {
                let asked = asked(PARTS[index], extent, &without);
                one(dormouse, &place, &servers, &asked)
            })?;
            for ((package, ..), results) in PARTS.iter().zip(runs) {
                for (name, word, text) in results? {
                    let name = format!("{package}: {name}");
                    count(&mut report, &name, &word, text);
                    told.insert(name);
                }
            }
        }
        Err(cause) => report.skip(&cause, 1),
    }
    // A listed test that is not there any more is to be told of, unless it is not known which were there.
    let is_whole = !told.is_empty() && !report.failures.values().any(|text| text.starts_with(STOPPED));
    let is_whole = is_whole && extent.only.is_none();
    report.close("packages", &mut expected, extent, |name| is_whole || told.contains(name))
}

fn count(report: &mut Report, name: &str, word: &str, text: String) {
    match word {
        "skipped" => report.skip(&text, 1),
        "passed" => report.count(name, Ok(())),
        _ => report.count(name, Err(text)),
    }
    // There such a test is run twice.
    if name.contains("[asyncio") {
        report.skip("it is over trio, which has no loop for this system (it asks for epoll or kqueue)", 1);
    }
}

/// What `run.py` is asked for.
fn asked((package, options, files): Part, extent: &Extent, without: &[&str]) -> Json {
    let arguments = [options, files].concat();
    let only = extent.only.as_deref().unwrap_or_default();
    json!({"package": package, "arguments": arguments, "only": only, "without": without})
}

/// A project with the packages and the tests.
fn provide() -> Result<PathBuf> {
    let key = format!("{INSTALLED} {SOURCES:?} {UNPACKED:?}");
    folder::provide("packages-own", &key, |into| {
        let progress = Progress::new("packages");
        for source in &SOURCES {
            let archive = sources::python(&Cache::open()?, &progress, source)?;
            let folder = into.join(source.project);
            fs::create_dir(&folder)?;
            let mut tar = Command::new("tar");
            tar.arg("-xzf").arg(&archive).args(["--no-same-owner", "--strip-components=1", "--wildcards"]);
            // Not each of them is in each source.
            program::run(tar.arg("-C").arg(&folder).args(UNPACKED), program::INSTALLATION)?;
            ensure!(folder.join("tests/conftest.py").is_file(), "`{}` has no tests", source.file);
        }
        let _step = progress.step("installing what tests of packages need (pip)");
        let environment = into.join(".venv");
        program::install(Command::new("python3").args(["-m", "venv"]).arg(&environment))?;
        let pip = || {
            let mut pip = Command::new(environment.join("bin/pip"));
            pip.args(["install", "--quiet", "--disable-pip-version-check"])
                .args(INSTALLED.split_whitespace());
            pip
        };
        program::fetch(pip).map(drop)
    })
}

/// Runs one part: what became of each test, as its name, a word and a text.
fn one(
    dormouse: &Path,
    place: &Path,
    servers: &Servers,
    asked: &Json,
) -> Result<Vec<(String, String, String)>> {
    let own = workspace().join("tests/conformance").join(FOLDER);
    let stdin = tempfile::NamedTempFile::new()?;
    fs::write(stdin.path(), asked.to_string())?;
    let mount = |folder: &Path, at: &str| format!("{}:{at}", folder.display());
    let mut command = Command::new(dormouse);
    command.args(["eval", "--json", "--timeout", "60s", "--memory", "512MiB", "--output", "8MiB"]);
    command.arg("--project").arg(place).args(["--mount", &mount(&own, "/own")]);
    command.args(["--mount", &mount(&servers.files(), "/certificates")]);
    command.arg("--network").arg(servers.path("net.toml"));
    command.arg("--network-audit").arg(servers.path("network.jsonl"));
    command.arg("--env").arg(format!("ADDRESSES={}", servers.addresses));
    command.arg("--stdin").arg(stdin.path()).arg("--file").arg(own.join("run.py"));
    let said = program::run(&mut command, Duration::from_secs(90))?;
    let answer: Json = serde_json::from_str(&said.stdout).with_context(|| said.end())?;
    let shown = [&answer["exception"]["message"], &answer["error"]["message"], &answer["stdout"]];
    let why = shown.into_iter().find(|part| !part.is_null()).map(Json::to_string).unwrap_or_default();
    read(answer["stdout"].as_str().unwrap_or_default(), &why)
}

/// The lines that `run.py` printed. Where the last one is missing, the test that began last has ended the run.
fn read(stdout: &str, why: &str) -> Result<Vec<(String, String, String)>> {
    let (mut results, mut last) = (Vec::new(), "nothing began".to_owned());
    for line in stdout.lines().filter_map(|line| line.strip_prefix('\u{1}')) {
        let mut parts: Vec<String> = serde_json::from_str(line).context("a line of the tests is cut")?;
        match &mut parts[..] {
            [] => return Ok(results),
            [name, word, text] => {
                results.push((std::mem::take(name), std::mem::take(word), std::mem::take(text)));
            }
            [name, ..] => last = std::mem::take(name),
        }
    }
    results.push((last, "failed".into(), format!("{STOPPED}{why}")));
    Ok(results)
}

/// The servers, and the rules with which a run reaches them.
struct Servers {
    process: Child,
    folder: TempDir,
    /// JSON: their URLs by name.
    addresses: String,
}

impl Drop for Servers {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Servers {
    fn start(place: &Path) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let files = folder.path().join("certificates");
        fs::create_dir(&files)?;
        let mut process = Command::new(place.join(".venv/bin/python"))
            .arg(workspace().join("tests/conformance").join(FOLDER).join("server.py"))
            .args([place, &files])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start the servers of the tests")?;
        let output = process.stdout.take().context("a pipe was asked for")?;
        let mut addresses = String::new();
        BufReader::new(output).read_line(&mut addresses)?;
        let servers = Self { process, folder, addresses: addresses.trim().to_owned() };
        let told: Json = serde_json::from_str(&servers.addresses).context("the servers did not start")?;
        let mut rules = "trust = [\"certificates/authority.pem\"]\n".to_owned();
        for url in told.as_object().context("the servers told nothing")?.values() {
            let url = url.as_str().unwrap_or_default();
            let (protocol, at) = url.split_once("://").context("an address is no URL")?;
            let (host, port) = at.split_once(':').context("an address has no port")?;
            rules.push_str(&format!(
                "[[profile.default.allow]]\nhost = \"{host}\"\nport = {port}\nprotocol = \"{protocol}\"\n"
            ));
        }
        fs::write(servers.path("net.toml"), rules)?;
        Ok(servers)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Certificates and keys that tests read.
    fn files(&self) -> PathBuf {
        self.path("certificates")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_without_its_last_line_was_ended_by_the_test_that_began_last() {
        let whole = "\u{1}[\"a\"]\n.\n\u{1}[\"a\", \"passed\", \"\"]\n\u{1}[\"b\"]\n\u{1}[\"b\", \"failed\", \"x\"]\n\u{1}[]\n";
        let result = |name: &str, word: &str, text: &str| (name.to_owned(), word.to_owned(), text.to_owned());
        assert_eq!(read(whole, "").unwrap(), [result("a", "passed", ""), result("b", "failed", "x")]);
        let (cut, _) = whole.split_at(whole.find("\u{1}[\"b\", ").unwrap());
        assert_eq!(
            read(cut, "time").unwrap(),
            [result("a", "passed", ""), result("b", "failed", "stopped: time")]
        );
    }
}
