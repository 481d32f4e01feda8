//! A server that has confined itself reaches the container engine by connections that a helper makes.

use dormouse_tests::wire::{PATIENCE, Wire};
use serde_json::json;

use super::{Desk, FULL};

#[test]
fn osw_04_a_confined_server_has_containers_through_a_helper() {
    let Some(desk) = Desk::new("osw_04") else { return };
    let state = desk.folder.path().join("confined");
    let host = std::env::var("DOCKER_HOST").ok();
    let environment: Vec<(&str, &str)> = host.iter().map(|host| ("DOCKER_HOST", host.as_str())).collect();
    let arguments =
        ["--tools", "all", "--state-dir", state.to_str().unwrap(), "--docker-image", FULL, "--no-fallback"];
    let mut wire = Wire::start_with(&arguments, &environment);
    wire.greet();
    let word = wire.call(1, "sandbox_capabilities", json!({}))["structuredContent"]["confinement"].clone();
    if word == "off" {
        eprintln!("skipped a part of osw_04: the kernel cannot confine processes");
    }
    let made = wire.call(2, "sandbox_create", json!({"name": "box", "image": FULL}));
    assert_eq!(made["structuredContent"]["provider"], "docker", "{made}");
    let line =
        "test -e /.dockerenv && head -c 3000000 /dev/zero | tee big | wc -c && read line; echo \"[$line]\"";
    let ran = wire.call(3, "sandbox_exec", json!({"sandbox": "box", "command": line, "stdin": "typed\n"}));
    let said = ran["structuredContent"]["stdout"].as_str().unwrap_or_default();
    assert_eq!(said, "3000000\n[typed]\n", "{ran}");
    let ran = wire.call(4, "sandbox_eval", json!({"sandbox": "box", "code": "6 * 7"}));
    assert_eq!(ran["structuredContent"]["result"]["value"], 42, "{ran}");
    wire.call(5, "sandbox_stop", json!({"sandbox": "box"}));
    let ran = wire.call(6, "sandbox_exec", json!({"sandbox": "box", "command": "wc -c < big"}));
    assert_eq!(ran["structuredContent"]["stdout"], "3000000\n", "{ran}");
    let gone = wire.call(7, "sandbox_destroy", json!({"sandbox": "box"}));
    assert_ne!(gone["isError"], true, "{gone}");
    assert_eq!(wire.end(PATIENCE).status, Some(0));
    desk.close();
}
