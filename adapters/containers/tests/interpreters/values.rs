//! Values and exceptions at their limits.

use dormouse_core::{Bounds, Status};
use serde_json::json;

use crate::support::{exception, in_language, languages, start, value};

#[tokio::test]
async fn an_endless_iterator_is_shown_as_far_as_it_may_be() {
    for language in languages() {
        let mut running = start(&language).await;
        let code = in_language(
            &language,
            [
                "import itertools\nitertools.count()",
                "function* all() { for (let i = 0; ; i++) yield i } const g = all(); g",
                "$g = (function () { for ($i = 0; ; $i++) yield $i; })(); $g",
            ],
        );
        let shown = running.value(code).await;
        assert_eq!((&shown["type"], &shown["exhausted"]), (&json!("iterable"), &json!(false)), "{language}");
        assert_eq!(shown["preview"].as_array().unwrap().len(), 50, "{language}");
    }
}

#[tokio::test]
async fn recursion_without_end_is_an_exception_and_the_session_goes_on() {
    for language in languages() {
        if language.as_str() == "php" {
            continue;
        }
        let mut running = start(&language).await;
        let code =
            in_language(&language, ["def f(): return f()\nf()", "function f() { return f() + 1 }\nf()", ""]);
        let raised = exception(&running.eval(code).await);
        let wanted = in_language(&language, ["RecursionError", "RangeError", ""]);
        assert_eq!(raised["class"], wanted);
        assert_eq!(raised["file"], "<snippet>");
        assert_eq!(running.value("1 + 1").await["value"], 2);
    }
}

#[tokio::test]
async fn lone_surrogates_become_replacement_characters() {
    for language in languages() {
        if language.as_str() == "php" {
            continue;
        }
        let mut running = start(&language).await;
        let code = in_language(
            &language,
            [
                r"print('a\ud800'); {'k\udfff': 'a\ud800b'}",
                r"console.log('a\ud800'); ({ 'k\udfff': 'a\ud800b' })",
                "",
            ],
        );
        let reply = running.eval(code).await;
        let wanted = json!({"k\u{fffd}": {"type": "string", "value": "a\u{fffd}b"}});
        assert_eq!(value(&reply)["value"], wanted, "{language}");
        let raised =
            in_language(&language, [r"raise ValueError('\ud800')", r"throw new Error('\ud800')", ""]);
        assert_eq!(exception(&running.eval(raised).await)["message"], "\u{fffd}", "{language}");
    }
}

#[tokio::test]
async fn deep_values_are_opened_to_their_depth() {
    for language in languages() {
        let mut running = start(&language).await;
        let code = in_language(
            &language,
            [
                "x = 1\nfor _ in range(100000): x = [x]\nx",
                "let x = 1; for (let i = 0; i < 100000; i++) x = [x]; x",
                "$x = 1; for ($i = 0; $i < 10000; $i++) $x = [$x]; return $x;",
            ],
        );
        for depth in [1, 3, 16] {
            let mut request = running.snippet(code);
            request.context.bounds = Bounds { depth, ..Bounds::default() };
            let mut at = &value(&running.request(request).await);
            for _ in 0..depth {
                at = &at["value"][0];
            }
            assert_eq!(at["truncated"], true, "{language} {depth}");
        }
    }
}

#[tokio::test]
async fn values_are_as_large_as_they_may_be() {
    for language in languages() {
        let mut running = start(&language).await;
        let code = in_language(
            &language,
            [
                "['x' * 100000] * 5000",
                "Array(5000).fill('x'.repeat(100000))",
                "array_fill(0, 5000, str_repeat('x', 100000))",
            ],
        );
        for (items, string_bytes, total_bytes) in
            [(50, 10_000, 256 << 10), (10_000, 1 << 20, 8 << 20), (10, 100, 2048)]
        {
            let mut request = running.snippet(code);
            request.context.bounds = Bounds { items, string_bytes, total_bytes, ..Bounds::default() };
            let reply = running.request(request).await;
            let text = value(&reply).to_string();
            assert!(text.len() <= total_bytes as usize, "{language}: {} of {total_bytes}", text.len());
            // What is left of a tiny text is the mark that it is too small.
            if total_bytes > 4096 {
                assert_eq!(value(&reply)["count"], 5000, "{language}");
            }
        }
    }
}

#[tokio::test]
async fn the_last_expression_is_the_value_wherever_it_stands() {
    for language in languages() {
        let mut running = start(&language).await;
        let cases: &[(&str, i64)] = match language.as_str() {
            "python" => {
                &[("1;2", 2), ("x = 5\nx # end", 5), ("import asyncio\nawait asyncio.sleep(0)\n3", 3)]
            }
            "javascript" => &[
                ("1;2", 2),
                ("let x = 5; x // end", 5),
                ("let x = 6; x", 6),
                ("const x2 = 7; x2 /* open", 0),
                ("await 3", 3),
                ("await Promise.resolve(4)", 4),
                ("Promise.resolve(4)", 4),
                ("return 8", 8),
                ("return await 9", 9),
                ("if (true) { 5 }", 5),
                ("import fs from 'fs'; export default typeof fs === 'object' ? 10 : 0", 10),
                ("(await import('fs')).default === require('fs') ? 11 : 0", 11),
                (
                    "var eleven; setTimeout(() => { eleven = 11 }, 5); new Promise((done) => setTimeout(() => done(eleven), 20))",
                    11,
                ),
            ],
            _ => &[
                ("1;2", 2),
                ("<?php\n$x = 5;\nreturn $x;", 5),
                ("function f($n) { return $n; }\nf(6)", 6),
                ("if (true) { $x = 1; } $x + 6", 7),
                ("$x = match (true) { default => 8 };", 8),
                ("declare(strict_types=1);\nnamespace A;\nuse ArrayObject;\ncount(new ArrayObject([1]))", 1),
                ("$f = function () { return 9; };\n// end\n$f() // end", 9),
                ("\"{$x}\" === '8' ? 10 : 0", 10),
            ],
        };
        for (code, wanted) in cases {
            let reply = running.eval(code).await;
            if *wanted == 0 {
                assert_eq!(exception(&reply)["class"], "SyntaxError", "{code}");
            } else {
                assert_eq!(value(&reply)["value"], *wanted, "{language}: {code}");
            }
        }
        let nothing =
            in_language(&language, ["x = 1", "for (;false;) 1", "echo 1; function g() { return 5; }"]);
        assert!(value(&running.eval(nothing).await)["value"].is_null(), "{language}");
    }
}

#[tokio::test]
async fn an_exception_in_another_turn_is_the_runs() {
    let language = dormouse_core::Language::javascript();
    if !crate::support::is_here(&language) {
        return;
    }
    let mut running = start(&language).await;
    for (code, message) in [
        (
            "setTimeout(() => { throw new Error('later') }, 5); new Promise(() => setTimeout(() => {}, 50))",
            "later",
        ),
        ("Promise.reject(new Error('nobody')); new Promise((done) => setTimeout(done, 20))", "nobody"),
        ("new Promise(() => {})", "the snippet awaits a promise that nothing will settle"),
        ("await new Promise(() => {})", "the snippet awaits a promise that nothing will settle"),
    ] {
        assert_eq!(exception(&running.eval(code).await)["message"], message, "{code}");
    }
    let reply = running.eval("process.exitCode = 4; 1").await;
    assert!(matches!(reply.status, Status::Exited(4)));
    assert_eq!(running.value("2").await["value"], 2);
}
