//! What people see of values, failures and numbers.

use dormouse::Bounds;

use super::*;

const TERMINAL: Paint = Paint { color: false, terminal: true };

fn view() -> View<'static> {
    View::new("<snippet>", "")
}

#[test]
fn a_terminal_shows_the_type_and_a_pipe_the_value_alone() {
    for (json, terminal, pipe) in [
        (r#"{"type":"int","value":2}"#, "= 2  int", "2"),
        (r#"{"type":"string","value":"a\n\u001b"}"#, r#"= "a\n\u001b"  string"#, "a\n\x1b"),
        (
            r#"{"type":"array","is_list":true,"count":1,"value":[{"type":"string","value":"x"}]}"#,
            r#"= ["x"]  list of 1"#,
            r#"["x"]"#,
        ),
        (r#"{"type":"bytes","value":"AA==","length":1}"#, "= base64:AA==  1 byte", "base64:AA=="),
    ] {
        let value = Value::from_guest(json, &Bounds::MAX).unwrap();
        assert_eq!(shown(&value, &view(), TERMINAL).as_deref(), Some(terminal));
        assert_eq!(shown(&value, &view(), Paint::default()).as_deref(), Some(pipe));
    }
}

#[test]
fn a_null_value_has_the_languages_word_on_a_terminal_and_elsewhere_when_it_is_asked_for() {
    let null = r#"{"type":"null","value":null}"#;
    let undefined = r#"{"type":"null","value":null,"undefined":true}"#;
    for (language, json, word) in [
        (Language::python(), null, "None"),
        (Language::php(), null, "NULL"),
        (Language::javascript(), null, "null"),
        (Language::javascript(), undefined, "undefined"),
    ] {
        let value = Value::from_guest(json, &Bounds::MAX).unwrap();
        let seen =
            |always, paint| shown(&value, &View { null: Some(Null::of(&language, always)), ..view() }, paint);
        assert_eq!(seen(false, TERMINAL), Some(format!("= {word}  null")));
        assert_eq!(seen(false, Paint::default()), None, "{language}: a pipe gets what was printed");
        assert_eq!(seen(true, Paint::default()).as_deref(), Some(word));
        assert_eq!(
            shown(&value, &view(), TERMINAL),
            None,
            "{language}: where every line is a value of its own"
        );
    }
}

#[test]
fn colours_appear_only_where_they_are_wanted() {
    let value = Value::from_guest(r#"{"type":"int","value":2}"#, &Bounds::MAX).unwrap();
    let coloured = shown(&value, &view(), Paint { color: true, terminal: true }).unwrap();
    assert!(coloured.contains("\x1b[36m2\x1b[0m"), "{coloured:?}");
}

#[test]
fn a_failure_has_code_message_cause_and_hint() {
    let error = Error::internal("no luck", io::Error::other("the disk\x1b is full")).with_hint("try again");
    let expected = "error[internal]: no luck\ncause: the disk␛ is full\nhint: try again\n";
    assert_eq!(failure(&error, Paint::default()), expected);
    // What is said already, with more before it or as it is, is said once.
    let named = |error: Error| Error::internal(format!("a.yaml:1:2: {error}"), error);
    let twice =
        named(Error::internal("no luck", Error::internal("it is full", io::Error::other("it is full"))));
    assert_eq!(
        failure(&twice, Paint::default()),
        "error[internal]: a.yaml:1:2: no luck\ncause: it is full\n"
    );
}

#[test]
fn times_and_sizes_have_a_unit_that_fits() {
    for (us, text) in [(840, "0.84 ms"), (12_340, "12.3 ms"), (123_400, "123 ms"), (5_000_000, "5.00 s")] {
        assert_eq!(time(Duration::from_micros(us)), text);
    }
    for (bytes, text) in [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (32_715_571, "31.1 MiB")] {
        assert_eq!(size(bytes), text);
    }
}

#[test]
fn text_that_was_cut_is_said_so_beside_the_pipe() {
    let value =
        Value::from_guest(r#"{"type":"string","value":"abc","truncated":true,"length":9}"#, &Bounds::MAX)
            .unwrap();
    assert!(
        cut_text(&value, &view(), Paint::default()).starts_with("note: the value was cut after 3 of 9 bytes")
    );
    assert_eq!(cut_text(&value, &view(), TERMINAL), "");
}
