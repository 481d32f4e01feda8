//! Names, words of failures, and what is allowed.

use serde_json::json;

use super::*;
use crate::testing::{Pretend, listed};
use crate::{Registry, Source as _};

async fn endpoint(tag: &str) -> Arc<dyn Endpoint> {
    let args = Map::from_iter([("tag".to_owned(), Json::from(tag))]);
    Pretend::default().open(args).await.unwrap().endpoint
}

async fn tools(rows: &[(&str, Naming, &[&str])]) -> Tools {
    let index = Index::default();
    for (server, naming, names) in rows {
        let listed = names.iter().map(|name| listed(name)).collect();
        index.register(server, *naming, listed, &endpoint(server).await);
    }
    Tools::new(Arc::new(index))
}

fn n(value: Json) -> Map<String, Json> {
    Map::from_iter([("n".to_owned(), value)])
}

#[tokio::test]
async fn the_last_registration_wins_and_static_names_stay_apart() {
    let rows: [(&str, Naming, &[&str]); 3] = [
        ("one", Naming::Raw, &["Read", "Edit"]),
        ("two", Naming::Raw, &["Read"]),
        ("three", Naming::Namespaced, &["Read"]),
    ];
    let tools = tools(&rows).await;
    let answer = tools.call("Read", n(1.into()), None).await.unwrap();
    assert_eq!(answer.structured, Some(json!({"by": "two", "args": {"n": 1}})));
    assert_eq!(answer.content[1], json!({"type": "x-own", "y": [1]}));
    assert_eq!(tools.call("mcp__three__Read", n(1.into()), None).await.unwrap().text(), "three");
    assert_eq!(tools.find("Edit").unwrap().server, "one");
    assert_eq!(tools.find("Read").unwrap().listed, listed("Read"));
}

#[tokio::test]
async fn failures_have_the_words_of_the_seed() {
    let tools = tools(&[("one", Naming::Raw, &["Read", "gone", "picky"])]).await;
    let error = tools.call("Write", Map::new(), None).await.unwrap_err();
    assert_eq!((error.code(), error.message()), (ErrorCode::NotFound, "tool not found: Write"));
    for (tool, arguments) in [("Read", Map::new()), ("Read", n("x".into())), ("picky", n(1.into()))] {
        let error = tools.call(tool, arguments, None).await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::ArgsInvalid);
        assert_eq!(error.message(), format!("tool {tool} validation error (args_invalid)"));
        assert!(error.hint().unwrap().contains('n'), "{error:?}");
    }
    let error = tools.call("gone", n(1.into()), None).await.unwrap_err();
    assert_eq!((error.code(), error.message()), (ErrorCode::NotFound, "tool not found: gone"));
    let error = tools.call("a\nb\u{1b}", Map::new(), None).await.unwrap_err();
    assert_eq!(error.message(), "tool not found: a\\nb\\u{1b}");
}

#[tokio::test]
async fn only_allowed_tools_are_listed_and_called() {
    let tools = tools(&[("one", Naming::Raw, &["Read", "Edit"]), ("two", Naming::Namespaced, &["x"])]).await;
    let few = tools.clone().only(["Read", "mcp__two__x", "absent"]);
    let names: Vec<String> = few.list().iter().map(|tool| tool.name.clone()).collect();
    assert_eq!(names, ["Read", "mcp__two__x"]);
    assert_eq!(few.missing(), ["absent"]);
    let error = few.call("Edit", n(1.into()), None).await.unwrap_err();
    assert_eq!(error.message(), "tool not found: Edit");
    assert_eq!(error.hint(), Some("it is not among the allowed tools; the tools are `Read`, `mcp__two__x`"));
    assert!(few.only(["Edit", "Read"]).find("Edit").is_err(), "allowing never adds");
    assert!(tools.missing().is_empty() && tools.find("Edit").is_ok());
}

#[tokio::test]
async fn a_tool_that_is_not_there_names_the_likest_twenty() {
    let many: Vec<String> = (10..40).map(|n| format!("tool{n}")).collect();
    let mut names: Vec<&str> = many.iter().map(String::as_str).collect();
    names.push("zip");
    let tools = tools(&[("one", Naming::Raw, &names)]).await;
    let hint = |name: &str| tools.find(name).err().unwrap().hint().unwrap().to_owned();
    assert!(hint("Zip").starts_with("the tools are `zip`, `tool10`, "), "{}", hint("Zip"));
    assert!(hint("Zip").ends_with("`tool28`, and 11 more"), "{}", hint("Zip"));
    assert!(hint("other").ends_with("`tool29`, and 11 more"), "{}", hint("other"));
    let none = Tools::new(Arc::default()).find("x").err().unwrap();
    assert_eq!(none.hint(), Some("no server that is open lists a tool that may be called"));
}

#[test]
fn a_registry_keeps_the_last_of_a_name() {
    let (first, last) = (Arc::new(Pretend::default()), Arc::new(Pretend::default()));
    let mut registry = Registry::default();
    registry.register("x", first);
    registry.register("x", last.clone());
    let last: Arc<dyn crate::Source> = last;
    assert!(Arc::ptr_eq(registry.find("x").unwrap(), &last));
}
