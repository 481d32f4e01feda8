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
    assert!(few.only(["Edit", "Read"]).find("Edit").is_err(), "allowing never adds");
    assert!(tools.missing().is_empty() && tools.find("Edit").is_ok());
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
