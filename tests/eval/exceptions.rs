//! Exceptions, exits and errors in the source (S1-11, S1-29, S1-39).

use dormouse::value::Numeral;
use dormouse::{Exception, Outcome};
use dormouse_tests::ending::{assert_ends, exception};
use dormouse_tests::{JAVASCRIPT, PYTHON, sandbox};

fn raised(language: &str, code: &str) -> Exception {
    exception(&sandbox::eval(language, code)).clone()
}

fn classes(exceptions: &[Exception]) -> Vec<&str> {
    exceptions.iter().map(|exception| exception.class.as_str()).collect()
}

#[test]
fn an_exception_says_what_where_and_how() {
    let python = raised(PYTHON, "def parse(text):\n    return int(text)\n\nparse('x')");
    assert_eq!(python.class, "ValueError");
    assert_eq!(python.message, "invalid literal for int() with base 10: 'x'");
    assert_eq!((python.file.as_deref(), python.line, python.column), (Some("<snippet>"), Some(2), Some(12)));
    assert_eq!(python.stack_trace, ["parse (<snippet>:2)", "<module> (<snippet>:4)"]);
    assert_eq!(python.excerpt.as_deref().map(str::trim), Some("return int(text)"));
    assert!(python.previous.is_empty() && python.code.is_none());
    let traceback = python.traceback.unwrap();
    assert!(
        traceback.starts_with("Traceback (most recent call last):\n  File \"<snippet>\", line 4"),
        "{traceback}"
    );
    assert!(traceback.contains("    return int(text)\n"), "{traceback}");
    assert!(traceback.ends_with("ValueError: invalid literal for int() with base 10: 'x'\n"), "{traceback}");

    let javascript = raised(JAVASCRIPT, "function parse(text) {\n  return JSON.parse(text);\n}\nparse('x');");
    assert_eq!((javascript.class.as_str(), javascript.file.as_deref()), ("SyntaxError", Some("<snippet>")));
    assert_eq!(javascript.line, Some(2));
    assert!(
        javascript.stack_trace.iter().any(|frame| frame == "parse (<snippet>:2)"),
        "{:?}",
        javascript.stack_trace
    );
    assert_eq!(javascript.excerpt.as_deref().map(str::trim), Some("return JSON.parse(text);"));
    assert!(javascript.previous.is_empty());
}

#[test]
fn the_name_of_the_snippet_is_the_file_of_its_exceptions() {
    for (language, code, name) in
        [(PYTHON, "1 / 0", "check.py"), (JAVASCRIPT, "throw new Error('no')", "check.js")]
    {
        let outcome = sandbox::run(sandbox::snippet(language, code).name(name));
        assert_eq!(exception(&outcome).file.as_deref(), Some(name));
    }
}

#[test]
fn causes_follow_nearest_first() {
    let explicit = raised(PYTHON, "try:\n 1 / 0\nexcept Exception as e:\n raise ValueError('outer') from e");
    assert_eq!(
        (explicit.class.as_str(), classes(&explicit.previous)),
        ("ValueError", vec!["ZeroDivisionError"])
    );
    assert_eq!(explicit.previous[0].line, Some(2));
    let implicit = raised(PYTHON, "try:\n 1 / 0\nexcept Exception:\n {}['x']");
    assert_eq!(
        (implicit.class.as_str(), classes(&implicit.previous)),
        ("KeyError", vec!["ZeroDivisionError"])
    );
    let hidden = raised(PYTHON, "try:\n 1 / 0\nexcept Exception:\n raise ValueError from None");
    assert!(hidden.previous.is_empty());
    let javascript = raised(
        JAVASCRIPT,
        "throw new Error('a', { cause: new TypeError('b', { cause: new RangeError('c') }) })",
    );
    assert_eq!(
        (javascript.class.as_str(), classes(&javascript.previous)),
        ("Error", vec!["TypeError", "RangeError"])
    );
}

#[test]
fn a_long_or_circular_chain_ends_after_ten_causes() {
    let python = "e = None\nfor n in range(30):\n try:\n  raise ValueError(n) from e\n except ValueError as caught: e = caught\nraise e";
    assert_eq!(raised(PYTHON, python).previous.len(), 10);
    let circular = "a = ValueError('a'); b = ValueError('b'); a.__cause__ = b; b.__cause__ = a\nraise a";
    assert!(raised(PYTHON, circular).previous.len() <= 10);
    let javascript = "let e; for (let n = 0; n < 30; n++) e = new Error(`${n}`, { cause: e }); throw e";
    assert_eq!(raised(JAVASCRIPT, javascript).previous.len(), 10);
    let circular = "const e = new Error('a'); e.cause = e; throw e";
    assert!(raised(JAVASCRIPT, circular).previous.len() <= 10);
}

#[test]
fn the_members_of_a_group_follow_as_causes() {
    let python = raised(PYTHON, "raise ExceptionGroup('both', [ValueError('a'), TypeError('b')])");
    assert_eq!(
        (python.class.as_str(), classes(&python.previous)),
        ("ExceptionGroup", vec!["ValueError", "TypeError"])
    );
    let javascript =
        raised(JAVASCRIPT, "throw new AggregateError([new RangeError('a'), new TypeError('b')], 'both')");
    assert_eq!(
        (javascript.class.as_str(), classes(&javascript.previous)),
        ("AggregateError", vec!["RangeError", "TypeError"])
    );
}

#[test]
fn methods_and_codes_are_named() {
    let python = raised(PYTHON, "class A:\n def run(self):\n  open('/none')\nA().run()");
    assert_eq!(python.class, "FileNotFoundError");
    assert!(
        matches!(python.code, Some(Numeral::Number(_))) && python.message.contains("/none"),
        "{python:?}"
    );
    assert_eq!(python.stack_trace[0], "A->run (<snippet>:3)");
    let javascript =
        raised(JAVASCRIPT, "class A { run() { require('fs').readFileSync('/none') } }\nnew A().run()");
    assert_eq!(javascript.code, Some("ENOENT".into()));
    assert_eq!(javascript.stack_trace[1], "A->run (<snippet>:1)");
    assert!(javascript.traceback.is_some_and(|text| text.contains("    at A.run (<snippet>:1:")));
    // A static method, one of an object, one that waits; a plain function, and a class made by hand.
    for (code, frames) in [
        ("class B { static run() { null.x } }\nB.run()", ["B->run (<snippet>:1)", "<eval> (<snippet>:2)"]),
        ("const o = { run() { null.x } }\no.run()", ["Object->run (<snippet>:1)", "<eval> (<snippet>:2)"]),
        ("function run() { null.x }\nrun()", ["run (<snippet>:1)", "<eval> (<snippet>:2)"]),
        (
            "class C { async run() { null.x } }\nnew C().run()",
            ["C->run (<snippet>:1)", "<eval> (<snippet>:2)"],
        ),
        ("class D { constructor() { null.x } }\nnew D()", ["D (<snippet>:1)", "<eval> (<snippet>:2)"]),
    ] {
        assert_eq!(raised(JAVASCRIPT, code).stack_trace, frames, "{code}");
    }
    let custom = raised(PYTHON, "class Custom(Exception): pass\nraise Custom('own')");
    assert_eq!((custom.class.as_str(), custom.message.as_str()), ("Custom", "own"));
    let custom = raised(JAVASCRIPT, "class Custom extends Error {}\nthrow new Custom('own')");
    assert_eq!((custom.class.as_str(), custom.message.as_str()), ("Custom", "own"));
}

#[test]
fn a_syntax_error_points_at_itself_and_nothing_runs() {
    let outcome = sandbox::eval(PYTHON, "print('ran')\nx = (1 +\n");
    assert_eq!((exception(&outcome).class.as_str(), outcome.stdout.text.as_str()), ("SyntaxError", ""));
    let python = raised(PYTHON, "a = 1\nb = = 2");
    assert_eq!(
        (python.class.as_str(), python.file.as_deref(), python.line, python.column),
        ("SyntaxError", Some("<snippet>"), Some(2), Some(5))
    );
    assert_eq!(python.excerpt.as_deref().map(str::trim), Some("b = = 2"));
    assert_eq!(raised(PYTHON, "if True:\nx = 1").class, "IndentationError");
    assert_eq!(raised(PYTHON, "return 1").class, "SyntaxError");

    let outcome = sandbox::eval(JAVASCRIPT, "console.log('ran'); let x = (1 +;");
    assert_eq!((exception(&outcome).class.as_str(), outcome.stdout.text.as_str()), ("SyntaxError", ""));
    let javascript = raised(JAVASCRIPT, "const a = 1;\nconst b = = 2;");
    assert_eq!((javascript.class.as_str(), javascript.line), ("SyntaxError", Some(2)));
    let typescript = raised("typescript", "const a: number = 1;\nconst b: = 2;");
    assert_eq!((typescript.class.as_str(), typescript.line), ("SyntaxError", Some(2)));
}

#[test]
fn a_snippet_cannot_leave_its_wrapper() {
    for code in ["})(); 1; (function(){", "}\n1\n{", "*/ 1 /*", "\"); 1; (", "return 1 })(); (() => {"] {
        assert_eq!(raised(JAVASCRIPT, code).class, "SyntaxError", "{code}");
        let awaiting = format!("await 1; {code}");
        assert_eq!(raised(JAVASCRIPT, &awaiting).class, "SyntaxError", "{awaiting}");
    }
    for code in ["'''\n1\n'''", "\"\"\" + 1", "1)\n(1"] {
        assert_ends(&sandbox::eval(PYTHON, code), &["returned", "raised SyntaxError"]);
    }
}

#[test]
fn leaving_the_program_is_no_exception() {
    let status = |outcome: &Outcome| (outcome.exit_code(), outcome.is_ok());
    for (language, code, ending, expected) in [
        (PYTHON, "exit()", "exited 0", (0, true)),
        (PYTHON, "import sys; sys.exit(3)", "exited 3", (3, false)),
        (PYTHON, "raise SystemExit", "exited 0", (0, true)),
        (PYTHON, "quit(256 + 4)", "exited 260", (4, false)),
        (PYTHON, "import sys; sys.exit(True)", "exited 1", (1, false)),
        (PYTHON, "import os; os._exit(3)", "exited 3", (3, false)),
        (PYTHON, "import os; os._exit(257)", "exited 1", (1, false)),
        (JAVASCRIPT, "process.exit()", "exited 0", (0, true)),
        (JAVASCRIPT, "process.exit(3)", "exited 3", (3, false)),
        (JAVASCRIPT, "process.exitCode = 4; process.exit()", "exited 4", (4, false)),
        (
            JAVASCRIPT,
            "setTimeout(() => process.exit(5), 1); await new Promise(() => {})",
            "exited 5",
            (5, false),
        ),
    ] {
        let outcome = sandbox::eval(language, code);
        assert_ends(&outcome, &[ending]);
        assert_eq!(status(&outcome), expected, "{code}");
    }
    let told = sandbox::eval(PYTHON, "import sys; print('before'); sys.exit('said why')");
    assert_ends(&told, &["exited 1"]);
    assert_eq!((told.stdout.text.as_str(), told.stderr.text.as_str()), ("before\n", "said why\n"));
}

#[test]
fn whatever_is_thrown_is_told() {
    for (code, class, message) in [
        ("throw 'text'", "String", "text"),
        ("throw 5", "Number", "5"),
        ("throw null", "null", "null"),
        ("throw undefined", "undefined", "undefined"),
        ("Promise.reject(new TypeError('later')); 1", "TypeError", "later"),
        ("await Promise.reject(new RangeError('awaited'))", "RangeError", "awaited"),
        ("setTimeout(() => { throw new Error('timer') }, 1); 1", "Error", "timer"),
        ("nothing", "ReferenceError", "nothing is not defined"),
    ] {
        let found = raised(JAVASCRIPT, code);
        assert_eq!((found.class.as_str(), found.message.as_str()), (class, message), "{code}");
    }
    assert_eq!(raised(JAVASCRIPT, "throw { a: 1 }").class, "Object");
    for (code, class, message) in [
        ("raise KeyboardInterrupt", "KeyboardInterrupt", ""),
        ("raise BaseException('base')", "BaseException", "base"),
        ("raise 5", "TypeError", "exceptions must derive from BaseException"),
        ("class E(Exception):\n def __str__(self): raise ValueError\nraise E", "E", ""),
        ("nothing", "NameError", "name 'nothing' is not defined"),
        ("raise ValueError('x' * 20_000)", "ValueError", &format!("{}...(truncated)", "x".repeat(10_000))),
    ] {
        let found = raised(PYTHON, code);
        assert_eq!(found.class, class, "{code}");
        assert!(class == "E" || found.message == message, "{code}: {}", found.message);
    }
}
