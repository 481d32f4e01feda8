//! A server that has confined itself reaches the container engine by connections that a helper makes.

use dormouse_tests::wire::{PATIENCE, Wire};
use serde_json::{Value as Json, json};

use super::{Desk, FULL};

/// One life of a sandbox through a server that confines itself. `between`: what happens in the middle of it.
pub(super) fn lives(wire: &mut Wire, provider: &str, between: impl FnOnce()) {
    wire.greet();
    let mut id = 0;
    let mut call = |tool: &str, arguments: Json| {
        id += 1;
        let answer = wire.call(id, tool, arguments);
        assert_ne!(answer["isError"], true, "{tool}: {answer}");
        answer["structuredContent"].clone()
    };
    if call("sandbox_capabilities", json!({}))["confinement"] == "off" {
        eprintln!("skipped a part of osw_04 on {provider}: the kernel cannot confine processes");
    }
    let made = call("sandbox_create", json!({"name": "box", "image": FULL, "provider": provider}));
    assert_eq!(made["provider"], provider, "{made}");
    let line =
        "test -e /.dockerenv && head -c 3000000 /dev/zero | tee big | wc -c && read line; echo \"[$line]\"";
    let ran = call("sandbox_exec", json!({"sandbox": "box", "command": line, "stdin": "typed\n"}));
    assert_eq!(ran["stdout"], "3000000\n[typed]\n", "{ran}");
    between();
    let ran = call("sandbox_eval", json!({"sandbox": "box", "code": "6 * 7"}));
    assert_eq!(ran["result"]["value"], 42, "{ran}");
    call("sandbox_stop", json!({"sandbox": "box"}));
    let ran = call("sandbox_exec", json!({"sandbox": "box", "command": "wc -c < big"}));
    assert_eq!(ran["stdout"], "3000000\n", "{ran}");
    call("sandbox_destroy", json!({"sandbox": "box"}));
}

#[test]
fn osw_04_a_confined_server_has_containers_through_a_helper() {
    let Some(desk) = Desk::new("osw_04") else { return };
    let state = desk.folder.path().join("confined");
    let host = std::env::var("DOCKER_HOST").ok();
    let environment: Vec<(&str, &str)> = host.iter().map(|host| ("DOCKER_HOST", host.as_str())).collect();
    let arguments =
        ["--tools", "all", "--state-dir", state.to_str().unwrap(), "--docker-image", FULL, "--no-fallback"];
    let mut wire = Wire::start_with(&arguments, &environment);
    lives(&mut wire, "docker", || {});
    assert_eq!(wire.end(PATIENCE).status, Some(0));
    desk.close();
}
