//! [MCP-05] The client leaves: the server ends without an error, soon, and takes its runs with it.

use std::sync::atomic::Ordering;
use std::time::Instant;

use serde_json::json;

use crate::support::{Client, LEGACY, MODERN, NOISE, PROMISE, initialize, meta, within};

#[tokio::test]
async fn a_client_may_leave_at_any_moment() {
    assert!(Client::new().end().await.is_empty());
    for beginning in ["", "\n", "garbage\n", "\u{feff}", "half a word"] {
        let mut client = Client::new();
        client.raw(beginning.as_bytes()).await;
        assert!(client.end().await.is_empty(), "{beginning:?}");
    }
    let mut client = Client::new();
    client.request(1, "initialize", initialize(LEGACY)).await;
    assert!(client.end().await.is_empty());
    let mut client = Client::new();
    client.request(1, "server/discover", json!({"_meta": meta(MODERN)})).await;
    assert!(client.end().await.is_empty());
}

/// [MCP-01]
#[tokio::test]
async fn half_a_message_at_the_end_is_told_to_be_none() {
    for mut client in [Client::new(), Client::ready().await] {
        client.raw(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"pi").await;
        let rest = client.end().await;
        assert_eq!((rest.len(), &rest[0]["error"]["code"]), (1, &json!(-32_700)));
    }
}

/// What `printf … | dormouse mcp` sends is answered, a last line without a line feed too.
#[tokio::test]
async fn requests_before_the_end_are_answered() {
    let mut client = Client::new();
    let params = json!({"name": "sandbox_eval", "arguments": {"code": "sleep", "timeout_ms": 100}, "_meta": meta(MODERN)});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    client.raw(call.to_string().as_bytes()).await;
    let rest = client.end().await;
    assert_eq!(rest.len(), 1);
    assert_eq!(rest[0]["result"]["isError"], false, "{}", rest[0]);
}

#[tokio::test]
async fn the_end_of_the_input_cancels_runs_within_a_second() {
    let mut client = Client::ready().await;
    client.start(1, json!({"code": "sleep", "timeout_ms": 60_000})).await;
    client.fake.wait_started(1).await;
    let (fake, begin) = (client.fake.clone(), Instant::now());
    let rest = client.end().await;
    assert!(begin.elapsed() < PROMISE + NOISE, "{:?}", begin.elapsed());
    assert_eq!((rest.len(), &rest[0]["result"]["isError"]), (1, &json!(true)), "{rest:?}");
    let error = &rest[0]["result"]["structuredContent"]["error"];
    assert_eq!(error["code"], "cancelled", "{error}");
    assert!(error["hint"].as_str().is_some_and(|hint| hint.contains("again")), "{error}");
    assert_eq!(fake.dropped.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_closed_output_ends_the_server_and_its_runs() {
    let mut client = Client::ready().await;
    client.start(1, json!({"code": "sleep", "timeout_ms": 60_000})).await;
    client.fake.wait_started(1).await;
    client.output = None;
    // The next answer finds out.
    client.send(&json!({"jsonrpc": "2.0", "id": 2, "method": "ping"})).await;
    within(&mut client.server).await.expect("no panic").expect("a clean end");
    client.fake.wait_dropped(1).await;
}

/// Nothing is read from the server any more, and its input is closed: it does not wait for ever to be heard.
#[tokio::test]
async fn a_reader_that_stopped_does_not_hold_the_end_up() {
    let mut client = Client::ready().await;
    for id in 1..=50 {
        client.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/list"})).await;
    }
    let begin = Instant::now();
    client.input = None;
    within(&mut client.server).await.expect("no panic").expect("a clean end");
    assert!(begin.elapsed() < 2 * PROMISE + NOISE, "{:?}", begin.elapsed());
}
