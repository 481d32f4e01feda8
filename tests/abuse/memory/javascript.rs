//! Memory, in JavaScript.

use super::*;

const NO_MEMORY: [&str; 4] =
    ["raised RangeError", "raised InternalError", "raised TypeError", "limit_memory"];

#[test]
fn mem_01_a_huge_allocation_is_refused() {
    case(&[JAVASCRIPT], || {
        bounded(
            &Attack::new(JAVASCRIPT).wall(20_000).ends(&NO_MEMORY),
            128,
            &[
                "'x'.repeat(2 ** 29)",
                "'x'.repeat(2 ** 31)",
                "new ArrayBuffer(2 ** 32)",
                "new Uint8Array(300 << 20)",
                "new Float64Array(2 ** 53)",
                "new Array(2 ** 32)",
                "Array(1e8).join('abcdefgh')",
                "'x'.padEnd(2 ** 30)",
                "new ArrayBuffer(8, { maxByteLength: 2 ** 33 }).resize(2 ** 33)",
                "2n ** (2n ** 40n)",
                "JSON.stringify(Array(1e7).fill('x'.repeat(1000)))",
            ],
        );
    });
}

#[test]
fn mem_02_slow_growth_ends_with_a_named_outcome() {
    case(&[JAVASCRIPT], || {
        let outcomes = Attack::new(JAVASCRIPT).wall(30_000).ends(&NO_MEMORY).run(&[
            "const l = []; for(;;) l.push('x'.repeat(1024) + l.length)",
            "const m = new Map(); for(;;) m.set(m.size, {})",
            "let s = 'x'; for(;;) s += s + 'y'",
            "const l = []; for(;;) l.push(new Uint8Array(1 << 16).fill(1))",
            "const l = []; (function f() { l.push(Promise.resolve(new Array(1000).fill(1))); queueMicrotask(f) })()",
        ]);
        let most = outcomes.iter().map(|outcome| outcome.usage.memory_peak).max();
        assert!(most > Some(96 * MIB), "nothing grew: {most:?}");
    });
}

#[test]
fn mem_02_an_exhausted_guest_that_goes_on_still_ends() {
    case(&[JAVASCRIPT], || {
        let attack = Attack::new(JAVASCRIPT).wall(2_000).ends(&NO_MEMORY).ends(&["limit_time"]);
        attack.run(&[
            "const l = []; for(;;) { try { for(;;) l.push(new Uint8Array(4096).fill(1)) } catch {} }",
        ]);
    });
}

#[test]
fn mem_02_the_smallest_limit_is_enough_to_start() {
    case(&[JAVASCRIPT], || {
        Attack::new(JAVASCRIPT).memory(24).ends(&["returned"]).run(&["[1, 2, 3].map(x => x * 2)"]);
    });
}

#[test]
fn mem_03_deep_recursion_is_an_exception_or_the_stack_limit() {
    case(&[JAVASCRIPT], || {
        let errors = [
            "raised RangeError",
            "raised InternalError",
            "raised SyntaxError",
            "limit_stack",
            "limit_memory",
        ];
        Attack::new(JAVASCRIPT).wall(30_000).ends(&errors).run(&[
            "(function f() { return f() + 1 })()",
            "(function f() { return [1].map(f) })()",
            "JSON.parse('['.repeat(1e5))",
            "let l = []; for (let i = 0; i < 1e5; i++) l = [l]; String(l)",
            "let l = []; for (let i = 0; i < 1e5; i++) l = [l]; structuredClone(l)",
            "new RegExp('('.repeat(1e6) + ')'.repeat(1e6))",
            "const p = new Proxy({}, { get: (t, k, r) => r[k] }); p.x",
            "const o = { toString() { return `${this}` } }; `${o}`",
            "class A { get x() { return this.x } } new A().x",
            "let g = {}; for (let i = 0; i < 1e6; i++) g = new Proxy(g, {}); g.x",
        ]);
    });
}

#[test]
fn mem_03_deep_data_costs_the_guests_own_time() {
    case(&[JAVASCRIPT], || {
        // The engine looks for cycles at every level, so the time grows with the square of the depth.
        Attack::new(JAVASCRIPT)
            .wall(2_000)
            .ends(&["raised RangeError", "limit_time", "limit_stack"])
            .run(&["let l = []; for (let i = 0; i < 1e5; i++) l = [l]; JSON.stringify(l)"]);
    });
}

#[test]
fn mem_03_a_deeply_nested_value_is_cut_and_freed() {
    case(&[JAVASCRIPT], || {
        for code in [
            "let l = []; for (let i = 0; i < 1e5; i++) l = [l]; l",
            "let o = {}; for (let i = 0; i < 1e5; i++) o = { o }; o",
            "let m = new Map(); for (let i = 0; i < 1e5; i++) m = new Map([[1, m]]); m",
        ] {
            assert_eq!(value(&sandbox::eval(JAVASCRIPT, code))["type"], "array");
        }
    });
}

#[test]
fn mem_04_files_and_timers_are_bounded_for_the_guest_and_the_host() {
    case(&[JAVASCRIPT], || {
        let (before, watch) = (Levels::now(), Watch::begin());
        Attack::new(JAVASCRIPT).wall(30_000).files(2_000).ends(&["raised Error"]).run(&[
            "const fs = require('fs'); for (let i = 0; ; i++) fs.writeFileSync(`/tmp/${i}`, '')",
            "const fs = require('fs'); for (let i = 0; ; i++) fs.mkdirSync(`/tmp/${i}`)",
        ]);
        Attack::new(JAVASCRIPT).wall(1_000).ends(&NO_MEMORY).ends(&["limit_time"]).run(&[
            "for(;;) setTimeout(() => 0, 1e6)",
            "const keep = []; for(;;) keep.push(new Promise(() => {}))",
        ]);
        let peak = watch.end();
        assert!(peak.descriptors < before.descriptors + 64, "before {before:?}, at the peak {peak:?}");
    });
}

#[test]
fn mem_05_huge_host_calls_cost_the_host_no_more_than_its_caps() {
    case(&[JAVASCRIPT], || {
        let told = ["raised", "limit_memory", "limit_host"];
        bounded(
            &Attack::new(JAVASCRIPT).wall(20_000).ends(&told),
            128,
            &[
                "crypto.getRandomValues(new Uint8Array(1 << 26))",
                "await callTool('x', { a: 'x'.repeat(30 << 20) })",
                "await callTool('x'.repeat(30 << 20), {})",
                "require('fs').writeFileSync('/tmp/' + 'x'.repeat(30 << 20), '')",
            ],
        );
        bounded(
            &Attack::new(JAVASCRIPT).wall(30_000).memory(512).ends(&["returned"]),
            512,
            &[
                "for (let i = 0; i < 1000; i++) crypto.getRandomValues(new Uint8Array(65536)); 1",
                "process.stdout.write('x'.repeat(100 << 20)); 1",
                "for (let i = 0; i < 20000; i++) require('fs').statSync('/tmp'); 1",
            ],
        );
    });
}
