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

/// Files lie in the container's memory; the room that they really have is told.
#[test]
fn con_24_the_room_for_files_that_a_sandbox_tells_is_what_it_has() {
    let Some(desk) = Desk::new("con_24_files") else { return };
    let (memory, asked) = (160_u64 << 20, 1_u64 << 30);
    desk.call(
        "sandbox_create",
        json!({"name": "box", "image": FULL, "memory_bytes": memory, "disk_bytes": asked}),
    );
    let got = desk.call("sandbox_get", json!({"sandbox": "box"}));
    let told = got["limits"]["disk_bytes"].as_u64().unwrap();
    assert!(told < memory, "{got}");
    let blocks = "df -k /workspace | awk 'END {print $2}'";
    let shown = desk.exec("box", blocks)["stdout"].as_str().unwrap().trim().to_owned();
    assert_eq!(shown.parse::<u64>().unwrap(), told >> 10, "{got}");
    desk.close();
}
