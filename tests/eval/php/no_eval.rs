//! A call that may not make code from text (S1-24): `eval` of the snippet's own throws, that of the project's files does not.

use std::fs;

use dormouse::GuestPath;
use dormouse::wasm::{Session, Settings, WasmProvider};
use dormouse::{Access, EvalRequest, Language, Mount, Outcome, Project};
use dormouse_tests::ending::{assert_ends, exception, told, value};
use dormouse_tests::{PHP, sandbox};
use serde_json::{Value as Json, json};
use tempfile::TempDir;

/// A template engine in little.
const LIBRARY: &str = "<?php\nfunction render(string $text) { return eval($text); }\n\
    class Engine { public $code = 'return 5;'; function run() { return eval(\"return eval('$this->code');\"); } }\n\
    return 3;\n";

fn forbidden(code: &str) -> EvalRequest {
    EvalRequest { allow_eval: false, ..sandbox::request(PHP, code) }
}

#[track_caller]
fn assert_refused(outcome: &Outcome, code: &str) {
    assert_ends(outcome, &["raised Error"]);
    let message = &exception(outcome).message;
    assert!(message.contains("is not allowed here"), "{code}: {message}");
}

fn project() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("vendor")).unwrap();
    fs::write(folder.path().join("vendor/autoload.php"), LIBRARY).unwrap();
    fs::write(folder.path().join("more.php"), "<?php return 8;").unwrap();
    folder
}

fn in_project(folder: &TempDir, access: Access, code: &str) -> Outcome {
    let mut request = forbidden(code);
    request.context.grants.project = Some(Project { access, ..Project::new(folder.path()) });
    sandbox::run_request(request)
}

#[test]
fn eval_throws_wherever_the_snippet_calls_it() {
    for code in [
        "eval('return 1;');",
        "eval('not a program');",
        "function f() { return eval('return 1;'); } f();",
        "array_map(function ($x) { return eval($x); }, ['return 1;']);",
        "array_map(fn($x) => eval($x), ['return 1;']);",
        "class A { function __get($n) { return eval('return 1;'); } } (new A)->x;",
        "class A { function __destruct() { eval('return 1;'); } } new A; ",
        "class A { function __unserialize($d): void { eval('return 1;'); } } unserialize('O:1:\"A\":0:{}');",
        "spl_autoload_register(function ($c) { eval(\"class $c {}\"); }); new Missing;",
        "set_error_handler(function () { eval('return 1;'); }); echo $missing;",
        "(new ReflectionFunction(function () { eval('return 1;'); }))->invoke();",
        "preg_replace_callback('/a/', function () { return eval('return 1;'); }, 'a');",
        "register_shutdown_function(function () { eval('return 1;'); });",
        "ob_start(function ($b) { eval('return 1;'); return $b; }); echo 1; ob_end_flush();",
        "$l = [2, 1]; usort($l, function () { return eval('return 1;'); });",
        "(function () { yield eval('return 1;'); })()->current();",
        "iterator_to_array((function () { yield eval('return 1;'); })());",
        "$c = Closure::bind(function () { return eval('return 1;'); }, new class {}, null); $c();",
    ] {
        assert_refused(&sandbox::run_request(forbidden(code)), code);
    }
}

#[test]
fn text_does_not_get_in_by_another_door() {
    for code in [
        "include 'php://memory';",
        "file_put_contents('x.php', '<?php return 1;'); include 'x.php';",
        "file_put_contents('x.php', '<?php return 1;'); include_once './x.php';",
        "file_put_contents('/tmp/x.php', '<?php return 1;'); require '/tmp/../tmp/x.php';",
        "file_put_contents('/tmp/x.php', '<?php return 1;'); require_once 'file:///tmp/x.php';",
        "mkdir('a'); file_put_contents('a/x.php', '<?php return 1;'); set_include_path('/tmp/a'); include 'x.php';",
        "file_put_contents('x.gz', gzencode('<?php return 1;')); include 'compress.zlib://x.gz';",
        "file_put_contents('evil.inc', '<?php class Evil {}'); set_include_path('/tmp'); spl_autoload_register(); new Evil;",
        "file_put_contents('evil.inc', '<?php class Evil {}'); set_include_path('/tmp'); spl_autoload('Evil');",
        "$p = new Phar('/tmp/a.phar'); $p['x.php'] = '<?php return 1;'; unset($p); include 'phar:///tmp/a.phar/x.php';",
        "$p = new Phar('/tmp/a.phar'); $p['x.php'] = '<?php return 1;'; unset($p); include '/tmp/a.phar';",
        "class W { public $context; private $n = 0; function stream_open() { return true; } function stream_stat() { return []; } function stream_set_option() { return false; } function stream_eof() { return $this->n++ > 0; } function stream_read($c) { return '<?php return 1;'; } } stream_wrapper_register('web', 'W'); include 'web://x';",
    ] {
        assert_refused(&sandbox::run_request(forbidden(code)), code);
    }
    // PHP itself includes no addresses, and none of the rest makes code from its text in PHP 8.
    for (code, wanted) in [
        ("$ran = false; try { assert('$ran = true'); } catch (Throwable) {} $ran", json!(false)),
        ("@include 'data:text/plain,<?php return 1;'", json!(false)),
        ("@include 'php://stdin'", json!(false)),
        ("ini_set('allow_url_include', '1')", json!(false)),
        ("function_exists('create_function')", json!(false)),
        (
            "try { mb_ereg_replace('a', '1 + 1', 'a', 'e'); } catch (ValueError) { return 'no such option'; }",
            json!("no such option"),
        ),
        ("is_callable('eval')", json!(false)),
        ("@preg_replace('/a/e', '1 + 1', 'a')", Json::Null),
        (
            "try { array_map('eval', ['return 1;']); } catch (TypeError) { return 'TypeError'; }",
            json!("TypeError"),
        ),
        (
            "try { new ReflectionFunction('eval'); } catch (ReflectionException) { return 'none'; }",
            json!("none"),
        ),
        ("count(token_get_all('<?php echo 1;')) > 1", json!(true)),
    ] {
        let found = value(&sandbox::run_request(forbidden(code)));
        assert_eq!(found["value"], wanted, "{code}");
    }
}

#[test]
fn the_exception_can_be_caught_and_the_rest_of_the_language_is_there() {
    let code = "try { eval('return 1;'); } catch (Error $e) { return $e->getMessage(); }";
    assert_eq!(value(&sandbox::run_request(forbidden(code)))["value"], "eval() is not allowed here");
    let code = "$f = fn($x) => $x + 1; $n = 'strtoupper'; [$f(1), $n('a'), call_user_func('strrev', 'ab'), (new ReflectionClass('ArrayObject'))->newInstance([1])->count()]";
    let found = value(&sandbox::run_request(forbidden(code)));
    let list: Vec<_> = found["value"].as_array().unwrap().iter().map(|item| item["value"].clone()).collect();
    assert_eq!(list, [json!(2), json!("A"), json!("ba"), json!(1)]);
}

#[test]
fn files_of_the_project_may_still_do_it() {
    let folder = project();
    for access in [Access::ReadOnly, Access::ReadWrite] {
        for (code, wanted) in [("render('return 4;')", 4), ("(new Engine)->run()", 5)] {
            assert_eq!(value(&in_project(&folder, access, code))["value"], wanted, "{code}");
        }
        assert_refused(&in_project(&folder, access, "eval('return 1;');"), "eval");
    }
    assert_eq!(value(&in_project(&folder, Access::ReadOnly, "require 'more.php'"))["value"], 8);
    // Filters make any text of any file.
    let filtered = "require 'php://filter/read=string.toupper/resource=/project/more.php';";
    assert_refused(&in_project(&folder, Access::ReadOnly, filtered), filtered);
    // What the snippet can write is as good as its own text.
    assert_refused(&in_project(&folder, Access::ReadWrite, "require 'more.php';"), "require");
}

#[test]
fn a_file_of_a_mount_may_be_included_unless_it_can_be_written() {
    let folder = project();
    for (access, allowed) in [(Access::ReadOnly, true), (Access::ReadWrite, false)] {
        let mut request = forbidden("(require '/lib/vendor/autoload.php') + render('return 4;')");
        let target = GuestPath::parse("/lib").unwrap();
        request.context.grants.mounts.push(Mount { source: folder.path().into(), target, access });
        let outcome = sandbox::run_request(request);
        if allowed {
            assert_eq!(value(&outcome)["value"], 7, "{}", told(&outcome));
        } else {
            assert_refused(&outcome, "require");
        }
    }
}

#[test]
fn a_snippet_cannot_take_the_name_of_a_file_or_the_place_of_its_wrapper() {
    let folder = project();
    let mut request = forbidden("eval('return 1;');");
    request.name = "/project/vendor/autoload.php".into();
    request.context.grants.project = Some(Project::new(folder.path()));
    assert_refused(&sandbox::run_request(request), "the name of a file");
    let code = "class W { public $context; private $n = 0; function stream_open() { return true; } function stream_stat() { return []; } function stream_set_option() { return false; } function stream_eof() { return $this->n++ > 0; } function stream_read($c) { return '<?php return eval(\"return 1;\");'; } } stream_wrapper_unregister('file'); stream_wrapper_register('file', 'W'); require '/project/more.php';";
    assert_refused(&in_project(&folder, Access::ReadOnly, code), "the place of a wrapper");
}

#[test]
fn the_flag_is_each_calls_own() {
    let provider = Settings::new().and_then(WasmProvider::new).unwrap();
    let mut session: Session = sandbox::wait(provider.session(&Language::php())).unwrap();
    let mut call = |code: &str, allow_eval: bool| {
        let request = EvalRequest { allow_eval, ..EvalRequest::new(Language::php(), code) };
        sandbox::wait(provider.continue_session(&mut session, &request)).unwrap()
    };
    call(
        "function f() { return eval('return 1;'); } eval('function g() { return eval(\"return 2;\"); }');",
        true,
    );
    call(
        "file_put_contents('h.php', '<?php function h() { return eval(\"return 3;\"); }'); require 'h.php';",
        true,
    );
    for (code, wanted) in [("f()", 1), ("g()", 2), ("h()", 3)] {
        assert_eq!(value(&call(code, true))["value"], wanted);
        assert_refused(&call(code, false), code);
        assert_eq!(value(&call(code, true))["value"], wanted);
    }
    // A refused file does not count as included.
    let once = "file_put_contents('o.php', '<?php return 6;'); include_once 'o.php'";
    assert_refused(&call(once, false), once);
    assert_eq!(value(&call(once, true))["value"], 6);
}
