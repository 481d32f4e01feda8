//! A snippet inside a project: its packages, its bootstrap file and `container()` (S1-05, S1-20, S1-22, S1-28).

mod changed;
mod unusual;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::Duration;

use dormouse::{Access, ErrorCode, Outcome, Policy, Project};
use dormouse_tests::ending::{assert_ends, ending, exception, value};
use dormouse_tests::{JAVASCRIPT, PHP, PYTHON, sandbox};
use serde_json::json;
use tempfile::TempDir;

/// A folder with these files.
fn project(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        write(folder.path(), name, text);
    }
    folder
}

fn write(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn run_in(folder: &Path, language: &str, code: &str) -> Outcome {
    sandbox::run(sandbox::snippet(language, code).project(Project::new(folder)))
}

fn value_in(folder: &Path, language: &str, code: &str) -> serde_json::Value {
    value(&run_in(folder, language, code))["value"].clone()
}

const PYTHON_SERVICES: &str = "import os, app.mail\n\
    made = os.urandom(8).hex()\n\
    print('booting')\n\
    container = {'mailer': app.mail.Mailer('smtp'), 'made': made}\n";
const PYTHON_MAIL: &str = "class Mailer:\n    def __init__(self, way): self.way = way\n    def send(self, to): return f'{self.way}:{to}'\n";
const JAVASCRIPT_SERVICES: &str = "import { Mailer } from '../app/mail.mjs';\n\
    console.log('booting');\n\
    const made = crypto.randomUUID();\n\
    export const container = async () => new Map([['mailer', new Mailer('smtp')], ['made', made]]);\n";
const JAVASCRIPT_MAIL: &str =
    "export class Mailer { constructor(way) { this.way = way } send(to) { return `${this.way}:${to}` } }\n";

const PHP_SERVICES: &str = "<?php\necho 'booting', PHP_EOL;\n\
    return ['mailer' => new App\\Mailer('smtp'), 'made' => bin2hex(random_bytes(8))];\n";
const PHP_MAIL: &str = "<?php\nnamespace App;\nclass Mailer {\n    function __construct(public string $way) {}\n    function send($to) { return \"{$this->way}:$to\"; }\n}\n";
const PHP_AUTOLOAD: &str = "<?php\nspl_autoload_register(function ($class) {\n    \
    $file = __DIR__ . '/../app/' . substr($class, 4) . '.php';\n    if (is_file($file)) require $file;\n});\n";

fn python() -> TempDir {
    project(&[
        (".dormouse/bootstrap.py", PYTHON_SERVICES),
        ("app/__init__.py", ""),
        ("app/mail.py", PYTHON_MAIL),
        ("docs/readme.txt", ""),
    ])
}

fn javascript() -> TempDir {
    project(&[
        (".dormouse/bootstrap.mjs", JAVASCRIPT_SERVICES),
        ("app/mail.mjs", JAVASCRIPT_MAIL),
        ("docs/readme.txt", ""),
    ])
}

fn php() -> TempDir {
    project(&[
        (".dormouse/bootstrap.php", PHP_SERVICES),
        ("vendor/autoload.php", PHP_AUTOLOAD),
        ("app/Mailer.php", PHP_MAIL),
        ("docs/readme.txt", ""),
    ])
}

#[test]
fn s1_28_the_container_gives_a_service_by_its_name() {
    for (language, folder, code) in [
        (PYTHON, python(), "container('mailer').send('ann')"),
        (JAVASCRIPT, javascript(), "container('mailer').send('ann')"),
        (PHP, php(), "container('mailer')->send('ann')"),
    ] {
        // Opened anew, and from what the first run saved.
        for _ in 0..2 {
            let outcome = run_in(folder.path(), language, code);
            assert_eq!(value(&outcome)["value"], "smtp:ann", "{language}");
            assert_eq!(outcome.stdout.text, "", "what the bootstrap file prints is not the snippet's output");
        }
    }
}

#[test]
fn a_project_is_opened_once_until_a_file_changes_that_it_read() {
    for (language, folder, read) in [
        (PYTHON, python(), "app/mail.py"),
        (JAVASCRIPT, javascript(), "app/mail.mjs"),
        (PHP, php(), "app/Mailer.php"),
    ] {
        let made = |code: &str| value_in(folder.path(), language, code);
        let first = made("container('made')");
        assert_eq!(made("container('made')"), first, "{language}: the saved state is used");
        write(folder.path(), "docs/notes.txt", "nobody reads this");
        assert_eq!(made("container('made')"), first, "{language}: a file that was not read changes nothing");
        let text = fs::read_to_string(folder.path().join(read)).unwrap();
        write(
            folder.path(),
            read,
            &text
                .replace("${this.way}", "${this.way}!")
                .replace("{self.way}", "{self.way}!")
                .replace("{$this->way}", "{$this->way}!"),
        );
        let dot = if language == PHP { "->" } else { "." };
        let send = format!("container('mailer'){dot}send('bob')");
        assert_eq!(made(&send), "smtp!:bob", "{language}: the change is seen");
        let second = made("container('made')");
        assert_ne!(second, first, "{language}");
        fs::remove_file(folder.path().join(read)).unwrap();
        assert!(ending(&run_in(folder.path(), language, "1")).starts_with("raised"), "{language}");
    }
}

#[test]
fn a_file_that_was_missing_is_seen_when_it_comes() {
    for (language, file, text) in [
        (PYTHON, ".dormouse/bootstrap.py", "container = {'a': 1}"),
        (JAVASCRIPT, ".dormouse/bootstrap.mjs", "export const container = { a: 1 }"),
        (PHP, "config/container.php", "<?php return fn () => ['a' => 1];"),
    ] {
        let folder = project(&[("readme.txt", "")]);
        for _ in 0..2 {
            let without = run_in(folder.path(), language, "container('a')");
            assert!(exception(&without).message.contains("no container"), "{language}");
        }
        write(folder.path(), file, text);
        assert_eq!(value_in(folder.path(), language, "container('a')"), 1, "{language}");
    }
}

#[test]
fn s1_04_nothing_of_a_snippet_is_left_in_the_project_that_is_kept() {
    for (language, folder, spoil, look) in [
        (
            PYTHON,
            python(),
            "container()['mailer'].way = 'spoilt'; x = 1",
            "[container('mailer').way, 'x' in globals()]",
        ),
        (
            JAVASCRIPT,
            javascript(),
            "container('mailer').way = 'spoilt'; var x = 1",
            "[container('mailer').way, 'x' in globalThis]",
        ),
        (
            PHP,
            php(),
            "container('mailer')->way = 'spoilt'; $x = 1; define('X', 1);",
            "[container('mailer')->way, isset($x) || defined('X')]",
        ),
    ] {
        for _ in 0..2 {
            assert_ends(&run_in(folder.path(), language, spoil), &["returned"]);
            let found = value_in(folder.path(), language, look);
            assert_eq!(
                (&found[0]["value"], &found[1]["value"]),
                (&json!("smtp"), &json!(false)),
                "{language}"
            );
        }
    }
}

#[test]
fn the_run_has_its_own_randomness_environment_and_directory() {
    for (language, folder, random, about) in [
        (
            PYTHON,
            python(),
            "import random; random.random()",
            "import os; [os.environ.get('WHO'), os.getcwd()]",
        ),
        (JAVASCRIPT, javascript(), "Math.random()", "[process.env.WHO ?? null, process.cwd()]"),
        (PHP, php(), "mt_rand()", "[getenv('WHO') ?: null, getcwd()]"),
    ] {
        run_in(folder.path(), language, "1");
        let numbers: Vec<_> = (0..2).map(|_| value_in(folder.path(), language, random)).collect();
        assert_ne!(numbers[0], numbers[1], "{language}: two runs from one saved state");
        let seeded = || {
            let snippet = sandbox::snippet(language, random).project(Project::new(folder.path())).seed(7);
            value(&sandbox::run(snippet))["value"].clone()
        };
        assert_eq!(seeded(), seeded(), "{language}");
        for (who, wanted) in [(Some("ann"), json!("ann")), (Some("bob"), json!("bob")), (None, json!(null))] {
            let mut snippet = sandbox::snippet(language, about).project(Project::new(folder.path()));
            if let Some(who) = who {
                snippet = snippet.env("WHO", who);
            }
            let found = value(&sandbox::run(snippet))["value"].clone();
            assert_eq!(found[0].get("value").unwrap_or(&json!(null)), &wanted, "{language}");
            assert_eq!(found[1]["value"], "/project", "{language}");
        }
    }
}

#[test]
fn packages_of_the_project_are_imported() {
    let folder = project(&[
        ("src/inner.py", "x = 1"),
        ("top.py", "x = 2"),
        (".venv/lib/python3.12/site-packages/third/__init__.py", "from third.part import x"),
        (".venv/lib/python3.12/site-packages/third/part.py", "x = 3"),
    ]);
    let code = "import inner, top, third; [inner.x, top.x, third.x]";
    let found = value_in(folder.path(), PYTHON, code);
    assert_eq!(found.as_array().unwrap().iter().map(|x| x["value"].clone()).collect::<Vec<_>>(), [1, 2, 3]);

    let folder = project(&[
        (
            "lib/own.js",
            "const { old } = require('old'); exports.sum = (n) => n + old + require('./data.json').n;",
        ),
        ("lib/data.json", "{\"n\": 5}"),
        ("lib/cycle-a.js", "exports.a = 1; exports.b = require('./cycle-b').b;"),
        ("lib/cycle-b.js", "exports.b = require('./cycle-a').a + 1;"),
        ("node_modules/old/package.json", r#"{"name": "old", "main": "dist/main"}"#),
        ("node_modules/old/dist/main.js", "module.exports = { old: 10, file: __filename };"),
        (
            "node_modules/@new/er/package.json",
            r##"{"name": "@new/er", "type": "module", "imports": {"#deep": "./deep.js"},
                "exports": {".": {"require": "./main.cjs", "default": "./main.js"}, "./parts/*": "./parts/*.js", "./parts/secret": null}}"##,
        ),
        (
            "node_modules/@new/er/main.js",
            "import deep from '#deep'; export default deep; export const kind = 'module';",
        ),
        ("node_modules/@new/er/main.cjs", "exports.kind = 'common';"),
        ("node_modules/@new/er/deep.js", "export default 'deep';"),
        ("node_modules/@new/er/parts/one.js", "export const one = 1;"),
        ("node_modules/@new/er/parts/secret.js", "export const secret = 1;"),
        ("node_modules/bare/index.js", "module.exports = () => 'called';"),
    ]);
    for (code, wanted) in [
        ("require('./lib/own').sum(1)", json!(16)),
        ("import own from './lib/own.js'; export default own.sum(2)", json!(17)),
        ("import { sum } from './lib/own'; export default sum(2)", json!(17)),
        ("import { old } from 'old'; export default old", json!(10)),
        ("require('old').file", json!("/project/node_modules/old/dist/main.js")),
        ("import deep, { kind } from '@new/er'; export default deep + kind", json!("deepmodule")),
        ("require('@new/er').kind", json!("common")),
        ("(await import('@new/er/parts/one')).one", json!(1)),
        ("require('./lib/cycle-a').b", json!(2)),
        ("require('./lib/own') === require('./lib/own.js')", json!(true)),
        ("import f from 'bare'; export default f()", json!("called")),
        (
            "const { createRequire } = require('module'); createRequire('/project/lib/x.js')('./data').n",
            json!(5),
        ),
        ("require.resolve('bare')", json!("/project/node_modules/bare/index.js")),
    ] {
        assert_eq!(value_in(folder.path(), JAVASCRIPT, code), wanted, "{code}");
    }
    for (code, error) in [
        ("require('none')", "MODULE_NOT_FOUND"),
        ("import 'none'", "ERR_MODULE_NOT_FOUND"),
        ("require('@new/er/other')", "ERR_PACKAGE_PATH_NOT_EXPORTED"),
        ("import '@new/er/parts/secret'", "ERR_PACKAGE_PATH_NOT_EXPORTED"),
        ("require('../etc/passwd')", "MODULE_NOT_FOUND"),
    ] {
        let outcome = run_in(folder.path(), JAVASCRIPT, code);
        assert_eq!(serde_json::to_value(exception(&outcome)).unwrap()["code"], error, "{code}");
    }
}

#[test]
fn a_bootstrap_file_that_fails_is_the_outcome_and_the_next_run_works() {
    type Case = (&'static str, &'static str, &'static [&'static str]);
    let cases: [(&str, &str, &[Case]); 3] = [
        (
            PYTHON,
            ".dormouse/bootstrap.py",
            &[
                ("print('before')\nraise OSError('no database')", "no database", &["raised OSError"]),
                ("import missing_package", "missing_package", &["raised ModuleNotFoundError"]),
                ("x = (", "", &["raised SyntaxError"]),
                ("x = 1", "must define `container`", &["raised TypeError"]),
                ("import sys; sys.exit(3)", "status 3", &["project_failed"]),
                ("while True: pass", "while the project was opened", &["limit_time"]),
                ("a = bytearray(1 << 30)", "", &["raised MemoryError", "limit_memory"]),
            ],
        ),
        (
            JAVASCRIPT,
            ".dormouse/bootstrap.mjs",
            &[
                (
                    "console.log('before'); throw new RangeError('no database')",
                    "no database",
                    &["raised RangeError"],
                ),
                ("import 'missing-package'", "missing-package", &["raised Error"]),
                ("let x = (", "", &["raised SyntaxError"]),
                ("export const other = 1", "must export container", &["raised TypeError"]),
                ("process.exit(3)", "status 3", &["project_failed"]),
                ("for (;;);", "while the project was opened", &["limit_time"]),
            ],
        ),
        (
            PHP,
            ".dormouse/bootstrap.php",
            &[
                (
                    "<?php echo 'before', PHP_EOL; throw new RuntimeException('no database');",
                    "no database",
                    &["raised RuntimeException"],
                ),
                ("<?php new Missing();", "Missing", &["raised Error"]),
                ("<?php $x = (", "", &["raised ParseError"]),
                ("<?php $x = 1;", "must return the container", &["raised TypeError"]),
                ("<?php exit(3);", "status 3", &["project_failed"]),
                ("<?php for (;;);", "while the project was opened", &["limit_time"]),
            ],
        ),
    ];
    for (language, file, broken) in cases {
        for (text, word, ends) in broken {
            let folder = project(&[(file, *text)]);
            let snippet = sandbox::snippet(language, "1")
                .project(Project::new(folder.path()))
                .timeout(Duration::from_millis(500));
            let outcome = sandbox::run(snippet);
            assert_ends(&outcome, ends);
            assert!(format!("{outcome:?}").contains(word), "{language} {text}: {outcome:?}");
            if text.contains("before") {
                assert_eq!(outcome.stdout.text, "before\n", "what it printed is in the answer");
                let raised = exception(&outcome);
                assert_eq!(raised.file.as_deref(), Some(file), "{language}: relative to the project");
                let frames = raised.stack_trace.join("\n");
                assert!(
                    !frames.contains("<project>") && !frames.contains("/project"),
                    "{language}: {frames}"
                );
            }
            let mended = match language {
                PYTHON => "container = {'a': 1}",
                PHP => "<?php return ['a' => 1];",
                _ => "export const container = { a: 1 }",
            };
            write(folder.path(), file, mended);
            assert_eq!(value_in(folder.path(), language, "container('a')"), 1, "{language}: mended");
        }
    }
}

#[test]
fn a_bootstrap_file_can_be_named_and_lies_in_the_project() {
    for (language, file, text) in [
        (PYTHON, "config/services.py", "def container(): return {'a': 2}"),
        (JAVASCRIPT, "config/services.cjs", "module.exports = { container: () => ({ a: 2 }) }"),
        (PHP, "config/services.php", "<?php return new ArrayObject(['a' => 2]);"),
    ] {
        let folder = project(&[(file, text)]);
        let named = |name: &str| Project { bootstrap: Some(name.into()), ..Project::new(folder.path()) };
        let run = |project: Project| {
            sandbox::wait(sandbox::snippet(language, "container('a')").project(project).run())
        };
        assert_eq!(value(&run(named(file)).unwrap())["value"], 2, "{language}");
        assert_eq!(run(named("../outside.py")).unwrap_err().code(), ErrorCode::ArgsInvalid);
        let missing = run(named("config/none.py")).unwrap();
        assert!(ending(&missing).starts_with("raised"), "{language}");
    }
}

#[test]
fn s1_22_a_project_is_read_only_unless_the_operator_and_the_run_allow_writes() {
    for (language, folder, write) in [
        (PYTHON, python(), "open('/project/out.txt', 'w').write('x')"),
        (JAVASCRIPT, javascript(), "require('fs').writeFileSync('/project/out.txt', 'x')"),
        (PHP, php(), "file_put_contents('/project/out.txt', 'x') ?: throw new Exception('refused')"),
    ] {
        let path = folder.path().join("out.txt");
        for _ in 0..2 {
            // It has the run's own file, and the project has none.
            assert_ends(&run_in(folder.path(), language, write), &["returned"]);
            assert!(!path.exists(), "{language}");
        }
        let writable = Project { access: Access::ReadWrite, ..Project::new(folder.path()) };
        let refused =
            sandbox::with_policy(Policy::default()).snippet(language, write).project(writable.clone());
        assert_eq!(sandbox::wait(refused.run()).unwrap_err().code(), ErrorCode::WriteDenied);
        assert_ends(&sandbox::run(sandbox::snippet(language, write).project(writable)), &["returned"]);
        assert_eq!(fs::read_to_string(&path).unwrap(), "x", "{language}");
    }
}

#[test]
fn links_out_of_the_project_lead_nowhere() {
    let outside = project(&[
        ("secret.py", "container = {'secret': 1}"),
        ("secret.mjs", "export const container = { secret: 1 }"),
        ("secret.php", "<?php return ['secret' => 1];"),
    ]);
    for (language, name) in [(PYTHON, "bootstrap.py"), (JAVASCRIPT, "bootstrap.mjs"), (PHP, "bootstrap.php")]
    {
        let folder = project(&[(".dormouse/readme", "")]);
        let ending_of = name.rsplit('.').next().unwrap();
        symlink(
            outside.path().join(format!("secret.{ending_of}")),
            folder.path().join(".dormouse").join(name),
        )
        .unwrap();
        let outcome = run_in(folder.path(), language, "container('secret')");
        assert!(ending(&outcome).starts_with("raised"), "{language}: {outcome:?}");
    }
}
