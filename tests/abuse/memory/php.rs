//! Memory, in PHP.

use super::*;

const NO_MEMORY: [&str; 3] = ["raised OutOfMemoryError", "raised ValueError", "limit_memory"];

#[test]
fn mem_01_a_huge_allocation_is_refused() {
    case(&[PHP], || {
        bounded(
            &Attack::new(PHP).wall(20_000).ends(&NO_MEMORY),
            128,
            &[
                "str_repeat('x', 1 << 29);",
                "str_repeat('x', 1 << 31);",
                "array_fill(0, 1 << 27, 1);",
                "range(0, 1 << 28);",
                "str_pad('x', 1 << 30);",
                "new SplFixedArray(1 << 28);",
                "implode('abcdefgh', array_fill(0, 1 << 22, 'abcdefghabcdefghabcdefgh'));",
                "$s = 'x'; for ($i = 0; $i < 40; $i++) $s .= $s;",
                "random_bytes(1 << 30);",
                "array_pad([], 1 << 20, str_repeat('x', 1 << 27));",
            ],
        );
    });
}

#[test]
fn mem_01_a_length_that_no_address_can_have_is_refused() {
    case(&[PHP], || {
        bounded(
            &Attack::new(PHP).wall(20_000).ends(&NO_MEMORY),
            128,
            &[
                "str_pad('a', PHP_INT_MAX);",
                "str_pad('a', (1 << 32) + 5);",
                "str_pad('a', (1 << 32) - 1, 'b', STR_PAD_BOTH);",
                "str_repeat('ab', (1 << 32) + 1);",
                "mb_str_pad('a', (1 << 32) + 5);",
                "random_bytes((1 << 32) + 1);",
                "(new Random\\Randomizer)->getBytes((1 << 32) + 1);",
                "(new Random\\Randomizer)->getBytesFromString('ab', (1 << 32) + 1);",
                "metaphone('a', (1 << 32) + 1);",
                "$s = 'a'; $s[(1 << 32) + 1] = 'b';",
                "$s = 'a'; $s[(1 << 32) - 2] = 'b';",
                "fread(fopen('php://memory', 'r'), (1 << 32) + 1);",
                "fgets(fopen('php://memory', 'r'), (1 << 32) + 1);",
                "ftruncate(fopen('php://temp', 'w+'), PHP_INT_MAX);",
                "ftruncate(fopen('php://memory', 'w+'), (1 << 32) - 1);",
                "$f = fopen('php://memory', 'w+'); fseek($f, (1 << 32) - 2); fwrite($f, 'abcdef');",
                "(new SplTempFileObject)->ftruncate((1 << 32) + 1);",
                "new SplFixedArray(1 << 60);",
                "$a = new SplFixedArray(1); $a->setSize(0x2000000000000001); $a[5] = 1;",
                "SplFixedArray::fromArray([1 << 60 => 1]);",
                "array_fill(0, 1 << 32, 1);",
                "array_pad([], (1 << 32) + 1, 1);",
                "range(0, (1 << 32) + 1);",
                "$z = deflate_init(ZLIB_ENCODING_RAW, ['window' => (1 << 32) + 15]);",
                "bcdiv('1', '3', 2147483647);",
            ],
        );
    });
}

#[test]
fn mem_02_slow_growth_ends_with_a_named_outcome() {
    case(&[PHP], || {
        let outcomes = Attack::new(PHP).wall(30_000).ends(&NO_MEMORY).run(&[
            "$l = []; while (true) $l[] = str_repeat('x', 1024) . count($l);",
            "$o = new SplObjectStorage; while (true) $o[new stdClass] = 1;",
            "$s = 'x'; while (true) $s .= $s . 'y';",
            "$h = new SplPriorityQueue; while (true) $h->insert(str_repeat('x', 100), 1);",
            "$d = new SQLite3(':memory:'); $d->exec('create table t(a)'); $l = []; while (true) $l[] = new ArrayObject([1, 2, 3]);",
            "ob_start(); while (true) echo str_repeat('x', 10000);",
            "while (true) register_shutdown_function(fn() => 1);",
            "for ($i = 0; ; $i++) eval(\"function f$i() { return \\\"$i\\\"; }\");",
            "for ($i = 0; ; $i++) define(\"C$i\", $i);",
        ]);
        let most = outcomes.iter().map(|outcome| outcome.usage.memory_peak).max();
        assert!(most > Some(96 * MIB), "nothing grew: {most:?}");
    });
}

#[test]
fn mem_02_an_exhausted_guest_that_goes_on_still_ends() {
    case(&[PHP], || {
        let attack = Attack::new(PHP).wall(2_000).ends(&NO_MEMORY).ends(&["limit_time"]);
        attack.run(&[
            "register_shutdown_function(function () { $l = []; while (true) $l[] = str_repeat('x', 100); }); $l = []; while (true) $l[] = str_repeat('x', 4096);",
            "class D { function __destruct() { $l = []; while (true) $l[] = new D; } } $l = []; while (true) $l[] = new D;",
        ]);
    });
}

#[test]
fn mem_02_the_smallest_limit_is_enough_to_start() {
    case(&[PHP], || {
        Attack::new(PHP).memory(40).ends(&["returned"]).run(&["array_map(fn($x) => $x * 2, [1, 2, 3])"]);
    });
}

#[test]
fn mem_03_deep_recursion_is_an_exception_or_the_stack_limit() {
    case(&[PHP], || {
        let errors =
            ["raised Error", "raised OutOfMemoryError", "raised", "returned", "limit_stack", "limit_memory"];
        Attack::new(PHP).wall(30_000).ends(&errors).run(&[
            "function f() { return f() + 1; } f();",
            "function f($x) { return array_map('f', [$x]); } f(1);",
            "class A { function __toString(): string { return \"$this\"; } } (string)new A;",
            "class A { function __get($n) { return (new A)->$n; } } (new A)->x;",
            "class A implements JsonSerializable { function jsonSerialize(): mixed { return new A; } } json_encode(new A, depth: PHP_INT_MAX);",
            "class A implements IteratorAggregate { function getIterator(): Iterator { return new IteratorIterator(new A); } } foreach (new A as $x);",
            "function g() { yield from g(); } foreach (g() as $x);",
            "$g = (function () { yield 1; })(); for ($i = 0; $i < 100000; $i++) $g = (function () use ($g) { yield from $g; })(); foreach ($g as $x);",
            "$l = []; for ($i = 0; $i < 100000; $i++) $l = [$l]; serialize($l);",
            "$l = []; for ($i = 0; $i < 100000; $i++) $l = [$l]; var_export($l, true);",
            "$l = []; for ($i = 0; $i < 100000; $i++) $l = [$l]; print_r($l, true);",
            "$l = []; for ($i = 0; $i < 100000; $i++) $l = [$l]; count($l, COUNT_RECURSIVE);",
            "$l = []; for ($i = 0; $i < 100000; $i++) $l = [$l]; array_walk_recursive($l, fn() => 1);",
            "$l = []; $m = []; for ($i = 0; $i < 100000; $i++) { $l = [$l]; $m = [$m]; } $l == $m;",
            "$l = []; for ($i = 0; $i < 100000; $i++) $l = [$l]; array_replace_recursive($l, $l);",
            "$l = []; for ($i = 0; $i < 100000; $i++) $l = [$l]; http_build_query($l);",
            "$o = null; for ($i = 0; $i < 100000; $i++) $o = (object)['o' => $o]; clone $o; var_dump($o);",
            "preg_replace_callback('/a/', $f = function ($m) use (&$f) { return preg_replace_callback('/a/', $f, 'a'); }, 'a');",
            "usort($x = [3, 2, 1], $f = function ($a, $b) use (&$f) { $y = [2, 1]; usort($y, $f); return 0; });",
            "spl_autoload_register(function ($c) { class_exists($c . 'x'); }); class_exists('a');",
            "preg_match('/^(?:(a)|b)*$/', str_repeat('ab', 1 << 20));",
            "$f = 'strlen'; for ($i = 0; $i < 100000; $i++) $f = fn($x) => $f($x); $f('a');",
            "ob_start($f = function ($s) { ob_start(); return $s; }); echo 1; ob_end_flush();",
            "class D { public $n; function __destruct() { $this->n = new D; $this->n = null; } } new D;",
        ]);
    });
}

#[test]
fn mem_03_a_deeply_nested_value_is_cut_and_freed() {
    case(&[PHP], || {
        for (code, kind) in [
            ("$l = []; for ($i = 0; $i < 100000; $i++) $l = [$l]; $l", "array"),
            ("$o = null; for ($i = 0; $i < 100000; $i++) $o = (object)['o' => $o]; $o", "object"),
            ("$l = []; for ($i = 0; $i < 1000; $i++) $l = ['x' => $l]; return $l;", "array"),
        ] {
            assert_eq!(value(&sandbox::eval(PHP, code))["type"], kind);
        }
    });
}

#[test]
fn mem_03_freeing_a_long_chain_ends_the_run_at_worst() {
    case(&[PHP], || {
        Attack::new(PHP).wall(20_000).ends(&["returned", "raised", "limit_stack", "limit_memory", "guest_trap"]).run(&[
            "$l = []; for ($i = 0; $i < 1000000; $i++) $l = [$l]; $l = null; 1",
            "$o = null; for ($i = 0; $i < 500000; $i++) { $n = new stdClass; $n->o = $o; $o = $n; } $o = $n = null; 1",
        ]);
    });
}

#[test]
fn mem_04_open_files_are_bounded_for_the_guest_and_the_host() {
    case(&[PHP], || {
        let (before, watch) = (Levels::now(), Watch::begin());
        Attack::new(PHP).wall(30_000).files(2_000).ends(&["raised", "limit_host", "limit_memory"]).run(&[
            "$l = []; for ($i = 0; ; $i++) $l[] = fopen(\"/tmp/$i\", 'w') ?: throw new Exception('full');",
            "$l = []; touch('/tmp/x'); while (true) $l[] = fopen('/tmp/x', 'r') ?: throw new Exception('full');",
            "$l = []; while (true) $l[] = opendir('/tmp') ?: throw new Exception('full');",
        ]);
        let peak = watch.end();
        assert!(peak.descriptors < before.descriptors + 4_200, "before {before:?}, at the peak {peak:?}");
    });
}

#[test]
fn mem_04_a_hoard_of_files_does_not_starve_the_neighbour() {
    case(&[PHP], || {
        files_are_shared(
            PHP,
            "touch('/tmp/x'); $l = []; while (($f = @fopen('/tmp/x', 'r')) && count($l) < 4000) $l[] = $f; return call_tool('hold');",
            "file_put_contents('/tmp/y', 'x'); file_get_contents('/tmp/y')",
        );
    });
}

#[test]
fn mem_05_huge_host_calls_cost_the_host_no_more_than_its_caps() {
    case(&[PHP], || {
        let told = ["raised", "returned", "limit_memory", "limit_host"];
        bounded(
            &Attack::new(PHP).wall(20_000).ends(&told),
            128,
            &[
                "random_bytes(1 << 26); 1",
                "call_tool('x', ['a' => str_repeat('x', 30 << 20)]);",
                "call_tool(str_repeat('x', 30 << 20));",
                "@file_put_contents('/tmp/' . str_repeat('x', 30 << 20), ''); 1",
                "putenv('A=' . str_repeat('x', 10 << 20)); strlen(getenv('A'))",
            ],
        );
        bounded(
            &Attack::new(PHP).wall(30_000).memory(512).ends(&["returned"]),
            512,
            &[
                "for ($i = 0; $i < 1000; $i++) random_bytes(65536); 1",
                "echo str_repeat('x', 100 << 20); 1",
                "for ($i = 0; $i < 20000; $i++) { clearstatcache(); stat('/tmp'); } 1",
            ],
        );
    });
}
