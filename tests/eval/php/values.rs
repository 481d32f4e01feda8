//! Typed values of PHP (S1-13 to S1-17, S1-38).

use dormouse::Bounds;
use dormouse_tests::ending::{assert_ends, value};
use dormouse_tests::{PHP, sandbox};
use serde_json::{Value as Json, json};

#[track_caller]
fn each(table: &[(&str, Json)]) {
    let mut wrong = Vec::new();
    for (code, wanted) in table {
        let found = sandbox::value_of(PHP, code);
        if found != *wanted {
            wrong.push(format!("{code}\n  wanted {wanted}\n  found  {found}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), table.len(), wrong.join("\n"));
}

fn int(value: impl Into<Json>) -> Json {
    json!({"type": "int", "value": value.into()})
}

fn text(value: &str) -> Json {
    json!({"type": "string", "value": value})
}

#[test]
fn scalars() {
    let float = |value: Json| json!({"type": "float", "value": value});
    each(&[
        ("null", json!({"type": "null", "value": null})),
        ("true", json!({"type": "bool", "value": true})),
        ("false", json!({"type": "bool", "value": false})),
        ("-7", int(-7)),
        ("2 ** 53 - 1", int(9_007_199_254_740_991_u64)),
        ("2 ** 53", int("9007199254740992")),
        ("PHP_INT_MIN", int("-9223372036854775808")),
        ("PHP_INT_MAX + 1", float(json!(9_223_372_036_854_775_808.0))),
        ("1.5", float(json!(1.5))),
        ("2.0", float(json!(2.0))),
        ("0.1 + 0.2", float(json!(0.1 + 0.2))),
        ("1e300", float(json!(1e300))),
        ("1e-7", float(json!(1e-7))),
        ("NAN", float(json!("NaN"))),
        ("INF", float(json!("Infinity"))),
        ("-INF", float(json!("-Infinity"))),
        ("-0.0", float(json!("-0"))),
        ("''", text("")),
        ("\"ü\\n\\0\\u{2028}\\\"\\\\🐀\"", text("ü\n\0\u{2028}\"\\🐀")),
        ("\"\\xff\\x00\"", json!({"type": "bytes", "value": "/wA=", "length": 2})),
    ]);
}

#[test]
fn arrays() {
    each(&[
        ("[]", json!({"type": "array", "is_list": true, "count": 0, "value": []})),
        ("[1, 'a']", json!({"type": "array", "is_list": true, "count": 2, "value": [int(1), text("a")]})),
        (
            "['b' => 1, 'a' => null]",
            json!({"type": "array", "is_list": false, "count": 2,
            "value": {"b": int(1), "a": {"type": "null", "value": null}}}),
        ),
        (
            "[5 => 'x', -1 => 'y', '' => 'z']",
            json!({"type": "array", "is_list": false, "count": 3,
            "value": {"5": text("x"), "-1": text("y"), "": text("z")}}),
        ),
        (
            "$a = [1]; $a[] = &$a; $a",
            json!({"type": "array", "is_list": true, "count": 2,
            "value": [int(1), {"type": "reference", "class": "array", "id": 1}], "id": 1}),
        ),
    ]);
}

#[test]
fn objects() {
    each(&[
        (
            "class A { public $x = 1; protected $y = 2; private $z = 3; public static $s = 4; } new A",
            json!({"type": "object", "class": "A", "id": 1, "properties": {"x": int(1)}}),
        ),
        (
            "class A { private $x = 1; function __debugInfo() { return ['told' => $this->x]; } } new A",
            json!({"type": "object", "class": "A", "id": 1, "properties": {"told": int(1)}}),
        ),
        (
            "class A { function __toString() { return 'A!'; } } new A",
            json!({"type": "object", "class": "A", "id": 1, "properties": {}, "repr": "A!"}),
        ),
        (
            "final class P { function __construct(public readonly int $x, public ?self $next = null) {} } new P(1)",
            json!({"type": "object", "class": "P", "id": 1, "properties": {"x": int(1), "next": {"type": "null", "value": null}}}),
        ),
        (
            "enum S: string { case H = 'h'; } S::H",
            json!({"type": "object", "class": "S", "id": 1, "properties": {"name": text("H"), "value": text("h")}, "repr": "S::H"}),
        ),
        (
            "enum S { case H; } [S::H, S::H][1]",
            json!({"type": "object", "class": "S", "id": 1, "properties": {"name": text("H")}, "repr": "S::H"}),
        ),
        (
            "fn(int $a, ...$rest) => 1",
            json!({"type": "object", "class": "Closure", "id": 1, "repr": "{closure:<snippet>:1}($a, ...$rest)"}),
        ),
        ("strlen(...)", json!({"type": "object", "class": "Closure", "id": 1, "repr": "strlen($string)"})),
        (
            "new class { public $a = 1; }",
            json!({"type": "object", "class": "class@anonymous", "id": 1, "properties": {"a": int(1)}}),
        ),
        (
            "(object)['a b' => 1, '0' => 2]",
            json!({"type": "object", "class": "stdClass", "id": 1, "properties": {"a b": int(1), "0": int(2)}}),
        ),
        (
            "$o = new stdClass; $o->me = $o; $o",
            json!({"type": "object", "class": "stdClass", "id": 1, "properties": {"me": {"type": "reference", "class": "stdClass", "id": 1}}}),
        ),
        (
            "class A { public int $typed; public $x = 1; } new A",
            json!({"type": "object", "class": "A", "id": 1, "properties": {"x": int(1)}}),
        ),
        ("fopen('php://memory', 'r') === null ?: get_resource_type(STDIN)", text("stream")),
    ]);
    let resource = sandbox::value_of(PHP, "fopen('php://memory', 'r')");
    assert_eq!((&resource["type"], &resource["class"]), (&json!("resource"), &json!("stream")), "{resource}");
    let closed = sandbox::value_of(PHP, "$f = fopen('php://memory', 'r'); fclose($f); $f");
    assert_eq!(closed["class"], "closed", "{closed}");
}

#[test]
fn iterables() {
    each(&[
        (
            "(fn() => yield from [1, 2])()",
            json!({"type": "iterable", "class": "Generator", "preview": [int(1), int(2)], "exhausted": true}),
        ),
        (
            "new ArrayObject([7])",
            json!({"type": "iterable", "class": "ArrayObject", "preview": [int(7)], "exhausted": true, "size_hint": 1}),
        ),
        (
            "new EmptyIterator",
            json!({"type": "iterable", "class": "EmptyIterator", "preview": [], "exhausted": true}),
        ),
    ]);
    let endless =
        sandbox::eval(PHP, "(function () { for ($i = 0; ; $i++) { echo \"$i\\n\"; yield $i; } })()");
    let found = value(&endless);
    assert_eq!(found["preview"].as_array().map(Vec::len), Some(50));
    assert_eq!((&found["exhausted"], &found["size_hint"]), (&json!(false), &Json::Null));
    assert_eq!(endless.stdout.text.lines().count(), 50, "items that are not shown are not taken");
    for code in [
        "range(0, 119)",
        "(function () { for ($i = 0; $i < 120; $i++) yield $i; })()",
        "new ArrayIterator(range(0, 119))",
    ] {
        let mut seen = Vec::new();
        for offset in [0, 50, 100, 150] {
            let mut request = sandbox::request(PHP, code);
            request.context.bounds = Bounds { offset, ..Bounds::default() };
            let found = value(&sandbox::run_request(request));
            let items = found["value"].as_array().or(found["preview"].as_array()).unwrap().clone();
            seen.extend(items.into_iter().map(|item| item["value"].as_i64().unwrap()));
        }
        assert_eq!(seen, (0..120).collect::<Vec<i64>>(), "{code}");
    }
}

#[test]
fn what_fails_while_it_is_shown_is_shown_in_its_place() {
    each(&[
        (
            "class A { function __debugInfo() { throw new LogicException('no'); } } new A",
            json!({"type": "unknown", "class": "A", "reason": "LogicException: no"}),
        ),
        (
            "(function () { yield 1; throw new LogicException('half way'); })()",
            json!({"type": "unknown", "class": "Generator", "reason": "LogicException: half way"}),
        ),
        (
            "class A { function __toString() { throw new LogicException('no'); } } new A",
            json!({"type": "object", "class": "A", "id": 1, "properties": {}}),
        ),
    ]);
    assert_ends(&sandbox::eval(PHP, "(function () { yield 1; exit(4); })()"), &["exited 4"]);
    let fatal = "class A { function __debugInfo() { trigger_error('bad', E_USER_ERROR); } } new A";
    assert_ends(&sandbox::eval(PHP, fatal), &["raised FatalError"]);
    assert_ends(
        &sandbox::eval(PHP, "class A { function __debugInfo() { while (true); } } new A"),
        &["limit_time"],
    );
}

#[test]
fn values_stay_within_their_bounds() {
    let found = sandbox::value_of(PHP, "[[[[1]]]]");
    let fourth = &found["value"][0]["value"][0]["value"][0];
    assert_eq!(fourth, &json!({"type": "array", "is_list": true, "count": 1, "truncated": true}));
    let found = sandbox::value_of(PHP, "$o = null; for ($i = 0; $i < 5; $i++) $o = (object)['in' => $o]; $o");
    let third = &found["properties"]["in"]["properties"]["in"];
    let wanted = json!({"type": "object", "class": "stdClass", "id": 4, "truncated": true});
    assert_eq!(third["properties"]["in"], wanted);
    for (count, shown) in [(9_999, 9_999), (10_000, 10_000), (10_001, 10_000)] {
        let found = sandbox::value_of(PHP, &format!("str_repeat('x', {count})"));
        assert_eq!(found["value"].as_str().map(str::len), Some(shown));
        assert_eq!(found["length"], if count > 10_000 { json!(count) } else { Json::Null });
    }
    let found = sandbox::value_of(PHP, "array_fill(0, 51, 1)");
    assert_eq!((found["value"].as_array().map(Vec::len), &found["truncated"]), (Some(50), &json!(true)));
    for code in [
        "array_fill(0, 50, array_fill(0, 50, str_repeat('x', 9000)))",
        "array_fill_keys(range(1000, 1050), str_repeat(\"\\0\", 9000))",
        "(function () { while (true) yield str_repeat('x', 9000); })()",
    ] {
        let mut request = sandbox::request(PHP, code);
        for total_bytes in [1_000, 20_000, 256 << 10] {
            request.context.bounds.total_bytes = total_bytes;
            let found = value(&sandbox::run_request(request.clone())).to_string();
            assert!(found.len() <= total_bytes as usize, "{code}: {} of {total_bytes}", found.len());
            assert!(found.contains("value too large"), "{code}: what is left out is marked");
        }
    }
}
