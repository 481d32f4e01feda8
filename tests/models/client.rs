//! Clients that offer their own model, where the operator has named no endpoint.

use dormouse_tests::wire::{PATIENCE, Wire};
use serde_json::{Value as Json, json};

/// A server without an endpoint, and a client of before 2026 that can sample.
fn sampling() -> (Wire, tempfile::TempDir) {
    let state = tempfile::tempdir().unwrap();
    let mut wire = Wire::start(&["--profile", "rlm", "--state-dir", state.path().to_str().unwrap()]);
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {"sampling": {}},
        "clientInfo": {"name": "sampler", "version": "0"}});
    wire.ask(0, "initialize", hello);
    wire.tell("notifications/initialized", json!({}));
    (wire, state)
}

fn start(wire: &mut Wire, id: i64, tool: &str, arguments: &Json) {
    let params = json!({"name": tool, "arguments": arguments});
    wire.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}));
}

/// The server's next question to the client's model.
fn asked(wire: &mut Wire) -> Json {
    let message = wire.next(PATIENCE).expect("a question");
    assert_eq!(message["method"], "sampling/createMessage", "{message}");
    let include = message["params"]["includeContext"].as_str().unwrap_or("none");
    assert_eq!(include, "none");
    assert!(message["params"]["tools"].is_null());
    message
}

fn say(wire: &mut Wire, question: &Json, text: &str) {
    let result = json!({"role": "assistant", "content": {"type": "text", "text": text}, "model": "theirs"});
    wire.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": result}));
}

#[test]
fn a_client_that_can_sample_is_asked() {
    let (mut wire, _state) = sampling();
    let code = json!({"code": "llm_query('two and two?', system='be short', max_tokens=9)"});
    start(&mut wire, 1, "rlm_exec", &code);
    let question = asked(&mut wire);
    let params = &question["params"];
    assert_eq!((&params["maxTokens"], &params["systemPrompt"]), (&json!(9), &json!("be short")));
    assert_eq!(params["messages"][0]["content"]["text"], "two and two?");
    say(&mut wire, &question, "four");
    assert_eq!(wire.answer(1)["result"]["content"][0]["text"], "\"four\"");
    let used = wire.call(2, "rlm_usage", json!({}));
    assert_eq!(used["structuredContent"]["calls"], 1, "{used}");
    assert!(used["structuredContent"]["total_tokens"].as_u64().is_some_and(|tokens| tokens > 0));
}

#[test]
fn a_sub_agent_works_with_the_clients_model() {
    let (mut wire, _state) = sampling();
    let task = json!({"signature": "q: int -> n: int", "inputs": {"q": 41}});
    start(&mut wire, 1, "rlm_sub_agent", &task);
    let question = asked(&mut wire);
    say(&mut wire, &question, "```python\nsubmit(n=q + 1)\n```");
    let answer = wire.answer(1);
    assert_eq!(answer["result"]["isError"], false, "{answer}");
    assert_eq!(wire.call(2, "rlm_get", json!({"name": "n"}))["content"][0]["text"], "42");
}

#[test]
fn a_client_that_declines_is_an_exception_with_its_words() {
    let (mut wire, _state) = sampling();
    let code = json!({"code": "try: llm_query('a')\nexcept LlmError as e: print(e)"});
    for (id, answer) in [
        (1, json!({"error": {"code": -1, "message": "the user said no"}})),
        (
            2,
            json!({"result": {"role": "assistant", "model": "m",
            "content": {"type": "image", "data": "MQ==", "mimeType": "image/png"}}}),
        ),
    ] {
        start(&mut wire, id, "rlm_exec", &code);
        let mut message = answer.clone();
        let question = asked(&mut wire);
        (message["jsonrpc"], message["id"]) = ("2.0".into(), question["id"].clone());
        wire.send(&message);
        let told = wire.answer(id)["result"]["content"][0]["text"].as_str().unwrap_or_default().to_owned();
        assert!(told.starts_with("model_unavailable: the client "), "{told}");
        assert_eq!(told.contains("the user said no"), id == 1, "{told}");
    }
}

#[test]
fn a_cancelled_call_takes_its_question_back() {
    let (mut wire, _state) = sampling();
    start(&mut wire, 1, "rlm_exec", &json!({"code": "llm_query('a')"}));
    let question = asked(&mut wire);
    wire.tell("notifications/cancelled", json!({"requestId": 1}));
    let taken = wire.next(PATIENCE).expect("a notification");
    assert_eq!(taken["method"], "notifications/cancelled", "{taken}");
    assert_eq!(taken["params"]["requestId"], question["id"]);
    // An answer that comes all the same changes nothing.
    say(&mut wire, &question, "late");
    wire.still_serves(2);
}

#[test]
fn a_client_that_declares_nothing_is_asked_nothing() {
    let state = tempfile::tempdir().unwrap();
    let mut wire = Wire::greeted(&["--profile", "rlm", "--state-dir", state.path().to_str().unwrap()]);
    let task = json!({"signature": "q -> n", "inputs": {"q": "?"}});
    let refused = wire.call(1, "rlm_sub_agent", task);
    assert_eq!(refused["structuredContent"]["error"]["code"], "capability_unavailable");
    let text = "no model reachable: client declared no sampling capability and no --llm-endpoint is set";
    assert!(refused["content"][0]["text"].as_str().is_some_and(|told| told.contains(text)), "{refused}");
}

/// In revision 2026-07-28 a server cannot ask in the middle of a call: it is said, and nothing hangs.
#[test]
fn a_modern_client_is_told_that_it_is_not_asked() {
    let state = tempfile::tempdir().unwrap();
    let mut wire = Wire::start(&["--profile", "rlm", "--state-dir", state.path().to_str().unwrap()]);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {"sampling": {}},
        "io.modelcontextprotocol/clientInfo": {"name": "modern", "version": "0"},
    });
    let task = json!({"signature": "q -> n", "inputs": {"q": "?"}});
    let params = json!({"name": "rlm_sub_agent", "arguments": task, "_meta": meta});
    let answer = wire.ask(1, "tools/call", params);
    let refused = &answer["result"]["structuredContent"]["error"];
    assert_eq!(refused["code"], "capability_unavailable", "{answer}");
    assert!(
        refused["message"].as_str().is_some_and(|told| told.starts_with("no model reachable")),
        "{answer}"
    );
}
