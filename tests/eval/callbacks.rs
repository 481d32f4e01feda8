//! Functions of the host that a snippet may call (S1-05).

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use dormouse::Callback;
use dormouse_tests::ending::{assert_ends, exception, value};
use dormouse_tests::golden::offer_tools;
use dormouse_tests::{JAVASCRIPT, PYTHON, sandbox};
use serde_json::{Value as Json, json};

#[test]
fn arguments_and_results_are_json() {
    for (language, code) in [
        (
            PYTHON,
            "call_tool('echo', a=[1, 2.5, None, True, 'ü'], b={'c': 'd'}) == {'a': [1, 2.5, None, True, 'ü'], 'b': {'c': 'd'}}",
        ),
        (
            JAVASCRIPT,
            "const given = { a: [1, 2.5, null, true, 'ü'], b: { c: 'd' } }; JSON.stringify(await callTool('echo', given)) === JSON.stringify(given)",
        ),
    ] {
        let mut request = sandbox::request(language, code);
        offer_tools(&mut request);
        assert_eq!(value(&sandbox::run_request(request))["value"], true, "{language}");
    }
}

#[test]
fn a_failure_is_an_exception_that_can_be_caught() {
    for (language, raise, caught) in [
        (
            PYTHON,
            "call_tool('fail', why='closed')",
            "try: call_tool('fail', why='closed')\nexcept RuntimeError as e: told = str(e)\ntold",
        ),
        (
            JAVASCRIPT,
            "await callTool('fail', { why: 'closed' })",
            "let told; try { await callTool('fail', { why: 'closed' }) } catch (e) { told = e.message } told",
        ),
    ] {
        let run = |code: &str| {
            let mut request = sandbox::request(language, code);
            offer_tools(&mut request);
            sandbox::run_request(request)
        };
        assert_eq!(exception(&run(raise)).message, "closed", "{language}");
        assert_eq!(value(&run(caught))["value"], "closed", "{language}");
    }
}

#[test]
fn a_name_that_is_unknown_is_told_the_names_there_are() {
    for (language, code) in [(PYTHON, "call_tool('eco')"), (JAVASCRIPT, "await callTool('eco', {})")] {
        let mut request = sandbox::request(language, code);
        offer_tools(&mut request);
        let outcome = sandbox::run_request(request);
        let message = &exception(&outcome).message;
        assert!(message.contains("`eco`") && message.contains("echo, fail"), "{language}: {message}");
        let none = sandbox::eval(language, code);
        assert!(exception(&none).message.contains("eco"), "{language}");
    }
}

#[test]
fn calls_are_counted_to_their_limit() {
    for (language, code) in [
        (PYTHON, "n = 0\ntry:\n while True: call_tool('count'); n += 1\nexcept RuntimeError: pass\nn"),
        (JAVASCRIPT, "let n = 0; try { for(;;) { await callTool('count', {}); n++ } } catch {} n"),
    ] {
        let calls = Arc::new(AtomicU32::new(0));
        let mut request = sandbox::request(language, code);
        let counter = calls.clone();
        let count = move |_: Json| {
            counter.fetch_add(1, Ordering::Relaxed);
            async { Ok(Json::Null) }
        };
        request
            .context
            .callbacks
            .insert("count", Callback::new("Counts.", json!({"type": "object"}), count))
            .unwrap();
        request.context.callbacks.max_calls = 20;
        assert_eq!(value(&sandbox::run_request(request))["value"], 20, "{language}");
        assert_eq!(calls.load(Ordering::Relaxed), 20);
    }
}

#[test]
fn a_call_that_waits_does_not_hold_the_executor() {
    for (language, code) in [(PYTHON, "call_tool('slow')"), (JAVASCRIPT, "await callTool('slow', {})")] {
        let runs: Vec<_> = (0..20)
            .map(|_| {
                let snippet =
                    sandbox::snippet(language, code).callback("slow", "Waits.", json!({}), |_| async {
                        tokio::time::sleep(std::time::Duration::from_millis(500)).await;
                        Ok(json!("done"))
                    });
                sandbox::spawn(snippet.run())
            })
            .collect();
        let begin = std::time::Instant::now();
        for run in runs {
            assert_ends(&sandbox::wait(run).unwrap().unwrap(), &["returned"]);
        }
        // One after the other they would take 10 s on the two threads of the executor, five at the least.
        assert!(begin.elapsed() < std::time::Duration::from_secs(4), "{language}: {:?}", begin.elapsed());
    }
}

#[test]
fn large_results_are_refused_with_their_size() {
    for (language, code) in [(PYTHON, "call_tool('huge')"), (JAVASCRIPT, "await callTool('huge', {})")] {
        let snippet = sandbox::snippet(language, code)
            .callback("huge", "Too much.", json!({}), |_| async { Ok(json!("x".repeat(2 << 20))) });
        let outcome = sandbox::run(snippet);
        let message = &exception(&outcome).message;
        assert!(message.contains("2097154 bytes") && message.contains("1048576"), "{language}: {message}");
    }
}
