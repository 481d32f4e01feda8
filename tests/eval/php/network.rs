//! PHP over a network: streams, TLS, `stream_select`, names, curl; and what is said where the rules do not allow it.

mod server;

use std::sync::LazyLock;
use std::sync::atomic::Ordering;
use std::time::Duration;

use dormouse::Outcome;
use dormouse::wasm::{Settings, WasmProvider};
use dormouse::{EvalRequest, Language};
use dormouse_tests::ending::{told, value};
use dormouse_tests::{PHP, sandbox};
use serde_json::json;

use server::Servers;

static SERVERS: LazyLock<Servers> = LazyLock::new(|| sandbox::wait(Servers::start()));

/// Functions of the lines about curl.
const CURL: &str = "function handle($url, $o = []) { $c = curl_init($url); curl_setopt_array($c, $o + [CURLOPT_RETURNTRANSFER => true, CURLOPT_TIMEOUT => 20]); return $c; }
function get($url, $o = []) { $c = handle($url, $o); $r = curl_exec($c); return $r === false ? curl_errno($c) . ' ' . curl_error($c) : $r; }
";

/// A snippet that knows the servers.
fn code(code: &str) -> String {
    let Servers { http, tls, untrusted, tcp, nobody, closed, .. } = &*SERVERS;
    format!(
        "const HTTP = 'http://127.0.0.1:{http}', TLS = 'https://127.0.0.1:{tls}', UNTRUSTED = 'https://127.0.0.1:{untrusted}', TCP = {tcp}, NOBODY = 'http://127.0.0.1:{nobody}', CLOSED = 'http://127.0.0.1:{closed}';\n{CURL}{code}"
    )
}

/// A snippet with the door of [`SERVERS`], or with none.
fn run(text: &str, has_network: bool) -> Outcome {
    let mut request = sandbox::snippet(PHP, code(text)).timeout(Duration::from_secs(60)).into_request().unwrap();
    request.context.network = has_network.then(|| SERVERS.door());
    sandbox::run_request(request)
}

#[track_caller]
fn all_true(table: &str) {
    let lines = table.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let wrong: Vec<String> = lines
        .filter_map(|line| {
            let outcome = run(line, true);
            let is_true = outcome.value().is_some() && value(&outcome)["value"] == true;
            (!is_true).then(|| format!("{line}\n  {}", told(&outcome)))
        })
        .collect();
    assert!(wrong.is_empty(), "{} are not true:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn streams_reach_what_the_rules_allow() {
    all_true(include_str!("network.txt"));
}

#[test]
fn curl_reaches_what_the_rules_allow() {
    all_true(include_str!("network_curl.txt"));
}

/// NET-01: what is not allowed fails at once, and nothing leaves.
#[test]
fn what_no_rule_allows_is_denied_before_anything_leaves() {
    let closed = format!("127.0.0.1:{}", SERVERS.closed);
    let before = SERVERS.accepted.load(Ordering::SeqCst);
    for (code, has_network, told) in [
        ("file_get_contents('http://example.com/')", false, "this sandbox has no network"),
        ("file_get_contents('https://example.com/')", false, "this sandbox has no network"),
        ("file_get_contents(CLOSED)", true, "127.0.0.1"),
        ("file_get_contents('http://api.example.com/')", true, "`api.example.com`"),
        ("file_get_contents('https://api.example.com/')", true, "`api.example.com`"),
        ("file_get_contents('http://169.254.169.254/')", true, "`169.254.169.254`"),
        ("fsockopen('ssl://api.example.com', 443)", true, "`api.example.com`"),
        ("stream_socket_client(substr(CLOSED, 7))", true, "127.0.0.1"),
        ("fsockopen('udp://127.0.0.1', 53)", true, "no UDP in this sandbox"),
        ("stream_socket_client('unix:///tmp/s')", true, "no Unix sockets in this sandbox"),
        ("stream_socket_server('tcp://127.0.0.1:0')", true, "programs in this sandbox cannot listen"),
    ] {
        let outcome = run(code, has_network);
        assert_eq!(value(&outcome)["value"], false, "{code}");
        let said = &outcome.stderr.text;
        assert!(said.starts_with("Warning: ") && said.contains(told), "{code}: {said}");
    }
    for (code, has_network) in [("get('http://example.com/')", false), ("get(CLOSED)", true)] {
        let told = value(&run(code, has_network))["value"].as_str().unwrap().to_owned();
        assert!(told.starts_with("7 "), "{code}: {told}");
    }
    assert_eq!(SERVERS.accepted.load(Ordering::SeqCst), before, "somebody connected to {closed}");
}

/// NET-12: the host checks certificates, whatever a program sets.
#[test]
fn a_certificate_of_nobody_is_refused_whatever_a_context_says() {
    let context = "stream_context_create(['ssl' => ['verify_peer' => false, 'verify_peer_name' => false, 'allow_self_signed' => true]])";
    let outcome = run(&format!("file_get_contents(UNTRUSTED, false, {context})"), true);
    assert_eq!(value(&outcome)["value"], false);
    let said = &outcome.stderr.text;
    assert!(said.contains("certificate verify failed") && said.contains("Failed to enable crypto"), "{said}");
}

#[test]
fn a_server_that_is_not_there_is_a_connection_that_failed() {
    for (code, told) in [
        ("file_get_contents(NOBODY)", "nobody takes connections there"),
        ("file_get_contents(str_replace('http:', 'https:', NOBODY))", "nobody takes connections"),
        ("file_get_contents('http://nothing.invalid/')", "has no address"),
        ("file_get_contents('https://nothing.invalid/')", "has no address"),
        ("file_get_contents('http://2130706433/')", "no name that can be looked up"),
    ] {
        let outcome = run(code, true);
        assert_eq!(value(&outcome)["value"], false, "{code}");
        assert!(outcome.stderr.text.contains(told), "{code}: {}", outcome.stderr.text);
    }
}

/// NET-23: names that are none, and bytes that are no text, are errors.
#[test]
fn odd_names_and_lengths_are_errors() {
    for code in [
        r#"@fsockopen("a\xff\xfe.test", 80)"#,
        "@fsockopen(str_repeat('a', 300), 80)",
        r#"@stream_socket_client("tcp://\xc3\xbc.test:80")"#,
        r#"@file_get_contents("http://a\xff.test/")"#,
        "@fsockopen('', 80)",
        "@fsockopen('127.0.0.1', 70000)",
        "@stream_socket_client('tcp://[::1')",
    ] {
        assert_eq!(value(&run(code, true))["value"], false, "{code}");
    }
    let many = "for ($i = 0; $i < 40; $i++) { $f = @fsockopen('127.0.0.1', TCP, $n, $t); if (!$f) break; $all[] = $f; } [$i, strlen($t) > 0]";
    let found = run(many, true);
    assert_eq!(value(&found)["value"][0]["value"], json!(16), "{found:?}");
}

/// NET-24: connections end with their run; in the next they are such that the other side has dropped.
#[test]
fn a_connection_of_an_earlier_run_has_been_dropped() {
    let provider = Settings::new().and_then(WasmProvider::new).unwrap();
    let mut session = sandbox::wait(provider.session(&Language::php())).unwrap();
    let mut call = |code: &str| {
        let mut request = EvalRequest::new(Language::parse(PHP).unwrap(), code);
        request.context.network = Some(SERVERS.door());
        sandbox::wait(provider.continue_session(&mut session, &request)).unwrap()
    };
    let first = format!(
        "{} $f = fsockopen('127.0.0.1', TCP); $p = pfsockopen('127.0.0.1', TCP); $m = curl_multi_init(); $c = handle(TLS . '/late?ms=3000'); curl_multi_add_handle($m, $c); curl_multi_exec($m, $r); fgets($f) . fgets($p)",
        code("")
    );
    assert_eq!(value(&call(&first))["value"], "hello\nhello\n");
    for (code, answer) in [
        ("[@fwrite($f, 'x'), @fread($f, 10), feof($f)] == [false, '', true]", json!(true)),
        ("$q = pfsockopen('127.0.0.1', TCP); fgets($q)", json!("hello\n")),
        ("do { curl_multi_exec($m, $r); curl_multi_select($m); } while ($r); curl_multi_info_read($m)['result'] > 0", json!(true)),
        ("get(TLS . '/status/200')", json!("the body")),
        ("file_get_contents(HTTP . '/status/200')", json!("the body")),
    ] {
        let outcome = call(code);
        assert_eq!(value(&outcome)["value"], answer, "{code}: {outcome:?}");
    }
}
