//! Files: without a grant there is nothing, a read-only grant stays read-only, and its own files have an end.

mod javascript;
mod php;
mod python;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use dormouse::{Access, EvalRequest, GuestPath, Mount};
use dormouse_tests::attack::Attack;
use dormouse_tests::case::case;
use dormouse_tests::ending::{answer, value};
use dormouse_tests::levels::{Levels, Watch};
use dormouse_tests::{JAVASCRIPT, PHP, PYTHON, canary, sandbox};
use serde_json::json;
use tempfile::TempDir;

/// Paths of the host, and of schemes that some languages open like files.
pub(crate) const FOREIGN: [&str; 23] = [
    "/etc/passwd",
    "/etc/hostname",
    "/proc/self/environ",
    "/proc/self/mem",
    "/proc/self/root/etc/passwd",
    "/proc/1/cmdline",
    "/dev/mem",
    "/dev/null",
    "/sys/kernel",
    "/root",
    "/home",
    "../etc/passwd",
    "../../../../../../etc/passwd",
    "/tmp/../etc/passwd",
    "/tmp/../../etc/passwd",
    "/tmp/../tmp/../etc/passwd",
    "//etc/passwd",
    "/./etc/passwd",
    "C:\\\\Windows\\\\win.ini",
    "file:///etc/passwd",
    "data:text/plain,x",
    "php://filter/resource=/etc/passwd",
    "\\\\\\\\host\\\\share",
];

/// A host folder with one file and one folder in it, and links that lead out.
pub(crate) struct Project {
    folder: TempDir,
}

impl Project {
    pub(crate) fn new() -> Self {
        let folder =
            tempfile::Builder::new().prefix("dormouse-project-").tempdir().expect("a temporary folder");
        fs::write(folder.path().join("x"), "original").expect("a file can be written");
        fs::create_dir(folder.path().join("d")).expect("a folder can be made");
        fs::write(folder.path().join("d/y"), "inner").expect("a file can be written");
        Self { folder }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Links to the canary and to files of the host, each by another way. Returns the paths that would reach them.
    fn with_links(&self) -> Vec<String> {
        let canary = canary::path();
        let outside = canary.parent().expect("the canary lies in a folder");
        let name = outside.file_name().expect("a name").to_string_lossy().into_owned();
        let link =
            |target: &Path, name: &str| symlink(target, self.path().join(name)).expect("a link can be made");
        link(&canary, "to-file");
        link(outside, "to-folder");
        link(Path::new("/etc"), "to-etc");
        link(Path::new(".."), "up");
        link(Path::new("d/../../.."), "up-by-down");
        link(Path::new("/proc/self/root"), "to-root");
        link(Path::new("/proc/self/cwd"), "to-cwd");
        link(&Path::new("..").join(&name).join("canary"), "relative");
        link(Path::new("to-folder"), "by-another");
        let inner = self.path().join("d/to-parent");
        symlink(Path::new("../.."), inner).expect("a link can be made");
        [
            "to-file",
            "to-folder/canary",
            "to-etc/passwd",
            "to-root/etc/passwd",
            "to-cwd/Cargo.toml",
            "relative",
        ]
        .map(str::to_owned)
        .into_iter()
        .chain([
            format!("up/{name}/canary"),
            format!("up-by-down/{name}/canary"),
            "by-another/canary".into(),
            format!("d/to-parent/{name}/canary"),
            format!("up/../..{}", canary.display()),
        ])
        .collect()
    }

    /// Links that lead nowhere: to themselves, in a ring, in a long chain, to nothing.
    fn with_knots(&self) -> Vec<String> {
        let link =
            |target: &str, name: &str| symlink(target, self.path().join(name)).expect("a link can be made");
        link("self", "self");
        link("ring-b", "ring-a");
        link("ring-a", "ring-b");
        link("nothing", "dangling");
        for number in 0..60 {
            link(&format!("chain{}", number + 1), &format!("chain{number}"));
        }
        link("x", "chain60");
        ["self", "ring-a", "dangling", "chain0", "self/x", "x/", "x/y"].map(str::to_owned).to_vec()
    }

    /// Content, time and mode of every file in it.
    pub(crate) fn state(&self) -> BTreeMap<PathBuf, State> {
        let mut found = BTreeMap::new();
        collect(self.path(), &mut found);
        found
    }

    fn mount(&self, request: &mut EvalRequest, target: &str, access: Access) {
        let target = GuestPath::parse(target).expect("a sandbox path");
        request.context.grants.mounts.push(Mount { source: self.path().into(), target, access });
    }
}

/// What the host may spend on runs of 64 MiB of files each, in KiB: twice the bytes of what a run keeps, as much for the
/// run before, of which the allocator has not given all back, 1 KiB for each name, and the guests' own memory.
const MOST_SPENT: u64 = (4 * 64 + 2 + 2 * 128) << 10;

/// Runs something that fills files, and holds the host's memory to [`MOST_SPENT`].
fn bounded<T>(fill: impl FnOnce() -> T) -> T {
    let (before, watch) = (Levels::now(), Watch::begin());
    let filled = fill();
    let spent = watch.end().memory.saturating_sub(before.memory);
    assert!(spent <= MOST_SPENT, "the host spent {spent} KiB");
    filled
}

/// A loop that overwrites one file for ever: in `/tmp` its time ends it, below a mount what it has written.
fn overwriting_ends(language: &'static str, code: &str, full: &'static str) {
    bounded(|| Attack::new(language).wall(2_000).ends(&["limit_time"]).run(&[code]));
    let project = Project::new();
    let attack = Attack::new(language).wall(30_000).ends(&[full]);
    let mut request = attack.request(&code.replace("/tmp/", "/mnt/"));
    project.mount(&mut request, "/mnt", Access::ReadWrite);
    let written = attack.run_requests(vec![request]).remove(0).usage.disk_written;
    assert!(written <= 64 << 20, "{written} bytes were written");
}

pub(crate) type State = (Vec<u8>, SystemTime, u32);

fn collect(folder: &Path, found: &mut BTreeMap<PathBuf, State>) {
    for entry in fs::read_dir(folder).expect("a folder can be listed").flatten() {
        let metadata = entry.path().symlink_metadata().expect("it is there");
        let modified = metadata.modified().expect("the system keeps times");
        let content =
            if metadata.is_file() { fs::read(entry.path()).expect("it can be read") } else { Vec::new() };
        found.insert(entry.path(), (content, modified, metadata.permissions().mode()));
        if metadata.is_dir() {
            collect(&entry.path(), found);
        }
    }
}

/// Runs a snippet that lists what it could do below `/mnt`: all of `wanted` when that is writable, nothing when it is not,
/// and then the project is as it was.
fn only_with_write_access(language: &'static str, code: &str, wanted: &[&str]) {
    let attack = Attack::new(language).wall(20_000).ends(&["returned"]);
    let run = |access: Access| {
        let project = Project::new();
        let before = project.state();
        let mut request = attack.request(code);
        request.context.bounds.items = 1_000;
        project.mount(&mut request, "/mnt", access);
        let outcome = attack.run_requests(vec![request]).remove(0);
        let done = value(&outcome)["value"].as_array().cloned().unwrap_or_default();
        let done: Vec<String> =
            done.iter().map(|item| item["value"].as_str().unwrap_or("?").to_owned()).collect();
        (done, before == project.state())
    };
    let (done, unchanged) = run(Access::ReadOnly);
    assert!(done.is_empty(), "possible below a read-only mount: {done:?}");
    assert!(unchanged, "the project was changed");
    let (done, unchanged) = run(Access::ReadWrite);
    for name in wanted {
        assert!(
            done.iter().any(|done| done == name),
            "`{name}` is impossible below a writable mount: {done:?}"
        );
    }
    assert!(!unchanged);
}
