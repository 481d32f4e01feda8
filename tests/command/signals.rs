//! Signals that ask the command line to end: what has changed is saved, and it says what came.

#![allow(clippy::unwrap_used, reason = "a test ends where an answer is not what it must be")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdout};
use std::time::Duration;

use dormouse_tests::binary::{self, dormouse, wait};
use dormouse_tests::served::signal;

/// How long a command may take to save and end.
const SOON: Duration = Duration::from_secs(30);

/// A command that has begun: it has written its first line.
struct Begun {
    child: Child,
    stdout: BufReader<ChildStdout>,
}

impl Begun {
    fn new(arguments: &[&str], line: &str, stdin: &str) -> Self {
        let mut child = binary::command(arguments).spawn().unwrap();
        child.stdin.as_mut().unwrap().write_all(stdin.as_bytes()).unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut first = String::new();
        stdout.read_line(&mut first).unwrap();
        assert_eq!(first.trim(), line);
        Self { child, stdout }
    }

    /// The exit status, and what it had to say.
    fn end(mut self, signals: &[&str]) -> (Option<i32>, String) {
        for name in signals {
            signal(self.child.id(), name);
        }
        let status = wait(&mut self.child, SOON);
        let (mut rest, mut told) = (String::new(), String::new());
        self.stdout.read_to_string(&mut rest).unwrap();
        self.child.stderr.take().unwrap().read_to_string(&mut told).unwrap();
        (status, told)
    }
}

fn sandbox<'a>(state: &'a Path, words: &[&'a str]) -> Vec<&'a str> {
    [&["sandbox", "--state-dir", state.to_str().unwrap()], words].concat()
}

#[test]
fn a_command_that_is_asked_to_end_saves_what_it_has_written_and_says_so() {
    let state = tempfile::tempdir().unwrap();
    let state = state.path();
    let ran = dormouse(&sandbox(state, &["create", "box"]), b"");
    assert_eq!(ran.status, Some(0), "{}", ran.complaint());
    let ran = dormouse(&sandbox(state, &["eval", "box", "x = 41"]), b"");
    assert_eq!(ran.status, Some(0), "{}", ran.complaint());
    for (name, status) in [("INT", 130), ("TERM", 143), ("HUP", 129)] {
        for (verb, code) in [
            ("exec", format!("echo {name} > exec; echo begun; sleep 60")),
            (
                "eval",
                format!(
                    "x = 0\nopen('eval', 'w').write('{name}')\nprint('begun', flush=True)\nimport time\ntime.sleep(25)"
                ),
            ),
        ] {
            let arguments = match verb {
                // What comes behind the name of a command is the command's.
                "exec" => sandbox(state, &["exec", "--timeout", "30s", "box", &code]),
                _ => sandbox(state, &[verb, "box", "--timeout", "30s", &code]),
            };
            let (ended, told) = Begun::new(&arguments, "begun", "").end(&[name]);
            assert_eq!(ended, Some(status), "{verb}: {told}");
            assert!(told.contains("cancelled") && told.contains(&format!("SIG{name}")), "{verb}: {told}");
            let read = dormouse(&sandbox(state, &["exec", "box", &format!("cat {verb}")]), b"");
            assert_eq!(read.text().trim(), name, "{verb}: {}", read.complaint());
        }
        let value = dormouse(&sandbox(state, &["eval", "box", "x + 1"]), b"");
        assert_eq!(value.text(), "42\n", "as before the call: {}", value.complaint());
    }
}

#[test]
fn a_snippet_without_a_sandbox_ends_with_the_signal_too() {
    let code = "print('begun', flush=True)\nwhile True: pass";
    let (status, told) = Begun::new(&["eval", "--timeout", "30s", code], "begun", "").end(&["INT"]);
    assert_eq!(status, Some(130), "{told}");
    assert!(told.contains("SIGINT"), "{told}");
}

#[test]
fn a_repl_that_is_asked_to_end_saves_its_sandbox_or_says_that_it_is_gone() {
    let state = tempfile::tempdir().unwrap();
    let folder = state.path().to_str().unwrap();
    let repl = ["repl", "--state-dir", folder, "--timeout", "30s", "box"];
    let typed = "x = 41\nprint('ready')\n";
    // While it waits for a line, whose input stays open.
    let (status, told) = Begun::new(&repl, "ready", typed).end(&["HUP"]);
    assert_eq!(status, Some(129), "{told}");
    assert!(told.contains("saved"), "{told}");
    let value = dormouse(&sandbox(state.path(), &["eval", "box", "x + 1"]), b"");
    assert_eq!(value.text(), "42\n", "{}", value.complaint());
    // In the middle of a run.
    let typed = "print('run', flush=True); import time; time.sleep(25)\n";
    let (status, told) = Begun::new(&repl, "run", typed).end(&["TERM"]);
    assert_eq!(status, Some(143), "{told}");
    let value = dormouse(&sandbox(state.path(), &["eval", "box", "x + 1"]), b"");
    assert_eq!(value.text(), "42\n", "{}", value.complaint());
    let (status, told) = Begun::new(&["repl"], "ready", "print('ready')\n").end(&["HUP"]);
    assert_eq!(status, Some(129), "{told}");
    assert!(told.contains("gone"), "{told}");
}

/// Whose terminal is closed.
#[test]
fn a_server_that_is_asked_to_end_saves_whichever_signal_it_is() {
    for name in ["INT", "TERM", "HUP"] {
        let state = tempfile::tempdir().unwrap();
        let mut wire = dormouse_tests::wire::Wire::greeted(&["--state-dir", state.path().to_str().unwrap()]);
        wire.call(1, "sandbox_create", serde_json::json!({"name": "box"}));
        wire.call(2, "sandbox_eval", serde_json::json!({"sandbox": "box", "code": "x = 41"}));
        signal(wire.process(), name);
        let ran = wire.wait(SOON);
        assert_eq!(ran.status, Some(0), "{name}: {}", ran.complaint());
        let value = dormouse(&sandbox(state.path(), &["eval", "box", "x + 1"]), b"");
        assert_eq!(value.text(), "42\n", "{name}: {}", value.complaint());
    }
}
