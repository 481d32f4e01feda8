//! What people see of values, failures and numbers.

use dormouse::Bounds;

use super::*;

const TERMINAL: Paint = Paint { color: false, terminal: true };

fn view() -> View<'static> {
    View { name: "<snippet>", code: "", offset: 0, verbose: false }
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
        assert_eq!(shown(&value, &view(), TERMINAL), terminal);
        assert_eq!(shown(&value, &view(), Paint::default()), pipe);
    }
}

#[test]
fn colours_appear_only_where_they_are_wanted() {
    let value = Value::from_guest(r#"{"type":"int","value":2}"#, &Bounds::MAX).unwrap();
    let coloured = shown(&value, &view(), Paint { color: true, terminal: true });
    assert!(coloured.contains("\x1b[36m2\x1b[0m"), "{coloured:?}");
}

#[test]
fn a_failure_has_code_message_cause_and_hint() {
    let error = Error::internal("no luck", io::Error::other("the disk\x1b is full")).with_hint("try again");
    let expected = "error[internal]: no luck\ncause: the disk␛ is full\nhint: try again\n";
    assert_eq!(failure(&error, Paint::default()), expected);
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
    assert!(cut_text(&value, Paint::default()).starts_with("note: the value was cut after 3 of 9 bytes"));
    assert_eq!(cut_text(&value, TERMINAL), "");
}
