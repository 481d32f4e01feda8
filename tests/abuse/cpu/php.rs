//! CPU, in PHP.

use super::*;

#[test]
fn cpu_01_an_endless_loop_ends_at_its_limit() {
    case(&[PHP], || {
        times_out(PHP).run(&[
            "while (true);",
            "for (;;) {}",
            "a: goto a;",
            "eval('while (true);');",
            "do {} while (1);",
        ]);
        let outcomes =
            Attack::new(PHP).wall(30_000).fuel(200_000_000).ends(&["limit_fuel"]).run(&["while (true);"]);
        assert!(
            outcomes[0].usage.fuel.is_some_and(|fuel| fuel > 150_000_000),
            "the fuel was used: {outcomes:?}"
        );
    });
}

#[test]
fn cpu_02_a_long_native_call_ends_at_its_limit() {
    case(&[PHP], || {
        times_out(PHP).run(&[
            "ini_set('pcre.backtrack_limit', (string)PHP_INT_MAX); preg_match('/^(?:a+)+$/', str_repeat('a', 60) . 'b');",
            "$a = range(0, 500000); while (true) { shuffle($a); sort($a); }",
            "$a = range(0, 10000); while (true) usort($a, fn($x, $y) => $y <=> $x);",
            "hash_pbkdf2('sha256', 'a', 'b', 2000000000);",
            "password_hash('a', PASSWORD_BCRYPT, ['cost' => 31]);",
            "bcpow('123456789', '99999999');",
            "similar_text(str_repeat('ab', 100000), str_repeat('ba', 100000));",
            "levenshtein(str_repeat('a', 100000), str_repeat('b', 100000));",
            "iterator_count(new InfiniteIterator(new ArrayIterator([1])));",
            "array_sum(iterator_to_array((function () { while (true) yield 1 => 1; })()));",
            "$s = str_repeat('ab', 1 << 20); while (true) str_replace('a', 'c', $s);",
            "while (true) gzcompress(str_repeat('x', 1 << 20), 9);",
            "(new SQLite3(':memory:'))->query('with recursive c(x) as (select 1 union all select x from c) select count(*) from c');",
        ]);
    });
}

#[test]
fn cpu_03_sleeping_ends_at_the_limit_and_costs_no_fuel() {
    case(&[PHP], || {
        times_out(PHP).run(&[
            "sleep(1000000);",
            "usleep(1000000000);",
            "time_nanosleep(1000, 0);",
            "time_sleep_until(microtime(true) + 1e6);",
        ]);
        let asleep = times_out(PHP).fuel(10_000_000_000).run(&["sleep(1000000);"]);
        assert!(asleep[0].usage.fuel.is_some_and(|fuel| fuel < 500_000_000), "{:?}", asleep[0].usage);
        waits_for_a_tool(PHP, "call_tool('never')");
    });
}

#[test]
fn cpu_04_the_limit_cannot_be_caught() {
    case(&[PHP], || {
        times_out(PHP).run(&[
            "while (true) { try { while (true); } catch (Throwable) {} }",
            "try { while (true); } finally { echo 'caught'; }",
            "set_error_handler(function () { while (true); }); set_exception_handler(function () { while (true); }); while (true);",
            "register_shutdown_function(function () { while (true); }); while (true);",
        ]);
    });
}

#[test]
fn cpu_05_code_at_the_end_counts_in_the_same_deadline() {
    case(&[PHP], || {
        times_out(PHP).run(&[
            "register_shutdown_function(function () { while (true); }); 1",
            "register_shutdown_function(function () { while (true); }); exit(0);",
            "ob_start(function () { while (true); }); echo 1;",
            "class A { function __destruct() { while (true); } } new A;",
            "class A { function __destruct() { while (true); } } return new A;",
            "function g() { try { yield 1; } finally { while (true); } } foreach (g() as $x) break;",
        ]);
        Attack::new(PHP).wall(WALL).ends(&["limit_time", "returned", "exited 0"]).run(&[
            "class A { function __destruct() { while (true); } } $a = new A; 1",
            "class A { function __destruct() { while (true); } } $a = new A; exit(0);",
        ]);
    });
}

#[test]
fn cpu_06_many_quick_calls_leave_nothing() {
    case(&[PHP], || quick_calls(PHP));
}
