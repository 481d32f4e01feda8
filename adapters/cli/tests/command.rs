//! The whole binary, for everything that needs no guest: usage, failures, exit status.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test of a whole process")]

use std::io::Write as _;
use std::process::{Command, Output, Stdio};

/// Runs the binary with an empty cache folder and a bare environment.
fn dormouse(words: &[&str], input: &[u8]) -> Output {
    let cache = tempfile::tempdir().unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_dormouse"))
        .args(words)
        .env_clear()
        .env("DORMOUSE_CACHE_DIR", cache.path())
        .current_dir(cache.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A command that does not read its input closes it early.
    let _ = child.stdin.take().unwrap().write_all(input);
    child.wait_with_output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn failures_have_a_status_a_code_and_a_hint() {
    for (words, status, expected) in [
        (
            &["eval", "--timeout", "10", "1"][..],
            2,
            "error[args_invalid]: `--timeout`: `10` is not a time\nhint: ",
        ),
        (&["eval", "--timeout", "61s", "1"], 2, "error[args_invalid]: the wall-clock limit of 61000 ms"),
        (
            &["eval", "--memory", "1 apple", "1"],
            2,
            "error[args_invalid]: `--memory`: `1 apple` is not a size",
        ),
        (&["eval", "--env", "A", "1"], 2, "error[args_invalid]: `--env`: `A` is not NAME=VALUE"),
        (&["eval", "-l", "C++", "1"], 2, "error[args_invalid]: `C++` is not a language name"),
        (
            &["repl", "-l", "cobol"],
            2,
            "error[unknown_language]: there is no guest for the language `cobol`\nhint: known languages: ",
        ),
        (
            &["eval", "-l", "cobol", "1"],
            2,
            "error[unknown_language]: there is no guest for the language `cobol`",
        ),
        (&["eval", "--network", "none.toml", "1"], 1, "error[not_found]: "),
        (&["eval", "--mount", ".:/a:rw", "1"], 1, "error[write_denied]: `--mount .:/a:rw` requests writes"),
        (
            &["eval", "--mount", "./none:/a", "1"],
            1,
            "error[path_denied]: `--mount`: `./none` cannot be shown",
        ),
        (
            &["eval", "--file", "none.py"],
            2,
            "error[args_invalid]: `none.py` cannot be read: there is no such file",
        ),
        (&["eval", "--file", "."], 2, "error[args_invalid]: `.` is not a regular file"),
        (&["eval", "-l", "python", "1"], 1, "error[guest_missing]: "),
        (&["eval"], 2, "error[args_invalid]: no code was given"),
        (&["run", "none.wasm"], 2, "error[args_invalid]: `none.wasm` cannot be read"),
        (&["guests", "path", "python"], 1, "error[guest_missing]: "),
        (&["guests", "build"], 1, "error[capability_unavailable]: there is no source checkout"),
        (
            &["guests", "build", "--source", "."],
            1,
            "error[capability_unavailable]: `.` is no source checkout",
        ),
        (&["mcp", "--mount", "./none:/a"], 1, "error[path_denied]: "),
        (&["mcp", "--timeout-max", "1ms"], 2, "error[args_invalid]: "),
        (&["mcp", "--memory-max", "1MiB"], 2, "error[args_invalid]: "),
        (
            &["serve", "--listen", "0.0.0.0:0"],
            2,
            "error[args_invalid]: `--listen 0.0.0.0:0` would let everybody on the network call",
        ),
        (
            &["serve", "--state-dir", "/dev/null"],
            2,
            "error[args_invalid]: `--state-dir`: `/dev/null` is not a folder\nhint: ",
        ),
        (
            &["state", "check", "--state-dir", "/dev/null"],
            2,
            "error[args_invalid]: `--state-dir`: `/dev/null` is not a folder\nhint: ",
        ),
        (
            &["--cache-dir", "/dev/null", "doctor"],
            2,
            "error[args_invalid]: `--cache-dir`: `/dev/null` is not a folder\nhint: ",
        ),
        (&["serve", "--listen", "here"], 2, "error[args_invalid]: `--listen`: `here` is not an address"),
        (&["serve", "--token-file", "none"], 1, "error[path_denied]: `--token-file`: `none` cannot be read"),
        (&["serve", "--token-file", "."], 1, "error[path_denied]: `--token-file`: `.` is not a regular file"),
        (&["serve", "--allowed-origin", "*"], 2, "error[args_invalid]: `*` is not an origin"),
    ] {
        let output = dormouse(words, b"");
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(status), "{words:?}: {stderr}");
        assert!(stderr.starts_with(expected), "{words:?}: {stderr}");
        assert!(
            stderr.contains("\nhint: ") || words.contains(&"none.py") || stderr.lines().count() == 1,
            "{stderr}"
        );
        assert_eq!(text(&output.stdout), "", "{words:?}");
    }
}

#[test]
fn wrong_usage_ends_with_2_and_help_with_0() {
    for (words, status, expected) in [
        (&[][..], 2, "Usage: dormouse"),
        (&["evl"], 2, "eval"),
        (&["eval", "--tiemout", "1s", "1"], 2, "--timeout"),
        (&["eval", "--unguarded"], 2, "unexpected argument '--unguarded'"),
        (&["eval", "--fuel", "many", "1"], 2, "invalid value 'many'"),
        (&["eval", "--json", "-v", "1"], 2, "cannot be used with"),
        // A network is of the containers that a scenario's sources open.
        (&["mcp", "--docker-network"], 2, "unexpected argument '--docker-network'"),
        (&["serve", "--docker-network"], 2, "unexpected argument '--docker-network'"),
        (&["scenario", "run", "--help"], 0, "--docker-network"),
        (&["completions", "tcsh"], 2, "possible values"),
        (&["--help"], 0, "DORMOUSE_LOG"),
        (&["eval", "--help"], 0, "dormouse eval '1 + 1'"),
        (&["--version"], 0, "contract dormouse:sandbox@"),
    ] {
        let output = dormouse(words, b"");
        let (shown, other) = match status {
            0 => (&output.stdout, &output.stderr),
            _ => (&output.stderr, &output.stdout),
        };
        assert_eq!(output.status.code(), Some(status), "{words:?}");
        assert!(text(shown).contains(expected), "{words:?}: {}", text(shown));
        assert_eq!(text(other), "", "{words:?}");
    }
}

#[test]
fn what_steers_a_terminal_is_not_told_as_it_was_given() {
    for word in ["\u{202e}x", "\u{9b}31mx", "a\u{1b}[31m\u{1b}]0;t\u{7}"] {
        let output = dormouse(&[word], b"");
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{told}");
        assert!(!told.contains(['\u{202e}', '\u{9b}', '\u{1b}', '\u{7}']), "{told:?}");
    }
}

#[test]
fn the_version_names_the_engine_that_is_locked() {
    let lock = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.lock")).unwrap();
    let engine = lock.split("name = \"wasmtime\"\nversion = \"").nth(1).unwrap().split('"').next().unwrap();
    let version = text(&dormouse(&["--version"], b"").stdout);
    assert_eq!(
        version.lines().next(),
        Some(format!("dormouse 0.1.0 (wasmtime {engine}, contract {})", dormouse::wasm::CONTRACT).as_str())
    );
}

#[test]
fn a_refused_request_is_one_line_of_json_where_json_was_asked_for() {
    for (words, status, code) in [
        (&["eval", "--json", "--network", "none.toml", "1"][..], 1, "not_found"),
        (&["eval", "--json", "--timeout", "x", "1"], 2, "args_invalid"),
        (&["eval", "--json", "1"], 1, "guest_missing"),
        (&["eval", "--json", "-l", "cobol", "1"], 2, "unknown_language"),
        (&["run", "--json", "none.wasm"], 2, "args_invalid"),
    ] {
        let output = dormouse(words, b"");
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(status), "{words:?}");
        assert_eq!(json["error"]["code"], code, "{words:?}");
        assert_eq!((&json["ok"], &json["exit_code"]), (&false.into(), &status.into()), "{words:?}");
        assert_eq!(output.stdout.iter().filter(|byte| **byte == b'\n').count(), 1);
        assert_eq!(text(&output.stderr), "");
    }
}

#[test]
fn sources_that_are_no_text_are_refused_with_the_place() {
    for words in [&["eval"][..], &["eval", "-"]] {
        let output = dormouse(words, b"x = 1\ny = '\xff'\n");
        let expected =
            "error[args_invalid]: `standard input` is not UTF-8: byte 0xff at offset 11 (line 2)\n";
        assert!(text(&output.stderr).starts_with(expected), "{}", text(&output.stderr));
        assert_eq!(output.status.code(), Some(2));
    }
}

#[test]
fn every_shell_gets_a_completion_script() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = dormouse(&["completions", shell], b"");
        assert_eq!(output.status.code(), Some(0), "{shell}");
        assert!(text(&output.stdout).contains("timeout"), "{shell}");
    }
}

#[test]
fn a_machine_without_guests_is_told_what_to_do() {
    let list = dormouse(&["guests", "list"], b"");
    assert!(text(&list.stdout).contains("FAIL  python"), "{}", text(&list.stdout));
    let json: serde_json::Value =
        serde_json::from_slice(&dormouse(&["doctor", "--json"], b"").stdout).unwrap();
    assert_eq!(json["ok"], false);
    let told = |provider: &str, ability: &str| json["abilities"][provider][ability].clone();
    assert_eq!((told("wasm", "variables"), told("docker", "variables")), ("saved".into(), "awake".into()));
    assert_eq!(told("docker", "system_programs"), true);
    let doctor = dormouse(&["doctor"], b"");
    assert_eq!(doctor.status.code(), Some(1));
    assert!(text(&doctor.stdout).contains("`dormouse guests build python`"));
    let can = "javascript, php, python of the image; variables awake; memory of the sandbox";
    let told = text(&doctor.stdout).lines().any(|line| line.contains("docker can") && line.contains(can));
    assert!(told, "{}", text(&doctor.stdout));
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = Command::new(env!("CARGO_BIN_EXE_dormouse"))
        .args(["completions", "bash"])
        .stdout(writer)
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(141), String::new()));
}

#[test]
fn s1_25_lifting_every_guard_needs_a_yes_and_is_recorded_each_time() {
    let folder = tempfile::tempdir().unwrap();
    let audit = folder.path().join("deep/audit.jsonl");
    let run = |arguments: &[&str]| {
        Command::new(env!("CARGO_BIN_EXE_dormouse"))
            .args(arguments)
            .env("DORMOUSE_AUDIT_FILE", &audit)
            .env("DORMOUSE_CACHE_DIR", folder.path())
            .stdin(Stdio::null())
            .output()
            .unwrap()
    };
    let refused = run(&["eval", "--unsafe", "1 + 1"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("not confirmed"), "{}", text(&refused.stderr));
    assert!(!audit.exists(), "nothing ran");
    assert_eq!(
        run(&["eval", "--yes", "1 + 1"]).status.code(),
        Some(2),
        "--yes is an answer to --unsafe only"
    );
    // There is no guest in this cache: the run fails, and is recorded all the same.
    for _ in 0..2 {
        assert_eq!(run(&["eval", "--unsafe", "--yes", "1 + 1"]).status.code(), Some(1));
    }
    let lines = std::fs::read_to_string(&audit).unwrap();
    let entries: Vec<serde_json::Value> =
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(entries.len(), 2, "{lines}");
    for entry in &entries {
        assert_eq!((&entry["unsafe"], &entry["allow_writes"]), (&true.into(), &true.into()));
        assert_eq!((&entry["allow_network"], &entry["timed_out"]), (&false.into(), &false.into()));
        assert_eq!((&entry["snippet_length"], &entry["ended"]), (&5.into(), &"guest_missing".into()));
    }
    std::fs::remove_file(&audit).unwrap();
    std::fs::create_dir(&audit).unwrap();
    let unrecorded = run(&["eval", "--unsafe", "--yes", "1 + 1"]);
    assert!(text(&unrecorded.stderr).contains("audit file"), "{}", text(&unrecorded.stderr));
    // After `--`, and in a file, it is source text.
    assert!(text(&run(&["eval", "--", "--unsafe"]).stderr).contains("guest_missing"));
}

#[test]
fn s1_25_what_goes_beyond_the_rules_is_recorded_whichever_command_allows_it() {
    let folder = tempfile::tempdir().unwrap();
    let (audit, state) = (folder.path().join("audit.jsonl"), folder.path().join("state"));
    let run = |words: &[&str], file: Option<&std::path::Path>| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dormouse"));
        command.args(words).env_clear().env("DORMOUSE_CACHE_DIR", folder.path()).stdin(Stdio::null());
        command.envs(file.map(|file| ("DORMOUSE_AUDIT_FILE", file))).output().unwrap()
    };
    let (state, root) = (state.to_str().unwrap(), folder.path().to_str().unwrap());
    let mount = format!("{root}:/data:rw");
    let recorded: [(&[&str], &str, &[&str]); 4] = [
        (&["eval", "--writes", "--mount", &mount, "1 + 1"], "eval", &["--writes"]),
        (&["mcp", "--allow-writes", "--no-confine"], "mcp", &["--allow-writes", "--no-confine"]),
        (&["mcp", "--no-confine", "--root", root], "mcp", &["--root", "--no-confine"]),
        (&["sandbox", "--state-dir", state, "--allow-writes", "list"], "sandbox", &["--allow-writes"]),
    ];
    for (words, command, exceptions) in recorded {
        run(words, Some(&audit));
        let lines = std::fs::read_to_string(&audit).unwrap();
        assert_eq!(lines.lines().count(), 1, "{words:?}: {lines}");
        let entry: serde_json::Value = serde_json::from_str(&lines).unwrap();
        assert_eq!(
            (&entry["command"], &entry["exceptions"]),
            (&command.into(), &serde_json::json!(exceptions))
        );
        let writable = if command == "eval" { vec![folder.path().canonicalize().unwrap()] } else { vec![] };
        assert_eq!(entry["writable"], serde_json::json!(writable), "{words:?}");
        assert_eq!(entry["unsafe"], if command == "eval" { false.into() } else { serde_json::Value::Null });
        std::fs::remove_file(&audit).unwrap();
    }
    for words in [&["eval", "1 + 1"][..], &["sandbox", "--state-dir", state, "list"], &["mcp"]] {
        run(words, Some(&audit));
        assert!(!audit.exists(), "{words:?}: nothing went beyond the rules");
    }
    // A file that is named has to be written.
    let refused = run(&["eval", "--writes", "1"], Some(folder.path()));
    assert!(
        text(&refused.stderr).starts_with("error[internal]: the audit file"),
        "{}",
        text(&refused.stderr)
    );
    // Where none is named and there is no place for it, only lifting every guard is refused.
    let told = text(&run(&["eval", "--writes", "1"], None).stderr);
    assert!(told.contains("--writes is not recorded") && told.contains("guest_missing"), "{told}");
    let told = text(&run(&["eval", "--unsafe", "--yes", "1"], None).stderr);
    assert!(told.contains("no place for the audit file") && !told.contains("guest_missing"), "{told}");
}

#[test]
fn the_help_names_the_audit_file_and_the_default_folder() {
    assert!(text(&dormouse(&["--help"], b"").stdout).contains("DORMOUSE_AUDIT_FILE"));
    let help = text(&dormouse(&["eval", "--help"], b"").stdout);
    assert!(help.contains("[default: /project, else /tmp"), "{help}");
    assert!(help.contains("composer.json (PHP)"), "{help}");
}

#[test]
fn mcp_04_a_token_file_that_others_can_read_is_refused_and_never_shown() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tokens");
    let serve = |text: &str, mode: u32| {
        std::fs::write(&file, text).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
        let output = dormouse(&["serve", "--token-file", file.to_str().unwrap()], b"");
        assert_eq!(text_of(&output).matches("0123456789abcdef").count(), 0);
        (output.status.code(), text_of(&output))
    };
    fn text_of(output: &Output) -> String {
        text(&output.stderr)
    }
    for mode in [0o640, 0o604, 0o620] {
        let (status, told) = serve("ann 0123456789abcdef", mode);
        assert!(status == Some(1) && told.contains("by others"), "{mode:o}: {told}");
    }
    let (status, told) = serve("ann 0123456789abcdef\nbob 0123456789abcdef", 0o600);
    assert!(status == Some(2) && told.contains("line 2 of the token file"), "{told}");
    let (status, told) = serve("", 0o600);
    assert!(status == Some(2) && told.contains("has no token"), "{told}");
}
