//! Snippets that end the interpreter, and snippets that forge its frames. The host gets an error, and does not wait.

use std::time::{Duration, Instant};

use dormouse_core::{ErrorCode, Language, Status};

use crate::support::{in_language, is_here, languages, start, value};

fn stopped(status: &Status) -> ErrorCode {
    match status {
        Status::Stopped(error) => error.code(),
        other => panic!("not stopped: {other:?}"),
    }
}

#[tokio::test]
async fn an_interpreter_that_is_killed_in_mid_call_is_told() {
    for language in languages() {
        let mut running = start(&language).await;
        let code = in_language(
            &language,
            [
                "import os, signal\nprint('kept')\nos.kill(os.getpid(), signal.SIGKILL)",
                "console.log('kept'); process.kill(process.pid, 'SIGKILL'); for (;;);",
                "echo \"kept\\n\"; passthru('kill -9 ' . getmypid()); for (;;);",
            ],
        );
        let reply = running.eval(code).await;
        assert_eq!(stopped(&reply.status), ErrorCode::GuestTrap, "{language}");
        assert_eq!(reply.stdout.text, "kept\n", "{language}");
        assert!(!running.interpreter.is_whole());
        let error = running.interpreter.eval(&running.snippet("1")).await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::GuestTrap);
    }
}

#[tokio::test]
async fn the_relay_killed_as_well_is_told() {
    for language in languages() {
        let mut running = start(&language).await;
        let code = in_language(
            &language,
            [
                "import os\nos.kill(os.getppid(), 9)\nwhile True: pass",
                "process.kill(process.ppid, 'SIGKILL'); for (;;);",
                "passthru('kill -9 $(ps -o ppid= -p ' . getmypid() . ')'); for (;;);",
            ],
        );
        if language.as_str() == "php" {
            running.child.kill().await.unwrap();
        }
        let reply = running.eval(code).await;
        assert_eq!(stopped(&reply.status), ErrorCode::GuestTrap, "{language}");
    }
}

#[tokio::test]
async fn the_time_limit_keeps_what_was_written() {
    for language in languages() {
        let mut running = start(&language).await;
        let code = in_language(
            &language,
            [
                "print('kept')\nwhile True: pass",
                "console.log('kept'); for (;;);",
                "echo \"kept\\n\"; for (;;);",
            ],
        );
        let mut request = running.snippet(code);
        request.context.limits.wall = Duration::from_millis(800);
        let reply = running.request(request).await;
        assert_eq!(stopped(&reply.status), ErrorCode::LimitTime);
        assert_eq!(reply.stdout.text, "kept\n", "{language}");
        assert!(!running.interpreter.is_whole());
    }
}

#[tokio::test]
async fn a_call_that_is_dropped_leaves_no_interpreter() {
    for language in languages() {
        let mut running = start(&language).await;
        let code = in_language(&language, ["while True: pass", "for (;;);", "for (;;);"]);
        let request = running.snippet(code);
        let call = running.interpreter.eval(&request);
        assert!(tokio::time::timeout(Duration::from_millis(100), call).await.is_err());
        assert!(!running.interpreter.is_whole());
    }
}

/// Python code that writes bytes to the private descriptor of messages: the one from 200 on that can be written to, and is
/// not the copy of a standard stream.
fn forge(bytes: &str) -> String {
    format!(
        "import os, fcntl, time\n\
         own = [os.fstat(d).st_ino for d in (1, 2)]\n\
         for name in sorted(os.listdir('/proc/self/fd')):\n    \
             d = int(name)\n    \
             try:\n        \
                 flags = fcntl.fcntl(d, fcntl.F_GETFL) & os.O_ACCMODE\n        \
                 if d >= 200 and flags == os.O_WRONLY and os.fstat(d).st_ino not in own:\n            \
                     os.write(d, {bytes})\n    \
             except OSError: pass\n\
         time.sleep(0.1)\n\
         'end'"
    )
}

#[tokio::test]
async fn forged_frames_end_the_interpreter_and_nothing_else() {
    let language = Language::python();
    if !is_here(&language) {
        return;
    }
    for bytes in [
        "b'garbage' * 100",
        "b'\\xff' * 9",
        "b'\\0\\0\\0\\1R\\0\\0\\0\\1x'",
        "b'\\0\\0\\0\\0?\\0\\0\\0\\1'",
        "b'\\0\\0\\0\\2C\\0\\0\\0\\1\\xff\\xff'",
        "b'\\0\\0\\0\\1Q\\0\\0\\0\\1x'",
        "b'\\0\\0\\0\\1R\\0\\0\\0\\1\\xff'",
        "b'\\0\\0\\0\\0R\\0\\0\\0\\7'",
    ] {
        let mut running = start(&language).await;
        let reply = running.eval(&forge(bytes)).await;
        assert_eq!(stopped(&reply.status), ErrorCode::GuestTrap, "{bytes}");
        assert!(!running.interpreter.is_whole());
    }
    // A length that never comes is ended by the time limit.
    let mut running = start(&language).await;
    let mut request = running.snippet(&forge("b'\\0\\0\\xff\\0R\\0\\0\\0\\1'"));
    request.context.limits.wall = Duration::from_secs(2);
    let begin = Instant::now();
    let reply = running.request(request).await;
    assert!(matches!(reply.status, Status::Stopped(_)));
    assert!(begin.elapsed() < Duration::from_secs(30));
}

#[tokio::test]
async fn a_forged_result_is_not_taken_for_that_of_the_next_call() {
    let language = Language::python();
    if !is_here(&language) {
        return;
    }
    let mut running = start(&language).await;
    let json = r#"{"type":"int","value":666}"#;
    let forged = forge(&format!("b'\\0\\0\\0\\x{:02x}R\\0\\0\\0\\1' + b'{json}'", json.len()));
    // It can lie about itself.
    assert_eq!(value(&running.eval(&forged).await)["value"], 666);
    // Its own answer comes too late for any call.
    assert_eq!(stopped(&running.eval("1 + 1").await.status), ErrorCode::GuestTrap);
}

#[tokio::test]
async fn a_copy_of_the_process_answers_nothing() {
    let language = Language::python();
    if !is_here(&language) {
        return;
    }
    let mut running = start(&language).await;
    let code = "import os\npid = os.fork()\nif pid: os.waitpid(pid, 0)\nprint('parent' if pid else 'child')\nbool(pid)";
    let reply = running.eval(code).await;
    assert_eq!(value(&reply)["value"], true);
    assert_eq!(reply.stdout.text, "child\nparent\n");
    assert_eq!(running.value("1 + 1").await["value"], 2);
}

#[tokio::test]
async fn a_process_that_is_left_behind_does_not_hold_the_call() {
    for language in languages() {
        let mut running = start(&language).await;
        let code = in_language(
            &language,
            [
                "import subprocess\nsubprocess.Popen(['sleep', '5'])\n1",
                "require('child_process').spawn('/bin/sleep', ['5'], { stdio: 'inherit', detached: true }).unref(); 1",
                "passthru('sleep 5 &'); 1",
            ],
        );
        let begin = Instant::now();
        if language.as_str() != "php" {
            assert_eq!(running.value(code).await["value"], 1, "{language}");
            assert!(begin.elapsed() < Duration::from_secs(4));
        }
    }
}
