//! From one provider to the other: commands, sandboxes, files.

use std::sync::Arc;

use dormouse::sandbox::{Handle, Owner, ProviderName, SandboxSpec};
use dormouse::sandboxes::Rules;
use dormouse_tests::lasting;
use serde_json::json;

use dormouse::Provider as _;
use dormouse_docker::{DockerProvider, Settings};

use super::{Desk, Engine, FULL};

/// Where nobody listens.
const NOWHERE: &str = "unix:///nonexistent/docker.sock";

#[test]
fn a_command_that_wasm_does_not_have_runs_in_a_container_on_a_copy_of_the_files() {
    let Some(desk) = Desk::new("fallback of commands") else { return };
    desk.call("sandbox_create", json!({"name": "cell"}));
    let without = desk.exec("cell", "csplit in 2");
    assert_eq!((&without["exit_code"], &without["missing"]), (&json!(127), &json!(["csplit"])), "{without}");
    let spec = SandboxSpec { provider: ProviderName::Docker, ..SandboxSpec::default() };
    let Engine::Docker(provider) = &desk.engine else { panic!("it is an engine") };
    lasting::sandboxes(&desk.dormouse).offer(Arc::new(provider.programs(spec)));
    let with = desk.exec("cell", "printf 'x\\ny\\n' | csplit - 2 | sed 's/^/bytes: /'; cat xx01");
    assert_eq!(with["stdout"], "bytes: 2\nbytes: 2\ny\n", "{with}");
    assert_eq!((&with["provider"], &with["fallback_from"]), (&json!("docker"), &json!("wasm")), "{with}");
    assert_eq!(with["elsewhere"], json!(["csplit"]));
    // What it reads and writes are the sandbox's own files, where it is.
    desk.exec("cell", "mkdir d; printf '1\\n2\\n3\\n' > d/in");
    let split = desk.exec("cell", "cd d && csplit -s -f part in 3; ls; cat part01; cd ..");
    assert_eq!(split["stdout"], "in\npart00\npart01\n3\n", "{split}");
    let status = desk.exec("cell", "csplit none 2");
    assert_eq!(status["exit_code"], 1, "{status}");
    // What nobody has is missing still, and what is here stays here.
    let nobody = desk.exec("cell", "no-such-command");
    assert_eq!(
        (&nobody["exit_code"], &nobody["missing"]),
        (&json!(127), &json!(["no-such-command"])),
        "{nobody}"
    );
    let here = desk.exec("cell", "echo here");
    assert_eq!((&here["provider"], &here["elsewhere"]), (&json!("wasm"), &json!(null)));
    desk.close();
}

#[test]
fn con_06_without_an_engine_a_sandbox_is_wasms_and_says_so() {
    let Some(desk) = Desk::with("no engine", Some(NOWHERE), Rules::default()) else { return };
    let refused = desk.call("sandbox_create", json!({"name": "box", "image": FULL}));
    assert_eq!(refused["error"]["code"], "provider_unavailable", "{refused}");
    let made = desk.call("sandbox_create", json!({"name": "box", "image": FULL, "fallback": true}));
    assert_eq!(made["provider"], "docker", "it is one when the engine is back: {made}");
    let ran = desk.call("sandbox_eval", json!({"sandbox": "box", "code": "1 + 1"}));
    assert_eq!((&ran["provider"], &ran["fallback_from"]), (&json!("wasm"), &json!("docker")), "{ran}");
    let missing = desk.exec("box", "no-such-command")["unavailable"].clone();
    assert!(missing["hint"].as_str().unwrap().contains("is unavailable at the moment"), "{missing}");
    let found = desk.call("sandbox_capabilities", json!({}));
    assert_eq!(found["unavailable"][0]["provider"], "docker", "{found}");
    assert_eq!(found["images"], json!([FULL]));
}

#[test]
fn con_06_without_fallback_a_missing_engine_is_an_error_with_a_hint() {
    let rules = Rules { fallback: false, ..Rules::default() };
    let Some(desk) = Desk::with("no fallback", Some(NOWHERE), rules) else { return };
    let refused = desk.call("sandbox_create", json!({"name": "box", "provider": "docker"}));
    assert_eq!(refused["error"]["code"], "provider_unavailable", "{refused}");
    assert!(!refused["error"]["hint"].as_str().unwrap().is_empty());
    let wrong = desk.call("sandbox_create", json!({"name": "box", "image": "other:1"}));
    assert_ne!(wrong["error"], json!(null));
}

/// There is no network: who asks for a package is answered, and does not wait for one.
#[test]
fn s4_15_npm_install_without_a_network_ends_at_once() {
    Desk::each("npm install", |desk| {
        let made = desk.container("box");
        assert_eq!(made["persistence"], "files", "{made}");
        let begin = std::time::Instant::now();
        let ran = desk.exec("box", "npm install ms 2>&1");
        assert_ne!(ran["exit_code"], 0, "{ran}");
        assert!(ran["error"].is_null() && begin.elapsed() < std::time::Duration::from_secs(20), "{ran}");
    });
}

#[test]
fn an_image_that_the_engine_does_not_have_is_told_when_the_sandbox_is_made() {
    let Some(desk) = Desk::new("an image that is not there") else { return };
    let settings = Settings { images: vec!["dormouse-test/none:1".into()], ..Settings::default() };
    let provider = DockerProvider::new(settings).unwrap();
    let spec = SandboxSpec { provider: ProviderName::Docker, ..SandboxSpec::default() };
    let refused = dormouse_tests::sandbox::wait(provider.can_make(&spec)).unwrap_err();
    assert_eq!(refused.code(), dormouse::ErrorCode::CapabilityUnavailable, "{refused}");
    assert!(refused.hint().is_some_and(|hint| hint.contains("--docker-pull")));
    desk.close();
}

#[test]
fn files_go_from_wasm_to_a_container_and_back() {
    Desk::each("moving files", |desk| {
        desk.call("sandbox_create", json!({"name": "box"}));
        desk.exec(
            "box",
            "mkdir -p a/b; echo text > a/b/f; ln -s f a/b/link; printf '\\x00\\xff' > bytes; touch empty",
        );
        let sum =
            desk.exec("box", "find . -type f | sort | xargs sha256sum; readlink a/b/link")["stdout"].clone();
        let sandboxes = lasting::sandboxes(&desk.dormouse);
        let (owner, handle) = (Owner::local(), Handle::IdOrName("box"));
        for provider in [desk.provider(), ProviderName::Wasm, desk.provider()] {
            dormouse_tests::sandbox::wait(sandboxes.move_to(&owner, &handle, provider, 256 << 20)).unwrap();
            let there = desk.exec("box", "find . -type f | sort | xargs sha256sum; readlink a/b/link");
            assert_eq!((&there["stdout"], &there["provider"]), (&sum, &json!(provider.as_str())), "{there}");
        }
    });
}

/// A process on the same state folder that was started without the option that names images.
fn without_images(desk: &Desk, rules: Rules) -> dormouse::Dormouse {
    let builder = dormouse::Dormouse::builder().unwrap().allocation(dormouse::wasm::Allocation::OnDemand);
    builder.state(desk.folder.path().join("state")).rules(rules).build().unwrap()
}

/// Started without the option that names images, a process has the files of a container, on wasm, and says so.
#[test]
fn con_06_a_forgotten_option_is_told_as_what_it_is() {
    let Some(desk) = Desk::new("a forgotten option") else { return };
    desk.container("box");
    desk.exec("box", "echo text > f; chmod 600 f; ln -s /usr/bin/env tool");
    desk.call("sandbox_stop", json!({"sandbox": "box"}));
    let without = |fallback: bool| without_images(&desk, Rules { fallback, ..Rules::default() });
    let (owner, handle) = (Owner::local(), Handle::IdOrName("box"));
    let line = |text: &str| dormouse::sandboxes::CommandLine::new(text);
    let strict = without(false);
    let refused =
        dormouse_tests::sandbox::wait(lasting::sandboxes(&strict).exec(&owner, &handle, line("cat f")));
    let refused = refused.err().unwrap();
    assert_eq!(refused.code(), dormouse::ErrorCode::ProviderUnavailable, "{refused}");
    assert!(refused.hint().is_some_and(|hint| hint.contains("--docker-image")));
    dormouse_tests::sandbox::wait(lasting::sandboxes(&strict).close()).unwrap();
    let open = without(true);
    let ran = dormouse_tests::sandbox::wait(lasting::sandboxes(&open).exec(&owner, &handle, line("cat f")));
    let (_, ran) = ran.unwrap();
    assert_eq!((ran.outcome.stdout.text.as_str(), ran.outcome.provider), ("text\n", "wasm"));
    assert_eq!(ran.outcome.fallback_from, Some("docker"));
    dormouse_tests::sandbox::wait(lasting::sandboxes(&open).close()).unwrap();
    // With the option it is a container again, as it was.
    let there = desk.exec("box", "stat -c %a f; readlink tool");
    assert_eq!(
        (&there["stdout"], &there["provider"]),
        (&json!("600\n/usr/bin/env\n"), &json!("docker")),
        "{there}"
    );
    desk.close();
}

/// What fits a container, which has a `/tmp` of its own, and not a sandbox on wasm, is there, and each run says what it means.
#[test]
fn con_06_what_a_container_had_more_room_for_is_told_on_wasm() {
    let Some(desk) = Desk::new("more room in a container") else { return };
    desk.call("sandbox_create", json!({"name": "box", "image": FULL, "disk_bytes": 8 << 20}));
    let filled = desk.exec(
        "box",
        "head -c 7000000 /dev/urandom > f; head -c 7000000 /dev/urandom > /tmp/g; wc -c f /tmp/g",
    );
    assert_eq!(filled["exit_code"], 0, "{filled}");
    desk.call("sandbox_stop", json!({"sandbox": "box"}));
    let open = without_images(&desk, Rules::default());
    let (owner, handle) = (Owner::local(), Handle::IdOrName("box"));
    let exec = |line: &str| {
        let line = dormouse::sandboxes::CommandLine::new(line);
        dormouse_tests::sandbox::wait(lasting::sandboxes(&open).exec(&owner, &handle, line))
            .unwrap()
            .1
            .outcome
    };
    let told = exec("wc -c < f; echo x > h");
    assert!(told.stdout.text.starts_with("7000000"), "{told:?}");
    let warning = told.warning.expect("it is told");
    assert_eq!(warning.code(), dormouse::ErrorCode::LimitDisk, "{warning}");
    assert!(warning.hint().is_some_and(|hint| hint.contains("/tmp")));
    let after = exec("rm /tmp/g; echo x > h; cat h");
    assert_eq!((after.stdout.text.as_str(), after.warning.is_none()), ("x\n", true), "{after:?}");
    dormouse_tests::sandbox::wait(lasting::sandboxes(&open).close()).unwrap();
    desk.close();
}
