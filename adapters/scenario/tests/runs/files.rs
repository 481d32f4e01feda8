//! Files: what is refused, and where the error says it is.

use dormouse_core::ErrorCode;
use dormouse_scenario::{Plan, config};
use dormouse_sources::Registry;

use super::{Stage, arena};

const TURNS: &str = "turns: [{tool_calls: [{tool: Say}]}]";

/// The error of an arena, without the path of its folder.
fn refused(text: &str) -> String {
    let stage = Stage::new();
    let error = stage.plan(text).unwrap_err();
    assert_eq!(error.code().exit_status(), 2, "{error}");
    error.message().replace(&format!("{}/", stage.folder().display()), "")
}

#[test]
fn a_mistake_is_told_with_file_line_and_column() {
    for (text, wanted) in [
        ("spec:\n  servers: []\n".to_owned(), "arena.yaml:2:3: unknown field `servers`"),
        ("spec:\n  scenarios: [\n".to_owned(), "arena.yaml:"),
        ("spec:\n  scenarios: []\n  scenarios: []\n".to_owned(), "arena.yaml:3:3: duplicate mapping key"),
        (arena("forever", TURNS), "arena.yaml:3:7: `forever` is not a scope"),
        (
            arena("run", TURNS).replace("source: double", "source: double\n      url: http://h"),
            "arena.yaml:3:7: mcp server `box` has more than one transport",
        ),
        (arena("run", TURNS).replace("source: double", "x: y"), "arena.yaml:4:7: unknown field `x`"),
        (arena("run", TURNS).replace("      scope: run\n", ""), "`scope`"),
        (arena("run", "turns: [{tool_calls: [{tool: Say, expect: {text: '(a'}}]}]"), "arena.yaml:10:"),
        (arena("run", "turns: [{tool_calls: [{tool: Say, expect: {structured: {a: 1}}}]}]"), "JSON Pointer"),
        (
            arena("run", "turns: [{tool_calls: [{tool: Say, arguments: {a: ['{{scenario.x}}']}}]}]"),
            "arena.yaml:10:31: the scenario has no variable `x`",
        ),
        (arena("run", "turns: [{role: assistant, content: x}]"), "unknown variant `assistant`"),
        (
            arena("run", "turns: [{content: x}]"),
            "arena.yaml:10:17: a turn has no `tool_calls`, and there is no model",
        ),
        (arena("run", "turns: [{}]"), "arena.yaml:10:17: a turn has neither"),
        (arena("run", "turns: []"), "neither turns nor gates"),
        (
            arena("run", &format!("{TURNS}\nrepetitions: 0")),
            "arena.yaml:11:22: `repetitions` is 0: it must be 1 to 1000",
        ),
        (
            arena("run", &format!("{TURNS}\nconversation_assertions: [{{type: nope, params: {{}}}}]")),
            "unknown variant `nope`",
        ),
        (
            arena(
                "run",
                &format!(
                    "{TURNS}\nconversation_assertions: [{{type: tool_exec, params: {{tool: x, timeout_seconds: 0}}}}]"
                ),
            ),
            "`timeout_seconds` is 0",
        ),
        (
            arena(
                "run",
                &format!(
                    "{TURNS}\nconversation_assertions: [{{type: tool_exec, params: {{tool: x, timeout: 1}}}}]"
                ),
            ),
            "unknown field `timeout`",
        ),
        (
            arena(
                "run",
                &format!(
                    "{TURNS}\nconversation_assertions: [{{type: tool_exec, params: {{tool: x, expect: {{exit_code: yes}}}}}}]"
                ),
            ),
            "`exit_code` is a whole number, or `any`",
        ),
        (
            arena("run", TURNS).replace("spec:\n  mcp", "apiVersion: other/v1\nspec:\n  mcp"),
            "arena.yaml:1:13: this version is not known",
        ),
        (format!("kind: Pod\n{}", arena("run", TURNS)), "`Pod` is not a kind of file"),
        (arena("run", TURNS) + "    - file: nosuch.yaml\n", "the file `nosuch.yaml` is not there"),
        (
            arena("run", TURNS) + "    - spec: {id: one, turns: [{tool_calls: [{tool: x}]}]}\n",
            "arena.yaml:11:7: there are two scenarios with the name `one`",
        ),
        (arena("run", TURNS).replace("id: one", "task_type: x"), "a scenario needs an `id`"),
        (
            arena("run", TURNS).replace("spec:\n  mcp", "spec:\n  skills: [nosuch]\n  mcp"),
            "arena.yaml:2:12: `nosuch` is not the folder of a skill",
        ),
        (arena("run", TURNS) + "---\nspec: {}\n", "arena.yaml:"),
        ("spec: {}\n".to_owned(), "there are no scenarios"),
        (String::new(), "arena.yaml"),
        ("a: !!binary x\n\u{7}".to_owned(), "arena.yaml"),
    ] {
        let message = refused(&text);
        assert!(message.contains(wanted), "{text}\n=> {message}");
        assert!(!message.contains('\n') && message.len() < 1_000, "{message}");
    }
}

#[test]
fn an_unknown_source_is_told_with_those_that_there_are() {
    let stage = Stage::new();
    let plan = stage.plan(&arena("run", TURNS).replace("source: double", "source: X")).unwrap();
    let error = plan.check(&stage.registry).unwrap_err();
    let told = "arena.yaml:3:7: mcp server `box`: unknown source \"X\"; registered sources: double";
    assert!(error.message().ends_with(told), "{error}");
    assert_eq!(error.code().exit_status(), 2);
    assert!(plan.check(&Registry::default()).is_err());
    let plan = stage.plan(&arena("run", TURNS).replace("tag: run", "nosuch: 1")).unwrap();
    assert!(plan.check(&stage.registry).unwrap_err().message().contains("`nosuch`"));
    assert_eq!(stage.double.diary().len(), 0);
}

#[test]
fn aliases_repeat_little_and_nothing_is_nested_without_end() {
    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
    for level in 1..12 {
        let before = level - 1;
        bomb.push_str(&format!("a{level}: &a{level} [{}]\n", vec![format!("*a{before}"); 9].join(", ")));
    }
    let args = |text: &str| arena("run", TURNS).replace("{tag: run}", text);
    let inner = bomb.lines().map(|line| format!("\n        {line}")).collect::<String>();
    refused(&bomb);
    refused(&args(&inner));
    refused(&args(&format!("{{tag: {}{}}}", "[".repeat(5_000), "]".repeat(5_000))));
    let deep: String = (0..200).map(|depth| format!("\n{}a:", " ".repeat(8 + depth))).collect();
    refused(&args(&deep));
    refused(&args(&format!("{{tag: [{}]}}", "1,".repeat(100_000))));
    let few = args("{tag: &t run, tools: [Say, *t]}");
    Stage::new().plan(&few).unwrap();
}

#[test]
fn a_file_has_at_most_a_mebibyte() {
    let stage = Stage::new();
    let text = arena("run", TURNS);
    let fill = |size: usize| format!("{text}{}", "#".repeat(size - text.len()));
    stage.plan(&fill(config::MAX_FILE)).unwrap();
    assert_eq!(stage.plan(&fill(config::MAX_FILE + 1)).unwrap_err().code(), ErrorCode::TooLarge);
    let path = stage.folder().join("bytes.yaml");
    std::fs::write(&path, b"spec: \xff\n").unwrap();
    assert!(Plan::load(&[path]).unwrap_err().message().contains("is not UTF-8"));
    assert!(Plan::load(&[stage.folder().to_owned()]).unwrap_err().message().contains("cannot be read"));
    assert!(Plan::load(&[]).unwrap_err().message().contains("none of the files is an arena"));
}

#[test]
fn an_arena_and_its_scenarios_can_be_in_several_files() {
    let stage = Stage::new();
    // As the seed document writes them.
    let scenario = "apiVersion: promptkit.altairalabs.ai/v1alpha1\nkind: Scenario\nmetadata: {name: NAME}\nspec:\n  id: NAME\n  task_type: codegen-agent\n  turns:\n    - role: user\n      content: \"Fix it.\"\n      tool_calls: [{tool: Say}]\n  conversation_assertions:\n    - type: tool_exec\n      params:\n        tool: run_tests\n        message: \"Hidden test suite must pass\"\n";
    stage.file("deep/scenarios/a.scenario.yaml", &scenario.replace("NAME", "a"));
    let apart = stage.file("b.scenario.yaml", &scenario.replace("NAME", "b"));
    let arena = stage.file("deep/arena.yaml", "metadata: {name: all}\nspec:\n  mcp_servers: [{name: s, source: double, scope: session}]\n  scenarios:\n    - file: scenarios/a.scenario.yaml\n");
    let plan = Plan::load(&[apart.clone(), arena.clone()]).unwrap();
    let ids: Vec<&str> = plan.scenarios.iter().map(|scenario| scenario.id.as_str()).collect();
    assert_eq!((plan.name.as_str(), ids), ("all", vec!["a", "b"]));
    assert!(Plan::load(&[arena.clone(), arena]).unwrap_err().message().contains("are both arenas"));
    assert!(Plan::load(&[apart]).unwrap_err().message().contains("none of the files is an arena"));
}

#[test]
fn the_schemas_know_the_fields() {
    let arena = config::arena_schema().to_string();
    let scenario = config::scenario_schema().to_string();
    for field in [
        "mcp_servers",
        "source_args",
        "skills",
        "max_iterations",
        "repetition_seconds",
        "conversation_assertions",
    ] {
        assert!(arena.contains(&format!("\"{field}\"")), "{field}");
    }
    for field in ["tool_exec", "timeout_seconds", "success_pattern", "save_as", "variables", "allowed_tools"]
    {
        assert!(scenario.contains(&format!("\"{field}\"")), "{field}");
    }
    assert!(scenario.contains("\"additionalProperties\":false"));
}
