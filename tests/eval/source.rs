//! The source text: its size, its encoding, its odd bytes. It is data and never joined to other source.

use dormouse::ErrorCode;
use dormouse_tests::ending::{assert_ends, exception, value};
use dormouse_tests::{JAVASCRIPT, PYTHON, sandbox};

#[test]
fn a_source_past_its_bound_is_refused_with_both_numbers() {
    for language in [PYTHON, JAVASCRIPT] {
        let error = sandbox::wait(sandbox::snippet(language, "#".repeat(50 << 20)).run()).unwrap_err();
        assert_eq!(error.code(), ErrorCode::TooLarge);
        assert!(error.message().contains("52428800") && error.message().contains("33554432"), "{error}");
        assert!(error.hint().is_some());
    }
}

#[test]
fn a_large_source_runs_or_ends_at_a_limit() {
    for (language, comment, literal) in [(PYTHON, "#", "'''"), (JAVASCRIPT, "//", "`")] {
        let small = format!("{comment}{}\n1 + 1", "x".repeat(1 << 20));
        assert_eq!(sandbox::value_of(language, &small)["value"], 2, "{language}");
        let long = format!("{literal}{}{literal}.length ?? 0", "x".repeat(4 << 20));
        let long = if language == PYTHON { long.replace(".length ?? 0", ".__len__()") } else { long };
        assert_eq!(sandbox::value_of(language, &long)["value"], 4 << 20, "{language}");
        let huge = format!("{comment}{}\n1 + 1", "x".repeat((32 << 20) - 10));
        let outcome = sandbox::run(sandbox::snippet(language, huge));
        assert_ends(
            &outcome,
            &["returned", "raised MemoryError", "raised InternalError", "limit_memory", "limit_host"],
        );
        let roomy = format!("{comment}{}\n1 + 1", "x".repeat(16 << 20));
        let outcome = sandbox::run(sandbox::snippet(language, roomy).memory(512 << 20));
        assert_eq!(value(&outcome)["value"], 2, "{language}");
    }
}

#[test]
fn odd_bytes_in_the_source_are_read_or_refused_by_the_language() {
    for (code, ends) in [
        ("x = 1\0; 2", "raised SyntaxError"),
        ("\u{feff}1 + 1", "returned"),
        ("x = 1\r\nx + 1\r\n", "returned"),
        ("x = 1\rx + 1", "returned"),
        ("'\u{2028}ü🐀'", "returned"),
        ("x = 1\u{a0}+ 1", "raised SyntaxError"),
        ("ü = 1; ü", "returned"),
        ("# coding: latin-1\n'ü'", "returned"),
        ("#!/usr/bin/python\n1", "returned"),
    ] {
        assert_ends(&sandbox::eval(PYTHON, code), &[ends]);
    }
    assert_eq!(
        sandbox::value_of(PYTHON, "# coding: latin-1\n'ü'")["value"],
        "ü",
        "the source is UTF-8, whatever it says"
    );
    for (code, ends) in [
        ("'a\0b'.length", "returned"),
        ("let x = 1\0; 2", "raised SyntaxError"),
        ("\u{feff}1 + 1", "returned"),
        ("let x = 1\r\nx + 1\r\n", "returned"),
        ("'\u{2028}ü🐀'", "returned"),
        ("const ü = 1; ü", "returned"),
        ("#!/usr/bin/node\n1", "returned"),
        ("<!-- html\n1", "returned"),
    ] {
        assert_ends(&sandbox::eval(JAVASCRIPT, code), &[ends]);
    }
    assert_eq!(sandbox::value_of(JAVASCRIPT, "'a\0b'.length")["value"], 3);
}

#[test]
fn a_snippet_that_looks_like_a_flag_is_a_snippet() {
    assert_eq!(exception(&sandbox::eval(PYTHON, "--unsafe")).class, "NameError");
    assert_eq!(exception(&sandbox::eval(JAVASCRIPT, "--unsafe")).class, "ReferenceError");
}

#[test]
fn names_that_cannot_be_are_refused() {
    for name in ["", "a\0b", &"x".repeat(257)] {
        let error = sandbox::wait(sandbox::snippet(PYTHON, "1").name(name).run()).unwrap_err();
        assert_eq!(error.code(), ErrorCode::ArgsInvalid);
    }
    let odd = "<b>\"ü\u{1b}[2J\n";
    let outcome = sandbox::run(sandbox::snippet(PYTHON, "1 / 0").name(odd));
    assert_eq!(exception(&outcome).file.as_deref(), Some(odd));
}
