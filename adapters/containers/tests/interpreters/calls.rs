//! Calls one after another: variables, functions of the host, ends of programs, what is refused.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use dormouse_core::grants::WallClock;
use dormouse_core::{Bounds, Callback, ErrorCode, GuestPath, Language, Limits, Status};
use serde_json::json;

use crate::support::{exception, in_language, languages, offer_tools, start, value};

fn limits() -> Limits {
    Limits { wall: Duration::from_secs(30), ..Limits::default() }
}

#[tokio::test]
async fn a_thousand_calls_are_answered_in_order() {
    for language in languages() {
        let mut running = start(&language).await;
        let code = in_language(&language, ["n = 0", "let n = 0", "$n = 0"]);
        running.eval(code).await;
        let code = in_language(&language, ["n += 1\nn", "n += 1", "$n += 1"]);
        for call in 1..=1000 {
            assert_eq!(running.value(code).await, json!({"type": "int", "value": call}), "{language}");
        }
        assert!(running.interpreter.is_whole());
    }
}

#[tokio::test]
async fn variables_are_set_listed_and_taken_as_values() {
    for language in languages() {
        let mut running = start(&language).await;
        let (limits, bounds) = (limits(), Bounds::default());
        let interpreter = &mut running.interpreter;
        interpreter.set("data", r#"{"a": [1, 2.5, "ü", null, true]}"#, &limits).await.unwrap();
        let listed = interpreter.variables(&limits, &bounds).await.unwrap();
        let names: Vec<&str> = listed.iter().map(|variable| variable.name.as_str()).collect();
        assert_eq!(names, ["data"], "{language}");
        let reply = interpreter.get("data", None, (&limits, &bounds)).await.unwrap();
        let items = &value(&reply)["value"]["a"]["value"];
        assert_eq!(items[0], json!({"type": "int", "value": 1}));
        assert_eq!(items[2], json!({"type": "string", "value": "ü"}));
        let query = in_language(&language, ["value['a'][1]", "value.a[1]", "$value['a'][1]"]);
        let reply = interpreter.get("data", Some(query), (&limits, &bounds)).await.unwrap();
        assert_eq!(value(&reply), json!({"type": "float", "value": 2.5}), "{language}");
        let error = interpreter.get("nothing", None, (&limits, &bounds)).await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::NotFound);
        for (name, text) in [("data", "{"), ("a b", "1"), ("", "1")] {
            let error = interpreter.set(name, text, &limits).await.unwrap_err();
            assert_eq!(error.code(), ErrorCode::ArgsInvalid, "{language} {name:?}");
        }
        interpreter.set("data", "7", &limits).await.unwrap();
        let reply = interpreter.get("data", None, (&limits, &bounds)).await.unwrap();
        assert_eq!(value(&reply)["value"], 7, "{language}");
        interpreter.reset(&limits).await.unwrap();
        assert!(interpreter.variables(&limits, &bounds).await.unwrap().is_empty(), "{language}");
        assert!(interpreter.is_whole());
    }
}

#[tokio::test]
async fn what_a_snippet_declares_is_listed_and_gone_after_a_reset() {
    for language in languages() {
        let mut running = start(&language).await;
        let code = in_language(
            &language,
            [
                "a = 1\ndef f(): return a\nclass B: pass",
                "let a = 1; const c = 2; var v = 3; function f() { return a } class B {}",
                "$a = 1; $b = new ArrayObject([]);",
            ],
        );
        running.eval(code).await;
        let listed = running.interpreter.variables(&limits(), &Bounds::default()).await.unwrap();
        let names: Vec<&str> = listed.iter().map(|variable| variable.name.as_str()).collect();
        let wanted: &[&str] = match language.as_str() {
            "python" => &["B", "a", "f"],
            "javascript" => &["B", "a", "c", "f", "v"],
            _ => &["a", "b"],
        };
        assert_eq!(names, wanted);
        running.interpreter.reset(&limits()).await.unwrap();
        assert!(
            running.interpreter.variables(&limits(), &Bounds::default()).await.unwrap().is_empty(),
            "{language}"
        );
        let code = in_language(&language, ["a = 5\na", "let a = 5; a", "$a = 5; $a"]);
        assert_eq!(running.value(code).await["value"], 5, "{language}");
        assert_eq!(
            running.interpreter.variables(&limits(), &Bounds::default()).await.unwrap().len(),
            1,
            "{language}"
        );
    }
}

#[tokio::test]
async fn functions_of_the_host_are_called_and_counted() {
    for language in languages() {
        let mut running = start(&language).await;
        let code = in_language(
            &language,
            [
                "call_tool('echo', text='ü', list=[1, {'a': None}])",
                "callTool('echo', { text: 'ü', list: [1, { a: null }] })",
                "call_tool('echo', ['text' => 'ü', 'list' => [1, ['a' => null]]])",
            ],
        );
        let mut request = running.snippet(code);
        offer_tools(&mut request);
        let reply = running.request(request).await;
        assert_eq!(value(&reply)["value"]["text"]["value"], "ü", "{language}");
        let code =
            in_language(&language, ["call_tool('no_such')", "callTool('no_such')", "call_tool('no_such')"]);
        let mut request = running.snippet(code);
        offer_tools(&mut request);
        let raised = exception(&running.request(request).await);
        assert_eq!(raised["message"], "no tool `no_such`; there are: echo, fail", "{language}");
        let code = in_language(
            &language,
            [
                "for i in range(3): call_tool('echo')",
                "for (let i = 0; i < 3; i++) callTool('echo')",
                "for ($i = 0; $i < 3; $i++) call_tool('echo');",
            ],
        );
        let mut request = running.snippet(code);
        offer_tools(&mut request);
        request.context.callbacks.max_calls = 2;
        let raised = exception(&running.request(request).await);
        assert_eq!(raised["message"], "the run has made its 2 tool calls", "{language}");
        assert_eq!(raised["file"], "<snippet>", "{language}");
    }
}

/// What PHP has in its guest for calls of functions, here one after the other.
#[tokio::test]
async fn php_has_functions_of_the_host_as_methods() {
    let language = Language::php();
    if !crate::support::is_here(&language) {
        return;
    }
    let mut running = start(&language).await;
    let lines = include_str!("../../../../tests/eval/php/tools.txt").lines();
    for code in lines.filter(|line| !line.starts_with('#')) {
        assert_eq!(running.value(code).await["value"], true, "{code}");
    }
    for (code, answer) in [
        ("tools()->echo(text: 'ü')", json!({"text": "ü"})),
        ("tools()->echo(['text' => 'x'], list: [1])", json!({"text": "x", "list": [1]})),
        (
            "call_tools(['b' => ['echo', ['n' => 1]], 'a' => ['fail', ['why' => 'shut']]], settle: true)",
            json!({"b": {"ok": {"n": 1}}, "a": {"error": "shut"}}),
        ),
    ] {
        let mut request = running.snippet(&format!("json_encode({code}, JSON_UNESCAPED_UNICODE)"));
        offer_tools(&mut request);
        assert_eq!(value(&running.request(request).await)["value"], answer.to_string(), "{code}");
    }
    let mut request = running.snippet("\ncall_tools([['echo'], ['fail', ['why' => 'shut']], ['echo']])");
    offer_tools(&mut request);
    let raised = exception(&running.request(request).await);
    assert_eq!((&raised["message"], &raised["line"]), (&json!("shut"), &json!(2)));
    assert_eq!(raised["file"], "<snippet>");
}

#[tokio::test]
async fn a_function_gets_its_name_in_the_language_once() {
    let language = Language::python();
    if !crate::support::is_here(&language) {
        return;
    }
    let mut running = start(&language).await;
    let calls = Arc::new(AtomicU32::new(0));
    let counted = calls.clone();
    let callback = Callback::new("Counts.", json!({}), move |_| {
        let calls = counted.clone();
        async move { Ok(json!(calls.fetch_add(1, Ordering::Relaxed))) }
    })
    .bound(language.clone(), "def count():\n    return call_tool('count')\nprint('bound')");
    for wanted in ["bound\n", "", "bound\n"] {
        let mut request = running.snippet("count()");
        request.context.callbacks.insert("count", callback.clone()).unwrap();
        let reply = running.request(request).await;
        assert_eq!(reply.stdout.text, wanted);
        if calls.load(Ordering::Relaxed) == 2 {
            running.interpreter.reset(&limits()).await.unwrap();
        }
    }
    assert_eq!(calls.load(Ordering::Relaxed), 3);
}

#[tokio::test]
async fn the_clock_stands_still_for_a_function_that_stops_it() {
    let language = Language::python();
    if !crate::support::is_here(&language) {
        return;
    }
    let mut running = start(&language).await;
    let mut request = running.snippet("call_tool('wait')");
    request.context.limits.wall = Duration::from_millis(500);
    let wait = Callback::new("Waits.", json!({}), |_| async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        Ok(json!("done"))
    });
    request.context.callbacks.insert("wait", wait.stopping_clock()).unwrap();
    assert_eq!(value(&running.request(request).await)["value"], "done");
}

#[tokio::test]
async fn the_end_of_a_program_is_its_status() {
    for language in languages() {
        let mut running = start(&language).await;
        let code = in_language(
            &language,
            ["kept = 1\nimport sys\nsys.exit(3)", "kept = 1; process.exit(3)", "exit(3);"],
        );
        assert!(matches!(running.eval(code).await.status, Status::Exited(3)), "{language}");
        // PHP cannot go on after `exit`.
        assert_eq!(running.interpreter.is_whole(), language.as_str() != "php");
        if running.interpreter.is_whole() {
            assert_eq!(running.value("kept").await["value"], 1, "{language}");
        }
    }
}

#[tokio::test]
async fn surroundings_come_with_the_call() {
    for language in languages() {
        let mut running = start(&language).await;
        let code = in_language(
            &language,
            [
                "import os, sys\n[sys.stdin.read(), os.environ.get('A'), sys.argv, os.getcwd()]",
                "const fs = require('fs'); [fs.readFileSync(0, 'utf8'), process.env.A, process.argv.slice(1), process.cwd()]",
                "[stream_get_contents(STDIN), getenv('A'), $argv, getcwd()]",
            ],
        );
        for input in ["one\n", "", "two"] {
            let mut request = running.snippet(code);
            request.context.grants.stdin = input.into();
            request.context.grants.environment = vec![("A".into(), "b=ü".into())];
            request.context.grants.arguments = vec!["-x".into()];
            request.context.grants.directory = Some(GuestPath::parse("/usr").unwrap());
            let found = value(&running.request(request).await);
            let items = found["value"].as_array().unwrap();
            assert_eq!(items[0]["value"], input, "{language}");
            assert_eq!(items[1]["value"], "b=ü", "{language}");
            assert_eq!(items[2]["value"][1]["value"], "-x", "{language}");
            assert_eq!(items[3]["value"], "/usr", "{language}");
        }
    }
}

#[tokio::test]
async fn what_a_container_cannot_give_is_refused_and_nothing_is_run() {
    for language in languages() {
        let mut running = start(&language).await;
        let mut requests = vec![running.snippet("1"); 3];
        requests[0].context.grants.seed = Some(1);
        requests[1].context.grants.clock = WallClock::Fixed(std::time::SystemTime::UNIX_EPOCH);
        requests[2].allow_eval = false;
        for request in requests {
            let error = running.interpreter.eval(&request).await.unwrap_err();
            assert_eq!(error.code(), ErrorCode::CapabilityUnavailable);
            assert!(error.hint().is_some());
        }
        assert_eq!(running.value("1").await["value"], 1);
    }
}
