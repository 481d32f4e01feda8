//! Checks of arguments, and schemas that are not to be trusted.

use serde_json::json;

use super::*;

#[test]
fn the_first_violation_is_told_with_its_place() {
    let check =
        Check::new(&json!({"type": "object", "properties": {"a": {"items": {"type": "integer"}}}})).unwrap();
    assert_eq!(check.violation(&json!({"a": [1, 2]})), None);
    let told = check.violation(&json!({"a": [1, "x"]})).unwrap();
    assert!(told.starts_with("at `/a/1`: ") && told.contains("integer"), "{told}");
    assert!(check.violation(&json!({"a": ["x".repeat(5_000)]})).unwrap().len() < 1_000);
}

#[test]
fn plain_references_are_followed() {
    let schema = json!({"properties": {"p": {"$ref": "#/$defs/p"}}, "$defs": {"p": {"type": "string"}}});
    let check = Check::new(&schema).unwrap();
    assert!(check.violation(&json!({"p": 1})).is_some() && check.violation(&json!({"p": "x"})).is_none());
}

#[test]
fn schemas_whose_check_might_not_end_are_not_used() {
    let mut defs = serde_json::Map::new();
    for at in 0..40 {
        let next = json!({"$ref": format!("#/$defs/a{}", at + 1)});
        defs.insert(format!("a{at}"), json!({"allOf": [next, next]}));
    }
    defs.insert("a40".into(), json!({"type": "string"}));
    let mut deep = json!({});
    for _ in 0..200 {
        deep = json!({"not": deep});
    }
    let hostile = [
        json!({"$ref": "#"}),
        json!({"$ref": "#/$defs/a", "$defs": {"a": {"allOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/a"}]}}}),
        json!({"$ref": "#/$defs/a0", "$defs": defs}),
        json!({"$ref": "http://localhost:1/x"}),
        json!({"$ref": "file:///etc/passwd"}),
        json!({"$dynamicRef": "#x"}),
        json!({"properties": {"a": {"$id": "http://x/y", "$ref": "z"}}}),
        json!({"type": "nonsense"}),
        json!({"pattern": "("}),
        json!({"properties": 3}),
        deep,
    ];
    for schema in hostile {
        assert!(Check::new(&schema).is_err(), "{schema}");
    }
}

#[test]
fn patterns_are_linear() {
    let check = Check::new(&json!({"pattern": "^(a+)+$"})).unwrap();
    assert!(check.violation(&json!(format!("{}b", "a".repeat(100_000)))).is_some());
    // Look-around and back references need another engine: such a schema is not used.
    assert!(Check::new(&json!({"pattern": "(?=a)(a)\\1"})).is_err());
    assert!(Check::new(&json!({"pattern": "((a{1000}){1000}){1000}"})).is_err());
}
