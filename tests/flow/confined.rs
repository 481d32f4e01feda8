//! S3-17: servers confine themselves, say so, and work as before; what they may not do themselves is done by helpers, which
//! end with them.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::sync::{Arc, Mutex};

use dormouse_tests::served::Served;
use dormouse_tests::wire::{PATIENCE, Wire};
use dormouse_tests::{binary, wait_until};
use serde_json::{Value as Json, json};

/// How much of the wall this kernel has, as `doctor` says it: `full`, `partial` or `off`.
fn kernel_has() -> String {
    let ran = binary::finish(binary::command(&["doctor", "--json"]), b"");
    let told: Json = serde_json::from_str(&ran.text()).unwrap();
    let rows = told["checks"].as_array().unwrap().iter();
    let found = rows.clone().find(|row| row["name"] == "confinement").unwrap()["found"].as_str().unwrap();
    found.split(':').next().unwrap().to_owned()
}

/// Whether the kernel has all of it.
fn can(test: &str) -> bool {
    let has = kernel_has();
    if has != "full" {
        eprintln!("skipped {test}: the kernel's confinement is {has}");
    }
    has == "full"
}

fn status(process: u32) -> String {
    std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default()
}

fn is_confined(process: u32) -> bool {
    let status = status(process);
    ["NoNewPrivs:\t1", "Seccomp:\t2"].iter().all(|line| status.lines().any(|found| found == *line))
}

/// The processes that a process started.
fn children(process: u32) -> Vec<u32> {
    let text =
        std::fs::read_to_string(format!("/proc/{process}/task/{process}/children")).unwrap_or_default();
    text.split_whitespace().map(|word| word.parse().unwrap()).collect()
}

fn until_gone(processes: &[u32]) {
    let is_alive = |process: &u32| {
        let status = status(*process);
        !status.is_empty() && !status.contains("State:\tZ")
    };
    wait_until("the processes end", PATIENCE, || !processes.iter().any(is_alive));
}

#[test]
fn osw_01_an_mcp_server_confines_itself_runs_keeps_and_wakes() {
    let has = kernel_has();
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| {
        let path = folder.path().join(name);
        std::fs::create_dir(&path).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (shared, seen, files, downloads) =
        (place("shared"), place("seen"), place("files"), place("downloads"));
    let skill = folder.path().join("skill");
    std::fs::create_dir(&skill).unwrap();
    std::fs::write(skill.join("SKILL.md"), "How to.").unwrap();
    std::fs::write(Path::new(&seen).join("a"), "seen").unwrap();
    std::fs::write(Path::new(&files).join("in.txt"), "from the host").unwrap();
    let state = folder.path().join("state");
    let (shared_at, seen_at) = (format!("{shared}:/shared:rw"), format!("{seen}:/seen"));
    let arguments = [
        "--tools",
        "all",
        "--state-dir",
        state.to_str().unwrap(),
        "--mount",
        &shared_at,
        "--mount",
        &seen_at,
        "--allow-writes",
        "--root",
        &files,
        "--downloads",
        &downloads,
        "--skill",
        skill.to_str().unwrap(),
    ];
    let mut wire = Wire::greeted(&arguments);
    assert_eq!(is_confined(wire.process()), has != "off");
    assert_eq!(children(wire.process()), [0; 0], "nothing needs a helper");
    let mut id = 10;
    let mut call = |tool: &str, arguments: Json| {
        id += 1;
        let result = wire.call(id, tool, arguments);
        assert_ne!(result["isError"], true, "{tool}: {result}");
        result["structuredContent"].clone()
    };
    assert_eq!(call("sandbox_capabilities", json!({}))["confinement"], has);
    for (language, code) in [
        ("python", "1 + 1"),
        ("javascript", "1 + 1"),
        ("php", "return 1 + 1;"),
        ("typescript", "const a: number = 1; a + 1"),
    ] {
        let ran = call("sandbox_eval", json!({"language": language, "code": code}));
        assert_eq!(ran["result"]["value"], 2, "{ran}");
    }
    call("sandbox_create", json!({"name": "box", "allow_writes": true}));
    call("sandbox_eval", json!({"sandbox": "box", "code": "x = 1"}));
    let line = "git init -q . && echo 'print(2)' > a.py && python3 a.py && cat /seen/a /skills/skill/SKILL.md && \
                mkdir -p /shared/b && echo kept > /shared/b/c && mv /shared/b/c /shared/d && rmdir /shared/b && \
                ln -s d /shared/e && touch -d @7 /shared/d && cat /shared/e";
    let ran = call("sandbox_exec", json!({"sandbox": "box", "command": line}));
    let said = (ran["stdout"].as_str(), ran["exit_code"].as_i64());
    assert_eq!(said, (Some("2\nseenHow to.kept\n"), Some(0)), "{ran}");
    assert_eq!(std::fs::read_to_string(Path::new(&shared).join("d")).unwrap(), "kept\n");
    call(
        "sandbox_upload",
        json!({"sandbox": "box", "host_path": format!("{files}/in.txt"), "path": "/workspace/in.txt"}),
    );
    let saved =
        call("sandbox_download", json!({"sandbox": "box", "path": "/workspace/in.txt", "save": true}));
    let saved = Path::new(saved["host_path"].as_str().unwrap());
    assert!(saved.starts_with(Path::new(&downloads).canonicalize().unwrap()), "{saved:?}");
    assert_eq!(std::fs::read_to_string(saved).unwrap(), "from the host");
    call("sandbox_checkpoint", json!({"sandbox": "box"}));
    call("sandbox_stop", json!({"sandbox": "box"}));
    assert_eq!(call("sandbox_eval", json!({"sandbox": "box", "code": "x"}))["result"]["value"], 1);
    let ran = wire.end(PATIENCE);
    assert_eq!(ran.status, Some(0), "{}", ran.complaint());
    assert_eq!(ran.complaint().matches("confinement is").count(), 1, "{}", ran.complaint());
    assert!(ran.complaint().contains(&format!("confinement is {has}")), "{}", ran.complaint());
}

#[test]
fn osw_01_an_http_server_confines_itself_listens_and_ends_when_it_is_asked() {
    let has = kernel_has();
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state");
    let served = Served::start(&["--state-dir", state.to_str().unwrap()]);
    assert_eq!(is_confined(served.process()), has != "off");
    for _ in 0..3 {
        let told = served.mcp(None, "sandbox_eval", &json!({"code": "1 + 1"}));
        assert!(told.json().to_string().contains("\"value\":2"), "{}", told.json());
    }
    let ran = served.end();
    assert_eq!(ran.status, Some(0), "{}", ran.complaint());
    assert!(ran.complaint().contains(&format!("confinement is {has}")), "{}", ran.complaint());
}

#[test]
fn s3_17_the_wall_is_left_out_or_demanded_by_an_option_and_each_says_so() {
    let mut wire = Wire::greeted(&["--no-confine"]);
    assert!(!is_confined(wire.process()));
    assert_eq!(wire.call(1, "sandbox_capabilities", json!({}))["structuredContent"]["confinement"], "off");
    assert!(wire.end(PATIENCE).complaint().contains("confinement is off"));
    let ran = binary::finish(binary::command(&["mcp", "--confine", "--no-confine"]), b"");
    assert_eq!(ran.status, Some(2));
    let has = kernel_has();
    let ran = binary::finish(binary::command(&["mcp", "--confine"]), b"");
    assert_eq!(ran.status == Some(0), has == "full", "{}", ran.complaint());
}

/// Answers every request as a model would that always says the same; remembers what was asked.
fn endpoint() -> (u16, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let seen = Arc::<Mutex<Vec<String>>>::default();
    let heard = seen.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut reader = BufReader::new(stream.unwrap());
            let (mut first, mut length) = (String::new(), 0);
            let _ = reader.read_line(&mut first);
            loop {
                let mut line = String::new();
                if reader.read_line(&mut line).unwrap_or(0) < 3 {
                    break;
                }
                if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap_or(0);
                }
            }
            let _ = std::io::copy(&mut reader.by_ref().take(length), &mut std::io::sink());
            let (status, body) = match first.starts_with("POST /v1/chat/completions") {
                true => {
                    ("200 OK", json!({"choices": [{"message": {"role": "assistant", "content": "a word"}}]}))
                }
                false => ("404 Not Found", Json::Null),
            };
            heard.lock().unwrap().push(first.trim().to_owned());
            let body = body.to_string();
            let answer = format!(
                "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
                body.len()
            );
            let _ = reader.get_mut().write_all(answer.as_bytes());
        }
    });
    (port, seen)
}

/// By a name, which the server cannot look up itself.
#[test]
fn osw_04_models_packages_and_repositories_are_reached_by_name_through_a_helper_that_ends_with_the_server() {
    let has = kernel_has();
    let (port, seen) = endpoint();
    let state = tempfile::tempdir().unwrap();
    let folder = state.path().join("state");
    let (model, index, git) = (
        format!("http://localhost:{port}/v1"),
        format!("http://localhost:{port}/simple"),
        format!("http://localhost:{port}/"),
    );
    let arguments = [
        "--tools",
        "all",
        "--state-dir",
        folder.to_str().unwrap(),
        "--llm-endpoint",
        &model,
        "--llm-model",
        "m",
        "--packages",
        "on",
        "--package-allow",
        "*",
        "--pip-index",
        &index,
        "--allow-git",
        &git,
    ];
    let mut wire = Wire::greeted(&arguments);
    let helpers = children(wire.process());
    assert_eq!(helpers.len(), usize::from(has != "off"));
    wire.call(1, "sandbox_create", json!({"name": "box"}));
    let asked = wire.call(2, "sandbox_eval", json!({"sandbox": "box", "code": "llm_query('?')"}));
    assert_eq!(asked["structuredContent"]["result"]["value"], "a word", "{asked}");
    let line = format!("pip install nothing-there; git clone -q http://localhost:{port}/r.git");
    wire.call(3, "sandbox_exec", json!({"sandbox": "box", "command": line}));
    let seen = seen.lock().unwrap().join("\n");
    for wanted in ["POST /v1/chat/completions", "GET /simple/nothing-there", "GET /r.git/info/refs"] {
        assert!(seen.contains(wanted), "{wanted} was not asked for: {seen}");
    }
    assert!(helpers.iter().all(|helper| is_confined(*helper)));
    wire.kill();
    until_gone(&helpers);
}

/// A server of MCP in the shell's language.
const SCRIPT: &str = concat!(
    r#"
echo $$ > "$PIDS"; sleep 1000 & echo $! >> "$PIDS"
tools='[{"name":"hello","inputSchema":{"type":"object"}}]'
call() { say '{"content":[{"type":"text","text":"hello, yes"}]}'; }
"#,
    include_str!("../../adapters/sources/src/testing/server.sh")
);

/// A source of one's own, whose one tool tells what it was given.
const SOURCE: &str = concat!(
    r#"
tools='[{"name":"args","inputSchema":{"type":"object"}}]'
call() { say "{\"content\":[],\"structuredContent\":$DORMOUSE_SOURCE_ARGS}"; }
"#,
    include_str!("../../adapters/sources/src/testing/server.sh")
);

#[test]
fn osw_04_a_confined_run_of_scenarios_starts_its_programs_writes_its_report_and_leaves_nothing() {
    if !can("osw_04_a_confined_run") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (files, temporary) = (folder.path().join("files"), folder.path().join("tmp"));
    std::fs::create_dir(&files).unwrap();
    std::fs::create_dir(&temporary).unwrap();
    let (file, out, pids) =
        (files.join("arena.yaml"), folder.path().join("a/report"), folder.path().join("pids"));
    let arena = json!({
        "apiVersion": "dormouse/v1", "kind": "Arena", "metadata": {"name": "confined"},
        "spec": {
            "mcp_servers": [
                {"name": "box", "source": "wasm", "scope": "session", "source_args": {}},
                {"name": "own", "command": "sh", "args": ["-c", SCRIPT], "env": {"PIDS": pids}},
                {"name": "mine", "source": "mine", "scope": "session", "source_args": {"who": "{{scenario.who}}"}},
            ],
            "scenarios": [{"spec": {
                "id": "one",
                "variables": {"who": "me"},
                "turns": [{"tool_calls": [
                    {"tool": "Bash", "arguments": {"command": "echo yes > kept"}},
                    {"tool": "mcp__own__hello", "arguments": {}},
                    {"tool": "args", "arguments": {}, "expect": {"structured": {"/who": "me"}}},
                ]}],
                "conversation_assertions": [
                    {"type": "tool_exec", "params": {"tool": "Bash", "args": {"command": "cat kept"}, "success_pattern": "yes"}},
                    {"type": "tool_exec", "params": {"tool": "mcp__own__hello", "args": {}, "success_pattern": "hello, yes"}},
                ],
            }}],
        },
    });
    std::fs::write(&file, arena.to_string()).unwrap();
    let source = files.join("source.sh");
    std::fs::write(&source, SOURCE).unwrap();
    let source = format!("mine=sh '{}'", source.display());
    let words = ["scenario", "run", "--confine", file.to_str().unwrap(), "--out", out.to_str().unwrap()];
    let words = [&words[..], &["--source", &source]].concat();
    let mut command = binary::command(&words);
    command.env("TMPDIR", &temporary);
    let ran = binary::finish(command, b"");
    assert_eq!(ran.status, Some(0), "{}{}", ran.text(), ran.complaint());
    assert!(std::fs::read_to_string(out.join("report.html")).unwrap().contains("</html>"));
    let pids = std::fs::read_to_string(&pids).unwrap();
    let pids: Vec<u32> = pids.lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(pids.len(), 2);
    until_gone(&pids);
    // The helper ends a moment after the run.
    let is_empty = || std::fs::read_dir(&temporary).unwrap().count() == 0;
    wait_until("the run removes its folder", PATIENCE, is_empty);
    // A relative folder, too: a confined process does not know where it is.
    let mut command =
        binary::command(&["scenario", "run", "--confine", file.to_str().unwrap(), "--source", &source]);
    command.env("TMPDIR", &temporary).current_dir(folder.path());
    let ran = binary::finish(command, b"");
    assert_eq!(ran.status, Some(0), "{}{}", ran.text(), ran.complaint());
    for name in ["report.html", "report.json", "junit.xml"] {
        assert!(folder.path().join("dormouse-report").join(name).is_file(), "{name}");
    }
}

/// The first use of a guest that is new here, as after an upgrade: what the server compiles lasts.
#[test]
fn s3_17_a_confined_server_compiles_a_guest_once() {
    if !can("s3_17_a_confined_server_compiles_a_guest_once") {
        return;
    }
    let own = dormouse::wasm::Settings::default_cache().unwrap().join("guests/javascript");
    let cache = tempfile::tempdir().unwrap();
    let guest = cache.path().join("guests/javascript");
    std::fs::create_dir_all(&guest).unwrap();
    for file in std::fs::read_dir(own).unwrap().flatten().filter(|file| file.file_name() != "lock") {
        std::fs::copy(file.path(), guest.join(file.file_name())).unwrap();
    }
    let mut wire = Wire::start_with(&[], &[("DORMOUSE_CACHE_DIR", cache.path().to_str().unwrap())]);
    wire.greet();
    assert!(is_confined(wire.process()));
    let told = wire.call(1, "sandbox_eval", json!({"code": "1 + 1", "language": "javascript"}));
    assert_eq!(told["structuredContent"]["result"]["value"], 2, "{told}");
    let mut made: Vec<_> = std::fs::read_dir(cache.path().join("artifacts"))
        .unwrap()
        .flatten()
        .filter_map(|file| Some(file.path().extension()?.to_str()?.to_owned()))
        .collect();
    made.sort();
    assert_eq!(made, ["cwasm", "sum"]);
    wire.end(PATIENCE);
}
