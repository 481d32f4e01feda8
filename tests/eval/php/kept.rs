//! A kept PHP instance: what lasts from call to call, and what does not.

use dormouse::wasm::{Session, Settings, WasmProvider};
use dormouse::{EvalRequest, Language, Outcome};
use dormouse_tests::ending::{assert_ends, exception, value};
use dormouse_tests::{PHP, sandbox};

/// A live PHP, with its provider.
pub(super) struct Kept {
    provider: WasmProvider,
    session: Session,
}

impl Kept {
    pub(super) fn new() -> Self {
        let provider = Settings::new().and_then(WasmProvider::new).unwrap();
        let session = sandbox::wait(provider.session(&Language::php())).unwrap();
        Self { provider, session }
    }

    pub(super) fn call(&mut self, code: &str) -> Outcome {
        let request = EvalRequest::new(Language::parse(PHP).unwrap(), code);
        sandbox::wait(self.provider.continue_session(&mut self.session, &request)).unwrap()
    }
}

#[test]
fn variables_functions_classes_and_constants_last() {
    let mut kept = Kept::new();
    kept.call("$x = 20; const C = 1; function f() { return $GLOBALS['x'] + C; } class A { public static $n = 0; } $g = (fn() => yield from [1, 2, 3])(); $h = fn($y) => $x + $y;");
    kept.call("A::$n++; $g->next(); $o = new ArrayObject([5]);");
    let found = kept.call("A::$n++; [f(), A::$n, $g->current(), $h(2), $o[0], C]");
    let numbers: Vec<i64> = value(&found)["value"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["value"].as_i64().unwrap())
        .collect();
    assert_eq!(numbers, [21, 2, 2, 22, 5, 1]);
}

#[test]
fn an_exception_an_exit_and_a_fatal_error_leave_the_session_alive() {
    for fail in [
        "throw new Exception;",
        "exit(3);",
        "trigger_error('x', E_USER_ERROR);",
        "function f() {} function f() {}",
        "not a program",
        "class A { function __debugInfo() { trigger_error('x', E_USER_ERROR); } } new A",
        "array_map(function () { json_encode(new class implements JsonSerializable { function jsonSerialize(): mixed { trigger_error('x', E_USER_ERROR); } }); }, [1]);",
        "ob_start(); echo 'held'; trigger_error('x', E_USER_ERROR);",
    ] {
        let mut kept = Kept::new();
        kept.call("$x = 1; function kept() { return 41; }");
        kept.call(fail);
        let next = kept.call("$y = json_encode([$x + kept()]); $y");
        assert_eq!((value(&next)["value"].as_str(), next.stdout.text.as_str()), (Some("[42]"), ""), "{fail}");
    }
}

#[test]
fn only_running_out_of_memory_begins_anew() {
    let mut kept = Kept::new();
    kept.call("$x = 1; $all = [];");
    for _ in 0..3 {
        assert_ends(
            &kept.call("while (true) $all[] = str_repeat('x', 1 << 16);"),
            &["raised OutOfMemoryError"],
        );
        assert_eq!(value(&kept.call("isset($x)"))["value"], false);
        assert_eq!(value(&kept.call("strlen(str_repeat('x', 50 << 20))"))["value"], 50 << 20);
    }
}

#[test]
fn the_thousandth_call_answers_like_the_first() {
    let mut kept = Kept::new();
    let code = "echo 'out'; try { throw new Exception('x'); } catch (Exception $e) {} return [json_decode(json_encode(['a' => range(0, 9)]), true), str_repeat('x', 100), (fn() => yield 1)(), $nothing ?? null];";
    let first = kept.call(code);
    for _ in 0..998 {
        kept.call(code);
    }
    let last = kept.call(code);
    assert_eq!(value(&last), value(&first));
    assert_eq!((&last.stdout, &last.stderr), (&first.stdout, &first.stderr));
    let grown = last.usage.memory_peak.saturating_sub(first.usage.memory_peak);
    assert!(grown <= 2 << 20, "it grew by {grown} bytes");
    let mut kept = Kept::new();
    let first = kept.call("function { ").usage.memory_peak;
    for _ in 0..500 {
        kept.call("function { ");
        kept.call("trigger_error('x', E_USER_ERROR);");
    }
    let grown = kept.call("function { ").usage.memory_peak.saturating_sub(first);
    assert!(grown <= 4 << 20, "failures grew it by {grown} bytes");
}

#[test]
fn an_excerpt_is_of_the_text_that_raised() {
    let mut kept = Kept::new();
    kept.call("function thrower() {\n throw new Exception('x'); // here\n}");
    let same = kept.call("// another text\n// with other lines\nthrower();");
    assert_eq!((exception(&same).line, exception(&same).excerpt.as_deref()), (Some(2), None));
    let own = kept.call("1;\nthrow new Exception('own');");
    assert_eq!(exception(&own).excerpt.as_deref(), Some("throw new Exception('own');"));
}

#[test]
fn a_new_namespace_is_each_calls_own_and_settings_last() {
    let mut kept = Kept::new();
    kept.call("declare(strict_types=1); namespace A; use DateTime as D; ini_set('precision', '5'); function f() { return 1; }");
    assert_eq!(
        value(&kept.call("\\A\\f() . strlen((string)M_PI) . (class_exists('D') ? 'yes' : 'no')"))["value"],
        "16no"
    );
}
