//! Every kind of value of docs/values.md.

use dormouse_tests::sandbox::value_of;
use dormouse_tests::{JAVASCRIPT, PYTHON};
use serde_json::{Value as Json, json};

#[track_caller]
fn each(language: &str, table: &[(&str, Json)]) {
    let mut wrong = Vec::new();
    for (code, wanted) in table {
        let found = value_of(language, code);
        if found != *wanted {
            wrong.push(format!("{code}\n  wanted {wanted}\n  found  {found}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), table.len(), wrong.join("\n"));
}

fn int(value: impl Into<Json>) -> Json {
    json!({"type": "int", "value": value.into()})
}

fn float(value: impl Into<Json>) -> Json {
    json!({"type": "float", "value": value.into()})
}

fn text(value: &str) -> Json {
    json!({"type": "string", "value": value})
}

fn list(items: &[Json]) -> Json {
    json!({"type": "array", "is_list": true, "count": items.len(), "value": items})
}

#[test]
fn python_scalars() {
    each(
        PYTHON,
        &[
            ("1 + 1", int(2)),
            ("None", json!({"type": "null", "value": null})),
            ("x = 5", json!({"type": "null", "value": null})),
            ("", json!({"type": "null", "value": null})),
            ("True", json!({"type": "bool", "value": true})),
            ("False", json!({"type": "bool", "value": false})),
            ("0", int(0)),
            ("-7", int(-7)),
            ("2**53 - 1", int(9_007_199_254_740_991_u64)),
            ("-(2**53 - 1)", int(-9_007_199_254_740_991_i64)),
            ("2**53", int("9007199254740992")),
            ("-10**30", int("-1000000000000000000000000000000")),
            ("1.5", float(1.5)),
            ("1e300", float(1e300)),
            ("2.0", float(2.0)),
            ("0.1 + 0.2", float(0.1 + 0.2)),
            ("float('nan')", float("NaN")),
            ("float('inf')", float("Infinity")),
            ("-float('inf')", float("-Infinity")),
            ("-0.0", float("-0")),
            ("''", text("")),
            ("'ü\\n\\0\\u2028\"\\\\'", text("ü\n\0\u{2028}\"\\")),
            ("'\\U0001F400'", text("🐀")),
            ("'\\ud83d'", text("\u{fffd}")),
            ("b''", json!({"type": "bytes", "value": "", "length": 0})),
            ("b'\\x00\\x01'", json!({"type": "bytes", "value": "AAE=", "length": 2})),
            ("bytearray(b'a')", json!({"type": "bytes", "value": "YQ==", "length": 1, "class": "bytearray"})),
            (
                "memoryview(b'a')",
                json!({"type": "bytes", "value": "YQ==", "length": 1, "class": "memoryview"}),
            ),
        ],
    );
}

#[test]
fn python_containers() {
    each(
        PYTHON,
        &[
            ("[]", list(&[])),
            ("[1, 'a']", list(&[int(1), text("a")])),
            ("[[1]]", list(&[list(&[int(1)])])),
            (
                "(1,)",
                json!({"type": "array", "class": "tuple", "is_list": true, "count": 1, "value": [int(1)]}),
            ),
            ("{}", json!({"type": "array", "is_list": false, "count": 0, "value": {}})),
            (
                "{'b': 1, 'a': None}",
                json!({"type": "array", "is_list": false, "count": 2,
            "value": {"b": int(1), "a": {"type": "null", "value": null}}}),
            ),
            (
                "{1: 'a'}",
                json!({"type": "array", "is_list": false, "count": 1, "entries": [[int(1), text("a")]]}),
            ),
            (
                "{1: 1, 'a': 2}",
                json!({"type": "array", "is_list": false, "count": 2,
            "entries": [[int(1), int(1)], [text("a"), int(2)]]}),
            ),
            (
                "import collections; collections.OrderedDict(a=1)",
                json!({"type": "array", "class": "collections.OrderedDict", "is_list": false, "count": 1, "value": {"a": int(1)}}),
            ),
            (
                "{7}",
                json!({"type": "iterable", "class": "set", "preview": [int(7)], "exhausted": true, "size_hint": 1}),
            ),
            (
                "frozenset()",
                json!({"type": "iterable", "class": "frozenset", "preview": [], "exhausted": true, "size_hint": 0}),
            ),
            (
                "range(2)",
                json!({"type": "iterable", "class": "range", "preview": [int(0), int(1)], "exhausted": true, "size_hint": 2}),
            ),
            (
                "(i for i in [1])",
                json!({"type": "iterable", "class": "generator", "preview": [int(1)], "exhausted": true}),
            ),
            (
                "[(i for i in [1])]",
                json!({"type": "array", "is_list": true, "count": 1, "value": [
                    {"type": "iterable", "class": "generator", "preview": [int(1)], "exhausted": true}]}),
            ),
            (
                "{'a': 1}.keys()",
                json!({"type": "iterable", "class": "dict_keys", "preview": [text("a")], "exhausted": true, "size_hint": 1}),
            ),
            (
                "import collections; collections.deque([1])",
                json!({"type": "iterable", "class": "collections.deque", "preview": [int(1)], "exhausted": true, "size_hint": 1}),
            ),
        ],
    );
}

#[test]
fn python_objects() {
    each(
        PYTHON,
        &[
            (
                "class A:\n def __init__(self): self.x = 1; self._y = 2\nA()",
                json!({"type": "object", "class": "A", "id": 1, "properties": {"x": int(1)}}),
            ),
            (
                "class A:\n def __repr__(self): return 'A!'\nA()",
                json!({"type": "object", "class": "A", "id": 1, "properties": {}, "repr": "A!"}),
            ),
            (
                "class A:\n def __debuginfo__(self): return {'told': 1}\nA()",
                json!({"type": "object", "class": "A", "id": 1, "properties": {"told": int(1)}}),
            ),
            (
                "class A:\n __slots__ = ('x',)\n def __init__(self): self.x = 1\nA()",
                json!({"type": "object", "class": "A", "id": 1, "properties": {"x": int(1)}}),
            ),
            (
                "import dataclasses\n@dataclasses.dataclass\nclass P:\n x: int\n y: str = 'b'\nP(1)",
                json!({"type": "object", "class": "P", "id": 1, "properties": {"x": int(1), "y": text("b")}, "repr": "P(x=1, y='b')"}),
            ),
            (
                "import enum\nclass C(enum.Enum):\n RED = 1\nC.RED",
                json!({"type": "object", "class": "C", "id": 1, "properties": {"name": text("RED"), "value": int(1)}, "repr": "<C.RED: 1>"}),
            ),
            (
                "import enum\nclass F(enum.Flag):\n A = 1\n B = 2\nF.A | F.B",
                json!({"type": "object", "class": "F", "id": 1, "properties": {"name": text("A|B"), "value": int(3)}, "repr": "<F.A|B: 3>"}),
            ),
            (
                "l = [1]; l.append(l); l",
                json!({"type": "array", "id": 1, "is_list": true, "count": 2,
                "value": [int(1), {"type": "reference", "class": "list", "id": 1}]}),
            ),
            (
                "class A: pass\na = A(); a.me = a; a",
                json!({"type": "object", "class": "A", "id": 1, "properties": {"me": {"type": "reference", "class": "A", "id": 1}}}),
            ),
            ("import fractions; fractions.Fraction(1, 3).__class__.__name__", text("Fraction")),
        ],
    );
}

#[test]
fn javascript_scalars() {
    each(
        JAVASCRIPT,
        &[
            ("1 + 1", int(2)),
            ("null", json!({"type": "null", "value": null})),
            ("undefined", json!({"type": "null", "value": null, "undefined": true})),
            ("", json!({"type": "null", "value": null, "undefined": true})),
            ("true", json!({"type": "bool", "value": true})),
            ("-7", int(-7)),
            ("2", int(2)),
            ("2.0", int(2)),
            ("2 ** 53 - 1", int(9_007_199_254_740_991_u64)),
            ("2 ** 53", float(9_007_199_254_740_992_u64)),
            ("1.5", float(1.5)),
            ("NaN", float("NaN")),
            ("1 / 0", float("Infinity")),
            ("-1 / 0", float("-Infinity")),
            ("-0", float("-0")),
            ("5n", json!({"type": "int", "value": 5, "big": true})),
            ("2n ** 64n", json!({"type": "int", "value": "18446744073709551616", "big": true})),
            ("-(2n ** 53n)", json!({"type": "int", "value": "-9007199254740992", "big": true})),
            ("''", text("")),
            ("'ü\\n\\0\\u2028\"\\\\'", text("ü\n\0\u{2028}\"\\")),
            ("'🐀'", text("🐀")),
            ("'\\ud83d'", text("\u{fffd}")),
            ("new Uint8Array([0, 1])", json!({"type": "bytes", "value": "AAE=", "length": 2})),
            ("new Uint8Array([0, 1]).buffer", json!({"type": "bytes", "value": "AAE=", "length": 2})),
            (
                "new DataView(new Uint8Array([0, 1]).buffer, 1)",
                json!({"type": "bytes", "value": "AQ==", "length": 1}),
            ),
            ("new Uint16Array([256])", json!({"type": "bytes", "value": "AAE=", "length": 2})),
        ],
    );
}

#[test]
fn javascript_containers() {
    each(
        JAVASCRIPT,
        &[
            ("[]", list(&[])),
            ("[1, 'a', [2]]", list(&[int(1), text("a"), list(&[int(2)])])),
            ("[, 1]", list(&[json!({"type": "null", "value": null, "undefined": true}), int(1)])),
            ("({})", json!({"type": "array", "is_list": false, "count": 0, "value": {}})),
            (
                "({ b: 1, a: null })",
                json!({"type": "array", "is_list": false, "count": 2,
            "value": {"b": int(1), "a": {"type": "null", "value": null}}}),
            ),
            ("Object.create(null)", json!({"type": "array", "is_list": false, "count": 0, "value": {}})),
            (
                "new Map([[1, 'a']])",
                json!({"type": "array", "class": "Map", "is_list": false, "count": 1,
            "entries": [[int(1), text("a")]]}),
            ),
            (
                "new Set([7])",
                json!({"type": "iterable", "class": "Set", "preview": [int(7)], "exhausted": true, "size_hint": 1}),
            ),
            (
                "(function* () { yield 1 })()",
                json!({"type": "iterable", "class": "Generator", "preview": [int(1)], "exhausted": true}),
            ),
            (
                "[7].values()",
                json!({"type": "iterable", "class": "Array Iterator", "preview": [int(7)], "exhausted": true}),
            ),
            ("[1, 2].length = 1, [1]", list(&[int(1)])),
        ],
    );
}

#[test]
fn javascript_objects() {
    each(
        JAVASCRIPT,
        &[
            (
                "class A { x = 1; #y = 2 } new A()",
                json!({"type": "object", "class": "A", "id": 1, "properties": {"x": int(1)}}),
            ),
            (
                "const o = { a: 1 }; o.me = o; o.me === o && o",
                json!({"type": "array", "is_list": false, "count": 2,
                "value": {"a": int(1), "me": {"type": "reference", "class": "Object", "id": 1}}, "id": 1}),
            ),
            (
                "({ get a() { return 1 } })",
                json!({"type": "array", "is_list": false, "count": 1, "value": {"a": int(1)}}),
            ),
            (
                "({ get a() { throw new TypeError('no') } })",
                json!({"type": "array", "is_list": false, "count": 1,
                "value": {"a": {"type": "unknown", "class": "Object", "reason": "TypeError: no"}}}),
            ),
            ("Symbol.iterator in [] && typeof Symbol('a')", text("symbol")),
            ("await 5", int(5)),
            ("Promise.resolve([1])", list(&[int(1)])),
        ],
    );
}
