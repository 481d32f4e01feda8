//! JavaScript: the modules of Node.js and the interfaces of the web that packages take for granted.

use std::fs;

use dormouse::Access;
use dormouse_tests::ending::{assert_ends, exception, value};
use dormouse_tests::{JAVASCRIPT, sandbox};
use serde_json::json;

const SNIPPETS: &str = include_str!("javascript_node.txt");

/// Each line of a part is true.
fn all_true(part: &str) {
    all_true_of(SNIPPETS, part);
}

/// The same of a part of other snippets.
pub(super) fn all_true_of(snippets: &str, part: &str) {
    let heading = format!("// {part}");
    let lines = snippets.lines().skip_while(|line| **line != *heading).skip(1);
    let lines: Vec<&str> =
        lines.take_while(|line| !line.starts_with("// ")).filter(|line| !line.is_empty()).collect();
    assert!(!lines.is_empty(), "{part}");
    for code in lines {
        assert_eq!(sandbox::value_of(JAVASCRIPT, code)["value"], json!(true), "{code}");
    }
}

#[test]
fn buffers_hold_bytes_and_text_in_all_encodings() {
    all_true("buffer");
}

#[test]
fn names_queries_addresses_and_the_machine() {
    all_true("names");
}

#[test]
fn util_is_whole() {
    all_true("util");
}

#[test]
fn emitters_with_their_promises_and_iterators() {
    all_true("events");
}

#[test]
fn streams_of_node_and_of_the_web() {
    all_true("stream");
}

#[test]
fn zlib_at_once_and_as_streams() {
    all_true("zlib");
}

#[test]
fn digests_keys_and_ciphers() {
    all_true("crypto");
}

#[test]
fn keys_in_pairs() {
    all_true("keys");
}

#[test]
fn keys_and_signatures_of_node_are_right_here() {
    let made = include_str!("javascript_keys/made_by_node.json");
    let check = include_str!("javascript_keys/check.js");
    let answer = sandbox::value_of(JAVASCRIPT, &format!("const made = {made};\n{check}"));
    assert_eq!(answer["value"][0]["value"], json!(264), "{answer}");
    assert_eq!(answer["value"][1]["count"], json!(0), "{answer}");
}

#[test]
fn lng_35_keys_that_are_none_are_errors() {
    all_true("hostile keys");
}

#[test]
fn contexts_channels_modules_and_values_as_bytes() {
    all_true("contexts");
}

#[test]
fn timers_are_objects_and_process_is_nodes() {
    all_true("process");
}

#[test]
fn the_common_interfaces_of_the_web() {
    all_true("web");
}

#[test]
fn modules_of_the_network_import() {
    all_true("network");
}

#[test]
fn files_as_streams_with_times_and_real_paths() {
    all_true("files");
}

/// What a snippet calls by the name of a built-in is its own; lines of files, digests of streams, contexts that go on.
#[test]
fn programs_as_people_write_them() {
    all_true("driven");
}

/// A snippet's exception: its class and its message.
fn raised(code: &str) -> [String; 2] {
    let outcome = sandbox::eval(JAVASCRIPT, code);
    let exception = exception(&outcome);
    [exception.class.clone(), exception.message.clone()]
}

#[test]
fn stacks_of_errors_begin_with_what_went_wrong() {
    all_true("errors");
}

#[test]
fn what_is_put_off_comes_before_promises() {
    all_true("order");
}

#[test]
fn emitters_are_made_as_those_of_node() {
    all_true("emitters");
}

#[test]
fn devices_can_be_opened() {
    all_true("devices");
}

#[test]
fn scripts_of_vm_end_when_their_time_is_over() {
    all_true("time of scripts");
}

#[test]
fn what_programs_found_by_use() {
    all_true("found by use");
}

#[test]
fn memory_is_shared_within_one_thread() {
    all_true("shared memory");
}

#[test]
fn json_of_any_depth_is_a_value_or_an_error() {
    all_true("deep json");
}

#[test]
fn modules_and_answers_of_data_urls() {
    all_true("data urls");
    let refused = sandbox::snippet(JAVASCRIPT, "await import('data:text/javascript,1')").allow_eval(false);
    assert_eq!(exception(&sandbox::run(refused)).class, "EvalError");
}

#[test]
fn standard_streams_are_streams() {
    all_true("standard streams");
}

#[test]
fn what_inspect_shows_of_keys_and_globals() {
    all_true("inspect");
}

#[test]
fn hooks_hear_of_promises_timers_and_ticks() {
    all_true("hooks");
}

#[test]
fn certificates_are_read() {
    all_true("certificates");
}

/// A snippet that ends with a call which was made for what it does has no value.
#[test]
fn listening_is_no_value() {
    for code in [
        "process.on('exit', () => { ':)' })",
        "const { Readable } = require('stream'); Readable.from([]).on('data', () => {}).once('end', () => {});",
        "setTimeout(() => process.on('exit', () => {}), 1)",
    ] {
        assert_eq!(sandbox::value_of(JAVASCRIPT, code)["type"], json!("null"), "{code}");
    }
    let emitter =
        "class F extends require('events') { constructor() { super(); this.on('x', () => {}); } } new F()";
    assert_eq!(sandbox::value_of(JAVASCRIPT, emitter)["class"], json!("F"), "{emitter}");
}

#[test]
fn a_snippet_is_the_main_module() {
    all_true("main module");
}

#[test]
fn a_run_tells_the_listeners_of_process_of_its_end() {
    for (code, output) in [
        ("process.on('exit', (code) => console.log('end', code)); console.log('first')", "first\nend 0\n"),
        ("process.on('exit', (code) => console.log('end', code)); process.exit(3)", "end 3\n"),
        ("process.on('exit', () => { process.exitCode = 4; }); 1", ""),
        ("process.on('exit', (code) => console.log('end', code)); null.x", "end 1\n"),
        (
            "process.once('beforeExit', () => setTimeout(() => console.log('more'), 1)); process.on('exit', () => console.log('end'))",
            "more\nend\n",
        ),
        (
            "process.on('uncaughtException', (e, from) => console.log(e.message, from)); setTimeout(() => { throw new Error('late'); }, 1); setTimeout(() => console.log('goes on'), 2)",
            "late uncaughtException\ngoes on\n",
        ),
        (
            "process.on('unhandledRejection', (why, promise) => console.log(why, promise instanceof Promise)); Promise.reject(7); setTimeout(() => console.log('goes on'), 1)",
            "7 true\ngoes on\n",
        ),
        (
            "process.on('uncaughtException', (e) => console.log('caught', e.message)); Promise.reject(new Error('r')); process.nextTick(() => { throw new Error('t'); }); throw new Error('s')",
            "caught s\ncaught t\ncaught r\n",
        ),
        (
            "process.on('unhandledRejection', () => console.log('told')); process.on('rejectionHandled', (promise) => console.log(promise instanceof Promise)); const p = Promise.reject(1); setTimeout(() => p.catch(() => {}), 1);",
            "told\ntrue\n",
        ),
        (
            "process.on('uncaughtExceptionMonitor', (e, from) => console.log(e.message, from)); process.setUncaughtExceptionCaptureCallback((e) => console.log('captured', e.message)); Promise.reject(new Error('r')); setTimeout(() => { throw new Error('t'); }, 1)",
            "r unhandledRejection\ncaptured r\nt uncaughtException\ncaptured t\n",
        ),
        (
            "process.on('exit', () => { queueMicrotask(() => console.log('job')); process.nextTick(() => console.log('tick')); setTimeout(() => console.log('timer')); })",
            "job\n",
        ),
    ] {
        assert_eq!(sandbox::eval(JAVASCRIPT, code).stdout.text, output, "{code}");
    }
    let raised = |code| raised(code)[1].clone();
    assert_eq!(raised("process.on('exit', () => { throw new Error('from exit'); })"), "from exit");
    assert_eq!(
        raised("process.on('uncaughtException', () => { throw new Error('again'); }); null.x"),
        "again"
    );
    assert_eq!(
        raised(
            "process.on('uncaughtException', () => {}); process.removeAllListeners(); throw new Error('alone')"
        ),
        "alone"
    );
}

#[test]
fn what_is_not_there_says_so_where_it_is_used() {
    let network = "this sandbox has no network: the operator grants one (--allow-net HOST, --network FILE), and a sandbox (`network`) or a call (`allow_network`) asks for it";
    for code in [
        "await fetch('http://a').catch(({ cause }) => { throw cause })",
        "await new Promise((_, reject) => require('net').connect(1).on('error', reject))",
        "await new Promise((_, reject) => require('http').get('http://a').on('error', reject))",
    ] {
        assert_eq!(raised(code)[1], network, "{code}");
    }
    for (code, message) in [
        (
            "require('child_process').execSync('ls')",
            "no processes in this sandbox: child_process.execSync cannot start a program",
        ),
        (
            "new (require('worker_threads').Worker)('x')",
            "no threads in this sandbox: a Worker cannot be started",
        ),
        ("require('fs').watch('/tmp')", "files cannot be watched in this sandbox"),
    ] {
        assert_eq!(raised(code)[1], message, "{code}");
    }
}

#[test]
fn a_module_of_either_kind_takes_one_of_the_other() {
    let folder = tempfile::tempdir().unwrap();
    let package = folder.path().join("node_modules/both");
    fs::create_dir_all(&package).unwrap();
    for (file, text) in [
        ("package.json", r#"{"name": "both", "exports": {"node": "./node.mjs", "default": "./other.js"}}"#),
        (
            "node.mjs",
            "import old from './old.cjs'; import { named } from './old.cjs'; export const all = [old.named, named]; export default 7;",
        ),
        ("old.cjs", "exports.named = 'n'; exports.meta = typeof require('./late.mjs').where;"),
        ("late.mjs", "export const where = import.meta.resolve('./old.cjs');"),
        ("waits.mjs", "await null; export const a = 1;"),
        ("other.js", "throw new Error('the wrong condition')"),
    ] {
        fs::write(package.join(file), text).unwrap();
    }
    let ran = |code: &str| {
        sandbox::run(sandbox::snippet(JAVASCRIPT, code).mount(folder.path(), "/app", Access::ReadOnly))
    };
    let text = |code: &str| value(&ran(code))["value"].clone();
    let here = "const here = require('module').createRequire('/app/x.js'); ";
    assert_eq!(text(&format!("{here}const m = here('both'); [...m.all, m.default].join()")), json!("n,n,7"));
    assert_eq!(text(&format!("{here}here('./node_modules/both/old.cjs').meta")), json!("string"));
    assert_eq!(
        text(&format!("{here}here('./node_modules/both/late.mjs').where")),
        json!("file:///app/node_modules/both/old.cjs")
    );
    let refused = ran(&format!("{here}here('./node_modules/both/waits.mjs')"));
    assert!(exception(&refused).message.contains("use import() instead"), "{refused:?}");
}

/// LNG-11: what would fill the memory, or read what it may not, is an error of the language.
#[test]
fn lng_11_hostile_uses_of_the_modules_end_as_errors() {
    for (code, class) in [
        ("Buffer.alloc(2 ** 32)", "RangeError"),
        ("Buffer.alloc(8).readUInt32LE(6)", "RangeError"),
        ("Buffer.from(new ArrayBuffer(4), 5)", "RangeError"),
        (
            "require('zlib').inflateSync(require('zlib').deflateSync(Buffer.alloc(4e6)), { maxOutputLength: 1e6 })",
            "RangeError",
        ),
        ("require('zlib').createGzip({ windowBits: 99 })", "RangeError"),
        ("require('crypto').scryptSync('a', 'b', 32, { N: 2 ** 24 })", "RangeError"),
        ("require('crypto').pbkdf2Sync('a', 'b', -1, 32, 'sha1')", "RangeError"),
        ("require('crypto').createCipheriv('aes-256-cbc', Buffer.alloc(31), Buffer.alloc(16))", "RangeError"),
        ("require('crypto').randomBytes(2 ** 31)", "RangeError"),
        ("require('vm').runInNewContext('f()', { f() { throw new TypeError('mine') } })", "TypeError"),
    ] {
        assert_eq!(raised(code)[0], class, "{code}");
    }
}

/// LNG-12: a bomb, and a key that takes for ever to derive, end at the run's limits.
#[test]
fn lng_12_bombs_end_at_the_limits() {
    let bomb = "const z = require('zlib'); let all = Buffer.alloc(1 << 20); const small = z.gzipSync(Buffer.alloc(64 << 20)); \
                const kept = []; for (;;) kept.push(z.gunzipSync(small))";
    assert_ends(
        &sandbox::eval(JAVASCRIPT, bomb),
        &["limit_memory", "raised InternalError", "raised RangeError"],
    );
    // In a stream nothing more is unpacked than its reader takes.
    let stream = "const z = require('zlib'); const { constants: c } = z; const zeros = Buffer.alloc(64 << 20); let seen = 0; \
                  for (const [small, unpack] of [[z.gzipSync(zeros), z.createGunzip()], [z.zstdCompressSync(zeros), z.createZstdDecompress()], \
                  [z.brotliCompressSync(zeros, { params: { [c.BROTLI_PARAM_QUALITY]: 1 } }), z.createBrotliDecompress()]]) { \
                  unpack.end(small); for await (const piece of unpack) { seen += piece.length; break; } } seen > 0 && seen < 1 << 20";
    assert_eq!(sandbox::value_of(JAVASCRIPT, stream)["value"], json!(true));
    let endless = "require('crypto').pbkdf2Sync('a', 'b', 2 ** 31 - 1, 64, 'sha512')";
    assert_ends(&sandbox::eval(JAVASCRIPT, endless), &["limit_time"]);
}

/// LNG-13: a context of `vm` has nothing of ours, and makes no code where a snippet may not.
#[test]
fn lng_13_a_context_of_vm_reaches_no_driver() {
    let names = "require('vm').runInNewContext('[typeof process, typeof require, typeof native, typeof shared, typeof callTool].join()')";
    assert_eq!(sandbox::value_of(JAVASCRIPT, names)["value"], ["undefined"; 5].join(","));
    let code = "require('vm').runInThisContext('1')";
    let refused = sandbox::run(sandbox::snippet(JAVASCRIPT, code).allow_eval(false));
    assert_eq!(exception(&refused).class, "EvalError");
}
