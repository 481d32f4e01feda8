//! When servers are opened and closed, and what a workspace remembers (S0-06 … S0-15, S0-34 … S0-37).

use dormouse_scenario::{Options, Status};
use serde_json::json;

use super::{Stage, arena, indented};

/// Writes a file in the first repetition that does not see it, and says whether it was there.
const LOOKS: &str = "repetitions: 2
turns:
  - content: Look for the file of an earlier repetition.
    tool_calls:
      - {tool: Read, arguments: {path: kept}, expect: {is_error: IS_ERROR}}
";

fn two_scenarios(scope: &str) -> String {
    let one = |id: &str| {
        format!(
            "    - spec:\n        id: {id}\n        repetitions: 2\n        turns:\n          - tool_calls:\n              - {{tool: Say, arguments: {{text: hello}}}}\n              - {{tool: Write, arguments: {{path: kept, content: x}}}}\n              - {{tool: Read, arguments: {{path: kept}}}}\n"
        )
    };
    let head = format!(
        "spec:\n  mcp_servers:\n    - {{name: box, source: double, scope: {scope}, source_args: {{tag: {scope}}}}}\n  scenarios:\n"
    );
    head + &one("a") + &one("b")
}

#[tokio::test]
async fn each_scope_is_opened_as_often_as_its_boundary_is_crossed() {
    for (scope, times) in [("run", 1), ("scenario", 2), ("session", 4)] {
        let stage = Stage::new();
        let report = stage.run(&two_scenarios(scope)).await;
        assert_eq!(report.status, Status::Passed, "{:?}", report.warnings);
        let opened = stage.double.diary().iter().filter(|line| line.starts_with("open")).count();
        assert_eq!((opened, stage.double.live()), (times, 0), "{scope}");
    }
}

#[tokio::test]
async fn a_workspace_is_fresh_in_a_session_and_kept_in_a_scenario_and_in_a_run() {
    let writes = "    - spec:\n        id: writes\n        turns:\n          - tool_calls: [{tool: Write, arguments: {path: kept, content: x}}]\n";
    // (scope, whether the second repetition has lost what the first wrote, whether the next scenario has)
    for (scope, second, next) in [("session", true, true), ("scenario", false, true), ("run", false, false)] {
        let stage = Stage::new();
        let head = format!(
            "spec:\n  mcp_servers:\n    - {{name: box, source: double, scope: {scope}, source_args: {{tag: {scope}}}}}\n  scenarios:\n"
        );
        let looks = |is_error: bool| {
            indented(&format!("- spec:\n    id: looks\n{}", indented(LOOKS, 4)), 4)
                .replace("IS_ERROR", &is_error.to_string())
        };
        let report = stage.run(&format!("{head}{writes}{}", looks(next))).await;
        assert_eq!(report.exit_code(), 0, "{scope}: what another scenario wrote");

        let within = "repetitions: 2\nturns:\n  - tool_calls:\n      - {tool: Read, arguments: {path: kept}, expect: {is_error: true}}\n      - {tool: Write, arguments: {path: kept, content: x}}\n";
        let stage = Stage::new();
        let report = stage.run(&arena(scope, within)).await;
        let statuses: Vec<Status> = report.scenarios[0].repetitions.iter().map(|one| one.status).collect();
        let wanted = if second { Status::Passed } else { Status::Failed };
        assert_eq!(statuses, [Status::Passed, wanted], "{scope}: what the first repetition wrote");
    }
}

#[tokio::test]
async fn inner_scopes_close_before_outer_ones_and_gates_come_before() {
    let stage = Stage::new();
    let servers: String = ["run", "scenario", "session"]
        .map(|scope| format!("    - {{name: {scope}, source: double, scope: {scope}, source_args: {{tag: {scope}, tools: [Say-{scope}, Fail]}}}}\n"))
        .concat();
    let scenario = "    - spec:\n        id: one\n        repetitions: 2\n        turns:\n          - tool_calls: [{tool: Say-run}, {tool: Say-session}]\n        conversation_assertions:\n          - {type: tool_exec, params: {tool: Say-scenario}}\n";
    let report = stage.run(&format!("spec:\n  mcp_servers:\n{servers}  scenarios:\n{scenario}")).await;
    assert_eq!(report.exit_code(), 0);
    let session =
        ["open session", "Say-run run", "Say-session session", "Say-scenario scenario", "close session"];
    let wanted: Vec<&str> =
        [&["open run", "open scenario"][..], &session, &session, &["close scenario", "close run"]].concat();
    assert_eq!(stage.double.diary(), wanted);
    // `Fail` is in all three, and the last one wins: the report says so.
    assert!(
        report.warnings.iter().any(|warning| warning.text.contains("`run` are overwritten")),
        "{:?}",
        report.warnings
    );
}

#[tokio::test]
async fn what_cannot_be_closed_is_a_warning() {
    for scope in ["run", "scenario", "session"] {
        let stage = Stage::new();
        let text = arena(scope, "repetitions: 2\nturns: [{tool_calls: [{tool: Say}]}]")
            .replace(&format!("tag: {scope}"), "tag: s, fail: close");
        let report = stage.run(&text).await;
        assert_eq!(report.exit_code(), 0, "{scope}");
        let told: Vec<&str> = report.warnings.iter().map(|warning| warning.text.as_str()).collect();
        assert_eq!(told, ["the server `box` could not be closed: it would not go"], "{scope}");
        assert!(report.to_html().contains("would not go"));
    }
    // What was open when another could not be opened.
    let stage = Stage::new();
    let text = arena("session", "turns: [{tool_calls: [{tool: Say}]}]").replace(
        "  scenarios:",
        "    - {name: a, source: double, scope: run, source_args: {tag: a, fail: close}}\n    - {name: b, command: /no/such/program}\n  scenarios:",
    );
    let report = stage.run(&text).await;
    assert_eq!((report.exit_code(), stage.double.live()), (1, 0));
    assert!(report.to_html().contains("would not go"));
}

#[tokio::test]
async fn a_scope_that_opens_in_part_is_taken_down_and_the_third_is_named() {
    for scope in ["run", "scenario", "session"] {
        let stage = Stage::new();
        let servers: String = [("a", ""), ("b", ""), ("third", ", fail: open")]
            .map(|(name, fail)| format!("    - {{name: {name}, source: double, scope: {scope}, source_args: {{tag: {name}{fail}}}}}\n"))
            .concat();
        let scenario = "    - spec:\n        id: one\n        repetitions: 2\n        turns: [{tool_calls: [{tool: Say}]}]\n";
        let report = stage.run(&format!("spec:\n  mcp_servers:\n{servers}  scenarios:\n{scenario}")).await;
        let one = &report.scenarios[0];
        let problem = match scope {
            "run" => report.problem.as_ref(),
            "scenario" => one.problem.as_ref(),
            _ => one.repetitions[1].problem.as_ref(),
        };
        let problem = problem.unwrap();
        assert_eq!(problem.code, "health_timeout", "{scope}");
        assert!(
            problem.message.text.contains("`third`")
                && problem.message.text.contains("health timeout after 20s")
        );
        assert_eq!((stage.double.live(), report.exit_code()), (0, 1), "{scope}");
    }
}

#[tokio::test]
async fn arguments_of_sources_are_filled_in_from_the_scenario() {
    let stage = Stage::new();
    let scenario = "variables: {repo: https://h/foo, branch: 1.10}\nturns: [{tool_calls: [{tool: Say}]}]";
    let text = arena("session", scenario)
        .replace("tag: session", "tag: '{{scenario.repo}}', tools: [Say, 'x-{{scenario.branch}}']");
    let report = stage.run(&text).await;
    assert_eq!(report.exit_code(), 0);
    assert_eq!(
        stage.double.opened_with.lock().unwrap()[0],
        json!({"tag": "https://h/foo", "tools": ["Say", "x-1.10"]})
    );

    let error =
        stage.plan(&text.replace("branch: 1.10", "other: x")).unwrap().check(&stage.registry).unwrap_err();
    assert_eq!(error.code().as_str(), "template_missing_key");
    assert!(error.message().contains("`branch`") && error.message().contains("tools.1"), "{error}");
}

#[tokio::test]
async fn skills_are_mounted_beside_what_the_file_mounts() {
    let stage = Stage::new();
    stage.file("skills/codegen/SKILL.md", "---\nname: codegen\n---\n");
    let own = "mounts: [{source: /srv/data, target: /data, readonly: true}]";
    let text = arena("session", "turns: [{tool_calls: [{tool: Say}]}]")
        .replace("tag: session", &format!("tag: s, {own}"))
        .replace("spec:\n  mcp", "spec:\n  skills: [skills/codegen]\n  mcp");
    stage.run(&text).await;
    let skill = stage.folder().canonicalize().unwrap().join("skills/codegen");
    let wanted = json!([
        {"source": "/srv/data", "target": "/data", "readonly": true},
        {"source": skill.to_str().unwrap(), "target": "/skills/codegen", "readonly": true},
    ]);
    assert_eq!(stage.double.opened_with.lock().unwrap()[0]["mounts"], wanted);
}

#[tokio::test]
async fn repetitions_at_the_same_time_each_have_a_session_of_their_own() {
    let stage = Stage::new();
    let scenario = "repetitions: 8\nturns:\n  - tool_calls:\n      - {tool: Read, arguments: {path: f}, expect: {is_error: true}}\n      - {tool: Write, arguments: {path: f, content: x}}\n      - {tool: Read, arguments: {path: f}}\n";
    let options = Options { concurrency: 4, ..Options::default() };
    let report = stage.run_with(&arena("session", scenario), &options).await;
    assert_eq!((report.exit_code(), report.totals.passed, stage.double.live()), (0, 8, 0));
    let numbers: Vec<u32> = report.scenarios[0].repetitions.iter().map(|one| one.number).collect();
    assert_eq!(numbers, [1, 2, 3, 4, 5, 6, 7, 8]);
}

#[tokio::test]
async fn a_failure_stops_the_rest_only_where_that_is_asked() {
    let stage = Stage::new();
    let scenario = "repetitions: 3\nturns: [{tool_calls: [{tool: Fail}]}]";
    let report = stage.run(&arena("session", scenario)).await;
    assert_eq!((report.totals.failed, report.totals.unfinished), (3, 0));
    let options = Options { fail_fast: true, ..Options::default() };
    let report = stage.run_with(&arena("session", scenario), &options).await;
    assert_eq!((report.totals.failed, report.totals.unfinished, report.exit_code()), (1, 2, 1));
}
