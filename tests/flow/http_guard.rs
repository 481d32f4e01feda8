//! Who may call the HTTP server, and whose sandboxes they see: MCP-03, MCP-04, MCP-07, S2-18.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use dormouse_tests::served::{Served, Told};
use serde_json::{Value as Json, json};
use tempfile::TempDir;

const ANN: &str = "ann-token-0123456789";
const BOB: &str = "bob-token-0123456789";
/// SHA-256 of [`BOB`].
const BOB_HASH: &str = "0357e24c1cb1874dde0773886097863f71ac666f63fba1e9d4c623b79ffda11f";

fn state(folder: &TempDir) -> String {
    folder.path().join("state").to_str().unwrap().to_owned()
}

/// A file with both tokens, one as its hash.
fn tokens(folder: &TempDir) -> String {
    let path: PathBuf = folder.path().join("tokens");
    fs::write(&path, format!("# who\nann {ANN}\nbob sha256:{BOB_HASH}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    path.to_str().unwrap().to_owned()
}

fn guarded(folder: &TempDir) -> Served {
    let (state, tokens) = (state(folder), tokens(folder));
    let arguments = ["--state-dir", &state, "--token-file", &tokens, "--tools", "all"];
    Served::start_with(&arguments, &[("DORMOUSE_LOG", "trace")])
}

#[test]
fn mcp_03_pages_of_other_sites_and_other_names_are_refused_at_every_address() {
    let folder = tempfile::tempdir().unwrap();
    let server = Served::start(&[
        "--state-dir",
        &state(&folder),
        "--allowed-host",
        "box.example",
        "--allowed-origin",
        "https://app.example",
    ]);
    let own = format!("http://{}", server.authority());
    for path in ["/mcp", "/api/sandboxes", "/health", "/openapi.json", "/", "/nothing"] {
        for (headers, allowed) in [
            (&[][..], true),
            (&[("Origin", "https://evil.example")], false),
            (&[("Origin", "null")], false),
            (&[("Sec-Fetch-Site", "cross-site")], false),
            (&[("Host", "evil.example")], false),
            (&[("Host", "127.0.0.1.evil.example")], false),
            (&[("Origin", own.as_str())], true),
            (&[("Origin", "https://app.example")], true),
            (&[("Host", "box.example")], true),
            (&[("Host", "localhost")], true),
        ] {
            let told = server.send("GET", path, headers, b"");
            assert_eq!(told.status != 403, allowed, "{path} {headers:?}: {}", told.head);
            assert_eq!(told.code() == "forbidden", !allowed, "{path} {headers:?}");
            assert!(!told.head.contains("access-control-allow"), "{path}");
        }
    }
    assert_eq!(server.end().status, Some(0));
}

#[test]
fn mcp_03_there_are_no_sessions_to_guess_to_take_or_to_end() {
    let folder = tempfile::tempdir().unwrap();
    let server = Served::start(&["--state-dir", &state(&folder)]);
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}}});
    let headers = [
        ("Content-Type", "application/json"),
        ("Accept", "application/json, text/event-stream"),
        ("Mcp-Session-Id", "0123456789abcdef0123456789abcdef"),
    ];
    let told = server.send("POST", "/mcp", &headers, hello.to_string().as_bytes());
    assert_eq!((told.status, &told.json()["result"]["protocolVersion"]), (200, &json!("2025-11-25")));
    assert!(!told.head.contains("mcp-session-id"), "{}", told.head);
    for method in ["GET", "DELETE", "PUT"] {
        for _ in 0..20 {
            let told = server.send(method, "/mcp", &headers, b"");
            assert_eq!(told.status, 405, "{method}");
            assert!(told.json()["error"]["message"].as_str().is_some_and(|why| why.contains("POST")));
            assert_eq!(told.head.matches("allow: post").count(), 1, "{}", told.head);
        }
    }
    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call",
        "params": {"name": "sandbox_eval", "arguments": {"code": "6 * 7"}}});
    let told = server.send("POST", "/mcp", &headers, call.to_string().as_bytes());
    assert_eq!(told.json()["result"]["structuredContent"]["result"]["value"], 42, "{}", told.head);
}

/// What one program would read in one way and another in another is refused.
#[test]
fn a_body_that_can_be_read_in_two_ways_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let server = Served::start(&["--state-dir", &state(&folder)]);
    let json = ("Content-Type", "application/json");
    let twice = server.send("POST", "/api/eval", &[json], br#"{"code": "1", "code": "2"}"#);
    assert_eq!((twice.status, twice.code().as_str()), (400, "args_invalid"));
    assert_eq!(twice.json()["error"]["message"], "the body has a field twice");
    let packed = [json, ("Content-Encoding", "gzip")];
    let told = server.send("POST", "/api/eval", &packed, br#"{"code": "1"}"#);
    assert_eq!((told.status, told.code().as_str()), (415, "args_invalid"));
    let plain = [json, ("Content-Encoding", "identity")];
    assert_eq!(server.send("POST", "/api/eval", &plain, br#"{"code": "1"}"#).status, 200);
}

#[test]
fn mcp_04_without_a_known_token_nothing_is_told_and_no_token_is_logged() {
    let folder = tempfile::tempdir().unwrap();
    let server = guarded(&folder);
    let (basic, cookie) = (format!("Basic {ANN}"), format!("token={ANN}"));
    let hash = format!("Bearer sha256:{BOB_HASH}");
    let (bearer, longer) = (format!("Bearer {ANN}"), format!("Bearer {ANN}x"));
    for path in ["/mcp", "/api/sandboxes", "/api/capabilities", "/openapi.json", "/nothing"] {
        let with = |value| server.send("GET", path, &[("Authorization", value)], b"");
        let in_query = format!("{path}?access_token={ANN}&token={ANN}");
        for told in [
            server.send("GET", path, &[], b""),
            server.send("GET", &in_query, &[], b""),
            server.send("GET", path, &[("Cookie", &cookie)], b""),
            with("Bearer "),
            with(ANN),
            with(&basic),
            with(&longer),
            with(&hash),
        ] {
            assert_eq!((told.status, told.code().as_str()), (401, "unauthorized"), "{path}: {}", told.head);
            assert!(told.head.contains("www-authenticate: bearer"), "{}", told.head);
        }
        assert_ne!(with(&bearer).status, 401, "{path}");
    }
    assert_eq!(server.ask("GET", "/health", None, None).status, 200);
    assert_eq!(server.ask("GET", "/api/capabilities", Some(BOB), None).status, 200);
    assert_eq!(server.mcp(None, "sandbox_eval", &json!({"code": "1"})).status, 401);
    let ran = server.end();
    assert_eq!(ran.status, Some(0));
    let log = ran.complaint();
    assert!(log.contains("answered"), "there is a log: {log}");
    for secret in [ANN, BOB, BOB_HASH] {
        assert!(!log.contains(secret), "a token is in the log");
    }
}

/// Each way to use the sandbox of this id over REST.
fn uses(server: &Served, token: &str, id: &str) -> Vec<Told> {
    let post = |path: &str, body: Json| {
        server.ask("POST", &format!("/api/sandboxes/{id}{path}"), Some(token), Some(&body))
    };
    let get = |path: &str| server.ask("GET", &format!("/api/sandboxes/{id}{path}"), Some(token), None);
    let bearer = format!("Bearer {token}");
    let put = [("Authorization", bearer.as_str()), ("Content-Type", "application/octet-stream")];
    vec![
        get(""),
        get("/vars"),
        get("/files"),
        get("/files/read?path=/workspace/a"),
        get("/files/content?path=/workspace/a"),
        get("/checkpoints"),
        post("/eval", json!({"code": "1"})),
        post("/exec", json!({"command": "ls"})),
        post("/tests", json!({})),
        post("/stop", json!({})),
        post("/resume", json!({})),
        post("/reset", json!({})),
        post("/vars/x", json!({})),
        post("/files/write", json!({"path": "/workspace/a", "content": "x"})),
        post("/files/edit", json!({"path": "/workspace/a", "old": "x", "new": "y"})),
        post("/files/upload", json!({"path": "/workspace/a", "content_base64": "eA=="})),
        post("/files/download", json!({"path": "/workspace/a"})),
        post("/checkpoints", json!({})),
        post("/restore", json!({"checkpoint_id": "ckpt-aaaaaaaaaaaaaaaaaaaaaaaaaa"})),
        post("/fork", json!({})),
        server.send("PUT", &format!("/api/sandboxes/{id}/files/content?path=/workspace/a"), &put, b"x"),
        server.ask("DELETE", &format!("/api/sandboxes/{id}"), Some(token), None),
    ]
}

#[test]
fn mcp_07_s2_18_owners_do_not_see_each_others_sandboxes() {
    let folder = tempfile::tempdir().unwrap();
    let server = guarded(&folder);
    let create = |token| {
        let body = json!({"name": "work", "session_key": "key"});
        let told = server.ask("POST", "/api/sandboxes", Some(token), Some(&body));
        assert_eq!(told.status, 201, "the same name and key are each owner's own: {}", told.json());
        told.json()["id"].as_str().unwrap().to_owned()
    };
    let (anns, bobs) = (create(ANN), create(BOB));
    assert_ne!(anns, bobs);
    let remember = |token, value: &str| {
        let arguments = json!({"session_key": "key", "code": format!("x = '{value}'; x")});
        server.mcp(Some(token), "sandbox_eval", &arguments).json()["result"]["structuredContent"].take()
    };
    assert_eq!(remember(ANN, "ann")["sandbox_id"], anns);
    assert_eq!(remember(BOB, "bob")["sandbox_id"], bobs);
    let made_up = "sb-aaaaaaaaaaaaaaaaaaaaaaaaaa";
    for (foreign, none) in uses(&server, ANN, &bobs).iter().zip(uses(&server, ANN, made_up)) {
        assert_eq!((foreign.status, foreign.code().as_str()), (404, "unknown_sandbox"), "{}", foreign.json());
        let as_made_up = |told: &Told, id: &str| String::from_utf8_lossy(&told.body).replace(id, "ID");
        assert_eq!(as_made_up(foreign, &bobs), as_made_up(&none, made_up), "the same words");
    }
    let over_mcp = server.mcp(Some(ANN), "sandbox_get_var", &json!({"sandbox": bobs, "name": "x"})).json();
    assert_eq!(over_mcp["result"]["structuredContent"]["error"]["code"], "unknown_sandbox");
    let listed = server.ask("GET", "/api/sandboxes", Some(ANN), None).json();
    let listed: Vec<&Json> = listed["sandboxes"].as_array().unwrap().iter().map(|it| &it["id"]).collect();
    assert_eq!(listed, [&json!(anns)]);
    let still = server.ask("POST", &format!("/api/sandboxes/{bobs}/vars/x"), Some(BOB), Some(&json!({})));
    assert_eq!(still.json()["result"]["value"], "bob");
    assert_eq!(server.end().status, Some(0));
}
