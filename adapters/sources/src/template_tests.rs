//! What is filled in, and what is refused.

use serde_json::json;

use super::*;

fn map(value: Json) -> Map<String, Json> {
    let Json::Object(map) = value else { panic!("a map") };
    map
}

#[test]
fn every_nested_text_is_filled_in_and_nothing_else_changes() {
    let args = map(json!({
        "repo": "{{scenario.repo}}", "n": 1, "flag": true, "none": null, "{{scenario.repo}}": "key",
        "env": {"A": "x{{scenario.a.b}}y{{scenario.n}}"}, "mounts": [{"source": "/d/{{scenario.a.b}}"}, "}}"],
    }));
    let variables = map(json!({"repo": "{{scenario.n}} {{", "a.b": "é", "n": 2.5, "unused": null}));
    let filled = Json::Object(fill(&args, &variables).unwrap());
    let expected = json!({
        "repo": "{{scenario.n}} {{", "n": 1, "flag": true, "none": null, "{{scenario.repo}}": "key",
        "env": {"A": "xéy2.5"}, "mounts": [{"source": "/d/é"}, "}}"],
    });
    assert_eq!(filled, expected);
    assert_eq!(keys(&args).unwrap().len(), 4);
}

#[test]
fn a_missing_key_is_named_with_its_place() {
    let args = map(json!({"mounts": [{"source": "{{scenario.gone}}"}]}));
    let error = fill(&args, &Map::new()).unwrap_err();
    assert_eq!(error.code(), ErrorCode::TemplateMissingKey);
    assert!(error.message().contains("source_args.mounts.0.source"), "{error}");
    assert!(error.message().contains("`gone`"), "{error}");
}

#[test]
fn any_other_form_is_refused() {
    let long = format!("{{{{scenario.{}}}}}", "k".repeat(MAX_KEY + 1));
    for text in [
        "{{",
        "{{}}",
        "{{scenario}}",
        "{{scenario.}}",
        "{{ scenario.a }}",
        "{{scenario.a }}",
        "{{env.A}}",
        "{{scenario.a",
        "{{scenario.a}",
        "{{scenario.a|b}}",
        "{{scenario.a b}}",
        "{{{scenario.a}}}",
        &long,
    ] {
        let error = fill(&map(json!({"k": text})), &map(json!({"a": "1"}))).unwrap_err();
        assert_eq!(error.code(), ErrorCode::ArgsInvalid, "{text}");
        assert!(error.message().contains("source_args.k"), "{error}");
    }
    for value in [json!(null), json!([]), json!({})] {
        let error = fill(&map(json!({"k": "{{scenario.a}}"})), &map(json!({"a": value}))).unwrap_err();
        assert_eq!(error.code(), ErrorCode::ArgsInvalid);
    }
}

#[test]
fn depth_and_size_are_bounded() {
    let mut deep = json!("x");
    for _ in 0..MAX_DEPTH - 1 {
        deep = json!([deep]);
    }
    fill(&map(json!({"k": deep})), &Map::new()).unwrap();
    assert_eq!(fill(&map(json!({"k": [deep]})), &Map::new()).unwrap_err().code(), ErrorCode::ArgsInvalid);
    let big = map(json!({"a": "x".repeat(MAX_BYTES / 4)}));
    let four = map(json!({"k": "{{scenario.a}}".repeat(4)}));
    assert_eq!(fill(&four, &big).unwrap()["k"].as_str().unwrap().len(), MAX_BYTES);
    let more = map(json!({"k": "{{scenario.a}}".repeat(4), "l": "x"}));
    assert_eq!(fill(&more, &big).unwrap_err().code(), ErrorCode::TooLarge);
}
