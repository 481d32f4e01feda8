//! Calls of tools, from their names to their answers.

use std::sync::atomic::Ordering;
use std::time::Duration;

use dormouse_core::{CallbackCall, Connections as _, ErrorCode};
use serde_json::json;

use super::double::{Does, Double, allowed, allowing, call, caller, listed, text, value};
use crate::{Connectors, Settings};

#[tokio::test]
async fn a_tool_is_called_by_its_identifier_or_its_own_name_with_the_key_of_the_call() {
    let double = Double::echo(&["list-issues", "class"]);
    let connectors = allowing(vec![double.connection("odd-server")]);
    let catalog = connectors.catalog(&caller("o"));
    for name in ["odd_server.list_issues", "odd-server.list-issues", "odd_server.list-issues"] {
        assert_eq!(call(&catalog, name, json!({"a": 1})).await.unwrap().value, "list-issues");
    }
    assert_eq!(call(&catalog, "odd_server.class_", json!(null)).await.unwrap().value, "class");
    let found = catalog.find("odd_server.class").unwrap();
    assert!(!found.stops_clock, "calls count toward the run's time");
    found
        .call(CallbackCall { arguments: json!({}), key: Some("k1".into()), ..CallbackCall::default() })
        .await
        .unwrap();
    let calls = double.calls.lock().unwrap();
    assert_eq!((calls[0].arguments["a"].clone(), calls[0].key.clone()), (json!(1), None));
    assert_eq!(calls.last().unwrap().key.as_deref(), Some("k1"));
    assert_eq!(connectors.servers()[0].name, "odd_server");
    assert_eq!((connectors.servers()[0].tools, double.opened.load(Ordering::SeqCst)), (Some(2), 1));
}

#[tokio::test]
async fn what_is_not_there_is_told_with_what_is_like_it() {
    let connectors = allowing(vec![Double::echo(&["list_issues", "x"]).connection("github")]);
    let catalog = connectors.catalog(&caller("o"));
    assert_eq!(call(&catalog, "githup.x", json!({})).await.unwrap_err(), "missing: the servers are `github`");
    assert!(call(&catalog, "github", json!({})).await.unwrap_err().contains("is a server"));
    let error = call(&catalog, "github.list_issue", json!({})).await.unwrap_err();
    assert!(error.starts_with("no tool `github.list_issue`; the server has `list_issues`"), "{error}");
    let error = call(&catalog, "describe", json!({"name": "githup"})).await.unwrap_err();
    assert!(error.contains("`github`"), "{error}");
    let none = Connectors::new(Settings::default()).unwrap();
    assert_eq!(none.catalog(&caller("o")).missing("a.b"), "no server is connected");
}

#[tokio::test]
async fn arguments_that_do_not_fit_are_told_before_the_server_hears_of_them() {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    let double = Double::new(vec![listed("t", "", schema)], |_| Does::Answers(text("done")));
    let catalog = allowing(vec![double.connection("s")]).catalog(&caller("o"));
    for (arguments, wanted) in
        [(json!({"n": "x"}), "at `/n`"), (json!({}), "required"), (json!([1]), "by name")]
    {
        let error = call(&catalog, "s.t", arguments).await.unwrap_err();
        assert!(error.contains(wanted), "{error}");
    }
    assert!(double.called().is_empty());
    assert_eq!(call(&catalog, "s.t", json!({"n": 1})).await.unwrap().value, "done");
}

#[tokio::test]
async fn tools_are_searched_and_described_in_the_callers_language() {
    let tools = vec![
        listed(
            "create_issue",
            "Opens an issue.",
            json!({"properties": {"title": {"type": "string"}}, "required": ["title"]}),
        ),
        listed("delete_issue", "Deletes an issue.", json!({"type": "object"})),
    ];
    let double = Double::new(tools, |_| Does::Hangs);
    let settings = Settings {
        rules: [("github.delete_*".to_owned(), crate::Verdict::Deny)].into(),
        connections: vec![double.connection("github"), Double::echo(&["other"]).connection("more")],
        ..Settings::default()
    };
    let connectors = Connectors::new(settings).unwrap();
    let catalog = connectors.catalog(&caller("o"));
    let found = call(&catalog, "search", json!({"text": "issue"})).await.unwrap().value;
    assert_eq!(
        found,
        json!([{
            "name": "github.create_issue", "description": "Opens an issue.",
            "signature": "tools.github.create_issue(*, title: str) -> Any",
        }])
    );
    assert_eq!(connectors.search(&caller("o"), "other", 5).await.unwrap()[0].name, "more.other");
    let stub = call(&catalog, "describe", json!({"name": "github.create_issue"})).await.unwrap().value;
    assert!(stub.as_str().unwrap().contains("async def create_issue(*, title: str) -> Any:"), "{stub}");
    let all = call(&catalog, "describe", json!({"name": "github"})).await.unwrap().value;
    assert!(all.as_str().unwrap().contains("delete_issue"), "{all}");
    assert_eq!(
        call(&catalog, "describe", json!({})).await.unwrap().value,
        "github (2 tools)\nmore (1 tools)"
    );
    assert!(call(&catalog, "search", json!({})).await.unwrap_err().contains("text"));
}

#[tokio::test]
async fn a_search_goes_on_without_a_server_that_cannot_be_reached() {
    let (up, down) = (Double::echo(&["issue"]), Double::echo(&["issue"]));
    down.failing.store(usize::MAX, Ordering::SeqCst);
    let connectors = allowing(vec![up.connection("up"), down.connection("down")]);
    assert_eq!(connectors.search(&caller("o"), "issue", 9).await.unwrap().len(), 1);
    let connectors = allowing(vec![down.connection("down")]);
    let error = connectors.search(&caller("o"), "issue", 9).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::ProviderUnavailable);
}

/// A server ends in the middle of a call, and a program is told that nobody knows whether it was made. The next call finds another.
#[tokio::test]
async fn run_24_a_server_that_dies_in_a_call_is_started_again_and_the_call_is_told_as_unknown() {
    let tools = vec![listed("die", "", json!({})), listed("live", "", json!({}))];
    let double =
        Double::new(tools, |call| if call.tool == "die" { Does::Dies } else { Does::Answers(text("here")) });
    let connectors = allowing(vec![double.connection("s")]);
    let caller = caller("o");
    let error = value(&connectors, &caller, "s.die").await.unwrap_err();
    assert!(error.contains("has ended with signal 9") && error.contains("nobody knows"), "{error}");
    assert_eq!(value(&connectors, &caller, "s.live").await.unwrap(), "here");
    assert_eq!((double.opened.load(Ordering::SeqCst), double.live.load(Ordering::SeqCst)), (2, 1));
    assert_eq!(double.called(), ["die", "live"], "nothing is repeated");
}

/// A server that never answers holds a program no longer than the operator says.
#[tokio::test]
async fn run_25_a_call_without_an_answer_ends() {
    let double = Double::new(vec![listed("t", "", json!({}))], |_| Does::Hangs);
    let settings = Settings { call: Duration::from_millis(50), ..allowed(vec![double.connection("s")]) };
    let connectors = Connectors::new(settings).unwrap();
    let error = value(&connectors, &caller("o"), "s.t").await.unwrap_err();
    assert!(error.contains("gave no answer") && error.contains("nobody knows"), "{error}");
    let refusing =
        Double::new(vec![listed("t", "", json!({}))], |_| Does::Fails(ErrorCode::ArgsInvalid, "n is odd"));
    let error = value(&allowing(vec![refusing.connection("s")]), &caller("o"), "s.t").await.unwrap_err();
    assert_eq!(error, "`s.t`: n is odd");
}

#[tokio::test]
async fn calls_of_one_owner_wait_for_places() {
    let double = Double::new(vec![listed("t", "", json!({}))], |_| Does::Hangs);
    let settings =
        Settings { calls: 2, call: Duration::from_millis(200), ..allowed(vec![double.connection("s")]) };
    let connectors = Connectors::new(settings).unwrap();
    let caller = caller("o");
    let calls = (0..5).map(|_| value(&connectors, &caller, "s.t"));
    let counted = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        double.called().len()
    };
    let (ended, counted) = futures::future::join(futures::future::join_all(calls), counted).await;
    assert_eq!((counted, ended.len(), double.called().len()), (2, 5, 5));
}

#[tokio::test]
async fn whether_a_call_may_be_repeated_is_the_operators_word() {
    let connection = crate::Connection {
        idempotent: vec!["get-*".into(), "put_x".into()],
        ..Double::echo(&[]).connection("a-b")
    };
    let connectors = allowing(vec![connection]);
    let catalog = connectors.catalog(&caller("o"));
    for (name, wanted) in [
        ("a_b.get_user", true),
        ("a-b.get-user", true),
        ("a_b.put_x", true),
        ("a_b.put_y", false),
        ("c.put_x", false),
        ("search", false),
    ] {
        let found = catalog.find(name);
        assert_eq!(found.is_some_and(|callback| callback.repeats), wanted, "{name}");
    }
}
