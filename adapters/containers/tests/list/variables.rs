//! Python's variables over a stop, in containers that are asked for them.

use std::time::Duration;

use dormouse_core::sandbox::{Include, Machine, SandboxSpec};
use dormouse_core::{EvalRequest, GuestName, Language, Limits, Outcome, Recovery};

use super::{FULL, Ground, said, spec};

pub(crate) async fn eval(machine: &mut Box<dyn Machine>, code: &str) -> Outcome {
    let mut request = EvalRequest::new(Language::python(), code);
    request.context.limits = Limits { wall: Duration::from_secs(20), ..Limits::default() };
    machine.eval(request).await.unwrap()
}

pub(crate) async fn number(machine: &mut Box<dyn Machine>, code: &str) -> Option<i64> {
    eval(machine, code).await.value().and_then(|value| value.as_i64())
}

pub(crate) fn asked() -> SandboxSpec {
    SandboxSpec { image: Some(FULL.into()), memory: 256 << 20, pickles: true, ..spec() }
}

pub(crate) async fn con_37_pickled_variables_go_into_the_next_container_and_what_is_missing_is_told_once(
    ground: &impl Ground,
) {
    let mut machine = ground.provider().machine(&asked(), None).await.unwrap();
    eval(&mut machine, "import json\ndef f(): return x + 1\nx = 41; g = (i for i in [])").await;
    let state = machine.snapshot(Include::Both).await.unwrap();
    assert_eq!((state.guests(), state.holds()), (vec![GuestName::python()], vec![GuestName::python()]));
    eval(&mut machine, "x = 1").await;
    let mut other = ground.provider().machine(&asked(), Some(state.clone())).await.unwrap();
    machine.restore(state.as_ref()).await.unwrap();
    for machine in [&mut other, &mut machine] {
        // Nothing has started yet: it is saved as it came.
        assert_eq!(machine.snapshot(Include::Both).await.unwrap().holds(), [Language::python()]);
        let told = eval(machine, "f()").await;
        assert_eq!(told.value().and_then(|value| value.as_i64()), Some(42), "{:?}", told.status);
        assert_eq!(told.recovery, Some(Recovery::Earlier));
        let reason = told.recovery_reason.unwrap();
        assert!(reason.contains("without `g` (TypeError: cannot pickle 'generator' object)"), "{reason}");
        let again = eval(machine, "json.dumps(x)").await;
        assert_eq!((again.recovery, again.is_ok()), (None, true));
    }
    // The files are those of before, and nothing of it lies among them.
    let (_, listed, _) = said(&mut machine, "ls -A / /workspace /tmp").await;
    assert!(!listed.contains("dormouse-python"), "{listed}");
    // An interpreter that is ended begins with what was saved last.
    eval(&mut machine, "x = 50").await;
    machine.snapshot(Include::Both).await.unwrap();
    let mut endless = EvalRequest::new(Language::python(), "x = 51\nwhile True: pass");
    endless.context.limits.wall = Duration::from_secs(1);
    let ended = machine.eval(endless).await.unwrap();
    assert_eq!(ended.recovery, Some(Recovery::Earlier));
    assert_eq!(number(&mut machine, "x").await, Some(50));
    // The files alone have no variables, and a reset forgets them.
    let files = machine.snapshot(Include::Files).await.unwrap();
    assert!(files.holds().is_empty());
    machine.reset().await.unwrap();
    assert!(machine.snapshot(Include::Both).await.unwrap().holds().is_empty());
    assert_eq!(eval(&mut machine, "x").await.exception().unwrap().class, "NameError");
    let mut third = ground.provider().machine(&asked(), Some(files)).await.unwrap();
    assert_eq!(eval(&mut third, "'x' in globals()").await.recovery, Some(Recovery::Fresh));
    // Who does not ask has none, as ever.
    let plain = SandboxSpec { pickles: false, ..asked() };
    let mut plain = ground.provider().machine(&plain, Some(state)).await.unwrap();
    assert_eq!(eval(&mut plain, "'x' in globals()").await.recovery, Some(Recovery::Fresh));
    assert!(plain.snapshot(Include::Both).await.unwrap().holds().is_empty());
    drop((machine, other, third, plain));
}
