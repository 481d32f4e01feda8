//! MCP-01: bytes that are no message, or a wrong one, are answered with an error or not at all, and the server goes on.

use std::time::Duration;

use dormouse_tests::levels::Levels;
use dormouse_tests::wire::{PATIENCE, Wire};
use serde_json::{Value as Json, json};

/// Sends bytes to a server that has been greeted, and asserts that it then still serves.
#[track_caller]
fn survives(wire: &mut Wire, id: i64, bytes: &[u8]) {
    wire.raw(bytes);
    wire.still_serves(id);
}

#[test]
fn mcp_01_what_is_no_json_is_passed_over() {
    let mut wire = Wire::greeted(&[]);
    let deep = format!("{}{}\n", "[".repeat(100_000), "]".repeat(100_000));
    let nested = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{}1{}}}\n",
        "{\"a\":".repeat(100_000),
        "}".repeat(100_000)
    );
    let lines: [&[u8]; 16] = [
        b"\n",
        b"\r\n",
        b"garbage\n",
        b"{\n",
        b"{}\n",
        b"[]\n",
        b"null\n",
        b"5\n",
        b"\"text\"\n",
        b"\xff\xfe\x00\n",
        b"\0\0\0\n",
        b"\xef\xbb\xbf{}\n",
        b"Content-Length: 5\r\n\r\n{}\n",
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        deep.as_bytes(),
        nested.as_bytes(),
    ];
    for (id, line) in (100..).zip(lines) {
        survives(&mut wire, id, line);
    }
    assert_eq!(wire.end(Duration::from_secs(10)).status, Some(0));
}

#[test]
fn mcp_01_json_that_is_no_object_and_bytes_that_are_no_text_are_errors() {
    let mut wire = Wire::greeted(&[]);
    for (line, code) in
        [(&b"\"text\"\n"[..], -32600), (b"5\n", -32600), (b"null\n", -32600), (b"\xff\xfe\n", -32700)]
    {
        wire.raw(line);
        let answer = wire.next(PATIENCE).unwrap();
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&Json::Null, &json!(code)), "{answer}");
    }
    wire.still_serves(1);
}

#[test]
fn mcp_01_wrong_messages_are_errors_or_passed_over() {
    let mut wire = Wire::greeted(&[]);
    for (id, line) in (100..).zip([
        r#"{"jsonrpc":"1.0","id":1,"method":"tools/list"}"#,
        r#"{"id":1,"method":"tools/list"}"#,
        r#"{"jsonrpc":"2.0","id":null,"method":"tools/list"}"#,
        r#"{"jsonrpc":"2.0","id":1.5,"method":"tools/list"}"#,
        r#"{"jsonrpc":"2.0","id":123456789012345678901234567890,"method":"tools/list"}"#,
        r#"{"jsonrpc":"2.0","id":{},"method":"tools/list"}"#,
        r#"{"jsonrpc":"2.0","id":-1,"method":"tools/list"}"#,
        r#"{"jsonrpc":"2.0","id":2,"method":5}"#,
        r#"{"jsonrpc":"2.0","id":3,"method":"tools/list","params":[]}"#,
        r#"{"jsonrpc":"2.0","id":4,"method":"tools/list","params":"x"}"#,
        r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{}}"#,
        r#"{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":5}}"#,
        r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"sandbox_eval","arguments":[]}}"#,
        r#"{"jsonrpc":"2.0","id":8,"id":9,"method":"tools/list","method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":10,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":11,"error":{"code":1,"message":"x"}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/unknown","params":{}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{}}"#,
        r#"[{"jsonrpc":"2.0","id":12,"method":"ping"},{"jsonrpc":"2.0","id":13,"method":"ping"}]"#,
        r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":5}}"#,
    ]) {
        survives(&mut wire, id, format!("{line}\n").as_bytes());
    }
}

#[test]
fn mcp_01_an_unknown_method_is_an_error_with_its_code() {
    let mut wire = Wire::greeted(&[]);
    for (id, method) in (1..).zip(["nothing/here", "", "tools/list/../call", "prompts/get", "x\u{0}y"]) {
        let answer = wire.ask(id, method, json!({}));
        assert_eq!(answer["error"]["code"], -32601, "{method}: {answer}");
    }
    wire.still_serves(900);
}

#[test]
fn mcp_01_a_call_before_the_handshake_is_refused_and_the_handshake_still_works() {
    let mut wire = Wire::start(&[]);
    let early = wire.ask(1, "tools/call", json!({"name": "sandbox_eval", "arguments": {"code": "1"}}));
    assert!(early["error"].is_object(), "{early}");
    let hello = wire.greet();
    assert!(hello["result"]["serverInfo"].is_object(), "{hello}");
    wire.still_serves(2);
}

#[test]
fn mcp_01_a_version_that_is_unknown_is_answered_with_a_known_one() {
    for version in ["2024-11-05", "2025-06-18", "1999-01-01", "", "2099-12-31"] {
        let mut wire = Wire::start(&[]);
        let params = json!({"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "w", "version": "0"}});
        let answer = wire.ask(0, "initialize", params);
        let told = answer["result"]["protocolVersion"].as_str().map(str::to_owned);
        match version {
            "2024-11-05" | "2025-06-18" => assert_eq!(told.as_deref(), Some(version)),
            _ => assert!(told.is_some() || answer["error"].is_object(), "{version}: {answer}"),
        }
    }
}

#[test]
fn mcp_01_a_line_of_a_hundred_megabytes_is_drained_in_bounded_memory() {
    let mut wire = Wire::greeted(&[]);
    wire.call(1, "sandbox_eval", json!({"code": "1"}));
    let process = wire.process().to_string();
    let before = Levels::of(&process);
    let piece = vec![b'x'; 1 << 20];
    let mut peak = 0;
    for _ in 0..100 {
        wire.raw(&piece);
        peak = peak.max(Levels::of(&process).memory);
    }
    wire.raw(b"\n");
    wire.still_serves(2);
    // The longest line that is taken, twice over while its buffer grows, and some more.
    assert!(peak < before.memory + (120 << 10), "{} KiB, before {} KiB", peak, before.memory);
}

#[test]
fn mcp_01_half_a_message_and_then_the_end_is_a_clean_end() {
    for part in ["", "{", r#"{"jsonrpc":"2.0","id":1,"method":"tools/list""#, "garbage"] {
        let mut wire = Wire::greeted(&[]);
        wire.raw(part.as_bytes());
        let ran = wire.end(Duration::from_secs(10));
        assert_eq!(ran.status, Some(0), "{part}: {}", ran.complaint());
        let mut silent = Wire::start(&[]);
        silent.raw(part.as_bytes());
        assert_eq!(silent.end(Duration::from_secs(10)).status, Some(0), "before the handshake: {part}");
    }
}

#[test]
fn mcp_01_a_message_that_comes_byte_by_byte_is_a_message() {
    let mut wire = Wire::greeted(&[]);
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "sandbox_eval", "arguments": {"code": "1 + 1"}}});
    for byte in format!("{message}\n").bytes() {
        wire.raw(&[byte]);
        // Each byte comes by itself.
        std::thread::sleep(Duration::from_millis(2));
    }
    let answer: Json = wire.answer(1);
    assert_eq!(answer["result"]["structuredContent"]["result"]["value"], 2);
    // Two in one write, with a carriage return in between.
    let two = format!(
        "{}\r\n{}\n",
        message.to_string().replace("\"id\":1", "\"id\":2"),
        message.to_string().replace("\"id\":1", "\"id\":3")
    );
    wire.raw(two.as_bytes());
    assert!(wire.answer(2)["result"].is_object() && wire.answer(3)["result"].is_object());
}
