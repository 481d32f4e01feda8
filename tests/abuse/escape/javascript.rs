//! Escape, in JavaScript.

use super::*;

#[test]
fn esc_02_the_engines_own_modules_are_missing() {
    case(&[JAVASCRIPT], || {
        for code in [
            "import * as std from 'std'; export default std",
            "import * as os from 'os'; os.exec(['id'])",
            "await import('qjs:std')",
            "await import('qjs:os')",
            "await import('/etc/passwd')",
            "await import('file:///etc/passwd')",
            "await import('https://example.com/x.js')",
            "require('child_process').spawn('id')",
            "new (require('worker_threads').Worker)('x')",
            "require('vm').runInNewContext('process.exit()')",
            "await new Promise((_, reject) => require('net').connect(80, 'example.com').on('error', reject))",
            "await new Promise((_, reject) => require('http').createServer().on('error', reject).listen(0))",
            "std.loadScript('/etc/passwd')",
            "os.exec(['id'])",
            "scriptArgs",
            "loadFile('/etc/passwd')",
            "bjson.read()",
            "new Worker('x')",
            "WebAssembly.compile(new Uint8Array(8))",
            "process.binding('fs')",
            "process.dlopen({}, 'x')",
        ] {
            let outcome = sandbox::eval(JAVASCRIPT, code);
            assert!(ending(&outcome).starts_with("raised"), "{code}: {}", told(&outcome));
        }
    });
}

#[test]
fn esc_03_starting_a_process_is_a_clear_error() {
    case(&[JAVASCRIPT], || {
        let outcome = sandbox::eval(JAVASCRIPT, "require('child_process').execSync('id')");
        let message = &exception(&outcome).message;
        assert!(message.contains("child_process"), "the message names what is missing: {message}");
        for name in ["setuid", "chroot", "dlopen"] {
            let code = format!("process.{name}(1)");
            assert_ends(&sandbox::eval(JAVASCRIPT, &code), &["raised TypeError", "raised Error"]);
        }
        // What ends the process ends the run, and there is no other process.
        assert_ends(&sandbox::eval(JAVASCRIPT, "process.abort()"), &["exited 134"]);
        assert_ends(&sandbox::eval(JAVASCRIPT, "process.kill(process.pid, 'SIGKILL')"), &["exited 137"]);
        assert_ends(&sandbox::eval(JAVASCRIPT, "process.kill(2, 0)"), &["raised Error"]);
    });
}

#[test]
fn esc_04_source_and_data_bombs_are_errors_or_limits() {
    case(&[JAVASCRIPT], || {
        let ends = ["raised", "limit_time", "limit_memory", "limit_stack"];
        Attack::new(JAVASCRIPT).wall(4_000).ends(&ends).run(&[
            &format!("{}1{}", "(".repeat(1_000_000), ")".repeat(1_000_000)),
            &format!("{}1", "!".repeat(1_000_000)),
            &format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000)),
            &format!("{}1", "a=>".repeat(100_000)),
            &format!("`{}", "${`".repeat(100_000)),
            "eval('('.repeat(1e6))",
            "new Function('{'.repeat(1e6))",
            "JSON.parse('{\"a\":'.repeat(1e5))",
            "new RegExp('(?:'.repeat(1e5) + 'a*'.repeat(1e5))",
            "new RegExp('a{1,2147483647}'.repeat(1000)).test('a'.repeat(1e7) + 'b'.repeat(10)); for(;;);",
        ]);
    });
}

#[test]
fn esc_05_a_patched_interpreter_is_gone_with_its_run() {
    case(&[JAVASCRIPT], || {
        Attack::new(JAVASCRIPT).wall(3_000).ends(&CONTAINED).run(&[
            "Array.prototype.map = JSON.stringify = () => 666; globalThis.canary = 1",
            "Object.freeze(Object.prototype); globalThis.console = null; process.chdir('/tmp')",
            "Promise.prototype.then = null; globalThis.setTimeout = null",
        ]);
        let clean = "[[1].map(x => x + 1)[0], JSON.stringify(1), globalThis.canary ?? null, process.cwd(), Object.isFrozen(Object.prototype)]";
        let found = value(&sandbox::eval(JAVASCRIPT, clean));
        let flat: Vec<_> =
            found["value"].as_array().unwrap().iter().map(|item| item["value"].clone()).collect();
        assert_eq!(json!(flat), json!([2, "1", null, "/tmp", false]));
    });
}

#[test]
fn esc_06_configuration_tricks_have_no_effect_on_the_wall() {
    case(&[JAVASCRIPT], || {
        let code = format!(
            "process.env.LD_PRELOAD = '/tmp/x.so'; require('fs').readFileSync({:?})",
            canary::path().display()
        );
        let mut request = sandbox::request(JAVASCRIPT, code);
        let variables =
            [("LD_PRELOAD", "/tmp/x.so"), ("NODE_OPTIONS", "--require /etc/passwd"), ("NODE_PATH", "/")];
        request.context.grants.environment =
            variables.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        let outcome = sandbox::run_request(request);
        assert!(ending(&outcome).starts_with("raised"), "{}", told(&outcome));
    });
}

#[test]
fn esc_07_polluted_prototypes_do_not_reach_the_encoder() {
    case(&[JAVASCRIPT], || {
        let plain = json!({"type": "array", "is_list": false, "count": 1, "value": {"a": {"type": "int", "value": 1}}});
        for code in [
            "Object.prototype.evil = 1; ({ a: 1 })",
            "Object.prototype.toJSON = () => 666; ({ a: 1 })",
            "Object.defineProperty(Object.prototype, 'b', { get() { throw 1 }, enumerable: true }); ({ a: 1 })",
            "({ a: 1, __proto__: null })",
            "Function('return this')().Object = null; ({ a: 1 })",
            "Symbol.toStringTag; Object.prototype[Symbol.toStringTag] = 'Evil'; ({ a: 1 })",
        ] {
            assert_eq!(value(&sandbox::eval(JAVASCRIPT, code)), plain, "{code}");
        }
        let json = value(&sandbox::eval(JAVASCRIPT, "({ a: 1, toJSON() { return 666 } })"));
        assert_eq!(json["value"]["a"], json!({"type": "int", "value": 1}), "toJSON has no say: {json}");
    });
}

#[test]
fn esc_08_only_what_was_granted_is_seen_of_the_surroundings() {
    case(&[JAVASCRIPT], || {
        let code = "[{ ...process.env }, process.argv, process.cwd(), Object.keys(globalThis), new Error().stack, new Date().getTimezoneOffset()]";
        let outcome = sandbox::eval(JAVASCRIPT, code);
        nothing_of_the_host(&answer(&outcome).to_string());
        // The home is the guest's own.
        let home = json!({"type": "string", "value": "/tmp"});
        assert_eq!(value(&outcome)["value"][0]["value"], json!({"HOME": home}), "no variable was granted");
        let granted = sandbox::snippet(JAVASCRIPT, "({ ...process.env })").env("ONLY", "this");
        let value = value(&sandbox::run(granted));
        assert_eq!(value["value"], json!({"HOME": home, "ONLY": {"type": "string", "value": "this"}}));
    });
}
