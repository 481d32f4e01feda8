//! Values that guests send, and texts that are none.

use super::*;

/// Every form of docs/values.md reads and writes as itself, byte for byte.
#[test]
fn a_value_survives_the_round_trip_unchanged() {
    for json in [
        r#"{"type":"null","value":null}"#,
        r#"{"type":"null","value":null,"undefined":true}"#,
        r#"{"type":"bool","value":true}"#,
        r#"{"type":"int","value":2}"#,
        r#"{"type":"int","value":-9007199254740991}"#,
        r#"{"type":"int","value":"123456789012345678901234567890"}"#,
        r#"{"type":"int","value":"12","big":true,"truncated":true,"length":99}"#,
        r#"{"type":"float","value":"NaN"}"#,
        r#"{"type":"float","value":1.5}"#,
        r#"{"type":"float","value":31.245270191439438}"#,
        r#"{"type":"string","value":"a","truncated":true,"length":99999}"#,
        r#"{"type":"bytes","value":"AAE=","length":2}"#,
        r#"{"type":"array","is_list":true,"count":1,"value":[{"type":"int","value":1}]}"#,
        r#"{"type":"array","is_list":false,"count":1,"value":{"b":{"type":"int","value":1}}}"#,
        r#"{"type":"array","is_list":false,"count":1,"entries":[[{"type":"int","value":1},{"type":"null","value":null}]]}"#,
        r#"{"type":"iterable","class":"generator","preview":[],"exhausted":false}"#,
        r#"{"type":"object","class":"A","id":1,"properties":{"x":{"type":"int","value":1}},"repr":"A()"}"#,
        r#"{"type":"reference","class":"A","id":1}"#,
        r#"{"type":"resource","class":"stream","id":1}"#,
        r#"{"type":"unknown","class":"A","reason":"x"}"#,
    ] {
        let value = Value::from_guest(json, &Bounds::MAX).unwrap();
        assert_eq!(serde_json::to_string(&value).unwrap(), json);
    }
}

#[test]
fn text_of_another_form_is_refused_not_guessed() {
    for bad in [
        "",
        "1",
        "{}",
        r#"{"type":"int"}"#,
        r#"{"type":"nothing"}"#,
        r#"{"value":1,"type":"int"}"#,
        r#"{"type":"int","value":1,"value":2}"#,
        r#"{"type":"int","value":[0]}"#,
        r#"{"type":"int","value":1,"class":"int"}"#,
        r#"{"type":"int","value":1} 2"#,
        r#"{"type":"object","class":"x","id":1,"properties":{"a":[0]}}"#,
        r#"{"type":"array","is_list":false,"count":1,"value":{"a":0}}"#,
        r#"{"type":"array","is_list":false,"count":1,"entries":[[{"type":"null","value":null}]]}"#,
        &"[".repeat(100_000),
        &r#"{"type":"array","is_list":true,"count":1,"value":["#.repeat(100_000),
    ] {
        assert_eq!(
            Value::from_guest(bad, &Bounds::MAX).unwrap_err().code(),
            ErrorCode::GuestTrap,
            "{bad:.60}"
        );
    }
}

#[test]
fn a_text_past_the_bounds_is_refused_before_it_is_read() {
    let bounds = Bounds { total_bytes: 1_000, ..Bounds::default() };
    let long = format!(r#"{{"type":"string","value":"{}"}}"#, "x".repeat(bounds.value_bytes()));
    let error = Value::from_guest(&long, &bounds).unwrap_err();
    assert_eq!(error.code(), ErrorCode::GuestTrap);
    assert!(error.to_string().contains("at most"), "{error}");
    let within = format!(r#"{{"type":"string","value":"{}"}}"#, "x".repeat(900));
    assert!(Value::from_guest(&within, &bounds).is_ok());
}

#[test]
fn values_are_counted_while_they_are_read() {
    let list = |count: usize| {
        let one = r#"{"type":"null","value":null}"#;
        format!(
            r#"{{"type":"array","is_list":true,"count":{count},"value":[{}]}}"#,
            vec![one; count].join(",")
        )
    };
    assert!(read::value(&list(9), 10).is_ok());
    assert!(read::value(&list(10), 10).unwrap_err().to_string().contains("too many values"));
}

/// The densest value that there is: what it takes of memory is bounded by this size and the growth of vectors.
#[test]
fn a_value_is_small() {
    assert!(size_of::<Value>() <= 128, "{}", size_of::<Value>());
}
