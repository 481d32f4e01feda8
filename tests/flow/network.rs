//! The network over MCP: off, on, narrower than the operator's, and taken back (S1-21, S1-32).

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::time::{Duration, Instant};

use dormouse_tests::wire::Wire;
use dormouse_tests::{binary, served};
use serde_json::{Value as Json, json};

/// A server of HTTP in the open that answers `hello` to everything, at a port of 127.0.0.1.
fn server() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut lines = BufReader::new(&stream).lines();
            while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
            let _ = (&stream)
                .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\nconnection: close\r\n\r\nhello");
        }
    });
    port
}

fn rules(path: &Path, port: u16, methods: &str) {
    let text = format!(
        "[[profile.default.allow]]\nhost = \"127.0.0.1\"\nport = {port}\nprotocol = \"http\"\n{methods}\n[profile.empty]\n"
    );
    std::fs::write(path, text).unwrap();
}

/// A program that asks a path by a method; its value is what came, or the status, or the exception's name.
fn asks(port: u16, method: &str, path: &str) -> String {
    format!(
        "import urllib.error, urllib.request as u\n\
         try: told = u.urlopen(u.Request('http://127.0.0.1:{port}{path}', method='{method}')).read().decode()\n\
         except urllib.error.HTTPError as error: told = error.code\n\
         except OSError as error: told = type(error.reason).__name__\n\
         told"
    )
}

struct Server {
    wire: Wire,
    next: i64,
}

impl Server {
    fn call(&mut self, tool: &str, arguments: Json) -> Json {
        self.next += 1;
        self.wire.call(self.next, tool, arguments)["structuredContent"].clone()
    }

    fn value(&mut self, arguments: Json) -> Json {
        let answer = self.call("sandbox_eval", arguments);
        assert_eq!(answer["ok"], true, "{answer}");
        answer["result"]["value"].clone()
    }

    fn code(&mut self, tool: &str, arguments: Json) -> String {
        self.call(tool, arguments)["error"]["code"].as_str().unwrap().to_owned()
    }
}

#[test]
fn s1_32_the_network_is_off_and_on_and_never_more_than_the_operator_allows() {
    let folder = tempfile::tempdir().unwrap();
    let (port, path) = (server(), folder.path().join("net.toml"));
    rules(&path, port, "");
    let state = folder.path().join("state");
    let wire = Wire::greeted(&[
        "--network",
        path.to_str().unwrap(),
        "--state-dir",
        state.to_str().unwrap(),
        "--profile",
        "sandbox",
        "--tools",
        "all",
    ]);
    let mut server = Server { wire, next: 1 };

    let able = server.call("sandbox_capabilities", json!({}));
    assert_eq!(able["network"], "rules", "{able}");
    assert_eq!(able["abilities"][0]["network"], "rules", "{able}");
    assert_eq!(
        able["networks"],
        json!([
            {"name": "default", "allows": [format!("http://127.0.0.1:{port}")], "secrets": []},
            {"name": "empty", "allows": [], "secrets": []},
        ])
    );

    // Off unless it is asked for.
    let code = asks(port, "GET", "/a");
    assert_eq!(server.value(json!({"code": code})), "PermissionError");
    let on = server.call("sandbox_eval", json!({"code": code, "allow_network": true}));
    assert_eq!(on["result"]["value"], "hello", "{on}");
    assert_eq!(on["network"]["requests"], 1, "{on}");
    let elsewhere = asks(port + 1, "GET", "/a");
    let denied = server.call("sandbox_eval", json!({"code": elsewhere, "allow_network": true}));
    assert_eq!(denied["result"]["value"], "PermissionError");
    let wanted =
        json!({"host": "127.0.0.1", "port": port + 1, "reason": "port", "rule": "profile.default.allow[0]"});
    assert_eq!(denied["network"]["denied"], json!([wanted]), "{denied}");

    // A sandbox has what it was made with.
    server.call("sandbox_create", json!({"name": "without"}));
    server.call("sandbox_create", json!({"name": "with", "network": "default"}));
    let get = format!("GET http://127.0.0.1:{port}/a");
    let narrow = server.call("sandbox_create", json!({"name": "narrow", "network_allow": [get]}));
    assert_eq!(narrow["network"], json!({"profile": "default", "allow": [get]}), "{narrow}");
    assert_eq!(server.value(json!({"code": code, "sandbox": "without"})), "PermissionError");
    assert_eq!(
        server.code("sandbox_eval", json!({"code": code, "sandbox": "without", "allow_network": true})),
        "network_denied"
    );
    assert_eq!(server.value(json!({"code": code, "sandbox": "with", "allow_network": true})), "hello");
    assert_eq!(server.value(json!({"code": code, "sandbox": "narrow"})), "hello");
    assert_eq!(server.value(json!({"code": asks(port, "POST", "/a"), "sandbox": "narrow"})), 403);
    assert_eq!(server.value(json!({"code": asks(port, "GET", "/b"), "sandbox": "narrow"})), 403);

    // One that the call itself makes has what the call asks for.
    assert_eq!(server.value(json!({"code": code, "session_key": "new", "allow_network": true})), "hello");
    assert_eq!(server.value(json!({"code": code, "session_key": "new"})), "hello");

    // NET-19: nothing beyond it can be asked for.
    for (arguments, code) in [
        (json!({"network": "other"}), "network_denied"),
        (json!({"network_allow": ["https://127.0.0.1"]}), "network_denied"),
        (json!({"network_allow": ["GET http://example.com"]}), "network_denied"),
        (json!({"network": "empty", "network_allow": [get]}), "network_denied"),
        (json!({"network_allow": ["anything"]}), "args_invalid"),
        (json!({"network": "default", "network_allow": []}), "args_invalid"),
        (json!({"network": "none", "network_allow": [get]}), "args_invalid"),
        (json!({"network": "default", "provider": "docker"}), "provider_unavailable"),
        (json!({"network": "default", "provider": "kubernetes"}), "provider_unavailable"),
    ] {
        assert_eq!(server.code("sandbox_create", arguments.clone()), code, "{arguments}");
    }

    // What the operator takes back is gone for sandboxes that are there, and what is no file of rules changes nothing.
    std::fs::write(&path, "nonsense").unwrap();
    std::thread::sleep(Duration::from_millis(1_500));
    assert_eq!(server.value(json!({"code": code, "sandbox": "with"})), "hello");
    rules(&path, port, "methods = [\"PUT\"]");
    let begun = Instant::now();
    while server.value(json!({"code": code, "sandbox": "with"})) != 403 {
        assert!(begun.elapsed() < Duration::from_secs(20), "the rules hold still");
        std::thread::sleep(Duration::from_millis(100));
    }

    // Each request has its lines, and who looks at the file of another user does not see them.
    let audit = std::fs::read_to_string(state.join("network.jsonl")).unwrap();
    let lines: Vec<Json> = audit.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let count = |event: &str| lines.iter().filter(|line| line["event"] == event).count();
    assert!(count("sent") >= 4 && count("sent") == count("ended") && count("refused") >= 4, "{audit}");
}

/// Waits until a program that asks gets this.
fn until(server: &mut Server, arguments: &Json, wanted: &Json) {
    let begun = Instant::now();
    loop {
        let value = server.value(arguments.clone());
        if value == *wanted {
            return;
        }
        assert!(begun.elapsed() < Duration::from_secs(30), "{value} is not {wanted}");
        std::thread::sleep(Duration::from_millis(200));
    }
}

#[test]
fn net_37_a_confined_server_takes_files_that_were_replaced_and_secrets_that_commands_tell() {
    let folder = tempfile::tempdir().unwrap();
    let (port, path) = (server(), folder.path().join("net.toml"));
    let secret =
        "[secret.KEY]\ncommand = [\"sh\", \"-c\", \"echo told-by-a-command\"]\nhosts = [\"a.test\"]\n";
    let write = |path: &Path, methods: &str| {
        rules(path, port, methods);
        let text = std::fs::read_to_string(path).unwrap();
        std::fs::write(path, format!("{text}{secret}")).unwrap();
    };
    write(&path, "");
    let wire = Wire::greeted(&[
        "--network",
        path.to_str().unwrap(),
        "--state-dir",
        folder.path().join("s").to_str().unwrap(),
    ]);
    let mut server = Server { wire, next: 0 };
    let made = server.call("sandbox_create", json!({"network": "default"}));
    let asks = json!({"sandbox": made["id"], "code": asks(port, "POST", "/")});
    assert_eq!(server.value(asks.clone()), "hello");
    // As editors, `sed -i` and mounted secrets do it: another file of the same name.
    let replace = |methods: &str| {
        let draft = folder.path().join("draft");
        write(&draft, methods);
        std::fs::rename(&draft, &path).unwrap();
    };
    for (methods, wanted) in [("methods = [\"GET\"]", json!(403)), ("", json!("hello"))] {
        replace(methods);
        until(&mut server, &asks, &wanted);
    }
}

#[test]
fn a_recorded_run_is_played_without_its_server() {
    let folder = tempfile::tempdir().unwrap();
    let (port, path) = (server(), folder.path().join("net.toml"));
    rules(&path, port, "");
    let (path, tape) = (path.to_str().unwrap(), folder.path().join("tape"));
    let tape = tape.to_str().unwrap();
    let audit = folder.path().join("audit.jsonl");
    let audit = audit.to_str().unwrap();
    let eval = |how: &str, code: &str| {
        let words = ["eval", "--network", path, "--network-audit", audit, how, tape, code];
        binary::dormouse(&words, b"").text().trim().to_owned()
    };
    assert_eq!(eval("--network-record", &asks(port, "GET", "/a")), "hello");
    assert_eq!(eval("--network-replay", &asks(port, "GET", "/a")), "hello");
    assert_eq!(eval("--network-replay", &asks(port, "GET", "/b")), "403");
}

#[test]
fn a_command_whose_recording_is_not_whole_does_not_succeed() {
    let folder = tempfile::tempdir().unwrap();
    let (port, path, tape) = (server(), folder.path().join("net.toml"), folder.path().join("tape"));
    rules(&path, port, "");
    let code = format!("{}\nprint(told, flush=True)\nimport time\ntime.sleep(1)\n1", asks(port, "GET", "/a"));
    let words =
        ["eval", "--network", path.to_str().unwrap(), "--network-record", tape.to_str().unwrap(), &code];
    let mut child = binary::command(&words).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    // What it is to become is something else by then.
    std::fs::create_dir_all(tape.join("taken")).unwrap();
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    assert_eq!((line.as_str(), rest.as_str()), ("hello\n", "1\n"));
    let ended = child.wait_with_output().unwrap();
    let told = String::from_utf8(ended.stderr).unwrap();
    assert!(ended.status.code() == Some(1) && told.contains("state_unavailable"), "{told}");
}

#[test]
fn s1_32_a_server_whose_tools_cannot_ask_gives_its_sandboxes_the_network() {
    for (profile, tool, field) in [
        ("code", "sandbox_code", "result"),
        ("rlm", "rlm_exec", ""),
        ("code,sandbox", "sandbox_code", "result"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let (port, path) = (server(), folder.path().join("net.toml"));
        rules(&path, port, "");
        let mut wire = Wire::greeted(&[
            "--network",
            path.to_str().unwrap(),
            "--state-dir",
            folder.path().join("state").to_str().unwrap(),
            "--profile",
            profile,
        ]);
        let answer = wire.call(1, tool, json!({"code": asks(port, "GET", "/a")}));
        let told = match field {
            "" => &answer["content"][0]["text"],
            field => &answer["structuredContent"][field],
        };
        // Where others can ask, nobody has it unasked.
        let wanted = if profile.contains(',') { "PermissionError" } else { "hello" };
        assert!(told.to_string().contains(wanted), "{profile}: {answer}");
        assert_eq!(wire.end(Duration::from_secs(20)).status, Some(0));
    }
}

/// A server of HTTP in the open that begins an answer and never ends it.
fn endless() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        let mut open = Vec::new();
        for mut stream in listener.incoming().flatten() {
            let mut lines = BufReader::new(&stream).lines();
            while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhello");
            open.push(stream);
        }
    });
    port
}

#[test]
fn net_25_a_command_that_ends_says_how_its_requests_ended_and_keeps_what_it_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let (port, path) = (endless(), folder.path().join("net.toml"));
    rules(&path, port, "");
    let tape = folder.path().join("tape");
    let begin = format!(
        "import urllib.request as u\nanswer = u.urlopen('http://127.0.0.1:{port}/a')\nprint(answer.read(5).decode(), flush=True)\n"
    );
    for (number, (rest, status)) in
        [("1 + 1", 0), ("raise SystemExit(3)", 3), ("while True: pass", 124), ("answer.read(5)", 143)]
            .into_iter()
            .enumerate()
    {
        let audit = folder.path().join(format!("audit{number}.jsonl"));
        let code = format!("{begin}{rest}");
        let (rules, audit_at, tape_at) =
            (path.to_str().unwrap(), audit.to_str().unwrap(), tape.to_str().unwrap());
        let words = |what, code| {
            let time = if status == 143 { "60s" } else { "3s" };
            ["eval", "--network", rules, "--network-audit", audit_at, what, tape_at, "--timeout", time, code]
        };
        let mut child = binary::command(&words("--network-record", &code)).spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        out.read_line(&mut line).unwrap();
        assert_eq!(line, "hello\n", "{rest}");
        if status == 143 {
            served::signal(child.id(), "TERM");
        }
        assert_eq!(child.wait().unwrap().code(), Some(status), "{rest}");
        let lines = std::fs::read_to_string(&audit).unwrap();
        let lines: Vec<Json> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert!(lines.len() == 2 && lines[0]["event"] == "sent", "{rest}: {lines:?}");
        assert!(lines[1]["event"] == "ended" && lines[1]["reason"] == "cancelled", "{rest}: {lines:?}");
        let text = std::fs::read_to_string(&tape).unwrap();
        assert!(text.contains("\"hello\"") && text.contains("\"whole\""), "{rest}: {text}");
        assert!(!folder.path().join("tape.part").exists());
        // Played, it gives what came, and breaks off then.
        let code =
            format!("{begin}try: answer.read()\nexcept Exception as error: print(type(error).__name__)");
        let played = binary::dormouse(&words("--network-replay", &code), b"");
        let text = played.text();
        assert_eq!(text, "hello\nIncompleteRead\n", "{}", played.complaint());
    }
}
