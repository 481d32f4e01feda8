//! The server under torture, on a disk and by a clock of its own.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use dormouse_tests::{binary, served};
use tokio::signal::unix::{SignalKind, signal};

use crate::engine::Engine;

/// The disk is this large.
const DISK: &str = "size=256m";
/// What the server's program is called in a world's folder.
const PROGRAM: &str = "dormouse-torture-server";
/// How long a process may stay after it was killed.
const REAPED: Duration = Duration::from_secs(3);
/// How long the server may take to end in peace: the 10 s of calls in progress, the 30 s of saving, and a moment.
const END: Duration = Duration::from_secs(45);

/// The clock's shift, for a library that is loaded before the C library. libfaketime would do it too, but changes waits as well
/// and reads a file at each call; what is wanted here is a system clock that somebody sets.
const CLOCK: &str = include_str!("clock.c");

/// A folder with everything a run needs, gone with this value.
pub(crate) struct World {
    folder: PathBuf,
    is_kept: bool,
    /// Why there is no disk of its own, or no clock.
    pub(crate) skipped: Vec<String>,
    has_disk: bool,
    has_clock: bool,
    /// None: the server has no containers.
    pub(crate) engine: Option<Engine>,
}

impl World {
    /// Makes it: the server's program under a name that nothing else has, tokens, a small disk, a clock. Without an engine.
    pub(crate) fn new(owners: &[&str]) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("dormouse-torture-").tempdir()?.keep();
        let mut world = Self {
            folder,
            is_kept: false,
            skipped: Vec::new(),
            has_disk: false,
            has_clock: false,
            engine: None,
        };
        let path = |name: &str| world.folder.join(name);
        fs::copy(binary::path(), path(PROGRAM))?;
        let mut tokens =
            fs::OpenOptions::new().create_new(true).write(true).mode(0o600).open(path("tokens"))?;
        for owner in owners {
            writeln!(tokens, "{owner} {}", token(owner))?;
        }
        fs::write(path("clock"), 0i64.to_ne_bytes())?;
        fs::write(path("clock.c"), CLOCK)?;
        let built = ran("cc", &["-shared", "-fPIC", "-O1", "-o"], &[&path("clock.so"), &path("clock.c")]);
        let disk = path("disk");
        fs::create_dir(&disk)?;
        let mounted = ran("mount", &["-t", "tmpfs", "-o", DISK, "tmpfs"], &[&disk]);
        (world.has_clock, world.has_disk) = (built.is_ok(), mounted.is_ok());
        for (what, came) in [("clock steps", built), ("full and read-only disks", mounted)] {
            world.skipped.extend(came.err().map(|error| format!("{what}: {error:#}")));
        }
        fs::set_permissions(disk, fs::Permissions::from_mode(0o700))?;
        Ok(world)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Gives the server an engine.
    ///
    /// # Errors
    /// Why there is none.
    pub(crate) fn find_engine(&mut self) -> Result<()> {
        self.engine = Some(Engine::find(&self.folder)?);
        Ok(())
    }

    /// The images that sandboxes may be.
    pub(crate) fn images(&self) -> &[&'static str] {
        self.engine.as_ref().map_or(&[], |engine| &engine.images)
    }

    /// What is left of the servers' in the engine, but for what was there before.
    pub(crate) fn left_in_engine(&self, before: &[String]) -> Vec<String> {
        self.engine.as_ref().map(|engine| engine.left(&self.state(), before)).unwrap_or_default()
    }

    /// What is there of the servers' in the engine now.
    pub(crate) fn in_engine(&self) -> Vec<String> {
        self.engine.as_ref().map(|engine| engine.there(&self.state())).unwrap_or_default()
    }

    /// The state folder.
    pub(crate) fn state(&self) -> PathBuf {
        self.path("disk/state")
    }

    /// Whether the disk can be filled and made read-only.
    pub(crate) fn has_disk(&self) -> bool {
        self.has_disk
    }

    /// Sets the server's clock ahead of the system's by so many seconds. False: there is no such clock.
    pub(crate) fn step_clock(&self, seconds: i64) -> bool {
        // In place: the server has the file mapped.
        let file = fs::OpenOptions::new().write(true).open(self.path("clock"));
        self.has_clock && file.and_then(|mut file| file.write_all(&seconds.to_ne_bytes())).is_ok()
    }

    /// Fills the disk to its last byte.
    pub(crate) fn fill_disk(&self) {
        if let Ok(mut file) = fs::File::create(self.path("disk/ballast")) {
            let block = vec![0; 1 << 16];
            while file.write_all(&block).is_ok() {}
            while file.write_all(&[0]).is_ok() {}
        }
    }

    /// Makes room again.
    pub(crate) fn clear_disk(&self) {
        let _ = fs::remove_file(self.path("disk/ballast"));
    }

    /// Makes the disk read-only, or writable again. Nothing may have it open for writing.
    pub(crate) fn protect_disk(&self, is_protected: bool) -> Result<()> {
        let how = if is_protected { "remount,ro" } else { "remount,rw" };
        ran("mount", &["-o", how], &[&self.path("disk")])
    }

    /// Starts the server.
    pub(crate) fn serve(&self) -> Result<Server> {
        let mut command = binary::started(
            &self.path(PROGRAM),
            &["serve", "--listen", "127.0.0.1:0", "--tools", "all", "--state-dir"],
        );
        command.arg(self.state()).arg("--token-file").arg(self.path("tokens")).stdin(Stdio::null());
        match &self.engine {
            Some(engine) => command.args(engine.arguments()),
            None => command.arg("--no-docker"),
        };
        if self.has_clock {
            command
                .env("LD_PRELOAD", self.path("clock.so"))
                .env("DORMOUSE_TORTURE_CLOCK", self.path("clock"));
        }
        let begun = Instant::now();
        let mut child = command.spawn()?;
        let log = binary::drain(child.stderr.take());
        let mut address = String::new();
        BufReader::new(child.stdout.take().context("a pipe was asked for")?).read_line(&mut address)?;
        let Some(authority) = address.trim().strip_prefix("http://").map(str::to_owned) else {
            let _ = child.kill();
            let _ = child.wait();
            let log = log.join().unwrap_or_default();
            anyhow::bail!("the server does not start: {}", String::from_utf8_lossy(&log).trim());
        };
        Ok(Server { child, log: Some(log), authority, started: begun.elapsed() })
    }

    /// Runs a command of `dormouse` over the state folder; its exit status and what it wrote.
    pub(crate) fn command(&self, words: &[&str]) -> binary::Ran {
        let mut command = binary::started(&self.path(PROGRAM), words);
        command.arg("--state-dir").arg(self.state());
        binary::finish(command, b"")
    }

    /// Processes of the server's program, after those that are ending have had their time.
    pub(crate) fn processes(&self) -> Vec<u32> {
        let (own, begun) = (self.path(PROGRAM), Instant::now());
        loop {
            let left = running(&own);
            if left.is_empty() || begun.elapsed() > REAPED {
                return left;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// What the state folder takes, in bytes, and the locks in it.
    pub(crate) fn left(&self) -> (u64, usize) {
        let size = |name: &str| fs::metadata(self.state().join(name)).map_or(0, |file| file.len());
        let locks = fs::read_dir(self.state().join("locks")).map_or(0, Iterator::count);
        (size("state.db") + size("state.db-wal"), locks)
    }

    /// Leaves everything where it is, to be looked at.
    pub(crate) fn keep(&mut self) -> &Path {
        self.is_kept = true;
        &self.folder
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if !self.is_kept {
            remove(&self.folder);
        }
    }
}

/// Removes a world's folder, and the disk in it.
fn remove(folder: &Path) {
    let _ = ran("umount", &["-l"], &[&folder.join("disk")]);
    let _ = fs::remove_dir_all(folder);
}

/// Leaves nothing of these worlds, no server, no disk and no folder, when the program is interrupted or asked to end.
///
/// # Errors
/// What keeps signals from being heard.
#[expect(clippy::exit, reason = "the worlds are in the middle of their lives, which nobody waits for then")]
pub(crate) fn clear_when_interrupted(worlds: &[World]) -> Result<()> {
    let folders: Vec<PathBuf> = worlds.iter().map(|world| world.folder.clone()).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let guard = runtime.enter();
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    drop(guard);
    std::thread::spawn(move || {
        let status = runtime.block_on(async {
            tokio::select! {
                _ = interrupt.recv() => 130,
                _ = terminate.recv() => 143,
            }
        });
        for folder in &folders {
            for process in running(&folder.join(PROGRAM)) {
                let _ = ran("kill", &["-KILL", &process.to_string()], &[]);
            }
            remove(folder);
        }
        std::process::exit(status);
    });
    Ok(())
}

/// The token of an owner.
pub(crate) fn token(owner: &str) -> String {
    format!("torture-token-of-{owner}")
}

/// A running server.
pub(crate) struct Server {
    child: Child,
    log: Option<JoinHandle<Vec<u8>>>,
    /// Address and port.
    pub(crate) authority: String,
    /// How long it took until it listened.
    pub(crate) started: Duration,
}

impl Server {
    /// Ends it at once; what it had written to its log.
    pub(crate) fn kill(mut self) -> String {
        let _ = self.child.kill();
        let _ = self.child.wait();
        self.told()
    }

    /// Asks it to end; its exit status and its log. None: it did not end in time, or a signal ended it.
    pub(crate) fn end(mut self) -> (Option<i32>, String) {
        served::terminate(self.child.id());
        let begun = Instant::now();
        while begun.elapsed() < END {
            if let Ok(Some(status)) = self.child.try_wait() {
                return (status.code(), self.told());
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
        (None, self.told())
    }

    /// What it holds: bytes of memory, and descriptors.
    pub(crate) fn holds(&self) -> (u64, usize) {
        let of = |name: &str| format!("/proc/{}/{name}", self.child.id());
        let status = fs::read_to_string(of("status")).unwrap_or_default();
        let memory = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
        let memory = memory.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
        (memory.unwrap_or_default() * 1024, fs::read_dir(of("fd")).map_or(0, Iterator::count))
    }

    fn told(&mut self) -> String {
        let log = self.log.take().and_then(|log| log.join().ok()).unwrap_or_default();
        String::from_utf8_lossy(&log).into_owned()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Processes that run a program.
fn running(program: &Path) -> Vec<u32> {
    let all = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = all.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    numbers.filter(|id| fs::read_link(format!("/proc/{id}/exe")).is_ok_and(|exe| exe == program)).collect()
}

/// Runs a program of the system.
#[expect(clippy::disallowed_methods, reason = "the disk and the clock are made by programs of the system")]
fn ran(program: &str, words: &[&str], paths: &[&Path]) -> Result<()> {
    let output = Command::new(program).args(words).args(paths).output();
    let output = output.with_context(|| format!("`{program}` does not start"))?;
    let complaint = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    ensure!(output.status.success(), "`{program}`: {complaint}");
    Ok(())
}
