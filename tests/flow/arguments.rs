//! MCP-02: arguments that do not fit are refused with field, value and bound, and nothing is started.

use dormouse_tests::wire::Wire;
use serde_json::{Value as Json, json};

/// The error of a call that must be refused, and what its message must name.
fn refused(wire: &mut Wire, id: i64, arguments: &Json, code: &str, words: &[&str]) {
    let result = wire.call(id, "sandbox_eval", arguments.clone());
    let error = &result["structuredContent"]["error"];
    let shown: String = arguments.to_string().chars().take(200).collect();
    assert_eq!(result["isError"], true, "{shown} was taken");
    assert_eq!(error["code"], code, "{shown}: {error}");
    let message = error["message"].as_str().unwrap();
    for word in words {
        assert!(message.contains(word), "{shown}: `{word}` is not named: {message}");
    }
    assert!(message.len() < 400, "{shown}: the message repeats the whole value");
    assert_eq!(result["structuredContent"]["provider"], "none", "{shown}: something ran");
}

#[test]
fn mcp_02_arguments_that_do_not_fit_are_refused_by_name_and_bound() {
    let mut wire = Wire::greeted(&[]);
    let with = |name: &str, value: Json| {
        let mut arguments = json!({"code": "1"});
        arguments[name] = value;
        arguments
    };
    let table = [
        (json!({}), vec!["code"]),
        (json!({"code": null}), vec!["code", "null"]),
        (json!({"code": 5}), vec!["code", "5"]),
        (json!({"code": ["1"]}), vec!["code"]),
        (json!({"code": ""}), vec!["code"]),
        (json!({"snippet": "1"}), vec!["snippet"]),
        (with("cod", json!("x")), vec!["cod"]),
        (with("x\u{1b}[2J", json!(1)), vec!["x"]),
        (with("timeout_ms", json!("5")), vec!["timeout_ms"]),
        (with("timeout_ms", json!(99)), vec!["timeout_ms", "99", "100"]),
        (with("timeout_ms", json!(60_001)), vec!["timeout_ms", "60001", "60000"]),
        (with("timeout_ms", json!(-1)), vec!["timeout_ms", "-1"]),
        (with("timeout_ms", json!(1.5)), vec!["timeout_ms", "1.5"]),
        (with("timeout_ms", json!(1e300)), vec!["timeout_ms"]),
        (with("memory_bytes", json!(1 << 20)), vec!["memory_bytes", "1048576", "16777216"]),
        (with("memory_bytes", json!((512_u64 << 20) + 1)), vec!["memory_bytes", "536870912"]),
        (with("memory_bytes", json!(u64::MAX)), vec!["memory_bytes", "18446744073709551615"]),
        (with("output_bytes", json!(1 << 20)), vec!["output_bytes", "1048576"]),
        (with("fuel", json!(0)), vec!["fuel", "0"]),
        (with("seed", json!(9_223_372_036_854_775_808_u64)), vec!["seed"]),
        (with("seed", json!(-1)), vec!["seed"]),
        (with("preview_items", json!(0)), vec!["preview_items"]),
        (with("preview_offset", json!(1_u64 << 32)), vec!["preview_offset"]),
        (with("allow_writes", json!("true")), vec!["allow_writes"]),
        (with("allow_writes", json!(1)), vec!["allow_writes"]),
        (with("language", json!("../python")), vec!["language"]),
        (with("language", json!("x".repeat(100))), vec!["language"]),
        (with("name", json!("x".repeat(257))), vec!["name", "257", "256"]),
        (with("name", json!("a\0b")), vec!["name"]),
        (with("stdin", json!({})), vec!["stdin"]),
    ];
    for (id, (arguments, words)) in (1..).zip(&table) {
        let long = ["language", "name"]
            .iter()
            .any(|field| arguments[*field].as_str().is_some_and(|text| text.len() > 90));
        let code = if long { "too_large" } else { "args_invalid" };
        refused(&mut wire, id, arguments, code, words);
    }
    for arguments in [json!({"code": null}), json!({})] {
        let error = wire.call(800, "sandbox_eval", arguments)["structuredContent"]["error"].take();
        let hint = error["hint"].as_str().unwrap();
        assert!(hint.contains("`code`") && !hint.contains("leave"), "it must be there: {error}");
    }
    wire.still_serves(900);
}

#[test]
fn mcp_02_numbers_that_json_cannot_carry_are_refused() {
    let mut wire = Wire::greeted(&[]);
    for (id, number) in
        (1..).zip(["NaN", "Infinity", "1e999", "0x10", "+5", "05", "1_000", "99999999999999999999999999"])
    {
        let line = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"sandbox_eval","arguments":{{"code":"1","timeout_ms":{number}}}}}}}"#
        );
        wire.raw(format!("{line}\n").as_bytes());
        wire.still_serves(id + 1_000);
        let ran = wire
            .next(std::time::Duration::ZERO)
            .into_iter()
            .any(|message| message["result"]["structuredContent"]["ok"] == true);
        assert!(!ran, "{number} was taken for a number");
    }
}

#[test]
fn mcp_02_odd_source_text_is_run_or_refused_as_text() {
    let mut wire = Wire::greeted(&[]);
    let value = |wire: &mut Wire, id, code: &str| {
        wire.call(id, "sandbox_eval", json!({"code": code}))["structuredContent"].clone()
    };
    assert_eq!(value(&mut wire, 1, "'a\0b'")["exception"]["class"], "SyntaxError");
    assert_eq!(value(&mut wire, 2, "\u{feff}1 + 1")["result"]["value"], 2);
    assert_eq!(value(&mut wire, 3, "x = 1\r\nx + 1\r\n")["result"]["value"], 2);
    assert_eq!(value(&mut wire, 4, "--unsafe")["exception"]["class"], "NameError");
    assert_eq!(value(&mut wire, 5, " ")["ok"], true);
    // A lone surrogate can be written in JSON and is no text.
    let line = br#"{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"sandbox_eval","arguments":{"code":"'\ud800'"}}}"#;
    wire.raw(&[line.as_slice(), b"\n"].concat());
    let told = wire.answer(6);
    assert_eq!(told["error"]["code"], -32700, "{told}");
    let message = told["error"]["message"].as_str().unwrap();
    assert!(message.starts_with("the line has half a character in a text (line 1, column "), "{message}");
    wire.still_serves(7);
    let invalid = b"{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"tools/call\",\"params\":{\"name\":\"sandbox_eval\",\"arguments\":{\"code\":\"'\xff'\"}}}\n";
    wire.raw(invalid);
    wire.still_serves(9);
}

#[test]
fn mcp_02_a_source_of_fifty_megabytes_is_refused_and_the_next_call_works() {
    let mut wire = Wire::greeted(&[]);
    let arguments = json!({"code": "#".repeat((32 << 20) + 1)});
    refused(&mut wire, 1, &arguments, "too_large", &["code", "33554433", "33554432"]);
    // Past the longest line nothing can be answered: there is no telling whose message it was.
    wire.send(&json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call",
        "params": {"name": "sandbox_eval", "arguments": {"code": "#".repeat(50 << 20)}}}));
    let next = wire.call(3, "sandbox_eval", json!({"code": "1 + 1"}));
    assert_eq!(next["structuredContent"]["result"]["value"], 2);
}

#[test]
fn mcp_02_a_refused_call_starts_no_engine() {
    let mut wire = Wire::greeted(&[]);
    refused(&mut wire, 1, &json!({"code": "1", "timeout_ms": 0}), "args_invalid", &["timeout_ms"]);
    let maps = std::fs::read_to_string(format!("/proc/{}/maps", wire.process())).unwrap();
    assert!(!maps.contains(".cwasm"), "a guest was loaded for a call that was refused");
}
