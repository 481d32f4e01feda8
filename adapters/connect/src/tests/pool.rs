//! Connections: whose they are, how many, and for how long.

use std::sync::atomic::Ordering;
use std::time::Duration;

use dormouse_core::Connections as _;
use dormouse_core::testing::wait_until_async;
use serde_json::json;

use super::double::{Does, Double, allowed, allowing, call, caller, listed, text, value};
use crate::{Connection, Connectors, Settings};

/// How long anything may take that is waited for.
const PATIENCE: Duration = Duration::from_secs(20);

#[tokio::test]
async fn each_owner_has_a_connection_of_their_own_unless_it_is_shared() {
    let (own, shared) = (Double::echo(&["t"]), Double::echo(&["t"]));
    let connectors =
        allowing(vec![own.connection("own"), Connection { shared: true, ..shared.connection("shared") }]);
    for owner in ["a", "b", "a"] {
        for name in ["own.t", "shared.t"] {
            value(&connectors, &caller(owner), name).await.unwrap();
        }
    }
    let opened = [&own, &shared].map(|double| double.opened.load(Ordering::SeqCst));
    assert_eq!(opened, [2, 1]);
    connectors.close().await;
    assert_eq!([&own, &shared].map(|double| double.live.load(Ordering::SeqCst)), [0, 0]);
    assert!(value(&connectors, &caller("a"), "own.t").await.unwrap_err().contains("the host ends"));
}

#[tokio::test]
async fn many_calls_at_once_open_one_connection() {
    let double = Double::echo(&["t"]);
    let connectors = allowing(vec![double.connection("s")]);
    let caller = caller("o");
    let all = futures::future::join_all((0..50).map(|_| value(&connectors, &caller, "s.t"))).await;
    assert!(all.iter().all(Result::is_ok));
    assert_eq!(double.opened.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn an_idle_connection_is_ended_and_opened_again() {
    let double = Double::echo(&["t"]);
    let settings = Settings { idle: Duration::from_millis(40), ..allowed(vec![double.connection("s")]) };
    let connectors = Connectors::new(settings).unwrap();
    value(&connectors, &caller("o"), "s.t").await.unwrap();
    wait_until_async("the connection is ended", PATIENCE, || double.live.load(Ordering::SeqCst) == 0).await;
    value(&connectors, &caller("o"), "s.t").await.unwrap();
    assert_eq!(double.opened.load(Ordering::SeqCst), 2);
}

/// Owners open connections without end: those that nobody uses are ended for others, and where all are in use the call fails.
#[tokio::test]
async fn run_26_connections_are_bounded_for_each_owner_and_in_all() {
    let doubles: Vec<_> = (0..3)
        .map(|_| {
            Double::new(vec![listed("t", "", json!({})), listed("hang", "", json!({}))], |call| {
                match call.tool.as_str() {
                    "hang" => Does::Hangs,
                    _ => Does::Answers(text("x")),
                }
            })
        })
        .collect();
    let connections =
        doubles.iter().enumerate().map(|(at, double)| double.connection(&format!("s{at}"))).collect();
    let settings = Settings { per_owner: 2, whole: 3, ..allowed(connections) };
    let connectors = Connectors::new(settings).unwrap();
    let live = || doubles.iter().map(|double| double.live.load(Ordering::SeqCst)).collect::<Vec<_>>();
    for name in ["s0.t", "s1.t", "s2.t"] {
        value(&connectors, &caller("a"), name).await.unwrap();
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    assert_eq!(live(), [0, 1, 1], "the one that was used longest ago is ended");
    for owner in ["b", "c"] {
        value(&connectors, &caller(owner), "s0.t").await.unwrap();
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    assert_eq!(live(), [2, 0, 1]);
    let catalog = connectors.catalog(&caller("d"));
    let hanging = ["s0.hang", "s1.hang"].map(|name| {
        let catalog = catalog.clone();
        tokio::spawn(async move { call(&catalog, name, json!({})).await })
    });
    wait_until_async("both hang", PATIENCE, || doubles[1].called().iter().any(|tool| tool == "hang")).await;
    wait_until_async("both hang", PATIENCE, || doubles[0].called().iter().any(|tool| tool == "hang")).await;
    let error = call(&catalog, "s2.t", json!({})).await.unwrap_err();
    assert!(error.contains("2 connections are open, and all are in use"), "{error}");
    hanging.iter().for_each(tokio::task::JoinHandle::abort);
}

/// A server that does not come up is not started again and again.
#[tokio::test(start_paused = true)]
async fn run_27_a_server_that_fails_is_tried_again_after_longer_and_longer_waits() {
    let double = Double::echo(&["t"]);
    double.failing.store(3, Ordering::SeqCst);
    let connectors = allowing(vec![double.connection("s")]);
    let caller = caller("o");
    let first = value(&connectors, &caller, "s.t").await.unwrap_err();
    assert!(first.contains("nothing was called: it does not come up (look at it)"), "{first}");
    for _ in 0..100 {
        assert!(value(&connectors, &caller, "s.t").await.unwrap_err().contains("tried again in 0.2 s"));
    }
    assert_eq!(double.opened.load(Ordering::SeqCst), 1);
    for wait in [250, 500] {
        tokio::time::sleep(Duration::from_millis(wait)).await;
        assert!(value(&connectors, &caller, "s.t").await.is_err());
    }
    tokio::time::sleep(Duration::from_millis(1_000)).await;
    assert_eq!(value(&connectors, &caller, "s.t").await.unwrap(), "t");
    assert_eq!(double.opened.load(Ordering::SeqCst), 4);
}

#[tokio::test(start_paused = true)]
async fn a_changed_list_is_seen_when_it_is_told_and_when_a_tool_is_missed() {
    let double = Double::echo(&["t"]);
    let connectors = allowing(vec![double.connection("s")]);
    let caller = caller("o");
    let add = |name: &str| double.tools.lock().unwrap().push(listed(name, "", json!({})));
    value(&connectors, &caller, "s.t").await.unwrap();
    add("told");
    double.changed.store(true, Ordering::SeqCst);
    assert_eq!(value(&connectors, &caller, "s.told").await.unwrap(), "told");
    add("missed");
    assert!(value(&connectors, &caller, "s.missed").await.unwrap_err().contains("no tool"));
    tokio::time::sleep(Duration::from_secs(61)).await;
    assert_eq!(value(&connectors, &caller, "s.missed").await.unwrap(), "missed");
}
