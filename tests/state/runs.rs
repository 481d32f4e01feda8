//! The seeds' runs from end to end, over the real server and over the crate.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use dormouse::sandbox::{Handle, Owner, Phase, Quota, SessionKey, Timestamp};
use dormouse::sandboxes::{Asked, Clock, Rules};
use dormouse::{Dormouse, ErrorCode};
use dormouse_tests::lasting::{self, named, remember, remembered, run};
use dormouse_tests::wire::Wire;
use dormouse_tests::{PYTHON, binary, sandbox, wait_until};
use serde_json::{Value as Json, json};

const PATIENCE: Duration = Duration::from_secs(20);

fn text(result: &Json) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_default()
}

/// S4-15: create, install, checkpoint, test, restore, shut down, wake. A repository to begin with is `tests/git`'s.
#[test]
fn s4_15_a_sprite_is_made_broken_and_put_back() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().to_str().unwrap();
    let mut wire = Wire::greeted(&["--state-dir", state, "--profile", "sprites"]);
    let made = wire.call(1, "sprite_create", json!({"name": "ci"}));
    assert_eq!(made["structuredContent"]["status"], "running", "{made}");
    let mut id = 1;
    let mut exec = |wire: &mut Wire, command: &str| {
        id += 1;
        let ran = wire.call(id, "sprite_exec", json!({"name": "ci", "command": command, "timeout": 60_000}));
        assert!(ran["isError"] != true, "{ran}");
        let answer = &ran["structuredContent"];
        (answer["exitCode"].as_i64().unwrap(), answer["stdout"].as_str().unwrap().to_owned())
    };
    let package = r#"{"name": "ci", "version": "1.0.0", "scripts": {"test": "node test.js"}}"#;
    let write =
        format!("echo '{package}' > package.json; echo 'console.log(\"tested\"); process.exit(3)' > test.js");
    assert_eq!(exec(&mut wire, &write).0, 0);
    let (status, said) = exec(&mut wire, "npm install");
    assert!(status == 0 && said.contains("up to date"), "{said}");
    let saved = wire.call(100, "sprite_checkpoint", json!({"name": "ci", "checkpointName": "pre-test"}));
    let checkpoint = saved["structuredContent"]["id"].as_str().unwrap().to_owned();
    let (status, said) = exec(&mut wire, "npm test");
    assert!(status == 3 && said.ends_with("tested\n"), "{said}");
    assert_eq!(exec(&mut wire, "rm package.json; echo broken > test.js").0, 0);
    let restored = wire.call(101, "sprite_restore", json!({"name": "ci", "checkpointId": checkpoint}));
    assert_eq!(text(&restored), format!("Successfully restored sprite 'ci' to checkpoint '{checkpoint}'"));
    assert_eq!(exec(&mut wire, "cat package.json"), (0, format!("{package}\n")));
    let ended = wire.call(102, "sprite_shutdown", json!({"name": "ci"}));
    assert_eq!(text(&ended), "Shutdown initiated for sprite 'ci'");
    let listed = wire.call(103, "sprite_list", json!({}));
    assert_eq!(listed["structuredContent"]["sprites"][0]["status"], "shutdown");
    assert_eq!(text(&wire.call(104, "sprite_wake", json!({"name": "ci"}))), "Wake initiated for sprite 'ci'");
    assert_eq!(exec(&mut wire, "npm test -s").0, 3);
    wire.end(PATIENCE);
}

/// S3-02: listing makes nothing; the first call makes it; a killed server and a killed interpreter are recovered from.
#[test]
fn s3_02_an_rlm_sandbox_begins_with_its_first_call_and_survives_kills() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().to_str().unwrap();
    let sandboxes = || {
        let ran = binary::dormouse(&["sandbox", "list", "--state-dir", state, "--json"], b"");
        let mut told: Json = serde_json::from_str(&ran.text()).unwrap();
        told["sandboxes"].as_array_mut().map(std::mem::take).unwrap()
    };
    let mut wire = Wire::greeted(&["--state-dir", state, "--profile", "rlm"]);
    let tools = wire.ask(1, "tools/list", json!({}));
    assert!(tools["result"]["tools"].as_array().unwrap().len() >= 5);
    assert_eq!(sandboxes().len(), 0, "listing tools has made a sandbox");
    let begin = Instant::now();
    let first = wire.call(2, "rlm_exec", json!({"code": "x = 41; x"}));
    assert!(begin.elapsed() < Duration::from_secs(5) && text(&first) == "41", "{first}");
    assert_eq!(sandboxes().len(), 1);
    // The interpreter is killed by its limit, and the next call goes on with what was before.
    let killed = wire.call(3, "rlm_exec", json!({"code": "x = 0\nwhile True: pass", "timeout": 1}));
    assert!(killed["isError"] == true || text(&killed).contains("limit"), "{killed}");
    assert_eq!(text(&wire.call(4, "rlm_exec", json!({"code": "x + 1"}))), "42");
    // A second without calls, and it is saved and at rest.
    wait_until("it is saved and at rest", PATIENCE, || sandboxes()[0]["status"] == "warm");
    wire.kill();
    let mut wire = Wire::greeted(&["--state-dir", state, "--profile", "rlm"]);
    assert_eq!(text(&wire.call(1, "rlm_exec", json!({"code": "x"}))), "41");
    wire.end(PATIENCE);
}

/// S3-05: ten megabytes go in, and none of them is in any message.
#[test]
fn s3_05_a_large_file_is_loaded_without_being_shown() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state");
    let root = folder.path().join("data");
    std::fs::create_dir(&root).unwrap();
    let line = "needle-in-the-haystack 0123456789\n";
    let content = line.repeat((10 << 20) / line.len() + 1);
    std::fs::write(root.join("big.txt"), &content).unwrap();
    let (state, root) = (state.to_str().unwrap(), root.to_str().unwrap());
    let mut wire = Wire::greeted(&["--state-dir", state, "--profile", "rlm", "--root", root]);
    let loaded = wire.call(1, "rlm_load", json!({"path": format!("{root}/big.txt"), "var": "big"}));
    assert_eq!(text(&loaded), format!("Loaded big.txt into `big` ({} chars)", content.len()));
    assert!(text(&loaded).len() < 200 && loaded.to_string().len() < 1_000);
    let count = wire.call(2, "rlm_exec", json!({"code": "big.count('\\n')"}));
    assert_eq!(text(&count), (content.len() / line.len()).to_string());
    let ran = wire.end(PATIENCE);
    for stream in [&ran.stdout, &ran.stderr] {
        assert!(!String::from_utf8_lossy(stream).contains("needle"));
    }
    assert!(!loaded.to_string().contains("needle") && !count.to_string().contains("needle"));
}

/// A clock that stands still until it is told.
struct Hands(AtomicU64);

impl Hands {
    fn turn(&self, time: Duration) {
        self.0.fetch_add(u64::try_from(time.as_millis()).unwrap(), Ordering::SeqCst);
    }
}

impl Clock for Hands {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::SeqCst))
    }

    fn uptime(&self) -> Duration {
        Duration::from_millis(self.0.load(Ordering::SeqCst))
    }
}

/// S2-03 to S2-09: idle, stopped, files kept, resumed, retention, destroyed with all that it held.
#[test]
fn s2_04_a_life_by_the_clock_ends_with_its_room_given_back() {
    let folder = tempfile::tempdir().unwrap();
    let clock = Arc::new(Hands(AtomicU64::new(1_769_306_400_000)));
    let dormouse = Dormouse::builder().unwrap().clock(clock.clone()).state(folder.path()).build().unwrap();
    let found = lasting::sandboxes(&dormouse);
    let pass = |time: Duration| {
        clock.turn(time);
        sandbox::wait(async {
            found.rest().await;
            found.live().await.unwrap();
        });
    };
    let phase =
        |name: &str| found.get(&Owner::local(), &Handle::IdOrName(name)).map(|view| view.sandbox.phase).ok();
    let (minute, day) = (Duration::from_secs(60), Duration::from_secs(24 * 3600));
    let kept = named(&dormouse, "box");
    assert!(
        run(
            &kept,
            PYTHON,
            &format!("{}\nnoise = os.urandom(1 << 20)", remember(1).replace("x = 1", "import os\nx = 1"))
        )
        .is_ok()
    );
    sandbox::wait(kept.checkpoint()).unwrap();
    pass(14 * minute);
    assert_eq!(phase("box"), Some(Phase::Running));
    pass(2 * minute);
    assert_eq!(phase("box"), Some(Phase::Stopped));
    sandbox::wait(found.resume(&Owner::local(), &Handle::IdOrName("box"))).unwrap();
    assert_eq!(phase("box"), Some(Phase::Running));
    assert_eq!(remembered(&kept), (Some(1), Some(1)));
    pass(16 * minute);
    pass(6 * day);
    assert_eq!(phase("box"), Some(Phase::Stopped));
    assert_eq!(lasting::sweep(&dormouse).1, 0);
    pass(2 * day);
    assert_eq!(phase("box"), Some(Phase::Stopped), "it is marked first");
    pass(61 * minute);
    assert_eq!(phase("box"), None);
    lasting::sweep(&dormouse);
    drop(kept);
    lasting::close(dormouse);
    let left = std::fs::metadata(folder.path().join("state.db")).unwrap().len();
    assert!(left < 300 << 10, "{left} bytes are left of a megabyte");
}

fn with_key(key: &str) -> Asked {
    Asked { session_key: Some(SessionKey::parse(key).unwrap()), ..Asked::default() }
}

/// S2-16: a hundred at once with one key make one sandbox; with a hundred keys, as many as the quota has.
#[test]
fn mcp_08_a_hundred_creates_at_once_with_one_key_make_one_sandbox() {
    let folder = tempfile::tempdir().unwrap();
    let rules = Rules {
        quota: Quota { per_owner: 11, in_all: 100, checkpoints: 1, ..Quota::default() },
        ..Rules::default()
    };
    let dormouse = Dormouse::builder().unwrap().rules(rules).state(folder.path()).build().unwrap();
    let all_at_once = |key: fn(usize) -> String| {
        let tasks: Vec<_> = (0..100)
            .map(|number| {
                let (found, asked) = (lasting::sandboxes(&dormouse).clone(), with_key(&key(number)));
                sandbox::spawn(async move { found.create(&Owner::local(), asked).await })
            })
            .collect();
        tasks.into_iter().map(|task| sandbox::wait(task).unwrap()).collect::<Vec<_>>()
    };
    let made = all_at_once(|_| "one key".into());
    let ids: std::collections::BTreeSet<_> =
        made.iter().map(|made| made.as_ref().unwrap().0.sandbox.id.as_str().to_owned()).collect();
    assert_eq!((ids.len(), made.iter().filter(|made| made.as_ref().unwrap().1).count()), (1, 1));
    let made = all_at_once(|number| format!("key {number}"));
    let refused: Vec<_> = made.into_iter().filter_map(Result::err).collect();
    assert_eq!(refused.len(), 90);
    for error in refused {
        assert_eq!(error.code(), ErrorCode::QuotaExceeded);
        assert!(error.message().contains("11") && error.hint().is_some(), "{error}");
    }
    assert_eq!(lasting::count(&dormouse), 11);
}

/// S4-09: all of them, however many calls it takes.
#[test]
fn s4_09_the_command_line_lists_all_sandboxes() {
    let folder = tempfile::tempdir().unwrap();
    let rules = Rules {
        quota: Quota { per_owner: 450, in_all: 450, checkpoints: 1, ..Quota::default() },
        ..Rules::default()
    };
    let dormouse = Dormouse::builder().unwrap().rules(rules).state(folder.path()).build().unwrap();
    for number in 0..450 {
        named(&dormouse, &format!("box-{number}"));
    }
    let state = folder.path().to_str().unwrap();
    let ran = binary::dormouse(&["sandbox", "list", "--state-dir", state, "--json"], b"");
    let listed: Json = serde_json::from_str(&ran.text()).unwrap();
    let names: std::collections::BTreeSet<_> =
        listed["sandboxes"].as_array().unwrap().iter().map(|one| one["name"].to_string()).collect();
    assert_eq!(names.len(), 450);
}

/// S4-16: each refusal is one of its own, and a call on a cold sandbox wakes it.
#[test]
fn s4_16_each_refusal_has_a_code_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().to_str().unwrap();
    let mut wire = Wire::greeted(&["--state-dir", state, "--tools", "all"]);
    for (id, name) in [(1, "a"), (2, "b")] {
        wire.call(id, "sandbox_eval", json!({"session_key": name, "code": "x = 1"}));
    }
    let saved = wire.call(3, "sandbox_checkpoint", json!({"session_key": "a"}));
    let checkpoint = &saved["structuredContent"]["id"];
    let made_up = format!("ckpt-{}", "a".repeat(26));
    for (id, with, code) in [
        (4, json!({"session_key": "a", "checkpoint_id": made_up}), "unknown_checkpoint"),
        (5, json!({"session_key": "a", "checkpoint_id": "../../x"}), "unknown_checkpoint"),
        (6, json!({"session_key": "b", "checkpoint_id": checkpoint}), "checkpoint_of_other_sandbox"),
        (7, json!({"sandbox": "none", "checkpoint_id": checkpoint}), "unknown_sandbox"),
    ] {
        let refused = wire.call(id, "sandbox_restore", with);
        assert_eq!(refused["structuredContent"]["error"]["code"], code, "{refused}");
    }
    let unknown = wire.call(8, "sandbox_eval", json!({"sandbox": "none", "code": "1"}));
    assert_eq!(unknown["structuredContent"]["error"]["code"], "unknown_sandbox");
    let exec = wire.call(9, "sandbox_exec", json!({"session_key": "a", "command": "ls"}));
    assert_eq!(exec["structuredContent"]["exit_code"], 0, "{exec}");
    wire.call(10, "sandbox_stop", json!({"session_key": "a"}));
    let woken = wire.call(11, "sandbox_eval", json!({"session_key": "a", "code": "x"}));
    assert_eq!(woken["structuredContent"]["result"]["value"], 1, "{woken}");
    wire.end(PATIENCE);
}
