//! What a killed server has saved of sandboxes that were never left alone: called without a pause, with a job, in a long call; and of
//! those whose calls are saved before they are answered.

use std::time::{Duration, Instant};

use dormouse_tests::wait_for;
use dormouse_tests::wire::Wire;
use serde_json::{Value as Json, json};

/// The longest time after which something that was answered is saved, and as long again.
const SAVED: Duration = Duration::from_secs(20);
/// The same where nobody calls meanwhile.
const QUIET: Duration = Duration::from_secs(6);

fn served(folder: &tempfile::TempDir) -> Wire {
    Wire::greeted(&["--state-dir", folder.path().to_str().unwrap(), "--tools", "all"])
}

fn eval(wire: &mut Wire, id: i64, code: &str) -> Json {
    let answer = wire.call(id, "sandbox_eval", json!({"sandbox": "box", "code": code}));
    assert_eq!(answer["structuredContent"]["ok"], true, "{answer}");
    answer["structuredContent"]["result"]["value"].clone()
}

fn request(id: i64, tool: &str, arguments: &Json) -> Json {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": arguments}})
}

#[test]
fn lif_01_a_sandbox_that_is_called_without_a_pause_is_saved_before_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let mut wire = served(&folder);
    wire.call(1, "sandbox_create", json!({"name": "box"}));
    eval(&mut wire, 2, "n = 0");
    // One call always waits behind the one that runs, so that nobody else finds the sandbox between two.
    let count = json!({"sandbox": "box", "code": "import time\ntime.sleep(.3)\nn += 1"});
    let begin = Instant::now();
    let mut id = 10;
    wire.send(&request(id, "sandbox_eval", &count));
    while begin.elapsed() < SAVED {
        id += 1;
        wire.send(&request(id, "sandbox_eval", &count));
        wire.answer(id - 1);
    }
    wire.kill();
    let mut wire = served(&folder);
    let n = eval(&mut wire, 1, "n").as_i64().unwrap();
    assert!(n > 10, "only {n} of {} calls are there", id - 10);
    wire.end(SAVED);
}

#[test]
fn lif_01_what_was_answered_is_saved_while_a_job_or_a_long_call_runs() {
    let folder = tempfile::tempdir().unwrap();
    let mut wire = served(&folder);
    wire.call(1, "sandbox_create", json!({"name": "box"}));
    let started =
        wire.call(2, "sandbox_exec", json!({"sandbox": "box", "command": "sleep 120", "background": true}));
    assert_ne!(started["isError"], true, "{started}");
    eval(&mut wire, 3, "x = 41\nopen('/workspace/f', 'w').write('kept')\nNone");
    // The time that is promised: nothing outside tells what has been saved while a job runs.
    std::thread::sleep(QUIET);
    wire.kill();

    let mut wire = served(&folder);
    assert_eq!(eval(&mut wire, 1, "[x, open('/workspace/f').read()]")[1]["value"], "kept");
    eval(&mut wire, 2, "x = 42");
    let long = "import time\nopen('/workspace/g', 'w').write('begun')\ntime.sleep(55)";
    let long = json!({"sandbox": "box", "code": long, "timeout_ms": 60_000});
    wire.send(&request(3, "sandbox_eval", &long));
    // The time that is promised, as before.
    std::thread::sleep(SAVED);
    wire.kill();
    let mut wire = served(&folder);
    assert_eq!(eval(&mut wire, 1, "x"), 42, "what came before the long call");
    assert_eq!(eval(&mut wire, 2, "open('/workspace/g').read()"), "begun", "and its files until then");
    wire.end(SAVED);
}

#[test]
fn lif_01_a_checkpoint_an_upload_and_the_calls_of_a_durable_sandbox_are_saved_when_they_are_answered() {
    let folder = tempfile::tempdir().unwrap();
    let mut wire = served(&folder);
    wire.call(1, "sandbox_create", json!({"name": "box"}));
    eval(&mut wire, 2, "x = 1");
    let saved = wire.call(3, "sandbox_checkpoint", json!({"sandbox": "box", "include": "files"}));
    assert_ne!(saved["isError"], true, "{saved}");
    wire.kill();
    let mut wire = served(&folder);
    assert_eq!(eval(&mut wire, 1, "x"), 1);
    wire.call(2, "sandbox_destroy", json!({"sandbox": "box"}));
    let made = wire.call(3, "sandbox_create", json!({"name": "box", "durability": "call"}));
    assert_eq!(made["structuredContent"]["durability"], "call", "{made}");
    eval(&mut wire, 4, "x = 2");
    let written = json!({"sandbox": "box", "path": "/workspace/f", "content": "kept"});
    assert_ne!(wire.call(5, "sandbox_write", written)["isError"], true);
    wire.kill();
    let mut wire = served(&folder);
    assert_eq!(eval(&mut wire, 1, "x"), 2);
    assert_eq!(eval(&mut wire, 2, "open('/workspace/f').read()"), "kept");
    wire.end(SAVED);
}

#[test]
fn lif_01_the_end_of_a_job_in_a_durable_sandbox_is_told_when_what_it_did_is_saved() {
    let folder = tempfile::tempdir().unwrap();
    let mut wire = served(&folder);
    wire.call(1, "sandbox_create", json!({"name": "box", "durability": "call"}));
    for (number, beside) in [(0, "None"), (1, "import time; time.sleep(1.5)")] {
        let line = format!("sleep 0.3; echo {number} >> /workspace/jobs");
        let started =
            wire.call(2, "sandbox_exec", json!({"sandbox": "box", "command": line, "background": true}));
        let job = started["structuredContent"]["job_id"].clone();
        assert!(job.is_string(), "{started}");
        // The second one ends beside a call.
        let call = json!({"name": "sandbox_eval", "arguments": {"sandbox": "box", "code": beside}});
        wire.send(&json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": call}));
        wait_for("the job ends", SAVED, || {
            let told = wire.call(10, "sandbox_job", json!({"sandbox": "box", "job": job, "action": "get"}));
            if told["structuredContent"]["ended_at"].is_string() { Ok(()) } else { Err(told) }
        });
        wire.kill();
        wire = served(&folder);
        let jobs = eval(&mut wire, 1, "open('/workspace/jobs').read()");
        assert_eq!(jobs, if number == 0 { "0\n" } else { "0\n1\n" });
    }
    wire.end(SAVED);
}
