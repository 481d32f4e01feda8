//! What each image is made of.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use dormouse_chores::program;
use dormouse_chores::progress::Progress;
use dormouse_chores::{Cache, workspace};

use super::debian::{self, Package};
use super::tree::Tree;
use super::{KEY, npm};
use crate::Client;

/// What `full` has: a shell and its commands, git, and the interpreters that containers serve evaluations with.
pub(super) const FULL: [&str; 16] = [
    "bash",
    "ca-certificates",
    "coreutils",
    "dash",
    "diffutils",
    "findutils",
    "git",
    "grep",
    "gzip",
    "libc-bin",
    "mawk",
    "nodejs",
    "php-cli",
    "python3",
    "sed",
    "tar",
];
/// The one package of `busybox`, `noshell` and `surprise`.
pub(super) const BUSYBOX: &str = "busybox-static";
/// What packages of `full` ask for when they are installed, or for parts of them that tests do not use.
const SKIPPED: [&str; 15] = [
    "base-files",
    "debconf",
    "debianutils",
    "dpkg",
    "gcc-12-base",
    "git-man",
    "libdpkg-perl",
    "liberror-perl",
    "libmagic-mgc",
    "openssl",
    "psmisc",
    "readline-common",
    "sensible-utils",
    "ucf",
    "libgdbm-compat4",
];
/// Where the files of the MCP server lie, and where they go.
pub(super) const SERVER: &str = "tests/images/mcp";
const SERVER_IN_IMAGE: &str = "opt/mcp";
/// The search path of `full`.
const PATH: &str = "ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// How long one command on the machine may take.
const COMMAND: Duration = Duration::from_secs(60);

/// Whether a package that others ask for is left out.
pub(super) fn is_skipped(name: &str) -> bool {
    SKIPPED.contains(&name) || name.starts_with("perl") || name.starts_with("libperl")
}

/// Builds all images. Their label says what they were made of.
pub(super) fn build(client: &Client, packages: &[Package], key: &str, progress: &Progress) -> Result<()> {
    let scratch = Scratch::open()?;
    let files = {
        let _step = progress.step(&format!("fetching {} packages (apt-get download)", packages.len()));
        debian::download(packages, &scratch.folder("packages")?)?
    };
    let _step = progress.step("building");
    let build = Build { client, files, scratch, label: format!("LABEL {KEY}={key}") };
    build.small()?;
    build.full(progress)?;
    build.server()
}

/// Where images are put together: a folder of the cache, for one build at a time. It is emptied before and after, so that a
/// build that was killed costs no disk for long.
struct Scratch {
    root: PathBuf,
    /// Locked.
    _lock: File,
}

impl Scratch {
    fn open() -> Result<Self> {
        let cache = Cache::open()?;
        let lock = File::create(cache.images()?.join("lock"))?;
        lock.lock()?;
        let root = cache.scratch("images")?;
        let scratch = Self { root, _lock: lock };
        scratch.empty()?;
        Ok(scratch)
    }

    /// A new folder in it.
    fn folder(&self, name: &str) -> Result<PathBuf> {
        let path = self.root.join(name);
        fs::create_dir(&path)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
        Ok(path)
    }

    fn empty(&self) -> Result<()> {
        fs::remove_dir_all(&self.root)?;
        Ok(fs::create_dir(&self.root)?)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = self.empty();
    }
}

struct Build<'a> {
    client: &'a Client,
    /// The packages.
    files: Vec<PathBuf>,
    scratch: Scratch,
    label: String,
}

impl Build<'_> {
    fn import(&self, tree: &Tree, name: &str, changes: &[&str]) -> Result<()> {
        let tar = self.scratch.root.join("image.tar");
        tree.pack(&tar)?;
        let mut all: Vec<String> = changes.iter().map(|change| (*change).to_owned()).collect();
        all.push(self.label.clone());
        self.client.import(&tar, &all, name)?;
        Ok(fs::remove_file(&tar)?)
    }

    /// busybox with a link for each of its commands; the same with everything in its configuration that can surprise; and
    /// one program that cannot be anything but `sleep`.
    fn small(&self) -> Result<()> {
        let unpacked = self.scratch.folder("unpacked")?;
        let is_busybox = |file: &&PathBuf| name_of(file).starts_with("busybox-static_");
        debian::unpack(self.files.iter().find(is_busybox).context("busybox-static is missing")?, &unpacked)?;
        let found = ["bin/busybox", "usr/bin/busybox"].map(|path| unpacked.join(path));
        let program = found.iter().find(|path| path.is_file()).context("busybox-static has no busybox")?;
        let busybox = Tree::new(self.scratch.folder("busybox")?, "/bin/sh")?;
        busybox.folder("bin", 0o755)?;
        busybox.folder("usr", 0o755)?;
        busybox.link("../bin", "usr/bin")?;
        busybox.program(program, "bin/busybox")?;
        let commands = program::run(Command::new(program).arg("--list"), COMMAND)?;
        ensure!(commands.succeeded(), "busybox: {}", commands.end());
        for command in commands.stdout.lines() {
            busybox.link("busybox", &format!("bin/{command}"))?;
        }
        let plain = ["ENV PATH=/bin", "WORKDIR /workspace", "CMD [\"sh\"]"];
        self.import(&busybox, "dormouse-test/busybox:1", &plain)?;
        let surprising = [
            "ENV PATH=/bin",
            "VOLUME /data",
            "WORKDIR /data",
            "USER 1234:1234",
            "ENTRYPOINT [\"/bin/sleep\", \"2147483647\"]",
            "HEALTHCHECK --interval=1s --timeout=1s --retries=1 CMD false",
        ];
        self.import(&busybox, "dormouse-test/surprise:1", &surprising)?;
        let noshell = Tree::new(self.scratch.folder("noshell")?, "/bin/sleep")?;
        noshell.folder("bin", 0o755)?;
        noshell.program(program, "bin/sleep")?;
        self.import(
            &noshell,
            "dormouse-test/noshell:1",
            &["ENV PATH=/bin", "CMD [\"/bin/sleep\", \"2147483647\"]"],
        )
    }

    /// Debian's programs, without their installation scripts: what those do and tests need is done here.
    fn full(&self, progress: &Progress) -> Result<()> {
        let tree = Tree::new(self.scratch.folder("full")?, "/bin/bash")?;
        for folder in ["bin", "lib", "lib64", "sbin"] {
            tree.folder(&format!("usr/{folder}"), 0o755)?;
            tree.link(&format!("usr/{folder}"), folder)?;
        }
        for file in self.files.iter().filter(|file| !name_of(file).starts_with("busybox-static_")) {
            debian::unpack(file, &tree.path(""))?;
        }
        tree.link("dash", "usr/bin/sh")?;
        tree.link("mawk", "usr/bin/awk")?;
        certificates(&tree)?;
        php(&tree)?;
        if let Err(error) = npm::install(&tree) {
            progress.say(&format!("dormouse-test/full:1 has no npm: {error:#}"));
        }
        let stage = "dormouse-test/stage:1";
        let shown = ["WORKDIR /workspace", "ENV LANG=C.UTF-8", "CMD [\"bash\"]", PATH];
        self.import(&tree, stage, &shown)?;
        let finished = self.finished(stage);
        self.client.run(["rmi", stage])?;
        finished
    }

    /// Has the image prepare itself: the list of libraries, and Python's modules compiled once instead of at every start.
    fn finished(&self, stage: &str) -> Result<()> {
        let script = "ldconfig && exec python3 -m compileall -q -j 0 --invalidation-mode unchecked-hash /usr/lib/python3*";
        let create = ["create", "--network", "none", "--label", KEY, stage, "bash", "-ec", script];
        let container = self.client.run(create)?;
        let done = self.client.run(["start", "--attach", &container]).and_then(|_| {
            // A commit takes the command of the container.
            self.commit(&container, "dormouse-test/full:1", &["CMD [\"bash\"]"])
        });
        self.client.run(["rm", "--force", "--volumes", &container])?;
        done
    }

    /// `full` with the MCP server, which is started as an ordinary user.
    fn server(&self) -> Result<()> {
        let tree = self.scratch.folder("mcp")?;
        let folder = tree.join(SERVER_IN_IMAGE);
        fs::create_dir_all(&folder)?;
        for file in fs::read_dir(workspace().join(SERVER))?.flatten() {
            fs::copy(file.path(), folder.join(file.file_name()))?;
        }
        let container = self.client.run(["create", "--label", KEY, "dormouse-test/full:1"])?;
        let from = tree.join("opt").display().to_string();
        let made = self.client.run(["cp", &from, &format!("{container}:/")]).and_then(|_| {
            let command = format!("CMD [\"python3\", \"-B\", \"/{SERVER_IN_IMAGE}/server.py\"]");
            let changes = [command.as_str(), "EXPOSE 8080", "USER 65534:65534", "ENV HOME=/tmp"];
            self.commit(&container, "dormouse-test/mcp:1", &changes)
        });
        self.client.run(["rm", "--force", "--volumes", &container])?;
        made
    }

    fn commit(&self, container: &str, name: &str, changes: &[&str]) -> Result<()> {
        let all =
            changes.iter().copied().chain([self.label.as_str()]).flat_map(|change| ["--change", change]);
        let arguments: Vec<&str> = ["commit"].into_iter().chain(all).chain([container, name]).collect();
        self.client.run(arguments).map(drop)
    }
}

fn name_of(file: &Path) -> String {
    file.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// All certificates in one file, as `update-ca-certificates` makes it.
fn certificates(tree: &Tree) -> Result<()> {
    let mut all = Vec::new();
    for file in sorted(&tree.path("usr/share/ca-certificates/mozilla"))? {
        all.extend(fs::read(file)?);
    }
    tree.folder("etc/ssl/certs", 0o755)?;
    tree.file("etc/ssl/certs/ca-certificates.crt", all)
}

/// The command's own name, and the extensions switched on, as `phpenmod` does it.
fn php(tree: &Tree) -> Result<()> {
    let is_version = |name: &str| {
        name.strip_prefix("php").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    let programs = sorted(&tree.path("usr/bin"))?;
    let program = programs.iter().map(|path| name_of(path)).find(|name| is_version(name));
    let program = program.context("php-cli has no program")?;
    tree.link(&program, "usr/bin/php")?;
    let into = format!("etc/php/{}/cli/conf.d", program.trim_start_matches("php"));
    tree.folder(&into, 0o755)?;
    for package in sorted(&tree.path("usr/share"))?.iter().filter(|path| is_version(&name_of(path))) {
        for file in sorted(package)?
            .iter()
            .filter(|path| path.is_dir())
            .map(|path| sorted(path))
            .collect::<Result<Vec<_>>>()?
            .concat()
        {
            if file.extension().is_some_and(|extension| extension == "ini") {
                let text = fs::read_to_string(&file)?;
                let priority = text.lines().find_map(|line| line.strip_prefix("; priority=")).unwrap_or("20");
                tree.file(&format!("{into}/{}-{}", priority.trim(), name_of(&file)), &text)?;
            }
        }
    }
    Ok(())
}

fn sorted(folder: &Path) -> Result<Vec<PathBuf>> {
    let all = fs::read_dir(folder).with_context(|| format!("no `{}`", folder.display()))?;
    let mut paths: Vec<PathBuf> = all.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    Ok(paths)
}
