//! What was lost of an interpreter is told by the next answer, whichever it is, also by another process.

use std::path::Path;
use std::time::Duration;

use dormouse::sandbox::{Handle, Lost, Notes, Owner};
use dormouse::{Bounds, Dormouse, EvalRequest, Language, PersistentSandbox, Recovery};
use dormouse_tests::lasting::{self, named, run, shown};
use dormouse_tests::{PYTHON, sandbox};

const NOT_SAVED: &str = "it could not be saved";
const GIVEN_UP: &str = "an earlier call was cancelled before it ended";

fn notes(dormouse: &Dormouse, kept: &PersistentSandbox) -> Notes {
    let found = lasting::sandboxes(dormouse);
    let view = found.get(&Owner::local(), &Handle::IdOrName(kept.id().as_str())).unwrap();
    found.notes(&view.sandbox)
}

/// Sandboxes of these names whose `x` was 1 when they were saved last; then it was 2, and they could not be saved any more.
fn unsaved(folder: &Path, names: &[&str]) {
    let dormouse = lasting::open(folder);
    let hangs = "import sys, time
class W:
    at = float('inf')
    def write(self, s): return len(s)
    def flush(self):
        if time.time() > W.at: time.sleep(10**6)
x = 1
None";
    let all: Vec<_> = names.iter().map(|name| named(&dormouse, name)).collect();
    all.iter().for_each(|kept| assert!(run(kept, PYTHON, hangs).is_ok()));
    sandbox::wait(lasting::sandboxes(&dormouse).close()).unwrap();
    let arms = "x = 2\nsys.stdout = W()\nW.at = time.time() + 1\nNone";
    all.iter().for_each(|kept| assert!(run(kept, PYTHON, arms).is_ok()));
    // Until the sandboxes' own clocks say that they hang.
    std::thread::sleep(Duration::from_millis(1_500));
    assert!(sandbox::wait(lasting::sandboxes(&dormouse).close()).is_err());
    drop(all);
    drop(dormouse);
}

#[test]
fn lif_08_what_could_not_be_saved_is_told_once_by_whichever_answer_comes_next_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    unsaved(folder.path(), &["run", "list", "get", "set"]);
    let dormouse = lasting::open(folder.path());
    let (found, owner, python) = (lasting::sandboxes(&dormouse), Owner::local(), Language::python());
    let lost = Lost { guest: python.clone().into(), recovery: Recovery::Earlier, reason: NOT_SAVED.into() };
    for name in ["run", "list", "get", "set"] {
        let (kept, handle) = (named(&dormouse, name), Handle::IdOrName(name));
        assert_eq!(notes(&dormouse, &kept).lost, vec![lost.clone()], "{name}: before it wakes");
        sandbox::wait(kept.checkpoint()).unwrap();
        assert_eq!(notes(&dormouse, &kept).lost, vec![lost.clone()], "{name}: a checkpoint tells no run");
        let told = match name {
            "list" => sandbox::wait(found.variables(&owner, &handle, python.clone())).unwrap().1,
            "set" => {
                let set = found.set_variable(&owner, &handle, python.clone(), "y".into(), "1".into());
                sandbox::wait(set).unwrap()
            }
            "get" => {
                let bounds = Bounds::default();
                let got = found.get_variable(&owner, &handle, python.clone(), "x".into(), None, bounds);
                let got = sandbox::wait(got).unwrap();
                let (recovery, reason) = (got.recovery.unwrap(), got.recovery_reason.unwrap());
                Some(Lost { guest: python.clone().into(), recovery, reason })
            }
            _ => {
                let ran = run(&kept, PYTHON, "None");
                let (recovery, reason) = (ran.recovery.unwrap(), ran.recovery_reason.unwrap());
                Some(Lost { guest: python.clone().into(), recovery, reason })
            }
        };
        assert_eq!(told, Some(lost.clone()), "{name}");
        let again = run(&kept, PYTHON, "x");
        assert_eq!((again.recovery, again.recovery_reason), (None, None), "{name}: said once");
        assert_eq!((shown(&kept, PYTHON, "x"), notes(&dormouse, &kept)), (1.into(), Notes::default()));
    }
    lasting::close(dormouse);
}

#[test]
fn lif_08_a_call_that_was_given_up_is_told_by_the_next_answer_also_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let dormouse = lasting::open(folder.path());
    let give_up = |kept: &PersistentSandbox| {
        let mut request = EvalRequest::new(Language::python(), "x = 2\nwhile True: pass");
        request.context.limits.wall = Duration::from_secs(30);
        sandbox::wait(async {
            let cut = tokio::time::timeout(Duration::from_millis(300), kept.run(request)).await;
            assert!(cut.is_err(), "it does not end by itself");
        });
    };
    let told = |kept: &PersistentSandbox| {
        let outcome = run(kept, PYTHON, "x");
        (outcome.recovery, outcome.recovery_reason)
    };
    let said = (Some(Recovery::BeforeRun), Some(GIVEN_UP.to_owned()));
    let kept = named(&dormouse, "box");
    assert!(run(&kept, PYTHON, "x = 1").is_ok());
    give_up(&kept);
    assert_eq!(told(&kept), said);
    assert_eq!((told(&kept), shown(&kept, PYTHON, "x")), ((None, None), 1.into()));
    give_up(&kept);
    drop(kept);
    lasting::close(dormouse);
    let dormouse = lasting::open(folder.path());
    let kept = named(&dormouse, "box");
    assert_eq!(notes(&dormouse, &kept).lost[0].reason, GIVEN_UP);
    assert_eq!(told(&kept), said);
    assert_eq!(told(&kept), (None, None));
    lasting::close(dormouse);
}
