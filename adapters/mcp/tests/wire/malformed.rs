//! [MCP-01] Bytes that are no message, or no message that can be served.

use serde_json::json;
use tokio::io::AsyncWriteExt;

use crate::support::{Client, LEGACY, initialize, within};

#[tokio::test]
async fn garbage_is_ignored_and_the_server_goes_on() {
    let mut client = Client::ready().await;
    let garbage: [&[u8]; 6] = [
        b"\n",
        b"\r\n",
        b"hello\n",
        b"Content-Length: 10\r\n\r\n",
        b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/nothing\"}\n",
        b"{\"jsonrpc\":\"2.0\",\"id\":77,\"result\":{}}\n",
    ];
    for (id, line) in (1..).zip(garbage) {
        client.raw(line).await;
        client.still_serves(id).await;
    }
}

#[tokio::test]
async fn what_looks_like_a_message_and_is_none_is_answered_once() {
    let mut client = Client::ready().await;
    let deep =
        format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{}", "[".repeat(100_000));
    let broken = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}";
    for (id, (line, code)) in (100..).zip([
        (b"{\"jsonrpc\":".as_slice(), -32_700),
        (deep.as_bytes(), -32_700),
        (broken, -32_700),
        (b"\xff\xfe\x00", -32_700),
        (b"\"text\"", -32_600),
        (b"null", -32_600),
        (b"[]", -32_600),
        (br#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping"}]"#, -32_600),
        (br#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32_600),
        (br#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, -32_600),
        (br#"{"jsonrpc":"2.0","id":99999999999999999999,"method":"ping"}"#, -32_600),
        (br#"{"jsonrpc":"3.0","id":5,"method":"ping"}"#, -32_600),
    ]) {
        client.raw(line).await;
        client.raw(b"\n").await;
        let answer = client.next().await;
        assert_eq!(answer["error"]["code"], code, "{answer}");
        client.still_serves(id).await;
    }
}

#[tokio::test]
async fn every_valid_id_is_given_back() {
    let mut client = Client::ready().await;
    for id in [json!("a"), json!(""), json!(-1), json!(9_007_199_254_740_993_u64), json!(i64::MAX)] {
        client.send(&json!({"jsonrpc": "2.0", "id": id, "method": "ping"})).await;
        assert_eq!(client.next().await["id"], id);
    }
}

#[tokio::test]
async fn duplicate_keys_get_at_most_one_answer() {
    let mut client = Client::ready().await;
    for line in [
        r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/list"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"sandbox_eval","arguments":{"code":"a","code":"b"}}}"#,
    ] {
        client.raw(line.as_bytes()).await;
        client.raw(b"\n").await;
        client.next().await;
        client.still_serves(9).await;
    }
}

#[tokio::test]
async fn unknown_methods_and_tools_and_broken_parameters_have_their_own_codes() {
    let mut client = Client::ready().await;
    for (id, (method, params, code)) in (1..).zip([
        ("nothing/here", json!({}), -32_601),
        ("resources/subscribe", json!({"uri": "a:b"}), -32_601),
        ("tools/call", json!({"name": "sandbox_evil", "arguments": {}}), -32_602),
        ("tools/call", json!({"name": 5}), -32_602),
        ("tools/call", json!({"name": "sandbox_eval", "arguments": [1]}), -32_602),
        ("tools/call", json!({"name": "sandbox_eval", "arguments": "code"}), -32_602),
        ("tools/call", json!([]), -32_602),
        ("tools/call", json!({}), -32_602),
    ]) {
        let answer = client.request(id, method, params).await;
        assert_eq!(answer["error"]["code"], code, "{answer}");
    }
    let long = client.request(50, &"m".repeat(100_000), json!({})).await;
    assert!(long.to_string().len() < 300, "a method's name is cut");
}

#[tokio::test]
async fn a_message_that_cannot_come_first_does_not_end_the_server() {
    let mut client = Client::new();
    for line in [
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"a"}}"#,
        "garbage",
    ] {
        client.raw(line.as_bytes()).await;
        client.raw(b"\n").await;
    }
    let answer = client.request(1, "initialize", initialize(LEGACY)).await;
    assert_eq!(answer["result"]["protocolVersion"], LEGACY);
}

/// A line of 100 MB is drained without being kept, answered, and does not end the server.
#[tokio::test]
async fn a_line_longer_than_the_limit_is_answered_and_forgotten() {
    let mut client = Client::ready().await;
    let mut input = client.input.take().expect("open");
    let part = vec![b'x'; 1 << 20];
    for _ in 0..100 {
        within(input.write_all(&part)).await.expect("sent");
    }
    client.input = Some(input);
    client.raw(b"\n").await;
    let answer = client.next().await;
    assert_eq!(answer["error"]["code"], -32_600);
    assert!(answer["error"]["message"].as_str().is_some_and(|text| text.contains("67108864")), "{answer}");
    client.still_serves(1).await;
}

#[tokio::test]
async fn a_message_may_come_byte_by_byte() {
    let mut client = Client::ready().await;
    for byte in b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n" {
        client.raw(&[*byte]).await;
        tokio::task::yield_now().await;
    }
    assert_eq!(client.next().await["id"], 1);
}
