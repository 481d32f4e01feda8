//! Command lines that take all that a container has.

use std::sync::Arc;
use std::time::Duration;

use dormouse_core::program::NoPrograms;
use dormouse_core::sandbox::SandboxSpec;
use dormouse_core::{ErrorCode, Provider as _, Status};

use crate::list::{FULL, line, run, said, spec};
use crate::support::Bench;

/// CON-01: `kill -9 -1`, a fork bomb, a double-forked daemon.
#[tokio::test(flavor = "multi_thread")]
async fn con_01_a_fork_bomb_is_bounded_and_swept() {
    let Some(bench) = Bench::new("con_01_fork").await else { return };
    let mut machine = bench.machine().await;
    let killed = run(&mut machine, "kill -9 -1").await.outcome;
    assert!(matches!(killed.status, Status::Exited(_)), "{:?}", killed.status);
    assert_eq!(said(&mut machine, "echo alive").await.1, "alive\n");
    let mut request = line("b() { b | b & }; b; sleep 20");
    request.context.limits.wall = Duration::from_secs(2);
    let ended = machine.exec(request, Arc::new(NoPrograms)).await.unwrap();
    assert!(!ended.outcome.is_ok());
    let (_, count, _) = said(&mut machine, "ls -d /proc/[0-9]* | wc -l").await;
    assert!(count.trim().parse::<u32>().unwrap() < 12, "{count}");
    drop(machine);
    bench.end().await;
}

/// CON-01: processes that fill the limit at once and again, so that nothing else can be started.
#[tokio::test(flavor = "multi_thread")]
async fn con_01_a_full_limit_of_processes_does_not_keep_the_sweep_out() {
    let Some(bench) = Bench::new("con_01_full").await else { return };
    {
        let spec = SandboxSpec { image: Some(FULL.into()), ..spec() };
        let mut machine = bench.provider.machine(&spec, None).await.unwrap();
        said(&mut machine, "echo kept > file").await;
        // Python forks without a pause; what is killed is forked again by those that are left.
        let bomb = "import os\nwhile True:\n try: os.fork()\n except OSError: pass\n";
        let mut request = line(&format!("python3 -c '{bomb}'"));
        request.context.limits.wall = Duration::from_secs(3);
        let ended = machine.exec(request, Arc::new(NoPrograms)).await.unwrap();
        assert_eq!(ended.outcome.stopped().map(|error| error.code()), Some(ErrorCode::LimitTime));
        assert_eq!(said(&mut machine, "cat file").await.1, "kept\n");
        let (_, count, _) = said(&mut machine, "ls -d /proc/[0-9]* | wc -l").await;
        assert!(count.trim().parse::<u32>().unwrap() < 12, "{count}");
        drop(machine);
    }
    bench.end().await;
}

/// CON-01: a memory bomb is `limit_memory`, not a bare 137; a line that survives one is not.
#[tokio::test(flavor = "multi_thread")]
async fn con_01_a_memory_bomb_is_named() {
    let Some(bench) = Bench::new("con_01_memory").await else { return };
    let mut machine = bench.machine().await;
    let bomb = "tail /dev/zero";
    let ended = run(&mut machine, bomb).await.outcome;
    assert_eq!(ended.stopped().map(|error| error.code()), Some(ErrorCode::LimitMemory), "{:?}", ended.status);
    let ended = run(&mut machine, &format!("exec {bomb}")).await.outcome;
    assert_eq!(ended.stopped().map(|error| error.code()), Some(ErrorCode::LimitMemory), "{:?}", ended.status);
    assert_eq!(said(&mut machine, &format!("{bomb}; echo survived")).await.1, "survived\n");
    assert_eq!(said(&mut machine, "sh -c 'kill -9 $$'").await.0, 137);
    assert!(!machine.is_gone());
    drop(machine);
    bench.end().await;
}
