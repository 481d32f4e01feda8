//! Command lines: what lasts, what is bounded, and what ends them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use dormouse_core::program::NoPrograms;
use dormouse_core::sandbox::{Machine, SandboxSpec};
use dormouse_core::{ErrorCode, Provider as _, Status};

use crate::support::{Bench, FULL, line, path, run, running, said, spec, wait_for_process};

#[tokio::test(flavor = "multi_thread")]
async fn a_line_has_both_streams_its_status_and_what_earlier_lines_left() {
    let Some(bench) = Bench::new("lines").await else { return };
    let mut machine = bench.machine().await;
    lasting(&mut machine).await;
    let (_, id, _) = said(&mut machine, "id -u; id -g; pwd; hostname").await;
    assert_eq!(id, "65534\n65534\n/workspace/a b\nsandbox\n");
    drop(machine);
    bench.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bash_keeps_functions_and_arrays_too() {
    let Some(bench) = Bench::new("bash").await else { return };
    if bench.has("bash", FULL).await {
        let spec = SandboxSpec { image: Some(FULL.into()), ..spec() };
        let mut machine = bench.provider.machine(&spec, None).await.unwrap();
        lasting(&mut machine).await;
        said(&mut machine, "f() { echo \"f: $1\"; }; list=(a 'b c')").await;
        assert_eq!(
            said(&mut machine, "f 1; echo \"${list[1]}\"").await,
            (0, "f: 1\nb c\n".into(), String::new())
        );
    }
    bench.end().await;
}

async fn lasting(machine: &mut Box<dyn Machine>) {
    let quoted = r#"echo "it's"; echo 'two  spaces' >&2; exit 7"#;
    assert_eq!(said(machine, quoted).await, (7, "it's\n".into(), "two  spaces\n".into()));
    said(machine, "mkdir -p 'a b'; cd 'a b'; export X='1 \"2\" $3'; y=\"it's\"").await;
    assert_eq!(said(machine, "pwd; echo \"$X\"; echo \"$y\"").await.1, "/workspace/a b\n1 \"2\" $3\nit's\n");
    // A folder of its own holds for one line.
    let mut request = line("pwd; exit 3");
    request.context.grants.directory = Some(path("/tmp"));
    let ended = machine.exec(request, Arc::new(NoPrograms)).await.unwrap();
    assert_eq!((ended.outcome.stdout.text.as_str(), ended.outcome.exit_code()), ("/tmp\n", 3));
    assert_eq!(said(machine, "pwd").await.1, "/workspace/a b\n");
    // Standard input, and a line that replaces its shell.
    let mut request = line("exec cat");
    request.context.grants.stdin = b"from outside".to_vec();
    let ended = machine.exec(request, Arc::new(NoPrograms)).await.unwrap();
    assert_eq!((ended.outcome.stdout.text.as_str(), ended.outcome.exit_code()), ("from outside", 0));
    assert_eq!(said(machine, "nosuchcommand").await.0, 127);
    let (code, _, errors) = said(machine, "if").await;
    assert!(code != 0 && !errors.is_empty());
    assert_eq!(said(machine, "echo still").await.1, "still\n");
}

/// CON-01: a busy loop and one that ignores SIGTERM; everything of the line is dead, what was written is there.
#[tokio::test(flavor = "multi_thread")]
async fn con_01_a_time_limit_ends_all_of_a_line_and_nothing_else() {
    let Some(bench) = Bench::new("con_01_time").await else { return };
    let mut machine = bench.machine().await;
    let mut job = machine
        .job(
            line("echo begun > /tmp/job; until [ -e /tmp/go ]; do sleep 0.2; done; echo job done"),
            Arc::new(NoPrograms),
        )
        .await
        .unwrap();
    // It runs while somebody looks at it, and it is looked at once more when it has said so.
    let mut said_so = false;
    while !std::mem::replace(&mut said_so, machine.files().read(&path("/tmp/job"), 0, 1).await.is_ok()) {
        let waiting = tokio::time::timeout(Duration::from_millis(400), &mut job).await;
        assert!(waiting.is_err(), "the job runs");
    }
    let mut request =
        line("trap '' TERM; echo first; setsid sleep 777 & (while :; do :; done) & while :; do :; done");
    request.context.limits.wall = Duration::from_millis(700);
    let begin = Instant::now();
    let ended = machine.exec(request, Arc::new(NoPrograms)).await.unwrap();
    let took = begin.elapsed();
    assert_eq!(ended.outcome.stopped().unwrap().code(), ErrorCode::LimitTime);
    assert_eq!(ended.outcome.exit_code(), 124);
    assert_eq!(ended.outcome.stdout.text, "first\n");
    assert!(took < Duration::from_secs(4), "{took:?}");
    let (_, processes, _) = said(&mut machine, "ps -o args").await;
    assert!(!processes.contains("sleep 777"), "{processes}");
    assert!(!processes.contains("while :"), "{processes}");
    assert!(processes.contains("until [ -e /tmp/go ]"), "the job lives on: {processes}");
    said(&mut machine, "touch /tmp/go").await;
    let done = job.await.unwrap();
    assert_eq!(done.outcome.stdout.text, "job done\n");
    drop(machine);
    bench.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn dropping_a_call_or_a_job_kills_what_it_started() {
    let Some(bench) = Bench::new("cancel").await else { return };
    let mut machine = bench.machine().await;
    let id = running(&bench.docker, &bench.owner()).await.remove(0);
    tokio::select! {
        _ = machine.exec(line("sleep 888"), Arc::new(NoPrograms)) => panic!("it does not end"),
        () = wait_for_process(&bench.docker, &id, "sleep 888") => {}
    }
    let mut job = machine.job(line("sleep 999"), Arc::new(NoPrograms)).await.unwrap();
    tokio::select! {
        _ = &mut job => panic!("it does not end"),
        () = wait_for_process(&bench.docker, &id, "sleep 999") => {}
    }
    drop(job);
    let (_, processes, _) = said(&mut machine, "ps -o args").await;
    assert!(!processes.contains("sleep 888") && !processes.contains("sleep 999"), "{processes}");
    drop(machine);
    bench.end().await;
}

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
    if bench.has("con_01_full", FULL).await {
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

/// CON-04: much output, binary, both streams at once; what is kept is bounded, what is dropped is counted.
#[tokio::test(flavor = "multi_thread")]
async fn con_04_output_is_bounded_counted_and_kept_apart() {
    let Some(bench) = Bench::new("con_04").await else { return };
    let mut machine = bench.machine().await;
    let text = "yes out | head -c 20000000 & head -c 3000 /dev/urandom >&2; wait; printf end >&2";
    let ended = run(&mut machine, text).await.outcome;
    assert_eq!(ended.stdout.total_bytes, 20_000_000);
    assert_eq!(ended.stdout.dropped_bytes, 20_000_000 - (64 << 10));
    assert_eq!(ended.stderr.total_bytes, 3_003);
    assert!(ended.stderr.text.ends_with("end") && !ended.stdout.text.contains("end"));
    drop(machine);
    bench.end().await;
}
