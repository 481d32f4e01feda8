//! A run begins fresh, can be watched and cancelled, and ends with its numbers.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use dormouse::limits::MIB;
use dormouse::{ErrorCode, Limits, OutputSink, Policy, Stream};
use dormouse_tests::ending::{assert_ends, ending, value};
use dormouse_tests::{JAVASCRIPT, NOISE, PROMISE, PYTHON, sandbox, wait_until};

#[test]
fn nothing_is_kept_from_one_run_to_the_next() {
    for (language, set, get) in [
        (PYTHON, "import builtins; x = builtins.y = 1", "'x' in globals() or hasattr(__builtins__, 'y')"),
        (JAVASCRIPT, "var x = globalThis.y = 1", "typeof x !== 'undefined' || 'y' in globalThis"),
    ] {
        assert_ends(&sandbox::eval(language, set), &["returned"]);
        assert_eq!(sandbox::value_of(language, get)["value"], false, "{language}");
    }
}

#[test]
fn dropping_the_future_cancels_the_run() {
    for (language, code) in [(PYTHON, "while True: print('on')"), (JAVASCRIPT, "for(;;) console.log('on')")] {
        let sink = Arc::new(Seen::default());
        let call =
            sandbox::snippet(language, code).timeout(Duration::from_secs(60)).on_output(sink.clone()).run();
        let begin = Instant::now();
        let ended = sandbox::wait(async { tokio::time::timeout(Duration::from_millis(400), call).await });
        assert!(ended.is_err(), "the run was still going");
        assert!(begin.elapsed() < Duration::from_millis(400) + PROMISE + NOISE, "{:?}", begin.elapsed());
        let count = sink.0.lock().unwrap().len();
        // Time in which a run that goes on would print.
        std::thread::sleep(Duration::from_millis(100));
        assert_eq!(sink.0.lock().unwrap().len(), count, "{language} went on after its future was dropped");
    }
}

#[derive(Default)]
struct Seen(Mutex<Vec<(Stream, Vec<u8>)>>);

impl OutputSink for Seen {
    fn write(&self, stream: Stream, bytes: &[u8]) {
        self.0.lock().unwrap().push((stream, bytes.to_vec()));
    }
}

#[test]
fn output_arrives_while_the_run_goes_on_in_the_order_it_was_written() {
    for (language, code) in [
        (
            PYTHON,
            "import sys, time\nprint('one', flush=True)\nprint('two', file=sys.stderr, flush=True)\ntime.sleep(1)\nprint('three')",
        ),
        (
            JAVASCRIPT,
            "console.log('one'); console.error('two'); await new Promise(done => setTimeout(done, 1000)); console.log('three')",
        ),
    ] {
        let sink = Arc::new(Seen::default());
        let run = sandbox::spawn(sandbox::snippet(language, code).on_output(sink.clone()).run());
        wait_until("two pieces of output", Duration::from_secs(20), || sink.0.lock().unwrap().len() >= 2);
        assert!(!run.is_finished(), "{language}: output came only at the end");
        let outcome = sandbox::wait(run).unwrap().unwrap();
        let seen = sink.0.lock().unwrap();
        let texts: Vec<_> = seen
            .iter()
            .map(|(stream, bytes)| (*stream, String::from_utf8_lossy(bytes).into_owned()))
            .collect();
        let joined = |wanted: Stream| {
            texts.iter().filter(|(s, _)| *s == wanted).map(|(_, t)| t.as_str()).collect::<String>()
        };
        assert_eq!(
            (joined(Stream::Stdout).as_str(), joined(Stream::Stderr).as_str()),
            ("one\nthree\n", "two\n"),
            "{language}"
        );
        assert_eq!(outcome.stdout.text, "one\nthree\n");
        let order: String = texts.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(order, "one\ntwo\nthree\n", "{language}");
    }
}

#[test]
fn output_past_its_limit_is_not_passed_on() {
    let sink = Arc::new(Seen::default());
    let mut request = sandbox::request(PYTHON, "for _ in range(1000): print('x' * 99)");
    request.context.limits.output = 1_000;
    request.context.output = Some(sink.clone());
    let outcome = sandbox::run_request(request);
    assert_eq!(
        (outcome.stdout.text.len(), outcome.stdout.total_bytes, outcome.stdout.dropped_bytes),
        (1_000, 100_000, 99_000)
    );
    assert_eq!(sink.0.lock().unwrap().iter().map(|(_, bytes)| bytes.len()).sum::<usize>(), 1_000);
}

#[test]
fn a_run_reports_what_it_used() {
    for (language, code) in [
        (
            PYTHON,
            "import time; b = bytes(b'x') * (32 << 20); time.sleep(0.05); open('/tmp/x', 'wb').write(bytes(1000))",
        ),
        (
            JAVASCRIPT,
            "const b = new Uint8Array(32 << 20).fill(1); await new Promise(done => setTimeout(done, 50)); require('fs').writeFileSync('/tmp/x', new Uint8Array(1000)); 1",
        ),
    ] {
        let mut request = sandbox::request(language, code);
        request.context.limits.fuel = Some(100_000_000_000);
        let outcome = sandbox::run_request(request);
        assert_ends(&outcome, &["returned"]);
        let usage = outcome.usage;
        assert!(
            usage.wall >= Duration::from_millis(48) && usage.wall < Duration::from_secs(5),
            "{language}: {usage:?}"
        );
        assert!(usage.memory_peak >= 32 * MIB && usage.memory_peak <= 128 * MIB, "{language}: {usage:?}");
        assert!(usage.fuel.is_some_and(|fuel| fuel > 1_000), "{language}: {usage:?}");
        assert_eq!(usage.disk_written, 1_000, "{language}");
    }
    assert_eq!(sandbox::eval(JAVASCRIPT, "1").usage.fuel, None, "fuel is counted only when it was asked for");
}

#[test]
fn fuel_is_the_same_at_every_run() {
    for (language, code) in
        [(PYTHON, "sum(range(10_000))"), (JAVASCRIPT, "let s = 0; for (let i = 0; i < 1e4; i++) s += i; s")]
    {
        let used = || {
            let mut request = sandbox::request(language, code);
            request.context.limits.fuel = Some(10_000_000_000);
            request.context.grants.seed = Some(1);
            request.context.grants.clock =
                dormouse::grants::WallClock::Fixed(std::time::SystemTime::UNIX_EPOCH);
            sandbox::run_request(request).usage.fuel
        };
        let first = used();
        assert!(first.is_some_and(|fuel| fuel > 10_000));
        assert_eq!(used(), first, "{language}");
    }
}

#[test]
fn limits_past_the_ceiling_are_refused_and_nothing_runs() {
    for change in [
        |limits: &mut Limits| limits.wall = Duration::from_secs(61),
        |limits: &mut Limits| limits.wall = Duration::ZERO,
        |limits: &mut Limits| limits.memory = 513 * MIB,
        |limits: &mut Limits| limits.memory = MIB,
        |limits: &mut Limits| limits.output = 9 * MIB,
        |limits: &mut Limits| limits.fuel = Some(0),
        |limits: &mut Limits| limits.disk = 1025 * MIB,
        |limits: &mut Limits| limits.files = 1_000_001,
    ] {
        let mut request = sandbox::request(JAVASCRIPT, "1");
        change(&mut request.context.limits);
        let error = sandbox::wait(sandbox::sandbox().runtime().eval(request)).unwrap_err();
        assert_eq!(error.code(), ErrorCode::ArgsInvalid, "{error}");
        assert!(error.hint().is_some(), "{error}");
    }
}

#[test]
fn runs_wait_for_a_place_and_too_many_are_busy() {
    let narrow = sandbox::with_policy(Policy { max_running: 1, max_waiting: 2, ..Policy::default() });
    let run = |_| {
        sandbox::spawn(
            narrow.snippet(JAVASCRIPT, "const end = Date.now() + 700; while (Date.now() < end); 1").run(),
        )
    };
    let runs: Vec<_> = (0..6).map(run).collect();
    let ends: Vec<_> = runs.into_iter().map(|run| sandbox::wait(run).unwrap()).collect();
    let busy =
        ends.iter().filter(|end| end.as_ref().is_err_and(|error| error.code() == ErrorCode::Busy)).count();
    let ran =
        ends.iter().filter(|end| end.as_ref().is_ok_and(|outcome| ending(outcome) == "returned")).count();
    assert_eq!((ran, busy), (3, 3));
    let later = sandbox::wait(narrow.snippet(JAVASCRIPT, "2").run()).unwrap();
    assert_eq!(value(&later)["value"], 2, "freed places can be had again");
}

#[test]
fn a_language_that_is_unknown_is_told_the_known_ones() {
    let error = sandbox::wait(sandbox::snippet("cobol", "1").run()).unwrap_err();
    assert_eq!(error.code(), ErrorCode::UnknownLanguage);
    assert!(
        error.hint().is_some_and(|hint| hint.contains("python") && hint.contains("javascript")),
        "{:?}",
        error.hint()
    );
    let error = sandbox::wait(sandbox::snippet("../python", "1").run()).unwrap_err();
    assert_eq!(error.code(), ErrorCode::ArgsInvalid);
}

#[test]
fn many_runs_at_once_do_not_mix() {
    let runs: Vec<_> = (0..200)
        .map(|number| {
            let (language, code) = if number % 2 == 0 {
                (PYTHON, format!("print({number}); open('/tmp/n', 'w').write('{number}'); int(open('/tmp/n').read())"))
            } else {
                (JAVASCRIPT, format!("console.log({number}); const fs = require('fs'); fs.writeFileSync('/tmp/n', '{number}'); +fs.readFileSync('/tmp/n', 'utf8')"))
            };
            (number, sandbox::spawn(sandbox::snippet(language, code).timeout(Duration::from_secs(30)).run()))
        })
        .collect();
    for (number, run) in runs {
        let outcome = sandbox::wait(run).unwrap().unwrap();
        assert_eq!(value(&outcome)["value"], number);
        assert_eq!(outcome.stdout.text, format!("{number}\n"));
    }
}
