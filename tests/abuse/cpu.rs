//! CPU: whatever computes or waits for ever ends at its limit.

use std::time::Duration;

use dormouse::Callback;
use dormouse_tests::attack::Attack;
use dormouse_tests::case::case;
use dormouse_tests::levels::Levels;
use dormouse_tests::{JAVASCRIPT, PHP, PYTHON, sandbox};
use serde_json::{Value as Json, json};

/// Short enough to wait for, long enough to be in the middle of the work.
const WALL: u64 = 300;

fn times_out(language: &'static str) -> Attack {
    Attack::new(language).wall(WALL).memory(512).ends(&["limit_time"])
}

/// A host function that never answers.
fn waits_for_a_tool(language: &'static str, code: &str) {
    let mut request = times_out(language).request(code);
    let never = |_: Json| std::future::pending::<Result<Json, String>>();
    request
        .context
        .callbacks
        .insert("never", Callback::new("Never answers.", json!({"type": "object"}), never))
        .unwrap();
    times_out(language).run_requests(vec![request]);
}

/// Ten thousand runs, of which the last nine thousand must not make the process grow.
fn quick_calls(language: &'static str) {
    let run = |count: i64| {
        for number in 0..count {
            let outcome = sandbox::eval(language, &format!("{number} + 1"));
            assert_eq!(outcome.value().and_then(|value| value.as_i64()), Some(number + 1));
        }
    };
    run(1_000);
    let before = Levels::now();
    run(9_000);
    let slack = Levels { memory: 16 << 10, descriptors: 8, threads: 4 };
    before.wait_until_back("self", &slack, Duration::from_secs(10));
}

mod php;
mod typescript;

mod python {
    use super::*;

    #[test]
    fn cpu_01_an_endless_loop_ends_at_its_limit() {
        case(&[PYTHON], || {
            times_out(PYTHON).run(&[
                "while True: pass",
                "for _ in iter(int, 1): pass",
                "exec('while True: pass')",
            ]);
            let outcomes = Attack::new(PYTHON)
                .wall(30_000)
                .fuel(200_000_000)
                .ends(&["limit_fuel"])
                .run(&["while True: pass"]);
            assert!(
                outcomes[0].usage.fuel.is_some_and(|fuel| fuel > 150_000_000),
                "the fuel was used: {outcomes:?}"
            );
        });
    }

    #[test]
    fn cpu_02_a_long_native_call_ends_at_its_limit() {
        case(&[PYTHON], || {
            times_out(PYTHON).run(&[
                "9**9**9",
                "import re; re.match('(a+)+$', 'a' * 60 + 'b')",
                "import random; l = [random.random() for _ in range(10**6)]\nwhile True: random.shuffle(l) or l.sort()",
                "sum(range(10**15))",
                "import itertools; any(itertools.repeat(0))",
                "import collections, itertools; collections.deque(itertools.repeat(0), maxlen=0)",
                "import hashlib; b = bytes(10**7)\nwhile True: hashlib.sha256(b)",
                "import math; math.factorial(10**7)",
                "import decimal; decimal.getcontext().prec = 10**6; decimal.Decimal(2).sqrt().exp()",
                "import zlib; b = bytes(10**7)\nwhile True: zlib.compress(b, 9)",
                "import sqlite3; sqlite3.connect(':memory:').execute(\
                 'with recursive c(x) as (select 1 union all select x from c) select count(*) from c').fetchall()",
            ]);
        });
    }

    #[test]
    fn cpu_03_sleeping_ends_at_the_limit_and_costs_no_fuel() {
        case(&[PYTHON], || {
            times_out(PYTHON).run(&[
                "import time; time.sleep(1e6)",
                "import asyncio; asyncio.run(asyncio.sleep(1e6))",
                "import select; select.select([], [], [], 1e6)",
            ]);
            let asleep = times_out(PYTHON).fuel(10_000_000_000).run(&["import time; time.sleep(1e6)"]);
            assert!(asleep[0].usage.fuel.is_some_and(|fuel| fuel < 500_000_000), "{:?}", asleep[0].usage);
            waits_for_a_tool(PYTHON, "call_tool('never')");
        });
    }

    #[test]
    fn cpu_04_the_limit_cannot_be_caught() {
        case(&[PYTHON], || {
            times_out(PYTHON).run(&[
                "while True:\n try:\n  while True: pass\n except BaseException: pass",
                "while True:\n try:\n  import time; time.sleep(1e6)\n except BaseException: pass",
                "try:\n while True: pass\nfinally:\n print('caught')",
                "class C:\n def __exit__(self, *a): return True\n def __enter__(self): pass\n\
                 while True:\n with C():\n  while True: pass",
            ]);
        });
    }

    #[test]
    fn cpu_05_code_at_the_end_counts_in_the_same_deadline() {
        case(&[PYTHON], || {
            times_out(PYTHON).run(&[
                "try:\n raise ValueError\nfinally:\n while True: pass",
                "class A:\n def __del__(self):\n  while True: pass\na = A(); del a",
                "import sys\ntry:\n sys.exit()\nfinally:\n while True: pass",
                "def g():\n try:\n  yield\n finally:\n  while True: pass\nx = g(); next(x); x.close()",
                "import weakref\nclass A: pass\na = A()\ndef f(_):\n while True: pass\nr = weakref.ref(a, f); del a",
            ]);
            // Whether a fresh run calls these at its end is the language's affair; it must end in time all the same.
            Attack::new(PYTHON).wall(WALL).ends(&["limit_time", "returned", "exited 0"]).run(&[
                "import atexit\ndef f():\n while True: pass\natexit.register(f)\n1",
                "import atexit, sys\ndef f():\n while True: pass\natexit.register(f)\nsys.exit(0)",
                "class A:\n def __del__(self):\n  while True: pass\na = A()\n1",
            ]);
        });
    }

    #[test]
    fn cpu_06_many_quick_calls_leave_nothing() {
        case(&[PYTHON], || quick_calls(PYTHON));
    }
}

mod javascript {
    use super::*;

    #[test]
    fn cpu_01_an_endless_loop_ends_at_its_limit() {
        case(&[JAVASCRIPT], || {
            times_out(JAVASCRIPT).run(&[
                "for(;;);",
                "while (1) {}",
                "do ; while (true)",
                "(function next() { Promise.resolve().then(next) })(); await new Promise(() => {})",
                "(function next() { setTimeout(next, 0) })()",
                "setInterval(() => {}, 1)",
                "export default 1; for(;;);",
            ]);
            times_out("typescript").run(&["const forever: boolean = true; while (forever) {}"]);
            let outcomes = Attack::new(JAVASCRIPT)
                .wall(30_000)
                .fuel(200_000_000)
                .ends(&["limit_fuel"])
                .run(&["for(;;);"]);
            assert!(
                outcomes[0].usage.fuel.is_some_and(|fuel| fuel > 150_000_000),
                "the fuel was used: {outcomes:?}"
            );
        });
    }

    #[test]
    fn cpu_02_a_long_native_call_ends_at_its_limit() {
        case(&[JAVASCRIPT], || {
            times_out(JAVASCRIPT).run(&[
                "/(a+)+$/.test('a'.repeat(60) + 'b')",
                "const x = 3n ** 300000n; for(;;) x * x",
                "Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1)",
                "const a = Array.from({ length: 1e6 }, Math.random); for(;;) a.sort((x, y) => Math.random() - 0.5)",
                "const s = 'ab'.repeat(1e6); for(;;) s.replaceAll('a', 'c')",
                "for(;;) JSON.parse(JSON.stringify(Array(1e5).fill({ a: 1 })))",
                "(10n ** 200000n).toString(7) + (7n ** 3000000n).toString()",
            ]);
        });
    }

    #[test]
    fn cpu_03_sleeping_ends_at_the_limit_and_costs_no_fuel() {
        case(&[JAVASCRIPT], || {
            let sleep = "await new Promise(done => setTimeout(done, 2 ** 30))";
            times_out(JAVASCRIPT).run(&[sleep, "setTimeout(() => 0, 2 ** 30); 1"]);
            let asleep = times_out(JAVASCRIPT).fuel(10_000_000_000).run(&[sleep]);
            assert!(asleep[0].usage.fuel.is_some_and(|fuel| fuel < 500_000_000), "{:?}", asleep[0].usage);
            waits_for_a_tool(JAVASCRIPT, "await callTool('never', {})");
        });
    }

    #[test]
    fn cpu_04_the_limit_cannot_be_caught() {
        case(&[JAVASCRIPT], || {
            times_out(JAVASCRIPT).run(&[
                "for(;;) { try { for(;;); } catch {} finally { continue } }",
                "try { for(;;); } finally { console.log('caught') }",
                "Promise.resolve().then(() => { for(;;); }).catch(() => { for(;;); })",
                "process.on?.('exit', () => { for(;;); }); for(;;);",
            ]);
        });
    }

    #[test]
    fn cpu_05_code_at_the_end_counts_in_the_same_deadline() {
        case(&[JAVASCRIPT], || {
            times_out(JAVASCRIPT).run(&[
                "try { throw 1 } finally { for(;;); }",
                "function* g() { try { yield } finally { for(;;); } } const i = g(); i.next(); i.return()",
                "queueMicrotask(() => { for(;;); }); 1",
                "setTimeout(() => { for(;;); }, 1); 1",
            ]);
            Attack::new(JAVASCRIPT)
                .wall(WALL)
                .ends(&["limit_time", "returned"])
                .run(&["new FinalizationRegistry(() => { for(;;); }).register({}, 1); 1"]);
        });
    }

    #[test]
    fn cpu_06_many_quick_calls_leave_nothing() {
        case(&[JAVASCRIPT], || quick_calls(JAVASCRIPT));
    }
}
