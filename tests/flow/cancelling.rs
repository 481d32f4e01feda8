//! MCP-05: cancelling at any time, and leaving in the middle of a run.

use std::fs;
use std::time::{Duration, Instant};

use dormouse_tests::levels::Levels;
use dormouse_tests::wire::Wire;
use dormouse_tests::{NOISE, PROMISE};
use serde_json::{Value as Json, json};

const FOREVER: &str = "while True: pass";

fn start(wire: &mut Wire, id: i64, code: &str) {
    let arguments = json!({"code": code, "timeout_ms": 60_000});
    wire.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
        "params": {"name": "sandbox_eval", "arguments": arguments}}));
}

fn cancel(wire: &mut Wire, id: impl Into<Json>) {
    wire.tell("notifications/cancelled", json!({"requestId": id.into(), "reason": "test"}));
}

/// Processor time of a process, in hundredths of a second.
fn ticks(process: u32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    let fields: Vec<&str> = stat[stat.rfind(')').unwrap()..].split_whitespace().collect();
    fields[12].parse::<u64>().unwrap() + fields[13].parse::<u64>().unwrap()
}

/// Waits until the process computes nothing for a while.
#[track_caller]
pub(crate) fn falls_idle(process: u32, patience: Duration) {
    let end = Instant::now() + patience;
    loop {
        let before = ticks(process);
        std::thread::sleep(Duration::from_millis(200));
        if ticks(process) - before <= 2 {
            return;
        }
        assert!(Instant::now() < end, "the process still computes {patience:?} later");
    }
}

/// Waits until the process computes.
#[track_caller]
pub(crate) fn becomes_busy(process: u32) {
    let (begin, end) = (ticks(process), Instant::now() + Duration::from_secs(20));
    while ticks(process) < begin + 20 {
        assert!(Instant::now() < end, "the run did not begin");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn mcp_05_cancelling_ends_the_run() {
    let mut wire = Wire::greeted(&[]);
    wire.call(1, "sandbox_eval", json!({"code": "1"}));
    for (id, code) in
        (2..).zip([FOREVER, "import time; time.sleep(60)", "9**9**9", "while True: print('x' * 10_000)"])
    {
        start(&mut wire, id, code);
        std::thread::sleep(Duration::from_millis(300));
        cancel(&mut wire, id);
        falls_idle(wire.process(), PROMISE + NOISE);
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
    falls_idle(wire.process(), PROMISE + NOISE);
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
        let refused: Vec<Json> = std::iter::from_fn(|| wire.next(Duration::from_secs(2))).take(16).collect();
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
    let slack = Levels { memory: 256 << 10, descriptors: 80, threads: 8 };
    let end = Instant::now() + Duration::from_secs(30);
    loop {
        let now = Levels::of(&process);
        let back = now.memory < before.memory + slack.memory
            && now.descriptors < before.descriptors + slack.descriptors
            && now.threads <= before.threads + slack.threads;
        if back {
            break;
        }
        assert!(Instant::now() < end, "before {before:?}, after {now:?}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn mcp_05_leaving_in_the_middle_of_a_run_ends_the_process() {
    for code in [FOREVER, "import time; time.sleep(60)", "9**9**9"] {
        let mut wire = Wire::greeted(&[]);
        wire.call(1, "sandbox_eval", json!({"code": "1"}));
        start(&mut wire, 2, code);
        if code == FOREVER {
            becomes_busy(wire.process());
        } else {
            std::thread::sleep(Duration::from_millis(300));
        }
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

#[test]
fn mcp_05_a_client_that_does_not_read_is_waited_for_in_bounded_memory() {
    let mut command = dormouse_tests::binary::command(&["mcp"]);
    let mut child = command.spawn().unwrap();
    let (mut input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let writer = std::thread::spawn(move || {
        use std::io::Write as _;
        let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "w", "version": "0"}});
        let _ = writeln!(
            input,
            "{}",
            json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello})
        );
        let _ = writeln!(input, "{}", json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        for id in 1..=1_500 {
            let arguments = json!({"code": "print('x' * 48_000)", "output_bytes": 48_000});
            let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "sandbox_eval", "arguments": arguments}});
            if writeln!(input, "{call}").is_err() {
                return;
            }
        }
    });
    let process = child.id();
    let mut peak = 0;
    let end = Instant::now() + Duration::from_secs(8);
    while Instant::now() < end {
        peak = peak.max(Levels::of(&process.to_string()).memory);
        std::thread::sleep(Duration::from_millis(50));
    }
    let reader = std::thread::spawn(move || {
        std::io::BufRead::lines(std::io::BufReader::new(output)).map_while(Result::ok).count()
    });
    writer.join().unwrap();
    dormouse_tests::binary::wait(&mut child, Duration::from_secs(60));
    assert_eq!(reader.join().unwrap(), 1_501, "every call was answered once the client read");
    assert!(peak < 512 << 10, "{peak} KiB were held for a client that does not read");
}
