//! Requirements S4-15 on containers: create with a repository, install, checkpoint, test, restore, shut down.

use std::path::Path;

use dormouse_tests::{binary, sandbox};
use dormouse_tools::{CallContext, Profile};
use serde_json::{Value as Json, json};

use super::{Desk, FULL};

const PACKAGE: &str = r#"{"name":"demo","version":"1.0.0","scripts":{"test":"node --test"}}"#;
const TEST: &str = "const test = require('node:test'); const assert = require('node:assert');
test('adds', () => assert.strictEqual(require('./add.js')(1, 2), 3));\n";

/// A repository of this machine's git.
fn repository(git: &Path, folder: &Path) {
    std::fs::create_dir_all(folder).unwrap();
    std::fs::write(folder.join("package.json"), PACKAGE).unwrap();
    std::fs::write(folder.join("add.js"), "module.exports = (a, b) => a + b;\n").unwrap();
    std::fs::write(folder.join("add.test.js"), TEST).unwrap();
    for arguments in [
        vec!["init", "-q", "-b", "main"],
        vec!["add", "."],
        vec!["-c", "user.name=A", "-c", "user.email=a@example.com", "commit", "-q", "-m", "first"],
    ] {
        let mut command = binary::started(git, &arguments);
        command.current_dir(folder);
        let ran = binary::finish(command, b"");
        assert_eq!(ran.status, Some(0), "{}", ran.complaint());
    }
}

#[test]
fn s4_15_the_workflow_runs_in_a_container() {
    let Some(git) = binary::installed("git", "s4_15 in a container") else { return };
    let Some(desk) = Desk::new("s4_15") else { return };
    repository(&git, &desk.folder.path().join("shared/repo"));
    let made =
        desk.call("sandbox_create", json!({"name": "work", "image": FULL, "repo": "file:///shared/repo"}));
    assert_eq!((&made["provider"], &made["error"]), (&json!("docker"), &json!(null)), "{made}");
    let surface = desk.surface(Profile::Sprites);
    let call = |tool: &str, arguments: Json| -> Json {
        let Json::Object(arguments) = arguments else { panic!("an object") };
        let reply = sandbox::wait(surface.call(tool, arguments, CallContext::default())).unwrap();
        assert!(!reply.is_error, "{tool}: {}", reply.text);
        reply.structured
    };
    let run =
        |command: &str| call("sprite_exec", json!({"name": "work", "command": command, "timeout": 60_000}));
    let installed = run("npm install --offline --no-audit --no-fund");
    assert_eq!(installed["exitCode"], 0, "{installed}");
    let checkpoint = call("sprite_checkpoint", json!({"name": "work", "checkpointName": "pre-test"}));
    let passed = run("npm test");
    assert_eq!(passed["exitCode"], 0, "{passed}");
    // What a test run breaks comes back.
    assert_eq!(run("echo 'module.exports = () => 0' > add.js; npm test")["exitCode"], 1);
    call("sprite_restore", json!({"name": "work", "checkpointId": checkpoint["id"]}));
    assert_eq!(run("npm test && git status --porcelain -- add.js")["exitCode"], 0);
    call("sprite_shutdown", json!({"name": "work"}));
    let listed = call("sprite_list", json!({}));
    let shown = listed.to_string();
    assert!(shown.contains("\"work\"") && shown.contains("\"shutdown\""), "{shown}");
    // It wakes with its files, in a new container.
    assert_eq!(run("cat add.js")["stdout"], "module.exports = (a, b) => a + b;\n");
    desk.close();
}

#[test]
fn a_fork_and_a_checkpoint_hold_the_files_of_a_container() {
    Desk::each("forks of containers", |desk| {
        desk.container("box");
        desk.exec("box", "mkdir -p a/b && echo one > a/b/f && ln -s b a/link && chmod 755 a/b/f");
        let saved = desk.call("sandbox_checkpoint", json!({"sandbox": "box"}));
        assert_eq!(saved["include"], "files", "{saved}");
        let forks = desk.call("sandbox_fork", json!({"sandbox": "box", "count": 2}));
        let fork = forks["sandboxes"][1]["name"].as_str().unwrap().to_owned();
        desk.exec("box", "echo two > a/b/f");
        assert_eq!(desk.exec(&fork, "cat a/link/f")["stdout"], "one\n");
        let memory = desk.call("sandbox_checkpoint", json!({"sandbox": "box", "include": "memory"}));
        assert_eq!(memory["error"]["code"], "capability_unavailable");
        desk.call("sandbox_restore", json!({"sandbox": "box", "checkpoint_id": saved["id"]}));
        assert_eq!(desk.exec("box", "cat a/b/f")["stdout"], "one\n");
    });
}

#[test]
fn s0_32_checks_run_in_a_container() {
    Desk::each("s0_32", |desk| {
        desk.container("box");
        let write = |path: &str, content: &str| {
            desk.call("sandbox_write", json!({"sandbox": "box", "path": path, "content": content}))
        };
        write("/workspace/test_sum.py", "def test_sum():\n    assert 1 + 1 == 3\n");
        let failed = desk.call("run_tests", json!({"sandbox": "box"}));
        assert_eq!((&failed["passed"], &failed["tests"]["failed"]), (&json!(false), &json!(1)), "{failed}");
        write("/workspace/test_sum.py", "def test_sum():\n    assert 1 + 1 == 2\n");
        let passed = desk.call("run_tests", json!({"sandbox": "box"}));
        assert_eq!(passed["passed"], true, "{passed}");
    });
}
