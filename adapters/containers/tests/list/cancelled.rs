//! Calls whose caller gives up: what they started ends, in a sandbox that nobody calls afterwards.

use std::sync::Arc;
use std::time::{Duration, Instant};

use dormouse_core::program::NoPrograms;
use dormouse_core::sandbox::SandboxSpec;
use dormouse_core::{Bounds, EvalRequest, Language, Limits};

use super::{FULL, Ground, line, said, spec, wait_for_process};

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
pub(crate) async fn ended(ground: &impl Ground, id: &str, names: &[&str]) -> Duration {
    let begin = Instant::now();
    let mut quiet = begin;
    // Time in which something that was still being started would be seen.
    while quiet.elapsed() < Duration::from_millis(700) {
        let all = ground.processes(id).await;
        if names.iter().any(|name| all.contains(name)) {
            quiet = Instant::now();
        }
        assert!(begin.elapsed() < Duration::from_secs(10), "{all}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    quiet - begin
}

/// CON-20: a snippet that is given up ends, with the child that it started, though nobody calls the sandbox again.
pub(crate) async fn con_20_a_snippet_that_is_given_up_ends_with_all_it_started(ground: &impl Ground) {
    let mut machine = ground.provider().machine(&full(), None).await.unwrap();
    let id = ground.running().await.remove(0);
    machine.eval(python("x = 1")).await.unwrap();
    let busy = "import subprocess\nwith open('/workspace/t', 'w') as f: f.write('x')\n\
                subprocess.Popen(['sleep', '4711'], start_new_session=True)\n\
                while True: open('/workspace/t', 'a').write('x')";
    tokio::select! {
        _ = machine.eval(python(busy)) => panic!("it does not end"),
        () = wait_for_process(ground, &id, "sleep 4711") => {}
    }
    assert!(machine.awake().is_empty());
    let took = ended(ground, &id, &["sleep 4711", "python3"]).await;
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

/// CON-20: reading a variable runs code as well.
pub(crate) async fn con_20_a_variable_that_does_not_come_is_given_up(ground: &impl Ground) {
    let mut machine = ground.provider().machine(&full(), None).await.unwrap();
    let id = ground.running().await.remove(0);
    machine.eval(python("import time")).await.unwrap();
    let limits = Limits { wall: Duration::from_secs(60), ..Limits::default() };
    let bounds = Bounds::default();
    let (language, query) = (Language::python(), Some("value.sleep(60)"));
    let call = machine.get(&language, "time", query, (&limits, &bounds));
    assert!(tokio::time::timeout(Duration::from_millis(500), call).await.is_err());
    ended(ground, &id, &["python3"]).await;
    drop(machine);
}

/// CON-20: given up at any moment, also before the engine has started what was asked for.
pub(crate) async fn con_20_a_call_that_is_given_up_while_it_is_started_does_not_begin_afterwards(
    ground: &impl Ground,
) {
    let mut machine = ground.provider().machine(&full(), None).await.unwrap();
    let id = ground.running().await.remove(0);
    for pause in [0, 1, 2, 4, 8, 12, 16, 20, 25, 30, 40, 50, 60, 80, 100, 130] {
        let pause = Duration::from_millis(pause);
        let call = machine.exec(line("sleep 4712"), Arc::new(NoPrograms));
        assert!(tokio::time::timeout(pause, call).await.is_err());
        let call = machine.eval(python("import time; time.sleep(4713)"));
        assert!(tokio::time::timeout(pause, call).await.is_err());
        ended(ground, &id, &["sleep 4712", "python3"]).await;
    }
    assert_eq!(said(&mut machine, "echo still").await.1, "still\n");
    drop(machine);
}
