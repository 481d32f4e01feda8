//! The tools over sandboxes that last, over a ledger and machines that only pretend.

use std::path::Path;

use dormouse_core::sandboxes::Rules;
use dormouse_core::testing::{FakeProvider, ManualClock, MemoryLedger};

use super::*;

pub(super) struct Desk {
    pub(super) surface: Surface,
    pub(super) clock: Arc<ManualClock>,
    pub(super) provider: FakeProvider,
    pub(super) folder: tempfile::TempDir,
    runtime: tokio::runtime::Runtime,
}

impl Desk {
    pub(super) fn new(profile: Profile) -> Self {
        let (provider, clock) = (FakeProvider::default(), Arc::new(ManualClock::default()));
        let runtime = Runtime::new(Policy::default(), Arc::new(provider.clone()));
        let ledger = Arc::new(MemoryLedger::default());
        let runtime = runtime.with_sandboxes(ledger, Rules::default(), clock.clone());
        let folder = tempfile::tempdir().unwrap();
        let host = HostFolders::default().readable(folder.path()).unwrap();
        let surface = Surface::new(runtime).with_profile(profile).with_host(host);
        let surface = surface.with_tools(Toolset::All).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        Self { surface, clock, provider, folder, runtime }
    }

    pub(super) fn with_profiles(self, profiles: &[Profile]) -> Self {
        Self { surface: self.surface.with_profiles(profiles), ..self }
    }

    pub(super) fn call_as(&self, owner: &str, name: &str, arguments: Json) -> Reply {
        let Json::Object(arguments) = arguments else { panic!("not an object") };
        let context = CallContext::of(Owner::parse(owner).unwrap());
        let reply = self.runtime.block_on(self.surface.call(name, arguments, context)).expect("a tool");
        validate(name, &self.surface.get(name).unwrap().output_schema, &reply.structured);
        assert!(reply.text.len() <= crate::call::fit::MAX_TEXT);
        assert_eq!(reply.is_error, reply.text.starts_with("Error: "), "{}", reply.text);
        reply
    }

    pub(super) fn call(&self, name: &str, arguments: Json) -> Reply {
        self.call_as(Owner::local().as_str(), name, arguments)
    }

    /// What a call that must not be refused answers.
    pub(super) fn ok(&self, name: &str, arguments: Json) -> Json {
        let reply = self.call(name, arguments);
        assert!(!reply.is_error, "{name}: {}", reply.text);
        reply.structured
    }

    pub(super) fn code(&self, name: &str, arguments: Json) -> String {
        let reply = self.call(name, arguments);
        reply.structured["error"]["code"].as_str().unwrap_or("none").into()
    }

    pub(super) fn write(&self, name: &str, bytes: &[u8]) -> String {
        let path = self.folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap_or(Path::new("/"))).unwrap();
        std::fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().into()
    }
}

/// Tools that take nothing but a sandbox, or can do with these arguments.
const WITH_A_SANDBOX: [(&str, &str); 31] = [
    ("sandbox_get", "{}"),
    ("sandbox_stop", "{}"),
    ("sandbox_resume", "{}"),
    ("sandbox_reset", "{}"),
    ("sandbox_exec", r#"{"command":"ls"}"#),
    ("sandbox_job", r#"{"action":"list"}"#),
    ("sandbox_install", r#"{"packages":["x"]}"#),
    ("run_tests", "{}"),
    ("run_lint", "{}"),
    ("run_typecheck", "{}"),
    ("sandbox_eval", r#"{"code":"1"}"#),
    ("sandbox_read", r#"{"path":"/x"}"#),
    ("sandbox_write", r#"{"path":"/x","content":"1"}"#),
    ("sandbox_edit", r#"{"path":"/x","old":"1","new":"2"}"#),
    ("sandbox_files", "{}"),
    ("sandbox_remove_file", r#"{"path":"/x"}"#),
    ("sandbox_rename_file", r#"{"path":"/x","to":"/y"}"#),
    ("sandbox_make_folder", r#"{"path":"/x"}"#),
    ("sandbox_upload", r#"{"path":"/x","content_base64":"MQ=="}"#),
    ("sandbox_download", r#"{"path":"/x"}"#),
    ("sandbox_load", r#"{"path":"in.txt","var":"v"}"#),
    ("sandbox_get_var", r#"{"name":"v"}"#),
    ("sandbox_vars", "{}"),
    ("sandbox_checkpoint", "{}"),
    ("sandbox_restore", r#"{"checkpoint_id":"ckpt-1"}"#),
    ("sandbox_list_checkpoints", "{}"),
    ("sandbox_describe_checkpoint", r#"{"checkpoint_id":"ckpt-1"}"#),
    ("sandbox_remove_checkpoint", r#"{"checkpoint_id":"ckpt-1"}"#),
    ("sandbox_history", "{}"),
    ("sandbox_fork", "{}"),
    ("sandbox_destroy", "{}"),
];

fn arguments(text: &str, sandbox: &str) -> Json {
    let mut arguments: Json = serde_json::from_str(text).unwrap();
    arguments["sandbox"] = sandbox.into();
    arguments
}

#[test]
fn every_tool_of_every_profile_follows_the_rules() {
    for (_, profile) in Profile::ALL {
        let desk = Desk::new(profile);
        let specs = desk.surface.list();
        assert!(!specs.is_empty() && specs.is_sorted_by_key(|spec| spec.name));
        for spec in specs {
            let bytes = spec.name.bytes();
            // The seed's own names begin as they do; what clients take is the same.
            let is_letter = |byte: u8| {
                byte.is_ascii_lowercase() || (profile == Profile::Codegen && byte.is_ascii_uppercase())
            };
            assert!(spec.name.len() <= 32 && spec.name.bytes().next().is_some_and(is_letter));
            assert!({ bytes }.all(|byte| is_letter(byte) || byte == b'_'), "{}", spec.name);
            check_portable(spec.name, &spec.input_schema);
            check_portable(spec.name, &spec.output_schema);
            if matches!(profile, Profile::Sandbox | Profile::Rlm | Profile::Codegen) {
                let sentences = spec.description.matches(". ").count() + 1;
                assert!((3..=6).contains(&sentences), "{}: {sentences} sentences", spec.name);
            }
        }
    }
}

#[test]
fn every_tool_and_every_argument_is_in_the_documents() {
    let text = include_str!("../../../docs/tools.md");
    for (profile_name, profile) in Profile::ALL {
        let desk = Desk::new(profile);
        let table = match profile {
            Profile::Sandbox => text,
            _ => text.split(&format!("| tool of `{profile_name}` |")).nth(1).expect("a table"),
        };
        for spec in desk.surface.list() {
            let row = table.lines().find(|line| line.starts_with(&format!("| `{}`", spec.name)));
            let cells: Vec<&str> =
                row.unwrap_or_else(|| panic!("no row of `{}`", spec.name)).split(" | ").collect();
            let properties = spec.input_schema["properties"].as_object().expect("properties");
            for argument in properties.keys() {
                assert!(cells[1].contains(&format!("`{argument}`")), "{}: {argument}", spec.name);
            }
            assert_eq!(cells[1].matches('`').count() / 2, properties.len(), "{}: {}", spec.name, cells[1]);
            if profile == Profile::Sandbox {
                assert_eq!(cells[0].ends_with('*'), catalog::USUAL.contains(&spec.name), "{}", spec.name);
            }
        }
    }
}

#[test]
fn the_choice_of_tools_is_the_operators() {
    let desk = Desk::new(Profile::Sandbox);
    let names = |surface: &Surface| surface.list().iter().map(|spec| spec.name).collect::<Vec<_>>();
    assert_eq!(names(&desk.surface).len(), WITH_A_SANDBOX.len() + 5);
    let alone = ["sandbox_capabilities", "sandbox_eval"];
    let lasting: Vec<_> = names(&desk.surface).into_iter().filter(|name| !alone.contains(name)).collect();
    assert_eq!(lasting, catalog::LASTING, "those that are missed without sandboxes that last");
    let surface = desk.surface.with_tools(Toolset::default()).unwrap();
    assert_eq!(names(&surface), catalog::USUAL);
    let chosen = Toolset::parse("sandbox_eval, sandbox_vars").unwrap();
    let surface = surface.with_tools(chosen).unwrap();
    assert_eq!(names(&surface), ["sandbox_eval", "sandbox_vars"]);
    let error = surface.with_tools(Toolset::parse("sandbox_evil").unwrap()).err().unwrap();
    assert_eq!(error.hint(), Some("did you mean `sandbox_eval`?"));
    assert!(Toolset::parse("a,,b").is_err());
    let (surface, _) = super::surface(Policy::default(), &[]);
    for profile in [Profile::Sprites, Profile::Rlm, Profile::Codegen] {
        assert!(profile.needs_sandboxes());
    }
    assert_eq!(names(&surface.with_profile(Profile::Rlm)), Vec::<&str>::new());
}

/// A made-up, a foreign and a destroyed sandbox are the same; bad names too.
#[test]
fn mcp_07_a_sandbox_that_is_not_ones_own_is_unknown_to_every_tool() {
    let desk = Desk::new(Profile::Sandbox);
    desk.write("in.txt", b"x");
    let theirs = desk.call_as("them", "sandbox_create", json!({"name": "theirs"})).structured;
    let gone = desk.ok("sandbox_create", json!({"name": "gone"}));
    desk.ok("sandbox_destroy", json!({"sandbox": "gone"}));
    let made_up = format!("sb-{}", "a".repeat(26));
    let long = "x".repeat(10_000);
    let ids = [theirs["id"].as_str(), gone["id"].as_str(), Some(&made_up), Some("theirs"), Some(&long)];
    for (tool, with) in WITH_A_SANDBOX {
        for id in ids.into_iter().flatten().chain(["../x", "a/b", "名前", "\u{0}", " "]) {
            let reply = desk.call(tool, arguments(with, id));
            let shown: String = id.escape_debug().take(64).collect();
            assert_eq!(reply.structured["error"]["code"], "unknown_sandbox", "{tool} {shown}");
            assert_eq!(reply.structured["error"]["message"], format!("there is no sandbox `{shown}`"));
        }
        if tool != "sandbox_eval" {
            assert_eq!(desk.code(tool, serde_json::from_str(with).unwrap()), "args_invalid", "{tool}");
        }
        let mut two = arguments(with, "a");
        two["session_key"] = "k".into();
        assert_eq!(desk.code(tool, two), "args_invalid", "{tool}");
    }
    assert_eq!(desk.provider.woken(), 0, "what is refused wakes nothing");
}

/// What is no plain absolute path is refused by every tool that takes one.
#[test]
fn fs_02_a_path_that_leads_elsewhere_is_refused_by_every_tool() {
    let desk = Desk::new(Profile::Sandbox);
    desk.ok("sandbox_create", json!({"name": "a"}));
    let (long, component) = (format!("/{}", "a/".repeat(2_048)), format!("/{}", "a".repeat(256)));
    for (tool, with) in WITH_A_SANDBOX {
        if !with.contains(r#""path":"/"#) && tool != "sandbox_files" {
            continue;
        }
        for path in [
            "../../etc/passwd",
            "x",
            "/a/../b",
            "./..//..",
            "%2e%2e",
            "..\\",
            "/a\0",
            &long,
            &component,
            "CON",
            "/a/",
            "/.",
            "C:\\x",
            "file:///etc/passwd",
        ] {
            let mut call = arguments(with, "a");
            call["path"] = path.into();
            let code = desk.code(tool, call);
            assert!(code == "args_invalid" || code == "too_large", "{tool} {path:?}: {code}");
        }
    }
    let host = json!({"sandbox": "a", "path": "/etc/passwd", "var": "v"});
    assert_eq!(desk.code("sandbox_load", host), "path_denied");
    let host = json!({"sandbox": "a", "path": "/x", "host_path": "/etc/passwd"});
    assert_eq!(desk.code("sandbox_upload", host), "path_denied");
}

#[test]
fn a_sandbox_is_made_looked_at_stopped_and_destroyed() {
    let desk = Desk::new(Profile::Sandbox);
    let made = desk.ok("sandbox_create", json!({"name": "a", "memory_bytes": 64 << 20, "env": ["A=1=2"]}));
    assert_eq!(
        (&made["phase"], &made["status"], &made["created"]),
        (&json!("running"), &json!("running"), &json!(true))
    );
    assert_eq!(made["created_at"], "2026-01-25T02:00:00.000Z");
    assert_eq!(made["limits"]["memory_bytes"], 64 << 20);
    for (with, code) in [
        (json!({"name": "a"}), "name_taken"),
        (json!({"name": "a/b"}), "args_invalid"),
        (json!({"name": made["id"]}), "args_invalid"),
        (json!({"env": ["=1"]}), "args_invalid"),
        (json!({"allow_writes": true}), "write_denied"),
        (json!({"persistence": "forever"}), "args_invalid"),
        (json!({"name": "x".repeat(10_000)}), "too_large"),
    ] {
        assert_eq!(desk.code("sandbox_create", with.clone()), code, "{with}");
    }
    let again = desk.ok("sandbox_create", json!({"session_key": "k"}));
    let same = desk.ok("sandbox_create", json!({"session_key": "k"}));
    assert_eq!((&again["id"], &same["created"]), (&same["id"], &json!(false)));

    let artifact = json!({"sandbox": "a", "path": "/workspace/outputs/x.csv", "content": "1"});
    desk.ok("sandbox_write", artifact);
    let listed = |owner: &str| {
        let owner = Owner::parse(owner).unwrap();
        let artifacts = desk.runtime.block_on(desk.surface.list_resources(&owner, None)).unwrap();
        artifacts.all.into_iter().map(|one| one.name).collect::<Vec<_>>()
    };
    assert_eq!(listed(Owner::local().as_str()), ["x.csv"]);
    assert!(listed("somebody").is_empty(), "artifacts are their owner's");

    assert_eq!(desk.ok("sandbox_stop", json!({"sandbox": "a"}))["stop_reason"], "user");
    assert_eq!(desk.ok("sandbox_stop", json!({"sandbox": "a"}))["status"], "shutdown");
    assert_eq!(desk.ok("sandbox_resume", json!({"sandbox": "a"}))["phase"], "running");
    let page = desk.ok("sandbox_list", json!({"limit": 1}));
    let next = desk.ok("sandbox_list", json!({"limit": 1, "cursor": page["next_cursor"]}));
    assert_ne!(page["sandboxes"][0]["id"], next["sandboxes"][0]["id"]);
    assert_eq!(desk.ok("sandbox_list", json!({"phase": "stopped"}))["sandboxes"], json!([]));
    assert_eq!(desk.code("sandbox_list", json!({"cursor": "x"})), "args_invalid");
    desk.ok("sandbox_destroy", json!({"session_key": "k"}));
    assert_eq!(desk.code("sandbox_destroy", json!({"session_key": "k"})), "unknown_sandbox");
}

#[test]
fn a_run_happens_where_it_is_asked_for() {
    let desk = Desk::new(Profile::Sandbox);
    assert!(desk.ok("sandbox_eval", json!({"code": "set v 1"})).get("sandbox_id").is_none());
    let first = desk.ok("sandbox_eval", json!({"code": "set v 1", "session_key": "k"}));
    let id = &first["sandbox_id"];
    let shown = desk.ok("sandbox_eval", json!({"code": "get v", "sandbox": id, "allow_writes": false}));
    assert_eq!((&shown["result"]["value"], &shown["sandbox_id"]), (&json!("1"), id));
    for (name, value) in
        [("memory_bytes", json!(64 << 20)), ("fuel", json!(1)), ("allow_writes", json!(true))]
    {
        let mut call = json!({"code": "1", "sandbox": id});
        call[name] = value;
        assert_eq!(desk.code("sandbox_eval", call), "args_invalid", "{name}");
    }
    let stopped = desk.call("sandbox_eval", json!({"code": "stop", "sandbox": id}));
    assert!(stopped.is_error && stopped.text.ends_with("recovery: before_run"), "{}", stopped.text);
    assert_eq!(
        (&stopped.structured["recovery"], &stopped.structured["sandbox_id"]),
        (&json!("before_run"), id)
    );
    // Only the tools that begin something make what a key names.
    for tool in ["sandbox_vars", "sandbox_files", "sandbox_checkpoint", "sandbox_reset", "sandbox_get"] {
        assert_eq!(desk.code(tool, json!({"session_key": "new"})), "unknown_sandbox");
    }
    desk.ok("sandbox_write", json!({"session_key": "new", "path": "/x", "content": "1"}));
    desk.ok("sandbox_files", json!({"session_key": "new"}));
}

#[test]
fn files_are_written_edited_listed_and_read_in_parts() {
    let desk = Desk::new(Profile::Sandbox);
    let a = |with: Json| {
        let mut call = with;
        call["session_key"] = "k".into();
        call
    };
    let text = "one\ntwo é\nthree\nfour";
    desk.ok("sandbox_write", a(json!({"path": "/workspace/t", "content": "one\n"})));
    let more = a(json!({"path": "/workspace/t", "content": &text[4..], "append": true}));
    assert_eq!(desk.ok("sandbox_write", more)["size_bytes"], text.len());
    let read = |with: Json| {
        let mut call = a(with);
        call["path"] = "/workspace/t".into();
        desk.ok("sandbox_read", call)
    };
    let whole = read(json!({}));
    assert_eq!((&whole["content"], whole.get("next_offset")), (&json!(text), None));
    let part = read(json!({"max_bytes": 9}));
    assert_eq!((&part["content"], &part["next_offset"]), (&json!("one\ntwo "), &json!(8)), "é is not cut");
    assert_eq!(read(json!({"offset": 9, "max_bytes": 4}))["encoding"], "base64");
    assert_eq!(read(json!({"offset": 99}))["content"], "");
    let lines = read(json!({"start_line": 2, "line_count": 2}));
    assert_eq!((&lines["content"], &lines["next_line"]), (&json!("two é\nthree\n"), &json!(4)));
    let last = read(json!({"start_line": 4}));
    assert_eq!((&last["content"], last.get("next_line")), (&json!("four"), None));
    assert_eq!(read(json!({"start_line": 40}))["content"], "");
    let both = a(json!({"path": "/workspace/t", "offset": 1, "start_line": 1}));
    assert_eq!(desk.code("sandbox_read", both), "args_invalid");

    let edit = |old: &str, all: bool| a(json!({"path": "/workspace/t", "old": old, "new": "-", "all": all}));
    assert_eq!(desk.ok("sandbox_edit", edit("two", false))["replaced"], 1);
    assert_eq!(desk.code("sandbox_edit", edit("two", false)), "args_invalid");
    assert_eq!(desk.code("sandbox_edit", edit("o", false)), "args_invalid");
    assert_eq!(desk.ok("sandbox_edit", edit("o", true))["replaced"], 2);
    let listed = desk.ok("sandbox_files", a(json!({})));
    assert_eq!((&listed["entries"][0]["path"], &listed["total"]), (&json!("t"), &json!(1)));
    assert_eq!(desk.code("sandbox_read", a(json!({"path": "/none"}))), "not_found");
    let bad = a(json!({"path": "/x", "content": "?", "encoding": "base64"}));
    assert_eq!(desk.code("sandbox_write", bad), "args_invalid");
    // What would grow six times on the wire is cut to what an answer holds, and says where to go on.
    let control = "\u{1}".repeat(60 << 10);
    desk.ok("sandbox_write", a(json!({"path": "/workspace/t", "content": control})));
    let cut = read(json!({"max_bytes": 65_536}));
    assert_eq!(cut["next_offset"], cut["bytes"]);
}

#[test]
fn whole_files_and_archives_go_in_and_out() {
    let desk = Desk::new(Profile::Sandbox);
    let host = desk.write("in.bin", b"from the host");
    let up =
        desk.ok("sandbox_upload", json!({"session_key": "k", "path": "/workspace/b", "host_path": host}));
    assert_eq!((&up["files"], &up["bytes"]), (&json!(1), &json!(13)));
    let down = desk.ok("sandbox_download", json!({"session_key": "k", "path": "/workspace/b"}));
    assert_eq!((&down["sha256"], &down["content_base64"]), (&up["sha256"], &json!("ZnJvbSB0aGUgaG9zdA==")));
    let uri = down["resource"]["uri"].as_str().unwrap();
    assert!(uri.starts_with("dormouse://sandbox/sb-") && uri.ends_with("/files/workspace/b"), "{uri}");
    let save = json!({"session_key": "k", "path": "/workspace/b", "save": true});
    assert_eq!(desk.code("sandbox_download", save), "capability_unavailable");
    // A file of more than one piece arrives whole, in the place of what was there.
    let large: Vec<u8> = (0..20u32 << 20).map(|at| at.to_le_bytes()[2]).collect();
    let host = desk.write("large.bin", &large);
    let up =
        desk.ok("sandbox_upload", json!({"session_key": "k", "path": "/workspace/b", "host_path": host}));
    assert_eq!((&up["files"], &up["bytes"]), (&json!(1), &json!(20 << 20)));
    let down = desk.ok("sandbox_download", json!({"session_key": "k", "path": "/workspace/b"}));
    assert_eq!((&down["sha256"], &down["size_bytes"]), (&up["sha256"], &json!(20 << 20)));
    let listed = desk.ok("sandbox_files", json!({"session_key": "k"}));
    assert_eq!(listed["total"], 1, "no piece is left: {listed}");
    let none = json!({"session_key": "k", "path": "/x", "content_base64": "MQ==", "unpack": true});
    assert_eq!(desk.code("sandbox_upload", none), "args_invalid");
    assert_eq!(desk.code("sandbox_upload", json!({"session_key": "k", "path": "/x"})), "args_invalid");
}

/// S3-05, acceptance run 6: the content of what is loaded is in no answer.
#[test]
fn what_is_loaded_is_not_shown() {
    let desk = Desk::new(Profile::Sandbox);
    let big = desk.write("big.txt", "CANARY ".repeat(200_000).as_bytes());
    let reply = desk.call("sandbox_load", json!({"session_key": "k", "path": big, "var": "big"}));
    assert_eq!(reply.text, "Loaded big.txt into `big` (1400000 chars)");
    assert!(!reply.structured.to_string().contains("CANARY"));
    let vars = desk.ok("sandbox_vars", json!({"session_key": "k"}));
    assert_eq!((&vars["variables"][0]["name"], &vars["total"]), (&json!("big"), &json!(1)));
    desk.write("n.json", b"{\"a\": [1]}");
    desk.ok("sandbox_load", json!({"session_key": "k", "path": "n.json", "var": "_n", "as": "json"}));
    assert_eq!(desk.ok("sandbox_vars", json!({"session_key": "k"}))["total"], 1, "underscores are hidden");
    let got = desk.ok("sandbox_get_var", json!({"session_key": "k", "name": "_n", "query": "value"}));
    // The machine of these tests repeats the expression that it is asked for: name and query are arguments in it.
    let shown = got["result"]["value"].as_str().unwrap_or_default();
    assert!(shown.contains(r#"["_n","value",0,null,"#) && shown.ends_with(r#": {"a": [1]}"#), "{shown}");
    desk.write("bytes", b"\xff\xfe");
    desk.write(".ssh/id", b"secret");
    for (path, var, form, code) in [
        ("bytes", "v", "text", "args_invalid"),
        ("bytes", "v", "json", "args_invalid"),
        ("bytes", "1v", "bytes", "args_invalid"),
        ("bytes", "v; import os", "bytes", "args_invalid"),
        ("bytes", "v", "bytes", "none"),
        ("*.txt", "v", "text", "args_invalid"),
        ("none", "v", "text", "not_found"),
        (".ssh/id", "v", "text", "path_denied"),
    ] {
        let call = json!({"session_key": "k", "path": path, "var": var, "as": form});
        assert_eq!(desk.code("sandbox_load", call), code, "{path} {var} {form}");
    }
    assert_eq!(desk.code("sandbox_get_var", json!({"session_key": "k", "name": "nope"})), "not_found");
}

/// S4-16: each refusal has a code of its own.
#[test]
fn a_checkpoint_leads_back_and_forks_lead_away() {
    let desk = Desk::new(Profile::Sandbox);
    for name in ["a", "b"] {
        desk.ok("sandbox_create", json!({"name": name}));
    }
    let eval =
        |code: &str, sandbox: &Json| desk.ok("sandbox_eval", json!({"code": code, "sandbox": sandbox}));
    let a = json!("a");
    eval("set v 1", &a);
    let saved = desk.ok("sandbox_checkpoint", json!({"sandbox": "a", "name": "before"}));
    eval("set v 2", &a);
    let back = json!({"sandbox": "a", "checkpoint_id": saved["id"]});
    let told = desk.call("sandbox_restore", back).text;
    assert_eq!(told, format!("The sandbox `a` is as it was at `{}`.", saved["id"].as_str().unwrap()));
    assert_eq!(eval("get v", &a)["result"]["value"], "1");
    for (sandbox, checkpoint, code) in [
        ("a", json!("ckpt-none"), "unknown_checkpoint"),
        ("b", saved["id"].clone(), "checkpoint_of_other_sandbox"),
        ("c", saved["id"].clone(), "unknown_sandbox"),
    ] {
        let call = json!({"sandbox": sandbox, "checkpoint_id": checkpoint});
        assert_eq!(desk.code("sandbox_restore", call), code);
    }
    let listed = desk.ok("sandbox_list_checkpoints", json!({"sandbox": "a"}));
    assert_eq!(listed["checkpoints"][0]["name"], "before");
    let foreign = json!({"sandbox": "b", "checkpoint_id": saved["id"]});
    assert_eq!(desk.code("sandbox_remove_checkpoint", foreign), "checkpoint_of_other_sandbox");
    let gone = desk.ok("sandbox_remove_checkpoint", json!({"sandbox": "a", "checkpoint_id": "before"}));
    assert_eq!(gone["checkpoint_id"], saved["id"]);
    assert_eq!(desk.ok("sandbox_list_checkpoints", json!({"sandbox": "a"}))["checkpoints"], json!([]));
    let forks = desk.ok("sandbox_fork", json!({"sandbox": "a", "count": 2}));
    let fork = &forks["sandboxes"][1]["id"];
    eval("set v 9", fork);
    assert_eq!(
        (&eval("get v", &a)["result"]["value"], &eval("get v", fork)["result"]["value"]),
        (&json!("1"), &json!("9"))
    );
    assert_eq!(desk.code("sandbox_fork", json!({"sandbox": "a", "count": 99})), "quota_exceeded");
    desk.ok("sandbox_reset", json!({"sandbox": "a"}));
    assert_eq!(eval("get v", &a)["result"]["value"], "");
}
