//! `allow_eval` over MCP (S1-24): a call can do without code made from text, and the operator can forbid it to all.

use dormouse_tests::wire::Wire;
use serde_json::{Value as Json, json};

const CODES: &[(&str, &str)] =
    &[("python", "PermissionError"), ("javascript", "EvalError"), ("typescript", "EvalError")];

fn eval(wire: &mut Wire, id: i64, arguments: Json) -> Json {
    wire.call(id, "sandbox_eval", arguments)["structuredContent"].clone()
}

#[test]
fn s1_24_a_call_can_do_without() {
    let mut wire = Wire::greeted(&[]);
    assert_eq!(wire.call(1, "sandbox_capabilities", json!({}))["structuredContent"]["allow_eval"], true);
    for (id, (language, class)) in (10..).step_by(10).zip(CODES) {
        let call = |allowed: Json| json!({"code": "eval('1')", "language": language, "allow_eval": allowed});
        let refused = eval(&mut wire, id, call(json!(false)));
        assert_eq!(refused["exception"]["class"], *class, "{refused}");
        assert_eq!(refused["exception"]["message"], "eval is not allowed here");
        assert_eq!(eval(&mut wire, id + 1, call(json!(true)))["result"]["value"], 1, "{language}");
        let plain = json!({"code": "eval('1')", "language": language});
        assert_eq!(eval(&mut wire, id + 2, plain)["result"]["value"], 1, "{language}");
    }
}

#[test]
fn s1_24_the_operator_can_forbid_it_to_all() {
    let mut wire = Wire::greeted(&["--no-eval"]);
    assert_eq!(wire.call(1, "sandbox_capabilities", json!({}))["structuredContent"]["allow_eval"], false);
    let asked = eval(&mut wire, 2, json!({"code": "1", "allow_eval": true}));
    assert_eq!(asked["error"]["code"], "capability_unavailable", "{asked}");
    assert_eq!(asked["provider"], "none", "{asked}");
    for (id, (language, class)) in (10..).step_by(10).zip(CODES) {
        let refused = eval(&mut wire, id, json!({"code": "eval('1')", "language": language}));
        assert_eq!(refused["exception"]["class"], *class, "{refused}");
        assert_eq!(eval(&mut wire, id + 1, json!({"code": "1", "language": language}))["result"]["value"], 1);
    }
}
