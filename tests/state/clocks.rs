//! Monotonic clocks of guests go on where they stood, wherever a state is gone on from.

use dormouse_tests::lasting::{self, named, run};
use dormouse_tests::{JAVASCRIPT, PYTHON, sandbox};
use serde_json::Value as Json;

/// What a clock shows, in seconds.
fn clock(kept: &dormouse::PersistentSandbox, language: &str) -> f64 {
    let code = if language == PYTHON { "import time; time.monotonic()" } else { "performance.now() / 1000" };
    let shown: Json = lasting::shown(kept, language, code);
    shown.as_f64().unwrap_or_else(|| shown.as_str().unwrap().parse().unwrap())
}

#[test]
fn b_16_a_monotonic_clock_goes_on_over_sleep_wake_restore_and_fork() {
    for language in [PYTHON, JAVASCRIPT] {
        let folder = tempfile::tempdir().unwrap();
        let dormouse = lasting::open(folder.path());
        let kept = named(&dormouse, "box");
        clock(&kept, language);
        // So long that what begins anew is seen to be behind.
        std::thread::sleep(std::time::Duration::from_millis(1_500));
        assert!(run(&kept, language, "1").is_ok());
        let mut last = clock(&kept, language);
        let saved = sandbox::wait(kept.checkpoint()).unwrap();
        let mut goes_on = |kept: &dormouse::PersistentSandbox, how: &str| {
            let now = clock(kept, language);
            assert!(now >= last && now < last + 60.0, "{language}, {how}: {now} after {last}");
            last = now;
        };
        goes_on(&kept, "checkpoint");
        let program = sandbox::wait(kept.exec("python3 -c 'import time; print(time.monotonic())'")).unwrap();
        let shown: f64 = program.outcome.stdout.text.trim().parse().unwrap();
        assert!(shown > 1.5 && shown < 600.0, "a program of a command line: {shown}");
        sandbox::wait(kept.restore(&saved)).unwrap();
        goes_on(&kept, "restore");
        let fork = sandbox::wait(kept.fork(1)).unwrap().remove(0);
        goes_on(&fork, "fork");
        sandbox::wait(lasting::sandboxes(&dormouse).close()).unwrap();
        goes_on(&fork, "sleep");
        let id = fork.id().as_str().to_owned();
        drop((kept, fork));
        lasting::close(dormouse);
        let dormouse = lasting::open(folder.path());
        goes_on(&named(&dormouse, &id), "another process");
        lasting::close(dormouse);
    }
}

/// The shell has its timers by this clock. The one of its own limit overflowed where a command line began in the last
/// millisecond of the clock's first second.
#[test]
fn b_16_command_lines_run_whatever_the_clock_shows() {
    let folder = tempfile::tempdir().unwrap();
    let dormouse = lasting::open(folder.path());
    let kept = named(&dormouse, "box");
    let begin = std::time::Instant::now();
    sandbox::wait(kept.exec("true")).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(900).saturating_sub(begin.elapsed()));
    let mut lines = 0;
    while begin.elapsed() < std::time::Duration::from_millis(1_100) {
        let line = sandbox::wait(kept.exec("true")).unwrap();
        assert_eq!(line.outcome.exit_code(), 0, "after {:?}, line {lines}", begin.elapsed());
        lines += 1;
    }
    assert!(lines > 0);
    lasting::close(dormouse);
}
