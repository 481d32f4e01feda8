//! TypeScript that only a compiler can make JavaScript of: decorators of both kinds, `accessor`, JSX, `export =`, and what of
//! it a sandbox remembers.

use std::path::Path;
use std::time::Duration;

use dormouse::sandbox::{Handle, Owner};
use dormouse::{Access, Language, Outcome, PersistentSandbox, Project};
use dormouse_tests::ending::{assert_ends, ending, exception, told, value};
use dormouse_tests::lasting::{self, named, open, run, shown};
use dormouse_tests::sandbox;
use serde_json::{Value as Json, json};

use crate::typescript::{TYPESCRIPT, each};

/// Line and excerpt of what a snippet raised.
#[track_caller]
fn raised(code: &str) -> (String, Option<u32>, String) {
    let outcome = sandbox::eval(TYPESCRIPT, code);
    assert!(outcome.exception().is_some(), "{code}: {}", told(&outcome));
    let raised = exception(&outcome);
    (raised.message.clone(), raised.line, raised.excerpt.clone().unwrap_or_default())
}

/// A package with a `jsx-runtime`, and one that is called.
const RUNTIME: &str = "export const Fragment = 'fragment';
const make = (type, { children = [], ...rest }, key) => {
  const inner = [children].flat().map(String).join('');
  const name = typeof type === 'function' ? type.name : type;
  if (typeof type === 'function') return type({ ...rest, children: inner });
  return `<${name}${key === undefined ? '' : ` key=${key}`}${Object.entries(rest).map(([k, v]) => ` ${k}=${v}`).join('')}>${inner}</${name}>`;
};
export const jsx = make, jsxs = make;
export const createElement = (type, props, ...children) => make(type, { ...props, children });
";

fn packages(folder: &Path) {
    for (name, main) in [("react", "module.exports = require('./inside');"), ("own", "")] {
        let home = folder.join("node_modules").join(name);
        std::fs::create_dir_all(&home).unwrap();
        let package = json!({"name": name, "version": "1.0.0", "type": if name == "own" { "module" } else { "commonjs" }});
        std::fs::write(home.join("package.json"), package.to_string()).unwrap();
        if name == "own" {
            std::fs::write(home.join("jsx-runtime.js"), RUNTIME.replace("fragment", "own")).unwrap();
            continue;
        }
        // As React itself: of the older kind.
        let common = RUNTIME.replace("export const ", "const ")
            + "module.exports = { Fragment, jsx, jsxs, createElement };";
        std::fs::write(home.join("inside.js"), common).unwrap();
        std::fs::write(home.join("index.js"), main).unwrap();
        std::fs::write(home.join("jsx-runtime.js"), main).unwrap();
    }
}

#[test]
fn decorators_are_the_standards() {
    each(&[
        (
            "const seen: string[] = [];
             function logged(value: Function | undefined, context: DecoratorContext) { seen.push(`${context.kind} ${String(context.name)} ${(context as any).static ?? ''}`); }
             @logged class C { @logged a = 1; @logged b() {} @logged static c() {} @logged get d() { return 1 } @logged set d(x) {} @logged accessor e = 2; @logged #f = 3; @logged static g = 4 }
             seen.join()",
            json!(
                "method c true,method b false,getter d false,setter d false,accessor e false,field g true,field a false,field #f false,class C "
            ),
        ),
        (
            "function twice<This, A extends any[]>(f: (this: This, ...a: A) => number, _: ClassMethodDecoratorContext) { return function (this: This, ...a: A) { return 2 * f.apply(this, a) } }
             class C { constructor(private readonly base: number) {} @twice add(x: number): number { return this.base + x } }
             new C(1).add(2)",
            json!(6),
        ),
        ("function plus(_: undefined, c: any) { return (x: number) => x + 1 } class C { @plus x = 1; @plus static y = 2 } new C().x * 10 + C.y", json!(23)),
        (
            "function bound(f: any, c: ClassMethodDecoratorContext) { c.addInitializer(function (this: any) { this[c.name] = this[c.name].bind(this) }) }
             class C { n = 7; @bound m() { return this.n } } const { m } = new C(); m()",
            json!(7),
        ),
        (
            "function named(C: any, c: ClassDecoratorContext) { return class extends C { static title = c.name } as any } @named class Shown {} (Shown as any).title + Shown.name.length",
            json!("Shown0"),
        ),
        ("function d(v: any, c: any) {} @d class C { static self = () => C; m() { return new C() } } [C.self() === C, new C().m() instanceof C].join()", json!("true,true")),
        ("const d = (x: string) => (v: any, c: any) => { v.x = x }; const C = @d('a') class { }; C.name + (C as any).x", json!("Ca")),
        ("class C { accessor x: number = 1; static accessor y = 2; accessor #z = 3; z() { return ++this.#z } } const c = new C(); c.x += 4; C.y += 1; [c.x, C.y, c.z(), Object.keys(c).length].join()", json!("5,3,4,0")),
        ("namespace N { function d(v: any, c: any) { v.marked = true } @d export class C { @d m() {} } } (N.C as any).marked", json!(true)),
        // A name that an assignment in a decorator makes is the sandbox's variable.
        ("let count = 0; const d = (n: number) => (v: any, c: any) => {}; class C { @d(count = 5) a() {} @d(count += 1) b() {} } count", json!(6)),
        // With a module's statements, and `await` in its decorators.
        ("import { join } from 'path'; const d = (x: string) => (v: any) => { v.at = x }; @d(await Promise.resolve(join('a', 'b'))) class C {} (C as any).at", json!("a/b")),
        ("function d(v: any) { v.x = 1 } @d export class C {} C.x", json!(1)),
    ]);
}

#[test]
fn decorators_of_parameters_and_a_configuration_mean_the_older_form() {
    each(&[(
        "const seen: any[] = [];
         function inject(of: any, name: string | undefined, at: number) { seen.push([name ?? 'new', at]) }
         function sealed(C: Function) { seen.push(C.name) }
         @sealed class C { constructor(@inject private a: number, @inject readonly b = 2) {} m(@inject x: number) { return this.a + this.b + x } }
         JSON.stringify([seen, new C(1).m(3)])",
        json!(r#"[[["m",0],["new",1],["new",0],"C"],6]"#),
    )]);
    let code = "function en(on: boolean) { return (of: any, name: string, d?: PropertyDescriptor) => { (of.seen ??= []).push(name); if (d) d.enumerable = on } }
        const type = (Reflect as any).metadata;
        class C { @en(true) a!: string; @en(true) m(): void {} @en(false) static s = 1 }
        JSON.stringify([C.prototype.seen, (C as any).seen, Object.keys(C.prototype)])";
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(
        folder.path().join("tsconfig.json"),
        "{ // as people write it\n \"compilerOptions\": { \"experimentalDecorators\": true, \"emitDecoratorMetadata\": true, }, }",
    )
    .unwrap();
    let found = value(&sandbox::run(sandbox::snippet(TYPESCRIPT, code).project(Project::new(folder.path()))));
    assert_eq!(found["value"], json!(r#"[["a","m"],["s"],["m","seen"]]"#), "{found}");
    // The same in a sandbox, from its own file; without it the standard's.
    let state = tempfile::tempdir().unwrap();
    let dormouse = open(state.path());
    let kept = named(&dormouse, "older");
    let kind = "let kind = ''; function d(...a: any[]) { kind = typeof a[1] } class C { @d m() {} } kind";
    assert_eq!(shown(&kept, TYPESCRIPT, kind), "object");
    let older = r#"{"compilerOptions": {"experimentalDecorators": true}}"#;
    sandbox::wait(kept.write("/workspace/tsconfig.json", older)).unwrap();
    assert_eq!(shown(&kept, TYPESCRIPT, kind), "string");
    // One that is none is told of where it matters.
    sandbox::wait(kept.write("/workspace/tsconfig.json", "{")).unwrap();
    assert_eq!(shown(&kept, TYPESCRIPT, "1 as number"), 1);
    let refused = run(&kept, TYPESCRIPT, kind);
    assert!(exception(&refused).message.starts_with("tsconfig.json cannot be used"), "{}", told(&refused));
    lasting::close(dormouse);
}

#[test]
fn what_is_declared_is_remembered_and_may_be_declared_anew() {
    let state = tempfile::tempdir().unwrap();
    let dormouse = open(state.path());
    let kept = named(&dormouse, "declared");
    for (code, expected) in [
        ("enum Kind { A, B } const enum Size { S = 1, L = 'l' } Kind.B", json!(1)),
        ("`${Kind[0]} ${Kind.B} ${Size.L}`", json!("A 1 l")),
        // Anew: nothing of the first is left.
        ("enum Kind { X = 7 } JSON.stringify(Kind)", json!(r#"{"7":"X","X":7}"#)),
        ("Kind.X + Object.keys(Kind).length", json!(9)),
        // An enum that is declared twice in one source is one.
        ("enum Both { A } enum Both { B = 1 } `${Both.A}${Both.B}`", json!("01")),
        ("const Kind = 1; Kind", json!(1)),
        ("enum Kind { Y } Kind.Y", json!(0)),
        (
            "namespace N { export const a = 1; export namespace M { export const b = 2 } } N.a + N.M.b",
            json!(3),
        ),
        // A namespace adds to what there is, as in TypeScript.
        ("namespace N { export const c = N.a + 4 } N.a + N.c", json!(6)),
        ("class P { static z = 1 } namespace P { export const q = 2 } P.z + P.q", json!(3)),
        (
            "function d(v: any, c: any) { if (c.kind === 'method') return function () { return 'd' + v.call(this) } } 1",
            json!(1),
        ),
        (
            "@d class D { constructor(public x = 1) {} @d m() { return `${this.x}` } } new D().m()",
            json!("d1"),
        ),
        ("new D(5).m()", json!("d5")),
        ("@d class D { @d m() { return 'new' } } new D().m()", json!("dnew")),
        ("let total = 1; class T { @(() => {}) a() { total += 1 } } new T().a(); total", json!(2)),
        ("new T().a(); total", json!(3)),
        ("import path = require('path'); path.basename('/a/b')", json!("b")),
        ("path.basename('/a/c')", json!("c")),
        ("const made = { a: 5 }; export = made.a", json!(5)),
    ] {
        assert_eq!(shown(&kept, TYPESCRIPT, code), expected, "{code}");
    }
    // What compiling needs is none of the variables.
    let (owner, handle) = (Owner::local(), Handle::IdOrName("declared"));
    let listed = lasting::sandboxes(&dormouse).variables(&owner, &handle, Language::typescript());
    let mut names: Vec<String> = sandbox::wait(listed).unwrap().0.into_iter().map(|each| each.name).collect();
    names.sort();
    let expected = ["Both", "D", "Kind", "N", "P", "Size", "T", "d", "made", "path", "total"];
    assert_eq!(names, expected);
    lasting::close(dormouse);
    // It is saved with the sandbox.
    let dormouse = open(state.path());
    let kept = named(&dormouse, "declared");
    assert_eq!(shown(&kept, TYPESCRIPT, "`${Kind.Y} ${N.c} ${new D().m()}`"), "0 5 dnew");
    lasting::close(dormouse);
}

#[test]
fn jsx_is_made_by_a_package_of_the_sandbox() {
    let folder = tempfile::tempdir().unwrap();
    packages(folder.path());
    let run =
        |code: &str| sandbox::run(sandbox::snippet(TYPESCRIPT, code).project(Project::new(folder.path())));
    for (code, expected) in [
        ("const name: string = 'you'; <p class=\"a\">hello {name}</p>", "<p class=a>hello you</p>"),
        (
            "type Props = { n: number; children?: any }; const Item = ({ n, children }: Props) => <li>{n}{children}</li>;\n<ul>\n  {[1, 2].map((n) => <Item n={n}>!</Item>)}\n</ul>",
            "<ul><li>1!</li><li>2!</li></ul>",
        ),
        ("<>{<b key=\"k\" hidden/>}{/* nothing */}</>", "<fragment><b key=k hidden=true></b></fragment>"),
        // A key behind properties that are spread: React's own rule.
        ("const rest = { a: 1 }; <i {...rest} key=\"k\"/>", "<i a=1 key=k></i>"),
        ("/** @jsxImportSource own */\n<></>", "<own></own>"),
        (
            "/** @jsx h */\n/** @jsxFrag 'x' */\nconst h = (type: string, props: object | null, ...inner: any[]) => `${type}(${JSON.stringify(props)}${inner})`; <a b=\"1\"><c/></a>",
            "",
        ),
        (
            "/** @jsx h */\nconst h = (type: string, props: object | null, ...inner: any[]) => `${type}(${JSON.stringify(props)}${inner})`; <a b=\"1\"><c/></a>",
            "a({\"b\":\"1\"}c(null))",
        ),
        ("import { join } from 'path'; enum E { A = 'e' } <a href={join('x', E.A)}/>", "<a href=x/e></a>"),
        ("function App() { return <main/> }\nawait Promise.resolve(<App/>)", "<main></main>"),
        // No JSX: a cast, a comparison, text.
        ("const a = <any>'</p>'; a", "</p>"),
        ("const f = <T,>(x: T) => x; f<string>('<br/>')", "<br/>"),
    ] {
        let outcome = run(code);
        if expected.is_empty() {
            assert!(exception(&outcome).message.contains("@jsxFrag"), "{code}: {}", told(&outcome));
            continue;
        }
        assert_eq!(value(&outcome)["value"], expected, "{code}");
    }
    // Where there is no such package, its name is told.
    let missing = sandbox::eval(TYPESCRIPT, "<p/>");
    assert!(exception(&missing).message.contains("react/jsx-runtime"), "{}", told(&missing));
    // A file's name says that it is JSX; so does the configuration what makes it.
    std::fs::write(
        folder.path().join("tsconfig.json"),
        r#"{"compilerOptions": {"jsx": "react", "jsxFactory": "own.make"}}"#,
    )
    .unwrap();
    let named = sandbox::snippet(TYPESCRIPT, "const own = { make: (type: string) => 'made ' + type }; <p/>");
    let found = sandbox::run(named.name("App.tsx").project(Project::new(folder.path())));
    assert_eq!(value(&found)["value"], "made p");
    let cast = sandbox::run(sandbox::snippet(TYPESCRIPT, "<any>1").name("App.tsx"));
    assert_eq!(exception(&cast).class, "SyntaxError", "{}", told(&cast));
}

#[test]
fn a_sandbox_remembers_what_makes_its_jsx() {
    let (state, packs) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    packages(packs.path());
    let dormouse = open(state.path());
    let kept = named(&dormouse, "jsx");
    for file in [
        "react/package.json",
        "react/jsx-runtime.js",
        "react/inside.js",
        "own/package.json",
        "own/jsx-runtime.js",
    ] {
        let text = std::fs::read_to_string(packs.path().join("node_modules").join(file)).unwrap();
        sandbox::wait(kept.write(&format!("/workspace/node_modules/{file}"), text)).unwrap();
    }
    for (code, expected) in [
        ("const App = ({ n }: { n: number }) => <><b>{n}</b></>; 1", json!(1)),
        ("App({ n: 2 })", json!("<fragment><b>2</b></fragment>")),
        // Each keeps the package that it was written for.
        (
            "/** @jsxImportSource own */\nconst Other = () => <></>; Other() + App({ n: 3 })",
            json!("<own></own><fragment><b>3</b></fragment>"),
        ),
        ("<Other/>", json!("<own></own>")),
    ] {
        assert_eq!(shown(&kept, TYPESCRIPT, code), expected, "{code}");
    }
    let (owner, handle) = (Owner::local(), Handle::IdOrName("jsx"));
    let listed = lasting::sandboxes(&dormouse).variables(&owner, &handle, Language::typescript());
    let names: Vec<String> = sandbox::wait(listed).unwrap().0.into_iter().map(|each| each.name).collect();
    assert_eq!(names, ["App", "Other"]);
    lasting::close(dormouse);
}

#[test]
fn errors_name_the_line_of_the_source_and_show_it() {
    for (code, line, shown) in [
        (
            "function log(name: string) { return (v: any, c: any) => {} }\n@log('c')\nclass C {\n  first(): void {\n    missing(1 as number);\n  }\n  @log('m')\n  m() {}\n}\nnew C().first()",
            5,
            "    missing(1 as number);",
        ),
        (
            "function log(v: any, c: any) {}\nclass C {\n  @log accessor a: number = 1;\n  @log\n  m(): void {\n    const x: number = 1;\n    missing(x);\n  }\n}\nnew C().m()",
            7,
            "    missing(x);",
        ),
        (
            "function p(...a: any[]) {}\nclass C {\n  constructor(\n    @p private a: number,\n  ) {\n    missing();\n  }\n}\nnew C(1)",
            6,
            "    missing();",
        ),
        ("@missing\nclass C {}", 1, "@missing"),
        ("let x: number = 1;\n\n@missing\nclass C {\n  m() {}\n}", 3, "@missing"),
        (
            "/** @jsx h */\nconst h = (...a: any[]) => a;\nconst App = (p: { a: number }) => (\n  <div>\n    <b>text</b>\n    {missing(p as any)}\n  </div>\n);\nApp({ a: 1 })",
            6,
            "    {missing(p as any)}",
        ),
        ("const a: string = 'x';\nmissing(a as string);", 2, "missing(a as string);"),
        ("enum E { A }\nconst a: E = missing;", 2, "const a: E = missing;"),
        // Refused by the parser.
        ("@d class C {}\nlet x: = 1;\n", 2, "let x: = 1;"),
        ("const a = <p>\n  <b>\n</p>;", 3, "</p>;"),
        ("const a = <p b={}/>;", 1, "const a = <p b={}/>;"),
    ] {
        let (message, found, excerpt) = raised(code);
        assert_eq!((found, excerpt.as_str()), (Some(line), shown), "{message}: {code}");
    }
    // A function of an earlier snippet raises in its own lines.
    let state = tempfile::tempdir().unwrap();
    let dormouse = open(state.path());
    let kept = named(&dormouse, "lines");
    let first = "function d(v: any, c: any) {}\nclass C {\n  @d\n  m() {\n    missing();\n  }\n}\n1";
    assert_eq!(shown_in(&kept, first), 1);
    let outcome = run(&kept, TYPESCRIPT, "const c: any = new C();\n\n\n\nc.m() as any");
    let told = exception(&outcome);
    assert_eq!((told.line, told.excerpt.as_deref().map(str::trim)), (Some(5), Some("missing();")));
    lasting::close(dormouse);
}

fn shown_in(kept: &PersistentSandbox, code: &str) -> Json {
    shown(kept, TYPESCRIPT, code)
}

#[test]
fn resources_are_given_back_and_other_new_syntax_runs() {
    each(&[
        (
            "const seen: string[] = []; class R { constructor(private n: string) {} [Symbol.dispose](): void { seen.push(this.n) } } { using a = new R('a'); using b = new R('b'); seen.push('in') } seen.join()",
            json!("in,b,a"),
        ),
        (
            "const seen: string[] = []; enum E { A } async function f() { await using a = { async [Symbol.asyncDispose](): Promise<void> { seen.push(`${E.A}`) } }; seen.push('in') } await f(); seen.join()",
            json!("in,0"),
        ),
        ("type T = { a: number }; enum E { A = 3 } const t = { a: E.A } satisfies T; t.a", json!(3)),
        (
            "abstract class A { abstract accessor x: number; declare y: string } class B extends A { accessor x = 4 } new B().x",
            json!(4),
        ),
    ]);
}

/// The parser, the passes and the writer recurse with a source, and take time and memory for it.
#[test]
fn lng_61_hostile_typescript_ends_with_a_clear_error_within_its_limits() {
    let deep = 50_000;
    for (what, code, allowed) in [
        (
            "nested classes",
            format!("@d {}{}", "class A { @d x = ".repeat(deep), "}".repeat(deep)),
            &["limit_stack", "raised SyntaxError"][..],
        ),
        ("nested elements", format!("{}{}", "<a>".repeat(deep), "</a>".repeat(deep)), &["limit_stack"]),
        (
            "nested namespaces",
            format!("{}{}", "namespace A { ".repeat(deep), "}".repeat(deep)),
            &["limit_stack"],
        ),
        (
            "a dotted namespace",
            format!("namespace {}a {{ export const x = 1 }}", "a.".repeat(deep)),
            &["limit_stack"],
        ),
        (
            "a megabyte of decorators",
            format!("const a = () => {{}};\n{}class C {{}}", "@a ".repeat(300_000)),
            &[
                "returned",
                "limit_memory",
                "limit_stack",
                "limit_time",
                "raised SyntaxError",
                "raised RangeError",
                "raised InternalError",
            ],
        ),
        (
            "decorated members",
            format!(
                "const a = () => {{}};\nclass C {{ {} }}",
                (0..50_000).map(|n| format!("@a m{n}() {{}} ")).collect::<String>()
            ),
            &[
                "returned",
                "limit_memory",
                "limit_stack",
                "limit_time",
                "raised SyntaxError",
                "raised RangeError",
                "raised InternalError",
            ],
        ),
        ("decorators without an end", "@(".repeat(deep), &["limit_stack", "raised SyntaxError"]),
        (
            "an enum of itself",
            "enum A { a = B.b, c = A.a } enum B { b = A.a } A.c".into(),
            &["returned", "raised TypeError", "raised ReferenceError"],
        ),
        (
            "namespaces of each other",
            "namespace A { export import x = B } namespace B { export import y = A } A.x.y".into(),
            &["returned", "raised TypeError", "raised ReferenceError"],
        ),
        (
            "members of an enum",
            format!("enum A {{ {} }} A.a0", (0..60_000).map(|n| format!("a{n},")).collect::<String>()),
            &["returned", "limit_memory", "limit_time"],
        ),
        ("pragmas that are none", "/** @jsx a..b */ <a/>".into(), &["raised SyntaxError"]),
        ("a word as a pragma", "/** @jsx class */ <a/>".into(), &["raised SyntaxError"]),
        (
            "a source that cannot be imported",
            "/** @jsxImportSource ../../../../etc */ <a/>".into(),
            &["raised Error"],
        ),
    ] {
        let mut request = sandbox::request(TYPESCRIPT, code);
        request.context.limits.wall = Duration::from_secs(10);
        let outcome = sandbox::run_request(request);
        assert!(allowed.contains(&ending(&outcome).as_str()), "{what}: {}", told(&outcome));
    }
    assert_eq!(sandbox::value_of(TYPESCRIPT, "enum E { A = 2 } E.A")["value"], json!(2));
}

/// A configuration is the sandbox's, so it may be anything.
#[test]
fn lng_62_a_hostile_configuration_is_refused_or_means_nothing() {
    let folder = tempfile::tempdir().unwrap();
    for (text, allowed) in [
        ("[]".into(), &["raised SyntaxError"][..]),
        ("{\"compilerOptions\": 1}".into(), &["returned"]),
        ("{\"compilerOptions\": {\"experimentalDecorators\": \"yes\"}}".into(), &["returned"]),
        ("{\"compilerOptions\": {\"jsxFactory\": \"((\"}}".into(), &["raised SyntaxError"]),
        (format!("{{\"compilerOptions\": {}", "[".repeat(60_000)), &["limit_stack", "raised SyntaxError"]),
        (" ".repeat(1 << 20), &["raised SyntaxError"]),
        ("\u{0}".into(), &["raised SyntaxError"]),
    ] {
        std::fs::write(folder.path().join("tsconfig.json"), &text).unwrap();
        let code = "function d(v: any, c: object) {} @d class C {} 1";
        assert_ends(&in_mount(folder.path(), code), allowed);
    }
    // It is nothing but the file of its name: a link out of the folder is not followed.
    std::fs::remove_file(folder.path().join("tsconfig.json")).unwrap();
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("a"), "[]").unwrap();
    std::os::unix::fs::symlink(outside.path().join("a"), folder.path().join("tsconfig.json")).unwrap();
    assert_ends(&in_mount(folder.path(), "function d(v: any, c: object) {} @d class C {} 1"), &["returned"]);
}

fn in_mount(folder: &Path, code: &str) -> Outcome {
    let mounted = sandbox::snippet(TYPESCRIPT, code).mount(folder, "/work", Access::ReadOnly);
    sandbox::run(mounted.directory("/work"))
}
