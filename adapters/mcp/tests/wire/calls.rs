//! [MCP-05] Calls in progress: cancelled, watched, too many.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Value as Json, json};

use crate::support::{Client, MODERN, meta};

#[tokio::test]
async fn a_cancelled_run_is_dropped_and_never_answered() {
    let mut client = Client::ready().await;
    client.start(1, json!({"code": "sleep"})).await;
    client.fake.wait_started(1).await;
    client.cancel(1).await;
    client.fake.wait_dropped(1).await;
    // Cancelling again, or what is not there, changes nothing.
    client.cancel(1).await;
    client.cancel(99).await;
    assert_eq!(client.eval(2, json!({"code": "1"})).await["isError"], false);
    assert!(client.end().await.is_empty());
}

#[tokio::test]
async fn an_id_that_is_in_use_is_refused_and_free_again_after_the_answer() {
    let mut client = Client::ready().await;
    client.start(1, json!({"code": "sleep"})).await;
    client.fake.wait_started(1).await;
    client.start(1, json!({"code": "1"})).await;
    let refused = client.next().await;
    assert_eq!((&refused["error"]["code"], &refused["id"]), (&json!(-32_600), &Json::Null), "{refused}");
    client.cancel(1).await;
    client.fake.wait_dropped(1).await;
    assert_eq!(client.eval(2, json!({"code": "1"})).await["isError"], false);
    assert_eq!(client.eval(2, json!({"code": "1"})).await["isError"], false);
    assert!(client.end().await.is_empty());
}

#[tokio::test]
async fn a_modern_call_is_cancelled_the_same_way() {
    let mut client = Client::new();
    let params = json!({"name": "sandbox_eval", "arguments": {"code": "sleep"}, "_meta": meta(MODERN)});
    client.send(&json!({"jsonrpc": "2.0", "id": "a", "method": "tools/call", "params": params})).await;
    client.fake.wait_started(1).await;
    let params = json!({"requestId": "a"});
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})).await;
    client.fake.wait_dropped(1).await;
    assert!(client.end().await.is_empty());
}

#[tokio::test]
async fn a_call_that_is_cancelled_at_once_leaves_nothing() {
    let mut client = Client::ready().await;
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "sandbox_eval", "arguments": {"code": "sleep", "timeout_ms": 60_000}}});
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
    client.raw(format!("{call}\n{cancel}\n").as_bytes()).await;
    client.still_serves(2).await;
    let started = client.fake.started.load(Ordering::SeqCst);
    client.fake.wait_dropped(started).await;
    assert!(client.end().await.is_empty());
}

#[tokio::test]
async fn cancelling_what_has_ended_changes_nothing() {
    let mut client = Client::ready().await;
    client.eval(1, json!({"code": "1"})).await;
    client.cancel(1).await;
    client.cancel(1).await;
    client.still_serves(2).await;
    assert_eq!(client.fake.dropped.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn progress_is_told_to_who_asks_before_the_answer() {
    let mut client = Client::ready().await;
    let params = json!({"name": "sandbox_eval", "arguments": {"code": "sleep", "timeout_ms": 1_800},
        "_meta": {"progressToken": "t"}});
    client.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})).await;
    let (mut last, mut count) = (-1.0, 0);
    let answer = loop {
        let message = client.next().await;
        if message["method"] != "notifications/progress" {
            break message;
        }
        let params = &message["params"];
        let progress = params["progress"].as_f64().expect("a number");
        assert!(progress > last, "progress goes on");
        assert_eq!((params["progressToken"].as_str(), params["total"].as_f64()), (Some("t"), Some(1_800.0)));
        assert!(params["message"].as_str().is_some_and(|text| text.contains("bytes of output")), "{params}");
        (last, count) = (progress, count + 1);
    };
    assert_eq!((&answer["id"], &answer["result"]["isError"]), (&json!(1), &json!(false)));
    assert!(count >= 1, "at least one notification a second");
}

#[tokio::test]
async fn no_progress_is_told_to_who_does_not_ask() {
    let mut client = Client::ready().await;
    client.eval(1, json!({"code": "sleep", "timeout_ms": 700})).await;
    assert!(client.end().await.is_empty());
}

/// The 65th call is refused with the number, and a freed place is used again.
#[tokio::test]
async fn too_many_calls_are_busy_and_places_come_back() {
    let mut client = Client::ready().await;
    for id in 1..=64 {
        client.start(id, json!({"code": "sleep", "timeout_ms": 60_000})).await;
    }
    client.fake.wait_started(64).await;
    let result = client.eval(65, json!({"code": "1"})).await;
    assert_eq!(result["structuredContent"]["error"]["code"], "busy", "{result}");
    assert!(result["content"][0]["text"].as_str().is_some_and(|text| text.contains("64")));
    client.cancel(1).await;
    client.fake.wait_dropped(1).await;
    assert_eq!(client.eval(66, json!({"code": "1"})).await["isError"], false);
}

/// A client that does not read holds back its own requests, not the server's memory; later every request is answered.
#[tokio::test]
async fn a_slow_reader_is_not_read_from() {
    const REQUESTS: u64 = 2_000;
    let mut client = Client::ready().await;
    let mut input = client.input.take().expect("open");
    let sender = tokio::spawn(async move {
        for id in 1..=REQUESTS {
            let line = format!("{}\n", json!({"jsonrpc": "2.0", "id": id, "method": "tools/list"}));
            tokio::io::AsyncWriteExt::write_all(&mut input, line.as_bytes()).await.expect("sent");
        }
        input
    });
    // Time to take all of them, which must not be used.
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert!(!sender.is_finished(), "the server took every request of a client that reads nothing");
    let mut ids: Vec<u64> = Vec::new();
    for _ in 0..REQUESTS {
        let answer: Json = client.next().await;
        ids.push(answer["id"].as_u64().expect("an id"));
    }
    ids.sort_unstable();
    assert_eq!(ids, (1..=REQUESTS).collect::<Vec<_>>());
    client.input = Some(sender.await.expect("no panic"));
    assert!(client.end().await.is_empty());
}

/// Requests are read quicker than they are worked on: what has been begun counts, not only what waits to be written.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mcp_05_no_more_calls_are_begun_than_can_be_answered() {
    const CALLS: u64 = 2_000;
    let mut client = Client::ready().await;
    let mut input = client.input.take().expect("open");
    let sent = Arc::new(AtomicU64::new(0));
    let count = sent.clone();
    let sender = tokio::spawn(async move {
        for id in 1..=CALLS {
            let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
                "params": {"name": "sandbox_eval", "arguments": {"code": "work"}}});
            tokio::io::AsyncWriteExt::write_all(&mut input, format!("{call}\n").as_bytes())
                .await
                .expect("sent");
            count.store(id, Ordering::Relaxed);
        }
        input
    });
    // Until no more is taken for a while.
    let mut seen = 0;
    loop {
        tokio::time::sleep(Duration::from_millis(500)).await;
        let now = sent.load(Ordering::Relaxed);
        if now == seen && now > 0 {
            break;
        }
        seen = now;
    }
    // 256 in work, those whose answers wait to be written (4 MiB), and what lies between client and server.
    assert!(seen < 1_000, "{seen} calls of a client that reads nothing were taken");
    for _ in 1..=CALLS {
        client.next().await;
    }
    client.input = Some(sender.await.expect("no panic"));
    assert!(client.end().await.is_empty());
}
