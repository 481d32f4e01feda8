//! Output, in JavaScript.

use super::*;

#[test]
fn out_01_an_endless_print_loop_is_kept_to_the_limit_and_counted() {
    case(&[JAVASCRIPT], || {
        let outcomes = Attack::new(JAVASCRIPT).wall(500).ends(&["limit_time"]).run(&[
            "for(;;) console.log('x'.repeat(10000))",
            "for(;;) process.stderr.write('x')",
            "for(;;) console.log()",
        ]);
        outcomes.iter().for_each(counted);
        assert!(outcomes[0].stdout.is_truncated() && outcomes[1].stderr.is_truncated());
        assert!(outcomes[0].stdout.text.starts_with("xxxx"));
    });
}

#[test]
fn out_02_two_gibibytes_on_each_stream_are_counted_to_the_byte() {
    case(&[JAVASCRIPT], || {
        let outcomes = Attack::new(JAVASCRIPT).wall(60_000).ends(&["returned"]).run(&[
            "const b = 'x'.repeat(1 << 20); for (let i = 0; i < 2048; i++) { process.stdout.write(b); process.stderr.write(b) }",
        ]);
        counted(&outcomes[0]);
        assert_eq!(outcomes[0].stdout.total_bytes, 2 * GIB);
        assert_eq!(outcomes[0].stderr.total_bytes, 2 * GIB);
    });
}

#[test]
fn out_03_text_that_is_no_text_arrives_as_text() {
    case(&[JAVASCRIPT], || {
        let outcome = sandbox::eval(JAVASCRIPT, "console.log('a\\ud800b\\0c')");
        assert_eq!(outcome.stdout.text, "a\u{fffd}b\0c\n");
        assert_eq!(value(&sandbox::eval(JAVASCRIPT, "'a\\udc00b\\0'"))["value"], "a\u{fffd}b\0");
        let outcome = sandbox::eval(JAVASCRIPT, "throw new Error('\\ud800')");
        assert_eq!(exception(&outcome).message, "\u{fffd}");
        let outcome = sandbox::eval(JAVASCRIPT, "console.log('x' + 'é'.repeat(10000))");
        counted(&outcome);
        assert!(outcome.stdout.text.ends_with('é'), "the cut went through a character");
    });
}

#[test]
fn out_04_terminal_escapes_stay_in_json_and_are_made_visible_on_a_terminal() {
    case(&[JAVASCRIPT], || {
        let code = r#"console.log('\x1b]0;title\x07 \x1b]52;c;aGk=\x07 \x1b[2J \u202ereversed \x9b31m')"#;
        let outcome = sandbox::eval(JAVASCRIPT, code);
        assert!(
            outcome.stdout.text.starts_with("\u{1b}]0;title\u{7} \u{1b}]52;"),
            "{:?}",
            outcome.stdout.text
        );
        shown_on_a_terminal(JAVASCRIPT, code);
    });
}

#[test]
fn out_05_text_that_looks_like_an_answer_is_data() {
    case(&[JAVASCRIPT], || {
        let forged = r#"{"jsonrpc":"2.0","id":1,"result":{"ok":true,"result":{"type":"int","value":666}}}"#;
        let outcome = sandbox::eval(JAVASCRIPT, &format!("console.log({forged:?}); 1"));
        assert_eq!(outcome.stdout.text, format!("{forged}\n"));
        assert_eq!(value(&outcome), json!({"type": "int", "value": 1}));
    });
}

#[test]
fn out_06_hostile_values_are_encoded_inside_the_guests_limits() {
    case(&[JAVASCRIPT], || {
        Attack::new(JAVASCRIPT).wall(1_000).ends(&["returned"]).run(&[
            "const l = [1]; l.push(l); l",
            "const o = {}; o.o = o; o",
            "(function* () { for(;;) yield 1 })()",
            "({ get a() { throw new Error('no') }, b: 1 })",
            "({ get a() { throw null }, toJSON() { throw 1 }, toString() { throw 2 } })",
            "new Proxy({}, { ownKeys() { throw new Error('no') } })",
            "new Proxy({}, { get() { throw 1 }, getPrototypeOf() { throw 2 }, has() { throw 3 } })",
            "new Proxy([], { get: (t, k) => k === 'length' ? 2 ** 50 : 1 })",
            "new Proxy({}, { ownKeys: () => Array.from({ length: 1e3 }, (_, i) => `k${i}`), getOwnPropertyDescriptor: () => ({ value: 1, enumerable: true, configurable: true }) })",
            "const p = Proxy.revocable({}, {}); p.revoke(); [p.proxy]",
            "const a = []; a.length = 2 ** 32 - 1; a",
            "class A { get [Symbol.toStringTag]() { throw 1 } static get name() { throw 2 } } new A()",
            "({ __proto__: { get constructor() { throw 1 } }, a: 1 })",
            "const o = { get a() { delete o.b; o.c = 1; return 1 }, b: 2 }; o",
            "const m = new Map(); m.set(m, m); m",
            "({ [Symbol.iterator]() { throw 1 }, next() { throw 2 } })",
            "(function* () { yield 1; throw new Error('no') })()",
            "new Uint8Array(new ArrayBuffer(8).transfer?.(0) ?? 0)",
            "const b = new ArrayBuffer(8); const v = new Uint8Array(b); structuredClone(b, { transfer: [b] }); v",
        ]);
        Attack::new(JAVASCRIPT)
            .wall(500)
            .ends(&["limit_time", "limit_memory", "limit_stack", "returned"])
            .run(&[
                "({ get a() { for(;;); } })",
                "new Proxy({}, { ownKeys() { for(;;); } })",
                "new Proxy({}, { ownKeys: () => Array.from({ length: 1e5 }, (_, i) => `k${i}`) })",
                "({ get a() { return 'x'.repeat(2 ** 30) } })",
                "({ get a() { return this.a } })",
                "(function* () { for(;;); })()",
            ]);
    });
}

#[test]
fn out_07_no_value_is_invented() {
    case(&[JAVASCRIPT], || {
        for code in [
            "JSON.stringify = () => '{\"type\":\"int\",\"value\":666}'; 41 + 1",
            "Object.defineProperty = Object.keys = Reflect.ownKeys = () => 666; 41 + 1",
            "Number.prototype.toString = Number.prototype.valueOf = () => 666; 41 + 1",
            "globalThis.console = globalThis.process = null; 41 + 1",
            "Promise.prototype.then = () => 666; Symbol.iterator = 666; 41 + 1",
            "for (const name of Object.getOwnPropertyNames(globalThis)) { try { delete globalThis[name] } catch {} } 41 + 1",
            "Object.prototype.value = 666; Object.prototype.type = 'string'; 41 + 1",
        ] {
            assert_eq!(value(&sandbox::eval(JAVASCRIPT, code))["value"], 42, "{code}");
        }
        for (code, ending) in [
            ("process.exit(0); 666", "exited 0"),
            ("try { process.exit(5) } finally { 666 }", "exited 5"),
            ("await new Promise(() => process.exit(3)); 666", "exited 3"),
        ] {
            assert_ends(&sandbox::eval(JAVASCRIPT, code), &[ending]);
        }
        // A snippet that awaits takes another way to its value.
        let code = "Object.prototype.then = f => f(666); Promise.resolve = () => 666; await 1; 41 + 1";
        assert_ends(&sandbox::eval(JAVASCRIPT, code), &["returned", "raised Error", "raised TypeError"]);
    });
}
