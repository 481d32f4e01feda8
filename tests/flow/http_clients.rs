//! Clients of the HTTP server that leave, dawdle or flood it, and the end of the server: MCP-05, MCP-06, LIF-05.

use std::io::Read as _;
use std::net::Shutdown;
use std::time::{Duration, Instant};

use dormouse_tests::levels::{wait_until_busy, wait_until_idle};
use dormouse_tests::served::{Served, told};
use dormouse_tests::{NOISE, PROMISE};
use serde_json::{Value as Json, json};
use tempfile::TempDir;

const FOREVER: &str = "while True: pass";

fn served(folder: &TempDir) -> Served {
    Served::start(&["--state-dir", folder.path().join("state").to_str().unwrap()])
}

fn eval(server: &Served, path: &str, arguments: &Json) -> std::net::TcpStream {
    let json = [("Content-Type", "application/json")];
    server.begin("POST", path, &json, arguments.to_string().as_bytes())
}

#[test]
fn mcp_05_a_client_that_leaves_in_the_middle_of_a_run_ends_it() {
    let folder = tempfile::tempdir().unwrap();
    let server = served(&folder);
    server.ask("POST", "/api/sandboxes", None, Some(&json!({"name": "work"})));
    server.ask("POST", "/api/eval", None, Some(&json!({"code": "1"})));
    let process = server.process().to_string();
    let forever = json!({"code": FOREVER, "timeout_ms": 60_000});
    let legacy = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "sandbox_eval", "arguments": forever}});
    let legacy_headers =
        [("Content-Type", "application/json"), ("Accept", "application/json, text/event-stream")];
    for way in ["REST", "in a sandbox", "2026", "2025", "one half is closed"] {
        let stream = match way {
            "in a sandbox" => eval(&server, "/api/sandboxes/work/eval", &forever),
            "2026" => server.begin_mcp(None, "sandbox_eval", &forever),
            "2025" => server.begin("POST", "/mcp", &legacy_headers, legacy.to_string().as_bytes()),
            _ => eval(&server, "/api/eval", &forever),
        };
        wait_until_busy(&process);
        if way == "one half is closed" {
            stream.shutdown(Shutdown::Write).unwrap();
            wait_until_idle(&process, PROMISE + NOISE);
        }
        drop(stream);
        wait_until_idle(&process, PROMISE + NOISE);
    }
    let after = server.ask("POST", "/api/sandboxes/work/eval", None, Some(&json!({"code": "1 + 1"})));
    assert_eq!(after.json()["result"]["value"], 2, "{}", after.json());
    assert_eq!(server.end().status, Some(0));
}

#[test]
fn mcp_05_a_sender_of_a_byte_a_second_is_let_go_and_holds_nobody_up() {
    let folder = tempfile::tempdir().unwrap();
    let server = served(&folder);
    let begin = Instant::now();
    let mut slow = server.raw(b"POST /api/eval HTTP/1.1\r\n");
    let letters = std::thread::scope(|threads| {
        let writer = slow.try_clone().unwrap();
        let sent = threads.spawn(move || {
            use std::io::Write as _;
            let mut writer = writer;
            let mut sent = 0;
            while writer.write_all(b"X").is_ok() && begin.elapsed() < Duration::from_secs(60) {
                sent += 1;
                std::thread::sleep(Duration::from_secs(1));
            }
            sent
        });
        let other = server.ask("POST", "/api/eval", None, Some(&json!({"code": "1 + 1"})));
        assert_eq!(other.json()["result"]["value"], 2);
        let mut rest = Vec::new();
        let _ = std::io::Read::read_to_end(&mut slow, &mut rest);
        assert!(begin.elapsed() < Duration::from_secs(30), "the server waited for {:?}", begin.elapsed());
        sent.join().unwrap()
    });
    assert!(letters < 30, "{letters}");
}

#[test]
fn mcp_06_more_calls_than_places_are_refused_with_429_and_a_place_is_used_again() {
    let folder = tempfile::tempdir().unwrap();
    let server = served(&folder);
    server.ask("POST", "/api/eval", None, Some(&json!({"code": "1"})));
    let sleep = json!({"code": "import time; time.sleep(2)", "timeout_ms": 20_000});
    let streams: Vec<_> = (0..80)
        .map(|number| match number % 2 {
            0 => eval(&server, "/api/eval", &sleep),
            _ => server.begin_mcp(None, "sandbox_eval", &sleep),
        })
        .collect();
    let (mut done, mut busy) = (0, 0);
    for answer in streams.into_iter().map(told) {
        let json = answer.json();
        let code = json.pointer("/error/code").or(json.pointer("/result/structuredContent/error/code"));
        match (answer.status, code.and_then(Json::as_str)) {
            (200, None) => done += 1,
            (429, Some("busy")) => {
                assert!(answer.head.contains("retry-after: "), "{}", answer.head);
                busy += 1;
            }
            (200, Some("busy")) => busy += 1,
            other => panic!("{other:?}: {json}"),
        }
    }
    assert_eq!((done, busy), (64, 16), "64 calls have a place, over both doors together");
    let after = server.ask("POST", "/api/eval", None, Some(&json!({"code": "1 + 1"})));
    assert_eq!(after.json()["result"]["value"], 2);
}

#[test]
fn lif_05_asked_to_end_with_fifty_runs_the_server_saves_and_ends_well() {
    let folder = tempfile::tempdir().unwrap();
    let server = served(&folder);
    server.ask("POST", "/api/sandboxes", None, Some(&json!({"name": "work"})));
    server.ask("POST", "/api/sandboxes/work/eval", None, Some(&json!({"code": "x = 41"})));
    let long = json!({"code": "import time; time.sleep(60)", "timeout_ms": 60_000});
    let short = json!({"code": "import time; time.sleep(1); 'done'", "timeout_ms": 20_000});
    let protocol: Vec<_> = (0..2).map(|_| server.begin_mcp(None, "sandbox_eval", &long)).collect();
    let long: Vec<_> = (0..50).map(|_| eval(&server, "/api/eval", &long)).collect();
    let short = eval(&server, "/api/eval", &short);
    // Every run has begun when one that came after them has ended.
    server.ask("POST", "/api/eval", None, Some(&json!({"code": "1"})));
    let begin = Instant::now();
    let answer = std::thread::spawn(move || told(short));
    let ran = server.end();
    assert!(begin.elapsed() < Duration::from_secs(30), "{:?}", begin.elapsed());
    assert_eq!(ran.status, Some(0), "{}", ran.complaint());
    assert_eq!(answer.join().unwrap().json()["result"]["value"], "done", "a short call is waited for");
    for answer in long.into_iter().map(told) {
        assert_eq!((answer.status, answer.code().as_str()), (409, "cancelled"), "a long call is not");
    }
    for answer in protocol.into_iter().map(told) {
        let (status, answer) = (answer.status, answer.json());
        assert_eq!((status, &answer["result"]["isError"]), (200, &json!(true)), "{answer}");
        let error = &answer["result"]["structuredContent"]["error"];
        assert!(error["code"] == "cancelled" && error["hint"].is_string(), "{error}");
    }
    let again = served(&folder);
    let kept = again.ask("POST", "/api/sandboxes/work/eval", None, Some(&json!({"code": "x + 1"})));
    assert_eq!(kept.json()["result"]["value"], 42, "what was there is saved: {}", kept.json());
}

#[test]
fn s2_25_files_go_in_and_come_out_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let server = served(&folder);
    server.ask("POST", "/api/sandboxes", None, Some(&json!({"name": "work"})));
    let binary = [("Content-Type", "application/octet-stream")];
    let bytes: Vec<u8> = (0..300_000_u32).map(|number| (number % 251) as u8).collect();
    for (name, bytes) in [("big", &bytes[..]), ("piece", &bytes[..64 << 10]), ("empty", &[])] {
        let path = format!("/api/sandboxes/work/files/content?path=/workspace/{name}.bin");
        let put = server.send("PUT", &path, &binary, bytes);
        assert_eq!((put.status, &put.json()["bytes"]), (200, &json!(bytes.len())), "{}", put.json());
        let got = server.send("GET", &path, &[], b"");
        assert_eq!((got.status, got.body.as_slice()), (200, bytes), "{}", got.head);
        assert!(got.head.contains("content-type: application/octet-stream"), "{}", got.head);
    }
    let large = vec![0_u8; (8 << 20) + 16];
    let put = server.send("PUT", "/api/sandboxes/work/files/content?path=/workspace/l", &binary, &large);
    assert_eq!((put.status, put.code().as_str()), (413, "too_large"), "{}", put.json());
    let none = server.send("GET", "/api/sandboxes/work/files/content?path=/workspace/none", &[], b"");
    assert_eq!((none.status, none.code().as_str()), (404, "not_found"));
    let out =
        server.send("GET", "/api/sandboxes/work/files/content?path=/workspace/../../etc/passwd", &[], b"");
    assert_eq!((out.status, out.code().as_str()), (400, "args_invalid"), "{}", out.json());
}

/// A reader gets one file or breaks off; never the beginning of one and the end of another.
#[test]
fn r_33_a_file_that_is_replaced_while_it_is_sent_breaks_the_download_off() {
    let folder = tempfile::tempdir().unwrap();
    let server = served(&folder);
    server.ask("POST", "/api/sandboxes", None, Some(&json!({"name": "work"})));
    let (path, binary) = (
        "/api/sandboxes/work/files/content?path=/workspace/f",
        [("Content-Type", "application/octet-stream")],
    );
    // More than what lies in the sockets between them.
    let (old, new) = (vec![1; 8 << 20], vec![2; 8 << 20]);
    assert_eq!(server.send("PUT", path, &binary, &old).status, 200);
    let mut reading = server.begin("GET", path, &[], b"");
    let mut first = [0; 1024];
    reading.read_exact(&mut first).unwrap();
    assert_eq!(server.send("PUT", path, &binary, &new).status, 200);
    let mut rest = Vec::new();
    let _ = reading.read_to_end(&mut rest);
    assert!(rest.len() < old.len(), "{} bytes", rest.len());
    assert!(!rest.contains(&2), "the two are mixed");
    let whole = server.send("GET", path, &[], b"");
    assert!(whole.body == new);
}
