//! Why something failed is told while the run is under way, and in JUnit's report: tool, message, file and line.

use std::sync::{Arc, Mutex};

use dormouse_scenario::{Event, Observer, Options, Problem, Report};

use super::{Stage, arena};

/// Keeps what a console would show of failures.
#[derive(Default)]
struct Hears(Mutex<Vec<String>>);

impl Observer for Hears {
    fn event(&self, event: Event<'_>) {
        let told = match event {
            Event::NotOpened { scenario, repetition, error } => {
                Some(format!("{scenario:?} {repetition:?} {}", Problem::from(error).line()))
            }
            Event::TurnFinished { turn, .. } => turn.line(),
            Event::GateFinished { gate, .. } => Some(gate.line()),
            _ => None,
        };
        self.0.lock().unwrap().extend(told);
    }
}

/// The report, and what was told, without the path of the folder.
async fn heard(arena: &str) -> (Report, Vec<String>) {
    let (stage, hears) = (Stage::new(), Arc::new(Hears::default()));
    let options = Options { observer: hears.clone(), ..Options::default() };
    let report = stage.run_with(arena, &options).await;
    let folder = format!("{}/", stage.folder().display());
    let told = hears.0.lock().unwrap().iter().map(|line| line.replace(&folder, "")).collect();
    (report, told)
}

#[tokio::test]
async fn a_gate_and_a_turn_that_fail_are_told_with_their_place() {
    let scenario = "turns:\n  - content: x\n    tool_calls:\n      - {tool: Fail, arguments: {text: no luck}}\nconversation_assertions:\n  - {type: tool_exec, params: {tool: Say, message: it builds, args: {text: 'sh: go', structured: {exit_code: 127}}}}\n  - {type: tool_exec, params: {tool: Say}}\n";
    let (report, told) = heard(&arena("session", scenario)).await;
    assert_eq!(
        told,
        [
            "turn 1 FAILED: `Fail`: expected success of the tool, got a failure: no luck (arena.yaml:13:17)",
            "gate tool_exec Say FAILS: it builds: the command ended with exit status 127, not 0: sh: go (arena.yaml:15:13)",
            "gate tool_exec Say holds",
        ]
    );
    let junit = report.to_junit().unwrap();
    for wanted in [
        "failures=\"1\"",
        "testsuite name=\"one\"",
        "testcase name=\"repetition 1\"",
        "classname=\"one\"",
        "no luck (",
        "it builds: the command ended with exit status 127, not 0: sh: go (",
        "arena.yaml:15:13)",
    ] {
        assert!(junit.contains(wanted), "{wanted}: {junit}");
    }
}

/// What a call's error leaves to its hint is told too: which argument is wrong, and which tools there are.
#[tokio::test]
async fn why_a_call_was_refused_is_told_with_the_tools_that_there_are() {
    let tools = "the tools are `Break`, `Fail`, `Read`, `Say`, `Wait`, `Write`, `run_tests`, `strict`";
    let unknown = format!("tool not found: nosuch; {tools}");
    let unfit = "tool strict validation error (args_invalid); \"n\" is a required property".to_owned();
    for (tool, why) in [("strict", unfit), ("nosuch", unknown)] {
        let text = format!(
            "turns: [{{tool_calls: [{{tool: {tool}}}]}}]\nconversation_assertions: [{{type: tool_exec, params: {{tool: {tool}}}}}]\n"
        );
        let (report, told) = heard(&arena("session", &text)).await;
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(told.iter().all(|line| line.contains(&format!("{why} (arena.yaml:"))), "{told:?}");
        let junit = report.to_junit().unwrap().replace("&quot;", "\"");
        assert!(junit.contains(&why), "{junit}");
    }
}

#[tokio::test]
async fn a_server_that_cannot_be_opened_is_told_in_every_scope() {
    for (scope, whose) in
        [("run", "None None"), ("scenario", "Some(\"one\") None"), ("session", "Some(\"one\") Some(1)")]
    {
        let text = arena(scope, "turns: [{tool_calls: [{tool: Say}]}]")
            .replace(&format!("tag: {scope}"), "tag: x, fail: open");
        let (report, told) = heard(&text).await;
        let wanted = format!(
            "{whose} arena.yaml:3:7: mcp server `box`: container not healthy: health timeout after 20s [health_timeout]"
        );
        assert_eq!(told, [wanted]);
        let junit = report.to_junit().unwrap();
        assert!(junit.contains("errors=\"1\"") && junit.contains("type=\"health_timeout\""), "{junit}");
    }
}

#[tokio::test]
async fn servers_that_are_not_open_in_time_are_named_with_their_places() {
    for (scope, whose) in
        [("run", "None None"), ("scenario", "Some(\"one\") None"), ("session", "Some(\"one\") Some(1)")]
    {
        let server = |name: &str, fail: &str| {
            format!(
                "    - {{name: {name}, source: double, scope: {scope}, source_args: {{tag: x, fail: {fail}}}}}\n"
            )
        };
        let more = [server("good", "''"), server("other", "hang")].concat();
        let text = arena(scope, "turns: [{tool_calls: [{tool: Say}]}]")
            .replace(&format!("tag: {scope}"), "tag: x, fail: hang")
            .replace(
                "spec:\n  mcp_servers:",
                "spec:\n  defaults: {timeouts: {open_seconds: 1}}\n  mcp_servers:",
            )
            .replace("  scenarios:", &format!("{more}  scenarios:"));
        let (report, told) = heard(&text).await;
        let wanted = format!(
            "{whose} arena.yaml:4:7: mcp server `box`: it was not open after 1 s; nor was `other` (arena.yaml:9:7) [limit_time]; raise `timeouts.open_seconds`"
        );
        assert_eq!(told, [wanted]);
        assert_eq!(report.exit_code(), 1);
    }
}
