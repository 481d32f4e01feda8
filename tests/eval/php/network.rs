//! PHP over a network: streams, TLS, `stream_select`, names, curl; and what is said where the rules do not allow it.

use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use dormouse::Outcome;
use dormouse_tests::PHP;
use dormouse_tests::ending::{assert_ends, told, value};
use dormouse_tests::outside::Outside;
use dormouse_tests::sandbox;
use serde_json::json;

static OUTSIDE: LazyLock<Outside> = LazyLock::new(Outside::new);

/// What the snippets here know: servers of the test, and `get`, which makes a request by curl.
const KNOWN: &str = "const HTTP = 'http://plain.test:$HTTP', TLS = 'https://api.test:$HTTPS', OWN = 'https://self.test:$SELF', READ = 'http://read.test:$HTTP', BYTES = 'tcp://bytes.test:$BYTES', GONE = 'https://gone.test:$GONE';
function handle($url, $o = []) { $c = curl_init($url); curl_setopt_array($c, [CURLOPT_RETURNTRANSFER => true, CURLOPT_TIMEOUT => 20]); curl_setopt_array($c, $o); return $c; }
function get($url, $o = []) { $c = handle($url, $o); $r = curl_exec($c); return $r === false ? curl_errno($c) . ' ' . curl_error($c) : $r; }
";

fn run(code: &str) -> Outcome {
    OUTSIDE.run(OUTSIDE.snippet(PHP, &format!("{KNOWN}{code}")))
}

/// A snippet that gives false and warns.
#[track_caller]
fn warns(code: &str, outcome: &Outcome, words: &str) {
    assert!(outcome.value().is_some(), "{code}: {}", told(outcome));
    assert_eq!(value(outcome)["value"], false, "{code}");
    let said = &outcome.stderr.text;
    assert!(said.starts_with("Warning: ") && said.contains(words), "{code}: {said}");
}

#[track_caller]
fn all_true(table: &str) {
    let lines = table.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let wrong = lines.filter_map(|line| {
        let outcome = run(line);
        let is_true = outcome.value().is_some() && value(&outcome)["value"] == true;
        (!is_true).then(|| format!("{line}\n  {}", told(&outcome)))
    });
    let wrong: Vec<String> = wrong.collect();
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

/// What is not allowed leaves nothing: no question about a name, no connection.
#[test]
fn net_01_no_way_out_without_a_grant() {
    let outside = Outside::new();
    let begun = Instant::now();
    for code in [
        "file_get_contents(HTTP . '/echo')",
        "file_get_contents(TLS . '/echo')",
        "fopen('http://127.0.0.1:$HTTP/', 'r')",
        "fsockopen('ssl://api.test', $HTTPS)",
        "stream_socket_client(BYTES)",
        "pfsockopen('127.0.0.1', $HTTP)",
    ] {
        let outcome = outside.run_alone(PHP, &format!("{KNOWN}{code}"));
        warns(code, &outcome, "this sandbox has no network");
    }
    let tried = outside.run_alone(PHP, &format!("{KNOWN}get(HTTP) . get(TLS) . gethostbyname('api.test')"));
    let answer = value(&tried)["value"].as_str().unwrap().to_owned();
    assert_eq!(answer.matches("7 Failed to connect").count(), 2, "{answer}");
    assert_eq!(answer.matches("this sandbox has no network").count(), 2, "{answer}");
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    assert_eq!((outside.asked(), outside.accepted()), (Vec::new(), 0));
}

#[test]
fn what_no_rule_allows_is_a_warning_with_the_hosts_sentence() {
    for (code, words) in [
        ("file_get_contents('http://other.test/')", "`other.test`"),
        ("file_get_contents('https://api.test:444/')", "444"),
        ("file_get_contents('http://169.254.169.254/')", "`169.254.169.254`"),
        ("fsockopen('ssl://other.test', 443)", "`other.test`"),
        ("stream_socket_client('tcp://127.0.0.1:1')", "127.0.0.1"),
        ("fsockopen('udp://127.0.0.1', 53)", "no UDP in this sandbox"),
        ("stream_socket_client('unix:///tmp/s')", "no Unix sockets in this sandbox"),
        ("stream_socket_server('tcp://127.0.0.1:0')", "programs in this sandbox cannot listen"),
        ("file_get_contents(READ . '/other')", "403 Forbidden"),
        ("file_get_contents(GONE)", "nobody takes connections"),
        ("file_get_contents(str_replace('https:', 'http:', GONE))", "nobody takes connections there"),
        ("file_get_contents('http://none.invalid/')", "has no address"),
        ("file_get_contents('https://none.invalid/')", "has no address"),
        ("file_get_contents('http://2130706433/')", "no name that can be looked up"),
    ] {
        warns(code, &run(code), words);
    }
}

/// The host checks certificates, whatever a program sets.
#[test]
fn net_12_a_certificate_of_nobody_is_refused() {
    let context = "stream_context_create(['ssl' => ['verify_peer' => false, 'verify_peer_name' => false, 'allow_self_signed' => true]])";
    let code = format!("file_get_contents(OWN, false, {context})");
    let outcome = run(&code);
    warns(&code, &outcome, "certificate verify failed");
    assert!(outcome.stderr.text.contains("Failed to enable crypto"), "{}", outcome.stderr.text);
}

#[test]
fn net_23_odd_names_and_many_connections_are_errors() {
    for code in [
        r#"@fsockopen("a\xff\xfe.test", 80)"#,
        "@fsockopen(str_repeat('a', 300), 80)",
        r#"@stream_socket_client("tcp://\xc3\xbc.test:80")"#,
        r#"@file_get_contents("http://a\xff.test/")"#,
        "@fsockopen('', 80)",
        "@fsockopen('127.0.0.1', 70000)",
        "@stream_socket_client('tcp://[::1')",
        "@stream_socket_client('tcp://[::1]:80')",
    ] {
        let outcome = run(code);
        assert!(outcome.value().is_some(), "{code}: {}", told(&outcome));
        assert_eq!(value(&outcome)["value"], false, "{code}");
    }
    let many = "for ($i = 0; $i < 60; $i++) { $f = @stream_socket_client(BYTES, $n, $t); if (!$f) break; $all[] = $f; } array_pop($all); json_encode([$i, strlen($t) > 0, (bool) stream_socket_client(BYTES)])";
    assert_eq!(value(&run(many))["value"], "[40,true,true]");
}

#[test]
fn a_blocked_program_ends_with_its_time() {
    for code in [
        "file_get_contents('https://api.test:$HTTPS/late?20000')",
        "curl_exec(curl_init('http://plain.test:$HTTP/late?20000'))",
    ] {
        let begun = Instant::now();
        let outcome = OUTSIDE.run(OUTSIDE.snippet(PHP, code).timeout(Duration::from_millis(500)));
        assert_ends(&outcome, &["limit_time"]);
        assert!(begun.elapsed() < Duration::from_secs(4), "{code}");
    }
}

/// What a memory that goes on finds of its connections: they were dropped.
#[test]
fn net_24_connections_end_with_their_run() {
    let outside = Arc::new(Outside::new());
    let kept = sandbox::wait(outside.dormouse.sandbox("kept")).unwrap();
    let eval = |code: &str| {
        let outcome = sandbox::wait(kept.eval(PHP, outside.code(code))).unwrap();
        assert!(outcome.value().is_some(), "{code}: {}", told(&outcome));
        value(&outcome)["value"].clone()
    };
    let begin = "$f = stream_socket_client(BYTES); $p = pfsockopen('bytes.test', $BYTES); fwrite($f, 'f'); fwrite($p, 'p'); $c = handle(TLS . '/late?20000'); $m = curl_multi_init(); curl_multi_add_handle($m, $c); for ($i = 0; $i < 5; $i++) { curl_multi_exec($m, $r); curl_multi_select($m, 0.02); } fread($f, 1) . fread($p, 1)";
    let gone = "$sent = @fwrite($f, 'x'); $got = @fread($f, 10); $end = feof($f); $q = pfsockopen('bytes.test', $BYTES); fwrite($q, 'q'); do { curl_multi_exec($m, $r); curl_multi_select($m); } while ($r); json_encode([$sent, $got, $end, fread($q, 1), curl_multi_info_read($m)['result'] > 0, strlen(get(TLS . '/big?5')), strlen(file_get_contents(HTTP . '/big?5'))])";
    let dropped = json!(r#"[false,false,true,"q",true,5,5]"#);
    eval(&format!("{KNOWN}1"));
    assert_eq!(eval(begin), "fp");
    assert_eq!(eval(gone), dropped);

    assert_eq!(eval(begin), "fp");
    let saved = sandbox::wait(kept.checkpoint()).unwrap();
    sandbox::wait(kept.restore(&saved)).unwrap();
    assert_eq!(eval(gone), dropped);

    assert_eq!(eval(begin), "fp");
    sandbox::wait(kept.stop()).unwrap();
    assert_eq!(eval(gone), dropped);
}
