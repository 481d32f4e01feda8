//! Servers that are started in folders, as clients start one for each project: each has a REPL of its own, and the client's roots
//! open its own folder and no other.

use std::path::Path;

use dormouse_tests::wire::Wire;
use serde_json::{Value as Json, json};

/// A server of the profile `rlm` that was started in a folder.
fn started(folder: &Path, state: &Path) -> Wire {
    Wire::start_in(folder, &["--profile", "rlm", "--state-dir", state.to_str().unwrap()])
}

fn text(answer: &Json) -> String {
    answer["content"][0]["text"].as_str().unwrap_or_default().to_owned()
}

/// Shakes hands as a client that has these roots.
fn greet_with_roots(wire: &mut Wire, roots: &[&str]) {
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {"roots": {"listChanged": true}},
        "clientInfo": {"name": "wire", "version": "0"}});
    wire.ask(0, "initialize", hello);
    wire.tell("notifications/initialized", json!({}));
    answer_roots(wire, roots);
}

/// Answers the server's question for the roots.
fn answer_roots(wire: &mut Wire, roots: &[&str]) {
    let asked = wire.next(dormouse_tests::wire::PATIENCE).expect("the server asks");
    assert_eq!(asked["method"], "roots/list", "{asked}");
    let roots: Vec<Json> = roots.iter().map(|root| json!({"uri": root})).collect();
    wire.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"roots": roots}}));
}

/// Two projects, one state folder.
#[test]
fn each_project_has_a_repl_of_its_own() {
    let place = tempfile::tempdir().unwrap();
    let [one, two, state] = ["one", "two", "state"].map(|name| place.path().join(name));
    for folder in [&one, &two] {
        std::fs::create_dir(folder).unwrap();
    }
    let run = |wire: &mut Wire, code: &str| text(&wire.call(1, "rlm_exec", json!({"code": code})));
    let mut first = started(&one, &state);
    first.greet();
    run(&mut first, "who = 'one'");
    let mut second = started(&two, &state);
    second.greet();
    let seen = run(&mut second, "'who' in globals()");
    assert!(seen.contains("false"), "{seen}");
    second.call(2, "rlm_reset", json!({}));
    assert!(run(&mut first, "who").contains("one"), "the reset was the other's");
    first.end(dormouse_tests::wire::PATIENCE);
    let mut again = started(&one, &state);
    again.greet();
    assert!(run(&mut again, "who").contains("one"), "the project's own REPL is there again");
}

#[test]
fn a_clients_roots_open_the_folder_of_the_server_and_nothing_else() {
    let place = tempfile::tempdir().unwrap();
    let [project, other, state] = ["a project", "other", "state"].map(|name| place.path().join(name));
    for folder in [&project, &other] {
        std::fs::create_dir(folder).unwrap();
        std::fs::write(folder.join("notes.txt"), "hello").unwrap();
    }
    let address = |folder: &Path| format!("file://{}", folder.to_str().unwrap().replace(' ', "%20"));
    let load = |wire: &mut Wire, path: &Path| {
        wire.call(5, "rlm_load", json!({"path": path.to_str().unwrap(), "var": "notes"}))
    };
    let notes = project.join("notes.txt");

    let mut wire = started(&project, &state);
    greet_with_roots(&mut wire, &[&address(&project), &address(&other)]);
    let loaded = load(&mut wire, &notes);
    assert!(text(&loaded).contains("(5 chars)"), "{loaded}");
    assert!(text(&load(&mut wire, Path::new("notes.txt"))).contains("(5 chars)"), "as the folder's own");
    let refused = load(&mut wire, &other.join("notes.txt"));
    assert_eq!(refused["isError"], true, "a root elsewhere opens nothing: {refused}");
    // The client takes it back.
    wire.tell("notifications/roots/list_changed", json!({}));
    answer_roots(&mut wire, &[]);
    let refused = load(&mut wire, &notes);
    assert_eq!(refused["isError"], true, "{refused}");
    wire.end(dormouse_tests::wire::PATIENCE);

    // One that has no roots, and one whose roots are elsewhere.
    let mut silent = started(&project, &state);
    silent.greet();
    let refused = load(&mut silent, &notes);
    assert!(refused["isError"] == true && text(&refused).contains("--root"), "{refused}");
    silent.end(dormouse_tests::wire::PATIENCE);
    let mut elsewhere = started(&project, &state);
    greet_with_roots(&mut elsewhere, &[&address(&other)]);
    assert_eq!(load(&mut elsewhere, &notes)["isError"], true);
}
