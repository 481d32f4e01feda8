//! What a container may have, as its sandbox tells it and as the kernel lets it.

use serde_json::json;

use super::{Desk, FULL};

/// CON-24: the number that `sandbox_get` tells is the control group's, and what goes over it is named with that number.
#[test]
fn con_24_the_memory_that_a_sandbox_tells_is_what_it_has() {
    let Some(desk) = Desk::new("con_24") else { return };
    let memory = 160_u64 << 20;
    let made = desk.call(
        "sandbox_create",
        json!({"name": "box", "image": FULL, "memory_bytes": memory, "disk_bytes": 32 << 20}),
    );
    assert_eq!((&made["provider"], &made["error"]), (&json!("docker"), &json!(null)), "{made}");
    let got = desk.call("sandbox_get", json!({"sandbox": "box"}));
    assert_eq!(got["limits"]["memory_bytes"], memory, "{got}");
    let cgroup = "cat /sys/fs/cgroup/memory/memory.limit_in_bytes /sys/fs/cgroup/memory.max 2>/dev/null";
    assert_eq!(desk.exec("box", cgroup)["stdout"], format!("{memory}\n"));
    let taking = |mebibytes: u32| format!("x = bytearray({mebibytes} << 20); len(x) >> 20");
    let snippet = |code: String| {
        desk.call("sandbox_eval", json!({"sandbox": "box", "code": code, "timeout_ms": 60_000}))
    };
    assert_eq!(desk.exec("box", &format!("python3 -c '{}'", taking(110)))["exit_code"], 0);
    let over = desk.exec("box", &format!("python3 -c '{}'", taking(170)));
    assert_eq!(over["error"]["code"], "limit_memory", "{over}");
    let over = snippet(taking(170));
    assert_eq!(over["error"]["code"], "limit_memory", "{over}");
    assert!(over["error"]["message"].as_str().unwrap().contains(&memory.to_string()), "{over}");
    assert_eq!(snippet(taking(100))["error"], json!(null));
    desk.close();
}
