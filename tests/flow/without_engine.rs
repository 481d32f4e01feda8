//! Without the container engine that the operator prefers: wasm has its place, and every answer says so (docs/providers.md).

use dormouse_tests::wire::Wire;
use serde_json::{Value as Json, json};

/// Containers first, on an engine that nobody reaches.
const AWAY: [&str; 8] = [
    "--tools",
    "all",
    "--docker-image",
    "tools:1",
    "--docker-host",
    "unix:///nonexistent/docker.sock",
    "--provider",
    "docker",
];

struct Desk {
    wire: Wire,
    _state: tempfile::TempDir,
}

impl Desk {
    fn new(profile: &str) -> Self {
        let state = tempfile::tempdir().unwrap();
        let own = ["--profile", profile, "--state-dir", state.path().to_str().unwrap()];
        Self { wire: Wire::greeted(&[&own[..], &AWAY].concat()), _state: state }
    }

    /// What is structured of an answer, and its text.
    #[track_caller]
    fn call(&mut self, tool: &str, arguments: Json) -> (Json, String) {
        let answer = self.wire.call(1, tool, arguments);
        let text = answer["content"][0]["text"].as_str().unwrap().to_owned();
        (answer["structuredContent"].clone(), text)
    }
}

#[test]
fn con_06_every_answer_from_a_fallback_says_so_in_both_its_forms() {
    let file = "/workspace/a.json";
    let own = |more: Json| {
        let mut arguments = json!({"session_key": "k"});
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        arguments
    };
    let sprite = |command: &str| json!({"name": "s", "command": command});
    for (profile, calls) in [
        (
            "codegen",
            vec![
                ("Edit", json!({"path": file, "old_string": "", "new_string": "{}"}), false),
                ("Read", json!({"path": file}), false),
                ("Bash", json!({"command": "echo hi"}), false),
                ("Bash", json!({"command": "sleep 5", "timeout": 300}), false),
                ("run_lint", json!({}), false),
            ],
        ),
        (
            "rlm",
            vec![
                ("rlm_exec", json!({"code": "x = 1; x"}), false),
                ("rlm_get", json!({"name": "x"}), false),
                ("rlm_vars", json!({}), false),
            ],
        ),
        (
            "sprites",
            vec![
                ("sprite_exec", sprite("uname"), true),
                ("sprite_exec", json!({"name": "s", "command": "sleep 5", "timeout": 300}), false),
            ],
        ),
        (
            "sandbox",
            vec![
                ("sandbox_exec", own(json!({"command": "echo hi"})), true),
                ("sandbox_exec", own(json!({"command": "sleep 5", "timeout_ms": 300})), false),
                ("sandbox_eval", own(json!({"code": "1"})), true),
                ("sandbox_vars", own(json!({})), true),
                ("sandbox_write", own(json!({"path": file, "content": "{}"})), true),
                ("sandbox_read", own(json!({"path": file})), true),
            ],
        ),
    ] {
        let mut desk = Desk::new(profile);
        if profile == "sprites" {
            desk.call("sprite_create", json!({"name": "s"}));
        }
        for (tool, arguments, is_json) in calls {
            let (structured, text) = desk.call(tool, arguments);
            assert_eq!(structured["fallback_from"], "docker", "{tool}: {structured}");
            if is_json {
                assert_eq!(serde_json::from_str::<Json>(&text).unwrap(), structured, "{tool}");
            } else {
                let line = text.lines().filter(|line| line.contains("fallback_from"));
                assert_eq!(
                    line.collect::<Vec<_>>(),
                    ["(fallback_from: docker, done by wasm)"],
                    "{tool}: {text}"
                );
            }
        }
    }
}

#[test]
fn con_06_what_asks_for_wasm_is_no_fallback() {
    let mut desk = Desk::new("sandbox");
    // A snippet without a sandbox is nobody's but wasm's.
    let (fresh, _) = desk.call("sandbox_eval", json!({"code": "1"}));
    assert_eq!((&fresh["provider"], &fresh["fallback_from"]), (&json!("wasm"), &Json::Null), "{fresh}");
    // Its memory is wasm's then, and not that of a container.
    let (made, _) = desk.call("sandbox_create", json!({"name": "a", "provider": "wasm"}));
    assert_eq!((&made["error"], &made["limits"]["memory_bytes"]), (&Json::Null, &json!(512 << 20)), "{made}");
    let (ran, text) = desk.call("sandbox_exec", json!({"sandbox": "a", "command": "echo hi"}));
    assert_eq!((&ran["stdout"], &ran["fallback_from"]), (&json!("hi\n"), &Json::Null), "{text}");
    let (wrong, _) =
        desk.call("sandbox_create", json!({"name": "b", "provider": "wasm", "image": "tools:1"}));
    assert_eq!(wrong["error"]["message"], "the wasm provider has no images", "{wrong}");
}

#[test]
fn con_06_a_warm_container_that_is_required_has_no_fallback() {
    let mut desk = Desk::new("sandbox");
    for more in [json!({"provider": "docker", "fallback": true}), json!({})] {
        let mut arguments = more.clone();
        (arguments["name"], arguments["warm_pool"]) = (json!("a"), json!("require"));
        let (refused, _) = desk.call("sandbox_create", arguments);
        assert_eq!(refused["error"]["code"], "provider_unavailable", "{more}: {refused}");
        assert!(refused["error"]["hint"].as_str().unwrap().contains("warm_pool"), "{refused}");
    }
}
