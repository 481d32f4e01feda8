//! Programs of the system that the Rust tests start, and the Debian packages that hold them.
//!
//! A test whose program is missing leaves its part out and says so. Where all of them are there, tests are told that none
//! may be missing.

use dormouse_chores::apt;
use dormouse_chores::program::on_path;
use dormouse_chores::progress::{Progress, complain};

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
    match missing().next() {
        None => vec![(REQUIRE, "1".to_owned())],
        Some(_) => Vec::new(),
    }
}
