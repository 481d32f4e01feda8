//! What a snippet is given: input, environment, arguments, folders, the clock (S1-20, S1-22).

use std::fs;
use std::time::{Duration, SystemTime};

use dormouse::grants::WallClock;
use dormouse::{Access, ErrorCode, Policy};
use dormouse_tests::ending::{assert_ends, ending, value};
use dormouse_tests::{JAVASCRIPT, PYTHON, sandbox};
use serde_json::json;

#[test]
fn standard_input_yields_its_bytes_and_then_its_end() {
    for (language, code) in [
        (PYTHON, "import sys; [sys.stdin.readline(), sys.stdin.read(), sys.stdin.read()]"),
        (
            JAVASCRIPT,
            "const all = require('fs').readFileSync(0, 'utf8'); const at = all.indexOf('\\n') + 1; [all.slice(0, at), all.slice(at), '']",
        ),
    ] {
        let outcome = sandbox::run(sandbox::snippet(language, code).stdin("first\nünd\0rest"));
        let found: Vec<_> =
            value(&outcome)["value"].as_array().unwrap().iter().map(|item| item["value"].clone()).collect();
        assert_eq!(json!(found), json!(["first\n", "ünd\0rest", ""]), "{language}");
    }
    assert_ends(&sandbox::eval(PYTHON, "input()"), &["raised EOFError"]);
    let binary = sandbox::snippet(PYTHON, "import sys; sys.stdin.buffer.read()").stdin(vec![0, 0xff, 0xfe]);
    assert_eq!(value(&sandbox::run(binary))["value"], "AP/+");
    let long = sandbox::snippet(PYTHON, "import sys; len(sys.stdin.read())").stdin("x".repeat(4 << 20));
    assert_eq!(value(&sandbox::run(long))["value"], 4 << 20);
}

#[test]
fn environment_and_arguments_are_those_of_the_run() {
    for (language, code) in [
        (PYTHON, "import os, sys; [dict(os.environ), sys.argv[1:]]"),
        (JAVASCRIPT, "[{ ...process.env }, process.argv.slice(-3)]"),
    ] {
        let mut request = sandbox::request(language, code);
        request.context.grants.environment =
            vec![("ONE".into(), "ü = 1".into()), ("EMPTY".into(), String::new())];
        request.context.grants.arguments = vec!["--flag".into(), "a b".into(), "ü".into()];
        let found = value(&sandbox::run_request(request));
        assert_eq!(found["value"][0]["value"]["ONE"]["value"], "ü = 1", "{language}: {found}");
        assert_eq!(found["value"][0]["value"]["EMPTY"]["value"], "", "{language}");
        let words: Vec<_> =
            found["value"][1]["value"].as_array().unwrap().iter().map(|item| item["value"].clone()).collect();
        assert_eq!(json!(words), json!(["--flag", "a b", "ü"]), "{language}");
    }
}

#[test]
fn a_name_that_is_no_variable_is_refused() {
    for name in ["", "A=B", "A\0"] {
        let refused = sandbox::wait(sandbox::snippet(PYTHON, "1").env(name, "x").run());
        assert_eq!(refused.unwrap_err().code(), ErrorCode::ArgsInvalid, "{name:?}");
    }
}

#[test]
fn a_mount_shows_a_folder_read_only_or_writable() {
    for (language, read, write) in [
        (PYTHON, "open('/data/in.txt').read()", "open('/data/out.txt', 'w').write('made')"),
        (
            JAVASCRIPT,
            "require('fs').readFileSync('/data/in.txt', 'utf8')",
            "require('fs').writeFileSync('/data/out.txt', 'made'); 4",
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("in.txt"), "given").unwrap();
        let run = |code: &str, access| {
            sandbox::run(sandbox::snippet(language, code).mount(folder.path(), "/data", access))
        };
        assert_eq!(value(&run(read, Access::ReadOnly))["value"], "given", "{language}");
        assert!(ending(&run(write, Access::ReadOnly)).starts_with("raised"), "{language}");
        assert!(!folder.path().join("out.txt").exists(), "{language}");
        assert_eq!(value(&run(write, Access::ReadWrite))["value"], 4, "{language}");
        assert_eq!(fs::read_to_string(folder.path().join("out.txt")).unwrap(), "made");
    }
}

#[test]
fn the_operator_decides_whether_a_mount_can_be_writable() {
    let strict = sandbox::with_policy(Policy::default());
    let folder = tempfile::tempdir().unwrap();
    let run =
        |access| sandbox::wait(strict.snippet(JAVASCRIPT, "1").mount(folder.path(), "/data", access).run());
    let error = run(Access::ReadWrite).unwrap_err();
    assert_eq!(error.code(), ErrorCode::WriteDenied);
    assert!(error.message().contains("/data") && error.hint().is_some(), "{error}");
    assert_ends(&run(Access::ReadOnly).unwrap(), &["returned"]);
}

#[test]
fn a_mount_that_cannot_be_is_refused_with_its_name() {
    let run = |source: &str, target: &str| {
        sandbox::wait(sandbox::snippet(JAVASCRIPT, "1").mount(source, target, Access::ReadOnly).run())
            .unwrap_err()
    };
    assert_eq!(run("/", "relative").code(), ErrorCode::ArgsInvalid);
    assert_eq!(run("/", "/tmp").code(), ErrorCode::ArgsInvalid);
    assert_eq!(run("/", "/a/../b").code(), ErrorCode::ArgsInvalid);
    let missing = run("/no/such/folder", "/data");
    assert_eq!(missing.code(), ErrorCode::PathDenied);
    assert!(missing.message().contains("/no/such/folder"), "{missing}");
}

#[test]
fn the_working_directory_is_where_relative_paths_begin() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("in.txt"), "given").unwrap();
    for (language, code) in [
        (PYTHON, "import os; os.getcwd() + ' ' + open('in.txt').read()"),
        (JAVASCRIPT, "process.cwd() + ' ' + require('fs').readFileSync('in.txt', 'utf8')"),
    ] {
        let snippet = sandbox::snippet(language, code)
            .mount(folder.path(), "/data", Access::ReadOnly)
            .directory("/data");
        assert_eq!(value(&sandbox::run(snippet))["value"], "/data given", "{language}");
    }
}

#[test]
fn its_own_files_can_be_written_and_vanish() {
    for (language, write, look) in [
        (
            PYTHON,
            "open('/tmp/mine', 'w').write('x'); open('/tmp/mine').read()",
            "import os; os.listdir('/tmp')",
        ),
        (
            JAVASCRIPT,
            "const fs = require('fs'); fs.writeFileSync('/tmp/mine', 'x'); fs.readFileSync('/tmp/mine', 'utf8')",
            "require('fs').readdirSync('/tmp')",
        ),
    ] {
        assert_eq!(sandbox::value_of(language, write)["value"], "x", "{language}");
        assert_eq!(sandbox::value_of(language, look)["count"], 0, "{language}: the next run's is empty");
    }
}

#[test]
fn the_clock_is_the_hosts_unless_it_is_fixed() {
    for (language, code) in [(PYTHON, "import time; time.time()"), (JAVASCRIPT, "Date.now() / 1000")] {
        let now = || SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs_f64();
        let before = now();
        let found = sandbox::value_of(language, code)["value"].as_f64().unwrap();
        assert!(found >= before - 1.0 && found <= now() + 1.0, "{language}: {found}");
        let mut request = sandbox::request(language, code);
        request.context.grants.clock =
            WallClock::Fixed(SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000));
        assert_eq!(value(&sandbox::run_request(request))["value"].as_f64(), Some(1e9), "{language}");
    }
}

#[test]
fn there_is_no_network() {
    for code in [
        "import urllib.request; urllib.request.urlopen('http://127.0.0.1:1/')",
        "import socket; socket.create_connection(('127.0.0.1', 1))",
        "import http.client; http.client.HTTPConnection('127.0.0.1').request('GET', '/')",
        "import asyncio; asyncio.run(asyncio.open_connection('127.0.0.1', 1))",
    ] {
        let outcome = sandbox::eval(PYTHON, code);
        let exception = dormouse_tests::ending::exception(&outcome);
        assert!(exception.message.contains("this sandbox has no network"), "{code}: {}", exception.message);
    }
    let outcome =
        sandbox::eval(JAVASCRIPT, "await fetch('http://127.0.0.1:1/').catch(({ cause }) => { throw cause })");
    let message = &dormouse_tests::ending::exception(&outcome).message;
    assert!(message.contains("this sandbox has no network"), "{message}");
}
