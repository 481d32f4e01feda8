//! An engine that accepts and does not answer: what waits for it is given up in time, and nothing else waits.

use std::time::{Duration, Instant};

use dormouse_tests::between::{Between, Way};
use dormouse_tests::served::Served;
use dormouse_tests::{NOISE, binary, wait_for};
use serde_json::{Value as Json, json};

use super::{Desk, FULL};

/// How long a save goes on while nothing comes from the engine.
const STALL: Duration = Duration::from_secs(10);
/// What a server that ends may take.
const CLOSING: Duration = Duration::from_secs(30);

/// What a call answers, and how long it took.
fn timed(served: &Served, tool: &str, arguments: &Json) -> (Json, Duration) {
    let begun = Instant::now();
    let mut answer = served.mcp(None, tool, arguments).json();
    (answer["result"]["structuredContent"].take(), begun.elapsed())
}

/// CON-39: its own sandbox's save, and with it the caller of a checkpoint; a sandbox of wasm; the end of the server. Before and
/// after that everything is as ever.
#[test]
fn con_39_an_engine_that_stalls_holds_up_nothing_for_longer_than_is_said() {
    let Some(desk) = Desk::new("con_39") else { return };
    let host = std::env::var("DOCKER_HOST").unwrap_or_else(|_| "unix:///var/run/docker.sock".into());
    let between = match Between::new(&host, &desk.folder.path().join("between.sock")) {
        Ok(between) => between,
        Err(why) => {
            eprintln!("skipped con_39: {why}");
            return desk.close();
        }
    };
    let state = desk.folder.path().join("stalled");
    let state = state.to_str().unwrap();
    let address = between.address();
    let arguments =
        ["--state-dir", state, "--tools", "all", "--docker-host", &address, "--docker-image", FULL];
    let served = Served::start(&arguments);
    let call = |tool: &str, arguments: Json| timed(&served, tool, &arguments);
    let made = call("sandbox_create", json!({"name": "box", "image": FULL, "memory_bytes": 128 << 20})).0;
    assert_eq!((&made["provider"], &made["error"]), (&json!("docker"), &json!(null)), "{made}");
    call("sandbox_create", json!({"name": "plain", "durability": "call"}));
    call("sandbox_eval", json!({"sandbox": "plain", "code": "1 + 1", "timeout_ms": 30_000}));
    let line = json!({"sandbox": "box", "command": "echo one >> log; cat log", "timeout_ms": 10_000});
    assert_eq!(call("sandbox_exec", line.clone()).0["stdout"], "one\n");
    assert_eq!(call("sandbox_checkpoint", json!({"sandbox": "box"})).0["error"], json!(null));
    assert_eq!(call("sandbox_exec", line.clone()).0["stdout"], "one\none\n");

    between.set(Way::Stalled);
    let saving = std::thread::scope(|scope| {
        let saving = scope.spawn(|| call("sandbox_checkpoint", json!({"sandbox": "box"})));
        // Time for the checkpoint to begin: nothing outside tells when it has.
        std::thread::sleep(Duration::from_millis(500));
        let (other, took) = call("sandbox_eval", json!({"sandbox": "plain", "code": "1 + 1"}));
        assert_eq!((&other["result"]["value"], &other["unsaved"]), (&json!(2), &json!(null)), "{other}");
        assert!(took < Duration::from_secs(1) + NOISE, "{took:?}");
        saving.join().unwrap()
    });
    assert_eq!(saving.0["error"]["code"], "provider_unavailable", "{}", saving.0);
    // One that upkeep had begun is waited for before.
    assert!(saving.1 < 2 * STALL + NOISE, "{:?}", saving.1);
    // A command ends at its own limit.
    let short = json!({"sandbox": "box", "command": "echo two >> log", "timeout_ms": 500});
    let (answer, took) = call("sandbox_exec", short);
    let code = answer["error"]["code"].as_str().unwrap_or_default();
    assert!(["limit_time", "provider_unavailable"].contains(&code), "{answer}");
    assert!(took < 2 * STALL + NOISE, "{took:?}");

    between.set(Way::Open);
    let saved = wait_for("the engine serves again", STALL, || {
        let (saved, _) = call("sandbox_checkpoint", json!({"sandbox": "box"}));
        if saved["error"].is_null() { Ok(saved) } else { Err(saved) }
    });
    assert!(saved["id"].is_string(), "{saved}");
    let log = call("sandbox_exec", line).0;
    let log = log["stdout"].as_str().unwrap_or_default();
    assert!(log.starts_with("one\none\n") && log.ends_with("one\n"), "{log:?}");

    between.set(Way::Stalled);
    let begun = Instant::now();
    let ended = served.end();
    assert!(begun.elapsed() < CLOSING + Duration::from_secs(3) + NOISE, "{:?}", begun.elapsed());
    assert_ne!(ended.status, Some(0), "that it was not saved is told: {}", ended.complaint());
    assert!(ended.complaint().contains("could not be saved"), "{}", ended.complaint());

    // The next server removes what was left, and goes on from what was saved.
    between.set(Way::Open);
    let again = Served::start(&arguments);
    let log = timed(&again, "sandbox_exec", &json!({"sandbox": "box", "command": "head -n 2 log"})).0;
    assert_eq!(log["stdout"], "one\none\n", "{log}");
    timed(&again, "sandbox_destroy", &json!({"sandbox": "box"}));
    assert_eq!(again.end().status, Some(0));
    let kept = binary::dormouse(&["sandbox", "list", "--state-dir", state], b"");
    assert_eq!(kept.status, Some(0), "{}", kept.complaint());
    desk.close();
}
