//! Memory, in Python.

use super::*;
use dormouse::{ErrorCode, Grants};

#[test]
fn mem_01_a_huge_allocation_is_refused() {
    case(&[PYTHON], || {
        let attack = Attack::new(PYTHON).wall(20_000).ends(&["raised MemoryError", "raised OverflowError"]);
        bounded(
            &attack,
            128,
            &[
                "[0] * 10**10",
                "[0] * 10**8",
                "bytearray(1 << 40)",
                "bytes(1 << 31)",
                "'x' * (1 << 30)",
                "bytearray(200 << 20)",
                "'ab'.ljust(2**31 - 1)",
                "b''.join([b'x' * (1 << 20)] * 1000)",
                "'%2000000000d' % 1",
                "list(range(10**9))",
                "1 << (1 << 33)",
                "import array; array.array('d', [0]) * 10**8",
                "memoryview(bytearray(1 << 30))",
            ],
        );
    });
}

#[test]
fn mem_02_slow_growth_ends_with_a_named_outcome() {
    case(&[PYTHON], || {
        let attack = Attack::new(PYTHON).wall(30_000).ends(&["raised MemoryError", "limit_memory"]);
        let outcomes = attack.run(&[
            "l = []\nwhile True: l.append(' ' * 1024 + str(len(l)))",
            "d = {}\nwhile True: d[len(d)] = str(len(d))",
            "s = 'x'\nwhile True: s += s",
            "l = []\nwhile True:\n try:\n  l.append(bytes(1 << 16))\n except MemoryError:\n  raise",
        ]);
        let most = outcomes.iter().map(|outcome| outcome.usage.memory_peak).max();
        assert!(most > Some(96 * MIB), "nothing grew: {most:?}");
    });
}

#[test]
fn mem_02_an_exhausted_guest_that_goes_on_still_ends() {
    case(&[PYTHON], || {
        let attack =
            Attack::new(PYTHON).wall(2_000).ends(&["raised MemoryError", "limit_memory", "limit_time"]);
        attack.run(&["l = []\nwhile True:\n try:\n  l.append(bytes(1 << 12))\n except MemoryError:\n  pass"]);
    });
}

#[test]
fn mem_03_deep_recursion_is_an_exception_or_the_stack_limit() {
    case(&[PYTHON], || {
        let errors = ["raised RecursionError", "raised MemoryError", "limit_stack"];
        Attack::new(PYTHON).wall(30_000).ends(&errors).run(&[
            "def f(): f()\nf()",
            "f = lambda: f()\nf()",
            "import sys; sys.setrecursionlimit(10**9)\ndef f(): f()\nf()",
            "import sys; sys.setrecursionlimit(10**9)\nclass A:\n def __repr__(self): return repr(self)\nrepr(A())",
            "import json; json.loads('[' * 3_000_000)",
            "l = []\nfor _ in range(100_000): l = [l]\nrepr(l)",
            "l = []\nfor _ in range(100_000): l = [l]\nimport json; json.dumps(l)",
            "def deep():\n l = []\n for _ in range(100_000): l = [l]\n return l\ndeep() == deep()",
            "l = []\nfor _ in range(100_000): l = [l]\nimport copy; copy.deepcopy(l)",
            "x = iter([1])\nfor _ in range(200_000): x = map(str, x)\nnext(x)",
            "class A:\n def __getattr__(self, n): return getattr(self, n)\nA().x",
            "class A: pass\nA.__call__ = A()\nA()()",
            "def g(): yield from g()\nlist(g())",
        ]);
    });
}

#[test]
fn mem_03_a_deeply_nested_value_is_cut_and_freed() {
    case(&[PYTHON], || {
        for code in [
            "l = []\nfor _ in range(100_000): l = [l]\nl",
            "d = {}\nfor _ in range(100_000): d = {'a': d}\nd",
            "t = ()\nfor _ in range(100_000): t = (t,)\nt",
        ] {
            assert_eq!(value(&sandbox::eval(PYTHON, code))["type"], "array");
        }
    });
}

#[test]
fn mem_03_freeing_a_long_chain_ends_the_run_at_worst() {
    case(&[PYTHON], || {
        Attack::new(PYTHON).wall(20_000).ends(&["returned", "limit_stack"]).run(&[
            "x = iter([1])\nfor _ in range(100_000): x = map(str, x)\ndel x\n[]",
            "import itertools\nx = iter([1])\nfor _ in range(100_000): x = itertools.chain(x)\ndel x\n[]",
            "f = print\nfor _ in range(100_000): f = f.__call__\ndel f\n[]",
            "class A: pass\nx = None\nfor _ in range(1_000_000):\n a = A(); a.x = x; x = a\ndel x, a\n[]",
        ]);
    });
}

#[test]
fn mem_04_open_files_are_bounded_for_the_guest_and_the_host() {
    case(&[PYTHON], || {
        let (before, watch) = (Levels::now(), Watch::begin());
        Attack::new(PYTHON).wall(30_000).files(5_000).ends(&["raised OSError", "limit_host"]).run(&[
            "f = []\nwhile True: f.append(open('/tmp/one', 'a'))",
            "f = []\nwhile True: f.append(open(f'/tmp/{len(f)}', 'w'))",
            "import os\nf = []\nwhile True: f.append(os.open('/tmp', os.O_RDONLY))",
            "import os\nfor i in range(3): os.mkdir(f'/tmp/{i}')\nf = []\nwhile True: f.append(os.scandir('/tmp')); next(f[-1])",
            "import os\nf = os.open('/tmp/one', os.O_CREAT | os.O_RDWR)\nwhile True: os.dup(f)",
        ]);
        let peak = watch.end();
        assert!(peak.descriptors < before.descriptors + 4_200, "before {before:?}, at the peak {peak:?}");
    });
}

#[test]
fn mem_04_a_hoard_of_files_does_not_starve_the_neighbour() {
    case(&[PYTHON], || {
        files_are_shared(
            PYTHON,
            "f = []\ntry:\n while True: f.append(open('/tmp/one', 'a'))\nexcept OSError: pass\ncall_tool('hold')",
            "open('/tmp/mine', 'w').write('x')",
        );
    });
}

#[test]
fn mem_05_huge_host_calls_cost_the_host_no_more_than_its_caps() {
    case(&[PYTHON], || {
        let told = ["raised", "limit_memory", "limit_host"];
        bounded(
            &Attack::new(PYTHON).wall(20_000).ends(&told),
            128,
            &[
                "import os; os.urandom(1 << 32)",
                "import os; os.urandom(1 << 30)",
                "call_tool('x', a='x' * (30 << 20))",
                "call_tool('x' * (30 << 20))",
                "open('/tmp/' + 'x' * (30 << 20), 'w')",
                "import os; os.symlink('x' * (30 << 20), '/tmp/link')",
                "import sys; sys.stdin.buffer.read1(1 << 31)",
            ],
        );
        bounded(
            &Attack::new(PYTHON).wall(30_000).memory(512).ends(&["returned"]),
            512,
            &[
                "import os; len(os.urandom(64 << 20))",
                "import sys; sys.stdout.buffer.write(bytes(200 << 20))",
                "import os; [os.stat('/tmp') for _ in range(20_000)] and 0",
            ],
        );
    });
}

#[test]
fn mem_05_a_huge_environment_is_refused_or_the_guests_own_burden() {
    case(&[PYTHON], || {
        for change in [
            |grants: &mut Grants| {
                grants.environment = (0..100).map(|i| (format!("N{i}"), "x".repeat(1 << 20))).collect();
            },
            |grants: &mut Grants| grants.arguments = vec!["x".repeat(1 << 20); 100],
            |grants: &mut Grants| grants.arguments = vec![String::new(); 10_000_000],
        ] {
            let mut request =
                Attack::new(PYTHON).wall(20_000).request("import os, sys; len(os.environ) + len(sys.argv)");
            change(&mut request.context.grants);
            match sandbox::wait(sandbox::sandbox().runtime().eval(request)) {
                Err(error) => assert_eq!(error.code(), ErrorCode::TooLarge, "{error}"),
                Ok(outcome) => {
                    assert_ends(&outcome, &["returned", "raised MemoryError", "limit_memory", "limit_host"])
                }
            }
        }
    });
}
