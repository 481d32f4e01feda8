//! Tools as functions of the sandbox, and programs that wait for several at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use dormouse::{EvalRequest, Language, Policy};
use dormouse_tests::ending::{exception, value};
use dormouse_tests::{JAVASCRIPT, PYTHON, sandbox};
use serde_json::{Value as Json, json};

/// A request whose tools are `slow` (50 ms, gives its argument `n` back), `fail` and `server.add`. Counts how many are under way at
/// one time at most.
fn request(language: &str, code: &str) -> (EvalRequest, Arc<AtomicUsize>) {
    let (under_way, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let told = most.clone();
    let snippet = sandbox::snippet(language, code)
        .timeout(Duration::from_secs(20))
        .callback("slow", "Gives n back.", json!({}), move |arguments: Json| {
            let (under_way, most) = (under_way.clone(), most.clone());
            async move {
                most.fetch_max(under_way.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                tokio::time::sleep(Duration::from_millis(50)).await;
                under_way.fetch_sub(1, Ordering::SeqCst);
                Ok(arguments["n"].clone())
            }
        })
        .callback("fail", "Fails.", json!({}), |_| async { Err("closed".to_owned()) })
        .callback("server.add", "Adds.", json!({}), |arguments: Json| async move {
            Ok(json!(arguments["a"].as_i64().unwrap_or(0) + arguments["b"].as_i64().unwrap_or(0)))
        });
    (snippet.into_request().unwrap(), told)
}

#[test]
fn calls_that_are_awaited_together_are_under_way_together() {
    for (language, code) in [
        (PYTHON, "import asyncio\nsum(await asyncio.gather(*[tools.slow(n=n) for n in range(100)]))"),
        (
            JAVASCRIPT,
            "(await Promise.all([...Array(100).keys()].map((n) => tools.slow({ n })))).reduce((a, b) => a + b)",
        ),
        // Where nothing can pause they are so all the same.
        (
            PYTHON,
            "import asyncio\nasync def main():\n return await asyncio.gather(*[tools.slow(n=n) for n in range(100)])\ndef run(): return sum(asyncio.run(main()))\nrun()",
        ),
    ] {
        let (request, most) = request(language, code);
        assert_eq!(value(&sandbox::run_request(request))["value"], 4950, "{language}");
        assert_eq!(most.load(Ordering::SeqCst), 100, "{language}");
    }
}

#[test]
fn what_python_has_for_coroutines_works_with_tools() {
    for (code, answer) in [
        ("await tools.server.add(a=1, b=2)", json!(3)),
        ("tools.server.add(a=1, b=2)", json!(3)),
        ("def f(): return tools.server.add({'a': 1}, b=2)\nf()", json!(3)),
        ("await tools['server']['add'](a=1, b=2)", json!(3)),
        (
            "import asyncio\nasync with asyncio.TaskGroup() as group:\n a = group.create_task(tools.slow(n=1)); b = group.create_task(tools.slow(n=2))\na.result() + b.result()",
            json!(3),
        ),
        (
            "import asyncio\ntask = asyncio.create_task(tools.slow(n=4))\nawait asyncio.sleep(0)\nawait task",
            json!(4),
        ),
        (
            "import asyncio\nasync def numbers():\n for n in range(3): yield await tools.slow(n=n)\n[n async for n in numbers()][2]",
            json!(2),
        ),
        (
            "import asyncio\ntry:\n await asyncio.wait_for(tools.slow(n=1), 0.001)\nexcept TimeoutError: told = 'late'\ntold",
            json!("late"),
        ),
        (
            "import asyncio\nanswers = await asyncio.gather(tools.fail(), tools.slow(n=1), return_exceptions=True)\n[str(answers[0]), answers[1]][0]",
            json!("closed"),
        ),
        (
            "import asyncio\nfirst = []\nfor done in asyncio.as_completed([tools.slow(n=1), tools.slow(n=2)]): first.append(await done)\nsum(first)",
            json!(3),
        ),
        ("import asyncio\nasync with asyncio.timeout(5):\n x = await tools.slow(n=7)\nx", json!(7)),
        (
            "import asyncio\nasync def main():\n await asyncio.sleep(0.01)\n return await tools.slow(n=9)\nasyncio.run(main())",
            json!(9),
        ),
        (
            "import asyncio\nleft = []\nasync def other():\n try: await asyncio.sleep(100)\n except asyncio.CancelledError: left.append('cancelled'); raise\nasync def main():\n asyncio.create_task(other()); await asyncio.sleep(0)\nasyncio.run(main())\nleft[0]",
            json!("cancelled"),
        ),
    ] {
        let (request, _) = request(PYTHON, code);
        assert_eq!(value(&sandbox::run_request(request))["value"], answer, "{code}");
    }
}

/// Programs that call `asyncio.run` outside of functions: as CPython runs them, in one run each.
#[test]
fn asyncio_run_is_as_in_cpython() {
    let define = "import asyncio, sys\nasync def one(): return 1\nasync def leave(n): sys.exit(n)\n";
    for (code, answer) in [
        ("try: asyncio.run(leave(3))\nexcept SystemExit as e: told = e.code\ntold", json!(3)),
        (
            "told = []\ntry:\n try: asyncio.run(leave(3))\n finally: told.append('last')\nexcept BaseException: pass\ntold[0]",
            json!("last"),
        ),
        (
            "def inside(): return asyncio.run(one())\nif True:\n told = inside() + asyncio.run(one())\ntold",
            json!(2),
        ),
        ("told = 0\nfor n in range(3): told += asyncio.run(one())\ntold", json!(3)),
        (
            "async def main(): return [t.get_coro().__name__ for t in asyncio.all_tasks()]\nasyncio.run(main())[0]",
            json!("main"),
        ),
        ("async def main(): return len(asyncio.all_tasks())\nasyncio.run(main())", json!(1)),
        ("asyncio.run(main=one())", json!(1)),
        (
            "try: asyncio.run(one)\nexcept (TypeError, ValueError) as e: told = 'coroutine was expected' in str(e) or 'awaitable' in str(e)\ntold",
            json!(true),
        ),
        ("try: asyncio.get_running_loop()\nexcept RuntimeError: told = asyncio.run(one())\ntold", json!(1)),
        (
            "from __future__ import annotations\nimport asyncio\nasync def f(x: Nowhere): return x\nasyncio.run(f(4))",
            json!(4),
        ),
        ("with asyncio.Runner() as runner: told = runner.run(one()) + asyncio.run(one())\ntold", json!(2)),
        (
            "import signal\nrings = []\nsignal.signal(signal.SIGALRM, lambda *_: rings.append(1))\nsignal.setitimer(signal.ITIMER_REAL, 0.02)\nasyncio.run(asyncio.sleep(0.1))\nlen(rings)",
            json!(1),
        ),
        (
            "import signal\nclass Late(Exception): pass\ndef ring(*_): raise Late\nsignal.signal(signal.SIGALRM, ring)\nsignal.setitimer(signal.ITIMER_REAL, 0.02)\ntry: asyncio.run(asyncio.sleep(5))\nexcept Late: told = 'late'\ntold",
            json!("late"),
        ),
    ] {
        let code = if code.starts_with("from") { code.to_owned() } else { format!("{define}{code}") };
        let (request, _) = request(PYTHON, &code);
        let outcome = sandbox::run_request(request);
        assert_eq!(value(&outcome)["value"], answer, "{code}");
        assert_eq!(outcome.stderr.text, "", "{code}");
    }
    let (request, _) =
        request(PYTHON, &format!("{define}async def main(): return 5\nsys.exit(asyncio.run(main()))"));
    let outcome = sandbox::run_request(request);
    assert_eq!((outcome.exit_code(), outcome.stderr.text.as_str()), (5, ""));
}

#[test]
fn what_javascript_has_for_promises_works_with_tools() {
    for (code, answer) in [
        ("await tools.server.add({ a: 1, b: 2 })", json!(3)),
        ("tools.server.add({ a: 1, b: 2 })", json!(3)),
        ("await tools['server']['add']({ a: 1, b: 2 })", json!(3)),
        (
            "await Promise.race([tools.slow({ n: 1 }), new Promise((done) => setTimeout(done, 1, 'late'))])",
            json!("late"),
        ),
        (
            "(await Promise.allSettled([tools.fail(), tools.slow({ n: 1 })]))[0].reason.message",
            json!("closed"),
        ),
        (
            "let sum = 0; async function* numbers() { for (let n = 0; n < 3; n++) yield await tools.slow({ n }) } for await (const n of numbers()) sum += n; sum",
            json!(3),
        ),
        (
            "const stop = new AbortController(); setTimeout(() => stop.abort(), 1); await tools.slow({ n: 1 }, { signal: stop.signal }).catch((error) => error.name)",
            json!("AbortError"),
        ),
        ("typeof (await tools.slow.then)", json!("undefined")),
    ] {
        let (request, _) = request(JAVASCRIPT, code);
        assert_eq!(value(&sandbox::run_request(request))["value"], answer, "{code}");
    }
}

#[test]
fn a_call_that_was_not_awaited_says_what_to_write() {
    let (request, _) = request(PYTHON, "x = tools.server.add(a=1, b=2)\nawait tools.slow(n=1)\nx + 1");
    let outcome = sandbox::run_request(request);
    assert!(exception(&outcome).class.contains("TypeError"));
    let (request, _) =
        crate::waiting::request(PYTHON, "x = tools.server.add(a=1)\nawait tools.slow(n=1)\nx['rows']");
    let outcome = sandbox::run_request(request);
    let message = &exception(&outcome).message;
    assert!(message.contains("await tools.server.add"), "{message}");
}

#[test]
fn run_07_the_wall_clock_ends_a_program_that_waits() {
    for (language, code) in [
        (PYTHON, "import asyncio\nawait asyncio.gather(*[asyncio.sleep(60) for n in range(3)])"),
        (JAVASCRIPT, "await new Promise((done) => setTimeout(done, 60000))"),
    ] {
        let begin = std::time::Instant::now();
        let outcome = sandbox::run(sandbox::snippet(language, code).timeout(Duration::from_millis(300)));
        assert!(outcome.timed_out(), "{language}: {outcome:?}");
        assert!(begin.elapsed() < Duration::from_secs(10), "{language}");
    }
}

#[test]
fn run_09_answers_that_are_there_at_once_do_not_pass_the_clock_by() {
    for (language, code) in [
        (PYTHON, "while True:\n try: await tools.fail()\n except RuntimeError: pass"),
        (JAVASCRIPT, "for (;;) await tools.fail().catch(() => 0)"),
    ] {
        let (mut request, _) = request(language, code);
        request.context.limits.wall = Duration::from_millis(300);
        let begin = std::time::Instant::now();
        assert!(sandbox::run_request(request).timed_out(), "{language}");
        assert!(begin.elapsed() < Duration::from_secs(10), "{language}");
    }
}

#[test]
fn run_08_twenty_thousand_calls_at_once_end_in_bounded_room() {
    for (language, code) in [
        (
            PYTHON,
            "import asyncio\nanswers = await asyncio.gather(*[tools.server.add(a=n) for n in range(20000)], return_exceptions=True)\nsum(isinstance(one, Exception) for one in answers)",
        ),
        (
            JAVASCRIPT,
            "(await Promise.allSettled([...Array(20000).keys()].map((a) => tools.server.add({ a })))).filter((one) => one.reason).length",
        ),
    ] {
        let (request, _) = request(language, code);
        assert_eq!(value(&sandbox::run_request(request))["value"], 19_000, "{language}");
    }
}

#[test]
fn run_59_a_run_that_waits_for_time_gives_its_place_up() {
    let policy = Policy { max_running: 1, max_wait: Duration::from_millis(200), ..Policy::default() };
    let narrow = sandbox::with_policy(policy);
    for (language, code) in [
        (PYTHON, "import asyncio\nawait asyncio.sleep(1.5)\n1"),
        (JAVASCRIPT, "await new Promise((done) => setTimeout(done, 1500)); 1"),
    ] {
        let language = Language::parse(language).unwrap();
        sandbox::wait(async {
            let sleeps = narrow.runtime().eval(EvalRequest::new(language.clone(), code));
            let computes = async {
                tokio::time::sleep(Duration::from_millis(400)).await;
                narrow.runtime().eval(EvalRequest::new(language.clone(), "2")).await
            };
            let (sleeps, computes) = tokio::join!(sleeps, computes);
            assert!(computes.expect("it finds a place").is_ok());
            assert!(sleeps.unwrap().is_ok());
        });
    }
}

#[test]
fn a_delay_begins_where_a_program_sets_it_however_long_it_has_computed_before() {
    let code = "const busy = Date.now(); while (Date.now() - busy < 300); const begun = Date.now();
        await new Promise((done) => setTimeout(done, 200)); Date.now() - begun";
    let waited = sandbox::value_of(JAVASCRIPT, code)["value"].as_i64().unwrap();
    assert!((195..5_000).contains(&waited), "{waited} ms");
}
