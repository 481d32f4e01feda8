//! An engine of the test's own, which is stopped in the middle of a call and started again.

use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bollard::Docker;
use dormouse_core::program::NoPrograms;
use dormouse_core::sandbox::Include;
use dormouse_core::testing::wait_for_async;
use dormouse_core::{ErrorCode, Provider as _};
use dormouse_docker::DockerProvider;
use rustix::process::{Pid, Signal, kill_process};
use tokio::process::{Child, Command};

use crate::list::{PATIENCE, line, spec};
use crate::support::{busybox, left_of, owner_of, running, settings, skip, wait_for_left, wait_for_process};

/// Starts an engine that touches nothing but its folder. It has a network of its own: one without a bridge removes the
/// `docker0` of the network it runs in, which is another engine's.
async fn started(folder: &Path) -> Result<(Child, Docker, String), String> {
    let address = format!("unix://{}", folder.join("docker.sock").display());
    // Where administrators' programs lie, which are not on every user's path.
    let path = format!("{}:/usr/local/sbin:/usr/sbin:/sbin", std::env::var("PATH").unwrap_or_default());
    #[allow(clippy::disallowed_methods, reason = "the engine is to be stopped, so it cannot be everybody's")]
    let mut command = Command::new("unshare");
    let at = |name: &str| folder.join(name);
    command
        .args(["--net", "dockerd"])
        .arg("--data-root")
        .arg(at("data"))
        .arg("--exec-root")
        .arg(at("exec"))
        .arg("-p")
        .arg(at("pid"));
    command.args(["-H", &address, "--bridge=none", "--iptables=false", "--ip-forward=false"]);
    command.env("PATH", path);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
    let child = command.spawn().map_err(|error| format!("dockerd does not start: {error}"))?;
    let mut child = child;
    // No helper that waits: what does not come up is a reason to skip, not a failure.
    for _ in 0..300 {
        if let Ok(Some(status)) = child.try_wait() {
            return Err(format!("dockerd does not run here: {status}"));
        }
        if let Ok(docker) = Docker::connect_with_host(&address)
            && let Ok(docker) = docker.negotiate_version().await
            && docker.ping().await.is_ok()
        {
            return Ok((child, docker, address));
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let _ended = child.kill().await;
    Err("dockerd did not come up".into())
}

/// dockerd takes its containers down with it when it is asked to end.
async fn stop(mut engine: Child) {
    let id = engine.id().and_then(|id| Pid::from_raw(id.try_into().ok()?)).unwrap();
    kill_process(id, Signal::TERM).unwrap();
    tokio::time::timeout(Duration::from_secs(40), engine.wait()).await.unwrap().unwrap();
}

/// CON-06: an engine that stops in mid-run is named in time, and what it still has is removed at the next start.
#[tokio::test(flavor = "multi_thread")]
async fn con_06_an_engine_that_stops_in_mid_run_is_named_and_cleaned_when_it_is_back() {
    let (folder, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (engine, docker, address) = match started(folder.path()).await {
        Ok(started) => started,
        Err(why) => return skip("con_06_stopped", &why),
    };
    if let Err(why) = busybox(&docker).await {
        stop(engine).await;
        return skip("con_06_stopped", &why);
    }
    let settings = || {
        let mut settings = settings(state.path());
        (settings.address, settings.answer_within) = (Some(address.clone()), Duration::from_secs(5));
        settings
    };
    let provider = DockerProvider::new(settings()).unwrap();
    let mut machine = provider.machine(&spec(), None).await.unwrap();
    let call = machine.exec(line("sleep 25"), Arc::new(NoPrograms));
    let stopping = async {
        let id = running(&docker, &owner_of(state.path())).await.remove(0);
        wait_for_process(&docker, &id, "sleep 25").await;
        stop(engine).await;
    };
    let (ended, ()) = tokio::join!(call, stopping);
    match ended {
        Err(error) => assert_eq!(error.code(), ErrorCode::ProviderUnavailable),
        Ok(ended) => assert!(!ended.outcome.is_ok()),
    }
    let begin = Instant::now();
    let error = machine.exec(line("true"), Arc::new(NoPrograms)).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::ProviderUnavailable);
    let error = provider.ready().await.unwrap_err();
    assert!(error.hint().is_some_and(|hint| hint.contains("start the engine")), "{error}");
    assert!(begin.elapsed() < Duration::from_secs(10));
    drop(machine);
    provider.close().await;
    drop(provider);
    // It is back, with a container that was stopped: nobody's.
    let (engine, docker, _) = started(folder.path()).await.unwrap();
    let owner = owner_of(state.path());
    assert_eq!(left_of(&docker, &owner).await.0, 1);
    let provider = DockerProvider::new(settings()).unwrap();
    drop(provider.machine(&spec(), None).await.unwrap());
    provider.close().await;
    assert_eq!(left_of(&docker, &owner).await, (0, 0));
    stop(engine).await;
}

/// An engine that answers nothing is named by each call within its time, and what it had is there when it goes on.
#[tokio::test(flavor = "multi_thread")]
async fn con_06_an_engine_that_stalls_is_named_within_the_time_of_the_call() {
    let (folder, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (engine, docker, address) = match started(folder.path()).await {
        Ok(started) => started,
        Err(why) => return skip("con_06_stalled", &why),
    };
    if let Err(why) = busybox(&docker).await {
        stop(engine).await;
        return skip("con_06_stalled", &why);
    }
    let mut settings = settings(state.path());
    (settings.address, settings.answer_within) = (Some(address), Duration::from_secs(3));
    let provider = DockerProvider::new(settings).unwrap();
    let mut machine = provider.machine(&spec(), None).await.unwrap();
    machine.exec(line("echo kept > f"), Arc::new(NoPrograms)).await.unwrap();
    let id = engine.id().and_then(|id| Pid::from_raw(id.try_into().ok()?)).unwrap();
    kill_process(id, Signal::STOP).unwrap();
    let mut command = line("echo other > f");
    command.context.limits.wall = Duration::from_secs(2);
    let begin = Instant::now();
    let error = machine.exec(command, Arc::new(NoPrograms)).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::ProviderUnavailable, "{error}");
    assert!(begin.elapsed() < Duration::from_secs(6), "{:?}", begin.elapsed());
    let begin = Instant::now();
    let error = machine.snapshot(Include::Both).await.err().unwrap();
    assert_eq!(error.code(), ErrorCode::ProviderUnavailable, "{error}");
    assert!(begin.elapsed() < Duration::from_secs(20), "{:?}", begin.elapsed());
    kill_process(id, Signal::CONT).unwrap();
    // What it was asked to hold still while it stalled goes on too.
    let said = wait_for_async("the container serves again", PATIENCE, async || {
        machine.exec(line("cat f"), Arc::new(NoPrograms)).await
    });
    let said = said.await.outcome.stdout.text;
    assert!(["kept\n", "other\n"].contains(&said.as_str()), "{said}");
    drop(machine);
    provider.close().await;
    stop(engine).await;
}

/// CON-23: what could not be removed while the engine was away is removed when it is back, by the process that made it.
#[tokio::test(flavor = "multi_thread")]
async fn con_23_what_an_engine_that_was_away_kept_is_removed_when_it_is_back() {
    let (folder, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (engine, docker, address) = match started(folder.path()).await {
        Ok(started) => started,
        Err(why) => return skip("con_23_stopped", &why),
    };
    if let Err(why) = busybox(&docker).await {
        stop(engine).await;
        return skip("con_23_stopped", &why);
    }
    let mut settings = settings(state.path());
    (settings.address, settings.answer_within) = (Some(address), Duration::from_secs(5));
    let provider = DockerProvider::new(settings).unwrap();
    let machines =
        [provider.machine(&spec(), None).await.unwrap(), provider.machine(&spec(), None).await.unwrap()];
    let owner = owner_of(state.path());
    assert_eq!(left_of(&docker, &owner).await, (2, 4));
    stop(engine).await;
    drop(machines);
    // Time for a first removal, which fails.
    tokio::time::sleep(Duration::from_secs(3)).await;
    let (engine, docker, _) = started(folder.path()).await.unwrap();
    wait_for_left(&docker, &owner, (0, 0)).await;
    // It was this process that removed them, and it goes on.
    drop(provider.machine(&spec(), None).await.unwrap());
    provider.close().await;
    assert_eq!(left_of(&docker, &owner).await, (0, 0));
    stop(engine).await;
}
