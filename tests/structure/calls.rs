//! docs/reference/*.md: a call of every tool and its answer, as the real binary gives it. `BLESS=1`
//! writes them.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use dormouse_tests::wire::Wire;
use regex::Regex;
use serde_json::{Value as Json, json};

use super::{read, root};

/// Before what is written, and after it; the first says by which file.
const MARKS: [&str; 2] = ["<!-- written by tests/structure/", "<!-- end -->\n"];
/// Columns of a block.
const WIDTH: usize = 100;
/// Bytes of a text that are shown.
const LONGEST: usize = 400;
/// Of the capabilities, what is the same on every machine.
const CAPABILITIES: [&str; 4] = ["languages", "defaults", "ceilings", "error"];
/// The tools of the profile `sandbox` as the two pages have them.
const CALLS: [(&str, &[&str]); 3] = [
    (
        "Running and looking",
        &[
            "sandbox_capabilities",
            "sandbox_eval",
            "sandbox_exec",
            "sandbox_job",
            "sandbox_run",
            "sandbox_install",
            "sandbox_vars",
            "sandbox_get_var",
            "sandbox_load",
            "sandbox_sub_agent",
        ],
    ),
    ("Checks", &["run_tests", "run_lint", "run_typecheck"]),
    (
        "The life of a sandbox",
        &[
            "sandbox_create",
            "sandbox_get",
            "sandbox_list",
            "sandbox_stop",
            "sandbox_resume",
            "sandbox_reset",
            "sandbox_destroy",
        ],
    ),
];
const FILES: [(&str, &[&str]); 2] = [
    (
        "Files",
        &[
            "sandbox_write",
            "sandbox_read",
            "sandbox_edit",
            "sandbox_files",
            "sandbox_make_folder",
            "sandbox_rename_file",
            "sandbox_remove_file",
            "sandbox_upload",
            "sandbox_download",
        ],
    ),
    (
        "Checkpoints, steps and forks",
        &[
            "sandbox_checkpoint",
            "sandbox_list_checkpoints",
            "sandbox_describe_checkpoint",
            "sandbox_restore",
            "sandbox_remove_checkpoint",
            "sandbox_history",
            "sandbox_fork",
        ],
    ),
];

/// A conversation with a server of one profile. Of several calls of one tool the first is shown; `CHECKPOINT` is the id of the
/// checkpoint that was made last, `HOST` a folder of the host that tools may read.
type Script = Vec<(&'static str, Json)>;

fn sandbox() -> Script {
    vec![
        ("sandbox_capabilities", json!({})),
        ("sandbox_eval", json!({"code": "print('adding')\nsum([3, 1, 4])"})),
        ("sandbox_create", json!({"name": "work"})),
        ("sandbox_get", json!({"sandbox": "work"})),
        ("sandbox_list", json!({})),
        ("sandbox_exec", json!({"sandbox": "work", "command": "seq 3 | tee numbers.txt | wc -l"})),
        ("sandbox_exec", json!({"sandbox": "work", "command": "echo done", "background": true})),
        ("sandbox_job", json!({"sandbox": "work", "action": "wait", "job": "JOB"})),
        (
            "sandbox_eval",
            json!({"sandbox": "work", "code": "import asyncio\nawait asyncio.sleep(0.1)\n6 * 7", "background": true}),
        ),
        ("sandbox_run", json!({"run": "RUN", "action": "wait"})),
        ("sandbox_install", json!({"sandbox": "work", "packages": ["attrs"]})),
        ("sandbox_eval", json!({"sandbox": "work", "code": "prices = {'tea': 3, 'coffee': 4}"})),
        ("sandbox_vars", json!({"sandbox": "work"})),
        ("sandbox_get_var", json!({"sandbox": "work", "name": "prices"})),
        ("sandbox_load", json!({"sandbox": "work", "path": "HOST/names.txt", "var": "names"})),
        ("sandbox_write", json!({"sandbox": "work", "path": "/workspace/notes.txt", "content": "buy tea\n"})),
        (
            "sandbox_edit",
            json!({"sandbox": "work", "path": "/workspace/notes.txt", "old": "tea", "new": "coffee"}),
        ),
        ("sandbox_read", json!({"sandbox": "work", "path": "/workspace/notes.txt"})),
        ("sandbox_files", json!({"sandbox": "work"})),
        ("sandbox_make_folder", json!({"sandbox": "work", "path": "/workspace/old"})),
        (
            "sandbox_rename_file",
            json!({"sandbox": "work", "path": "/workspace/notes.txt", "to": "/workspace/old/notes.txt"}),
        ),
        (
            "sandbox_upload",
            json!({"sandbox": "work", "path": "/workspace/hello.txt", "content_base64": "aGVsbG8K"}),
        ),
        ("sandbox_download", json!({"sandbox": "work", "path": "/workspace/hello.txt"})),
        ("sandbox_remove_file", json!({"sandbox": "work", "path": "/workspace/hello.txt"})),
        ("sandbox_checkpoint", json!({"sandbox": "work", "name": "before"})),
        (
            "sandbox_describe_checkpoint",
            json!({"sandbox": "work", "checkpoint_id": "CHECKPOINT", "note": "before the sale"}),
        ),
        ("sandbox_list_checkpoints", json!({"sandbox": "work"})),
        ("sandbox_eval", json!({"sandbox": "work", "code": "prices.clear()"})),
        ("sandbox_history", json!({"sandbox": "work"})),
        ("sandbox_fork", json!({"sandbox": "work", "count": 2})),
        ("sandbox_restore", json!({"sandbox": "work", "checkpoint_id": "CHECKPOINT"})),
        ("sandbox_remove_checkpoint", json!({"sandbox": "work", "checkpoint_id": "CHECKPOINT"})),
        (
            "sandbox_write",
            json!({"sandbox": "work", "path": "/workspace/app/double.py", "content": "def double(n):\n    return n + n + 1\n"}),
        ),
        (
            "sandbox_write",
            json!({"sandbox": "work", "path": "/workspace/app/test_double.py", "content": "from double import double\n\n\ndef test_double():\n    assert double(2) == 4\n"}),
        ),
        ("run_tests", json!({"sandbox": "work", "path": "/workspace/app"})),
        ("run_lint", json!({"sandbox": "work", "path": "/workspace/app"})),
        ("run_typecheck", json!({"sandbox": "work", "path": "/workspace/app"})),
        (
            "sandbox_sub_agent",
            json!({"sandbox": "work", "signature": "question: str -> answer: str", "inputs": {"question": "How much is tea?"}}),
        ),
        ("sandbox_stop", json!({"sandbox": "work"})),
        ("sandbox_resume", json!({"sandbox": "work"})),
        ("sandbox_reset", json!({"sandbox": "work"})),
        ("sandbox_destroy", json!({"sandbox": "work"})),
    ]
}

fn eval() -> Script {
    vec![("framework__eval", json!({"snippet": "array_sum([1, 2, 3])"}))]
}

fn sprites() -> Script {
    vec![
        ("sprite_create", json!({"name": "box"})),
        ("sprite_exec", json!({"name": "box", "command": "echo hello > greeting.txt; ls"})),
        ("sprite_checkpoint", json!({"name": "box", "checkpointName": "before"})),
        ("sandbox_list_checkpoints", json!({"name": "box"})),
        ("sprite_restore", json!({"name": "box", "checkpointId": "before"})),
        ("sprite_list", json!({})),
        ("sprite_shutdown", json!({"name": "box"})),
        ("sprite_wake", json!({"name": "box"})),
        ("sandbox_remove_checkpoint", json!({"name": "box", "checkpointId": "before"})),
        ("sandbox_destroy", json!({"name": "box"})),
    ]
}

fn rlm() -> Script {
    vec![
        ("rlm_exec", json!({"code": "squares = [n * n for n in range(5)]\nsum(squares)"})),
        ("rlm_vars", json!({})),
        ("rlm_get", json!({"name": "squares"})),
        ("rlm_load", json!({"path": "HOST/names.txt", "var": "names"})),
        ("rlm_sub_agent", json!({"signature": "names: str -> count: int", "inputs": {}})),
        ("rlm_usage", json!({})),
        ("rlm_reset", json!({})),
    ]
}

fn codegen() -> Script {
    vec![
        (
            "Edit",
            json!({"file_path": "/workspace/double.py", "old_string": "", "new_string": "def double(n):\n    return n + n\n"}),
        ),
        (
            "Edit",
            json!({"file_path": "/workspace/test_double.py", "old_string": "", "new_string": "from double import double\n\n\ndef test_double():\n    assert double(2) == 4\n"}),
        ),
        ("Read", json!({"file_path": "/workspace/double.py"})),
        ("Bash", json!({"command": "wc -l *.py"})),
        ("run_tests", json!({})),
        ("run_lint", json!({})),
        ("run_typecheck", json!({})),
    ]
}

/// What differs from run to run, or with the time that has gone by, is replaced by what does not.
fn steady(value: &mut Json) {
    match value {
        Json::Object(fields) => {
            let is_checkpoint =
                fields.get("id").and_then(Json::as_str).is_some_and(|id| id.starts_with("ckpt-"));
            for (key, value) in fields.iter_mut() {
                match key.as_str() {
                    "size_bytes" | "sizeBytes" if !is_checkpoint => {}
                    "status" if value == "warm" => *value = json!("running"),
                    "duration_ms" => *value = json!(1.5),
                    "durationMs" => *value = json!(2),
                    "memory_peak_bytes" => *value = json!(45_000_000),
                    "size_bytes" | "sizeBytes" => *value = json!(500_000),
                    _ => steady(value),
                }
            }
        }
        Json::Array(items) => items.iter_mut().for_each(steady),
        _ => {}
    }
}

/// The same for names and times within a text.
struct Names {
    ids: Regex,
    times: Regex,
    durations: Regex,
    seen: Vec<String>,
    host: String,
}

impl Names {
    fn of(host: &Path) -> Self {
        let regex = |text| Regex::new(text).expect("a pattern");
        Self {
            ids: regex(r"\b(sb|sprite|ckpt|job|run|fork|step)-([a-z0-9]{8,26})\b"),
            times: regex(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"),
            durations: regex(r"\b\d+(\.\d+)? ?(ms|s)\b"),
            seen: Vec::new(),
            host: host.to_str().expect("a path that is text").to_owned(),
        }
    }

    fn replaced(&mut self, text: &str) -> String {
        let text = text.replace(&self.host, "/home/ada/shop");
        let text = self.times.replace_all(&text, "2026-01-31T12:00:00.000Z").into_owned();
        let seen = &mut self.seen;
        let ids = self.ids.replace_all(&text, |found: &regex::Captures<'_>| {
            // A fork's name is the beginning of its id; steps are numbers that differ at their ends.
            let head = if &found[1] == "step" { found[2].to_owned() } else { found[2][..8].to_owned() };
            let at = seen.iter().position(|known| *known == head).unwrap_or_else(|| {
                seen.push(head);
                seen.len() - 1
            });
            format!("{}-EXAMPLE{}", &found[1], at + 1)
        });
        ids.into_owned()
    }
}

/// An object with its fields one after another, in lines of some length.
fn wrapped(value: &Json) -> String {
    let Some(fields) = value.as_object().filter(|_| value.to_string().len() > WIDTH) else {
        return spaced(value);
    };
    let mut text = String::from("{");
    let mut column = WIDTH;
    for (number, (key, value)) in fields.iter().enumerate() {
        let comma = if number + 1 < fields.len() { "," } else { "" };
        let told = match value {
            Json::Array(items) if spaced(value).len() > WIDTH => {
                let items: Vec<String> = items.iter().map(|item| format!("\n    {}", spaced(item))).collect();
                format!("[{}\n  ]", items.join(","))
            }
            value => spaced(value),
        };
        let part = format!("{}: {told}{comma}", Json::from(key.as_str()));
        if column + 1 + part.len() > WIDTH {
            text.push_str("\n  ");
            column = 2;
        } else {
            text.push(' ');
            column += 1;
        }
        text.push_str(&part);
        column += part.len();
    }
    text.push_str("\n}");
    text
}

/// JSON in one line, with spaces where people put them.
fn spaced(value: &Json) -> String {
    match value {
        Json::Array(items) => format!("[{}]", items.iter().map(spaced).collect::<Vec<_>>().join(", ")),
        Json::Object(fields) if fields.is_empty() => "{}".into(),
        Json::Object(fields) => {
            let parts =
                fields.iter().map(|(key, value)| format!("{}: {}", Json::from(key.as_str()), spaced(value)));
            format!("{{ {} }}", parts.collect::<Vec<_>>().join(", "))
        }
        Json::String(text) if text.len() > LONGEST => {
            Json::from(format!("{}…", text.chars().take(LONGEST).collect::<String>())).to_string()
        }
        other => other.to_string(),
    }
}

/// Has the conversation, and writes down the first call of each tool.
fn written(profile: &str, script: &Script, texts: bool) -> Vec<(&'static str, String)> {
    let (state, host) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::write(host.path().join("names.txt"), "ada\ngrace\n").unwrap();
    let (state, folder) = (state.path().to_str().unwrap(), host.path().to_str().unwrap());
    let mut wire =
        Wire::greeted(&["--profile", profile, "--state-dir", state, "--tools", "all", "--root", folder]);
    let listed = wire.ask(1, "tools/list", json!({}));
    let listed = listed["result"]["tools"].as_array().expect("tools").iter();
    let there: BTreeSet<&str> = listed.map(|tool| tool["name"].as_str().expect("a name")).collect();
    let called: BTreeSet<&str> = script.iter().map(|(tool, _)| *tool).collect();
    assert_eq!(called, there, "the script of `{profile}` calls every tool");
    let mut names = Names::of(host.path());
    let mut shown: Vec<(&'static str, String)> = Vec::new();
    let (mut checkpoint, mut job, mut run) = (String::new(), String::new(), String::new());
    for (number, (tool, arguments)) in (2..).zip(script) {
        let asked = arguments
            .to_string()
            .replace("CHECKPOINT", &checkpoint)
            .replace("JOB", &job)
            .replace("RUN", &run)
            .replace("HOST", folder);
        let asked: Json = serde_json::from_str(&asked).expect("JSON");
        let result = wire.call(number, tool, asked.clone());
        let mut answer = result["structuredContent"].clone();
        if *tool == "sandbox_checkpoint" {
            checkpoint = ["checkpoint_id", "id"]
                .iter()
                .find_map(|field| answer[field].as_str())
                .expect("the checkpoint's id")
                .to_owned();
        }
        if let Some(id) = answer["job_id"].as_str() {
            job = id.to_owned();
        }
        if let Some(id) = answer["run_id"].as_str() {
            run = id.to_owned();
        }
        if shown.iter().any(|(known, _)| known == tool) {
            assert_ne!(result["isError"], true, "{tool} {asked}: {answer}");
            continue;
        }
        if *tool == "sandbox_capabilities" {
            answer.as_object_mut().unwrap().retain(|key, _| CAPABILITIES.contains(&key.as_str()));
        }
        steady(&mut answer);
        let said = result["content"][0]["text"].as_str().unwrap_or_default();
        let is_json = serde_json::from_str::<Json>(said).is_ok_and(|said| !said.is_string());
        let (language, told) = if texts && !is_json {
            ("text", names.durations.replace_all(said, "1.5 ms").into_owned())
        } else {
            ("json", wrapped(&answer))
        };
        let call = names.replaced(&wrapped(&asked));
        let told = names.replaced(told.trim_end());
        let note = match (result["isError"] == true, *tool) {
            (true, "run_tests" | "run_lint") => "\nAn error, because the check did not pass:\n\n",
            (true, _) => "\nRefused here; the answer says what would allow it:\n\n",
            (false, "sandbox_capabilities") => "\nAmong other things:\n\n",
            (false, _) => "",
        };
        shown.push((
            tool,
            format!("\n### `{tool}`\n\n```json\n{call}\n```\n{note}```{language}\n{told}\n```\n"),
        ));
    }
    shown
}

/// The tools of one heading after another.
fn grouped(groups: &[(&str, &[&str])], all: &[(&'static str, String)]) -> String {
    let mut text = String::new();
    for (title, tools) in groups {
        text.push_str(&format!("\n## {title}\n"));
        for tool in *tools {
            let (_, part) =
                all.iter().find(|(name, _)| name == tool).unwrap_or_else(|| panic!("no tool `{tool}`"));
            text.push_str(part);
        }
    }
    text
}

/// All tools of a profile below one heading.
fn together(title: &str, profile: &str, script: &Script, texts: bool) -> String {
    let all = written(profile, script, texts);
    let tools: Vec<&str> = all.iter().map(|(tool, _)| *tool).collect();
    grouped(&[(title, &tools)], &all)
}

/// Compares a page with what it must be, or writes it.
pub(super) fn hold(page: &str, written: &str) {
    let path = root().join("docs/reference").join(page);
    let text = read(&path);
    let begins = text.find(MARKS[0]).expect("the written part begins");
    let begins = begins + text[begins..].find('\n').expect("a line ends") + 1;
    let (_, tail) = text[begins..].split_once(MARKS[1]).expect("the written part ends");
    let whole = format!("{}{written}\n{}{tail}", &text[..begins], MARKS[1]);
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, &whole).unwrap();
    }
    assert_eq!(read(&path), whole, "write it with BLESS=1");
}

#[test]
fn every_tool_has_a_call_and_its_answer() {
    let all = written("sandbox", &sandbox(), false);
    let listed: Vec<&str> = CALLS.iter().chain(&FILES).flat_map(|(_, tools)| tools.iter().copied()).collect();
    for (tool, _) in &all {
        assert!(listed.contains(tool), "`{tool}` stands below no heading");
    }
    hold("calls.md", &grouped(&CALLS, &all));
    hold("calls-files.md", &grouped(&FILES, &all));
}

#[test]
fn every_tool_of_the_other_profiles_has_a_call_and_its_answer() {
    let parts = [
        together("`eval`: PHP in the operator's project", "eval", &eval(), false),
        together("`sprites`: named sandboxes", "sprites", &sprites(), true),
        together("`rlm`: a Python session that lasts", "rlm", &rlm(), true),
        together("`codegen`: an agent that writes code", "codegen", &codegen(), true),
    ];
    hold("profiles.md", &parts.concat());
}
