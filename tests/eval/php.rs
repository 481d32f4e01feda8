//! PHP: the requirements of S1 one by one (S1-04 to S1-17, S1-27 to S1-39), and what a script of the command line expects.

mod ends;
mod extensions;
mod files;
mod hostile;
mod kept;
mod lines;
mod network;
mod no_eval;
mod random;
mod tools;
mod values;
mod wide;

use dormouse_tests::ending::{assert_ends, exception, value};
use dormouse_tests::{PHP, sandbox};
use serde_json::{Value as Json, json};

#[track_caller]
fn each(table: &[(&str, Json)]) {
    let mut wrong = Vec::new();
    for (code, wanted) in table {
        let found = sandbox::value_of(PHP, code);
        if found != *wanted && found["value"] != *wanted {
            wrong.push(format!("{code}\n  wanted {wanted}\n  found  {found}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), table.len(), wrong.join("\n"));
}

#[test]
fn the_last_expression_or_return_is_the_value() {
    each(&[
        ("return 1 + 1;", json!(2)),
        ("1 + 1", json!(2)),
        ("1 + 1;", json!(2)),
        ("1 + 1;;", json!(2)),
        ("1 + 1 // why", json!(2)),
        ("1 + 1; # why", json!(2)),
        ("<?php 1 + 1", json!(2)),
        ("<?php\ndeclare(strict_types=1);\nreturn 1 + 1;", json!(2)),
        ("<?php return 1 + 1 ?>", json!(2)),
        ("\u{feff}<?php 1 + 1", json!(2)),
        ("#!/usr/bin/php\n<?php 1 + 1", json!(2)),
        ("declare(strict_types=1); 1 + 1", json!(2)),
        ("namespace A\\B; const C = 3; C", json!(3)),
        ("namespace A { class B {} } namespace { return A\\B::class; }", json!("A\\B")),
        ("use DateTimeImmutable as D; D::class", json!("DateTimeImmutable")),
        ("$a = 5", json!(5)),
        ("$f = fn($x) => $x * 2; $f(4)", json!(8)),
        ("match (true) { default => 'm' }", json!("m")),
        ("function f() { return 6; } f()", json!(6)),
        ("<<<T\n  text\n  T", json!("text")),
        ("$x = '?>'; $x", json!("?>")),
        ("if (true) { 5; }", json!({"type": "null", "value": null})),
        ("foreach ([1] as $x) $x;", Json::Null),
        ("echo 1;", Json::Null),
        ("", Json::Null),
        (" \n", Json::Null),
        ("1 + 1; __halt_compiler(); this is no code", json!(2)),
        ("isset($nothing)", json!(false)),
        ("list($a, $b) = [1, 2]; [$b, $a][0]", json!(2)),
        ("eval('return 9;')", json!(9)),
        ("(function () { yield 1; return 2; })()->current()", json!(1)),
    ]);
}

#[test]
fn a_file_of_html_prints_it_and_what_its_tags_say() {
    let outcome = sandbox::eval(PHP, "<html><?= 1 + 1 ?></html>\n<?php\n$x = 3;\nreturn $x;");
    assert_eq!(
        (outcome.stdout.text.as_str(), value(&outcome)["value"].clone()),
        ("<html>2</html>\n", json!(3))
    );
    let outcome = sandbox::eval(PHP, "$x = 1 ?> after");
    assert_eq!(outcome.stdout.text, " after");
}

#[test]
fn a_snippet_cannot_leave_its_wrapper() {
    for code in
        ["})(); 1; (function(){", "}\n1;\n{", "*/ 1; /*", "\"); 1; (", "return 1; })(); (function () {"]
    {
        assert_eq!(exception(&sandbox::eval(PHP, code)).class, "ParseError", "{code}");
    }
    assert_eq!(exception(&sandbox::eval(PHP, "--unsafe")).class, "ParseError");
    assert_eq!(sandbox::value_of(PHP, "-- $x")["type"], "null");
}

#[test]
fn printing_stays_usable_and_apart_from_the_value() {
    let outcome =
        sandbox::eval(PHP, "echo 'a'; print('b'); printf('%d', 3); fwrite(STDERR, 'e'); return ['x' => 1];");
    assert_eq!((outcome.stdout.text.as_str(), outcome.stderr.text.as_str()), ("ab3", "e"));
    assert_eq!(value(&outcome)["value"]["x"]["value"], 1);
    let outcome =
        sandbox::eval(PHP, "ob_start(); echo 'held'; ob_start(fn($s) => strtoupper($s)); echo 'up'; 1");
    assert_eq!(outcome.stdout.text, "heldUP");
    let outcome = sandbox::eval(PHP, "ob_start(); echo 'taken'; $x = ob_get_clean(); $x");
    assert_eq!((outcome.stdout.text.as_str(), value(&outcome)["value"].clone()), ("", json!("taken")));
}

#[test]
fn warnings_go_to_standard_error_and_end_nothing() {
    let outcome = sandbox::eval(PHP, "$a = [];\n$a['none'];\n1 <=> $b;\nreturn 'on';");
    assert_eq!(value(&outcome)["value"], "on");
    assert_eq!(
        outcome.stderr.text,
        "Warning: Undefined array key \"none\" in <snippet> on line 2\n\
         Warning: Undefined variable $b in <snippet> on line 3\n"
    );
    let quiet = sandbox::eval(PHP, "@$a['x']; error_reporting(0); $b + 1; 2");
    assert_eq!(quiet.stderr.text, "");
    let caught =
        "set_error_handler(function ($n, $m) { throw new ErrorException($m, 0, $n); }); $nothing + 1;";
    assert_eq!(exception(&sandbox::eval(PHP, caught)).class, "ErrorException");
}

#[test]
fn tools_of_the_host_are_called() {
    let call = |code: &str| {
        let mut request = sandbox::request(PHP, code);
        dormouse_tests::golden::offer_tools(&mut request);
        sandbox::run_request(request)
    };
    let given = "['a' => [1, 2.5, null, true, 'ü'], 'b' => ['c' => 'd'], 'e' => 1.0]";
    assert_eq!(value(&call(&format!("call_tool('echo', {given}) === {given}")))["value"], true);
    assert_eq!(value(&call("call_tool('echo')"))["count"], 0);
    assert_eq!(value(&call("call_tool('echo', [1, [2, 3]])"))["value"][1]["value"][0]["value"], 2);
    let failed = call("call_tool('fail', ['why' => 'closed'])");
    assert_eq!(
        (exception(&failed).class.as_str(), exception(&failed).message.as_str()),
        ("ToolError", "closed")
    );
    let unknown = call(
        "try { call_tool('eco'); } catch (RuntimeException $e) { $e->getMessage(); } return $e->getMessage();",
    );
    assert!(value(&unknown)["value"].as_str().is_some_and(|told| told.contains("echo, fail")), "{unknown:?}");
    assert_ends(&call("call_tool('echo', ['x' => \"\\xff\"])"), &["raised ValueError"]);
    assert_ends(&call("call_tool(\"\\xff\")"), &["raised ValueError"]);
}

#[test]
fn the_standard_extensions_work() {
    each(&[
        ("json_encode(['a' => 1.0, 'ü' => null], JSON_UNESCAPED_UNICODE)", json!("{\"a\":1,\"ü\":null}")),
        ("preg_match('/(\\p{L}+) (?<n>\\d+)/u', 'Größe 42', $m) . $m['n'] . $m[1]", json!("142Größe")),
        ("mb_strtoupper('straße') . mb_strlen('日本')", json!("STRASSE2")),
        ("bcadd('1', '2.5', 3) . bcpow('2', '70')", json!("3.5001180591620717411303424")),
        ("hash('sha256', '') === hash('sha256', false) ? substr(hash('xxh3', 'a'), 0, 4) : 0", json!("e6c6")),
        ("ctype_alpha('abc') && filter_var('a@b.de', FILTER_VALIDATE_EMAIL) === 'a@b.de'", json!(true)),
        ("cal_days_in_month(CAL_GREGORIAN, 2, 2100)", json!(28)),
        ("count(PhpToken::tokenize('<?php 1;'))", json!(3)),
        (
            "(new DateTime('2100-03-01', new DateTimeZone('Europe/Berlin')))->modify('-1 day')->format('c')",
            json!("2100-02-28T00:00:00+01:00"),
        ),
        ("(new ReflectionFunction(fn(int $a) => 1))->getParameters()[0]->getType()->getName()", json!("int")),
        ("gzuncompress(gzcompress(str_repeat('a', 1000))) === str_repeat('a', 1000)", json!(true)),
        ("iconv('UTF-8', 'ISO-8859-1', 'ü') === \"\\xfc\"", json!(true)),
        ("unserialize(serialize([1, 'a' => new ArrayObject([2])]))['a'][0]", json!(2)),
        (
            "$d = new PDO('sqlite::memory:'); $d->exec('create table t(a)'); $s = $d->prepare('insert into t values (?)'); $s->execute([5]); $d->query('select a from t')->fetchColumn()",
            json!("5"),
        ),
        (
            "$d = new SQLite3('/tmp/x.db'); $d->exec('create table t(a); insert into t values(7)'); $d->querySingle('select a from t')",
            json!(7),
        ),
        ("session_start(); $_SESSION['a'] = 1; session_id() !== ''", json!(true)),
        ("PHP_INT_MAX . ' ' . PHP_INT_SIZE . ' ' . PHP_SAPI", json!("9223372036854775807 8 cli")),
        (
            "strlen(serialize(iterator_to_array(new LimitIterator(new InfiniteIterator(new ArrayIterator([1, 2])), 0, 5), false)))",
            json!(46),
        ),
        ("sprintf('%.3f|%5s|%b', M_PI, 'a', 10)", json!("3.142|    a|1010")),
        ("implode(',', array_map(null, [1, 2], ['a', 'b'])[1])", json!("2,b")),
        ("password_verify('x', password_hash('x', PASSWORD_BCRYPT, ['cost' => 4]))", json!(true)),
        ("crc32('a') . ' ' . md5('a')", json!("3904355907 0cc175b9c0f1b6a831c399e269772661")),
        (
            "$d = Dom\\HTMLDocument::createFromString('<!DOCTYPE html><p class=a>one<p>two', LIBXML_NOERROR); $d->querySelector('p.a + p')->textContent",
            json!("two"),
        ),
        (
            "$d = new DOMDocument; $d->loadXML('<a><b c=\"1\"/></a>'); (new DOMXPath($d))->evaluate('string(//b/@c)')",
            json!("1"),
        ),
        ("(string)simplexml_load_string('<a><b>x</b></a>')->b", json!("x")),
        (
            "$w = new XMLWriter; $w->openMemory(); $w->writeElement('a', '<'); $w->outputMemory()",
            json!("<a>&lt;</a>"),
        ),
        ("$r = XMLReader::XML('<a><b/></a>'); $r->read(); $r->read(); $r->name", json!("b")),
        (
            "$p = xml_parser_create(); $n = ''; xml_set_element_handler($p, function ($p, $t) use (&$n) { $n .= $t; }, fn() => 1); xml_parse($p, '<a><b/></a>', true); $n",
            json!("AB"),
        ),
        ("$w = WeakReference::create($o = new stdClass); $w->get() === $o", json!(true)),
    ]);
}

#[test]
fn what_the_sandbox_lacks_is_said() {
    for (code, class, told) in [
        ("(new Fiber(fn() => 1))->start()", "FiberError", "fibers cannot run in this sandbox"),
        ("proc_open('id', [], $p)", "Error", "undefined function proc_open(): no processes in this sandbox"),
        ("pcntl_fork()", "Error", "undefined function pcntl_fork(): no processes in this sandbox"),
        (
            "namespace A; ftp_connect('example.com')",
            "Error",
            "ftp_connect(): its extension is not in this sandbox",
        ),
        (
            "$f = 'socket_create'; $f(2, 1, 0)",
            "Error",
            "undefined function socket_create(): its extension is not in this sandbox, where streams connect",
        ),
        ("dns_get_record('example.com')", "Error", "dns_get_record(): no records of names in this sandbox"),
        ("getmxrr('example.com', $h)", "Error", "getmxrr(): no records of names in this sandbox"),
        ("dl('x')", "Error", "undefined function dl"),
    ] {
        let outcome = sandbox::eval(PHP, code);
        let found = exception(&outcome);
        assert_eq!(found.class, class, "{code}");
        assert!(found.message.contains(told), "{code}: {}", found.message);
    }
    let (processes, network) = ("no processes in this sandbox", "this sandbox has no network");
    for (code, told) in [
        ("exec('id')", processes),
        ("system('id')", processes),
        ("passthru('id') ?? false", processes),
        ("shell_exec('id') ?: false", processes),
        ("popen('id', 'r')", processes),
        ("`id` ?: false", processes),
        (
            "$c = curl_init('https://example.com'); curl_exec($c) || trigger_error(curl_error($c), E_USER_WARNING); false",
            network,
        ),
        ("fsockopen('example.com', 80)", network),
        ("fsockopen('192.0.2.1', 80)", network),
        ("stream_socket_client('tcp://192.0.2.1:80')", network),
        ("stream_socket_server('tcp://127.0.0.1:8080')", "programs in this sandbox cannot listen"),
        ("file_get_contents('http://example.com/')", network),
        ("file_get_contents('https://example.com/')", network),
        ("fopen('HTTPS://example.com/', 'r')", network),
        ("copy('https://example.com/a', '/tmp/a')", network),
        ("fsockopen('ssl://example.com', 443)", network),
        ("stream_socket_client('tls://example.com:443')", network),
        ("file_get_contents('strange://example.com/')", "Unable to find the wrapper"),
    ] {
        let outcome = sandbox::eval(PHP, code);
        assert_eq!(value(&outcome)["value"], false, "{code}");
        let said = &outcome.stderr.text;
        assert!(said.starts_with("Warning: ") && said.contains(told), "{code}: {said}");
    }
}
