//! The REPL: lines become runs in one sandbox, blocks and commands as people type them.

use dormouse_tests::binary::{self, Ran, dormouse};

fn typed(arguments: &[&str], lines: &str) -> Ran {
    let ran = dormouse(&[&["repl"], arguments].concat(), lines.as_bytes());
    assert_eq!(ran.status, Some(0), "{}", ran.complaint());
    ran
}

#[test]
fn variables_stay_and_unfinished_code_is_read_on() {
    let lines = "x = 20\ndef f(a):\n    b = a + 1\n\n    return b\n\nf(x) * 2\nlen([\n1,\n2])\n'''a\nb'''\n";
    let ran = typed(&[], lines);
    assert_eq!(ran.text(), "2\na\nb\n", "{}", ran.complaint());
    // An empty line ends the block, as in Python's own.
    assert!(ran.complaint().contains("IndentationError"), "{}", ran.complaint());

    let ran = typed(
        &[],
        "def f(a):\n    b = a + 1\n    return b\n\nif f(1) == 2:\n    print('two')\n\nf(20) * 2\n",
    );
    assert_eq!((ran.text().as_str(), ran.complaint().as_str()), ("two\n42\n", ""));
    let ran = typed(&["-l", "js"], "let a = [1,\n2]\nfunction f() {\nreturn a.length\n}\nf() + 40\n");
    assert_eq!((ran.text().as_str(), ran.complaint().as_str()), ("42\n", ""));
    let ran = typed(&["-l", "php"], "function f() {\nreturn 42;\n}\nreturn f();\n");
    assert_eq!((ran.text().as_str(), ran.complaint().as_str()), ("42\n", ""));
}

#[test]
fn what_is_wrong_is_told_and_the_next_line_goes_on() {
    let ran = typed(
        &["--timeout", "200ms"],
        "x = 1\n1 / 0\n.language cobol\nwhile True: pass\n\n.nonsense\nx = = 2\nx\nf(\n",
    );
    assert_eq!(ran.text(), "1\n");
    let told = ran.complaint();
    for part in [
        "ZeroDivisionError",
        "there is no guest for the language `cobol`",
        "limit_time",
        "there is no command `.nonsense`",
        "invalid syntax",
        "never closed",
        "note: the interpreter is as before this run",
    ] {
        assert!(told.contains(part), "`{part}` is missing in {told}");
    }
}

#[test]
fn commands_look_undo_and_go_back() {
    let ran = typed(
        &[],
        "a = 1\nopen('/workspace/f', 'w').write('x') and None\na = 2\n.undo\na\n.files\n.vars\n.reset\n.vars\n.help\n",
    );
    let text = ran.text();
    assert!(text.starts_with("undone: a = 2\n1\n"), "{text} {}", ran.complaint());
    assert!(text.contains("f\tfile"), "{text}");
    assert!(text.contains(".undo"), "{text}");
    assert_eq!(typed(&[], ".undo\n").text(), "");
    assert_eq!(typed(&[], "1\n.exit\n2\n").text(), "1\n");
}

#[test]
fn a_named_sandbox_is_there_again_and_languages_have_their_own_variables() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().to_str().unwrap();
    let ran =
        typed(&["work", "--state-dir", state], "x = 41\n.language js\nlet x = 'js'\n.checkpoint here\n");
    assert!(ran.text().contains("ckpt-"), "{} {}", ran.text(), ran.complaint());
    let again = typed(&["work", "--state-dir", state], "x + 1\n.language js\nx\n.checkpoints\n");
    assert!(again.text().starts_with("42\njs\n"), "{}", again.text());
    let list = dormouse(&["sandbox", "--state-dir", state, "list"], b"");
    assert!(list.text().contains("work"), "{} {}", list.text(), list.complaint());
    let passing = typed(&["--state-dir", state], "1\n");
    assert_eq!(passing.text(), "1\n");
    let list = dormouse(&["sandbox", "--state-dir", state, "list"], b"");
    assert_eq!(list.text().lines().count(), 1, "the passing one is not kept");
}

#[test]
fn what_is_typed_ahead_of_a_run_that_takes_time_is_read_after_it() {
    let Some(script) = binary::installed("script", "lines that are typed ahead at a terminal") else {
        return;
    };
    let line = format!("{} repl", binary::path().display());
    let mut command = binary::started(&script, &["-q", "-e", "-c", &line, "/dev/null"]);
    command.env("NO_COLOR", "1").env("TERM", "xterm");
    let lines = "import time; time.sleep(1)\nx = 40\nfor i in range(2):\n    x += 1\n\nx * 1000\n.exit\n";
    let ran = binary::finish(command, lines.as_bytes());
    assert!(ran.status == Some(0) && ran.text().contains("42000"), "{}", ran.text());
}
