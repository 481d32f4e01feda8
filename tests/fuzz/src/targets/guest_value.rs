//! Typed values and exceptions, as a guest answers with them.

use dormouse_core::value::Items;
use dormouse_core::{Bounds, ErrorCode, Exception, Value};

use crate::Target;

/// Bounds that inputs can reach.
const SMALL: Bounds = Bounds { total_bytes: 256, string_bytes: 16, ..Bounds::MAX };

pub(crate) const TARGET: Target = Target {
    words: &[
        "\"type\":\"null\",\"value\":null",
        "\"type\":\"int\",\"value\":1",
        "\"type\":\"float\",\"value\":\"NaN\"",
        "\"type\":\"string\",\"value\":\"",
        "\"type\":\"bytes\",\"value\":\"\",\"length\":0",
        "\"type\":\"array\",\"is_list\":true,\"count\":0,\"value\":[",
        "\"type\":\"iterable\",\"class\":\"c\",\"exhausted\":true",
        "\"type\":\"object\",\"class\":\"c\",\"id\":1,\"properties\":{",
        "\"type\":\"reference\",\"class\":\"c\",\"id\":1",
        "\"entries\":[[",
        "\"preview\":[",
        "\"truncated\":true",
        "\"undefined\":true",
        "\"size_hint\":",
        "\"class\":\"E\",\"message\":\"m\"",
        "\"stack_trace\":[",
        "\"previous\":[{",
        "\\ud800",
        "1e999",
    ],
    ..Target::new("guest_value", "typed values and exceptions of guests (runtime/core)", run)
};

fn run(input: &[u8]) {
    // The contract between host and guest carries text.
    let Ok(text) = std::str::from_utf8(input) else { return };
    for bounds in [Bounds::default(), Bounds::MAX, SMALL] {
        value(text, &bounds);
        exception(text, &bounds);
    }
}

fn value(text: &str, bounds: &Bounds) {
    let value = match Value::from_guest(text, bounds) {
        Ok(value) => value,
        Err(error) => return assert_eq!(error.code(), ErrorCode::GuestTrap),
    };
    assert!(text.len() <= bounds.value_bytes());
    // Each value is an object with a type at least.
    assert!(count(&value) <= text.len() / "{\"type\":\"int\"}".len() + 1);
    let _looked = (value.as_i64(), value.as_f64(), value.as_str(), value.as_bool(), value.type_name());
    let written = serde_json::to_string(&value).expect("a value can be written");
    let again = Value::from_guest(&written, &Bounds::MAX).expect("a value that was written can be read");
    assert_eq!(serde_json::to_string(&again).ok(), Some(written));
}

fn exception(text: &str, bounds: &Bounds) {
    let mut exception = match Exception::from_guest(text, bounds) {
        Ok(exception) => exception,
        Err(error) => return assert_eq!(error.code(), ErrorCode::GuestTrap),
    };
    assert!(exception.stack_trace.len() <= 1_001 && exception.previous.len() <= 10);
    assert_eq!(exception.hint, None, "a hint is never the guest's");
    let written = serde_json::to_string(&exception).expect("an exception can be written");
    let again = Exception::from_guest(&written, &Bounds::MAX).expect("what was written can be read");
    assert_eq!(serde_json::to_string(&again).ok(), Some(written));
    exception.relative_to("/project");
    exception.leave_out("<project>");
}

fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array { value, entries, .. } => {
            let items = match value {
                Some(Items::List(items)) => items.iter().map(count).sum(),
                Some(Items::Dictionary(fields)) => fields.values().map(count).sum(),
                None => 0,
            };
            items + entries.iter().flatten().map(|(key, value)| count(key) + count(value)).sum::<usize>()
        }
        Value::Iterable { preview, .. } => preview.iter().flatten().map(count).sum(),
        Value::Object { properties, .. } => {
            properties.iter().flat_map(|fields| fields.values()).map(count).sum()
        }
        _ => 0,
    }
}
