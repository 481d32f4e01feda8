//! Gates (S0-31 … S0-33).

use dormouse_scenario::{GateRecord, Report, Status};
use serde_json::{Value as Json, json};

use super::{Stage, arena};

async fn gate(params: &str) -> (Report, GateRecord) {
    let stage = Stage::new();
    let scenario = format!(
        "variables: {{word: green}}\nturns: [{{tool_calls: [{{tool: Write, arguments: {{path: add.py, content: a + b}}}}]}}]\nconversation_assertions:\n  - {params}\n"
    );
    let report = stage.run(&arena("session", &scenario)).await;
    assert_eq!(stage.double.live(), 0);
    let gate = report.scenarios[0].repetitions[0].gates[0].clone();
    (report, gate)
}

#[tokio::test]
async fn a_gate_calls_its_tool_in_the_session_of_the_turns() {
    let (report, gate) =
        gate("{type: tool_exec, params: {tool: run_tests, message: Hidden test suite must pass}}").await;
    assert_eq!((report.exit_code(), gate.passed, gate.score), (0, true, 1.0));
    assert_eq!(gate.message.unwrap().text, "Hidden test suite must pass");
    assert_eq!(gate.details.payload, Some(json!({"passed": true, "summary": "1 passed"})));
    let twin: Json = serde_json::from_str(&report.to_json().unwrap()).unwrap();
    let details = &twin["scenarios"][0]["repetitions"][0]["gates"][0]["details"];
    assert_eq!(details["payload"]["passed"], true, "JSON in the report, too");
    assert!(gate.latency_ms >= 0.0 && gate.reason.text.contains("`passed` is true"));
}

#[tokio::test]
async fn a_gate_holds_or_not_by_what_its_tool_answers() {
    for (params, passed, reason) in [
        ("tool: Say, args: {text: fine}", true, "succeeded"),
        (
            "tool: Say, args: {text: 'all {{scenario.word}}'}, success_pattern: '^all green$'",
            true,
            "has `^all green$`",
        ),
        ("tool: Say, args: {text: red}, success_pattern: '^green'", false, "no `^green`"),
        ("tool: Say, args: {text: 2 failed}, failure_pattern: '[1-9]\\d* failed'", false, "is a failure"),
        ("tool: Say, args: {text: 0 failed}, failure_pattern: '[1-9]\\d* failed'", true, "succeeded"),
        ("tool: Fail, args: {text: broken}, success_pattern: broken", false, "says that it failed"),
        ("tool: Say, args: {text: x, structured: {passed: false}}", false, "`passed` is false"),
        ("tool: Say, args: {text: x, structured: {success: false}}", false, "`success` is false"),
        ("tool: Say, args: {text: '{\"ok\": false}'}", false, "`ok` is false"),
        ("tool: Say, args: {text: '{\"ok\": true}'}", true, "`ok` is true"),
        ("tool: Say, args: {text: no, structured: {exit_code: 0}}", true, "exit status 0"),
        (
            "tool: Say, args: {text: 'bash: go: command not found', structured: {exit_code: 127}}",
            false,
            "ended with exit status 127, not 0: bash: go: command not found",
        ),
        ("tool: Say, args: {text: '{\"output\": \"\", \"exit_code\": 1}'}", false, "exit status 1, not 0"),
        ("tool: Say, args: {text: x, structured: {exitCode: 3}}", false, "exit status 3, not 0"),
        ("tool: Say, args: {text: x, structured: {exit_code: null}}", false, "did not end by itself"),
        ("tool: Say, args: {text: x, structured: {exit_code: 0, timed_out: true}}", false, "time limit"),
        (
            "tool: Say, args: {text: x, structured: {exit_code: 1}}, success_pattern: x",
            false,
            "exit status 1, not 0",
        ),
        ("tool: Say, args: {text: x, structured: {exit_code: 3}}, expect: {exit_code: 3}", true, "status 3"),
        (
            "tool: Say, args: {text: x, structured: {exit_code: 1, ok: false}}, expect: {exit_code: 1}",
            true,
            "exit status 1",
        ),
        (
            "tool: Say, args: {text: x, structured: {exit_code: 0}}, expect: {exit_code: 3}",
            false,
            "exit status 0, not 3",
        ),
        ("tool: Say, args: {text: x}, expect: {exit_code: 0}", false, "has no exit status"),
        (
            "tool: Say, args: {text: x, structured: {exit_code: 9}}, expect: {exit_code: any}",
            true,
            "exit status 9",
        ),
        (
            "tool: Say, args: {text: x, structured: {exit_code: 9}}, expect: {exit_code: any}, failure_pattern: x",
            false,
            "is a failure",
        ),
        (
            "tool: Say, args: {text: x, structured: {exit_code: 9, timed_out: true}}, expect: {exit_code: any}",
            false,
            "time limit",
        ),
        ("tool: Break", false, "the connection broke"),
        ("tool: nosuch", false, "tool not found: nosuch"),
        ("tool: strict, args: {n: x}", false, "tool strict validation error (args_invalid)"),
        ("tool: Wait, timeout_seconds: 1", false, "no answer within 1.0 s"),
    ] {
        let (report, gate) = gate(&format!("{{type: tool_exec, params: {{{params}}}}}")).await;
        assert_eq!(
            (gate.passed, report.exit_code()),
            (passed, u8::from(!passed)),
            "{params}: {}",
            gate.reason
        );
        assert!(gate.reason.text.contains(reason), "{params}: {}", gate.reason);
        assert_eq!(gate.score, if passed { 1.0 } else { 0.0 });
    }
}

#[tokio::test]
async fn gates_of_outputs_and_of_calls() {
    for (gate_, passed) in [
        ("{type: output_contains, params: {pattern: written}}", true),
        ("{type: output_contains, params: {pattern: nowhere}}", false),
        ("{type: tools_called, params: {tools: [Write]}}", true),
        ("{type: tools_called, params: {tools: [Write, Read]}}", false),
    ] {
        let (_, gate) = gate(gate_).await;
        assert_eq!(gate.passed, passed, "{gate_}: {}", gate.reason);
    }
}

#[tokio::test]
async fn gates_are_looked_at_after_a_turn_that_failed_and_are_not_bound_by_allowed_tools() {
    let stage = Stage::new();
    let scenario = "allowed_tools: [Fail]\nturns:\n  - tool_calls: [{tool: Fail}]\n  - tool_calls: [{tool: Fail}]\nconversation_assertions:\n  - {type: tool_exec, params: {tool: Say}}\n";
    let report = stage.run(&arena("session", scenario)).await;
    let one = &report.scenarios[0].repetitions[0];
    assert_eq!((one.turns.len(), one.gates.len(), one.gates[0].passed), (1, 1, true));
    assert_eq!((one.status, one.tools.clone()), (Status::Failed, vec!["Fail".to_owned()]));
}
