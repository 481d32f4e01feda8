//! The canonical ABI: memory functions and callbacks of the guest's that the host calls.

use super::*;

/// A command that asks for its arguments, with this `realloc` and this function after its return.
fn asks_for_arguments(realloc: &str, after: &str) -> String {
    format!(
        r#"(component
            (import "wasi:cli/environment@0.2.0"
                (instance $environment (export "get-arguments" (func (result (list string))))))
            (core module $memory
                (memory (export "memory") 1)
                (global $next (mut i32) (i32.const 1024))
                (func $self (export "realloc") (param $old i32) (param $size i32) (param $align i32) (param $new i32)
                    (result i32) {realloc}))
            (core instance $memory (instantiate $memory))
            (core func $arguments (canon lower (func $environment "get-arguments")
                (memory (core memory $memory "memory")) (realloc (core func $memory "realloc"))))
            (core module $main
                (import "host" "arguments" (func $arguments (param i32)))
                (func (export "run") (result i32) (call $arguments (i32.const 16)) (i32.const 0))
                (func (export "after") (param i32) {after}))
            (core instance $main (instantiate $main
                (with "host" (instance (export "arguments" (func $arguments))))))
            (func $run (result (result)) (canon lift (core func $main "run") (post-return (core func $main "after"))))
            (instance $run (export "run" (func $run)))
            (export "wasi:cli/run@0.2.0" (instance $run)))"#
    )
}

/// A bump allocator, grown as needed.
const HONEST: &str = "(local $at i32)
    (local.set $at (i32.and (i32.add (global.get $next) (i32.const 7)) (i32.const -8)))
    (global.set $next (i32.add (local.get $at) (local.get $new)))
    (loop $more (if (i32.gt_u (global.get $next) (i32.mul (memory.size) (i32.const 65536)))
        (then (if (i32.eq (memory.grow (i32.const 16)) (i32.const -1)) (then unreachable)) (br $more))))
    (local.get $at)";

#[track_caller]
fn with_arguments(realloc: &str, after: &str, arguments: Vec<String>) -> Outcome {
    let mut request = program(wasm(&asks_for_arguments(realloc, after)));
    request.grants.arguments = arguments;
    let outcome = run_command(request).unwrap_or_else(|error| panic!("refused: {error}"));
    assert!(outcome.usage.wall < WALL + PROMISE + NOISE, "{}", told(&outcome));
    outcome
}

#[test]
fn cmp_03_loops_in_callbacks_of_the_host_end_at_the_limit() {
    case(&[], || {
        let some = || vec!["a".to_owned(), "b".to_owned()];
        assert_ends(&with_arguments(HONEST, "", some()), &["exited 0"]);
        assert_ends(&with_arguments("(loop (br 0)) i32.const 0", "", some()), &["limit_time"]);
        assert_ends(&with_arguments(HONEST, "(loop (br 0))", some()), &["limit_time"]);
        assert_ends(&with_arguments("unreachable", "", some()), &["guest_trap"]);
        assert_ends(&with_arguments(HONEST, "unreachable", some()), &["guest_trap"]);
        let recursive = "(call $self (local.get 0) (local.get 1) (local.get 2) (local.get 3))";
        assert_ends(&with_arguments(recursive, "", some()), &["limit_stack"]);
    });
}

#[test]
fn cmp_05_a_memory_function_that_lies_is_a_trap() {
    case(&[], || {
        let some = || vec!["abc".repeat(10), "d".repeat(1_000)];
        for realloc in
            ["i32.const -1", "i32.const 0x7ffffff8", "i32.const 65533", "i32.const 3", "i32.const 65536"]
        {
            assert_ends(&with_arguments(realloc, "", some()), &["guest_trap"]);
        }
        // One place for everything: the guest's own data is spoilt, and nothing else.
        assert_ends(&with_arguments("i32.const 1024", "", some()), &["exited 0", "guest_trap"]);
    });
}

#[test]
fn cmp_05_very_many_strings_cost_what_they_weigh() {
    case(&[], || {
        let many: Vec<String> = (0..Grants::MAX_STRINGS).map(|number| number.to_string()).collect();
        assert_ends(&with_arguments(HONEST, "", many), &["exited 0"]);
        let heavy = vec!["x".repeat(Grants::MAX_STRING_BYTES / 16); 16];
        assert_ends(&with_arguments(HONEST, "", heavy), &["exited 0"]);
        for more in [vec![String::new(); 100_000], vec!["x".repeat(1 << 20); 200]] {
            let mut request = program(wasm(&asks_for_arguments(HONEST, "")));
            request.grants.arguments = more;
            let error = run_command(request).expect_err("more than a guest can take");
            assert_eq!(error.code(), ErrorCode::TooLarge, "{error}");
        }
    });
}

#[test]
fn cmp_07_a_socket_is_denied_at_the_call() {
    case(&[], || {
        assert_ends(&ran(&asks_for_socket()), &["exited 0"]);
    });
}

/// A command that asks for a TCP socket and traps unless the answer is an error.
fn asks_for_socket() -> String {
    let errors = [
        "unknown",
        "access-denied",
        "not-supported",
        "invalid-argument",
        "out-of-memory",
        "timeout",
        "concurrency-conflict",
        "not-in-progress",
        "would-block",
        "invalid-state",
        "new-socket-limit",
        "address-not-bindable",
        "address-in-use",
        "remote-unreachable",
        "connection-refused",
        "connection-reset",
        "connection-aborted",
        "datagram-too-large",
        "name-unresolvable",
        "temporary-resolver-failure",
        "permanent-resolver-failure",
    ];
    let errors: String = errors.iter().map(|name| format!("\"{name}\" ")).collect();
    format!(
        r#"(component
            (import "wasi:sockets/network@0.2.0" (instance $network
                (type $e (enum {errors})) (export "error-code" (type (eq $e)))
                (type $f (enum "ipv4" "ipv6")) (export "ip-address-family" (type (eq $f)))))
            (alias export $network "error-code" (type $code))
            (alias export $network "ip-address-family" (type $family))
            (import "wasi:sockets/tcp@0.2.0" (instance $tcp (export "tcp-socket" (type (sub resource)))))
            (alias export $tcp "tcp-socket" (type $socket))
            (import "wasi:sockets/tcp-create-socket@0.2.0" (instance $create
                (alias outer 1 $code (type $code_)) (export "error-code" (type $code2 (eq $code_)))
                (alias outer 1 $family (type $family_)) (export "ip-address-family" (type $family2 (eq $family_)))
                (alias outer 1 $socket (type $socket_)) (export "tcp-socket" (type $socket2 (eq $socket_)))
                (export "create-tcp-socket"
                    (func (param "address-family" $family2) (result (result (own $socket2) (error $code2)))))))
            (core module $memory (memory (export "memory") 1))
            (core instance $memory (instantiate $memory))
            (core func $create (canon lower (func $create "create-tcp-socket") (memory (core memory $memory "memory"))))
            (core module $main
                (import "host" "memory" (memory 1))
                (import "host" "create" (func $create (param i32 i32)))
                (func (export "run") (result i32)
                    (call $create (i32.const 0) (i32.const 16))
                    (if (i32.eqz (i32.load8_u (i32.const 16))) (then unreachable))
                    (i32.const 0)))
            (core instance $main (instantiate $main (with "host" (instance
                (export "memory" (memory $memory "memory")) (export "create" (func $create))))))
            (func $run (result (result)) (canon lift (core func $main "run")))
            (instance $run (export "run" (func $run)))
            (export "wasi:cli/run@0.2.0" (instance $run)))"#
    )
}
