//! What is refused at the door, field by field.

use dormouse_core::{Language, Policy};
use serde_json::json;

use super::*;
use crate::spec::{Given, any_text, arguments, choice, flag, integer, number, text, words};
use crate::verbs::eval::listing::Snippet;

arguments! {
    /// A tool's arguments.
    struct Asked {
        code: String = text(10, ""),
        language: Language = text(32, "").or("python"),
        timeout_ms: Given<u64> = integer::<u64>((100, 60_000), "").or(5_000).given(),
        seed: Option<u64> = integer::<u64>((0, (1 << 53) - 1), "").optional(),
        allow_writes: bool = flag(""),
    }
}

fn asked(arguments: Json) -> Result<Asked> {
    let Json::Object(arguments) = arguments else { panic!("not an object") };
    Asked::table().decode(arguments)
}

fn refused(arguments: &str) -> Error {
    asked(serde_json::from_str(arguments).expect("an object")).expect_err("refused")
}

/// MCP-02: every bad argument is named with its value and its bound.
#[test]
fn what_does_not_fit_is_refused_by_name() {
    for (arguments, message) in [
        (r#"{}"#, "the field `code` is missing"),
        (r#"{"code":""}"#, "the field `code` has 0 bytes, at least 1 is needed"),
        (r#"{"code":null}"#, "the field `code` is null"),
        (r#"{"code":5}"#, "the field `code` is a number, not a string: `5`"),
        (r#"{"code":["a"]}"#, "the field `code` is an array, not a string: `[1 items]`"),
        (r#"{"code":{"a":1}}"#, "the field `code` is an object, not a string: `{1 entries}`"),
        (r#"{"code":"1","timeout_ms":"5s"}"#, "the field `timeout_ms` is a string, not a whole number: `5s`"),
        (r#"{"code":"1","timeout_ms":-5}"#, "the field `timeout_ms` is -5, outside 100 to 60000"),
        (r#"{"code":"1","timeout_ms":99}"#, "the field `timeout_ms` is 99, outside 100 to 60000"),
        (r#"{"code":"1","timeout_ms":60001}"#, "the field `timeout_ms` is 60001, outside 100 to 60000"),
        (r#"{"code":"1","timeout_ms":100.5}"#, "the field `timeout_ms` is 100.5, not a whole number"),
        (
            r#"{"code":"1","seed":9223372036854775808}"#,
            "the field `seed` is 9223372036854775808, outside 0 to 9007199254740991",
        ),
        (r#"{"code":"1","seed":1e300}"#, "the field `seed` is 1e+300, outside 0 to 9007199254740991"),
        (
            r#"{"code":"1","allow_writes":"true"}"#,
            "the field `allow_writes` is a string, not true or false: `true`",
        ),
        (r#"{"code":"1","allow_writes":1}"#, "the field `allow_writes` is a number, not true or false: `1`"),
        (r#"{"code":"1","nothing":1}"#, "there is no field `nothing`"),
    ] {
        let error = refused(arguments);
        assert_eq!((error.code(), error.message()), (ErrorCode::ArgsInvalid, message), "{arguments}");
        assert!(error.hint().is_some(), "{arguments}");
    }
    let error = refused(r#"{"code":null}"#);
    assert_eq!(
        error.hint(),
        Some("give `code` a string of 1 to 10 bytes"),
        "nothing that must be there can be left out"
    );
}

arguments! {
    /// A number.
    struct Wait {
        timeout: u64 = number((1, 1_000), "").or(30),
    }
}

/// A schema that says `number` takes fractions.
#[test]
fn of_a_number_the_next_whole_one_is_taken() {
    let decoded = |value: Json| Wait::table().decode(Map::from_iter([("timeout".to_owned(), value)]));
    for (given, taken) in
        [(json!(300), 300), (json!(300.5), 301), (json!(0.1), 1), (json!(1e2), 100), (json!(null), 30)]
    {
        assert_eq!(decoded(given.clone()).unwrap().timeout, taken, "{given}");
    }
    for given in [json!(0), json!(-0.5), json!(1_000.5), json!(1e300)] {
        let error = decoded(given.clone()).unwrap_err();
        assert_eq!(error.message(), format!("the field `timeout` is {given}, outside 1 to 1000"));
        assert_eq!(error.hint(), Some("give `timeout` a number from 1 to 1000"));
    }
    let error = decoded(json!("5s")).unwrap_err();
    assert_eq!(error.message(), "the field `timeout` is a string, not a number: `5s`");
}

words! {
    /// Two words.
    enum Letter {
        /// The first.
        A = "a",
        /// The second.
        B = "b",
    }
}

arguments! {
    /// What can be left out, with a name of its own on the wire.
    struct Optional {
        title as "name": Option<String> = text::<String>(10, "").optional(),
        kind: Letter = choice(""),
        stdin: Given<Option<String>> = any_text(10, "").optional().given(),
    }
}

/// As clients fill a form, and as models do that must name every field.
#[test]
fn null_and_empty_text_for_what_is_optional_is_as_if_it_was_left_out() {
    let asked = asked(json!({"code": "1", "seed": null, "timeout_ms": null, "allow_writes": null})).unwrap();
    assert_eq!((asked.seed, asked.allow_writes), (None, false));
    assert_eq!((asked.timeout_ms.value, asked.timeout_ms.given), (5_000, false));
    let decoded = |text| Optional::table().decode(serde_json::from_str(text).unwrap()).unwrap();
    let empty = decoded(r#"{"name":"","kind":"","stdin":""}"#);
    assert_eq!((empty.title, empty.kind), (None, Letter::A));
    assert!(empty.stdin.given && empty.stdin.value.as_deref() == Some(""), "which may be empty");
    let full = decoded(r#"{"name":"n","kind":"b"}"#);
    assert_eq!((full.title.as_deref(), full.kind, full.stdin.given), (Some("n"), Letter::B, false));
}

#[test]
fn a_text_that_is_too_long_is_too_large_and_not_repeated() {
    let error = refused(r#"{"code":"12345678901"}"#);
    assert_eq!(error.code(), ErrorCode::TooLarge);
    assert_eq!(error.message(), "the field `code` has 11 bytes, at most 10 are taken");
}

#[test]
fn a_hostile_name_or_value_is_cut() {
    let error = refused(&json!({"x".repeat(10_000): 1}).to_string());
    assert!(error.message().len() < 100, "{}", error.message());
    let error = refused(&json!({"code": "1", "seed": "\u{1b}".repeat(10_000)}).to_string());
    assert!(error.message().len() < 200 && !error.message().contains('\u{1b}'), "{}", error.message());
}

#[test]
fn the_hint_names_the_field_that_was_meant() {
    for (wrong, meant) in [
        ("timeout", "timeout_ms"),
        ("lang", "language"),
        ("Code", "code"),
        ("codes", "code"),
        ("sed", "seed"),
        ("allowWrites", "allow_writes"),
    ] {
        let error = refused(&json!({"code": "1", wrong: 1}).to_string());
        assert_eq!(error.hint(), Some(format!("did you mean `{meant}`?").as_str()), "{wrong}");
    }
    assert!(refused(r#"{"snippet":"1"}"#).hint().expect("a hint").contains("`code`"));
}

#[test]
fn what_fits_is_taken_with_its_defaults() {
    let full = json!({"code": "\u{feff}1\r\n\0", "timeout_ms": 100.0, "seed": 9_007_199_254_740_991_u64});
    let full = asked(full).expect("taken");
    assert_eq!((full.code.as_str(), full.language), ("\u{feff}1\r\n\0", Language::python()));
    assert_eq!((full.timeout_ms.value, full.seed), (100, Some((1 << 53) - 1)));
    assert!(full.timeout_ms.given && !full.allow_writes);
    let least = asked(json!({"code": "1"})).expect("taken");
    assert_eq!((least.timeout_ms.value, least.seed), (5_000, None));
}

#[test]
fn a_text_is_parsed_where_it_is_read() {
    let error = asked(json!({"code": "1", "language": "?"})).unwrap_err();
    assert!(error.message().starts_with("the field `language` is invalid: "), "{error}");
}

#[test]
fn what_only_command_lines_reach_is_no_language_of_snippets() {
    for name in ["shell", "git"] {
        let error = asked(json!({"code": "1", "language": name})).unwrap_err();
        assert_eq!(error.code(), ErrorCode::ArgsInvalid);
        assert!(error.hint().is_some_and(|hint| hint.contains("sandbox_exec")), "{error:?}");
    }
}

#[test]
fn a_ceiling_below_a_default_still_makes_a_valid_table() {
    let mut policy = Policy::default();
    policy.ceiling.wall = std::time::Duration::from_millis(50);
    let table = Snippet::table(&policy);
    let field = table.fields().iter().find(|field| field.name == "timeout_ms");
    let Some(Field { kind: Kind::Integer { min, max, absent }, .. }) = field else { panic!("no timeout_ms") };
    assert_eq!((*min, *max, absent), (50, 50, &Absent::Default(50)));
}

#[test]
fn names_that_are_like_a_word_stand_before_the_others() {
    let known = ["Edit", "Glob", "mcp__box__Bash", "Read", "bush"];
    let names = by_likeness("bash", known.into_iter());
    assert_eq!(names, ["bush", "mcp__box__Bash", "Edit", "Glob", "Read"]);
    for unlike in ["", "nothing", &"x".repeat(100)] {
        let names = by_likeness(unlike, known.into_iter());
        assert_eq!(names, ["Edit", "Glob", "Read", "bush", "mcp__box__Bash"], "{unlike}");
    }
}
