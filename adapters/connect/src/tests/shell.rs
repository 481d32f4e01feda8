//! The program `tool`.

use dormouse_core::sandbox::{Machine, SandboxSpec};
use dormouse_core::testing::FakeProvider;
use dormouse_core::{Connections as _, GuestPath, ProgramCall, ProgramEnd, Provider as _};
use dormouse_sources::ToolAnswer;
use serde_json::json;

use super::double::{Does, Double, allowing, caller, listed, text};
use crate::Connectors;

fn github() -> Connectors {
    let schema = json!({"type": "object", "required": ["repo"], "properties": {
        "repo": {"type": "string", "description": "OWNER/NAME"},
        "state": {"enum": ["open", "closed"], "default": "open"},
        "labels": {"type": "array", "items": {"type": "string"}},
        "draft": {"type": "boolean"},
    }});
    let tools = vec![
        listed("list-issues", "Lists issues.", schema),
        listed("picture", "A picture.", json!({"type": "object"})),
        listed("hello", "", json!({"type": "object"})),
    ];
    let double = Double::new(tools, |call| match call.tool.as_str() {
        "picture" => {
            let picture = json!({"type": "image", "data": "aGV5", "mimeType": "image/png"});
            Does::Answers(ToolAnswer { content: vec![picture], ..ToolAnswer::default() })
        }
        "hello" => Does::Answers(text("hello")),
        _ => Does::Answers(ToolAnswer {
            structured: Some(json!({"got": call.arguments})),
            ..ToolAnswer::default()
        }),
    });
    allowing(vec![double.connection("git-hub")])
}

async fn machine() -> Box<dyn Machine> {
    FakeProvider::default().machine(&SandboxSpec::default(), None).await.unwrap()
}

async fn run(machine: &mut dyn Machine, words: &[&str], input: &str) -> ProgramEnd {
    let arguments = words.iter().map(|word| (*word).to_owned()).collect();
    let call = ProgramCall { name: "tool".into(), arguments, input: input.into(), ..ProgramCall::default() };
    github().programs(&caller("o")).run(&call, machine.files()).await.unwrap()
}

async fn said(words: &[&str]) -> (u8, String, String) {
    let ended = run(machine().await.as_mut(), words, "from input\n").await;
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (ended.status, text(ended.output), text(ended.errors))
}

#[tokio::test]
async fn a_command_line_lists_and_calls_tools() {
    assert_eq!(said(&[]).await.1, "git_hub\n");
    let (_, tools, _) = said(&["git_hub"]).await;
    assert!(
        tools.starts_with("tool git_hub list_issues --repo TEXT [--state open|closed] [--labels TEXT...] [--draft]\n    Lists issues.\n"),
        "{tools}"
    );
    let words = ["git-hub", "list-issues", "--repo", "-", "--labels", "a", "--labels", "b", "--draft"];
    let (status, output, errors) = said(&words).await;
    assert_eq!(
        (status, output.as_str(), errors.as_str()),
        (0, "{\"got\":{\"repo\":\"from input\",\"labels\":[\"a\",\"b\"],\"draft\":true}}\n", "")
    );
    assert_eq!(said(&["git_hub", "hello"]).await.1, "\"hello\"\n");
    assert_eq!(said(&["git_hub", "hello", "-r"]).await.1, "hello\n");
    assert!(said(&["search", "issues"]).await.1.starts_with("tool git_hub list_issues"));
    assert!(said(&["--help"]).await.1.starts_with("usage: tool"));
    let (_, help, _) = said(&["git_hub", "list_issues", "--help"]).await;
    for part in ["Lists issues.", "--repo TEXT\n      OWNER/NAME (required)", "(default \"open\")"] {
        assert!(help.contains(part), "{help}");
    }
}

#[tokio::test]
async fn files_of_an_answer_are_put_into_the_sandbox() {
    let mut machine = machine().await;
    let ended = run(machine.as_mut(), &["git_hub", "picture"], "").await;
    let value: serde_json::Value = serde_json::from_slice(&ended.output).unwrap();
    let path = GuestPath::parse(value["file"].as_str().unwrap()).unwrap();
    assert_eq!(machine.files().read(&path, 0, 99).await.unwrap().bytes, b"hey");
}

#[tokio::test]
async fn failures_are_told_on_the_standard_error() {
    for (words, status, wanted) in [
        (&["github", "x"][..], 1, "the servers are `git_hub`"),
        (&["git_hub", "list_issue"], 1, "`list_issues`"),
        (&["git_hub", "list_issues"], 1, "\"repo\" is a required property"),
        (&["git_hub", "list_issues", "--repos", "x"], 2, "there are `--repo`"),
        (&["git_hub", "list_issues", "x"], 2, "--help"),
    ] {
        let (ended, output, errors) = said(words).await;
        assert!(ended == status && output.is_empty() && errors.contains(wanted), "{ended} {output} {errors}");
    }
    let call = ProgramCall { name: "tools".into(), ..ProgramCall::default() };
    let programs = github().programs(&caller("o"));
    assert!(programs.run(&call, machine().await.files()).await.is_none());
}
