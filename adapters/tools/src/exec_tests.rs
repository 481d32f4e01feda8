//! Command lines and jobs, over a shell that only pretends.

use super::kept::Desk;
use super::*;

fn desk() -> Desk {
    let desk = Desk::new(Profile::Sandbox);
    desk.ok("sandbox_create", json!({"name": "a"}));
    desk
}

#[test]
fn a_command_line_answers_with_its_output_and_its_status() {
    let desk = desk();
    let echo = desk.ok("sandbox_exec", json!({"sandbox": "a", "command": "echo hi"}));
    assert_eq!(
        (&echo["stdout"], &echo["exit_code"], &echo["stdout_bytes"]),
        (&json!("hi\n"), &json!(0), &json!(3))
    );
    assert!(echo.get("stdout_file").is_none() && echo["error"].is_null());
    let failed = desk.call("sandbox_exec", json!({"sandbox": "a", "command": "exit 3"}));
    assert_eq!((failed.is_error, &failed.structured["exit_code"]), (false, &json!(3)));
    let missing = desk.ok("sandbox_exec", json!({"session_key": "k", "command": "gcc"}));
    assert_eq!(missing["missing"], json!(["gcc"]));
    assert_eq!(missing["unavailable"]["code"], "capability_unavailable");
}

#[test]
fn what_a_command_line_is_told_is_checked_before_it_runs() {
    let desk = desk();
    for (arguments, code) in [
        (json!({"sandbox": "a"}), "args_invalid"),
        (json!({"sandbox": "a", "command": "ls", "cwd": "../x"}), "args_invalid"),
        (json!({"sandbox": "a", "command": "ls", "timeout_ms": 600_001}), "args_invalid"),
        (json!({"sandbox": "none", "command": "ls"}), "unknown_sandbox"),
        (json!({"sandbox": "a", "command": "x".repeat((1 << 20) + 1)}), "too_large"),
    ] {
        assert_eq!(desk.code("sandbox_exec", arguments.clone()), code, "{}", arguments.to_string().len());
    }
}

#[test]
fn long_output_is_cut_in_the_middle_and_kept_in_a_file() {
    let desk = desk();
    let text = "abcdefgh".repeat(8 << 10);
    let cut = desk.ok("sandbox_exec", json!({"sandbox": "a", "command": format!("echo {text}")}));
    let shown = cut["stdout"].as_str().unwrap();
    assert!(shown.len() < 16 << 10 && shown.contains("left out"), "{}", shown.len());
    assert_eq!(cut["stdout_bytes"], text.len() + 1);
    let whole = desk.ok("sandbox_files", json!({"sandbox": "a", "path": "/tmp"}));
    let path = cut["stdout_file"].as_str().unwrap();
    assert!(whole.to_string().contains(path.trim_start_matches("/tmp/")), "{whole}");
}

#[test]
fn a_job_runs_beside_the_calls_and_is_remembered() {
    let desk = desk();
    let started = desk.ok("sandbox_exec", json!({"sandbox": "a", "command": "echo hi", "background": true}));
    let job = started["job_id"].as_str().unwrap().to_owned();
    let ended = desk.ok("sandbox_job", json!({"sandbox": "a", "job": job, "action": "wait"}));
    assert_eq!((&ended["state"], &ended["exit_code"]), (&json!("ended"), &json!(0)));
    assert_eq!((&ended["stdout"], &ended["stdout_next"]), (&json!("hi\n"), &json!(3)));
    let rest = json!({"sandbox": "a", "job": job, "action": "output", "stdout_offset": 1});
    assert_eq!(desk.ok("sandbox_job", rest)["stdout"], "i\n");
    let waits = desk.ok("sandbox_exec", json!({"sandbox": "a", "command": "wait", "background": true}));
    let waits = json!({"sandbox": "a", "job": waits["job_id"], "action": "get"});
    assert_eq!(desk.ok("sandbox_job", waits.clone())["state"], "running");
    assert_eq!(desk.ok("sandbox_eval", json!({"sandbox": "a", "code": "set v 1"}))["ok"], true);
    let cancel = json!({"sandbox": "a", "job": waits["job"], "action": "cancel"});
    let cancelled = desk.ok("sandbox_job", cancel);
    assert_eq!(
        (&cancelled["state"], &cancelled["cause"]["code"]),
        (&json!("cancelled"), &json!("cancelled"))
    );
    assert_eq!(
        desk.ok("sandbox_job", json!({"sandbox": "a", "action": "list"}))["jobs"].as_array().unwrap().len(),
        2
    );
    assert_eq!(desk.code("sandbox_job", json!({"sandbox": "a", "job": "job-99"})), "not_found");
    assert_eq!(desk.code("sandbox_job", json!({"sandbox": "a"})), "args_invalid");
}

#[test]
fn jobs_are_counted_and_end_with_their_sandbox() {
    let desk = desk();
    let start = json!({"sandbox": "a", "command": "wait", "background": true});
    let jobs: Vec<Json> = (0..4).map(|_| desk.ok("sandbox_exec", start.clone())["job_id"].clone()).collect();
    assert_eq!(desk.code("sandbox_exec", start), "busy");
    desk.ok("sandbox_stop", json!({"sandbox": "a"}));
    for job in jobs {
        let ended = desk.ok("sandbox_job", json!({"sandbox": "a", "job": job, "action": "wait"}));
        assert_eq!(ended["state"], "cancelled");
    }
}
