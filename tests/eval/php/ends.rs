//! How a PHP run ends: exceptions, fatal errors, exits, and what a script does at its end (S1-11, S1-29 to S1-31, S1-39).

use dormouse::{Exception, Outcome};
use dormouse_tests::ending::{assert_ends, exception, value};
use dormouse_tests::{PHP, sandbox};

fn raised(code: &str) -> Exception {
    exception(&sandbox::eval(PHP, code)).clone()
}

fn classes(exceptions: &[Exception]) -> Vec<&str> {
    exceptions.iter().map(|exception| exception.class.as_str()).collect()
}

#[test]
fn an_exception_says_what_where_and_how() {
    let found = raised(
        "function parse($text) {\n    return json_decode($text, flags: JSON_THROW_ON_ERROR);\n}\n\nparse('{');",
    );
    assert_eq!((found.class.as_str(), found.message.as_str()), ("JsonException", "Syntax error"));
    assert_eq!((found.file.as_deref(), found.line, found.column), (Some("<snippet>"), Some(2), None));
    assert_eq!(found.code, Some(4.into()));
    assert_eq!(
        found.stack_trace,
        ["json_decode (<snippet>:2)", "parse (<snippet>:5)", "{main} (<snippet>:5)"]
            .map(|frame| frame.replace("parse (<snippet>:5)", "parse (<snippet>:2)"))
    );
    assert_eq!(
        found.excerpt.as_deref().map(str::trim),
        Some("return json_decode($text, flags: JSON_THROW_ON_ERROR);")
    );
    assert!(found.previous.is_empty());
    let trace = found.traceback.unwrap();
    assert!(trace.starts_with("JsonException: Syntax error in <snippet>:2\nStack trace:\n#0 "), "{trace}");
    let named = sandbox::run(sandbox::snippet(PHP, "throw new RuntimeException('nope');").name("check.php"));
    assert_eq!(exception(&named).file.as_deref(), Some("check.php"));
    assert_eq!((exception(&named).class.as_str(), named.exit_code()), ("RuntimeException", 1));
}

#[test]
fn frames_name_class_and_method() {
    let found = raised(
        "class A {\n function run() { throw new DomainException('x', 5); }\n static function go() {\n  (new A)->run();\n }\n}\nA::go();",
    );
    assert_eq!(found.stack_trace, ["A->run (<snippet>:2)", "A::go (<snippet>:4)", "{main} (<snippet>:7)"]);
    assert_eq!(found.code, Some(5.into()));
    let inner = raised("array_map(function ($x) {\n throw new Exception('y'); }, [1]);");
    assert_eq!(
        inner.stack_trace,
        ["{closure:<snippet>:1} (<snippet>:2)", "array_map ([internal function])", "{main} (<snippet>:1)"]
    );
    let deep = raised("function f($n) { if ($n === 0) throw new Exception('deep'); f($n - 1); } f(100);");
    assert_eq!((deep.stack_trace.len(), deep.stack_trace[30].as_str()), (31, "...(truncated)"));
}

#[test]
fn causes_follow_nearest_first_and_end_after_ten() {
    let found = raised("throw new Exception('a', 1, new TypeError('b', 2, new RangeException('c', 3)));");
    assert_eq!(
        (found.class.as_str(), classes(&found.previous)),
        ("Exception", vec!["TypeError", "RangeException"])
    );
    assert_eq!((&found.previous[1].code, found.previous[1].line), (&Some(3.into()), Some(1)));
    assert!(found.previous[0].previous.is_empty());
    let long = "$e = null; for ($n = 0; $n < 30; $n++) $e = new Exception(\"$n\", 0, $e); throw $e;";
    assert_eq!(raised(long).previous.len(), 10);
    assert!(raised("throw new Exception('alone');").previous.is_empty());
    let shadowed =
        raised("try { throw new Exception('first'); } finally { throw new LogicException('second'); }");
    assert_eq!((shadowed.class.as_str(), classes(&shadowed.previous)), ("LogicException", vec!["Exception"]));
}

#[test]
fn errors_of_the_language_are_exceptions() {
    for (code, class, told) in [
        ("nothing();", "Error", "Call to undefined function nothing()"),
        ("NOTHING;", "Error", "Undefined constant \"NOTHING\""),
        ("new Nothing;", "Error", "Class \"Nothing\" not found"),
        ("null->x();", "Error", "on null"),
        ("$n = null; $n->x();", "Error", "on null"),
        ("intdiv(1, 0);", "DivisionByZeroError", "Division by zero"),
        ("declare(strict_types=1); strlen(1);", "TypeError", "must be of type string, int given"),
        ("(function (int $x) {})('a');", "TypeError", "must be of type int, string given"),
        ("strlen();", "ArgumentCountError", "expects exactly 1 argument, 0 given"),
        ("match (1) { 2 => 3 };", "UnhandledMatchError", "Unhandled match case 1"),
        ("assert(1 > 2);", "AssertionError", "assert(1 > 2)"),
        (
            "final class A { public function __construct(public readonly int $x) {} } $a = new A(1); $a->x = 2;",
            "Error",
            "Cannot modify readonly property A::$x",
        ),
        ("eval('$a = = 1;');", "ParseError", "syntax error"),
        (
            "class E extends Exception { function __toString(): string { throw new Exception('inner'); } } throw new E('own');",
            "E",
            "own",
        ),
        ("throw new class('odd') extends Exception {};", "Exception@anonymous", "odd"),
        (
            "class D { function __destruct() { throw new LogicException('at the end'); } } new D; 1;",
            "LogicException",
            "at the end",
        ),
        (
            "class D { function __destruct() { throw new LogicException('at the end'); } } return new D;",
            "LogicException",
            "at the end",
        ),
        (
            "(function () { yield 1; throw new LogicException('in a generator'); })()->next() ?? 1;",
            "LogicException",
            "in a generator",
        ),
    ] {
        let outcome = sandbox::eval(PHP, code);
        let found = exception(&outcome);
        assert_eq!(found.class, class, "{code}: {}", found.message);
        assert!(found.message.contains(told), "{code}: {}", found.message);
    }
    let long = raised("throw new Exception(str_repeat('x', 20000));");
    assert_eq!(long.message, format!("{}...(truncated)", "x".repeat(10_000)));
    assert_eq!(raised("throw new Exception(\"\\xff\");").message, "\u{fffd}");
}

#[test]
fn a_syntax_error_points_at_itself_and_nothing_runs() {
    let outcome = sandbox::eval(PHP, "echo 'ran';\n$b = = 2;");
    let found = exception(&outcome);
    assert_eq!((found.class.as_str(), found.line, outcome.stdout.text.as_str()), ("ParseError", Some(2), ""));
    assert_eq!(found.excerpt.as_deref(), Some("$b = = 2;"));
    assert_eq!(raised("if (true) {\n  1;\n").message, "Unclosed '{' on line 1");
    assert_eq!(raised("$x = ").class, "ParseError");
    assert_eq!(raised("'unclosed").class, "ParseError");
}

#[test]
fn fatal_errors_are_told_and_the_next_call_works() {
    for (code, class, told) in [
        ("function f() {} function f() {}", "CompileError", "Cannot redeclare function f()"),
        ("function strlen() {}", "CompileError", "Cannot redeclare"),
        ("class A {} class A {}", "CompileError", "Cannot redeclare class A"),
        ("interface I { function f(); } class A implements I {}", "FatalError", "abstract method"),
        ("trigger_error('told', E_USER_ERROR);", "FatalError", "told"),
        ("$x = str_repeat('x', 1 << 30);", "OutOfMemoryError", "memory"),
        ("$a = []; while (true) $a[] = str_repeat('x', 1000);", "OutOfMemoryError", "memory"),
        (
            "ini_set('memory_limit', '8M'); str_repeat('x', 1 << 24);",
            "OutOfMemoryError",
            "Allowed memory size of 8388608 bytes exhausted",
        ),
        ("function f() { f(); } f();", "OutOfMemoryError", "memory"),
        ("break;", "CompileError", "'break' not in the 'loop' or 'switch' context"),
        ("namespace A; namespace B {}", "CompileError", "Cannot mix"),
        (
            "echo 1; declare(strict_types=1);",
            "CompileError",
            "strict_types declaration must be the very first",
        ),
    ] {
        let mut kept = super::kept::Kept::new();
        let found = kept.call(code);
        let raised = exception(&found);
        assert!(
            raised.class == class || (class == "FatalError" && raised.class == "CompileError"),
            "{code}: {} {}",
            raised.class,
            raised.message
        );
        assert!(raised.message.contains(told), "{code}: {}", raised.message);
        assert_eq!(found.stderr.text.replace("Deprecated: Passing E_USER_ERROR to trigger_error() is deprecated since 8.4, throw an exception or call exit with a string message instead in <snippet> on line 1\n", ""), "", "{code}");
        assert_eq!(value(&kept.call("function g() { return 42; } g()"))["value"], 42, "after {code}");
    }
    let placed = raised("function a() {\n trigger_error('x', E_USER_ERROR); }\na();");
    assert_eq!((placed.line, placed.stack_trace[1].as_str()), (Some(2), "a (<snippet>:2)"));
}

#[test]
fn leaving_the_program_is_no_exception() {
    let status = |outcome: &Outcome| (outcome.exit_code(), outcome.is_ok());
    for (code, ending, expected) in [
        ("exit;", "exited 0", (0, true)),
        ("exit(3);", "exited 3", (3, false)),
        ("die(true);", "exited 1", (1, false)),
        ("function f() { try { exit(4); } finally { echo 'no'; } } f();", "exited 4", (4, false)),
        ("try { exit(5); } catch (Throwable $e) { echo 'no'; }", "exited 5", (5, false)),
        ("register_shutdown_function(fn() => exit(6)); 1;", "exited 6", (6, false)),
        (
            "set_exception_handler(function ($e) { echo 'handled'; }); throw new Exception;",
            "exited 255",
            (255, false),
        ),
    ] {
        let outcome = sandbox::eval(PHP, code);
        assert_ends(&outcome, &[ending]);
        assert_eq!(status(&outcome), expected, "{code}");
        assert!(!outcome.stdout.text.contains("no"), "{code}");
    }
    let told = sandbox::eval(PHP, "echo 'before '; die('said why');");
    assert_ends(&told, &["exited 0"]);
    assert_eq!(told.stdout.text, "before said why");
}

#[test]
fn what_a_script_does_at_its_end_is_done() {
    let outcome =
        sandbox::eval(PHP, "register_shutdown_function(function () { echo 'end'; }); echo 'run '; return 1;");
    assert_eq!((outcome.stdout.text.as_str(), value(&outcome)["value"].as_i64()), ("run end", Some(1)));
    let outcome = sandbox::eval(
        PHP,
        "register_shutdown_function(function () { echo error_get_last()['message']; }); trigger_error('why', E_USER_ERROR);",
    );
    assert_ends(&outcome, &["raised FatalError"]);
    assert_eq!(outcome.stdout.text, "why");
    let failing = "register_shutdown_function(function () { throw new LogicException('late'); }); return 1;";
    assert_ends(&sandbox::eval(PHP, failing), &["raised LogicException"]);
    let first = "register_shutdown_function(function () { throw new LogicException('late'); }); throw new DomainException('early');";
    assert_ends(&sandbox::eval(PHP, first), &["raised DomainException"]);
    let held = "ob_start(function ($s) { throw new LogicException('in a handler'); }); echo 'x'; return 1;";
    assert_ends(&sandbox::eval(PHP, held), &["raised LogicException"]);
    let endless = "register_shutdown_function(function () { while (true); }); 1;";
    assert_ends(
        &sandbox::run(sandbox::snippet(PHP, endless).timeout(std::time::Duration::from_millis(300))),
        &["limit_time"],
    );
}
