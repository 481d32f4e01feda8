//! MCP-05: cancelling at any time, and leaving in the middle of a run.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use dormouse_tests::levels::{Levels, wait_until_idle};
use dormouse_tests::wire::Wire;
use dormouse_tests::{NOISE, PROMISE, binary};
use serde_json::{Value as Json, json};

const FOREVER: &str = "while True: pass";

fn start(wire: &mut Wire, id: i64, code: &str) {
    let arguments = json!({"code": code, "timeout_ms": 60_000});
    wire.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
        "params": {"name": "sandbox_eval", "arguments": arguments}}));
}

/// Starts a run, and waits until its code runs.
fn begin(wire: &mut Wire, id: i64, code: &str) {
    let code = format!("print('begun')\n{code}");
    wire.begin(id, "sandbox_eval", &json!({"code": code, "timeout_ms": 60_000}));
}

fn cancel(wire: &mut Wire, id: impl Into<Json>) {
    wire.tell("notifications/cancelled", json!({"requestId": id.into(), "reason": "test"}));
}

#[test]
fn mcp_05_cancelling_ends_the_run() {
    let mut wire = Wire::greeted(&[]);
    wire.call(1, "sandbox_eval", json!({"code": "1"}));
    for (id, code) in
        (2..).zip([FOREVER, "import time; time.sleep(60)", "9**9**9", "while True: print('x' * 10_000)"])
    {
        begin(&mut wire, id, code);
        cancel(&mut wire, id);
        wait_until_idle(&wire.process().to_string(), PROMISE + NOISE);
    }
    assert_eq!(
        wire.call(50, "sandbox_eval", json!({"code": "1 + 1"}))["structuredContent"]["result"]["value"],
        2
    );
}

#[test]
fn mcp_05_cancelling_at_once_after_the_end_twice_or_nothing_at_all_is_harmless() {
    let mut wire = Wire::greeted(&[]);
    for id in 1..20 {
        start(&mut wire, id, FOREVER);
        cancel(&mut wire, id);
    }
    wait_until_idle(&wire.process().to_string(), PROMISE + NOISE);
    wire.call(50, "sandbox_eval", json!({"code": "1"}));
    cancel(&mut wire, 50);
    cancel(&mut wire, 50);
    for nothing in [json!(4711), json!("text"), json!(null), json!(1.5), json!({}), json!(0)] {
        cancel(&mut wire, nothing);
    }
    wire.still_serves(51);
}

#[test]
fn mcp_06_more_calls_than_places_are_refused_and_cancelled_ones_give_theirs_back() {
    let mut wire = Wire::greeted(&[]);
    wire.call(1, "sandbox_eval", json!({"code": "1"}));
    let process = wire.process().to_string();
    let before = Levels::of(&process);
    for round in 0..3 {
        let ids = 1_000 * (round + 1)..1_000 * (round + 1) + 80;
        for id in ids.clone() {
            start(&mut wire, id, "import time; time.sleep(60)");
        }
        let refused: Vec<Json> = std::iter::from_fn(|| wire.next(Duration::from_secs(20))).take(16).collect();
        assert_eq!(refused.len(), 16, "64 calls have a place, 16 are refused");
        for answer in refused {
            assert_eq!(answer["result"]["structuredContent"]["error"]["code"], "busy", "{answer}");
        }
        for id in ids {
            cancel(&mut wire, id);
        }
        let end = Instant::now() + PROMISE + NOISE;
        for id in 100 * (round + 1).. {
            let after = wire.call(id, "sandbox_eval", json!({"code": "1 + 1"}));
            if after["structuredContent"]["result"]["value"] == 2 {
                break;
            }
            assert!(Instant::now() < end, "no place came free in round {round}: {after}");
        }
    }
    let slack = Levels { memory: 256 << 10, descriptors: 80, threads: 32 };
    before.wait_until_back(&process, &slack, Duration::from_secs(30));
}

#[test]
fn mcp_05_leaving_in_the_middle_of_a_run_ends_the_process() {
    for code in [FOREVER, "import time; time.sleep(60)", "9**9**9"] {
        let mut wire = Wire::greeted(&[]);
        wire.call(1, "sandbox_eval", json!({"code": "1"}));
        begin(&mut wire, 2, code);
        let begin = Instant::now();
        let ran = wire.end(Duration::from_secs(30));
        assert!(begin.elapsed() < PROMISE + NOISE, "{code}: {:?}", begin.elapsed());
        assert_eq!(ran.status, Some(0), "{code}: {}", ran.complaint());
    }
}

#[test]
fn lif_05_asked_to_end_the_server_cancels_its_runs_and_ends_well() {
    for code in [FOREVER, "import time; time.sleep(60)", "1"] {
        let mut wire = Wire::greeted(&[]);
        wire.call(1, "sandbox_eval", json!({"code": "1"}));
        for id in 2..12 {
            start(&mut wire, id, code);
        }
        let begin = Instant::now();
        dormouse_tests::served::terminate(wire.process());
        let ran = wire.wait(Duration::from_secs(30));
        assert!(begin.elapsed() < 2 * PROMISE + NOISE, "{code}: {:?}", begin.elapsed());
        assert_eq!(ran.status, Some(0), "{code}: {}", ran.complaint());
    }
}

/// LIF-05: who passes a signal on, as `timeout` does, may send it to a process and to its group a moment later.
#[test]
fn lif_05_two_signals_at_once_ask_once_and_nothing_answered_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["--state-dir", folder.path().to_str().unwrap(), "--tools", "all"];
    for round in 1..4 {
        let mut wire = Wire::greeted(&arguments);
        let code = "try:\n    n += 1\nexcept NameError:\n    n = 1\nn";
        let done = wire.call(1, "sandbox_eval", json!({"code": code, "session_key": "kept"}));
        assert_eq!(done["structuredContent"]["result"]["value"], round, "{done}");
        let twice = format!("kill -TERM {0}; sleep 0.001; kill -TERM {0}; true", wire.process());
        binary::finish(binary::started(Path::new("/bin/sh"), &["-c", &twice]), b"");
        let ran = wire.wait(Duration::from_secs(30));
        assert_eq!(ran.status, Some(0), "{}", ran.complaint());
    }
}

/// Its input stays open all the while: a client that closes it has left, and what it did not read is dropped.
#[test]
fn mcp_05_a_client_that_does_not_read_is_waited_for_in_bounded_memory() {
    let mut child = binary::command(&["mcp"]).spawn().unwrap();
    let (mut input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let (sent, enough) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
    let (count, last) = (sent.clone(), enough.clone());
    let writer = std::thread::spawn(move || {
        let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "w", "version": "0"}});
        writeln!(input, "{}", json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello}))
            .unwrap();
        writeln!(input, "{}", json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).unwrap();
        while !last.load(Ordering::Relaxed) {
            let id = count.load(Ordering::Relaxed) + 1;
            let arguments = json!({"code": "print('x' * 48_000)", "output_bytes": 48_000});
            let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "sandbox_eval", "arguments": arguments}});
            writeln!(input, "{call}").unwrap();
            count.store(id, Ordering::Relaxed);
        }
        input
    });
    let process = child.id().to_string();
    let (mut peak, mut seen, mut since) = (0, 0, Instant::now());
    let end = Instant::now() + Duration::from_secs(60);
    // Until no call has been taken for a while: what waits to be read is as much as the server holds.
    while since.elapsed() < Duration::from_secs(2) {
        assert!(
            Instant::now() < end,
            "{seen} calls were taken from a client that reads nothing, and more are"
        );
        assert_eq!(child.try_wait().unwrap(), None, "the server has left its client");
        peak = peak.max(Levels::of(&process).memory);
        let now = sent.load(Ordering::Relaxed);
        if now != seen {
            (seen, since) = (now, Instant::now());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    enough.store(true, Ordering::Relaxed);
    let (line, lines) = std::sync::mpsc::channel();
    let reader = std::thread::spawn(move || {
        let read = BufReader::new(output).lines().map_while(Result::ok);
        read.for_each(|text| line.send(text).unwrap());
    });
    // Reading lets the last call through, which was held back.
    let input = writer.join().unwrap();
    let mut ids = BTreeSet::new();
    for _ in 0..=sent.load(Ordering::Relaxed) {
        let text = lines.recv_timeout(Duration::from_secs(60)).expect("an answer to every call");
        let answer: Json = serde_json::from_str(&text).unwrap();
        assert!(ids.insert(answer["id"].as_u64().unwrap()), "answered twice: {text}");
    }
    drop(input);
    assert_eq!(binary::wait(&mut child, Duration::from_secs(60)), Some(0));
    reader.join().unwrap();
    assert!(lines.try_recv().is_err(), "something was said that nobody asked for");
    // As many as are worked on at one time, and those whose answers fit into the outbox (4 MiB): an answer that there is no
    // place for a run is some 400 bytes long.
    assert!(seen < 16_000, "{seen} calls were taken from a client that does not read");
    assert!(peak < 256 << 10, "{peak} KiB were held for a client that does not read");
}

/// P2: the protocol lets a client leave standard error unread, and what a snippet can have logged is without end.
#[test]
fn mcp_05_a_log_that_nobody_reads_holds_nobody_up() {
    let mut command = binary::command(&["mcp"]);
    command.env("DORMOUSE_LOG", "info");
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let (line, lines) = std::sync::mpsc::channel();
    let output = child.stdout.take().unwrap();
    let reader = std::thread::spawn(move || {
        let read = BufReader::new(output).lines().map_while(Result::ok);
        read.for_each(|text| drop(line.send(text)));
    });
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "w", "version": "0"}});
    writeln!(input, "{}", json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello}))
        .unwrap();
    lines.recv_timeout(Duration::from_secs(60)).expect("a greeting");
    writeln!(input, "{}", json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).unwrap();
    // A line of the log for each, which together are several times what a pipe holds.
    for id in 1..=2_000 {
        let call = json!({"name": "sandbox_eval", "arguments": {"code": "1"}});
        writeln!(input, "{}", json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": call}))
            .unwrap();
        lines.recv_timeout(Duration::from_secs(60)).unwrap_or_else(|_| panic!("no answer to call {id}"));
    }
    drop(input);
    assert_eq!(binary::wait(&mut child, Duration::from_secs(30)), Some(0));
    reader.join().unwrap();
}
