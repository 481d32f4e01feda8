//! [MCP-02] Arguments that do not fit: an answer that names field, value and bound, and nothing is started.

use std::sync::atomic::Ordering;

use serde_json::{Value as Json, json};

use crate::support::Client;

#[tokio::test]
async fn arguments_that_do_not_fit_start_nothing() {
    let mut client = Client::ready().await;
    for (id, (arguments, code, named)) in (1..).zip([
        (json!({}), "args_invalid", "`code`"),
        (json!({"code": ""}), "args_invalid", "`code`"),
        (json!({"code": null}), "args_invalid", "`code`"),
        (json!({"code": 1}), "args_invalid", "`code`"),
        (json!({"code": "1", "timeout": 5}), "args_invalid", "`timeout`"),
        (json!({"code": "1", "timeout_ms": -1}), "args_invalid", "100 to 60000"),
        (json!({"code": "1", "timeout_ms": 60_001}), "args_invalid", "100 to 60000"),
        (
            json!({"code": "1", "memory_bytes": 9_223_372_036_854_775_808_u64}),
            "args_invalid",
            "`memory_bytes`",
        ),
        (json!({"code": "1", "memory_bytes": 1}), "args_invalid", "16777216 to 536870912"),
        (json!({"code": "1", "fuel": 0}), "args_invalid", "`fuel`"),
        (json!({"code": "1", "preview_items": "NaN"}), "args_invalid", "`preview_items`"),
        (json!({"code": "1", "language": "../python"}), "args_invalid", "`language`"),
        (json!({"code": "1", "allow_network": true}), "network_denied", "network"),
        (json!({"code": "1", "allow_writes": true}), "write_denied", "writes"),
    ]) {
        let result = client.eval(id, arguments.clone()).await;
        assert_refused(&result, code, named);
    }
    assert_eq!(client.fake.started.load(Ordering::SeqCst), 0);
}

/// NaN is no JSON, so such a line is no message.
#[tokio::test]
async fn a_number_that_json_does_not_have_is_no_message() {
    let mut client = Client::ready().await;
    for number in ["NaN", "Infinity", "1e999"] {
        let params = format!(r#"{{"name":"sandbox_eval","arguments":{{"code":"1","timeout_ms":{number}}}}}"#);
        client
            .raw(
                format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{params}}}\n")
                    .as_bytes(),
            )
            .await;
        assert_eq!(client.next().await["error"]["code"], -32_700);
    }
    assert_eq!(client.fake.started.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_source_of_50_mb_is_too_large_by_name() {
    let mut client = Client::ready().await;
    let code = "x".repeat(50_000_000);
    let result = client.eval(1, json!({"code": code})).await;
    assert_refused(&result, "too_large", "`code` has 50000000 bytes, at most 33554432");
    assert_eq!(client.fake.started.load(Ordering::SeqCst), 0);
    client.still_serves(2).await;
}

#[tokio::test]
async fn odd_characters_reach_the_sandbox_unchanged() {
    let mut client = Client::ready().await;
    for (id, code) in (1..).zip(["a\0b", "\u{feff}1", "1\r\n2\r\n", "\u{2028}", "😀"]) {
        assert_eq!(client.eval(id, json!({"code": code})).await["structuredContent"]["stdout"], code);
    }
}

fn assert_refused(result: &Json, code: &str, named: &str) {
    let (error, text) = (&result["structuredContent"]["error"], &result["content"][0]["text"]);
    assert_eq!((&result["isError"], &error["code"]), (&json!(true), &json!(code)), "{result}");
    let text = text.as_str().expect("text");
    assert!(text.starts_with("Error: ") && text.contains(named) && text.len() < 1_000, "{text}");
    assert!(error["hint"].as_str().is_some_and(|hint| !hint.is_empty()), "{error}");
}
