//! One life of a sandbox through every front door: the tools in process, MCP over standard input and output, MCP over HTTP,
//! REST, and the command line. The answers are the same, but for ids, times and what is in memory just now.

use std::fs;
use std::path::Path;

use dormouse::{Dormouse, Policy};
use dormouse_tests::served::Served;
use dormouse_tests::wire::Wire;
use dormouse_tests::{binary, sandbox};
use dormouse_tools::{CallContext, Surface, Toolset};
use serde_json::{Value as Json, json};

use crate::steady::Steady;

/// A way to the tools. None: this door does not have that one.
trait Door {
    fn call(&mut self, tool: &str, arguments: &Json) -> Option<Json>;
}

/// The script: create, remember, write, save, break, go back, look, fork, list, put away, wake, end.
fn script() -> Vec<(&'static str, Json)> {
    let work = |more: Json| {
        let mut arguments = json!({"sandbox": "work"});
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        arguments
    };
    vec![
        ("sandbox_create", json!({"name": "work"})),
        ("sandbox_create", json!({"name": "work"})),
        ("sandbox_eval", work(json!({"code": "x = [1]; print('made'); len(x)"}))),
        ("sandbox_eval", work(json!({"code": "raise ValueError('no')"}))),
        ("sandbox_write", work(json!({"path": "/workspace/a.txt", "content": "eins\nzwei\n"}))),
        ("sandbox_read", work(json!({"path": "/workspace/a.txt", "start_line": 2}))),
        ("sandbox_edit", work(json!({"path": "/workspace/a.txt", "old": "zwei", "new": "drei"}))),
        ("sandbox_checkpoint", work(json!({"name": "good"}))),
        ("sandbox_eval", work(json!({"code": "x.append(2); open('/workspace/a.txt', 'w').close(); len(x)"}))),
        ("sandbox_restore", work(json!({"checkpoint_id": "CHECKPOINT"}))),
        ("sandbox_get_var", work(json!({"name": "x"}))),
        ("sandbox_get_var", work(json!({"name": "nothing"}))),
        ("sandbox_vars", work(json!({}))),
        ("sandbox_files", work(json!({}))),
        ("sandbox_read", work(json!({"path": "/workspace/a.txt"}))),
        ("sandbox_make_folder", work(json!({"path": "/workspace/d"}))),
        (
            "sandbox_rename_file",
            work(json!({"path": "/workspace/a.txt", "to": "/workspace/d/b.txt", "replace": false})),
        ),
        ("sandbox_remove_file", work(json!({"path": "/workspace/d", "recursive": false}))),
        ("sandbox_files", work(json!({}))),
        ("sandbox_remove_file", work(json!({"path": "/workspace/d", "recursive": true}))),
        ("sandbox_describe_checkpoint", work(json!({"checkpoint_id": "CHECKPOINT", "note": "why / so!"}))),
        ("sandbox_describe_checkpoint", work(json!({"checkpoint_id": "CHECKPOINT", "name": "step-1"}))),
        ("sandbox_list_checkpoints", work(json!({}))),
        ("sandbox_remove_checkpoint", work(json!({"checkpoint_id": "CHECKPOINT"}))),
        ("sandbox_remove_checkpoint", work(json!({"checkpoint_id": "good"}))),
        ("sandbox_list_checkpoints", work(json!({}))),
        // Two that are made in the same moment have no order.
        ("sandbox_fork", work(json!({"count": 1}))),
        ("sandbox_list", json!({})),
        ("sandbox_stop", work(json!({}))),
        ("sandbox_get", work(json!({}))),
        ("sandbox_resume", work(json!({}))),
        ("sandbox_reset", work(json!({}))),
        ("sandbox_eval", work(json!({"code": "x"}))),
        ("sandbox_exec", work(json!({"command": "ls"}))),
        ("sandbox_destroy", work(json!({}))),
        ("sandbox_get", work(json!({}))),
    ]
}

/// What a door answers to the script.
fn play(door: &mut dyn Door) -> Vec<(String, Option<Json>)> {
    let (mut steady, mut checkpoint) = (Steady::default(), String::new());
    let mut answers = Vec::new();
    for (tool, mut arguments) in script() {
        if arguments["checkpoint_id"] == "CHECKPOINT" {
            arguments["checkpoint_id"] = checkpoint.clone().into();
        }
        let answer = door.call(tool, &arguments);
        if let (Some(answer), "sandbox_checkpoint") = (&answer, tool) {
            checkpoint = answer["id"].as_str().unwrap().to_owned();
        }
        answers.push((
            format!("{tool} {arguments}").replace(&checkpoint, "ID"),
            answer.map(|answer| steady.of(&answer)),
        ));
    }
    answers
}

struct Embedded(Surface);

impl Embedded {
    fn over(state: &Path) -> Self {
        let policy = Policy { allow_writes: false, ..Policy::default() };
        let dormouse = Dormouse::builder().unwrap().policy(policy).state(state).build().unwrap();
        let surface = Surface::new(dormouse.runtime().clone());
        Self(surface.with_tools(Toolset::All).unwrap())
    }
}

impl Door for Embedded {
    fn call(&mut self, tool: &str, arguments: &Json) -> Option<Json> {
        let arguments = arguments.as_object().unwrap().clone();
        Some(sandbox::wait(self.0.call(tool, arguments, CallContext::default())).unwrap().structured)
    }
}

impl Door for Wire {
    fn call(&mut self, tool: &str, arguments: &Json) -> Option<Json> {
        Some(Wire::call(self, 1, tool, arguments.clone())["structuredContent"].take())
    }
}

struct HttpMcp(Served);

impl Door for HttpMcp {
    fn call(&mut self, tool: &str, arguments: &Json) -> Option<Json> {
        let told = self.0.mcp(None, tool, arguments);
        assert_eq!(told.status, 200, "{}", told.head);
        Some(told.json()["result"]["structuredContent"].take())
    }
}

struct Rest(Served);

impl Door for Rest {
    fn call(&mut self, tool: &str, arguments: &Json) -> Option<Json> {
        let mut rest = arguments.as_object().unwrap().clone();
        let sandbox = rest.shift_remove("sandbox");
        let of = |path: &str| format!("/api/sandboxes/{}{path}", sandbox.as_ref().unwrap().as_str().unwrap());
        let (method, path) = match tool {
            "sandbox_create" => ("POST", "/api/sandboxes".into()),
            "sandbox_list" => ("GET", "/api/sandboxes".into()),
            "sandbox_get" => ("GET", of("")),
            "sandbox_destroy" => ("DELETE", of("")),
            "sandbox_get_var" => {
                ("POST", of(&format!("/vars/{}", rest.shift_remove("name").unwrap().as_str().unwrap())))
            }
            "sandbox_vars" => ("GET", of("/vars")),
            "sandbox_files" => ("GET", of("/files")),
            "sandbox_read" => ("GET", of("/files/read")),
            "sandbox_write" => ("POST", of("/files/write")),
            "sandbox_edit" => ("POST", of("/files/edit")),
            "sandbox_rename_file" => ("POST", of("/files/rename")),
            "sandbox_remove_file" => ("DELETE", of("/files")),
            "sandbox_make_folder" => ("POST", of("/files/folder")),
            "sandbox_checkpoint" => ("POST", of("/checkpoints")),
            "sandbox_list_checkpoints" => ("GET", of("/checkpoints")),
            "sandbox_describe_checkpoint" => {
                let id = rest.shift_remove("checkpoint_id").unwrap();
                ("POST", of(&format!("/checkpoints/{}", id.as_str().unwrap())))
            }
            "sandbox_remove_checkpoint" => {
                let id = rest.shift_remove("checkpoint_id").unwrap();
                ("DELETE", of(&format!("/checkpoints/{}", id.as_str().unwrap())))
            }
            verb => ("POST", of(&format!("/{}", verb.strip_prefix("sandbox_").unwrap()))),
        };
        let told = if method == "POST" {
            self.0.ask(method, &path, None, Some(&rest.into()))
        } else {
            let text = |value: &Json| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let query: Vec<String> =
                rest.iter().map(|(name, value)| format!("{name}={}", text(value))).collect();
            self.0.ask(method, &format!("{path}?{}", query.join("&")), None, None)
        };
        let answer = told.json();
        assert!(answer.is_object(), "{tool}: {}", told.head);
        assert_eq!(told.status >= 400, answer["error"].is_object(), "{tool}: {}: {answer}", told.status);
        Some(answer)
    }
}

/// The command line, a process each time. It has no words of its own for parts of files and single variables.
struct Commands<'a> {
    state: &'a Path,
    scratch: &'a Path,
}

impl Commands<'_> {
    fn run(&self, words: &[&str]) -> Json {
        let state = self.state.to_str().unwrap();
        let ran = binary::dormouse(&[&["sandbox", "--state-dir", state, "--json"], words].concat(), b"");
        serde_json::from_str(&ran.text()).unwrap_or_else(|_| panic!("{words:?}: {}", ran.complaint()))
    }
}

impl Door for Commands<'_> {
    fn call(&mut self, tool: &str, arguments: &Json) -> Option<Json> {
        let text = |field: &str| arguments[field].as_str().unwrap_or_default();
        Some(match tool {
            "sandbox_create" => self.run(&["create", text("name")]),
            "sandbox_list" => self.run(&["list"]),
            "sandbox_get" => self.run(&["show", "work"]),
            "sandbox_destroy" => self.run(&["rm", "work"]),
            "sandbox_eval" => self.run(&["eval", "work", text("code")]),
            "sandbox_restore" => self.run(&["restore", "work", text("checkpoint_id")]),
            "sandbox_checkpoint" => self.run(&["checkpoint", "work", "--label", text("name")]),
            "sandbox_list_checkpoints" => self.run(&["checkpoints", "work"]),
            "sandbox_describe_checkpoint" => {
                let words = ["describe-checkpoint", "work", text("checkpoint_id")];
                let said = [("--note", text("note")), ("--label", text("name"))];
                let said = said.into_iter().filter(|(_, text)| !text.is_empty());
                self.run(
                    &words.into_iter().chain(said.flat_map(|(name, text)| [name, text])).collect::<Vec<_>>(),
                )
            }
            "sandbox_remove_checkpoint" => self.run(&["rm-checkpoint", "work", text("checkpoint_id")]),
            "sandbox_make_folder" => self.run(&["mkdir", "work", text("path")]),
            "sandbox_rename_file" => self.run(&["mv", "work", text("path"), text("to")]),
            "sandbox_remove_file" => match arguments["recursive"] == true {
                true => self.run(&["rm-file", "work", "-r", text("path")]),
                false => self.run(&["rm-file", "work", text("path")]),
            },
            "sandbox_fork" => self.run(&["fork", "work", "--count", "1"]),
            "sandbox_vars" | "sandbox_files" | "sandbox_stop" | "sandbox_resume" | "sandbox_reset" => {
                self.run(&[tool.strip_prefix("sandbox_").unwrap(), "work"])
            }
            "sandbox_write" => {
                let file = self.scratch.join("a.txt");
                fs::write(&file, text("content")).unwrap();
                let (from, to) = (file.to_str().unwrap(), format!("work:{}", text("path")));
                let state = self.state.to_str().unwrap();
                let ran = binary::dormouse(&["sandbox", "--state-dir", state, "cp", from, &to], b"");
                assert_eq!(ran.status, Some(0), "{}", ran.complaint());
                return None;
            }
            "sandbox_edit" => {
                let code = "t = open('/workspace/a.txt').read(); \
                    _ = open('/workspace/a.txt', 'w').write(t.replace('zwei', 'drei')); del t";
                self.run(&["eval", "work", code]);
                return None;
            }
            _ => return None,
        })
    }
}

/// An answer without the hint of its error, which is in the words of each door.
fn hintless(answer: &Json) -> Json {
    let mut answer = answer.clone();
    if let Some(error) = answer.get_mut("error").and_then(Json::as_object_mut) {
        error.shift_remove("hint");
    }
    answer
}

#[test]
fn one_script_gives_the_same_answers_through_every_front_door() {
    let folder = tempfile::tempdir().unwrap();
    let state = |name: &str| folder.path().join(name);
    let text = |name: &str| state(name).to_str().unwrap().to_owned();
    let wanted = play(&mut Embedded::over(&state("embedded")));
    let (stdio, http, rest) = (text("stdio"), text("http"), text("rest"));
    let mut wire = Wire::greeted(&["--state-dir", &stdio, "--tools", "all"]);
    let mut http = HttpMcp(Served::start(&["--state-dir", &http, "--tools", "all"]));
    let mut rest = Rest(Served::start(&["--state-dir", &rest]));
    let (commands, scratch) = (state("commands"), state("scratch"));
    fs::create_dir(&scratch).unwrap();
    let mut commands = Commands { state: &commands, scratch: &scratch };
    let doors: [(&str, &mut dyn Door); 4] = [
        ("MCP over standard input and output", &mut wire),
        ("MCP over HTTP", &mut http),
        ("REST", &mut rest),
        ("command line", &mut commands),
    ];
    for (name, door) in doors {
        let found = play(door);
        for ((step, wanted), (_, found)) in wanted.iter().zip(&found) {
            if let Some(found) = found {
                let wanted = wanted.as_ref().map(hintless);
                assert_eq!(Some(hintless(found)), wanted, "{name}: {step}");
            }
        }
    }
    assert_eq!(http.0.end().status, Some(0));
    assert_eq!(rest.0.end().status, Some(0));
}
