//! Calls whose caller gives up: what they started ends, in a sandbox that nobody calls afterwards.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bollard::Docker;
use dormouse_core::program::NoPrograms;
use dormouse_core::sandbox::{Machine, SandboxSpec};
use dormouse_core::testing::wait_until_async;
use dormouse_core::{Bounds, EvalRequest, Language, Limits, Provider as _};
use dormouse_docker::DockerProvider;
use tokio::net::UnixListener;

use crate::leftovers::between;
use crate::support::{
    Bench, FULL, PATIENCE, line, owner_of, processes, running, said, settings, skip, spec, wait_for_process,
};

fn python(code: &str) -> EvalRequest {
    let mut request = EvalRequest::new(Language::python(), code);
    request.context.limits = Limits { wall: Duration::from_secs(60), ..Limits::default() };
    request
}

fn full() -> SandboxSpec {
    SandboxSpec { image: Some(FULL.into()), memory: 256 << 20, ..spec() }
}

/// How long it takes until nothing of these names runs, and goes on not to: what was being started when its caller gave up may
/// begin once more before it is ended.
async fn ended(docker: &Docker, id: &str, names: &[&str]) -> Duration {
    let begin = Instant::now();
    let mut quiet = begin;
    // Time in which something that was still being started would be seen.
    while quiet.elapsed() < Duration::from_millis(700) {
        let all = processes(docker, id).await;
        if names.iter().any(|name| all.contains(name)) {
            quiet = Instant::now();
        }
        assert!(begin.elapsed() < Duration::from_secs(10), "{all}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    quiet - begin
}

/// CON-20: a snippet that is given up ends, with the child that it started, though nobody calls the sandbox again.
#[tokio::test(flavor = "multi_thread")]
async fn con_20_a_snippet_that_is_given_up_ends_with_all_it_started() {
    let Some(bench) = Bench::new("con_20_snippet").await else { return };
    if bench.has("con_20_snippet", FULL).await {
        let mut machine = bench.provider.machine(&full(), None).await.unwrap();
        let id = running(&bench.docker, &bench.owner()).await.remove(0);
        machine.eval(python("x = 1")).await.unwrap();
        let busy = "import subprocess\nwith open('/workspace/t', 'w') as f: f.write('x')\n\
                    subprocess.Popen(['sleep', '4711'], start_new_session=True)\n\
                    while True: open('/workspace/t', 'a').write('x')";
        tokio::select! {
            _ = machine.eval(python(busy)) => panic!("it does not end"),
            () = wait_for_process(&bench.docker, &id, "sleep 4711") => {}
        }
        assert!(machine.awake().is_empty());
        let took = ended(&bench.docker, &id, &["sleep 4711", "python3"]).await;
        assert!(took < Duration::from_secs(3), "{took:?}");
        // Nothing writes any more, and the next call has an interpreter of its own.
        let size = said(&mut machine, "stat -c %s t").await.1;
        assert_ne!(size, "0\n");
        // Time in which something that still ran would write.
        tokio::time::sleep(Duration::from_millis(300)).await;
        assert_eq!(said(&mut machine, "stat -c %s t").await.1, size);
        let outcome = machine.eval(python("int('x' in globals())")).await.unwrap();
        assert_eq!(outcome.value().and_then(|value| value.as_i64()), Some(0));
        drop(machine);
    }
    bench.end().await;
}

/// CON-20: reading a variable runs code as well.
#[tokio::test(flavor = "multi_thread")]
async fn con_20_a_variable_that_does_not_come_is_given_up() {
    let Some(bench) = Bench::new("con_20_get").await else { return };
    if bench.has("con_20_get", FULL).await {
        let mut machine = bench.provider.machine(&full(), None).await.unwrap();
        let id = running(&bench.docker, &bench.owner()).await.remove(0);
        machine.eval(python("import time")).await.unwrap();
        let limits = Limits { wall: Duration::from_secs(60), ..Limits::default() };
        let bounds = Bounds::default();
        let (language, query) = (Language::python(), Some("value.sleep(60)"));
        let call = machine.get(&language, "time", query, (&limits, &bounds));
        assert!(tokio::time::timeout(Duration::from_millis(500), call).await.is_err());
        ended(&bench.docker, &id, &["python3"]).await;
        drop(machine);
    }
    bench.end().await;
}

/// CON-20: given up at any moment, also before the engine has started what was asked for.
#[tokio::test(flavor = "multi_thread")]
async fn con_20_a_call_that_is_given_up_while_it_is_started_does_not_begin_afterwards() {
    let Some(bench) = Bench::new("con_20_moments").await else { return };
    let full_there = bench.has("con_20_moments", FULL).await;
    let spec = if full_there { full() } else { spec() };
    let mut machine: Box<dyn Machine> = bench.provider.machine(&spec, None).await.unwrap();
    let id = running(&bench.docker, &bench.owner()).await.remove(0);
    for pause in [0, 1, 2, 4, 8, 12, 16, 20, 25, 30, 40, 50, 60, 80, 100, 130] {
        let pause = Duration::from_millis(pause);
        let call = machine.exec(line("sleep 4712"), Arc::new(NoPrograms));
        assert!(tokio::time::timeout(pause, call).await.is_err());
        if full_there {
            let call = machine.eval(python("import time; time.sleep(4713)"));
            assert!(tokio::time::timeout(pause, call).await.is_err());
        }
        ended(&bench.docker, &id, &["sleep 4712", "python3"]).await;
    }
    assert_eq!(said(&mut machine, "echo still").await.1, "still\n");
    drop(machine);
    bench.end().await;
}

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
    ended(&bench.docker, &id, &["sleep 4714"]).await;
    drop(machine);
    provider.close().await;
    proxy.abort();
    bench.end().await;
}
