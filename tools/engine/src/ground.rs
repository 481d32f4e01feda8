//! What dockerd needs of the machine: cgroups, and a bridge for published ports. What is made here is removed when the
//! value is dropped.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use dormouse_chores::program;
use dormouse_chores::progress::complain;

/// How long one change of the machine may take.
const CHANGE: Duration = Duration::from_secs(20);
/// Where cgroups belong.
const CGROUPS: &str = "/sys/fs/cgroup";
/// The controllers that limits of containers need.
const NEEDED: [&str; 3] = ["cpu", "memory", "pids"];
/// How many bridges are tried.
const BRIDGES: u8 = 32;

/// In the engine's folder: the names of what was made for it, should its keeper be killed.
const BRIDGE: &str = "bridge";
const MOUNTED: &str = "mounted";

/// The ground under one engine.
pub(super) struct Ground {
    /// The engine's folder.
    folder: PathBuf,
    /// None: no port can be published.
    bridge: Option<String>,
    /// What was mounted, in order.
    mounted: Vec<PathBuf>,
}

impl Ground {
    /// Makes what is missing. Without cgroups dockerd says itself that it does not start; without a bridge it starts, and
    /// its ports cannot be published.
    pub(super) fn prepare(folder: &Path) -> Result<Self> {
        let mut ground = Self { folder: folder.to_owned(), bridge: None, mounted: Vec::new() };
        if !is_mounted(CGROUPS)
            && let Err(error) = ground.mount_cgroups()
        {
            complain(&format!("docker: cgroups cannot be mounted: {error:#}"));
        }
        match bridge() {
            Ok(name) => {
                fs::write(folder.join(BRIDGE), &name)?;
                ground.bridge = Some(name);
            }
            Err(error) => complain(&format!("docker: no bridge, so no port can be published: {error:#}")),
        }
        Ok(ground)
    }

    /// What a keeper has made and could not remove: it goes with the returned value.
    pub(super) fn left(folder: &Path) -> Self {
        let read = |file: &str| fs::read_to_string(folder.join(file)).unwrap_or_default();
        let bridge = Some(read(BRIDGE))
            .filter(|name| Path::new("/sys/class/net").join(name).exists() && !name.is_empty());
        let mounted = read(MOUNTED).lines().map(PathBuf::from).collect();
        Self { folder: folder.to_owned(), bridge, mounted }
    }

    /// What dockerd is told. It leaves the machine's firewall and its forwarding alone: sandboxes have no network, and a
    /// published port is served by docker-proxy.
    pub(super) fn arguments(&self) -> Vec<String> {
        let bridge = format!("--bridge={}", self.bridge.as_deref().unwrap_or("none"));
        let quiet = ["--iptables=false", "--ip6tables=false", "--ip-masq=false", "--ip-forward=false"];
        quiet.map(str::to_owned).into_iter().chain([bridge]).collect()
    }

    /// The unified hierarchy where it has the controllers, else one hierarchy for each of them.
    fn mount_cgroups(&mut self) -> Result<()> {
        fs::create_dir_all(CGROUPS)?;
        if self.mount("cgroup2", "none", CGROUPS.into()).is_ok() {
            let there = fs::read_to_string(Path::new(CGROUPS).join("cgroup.controllers")).unwrap_or_default();
            if NEEDED.iter().all(|needed| there.split_whitespace().any(|name| name == *needed)) {
                return Ok(());
            }
            self.unmount();
        }
        self.mount("tmpfs", "mode=755", CGROUPS.into())?;
        for controller in controllers(&fs::read_to_string("/proc/cgroups")?) {
            let folder = Path::new(CGROUPS).join(&controller);
            fs::create_dir(&folder)?;
            self.mount("cgroup", &controller, folder)?;
        }
        Ok(())
    }

    fn mount(&mut self, kind: &str, options: &str, on: PathBuf) -> Result<()> {
        let mut command = Command::new("mount");
        command.args(["-t", kind]);
        if options != "none" {
            command.args(["-o", options]);
        }
        change(command.arg(kind).arg(&on))?;
        self.mounted.push(on);
        let lines: Vec<String> = self.mounted.iter().map(|point| format!("{}\n", point.display())).collect();
        Ok(fs::write(self.folder.join(MOUNTED), lines.concat())?)
    }

    fn unmount(&mut self) {
        while let Some(point) = self.mounted.pop() {
            if let Err(error) = change(Command::new("umount").arg(&point)) {
                complain(&format!("docker: `{}` stays mounted: {error:#}", point.display()));
            }
        }
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        if let Some(bridge) = self.bridge.take()
            && let Err(error) = change(Command::new("ip").args(["link", "delete", &bridge]))
        {
            complain(&format!("docker: the bridge `{bridge}` stays: {error:#}"));
        }
        self.unmount();
    }
}

/// The names of the controllers that the kernel has enabled.
fn controllers(table: &str) -> Vec<String> {
    let rows = table.lines().filter(|line| !line.starts_with('#'));
    let cells = rows.map(|row| row.split_whitespace().collect::<Vec<_>>());
    cells
        .filter(|row| row.get(3) == Some(&"1"))
        .filter_map(|row| row.first().map(|name| (*name).to_owned()))
        .collect()
}

/// Whether cgroups of any kind are mounted at or below a folder.
fn is_mounted(folder: &str) -> bool {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    mounts.lines().any(|line| {
        let mut cells = line.split(' ').skip(1);
        let (point, kind) = (cells.next().unwrap_or_default(), cells.next().unwrap_or_default());
        Path::new(point).starts_with(folder) && kind.starts_with("cgroup")
    })
}

/// Makes a bridge with an address of its own. The name is taken by making it, so two engines never share one.
fn bridge() -> Result<String> {
    let routes = program::run(Command::new("ip").args(["-4", "route", "show", "table", "all"]), CHANGE)?;
    let mut last = None;
    for number in 0..BRIDGES {
        let (name, network) = (format!("dormouse{number}"), format!("10.213.{number}."));
        if routes.stdout.contains(&network) || Path::new("/sys/class/net").join(&name).exists() {
            continue;
        }
        if let Err(error) = change(Command::new("ip").args(["link", "add", "name", &name, "type", "bridge"]))
        {
            last = Some(error);
            continue;
        }
        let address = format!("{network}1/24");
        let ready = change(Command::new("ip").args(["address", "add", &address, "dev", &name]))
            .and_then(|()| change(Command::new("ip").args(["link", "set", &name, "up"])));
        if let Err(error) = ready {
            change(Command::new("ip").args(["link", "delete", &name]))?;
            return Err(error);
        }
        return Ok(name);
    }
    Err(last.unwrap_or_else(|| anyhow::anyhow!("{BRIDGES} are there already")))
}

fn change(command: &mut Command) -> Result<()> {
    let shown = command.get_program().to_string_lossy().into_owned();
    let said = program::run(command, CHANGE).with_context(|| format!("`{shown}` is missing"))?;
    ensure!(said.succeeded(), "{shown}: {}", said.end());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn controllers_that_are_off_are_left_out() {
        let table =
            "#subsys_name\thierarchy\tnum_cgroups\tenabled\ncpu\t2\t4\t1\nmemory\t0\t1\t0\npids\t9\t3\t1\n";
        assert_eq!(controllers(table), ["cpu", "pids"]);
    }
}
