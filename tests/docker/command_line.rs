//! Containers from the command line: one process a command, nothing left between.

use dormouse_tests::binary;
use serde_json::Value as Json;

use super::Desk;

/// Runs `dormouse sandbox …` with containers.
fn run(desk: &Desk, state: &str, arguments: &[&str]) -> (Option<i32>, String, String) {
    let engine = desk.arguments();
    let mut all = vec!["sandbox", "--state-dir", state];
    all.extend(engine.iter().map(String::as_str));
    all.extend(arguments);
    let mut command = binary::command(&all);
    if let Some(host) = std::env::var_os("DOCKER_HOST") {
        command.env("DOCKER_HOST", host);
    }
    let ran = binary::finish(command, b"");
    (ran.status, ran.text(), ran.complaint())
}

#[test]
fn a_container_lasts_from_one_command_to_the_next() {
    Desk::each("containers from the command line", |desk| {
        let state = desk.folder.path().join("other-state");
        let state = state.to_str().unwrap();
        let works = |arguments: &[&str]| -> String {
            let (status, text, complaint) = run(desk, state, arguments);
            assert_eq!(status, Some(0), "{arguments:?}: {text}{complaint}");
            text
        };
        let made: Json =
            serde_json::from_str(&works(&["--json", "create", "box", "--image", desk.image()])).unwrap();
        assert_eq!(made["provider"], desk.provider().as_str());
        works(&["exec", "box", "echo kept > file; cat /etc/os-release > system || true"]);
        assert_eq!(works(&["exec", "box", "cat file"]), "kept\n");
        assert_eq!(works(&["eval", "box", "open('/workspace/file').read()"]).trim(), "kept");
        // Each command has a container of its own; what goes with it is told.
        works(&["eval", "box", "x = 41"]);
        let (status, _, complaint) = run(desk, state, &["eval", "box", "x + 1"]);
        assert!(status == Some(1) && complaint.contains("NameError"), "{complaint}");
        for part in ["note: the interpreter is fresh", "its interpreter ran in a container that is gone"] {
            assert!(complaint.contains(part), "{complaint}");
        }
        works(&["create", "lasting", "--image", desk.image(), "--persistence", "session"]);
        works(&["eval", "lasting", "x = 41"]);
        assert_eq!(works(&["eval", "lasting", "x + 1"]), "42\n");
        // Looking is done in another process, which begins with what was kept, and changes nothing.
        for _ in 0..2 {
            let (status, text, complaint) = run(desk, state, &["vars", "lasting"]);
            assert!(status == Some(0) && text.contains("x\tint\t41"), "{text}{complaint}");
            assert_eq!(complaint, "", "nothing was lost");
        }
        assert_eq!(works(&["vars", "lasting", "--language", "javascript"]), "");
        works(&["rm", "lasting"]);
        let (status, _, _) = run(desk, state, &["exec", "box", "exit 7"]);
        assert_eq!(status, Some(7));
        let (status, _, complaint) = run(desk, state, &["create", "bad", "--image", "not/allowed:1"]);
        assert_eq!(status, Some(1).filter(|_| status == Some(1)).or(Some(2)), "{complaint}");
        works(&["rm", "box"]);
    });
}
