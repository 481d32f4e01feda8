//! A dockerd in a folder of its own: everything that it writes lies there, and nothing of it is left in the end.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use dormouse_chores::{process, program};
use rustix::process::{Pid, Signal, kill_process};

use super::ground::Ground;
use super::{Client, dockerd, runsc};

/// How long dockerd may take until it answers. Without overlay it looks at every storage driver first.
const START: Duration = Duration::from_secs(60);
/// How long dockerd may take to end.
const END: Duration = Duration::from_secs(20);
/// What dockerd starts, by the names of the programs.
const PARTS: [&str; 6] =
    ["dockerd", "containerd", "containerd-shim", "containerd-shim-runc-v2", "docker-proxy", "runc"];
/// How much of the log is shown when it does not start.
const SHOWN_LINES: usize = 8;

/// A running dockerd.
pub(super) struct Daemon {
    child: Child,
    folder: PathBuf,
}

/// The address of the engine in a folder.
pub(super) fn host(folder: &Path) -> String {
    format!("unix://{}", folder.join("docker.sock").display())
}

impl Daemon {
    /// Starts it and waits until it answers. The error has the end of its log.
    pub(super) fn start(folder: &Path, ground: &Ground, with_runsc: bool) -> Result<Self> {
        let program = dockerd().context("dockerd is not installed")?;
        let log = File::create(folder.join("log"))?;
        // The system's configuration is for the system's engine.
        fs::write(folder.join("daemon.json"), "{}\n")?;
        // What containers run inherits what dockerd does with signals.
        let mut command = process::with_default_signals(program);
        command.args(ground.arguments()).arg("--host").arg(host(folder));
        for (option, file) in [
            ("--config-file", "daemon.json"),
            ("--data-root", "data"),
            ("--exec-root", "exec"),
            ("--pidfile", "pid"),
        ] {
            command.arg(option).arg(folder.join(file));
        }
        if with_runsc {
            command.arg("--add-runtime").arg(runsc::runtime(folder)?);
        }
        let path = std::env::var("PATH").unwrap_or_default();
        let child = command
            .env("PATH", format!("{path}:/usr/local/sbin:/usr/sbin:/sbin"))
            .env_remove("DOCKER_HOST")
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()?;
        let mut daemon = Self { child, folder: folder.to_owned() };
        match daemon.until_it_answers() {
            Ok(()) => Ok(daemon),
            Err(error) => {
                let told = error.context(daemon.end_of_log());
                daemon.stop()?;
                Err(told)
            }
        }
    }

    fn until_it_answers(&mut self) -> Result<()> {
        let started = Instant::now();
        let client = Client::new(host(&self.folder));
        loop {
            if let Some(status) = self.child.try_wait()? {
                bail!("dockerd ended with {status}");
            }
            if self.folder.join("docker.sock").exists() && client.version().is_ok() {
                return Ok(());
            }
            ensure!(started.elapsed() < START, "dockerd did not answer within {} s", START.as_secs());
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// The line that says why, else the last ones.
    fn end_of_log(&self) -> String {
        let log = fs::read(self.folder.join("log")).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let lines: Vec<&str> = log.lines().collect();
        let why = lines.iter().rev().find(|line| line.starts_with("failed to start"));
        why.map_or_else(
            || lines[lines.len().saturating_sub(SHOWN_LINES)..].join(" / "),
            |line| (*line).to_owned(),
        )
    }

    /// Whether it has ended on its own.
    pub(super) fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// Removes its containers, ends it and what it started, and unmounts what it mounted.
    pub(super) fn stop(&mut self) -> Result<()> {
        if !self.has_ended() {
            self.remove_containers();
            let _ = kill_process(pid(self.child.id())?, Signal::TERM);
        }
        let asked = Instant::now();
        while !self.has_ended() {
            if asked.elapsed() > END {
                let _ = self.child.kill();
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        sweep(&self.folder)
    }

    /// dockerd gives every container ten seconds to end; these are ours, and none is needed.
    fn remove_containers(&self) {
        let client = Client::new(host(&self.folder));
        let Ok(ids) = client.lines(["ps", "--all", "--quiet"]) else { return };
        if !ids.is_empty() {
            let remove = ["rm", "--force", "--volumes"].map(str::to_owned);
            let _ = client.run(remove.into_iter().chain(ids));
        }
    }
}

/// Ends what a killed dockerd leaves running, such as its containerd and the shims of containers, and unmounts what it
/// mounted.
pub(super) fn sweep(folder: &Path) -> Result<()> {
    let started = Instant::now();
    let mut signal = Signal::TERM;
    loop {
        let parts = parts(folder);
        if parts.is_empty() {
            return unmount_below(folder);
        }
        ensure!(started.elapsed() < END, "dockerd's processes {parts:?} do not end");
        for part in parts {
            let _ = kill_process(pid(part)?, signal);
        }
        if started.elapsed() > END / 4 {
            signal = Signal::KILL;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn pid(number: u32) -> Result<Pid> {
    i32::try_from(number).ok().and_then(Pid::from_raw).context("no process has that number")
}

/// The processes that an engine in this folder has started.
fn parts(folder: &Path) -> Vec<u32> {
    let folder = folder.display().to_string();
    let is_part = |line: &[String]| {
        let name = line.first().map(|program| program.rsplit('/').next().unwrap_or_default());
        name.is_some_and(|name| PARTS.contains(&name)) && line.iter().any(|word| word.contains(&folder))
    };
    processes(is_part).collect()
}

/// The numbers of the processes whose command line fits.
pub(super) fn processes(fits: impl Fn(&[String]) -> bool) -> impl Iterator<Item = u32> {
    let all = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = all.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    numbers.filter(move |number| {
        let line = fs::read(format!("/proc/{number}/cmdline")).unwrap_or_default();
        let words = line.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned());
        fits(&words.collect::<Vec<_>>())
    })
}

/// The mounts below a folder, the last one first.
pub(super) fn mounts_below(folder: &Path) -> Vec<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let points = mounts.lines().filter_map(|line| line.split(' ').nth(4)).map(PathBuf::from);
    let mut below: Vec<PathBuf> = points.filter(|point| point.starts_with(folder)).collect();
    below.reverse();
    below
}

fn unmount_below(folder: &Path) -> Result<()> {
    for point in mounts_below(folder) {
        let unmount = |how: &[&str]| {
            let said = program::run(Command::new("umount").args(how).arg(&point), END);
            said.is_ok_and(|said| said.succeeded())
        };
        ensure!(unmount(&[]) || unmount(&["--lazy"]), "`{}` stays mounted", point.display());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mounts_of_a_folder_are_those_below_it() {
        assert!(mounts_below(Path::new("/proc")).contains(&PathBuf::from("/proc")));
        assert!(mounts_below(Path::new("/no/such/folder")).is_empty());
    }
}
