//! What a command line starts with `&` goes on as a job, over MCP and over REST.

use std::time::{Duration, Instant};

use dormouse_tests::served::Served;
use dormouse_tests::wire::{PATIENCE, Wire};
use serde_json::{Value as Json, json};

/// A service: it writes a line every 50 ms until it is ended.
const SERVICE: &str = "while true; do date >> log; sleep 0.05; done";

/// Calls of a sandbox through one door.
type Door<'a> = dyn FnMut(&str, Json) -> Json + 'a;

fn exec(door: &mut Door<'_>, command: &str) -> Json {
    let answer = door("sandbox_exec", json!({"command": command}));
    assert!(answer["error"].is_null(), "{command}: {answer}");
    answer
}

fn said(door: &mut Door<'_>, command: &str) -> String {
    let answer = exec(door, command);
    assert_eq!(answer["exit_code"], 0, "{command}: {answer}");
    answer["stdout"].as_str().unwrap().to_owned()
}

/// How many lines the service has written.
fn lines(door: &mut Door<'_>) -> u64 {
    said(door, "cat log 2> /dev/null | wc -l").trim().parse().unwrap()
}

fn state(door: &mut Door<'_>, job: &Json, action: &str) -> String {
    door("sandbox_job", json!({"job": job, "action": action}))["state"].as_str().unwrap().to_owned()
}

fn goes_on_and_ends(door: &mut Door<'_>) {
    for line in [
        format!("({SERVICE}) &"),
        format!("({SERVICE}) & disown; sleep 100 & disown\necho started"),
        format!("mkdir -p here; cd here; N=7; nohup bash -c '{SERVICE}' > out 2>&1 & disown; echo started"),
    ] {
        let begin = Instant::now();
        let answer = exec(door, &line);
        assert!(begin.elapsed() < Duration::from_secs(5), "it is not waited for: {answer}");
        assert_eq!((&answer["exit_code"], &answer["timed_out"]), (&json!(0), &json!(false)), "{answer}");
        let wanted = if line.contains("echo") { "started\n" } else { "" };
        assert_eq!(answer["stdout"], wanted, "{answer}");
        let job = answer["job_id"].clone();
        assert!(job.is_string(), "{answer}");
        // Later calls run beside it, in the folder and with the variables that the line has left.
        let first = lines(door);
        let deadline = Instant::now() + Duration::from_secs(20);
        while lines(door) <= first + 2 {
            assert!(Instant::now() < deadline, "the log does not grow");
        }
        assert_eq!(state(door, &job, "get"), "running");
        assert_eq!(state(door, &job, "cancel"), "cancelled");
        let ended = lines(door);
        // Time in which what is left of it would write.
        std::thread::sleep(Duration::from_millis(300));
        assert_eq!(lines(door), ended, "nothing of it is left");
        said(door, "rm log");
    }
    assert_eq!(said(door, "pwd; echo $N; cd"), "/workspace/here\n7\n");

    // What ends soon is a part of the answer, and so is what it could not start.
    let answer = exec(door, "echo a; echo b & echo c");
    assert_eq!((&answer["stdout"], &answer["job_id"]), (&json!("a\nc\nb\n"), &Json::Null), "{answer}");
    let answer = exec(door, "nosuchcommand & true");
    assert_eq!((&answer["missing"], &answer["job_id"]), (&json!(["nosuchcommand"]), &Json::Null), "{answer}");

    // Its number is the id of the job.
    let answer = exec(door, "nohup sleep 30 > log 2>&1 & echo $! > pid; cat pid; echo \"started ${!}\"");
    let job = answer["job_id"].clone();
    let id = job.as_str().expect("it goes on");
    assert_eq!(answer["stdout"], format!("{id}\nstarted {id}\n"), "{answer}");
    assert_eq!(state(door, &job, "cancel"), "cancelled");
    said(door, "rm -f log pid");

    // What is started after something else is a job of its own, and the last is answered; all are listed.
    let begin = Instant::now();
    let answer = exec(door, "sleep 60 & echo a; sleep 50 & echo b; (echo soon) & echo $!");
    assert!(begin.elapsed() < Duration::from_secs(5), "it is not waited for: {answer}");
    let shown = answer["stdout"].as_str().unwrap();
    assert!(shown.starts_with("a\nb\njob-") && shown.ends_with("\nsoon\n"), "{answer}");
    let jobs = door("sandbox_job", json!({"action": "list"}))["jobs"].as_array().unwrap().clone();
    let going: Vec<&Json> = jobs.iter().filter(|job| job["state"] == "running").collect();
    let commands: Vec<&Json> = going.iter().map(|job| &job["command"]).collect();
    assert_eq!(commands.len(), 2, "{jobs:?}");
    assert!(commands.contains(&&json!("sleep 60")) && commands.contains(&&json!("sleep 50")), "{jobs:?}");
    let last = going.iter().find(|job| job["command"] == "sleep 50").unwrap();
    assert_eq!(last["job_id"], answer["job_id"], "{answer}");
    going.iter().for_each(|job| assert_eq!(state(door, &job["job_id"], "cancel"), "cancelled"));

    // What was opened before is open in the job; a here-document belongs to its command.
    for line in [
        "exec 3> opened; (echo one >&3; sleep 60) & echo started",
        "cat > w.sh << 'EOF'\necho one > opened; sleep 60; exit # & set\nEOF\nbash w.sh & echo started",
        "bash -s << EOF &\necho one > opened; sleep 60\nEOF\necho started",
    ] {
        let begin = Instant::now();
        let answer = exec(door, line);
        assert!(begin.elapsed() < Duration::from_secs(5), "it is not waited for: {answer}");
        assert_eq!(answer["stdout"], "started\n", "{answer}");
        let deadline = Instant::now() + Duration::from_secs(20);
        while said(door, "cat opened 2> /dev/null || true") != "one\n" {
            assert!(Instant::now() < deadline, "{line}");
        }
        assert_eq!(state(door, &answer["job_id"], "cancel"), "cancelled", "{line}");
        said(door, "rm opened");
    }
    said(door, "exec 3>&-; rm w.sh");

    // Who asks for what was started has it in the line, as before.
    let begin = Instant::now();
    let answer = exec(door, "(sleep 0.6; echo late) & wait; echo then");
    assert_eq!((&answer["stdout"], &answer["job_id"]), (&json!("late\nthen\n"), &Json::Null), "{answer}");
    assert!(begin.elapsed() >= Duration::from_millis(600));
    let late = door("sandbox_exec", json!({"command": "sleep 30 & wait", "timeout_ms": 500}));
    assert_eq!(late["error"]["code"], "limit_time", "{late}");
    assert!(late["error"]["hint"].as_str().unwrap().contains("background"), "{late}");

    // A line that is stopped takes what it has started with it.
    let late = door("sandbox_exec", json!({"command": format!("({SERVICE}) & sleep 30"), "timeout_ms": 500}));
    assert_eq!((&late["error"]["code"], &late["job_id"]), (&json!("limit_time"), &Json::Null), "{late}");
    let running = door("sandbox_job", json!({"action": "list"}))["jobs"].as_array().unwrap().clone();
    let deadline = Instant::now() + Duration::from_secs(10);
    for job in running {
        while state(door, &job["job_id"], "get") == "running" {
            assert!(Instant::now() < deadline, "{job}");
        }
    }

    // What the shell cannot read is the shell's to say, and nothing of it runs.
    let answer = door("sandbox_exec", json!({"command": "echo yes > ran; if then fi; sleep 9 &"}));
    assert_eq!((&answer["exit_code"], &answer["job_id"]), (&json!(2), &Json::Null), "{answer}");
    assert_eq!(said(door, "ls ran 2> /dev/null || echo none"), "none\n");
    // No more than may run, and then nothing of the line has run.
    let jobs: Vec<Json> = (0..4).map(|_| exec(door, "sleep 30 &")["job_id"].clone()).collect();
    let busy = door("sandbox_exec", json!({"command": "echo yes > ran; sleep 30 &"}));
    assert_eq!(busy["error"]["code"], "busy", "{busy}");
    assert_eq!(said(door, "ls ran 2> /dev/null || echo none"), "none\n");
    jobs.iter().for_each(|job| assert_eq!(state(door, job, "cancel"), "cancelled"));
}

/// What a program that goes on has printed: read while it runs, and after it was cancelled.
fn is_read_while_it_runs(door: &mut Door<'_>) {
    let line = r#"printf 'import sys, time\nfor n in range(500):\n    print(n, flush=True)\n    print("e", n, file=sys.stderr)\n    time.sleep(.05)\n' > w.py"#;
    said(door, line);
    let job = exec(door, "python3 w.py & echo started")["job_id"].clone();
    let mut read = |action: &str, stream: &str| {
        door("sandbox_job", json!({"job": job, "action": action}))[stream].as_str().unwrap().to_owned()
    };
    for (stream, beginning) in [("stdout", "0\n1\n2\n"), ("stderr", "e 0\ne 1\ne 2\n")] {
        let deadline = Instant::now() + Duration::from_secs(20);
        while !read("output", stream).starts_with(beginning) {
            assert!(Instant::now() < deadline, "nothing of {stream}");
        }
    }
    assert!(read("cancel", "stdout").starts_with("0\n1\n2\n"));
    assert!(read("output", "stdout").starts_with("0\n1\n2\n"));
    // The same in a file, by the line that the documents name.
    for line in ["python3 w.py > log 2>&1 & echo started", "nohup python3 w.py > log 2>&1 &"] {
        let job = exec(door, line)["job_id"].clone();
        let deadline = Instant::now() + Duration::from_secs(20);
        while lines(door) < 5 {
            assert!(Instant::now() < deadline, "{line}: the log does not grow");
        }
        assert_eq!(state(door, &job, "cancel"), "cancelled");
        assert!(said(door, "cat log").starts_with("0\ne 0\n1\ne 1\n"), "{line}");
        said(door, "rm log");
    }
}

#[test]
fn what_an_ampersand_starts_goes_on_over_mcp() {
    let folder = tempfile::tempdir().unwrap();
    let mut wire = Wire::greeted(&["--state-dir", folder.path().to_str().unwrap()]);
    wire.call(1, "sandbox_create", json!({"name": "box"}));
    let mut id = 1;
    let mut door = |tool: &str, mut arguments: Json| {
        id += 1;
        arguments["sandbox"] = "box".into();
        wire.call(id, tool, arguments)["structuredContent"].take()
    };
    goes_on_and_ends(&mut door);
    is_read_while_it_runs(&mut door);
    let steps = wire.call(9_000, "sandbox_exec", json!({"sandbox": "box", "command": "sleep 30 &"}));
    assert!(steps["structuredContent"]["job_id"].is_string(), "{steps}");
    // It ends with the server.
    assert_eq!(wire.end(PATIENCE).status, Some(0));
}

#[test]
fn what_an_ampersand_starts_goes_on_over_rest() {
    let folder = tempfile::tempdir().unwrap();
    let server = Served::start(&["--state-dir", folder.path().join("state").to_str().unwrap()]);
    server.ask("POST", "/api/sandboxes", None, Some(&json!({"name": "box"})));
    let mut door = |tool: &str, arguments: Json| {
        let part = if tool == "sandbox_exec" { "exec" } else { "jobs" };
        server.ask("POST", &format!("/api/sandboxes/box/{part}"), None, Some(&arguments)).json()
    };
    goes_on_and_ends(&mut door);
    assert_eq!(server.end().status, Some(0));
}

/// The command line's process ends with its command: what it starts is waited for there, and ends at its limit.
#[test]
fn on_the_command_line_what_an_ampersand_starts_belongs_to_the_line() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().to_str().unwrap();
    let run = |words: &[&str]| {
        dormouse_tests::binary::dormouse(&[&["sandbox", "--state-dir", state], words].concat(), b"")
    };
    assert_eq!(run(&["create", "box"]).status, Some(0));
    let ran = run(&["exec", "box", "(sleep 0.5; echo late) & echo now"]);
    assert_eq!((ran.status, ran.text().as_str()), (Some(0), "now\nlate\n"), "{}", ran.complaint());
    let ran = run(&["exec", "--timeout", "500ms", "box", "sleep 30 &"]);
    assert_eq!(ran.status, Some(124));
    assert!(ran.complaint().contains("the line waits for what `&` starts"), "{}", ran.complaint());
}
