//! TypeScript: types go, everything else stays where it stood; what is more than types is compiled.

use std::sync::Arc;

use dormouse::wasm::{Settings, WasmProvider};
use dormouse::{ErrorCode, Language, Provider as _};
use dormouse_tests::ending::{assert_ends, exception, told, value};
use dormouse_tests::{JAVASCRIPT, sandbox};
use serde_json::{Value as Json, json};

pub(crate) const TYPESCRIPT: &str = "typescript";

/// Each snippet and its value.
pub(crate) fn each(cases: &[(&str, Json)]) {
    for (code, expected) in cases {
        let outcome = sandbox::eval(TYPESCRIPT, code);
        assert!(outcome.value().is_some(), "{code}: {}", told(&outcome));
        assert_eq!(value(&outcome)["value"], *expected, "{code}");
    }
}

/// Line and column of what a snippet raised.
fn place(code: &str) -> (String, Option<u32>, Option<u32>) {
    let outcome = sandbox::eval(TYPESCRIPT, code);
    assert!(outcome.exception().is_some(), "{code}: {}", told(&outcome));
    let raised = exception(&outcome);
    (raised.class.clone(), raised.line, raised.column)
}

#[test]
fn typescript_runs_as_javascript() {
    each(&[
        ("const x: number = 1; x + 1", json!(2)),
        ("interface A { a: number } const a: A = { a: 5 }; a.a satisfies number", json!(5)),
        ("type B<T> = T | null; function f<T>(x: T): B<T> { return x } f<string>('s') as string", json!("s")),
        (
            "class C { private x = 1; readonly y: number = 2; get sum(): number { return this.x + this.y } } new C().sum",
            json!(3),
        ),
        (
            "abstract class D { abstract f(): void } declare const unused: D; const z = (6 as any)!; z",
            json!(6),
        ),
        ("import type { Stats } from 'fs'; export default 7 as const", json!(7)),
        ("await Promise.resolve<number>(8)", json!(8)),
    ]);
}

#[test]
fn what_is_more_than_types_is_compiled() {
    each(&[
        ("const z = <any>6; z", json!(6)),
        ("enum Kind { A, B = 5, C } Kind.C + Kind[5]", json!("6B")),
        ("const enum Kind { A = 'x' } Kind.A", json!("x")),
        ("declare enum Gone { A } typeof Gone", json!("undefined")),
        ("namespace A.B { export const x = 1; export function f() { return x + 1 } } A.B.f()", json!(2)),
        (
            "class P { constructor(public readonly x: number, private y = 2) {} sum() { return this.x + this.y } } new P(1).sum()",
            json!(3),
        ),
        ("class Q extends Array { constructor(readonly x: number) { super(); } } new Q(4).x", json!(4)),
        ("import path = require('path'); path.posix.join('a', 'b')", json!("a/b")),
        ("enum E { A } const t = `a${`b${E.A}`}\n}c`; t", json!("ab0\n}c")),
        ("enum E { A } const r = /[/]}\\//g; 'x/}'.split(r).length + E.A", json!(1)),
        ("enum E { A = 1 } const o = { a: 1 }; let n = 0; n\n++\no.a; n + o.a + E.A", json!(3)),
        ("enum E { A } (() => { return\n5 })() ?? 'nothing'", json!("nothing")),
        ("enum E { A } (() => { return (\n.5\n) })()", json!(0.5)),
        ("enum E { A } (async (\n) => (\n1 as number\n))() instanceof Promise", json!(true)),
        (
            "enum E { A } class F { static #x = E.A; static { F.#x += 2 } static get x() { return F.#x } } F.x",
            json!(2),
        ),
    ]);
}

#[test]
fn what_stays_keeps_its_line_and_column() {
    let blanked = "interface A {\n  a: number\n}\nfunction fail(a: A): never {\n  throw new Error('no')\n}\nfail({ a: 1 })";
    let (class, line, column) = place(blanked);
    assert_eq!((class.as_str(), line), ("Error", Some(5)));
    // The same below an enum, a namespace and a class with parameter properties, which are compiled.
    let before = "enum Kind {\n  A = 1,\n  // two\n  B,\n}\nnamespace N {\n  export const x: number = 1;\n\n  export const y = 2;\n}\nclass P {\n  constructor(\n    public a: number,\n    private b: string,\n  ) {\n    a as any;\n  }\n}\n";
    let (class, below, same) = place(&format!("{before}{blanked}"));
    assert_eq!((class.as_str(), below, same), ("Error", line.map(|line| line + 18), column));
    // In them as well.
    for (code, expected) in [
        ("enum Kind {\n  A = 1,\n  B = missing(),\n}", 3),
        (
            "namespace N {\n  const x: number = 1;\n\n  export function f(): void {\n    const y = x;\n    missing(y);\n  }\n}\nN.f()",
            6,
        ),
        ("class P {\n  constructor(\n    public a: number,\n  ) {\n    missing();\n  }\n}\nnew P(1)", 5),
        ("enum E { A }\n[1, 2]\n  .map((x) => x)\n  .map((x: number) =>\n    missing(x))", 5),
        ("enum E { A }\nconst a = {\n  b: 1,\n  c:\n    missing,\n}", 5),
        ("enum E { A }\n`\n${1}\n${\nmissing}`", 5),
    ] {
        assert_eq!(place(code).1, Some(expected), "{code}");
    }
}

#[test]
fn a_source_that_is_none_says_where() {
    let outcome = sandbox::eval(TYPESCRIPT, "const a: number = 1;\nconst b: = 2;");
    let raised = exception(&outcome);
    assert_eq!((raised.class.as_str(), raised.line, raised.column), ("SyntaxError", Some(2), Some(10)));
    assert_eq!(raised.excerpt.as_deref(), Some("const b: = 2;"));
    assert_eq!(raised.file.as_deref(), Some("<snippet>"));
    assert!(!raised.message.is_empty());
    assert_eq!(outcome.stdout.text, "");
}

#[test]
fn a_source_past_the_bound_is_refused() {
    let eval = |code: String| sandbox::wait(sandbox::snippet(TYPESCRIPT, code).run());
    let large = eval(" ".repeat((1 << 20) + 1)).unwrap_err();
    assert_eq!(large.code(), ErrorCode::TooLarge);
    assert!(large.hint().is_some());
    let most = format!("{}\n1 as number", "// a comment\n".repeat(80_000));
    assert_eq!(value(&eval(most).unwrap())["value"], json!(1));
}

#[test]
fn what_parsing_takes_is_the_runs_own() {
    let usage = sandbox::eval(TYPESCRIPT, "const x: number = 1").usage;
    assert!(usage.memory_peak > 0 && usage.wall.as_nanos() > 0, "{usage:?}");
    // 400,000 statements take more memory than this run may have.
    let mut request = sandbox::request(TYPESCRIPT, "1;".repeat(400_000));
    request.context.limits.memory = 16 << 20;
    assert_ends(&sandbox::run_request(request), &["limit_memory"]);
}

#[test]
fn without_its_guest_typescript_is_missing_with_a_hint() {
    let cache = tempfile::tempdir().unwrap();
    let built = Settings::default_cache().unwrap().join("guests");
    let copy = cache.path().join("guests");
    std::fs::create_dir_all(&copy).unwrap();
    std::os::unix::fs::symlink(built.join(JAVASCRIPT), copy.join(JAVASCRIPT)).unwrap();
    let settings = Settings { cache: cache.path().into(), ..Settings::new().unwrap() };
    let provider = Arc::new(WasmProvider::new(settings).unwrap());
    let listed = provider.guests();
    let info = listed.iter().find(|guest| guest.language == Language::typescript()).unwrap();
    assert!(!info.available && info.note.as_ref().is_some_and(|note| note.contains("not built")), "{info:?}");
    let request = sandbox::request(TYPESCRIPT, "1");
    let error = sandbox::wait(provider.eval(request)).unwrap_err();
    assert_eq!(error.code(), ErrorCode::GuestMissing);
    assert!(error.hint().is_some_and(|hint| hint.contains("guests build typescript")), "{error:?}");
}
