//! Calls whose caller gives up while the engine is slow.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use dormouse_core::Provider as _;
use dormouse_core::program::NoPrograms;
use dormouse_core::testing::wait_until_async;
use dormouse_docker::DockerProvider;
use tokio::net::UnixListener;

use crate::leftovers::between;
use crate::list::cancelled::ended;
use crate::list::{PATIENCE, line, spec};
use crate::support::{Bench, owner_of, running, settings, skip};

/// CON-20: the engine takes its time to start what was given up meanwhile, longer than the sweep needs.
#[tokio::test(flavor = "multi_thread")]
async fn con_20_what_a_slow_engine_starts_after_it_was_given_up_is_ended() {
    let Some(bench) = Bench::new("con_20_slow").await else { return };
    let engine = std::env::var("DOCKER_HOST").unwrap_or_else(|_| "unix:///var/run/docker.sock".into());
    let Some(engine) = engine.strip_prefix("unix://").map(str::to_owned) else {
        skip("con_20_slow", "the engine has no socket");
        return bench.end().await;
    };
    let (folder, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let socket = folder.path().join("between.sock");
    let listener = UnixListener::bind(&socket).unwrap();
    let held = Arc::new(AtomicBool::new(false));
    let (request, pause) = ((held.clone(), b"/start".as_slice()), Duration::from_millis(1_500));
    let proxy = tokio::spawn(async move { between(&engine, listener, request, pause).await });
    let mut settings = settings(state.path());
    settings.address = Some(format!("unix://{}", socket.display()));
    let provider = DockerProvider::new(settings).unwrap();
    let mut machine = provider.machine(&spec(), None).await.unwrap();
    let id = running(&bench.docker, &owner_of(state.path())).await.remove(0);
    held.store(true, Ordering::Release);
    tokio::select! {
        _ = machine.exec(line("sleep 4714"), Arc::new(NoPrograms)) => panic!("its start is held up"),
        () = wait_until_async("its start is held up", PATIENCE, || !held.load(Ordering::Acquire)) => {}
    }
    // Time for the start to come through, and to start what must not go on.
    tokio::time::sleep(pause + Duration::from_millis(500)).await;
    ended(&bench, &id, &["sleep 4714"]).await;
    drop(machine);
    provider.close().await;
    proxy.abort();
    bench.end().await;
}
