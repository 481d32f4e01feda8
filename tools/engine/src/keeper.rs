//! The process that holds an engine of our own. It is started from this very program and outlives it for as long as it
//! takes to clean up: dockerd, its processes, its mounts, its bridge and its folder go when whoever wanted the engine has
//! ended, however that came about.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};

use super::daemon::{self, Daemon};
use super::ground::Ground;
use super::{Client, dockerd};

/// How long the end may take: containers are removed, dockerd ends, its folder is deleted.
const END: Duration = Duration::from_secs(120);
/// How often it is looked whether the engine is still wanted.
const BEAT: Duration = Duration::from_millis(50);
/// The line that says that the engine answers.
const READY: &str = "ready";
/// The chore that is the keeper.
const HOLD: [&str; 2] = ["engine", "hold"];
/// In the folder of a lasting engine while it is wanted.
const WANTED: &str = "wanted";

/// The side of those who want an engine.
pub(super) struct Keeper {
    child: Child,
    folder: PathBuf,
    /// Whether the engine outlives this value.
    lasting: bool,
}

impl Keeper {
    /// An engine in a fresh folder, held for as long as the returned value, or this process, lives.
    pub(super) fn held() -> Result<Self> {
        ensure!(dockerd().is_some(), "dockerd is not installed (`cargo xtask setup` installs it)");
        let folder = tempfile::Builder::new().prefix("dormouse-engine-").tempdir()?.keep();
        Self::start(&folder, false, false)
    }

    pub(super) fn client(&self) -> Client {
        Client::new(daemon::host(&self.folder))
    }

    /// Lets the engine go and waits for its end.
    pub(super) fn stop(mut self) -> Result<()> {
        self.release()
    }

    fn start(folder: &Path, lasting: bool, with_runsc: bool) -> Result<Self> {
        let mut command = Command::new("/proc/self/exe");
        command.args(HOLD).arg(folder);
        if with_runsc {
            command.arg("--runsc");
        }
        if lasting {
            // Who waits for the end of our output must not wait for the engine's.
            command.arg("--lasting").stderr(File::create(folder.join("keeper.log"))?);
        }
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // A key that interrupts the tests goes to the group of the terminal; the clean-up has to go on.
            .process_group(0)
            .spawn()?;
        let output = child.stdout.take().context("a pipe was asked for")?;
        let mut keeper = Self { child, folder: folder.to_owned(), lasting };
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        match line.trim_end() {
            READY => Ok(keeper),
            cause => {
                let cause = if cause.is_empty() { "its keeper ended" } else { cause }.to_owned();
                keeper.release()?;
                bail!("{cause}");
            }
        }
    }

    fn release(&mut self) -> Result<()> {
        drop(self.child.stdin.take());
        let asked = Instant::now();
        while self.child.try_wait()?.is_none() {
            ensure!(asked.elapsed() < END, "the engine in `{}` does not end", self.folder.display());
            std::thread::sleep(BEAT);
        }
        ensure!(!self.folder.exists(), "the engine left `{}` behind", self.folder.display());
        Ok(())
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        if !self.lasting {
            let _ = self.release();
        }
    }
}

/// Where the engine of `cargo xtask engine up` lies: short, since the name of a socket has at most 107 bytes.
fn lasting() -> PathBuf {
    let user = fs::metadata("/proc/self").map_or(0, |own| own.uid());
    std::env::temp_dir().join(format!("dormouse-engine-{user}"))
}

/// The engine that `cargo xtask engine up` has started, if it answers.
pub(super) fn up() -> Option<Client> {
    let folder = lasting();
    let client = Client::new(daemon::host(&folder));
    (folder.join(WANTED).is_file() && client.version().is_ok()).then_some(client)
}

/// Starts an engine that lasts until [`down`].
pub(super) fn raise(with_runsc: bool) -> Result<Client> {
    let folder = lasting();
    let made = fs::DirBuilder::new().mode(0o700).create(&folder);
    made.with_context(|| {
        format!("`{}` is there; `cargo xtask engine down` removes what an engine left", folder.display())
    })?;
    fs::write(folder.join(WANTED), "")?;
    Ok(Keeper::start(&folder, true, with_runsc)?.client())
}

/// Ends the engine of [`raise`], also one whose keeper was killed. False when there is none.
pub(super) fn down() -> Result<bool> {
    let folder = lasting();
    if !folder.exists() {
        return Ok(false);
    }
    ensure!(
        fs::symlink_metadata(&folder)?.uid() == fs::metadata("/proc/self")?.uid(),
        "`{}` is someone else's",
        folder.display()
    );
    let _ = fs::remove_file(folder.join(WANTED));
    let asked = Instant::now();
    while folder.exists() && daemon::processes(|line| is_keeper(line, &folder)).next().is_some() {
        ensure!(asked.elapsed() < END, "the engine in `{}` does not end", folder.display());
        std::thread::sleep(BEAT);
    }
    // Its keeper was killed, and did not clean up.
    if folder.exists() {
        daemon::sweep(&folder)?;
        drop(Ground::left(&folder));
        remove(&folder)?;
    }
    Ok(true)
}

/// Whether a command line is that of the keeper of a folder.
fn is_keeper(line: &[String], folder: &Path) -> bool {
    let mut after = line.iter().skip_while(|word| *word != HOLD[0]).skip(1);
    after.next().is_some_and(|word| word == HOLD[1])
        && after.next().is_some_and(|word| Path::new(word) == folder)
}

fn remove(folder: &Path) -> Result<()> {
    fs::remove_dir_all(folder).with_context(|| format!("cannot remove `{}`", folder.display()))
}

/// The keeper itself: `cargo xtask engine hold`. Says one line when the engine answers or why it does not, and cleans up
/// when it is let go.
pub(super) fn hold(folder: &Path, lasting: bool, with_runsc: bool) -> Result<()> {
    let wanted = wanted(folder, lasting);
    let ground = Ground::prepare(folder)?;
    let started = Daemon::start(folder, &ground, with_runsc);
    let mut out = std::io::stdout().lock();
    let ended = match started {
        Ok(mut daemon) => {
            let _ = writeln!(out, "{READY}");
            while wanted() && !daemon.has_ended() {
                std::thread::sleep(BEAT);
            }
            daemon.stop()
        }
        Err(error) => {
            let _ = writeln!(out, "{}", format!("{error:#}").replace('\n', " / "));
            Ok(())
        }
    };
    drop(ground);
    ended?;
    remove(folder)
}

/// Whether the engine is still wanted: a lasting one has a file that says so, any other one somebody who holds the other
/// end of standard input.
fn wanted(folder: &Path, lasting: bool) -> Box<dyn Fn() -> bool> {
    if lasting {
        let file = folder.join(WANTED);
        return Box::new(move || file.exists());
    }
    let gone = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&gone);
    std::thread::spawn(move || {
        let _ = std::io::stdin().lock().read_to_end(&mut Vec::new());
        seen.store(true, Ordering::Relaxed);
    });
    Box::new(move || !gone.load(Ordering::Relaxed))
}
