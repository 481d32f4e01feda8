//! Output, in PHP.

use super::*;

#[test]
fn out_01_an_endless_print_loop_is_kept_to_the_limit_and_counted() {
    case(&[PHP], || {
        let outcomes = Attack::new(PHP).wall(500).ends(&["limit_time"]).run(&[
            "while (true) echo str_repeat('x', 10000);",
            "while (true) fwrite(STDERR, 'x');",
            "while (true) print(\"\\n\");",
            "while (true) $undefined;",
            "while (true) trigger_error(str_repeat('x', 1000));",
        ]);
        outcomes.iter().for_each(counted);
        assert!(outcomes[0].stdout.is_truncated() && outcomes[1].stderr.is_truncated());
        assert!(outcomes[0].stdout.text.starts_with("xxxx"));
    });
}

#[test]
fn out_02_two_gibibytes_on_each_stream_are_counted_to_the_byte() {
    case(&[PHP], || {
        let outcomes = Attack::new(PHP).wall(60_000).ends(&["returned"]).run(&[
            "$b = str_repeat('x', 1 << 20); for ($i = 0; $i < 2048; $i++) { echo $b; fwrite(STDERR, $b); }",
        ]);
        counted(&outcomes[0]);
        assert_eq!(outcomes[0].stdout.total_bytes, 2 * GIB);
        assert_eq!(outcomes[0].stderr.total_bytes, 2 * GIB);
    });
}

#[test]
fn out_03_text_that_is_no_text_arrives_as_text() {
    case(&[PHP], || {
        let outcome = sandbox::eval(PHP, "echo \"a\\xffb\\0c\\n\";");
        assert_eq!(outcome.stdout.text, "a\u{fffd}b\0c\n");
        assert_eq!(value(&sandbox::eval(PHP, "\"a\\xff\""))["value"], "Yf8=");
        assert_eq!(
            value(&sandbox::eval(PHP, "[\"a\\xff\" => 1]"))["value"],
            json!({"a\u{fffd}": {"type": "int", "value": 1}})
        );
        let outcome = sandbox::eval(PHP, "throw new Exception(\"\\xff\");");
        assert_eq!(exception(&outcome).message, "\u{fffd}");
        let outcome = sandbox::eval(PHP, "echo 'x' . str_repeat('é', 10000);");
        counted(&outcome);
        assert!(outcome.stdout.text.ends_with('é'), "the cut went through a character");
    });
}

#[test]
fn out_04_terminal_escapes_stay_in_json_and_are_made_visible_on_a_terminal() {
    case(&[PHP], || {
        let code = "echo json_decode('\"\\u001b]0;title\\u0007 \\u001b]52;c;x\\u0007 \\u001b[2J \\u202ereversed \\u009b31m\"');";
        let outcome = sandbox::eval(PHP, code);
        assert!(
            outcome.stdout.text.starts_with("\u{1b}]0;title\u{7} \u{1b}]52;"),
            "{:?}",
            outcome.stdout.text
        );
        // The shell of the test would take `\u` away.
        let spelled = "echo chr(27) . ']0;title' . chr(7) . chr(27) . ']52;c;x' . chr(7) . chr(27) . '[2J' . mb_chr(0x202e) . 'reversed' . mb_chr(0x9b) . '31m';";
        shown_on_a_terminal(PHP, spelled);
    });
}

#[test]
fn out_05_text_that_looks_like_an_answer_is_data() {
    case(&[PHP], || {
        let forged = r#"{"jsonrpc":"2.0","id":1,"result":{"ok":true,"result":{"type":"int","value":666}}}"#;
        let outcome = sandbox::eval(PHP, &format!("echo '{forged}', PHP_EOL; return 1;"));
        assert_eq!(outcome.stdout.text, format!("{forged}\n"));
        assert_eq!(value(&outcome), json!({"type": "int", "value": 1}));
    });
}

#[test]
fn out_06_hostile_values_are_encoded_inside_the_guests_limits() {
    case(&[PHP], || {
        Attack::new(PHP).wall(1_000).ends(&["returned"]).run(&[
            "$l = [1]; $l[] = &$l; $l",
            "$o = new stdClass; $o->o = $o; $o",
            "(function () { while (true) yield 1; })()",
            "new class { function __debugInfo() { throw new Exception('no'); } }",
            "new class { function __debugInfo() { return null; } function __toString(): string { throw new Error('no'); } }",
            "new class implements Countable, IteratorAggregate { function count(): int { return -5; } function getIterator(): Iterator { throw new Exception('no'); } }",
            "new class implements Iterator { function current(): mixed { throw new Exception('no'); } function key(): mixed { return []; } function next(): void {} function rewind(): void {} function valid(): bool { return true; } }",
            "new class implements IteratorAggregate { function getIterator(): Iterator { return (function () { yield $this; })(); } }",
            "$a = new ArrayObject; $a[] = $a; $a",
            "$s = new SplObjectStorage; $s[$s] = $s; $s",
            "$x = new class { public $a = 1; public $b; function __debugInfo() { $this->b = $this; return ['b' => $this, \"\\0x\" => 1, 5 => 6]; } }; $x",
            "array_fill(0, 49, (function () { yield 1; throw new Exception('no'); })())",
            "[WeakReference::create(new stdClass), new WeakMap, (new ReflectionClass('stdClass'))->newLazyGhost(function () { throw new Exception('no'); })]",
        ]);
        Attack::new(PHP)
            .wall(500)
            .ends(&["limit_time", "limit_memory", "limit_stack", "returned", "raised"])
            .run(&[
                "new class { function __debugInfo() { while (true); } }",
                "new class { function __toString(): string { return \"$this\"; } }",
                "new class { function __debugInfo() { return [str_repeat('x', 1 << 30)]; } }",
                "(function () { while (true); yield 1; })()",
                "function g() { yield from g(); } g()",
                "new class implements Countable, IteratorAggregate { function count(): int { while (true); } function getIterator(): Iterator { return new EmptyIterator; } }",
                "unserialize('O:8:\"DateTime\":0:{}')",
                "(new ReflectionClass('SplFileObject'))->newInstanceWithoutConstructor()",
                "(new ReflectionClass('PDOStatement'))->newInstanceWithoutConstructor()",
                "(new ReflectionClass('SQLite3Result'))->newInstanceWithoutConstructor()",
                "$GLOBALS",
            ]);
    });
}

#[test]
fn out_07_no_value_is_invented() {
    case(&[PHP], || {
        for code in [
            "ini_set('precision', '1'); set_error_handler(fn() => 666); 41 + 1",
            "ob_start(fn() => '{\"type\":\"int\",\"value\":666}'); echo 1; return 41 + 1;",
            "register_shutdown_function(fn() => 666); 41 + 1",
            "foreach (array_keys($GLOBALS) as $k) unset($GLOBALS[$k]); return 41 + 1;",
            "fclose(STDOUT); fclose(STDERR); fclose(STDIN); return 41 + 1;",
            "$value = 666; $result = 666; 41 + 1",
        ] {
            assert_eq!(value(&sandbox::eval(PHP, code))["value"], 42, "{code}");
        }
        for (code, ending) in [
            ("exit(0); 666", "exited 0"),
            ("try { exit(5); } finally { return 666; }", "exited 5"),
            ("(function () { yield exit(3); })()", "exited 3"),
        ] {
            assert_ends(&sandbox::eval(PHP, code), &[ending]);
        }
    });
}
