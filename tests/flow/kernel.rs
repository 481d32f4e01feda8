//! The profile `rlm` over the wire (S3-08): values are looked at page by page, and looking changes none of them.

use dormouse_tests::wire::{PATIENCE, Wire};
use serde_json::{Value as Json, json};

/// A server of the profile, and the number of the next call.
struct Kernel {
    wire: Wire,
    next: i64,
    _state: tempfile::TempDir,
}

impl Kernel {
    fn start() -> Self {
        let state = tempfile::tempdir().unwrap();
        let folder = state.path().to_str().unwrap();
        let arguments = ["--profile", "rlm", "--tools", "all", "--state-dir", folder];
        Self { wire: Wire::greeted(&arguments), next: 1, _state: state }
    }

    fn call(&mut self, tool: &str, arguments: Json) -> Json {
        self.next += 1;
        self.wire.call(self.next, tool, arguments)
    }

    /// The text of an answer that must not be an error.
    fn text(&mut self, tool: &str, arguments: Json) -> String {
        let answer = self.call(tool, arguments);
        assert_ne!(answer["isError"], true, "{answer}");
        answer["content"][0]["text"].as_str().unwrap().to_owned()
    }

    fn run(&mut self, code: &str) -> String {
        self.text("rlm_exec", json!({"code": code}))
    }

    fn get(&mut self, name: &str) -> String {
        self.text("rlm_get", json!({"name": name}))
    }

    fn end(self) {
        assert_eq!(self.wire.end(PATIENCE).status, Some(0));
    }
}

#[test]
fn s3_08_looking_takes_nothing_out_of_an_iterator() {
    let mut kernel = Kernel::start();
    kernel.run(
        "def f():\n  yield from range(5)\ng = f()\ndeep = [g, {'m': map(str, [1, 2])}]\ni = iter([7, 8])",
    );
    for name in ["g", "deep", "i"] {
        for _ in 0..2 {
            let shown = kernel.get(name);
            assert!(shown.contains(" object"), "{name}: {shown}");
        }
    }
    assert!(kernel.text("rlm_get", json!({"name": "g", "query": "value"})).contains("generator object f"));
    assert_eq!(kernel.run("list(g), list(i), list(deep[1]['m'])"), r#"[[0,1,2,3,4],[7,8],["1","2"]]"#);
    // A value that a run ends with is not used up either, unless nobody else holds it.
    kernel.run("g = f()\ni = iter([7, 8])\nheld = [g, {'m': map(str, [1, 2])}]");
    for (name, shown) in [("g", "generator object f"), ("i", "list_iterator object"), ("held", "map object")]
    {
        let seen = kernel.run(name);
        assert!(seen.contains(shown), "{name}: {seen}");
    }
    assert!(kernel.run("(1, g)").contains("generator object f"), "an iterator in a value that is new");
    assert_eq!(kernel.run("list(g), list(i), list(held[1]['m'])"), r#"[[0,1,2,3,4],[7,8],["1","2"]]"#);
    assert!(kernel.run("f()").ends_with("(showing it has taken 5 items out of the iterator)"));
    kernel.end();
}

#[test]
fn s3_08_the_canonical_tool_takes_nothing_out_of_an_iterator_either() {
    let state = tempfile::tempdir().unwrap();
    let mut wire = Wire::greeted(&["--tools", "all", "--state-dir", state.path().to_str().unwrap()]);
    let mut eval = |id, code: &str| {
        let told = wire.call(id, "sandbox_eval", json!({"session_key": "k", "code": code}));
        assert_ne!(told["isError"], true, "{told}");
        let get = json!({"session_key": "k", "name": "deep", "preview_offset": 1});
        let seen = wire.call(id + 1, "sandbox_get_var", get);
        (told["structuredContent"]["result"]["value"].clone(), seen["structuredContent"]["result"].clone())
    };
    let (_, seen) = eval(1, "deep = ['x' * 20_000, (n for n in range(3))]");
    assert_eq!((&seen["count"], &seen["value"][0]["class"]), (&json!(2), &json!("generator")), "{seen}");
    let (sum, _) = eval(3, "sum(deep[1])");
    assert_eq!(sum, 3);
    let text =
        wire.call(5, "sandbox_get_var", json!({"session_key": "k", "name": "deep", "query": "value[0]"}));
    let text = &text["structuredContent"]["result"];
    assert_eq!((&text["truncated"], &text["length"]), (&json!(true), &json!(20_000)), "{text}");
    assert_eq!(wire.end(PATIENCE).status, Some(0));
}

#[test]
fn s3_08_a_value_is_json_where_it_can_be_and_else_as_python_writes_it() {
    let mut kernel = Kernel::start();
    kernel.run(
        "class C: pass\nc = C(); c.x = 1\nclass R:\n  def __repr__(self): return '<R!>'\nr = R()\n\
         values = {'s': {3}, 'f': frozenset(), 'n': range(2, 9), 'b': b'a\\x00', 'd': {1: 'a', (2,): None}, 'nan': float('nan'),\n\
         'big': 2**100, 't': (1, 2), 'j': {'k': [True, None, 1.5]}}\nglobals().update(values)\ntype = str = len = None",
    );
    for (name, shown) in [
        ("s", "{3}"),
        ("n", "range(2, 9)"),
        ("b", r"b'a\x00'"),
        ("d", "{1: 'a', (2,): None}"),
        ("nan", "nan"),
        ("big", "1267650600228229401496703205376"),
        ("t", "[1,2]"),
        ("j", r#"{"k":[true,null,1.5]}"#),
        ("c", "<C object: x=1>"),
        ("r", "<R!>"),
    ] {
        assert_eq!(kernel.get(name), shown, "{name}");
    }
    assert_eq!(kernel.text("rlm_get", json!({"name": "s", "query": "value | {3}"})), "{3}");
    kernel.end();
}

#[test]
fn s3_08_something_long_comes_in_pages() {
    let mut kernel = Kernel::start();
    kernel.run("text = 'é\\n' * 35_000\nnumbers = list(range(2_500))\nraw = bytes(20_000)\nshort = 'a'");
    let mut page = |arguments: Json| kernel.call("rlm_get", arguments)["structuredContent"].take();
    let (mut whole, mut offset) = (String::new(), Some(0));
    while let Some(at) = offset {
        let told = page(json!({"name": "text", "offset": at}));
        assert_eq!(told["length"], 70_000, "{at}");
        whole.push_str(told["result"]["value"].as_str().unwrap());
        offset = told["next_offset"].as_u64();
    }
    assert_eq!(whole, "é\n".repeat(35_000));
    let told = page(json!({"name": "numbers", "offset": 1_000}));
    assert_eq!((&told["length"], &told["next_offset"]), (&json!(2_500), &json!(2_000)));
    assert_eq!(told["result"]["value"][0]["value"], 1_000);
    assert_eq!(page(json!({"name": "raw"}))["next_offset"], 16_000);
    let told = page(json!({"name": "short"}));
    assert_eq!((&told["length"], &told["next_offset"]), (&json!(1), &Json::Null));
    let told = kernel.get("numbers");
    assert!(
        told.ends_with("\n(items 0 to 999 of 2500; offset 1000 shows more)"),
        "{}",
        &told[told.len() - 80..]
    );
    assert_eq!(kernel.get("short"), "\"a\"");
    kernel.end();
}

#[test]
fn s3_08_what_a_query_raises_is_told_as_its_own() {
    let mut kernel = Kernel::start();
    kernel.run("text = 'ab'");
    assert_eq!(
        kernel.call("rlm_get", json!({"name": "none"}))["structuredContent"]["error"]["code"],
        "not_found"
    );
    let told = kernel.call("rlm_get", json!({"name": "text", "query": "value['x']"}));
    let exception = &told["structuredContent"]["exception"];
    assert_eq!(exception["class"], "TypeError", "{told}");
    assert_eq!(exception["stack_trace"], json!(["<module> (<string>:1)"]), "{told}");
    let told = kernel.text("rlm_get", json!({"name": "text", "query": "value +"}));
    assert!(told.starts_with("SyntaxError"), "{told}");
    for query in ["'\"' + \"'\" + '\\\\'", "len(value)  # a comment", "[x for x in value if x in text]"] {
        kernel.text("rlm_get", json!({"name": "text", "query": query}));
    }
    kernel.end();
}
