//! Measures the provider against bare calls of the engine's command line: `cargo run --release --example measure -- IMAGE`.
//!
//! Needs an engine that has the image, and `docker` on the path. Prints medians of each pair.

#![allow(clippy::print_stdout, reason = "a program for people")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use dormouse_core::program::NoPrograms;
use dormouse_core::sandbox::{Include, Machine, SandboxSpec, Snapshot, WarmPool};
use dormouse_core::{Error, GuestPath, Limits, LineRequest, Provider as _, Result};
use dormouse_docker::{DockerProvider, Settings};
use dormouse_files::{Files, Quota, Tree};
use tokio::process::Command;

const ROUNDS: usize = 15;
const MEGABYTES: usize = 128;

#[tokio::main]
async fn main() -> Result<()> {
    let image = std::env::args().nth(1).unwrap_or_else(|| "dormouse-test/busybox:1".into());
    let settings = Settings { images: vec![image.clone()], warm: 3, ..Settings::default() };
    let provider = DockerProvider::new(settings)?;
    let spec = SandboxSpec { disk: 256 << 20, ..SandboxSpec::default() };
    let name = format!("dormouse-measure-{}", std::process::id());
    docker(&["run", "-d", "--name", &name, "--network", "none", "--init", &image, "sleep", "600"]).await?;
    let measured = measure(&provider, &spec, &image, &name).await;
    docker(&["rm", "-fv", &name]).await?;
    provider.close().await;
    measured
}

async fn measure(provider: &DockerProvider, spec: &SandboxSpec, image: &str, bare: &str) -> Result<()> {
    let mut machine = provider.machine(spec, None).await?;
    let (mut ours, mut api, mut theirs, mut warm, mut cold, mut cli) =
        (vec![], vec![], vec![], vec![], vec![], vec![]);
    let required = SandboxSpec { warm_pool: WarmPool::Require, ..spec.clone() };
    let none = SandboxSpec { warm_pool: WarmPool::None, ..spec.clone() };
    for _ in 0..ROUNDS {
        theirs.push(timed(docker(&["exec", "-u", "65534:65534", bare, "sh", "-c", "true"])).await?);
        api.push(timed(direct(bare)).await?);
        ours.push(timed(line(&mut machine, "true")).await?);
        while provider.waiting() < 3 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let begin = Instant::now();
        let mut claimed = provider.machine(&required, None).await?;
        line(&mut claimed, "true").await?;
        warm.push(begin.elapsed());
        drop(claimed);
        while provider.waiting() < 3 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        tokio::time::sleep(Duration::from_millis(800)).await;
        let begin = Instant::now();
        let started = provider.machine(&none, None).await?;
        cold.push(begin.elapsed());
        drop(started);
        tokio::time::sleep(Duration::from_millis(800)).await;
        let other = format!("{bare}-cold");
        cli.push(timed(by_hand(image, &other)).await?);
        docker(&["rm", "-fv", &other]).await?;
    }
    let (ours, api, theirs) = (median(ours), median(api), median(theirs));
    println!("docker exec (command line)      {theirs:>7.1} ms");
    println!("the same two calls of the API   {api:>7.1} ms");
    println!("a line in a sandbox             {ours:>7.1} ms   {:+.1} ms over the API", ours - api);
    let warm = median(warm);
    println!("claim + first line              {warm:>7.1} ms   {:.2} x docker exec", warm / theirs);
    let (cold, cli) = (median(cold), median(cli));
    println!("docker create + start           {cli:>7.1} ms");
    println!("a sandbox from cold             {cold:>7.1} ms   {:.2} x", cold / cli);
    transfer(provider, spec).await
}

async fn transfer(provider: &DockerProvider, spec: &SandboxSpec) -> Result<()> {
    let files = Files::new(Tree::new(Quota { bytes: 1 << 30, ..Quota::default() }));
    for number in 0..MEGABYTES {
        let bytes: Vec<u8> =
            (0..1_u32 << 20).map(|at| u8::try_from((at ^ (at >> 8)) & 0xff).unwrap_or(0)).collect();
        files.write(&GuestPath::parse(&format!("/workspace/f{number}"))?, &bytes)?;
    }
    let tree = files.snapshot();
    let mut machine = provider.machine(spec, None).await?;
    let begin = Instant::now();
    machine.restore(&Held(tree)).await?;
    let up = begin.elapsed();
    let begin = Instant::now();
    machine.snapshot(Include::Files).await?;
    let down = begin.elapsed();
    let rate =
        |took: Duration| 1.048_576 * f64::from(u32::try_from(MEGABYTES).unwrap_or(0)) / took.as_secs_f64();
    println!("files into a container          {:>7.0} MB/s", rate(up));
    println!("files out of a container        {:>7.0} MB/s", rate(down));
    Ok(())
}

async fn line(machine: &mut Box<dyn Machine>, text: &str) -> Result<()> {
    let mut request = LineRequest::new(text);
    request.context.limits = Limits { wall: Duration::from_secs(30), ..Limits::default() };
    machine.exec(request, Arc::new(NoPrograms)).await.map(|_| ())
}

/// What the command line's create and start ask for, hardened alike.
async fn by_hand(image: &str, name: &str) -> Result<()> {
    let volume = "type=volume,target=/workspace,volume-driver=local,volume-opt=type=tmpfs,volume-opt=device=tmpfs,\
                  \"volume-opt=o=size=256m,uid=65534,gid=65534\"";
    let tmp = volume.replace("/workspace", "/tmp");
    docker(&[
        "create",
        "--name",
        name,
        "--network",
        "none",
        "--read-only",
        "--cap-drop",
        "ALL",
        "--init",
        "--log-driver",
        "none",
        "--security-opt",
        "no-new-privileges",
        "-u",
        "0:0",
        "-m",
        "832m",
        "--memory-swap",
        "832m",
        "--cpus",
        "1",
        "--pids-limit",
        "260",
        "--mount",
        volume,
        "--mount",
        &tmp,
        image,
        "sh",
        "-c",
        "sleep infinity",
    ])
    .await?;
    docker(&["start", name]).await
}

/// Create, start and inspect an exec without anything around it.
async fn direct(container: &str) -> Result<()> {
    use bollard::exec::{CreateExecOptions, StartExecOptions, StartExecResults};
    use futures::StreamExt as _;
    let failed = |fault| Error::internal("the engine", fault);
    let docker = bollard::Docker::connect_with_defaults().map_err(failed)?;
    let docker = docker.with_timeout(Duration::from_secs(20));
    let create = CreateExecOptions {
        attach_stdout: Some(true),
        attach_stderr: Some(true),
        cmd: Some(vec!["sh", "-c", "true"]),
        user: Some("65534:65534"),
        ..CreateExecOptions::default()
    };
    let created = docker.create_exec(container, create).await.map_err(failed)?;
    let started = docker.start_exec(&created.id, None::<StartExecOptions>).await.map_err(failed)?;
    if let StartExecResults::Attached { mut output, input: _input } = started {
        while output.next().await.is_some() {}
    }
    docker.inspect_exec(&created.id).await.map(|_| ()).map_err(failed)
}

#[allow(clippy::disallowed_methods, reason = "it is measured against the engine's own command line")]
async fn docker(words: &[&str]) -> Result<()> {
    let output = Command::new("docker").args(words).output().await;
    let output = output.map_err(|error| Error::internal("docker did not run", error))?;
    if output.status.success() {
        return Ok(());
    }
    Err(Error::args_invalid(String::from_utf8_lossy(&output.stderr).into_owned()))
}

async fn timed(work: impl Future<Output = Result<()>>) -> Result<Duration> {
    let begin = Instant::now();
    work.await?;
    Ok(begin.elapsed())
}

fn median(mut all: Vec<Duration>) -> f64 {
    all.sort();
    all.get(all.len() / 2).copied().unwrap_or_default().as_secs_f64() * 1000.0
}

/// Files of another provider.
struct Held(Tree);

impl Snapshot for Held {
    fn save(
        &self,
        _: &mut dyn dormouse_core::sandbox::ChunkSink,
    ) -> Result<dormouse_core::sandbox::SavedState> {
        Err(Error::args_invalid("it is not saved"))
    }

    fn bytes(&self) -> u64 {
        self.0.usage().bytes
    }

    fn closed_files(&self) -> Vec<String> {
        Vec::new()
    }

    fn files(&self) -> Option<&Tree> {
        Some(&self.0)
    }
}
