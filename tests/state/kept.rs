//! Sandboxes with a life: what is remembered, saved, restored, forked and woken, also by another process.

use dormouse::sandbox::{Handle, Include, Owner};
use dormouse::{ErrorCode, Recovery};
use dormouse_tests::ending::ending;
use dormouse_tests::lasting::{close, named, open, run, shown};
use dormouse_tests::{JAVASCRIPT, PHP, PYTHON, sandbox};

/// In each language: remember, ask, change, and what asking gives before and after.
const LANGUAGES: [(&str, &str, &str, &str); 3] = [
    (
        PYTHON,
        "x = [1]\ndef f(): return len(x)\ngen = iter(range(9)); next(gen)",
        "f() * 100 + next(gen)",
        "x.append(2)",
    ),
    (
        JAVASCRIPT,
        "let x = [1]; const f = () => x.length; const gen = (function* () { for (let i = 0; ; i++) yield i })(); gen.next()",
        "f() * 100 + gen.next().value",
        "x.push(2)",
    ),
    (
        PHP,
        "$x = new ArrayObject([1]); $f = fn() => count($x); $gen = (function () { for ($i = 0; ; $i++) yield $i; })(); $gen->next();",
        "$now = $gen->current(); $gen->next(); return $f() * 100 + $now;",
        "$x->append(2);",
    ),
];

#[test]
fn s3_10_variables_functions_and_generators_last_from_call_to_call_and_over_the_process() {
    let folder = tempfile::tempdir().unwrap();
    for (language, remember, ask, change) in LANGUAGES {
        let dormouse = open(folder.path());
        let kept = named(&dormouse, language);
        assert!(run(&kept, language, remember).is_ok(), "{language}");
        assert_eq!(shown(&kept, language, ask), 101, "{language}");
        close(dormouse);
        let dormouse = open(folder.path());
        let kept = named(&dormouse, language);
        assert_eq!(shown(&kept, language, ask), 102, "{language}: woken");
        assert!(run(&kept, language, change).is_ok());
        assert_eq!(shown(&kept, language, ask), 203, "{language}");
        close(dormouse);
    }
}

#[test]
fn all_languages_see_the_same_files_and_files_outlive_the_process() {
    let folder = tempfile::tempdir().unwrap();
    let dormouse = open(folder.path());
    let kept = named(&dormouse, "files");
    sandbox::wait(kept.write("/workspace/data/in.txt", "hello")).unwrap();
    assert_eq!(shown(&kept, PYTHON, "open('data/in.txt').read()"), "hello");
    assert!(run(&kept, PYTHON, "open('/workspace/py.txt', 'w').write('from python')").is_ok());
    assert_eq!(shown(&kept, JAVASCRIPT, "require('fs').readFileSync('py.txt', 'utf8')"), "from python");
    assert_eq!(shown(&kept, PHP, "return file_get_contents('/workspace/py.txt');"), "from python");
    assert!(run(&kept, PHP, "file_put_contents('/tmp/php.txt', 'from php');").is_ok());
    close(dormouse);
    let dormouse = open(folder.path());
    let kept = named(&dormouse, "files");
    assert_eq!(sandbox::wait(kept.read("/tmp/php.txt")).unwrap(), b"from php");
    assert_eq!(shown(&kept, PYTHON, "import os; sorted(os.listdir('/workspace'))[0]"), "data");
}

#[test]
fn s4_08_a_checkpoint_brings_back_variables_and_files_and_later_changes_are_gone() {
    let folder = tempfile::tempdir().unwrap();
    let dormouse = open(folder.path());
    for (language, remember, ask, change) in LANGUAGES {
        let kept = named(&dormouse, language);
        assert!(run(&kept, language, remember).is_ok());
        sandbox::wait(kept.write("/workspace/a", "before")).unwrap();
        let checkpoint = sandbox::wait(kept.checkpoint()).unwrap();
        assert!(run(&kept, language, change).is_ok());
        sandbox::wait(kept.write("/workspace/a", "after")).unwrap();
        assert_eq!(shown(&kept, language, ask), 201, "{language}: goes on");
        for _ in 0..2 {
            sandbox::wait(kept.restore(&checkpoint)).unwrap();
            assert_eq!(shown(&kept, language, ask), 101, "{language}: restored");
            assert_eq!(sandbox::wait(kept.read("/workspace/a")).unwrap(), b"before");
        }
    }
}

#[test]
fn a_checkpoint_of_memory_or_of_files_leaves_the_other_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let dormouse = open(folder.path());
    let (sandboxes, owner) = (dormouse.sandboxes().unwrap(), Owner::local());
    let kept = named(&dormouse, "parts");
    let handle = Handle::IdOrName("parts");
    assert!(run(&kept, PYTHON, "x = 1; open('/workspace/f', 'w').write('1')").is_ok());
    let save = |include| sandbox::wait(sandboxes.checkpoint(&owner, &handle, None, include)).unwrap().0;
    let (memory, files) = (save(Include::Memory), save(Include::Files));
    assert!(run(&kept, PYTHON, "x = 2; open('/workspace/f', 'w').write('2')").is_ok());
    sandbox::wait(kept.restore(&files)).unwrap();
    assert_eq!(shown(&kept, PYTHON, "f'{x} {open(\"/workspace/f\").read()}'"), "2 1");
    assert!(run(&kept, PYTHON, "open('/workspace/f', 'w').write('3')").is_ok());
    sandbox::wait(kept.restore(&memory)).unwrap();
    assert_eq!(shown(&kept, PYTHON, "f'{x} {open(\"/workspace/f\").read()}'"), "1 3");
}

#[test]
fn forks_go_their_own_ways() {
    let folder = tempfile::tempdir().unwrap();
    let dormouse = open(folder.path());
    for (language, remember, ask, change) in LANGUAGES {
        let kept = named(&dormouse, language);
        assert!(run(&kept, language, remember).is_ok());
        sandbox::wait(kept.write("/workspace/a", "origin")).unwrap();
        let forks = sandbox::wait(kept.fork(3)).unwrap();
        assert!(run(&forks[0], language, change).is_ok());
        sandbox::wait(forks[0].write("/workspace/a", "fork")).unwrap();
        assert_eq!(shown(&forks[0], language, ask), 201, "{language}");
        for other in [&forks[1], &forks[2], &kept] {
            assert_eq!(shown(other, language, ask), 101, "{language}");
            assert_eq!(sandbox::wait(other.read("/workspace/a")).unwrap(), b"origin");
        }
    }
}

#[test]
fn a_run_that_is_stopped_leaves_the_interpreter_as_it_was_before() {
    let folder = tempfile::tempdir().unwrap();
    let dormouse = open(folder.path());
    for (language, endless) in [
        (PYTHON, "x = 5\nwhile True: pass"),
        (JAVASCRIPT, "x = 5; for (;;);"),
        (PHP, "$x = 5; while (true);"),
    ] {
        let kept = named(&dormouse, language);
        let (one, ask) = match language {
            PYTHON => ("x = 1", "x"),
            PHP => ("$x = 1;", "return $x;"),
            _ => ("var x = 1", "x"),
        };
        assert!(run(&kept, language, one).is_ok());
        let mut request = dormouse::EvalRequest::new(dormouse::Language::parse(language).unwrap(), endless);
        request.context.limits.wall = std::time::Duration::from_millis(100);
        let stopped = sandbox::wait(kept.run(request)).unwrap();
        assert_eq!(ending(&stopped), "limit_time");
        assert_eq!(stopped.recovery, Some(Recovery::BeforeRun), "{language}");
        assert_eq!(shown(&kept, language, ask), 1, "{language}: as before the run");
    }
    // An open file changes nothing of that.
    let kept = named(&dormouse, "open");
    assert!(run(&kept, PYTHON, "x = 1").is_ok());
    assert!(run(&kept, PYTHON, "x = 2; f = open('/workspace/f', 'w'); f.write('a')").is_ok());
    assert_eq!(shown(&kept, PYTHON, "f.write('b')"), 1, "an open file stays open from call to call");
    let mut request = dormouse::EvalRequest::new(dormouse::Language::python(), "while True: pass");
    request.context.limits.wall = std::time::Duration::from_millis(100);
    assert_eq!(sandbox::wait(kept.run(request)).unwrap().recovery, Some(Recovery::BeforeRun));
    assert_eq!(shown(&kept, PYTHON, "x"), 2);
}

#[test]
fn two_installations_share_a_folder_and_see_each_others_calls() {
    let folder = tempfile::tempdir().unwrap();
    let (one, other) = (open(folder.path()), open(folder.path()));
    let here = named(&one, "shared");
    assert!(run(&here, PYTHON, "x = 1").is_ok());
    sandbox::wait(one.sandboxes().unwrap().close()).unwrap();
    let there = named(&other, "shared");
    assert_eq!(there.id(), here.id());
    assert_eq!(shown(&there, PYTHON, "x += 1; x"), 2);
    sandbox::wait(other.sandboxes().unwrap().close()).unwrap();
    assert_eq!(shown(&here, PYTHON, "x += 1; x"), 3);
}

#[test]
fn what_is_destroyed_is_gone_with_its_checkpoints_and_its_room() {
    let folder = tempfile::tempdir().unwrap();
    let dormouse = open(folder.path());
    let kept = named(&dormouse, "short");
    assert!(run(&kept, PYTHON, "import os; x = os.urandom(1 << 20)").is_ok());
    let checkpoint = sandbox::wait(kept.checkpoint()).unwrap();
    sandbox::wait(kept.clone().destroy()).unwrap();
    for error in [
        sandbox::wait(kept.eval(PYTHON, "1")).unwrap_err(),
        sandbox::wait(kept.restore(&checkpoint)).unwrap_err(),
        sandbox::wait(kept.clone().destroy()).unwrap_err(),
    ] {
        assert_eq!(error.code(), ErrorCode::UnknownSandbox);
    }
    let swept = sandbox::wait(dormouse.sandboxes().unwrap().sweep()).unwrap();
    assert!(swept.bytes > 1 << 20, "{swept:?}");
    let again = named(&dormouse, "short");
    assert_ne!(again.id(), kept.id());
    assert!(!run(&again, PYTHON, "x").is_ok(), "nothing of the old one");
}

#[test]
fn the_variables_of_a_language_that_there_is_not_are_an_error_and_no_empty_list() {
    let folder = tempfile::tempdir().unwrap();
    let dormouse = open(folder.path());
    named(&dormouse, "a");
    let sandboxes = dormouse.sandboxes().unwrap();
    let variables = |language: &str| {
        let language = dormouse::Language::parse(language).unwrap();
        sandbox::wait(sandboxes.variables(&Owner::local(), &Handle::IdOrName("a"), language))
    };
    assert_eq!(variables("cobol").unwrap_err().code(), ErrorCode::UnknownLanguage);
    assert!(variables(PHP).unwrap().0.is_empty(), "one that was never used has none");
}
