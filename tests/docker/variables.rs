//! Python's variables in a container, from one process to the next.

use dormouse_tests::wire::{PATIENCE, Wire};
use serde_json::{Value as Json, json};

use super::Desk;

#[test]
fn a_container_that_was_asked_for_it_has_its_python_variables_after_a_stop_and_in_another_process() {
    Desk::each("variables of a container", |desk| {
        let state = desk.folder.path().join("variables");
        let host = std::env::var("DOCKER_HOST").ok();
        let environment: Vec<(&str, &str)> = host.iter().map(|host| ("DOCKER_HOST", host.as_str())).collect();
        let arguments =
            ["--tools", "all", "--state-dir", state.to_str().unwrap(), "--no-fallback", "--no-confine"];
        let engine = desk.arguments();
        let arguments: Vec<&str> = arguments.into_iter().chain(engine.iter().map(String::as_str)).collect();
        let start = || {
            let mut wire = Wire::start_with(&arguments, &environment);
            wire.greet();
            wire
        };
        let mut id = 10;
        let mut call = |wire: &mut Wire, tool: &str, arguments: Json| {
            id += 1;
            wire.call(id, tool, arguments)["structuredContent"].clone()
        };
        let eval = |code: &str| json!({"sandbox": "box", "code": code});
        let mut wire = start();
        let made = call(
            &mut wire,
            "sandbox_create",
            json!({"name": "box", "image": desk.image(), "persistence": "session"}),
        );
        assert_eq!(
            (&made["provider"], &made["persistence"]),
            (&json!(desk.provider().as_str()), &json!("session")),
            "{made}"
        );
        let ran = call(
            &mut wire,
            "sandbox_eval",
            eval(
                "import math\nclass P:\n  def __init__(self, x): self.x = x\n  def up(self): return math.floor(self.x) + 1\np = P(41.5); g = (i for i in [])",
            ),
        );
        assert_eq!(ran["error"], json!(null), "{ran}");
        let js = call(
            &mut wire,
            "sandbox_eval",
            json!({"sandbox": "box", "language": "javascript", "code": "let a = 1"}),
        );
        assert_eq!(js["error"], json!(null), "{js}");
        let saved = call(&mut wire, "sandbox_checkpoint", json!({"sandbox": "box", "name": "then"}));
        assert_eq!(
            (&saved["include"], &saved["not_held"]),
            (&json!("both"), &json!(["javascript"])),
            "{saved}"
        );
        call(&mut wire, "sandbox_eval", eval("p.x = 1"));
        let stopped = call(&mut wire, "sandbox_stop", json!({"sandbox": "box"}));
        assert_eq!(stopped["not_held"], json!(["javascript"]), "{stopped}");
        wire.end(PATIENCE);
        let mut wire = start();
        let ran = call(&mut wire, "sandbox_eval", eval("p.up()"));
        assert_eq!((&ran["result"]["value"], &ran["recovery"]), (&json!(2), &json!("earlier")), "{ran}");
        assert!(ran["recovery_reason"].as_str().unwrap().contains("without `g` ("), "{ran}");
        let again = call(&mut wire, "sandbox_eval", eval("p.up()"));
        assert_eq!(again["recovery"], json!(null), "it is told once: {again}");
        let restored = call(&mut wire, "sandbox_restore", json!({"sandbox": "box", "checkpoint_id": "then"}));
        assert_eq!(restored["error"], json!(null), "{restored}");
        let ran = call(&mut wire, "sandbox_eval", eval("p.up()"));
        assert_eq!(ran["result"]["value"], 42, "{ran}");
        let fork = call(&mut wire, "sandbox_fork", json!({"sandbox": "box"}))["sandboxes"][0]["id"].clone();
        let ran = call(&mut wire, "sandbox_eval", json!({"sandbox": fork, "code": "p.up()"}));
        assert_eq!(ran["result"]["value"], 42, "{ran}");
        for sandbox in [json!("box"), fork] {
            call(&mut wire, "sandbox_destroy", json!({"sandbox": sandbox}));
        }
        wire.end(PATIENCE);
    });
}
