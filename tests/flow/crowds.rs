//! Crowds at the door of the HTTP server: those who say nothing, and an owner who asks for everything. MCP-05, MCP-06.

use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, Instant};

use dormouse_tests::served::Served;
use dormouse_tests::{wait_for, wait_until};
use serde_json::json;
use tempfile::TempDir;

const ANN: &str = "ann-token-0123456789";
const BOB: &str = "bob-token-0123456789";

fn guarded(folder: &TempDir) -> Served {
    let file = folder.path().join("tokens");
    std::fs::write(&file, format!("ann {ANN}\nbob {BOB}\n")).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    let state = folder.path().join("state");
    Served::start(&["--state-dir", state.to_str().unwrap(), "--token-file", file.to_str().unwrap()])
}

/// `/health` and an owner's call are answered in this time whoever else is there.
#[track_caller]
fn answers(server: &Served, token: &str, within: Duration) {
    let begin = Instant::now();
    assert_eq!(server.send("GET", "/health", &[], b"").status, 200);
    let told = server.ask("POST", "/api/eval", Some(token), Some(&json!({"code": "1 + 1"})));
    assert_eq!(told.json()["result"]["value"], 2, "{}", told.json());
    assert!(begin.elapsed() < within, "{:?}", begin.elapsed());
}

#[test]
fn mcp_05_connections_without_a_token_cannot_fill_the_door() {
    let folder = tempfile::tempdir().unwrap();
    let server = guarded(&folder);
    answers(&server, ANN, Duration::from_secs(20));
    for bytes in
        [&b""[..], b"GET /health HTTP/1.1\r\nHost: ", b"GET /api/eval HTTP/1.1\r\nHost: localhost\r\n\r\n"]
    {
        let crowd: Vec<TcpStream> = (0..256).map(|_| server.raw(bytes)).collect();
        // Time for the server to take them in: nothing outside tells when it has.
        std::thread::sleep(Duration::from_millis(700));
        answers(&server, ANN, Duration::from_secs(2));
        let more: Vec<TcpStream> = (0..600).map(|_| server.raw(bytes)).collect();
        answers(&server, ANN, Duration::from_secs(5));
        drop((crowd, more));
    }
    // They come on and on.
    let (stop, come) = (std::sync::atomic::AtomicBool::new(false), std::sync::atomic::AtomicU32::new(0));
    std::thread::scope(|threads| {
        threads.spawn(|| {
            let mut held = std::collections::VecDeque::new();
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                held.push_back(server.raw(b""));
                come.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                if held.len() > 1_000 {
                    held.pop_front();
                }
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        wait_until("a thousand connections come", Duration::from_secs(60), || {
            come.load(std::sync::atomic::Ordering::Relaxed) >= 1_000
        });
        for _ in 0..3 {
            answers(&server, BOB, Duration::from_secs(2));
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    assert_eq!(server.end().status, Some(0));
}

#[test]
fn mcp_06_an_owner_with_slow_bodies_leaves_the_door_open_for_others() {
    let folder = tempfile::tempdir().unwrap();
    let server = guarded(&folder);
    answers(&server, BOB, Duration::from_secs(20));
    let host = server.authority().to_owned();
    let slow = format!(
        "POST /api/eval HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {ANN}\r\nContent-Type: application/json\r\n\
         Content-Length: 100\r\n\r\n{{"
    );
    let crowd: Vec<TcpStream> = (0..400).map(|_| server.raw(slow.as_bytes())).collect();
    let status = || {
        let told = server.ask("POST", "/api/eval", Some(ANN), Some(&json!({"code": "1"})));
        (told.status, told.code())
    };
    let wait_for_status = |event: &str, expected: (u16, &str)| {
        wait_for(event, Duration::from_secs(20), || match status() {
            (status, code) if (status, code.as_str()) == expected => Ok(()),
            other => Err(other),
        });
    };
    wait_for_status("the owner's places are taken", (429, "busy"));
    answers(&server, BOB, Duration::from_secs(2));
    assert_eq!(status(), (429, "busy".to_owned()));
    drop(crowd);
    wait_for_status("the owner's places come free", (200, ""));
    assert_eq!(server.end().status, Some(0));
}

/// A server raises the number of files it may have open, up to what the system lets it.
#[test]
fn mem_04_a_server_may_open_as_many_files_as_its_bounds_add_up_to() {
    let limits = |process: u32| {
        let text = std::fs::read_to_string(format!("/proc/{process}/limits")).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix("Max open files")).unwrap();
        let numbers = line.split_whitespace().take(2).map(|number| number.parse().unwrap_or(u64::MAX));
        let [soft, hard]: [u64; 2] = numbers.collect::<Vec<_>>().try_into().unwrap();
        (soft, hard)
    };
    let wire = dormouse_tests::wire::Wire::start_after("ulimit -Sn 256", &[]);
    wait_for("the server raises its limit", Duration::from_secs(20), || {
        let (soft, hard) = limits(wire.process());
        if soft == hard.min(65_536) { Ok(()) } else { Err((soft, hard)) }
    });
    let ran = wire.end(Duration::from_secs(10));
    assert_eq!(ran.status, Some(0));
    let mut few = dormouse_tests::wire::Wire::start_after("ulimit -n 256", &[]);
    few.greet();
    let ran = few.end(Duration::from_secs(10));
    assert!(ran.complaint().contains("fewer files may be open"), "{}", ran.complaint());
}
