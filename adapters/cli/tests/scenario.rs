//! `dormouse scenario` as a whole process, for everything that needs no guest and no engine: what is refused before anything
//! is opened, what is told of failures, sources of one's own.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test of a whole process")]
#![allow(clippy::needless_pass_by_value, reason = "values are written where they are passed")]

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value as Json, json};
use tempfile::TempDir;

/// A server of MCP in the shell's language. Its one tool, `run`, answers that a command ended with the status that it is asked
/// for; `args` tells the source's arguments.
const SERVER: &str = concat!(
    r#"
tools='[{"name":"run","inputSchema":{"type":"object"}},{"name":"args","inputSchema":{"type":"object"}}]'
call() {
  status=$(printf '%s' "$line" | sed -n 's/.*"status":\([0-9]*\).*/\1/p')
  case "$line" in
    *'"name":"args"'*) say "{\"content\":[],\"structuredContent\":$DORMOUSE_SOURCE_ARGS}" ;;
    *) say "{\"content\":[{\"type\":\"text\",\"text\":\"go: command not found\"}],\"structuredContent\":{\"exit_code\":$status}}" ;;
  esac
}
"#,
    include_str!("../../sources/src/testing/server.sh")
);

struct Ran {
    status: Option<i32>,
    out: String,
    said: String,
}

/// A folder with an arena, where the binary is started.
struct Desk(TempDir);

impl Desk {
    fn new(servers: Json, scenario: Json) -> Self {
        let desk = Self(tempfile::tempdir().unwrap());
        std::fs::write(desk.path().join("server.sh"), SERVER).unwrap();
        let arena = json!({"spec": {"mcp_servers": servers, "scenarios": [{"spec": scenario}]}});
        std::fs::write(desk.path().join("arena.yaml"), format!("{arena:#}")).unwrap();
        desk
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// `dormouse scenario VERB arena.yaml OPTIONS`.
    fn run(&self, verb: &str, options: &[&str]) -> Ran {
        let output = Command::new(env!("CARGO_BIN_EXE_dormouse"))
            .args(["scenario", verb, "arena.yaml"])
            .args(options)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("DORMOUSE_CACHE_DIR", self.path().join("cache"))
            .env("HOME", self.path())
            .current_dir(self.path())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        Ran { status: output.status.code(), out: text(&output.stdout), said: text(&output.stderr) }
    }

    fn report(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.path().join("dormouse-report").join(name)).ok()
    }
}

fn one(turns: Json, gates: Json) -> Json {
    json!({"id": "one", "variables": {"who": "me"}, "turns": turns, "conversation_assertions": gates})
}

fn server(more: Json) -> Json {
    let mut server = json!({"name": "box", "source": "wasm", "scope": "session"});
    server.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!([server])
}

#[test]
fn check_refuses_all_that_a_run_refuses_before_it_opens_anything() {
    let outside = tempfile::tempdir().unwrap();
    let mount = |source: &Path, readonly: bool| json!({"source_args": {"mounts": [{"source": source, "target": "/x", "readonly": readonly}]}});
    let place = "arena.yaml:4:7: mcp server `box`: ";
    for (more, wanted) in [
        (json!({"source": "podman"}), "unknown source \"podman\"; registered sources: docker, wasm"),
        (json!({"source_args": {"env": {"A": "{{scenario.nobody}}"}}}), "`one` has no variable `nobody`"),
        (json!({"source_args": {"env": {"A": "{{scenario.who | default(1)}}"}}}), "has no template in"),
        (
            json!({"scope": "run", "source_args": {"env": {"A": "{{scenario.who}}"}}}),
            "before there is a scenario",
        ),
        (json!({"source_args": {"immage": "x"}}), "the source `wasm` has no argument `immage`"),
        (json!({"source_args": {"env": {"A": 1}}}), "the argument `env.A` is a number, not a text"),
        (json!({"source_args": {"profile": "none"}}), "there is no profile `none`"),
        (
            json!({"source_args": {"mounts": [{"source": "x", "target": "/x"}]}}),
            "mounts.0.source is no absolute path",
        ),
        (mount(outside.path(), true), "may not be mounted"),
        (mount(Path::new("/no/such/folder"), true), "cannot be found"),
        (
            json!({"source_args": {"limits": {"memory_bytes": 99_999_999_999_u64}}}),
            "the argument `limits.memory_bytes` is 99999999999, outside 16777216 to 536870912",
        ),
        (
            json!({"source_args": {"limits": {"disk_bytes": 1}}}),
            "the argument `limits.disk_bytes` is 1, outside",
        ),
        (json!({"source_args": {"env": {"A B": "1"}}}), "`A B` is no environment variable"),
        (json!({"source_args": {"repo": "not a url"}}), "the argument `repo` is `not a url`, no address"),
        (json!({"source_args": {"repo": "git@git.example:r"}}), "no folder that is mounted"),
        (json!({"source_args": {"repo": "https://git.example/r"}}), "no repository may be cloned here"),
        (json!({"source_args": {"files": {"/workspace": "x"}}}), "has `/workspace`, which is a folder"),
        (json!({"source_args": {"files": {"/a": "x", "/a/b": "x"}}}), "has `/a/b` below the file `/a`"),
        (json!({"source": "docker"}), "the argument `image` is missing"),
        (json!({"source": "docker", "source_args": {"image": "x"}}), "has no image that it may start"),
    ] {
        let desk =
            Desk::new(server(more.clone()), one(json!([{"tool_calls": [{"tool": "Bash"}]}]), json!([])));
        let (check, run) = (desk.run("check", &[]), desk.run("run", &[]));
        assert_eq!((check.status, run.status), (Some(2), Some(2)), "{more}: {}{}", check.said, run.said);
        assert_eq!(check.said, run.said, "{more}");
        assert!(run.said.contains(place) && run.said.contains(wanted), "{more}: {}", run.said);
        assert_eq!(run.said.matches(wanted).count(), 1, "it is said once: {}", run.said);
        assert_eq!(desk.report("report.html"), None);
    }
}

/// What options decide, they decide for a check too; what it passes, a run begins.
#[test]
fn check_takes_the_options_that_decide() {
    let limited = json!({"source_args": {"limits": {"memory_bytes": 100_000_000}}});
    let image = json!({"source": "docker", "source_args": {"image": "other"}});
    let said = json!({"source": "docker", "source_args": {"image": "{{scenario.who}}"}});
    let allowed = ["--docker-image", "tools:1"];
    for (more, passes, fails, wanted) in [
        (limited, &[][..], &["--memory-max", "64MiB"][..], "outside 16777216 to 67108864"),
        (
            image,
            &["--docker-image", "tools:1", "--docker-image", "other"],
            &allowed,
            "`other` is not allowed",
        ),
        (said, &["--docker-image", "me"], &allowed, "`me` is not allowed"),
        (json!({}), &["--memory-max", "1GiB"], &["--memory-max", "1"], "`--memory-max`"),
        (json!({}), &["--quota", "checkpoints=2"], &["--quota", "nothing=2"], "nothing"),
        (json!({}), &["--packages", "on"], &["--packages", "perhaps"], "perhaps"),
        (json!({}), &[], &["--skill", "no-such-folder"], "no-such-folder"),
    ] {
        let desk =
            Desk::new(server(more.clone()), one(json!([{"tool_calls": [{"tool": "Bash"}]}]), json!([])));
        let ran = desk.run("check", passes);
        assert_eq!(ran.status, Some(0), "{more} {passes:?}: {}", ran.said);
        let (check, run) = (desk.run("check", fails), desk.run("run", fails));
        assert_eq!((check.status, run.status), (Some(2), Some(2)), "{more}: {}{}", check.said, run.said);
        assert_eq!(check.said, run.said, "{more}");
        assert!(run.said.contains(wanted), "{more}: {}", run.said);
    }
}

#[test]
fn mounts_follow_one_rule_for_both_sources() {
    let gates = json!([{"type": "tools_called", "params": {"tools": ["Bash"]}}]);
    for (source, options) in [("wasm", &[][..]), ("docker", &["--docker-image", "x:1"])] {
        let desk = Desk::new(json!([]), one(json!([]), gates.clone()));
        let folder = desk.path().join("data");
        std::fs::create_dir(&folder).unwrap();
        let arena = |readonly: bool| {
            let image = if source == "docker" { json!("x:1") } else { Json::Null };
            let mut args = json!({"mounts": [{"source": folder, "target": "/x", "readonly": readonly}]});
            if !image.is_null() {
                args["image"] = image;
            }
            let arena = json!({"spec": {
                "mcp_servers": server(json!({"source": source, "source_args": args})),
                "scenarios": [{"spec": one(json!([]), gates.clone())}],
            }});
            std::fs::write(desk.path().join("arena.yaml"), arena.to_string()).unwrap();
        };
        arena(true);
        let ran = desk.run("check", options);
        assert_eq!(ran.status, Some(0), "{source}: {}", ran.said);
        assert!(ran.said.contains("nothing is wrong: 1 scenario, 1 server"), "{}", ran.said);
        arena(false);
        let ran = desk.run("check", options);
        assert_eq!(ran.status, Some(2), "{source}");
        assert!(ran.said.contains("read-only alone") && ran.said.contains("--allow-writes"), "{}", ran.said);
        let ran = desk.run("check", &[options, &["--allow-writes"]].concat());
        assert_eq!(ran.status, Some(0), "{source}: {}", ran.said);
    }
}

#[test]
fn the_source_docker_says_what_it_lacks() {
    let docker = json!({"source": "docker", "source_args": {"image": "codegen:latest"}});
    let desk = Desk::new(server(docker), one(json!([{"tool_calls": [{"tool": "Bash"}]}]), json!([])));
    for (options, message) in [
        (
            &[][..],
            "error[capability_unavailable]: arena.yaml:4:7: mcp server `box`: the source `docker` has no image",
        ),
        (&["--no-docker"], "`--no-docker` says so"),
        (&["--no-docker", "--docker-image", "codegen:latest"], "`--no-docker` says so"),
    ] {
        let ran = desk.run("run", options);
        assert_eq!(ran.status, Some(2), "{}", ran.said);
        assert!(ran.said.contains(message) && ran.said.contains("--docker-image IMAGE"), "{}", ran.said);
    }
    assert_eq!(desk.run("check", &["--docker-image", "codegen:latest"]).status, Some(0));
}

/// S0-22: what no host may clone is refused before anything is opened, also where a template says what it is.
#[test]
fn a_repository_needs_allow_git_before_anything_is_opened() {
    let scenario = |repo: &str| json!({"id": "one", "variables": {"repo": repo}, "turns": [{"tool_calls": [{"tool": "Bash"}]}]});
    let docker = json!({"source": "docker", "source_args": {"image": "x:1", "repo": "{{scenario.repo}}"}});
    let wasm = json!({"source_args": {"repo": "{{scenario.repo}}"}});
    let image = ["--docker-image", "x:1"];
    for (more, hint) in [(docker, "network: true"), (wasm, "--allow-git URL=VAR")] {
        let desk = Desk::new(server(more.clone()), scenario("https://git.example/team/r.git"));
        for (options, message) in [
            (&[][..], "no repository may be cloned here"),
            (&["--allow-git", "https://git.example/other/"], "does not allow the repository's address"),
            (&["--allow-git", "https://git.example/=NO_SUCH_VARIABLE"], "`NO_SUCH_VARIABLE` is not set"),
        ] {
            let (check, run) = (
                desk.run("check", &[&image[..], options].concat()),
                desk.run("run", &[&image[..], options].concat()),
            );
            assert_eq!((check.status, run.status), (Some(2), Some(2)), "{more}: {}{}", check.said, run.said);
            assert_eq!(check.said, run.said, "{more}");
            assert!(run.said.contains(message), "{message}: {}", run.said);
            assert!(
                message.contains("not set") || run.said.contains("--allow-git") && run.said.contains(hint),
                "{}",
                run.said
            );
        }
        let ran = desk.run("check", &[&image[..], &["--allow-git", "https://git.example/team"]].concat());
        assert_eq!(ran.status, Some(0), "{}", ran.said);
        // A password in an address is no way in, and is not repeated.
        let desk = Desk::new(server(more), scenario("https://me:pass-0123@git.example/r.git"));
        let ran = desk.run("check", &[&image[..], &["--allow-git", "https://git.example/"]].concat());
        assert_eq!(ran.status, Some(2), "{}", ran.said);
        assert!(
            ran.said.contains("without user or password") && !ran.said.contains("pass-0123"),
            "{}",
            ran.said
        );
    }
}

#[test]
fn options_that_a_run_does_not_use_are_refused() {
    let desk = Desk::new(json!([]), one(json!([{"tool_calls": [{"tool": "x"}]}]), json!([])));
    for options in [
        &["--profile", "rlm"][..],
        &["--tools", "nonsense"],
        &["--project", "."],
        &["--session-key", "k"],
        &["--downloads", "."],
        &["--root", "."],
        &["--llm-endpoint", "http://h"],
        &["--ready", "1"],
        &["--jobs", "0"],
    ] {
        let ran = desk.run("run", options);
        assert_eq!(ran.status, Some(2), "{options:?}: {}", ran.said);
        assert!(ran.said.contains(options[0]), "{options:?}: {}", ran.said);
    }
}

#[test]
fn a_report_of_an_earlier_run_does_not_outlive_one_that_cannot_begin() {
    let desk = Desk::new(
        server(json!({"source": "podman"})),
        one(json!([{"tool_calls": [{"tool": "x"}]}]), json!([])),
    );
    let folder = desk.path().join("dormouse-report");
    std::fs::create_dir(&folder).unwrap();
    for name in ["report.html", "report.json", "junit.xml", "mine.txt"] {
        std::fs::write(folder.join(name), "passed").unwrap();
    }
    assert_eq!(desk.run("run", &[]).status, Some(2));
    let left: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["mine.txt"]);
}

#[test]
fn a_source_of_ones_own_is_opened_with_its_arguments_and_a_gate_on_its_command_tells_why_it_fails() {
    let gate = |status: u32, expect: Json| {
        json!({"type": "tool_exec", "params": {
            "tool": "run", "args": {"status": status}, "message": "it builds", "expect": expect,
        }})
    };
    let turns = json!([{"tool_calls": [
        {"tool": "args", "expect": {"structured": {"/who": "me", "/n": [1]}}},
    ]}]);
    let mine = server(json!({"source": "mine", "source_args": {"who": "{{scenario.who}}", "n": [1]}}));
    let gates = json!([gate(0, json!({})), gate(127, json!({"exit_code": 127})), gate(127, json!({}))]);
    let desk = Desk::new(mine, one(turns, gates));
    let ran = desk.run("run", &["--source", "mine=sh 'server.sh'"]);
    assert_eq!(ran.status, Some(1), "{}", ran.said);
    assert!(ran.out.starts_with("failed\t") && ran.out.contains("report.html"), "{}", ran.out);
    assert_eq!(ran.said.matches("gate tool_exec run holds").count(), 2, "{}", ran.said);
    let why = "gate tool_exec run FAILS: it builds: the command ended with exit status 127, not 0: go: command not found (arena.yaml:";
    assert!(ran.said.contains(why), "{}", ran.said);
    let junit = desk.report("junit.xml").unwrap();
    assert!(junit.contains("failures=\"1\"") && junit.contains("exit status 127, not 0"), "{junit}");
    let twin: Json = serde_json::from_str(&desk.report("report.json").unwrap()).unwrap();
    let gates = &twin["scenarios"][0]["repetitions"][0]["gates"];
    assert_eq!(gates[2]["details"]["payload"], json!({"exit_code": 127}));
}

#[test]
fn a_server_that_cannot_be_opened_is_told_on_the_console() {
    for servers in [
        json!([{"name": "box", "command": "/no/such/program"}]),
        server(json!({"source": "mine", "scope": "run"})),
        server(json!({"source": "mine", "scope": "scenario"})),
        server(json!({"source": "mine"})),
    ] {
        let desk = Desk::new(servers.clone(), one(json!([{"tool_calls": [{"tool": "x"}]}]), json!([])));
        let ran = desk.run("run", &["--source", "mine=/no/such/program"]);
        assert_eq!(ran.status, Some(1), "{servers}: {}", ran.said);
        assert!(
            ran.said.contains("NOT OPENED: arena.yaml:4:7: mcp server `box`: ")
                && ran.said.contains("/no/such/program")
                && ran.said.contains("[provider_unavailable]"),
            "{servers}: {}",
            ran.said
        );
        assert!(desk.report("junit.xml").unwrap().contains("errors=\"1\""));
    }
}

#[test]
fn a_source_of_ones_own_that_ends_is_told_with_its_status_and_its_last_words() {
    let servers = server(json!({"source": "mine", "scope": "run"}));
    let desk = Desk::new(servers, one(json!([{"tool_calls": [{"tool": "x"}]}]), json!([])));
    std::fs::write(desk.path().join("fails.sh"), "echo 'no such module: yaml' >&2\nexit 7\n").unwrap();
    let ran = desk.run("run", &["--source", "mine=sh fails.sh"]);
    assert_eq!(ran.status, Some(1), "{}", ran.said);
    let why = "arena.yaml:4:7: mcp server `box`: the MCP server has ended with exit status 7; its standard error: no such module: yaml [provider_unavailable]";
    assert!(ran.said.contains(why), "{}", ran.said);
    assert!(desk.report("junit.xml").unwrap().contains("no such module: yaml"));
}
