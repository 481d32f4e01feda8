//! The form of results over MCP (S4-12, S4-13).

use std::time::Duration;

use dormouse_tests::wire::Wire;
use serde_json::{Value as Json, json};

fn text(result: &Json) -> &str {
    let content = result["content"].as_array().expect("content");
    assert_eq!(content.len(), 1, "{result}");
    assert_eq!(content[0]["type"], "text");
    content[0]["text"].as_str().expect("text")
}

/// The answer has every field that the schema requires and none that it does not know.
fn fits(structured: &Json, schema: &Json) {
    let properties = schema["properties"].as_object().expect("properties");
    for name in schema["required"].as_array().expect("required") {
        assert!(structured.get(name.as_str().unwrap()).is_some(), "{name} is missing: {structured}");
    }
    for name in structured.as_object().expect("an object").keys() {
        assert!(properties.contains_key(name), "{name} is not in the schema");
    }
}

#[test]
fn s4_12_a_result_is_one_json_text_and_the_same_as_structured_content() {
    let mut wire = Wire::greeted(&[]);
    let tools = wire.ask(1, "tools/list", json!({}))["result"]["tools"].clone();
    for (id, (tool, arguments)) in (2..).zip([
        (1, json!({"code": "print('ü'); {'a': [1, None]}"})),
        (1, json!({"code": "raise ValueError('no')"})),
        (1, json!({"code": "exit(3)"})),
        (1, json!({"code": "[1, 2]", "language": "javascript"})),
        (1, json!({"code": "print('x' * 100_000)"})),
        (0, json!({})),
    ]) {
        let result = wire.call(id, tools[tool]["name"].as_str().unwrap(), arguments);
        assert_eq!(result["isError"], false, "{result}");
        let parsed: Json = serde_json::from_str(text(&result)).expect("the text is JSON");
        assert_eq!(parsed.to_string(), result["structuredContent"].to_string(), "text and structure differ");
        fits(&result["structuredContent"], &tools[tool]["outputSchema"]);
    }
}

#[test]
fn s4_13_an_error_is_marked_and_begins_with_its_message() {
    let mut wire = Wire::greeted(&[]);
    let schema = wire.ask(1, "tools/list", json!({}))["result"]["tools"][1]["outputSchema"].clone();
    for (id, (arguments, code, word)) in (2..).zip([
        (json!({"code": "while True: pass", "timeout_ms": 100}), "limit_time", "100 ms"),
        (json!({"code": "for(;;);", "language": "javascript", "fuel": 1_000_000}), "limit_fuel", "1000000"),
        (json!({"code": "1", "timeout_ms": 1}), "args_invalid", "timeout_ms"),
        (json!({"code": "1", "allow_network": true}), "network_denied", "network"),
        (json!({"code": "1", "allow_writes": true}), "write_denied", "writes"),
        (json!({"code": "1", "language": "cobol"}), "unknown_language", "cobol"),
    ]) {
        let result = wire.call(id, "sandbox_eval", arguments);
        assert_eq!(result["isError"], true, "{result}");
        let error = &result["structuredContent"]["error"];
        assert_eq!(error["code"], code, "{result}");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(word), "{message}");
        assert!(text(&result).starts_with(&format!("Error: {message}")), "{}", text(&result));
        assert!(!error["hint"].as_str().unwrap().is_empty(), "{message} has no hint");
        fits(&result["structuredContent"], &schema);
    }
}

#[test]
fn s4_13_a_stopped_run_keeps_what_it_wrote() {
    let mut wire = Wire::greeted(&[]);
    let code = "print('before'); import sys; print('trouble', file=sys.stderr)\nwhile True: pass";
    let result = wire.call(1, "sandbox_eval", json!({"code": code, "timeout_ms": 300}));
    assert_eq!(result["structuredContent"]["stdout"], "before\n");
    assert!(text(&result).contains("before") && text(&result).contains("trouble"), "{}", text(&result));
}

#[test]
fn s4_13_an_unknown_tool_is_an_error_of_the_protocol_that_names_the_known_ones() {
    let mut wire = Wire::greeted(&[]);
    let answer = wire.ask(1, "tools/call", json!({"name": "sandbox_evil", "arguments": {}}));
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    assert!(answer["error"]["message"].as_str().unwrap().contains("sandbox_eval"), "{answer}");
}

#[test]
fn a_long_run_tells_its_progress_to_who_asked() {
    let mut wire = Wire::greeted(&[]);
    let arguments =
        json!({"code": "import time\nfor _ in range(16): print('.'); time.sleep(0.1)", "timeout_ms": 20_000});
    let params = json!({"name": "sandbox_eval", "arguments": arguments, "_meta": {"progressToken": "mine"}});
    let answer = wire.ask(1, "tools/call", params);
    assert_eq!(answer["result"]["structuredContent"]["ok"], true, "{answer}");
    let seen = wire.notifications("notifications/progress");
    assert!(seen.len() >= 2, "{seen:?}");
    let steps: Vec<f64> = seen.iter().map(|told| told["params"]["progress"].as_f64().unwrap()).collect();
    assert!(steps.windows(2).all(|pair| pair[0] < pair[1]), "{steps:?}");
    assert!(seen.iter().all(|told| told["params"]["progressToken"] == "mine"), "{seen:?}");
    let before = wire.notifications("notifications/progress").len();
    wire.call(2, "sandbox_eval", json!({"code": "import time; time.sleep(1.2)"}));
    assert_eq!(wire.notifications("notifications/progress").len(), before, "nobody asked this time");
    assert_eq!(wire.end(Duration::from_secs(10)).status, Some(0));
}
