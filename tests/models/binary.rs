//! The binary with an endpoint: its options, and that the key goes nowhere but to the endpoint.

use std::fs;
use std::path::Path;
use std::time::Duration;

use dormouse_tests::wire::{PATIENCE, Wire};
use dormouse_tests::{binary, sandbox, wait_until};
use serde_json::json;

use super::{KEY, Say, Server};

const VARIABLE: &str = "TEST_MODEL_KEY";

/// Whether any file below a folder holds the bytes.
fn holds(folder: &Path, bytes: &[u8]) -> bool {
    fs::read_dir(folder).unwrap().flatten().any(|entry| {
        let path = entry.path();
        if path.is_dir() {
            return holds(&path, bytes);
        }
        fs::read(&path).is_ok_and(|content| content.windows(bytes.len()).any(|window| window == bytes))
    })
}

/// With everything logged that can be logged, with errors and without.
#[test]
fn llm_02_the_key_is_in_no_log_no_answer_and_no_file() {
    let echoes = format!(r#"{{"error": {{"message": "bad key {KEY}", "type": "{KEY}"}}}}"#);
    let says = [
        Say::Status(401, None, echoes.clone()),
        Say::Status(500, Some("0"), echoes.clone()),
        Say::Status(429, Some("3600"), echoes),
    ];
    let server = sandbox::wait(Server::start(says));
    let state = tempfile::tempdir().unwrap();
    let arguments = [
        "--profile",
        "rlm",
        "--state-dir",
        state.path().to_str().unwrap(),
        "--llm-endpoint",
        &server.url,
        "--llm-model",
        "m",
        "--llm-api",
        "anthropic",
        "--llm-key-env",
        VARIABLE,
    ];
    let mut wire = Wire::start_with(&arguments, &[("DORMOUSE_LOG", "trace"), (VARIABLE, KEY)]);
    wire.greet();
    for id in 1..=2 {
        let refused = wire.call(id, "rlm_exec", json!({"code": "llm_query('a')"}));
        assert!(
            refused["content"][0]["text"].as_str().is_some_and(|text| text.contains("LlmError")),
            "{refused}"
        );
        assert!(!refused.to_string().contains(KEY), "{refused}");
    }
    let task = json!({"signature": "q -> n", "inputs": {"q": "?"}});
    let refused = wire.call(3, "rlm_sub_agent", task);
    assert!(refused["isError"] == true && !refused.to_string().contains(KEY), "{refused}");
    let answered = wire.call(4, "rlm_exec", json!({"code": "llm_query('b')"}));
    assert_eq!(answered["content"][0]["text"], "\"b\"");
    let ran = wire.end(PATIENCE);
    assert!(ran.complaint().contains("TRACE"), "everything was logged");
    assert!(!ran.complaint().contains(KEY) && !ran.text().contains(KEY));
    assert!(!holds(state.path(), KEY.as_bytes()));
    let asked = server.asked();
    assert!(asked.iter().all(|asked| asked.headers["x-api-key"] == KEY && asked.path == "/v1/messages"));
}

#[test]
fn options_that_do_not_fit_are_refused_without_showing_a_key() {
    let folder = tempfile::tempdir().unwrap();
    let empty = folder.path().join("empty");
    fs::write(&empty, "\n").unwrap();
    let empty = empty.to_str().unwrap();
    let url = "http://127.0.0.1:1";
    for (arguments, told) in [
        (vec!["--llm-endpoint", url], "--llm-model"),
        (vec!["--llm-model", "m"], "--llm-endpoint"),
        (vec!["--llm-endpoint", "no", "--llm-model", "m"], "no URL"),
        (vec!["--llm-endpoint", url, "--llm-model", "m", "--llm-api", "x"], "openai"),
        (vec!["--llm-endpoint", url, "--llm-model", "m", "--llm-key-env", "NO_SUCH_KEY"], "NO_SUCH_KEY"),
        (vec!["--llm-endpoint", url, "--llm-model", "m", "--llm-key-file", empty], "does not hold a key"),
        (vec!["--llm-endpoint", url, "--llm-model", "m", "--llm-timeout", "0s"], "--llm-timeout"),
        (vec!["--llm-key-env", VARIABLE], "--llm-endpoint"),
    ] {
        let mut command = binary::command(&[&["mcp"], arguments.as_slice()].concat());
        command.env(VARIABLE, KEY);
        let ran = binary::finish(command, b"");
        assert_eq!(ran.status, Some(2), "{arguments:?}: {}", ran.complaint());
        assert!(ran.complaint().contains(told), "{arguments:?}: {}", ran.complaint());
        assert!(!ran.complaint().contains(KEY));
    }
}

#[test]
fn the_operators_budget_holds() {
    let server = sandbox::wait(Server::start([]));
    let state = tempfile::tempdir().unwrap();
    let file = state.path().join("key");
    fs::write(&file, KEY).unwrap();
    let folder = state.path().join("state");
    let arguments = [
        "--profile",
        "rlm",
        "--state-dir",
        folder.to_str().unwrap(),
        "--llm-endpoint",
        &server.url,
        "--llm-model",
        "m",
        "--llm-key-file",
        file.to_str().unwrap(),
        "--llm-max-calls",
        "2",
        "--llm-timeout",
        "5s",
    ];
    let mut wire = Wire::greeted(&arguments);
    let code = "n = 0\ntry:\n  while True: llm_query('a'); n += 1\nexcept LlmError as e: print(n, e.code)";
    let answered = wire.call(1, "rlm_exec", json!({"code": code}));
    assert_eq!(answered["content"][0]["text"], "2 budget_exhausted\n");
    assert_eq!(wire.call(2, "rlm_usage", json!({}))["structuredContent"]["calls"], 2);
    // Cancelling the request ends the run, and with it the call of the model.
    drop(wire.end(PATIENCE));
}

#[test]
fn a_cancelled_request_ends_the_models_call() {
    let server = sandbox::wait(Server::start([Say::After(Duration::from_secs(60))]));
    let state = tempfile::tempdir().unwrap();
    let folder = state.path().to_str().unwrap();
    let arguments =
        ["--profile", "rlm", "--state-dir", folder, "--llm-endpoint", &server.url, "--llm-model", "m"];
    let mut wire = Wire::greeted(&arguments);
    let params = json!({"name": "rlm_exec", "arguments": {"code": "llm_query('a')"}});
    wire.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}));
    wait_until("the endpoint is asked", PATIENCE, || server.under_way() == 1);
    wire.tell("notifications/cancelled", json!({"requestId": 1}));
    wait_until("the endpoint works for nobody any more", PATIENCE, || server.under_way() == 0);
    wire.still_serves(2);
}

/// FS-13: the model is the operator's at each call, also for variables and functions that an older start has left.
#[test]
fn fs_13_a_model_that_is_taken_back_is_gone_from_old_sandboxes() {
    let server = sandbox::wait(Server::start([]));
    let state = tempfile::tempdir().unwrap();
    let kept = ["--profile", "rlm", "--state-dir", state.path().to_str().unwrap()];
    let model = ["--llm-endpoint", &server.url, "--llm-model", "m", "--llm-key-env", VARIABLE];
    let mut first = Wire::start_with(&[&kept[..], &model].concat(), &[(VARIABLE, KEY)]);
    first.greet();
    let answered = first.call(1, "rlm_exec", json!({"code": "ask = llm_query\nask('a')"}));
    assert_eq!(answered["content"][0]["text"], "\"a\"", "{answered}");
    assert_eq!(first.end(PATIENCE).status, Some(0));
    let asked = server.asked().len();

    let mut second = Wire::greeted(&kept);
    for (id, code) in [(1, "ask('b')"), (2, "llm_query('c')"), (3, "call_tool('llm_query', {'prompt': 'd'})")]
    {
        let refused = second.call(id, "rlm_exec", json!({"code": code}));
        let text = refused["content"][0]["text"].as_str().unwrap_or_default();
        assert!(text.starts_with("Traceback"), "{code}: {refused}");
    }
    assert_eq!(second.end(PATIENCE).status, Some(0));
    assert_eq!(server.asked().len(), asked, "the endpoint was asked");
}

/// A server of the profile `rlm` whose endpoint says these things.
fn kernel(says: impl IntoIterator<Item = Say>) -> (Wire, tempfile::TempDir) {
    let server = sandbox::wait(Server::start(says));
    let state = tempfile::tempdir().unwrap();
    let folder = state.path().to_str().unwrap();
    let arguments =
        ["--profile", "rlm", "--state-dir", folder, "--llm-endpoint", &server.url, "--llm-model", "m"];
    (Wire::greeted(&arguments), state)
}

fn ended(text: Option<&str>, why: &str) -> Say {
    Say::Raw(json!({"choices": [{"message": {"content": text}, "finish_reason": why}]}).to_string())
}

#[test]
fn s3_13_an_answer_that_was_cut_says_so_and_one_without_a_text_is_none() {
    let says = [
        ended(Some("whole"), "stop"),
        ended(Some("a part"), "length"),
        ended(Some("in a"), "length"),
        ended(None, "length"),
        ended(None, "content_filter"),
    ];
    let (mut wire, _state) = kernel(says);
    let mut run = |id, code: &str| {
        let told = wire.call(id, "rlm_exec", json!({"code": code}));
        told["content"][0]["text"].as_str().unwrap().to_owned()
    };
    assert_eq!(run(1, "llm_query('a')"), "\"whole\"");
    let cut = "\\n[the answer was cut here: its tokens are used up]";
    assert_eq!(run(2, "llm_query('a')"), format!("\"a part{cut}\""));
    assert_eq!(run(3, "llm_query_batched(['a'])"), format!("[\"in a{cut}\"]"));
    for (id, why) in [(4, "used up its tokens before it wrote a text"), (5, "answered without a text")] {
        let told = run(id, "try: llm_query('a')\nexcept LlmError as error: print(error.code, error)");
        assert!(told.starts_with("model_unavailable") && told.contains(why), "{told}");
    }
    assert_eq!(wire.end(PATIENCE).status, Some(0));
}

#[test]
fn s3_12_a_sub_agent_that_ends_tells_what_it_wrote_and_saw() {
    let code = |text: &str| format!("So:\n```python\n{text}\n```");
    let (raised, cut, done) = (code("1 / 0"), code("print('seen')"), code("submit(n=3)"));
    let says = [
        ended(Some(&raised), "stop"),
        ended(Some(&cut), "length"),
        ended(Some(&raised), "stop"),
        ended(Some(&done), "stop"),
    ];
    let (mut wire, _state) = kernel(says);
    let task = json!({"signature": "q -> n: int", "inputs": {"q": "?"}, "max_iterations": 2});
    let failed = wire.call(1, "rlm_sub_agent", task.clone());
    let told = &failed["structuredContent"];
    assert_eq!(
        (&failed["isError"], &told["error"]["code"]),
        (&json!(true), &json!("budget_exhausted")),
        "{failed}"
    );
    assert_eq!((&told["iterations"], &told["llm_calls"]), (&json!(2), &json!(2)));
    let turn = |told: &serde_json::Value, at: usize, side: &str| {
        told["transcript"][at][side].as_str().unwrap().to_owned()
    };
    assert_eq!(turn(told, 0, "said"), raised);
    assert!(turn(told, 0, "seen").contains("ZeroDivisionError"), "{told}");
    assert!(turn(told, 1, "seen").contains("(Your answer was cut"), "{told}");
    let text = failed["content"][0]["text"].as_str().unwrap();
    assert!(
        text.contains("has used its 2 iterations") && text.contains("Turn 2, the last: the model said \"So:"),
        "{text}"
    );
    let passed = wire.call(2, "rlm_sub_agent", task);
    let told = &passed["structuredContent"];
    assert_eq!((&told["outputs"][0]["summary"], &told["error"]), (&json!("3"), &json!(null)), "{passed}");
    assert_eq!(turn(told, 1, "said"), done);
    assert_eq!(wire.end(PATIENCE).status, Some(0));
}
