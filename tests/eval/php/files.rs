//! Files, folders and headers, where PHP on another system would have noticed a difference.

use dormouse_tests::ending::value;
use dormouse_tests::{PHP, sandbox};
use serde_json::json;

use super::kept::Kept;

#[test]
fn compressed_files_are_read_and_written() {
    super::each(&[
        ("$f = gzopen('a.gz', 'wb9'); gzwrite($f, 'one'); gzclose($f); gzfile('a.gz')[0]", json!("one")),
        (
            "file_put_contents('compress.zlib://a.gz', 'two'); file_get_contents('compress.zlib://a.gz') . bin2hex(substr(file_get_contents('a.gz'), 0, 2))",
            json!("two1f8b"),
        ),
        (
            "$f = gzopen('a.gz', 'w'); gzwrite($f, 'abc'); gzclose($f); $f = gzopen('a.gz', 'r'); $g = fopen('b', 'w+'); gzclose($f); fwrite($g, 'still open'); rewind($g); fread($g, 20)",
            json!("still open"),
        ),
        (
            "$f = gzopen('a.gz', 'w'); gzwrite($f, 'x'); unset($f); ob_start(); readgzfile('a.gz'); ob_get_clean()",
            json!("x"),
        ),
    ]);
}

#[test]
fn folders_have_the_names_that_a_system_gives_them() {
    super::each(&[
        ("mkdir('a/'); rmdir('a/')", json!(true)),
        ("mkdir('a/b', 0777, true); chdir('a/b'); chdir('..'); getcwd()", json!("/tmp/a")),
        ("mkdir('a'); chdir('./a/../a/.'); getcwd()", json!("/tmp/a")),
        ("mkdir('a'); chdir('a'); chdir('../..') ? 0 : getcwd()", json!("/tmp/a")),
        ("@chdir('missing/..')", json!(false)),
        ("chdir('/tmp/'); getcwd()", json!("/tmp")),
        ("touch('a'); @rmdir('a/')", json!(false)),
        (
            "for ($i = 0; $i < 50; $i++) { touch(\"f$i\"); if (fileinode(\"f$i\") < 0 || stat(\"f$i\")['ino'] < 0) return $i; } return 'all'",
            json!("all"),
        ),
    ]);
}

#[test]
fn what_is_written_after_the_end_was_read_can_be_read() {
    super::each(&[(
        "file_put_contents('f', 'a'); $r = fopen('f', 'r'); $w = fopen('f', 'a'); $x = fread($r, 10) . fread($r, 10); fwrite($w, 'foo'); $x . fread($r, 10)",
        json!("afoo"),
    )]);
}

#[test]
fn headers_are_taken_and_dropped() {
    let code = "$before = headers_sent(); session_name('mine'); header('X-A: b'); echo 'out'; return [$before, headers_sent(), session_name()];";
    let mut kept = Kept::new();
    for _ in 0..2 {
        let outcome = kept.call(code);
        assert_eq!((outcome.stdout.text.as_str(), outcome.stderr.text.as_str()), ("out", ""));
        let list: Vec<_> =
            value(&outcome)["value"].as_array().unwrap().iter().map(|item| item["value"].clone()).collect();
        assert_eq!(list, [json!(false), json!(true), json!("mine")]);
    }
}

#[test]
fn a_program_without_arguments_has_its_name() {
    super::each(&[
        ("$argv[0] . $argc . $_SERVER['argc'] . $_SERVER['PHP_SELF']", json!("<snippet>11<snippet>")),
        ("filter_input(INPUT_SERVER, 'PHP_SELF')", json!("<snippet>")),
    ]);
    let mut request = sandbox::request(PHP, "$argv[0] . $_SERVER['argv'][0] . $_SERVER['SCRIPT_NAME']");
    request.name = "a.php".into();
    assert_eq!(value(&sandbox::run_request(request))["value"], "a.phpa.phpa.php");
}

#[test]
fn a_warning_outside_of_functions_names_the_program() {
    let outcome = sandbox::eval(PHP, "unserialize('O:1:\"X\":0:{}')->f = 1;");
    assert!(!outcome.stderr.text.contains("Unknown:"), "{}", outcome.stderr.text);
}

#[test]
fn output_goes_on_after_an_error_in_a_handler_of_it() {
    let mut kept = Kept::new();
    kept.call("ob_start(function ($s) { ob_start(); return $s; }); echo 1; ob_end_flush();");
    assert_eq!(kept.call("echo 2;").stdout.text, "2");
}
