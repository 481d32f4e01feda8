//! The worked example of S0, twice, as the README runs it: by a container's own MCP server, and on wasm without an engine.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use dormouse_docker::{DockerProvider, Settings};
use dormouse_tests::{binary, sandbox, wait_until};
use serde_json::Value as Json;

use super::Desk;

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/scenario").join(name)
}

/// Lets it reach the engine, with another folder of the user's data.
pub(super) fn at_the_engine(command: &mut Command, data: &Path) {
    command.env("XDG_DATA_HOME", data);
    if let Some(host) = std::env::var_os("DOCKER_HOST") {
        command.env("DOCKER_HOST", host);
    }
}

/// Runs a file: exit status, the JSON report, what was said.
fn run(file: &Path, options: &[&str]) -> (Option<i32>, Json, String) {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("report");
    let mut words = vec!["scenario", "run", file.to_str().unwrap(), "--out", out.to_str().unwrap()];
    words.extend(options);
    let mut command = binary::command(&words);
    at_the_engine(&mut command, folder.path());
    let ran = binary::finish(command, b"");
    let report = std::fs::read_to_string(out.join("report.json")).unwrap_or_else(|_| "null".into());
    let page = std::fs::read_to_string(out.join("report.html")).unwrap_or_default();
    assert_eq!(page.contains("</html>"), report != "null", "all files or none");
    assert_eq!(out.join("junit.xml").exists(), report != "null", "all files or none");
    (ran.status, serde_json::from_str(&report).unwrap(), ran.complaint())
}

fn holds(file: &str, options: &[&str]) {
    let (status, report, said) = run(&example(file), options);
    assert_eq!(status, Some(0), "{said}");
    assert_eq!(report["status"], "passed");
    assert_eq!(report["totals"]["passed"], report["totals"]["repetitions"], "{}", report["totals"]);
}

#[test]
fn s0_39_the_demo_runs_on_wasm_without_an_engine() {
    holds("codegen.yaml", &["--no-docker"]);
}

#[test]
fn s0_38_the_demo_runs_by_the_server_of_a_container() {
    let Some(desk) = Desk::new("s0_38") else { return };
    holds("codegen-docker.yaml", &["--docker-image", "dormouse-test/mcp:1"]);
    // OSW-04: also from a process that has confined itself.
    holds("codegen-docker.yaml", &["--docker-image", "dormouse-test/mcp:1", "--confine"]);
    desk.close();
}

/// S0-31: a gate that fails is an exit status; S0-05: what nobody has registered is an error of configuration.
#[test]
fn a_gate_that_fails_is_1_and_a_source_that_is_unknown_is_2() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("arena.yaml");
    let arena = |source: &str, command: &str| {
        format!(
            "apiVersion: dormouse/v1\nkind: Arena\nmetadata:\n  name: gates\nspec:\n  mcp_servers:\n    - name: sandbox\n      \
             source: {source}\n      scope: session\n      source_args: {{}}\n  scenarios:\n    - spec:\n        id: one\n        \
             turns:\n          - tool_calls:\n              - tool: Bash\n                arguments: {{command: 'true'}}\n        \
             conversation_assertions:\n          - type: tool_exec\n            params: {{tool: Bash, args: {{command: \"{command}\"}}, \
             success_pattern: 'yes'}}\n"
        )
    };
    std::fs::write(&file, arena("wasm", "echo yes")).unwrap();
    let (status, _, said) = run(&file, &[]);
    assert_eq!(status, Some(0), "{said}");
    std::fs::write(&file, arena("wasm", "echo no")).unwrap();
    let (status, report, said) = run(&file, &[]);
    assert_eq!((status, &report["status"]), (Some(1), &"failed".into()), "{said}");
    std::fs::write(&file, arena("nowhere", "echo yes")).unwrap();
    let (status, report, said) = run(&file, &[]);
    assert_eq!((status, report), (Some(2), Json::Null));
    assert!(said.contains("unknown source \"nowhere\"") && said.contains("wasm"), "{said}");
}

/// S0-28: a run that is killed cannot remove its container; the next one of the same user does, without `--state-dir`.
#[test]
fn s0_28_a_killed_runs_container_is_removed_by_the_next_run() {
    let Some(desk) = Desk::new("s0_28_killed") else { return };
    let folder = desk.folder.path();
    let write = |name: &str, command: &str| {
        let text = format!(
            "spec:\n  mcp_servers:\n    - {{name: box, source: docker, scope: session, source_args: {{image: 'dormouse-test/mcp:1'}}}}\n  \
             scenarios:\n    - spec:\n        id: one\n        turns: [{{tool_calls: [{{tool: Bash, arguments: {{command: '{command}'}}}}]}}]\n"
        );
        let file = folder.join(name);
        std::fs::write(&file, text).unwrap();
        file
    };
    let (long, short) = (write("long.yaml", "sleep 100"), write("short.yaml", "true"));
    let (data, out) = (folder.join("data"), folder.join("out"));
    let start = |file: &Path| {
        let words = ["scenario", "run", file.to_str().unwrap(), "--out", out.to_str().unwrap()];
        let mut command = binary::command(&[&words[..], &["--docker-image", "dormouse-test/mcp:1"]].concat());
        at_the_engine(&mut command, &data);
        command
    };
    let mut child = start(&long).spawn().unwrap();
    let patience = Duration::from_secs(60);
    let lives = data.join("dormouse/docker/owner");
    wait_until("the run says whose its containers are", patience, || lives.exists());
    let settings = Settings { state: Some(data.join("dormouse")), ..Settings::default() };
    let looks = DockerProvider::new(settings).unwrap();
    let left = || sandbox::wait(looks.left()).unwrap();
    wait_until("the run starts a container", patience, || !left().is_empty());
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!left().is_empty(), "nobody was there to remove it");
    let ran = binary::finish(start(&short), b"");
    assert_eq!(ran.status, Some(0), "{}", ran.complaint());
    assert_eq!(left(), [""; 0]);
    desk.close();
}

/// S0-11, acceptance run 3: the third entry cannot be opened, so the other two are closed.
#[test]
fn s0_11_an_opening_that_fails_leaves_no_container() {
    let Some(desk) = Desk::new("s0_11") else { return };
    let folder = desk.folder.path();
    let entry = |name: &str, image: &str| {
        format!(
            "    - name: {name}\n      source: docker\n      scope: session\n      source_args: {{image: '{image}'}}\n"
        )
    };
    let text = format!(
        "apiVersion: dormouse/v1\nkind: Arena\nmetadata:\n  name: partly\nspec:\n  mcp_servers:\n{}{}{}  scenarios:\n    - spec:\n        \
         id: one\n        turns:\n          - tool_calls:\n              - tool: Bash\n                arguments: {{command: 'true'}}\n",
        entry("first", "dormouse-test/mcp:1"),
        entry("second", "dormouse-test/mcp:1"),
        entry("third", "not-allowed:1"),
    );
    let (file, state) = (folder.join("arena.yaml"), folder.join("state"));
    std::fs::write(&file, text).unwrap();
    let options = ["--docker-image", "dormouse-test/mcp:1", "--state-dir", state.to_str().unwrap()];
    let (status, _, said) = run(&file, &options);
    assert_eq!(status, Some(2), "{said}");
    assert!(said.contains("`third`: the image `not-allowed:1` is not allowed"), "{said}");
    // The same installation: what it left would be listed.
    desk.close();
}
