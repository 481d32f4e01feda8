//! Output, in Python.

use super::*;

#[test]
fn out_01_an_endless_print_loop_is_kept_to_the_limit_and_counted() {
    case(&[PYTHON], || {
        let outcomes = Attack::new(PYTHON).wall(500).ends(&["limit_time"]).run(&[
            "while True: print('x' * 10000)",
            "import sys\nwhile True: sys.stderr.write('x')",
            "while True: print()",
        ]);
        outcomes.iter().for_each(counted);
        assert!(outcomes[0].stdout.is_truncated() && outcomes[1].stderr.is_truncated());
        assert!(outcomes[0].stdout.text.starts_with("xxxx"));
    });
}

#[test]
fn out_02_two_gibibytes_on_each_stream_are_counted_to_the_byte() {
    case(&[PYTHON], || {
        let outcomes = Attack::new(PYTHON).wall(60_000).ends(&["returned"]).run(&[
            "import sys\nb = b'x' * (1 << 20)\nfor _ in range(2048):\n sys.stdout.buffer.write(b)\n sys.stderr.buffer.write(b)",
        ]);
        counted(&outcomes[0]);
        assert_eq!(outcomes[0].stdout.total_bytes, 2 * GIB);
        assert_eq!(outcomes[0].stderr.total_bytes, 2 * GIB);
    });
}

#[test]
fn out_03_text_that_is_no_text_arrives_as_text() {
    case(&[PYTHON], || {
        let outcome = sandbox::eval(PYTHON, "import sys; sys.stdout.buffer.write(b'a\\xff\\xfe\\x00b')");
        assert_eq!(outcome.stdout.text, "a\u{fffd}\u{fffd}\0b");
        assert_eq!(value(&sandbox::eval(PYTHON, "'a\\ud800b\\0'"))["value"], "a\u{fffd}b\0");
        let outcome = sandbox::eval(PYTHON, "raise ValueError('\\udfff')");
        assert_eq!(exception(&outcome).message, "\u{fffd}");
        let outcome = sandbox::eval(PYTHON, "print('a\\ud800')\nprint('x' + 'é' * 10000)");
        assert_ends(&outcome, &["returned"]);
        counted(&outcome);
        assert!(outcome.stdout.text.ends_with('é'), "the cut went through a character");
    });
}

#[test]
fn out_04_terminal_escapes_stay_in_json_and_are_made_visible_on_a_terminal() {
    case(&[PYTHON], || {
        let code = r#"print('\x1b]0;title\x07 \x1b]52;c;aGk=\x07 \x1b[2J \u202ereversed \x9b31m')"#;
        let outcome = sandbox::eval(PYTHON, code);
        assert!(
            outcome.stdout.text.starts_with("\u{1b}]0;title\u{7} \u{1b}]52;"),
            "{:?}",
            outcome.stdout.text
        );
        shown_on_a_terminal(PYTHON, code);
    });
}

#[test]
fn out_05_text_that_looks_like_an_answer_is_data() {
    case(&[PYTHON], || {
        let forged = r#"{"jsonrpc":"2.0","id":1,"result":{"ok":true,"result":{"type":"int","value":666}}}"#;
        let outcome = sandbox::eval(PYTHON, &format!("print({forged:?}); 1"));
        assert_eq!(outcome.stdout.text, format!("{forged}\n"));
        assert_eq!(value(&outcome), json!({"type": "int", "value": 1}));
    });
}

#[test]
fn out_06_hostile_values_are_encoded_inside_the_guests_limits() {
    case(&[PYTHON], || {
        let repr = |body: &str| format!("class A:\n def __repr__(self): {body}\nA()");
        Attack::new(PYTHON).wall(1_000).ends(&["returned"]).run(&[
            "l = [1]; l.append(l); l",
            "d = {}; d['d'] = d; d",
            "def g():\n while True: yield 1\ng()",
            "import itertools; itertools.count()",
            &repr("raise ValueError('no')"),
            &repr("raise SystemExit(3)"),
            &repr("raise KeyboardInterrupt"),
            &repr("return 5"),
            &repr("return 'x' * 10**6"),
            "class A:\n @property\n def __dict__(self): raise ValueError\nA()",
            "class A:\n def __getattribute__(self, n): raise ValueError(n)\nA()",
            "class A:\n __class__ = property(lambda s: 1 / 0)\nA()",
            "class A(int):\n def __int__(self): raise ValueError\n def __index__(self): raise ValueError\nA(7)",
            "class A(str):\n def __str__(self): raise ValueError\n def __len__(self): return -5\nA('x')",
            "class A(dict):\n def items(self): raise ValueError\n def keys(self): return 5\nA(a=1)",
            "class A(list):\n def __iter__(self): raise ValueError\n def __len__(self): return 10**9\nA([1])",
            "class A:\n def __iter__(self): return self\n def __next__(self): raise ValueError\nA()",
            "class A:\n def __debuginfo__(self): return {1: 2, 'a': self}\nA()",
            "class M(type):\n @property\n def __name__(c): raise ValueError\n def __repr__(c): raise ValueError\nclass A(metaclass=M): pass\nA()",
        ]);
        let ended = ["limit_time", "limit_memory", "limit_stack", "returned"];
        Attack::new(PYTHON).wall(500).ends(&ended).run(&[
            &repr("\n  while True: pass"),
            &repr("return 'x' * 10**10"),
            &repr("return repr(self)"),
        ]);
    });
}

#[test]
fn out_07_no_value_is_invented() {
    case(&[PYTHON], || {
        for code in [
            "import json; json.dumps = lambda *a, **k: '{\"type\":\"int\",\"value\":666}'; 41 + 1",
            "import builtins; builtins.repr = builtins.str = builtins.type = builtins.len = lambda *a: 666; 41 + 1",
            "import sys; sys.stdout = sys.stderr = None; 41 + 1",
            "import sys; sys.displayhook = sys.excepthook = None; 41 + 1",
            "import sys; sys.modules.clear(); 41 + 1",
            "_ = 666; __result__ = 666; __value__ = 666; 41 + 1",
            "del __builtins__; 41 + 1",
        ] {
            assert_eq!(value(&sandbox::eval(PYTHON, code))["value"], 42, "{code}");
        }
        for (code, ending) in [
            ("import os; os._exit(0); 666", "exited 0"),
            ("import os; os._exit(3); 666", "exited 3"),
            ("exit(); 666", "exited 0"),
            ("raise SystemExit(7)", "exited 7"),
            ("print('{\"type\":\"int\",\"value\":666}'); exit(3)", "exited 3"),
        ] {
            assert_ends(&sandbox::eval(PYTHON, code), &[ending]);
        }
        let closed = sandbox::eval(PYTHON, "import os; os.close(1); os.close(2); 41 + 1");
        assert_eq!(value(&closed)["value"], 42);
    });
}

/// The most memory of a server while it runs a snippet, in bytes, and how the run ended.
fn peak(server: &Served, code: &str) -> (u64, String) {
    let process = server.process();
    // The kernel begins to look for the highest value anew.
    std::fs::write(format!("/proc/{process}/clear_refs"), "5").expect("a process of ours");
    let body = json!({"language": PYTHON, "code": code, "memory_bytes": 512 << 20, "timeout_ms": 20_000});
    let told = server.ask("POST", "/api/eval", None, Some(&body)).json();
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).expect("it lives");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a field of every process");
    let peak: u64 = line.trim().trim_end_matches(" kB").parse().expect("a number");
    let ended = told["error"]["code"].as_str().unwrap_or("returned").to_owned();
    (peak << 10, ended)
}

#[test]
fn out_08_a_forged_answer_takes_no_more_than_three_times_what_was_asked_for() {
    case(&[PYTHON], || {
        // What the engine lifts at most, and what an allocator keeps.
        let slack = 48 << 20;
        // Values are asked for in 128 KiB at most (docs/tools.md).
        let most = 3 * (128 << 10) + slack;
        let flat = |mib: usize| format!("text = '\"' + 'x' * ({mib} << 20) + '\"'");
        let numbers = |count: usize| {
            format!(
                "leaf = '{{\"type\":\"object\",\"class\":\"x\",\"id\":1,\"properties\":{{\"a\":[' + '0,' * {count} + '0]}}}}'\n\
                 text = '{{\"type\":\"array\",\"is_list\":true,\"count\":1,\"value\":[' * 58 + leaf + ']}}' * 58"
            )
        };
        let forge = "import _dormouse.values as v\nv.Encoder.text = lambda self, value: text\nobject()";
        let state = tempfile::tempdir().expect("a folder");
        let server = Served::start(&["--state-dir", &state.path().display().to_string()]);
        for text in [flat(1), flat(7), flat(31), numbers(10_000), numbers(3_000_000), numbers(15_000_000)] {
            // What the same text takes that stays inside the guest does not count.
            let (without, ended) = peak(&server, &format!("{text}\nlen(text.encode())"));
            assert_eq!(ended, "returned");
            let (with, ended) = peak(&server, &format!("{text}\n{forge}"));
            assert!(matches!(&*ended, "guest_trap" | "limit_host"), "{ended}");
            let more = with.saturating_sub(without);
            println!("OUT-08 {} KiB of the host's memory for {text:.40}", more >> 10);
            assert!(more <= most, "{} MiB for {text:.60}", more >> 20);
        }
        assert_eq!(peak(&server, "1 + 1").1, "returned");
        server.end();
    });
}
