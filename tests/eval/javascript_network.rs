//! JavaScript over a network: `fetch`, the modules of Node.js, events and WebSocket; and what is said where the rules do not allow it.

mod servers;

use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use dormouse_tests::ending::{exception, told, value};
use dormouse_tests::outside::Outside;
use dormouse_tests::{JAVASCRIPT, sandbox};
use serde_json::{Value as Json, json};

const SNIPPETS: &str = include_str!("javascript_network.txt");

static OUTSIDE: LazyLock<Outside> =
    LazyLock::new(|| Outside::with(&sandbox::wait(servers::start()), servers::RULES));

/// Each line of a part is true.
#[track_caller]
fn all_true(part: &str) {
    let heading = format!("// {part}");
    let lines = SNIPPETS.lines().skip_while(|line| **line != *heading).skip(1);
    let lines: Vec<&str> =
        lines.take_while(|line| !line.starts_with("// ")).filter(|line| !line.is_empty()).collect();
    assert!(!lines.is_empty(), "{part}");
    let wrong = lines.into_iter().filter_map(|line| {
        let outcome = OUTSIDE.run(OUTSIDE.snippet(JAVASCRIPT, line));
        let is_true = outcome.value().is_some() && value(&outcome)["value"] == json!(true);
        (!is_true).then(|| format!("{line}\n  {}", told(&outcome)))
    });
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "{} are not true:\n{}", wrong.len(), wrong.join("\n"));
}

fn run(code: &str) -> Json {
    value(&OUTSIDE.run(OUTSIDE.snippet(JAVASCRIPT, code)))["value"].clone()
}

#[test]
fn fetch_is_as_the_standard_has_it() {
    all_true("fetch");
}

#[test]
fn bodies_are_sent_and_read() {
    all_true("bodies");
}

#[test]
fn redirects_are_followed() {
    all_true("redirects");
}

#[test]
fn what_is_aborted_ends() {
    all_true("abort");
}

#[test]
fn failures_have_the_codes_of_node() {
    all_true("failures");
}

#[test]
fn the_modules_http_and_https() {
    all_true("http");
}

#[test]
fn sockets_of_the_modules_net_and_tls() {
    all_true("sockets");
}

#[test]
fn events_of_a_server() {
    all_true("events");
}

#[test]
fn web_sockets() {
    all_true("websocket");
}

#[test]
fn a_message_of_a_web_socket_that_does_not_fit_into_the_memory_is_too_big() {
    let code = "const s = new WebSocket('ws://socket.test:$SOCKET/'); let why; s.onerror = ({ message }) => { why = message; };
        s.onopen = () => s.send('bytes 60000000'); const { code } = await new Promise((done) => { s.onclose = done; }); `${code} ${why}`";
    let outcome = OUTSIDE.run(OUTSIDE.snippet(JAVASCRIPT, code).memory(64 << 20));
    assert_eq!(value(&outcome)["value"], "1009 there is no memory for a message of 60000000 bytes");
}

/// A connection that nobody closes keeps its run until its time is over: which one it was is said.
#[test]
fn a_run_that_waits_for_an_open_connection_is_told_which_one() {
    let hint = |code: &str| {
        let outcome = OUTSIDE.run(OUTSIDE.snippet(JAVASCRIPT, code).timeout(Duration::from_millis(700)));
        let error = outcome.stopped().unwrap_or_else(|| panic!("{}", told(&outcome)));
        error.hint().unwrap_or_default().to_owned()
    };
    let open = hint("const s = new WebSocket('ws://socket.test:$SOCKET/'); 1");
    assert!(open.contains("a connection to `socket.test:") && open.contains("a WebSocket"), "{open}");
    // It computes, whatever is open; it waits for an answer.
    let busy = hint("require('net').connect($BYTES, 'bytes.test'); for (;;);");
    let late = hint("await fetch('https://api.test:$HTTPS/late?20000')");
    assert!([&busy, &late].iter().all(|hint| hint.starts_with("raise the time-out")), "{busy} {late}");
}

#[test]
fn typescript_is_javascript_here_too() {
    let code = "const told: { path: string } = await (await fetch('https://api.test:$HTTPS/echo')).json(); told.path";
    assert_eq!(value(&OUTSIDE.run(OUTSIDE.snippet("typescript", code)))["value"], "/echo");
}

#[test]
fn requests_that_are_awaited_together_are_under_way_together() {
    let begun = Instant::now();
    let code = "const all = await Promise.all([...Array(100).keys()].map(() => fetch('https://api.test:$HTTPS/late?100').then((r) => r.text())));
        all.every((text) => text === 'late')";
    assert_eq!(run(code), true);
    assert!(begun.elapsed() < Duration::from_secs(7), "{:?}", begun.elapsed());
}

/// More connections than the operator allows are not asked for: requests wait for their turn, and each counts once.
#[test]
fn a_smaller_budget_of_connections_is_kept_to() {
    let narrow = Outside::with(&[], "[budget.owner]\nconnections = 3\nrequests = 30\n");
    let code = "const post = (n) => fetch('https://api.test:$HTTPS/echo', { method: 'POST', body: 'x'.repeat(1000) + n }).then((r) => r.json());
        const all = await Promise.all([...Array(30).keys()].map(post));
        all.every(({ body }, n) => body === 'x'.repeat(1000) + n)";
    let outcome = narrow.run(narrow.snippet(JAVASCRIPT, code));
    assert_eq!((&value(&outcome)["value"], outcome.network.unwrap().requests), (&true.into(), 30));
}

#[test]
fn tools_timers_and_connections_are_waited_for_together() {
    let snippet = OUTSIDE
        .snippet(
            JAVASCRIPT,
            "const order = []; const note = (name) => () => order.push(name);
             await Promise.all([
               tools.slow({}).then(note('tool')),
               new Promise((done) => setTimeout(done, 300)).then(note('timer')),
               fetch('http://plain.test:$HTTP/late?600').then(note('connection')),
             ]); order.join()",
        )
        .callback("slow", "Waits.", json!({}), |_: Json| async {
            tokio::time::sleep(Duration::from_millis(20)).await;
            Ok(json!(1))
        });
    assert_eq!(value(&OUTSIDE.run(snippet))["value"], "tool,timer,connection");
}

/// What is not allowed leaves nothing: no question about a name, no connection.
#[test]
fn net_01_no_way_out_without_a_grant() {
    let outside = Outside::new();
    let begun = Instant::now();
    for code in [
        "await fetch('https://api.test:$HTTPS/').catch(({ message, cause }) => { if (message === 'fetch failed') throw cause })",
        "await fetch('http://127.0.0.1:$HTTP/', { method: 'POST', body: 'x' }).catch(({ cause }) => { throw cause })",
        "await new Promise((_, reject) => require('http').get('http://plain.test:$HTTP/').on('error', reject))",
        "await new Promise((_, reject) => require('https').get('https://api.test:$HTTPS/').on('error', reject))",
        "await new Promise((_, reject) => require('net').connect($HTTP, 'plain.test').on('error', reject))",
        "await new Promise((_, reject) => require('net').connect($HTTP, '127.0.0.1').on('error', reject))",
        "await new Promise((_, reject) => require('tls').connect($HTTPS, 'api.test').on('error', reject))",
        "await new Promise((_, reject) => new WebSocket('wss://api.test:$HTTPS').onerror = ({ error }) => reject(error))",
    ] {
        let outcome = outside.run_alone(JAVASCRIPT, code);
        let found = exception(&outcome);
        assert!(format!("{:?}", found.code).contains("EACCES"), "{code}: {}", found.message);
        assert!(found.message.contains("this sandbox has no network"), "{code}: {}", found.message);
    }
    for (code, said) in [
        ("await require('dns/promises').resolve('api.test')", "asks no DNS"),
        ("require('dgram').createSocket('udp4').send('x', 1, '127.0.0.1')", "no UDP"),
        (
            "await new Promise((_, reject) => require('net').connect('/tmp/x').on('error', reject))",
            "no sockets of files",
        ),
        (
            "await new Promise((_, reject) => require('http').createServer().listen(80).on('error', reject))",
            "nothing can listen",
        ),
        ("require('http2').connect('https://api.test')", "no HTTP/2"),
    ] {
        let outcome = outside.run_alone(JAVASCRIPT, code);
        let message = &exception(&outcome).message;
        assert!(message.contains(said), "{code}: {message}");
    }
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    assert_eq!((outside.asked().len(), outside.accepted()), (0, 0));
}

/// The host checks certificates, whatever a program sets.
#[test]
fn net_12_a_certificate_of_nobody_is_refused_whatever_a_program_sets() {
    for code in [
        "await fetch('https://self.test:$SELF/').catch(({ cause }) => { throw cause })",
        "process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'; await fetch('https://self.test:$SELF/').catch(({ cause }) => { throw cause })",
        "await new Promise((_, reject) => require('https').get('https://self.test:$SELF/', { rejectUnauthorized: false }).on('error', reject))",
        "await new Promise((_, reject) => require('tls').connect($SELF, 'self.test', { rejectUnauthorized: false, checkServerIdentity() {} }).on('error', reject))",
    ] {
        let outcome = OUTSIDE.run(OUTSIDE.snippet(JAVASCRIPT, code));
        let found = exception(&outcome);
        assert!(found.message.contains("certificate"), "{code}: {}", found.message);
        assert!(format!("{:?}", found.code).contains("UNABLE_TO_VERIFY_LEAF_SIGNATURE"), "{code}");
    }
}

/// Names, ports, heads and bodies that are none are errors.
#[test]
fn net_23_odd_names_heads_and_lengths_are_errors() {
    all_true("odd");
}

/// Connections end with their run: who goes on with one hears of it. What was read ahead stays.
#[test]
fn net_24_connections_end_with_their_run() {
    let outside = Arc::new(Outside::with(&sandbox::wait(servers::start()), servers::RULES));
    let kept = sandbox::wait(outside.dormouse.sandbox("kept")).unwrap();
    let eval = |code: &str| {
        let outcome = sandbox::wait(kept.eval(JAVASCRIPT, outside.code(code))).unwrap();
        assert!(outcome.value().is_some(), "{code}: {}", told(&outcome));
        value(&outcome)["value"].clone()
    };
    let begin = "var small = await fetch('https://api.test:$HTTPS/echo'), large = await fetch('https://api.test:$HTTPS/big?3000000');
        var socket = require('net').connect($BYTES, 'bytes.test'); socket.on('error', () => {}); socket.write('x');
        await new Promise((done) => socket.once('data', done)); socket.unref(); 1";
    let gone = "const why = await large.text().catch((error) => [error.message, error.cause.code, error.cause.message].join());
        const failure = await new Promise((done) => { socket.once('error', done); socket.write('y'); });
        const again = await (await fetch('https://api.test:$HTTPS/echo')).json();
        [(await small.json()).path, why.startsWith('terminated,ECONNRESET,'), failure.code, again.path].join()";
    assert_eq!(eval(begin), 1);
    assert_eq!(eval(gone), "/echo,true,ECONNRESET,/echo");
    assert_eq!(eval(begin), 1);
    let saved = sandbox::wait(kept.checkpoint()).unwrap();
    sandbox::wait(kept.restore(&saved)).unwrap();
    assert_eq!(eval(gone), "/echo,true,ECONNRESET,/echo");
}
