//! What is open when, and what is left when something fails.

use dormouse_core::testing::wait_for_async;
use serde_json::json;

use super::*;
use crate::testing::{PATIENCE, Pretend};

fn configured(entries: Json) -> (Arc<Pretend>, Scopes) {
    let pretend = Arc::new(Pretend::default());
    let mut registry = Registry::default();
    registry.register("pretend", pretend.clone());
    let Json::Array(entries) = entries else { panic!("a list") };
    let entries = entries.into_iter().map(|entry| Entry::parse(entry).unwrap()).collect();
    (pretend, Scopes::new(registry, entries).unwrap())
}

fn entry(name: &str, scope: &str, args: Json) -> Json {
    let mut args = args;
    args["tag"] = name.into();
    json!({"name": name, "source": "pretend", "scope": scope, "source_args": args})
}

fn three() -> (Arc<Pretend>, Scopes) {
    configured(json!([
        entry("run", "run", json!({"tools": ["Read", "Only"]})),
        entry("scenario", "scenario", json!({"tools": ["Read"]})),
        entry("session", "session", json!({"tools": ["Read", "Bash"]})),
    ]))
}

fn diary(pretend: &Pretend) -> Vec<String> {
    pretend.diary.lock().unwrap().clone()
}

/// Waits until the diary has that many lines.
async fn settled(pretend: &Pretend, lines: usize) -> Vec<String> {
    wait_for_async("the diary has its lines", PATIENCE, async || {
        let diary = diary(pretend);
        if diary.len() < lines { Err(diary) } else { Ok(diary) }
    })
    .await
}

async fn who(scope: &OpenScope, tool: &str) -> String {
    let arguments = Map::from_iter([("n".into(), 1.into())]);
    scope.tools().call(tool, arguments, None).await.unwrap().text()
}

#[tokio::test]
async fn a_scenario_survives_its_sessions_and_a_run_its_scenarios() {
    let (pretend, scopes) = three();
    let run = scopes.open_run().await.unwrap();
    for _ in 0..2 {
        let scenario = run.open_scenario(&Map::new()).await.unwrap();
        for _ in 0..2 {
            scenario.open_session().await.unwrap().close().await;
        }
        scenario.close().await;
    }
    run.close().await;
    let once = ["open session", "close session"];
    let each = [&["open scenario"], &once[..], &once[..], &["close scenario"]].concat();
    assert_eq!(diary(&pretend), [&["open run"], &each[..], &each[..], &["close run"]].concat());
}

#[tokio::test]
async fn inner_scopes_close_before_outer_ones_whoever_closes_first() {
    for dropped in [false, true] {
        let (pretend, scopes) = three();
        let run = scopes.open_run().await.unwrap();
        let scenario = run.open_scenario(&Map::new()).await.unwrap();
        let session = scenario.open_session().await.unwrap();
        match dropped {
            true => drop(run),
            false => run.close().await,
        }
        let lines = settled(&pretend, 6).await;
        assert_eq!(lines[3..], ["close session", "close scenario", "close run"]);
        assert!(session.tools().list().is_empty());
        assert_eq!(scenario.open_session().await.err().unwrap().code(), ErrorCode::Cancelled);
        session.close().await;
        drop(scenario);
        assert_eq!(pretend.live(), 0);
        assert_eq!(diary(&pretend).len(), 6, "nothing is closed twice");
    }
}

#[tokio::test]
async fn an_overwritten_tool_comes_back_when_the_inner_scope_closes() {
    let (_, scopes) = three();
    let run = scopes.open_run().await.unwrap();
    let scenario = run.open_scenario(&Map::new()).await.unwrap();
    let session = scenario.open_session().await.unwrap();
    assert_eq!((who(&session, "Read").await, who(&session, "Only").await), ("session".into(), "run".into()));
    assert_eq!(who(&run, "Read").await, "run");
    let names: Vec<String> = session.tools().list().iter().map(|tool| tool.name.clone()).collect();
    assert_eq!(names, ["Bash", "Only", "Read"]);
    let (read, inside) = (session.tools().find("Read").unwrap(), session.tools());
    session.close().await;
    assert_eq!(who(&scenario, "Read").await, "scenario");
    assert_eq!(read.server, "session");
    assert_eq!(inside.find("Bash").err().unwrap().message(), "tool not found: Bash");
    assert_eq!(inside.find("Read").unwrap().server, "scenario");
    run.close().await;
    assert!(inside.list().is_empty());
}

#[tokio::test]
async fn sessions_at_the_same_time_do_not_see_each_other() {
    let (_, scopes) = configured(json!([entry("s", "session", json!({"tools": ["{{scenario.tool}}"]}))]));
    let run = scopes.open_run().await.unwrap();
    let with = |tool: &str| Map::from_iter([("tool".to_owned(), Json::from(tool))]);
    let (a, b) = (run.open_scenario(&with("A")).await.unwrap(), run.open_scenario(&with("B")).await.unwrap());
    let (a, b) = (a.open_session().await.unwrap(), b.open_session().await.unwrap());
    assert_eq!(who(&a, "A").await, "s");
    assert!(a.tools().find("B").is_err() && b.tools().find("B").is_ok());
}

#[tokio::test]
async fn a_third_entry_that_fails_takes_the_first_two_with_it_and_is_named() {
    for fail in ["open", "list"] {
        let (pretend, scopes) = configured(json!([
            entry("one", "session", json!({})),
            entry("two", "session", json!({})),
            entry("three", "session", json!({"fail": fail, "slow_ms": 20})),
        ]));
        let run = scopes.open_run().await.unwrap();
        let scenario = run.open_scenario(&Map::new()).await.unwrap();
        let error = scenario.open_session().await.err().unwrap();
        assert!(error.message().starts_with("mcp server `three`: no l"), "{error}");
        assert_eq!(error.code(), ErrorCode::ProviderUnavailable);
        assert_eq!(pretend.live(), 0);
        assert!(diary(&pretend).iter().filter(|line| line.starts_with("open")).count() >= 2);
        assert!(scenario.tools().list().is_empty());
    }
}

#[tokio::test]
async fn a_close_that_fails_fails_nothing_else() {
    let (pretend, scopes) = configured(json!([
        entry("one", "run", json!({})),
        entry("two", "run", json!({"fail": "close"})),
        entry("three", "run", json!({})),
    ]));
    scopes.open_run().await.unwrap().close().await;
    let closes: Vec<String> = diary(&pretend).into_iter().filter(|line| line.starts_with("close")).collect();
    assert_eq!(closes, ["close three", "close two", "close one"]);
}

#[tokio::test]
async fn an_opening_that_is_given_up_leaves_nothing() {
    let (pretend, scopes) = configured(json!([
        entry("quick", "run", json!({})),
        entry("slow", "run", json!({"slow_ms": 600_000})),
    ]));
    {
        let opening = scopes.open_run();
        tokio::pin!(opening);
        tokio::select! {
            _ = &mut opening => panic!("it takes ten minutes"),
            _ = settled(&pretend, 1) => {}
        }
    }
    assert_eq!(settled(&pretend, 2).await, ["open quick", "close quick"]);
}

#[tokio::test]
async fn an_outer_scope_that_closes_stops_an_inner_one_that_opens() {
    let (pretend, scopes) = configured(json!([
        entry("run", "run", json!({})),
        entry("slow", "session", json!({"slow_ms": 600_000})),
    ]));
    let run = scopes.open_run().await.unwrap();
    let scenario = run.open_scenario(&Map::new()).await.unwrap();
    let mut opening = Box::pin(scenario.open_session());
    // Polled once and then left alone: closing does not wait for it.
    assert!(futures::poll!(&mut opening).is_pending());
    run.close().await;
    assert_eq!(opening.await.err().unwrap().code(), ErrorCode::Cancelled);
    assert_eq!(diary(&pretend), ["open run", "close run"]);
}

#[tokio::test]
async fn a_missing_variable_is_named_and_nothing_stays_open() {
    let (pretend, scopes) = configured(json!([
        entry("fine", "session", json!({})),
        entry("sandbox", "session", json!({"env": {"REPO": "{{scenario.repo}}"}})),
    ]));
    let run = scopes.open_run().await.unwrap();
    let scenario = run.open_scenario(&Map::new()).await.unwrap();
    let error = scenario.open_session().await.err().unwrap();
    assert_eq!(error.code(), ErrorCode::TemplateMissingKey);
    assert!(
        error.message().contains("source_args.env.REPO") && error.message().contains("`repo`"),
        "{error}"
    );
    assert_eq!(pretend.live(), 0);
}

#[tokio::test]
async fn a_scope_opens_only_what_belongs_below_it() {
    let (_, scopes) = three();
    let run = scopes.open_run().await.unwrap();
    assert_eq!(run.open_session().await.err().unwrap().code(), ErrorCode::InvalidState);
    let scenario = run.open_scenario(&Map::new()).await.unwrap();
    assert_eq!(scenario.open_scenario(&Map::new()).await.err().unwrap().code(), ErrorCode::InvalidState);
    assert_eq!(run.connections(), [Connection { server: "run".into(), url: "pretend".into(), tools: 2 }]);
}
