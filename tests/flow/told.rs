//! What commands over sandboxes that last tell people besides: what was lost, what is not there, what was not done, and what to do,
//! in words that the command line has.

use std::time::Duration;

use dormouse_tests::binary::{Ran, dormouse};
use dormouse_tests::served::Served;
use dormouse_tests::wire::Wire;
use serde_json::{Value as Json, json};

/// A state folder, and commands on it.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// `dormouse sandbox …`, as it is started.
    fn try_of(&self, words: &[&str]) -> Ran {
        dormouse(&[&["sandbox", "--state-dir", self.0.path().to_str().unwrap()], words].concat(), b"")
    }

    /// What one that must not fail prints.
    #[track_caller]
    fn of(&self, words: &[&str]) -> String {
        let ran = self.try_of(words);
        assert_eq!(ran.status, Some(0), "{words:?}: {}", ran.complaint());
        ran.text()
    }

    /// What one says on standard error.
    fn said(&self, words: &[&str]) -> String {
        self.try_of(words).complaint()
    }
}

#[test]
fn a_run_that_was_cut_off_says_what_became_of_the_interpreter_and_of_the_shell() {
    let place = Place::new();
    place.of(&["create", "box"]);
    let said = place.said(&["eval", "box", "--timeout", "300ms", "while True: pass"]);
    assert!(said.contains("\nnote: the interpreter is as before this run\n"), "{said}");
    let said = place.said(&["exec", "--timeout", "300ms", "box", "while :; do :; done"]);
    assert!(said.contains("\nnote: the shell is as before this run\n"), "{said}");
    assert_eq!(place.said(&["eval", "box", "1"]), "", "there is nothing else to say");
}

#[test]
fn exec_answers_in_json_as_the_tool_does() {
    let place = Place::new();
    place.of(&["create", "box"]);
    const LINES: [&str; 3] =
        ["echo out; echo err >&2; exit 3", "gcc -o x x.c", "echo kept; while :; do :; done"];
    let mut wire = Wire::greeted(&["--state-dir", place.0.path().to_str().unwrap()]);
    let mut ask = |id: i64, sandbox: &str, line: &str| {
        let arguments = json!({"sandbox": sandbox, "command": line, "timeout_ms": 1_000});
        wire.call(id, "sandbox_exec", arguments)["structuredContent"].clone()
    };
    let wanted: Vec<Json> = (1..).zip(LINES).map(|(id, line)| ask(id, "box", line)).collect();
    let mut unknown = ask(9, "none", "ls");
    assert_eq!(wire.end(Duration::from_secs(10)).status, Some(0));
    for (line, wanted) in LINES.into_iter().zip(wanted) {
        let ran = place.try_of(&["exec", "--json", "--timeout", "1s", "box", line]);
        let told: Json = serde_json::from_slice(&ran.stdout).unwrap();
        assert_eq!(ran.status.map(Json::from).as_ref(), Some(&told["exit_code"]), "{line}");
        assert_eq!(steadied(told), steadied(wanted), "{line}");
    }
    let refused = place.try_of(&["exec", "--json", "none", "ls"]);
    let hint = unknown["error"]["hint"].as_str().unwrap().replace("sandbox_list", "`dormouse sandbox list`");
    unknown["error"]["hint"] = hint.into();
    assert_eq!((refused.status, refused.text().trim()), (Some(1), unknown.to_string().as_str()));
}

/// Without what differs from one run to the next, and from one door to the other.
fn steadied(mut answer: Json) -> Json {
    answer["duration_ms"] = 0.into();
    if let Some(error) = answer.get_mut("unavailable") {
        error["hint"] = Json::Null;
    }
    answer
}

#[test]
fn who_would_have_a_missing_command_is_told() {
    let place = Place::new();
    place.of(&["create", "box"]);
    let ran = place.try_of(&["exec", "box", "gcc"]);
    let said = ran.complaint();
    assert_eq!(ran.status, Some(127), "{said}");
    let note =
        "\nnote: there is no command `gcc` in this sandbox; `compgen -c` lists the available commands; ";
    assert!(said.contains(note), "{said}");
    assert!(
        said.contains("`dormouse sandbox create` with `--docker-image IMAGE --provider docker`"),
        "{said}"
    );
    // An option that cannot do anything says so.
    let said = place.said(&["exec", "--docker-commands", "box", "csplit"]);
    assert!(said.contains("note: `--docker-commands` has no effect without an image"), "{said}");
    let silent = place.said(&["exec", "--docker-commands", "--no-docker", "box", "true"]);
    assert_eq!(silent, "");
}

#[test]
fn hints_name_what_the_command_line_has() {
    let place = Place::new();
    place.of(&["create", "box"]);
    for words in [&["exec", "box", "seq 1 3000000"][..], &["eval", "box", "print('x' * 100000)"]] {
        let said = place.said(words);
        assert!(said.contains("were dropped; write it into a file of the sandbox"), "{said}");
        assert!(said.contains("`dormouse sandbox cp`") && !said.contains("--output"), "{said}");
    }
    place.of(&["exec", "box", "mkdir -p d && touch d/f g"]);
    let said = place.said(&["rm-file", "box", "/workspace/d"]);
    assert!(
        said.contains("the folder is not empty\nhint: to remove it") && said.contains("`--recursive`"),
        "{said}"
    );
    place.of(&["rm-file", "--recursive", "box", "/workspace/d"]);
    place.of(&["exec", "box", "touch h"]);
    let said = place.said(&["mv", "box", "/workspace/g", "/workspace/h"]);
    assert!(said.contains("`--replace`"), "{said}");
    place.of(&["mv", "--replace", "box", "/workspace/g", "/workspace/h"]);
    // An image that is another one's option away.
    let said = place.said(&["create", "--image", "tools:1"]);
    assert!(
        said.contains("`--docker-image IMAGE`") && said.contains("`--wasm-image NAME=CHECKPOINT`"),
        "{said}"
    );
    // At the other doors the same is an argument.
    let mut wire = Wire::greeted(&["--tools", "all", "--state-dir", place.0.path().to_str().unwrap()]);
    wire.call(1, "sandbox_exec", json!({"sandbox": "box", "command": "mkdir d && touch d/f"}));
    let refused = wire.call(2, "sandbox_remove_file", json!({"sandbox": "box", "path": "/workspace/d"}));
    let hint = refused["structuredContent"]["error"]["hint"].as_str().unwrap();
    assert!(hint.ends_with("say `recursive`"), "{hint}");
    assert_eq!(wire.end(Duration::from_secs(10)).status, Some(0));
}

#[test]
fn names_that_are_refused_taken_or_unknown_are_told_as_they_are() {
    let place = Place::new();
    place.of(&["create", "box", "--session-key", "key", "--memory", "128MiB"]);
    for (name, shown) in [("..", "`..` cannot be a name"), ("a\u{202e}b", "`a\\u{202e}b` cannot be a name")] {
        let said = place.said(&["create", name]);
        assert!(said.starts_with(&format!("error[args_invalid]: {shown}\n")), "{said}");
    }
    let said = place.said(&["create", "box"]);
    assert!(said.starts_with("error[name_taken]: there is a sandbox `box` already\n"), "{said}");
    let said = place.said(&["show", "nope"]);
    assert!(said.starts_with("error[unknown_sandbox]: there is no sandbox `nope`\n"), "{said}");
    for words in [&["show", "nope", "--json"][..], &["eval", "nope", "1", "--json"]] {
        let told: Json = serde_json::from_slice(&place.try_of(words).stdout).unwrap();
        let hint = told["error"]["hint"].as_str().unwrap();
        assert!(hint.starts_with("`dormouse sandbox list` lists the existing ones"), "{words:?}: {told}");
    }
    let made_up = format!("ckpt-{}", "a".repeat(26));
    let hints = ["nope", &made_up].map(|checkpoint| {
        let said = place.said(&["restore", "box", checkpoint]);
        assert!(said.contains("error[unknown_checkpoint]: there is no checkpoint"), "{said}");
        said.split_once("hint: ").unwrap().1.to_owned()
    });
    assert_eq!(hints, ["`dormouse sandbox checkpoints` lists the existing ones\n"; 2]);
    // The same key gives the same sandbox, and what is asked besides is not taken.
    let same = place.try_of(&["create", "--session-key", "key", "--memory", "64MiB", "--disk", "9MiB"]);
    let said = same.complaint();
    assert_eq!(same.status, Some(0), "{said}");
    assert!(said.starts_with("note: the session key already has a sandbox"), "{said}");
    assert!(said.contains("`--memory`, `--disk`") && said.lines().count() == 1, "{said}");
    assert_eq!(place.said(&["create", "--session-key", "key", "--memory", "128MiB"]), "");
}

#[test]
fn a_refusal_has_the_same_exit_status_as_json() {
    let place = Place::new();
    place.of(&["create", "box"]);
    for words in [
        &["rm-file", "box", "/workspace"][..],
        &["mkdir", "box", "relative"],
        &["fork", "box", "--count", "0"],
        &["vars", "box", "-l", "shell"],
        &["show", "nope"],
    ] {
        let (plain, json) = (place.try_of(words), place.try_of(&[words, &["--json"]].concat()));
        assert_eq!(plain.status, json.status, "{words:?}: {}", plain.complaint());
        assert!(plain.status > Some(0), "{words:?}");
    }
}

#[test]
fn errors_name_what_is_typed_and_not_what_is_sent() {
    let place = Place::new();
    place.of(&["create", "box"]);
    for (words, told) in [
        (
            &["create", "--idle", "500ms"][..],
            "`--idle` is 500ms, outside 1s to 1d\nhint: give `--idle` a time from 1s to 1d\n",
        ),
        (
            &["create", "--retention", "1s"],
            "`--retention` is 1s, outside 1min to 30d\nhint: give `--retention` a time from 1min to 30d\n",
        ),
        (
            &["create", "--memory", "1KiB"],
            "`--memory` is 1KiB, outside 16MiB to 512MiB\nhint: give `--memory` a size from 16MiB to 512MiB\n",
        ),
        (&["create", "--disk", "1"], "`--disk` is 1B, outside 1MiB to "),
        (
            &["create", "--cpu", "0.001"],
            "`--cpu` is 0.001, outside 0.01 to 4\nhint: give `--cpu` a number of cores",
        ),
        (&["create", "--files", "1"], "`--files` is 1, outside 100 to "),
        (&["create", "--processes", "1"], "`--processes` is 1, outside 8 to "),
        (&["create", "--env", "A"], "`--env` holds `A`\nhint: write each variable as `NAME=value`\n"),
        (&["fork", "box", "--count", "0"], "`--count` is 0, outside 1 to 100\n"),
        (&["vars", "box", "--language", "../x"], "`--language` is invalid: "),
    ] {
        let ran = place.try_of(words);
        let said = ran.complaint();
        assert_ne!(ran.status, Some(0), "{words:?}: {said}");
        assert!(said.starts_with(&format!("error[args_invalid]: {told}")), "{words:?}: {said}");
        let told: Json =
            serde_json::from_slice(&place.try_of(&[words, &["--json"]].concat()).stdout).unwrap();
        let message = told["error"]["message"].as_str().unwrap();
        assert!(said.contains(message), "as JSON it is the same: {told}");
    }
    let long = "n".repeat(5_000);
    let said = place.said(&["checkpoint", "box", "--label", &long]);
    assert!(said.starts_with("error[too_large]: `--label` has 5000 bytes"), "{said}");
    assert_eq!(place.of(&["list"]).lines().count(), 1, "nothing else was made");
}

#[test]
fn more_than_a_core_is_refused_without_a_container_at_every_door() {
    let place = Place::new();
    let state = place.0.path().to_str().unwrap();
    let said = place.said(&["create", "box", "--cpu", "2"]);
    let told = "error[args_invalid]: `--cpu` is 2, outside 0.01 to 1: without a container a sandbox computes on one core\n\
                hint: give `--cpu` a number of cores from 0.01 to 1\n";
    assert_eq!(said, told);
    place.of(&["create", "one", "--cpu", "1"]);
    let engine = ["--docker-image", "python:3", "--docker-host", "unix:///nobody/listens"];
    let said = place.said(&[&engine, &["create", "box", "--cpu", "1.5"][..]].concat());
    assert!(said.contains("or ask for a container: `--docker-image IMAGE --provider docker`"), "{said}");
    // For a container it is not refused; wasm may take its place.
    let words = ["create", "big", "--cpu", "2", "--provider", "docker", "--fallback"];
    place.of(&[&engine, &words[..]].concat());
    let asked = json!({"name": "box", "cpu_millis": 2_000});
    let mut wire = Wire::greeted(&["--state-dir", state]);
    let refused = wire.call(1, "sandbox_create", asked.clone())["structuredContent"]["error"].take();
    assert_eq!(refused["code"], "args_invalid", "{refused}");
    assert!(
        refused["message"].as_str().unwrap().contains("`cpu_millis` is 2000, outside 10 to 1000"),
        "{refused}"
    );
    assert_eq!(wire.end(Duration::from_secs(10)).status, Some(0));
    let server = Served::start(&["--state-dir", state]);
    let answer = server.ask("POST", "/api/sandboxes", None, Some(&asked)).json();
    assert_eq!(answer["error"], refused);
    assert_eq!(server.end().status, Some(0));
}

#[test]
fn a_checkpoint_can_be_given_a_note_alone() {
    let place = Place::new();
    place.of(&["create", "box"]);
    place.of(&["checkpoint", "box", "--label", "first"]);
    place.of(&["describe-checkpoint", "box", "first", "--note", "as it began"]);
    assert!(place.of(&["checkpoints", "box"]).trim_end().ends_with("\tfirst\tas it began"));
    place.of(&["describe-checkpoint", "box", "first", "--label", "second"]);
    assert!(place.of(&["checkpoints", "box"]).trim_end().ends_with("\tsecond\tas it began"));
    place.of(&["describe-checkpoint", "box", "second", "--note", ""]);
    assert!(!place.of(&["checkpoints", "box"]).contains("as it began"));
    assert_eq!(place.try_of(&["describe-checkpoint", "box", "second"]).status, Some(2));
}

#[test]
fn options_behind_a_quoted_command_line_are_no_arguments_of_it() {
    let place = Place::new();
    place.of(&["create", "box"]);
    for option in [&["--json"][..], &["--state-dir", "/tmp"]] {
        let words = [&["exec", "box", "echo hi"], option].concat();
        let ran = place.try_of(&words);
        assert_eq!(ran.status, Some(2), "{}", ran.complaint());
        assert!(ran.complaint().contains("sandbox exec OPTIONS NAME COMMAND"), "{}", ran.complaint());
    }
    assert_eq!(place.of(&["exec", "box", "echo", "--json"]).trim_end(), "--json");
}

#[test]
fn of_a_variable_that_is_set_twice_the_last_counts() {
    let twice = ["-e", "A=1", "-e", "B=2", "--env", "A=3"];
    let ran =
        dormouse(&[&["eval"], &twice[..], &["import os; os.environ['A'] + os.environ['B']"]].concat(), b"");
    assert_eq!(ran.text(), "32\n", "{}", ran.complaint());
    let place = Place::new();
    place.of(&["create", "box", "--env", "A=1", "--env", "A=2"]);
    assert_eq!(place.of(&["exec", "box", "echo $A; env | grep -c ^A="]), "2\n1\n");
    assert_eq!(place.of(&["eval", "box", "import os; os.environ['A']"]), "2\n");
}

#[test]
fn options_of_a_folder_stand_before_and_behind_what_is_done_with_it() {
    let place = Place::new();
    place.of(&["create", "box"]);
    let state = place.0.path().to_str().unwrap();
    for words in [
        &["state", "check", "--state-dir", state, "--json"][..],
        &["state", "--state-dir", state, "--json", "check"],
        &["state", "--json", "check", "--state-dir", state],
    ] {
        let ran = dormouse(words, b"");
        let told: Json = serde_json::from_slice(&ran.stdout).unwrap();
        assert_eq!((ran.status, &told["sandboxes"]), (Some(0), &json!(1)), "{words:?}: {told}");
    }
}

#[test]
fn a_choice_of_tools_that_there_are_not_is_told_with_how_to_have_them() {
    for (tools, hint) in [
        ("sandbox_evil", "hint: did you mean `sandbox_eval`?\n"),
        ("foo", "hint: the tools are `sandbox_capabilities`, `sandbox_eval`\n"),
        (
            "sandbox_create",
            "it needs persistent sandboxes: the server must be started with `--state-dir DIR`\n",
        ),
    ] {
        let ran = dormouse(&["mcp", "--tools", tools], b"");
        let said = ran.complaint();
        assert_eq!(ran.status, Some(2), "{said}");
        assert!(
            said.contains(&format!("there is no tool `{tools}` to choose\n")) && said.ends_with(hint),
            "{said}"
        );
    }
    let mut wire = Wire::greeted(&[]);
    let refused = wire.ask(1, "tools/call", json!({"name": "sandbox_create", "arguments": {}}));
    assert!(refused["error"]["data"]["hint"].as_str().unwrap().contains("`--state-dir DIR`"), "{refused}");
    let refused = wire.call(2, "sandbox_eval", json!({"code": "1", "session_key": "k"}));
    let error = &refused["structuredContent"]["error"];
    assert_eq!(error["code"], "args_invalid", "{refused}");
    assert!(error["hint"].as_str().unwrap().contains("`--state-dir DIR`"), "{error}");
    assert_eq!(wire.end(Duration::from_secs(10)).status, Some(0));
}

#[test]
fn notes_are_words() {
    let place = Place::new();
    place.of(&["create", "box"]);
    let nobody = "unix:///nobody/listens";
    let engine = ["--docker-image", "python:3", "--docker-host", nobody, "--docker-commands"];
    let said = place.said(&[&["exec"], &engine[..], &["box", "csplit"]].concat());
    assert!(said.contains("note: `csplit` was not run in a container: "), "{said}");
    assert!(!said.contains("(error") && !said.contains("command: \""), "{said}");
}
