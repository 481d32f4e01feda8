//! MCP-10: standard output carries messages of the protocol and not one byte more. Every test that uses
//! [`Wire`](dormouse_tests::wire::Wire) holds the server to it; here is what might tempt it.

use std::time::Duration;

use dormouse_tests::wire::Wire;
use serde_json::json;

/// Stands in the code, the output, the input and the name of a run, and must not stand in a log.
const SECRET: &str = "secret-4d1c9a";

fn busy_session(wire: &mut Wire) {
    wire.greet();
    wire.ask(1, "tools/list", json!({}));
    wire.call(2, "sandbox_capabilities", json!({}));
    let code =
        format!("print('{SECRET}'); import sys; print('{SECRET}', sys.stdin.read(), file=sys.stderr); 1 / 0");
    wire.call(3, "sandbox_eval", json!({"code": code, "stdin": SECRET}));
    wire.call(
        4,
        "sandbox_eval",
        json!({"code": "console.log('x'); process.stdout.write('no newline')", "language": "javascript"}),
    );
    wire.call(5, "sandbox_eval", json!({"code": "while True: print('x' * 1000)", "timeout_ms": 200}));
    wire.call(6, "sandbox_eval", json!({"code": "unreachable = bytearray(1 << 40)"}));
    wire.call(7, "sandbox_eval", json!({"code": "1", "nonsense": 1}));
    wire.ask(8, "no/such/method", json!({}));
    wire.raw(b"garbage\n");
    wire.still_serves(9);
    let sunk = json!({"code": "import os; os.close(1); os.write(2, b'x'); os._exit(1)"});
    assert_eq!(wire.call(10, "sandbox_eval", sunk)["structuredContent"]["exit_code"], 1);
}

#[test]
fn mcp_10_standard_output_carries_protocol_bytes_only_at_every_log_level() {
    for level in ["off", "warn", "trace"] {
        let mut wire =
            Wire::start_with(&[], &[("DORMOUSE_LOG", level), ("RUST_LOG", level), ("RUST_BACKTRACE", "1")]);
        busy_session(&mut wire);
        let ran = wire.end(Duration::from_secs(10));
        assert_eq!(ran.status, Some(0), "{level}: {}", ran.complaint());
        // What a client does wrong is no warning of the server's.
        assert_eq!(ran.stderr.is_empty(), level != "trace", "{level}: {}", ran.complaint());
    }
}

#[test]
fn mcp_10_logs_below_trace_hold_no_text_of_the_snippet() {
    let mut wire = Wire::start_with(&[], &[("DORMOUSE_LOG", "debug")]);
    busy_session(&mut wire);
    let ran = wire.end(Duration::from_secs(10));
    let log = ran.complaint();
    assert!(log.contains("sandbox_eval"), "the log tells of calls: {log}");
    let at = log.find(SECRET);
    let around = at.map(|at| {
        log[log.floor_char_boundary(at.saturating_sub(200))
            ..log.ceil_char_boundary((at + 100).min(log.len()))]
            .to_owned()
    });
    assert_eq!(around, None, "the log repeats what the snippet holds");
}
