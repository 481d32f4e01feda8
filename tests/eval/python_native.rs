//! Python: packages of PyPI that are native code, and linked with the interpreter: pydantic-core, jiter, rpds-py and
//! regex.

use dormouse_tests::ending::ending;
use dormouse_tests::lasting::{close, named, open, shown};
use dormouse_tests::{PYTHON, sandbox};
use serde_json::json;

/// pydantic-core needs `typing_extensions`, which comes with it from an index: `typing` and two names more.
const SETTING: &str = "import sys, types, typing, warnings\n\
    sys.modules['typing_extensions'] = more = types.ModuleType('typing_extensions')\n\
    more.__dict__.update({name: getattr(typing, name) for name in typing.__all__}, deprecated=warnings.deprecated, Sentinel=lambda *names, **options: names)\n\
    from pydantic_core import SchemaError, SchemaSerializer, SchemaValidator, ValidationError, from_json, to_json\n";

/// Each line is true.
fn all_true(lines: &[&str]) {
    for line in lines {
        let code = format!("{SETTING}{line}");
        assert_eq!(sandbox::value_of(PYTHON, &code)["value"], json!(true), "{line}");
    }
}

#[test]
fn pydantic_core_validates_and_serialises() {
    all_true(&[
        "SchemaValidator({'type': 'int'}).validate_python('3') == 3",
        "try: SchemaValidator({'type': 'int'}).validate_python('x')\nexcept ValidationError as error: found = error.errors()[0]['type']\nfound == 'int_parsing'",
        "SchemaValidator({'type': 'list', 'items_schema': {'type': 'date'}}).validate_json('[\"2026-01-31\"]')[0].isoformat() == '2026-01-31'",
        "SchemaValidator({'type': 'str', 'pattern': '^a+$'}).validate_python('aaa') == 'aaa'",
        "str(SchemaValidator({'type': 'url'}).validate_python('http://bücher.example/a b')) == 'http://xn--bcher-kva.example/a%20b'",
        "str(SchemaValidator({'type': 'uuid'}).validate_python('12345678-1234-5678-1234-567812345678')) == '12345678-1234-5678-1234-567812345678'",
        "SchemaValidator({'type': 'function-plain', 'function': {'type': 'no-info', 'function': lambda x: x * 2}}).validate_python(4) == 8",
        "import datetime; SchemaSerializer({'type': 'any'}).to_json({'a': datetime.timedelta(seconds=90), 'b': {1}}) == b'{\"a\":\"PT1M30S\",\"b\":[1]}'",
        "to_json([1.5, float('nan'), 2**70]) == b'[1.5,NaN,1180591620717411303424]'",
        "from_json('[1, {\"a\": [true, nul', allow_partial=True) == [1, {'a': [True]}]",
        "try: SchemaValidator({'type': 'nothing'})\nexcept SchemaError: found = True\nfound",
        "import pydantic_core; pydantic_core.__file__.endswith('site-packages/pydantic_core/__init__.py')",
    ]);
}

#[test]
fn jiter_reads_json() {
    all_true(&[
        "import jiter; jiter.from_json(b'{\"a\": [1, 2.5, \"x\", null, 123456789012345678901234567890]}') == {'a': [1, 2.5, 'x', None, 123456789012345678901234567890]}",
        "import jiter; jiter.from_json(b'[\"ab', partial_mode='trailing-strings') == ['ab']",
        "import jiter, decimal; jiter.from_json(b'1.10', float_mode='decimal') == decimal.Decimal('1.10')",
        "import jiter\ntry: jiter.from_json(b'[1,]')\nexcept ValueError as error: found = str(error)\nfound.startswith('trailing comma at line 1')",
    ]);
}

#[test]
fn rpds_has_persistent_collections_and_regex_its_patterns() {
    all_true(&[
        "from rpds import HashTrieMap, HashTrieSet, List, Queue; m = HashTrieMap({'a': 1}); n = m.insert('b', 2); [len(m), n['b'], 'b' in m, dict(n.remove('a'))] == [1, 2, False, {'b': 2}]",
        "from rpds import *; [list(List([1, 2]).push_front(0)), Queue([1]).enqueue(2).dequeue() == Queue([2]), HashTrieSet({1}) | HashTrieSet({2}) == HashTrieSet({1, 2})] == [[0, 1, 2], True, True]",
        "from rpds import HashTrieMap\ntry: HashTrieMap()['x']\nexcept KeyError: found = True\nfound",
        "import regex; [regex.findall(r'\\p{Lu}\\p{Ll}+', 'Äpfel und Birnen'), regex.sub(r'(?<=a)b', 'c', 'ab'), regex.match(r'(?:cats){e<=1}', 'cat').fuzzy_counts] == [['Äpfel', 'Birnen'], 'ac', (0, 0, 1)]",
        "import regex; [m.captures(1) for m in [regex.match(r'(\\w)+', 'abc')]] == [['a', 'b', 'c']]",
    ]);
}

/// The list of the adapter for packages says what is there.
#[test]
fn the_versions_are_those_that_installing_counts_on() {
    let list = include_str!("../../adapters/packages/src/pip/built_in.rs");
    let names = ["jiter", "pydantic-core", "regex", "rpds-py"];
    let found = sandbox::value_of(
        PYTHON,
        &format!("import importlib.metadata as m; [m.version(name) for name in {names:?}]"),
    );
    for (at, name) in names.into_iter().enumerate() {
        let version = found["value"][at]["value"].as_str().unwrap();
        assert!(list.contains(&format!("(\"{name}\", \"{version}\"")), "{name} {version}");
    }
}

/// What was made before a checkpoint goes on after it.
#[test]
fn validators_are_part_of_a_saved_memory() {
    let folder = tempfile::tempdir().unwrap();
    let dormouse = open(folder.path());
    let kept = named(&dormouse, "kept");
    let code = format!("{SETTING}v = SchemaValidator({{'type': 'int', 'ge': 3}}); v.validate_python('4')");
    assert_eq!(shown(&kept, "python", &code), json!(4));
    close(dormouse);
    let dormouse = open(folder.path());
    let kept = named(&dormouse, "kept");
    assert_eq!(shown(&kept, "python", "v.validate_python('5')"), json!(5));
    let refused =
        "try: v.validate_python(2)\nexcept ValidationError as error: found = error.error_count()\nfound";
    assert_eq!(shown(&kept, "python", refused), json!(1));
    close(dormouse);
}

#[test]
fn lng_05_hostile_json_and_schemas_are_errors_or_end_that_run() {
    for line in [
        "import jiter; jiter.from_json(b'[' * 1000000)",
        "from_json('{\"a\":' * 1000000)",
        "from_json('[' + '9' * 1000000 + ']') and None",
        "SchemaValidator({'type': 'str', 'pattern': '(a{1000}){1000}'})",
        "SchemaValidator({'type': 'str', 'pattern': '(a+)+$'}).validate_python('a' * 100000 + 'b')",
        "schema = {'type': 'int'}\nfor _ in range(100000): schema = {'type': 'list', 'items_schema': schema}\nSchemaValidator(schema)",
        "x = []\nx.append(x)\nto_json(x)",
        "class A:\n  def __eq__(self, other): raise MemoryError\n  __hash__ = None\nto_json({A: A()}) if False else to_json(A())",
        "SchemaValidator({'type': 'function-plain', 'function': {'type': 'no-info', 'function': lambda x: v.validate_python(x)}}).validate_python(1)",
        "v = SchemaValidator({'type': 'function-plain', 'function': {'type': 'no-info', 'function': lambda x: v.validate_python(x)}})\nv.validate_python(1)",
        "SchemaValidator.__new__(SchemaValidator)",
    ] {
        let outcome = sandbox::run(sandbox::snippet(PYTHON, format!("{SETTING}{line}")));
        let ended = ending(&outcome);
        let limits = ["returned", "limit_time", "limit_memory", "limit_stack", "guest_trap"];
        assert!(ended.starts_with("raised ") || limits.contains(&ended.as_str()), "{line}: {ended}");
        let next = sandbox::value_of(PYTHON, "1 + 1");
        assert_eq!(next["value"], json!(2), "{line}");
    }
}
