//! The command line (S1-02, S1-03, S1-09): exit statuses, where the code comes from, what is printed.

use std::fs;

use dormouse_tests::binary::{self, Ran, dormouse};
use dormouse_tests::wire::{PATIENCE, Wire};
use serde_json::{Value as Json, json};

fn eval(arguments: &[&str]) -> Ran {
    dormouse(&[&["eval"], arguments].concat(), b"")
}

#[track_caller]
fn prints(arguments: &[&str], wanted: &str) {
    let ran = eval(arguments);
    assert_eq!((ran.status, ran.text().as_str()), (Some(0), wanted), "{arguments:?}: {}", ran.complaint());
}

#[test]
fn the_exit_status_says_how_it_ended() {
    for (arguments, status) in [
        (vec!["1"], 0),
        (vec!["exit()"], 0),
        (vec!["raise ValueError('no')"], 1),
        (vec!["x = = 1"], 1),
        (vec!["exit(7)"], 7),
        (vec!["--timeout", "100ms", "while True: pass"], 124),
        (vec!["--fuel", "1000", "while True: pass"], 137),
        (vec!["-l", "js", "process.exit(9)"], 9),
        (vec!["-l", "cobol", "1"], 2),
        (vec!["--timeout", "61s", "1"], 2),
        (vec!["--memory", "1GiB", "1"], 2),
        (vec!["--memory", "16MiB", "1"], 2),
        (vec!["--no-such-flag", "1"], 2),
        (vec!["--mount", "nonsense", "1"], 2),
        (vec!["--network", "none.toml", "1"], 1),
    ] {
        let ran = eval(&arguments);
        assert_eq!(ran.status, Some(status), "{arguments:?}: {}{}", ran.text(), ran.complaint());
        assert!(!ran.complaint().contains("panicked"), "{}", ran.complaint());
    }
}

#[test]
fn the_value_goes_to_standard_output_and_trouble_to_standard_error() {
    prints(&["1 + 1"], "2\n");
    prints(&["'text'"], "text\n");
    prints(&["print('out')"], "out\n");
    prints(&["print('out'); 5"], "out\n5\n");
    prints(&["-l", "javascript", "[1, 2].map(x => x * 2)"], "[2, 4]\n");
    prints(&["-l", "typescript", "const x: number = 1; x"], "1\n");
    let ran = eval(&["import sys; print('out'); print('err', file=sys.stderr); 1 / 0"]);
    assert_eq!(ran.text(), "out\n");
    let told = ran.complaint();
    assert!(told.starts_with("err\n") && told.contains("ZeroDivisionError: division by zero"), "{told}");
    assert!(told.contains("1 / 0") && told.contains("<snippet>:1"), "the source is shown: {told}");
}

#[test]
fn a_null_value_is_shown_in_the_languages_word_where_it_is_asked_for() {
    for (language, code, word) in [
        ("python", "None", "None\n"),
        ("php", "return null;", "NULL\n"),
        ("js", "null", "null\n"),
        ("js", "undefined", "undefined\n"),
    ] {
        prints(&["-l", language, code], "");
        prints(&["-l", language, "--show-null", code], word);
    }
    assert_eq!(eval(&["--show-null", "--json", "None"]).status, Some(2), "there it is in any case");
}

#[test]
fn s1_03_a_terminal_shows_a_null_value() {
    let Some(script) = binary::installed("script", "values on a terminal") else { return };
    let program = binary::path();
    for (language, code, shown) in [
        ("php", "return null;", "= NULL  null"),
        ("python", "None", "= None  null"),
        ("js", "void 0", "= undefined  null"),
    ] {
        let line = format!("{} eval -l {language} '{code}'", program.display());
        let mut command = binary::started(&script, &["-q", "-e", "-c", &line, "/dev/null"]);
        command.env("NO_COLOR", "1");
        let ran = binary::finish(command, b"");
        assert!(ran.status == Some(0) && ran.text().contains(shown), "{language}: {ran:?}");
    }
}

#[test]
fn s1_19_the_least_memory_of_a_language_is_told() {
    for (language, code) in [("Python", "1 + 1"), ("JavaScript", "1 + 1"), ("PHP", "return 1 + 1;")] {
        let name = language.to_lowercase();
        let ran = eval(&["--memory", "16MiB", "-l", &name, code]);
        let told = ran.complaint();
        let begin = "error[args_invalid]: a memory limit of 16777216 bytes (16 MiB) is too small for";
        assert!(told.starts_with(&format!("{begin} {language}")), "{told}");
        let least = told.split("alone takes ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
        assert!(told.contains(&format!("hint: ask for {least} MiB or more")), "{told}");
        prints(&["--memory", &format!("{least}MiB"), "-l", &name, code], "2\n");
    }
}

#[test]
fn s1_25_unsafe_keeps_the_limits_that_are_asked_for() {
    let ran = eval(&["-l", "php", "--unsafe", "--yes", "--timeout", "300ms", "while (true);"]);
    assert_eq!(ran.status, Some(124), "{}", ran.complaint());
    assert!(ran.complaint().contains("the wall-clock limit of 300 ms"), "{}", ran.complaint());
}

#[test]
fn a_snippet_in_another_language_gets_a_hint() {
    for (language, code, other) in [
        ("python", "return 1 + 1;", Some("php")),
        ("python", "$x = 1; $x;", Some("php")),
        ("python", "<?php return 1;", Some("php")),
        ("python", "const x = 1; x", Some("javascript")),
        ("js", "const x: number = 1; x", Some("typescript")),
        ("js", "def f(x):\n    return x", Some("python")),
        ("php", "let x = 1; x", Some("javascript")),
        ("python", "x = = 1", None),
    ] {
        let ran = eval(&["-l", language, code]);
        assert_eq!(ran.status, Some(1), "{code}: {}", ran.complaint());
        match other {
            Some(other) => {
                let hint = format!("add `-l {other}`");
                assert!(
                    ran.complaint().contains("hint: ") && ran.complaint().contains(&hint),
                    "{code}: {}",
                    ran.complaint()
                );
            }
            None => assert!(!ran.complaint().contains("hint: "), "{code}: {}", ran.complaint()),
        }
    }
    let json: Json = serde_json::from_slice(&eval(&["--json", "return 1;"]).stdout).unwrap();
    let hint = json["exception"]["hint"].as_str().unwrap();
    assert!(hint.contains("PHP") && hint.contains("`php`"), "{json}");
}

#[test]
fn a_word_of_another_language_gets_a_hint() {
    for (language, code, hint) in [
        ("python", "x = null", Some("Python has no `null`: write `None`")),
        ("python", "[true, 1]", Some("Python has no `true`: write `True`")),
        (
            "python",
            "return 1",
            Some("Python has no `return` outside of a function: the value is that of the last expression"),
        ),
        ("js", "let x = None; x", Some("JavaScript has no `None`: write `null`")),
        ("js", "True", Some("JavaScript has no `True`: write `true`")),
        ("js", "print(1)", Some("JavaScript has no `print`: write `console.log`")),
        ("ts", "const x: boolean = False; x", Some("TypeScript has no `False`: write `false`")),
        ("js", "if x is not None:\n    x = 1", Some("add `-l python`")),
        ("php", "return None;", Some("PHP has no `None`: write `null`")),
        ("php", "x = None", Some("add `-l python`")),
        ("python", "eval('{\"a\": true}')", None),
        ("python", "raise NameError('none')", None),
        ("js", "Nothing", None),
    ] {
        let ran = eval(&["-l", language, code]);
        let told = ran.complaint();
        assert_eq!(ran.status, Some(1), "{code}: {told}");
        match hint {
            Some(hint) => assert!(told.contains("hint: ") && told.contains(hint), "{code}: {told}"),
            None => assert!(!told.contains("hint: "), "{code}: {told}"),
        }
    }
    // A hint of another kind stays.
    let ran = eval(&["--memory", "64MiB", "bytearray(1 << 30)"]);
    assert!(
        ran.complaint().contains("MemoryError") && ran.complaint().contains("hint: "),
        "{}",
        ran.complaint()
    );
    for (language, code) in [
        ("python", "null = true = 1; null + true"),
        ("js", "const None = 1, print = x => x; print(None) + 1"),
        ("php", "const None = 1; return None + 1;"),
    ] {
        prints(&["-l", language, code], "2\n");
    }
}

#[test]
fn the_language_of_a_project_is_guessed() {
    let folder = tempfile::tempdir().unwrap();
    let host = folder.path().to_str().unwrap();
    prints(&["--project", host, "len('ab')"], "2\n");
    fs::write(folder.path().join("package.json"), "{}").unwrap();
    prints(&["--project", host, "[1, 2].map(x => x * 2)"], "[2, 4]\n");
    fs::write(folder.path().join("composer.json"), "{}").unwrap();
    prints(&["--project", host, "return strlen('abc');"], "3\n");
    prints(&["--project", host, "-l", "python", "len('ab')"], "2\n");
}

#[test]
fn a_limit_is_told_with_its_code_and_a_hint() {
    let ran = eval(&["--timeout", "100ms", "print('kept')\nwhile True: pass"]);
    assert_eq!(ran.text(), "kept\n");
    let told = ran.complaint();
    assert!(told.contains("limit_time") && told.contains("100 ms") && told.contains("hint"), "{told}");
}

#[test]
fn code_comes_from_the_argument_a_file_or_standard_input() {
    let folder = tempfile::tempdir().unwrap();
    for (name, code, wanted) in [
        ("a.py", "import sys\nsys.argv[1:]", "[\"-x\", \"y\"]\n"),
        ("b.js", "process.argv.slice(-2)", "[\"-x\", \"y\"]\n"),
        ("c.ts", "const x: number = 3; x", "3\n"),
    ] {
        let path = folder.path().join(name);
        fs::write(&path, code).unwrap();
        prints(&["--file", path.to_str().unwrap(), "--", "-x", "y"], wanted);
    }
    let piped = dormouse(&["eval", "-"], b"21 * 2");
    assert_eq!((piped.status, piped.text().as_str()), (Some(0), "42\n"));
    let piped = dormouse(&["eval", "-l", "js"], b"21 * 2");
    assert_eq!((piped.status, piped.text().as_str()), (Some(0), "42\n"));
    let missing = eval(&["--file", "/no/such/file.py"]);
    assert_ne!(missing.status, Some(0));
    assert!(missing.complaint().contains("/no/such/file.py"), "{}", missing.complaint());
}

#[test]
fn after_two_dashes_nothing_is_a_flag() {
    prints(&["--", "--5"], "5\n");
    prints(&["--", "-5"], "-5\n");
    // What cannot be an option is code without them.
    prints(&["-5 % 3"], "1\n");
    prints(&["-len('abc')"], "-3\n");
    prints(&["-l", "PHP", "-abs(-3)"], "-3\n");
    let called = eval(&["-f(3)"]);
    assert!(called.status == Some(1) && called.complaint().contains("NameError"), "{}", called.complaint());
    let ran = eval(&["--", "--unsafe"]);
    assert!(ran.complaint().contains("NameError"), "{}", ran.complaint());
    assert_eq!(eval(&["--unsafe", "1"]).status, Some(2), "there is no such flag");
}

#[test]
fn folders_are_shown_read_only_unless_writes_are_allowed() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("in.txt"), "given").unwrap();
    let host = folder.path().to_str().unwrap();
    let (plain, writable) = (format!("{host}:/data"), format!("{host}:/data:rw"));
    prints(&["--mount", &plain, "open('/data/in.txt').read()"], "given\n");
    prints(&["--project", host, "open('in.txt').read()"], "given\n");
    let write = "open('/data/out.txt', 'w').write('made')";
    assert_eq!(eval(&["--mount", &plain, write]).status, Some(1));
    assert_ne!(eval(&["--mount", &writable, write]).status, Some(0), "without --writes");
    assert!(!folder.path().join("out.txt").exists());
    prints(&["--writes", "--mount", &writable, write], "4\n");
    assert_eq!(fs::read_to_string(folder.path().join("out.txt")).unwrap(), "made");
}

#[test]
fn s1_24_code_made_from_text_can_be_refused() {
    for (language, code, class) in [
        ("py", "eval('1')", "PermissionError"),
        ("js", "eval('1')", "EvalError"),
        ("ts", "eval('1')", "EvalError"),
    ] {
        prints(&["-l", language, code], "1\n");
        let ran = eval(&["-l", language, "--no-eval", code]);
        assert_eq!((ran.status, ran.text().as_str()), (Some(1), ""), "{language}");
        let wanted = format!("{class}: eval is not allowed here");
        assert!(ran.complaint().contains(&wanted), "{language}: {}", ran.complaint());
    }
    assert_eq!(eval(&["--no-eval", "--unsafe", "1"]).status, Some(2), "they exclude each other");
}

#[test]
fn programs_run_under_the_same_limits() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("cache");
    let program = |name: &str, body: &str| {
        let text = format!(
            r#"(module (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
                (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
                (memory (export "memory") 1) (data (i32.const 8) "\10\00\00\00\03\00\00\00hi\0a") (func (export "_start") {body}))"#
        );
        let path = folder.path().join(name);
        fs::write(&path, wat::parse_str(text).unwrap()).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let run = |arguments: &[&str]| {
        dormouse(&[&["--cache-dir", cache.to_str().unwrap(), "run"], arguments].concat(), b"")
    };
    let hello =
        program("hello.wasm", "(drop (call $write (i32.const 1) (i32.const 8) (i32.const 1) (i32.const 0)))");
    let ran = run(&[&hello]);
    assert_eq!((ran.status, ran.text().as_str()), (Some(0), "hi\n"), "{}", ran.complaint());
    assert_eq!(run(&[&program("three.wasm", "(call $exit (i32.const 3))")]).status, Some(3));
    assert_eq!(run(&[&program("zero.wasm", "(call $exit (i32.const 0)) unreachable")]).status, Some(0));
    assert_eq!(run(&["--timeout", "100ms", &program("loop.wasm", "(loop (br 0))")]).status, Some(124));
    let bad = folder.path().join("bad.wasm");
    for (content, what) in
        [("hello", "is not WebAssembly"), ("(module)", "is WebAssembly text"), ("", "is empty")]
    {
        fs::write(&bad, content).unwrap();
        let ran = run(&[bad.to_str().unwrap()]);
        assert_eq!(ran.status, Some(1));
        let complaint = format!("error[bad_component]: the program {what}\nhint: ");
        assert!(ran.complaint().starts_with(&complaint), "{}", ran.complaint());
    }
}

#[test]
fn the_installation_tells_about_itself() {
    for arguments in [
        &["guests", "list"][..],
        &["guests", "path", "python"],
        &["doctor"],
        &["completions", "bash"],
        &["--version"],
        &["--help"],
    ] {
        let ran = dormouse(arguments, b"");
        assert_eq!(ran.status, Some(0), "{arguments:?}: {}", ran.complaint());
        assert!(!ran.stdout.is_empty(), "{arguments:?}");
    }
    let doctor = dormouse(&["doctor"], b"").text();
    // The sum of docs/capacity.md.
    assert!(doctor.contains("with a pool of 334 instances"), "{doctor}");
    let list = dormouse(&["guests", "list"], b"").text();
    assert!(
        list.contains("python") && list.contains("CPython 3.14") && list.contains("javascript"),
        "{list}"
    );
}

#[test]
fn json_is_one_line_also_when_the_run_was_refused() {
    for arguments in [
        &["--json", "1"][..],
        &["--json", "1 / 0"],
        &["--json", "-l", "cobol", "1"],
        &["--json", "--timeout", "1h", "1"],
    ] {
        let ran = eval(arguments);
        let parsed: Json = serde_json::from_slice(&ran.stdout)
            .unwrap_or_else(|error| panic!("{arguments:?}: {error}: {}{}", ran.text(), ran.complaint()));
        assert!(parsed["ok"].is_boolean() && ran.text().lines().count() == 1, "{parsed}");
    }
}

/// A container that is wished for is had, or there is no sandbox; somebody else takes its place only where that was allowed.
#[test]
fn s3_16_a_container_that_cannot_be_had_is_an_error_unless_wasm_will_do() {
    let state = tempfile::tempdir().unwrap();
    let of = |words: &[&str]| {
        let folder = ["sandbox", "--state-dir", state.path().to_str().unwrap()];
        dormouse(&[&folder, words].concat(), b"")
    };
    let refused = of(&["create", "big", "--image", "python:3"]);
    let told = refused.complaint();
    assert_eq!(refused.status, Some(1), "{told}");
    assert!(told.contains("error[provider_unavailable]") && told.contains("--docker-image"), "{told}");
    assert_eq!(of(&["list"]).text(), "");
    let made = of(&["create", "big", "--image", "python:3", "--fallback"]);
    let told = made.complaint();
    assert_eq!(made.status, Some(0), "{told}");
    assert!(told.contains("on wasm and not on docker"), "{told}");
    assert!(!told.contains("provider: \""), "words, not fields: {told}");
}

#[test]
fn s2_02_a_sandbox_is_made_with_limits_times_and_variables() {
    let state = tempfile::tempdir().unwrap();
    let of = |words: &[&str]| {
        let folder = ["sandbox", "--state-dir", state.path().to_str().unwrap()];
        dormouse(&[&folder, words].concat(), b"")
    };
    let asked = "--memory 128MiB --disk 10MiB --files 500 --cpu 0.5 --processes 9 --persistence files --idle-timeout 2m --retention 1h";
    let asked: Vec<&str> = asked.split(' ').chain(["--env", "WHO=me"]).collect();
    let made = of(&[&["create", "box", "--json"], &asked[..]].concat());
    let shown: serde_json::Value = serde_json::from_str(&made.text()).unwrap();
    assert_eq!(shown["limits"]["memory_bytes"], 128 << 20, "{shown}");
    assert_eq!(shown["limits"]["disk_bytes"], 10 << 20);
    let counts = ["files", "cpu_millis", "processes"].map(|name| shown["limits"][name].as_u64());
    assert_eq!(counts, [Some(500), Some(500), Some(9)], "{shown}");
    assert_eq!(shown["persistence"], "files");
    assert_eq!((&shown["idle_timeout_ms"], &shown["retention_ms"]), (&120_000.into(), &3_600_000.into()));
    assert_eq!(of(&["exec", "box", "echo $WHO"]).text(), "me\n");
    let wrong = of(&["create", "--memory", "much"]);
    assert_eq!(wrong.status, Some(2));
    assert!(wrong.complaint().contains("write a size such as `256MiB`"), "{}", wrong.complaint());
    for (option, value, said) in [
        ("--cpu", "half", "write a number such as `2` or `0.5`"),
        ("--cpu", "1000", "outside"),
        ("--files", "9999999", "outside"),
        ("--idle", "30", "a time needs a unit"),
    ] {
        let wrong = of(&["create", option, value]);
        assert_ne!(wrong.status, Some(0), "{option}");
        assert!(wrong.complaint().contains(said), "{option}: {}", wrong.complaint());
    }
    assert_eq!(of(&["list"]).text().lines().count(), 1, "nothing else was made");
}

#[test]
fn a_port_that_is_taken_is_no_fault_of_ours() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let state = tempfile::tempdir().unwrap();
    let folder = state.path().to_str().unwrap();
    let ran = dormouse(&["serve", "--listen", &address, "--state-dir", folder], b"");
    let told = ran.complaint();
    assert_eq!(ran.status, Some(1), "{told}");
    assert!(
        told.contains("error[invalid_state]") && told.contains("another program listens there"),
        "{told}"
    );
    assert!(told.contains("hint: end it, or choose another port"), "{told}");
}

/// One object for one thing, whichever door is asked.
#[test]
fn b_26_a_command_line_answers_with_json_as_the_tool_does() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().to_str().unwrap();
    let sandbox = |words: &[&str]| dormouse(&[&["sandbox", "--state-dir", state], words].concat(), b"");
    assert_eq!(sandbox(&["create", "box"]).status, Some(0));
    let line = "echo out; echo err >&2; csplit a; exit 3";
    let ran = sandbox(&["--json", "exec", "box", line]);
    assert_eq!(ran.status, Some(3), "{}", ran.complaint());
    let mut told: Json = serde_json::from_str(&ran.text()).unwrap();
    let mut wire = Wire::greeted(&["--state-dir", state]);
    let mut answer = wire.call(1, "sandbox_exec", json!({"sandbox": "box", "command": line}));
    wire.end(PATIENCE);
    let hint = told["unavailable"]["hint"].as_str().unwrap();
    assert!(hint.contains("`dormouse sandbox create`"), "in the words of this door: {told}");
    for answer in [&mut told, &mut answer["structuredContent"]] {
        (answer["duration_ms"], answer["unavailable"]["hint"]) = (Json::Null, Json::Null);
    }
    assert_eq!(told, answer["structuredContent"]);
    // For people: who would have what is missing, in the words of this door.
    let ran = sandbox(&["exec", "box", "csplit a"]);
    let said = ran.complaint();
    assert!(
        said.contains("note: there is no command `csplit`") && said.contains("`dormouse sandbox create`"),
        "{said}"
    );
}

/// What is handed over is read with `-i` alone; that it was not is said.
#[test]
fn input_of_a_command_line_that_is_not_read_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().to_str().unwrap();
    let sandbox =
        |words: &[&str], input: &[u8]| dormouse(&[&["sandbox", "--state-dir", state], words].concat(), input);
    assert_eq!(sandbox(&["create", "box"], b"").status, Some(0));
    let note = "note: standard input was not read; `-i` passes it on\n";
    for (words, input, out, said) in [
        (&["exec", "box", "cat"][..], "text\n", "", note),
        (&["exec", "-i", "box", "cat"], "text\n", "text\n", ""),
        (&["exec", "box", "cat"], "", "", ""),
    ] {
        let ran = sandbox(words, input.as_bytes());
        assert_eq!((ran.text().as_str(), ran.complaint().as_str()), (out, said), "{words:?} {input:?}");
        assert_eq!(ran.status, Some(0));
    }
    let ran = sandbox(&["--json", "exec", "box", "cat"], b"text\n");
    assert!(serde_json::from_str::<Json>(&ran.text()).is_ok(), "{}", ran.text());
    assert_eq!(ran.complaint(), note);
}

/// What was made in another place than was asked for says so each time, not at first alone.
#[test]
fn b_20_a_sandbox_that_is_not_where_it_was_asked_to_be_says_so_at_each_command() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().to_str().unwrap();
    let sandbox = |words: &[&str]| dormouse(&[&["sandbox", "--state-dir", state], words].concat(), b"");
    let refused = sandbox(&["create", "build", "--image", "tools:1"]);
    assert!(
        refused.status == Some(1) && refused.complaint().contains("--docker-image"),
        "{}",
        refused.complaint()
    );
    assert_eq!(sandbox(&["list"]).text(), "", "there is none then");
    assert_eq!(sandbox(&["create", "build", "--image", "tools:1", "--fallback"]).status, Some(0));
    for words in [["exec", "build", "echo here"], ["eval", "build", "print('here')"]] {
        let ran = sandbox(&words);
        assert_eq!((ran.status, ran.text().as_str()), (Some(0), "here\n"));
        assert_eq!(ran.complaint(), "note: the sandbox is on wasm and not on docker\n");
    }
}
