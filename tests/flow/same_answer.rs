//! One request, three front doors, one answer: byte for byte, but for times and sizes.

use dormouse_tests::ending::answer;
use dormouse_tests::golden::steady;
use dormouse_tests::wire::Wire;
use dormouse_tests::{JAVASCRIPT, PYTHON, binary, sandbox};
use serde_json::{Value as Json, json};

const SCRIPT: [(&str, &str); 22] = [
    (PYTHON, "1 + 1"),
    (
        PYTHON,
        "print('out'); import sys; print('err', file=sys.stderr); {'a': [1, (2, None)], 'b': 'ü\\n\\0'}",
    ),
    (PYTHON, "[float('nan'), -0.0, 1e300, 10**30, b'\\xff', range(3), {1, 2} and 0]"),
    (PYTHON, "class A:\n def __init__(self): self.me = self\nA()"),
    (PYTHON, "try:\n 1 / 0\nexcept Exception as e:\n raise ValueError('outer') from e"),
    (PYTHON, "x = = 1"),
    (PYTHON, "import sys; print('leaving'); sys.exit(3)"),
    (PYTHON, "print('x' * 20_000)"),
    (PYTHON, "'é' * 20_000"),
    (PYTHON, "list(range(60))"),
    (PYTHON, "bytearray(1 << 40)"),
    (PYTHON, "print('kept'); open('/tmp/x', 'w').write('x')\nwhile True: pass"),
    (JAVASCRIPT, "1 + 1"),
    (
        JAVASCRIPT,
        "console.log('out'); console.error('err'); ({ a: [1, undefined], b: 'ü\\n\\0', c: new Map([[1, 2]]) })",
    ),
    (JAVASCRIPT, "[NaN, -0, 1e300, 10n ** 30n, new Uint8Array([255]), new Set([1])]"),
    (JAVASCRIPT, "throw new Error('a', { cause: new TypeError('b') })"),
    (JAVASCRIPT, "let x = = 1"),
    (JAVASCRIPT, "process.exit(3)"),
    (JAVASCRIPT, "(function* () { for (let i = 0; ; i++) yield i })()"),
    (JAVASCRIPT, "console.log('kept'); for(;;);"),
    ("typescript", "const x: number = 41; x + 1"),
    ("typescript", "const x: = 1"),
];

/// Short, so that the loops in the script end soon.
const WALL: u64 = 400;

#[test]
fn the_crate_the_command_line_and_mcp_give_the_same_answer() {
    let mut wire = Wire::greeted(&[]);
    for (number, (language, code)) in (1..).zip(SCRIPT) {
        let wall = std::time::Duration::from_millis(WALL);
        let embedded = sandbox::run(sandbox::snippet(language, code).timeout(wall));
        let wanted = steady(answer(&embedded)).to_string();

        let timeout = format!("{WALL}ms");
        let ran =
            binary::dormouse(&["eval", "--json", "-l", language, "--timeout", &timeout, "--", code], b"");
        let line = ran.text();
        assert_eq!(line.lines().count(), 1, "{code}: {line}{}", ran.complaint());
        let told: Json = serde_json::from_str(&line).unwrap();
        assert_eq!(steady(told).to_string(), wanted, "command line: {code}");
        assert_eq!(ran.status, Some(embedded.exit_code()), "{code}");

        let called = wire.call(
            number,
            "sandbox_eval",
            json!({"code": code, "language": language, "timeout_ms": WALL}),
        );
        assert_eq!(steady(called["structuredContent"].clone()).to_string(), wanted, "MCP: {code}");
        assert_eq!(called["isError"] == true, embedded.stopped().is_some(), "{code}");
    }
    assert_eq!(wire.end(std::time::Duration::from_secs(10)).status, Some(0));
}

#[test]
fn a_seed_gives_the_same_answer_at_every_door() {
    let mut wire = Wire::greeted(&[]);
    for (id, (language, code)) in
        (1..).zip([(PYTHON, "import random; random.random()"), (JAVASCRIPT, "Math.random()")])
    {
        let embedded = sandbox::run(sandbox::snippet(language, code).seed(7));
        let wanted = answer(&embedded)["result"]["value"].clone();
        let ran = binary::dormouse(&["eval", "--json", "-l", language, "--seed", "7", code], b"");
        let told: Json = serde_json::from_slice(&ran.stdout).unwrap();
        let called = wire.call(id, "sandbox_eval", json!({"code": code, "language": language, "seed": 7}));
        assert_eq!(told["result"]["value"], wanted, "{language}");
        assert_eq!(called["structuredContent"]["result"]["value"], wanted, "{language}");
    }
}
