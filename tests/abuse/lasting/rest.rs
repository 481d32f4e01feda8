//! Code of a snippet's that runs when nobody has called it: while its sandbox is saved, listed, woken or destroyed. It has
//! the time of a save, the answer says what was lost, and nobody else notices.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use dormouse::{Callback, Callbacks, Outcome, PersistentSandbox, Recovery};
use dormouse_tests::ending::assert_ends;
use dormouse_tests::{NOISE, PROMISE, wait_until};
use serde_json::json;

use super::*;

/// Time for one save of one sandbox, and for a slow machine.
const SAVE: Duration = Duration::from_secs(10 + 10);

/// Python that hangs in `how` once it is armed, when its state is taken: the run itself flushes its output once.
fn at_rest(how: &str) -> Vec<String> {
    let waits = "import time\ndef hang():\n    time.sleep(10**6)";
    let loops = "def hang():\n    while True: pass";
    let way = match how {
        "flush" => {
            "import sys\nclass E:\n    n = 0\n    def write(self, s): return len(s)\n    def flush(self):\n        E.n += armed\n        if E.n > 1: hang()\nkept = E()"
        }
        "fileno" => {
            "import io\nclass E(io.RawIOBase):\n    def fileno(self):\n        if armed: hang()\n        return 9\nkept = E()"
        }
        _ => {
            "import io\nclass E(io.RawIOBase):\n    name = 'x'\n    def fileno(self): return 9\n    def close(self):\n        if armed: hang()\nkept = E()"
        }
    };
    [waits, loops].iter().map(|hang| format!("armed = False\n{hang}\n{way}\nx = 1\nNone")).collect()
}

/// Lets what the sandbox keeps for its rest run from now on.
fn arm(kept: &PersistentSandbox) {
    let code = "x = 2\narmed = True\nimport sys\nif hasattr(kept, 'n'): sys.stdout = kept\nelse: opened = open('/tmp/opened', 'w')\nNone";
    assert!(run(kept, PYTHON, code).is_ok());
}

fn generation(kept: &PersistentSandbox) -> u64 {
    kept.view().expect("it is there").sandbox.generation
}

fn eval_within(kept: &PersistentSandbox, code: &str, wall: u64) -> dormouse::Result<Outcome> {
    let mut request = EvalRequest::new(Language::python(), code);
    request.context.limits.wall = Duration::from_millis(wall);
    sandbox::wait(kept.run(request))
}

#[test]
fn lif_08_what_hangs_while_it_is_saved_is_given_up_and_others_are_saved_meanwhile() {
    case(&[PYTHON], || {
        let folder = tempfile::tempdir().unwrap();
        let dormouse = open(folder.path());
        let upkeep = sandbox::wait(async { lasting::sandboxes(&dormouse).keep_up().abort_handle() });
        let mut hostile = Vec::new();
        for round in 0..3 {
            for (at, code) in at_rest("flush").into_iter().enumerate() {
                let kept = named(&dormouse, &format!("box-{round}-{at}"));
                assert!(run(&kept, PYTHON, &code).is_ok());
                wait_until("what does not hang is saved", SAVE, || generation(&kept) > 1);
                hostile.push(kept);
            }
        }
        hostile.iter().for_each(arm);
        // Time to begin to save them, which hangs; another sandbox is saved as if they were not there.
        std::thread::sleep(Duration::from_millis(1_500));
        let other = named(&dormouse, "other");
        assert!(run(&other, PYTHON, "y = 1").is_ok());
        wait_until("another sandbox is saved", Duration::from_secs(5), || generation(&other) > 1);
        // Each goes on from what was saved before it hung, and says so.
        for kept in &hostile {
            let mut lost = None;
            wait_until("an answer comes after a save that was given up", SAVE * 3, || {
                let answered = eval_within(kept, "x", 1_000);
                lost = answered.ok().filter(|outcome| outcome.is_ok());
                lost.is_some()
            });
            let outcome = lost.unwrap();
            let name = kept.view().unwrap().sandbox.name;
            let said = (value_of(&outcome), outcome.recovery);
            assert_eq!(said, (json!(1), Some(Recovery::Earlier)), "{name}");
            assert_eq!(run(kept, PYTHON, "x").recovery, None, "it is said once");
        }
        upkeep.abort();
        drop((hostile, other));
        close(dormouse);
    });
}

fn value_of(outcome: &Outcome) -> Json {
    dormouse_tests::ending::value(outcome)["value"].clone()
}

#[test]
fn lif_08_files_that_hang_when_they_are_closed_are_not_asked_by_a_checkpoint() {
    case(&[PYTHON], || {
        let folder = tempfile::tempdir().unwrap();
        let dormouse = open(folder.path());
        for how in ["fileno", "close"] {
            for (at, code) in at_rest(how).into_iter().enumerate() {
                let kept = named(&dormouse, &format!("{how}-{at}"));
                assert!(run(&kept, PYTHON, &code).is_ok());
                arm(&kept);
                // What is open stays open, so nobody asks what hangs.
                let begin = Instant::now();
                sandbox::wait(kept.checkpoint()).unwrap();
                assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());
                let outcome = run(&kept, PYTHON, "x");
                assert_eq!((value_of(&outcome), outcome.recovery), (json!(2), None), "{how}");
            }
        }
        close(dormouse);
    });
}

#[test]
fn lif_08_a_call_that_comes_before_the_save_ends_within_its_own_time() {
    case(&[PYTHON], || {
        let folder = tempfile::tempdir().unwrap();
        let dormouse = open(folder.path());
        let kept = named(&dormouse, "box");
        assert!(run(&kept, PYTHON, &at_rest("flush")[0]).is_ok());
        arm(&kept);
        let begin = Instant::now();
        let error = eval_within(&kept, "x", 1_000).unwrap_err();
        assert_eq!(error.code(), ErrorCode::LimitTime, "{error}");
        assert!(begin.elapsed() < Duration::from_secs(1) + PROMISE + NOISE, "{:?}", begin.elapsed());
        // Whoever destroys it does not wait for what hangs.
        let begin = Instant::now();
        sandbox::wait(kept.destroy()).unwrap();
        assert!(begin.elapsed() < PROMISE + NOISE, "{:?}", begin.elapsed());
        close(dormouse);
    });
}

#[test]
fn lif_08_the_end_of_a_server_does_not_wait_for_what_hangs() {
    case(&[PYTHON], || {
        let folder = tempfile::tempdir().unwrap();
        let dormouse = open(folder.path());
        let others: Vec<_> = (0..3).map(|n| named(&dormouse, &format!("other-{n}"))).collect();
        let hostile: Vec<_> = (0..6).map(|n| named(&dormouse, &format!("box-{n}"))).collect();
        for kept in &hostile {
            assert!(run(kept, PYTHON, &at_rest("flush")[0]).is_ok());
            arm(kept);
        }
        others.iter().for_each(|kept| assert!(run(kept, PYTHON, "y = 7").is_ok()));
        drop((hostile, others));
        let begin = Instant::now();
        // What was lost is told.
        sandbox::wait(lasting::sandboxes(&dormouse).close()).unwrap_err();
        assert!(begin.elapsed() < SAVE, "{:?}", begin.elapsed());
        drop(dormouse);
        let dormouse = open(folder.path());
        for n in 0..3 {
            assert_eq!(shown(&named(&dormouse, &format!("other-{n}")), PYTHON, "y"), 7);
        }
        close(dormouse);
    });
}

#[test]
fn lif_08_listing_and_binding_variables_end_within_the_limit() {
    case(&[PYTHON, JAVASCRIPT], || {
        let folder = tempfile::tempdir().unwrap();
        let dormouse = open(folder.path());
        let kept = named(&dormouse, "box");
        let (found, owner) = (lasting::sandboxes(&dormouse).clone(), Owner::local());
        let handle = Handle::IdOrName("box");
        for hang in ["__import__('time').sleep(10**6)", "[0 for _ in iter(int, 1) if _]"] {
            let code = format!("class A:\n    def __repr__(self): return {hang}\nx = 5\nNone");
            assert!(run(&kept, PYTHON, &code).is_ok());
            assert!(run(&kept, PYTHON, "a = A()").is_ok());
            let begin = Instant::now();
            let listed = sandbox::wait(found.variables(&owner, &handle, Language::python()));
            assert_eq!(listed.unwrap_err().code(), ErrorCode::LimitTime);
            assert!(begin.elapsed() < Duration::from_secs(7), "{:?}", begin.elapsed());
            // As it was before the listing: nothing of the caller's is lost.
            assert_eq!(shown(&kept, PYTHON, "x"), 5);
            assert!(run(&kept, PYTHON, "del a").is_ok());
        }
        drop((kept, found));
        close(dormouse);
    });
}

#[test]
fn lif_08_callbacks_of_a_run_cannot_be_called_after_it() {
    case(&[PYTHON], || {
        let folder = tempfile::tempdir().unwrap();
        let dormouse = open(folder.path());
        let kept = named(&dormouse, "box");
        let called = Arc::new(AtomicU32::new(0));
        let count = called.clone();
        let mut callbacks = Callbacks::default();
        let callback = Callback::new("counts", json!({"type": "object"}), move |_| {
            count.fetch_add(1, Ordering::SeqCst);
            async { Ok(json!(null)) }
        });
        callbacks.insert("count", callback).unwrap();
        let code = "import sys\nclass E:\n    def write(self, s): return len(s)\n    def flush(self):\n        try: call_tool('count')\n        except Exception as e: self.error = str(e)\nsys.stdout = kept = E()\nNone";
        let mut request = EvalRequest::new(Language::python(), code);
        request.context.callbacks = callbacks;
        assert!(sandbox::wait(kept.run(request)).unwrap().is_ok());
        let during = called.load(Ordering::SeqCst);
        sandbox::wait(kept.checkpoint()).unwrap();
        assert!(shown(&kept, PYTHON, "kept.error").as_str().unwrap().contains("this run has none"));
        assert_eq!(called.load(Ordering::SeqCst), during, "called while the state was taken");
        drop(kept);
        close(dormouse);
    });
}

/// The interpreter is full, and its owner may still look at it, empty it and go on, before and after a sleep.
#[test]
fn mem_06_a_sandbox_whose_memory_is_full_can_be_woken_and_emptied() {
    case(&[PYTHON, JAVASCRIPT], || {
        let folder = tempfile::tempdir().unwrap();
        let fill_python = "keep = 7\nb = []\nwhile True: b.append(bytes(100000))";
        let fill_javascript = "var keep = 7, b = []; for (;;) b.push(new Uint8Array(100000))";
        for round in 0..2 {
            let dormouse = open(folder.path());
            let kept = named(&dormouse, "box");
            if round == 0 {
                assert_ends(&run(&kept, PYTHON, fill_python), &["raised MemoryError"]);
                assert_ends(&run(&kept, JAVASCRIPT, fill_javascript), &["raised InternalError"]);
            }
            assert_eq!(shown(&kept, PYTHON, "keep"), 7, "round {round}");
            assert_eq!(shown(&kept, JAVASCRIPT, "keep"), 7, "round {round}");
            if round == 1 {
                assert!(run(&kept, PYTHON, "del b").is_ok());
                assert!(run(&kept, JAVASCRIPT, "b = null").is_ok());
                assert_eq!(shown(&kept, PYTHON, "len(bytes(1 << 20))"), 1 << 20);
                assert_eq!(shown(&kept, JAVASCRIPT, "new Uint8Array(1 << 20).length"), 1 << 20);
            }
            drop(kept);
            close(dormouse);
        }
    });
}
