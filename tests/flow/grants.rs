//! FS-13: what the operator gives is looked at by each start of a server, and not remembered by sandboxes.

use std::fs;
use std::path::Path;

use dormouse_tests::binary;
use dormouse_tests::served::Served;
use dormouse_tests::wire::{PATIENCE, Wire};
use serde_json::{Value as Json, json};

/// One start of a server over a state folder.
struct Start {
    wire: Wire,
    next: i64,
}

impl Start {
    fn new(state: &Path, arguments: &[&str]) -> Self {
        let state = state.to_str().unwrap();
        let wire = Wire::greeted(&[&["--state-dir", state, "--tools", "all"], arguments].concat());
        Self { wire, next: 0 }
    }

    fn reply(&mut self, tool: &str, arguments: Json) -> Json {
        self.next += 1;
        self.wire.call(self.next, tool, arguments)
    }

    /// What a tool answers that must not refuse.
    #[track_caller]
    fn ok(&mut self, tool: &str, arguments: Json) -> Json {
        let mut reply = self.reply(tool, arguments);
        assert_ne!(reply["isError"], true, "{tool}: {reply}");
        reply["structuredContent"].take()
    }

    /// The error of a call that must be refused, or stopped.
    #[track_caller]
    fn error(&mut self, tool: &str, arguments: Json) -> Json {
        let mut reply = self.reply(tool, arguments);
        assert_eq!(reply["isError"], true, "{tool}: {reply}");
        reply["structuredContent"]["error"].take()
    }

    /// Both streams of a command line.
    #[track_caller]
    fn exec(&mut self, sandbox: &str, command: &str) -> String {
        let done = self.ok("sandbox_exec", json!({"sandbox": sandbox, "command": command}));
        format!("{}{}", done["stdout"].as_str().unwrap(), done["stderr"].as_str().unwrap())
    }

    /// The value of a snippet of Python, or the class of its exception.
    #[track_caller]
    fn eval(&mut self, sandbox: &str, code: &str) -> Json {
        let mut reply = self.reply("sandbox_eval", json!({"sandbox": sandbox, "code": code}));
        let done = &mut reply["structuredContent"];
        match done["exception"]["class"].take() {
            Json::Null => done["result"]["value"].take(),
            class => class,
        }
    }

    /// The sandbox with these fields of its answer.
    #[track_caller]
    fn get(&mut self, sandbox: &str) -> Json {
        self.ok("sandbox_get", json!({"sandbox": sandbox}))
    }

    fn end(self) {
        assert_eq!(self.wire.end(PATIENCE).status, Some(0));
    }
}

fn withdrawn(sandbox: &Json) -> Vec<(String, String)> {
    let text = |value: &Json| value.as_str().unwrap_or_default().to_owned();
    let all = sandbox["withdrawn"].as_array().unwrap_or_else(|| panic!("{sandbox}"));
    all.iter().map(|one| (text(&one["grant"]), text(&one["target"]))).collect()
}

fn named(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(grant, target)| ((*grant).to_owned(), (*target).to_owned())).collect()
}

/// The operator's folders, and the state.
struct Places {
    folder: tempfile::TempDir,
}

impl Places {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["data", "skills/demo", "state"] {
            fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        fs::write(folder.path().join("data/secret"), "from the host").unwrap();
        fs::write(folder.path().join("skills/demo/SKILL.md"), "# Demo\n\nSays hello.\n").unwrap();
        Self { folder }
    }

    fn of(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().unwrap().to_owned()
    }

    fn state(&self) -> std::path::PathBuf {
        self.folder.path().join("state")
    }
}

/// A mount for writing and a skill, given and taken back.
#[test]
fn fs_13_mounts_skills_and_writes_that_are_taken_back_are_gone_from_old_sandboxes_and_their_forks() {
    let places = Places::new();
    let (mount, skills) = (format!("{}:/data:rw", places.of("data")), places.of("skills"));
    let given = ["--mount", &mount, "--allow-writes", "--skills", &skills];
    let state = places.state();
    let mut first = Start::new(&state, &given);
    let made = first.ok("sandbox_create", json!({"name": "old", "allow_writes": true}));
    assert_eq!(made["mounts"][0], json!({"target": "/data", "writable": true}), "{made}");
    assert_eq!(made["withdrawn"], json!([]));
    assert!(!made.to_string().contains(&places.of("")), "a path of the host is shown: {made}");
    assert_eq!(first.exec("old", "cat /data/secret; echo one > /data/w1"), "from the host");
    assert_eq!(first.eval("old", "kept = open('/data/secret').read()\nkept"), "from the host");
    let checkpoint = first.ok("sandbox_checkpoint", json!({"sandbox": "old", "name": "before"}));
    first.end();
    assert_eq!(fs::read_to_string(places.of("data/w1")).unwrap(), "one\n");

    // Nothing is given any more.
    let mut second = Start::new(&state, &[]);
    assert_eq!(second.ok("sandbox_capabilities", json!({}))["mounts"], json!([]));
    let gone = named(&[("mount", "/data"), ("skill", "/skills/demo"), ("skill", "/workspace/skills/demo")]);
    let shown = second.get("old");
    assert_eq!((&shown["mounts"], withdrawn(&shown)), (&json!([]), gone.clone()));
    let listed = second.ok("sandbox_list", json!({}));
    assert_eq!(withdrawn(&listed["sandboxes"][0]), gone);
    let fork = second.ok("sandbox_fork", json!({"sandbox": "old"}));
    let fork = fork["sandboxes"][0]["id"].as_str().unwrap_or_else(|| panic!("{fork}")).to_owned();
    for sandbox in ["old", fork.as_str()] {
        let said = second
            .exec(sandbox, "cat /data/secret; echo two > /data/w2; cat /skills/demo/SKILL.md; ls /data");
        assert!(!said.contains("from the host") && !said.contains("hello"), "{said}");
        assert_eq!(said.matches("No such file").count(), 4, "{said}");
        assert_eq!(second.eval(sandbox, "open('/data/secret').read()"), "FileNotFoundError");
        // What was read is the sandbox's own.
        assert_eq!(second.eval(sandbox, "kept"), "from the host");
        for path in ["/data/secret", "/skills/demo/SKILL.md", "/workspace/skills/demo/SKILL.md"] {
            let error = second.error("sandbox_read", json!({"sandbox": sandbox, "path": path}));
            assert_eq!(error["code"], "not_found", "{path}: {error}");
        }
    }
    second.ok("sandbox_restore", json!({"sandbox": "old", "checkpoint_id": checkpoint["id"]}));
    assert_eq!(second.eval("old", "open('/data/secret').read()"), "FileNotFoundError");
    second.end();

    // From the command line, which is given nothing either; and over REST.
    let cli = |words: &[&str]| {
        let state = state.to_str().unwrap();
        binary::dormouse(&[&["sandbox", "--state-dir", state], words].concat(), b"")
    };
    let ran = cli(&["exec", "old", "cat /data/secret; echo three > /data/w3"]);
    assert!(!ran.text().contains("from the host"), "{ran:?}");
    assert!(ran.complaint().contains("`/data` is not mounted any more"), "{}", ran.complaint());
    let shown = cli(&["show", "old"]);
    assert!(shown.text().contains("\"target\":\"/data\""), "{}", shown.text());
    let served = Served::start(&["--state-dir", state.to_str().unwrap()]);
    let shown = served.ask("GET", "/api/sandboxes/old", None, None).json();
    assert_eq!(withdrawn(&shown), gone);
    assert_eq!(served.end().status, Some(0));
    assert_eq!(fs::read_dir(places.of("data")).unwrap().count(), 2, "something was written");

    // Given again for reading only, and then for writing, to the command line as well.
    let readable = mount.replace(":rw", "");
    let mut third = Start::new(&state, &["--mount", &readable, "--allow-writes"]);
    let shown = third.get("old");
    assert_eq!(shown["mounts"], json!([{"target": "/data", "writable": false}]));
    assert_eq!(withdrawn(&shown)[0], ("writes".to_owned(), "/data".to_owned()));
    let said = third.exec("old", "cat /data/secret; echo four > /data/w4");
    assert!(said.starts_with("from the host") && said.len() > "from the host".len(), "{said}");
    third.end();
    let ran = cli(&[
        "--mount",
        &mount,
        "--allow-writes",
        "--skills",
        &skills,
        "exec",
        "old",
        "echo five > /data/w5; cat /skills/demo/SKILL.md",
    ]);
    assert!(ran.text().contains("Says hello") && ran.complaint().is_empty(), "{ran:?}");
    assert_eq!(fs::read_to_string(places.of("data/w5")).unwrap(), "five\n");
    assert_eq!(fs::read_dir(places.of("data")).unwrap().count(), 3);
}

/// A folder that is moved costs the skill and nothing else; from its new place it comes back.
#[test]
fn fs_13_a_skill_whose_folder_was_moved_does_not_keep_its_sandbox_from_running() {
    let places = Places::new();
    let state = places.state();
    let mut first = Start::new(&state, &["--skills", &places.of("skills")]);
    first.ok("sandbox_create", json!({"name": "old"}));
    assert!(first.exec("old", "cat /skills/demo/SKILL.md").contains("Says hello"));
    assert_eq!(first.eval("old", "x = 41"), Json::Null);
    // While it runs: what is started later does without it.
    fs::rename(places.of("skills"), places.of("elsewhere")).unwrap();
    assert_eq!(first.eval("old", "x + 1"), 42);
    let javascript =
        first.ok("sandbox_eval", json!({"sandbox": "old", "language": "javascript", "code": "6 * 7"}));
    assert_eq!(javascript["result"]["value"], 42, "{javascript}");
    assert_eq!(first.exec("old", "python3 -c 'print(1)'"), "1\n");
    let refused = first.error("sandbox_read", json!({"sandbox": "old", "path": "/skills/demo/SKILL.md"}));
    assert!(!refused.to_string().contains(&places.of("")), "a path of the host is shown: {refused}");
    first.end();

    let mut second = Start::new(&state, &[]);
    assert_eq!(second.eval("old", "x + 1"), 42);
    assert_eq!(withdrawn(&second.get("old")).len(), 2);
    second.end();
    let mut third = Start::new(&state, &["--skills", &places.of("elsewhere")]);
    assert!(third.exec("old", "cat /workspace/skills/demo/SKILL.md").contains("Says hello"));
    assert_eq!(withdrawn(&third.get("old")), []);
    third.end();
}

/// The ceiling of memory holds for sandboxes that are there, up and down, and creates without arguments follow it.
#[test]
fn fs_13_the_ceiling_of_memory_is_that_of_the_last_start() {
    let places = Places::new();
    let state = places.state();
    let hold = |mebibytes: u32| format!("held = bytearray({mebibytes} << 20)\nlen(held) >> 20");
    let mut first = Start::new(&state, &["--memory-max", "2GiB"]);
    let most = |start: &mut Start| {
        let listed = start.wire.ask(-1, "tools/list", json!({}));
        let tools = listed["result"]["tools"].as_array().unwrap().clone();
        let create = tools.iter().find(|tool| tool["name"] == "sandbox_create").unwrap();
        create["inputSchema"]["properties"]["memory_bytes"]["maximum"].clone()
    };
    assert_eq!(most(&mut first), 2_u64 << 30);
    first.ok("sandbox_create", json!({"name": "large", "memory_bytes": 1 << 30}));
    first.ok("sandbox_create", json!({"name": "usual"}));
    assert_eq!(first.get("usual")["limits"]["memory_bytes"], 512 << 20);
    assert_eq!(first.eval("large", &hold(600)), 600);
    first.ok("sandbox_write", json!({"sandbox": "large", "path": "/workspace/f", "content": "kept"}));
    first.end();

    // What holds more than half a gibibyte wakes.
    let mut second = Start::new(&state, &["--memory-max", "2GiB"]);
    assert_eq!(second.eval("large", "len(held) >> 20"), 600);
    second.end();

    let mut third = Start::new(&state, &["--memory-max", "64MiB"]);
    assert_eq!(most(&mut third), 64 << 20);
    third.ok("sandbox_create", json!({"name": "small"}));
    assert_eq!(third.get("small")["limits"]["memory_bytes"], 64 << 20);
    assert_eq!(third.eval("small", "1 + 1"), 2);
    assert_eq!(third.eval("usual", "1 + 1"), 2);
    for sandbox in ["small", "usual"] {
        assert_eq!(third.eval(sandbox, &hold(100)), "MemoryError", "{sandbox}");
    }
    let refused = third.error("sandbox_create", json!({"memory_bytes": 65 << 20}));
    assert_eq!(refused["code"], "args_invalid");
    // What holds more can be emptied: its files are there, and a reset gives it a fresh interpreter.
    let shown = third.get("large");
    assert_eq!(
        (&shown["limits"]["memory_bytes"], withdrawn(&shown)),
        (&json!(64 << 20), named(&[("memory", "")]))
    );
    let error = third.error("sandbox_eval", json!({"sandbox": "large", "code": "del held"}));
    assert_eq!(error["code"], "limit_memory");
    assert!(error["hint"].as_str().unwrap().contains("sandbox_reset"), "{error}");
    let file = third.ok("sandbox_read", json!({"sandbox": "large", "path": "/workspace/f"}));
    assert_eq!(file["content"], "kept");
    third.ok("sandbox_reset", json!({"sandbox": "large"}));
    assert_eq!(third.eval("large", "1 + 1"), 2);
    assert_eq!(third.eval("large", &hold(100)), "MemoryError");
    third.end();
}

/// Packages and git repositories are the operator's at each call.
#[test]
fn fs_13_packages_and_git_are_those_of_the_last_start() {
    let places = Places::new();
    let state = places.state();
    let address = "http://127.0.0.1:9/team/";
    let mut first = Start::new(
        &state,
        &[
            "--packages",
            "on",
            "--package-allow",
            "*",
            "--pip-index",
            "http://127.0.0.1:9/simple/",
            "--allow-git",
            address,
        ],
    );
    first.ok("sandbox_create", json!({"name": "old"}));
    assert!(first.exec("old", "pip --version").starts_with("pip "));
    let clone = format!("git clone {address}a.git c");
    let reached = first.exec("old", &clone);
    first.end();
    let mut second = Start::new(&state, &[]);
    let fork = second.ok("sandbox_fork", json!({"sandbox": "old"}))["sandboxes"][0]["id"].clone();
    for sandbox in ["old", fork.as_str().unwrap()] {
        let pip = second.ok("sandbox_exec", json!({"sandbox": sandbox, "command": "pip install idna"}));
        assert!(pip["exit_code"] != 0 && pip["stderr"].as_str().unwrap().contains("not"), "{pip}");
        let error = second.error("sandbox_install", json!({"sandbox": sandbox, "packages": ["idna"]}));
        assert_eq!(error["code"], "capability_unavailable", "{error}");
        let refused = second.exec(sandbox, &clone);
        assert_ne!(refused, reached, "it was not even tried the first time");
    }
    second.end();
}
