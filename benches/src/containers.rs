//! Containers beside the engine's own command line: a command in a live one, one that waited, one from nothing, files, and a save
//! of one of many files.

use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use dormouse::sandbox::{Durability, Handle, Owner, ProviderName, SandboxSpec, WarmPool};
use dormouse::sandboxes::{Asked, CommandLine, Rules};
use dormouse::wasm::Allocation;
use dormouse::{Dormouse, Provider as _, Sandboxes};
use dormouse_docker::{DockerProvider, Settings};

use crate::bench::{Bench, milliseconds};
use crate::table::{Goal, Row};
use crate::turns::{Turn, take_turns};

/// The image of the rows, made by `cargo xtask engine images`.
const IMAGE: &str = "dormouse-test/busybox:1";
/// What the peer's container is called.
const PEER: &str = "dormouse-bench-peer";
/// Bytes that move (100 MB), in files of 1 MB.
const MOVED: usize = 100;
const FILE: usize = 1_000_000;
/// Makes 12 000 files of a few bytes in 120 folders, as an installation of packages does.
const MANY: &str = "cd /workspace && d=0; while [ $d -lt 120 ]; do mkdir $d && f=0; \
                    while [ $f -lt 100 ]; do echo $d $f > $d/$f; f=$((f+1)); done; d=$((d+1)); done; ls 119/99";
/// Changes one of them.
const CHANGE: &str = "date >> 60/50";

/// What the engine's own command line is given to start the same container.
const CREATE: [&str; 18] = [
    "run",
    "-d",
    "--name",
    PEER,
    "--network=none",
    "--read-only",
    "--cap-drop=ALL",
    "--init",
    "--security-opt=no-new-privileges",
    "--pids-limit=256",
    "--memory=2g",
    "--cpus=1",
    "--tmpfs=/tmp",
    "--mount=type=volume,destination=/workspace",
    "--log-driver=none",
    IMAGE,
    "sleep",
    "infinity",
];

struct Desk {
    provider: DockerProvider,
    sandboxes: Sandboxes,
    _dormouse: Dormouse,
    _folder: tempfile::TempDir,
}

pub(crate) fn rows(bench: &Bench) -> Result<Vec<Row>> {
    let wanted = ["docker-exec", "docker-claim", "docker-create", "docker-files", "docker-many"];
    let wanted: Vec<&str> = wanted.into_iter().filter(|id| bench.wants(id)).collect();
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let desk = Desk::new(bench, 0)?;
    let there = bench.runtime.block_on(async {
        desk.provider.ready().await?;
        desk.provider.has_image(IMAGE).await
    });
    if !matches!(there, Ok(true)) {
        let why = there.map_or_else(|error| error.to_string(), |_| format!("there is no image {IMAGE}"));
        bench.leave_out("the rows of containers", &why);
        return Ok(Vec::new());
    }
    let mut rows = Vec::new();
    for id in wanted {
        bench.begins(id);
        match id {
            "docker-exec" => rows.push(live(bench, &desk)?),
            "docker-claim" => rows.push(claimed(bench)?),
            "docker-create" => rows.push(cold(bench, &desk)?),
            "docker-files" => rows.push(files(bench, &desk)?),
            _ => rows.extend(many(bench, &desk)?),
        }
    }
    bench.runtime.block_on(desk.sandboxes.close())?;
    Ok(rows)
}

impl Desk {
    fn new(bench: &Bench, warm: usize) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let state = folder.path().join("state");
        let mut rules = Rules { fallback: false, ..Rules::default() };
        rules.ceiling.disk = 1 << 30;
        let dormouse =
            Dormouse::builder()?.allocation(Allocation::OnDemand).state(&state).rules(rules).build()?;
        let settings =
            Settings { state: Some(state), images: vec![IMAGE.into()], warm, ..Settings::default() };
        let _entered = bench.runtime.enter();
        let provider = DockerProvider::new(settings)?;
        let sandboxes = dormouse.sandboxes()?.clone();
        sandboxes.add_provider(Arc::new(provider.clone()));
        Ok(Self { provider, sandboxes, _dormouse: dormouse, _folder: folder })
    }

    /// A sandbox in a container, and a first command in it: milliseconds, and its id.
    fn first(&self, bench: &Bench, warm_pool: WarmPool) -> Result<(f64, String)> {
        let begin = Instant::now();
        let asked = Asked { spec: Some(spec(warm_pool)), ..Asked::default() };
        let (view, _) = bench.runtime.block_on(self.sandboxes.create(&Owner::local(), asked))?;
        let id = view.sandbox.id.as_str().to_owned();
        self.run(bench, &id)?;
        Ok((milliseconds(begin.elapsed()), id))
    }

    fn run(&self, bench: &Bench, id: &str) -> Result<f64> {
        self.line(bench, id, "true")
    }

    /// Runs a line: milliseconds.
    fn line(&self, bench: &Bench, id: &str, line: &str) -> Result<f64> {
        let begin = Instant::now();
        let (owner, handle) = (Owner::local(), Handle::IdOrName(id));
        let run = self.sandboxes.exec(&owner, &handle, CommandLine::new(line));
        let outcome = bench.runtime.block_on(run)?.1.outcome;
        ensure!(outcome.is_ok() && outcome.provider == "docker", "{outcome:?}");
        Ok(milliseconds(begin.elapsed()))
    }

    fn end(&self, bench: &Bench, id: &str) -> Result<()> {
        bench.runtime.block_on(self.sandboxes.destroy(&Owner::local(), &Handle::IdOrName(id)))?;
        Ok(())
    }
}

fn spec(warm_pool: WarmPool) -> SandboxSpec {
    SandboxSpec { provider: ProviderName::Docker, memory: 2 << 30, warm_pool, ..SandboxSpec::default() }
}

/// The engine's own command line.
#[allow(clippy::disallowed_methods, reason = "the engine's command line is the peer")]
fn docker(arguments: &[&str]) -> Result<f64> {
    let begin = Instant::now();
    let output = Command::new("docker").args(arguments).output().context("no docker")?;
    ensure!(output.status.success(), "docker: {}", String::from_utf8_lossy(&output.stderr));
    Ok(milliseconds(begin.elapsed()))
}

/// The peer's container, for as long as it lives.
struct Peer;

impl Peer {
    /// Starts it: milliseconds.
    fn start() -> Result<(Self, f64)> {
        let _ = docker(&["rm", "-f", "-v", PEER]);
        let ms = docker(&CREATE)?;
        Ok((Self, ms))
    }

    fn exec(&self) -> Result<f64> {
        self.line("true")
    }

    fn line(&self, line: &str) -> Result<f64> {
        docker(&["exec", "--user=65534:65534", "--workdir=/workspace", PEER, "sh", "-c", line])
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = docker(&["rm", "-f", "-v", PEER]);
    }
}

fn live(bench: &Bench, desk: &Desk) -> Result<Row> {
    let (_, id) = desk.first(bench, WarmPool::None)?;
    let (peer, _) = Peer::start()?;
    let ours: Turn<'_> = Box::new(|| Ok(vec![desk.run(bench, &id)?]));
    let theirs: Turn<'_> = Box::new(|| Ok(vec![peer.exec()?]));
    let [ours, theirs] = take_turns(bench.rounds, [ours, theirs]);
    desk.end(bench, &id)?;
    Ok(Row::new("docker-exec", "`true` in a live container", "ms", ours)
        .peer("docker exec", theirs)
        .goal(Goal::Share(1.0)))
}

fn claimed(bench: &Bench) -> Result<Row> {
    let desk = Desk::new(bench, 2)?;
    let wait = || -> Result<()> {
        bench.runtime.block_on(desk.provider.warm(&spec(WarmPool::Require)))?;
        while desk.provider.waiting() < 2 {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        Ok(())
    };
    let (peer, _) = Peer::start()?;
    let ours: Turn<'_> = Box::new(|| {
        wait()?;
        let (ms, id) = desk.first(bench, WarmPool::Require)?;
        desk.end(bench, &id)?;
        Ok(vec![ms])
    });
    let theirs: Turn<'_> = Box::new(|| Ok(vec![peer.exec()?]));
    let [ours, theirs] = take_turns(bench.few(4), [ours, theirs]);
    bench.runtime.block_on(desk.sandboxes.close())?;
    Ok(Row::new("docker-claim", "a container that waited, and its first command", "ms", ours)
        .peer("docker exec", theirs)
        .goal(Goal::Share(1.3)))
}

fn cold(bench: &Bench, desk: &Desk) -> Result<Row> {
    let ours: Turn<'_> = Box::new(|| {
        let (ms, id) = desk.first(bench, WarmPool::None)?;
        desk.end(bench, &id)?;
        Ok(vec![ms])
    });
    let theirs: Turn<'_> = Box::new(|| {
        let (peer, ms) = Peer::start()?;
        Ok(vec![ms + peer.exec()?])
    });
    let [ours, theirs] = take_turns(bench.few(4), [ours, theirs]);
    Ok(Row::new("docker-create", "a container from nothing, and its first command", "ms", ours)
        .peer("docker run, docker exec", theirs)
        .goal(Goal::Share(1.2)))
}

/// A sandbox of wasm's with its files becomes a container's: all but starting that.
fn files(bench: &Bench, desk: &Desk) -> Result<Row> {
    let owner = Owner::local();
    let roomy = SandboxSpec { disk: 1 << 30, ..spec(WarmPool::None) };
    let make = |spec: SandboxSpec| -> Result<String> {
        let asked = Asked { spec: Some(spec), ..Asked::default() };
        let (view, _) = bench.runtime.block_on(desk.sandboxes.create(&owner, asked))?;
        Ok(view.sandbox.id.as_str().to_owned())
    };
    let id = make(SandboxSpec { provider: ProviderName::Wasm, memory: 64 << 20, ..roomy })?;
    let handle = Handle::IdOrName(&id);
    let mut content: Vec<u8> = (0..=250_u8).cycle().take(FILE).collect();
    for number in 0..MOVED {
        content[..8].copy_from_slice(&number.to_le_bytes());
        let path = dormouse::GuestPath::parse(&format!("/workspace/{number}"))?;
        bench.runtime.block_on(desk.sandboxes.write(&owner, &handle, path, content.clone()))?;
    }
    // Files of a container are in its memory.
    let memory = spec(WarmPool::None).memory;
    let move_to =
        |provider, memory| bench.runtime.block_on(desk.sandboxes.move_to(&owner, &handle, provider, memory));
    let ours: Turn<'_> = Box::new(|| {
        move_to(ProviderName::Docker, memory)?;
        let begin = Instant::now();
        desk.run(bench, &id)?;
        let ms = milliseconds(begin.elapsed());
        move_to(ProviderName::Wasm, 64 << 20)?;
        Ok(vec![ms])
    });
    let theirs: Turn<'_> = Box::new(|| {
        Ok(vec![desk.first(bench, WarmPool::None).and_then(|(ms, id)| {
            desk.end(bench, &id)?;
            Ok(ms)
        })?])
    });
    let [ours, theirs] = take_turns(bench.few(8), [ours, theirs]);
    desk.end(bench, &id)?;
    Ok(Row::new("docker-files", "the same with 100 MB of files from wasm", "ms", ours)
        .peer("ours without files", theirs))
}

/// A command that changes one of many files: answered, answered and saved, and with all files copied out of the container, which
/// is what a save was before it was one of what has changed.
fn many(bench: &Bench, desk: &Desk) -> Result<[Row; 2]> {
    let make = |durability| -> Result<String> {
        let spec = SandboxSpec { durability, ..spec(WarmPool::None) };
        let asked = Asked { spec: Some(spec), ..Asked::default() };
        let (view, _) = bench.runtime.block_on(desk.sandboxes.create(&Owner::local(), asked))?;
        let id = view.sandbox.id.as_str().to_owned();
        desk.line(bench, &id, MANY)?;
        Ok(id)
    };
    let (plain, saved) = (make(Durability::Delayed)?, make(Durability::Call)?);
    let (peer, _) = Peer::start()?;
    peer.line(MANY)?;
    let unsaved: Turn<'_> = Box::new(|| Ok(vec![desk.line(bench, &plain, CHANGE)?]));
    let ours: Turn<'_> = Box::new(|| Ok(vec![desk.line(bench, &saved, CHANGE)?]));
    let theirs: Turn<'_> =
        Box::new(|| Ok(vec![peer.line(CHANGE)? + docker(&["cp", &format!("{PEER}:/workspace"), "-"])?]));
    let [unsaved, ours, theirs] = take_turns(bench.few(2), [unsaved, ours, theirs]);
    drop(peer);
    desk.end(bench, &plain)?;
    desk.end(bench, &saved)?;
    let exec = Row::new("docker-many", "a command that changes one of 12 000 files", "ms", unsaved)
        .peer("ours, saved before it is answered", ours.clone());
    let save = Row::new("docker-many-saved", "the same, saved before it is answered", "ms", ours)
        .peer("docker exec, docker cp of all", theirs);
    Ok([exec, save])
}
