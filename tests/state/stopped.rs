//! Calls that end badly in a sandbox that lasts: what earlier calls made stays.

use dormouse::sandbox::{Handle, Owner};
use dormouse::{Bounds, ErrorCode, Language, Recovery};
use dormouse_tests::ending::ending;
use dormouse_tests::lasting::{self, named, remember, remembered, run, shown};
use dormouse_tests::{JAVASCRIPT, PHP, PYTHON, sandbox};

#[test]
fn a_query_and_a_variable_that_fail_take_nothing_with_them() {
    let folder = tempfile::tempdir().unwrap();
    let dormouse = lasting::open(folder.path());
    let (found, owner) = (lasting::sandboxes(&dormouse), Owner::local());
    let handle = Handle::IdOrName("box");
    let kept = named(&dormouse, "box");
    for (round, query) in
        ["[0 for _ in iter(int, 1)]", "__import__('os')._exit(3)", "'x' * (1 << 40)"].into_iter().enumerate()
    {
        let number = round as u64 + 1;
        assert!(run(&kept, PYTHON, &remember(number)).is_ok());
        let python = Language::python();
        let got =
            found.get_variable(&owner, &handle, python, "x".into(), Some(query.into()), Bounds::default());
        let outcome = sandbox::wait(got).unwrap();
        assert!(!outcome.is_ok(), "{query}");
        assert_eq!(remembered(&kept), (Some(number), Some(number)), "{query}: {}", ending(&outcome));

        assert!(run(&kept, PYTHON, &remember(number + 10)).is_ok());
        let set = found.set_variable(&owner, &handle, Language::python(), "y".into(), "{not json".into());
        let error = sandbox::wait(set).unwrap_err();
        assert_eq!(error.code(), ErrorCode::ArgsInvalid, "{error}");
        assert_eq!(remembered(&kept), (Some(number + 10), Some(number + 10)));
    }
    lasting::close(dormouse);
}

/// The program of an interpreter can end it: the variables of earlier calls are there all the same.
#[test]
fn an_interpreter_that_ends_itself_is_replaced_by_its_state_before() {
    let folder = tempfile::tempdir().unwrap();
    let dormouse = lasting::open(folder.path());
    for (language, one, end, ask) in [
        (PYTHON, "x = 1", "x = 2\nimport os\nos._exit(3)", "x"),
        (PYTHON, "x = 1", "x = 2\nimport sys\nsys.exit(3)", "x"),
        (JAVASCRIPT, "var x = 1", "x = 2; process.exit(3)", "x"),
        (PHP, "$x = 1;", "$x = 2; exit(3);", "return $x;"),
    ] {
        let kept = named(&dormouse, language);
        assert!(run(&kept, language, one).is_ok());
        let ended = run(&kept, language, end);
        let expected = match ended.recovery {
            Some(Recovery::BeforeRun) => 1,
            None => 2,
            other => panic!("{end}: {other:?}"),
        };
        assert_eq!(shown(&kept, language, ask), expected, "{end}: {}", ending(&ended));
    }
    lasting::close(dormouse);
}

/// Of any kind: a limit, a trap, an exception. The next call works, and the files are as the run left them.
#[test]
fn cpu_01_limits_in_a_sandbox_that_lasts_leave_it_usable() {
    let folder = tempfile::tempdir().unwrap();
    let dormouse = lasting::open(folder.path());
    let kept = named(&dormouse, "box");
    assert!(run(&kept, PYTHON, &remember(1)).is_ok());
    for code in [
        "while True: pass",
        "x = 2\ndef f():\n l = []\n while True: l.append(' ' * (1 << 20))\nf()",
        "x = 2\ndef f(): return f()\nf()",
        "x = 2\nraise SystemError('x')",
    ] {
        let mut request = dormouse::EvalRequest::new(Language::python(), code);
        // The others end by themselves; taking the state before them counts, and takes its time on a busy machine.
        let endless = code.starts_with("while");
        request.context.limits.wall = std::time::Duration::from_secs(if endless { 2 } else { 30 });
        let outcome = sandbox::wait(kept.run(request)).unwrap();
        assert!(!outcome.is_ok(), "{code}");
        if outcome.recovery.is_some() {
            assert_eq!(outcome.recovery, Some(Recovery::BeforeRun), "{code}");
            assert_eq!(remembered(&kept), (Some(1), Some(1)), "{code}: {}", ending(&outcome));
        }
        assert!(run(&kept, PYTHON, &remember(1)).is_ok(), "{code}");
    }
    lasting::close(dormouse);
}
