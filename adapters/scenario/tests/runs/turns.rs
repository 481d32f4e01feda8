//! Scripted turns: expectations, what is kept, allowed tools (S0-19, S0-40).

use dormouse_scenario::Status;

use super::{Stage, arena};

async fn failure(calls: &str) -> Option<String> {
    let stage = Stage::new();
    let report = stage
        .run(&arena("session", &format!("variables: {{a: b}}\nturns: [{{tool_calls: [{calls}]}}]")))
        .await;
    let turn = &report.scenarios[0].repetitions[0].turns[0];
    assert_eq!(turn.failure.is_none(), report.exit_code() == 0);
    turn.failure.as_ref().map(|text| text.text.clone())
}

#[tokio::test]
async fn a_call_must_come_to_what_is_expected() {
    for (calls, wanted) in [
        ("{tool: Say}", None),
        ("{tool: Fail}", Some("expected success of the tool, got a failure")),
        ("{tool: Fail, expect: {is_error: true}}", None),
        ("{tool: Say, expect: {is_error: true}}", Some("expected a failure")),
        ("{tool: Say, arguments: {text: 'x{{scenario.a}}'}, expect: {text: ^xb$}}", None),
        ("{tool: Say, arguments: {text: x}, expect: {text: ^xb$}}", Some("the text has no `^xb$`")),
        (
            "{tool: run_tests, expect: {is_error: true, structured: {/passed: false, /summary: 1 failed}}}",
            None,
        ),
        (
            "{tool: run_tests, expect: {is_error: true, structured: {/passed: true}}}",
            Some("has false at `/passed`, expected true"),
        ),
        ("{tool: Say, expect: {structured: {/x: 1}}}", Some("nothing at `/x`")),
        ("{tool: nosuch}", Some("tool not found: nosuch")),
        ("{tool: nosuch, expect: {error: not_found}}", None),
        (
            "{tool: Break, expect: {error: not_found}}",
            Some("expected the error `not_found`, got `provider_unavailable`"),
        ),
        ("{tool: Say, expect: {error: not_found}}", Some("got an answer")),
        ("{tool: strict, arguments: {}}", Some("tool strict validation error (args_invalid)")),
    ] {
        let failure = failure(calls).await;
        match wanted {
            None => assert_eq!(failure, None, "{calls}"),
            Some(wanted) => {
                assert!(failure.as_ref().is_some_and(|text| text.contains(wanted)), "{calls}: {failure:?}")
            }
        }
    }
}

#[tokio::test]
async fn an_answer_can_be_kept_for_later_calls() {
    let kept = "{tool: Say, arguments: {text: abc, structured: {id: [7]}}, save_as: t}, {tool: Say, arguments: {structured: {id: [7]}}, save_as: n, save_from: /id/0}, {tool: Say, arguments: {text: '{{scenario.t}}-{{scenario.n}}'}, expect: {text: ^abc-7$}}";
    assert_eq!(failure(kept).await, None);
    let missing = "{tool: Say, save_as: n, save_from: /id}";
    assert!(failure(missing).await.unwrap().contains("nothing to keep at `/id`"));
}

#[tokio::test]
async fn only_allowed_tools_can_be_called() {
    let stage = Stage::new();
    let scenario = "allowed_tools: [Read, nosuch]\nturns: [{tool_calls: [{tool: Say}]}]";
    let report = stage.run(&arena("session", scenario)).await;
    let one = &report.scenarios[0].repetitions[0];
    assert!(one.turns[0].failure.as_ref().unwrap().text.contains("tool not found: Say"));
    assert_eq!((one.status, one.tools.clone()), (Status::Failed, vec!["Read".to_owned()]));
    assert!(report.warnings.iter().any(|warning| warning.text.contains("`nosuch`")));
    assert!(!stage.double.diary().contains(&"Say session".to_owned()));
}

#[tokio::test]
async fn a_call_that_takes_too_long_ends_with_its_name() {
    let stage = Stage::new();
    let text = arena("session", "turns: [{tool_calls: [{tool: Wait}]}]")
        .replace("spec:\n  mcp", "spec:\n  defaults: {timeouts: {call_seconds: 1}}\n  mcp");
    let report = stage.run(&text).await;
    let turn = &report.scenarios[0].repetitions[0].turns[0];
    assert!(turn.failure.as_ref().unwrap().text.contains("`Wait` gave no answer within 1.0 s"));
    assert_eq!(turn.calls().next().unwrap().problem.as_ref().unwrap().code, "limit_time");
    assert_eq!(stage.double.diary(), ["open session", "Wait session", "given up session", "close session"]);
}
