//! What is told of a program's calls before it runs.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use dormouse_core::{Catalog, Connections as _, PlainCall};
use serde_json::{Map, Value as Json, json};

use super::double::{Does, Double, allowed, caller, listed, text};
use crate::{Connectors, Settings};

/// A call on a line, all of whose arguments stand there: literals, and the names of others.
fn call(line: u32, name: &str, literals: Json, others: &[&str]) -> PlainCall {
    let Json::Object(literals) = literals else { panic!("an object") };
    let others = others.iter().map(|name| (*name).to_owned());
    PlainCall {
        line,
        name: name.into(),
        literals,
        whole: true,
        others: others.collect(),
        ..PlainCall::default()
    }
}

fn server() -> Arc<Double> {
    let issue = json!({
        "type": "object",
        "properties": {
            "owner": {"type": "string"},
            "state": {"enum": ["open", "closed"]},
            "labels": {"type": "array", "items": {"$ref": "#/$defs/label"}},
            "page": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        },
        "required": ["owner"],
        "additionalProperties": false,
        "$defs": {"label": {"type": "string"}},
    });
    let lax = json!({
        "type": "object",
        "properties": {"path": {"type": "string"}, "head": {}, "tail": {}},
        "required": ["path"],
        "not": {"required": ["head", "tail"]},
    });
    let circle = json!({"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]});
    let tools = vec![
        listed("list-issues", "Lists issues.", issue),
        listed("read", "Reads.", lax),
        listed("any", "", json!({"type": "object"})),
        listed("circle", "", circle),
    ];
    Double::new(tools, |_| Does::Answers(text("done")))
}

fn looking(double: &Arc<Double>) -> Arc<dyn Catalog> {
    let settings = Settings { check: true, ..allowed(vec![double.connection("github")]) };
    Connectors::new(settings).unwrap().catalog(&caller("o"))
}

#[tokio::test]
async fn every_wrong_call_is_told_with_its_line_the_nearest_name_and_a_stub() {
    let double = server();
    let catalog = looking(&double);
    assert!(catalog.looks_ahead());
    let told = catalog
        .look_ahead(vec![
            call(9, "github.list_isues", json!({}), &[]),
            call(2, "githup.x", json!({}), &[]),
            call(4, "github.list_issues", json!({"ownr": "a", "state": "shut", "labels": [1]}), &[]),
            call(5, "github.list_issues", json!({"owner": "a"}), &["stat"]),
            call(6, "github", json!({}), &[]),
            call(7, "github.read", json!({"path": "p", "head": 1, "tail": 2}), &[]),
            PlainCall { positional: true, ..call(8, "github.read", json!({}), &[]) },
        ])
        .await
        .unwrap();
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!(lines[0], "7 calls of tools are wrong, and nothing was run:");
    assert_eq!(lines[1], "line 2: no tool `githup.x`; the servers are `github`");
    let third = lines[2];
    assert!(third.starts_with("line 4: `github.list_issues`: the argument `owner` is missing; "), "{third}");
    assert!(third.contains("there is no argument `ownr`, and there is `owner`"), "{third}");
    assert!(third.contains("at `/state`") && third.contains("at `/labels/0`"), "{third}");
    assert_eq!(lines[3], "line 5: `github.list_issues`: there is no argument `stat`, and there is `state`");
    assert!(lines[4].starts_with("line 6: no tool `github`; `github` is a server"), "{}", lines[4]);
    assert!(lines[5].starts_with("line 7: `github.read`: "), "{}", lines[5]);
    assert_eq!(lines[6], "line 8: `github.read`: it takes its arguments by name");
    assert!(lines[7].starts_with("line 9: no tool `github.list_isues`; the server has `list_issues`"));
    assert_eq!(told.matches("async def list_issues(").count(), 1, "{told}");
    assert!(double.called().is_empty());
}

#[tokio::test]
async fn right_calls_are_not_told_of() {
    let double = server();
    let catalog = looking(&double);
    let spread =
        |name, literals, others: &[&str]| PlainCall { whole: false, ..call(1, name, literals, others) };
    let calls = vec![
        call(1, "github.list_issues", json!({"owner": "a", "state": "open", "page": null}), &[]),
        call(1, "github.list-issues", json!({"labels": ["x"]}), &["owner", "state"]),
        spread("github.list_issues", json!({"state": "open"}), &[]),
        // Of what is no literal only the name is known.
        call(1, "github.list_issues", json!({}), &["owner", "labels"]),
        // A server may take what its schema does not name.
        call(1, "github.read", json!({"path": "p", "encoding": 7}), &["more"]),
        // Rules over several arguments are not known to be broken while one is worked out.
        call(1, "github.read", json!({"path": "p", "head": 1}), &["other"]),
        call(1, "github.any", json!({"x": [1, {"y": null}]}), &[]),
        // What is not checked when the call is made is the server's to say.
        call(1, "github.circle", json!({"b": 1}), &[]),
    ];
    assert_eq!(catalog.look_ahead(calls).await, None);
}

#[tokio::test]
async fn a_server_that_cannot_be_reached_keeps_no_program_from_running() {
    let double = server();
    double.failing.store(usize::MAX, Ordering::SeqCst);
    let catalog = looking(&double);
    assert_eq!(catalog.look_ahead(vec![call(1, "github.gone", json!({}), &[])]).await, None);
    let told = catalog.look_ahead(vec![call(1, "other.gone", json!({}), &[])]).await.unwrap();
    assert!(told.contains("no tool `other.gone`"), "{told}");
    assert!(!Connectors::new(Settings::default()).unwrap().catalog(&caller("o")).looks_ahead(), "off");
}

/// What is told is bounded, whatever a program and a server say.
#[tokio::test]
async fn run_60_what_is_told_is_small() {
    let tools = (0..200).map(|at| {
        let properties: Map<String, Json> =
            (0..100).map(|one| (format!("a{one}"), json!({"description": "x".repeat(5_000)}))).collect();
        let schema = json!({"properties": properties, "required": ["a1"], "additionalProperties": false});
        listed(&format!("tool_{at}"), &"long \u{202e}".repeat(10_000), schema)
    });
    let double = Double::new(tools.collect(), |_| Does::Hangs);
    let long = "b\u{202e}".repeat(10_000);
    let calls = (0..200).map(|at| call(at, &format!("github.tool_{at}"), json!({long.as_str(): 1}), &[]));
    let told = looking(&double).look_ahead(calls.collect()).await.unwrap();
    assert!(told.len() < 32 << 10 && !told.contains('\u{202e}'), "{}", told.len());
    assert!(told.contains("and 180 more"), "{told}");
}
