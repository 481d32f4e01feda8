//! Messages that are made to take far more memory than they are long: at every door the server holds at most four times
//! their length, and answers. MCP-02, MCP-05.

use std::fmt::Write as _;
use std::io::Read as _;
use std::time::{Duration, Instant};

use dormouse_tests::levels::Levels;
use dormouse_tests::served::Served;
use dormouse_tests::wait_for;
use dormouse_tests::wire::Wire;
use serde_json::{Value as Json, json};
use tempfile::TempDir;

/// The longest message that the doors take.
const LONGEST: usize = 64 << 20;
/// What else a server may take meanwhile: threads, buffers of sockets, its allocator's own.
const ELSE: u64 = 32 << 10;

fn served(folder: &TempDir) -> Served {
    Served::start(&["--state-dir", folder.path().join("state").to_str().unwrap(), "--tools", "all"])
}

/// Values of the field `code` that are short to write and long to keep, so many bytes of each.
fn bulky(bytes: usize) -> Vec<(&'static str, String)> {
    let list = |item: &str| format!("[{}{}]", format!("{item},").repeat(bytes / (item.len() + 1) - 1), item);
    let mut names = String::from("{");
    for number in 0_u32.. {
        if names.len() + 16 > bytes {
            break;
        }
        let _ = write!(names, "\"{number:x}\":0,");
    }
    names += "\"\":0}";
    let nested = format!("{}0{}", "[".repeat(120), "]".repeat(120));
    vec![
        ("numbers", list("0")),
        ("empty texts", list("\"\"")),
        ("empty lists", list("[]")),
        ("lists of one", list("[0]")),
        ("objects of one", list("{\"a\":0}")),
        ("nested lists", list(&nested)),
        ("an object", names),
        ("escapes", format!("\"{}\"", "\\u0061".repeat(bytes / 6))),
        ("a text", format!("\"{}\"", "a".repeat(bytes))),
    ]
}

/// The most that a process held while something was done to it is at most four times the message.
#[track_caller]
fn bounded<T>(process: u32, length: usize, what: &str, work: impl FnOnce() -> T) -> T {
    let process = process.to_string();
    let before = Levels::forget_peak(&process);
    let done = work();
    let peak = Levels::peak_of(&process).saturating_sub(before);
    let most = 4 * (length as u64 >> 10) + ELSE;
    eprintln!(
        "{what}: {length} bytes took {peak} KiB, {:.2} times as much",
        (peak << 10) as f64 / length as f64
    );
    assert!(peak <= most, "{what}: {length} bytes took {peak} KiB, more than {most} KiB");
    done
}

#[test]
fn mcp_05_a_body_over_rest_takes_at_most_four_times_its_length() {
    let folder = tempfile::tempdir().unwrap();
    let server = served(&folder);
    server.ask("POST", "/api/eval", None, Some(&json!({"code": "1"})));
    for (what, value) in bulky(LONGEST - 64) {
        let body = format!("{{\"code\":{value}}}");
        assert!(body.len() <= LONGEST, "{what}");
        let headers = [("Content-Type", "application/json")];
        let told = bounded(server.process(), body.len(), what, || {
            server.send("POST", "/api/eval", &headers, body.as_bytes())
        });
        // A short text may be written in as many bytes; it is only no Python.
        let taken = what == "escapes" && told.status == 200;
        assert!(taken || (told.status, told.code().as_str()) == (413, "too_large"), "{what}: {}", told.head);
        let after = server.ask("POST", "/api/eval", None, Some(&json!({"code": "1 + 1"})));
        assert_eq!(after.json()["result"]["value"], 2, "{what}");
    }
    assert_eq!(server.end().status, Some(0));
}

#[test]
fn mcp_05_a_body_over_mcp_takes_at_most_four_times_its_length() {
    let folder = tempfile::tempdir().unwrap();
    let server = served(&folder);
    server.mcp(None, "sandbox_eval", &json!({"code": "1"}));
    let headers = [("Content-Type", "application/json"), ("Accept", "application/json, text/event-stream")];
    for (what, value) in bulky(LONGEST - 256) {
        let body = message(&value);
        let told = bounded(server.process(), body.len(), what, || {
            server.send("POST", "/mcp", &headers, body.as_bytes())
        });
        assert_eq!(code(&told.json()), "too_large", "{what}: {} {}", told.head, shown(&told.json()));
        // What is no call has no long part.
        let other =
            format!("{{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"ping\",\"params\":{{\"x\":{value}}}}}");
        let told = bounded(server.process(), other.len(), what, || {
            server.send("POST", "/mcp", &headers, other.as_bytes())
        });
        assert_eq!((told.status, told.json()["id"].as_i64()), (413, Some(9)), "{what}: {}", told.head);
        let after = server.mcp(None, "sandbox_eval", &json!({"code": "1 + 1"}));
        assert_eq!(after.json()["result"]["structuredContent"]["result"]["value"], 2, "{what}");
    }
    assert_eq!(server.end().status, Some(0));
}

#[test]
fn mcp_05_a_line_takes_at_most_four_times_its_length() {
    let mut wire = Wire::greeted(&[]);
    wire.call(100, "sandbox_eval", json!({"code": "1"}));
    for (id, (what, value)) in (200..).zip(bulky(LONGEST - 256)) {
        for line in
            [message(&value), format!("{{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{{\"x\":{value}}}}}")]
        {
            let process = wire.process();
            let is_call = line.contains("tools/call");
            let answer = bounded(process, line.len(), what, || {
                wire.raw(line.as_bytes());
                wire.raw(b"\n");
                let answer = is_call.then(|| wire.answer(5));
                wire.still_serves(id);
                answer
            });
            if let Some(answer) = answer {
                assert_eq!(code(&answer), "too_large", "{what}: {}", shown(&answer));
            }
        }
    }
    assert_eq!(wire.end(Duration::from_secs(10)).status, Some(0));
}

/// A call of `sandbox_eval` whose `code` is this JSON.
fn message(code: &str) -> String {
    format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"tools/call\",\"params\":{{\"name\":\"sandbox_eval\",\"arguments\":{{\"code\":{code}}}}}}}"
    )
}

/// The stable code of an error: of the protocol, or of a tool. A text that is only no Python is none.
fn code(answer: &Json) -> String {
    let places = ["/error/data/code", "/result/structuredContent/error/code"];
    let told = places.iter().find_map(|place| answer.pointer(place)?.as_str());
    // A short text may be written in as many bytes, and is run.
    let ran = answer.pointer("/result/structuredContent/exception/class").is_some();
    told.map_or_else(|| if ran { "too_large".into() } else { String::new() }, str::to_owned)
}

fn shown(answer: &Json) -> String {
    answer.to_string().chars().take(400).collect()
}

#[test]
fn mcp_02_as_much_as_a_tool_takes_is_taken_over_every_door() {
    let folder = tempfile::tempdir().unwrap();
    let server = served(&folder);
    server.ask("POST", "/api/sandboxes", None, Some(&json!({"name": "work"})));
    let content = "é\"\n".repeat((8 << 20) / 4);
    let arguments = json!({"path": "/workspace/a", "content": content});
    let told = server.ask("POST", "/api/sandboxes/work/files/write", None, Some(&arguments));
    assert_eq!((told.status, &told.json()["bytes"]), (200, &json!(content.len())), "{}", told.head);
    let over_mcp = json!({"sandbox": "work", "path": "/workspace/b", "content": content});
    let told = server.mcp(None, "sandbox_write", &over_mcp).json();
    assert_eq!(told["result"]["structuredContent"]["bytes"], content.len(), "{}", shown(&told));
    let code = json!({"code": "a, b = (open(f'/workspace/{n}').read() for n in 'ab')\na == b == 'é\"\\n' * (len(a) // 3)"});
    let same = server.ask("POST", "/api/sandboxes/work/eval", None, Some(&code));
    assert_eq!(same.json()["result"]["value"], true, "{}", same.json());
    let mut wire =
        Wire::greeted(&["--state-dir", folder.path().join("other").to_str().unwrap(), "--tools", "all"]);
    wire.call(1, "sandbox_create", json!({"name": "work"}));
    let written = wire.call(2, "sandbox_write", over_mcp);
    assert_eq!(written["structuredContent"]["bytes"], content.len());
    // Two in one go, a long one and a short one, are answered both.
    let (long, short) = (json!({"code": format!("#{}\n3", "x".repeat(200_000))}), json!({"code": "4"}));
    for (id, arguments) in [(3, &long), (4, &short)] {
        let params = json!({"name": "sandbox_eval", "arguments": arguments});
        wire.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}));
    }
    for (id, value) in [(3, 3), (4, 4)] {
        assert_eq!(wire.answer(id)["result"]["structuredContent"]["result"]["value"], value);
    }
}

/// Long messages are read where they hold up nobody: short requests are answered meanwhile.
#[test]
fn mcp_05_long_bodies_do_not_hold_up_short_requests() {
    let folder = tempfile::tempdir().unwrap();
    let server = served(&folder);
    let body = format!("{{\"code\":\"{}\"}}", "\\u0061".repeat((48 << 20) / 6));
    let headers = [("Content-Type", "application/json")];
    std::thread::scope(|threads| {
        let long: Vec<_> = (0..4)
            .map(|_| threads.spawn(|| server.send("POST", "/api/eval", &headers, body.as_bytes())))
            .collect();
        let mut slowest = Duration::ZERO;
        while !long.iter().all(std::thread::ScopedJoinHandle::is_finished) {
            let begin = Instant::now();
            assert_eq!(server.send("GET", "/health", &[], b"").status, 200);
            slowest = slowest.max(begin.elapsed());
            std::thread::sleep(Duration::from_millis(5));
        }
        eprintln!("the slowest short request took {slowest:?}");
        assert!(slowest < Duration::from_secs(2), "{slowest:?}");
    });
}

#[test]
fn mcp_05_addresses_that_need_no_token_read_no_body() {
    let folder = tempfile::tempdir().unwrap();
    let server = served(&folder);
    let host = server.authority().to_owned();
    for path in ["/health", "/"] {
        for length in [format!("Content-Length: {LONGEST}"), "Transfer-Encoding: chunked".to_owned()] {
            let begin = Instant::now();
            let head = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n{length}\r\n\r\n");
            let mut stream = server.raw(head.as_bytes());
            let mut first = [0; 15];
            stream.read_exact(&mut first).unwrap();
            assert_eq!(&first, b"HTTP/1.1 200 OK", "{path} {length}");
            assert!(begin.elapsed() < Duration::from_secs(5), "the body was waited for");
        }
    }
    // Nothing of it counts as an owner's.
    let waiting: Vec<_> = (0..16)
        .map(|_| {
            server.raw(
                format!("GET /health HTTP/1.1\r\nHost: {host}\r\nContent-Length: {LONGEST}\r\n\r\n")
                    .as_bytes(),
            )
        })
        .collect();
    let told = server.ask("POST", "/api/eval", None, Some(&json!({"code": "1 + 1"})));
    assert_eq!(told.json()["result"]["value"], 2);
    drop(waiting);
}

#[test]
fn mcp_02_a_query_of_many_fields_is_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let server = served(&folder);
    let fields = |count: usize| (0..count).map(|number| format!("{number:x}")).collect::<Vec<_>>().join("&");
    let begin = Instant::now();
    for _ in 0..20 {
        let told = server.send("GET", &format!("/api/sandboxes?{}", fields(10_000)), &[], b"");
        assert_eq!((told.status, told.code().as_str()), (400, "args_invalid"), "{}", told.head);
        assert!(told.json()["error"]["message"].as_str().unwrap().contains("more than 64 fields"));
    }
    assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());
    let told = server.send("GET", &format!("/api/sandboxes?{}", fields(64)), &[], b"");
    assert!(told.json()["error"]["message"].as_str().unwrap().contains("no field"), "{}", told.json());
    let twice = server.send("GET", "/api/sandboxes?limit=1&a=1&limit=2", &[], b"");
    assert!(twice.json()["error"]["message"].as_str().unwrap().contains("twice"), "{}", twice.json());
}

/// What one owner's messages hold is that owner's: another one's calls go on.
#[test]
fn mcp_06_bodies_in_progress_are_counted_for_each_owner() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tokens");
    std::fs::write(&file, "ann ann-token-0123456789\nbob bob-token-0123456789\n").unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    let state = folder.path().join("state");
    let server =
        Served::start(&["--state-dir", state.to_str().unwrap(), "--token-file", file.to_str().unwrap()]);
    let host = server.authority().to_owned();
    let begin = |token: &str| {
        let head = format!(
            "POST /api/eval HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n\
             Connection: close\r\nContent-Length: {LONGEST}\r\n\r\n"
        );
        server.raw(head.as_bytes())
    };
    let mut held: Vec<_> = (0..4).map(|_| begin("ann-token-0123456789")).collect();
    // One that is not refused holds a place: it came before one of those above, which was refused in its stead.
    wait_for("another body is refused", Duration::from_secs(60), || {
        let mut stream = begin("ann-token-0123456789");
        stream.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
        let mut status = [0; 12];
        match stream.read_exact(&mut status) {
            Ok(()) if &status == b"HTTP/1.1 429" => Ok(()),
            other => {
                held.push(stream);
                Err((other, status))
            }
        }
    });
    let bobs = server.ask("POST", "/api/eval", Some("bob-token-0123456789"), Some(&json!({"code": "1 + 1"})));
    assert_eq!(bobs.json()["result"]["value"], 2, "{}", bobs.json());
    drop(held);
}

/// What bodies let go of is the system's again (MEM-04).
#[test]
fn mem_04_memory_of_large_bodies_goes_back() {
    let folder = tempfile::tempdir().unwrap();
    let server = served(&folder);
    let held = || Levels::of(&server.process().to_string()).memory >> 10;
    server.ask("POST", "/api/eval", None, Some(&json!({"code": "1"})));
    let before = held();
    let body = json!({"code": format!("'{}'; 1", "x".repeat(20 << 20))});
    for _ in 0..3 {
        std::thread::scope(|scope| {
            for _ in 0..6 {
                scope.spawn(|| server.ask("POST", "/api/eval", None, Some(&body)));
            }
        });
    }
    let most = held();
    wait_for("the system has the memory of the bodies again", Duration::from_secs(60), || {
        let now = held();
        if now <= before + 64 { Ok(()) } else { Err(format!("{before} MiB before, {most} then, {now} now")) }
    });
    eprintln!("mem_04: {before} MiB before, {most} MiB after 18 bodies of 20 MiB, {} MiB at rest", held());
}
