//! Images by name without containers (S2-22): a checkpoint that the operator offers, with what was installed and computed in it.

use dormouse_tests::binary;
use dormouse_tests::wire::{PATIENCE, Wire};
use serde_json::{Value as Json, json};

#[test]
fn a_sandbox_begins_with_what_the_operator_has_prepared() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().to_str().unwrap();
    let run = |words: &[&str]| {
        let ran = binary::dormouse(&[&["sandbox", "--state-dir", state], words].concat(), b"");
        assert_eq!(ran.status, Some(0), "{}", ran.complaint());
        ran.text()
    };
    run(&["create", "prepared"]);
    run(&["eval", "prepared", "rates = {'EUR': 2}; open('/workspace/data.csv', 'w').write('1,2')"]);
    let saved: Json = serde_json::from_str(&run(&["--json", "checkpoint", "prepared"])).unwrap();
    let offer = format!("data={}", saved["id"].as_str().unwrap());

    let mut wire = Wire::greeted(&["--state-dir", state, "--tools", "all", "--wasm-image", &offer]);
    let known = wire.call(1, "sandbox_capabilities", json!({}));
    assert_eq!(known["structuredContent"]["images"], json!(["data"]), "{known}");
    let made = wire.call(2, "sandbox_create", json!({"name": "new", "image": "data"}));
    let made = &made["structuredContent"];
    assert_eq!((&made["provider"], &made["image"]), (&json!("wasm"), &json!("data")), "{made}");
    let code = "[rates['EUR'], open('/workspace/data.csv').read()]";
    let seen = wire.call(3, "sandbox_eval", json!({"sandbox": "new", "code": code}));
    let values = &seen["structuredContent"]["result"]["value"];
    assert_eq!((&values[0]["value"], &values[1]["value"]), (&json!(2), &json!("1,2")), "{seen}");
    let refused = wire.call(4, "sandbox_create", json!({"image": "python:3"}));
    assert_eq!(refused["structuredContent"]["error"]["code"], "args_invalid", "{refused}");
    assert_eq!(wire.end(PATIENCE).status, Some(0));

    // From the command line, and where nothing is offered.
    run(&["--wasm-image", &offer, "create", "third", "--image", "data"]);
    assert_eq!(run(&["eval", "third", "rates['EUR']"]).trim(), "2");
    let bad = binary::dormouse(&["sandbox", "--state-dir", state, "--wasm-image", "data=v1", "list"], b"");
    assert!(bad.status == Some(2) && bad.complaint().contains("NAME=CHECKPOINT"), "{}", bad.complaint());
}
