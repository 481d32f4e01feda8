//! What an entry may say.

use std::sync::Arc;

use serde_json::json;

use super::*;
use crate::testing::Pretend;

fn registry() -> Registry {
    let mut registry = Registry::default();
    registry.register("docker", Arc::new(Pretend::default()));
    registry.register("wasm", Arc::new(Pretend::default()));
    registry
}

#[test]
fn exactly_one_transport_and_its_own_fields_are_taken() {
    let fine = [
        json!({"name": "a", "source": "docker", "scope": "session", "source_args": {"image": "x"}}),
        json!({"name": "a", "url": "http://localhost:1", "headers": {"x": "y"}}),
        json!({"name": "a", "command": "x", "args": ["y"], "env": {"A": "1"}}),
    ];
    for entry in fine {
        Entry::parse(entry).unwrap().check(&registry()).unwrap();
    }
    let refused = [
        (json!({"name": "a"}), "has no transport"),
        (json!({"name": "a", "source": "x", "scope": "run", "url": "y"}), "more than one transport"),
        (json!({"name": "a", "source": "x", "scope": "run", "command": "y"}), "more than one transport"),
        (json!({"name": "a", "url": "x", "command": "y"}), "more than one transport"),
        (json!({"name": "a", "source": "x"}), "no `scope`"),
        (json!({"name": "a", "source": "x", "scope": "turn"}), "turn"),
        (json!({"name": "a", "url": "x", "scope": "run"}), "`scope`"),
        (json!({"name": "a", "url": "x", "source_args": {"a": 1}}), "`source_args`"),
        (json!({"name": "a", "command": "x", "headers": {"a": "1"}}), "`headers`"),
        (json!({"name": "a", "url": "x", "args": ["1"]}), "`args`"),
        (json!({"name": "a", "url": "x", "env": {"A": "1"}}), "`env`"),
        (json!({"name": "a", "url": "x", "surprise": 1}), "surprise"),
        (json!({"name": "a b", "url": "x"}), "no name"),
        (json!({"name": "", "url": "x"}), "no name"),
        (json!({"name": "x".repeat(65), "url": "x"}), "no name"),
        (json!({"url": "x"}), "name"),
        (json!("x"), "cannot be read"),
    ];
    for (entry, part) in refused {
        let error = Entry::parse(entry.clone()).unwrap_err();
        assert_eq!(error.code(), ErrorCode::ArgsInvalid);
        assert!(error.message().contains(part), "{entry}: {error}");
    }
}

#[test]
fn an_unknown_source_is_told_with_those_that_there_are() {
    let mut entry = Entry::parse(json!({"name": "a", "source": "X", "scope": "run"})).unwrap();
    let error = entry.check(&registry()).unwrap_err();
    let told = "mcp server `a`: unknown source \"X\"; registered sources: docker, wasm";
    assert_eq!((error.code(), error.message()), (ErrorCode::UnknownSource, told));
    entry.place = Some("arena.yaml:3:7".into());
    assert_eq!(entry.check(&registry()).unwrap_err().message(), format!("arena.yaml:3:7: {told}"));
}

#[test]
fn what_the_source_refuses_and_templates_without_a_scenario_are_told_at_load() {
    let bad = json!({"name": "a", "source": "wasm", "scope": "run", "source_args": {"bad": 1}});
    let error = Entry::parse(bad).unwrap().check(&registry()).unwrap_err();
    assert_eq!(error.message(), "mcp server `a`: `bad` is bad");
    let early =
        json!({"name": "a", "source": "wasm", "scope": "run", "source_args": {"x": ["{{scenario.k}}"]}});
    let error = Entry::parse(early).unwrap().check(&registry()).unwrap_err();
    assert_eq!(error.code(), ErrorCode::TemplateMissingKey);
    assert!(
        error.message().contains("source_args.x.0") && error.message().contains("before there is"),
        "{error}"
    );
}

#[test]
fn names_are_there_once_and_entries_are_bounded() {
    let entry = |name: String| Entry { name, url: Some("http://localhost:1".into()), ..Entry::default() };
    let twice = [entry("a".into()), entry("b".into()), entry("a".into())];
    assert!(check_all(&twice, &registry()).unwrap_err().message().contains("`a` is there twice"));
    let many: Vec<Entry> = (0..=MAX_ENTRIES).map(|at| entry(format!("e{at}"))).collect();
    check_all(&many[1..], &registry()).unwrap();
    assert_eq!(check_all(&many, &registry()).unwrap_err().code(), ErrorCode::ArgsInvalid);
}

#[test]
fn secrets_are_not_shown_by_debug() {
    let entry =
        json!({"name": "a", "url": "http://localhost:1", "headers": {"authorization": "Bearer s3cret"}});
    let shown = format!("{:?}", Entry::parse(entry).unwrap());
    assert!(shown.contains("authorization") && !shown.contains("s3cret"), "{shown}");
}
