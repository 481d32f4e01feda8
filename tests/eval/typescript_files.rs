//! TypeScript in several files: what is imported, by which names, and what a `tsconfig.json` and those that it extends say.

use std::fs;
use std::path::Path;
use std::time::Duration;

use dormouse::{Access, Outcome, Project};
use dormouse_tests::ending::{assert_ends, exception, told, value};
use dormouse_tests::lasting::{self, named, open, run, shown};
use dormouse_tests::{JAVASCRIPT, sandbox};
use serde_json::json;

use crate::typescript::TYPESCRIPT;

const SNIPPETS: &str = include_str!("typescript.txt");

#[test]
fn snippets_are_what_the_compiler_of_typescript_makes_of_them() {
    let lines = SNIPPETS.lines().filter(|line| !line.is_empty() && !line.starts_with("// "));
    for code in lines {
        assert_eq!(sandbox::value_of(TYPESCRIPT, code)["value"], json!(true), "{code}");
    }
}

/// Writes files, by their paths in a folder.
fn write(folder: &Path, files: &[(&str, &str)]) {
    for (name, text) in files {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

fn in_project(folder: &Path, language: &str, code: &str) -> Outcome {
    sandbox::run(sandbox::snippet(language, code).project(Project::new(folder)))
}

/// A program of several files, as people write them.
const FILES: [(&str, &str); 11] = [
    (
        "types.ts",
        "export interface User { id: number; name: string }\nexport type Id = number;\nexport enum Role { Admin = 'admin', Guest = 'guest' }\n",
    ),
    (
        "util.ts",
        "import { User, Role } from './types';\nexport function title(user: User, role: Role = Role.Guest): string {\n  return `${user.name} (${role})`;\n}\nexport let calls: number = 0;\nexport const count = (): number => ++calls;\n",
    ),
    (
        "service/index.ts",
        "import type { User } from '../types.ts';\nimport { title, count } from '../util.js';\nimport { Role, Id } from '../types.js';\nexport default class Service {\n  constructor(private readonly users: User[]) {}\n  show(id: Id): string {\n    count();\n    return title(this.users.find((user) => user.id === id)!, Role.Admin);\n  }\n}\nexport * from '../util';\n",
    ),
    (
        "older.cts",
        "import path = require('path');\nfunction base(at: string): string { return path.basename(at) }\nexport = base;\n",
    ),
    (
        "newer.mts",
        "export const here: string = import.meta.filename;\nexport const later: number = await Promise.resolve<number>(7);\n",
    ),
    (
        "one.ts",
        "import { two } from './two';\nexport const one = (n: number): string => n > 0 ? `1${two(n - 1)}` : '.';\n",
    ),
    (
        "two.ts",
        "import { one } from './one.js';\nexport const two = (n: number): string => n > 0 ? `2${one(n - 1)}` : '.';\n",
    ),
    (
        "fails.ts",
        "interface A {\n  a: number;\n}\nenum E { X }\n\nexport function fail(a: A): never {\n  throw new Error(`no ${E.X}`);\n}\n",
    ),
    ("broken.ts", "const a: number = 1;\nconst b: = 2;\n"),
    ("plain.js", "import { title } from './util.ts';\nexport const plain = title({ name: 'p' });\n"),
    ("data.json", "{\"a\": 5}"),
];

#[test]
fn files_of_typescript_are_imported_by_the_names_that_typescript_takes() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &FILES);
    for (language, code, expected) in [
        (TYPESCRIPT, "import { title } from './util.ts'; title({ id: 1, name: 'a' })", json!("a (guest)")),
        (TYPESCRIPT, "import { title } from './util'; title({ id: 1, name: 'a' })", json!("a (guest)")),
        (TYPESCRIPT, "import { title } from './util.js'; title({ id: 1, name: 'a' })", json!("a (guest)")),
        (
            TYPESCRIPT,
            "import Service, { calls } from './service'; import { User, Role } from './types'; const u: User = { id: 1, name: 'b' }; [new Service([u]).show(1), calls, Role.Guest].join()",
            json!("b (admin),1,guest"),
        ),
        // One file is one module, whatever name it has.
        (
            TYPESCRIPT,
            "import * as a from './util'; import * as b from './util.js'; import * as c from './service/../util.ts'; a === b && b === c",
            json!(true),
        ),
        (TYPESCRIPT, "import { one } from './one'; one(3)", json!("121.")),
        (TYPESCRIPT, "const { one } = await import('./one.ts'); one(2)", json!("12.")),
        (
            TYPESCRIPT,
            "const { title } = require('./util.ts'); title({ name: 'r' }) as string",
            json!("r (guest)"),
        ),
        (TYPESCRIPT, "require('./util').title({ name: 'r' }) as string", json!("r (guest)")),
        (TYPESCRIPT, "import base = require('./older.cts'); base('/x/y')", json!("y")),
        (TYPESCRIPT, "import base from './older.cjs'; base('/x/z')", json!("z")),
        (
            TYPESCRIPT,
            "import { here, later } from './newer.mjs'; here.split('/').pop() + later",
            json!("newer.mts7"),
        ),
        (TYPESCRIPT, "import data from './data.json'; data.a as number", json!(5)),
        // From JavaScript as well.
        (JAVASCRIPT, "import { plain } from './plain.js'; plain", json!("p (guest)")),
        (JAVASCRIPT, "require('./service').title({ name: 'j' })", json!("j (guest)")),
    ] {
        assert_eq!(value(&in_project(folder.path(), language, code))["value"], expected, "{code}");
    }
}

#[test]
fn errors_in_files_name_the_line_of_the_source() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &FILES);
    let raised = |code: &str| {
        let outcome = in_project(folder.path(), TYPESCRIPT, code);
        let raised = exception(&outcome);
        (raised.class.clone(), raised.message.clone(), raised.file.clone().unwrap_or_default(), raised.line)
    };
    let (class, message, file, line) = raised("import { fail } from './fails'; fail({ a: 1 })");
    assert_eq!((class.as_str(), message.as_str(), line), ("Error", "no 0", Some(7)));
    assert!(file.ends_with("fails.ts"), "{file}");
    for code in ["import './broken'", "await import('./broken.ts')", "require('./broken')"] {
        let (class, _, file, line) = raised(code);
        assert_eq!((class.as_str(), line), ("SyntaxError", Some(2)), "{code}");
        assert!(file.ends_with("broken.ts"), "{code}: {file}");
    }
    // It is the language's own exception.
    let caught = "let seen = ''; try { await import('./broken.ts') } catch (error: any) { seen = `${error instanceof SyntaxError}` } seen";
    assert_eq!(value(&in_project(folder.path(), TYPESCRIPT, caught))["value"], "true");
    let (_, message, ..) = raised("import './nowhere'");
    assert!(message.contains("nowhere"), "{message}");
}

#[test]
fn files_of_packages_are_not_compiled() {
    let folder = tempfile::tempdir().unwrap();
    write(
        folder.path(),
        &[
            (
                "node_modules/typed/package.json",
                r#"{"name": "typed", "version": "1.0.0", "main": "index.ts"}"#,
            ),
            ("node_modules/typed/index.ts", "export const a: number = 1;"),
            ("node_modules/half/package.json", r#"{"name": "half", "version": "1.0.0", "type": "module"}"#),
            ("node_modules/half/index.js", "import './inner';"),
            ("node_modules/half/inner.ts", "export const a = 1;"),
        ],
    );
    let outcome = in_project(folder.path(), TYPESCRIPT, "import 'typed'");
    let raised = exception(&outcome);
    assert_eq!(raised.code, Some("ERR_UNSUPPORTED_NODE_MODULES_TYPE_STRIPPING".into()), "{}", told(&outcome));
    assert_ends(&in_project(folder.path(), TYPESCRIPT, "import 'half'"), &["raised Error"]);
}

#[test]
fn configurations_are_extended_and_found_above() {
    let folder = tempfile::tempdir().unwrap();
    let kind = "let kind = ''; function d(...a: any[]) { kind = typeof a[1] } class C { @d m() {} } kind";
    let source =
        "function d(...a: any[]) { (globalThis as any).kind = typeof a[1] }\nexport class C { @d m() {} }\n";
    let older = r#"{"compilerOptions": {"experimentalDecorators": true}}"#;
    let newer = r#"{"compilerOptions": {"experimentalDecorators": false}}"#;
    let in_file = "import './src/deep/c'; (globalThis as any).kind";
    write(
        folder.path(),
        &[("src/deep/c.ts", source), ("base/older.json", older), ("base/newer.json", newer)],
    );
    write(folder.path(), &[("node_modules/@tsconfig/own/tsconfig.json", older)]);
    for (configuration, expected) in [
        (r#"{"extends": "./base/older.json"}"#, "string"),
        (r#"{"extends": "./base/older"}"#, "string"),
        (r#"{"extends": "@tsconfig/own/tsconfig.json"}"#, "string"),
        (r#"{"extends": "@tsconfig/own"}"#, "string"),
        // What is nearer counts more, and of a list what stands last.
        (r#"{"extends": "./base/older", "compilerOptions": {"experimentalDecorators": false}}"#, "object"),
        ("{ // a comment\n \"extends\": [\"./base/newer\", \"./base/older\",], }", "string"),
        (r#"{"extends": ["./base/older", "./base/newer"]}"#, "object"),
        // What is not there, and what extends itself.
        (r#"{"extends": "./none"}"#, "object"),
        (r#"{"extends": "./tsconfig.json", "compilerOptions": {"experimentalDecorators": true}}"#, "string"),
        (r#"{"extends": ["../../../../../etc/passwd", "/etc/passwd", "a/../../b"]}"#, "object"),
    ] {
        fs::write(folder.path().join("tsconfig.json"), configuration).unwrap();
        for code in [kind, in_file] {
            let outcome = in_project(folder.path(), TYPESCRIPT, code);
            assert_eq!(value(&outcome)["value"], expected, "{configuration}: {code}");
        }
    }
    // The nearest one counts.
    fs::write(folder.path().join("src/tsconfig.json"), older).unwrap();
    assert_eq!(value(&in_project(folder.path(), TYPESCRIPT, in_file))["value"], "string");
}

#[test]
fn fields_are_assigned_where_the_configuration_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let code = "class A { x = 1; y: string; #p = this.x + 1; static s = 5; constructor(private a = 7) { this.y ??= 'y' } z = this.a + this.#p }
        class B extends A { declare w: string; x: number; set v(n: number) { this.x = n } t = this.x }
        class D extends B { v = 9; constructor() { super() } }
        JSON.stringify([new B(), Object.keys(new D()), A.s])";
    let ours = |configuration: &str| {
        fs::write(folder.path().join("tsconfig.json"), configuration).unwrap();
        value(&in_project(folder.path(), TYPESCRIPT, code))["value"].clone()
    };
    let assigned = json!(r#"[{"a":7,"x":1,"z":9,"y":"y","t":1},["a","x","z","y","t"],5]"#);
    assert_eq!(ours(r#"{"compilerOptions": {"target": "ES2020"}}"#), assigned);
    assert_eq!(
        ours(r#"{"compilerOptions": {"useDefineForClassFields": false, "target": "ESNext"}}"#),
        assigned
    );
    let defined = ours(r#"{"compilerOptions": {"useDefineForClassFields": true, "target": "ES5"}}"#);
    assert_ne!(defined, assigned);
    assert_eq!(ours("{}"), defined);
    assert_eq!(ours("{"), defined, "one that is none says nothing of fields");
}

#[test]
fn a_sandbox_imports_its_own_files_and_remembers_what_its_snippets_were() {
    let state = tempfile::tempdir().unwrap();
    let dormouse = open(state.path());
    let kept = named(&dormouse, "files");
    sandbox::wait(
        kept.write("/workspace/lib/math.ts", "export const twice = (n: number): number => n * 2;\n"),
    )
    .unwrap();
    assert_eq!(shown(&kept, TYPESCRIPT, "import { twice } from './lib/math'; twice(4)"), 8);
    assert_eq!(shown(&kept, TYPESCRIPT, "twice(5)"), 10);
    // An import that nothing of a snippet uses is there for the next.
    assert_eq!(shown(&kept, TYPESCRIPT, "import { join } from 'path'; 1"), 1);
    assert_eq!(shown(&kept, TYPESCRIPT, "join('a', 'b') as string"), "a/b");
    // An exception in a function of an earlier snippet shows the line as it was written.
    assert_eq!(
        shown(
            &kept,
            TYPESCRIPT,
            "type T = number;\nfunction bad(a: T): T {\n  return missing(a as any);\n}\n1"
        ),
        1
    );
    for language in [TYPESCRIPT, JAVASCRIPT] {
        let outcome = run(&kept, language, "\n\n\n\nbad(1)");
        let raised = exception(&outcome);
        assert_eq!(
            (raised.line, raised.excerpt.as_deref()),
            (Some(3), Some("  return missing(a as any);")),
            "{language}"
        );
    }
    lasting::close(dormouse);
}

/// Files are the sandbox's, so they may be anything.
#[test]
fn lng_63_hostile_files_of_typescript_end_with_a_clear_error_within_the_limits() {
    let folder = tempfile::tempdir().unwrap();
    let large = format!("export const a: number = 1;\n{}", "// x\n".repeat(1 << 18));
    let deep = format!("export const a = {}1{};", "(".repeat(100_000), ")".repeat(100_000));
    write(
        folder.path(),
        &[
            ("large.ts", &large),
            ("deep.ts", &deep),
            ("bytes.ts", ""),
            (
                "self.ts",
                "import * as me from './self'; export const a: number = typeof me === 'object' ? 1 : 0;",
            ),
        ],
    );
    fs::write(folder.path().join("bytes.ts"), [0xff, 0xfe, 0x00]).unwrap();
    for (code, allowed) in [
        ("import './large'", &["raised Error"][..]),
        ("import './deep'", &["raised Error"]),
        ("import './bytes'", &["raised Error"]),
        ("import { a } from './self'; a", &["returned"]),
        // The compiler's failure is one of the language's exceptions.
        (
            "let n = 0; for (let i = 0; i < 3; i++) try { await import(`./deep.ts?${i}`) } catch { n++ } n",
            &["returned"],
        ),
    ] {
        assert_ends(&in_project(folder.path(), TYPESCRIPT, code), allowed);
    }
    // As many as one likes, until the run's time or number of files is over.
    let many = "const fs = require('fs'); for (let i = 0; ; i++) { fs.writeFileSync('/tmp/a.ts', `export const a: number = ${i};`); await import(`/tmp/a.ts?${i}`) }";
    let mut request = sandbox::request(JAVASCRIPT, many);
    request.context.limits.wall = Duration::from_secs(2);
    assert_ends(&sandbox::run_request(request), &["limit_time", "raised Error"]);
    // Fuel is the run's as well, and the same for what was compiled before.
    write(folder.path(), &[("fuel.ts", "export enum A { B = 3 }")]);
    let used = |fuel: u64| {
        let mounted = sandbox::snippet(JAVASCRIPT, "(await import('/files/fuel.ts')).A.B").mount(
            folder.path(),
            "/files",
            Access::ReadOnly,
        );
        sandbox::run(mounted.directory("/files").fuel(fuel))
    };
    let (first, second) = (used(100_000_000), used(100_000_000));
    assert_eq!(value(&first)["value"], 3);
    let fuel = first.usage.fuel.unwrap();
    assert!(fuel > 100_000 && second.usage.fuel == Some(fuel), "{:?} {:?}", first.usage, second.usage);
    assert_ends(&used(fuel / 2), &["limit_fuel"]);
}
