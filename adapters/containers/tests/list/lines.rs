//! Command lines: what lasts, what is bounded, and what ends them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use dormouse_core::ErrorCode;
use dormouse_core::program::NoPrograms;
use dormouse_core::sandbox::{Machine, SandboxSpec};

use super::{FULL, Ground, line, path, run, said, spec, wait_for_process};

pub(crate) async fn a_line_has_both_streams_its_status_and_what_earlier_lines_left(ground: &impl Ground) {
    let mut machine = ground.provider().machine(&spec(), None).await.unwrap();
    lasting(&mut machine).await;
    let (_, id, _) = said(&mut machine, "id -u; id -g; pwd; hostname").await;
    assert_eq!(id, "65534\n65534\n/workspace/a b\nsandbox\n");
    drop(machine);
}

pub(crate) async fn bash_keeps_functions_and_arrays_too(ground: &impl Ground) {
    let spec = SandboxSpec { image: Some(FULL.into()), ..spec() };
    let mut machine = ground.provider().machine(&spec, None).await.unwrap();
    lasting(&mut machine).await;
    said(&mut machine, "f() { echo \"f: $1\"; }; list=(a 'b c')").await;
    assert_eq!(
        said(&mut machine, "f 1; echo \"${list[1]}\"").await,
        (0, "f: 1\nb c\n".into(), String::new())
    );
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
pub(crate) async fn con_01_a_time_limit_ends_all_of_a_line_and_nothing_else(ground: &impl Ground) {
    let mut machine = ground.provider().machine(&spec(), None).await.unwrap();
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
    assert!(!processes.contains("while :; do :;"), "{processes}");
    assert!(processes.contains("until [ -e /tmp/go ]"), "the job lives on: {processes}");
    said(&mut machine, "touch /tmp/go").await;
    let done = job.await.unwrap();
    assert_eq!(done.outcome.stdout.text, "job done\n");
    drop(machine);
}

pub(crate) async fn dropping_a_call_or_a_job_kills_what_it_started(ground: &impl Ground) {
    let mut machine = ground.provider().machine(&spec(), None).await.unwrap();
    let id = ground.running().await.remove(0);
    tokio::select! {
        _ = machine.exec(line("sleep 888"), Arc::new(NoPrograms)) => panic!("it does not end"),
        () = wait_for_process(ground, &id, "sleep 888") => {}
    }
    let mut job = machine.job(line("sleep 999"), Arc::new(NoPrograms)).await.unwrap();
    tokio::select! {
        _ = &mut job => panic!("it does not end"),
        () = wait_for_process(ground, &id, "sleep 999") => {}
    }
    drop(job);
    let (_, processes, _) = said(&mut machine, "ps -o args").await;
    assert!(!processes.contains("sleep 888") && !processes.contains("sleep 999"), "{processes}");
    drop(machine);
}

/// CON-04: much output, binary, both streams at once; what is kept is bounded, what is dropped is counted.
pub(crate) async fn con_04_output_is_bounded_counted_and_kept_apart(ground: &impl Ground) {
    let mut machine = ground.provider().machine(&spec(), None).await.unwrap();
    let text = "yes out | head -c 20000000 & head -c 3000 /dev/urandom >&2; wait; printf end >&2";
    let ended = run(&mut machine, text).await.outcome;
    assert_eq!(ended.stdout.total_bytes, 20_000_000);
    assert_eq!(ended.stdout.dropped_bytes, 20_000_000 - (64 << 10));
    assert_eq!(ended.stderr.total_bytes, 3_003);
    assert!(ended.stderr.text.ends_with("end") && !ended.stdout.text.contains("end"));
    drop(machine);
}
