//! The profile `codegen` over the real server and the real guests: the demonstration, checks of each language, skills.

use std::time::Duration;

use dormouse_tests::turns;
use dormouse_tests::wire::Wire;
use serde_json::{Value as Json, json};

const TURNS: &str = include_str!("../examples/codegen/turns.json");
const SKILL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/codegen/skills/codegen");

struct Agent {
    wire: Wire,
    next: i64,
    _state: tempfile::TempDir,
}

impl Agent {
    fn start(arguments: &[&str]) -> Self {
        let state = tempfile::tempdir().unwrap();
        let folder = state.path().to_str().unwrap();
        let wire = Wire::greeted(&[&["--state-dir", folder], arguments].concat());
        Self { wire, next: 0, _state: state }
    }

    fn call(&mut self, tool: &str, arguments: Json) -> Json {
        self.next += 1;
        self.wire.call(self.next, tool, arguments)
    }

    fn bash(&mut self, command: &str) -> String {
        let result = self.call("Bash", json!({"command": command}));
        result["content"][0]["text"].as_str().unwrap().to_owned()
    }
}

fn told(result: &Json) -> &Json {
    &result["structuredContent"]
}

/// S0-32, S0-33, S0-35, S0-36, S0-38, S0-39: seed, test, read, edit, test, lint, report, gate.
#[test]
fn s0_39_an_agents_loop_runs_on_wasm_alone_and_is_reported() {
    let state = tempfile::tempdir().unwrap();
    let folder = state.path().to_str().unwrap();
    let mut wire = Wire::greeted(&["--profile", "codegen", "--skill", SKILL, "--state-dir", folder]);
    let done = turns::play(&mut wire, TURNS);
    for done in &done {
        assert!(done.is_as_expected(), "{}: {}", done.turn.say, done.text);
    }
    let tests: Vec<&Json> = done
        .iter()
        .filter(|done| done.turn.tool == "run_tests")
        .map(|done| &done.structured["passed"])
        .collect();
    assert_eq!(tests, [false, false, true, true]);
    let failed = &done[2].structured["failures"];
    assert_eq!((&failed[0]["file"], &failed[0]["line"]), (&json!("/workspace/test_shop.py"), &json!(11)));
    let report = turns::report(&done);
    assert_eq!((&report["passed"], report["turns"].as_array().unwrap().len()), (&json!(true), done.len()));
    let page = turns::page(&done);
    assert!(
        page.starts_with("<!doctype html>") && !page.contains("<class") && page.contains("&lt;&lt;'END'")
    );
    wire.end(Duration::from_secs(60));
}

#[test]
fn javascript_tests_run_with_node_test_and_by_package_json() {
    let mut agent = Agent::start(&["--profile", "codegen"]);
    agent.bash(
        "mkdir js && cd js && cat > sum.js <<'X'\nmodule.exports = (a, b) => a - b;\nX\ncat > sum.test.js <<'X'\n\
         const { test, describe, it } = require('node:test');\nconst assert = require('node:assert');\n\
         const sum = require('./sum.js');\ntest('sums', () => assert.strictEqual(sum(1, 2), 3));\n\
         describe('none', () => { it('is zero', () => assert.ok(sum(0, 0) === 0)); it.skip('later', () => {}); });\nX",
    );
    let failed = agent.call("run_tests", json!({"path": "js"}));
    let answer = told(&failed);
    assert_eq!(failed["isError"], true);
    assert_eq!(
        answer["tests"],
        json!({"total": 3, "passed": 1, "failed": 1, "errors": 0, "skipped": 1}),
        "{answer}"
    );
    assert_eq!((&answer["failures"][0]["name"], &answer["failures"][0]["line"]), (&json!("sums"), &json!(4)));
    let status =
        agent.bash("cd /workspace/js && sed -i 's/a - b/a + b/' sum.js && node --test | grep -c '✔'");
    assert!(status.starts_with("2\n"), "{status}");
    let passed = agent.call("run_tests", json!({"path": "/workspace/js/sum.test.js"}));
    assert_eq!((&passed["isError"], &told(&passed)["passed"]), (&json!(false), &json!(true)), "{passed}");
    agent.bash("echo '{\"scripts\":{\"test\":\"node sum.test.js && exit 4\"}}' > /workspace/js/package.json");
    let script = agent.call("run_tests", json!({"path": "js"}));
    assert_eq!((&script["isError"], &told(&script)["tool"]), (&json!(true), &json!("npm test")), "{script}");
    agent.bash("echo 'const x = ;' > /workspace/js/bad.js; echo '<?php f( {' > /workspace/bad.php");
    let lint = agent.call("run_lint", json!({"path": "js"}));
    assert_eq!(
        (&told(&lint)["problems"], &told(&lint)["failures"][0]["line"]),
        (&json!(1), &json!(1)),
        "{lint}"
    );
    let lint = agent.call("run_lint", json!({"path": "bad.php"}));
    assert_eq!((&told(&lint)["tool"], &told(&lint)["problems"]), (&json!("php -l"), &json!(1)), "{lint}");
    let types = agent.call("run_typecheck", json!({"language": "javascript"}));
    assert_eq!(told(&types)["error"]["code"], "capability_unavailable");
}

/// Tests that print a result, never end, or end the program: none of them passes.
#[test]
fn a_run_of_tests_that_does_not_end_well_has_not_passed() {
    let mut agent = Agent::start(&["--profile", "codegen"]);
    for (name, body) in [
        ("loop", "def test_a():\n    while True: pass"),
        ("exit", "import os\ndef test_a():\n    os._exit(0)"),
        ("leave", "import sys\nsys.exit(0)"),
        ("forged", "print('{\"complete\": true}')\ndef test_a():\n    assert False"),
        ("flood", "def test_a():\n    for _ in range(200000): print('x' * 100)\n    assert 0"),
    ] {
        agent.bash(&format!(
            "mkdir -p /workspace/{name}; cat > /workspace/{name}/test_{name}.py <<'X'\n{body}\nX"
        ));
        let result = agent.call("run_tests", json!({"path": name, "timeout_ms": 3_000}));
        assert_eq!(
            (&result["isError"], &told(&result)["passed"]),
            (&json!(true), &json!(false)),
            "{name}: {result}"
        );
    }
    let left = agent.bash("ls -a /tmp | grep -c check");
    assert!(left.starts_with("0\n"), "{left}");
}

/// S0-35, S0-36, S2-27, S2-28: seen in both places, told by its beginning, run, never changed.
#[test]
fn s0_36_a_skill_is_listed_read_run_and_never_changed() {
    let folder = tempfile::tempdir().unwrap();
    let skill = folder.path().join("demo");
    std::fs::create_dir_all(skill.join("scripts")).unwrap();
    std::fs::write(skill.join("SKILL.md"), "# Demo\n\nSays hello.\n").unwrap();
    std::fs::write(skill.join("scripts/hello.sh"), "echo \"hello $1\" # private text\n").unwrap();
    std::fs::write(folder.path().join("secret"), "outside").unwrap();
    std::os::unix::fs::symlink("../secret", skill.join("out")).unwrap();
    let mut agent = Agent::start(&["--tools", "all", "--skills", folder.path().to_str().unwrap()]);
    let listed = json!([{"name": "demo", "path": "/skills/demo", "description": "Says hello."}]);
    let capabilities = agent.call("sandbox_capabilities", json!({}));
    assert_eq!(told(&capabilities)["skills"], listed);
    let made = agent.call("sandbox_create", json!({"name": "a"}));
    assert_eq!(told(&made)["skills"], listed);
    let mut exec = |command: &str| {
        let result = agent.call("sandbox_exec", json!({"sandbox": "a", "command": command}));
        assert!(!result.to_string().contains("private text"), "{result}");
        format!("{}{}", told(&result)["stdout"].as_str().unwrap(), told(&result)["stderr"].as_str().unwrap())
    };
    for place in ["/skills/demo", "/workspace/skills/demo"] {
        assert_eq!(exec(&format!("bash {place}/scripts/hello.sh you")), "hello you\n");
        assert!(exec(&format!("ls {place}")).contains("SKILL.md"));
        assert!(!exec(&format!("cat {place}/out")).contains("outside"));
        assert!(!exec(&format!("python3 -c \"print(open('{place}/out').read())\"")).contains("outside"));
        exec(&format!("echo x > {place}/new; echo x >> {place}/SKILL.md; rm -rf {place}; mkdir {place}/d"));
        exec(&format!("python3 -c \"open('{place}/new', 'w')\""));
    }
    assert!(exec("ls /workspace/skills").contains("demo"));
    for (tool, arguments, code) in [
        ("sandbox_write", json!({"path": "/skills/demo/new", "content": "x"}), "write_denied"),
        (
            "sandbox_edit",
            json!({"path": "/workspace/skills/demo/SKILL.md", "old": "hello", "new": "x"}),
            "write_denied",
        ),
        ("sandbox_read", json!({"path": "/skills/demo/out"}), "path_denied"),
    ] {
        let mut arguments = arguments;
        arguments["sandbox"] = "a".into();
        let refused = agent.call(tool, arguments);
        assert_eq!(told(&refused)["error"]["code"], code, "{tool}: {refused}");
    }
    let read = agent.call("sandbox_read", json!({"sandbox": "a", "path": "/skills/demo/SKILL.md"}));
    assert_eq!(told(&read)["content"], "# Demo\n\nSays hello.\n");
    let files =
        agent.call("sandbox_files", json!({"sandbox": "a", "path": "/skills/demo", "recursive": true}));
    assert_eq!(told(&files)["total"], 4, "{files}");
    assert_eq!(std::fs::read_to_string(skill.join("SKILL.md")).unwrap(), "# Demo\n\nSays hello.\n");
    assert_eq!(std::fs::read_dir(&skill).unwrap().count(), 3);
}
