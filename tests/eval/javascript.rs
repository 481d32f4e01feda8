//! JavaScript: modules, promises, timers, the console and what the web and Node have taught people to expect.

use std::time::Duration;

use dormouse::Access;
use dormouse_tests::ending::{assert_ends, ending, exception, value};
use dormouse_tests::{JAVASCRIPT, sandbox};
use serde_json::{Value as Json, json};

#[track_caller]
fn each(language: &str, table: &[(&str, Json)]) {
    for (code, wanted) in table {
        assert_eq!(sandbox::value_of(language, code)["value"], *wanted, "{code}");
    }
}

#[test]
fn the_last_expression_is_the_value() {
    each(
        JAVASCRIPT,
        &[
            ("return 1 + 1;", json!(2)),
            ("const x = 1; x + 1", json!(2)),
            ("let a = 1\na", json!(1)),
            ("if (true) { 5 }", json!(5)),
            ("for (let i = 0; i < 3; i++) i", json!(2)),
            ("var f = () => 3; f()", json!(3)),
            ("1 // a comment\n", json!(1)),
            ("'use strict'; this === globalThis", json!(true)),
            ("await 1; 'after'", json!("after")),
            ("const v = await Promise.resolve(4); v * 2", json!(8)),
            ("await (async () => 7)()", json!(7)),
            ("var await = 3; await + 1", json!(4)),
            ("for await (const x of [Promise.resolve(1)]) x", json!(1)),
            ("export default 6", json!(6)),
            ("import fs from 'fs'; export default typeof fs.readFileSync", json!("function")),
            ("const { join } = await import('node:path'); join('a', '..', 'b')", json!("b")),
            (
                "import { join as j } from 'path'\nimport * as all from 'path'; import 'fs'\nconst a = j('a', 'b')\n;[a, all.sep].join(' ')",
                json!("a/b /"),
            ),
            ("export const one = 1; let two = 2\nexport { two as three }\none + two", json!(3)),
            ("export default { a: 1 }.a\nlet later = 7", json!(1)),
            ("export default function answer() { return 42 }\nanswer()\n0", json!(null)),
            ("import fs from 'fs'\nawait null\nfs.existsSync('/tmp')", json!(true)),
            ("import.meta.url; export default 5", json!(5)),
        ],
    );
}

#[test]
fn modules_of_a_mount_are_imported() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("mine.js"), "export const value = 41; export default () => value + 1;")
        .unwrap();
    std::fs::write(folder.path().join("data.json"), "{\"a\": [1]}").unwrap();
    std::fs::write(
        folder.path().join("again.mjs"),
        "import more from './mine.js'; export const twice = more() * 2;",
    )
    .unwrap();
    std::fs::write(
        folder.path().join("live.js"),
        "export let n = 0; export function add() { n++ } export * as all from './live.js'",
    )
    .unwrap();
    let lazy = "export const load = () => eval(\"import('./mine.js')\");";
    std::fs::write(folder.path().join("lazy.mjs"), lazy).unwrap();
    for (code, wanted) in [
        ("import more, { value } from '/mnt/mine.js'; export default more() + value", 83),
        ("const m = await import('/mnt/again.mjs'); m.twice", 84),
        ("import data from '/mnt/data.json'; export default data.a[0]", 1),
        ("const m = await import('/mnt/lazy.mjs'); (await m.load()).value", 41),
        ("import { n, add } from '/mnt/live.js'; add(); add(); n", 2),
        ("import { n } from '/mnt/live.js'\ntry { n = 9 } catch (e) { e instanceof TypeError ? n : -1 }", 0),
        ("import { all, n } from '/mnt/live.js'; all.n + n", 0),
        ("let n = 5\nexport { n }\nn", 5),
    ] {
        let snippet = sandbox::snippet(JAVASCRIPT, code).mount(folder.path(), "/mnt", Access::ReadOnly);
        assert_eq!(value(&sandbox::run(snippet))["value"], wanted, "{code}");
    }
    let missing = sandbox::eval(JAVASCRIPT, "import x from 'left-pad'");
    assert!(exception(&missing).message.contains("left-pad"), "{}", exception(&missing).message);
}

#[test]
fn timers_and_jobs_run_in_order_before_the_run_ends() {
    let code = "const l = []; const log = x => l.push(x);\n\
        setTimeout(log, 5, 'late'); setTimeout(log, 0, 'timer'); Promise.resolve().then(() => log('job')); queueMicrotask(() => log('micro'));\n\
        const stop = setInterval(() => { log('tick'); if (l.filter(x => x === 'tick').length === 2) clearInterval(stop) }, 1);\n\
        const gone = setTimeout(log, 1, 'never'); clearTimeout(gone); log('now');\n\
        await new Promise(done => setTimeout(done, 20)); l.join()";
    let found = sandbox::value_of(JAVASCRIPT, code)["value"].as_str().unwrap().to_owned();
    assert!(found.starts_with("now,job,micro,timer,"), "{found}");
    assert_eq!(found.matches("tick").count(), 2, "{found}");
    assert!(found.contains("late") && !found.contains("never"), "{found}");
    let outcome = sandbox::eval(JAVASCRIPT, "setTimeout(() => console.log('done'), 10); 1");
    assert_eq!((value(&outcome)["value"].clone(), outcome.stdout.text.as_str()), (json!(1), "done\n"));
    let stuck = sandbox::eval(JAVASCRIPT, "await new Promise(() => {})");
    assert!(exception(&stuck).message.contains("nothing will settle"), "{}", exception(&stuck).message);
}

#[test]
fn the_console_inspects_what_it_shows() {
    for (code, out, err) in [
        ("console.log('a', 1, true, null, undefined)", "a 1 true null undefined\n", ""),
        ("console.log({ a: 1, b: 'x', c: [1, 2] })", "{ a: 1, b: 'x', c: [ 1, 2 ] }\n", ""),
        ("console.log([1, [2, [3, [4, [5]]]]])", "[ 1, [ 2, [ 3, [Array] ] ] ]\n", ""),
        ("console.log(new Map([[1, 'a']]), new Set([1]))", "Map(1) { 1 => 'a' } Set(1) { 1 }\n", ""),
        ("console.log('%s is %d', 'x', 5, 'rest')", "x is 5 rest\n", ""),
        ("const o = {}; o.o = o; console.log(o)", "<ref *1> { o: [Circular *1] }\n", ""),
        ("console.error('bad'); console.warn('worse')", "", "bad\nworse\n"),
        (
            "console.log(class A {}, function f() {}, () => 0)",
            "[class A] [Function: f] [Function (anonymous)]\n",
            "",
        ),
        ("console.log(10n, Symbol('s'), -0)", "10n Symbol(s) -0\n", ""),
        ("console.log()", "\n", ""),
    ] {
        let outcome = sandbox::eval(JAVASCRIPT, code);
        assert_eq!((outcome.stdout.text.as_str(), outcome.stderr.text.as_str()), (out, err), "{code}");
    }
}

#[test]
fn what_the_web_has_is_here() {
    each(
        JAVASCRIPT,
        &[
            ("new TextDecoder().decode(new TextEncoder().encode('ü'))", json!("ü")),
            (
                "new URL('../b?x=1#h', 'https://user@example.test:8080/a/c').href",
                json!("https://user@example.test:8080/b?x=1#h"),
            ),
            ("new URLSearchParams({ a: '1 2', b: 'ü' }).toString()", json!("a=1+2&b=%C3%BC")),
            (
                "const o = { d: new Date(0), m: new Map([[1, { a: 1 }]]) }; const c = structuredClone(o); c.m.get(1).a === 1 && c.d.getTime() === 0 && c !== o && c.m !== o.m",
                json!(true),
            ),
            ("atob(btoa('hello'))", json!("hello")),
            (
                "/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(crypto.randomUUID())",
                json!(true),
            ),
            ("crypto.getRandomValues(new Uint8Array(4)).length", json!(4)),
            ("typeof performance.now()", json!("number")),
            ("const c = new AbortController(); c.abort(); c.signal.aborted", json!(true)),
            (
                "const t = new EventTarget(); let n = 0; t.addEventListener('x', () => n++); t.dispatchEvent(new Event('x')); n",
                json!(1),
            ),
            ("new Date(Date.UTC(2024, 0, 2)).toISOString()", json!("2024-01-02T00:00:00.000Z")),
            (
                "[3, 1, 2].toSorted().join() + Object.groupBy([1, 2, 3], x => x % 2 ? 'odd' : 'even').odd.length",
                json!("1,2,32"),
            ),
            (
                "'aXbX'.replaceAll('X', '-') + [1, 2, 3].at(-1) + Object.hasOwn({ a: 1 }, 'a')",
                json!("a-b-3true"),
            ),
        ],
    );
}

#[test]
fn what_is_not_here_is_said_in_a_sentence() {
    for (code, word) in [
        ("require('node:sqlite')", "sqlite"),
        ("await fetch('https://example.test').catch(({ cause }) => { throw cause })", "no network"),
        ("import 'lodash'", "lodash"),
    ] {
        let outcome = sandbox::eval(JAVASCRIPT, code);
        assert!(ending(&outcome).starts_with("raised"), "{code}");
        assert!(exception(&outcome).message.contains(word), "{code}: {}", exception(&outcome).message);
    }
}

#[test]
fn a_run_that_only_waits_is_as_long_as_its_timer() {
    let snippet = sandbox::snippet(JAVASCRIPT, "await new Promise(done => setTimeout(done, 300)); 1")
        .timeout(Duration::from_secs(5));
    let outcome = sandbox::run(snippet);
    assert_ends(&outcome, &["returned"]);
    assert!(outcome.usage.wall >= Duration::from_millis(295), "{:?}", outcome.usage.wall);
}
