//! A stop while calls run, output that is long, and a share of the processor: over the real server.

use std::time::{Duration, Instant};

use dormouse_tests::served::{Served, told};
use dormouse_tests::wire::{PATIENCE, Wire};
use dormouse_tests::{NOISE, wait_for, wait_until};
use serde_json::{Value as Json, json};

fn started(state: &tempfile::TempDir, arguments: &[&str]) -> Wire {
    let state = state.path().to_str().unwrap();
    Wire::greeted(&[&["--state-dir", state, "--tools", "all"], arguments].concat())
}

/// The call answers `cancelled`, what it has written is there, and variables are as they were before it.
#[test]
fn lif_10_a_stop_ends_a_run_that_goes_on_too_long() {
    let state = tempfile::tempdir().unwrap();
    let mut wire = started(&state, &[]);
    wire.call(1, "sandbox_create", json!({"name": "a"}));
    wire.call(2, "sandbox_eval", json!({"sandbox": "a", "code": "x = 41"}));
    for (id, tool, arguments) in [
        (
            10,
            "sandbox_eval",
            json!({"code": "x = 0\nopen('f', 'w').write('kept')\nprint('begun')\nimport time\ntime.sleep(60)", "timeout_ms": 60_000}),
        ),
        (
            20,
            "sandbox_eval",
            json!({"code": "x = 0\nopen('f', 'w').write('kept')\nprint('begun')\nwhile True: pass", "timeout_ms": 60_000}),
        ),
        (
            30,
            "sandbox_exec",
            json!({"command": "echo -n kept > f; echo begun; sleep 60", "timeout_ms": 60_000}),
        ),
    ] {
        let mut arguments = arguments;
        arguments["sandbox"] = "a".into();
        wire.begin(id, tool, &arguments);
        let begun = Instant::now();
        let stopped = wire.call(id + 1, "sandbox_stop", json!({"sandbox": "a", "grace_ms": 300}));
        let took = begun.elapsed();
        assert_eq!(stopped["structuredContent"]["phase"], "stopped", "{stopped}");
        assert!(
            took >= Duration::from_millis(300) && took < Duration::from_millis(1_300) + NOISE,
            "{took:?}"
        );
        let ended = &wire.answer(id)["result"]["structuredContent"]["error"].take();
        assert_eq!(ended["code"], "cancelled", "{ended}");
        assert!(ended["message"].as_str().unwrap().contains("stopped"), "{ended}");
        let read = wire.call(id + 2, "sandbox_read", json!({"sandbox": "a", "path": "/workspace/f"}));
        assert_eq!(read["structuredContent"]["content"], "kept");
        let value = wire.call(id + 3, "sandbox_eval", json!({"sandbox": "a", "code": "x + 1"}));
        assert_eq!(value["structuredContent"]["result"]["value"], 42, "{value}");
        wire.call(id + 4, "sandbox_exec", json!({"sandbox": "a", "command": "rm f"}));
    }
    assert_eq!(wire.end(PATIENCE).status, Some(0));
}

/// S4: a sprite that is shut down is shut, within the time that a stop waits by itself.
#[test]
fn lif_10_a_shutdown_of_a_sprite_ends_its_command() {
    let state = tempfile::tempdir().unwrap();
    let mut wire = started(&state, &["--profile", "sprites"]);
    wire.call(1, "sprite_create", json!({"name": "a"}));
    let line = json!({"name": "a", "command": "echo begun; sleep 60", "timeout": 60_000});
    wire.begin(2, "sprite_exec", &line);
    let begun = Instant::now();
    let shut = wire.call(3, "sprite_shutdown", json!({"name": "a"}));
    assert_ne!(shut["isError"], true, "{shut}");
    assert!(begun.elapsed() < Duration::from_secs(6) + NOISE, "{:?}", begun.elapsed());
    assert_eq!(wire.answer(2)["result"]["isError"], true);
    let listed = wire.call(4, "sprite_list", json!({}));
    assert!(listed.to_string().contains("shutdown"), "{listed}");
    assert_eq!(wire.end(PATIENCE).status, Some(0));
}

/// The same over REST, where the body says how long to wait.
#[test]
fn lif_10_a_stop_over_rest_takes_a_grace() {
    let state = tempfile::tempdir().unwrap();
    let served = Served::start(&["--state-dir", state.path().to_str().unwrap()]);
    served.ask("POST", "/api/sandboxes", None, Some(&json!({"name": "a"})));
    let code = json!({"code": "import time; time.sleep(60)", "timeout_ms": 60_000}).to_string();
    let headers = [("Content-Type", "application/json")];
    let status = || served.ask("GET", "/api/sandboxes/a", None, None).json()["status"].clone();
    wait_until("the new sandbox is at rest", PATIENCE, || status() == "warm");
    let running = served.begin("POST", "/api/sandboxes/a/eval", &headers, code.as_bytes());
    wait_until("the call is in the sandbox", PATIENCE, || status() == "running");
    let begun = Instant::now();
    let stopped = served.ask("POST", "/api/sandboxes/a/stop", None, Some(&json!({"grace_ms": 0})));
    assert_eq!(stopped.json()["phase"], "stopped", "{stopped:?}");
    assert!(begun.elapsed() < Duration::from_secs(1) + NOISE, "{:?}", begun.elapsed());
    assert_eq!(told(running).code(), "cancelled");
    assert_eq!(served.end().status, Some(0));
}

/// Output that is too long to be shown does not fill the sandbox.
#[test]
fn fs_08_long_outputs_are_kept_in_the_last_few_files() {
    let state = tempfile::tempdir().unwrap();
    let mut wire = started(&state, &[]);
    wire.call(1, "sandbox_create", json!({"name": "a", "disk_bytes": 64 << 20}));
    for id in 10..22 {
        let long = wire.call(id, "sandbox_exec", json!({"sandbox": "a", "command": "seq 1 1100000"}));
        let file = long["structuredContent"]["stdout_file"].clone();
        assert!(file.is_string(), "round {id}: {long}");
        if id == 21 {
            let tail =
                json!({"sandbox": "a", "command": format!("head -n 1 {}; ls /tmp", file.as_str().unwrap())});
            let there = wire.call(30, "sandbox_exec", tail);
            let said = there["structuredContent"]["stdout"].as_str().unwrap();
            assert!(said.starts_with("1\n") && said.matches("output-").count() <= 8, "{said}");
        }
    }
    let written = wire.call(
        40,
        "sandbox_eval",
        json!({"sandbox": "a", "code": "open('g', 'wb').write(bytes(20 << 20))"}),
    );
    assert_eq!(written["structuredContent"]["ok"], true, "{written}");
    // Where there is no room at all it is said.
    wire.call(41, "sandbox_create", json!({"name": "b", "disk_bytes": 1 << 20}));
    let lost = wire.call(42, "sandbox_exec", json!({"sandbox": "b", "command": "seq 1 1100000"}));
    let lost = &lost["structuredContent"];
    assert!(lost["stdout_file"].is_null() && lost["stdout_lost"].is_string(), "{}", lost["stdout_lost"]);
    assert_eq!(lost["exit_code"], 0);
    assert_eq!(wire.end(PATIENCE).status, Some(0));
}

/// A share of a core is one, for snippets and for what a command line starts; without one nothing is held back.
#[test]
fn s2_02_a_share_of_a_core_is_held_to() {
    let state = tempfile::tempdir().unwrap();
    let mut wire = started(&state, &[]);
    let mut next = 0;
    let mut call = |tool: &str, arguments: Json| {
        next += 1;
        wire.call(next, tool, arguments)["structuredContent"].take()
    };
    for (name, limits) in [
        ("usual", json!({})),
        ("whole", json!({"cpu_millis": 1000})),
        ("quarter", json!({"cpu_millis": 250})),
    ] {
        let mut arguments = limits;
        arguments["name"] = name.into();
        let made = call("sandbox_create", arguments);
        assert_eq!(made["limits"]["cpu_millis"], if name == "quarter" { 250 } else { 1000 }, "{made}");
    }
    let code = "n = 0\nfor i in range(3_000_000): n += i\nn";
    let line = format!("python3 -c '{code}'");
    let mut time = |name: &str, tool: &str, of: &str, text: &str| -> f64 {
        let mut arguments = json!({"sandbox": name, "timeout_ms": 60_000});
        arguments[of] = text.into();
        call(tool, json!({"sandbox": name, of: if of == "code" { "1" } else { "true" }}));
        let done = call(tool, arguments);
        assert!(done["error"].is_null(), "{done}");
        done["duration_ms"].as_f64().unwrap_or_else(|| panic!("{done}"))
    };
    for (tool, of, text) in [("sandbox_eval", "code", code), ("sandbox_exec", "command", line.as_str())] {
        let quarter = time("quarter", tool, of, text);
        let whole = time("whole", tool, of, text).min(time("usual", tool, of, text));
        println!("{tool}: {whole} ms on a whole core, {quarter} ms on a quarter");
        // Other programs of the machine make the first longer, and the second less so: it rests most of the time.
        assert!(quarter > 1.5 * whole, "{tool}: {whole} ms on a whole core, {quarter} ms on a quarter");
    }
    // Its time limit comes as it would.
    let begun = Instant::now();
    let late =
        call("sandbox_eval", json!({"sandbox": "quarter", "code": "while True: pass", "timeout_ms": 1_000}));
    assert_eq!(late["error"]["code"], "limit_time", "{late}");
    assert!(begun.elapsed() < Duration::from_secs(2) + NOISE, "{:?}", begun.elapsed());
    // What cannot be held to is refused.
    let refused = call("sandbox_create", json!({"warm_pool": "require"}));
    assert_eq!(refused["error"]["code"], "args_invalid", "{refused}");
}

/// Command lines and the programs that they start are counted.
#[test]
fn shl_12_no_more_programs_run_than_processes_may() {
    let state = tempfile::tempdir().unwrap();
    let mut wire = started(&state, &[]);
    wire.call(1, "sandbox_create", json!({"name": "a", "processes": 8}));
    // Each job is a shell and its program.
    for id in 2..6 {
        let line = json!({"sandbox": "a", "command": "python3 -c 'import time; open(\"/tmp/on\", \"a\").write(\"x\"); time.sleep(20)'", "background": true});
        let job = wire.call(id, "sandbox_exec", line);
        assert!(job["structuredContent"]["job_id"].is_string(), "{job}");
    }
    wait_for("the four jobs begin", PATIENCE, || {
        let read = wire.call(10, "sandbox_read", json!({"sandbox": "a", "path": "/tmp/on"}));
        if read["structuredContent"]["content"] == "xxxx" { Ok(()) } else { Err(read) }
    });
    let refused = wire.call(20, "sandbox_exec", json!({"sandbox": "a", "command": "true"}));
    assert_eq!(refused["structuredContent"]["error"]["code"], "busy", "{refused}");
    wire.call(21, "sandbox_stop", json!({"sandbox": "a", "grace_ms": 0}));
    let again = wire.call(22, "sandbox_exec", json!({"sandbox": "a", "command": "python3 -c 'print(1)'"}));
    assert_eq!(again["structuredContent"]["stdout"], "1\n", "{again}");
    assert_eq!(wire.end(PATIENCE).status, Some(0));
}
