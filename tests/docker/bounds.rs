//! What a container may have, as its sandbox tells it and as the kernel lets it.

use std::time::{Duration, Instant};

use dormouse::Policy;
use dormouse::sandbox::Owner;
use dormouse::sandboxes::Rules;
use dormouse_tests::sandbox;
use dormouse_tools::{CallContext, Profile};
use serde_json::{Value as Json, json};

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
    let memory = 160_u64 << 20;
    let made = desk.call(
        "sandbox_create",
        json!({"name": "box", "image": FULL, "memory_bytes": memory, "disk_bytes": memory}),
    );
    assert_eq!(made["error"], json!(null), "{made}");
    let got = desk.call("sandbox_get", json!({"sandbox": "box"}));
    let told = got["limits"]["disk_bytes"].as_u64().unwrap();
    assert!(told < memory, "{got}");
    let blocks = "df -k /workspace | awk 'END {print $2}'";
    let shown = desk.exec("box", blocks)["stdout"].as_str().unwrap().trim().to_owned();
    assert_eq!(shown.parse::<u64>().unwrap(), told >> 10, "{got}");
    desk.close();
}

/// OWN-01: one owner's containers, which compute without an end and are more than there are places, hold no other owner up.
#[test]
fn own_01_an_owner_beside_anothers_busy_containers_is_served() {
    let policy = Policy { owners_share: true, ..Policy::default() };
    let Some(desk) = Desk::under(policy, "own_01", None, Rules::default()) else { return };
    let call = |owner: &str, tool: &'static str, arguments: Json| {
        let Json::Object(arguments) = arguments else { unreachable!("arguments are an object") };
        let surface = desk.surface(Profile::Sandbox);
        let context = CallContext::of(Owner::parse(owner).unwrap());
        async move { surface.call(tool, arguments, context).await.unwrap().structured }
    };
    let container = |name: &str| json!({"name": name, "image": FULL, "memory_bytes": 128 << 20});
    let mut busy = Vec::new();
    for number in 0..6 {
        let name = format!("busy-{number}");
        let made = sandbox::wait(call("greedy", "sandbox_create", container(&name)));
        assert_eq!(made["provider"], "docker", "{made}");
        let endless = json!({"sandbox": name, "command": "while :; do :; done", "timeout_ms": 40_000});
        busy.push(sandbox::spawn(call("greedy", "sandbox_exec", endless)));
    }
    let begin = Instant::now();
    let made = sandbox::wait(call("other", "sandbox_create", container("box")));
    assert_eq!(made["provider"], "docker", "{made}");
    for _ in 0..3 {
        let line = json!({"sandbox": "box", "command": "echo served", "timeout_ms": 30_000});
        let told = sandbox::wait(call("other", "sandbox_exec", line));
        assert_eq!(told["stdout"], "served\n", "{told}");
    }
    assert!(begin.elapsed() < Duration::from_secs(30), "served after {:?}", begin.elapsed());
    assert!(busy.iter().any(|one| !one.is_finished()), "nothing was busy meanwhile");
    for (number, one) in busy.into_iter().enumerate() {
        one.abort();
        let gone =
            sandbox::wait(call("greedy", "sandbox_destroy", json!({"sandbox": format!("busy-{number}")})));
        assert_eq!(gone["error"], json!(null), "{gone}");
    }
    sandbox::wait(call("other", "sandbox_destroy", json!({"sandbox": "box"})));
    desk.close();
}
