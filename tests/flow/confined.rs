//! S3-17: a server that has confined itself works as before, and the kernel says that it is confined.

use dormouse_tests::served::Served;
use dormouse_tests::wire::Wire;
use serde_json::{Value as Json, json};

/// Whether this kernel has Landlock.
fn can(test: &str) -> bool {
    // Where the list cannot be read, it is tried.
    let without =
        std::fs::read_to_string("/sys/kernel/security/lsm").is_ok_and(|list| !list.contains("landlock"));
    if without {
        eprintln!("skipped {test}: the kernel has no Landlock");
    }
    !without
}

fn is_confined(process: u32) {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    for line in ["NoNewPrivs:\t1", "Seccomp:\t2"] {
        assert!(status.lines().any(|found| found == line), "no {line}: {status}");
    }
}

#[test]
fn osw_01_a_confined_mcp_server_runs_keeps_and_wakes() {
    if !can("osw_01") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state");
    let arguments = ["--confine", "--tools", "all", "--state-dir", state.to_str().unwrap()];
    let mut wire = Wire::greeted(&arguments);
    is_confined(wire.process());
    let mut id = 10;
    let mut call = |tool: &str, arguments: Json| {
        id += 1;
        let result = wire.call(id, tool, arguments);
        assert_ne!(result["isError"], true, "{tool}: {result}");
        result["structuredContent"].clone()
    };
    for (language, code) in [("python", "1 + 1"), ("javascript", "1 + 1"), ("php", "return 1 + 1;")] {
        let ran = call("sandbox_eval", json!({"language": language, "code": code}));
        assert_eq!(ran["result"]["value"], 2, "{ran}");
    }
    call("sandbox_create", json!({"name": "box"}));
    call("sandbox_eval", json!({"sandbox": "box", "code": "x = 1"}));
    let line = "git init -q . && echo 'print(2)' > a.py && python3 a.py";
    let ran = call("sandbox_exec", json!({"sandbox": "box", "command": line}));
    assert_eq!((&ran["stdout"], &ran["exit_code"]), (&json!("2\n"), &json!(0)), "{ran}");
    call("sandbox_checkpoint", json!({"sandbox": "box"}));
    call("sandbox_stop", json!({"sandbox": "box"}));
    assert_eq!(call("sandbox_eval", json!({"sandbox": "box", "code": "x"}))["result"]["value"], 1);
}

#[test]
fn osw_01_a_confined_http_server_listens() {
    if !can("osw_01") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state");
    let served = Served::start(&["--confine", "--state-dir", state.to_str().unwrap()]);
    is_confined(served.process());
    let told = served.mcp(None, "sandbox_eval", &json!({"code": "1 + 1"}));
    assert!(told.json().to_string().contains("\"value\":2"), "{}", told.json());
}
