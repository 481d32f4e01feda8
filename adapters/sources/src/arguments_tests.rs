//! Checks of arguments, and schemas that are not to be trusted.

use serde_json::json;

use super::*;

fn check(schema: &Json) -> Result<Check, String> {
    Check::new(schema, &mut Patterns::default())
}

#[test]
fn the_first_violation_is_told_with_its_place() {
    let check =
        check(&json!({"type": "object", "properties": {"a": {"items": {"type": "integer"}}}})).unwrap();
    assert_eq!(check.violation(&json!({"a": [1, 2]})), None);
    let told = check.violation(&json!({"a": [1, "x"]})).unwrap();
    assert!(told.starts_with("at `/a/1`: ") && told.contains(r#""x" is not of type "integer""#), "{told}");
    assert!(check.violation(&json!({"a": ["x".repeat(5_000)]})).unwrap().len() < 1_000);
}

#[test]
fn plain_references_are_followed() {
    let schema = json!({"properties": {"p": {"$ref": "#/$defs/p"}}, "$defs": {"p": {"type": "string"}}});
    let check = check(&schema).unwrap();
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
        assert!(check(&schema).is_err(), "{schema}");
    }
}

#[test]
fn patterns_are_linear_and_bounded() {
    let linear = check(&json!({"pattern": "^(a+)+$"})).unwrap();
    assert!(linear.violation(&json!(format!("{}b", "a".repeat(10_000)))).is_some());
    assert!(linear.violation(&json!(format!("{}b", "a".repeat(MAX_MATCHED)))).is_none());
    // Look-around and back references need another engine: such a schema is not used.
    assert!(check(&json!({"pattern": "(?=a)(a)\\1"})).is_err());
    for large in ["((a{1000}){1000}){1000}", "\\w{1000}"] {
        assert!(check(&json!({"pattern": large})).is_err(), "{large}");
    }
    let many = |count: usize| -> Json {
        let items: Vec<Json> = (0..count).map(|at| json!({"pattern": format!("^a{at}$")})).collect();
        json!({"prefixItems": items, "patternProperties": {"^b": {}}})
    };
    assert!(check(&many(MAX_PATTERNS - 1)).is_ok() && check(&many(MAX_PATTERNS)).is_err());
    let mut left = Patterns::default();
    let made = (0..100).take_while(|_| Check::new(&many(15), &mut left).is_ok()).count();
    assert_eq!(made, 16);
    assert!(Check::new(&json!({"type": "string"}), &mut left).is_ok());
}
