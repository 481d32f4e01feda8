//! Programs under their limits.

use super::*;

#[test]
fn cmp_03_loops_end_at_the_limit_wherever_they_stand() {
    case(&[], || {
        for text in [
            module("", "(loop (br 0))"),
            module("(func $f (loop (br 0))) (start $f)", ""),
            module("(func $f)", "(loop (call $f) (br 0))"),
        ] {
            assert_ends(&ran(&text), &["limit_time"]);
        }
        assert_ends(&ran(&module("(func $f (call $f))", "(call $f)")), &["limit_stack"]);
        assert_ends(&ran(&module("", "unreachable")), &["guest_trap"]);
        assert_ends(&ran(&module("(func $f unreachable) (start $f)", "")), &["guest_trap"]);
        assert_ends(&ran(&module("", "(call $exit (i32.const 1))")), &["exited 1"]);
    });
}

#[test]
fn cmp_03_and_cpu_02_one_instruction_over_all_memory_ends_at_the_limit() {
    case(&[], || {
        // 480 MiB of new pages take far more than the limit.
        for instruction in [
            "(memory.fill (i32.const 0) (i32.const 1) (i32.const 0x1e000000))",
            "(memory.copy (i32.const 0) (i32.const 0x0f000000) (i32.const 0x0f000000))",
            "(memory.copy (i32.const 0x0f000000) (i32.const 0) (i32.const 0x0f000000))",
        ] {
            let mut request = program(wasm(&module(r#"(memory (export "memory") 7680)"#, instruction)));
            (request.limits.memory, request.limits.wall) = (512 << 20, Duration::from_millis(20));
            assert_ends(&run_command(request).expect("it runs"), &["limit_time"]);
        }
    });
}

#[test]
fn cmp_03_fuel_ends_a_program_too() {
    case(&[], || {
        let mut request = program(wasm(&module("", "(loop (br 0))")));
        request.limits.wall = Duration::from_secs(30);
        request.limits.fuel = Some(1_000_000);
        assert_ends(&run_command(request).expect("it runs"), &["limit_fuel"]);
    });
}

#[test]
fn cmp_04_growth_is_refused_and_all_memories_count_together() {
    case(&[], || {
        // Grows until it is refused, then says with its status whether it got more than 2 000 pages (125 MiB).
        let grow = "(loop (br_if 0 (i32.ne (memory.grow (i32.const 16)) (i32.const -1))))
                    (call $exit (i32.gt_u (memory.size) (i32.const 2048)))";
        let outcome = ran(&module("", grow));
        assert_ends(&outcome, &["exited 0", "exited 1"]);
        assert!(outcome.usage.memory_peak > 100 << 20, "it grew to {}", outcome.usage.memory_peak);

        let ends = ["limit_memory", "guest_trap", "exited 0"];
        let huge = module(r#"(memory (export "memory") 4000)"#, "");
        assert_ends(&ran(&huge), &["limit_memory"]);
        let table =
            module("(table $t 1 funcref)", "(drop (table.grow $t (ref.null func) (i32.const 0x7fffffff)))");
        assert_ends(&ran(&table), &ends);

        // Two core modules of one component, each within the limit, together past it.
        let pair = component(
            r#"(core module $m (memory 1200))
               (core instance (instantiate $m)) (core instance (instantiate $m))"#,
        );
        assert_ends(&ran(&pair), &["limit_memory"]);
    });
}

#[test]
fn cmp_04_many_memories_tables_and_instances_are_refused_or_run() {
    case(&[], || {
        let many = |item: &str, count: usize| {
            component(&format!(
                "(core module $m {item}) {}",
                "(core instance (instantiate $m)) ".repeat(count)
            ))
        };
        let elements = module("(table 10000000 funcref)", "");
        for text in [
            many("(memory 1)", 100),
            many("(table 10 funcref)", 100),
            many("(func)", 5_000),
            many("(memory 1 65536)", 16),
            elements,
            module(&"(table 10 funcref) ".repeat(90), ""),
            module(&"(global i64 (i64.const 1)) ".repeat(100_000), ""),
        ] {
            match run_command(program(wasm(&text))) {
                Err(error) => assert_eq!(
                    error.code(),
                    ErrorCode::BadComponent,
                    "{error}: {}",
                    &text[..200.min(text.len())]
                ),
                Ok(outcome) => assert_ends(&outcome, &["exited 0", "limit_memory", "limit_host"]),
            }
        }
    });
}

#[test]
fn cmp_05_what_lies_about_itself_is_a_trap_or_an_error_of_the_guests_own() {
    case(&[], || {
        let error = "(if (i32.eqz (RESULT)) (then unreachable))";
        let call =
            |call: &str| module(r#"(data (i32.const 64) "\ff\fe\c0\80")"#, &error.replace("RESULT", call));
        for text in [
            // A path that is no UTF-8, one that lies outside the memory, one that is as long as can be.
            call("call $stat (i32.const 3) (i32.const 0) (i32.const 64) (i32.const 4) (i32.const 0)"),
            call("call $stat (i32.const 3) (i32.const 0) (i32.const 0x7fffffff) (i32.const 4) (i32.const 0)"),
            call("call $stat (i32.const 3) (i32.const 0) (i32.const 0) (i32.const -1) (i32.const 0)"),
            call("call $stat (i32.const 3) (i32.const 0) (i32.const 64) (i32.const 4) (i32.const -4)"),
            // Vectors that lie outside, are too many, or overlap their own result.
            call("call $fd_write (i32.const 1) (i32.const -8) (i32.const 1) (i32.const 0)"),
            call("call $random_get (i32.const 0) (i32.const -1)"),
            call("call $random_get (i32.const -1) (i32.const 16)"),
        ] {
            assert_ends(&ran(&text), &["exited 0", "guest_trap", "limit_host", "limit_memory"]);
        }
        let written = module(
            r#"(data (i32.const 8) "\00\00\00\00\ff\ff\ff\7f")"#,
            "(drop (call $fd_write (i32.const 1) (i32.const 8) (i32.const 1) (i32.const 0)))",
        );
        let outcome = ran(&written);
        assert_ends(&outcome, &["exited 0", "guest_trap", "limit_host"]);
        // The adapter has pages of its own behind the program's two.
        assert!(outcome.stdout.total_bytes <= 1 << 20, "{} bytes", outcome.stdout.total_bytes);
    });
}

/// A component with these items that is a command and does nothing.
fn component(items: &str) -> String {
    format!(
        r#"(component {items}
            (core module $main (func (export "run") (result i32) i32.const 0))
            (core instance $main (instantiate $main))
            (func $run (result (result)) (canon lift (core func $main "run")))
            (instance $run (export "run" (func $run)))
            (export "wasi:cli/run@0.2.0" (instance $run)))"#
    )
}
