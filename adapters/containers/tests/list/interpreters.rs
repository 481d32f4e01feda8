//! Interpreters that live in a container.

use std::sync::Arc;
use std::time::Duration;

use dormouse_core::program::NoPrograms;
use dormouse_core::sandbox::{Machine, SandboxSpec};
use dormouse_core::{Bounds, ErrorCode, EvalRequest, Language, Limits, Outcome, Recovery};

use super::{FULL, Ground, line, said, spec};

async fn eval(machine: &mut Box<dyn Machine>, language: &Language, code: &str) -> Outcome {
    let mut request = EvalRequest::new(language.clone(), code);
    request.context.limits.wall = Duration::from_secs(30);
    machine.eval(request).await.unwrap()
}

fn full() -> SandboxSpec {
    SandboxSpec {
        image: Some(FULL.into()),
        memory: 256 << 20,
        environment: vec![("WHO".into(), "me".into())],
        ..spec()
    }
}

pub(crate) async fn variables_last_from_call_to_call_and_beside_command_lines(ground: &impl Ground) {
    let mut machine = ground.provider().machine(&full(), None).await.unwrap();
    let (python, javascript) = (Language::python(), Language::javascript());
    eval(&mut machine, &python, "import os; x = 20; open('from_python', 'w').write(os.environ['WHO'])").await;
    let outcome = eval(&mut machine, &python, "print('said'); x + 1").await;
    assert_eq!(
        (outcome.value().and_then(|value| value.as_i64()), outcome.stdout.text.as_str()),
        (Some(21), "said\n")
    );
    assert_eq!(outcome.provider, ground.provider().name());
    assert_eq!(
        eval(&mut machine, &javascript, "1 + 1").await.value().and_then(|value| value.as_i64()),
        Some(2)
    );
    assert_eq!(machine.awake(), [javascript.clone(), python.clone()]);
    assert_eq!(said(&mut machine, "cat from_python").await.1, "me");
    let limits = Limits { wall: Duration::from_secs(30), ..Limits::default() };
    machine.set(&python, "y", "[1, 2]", &limits).await.unwrap();
    let got = machine.get(&python, "y", Some("len(value)"), (&limits, &Bounds::default())).await.unwrap();
    assert_eq!(got.value().and_then(|value| value.as_i64()), Some(2));
    let missing = machine.get(&python, "nothing", None, (&limits, &Bounds::default())).await.unwrap_err();
    assert_eq!(missing.code(), ErrorCode::NotFound);
    let names: Vec<String> = machine
        .variables(&python, &limits)
        .await
        .unwrap()
        .into_iter()
        .map(|variable| variable.name)
        .collect();
    assert!(names.contains(&"x".into()) && names.contains(&"y".into()), "{names:?}");
    // A line that is cut off takes no interpreter with it.
    let mut request = line("sleep 30");
    request.context.limits.wall = Duration::from_millis(300);
    let ended = machine.exec(request, Arc::new(NoPrograms)).await.unwrap();
    assert!(ended.outcome.timed_out());
    assert_eq!(eval(&mut machine, &python, "x").await.value().and_then(|value| value.as_i64()), Some(20));
    machine.reset().await.unwrap();
    assert_eq!(eval(&mut machine, &python, "x").await.exception().unwrap().class, "NameError");
    drop(machine);
}

pub(crate) async fn con_01_a_snippet_that_is_stopped_leaves_nothing_and_a_fresh_interpreter(
    ground: &impl Ground,
) {
    let mut machine = ground.provider().machine(&full(), None).await.unwrap();
    let python = Language::python();
    let mut request = EvalRequest::new(python.clone(), "import subprocess; subprocess.run(['sleep', '555'])");
    request.context.limits.wall = Duration::from_secs(3);
    let outcome = machine.eval(request).await.unwrap();
    assert_eq!(
        outcome.stopped().map(|error| error.code()),
        Some(ErrorCode::LimitTime),
        "{:?}",
        outcome.status
    );
    assert_eq!(outcome.recovery, Some(Recovery::Fresh));
    let sleeping = "for f in /proc/[0-9]*/cmdline; do tr '\\0' ' ' < $f; echo; done";
    let (_, processes, _) = said(&mut machine, sleeping).await;
    assert!(!processes.contains("sleep 555"), "{processes}");
    let outcome =
        eval(&mut machine, &python, "a = bytearray(10**9)\nfor i in range(0, 10**9, 4096): a[i] = 1").await;
    let code = outcome.stopped().map(|error| error.code());
    let raised = outcome.exception().is_some_and(|exception| exception.class == "MemoryError");
    assert!(raised || code == Some(ErrorCode::LimitMemory), "{:?}", outcome.status);
    assert_eq!(eval(&mut machine, &python, "1 + 1").await.value().and_then(|value| value.as_i64()), Some(2));
    let php = machine.eval(EvalRequest::new(Language::parse("ruby").unwrap(), "1")).await.unwrap_err();
    assert_eq!(php.code(), ErrorCode::CapabilityUnavailable);
    drop(machine);
}
