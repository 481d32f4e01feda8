//! Turns that a model answers, over a real server on this machine.

use std::time::Duration;

use dormouse_core::testing::wait_until_async;
use dormouse_scenario::{Options, Report, Status, Step};

use super::server::{Say, Server};
use super::{Stage, arena};

const FIX: &str =
    "turns: [{content: Fix it.}]\nconversation_assertions: [{type: tool_exec, params: {tool: run_tests}}]";

fn with_model(url: &str, more: &str, scenario: &str) -> String {
    let model = format!("spec:\n  defaults: {{model: {{url: '{url}', name: m{more}}}}}\n  mcp");
    arena("session", scenario).replace("spec:\n  mcp", &model)
}

async fn run(server: &Server, more: &str, scenario: &str) -> Report {
    Stage::new().run(&with_model(&server.url, more, scenario)).await
}

fn failure(report: &Report) -> &str {
    let turn = &report.scenarios[0].repetitions[0].turns[0];
    turn.failure.as_ref().map_or("", |text| text.text.as_str())
}

#[tokio::test]
async fn a_model_calls_tools_until_it_is_done() {
    let server = Server::start([
        Say::Calls(vec![("run_tests", "{}"), ("Read", r#"{"path": "add.py"}"#)]),
        Say::Calls(vec![("Write", r#"{"path": "add.py", "content": "a + b"}"#)]),
        Say::Text("Done: <b>fixed</b>."),
    ])
    .await;
    let more = ", system: Be brief., max_iterations: 3";
    let report = run(&server, more, &format!("allowed_tools: [run_tests, Read, Write]\n{FIX}")).await;
    let one = &report.scenarios[0].repetitions[0];
    assert_eq!((report.exit_code(), one.tokens), (0, Some((30, 15))), "{}", failure(&report));
    let called: Vec<(String, bool)> =
        one.turns[0].calls().map(|call| (call.tool.text.clone(), call.is_error)).collect();
    assert_eq!(called, [("run_tests".to_owned(), true), ("Read".into(), true), ("Write".into(), false)]);
    assert!(
        matches!(one.turns[0].steps.last(), Some(Step::Said { text, .. }) if text.text.contains("fixed"))
    );
    assert!(report.to_html().contains("&lt;b&gt;fixed"));

    let asked = server.asked();
    assert_eq!(asked.len(), 3);
    let tools: Vec<&str> = asked[0].body["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["function"]["name"].as_str().unwrap())
        .collect();
    assert_eq!(tools, ["Read", "Write", "run_tests"]);
    let messages = asked[2].body["messages"].as_array().unwrap();
    let roles: Vec<&str> = messages.iter().map(|message| message["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["system", "user", "assistant", "tool", "tool", "assistant", "tool"]);
    assert_eq!(messages[4]["tool_call_id"], messages[2]["tool_calls"][1]["id"]);
    assert!(messages[3]["content"].as_str().unwrap().contains("The tool failed:\nFAILED test_add"));
    assert_eq!(asked[0].key, None);
}

#[tokio::test]
async fn what_a_model_gets_wrong_is_told_to_it() {
    let server = Server::start([
        Say::Calls(vec![
            ("Write", "{\"path\": "),
            ("Say", "[1]"),
            ("nosuch", "{}"),
            ("strict", "{}"),
            ("Break", "{}"),
        ]),
        Say::Text("Sorry."),
    ])
    .await;
    let report = run(&server, "", "turns: [{content: Go.}]").await;
    assert_eq!(report.exit_code(), 0, "{}", failure(&report));
    let asked = server.asked();
    let told: Vec<&str> = asked[1].body["messages"].as_array().unwrap()[2..]
        .iter()
        .map(|message| message["content"].as_str().unwrap())
        .collect();
    for (told, wanted) in told.iter().zip([
        "not a JSON object",
        "not a JSON object",
        "tool not found: nosuch",
        "(args_invalid)",
        "broke",
    ]) {
        assert!(told.starts_with("Error: ") && told.contains(wanted), "{told}");
    }
    assert_eq!(told.len(), 5);
}

#[tokio::test]
async fn an_endless_model_is_ended_by_its_bounds() {
    for (more, wanted, calls) in [
        (", max_iterations: 4", "after 4 answers", 4),
        (", budget: {calls: 3}", "budget of 3 requests", 3),
        (", budget: {tokens: 40}", "budget of 40 tokens", 3),
    ] {
        let server = Server::start([]).await;
        let report = run(&server, more, FIX).await;
        assert!(failure(&report).contains(wanted), "{more}: {}", failure(&report));
        assert_eq!((server.asked().len(), report.exit_code()), (calls, 1), "{more}");
        // Gates are looked at all the same.
        assert_eq!(report.scenarios[0].repetitions[0].gates.len(), 1);
    }
}

#[tokio::test]
async fn an_endpoint_that_fails_fails_the_turn() {
    for (say, wanted) in [
        (
            Say::Status(401, r#"{"error": {"code": "invalid_api_key", "message": "sk-hidden"}}"#),
            "answered 401 (invalid_api_key)",
        ),
        (Say::Status(400, "no"), "answered 400"),
        (Say::Raw("<html>"), "an unexpected format"),
        (Say::Raw("{\"choices\": []}"), "an unexpected format"),
    ] {
        let server = Server::start([say]).await;
        let report = run(&server, "", FIX).await;
        assert!(failure(&report).contains(wanted), "{}", failure(&report));
        assert_eq!(report.exit_code(), 1);
        assert!(!report.to_json().unwrap().contains("sk-hidden"));
    }
    let report = Stage::new().run(&with_model("http://127.0.0.1:1/v1", "", FIX)).await;
    assert!(failure(&report).contains("cannot be reached"), "{}", failure(&report));
}

#[tokio::test]
async fn the_key_comes_from_the_environment_and_is_never_shown() {
    let server = Server::start([Say::Text("ok")]).await;
    // A variable that every process has serves as a key.
    let path = std::env::var("PATH").unwrap();
    let report = run(&server, ", api_key_env: PATH", "turns: [{content: Go.}]").await;
    assert_eq!((report.exit_code(), server.asked()[0].key.clone()), (0, Some(format!("Bearer {path}"))));
    assert!(!report.to_json().unwrap().contains(&path) && !report.to_html().contains(&path));

    let stage = Stage::new();
    let plan = stage.plan(&with_model(&server.url, ", api_key_env: DORMOUSE_NO_SUCH_KEY", FIX)).unwrap();
    let error = dormouse_scenario::run(&plan, &stage.registry, &Options::default()).await.unwrap_err();
    assert!(error.message().contains("`DORMOUSE_NO_SUCH_KEY` is not set") && error.code().exit_status() == 2);
    assert!(stage.double.diary().is_empty());
    let error = stage.plan(&with_model("https://u:hidden@h/v1", "", FIX)).unwrap_err();
    assert!(
        error.message().contains("a user or a password") && !error.message().contains("hidden"),
        "{error}"
    );
}

#[tokio::test]
async fn a_run_that_is_given_up_does_not_wait_for_the_model() {
    let server = Server::start([Say::Silence]).await;
    let stage = Stage::new();
    let options = Options::default();
    let (cancel, asked) = (options.cancel.clone(), server.clone());
    tokio::spawn(async move {
        wait_until_async("the model is asked", Duration::from_secs(60), || !asked.asked().is_empty()).await;
        cancel.cancel();
    });
    let report = stage.run_with(&with_model(&server.url, "", FIX), &options).await;
    assert_eq!((report.status, stage.double.live()), (Status::Cancelled, 0));
}

#[tokio::test]
async fn a_conversation_lasts_for_a_repetition_and_begins_anew_in_the_next() {
    let server = Server::start([Say::Text("1"), Say::Text("2"), Say::Text("3"), Say::Text("4")]).await;
    let report = run(&server, "", "repetitions: 2\nturns: [{content: One.}, {content: Two.}]").await;
    assert_eq!(report.exit_code(), 0);
    let lengths: Vec<usize> =
        server.asked().iter().map(|asked| asked.body["messages"].as_array().unwrap().len()).collect();
    assert_eq!(lengths, [1, 3, 1, 3]);
}
