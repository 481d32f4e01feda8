//! How long sandboxes are kept is the operator's (S2-04 to S2-06).

use dormouse_tests::binary::dormouse;
use dormouse_tests::wire::Wire;
use serde_json::{Value as Json, json};

#[test]
fn s2_04_times_are_options_shown_in_capabilities_and_bind_new_sandboxes() {
    let place = tempfile::tempdir().unwrap();
    let state = place.path().to_str().unwrap();
    let keeps = ["--keep", "idle=90s", "--keep", "idle-max=5min", "--keep", "retention=60days"];
    let arguments = [&["--state-dir", state, "--tools", "all"], &keeps[..]].concat();
    let mut wire = Wire::greeted(&arguments);
    let mut ask = |tool: &str, arguments: Json| wire.call(1, tool, arguments)["structuredContent"].take();
    let day: u64 = 24 * 3600 * 1000;
    let wanted = json!({
        "idle_timeout_ms": 90_000,
        "idle_timeout_max_ms": 300_000,
        "retention_ms": 60 * day,
        "retention_max_ms": 60 * day,
        "unused_ms": day,
    });
    assert_eq!(ask("sandbox_capabilities", json!({}))["times"], wanted);
    let made = ask("sandbox_create", json!({"name": "a"}));
    assert_eq!((&made["idle_timeout_ms"], &made["retention_ms"]), (&json!(90_000), &json!(60 * day)));
    let refused = ask("sandbox_create", json!({"name": "b", "idle_timeout_ms": 300_001}));
    assert_eq!(refused["error"]["code"], "args_invalid");
    drop(wire);
    for (keep, told) in [("idle=90", "needs a unit"), ("never=1s", "retention-max"), ("idle=2days", "idle")] {
        let ran = dormouse(
            &["sandbox", "--state-dir", state, "--keep", keep, "--keep", "idle-max=1h", "list"],
            b"",
        );
        assert!(ran.status == Some(2) && ran.complaint().contains(told), "{keep}: {}", ran.complaint());
    }
}
