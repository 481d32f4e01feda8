//! A run's own changes to a project that it may only read (S1-20): they are there for the run, and nowhere else.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use dormouse::{Access, Outcome, Project};
use dormouse_tests::ending::{assert_ends, ending, exception, told, value};
use dormouse_tests::{JAVASCRIPT, PHP, PYTHON, sandbox};
use serde_json::{Value as Json, json};

use super::{project, run_in, value_in, write};

/// What a folder of the host holds, times included.
fn held(folder: &Path) -> BTreeMap<String, (Vec<u8>, Option<std::time::SystemTime>)> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let (path, name) = (entry.path(), entry.file_name().into_string().unwrap());
        let modified = fs::metadata(&path).unwrap().modified().ok();
        if path.is_dir() {
            all.extend(held(&path).into_iter().map(|(below, it)| (format!("{name}/{below}"), it)));
            all.insert(name, (Vec::new(), modified));
        } else {
            all.insert(name, (fs::read(&path).unwrap(), modified));
        }
    }
    all
}

fn files() -> tempfile::TempDir {
    project(&[
        ("data/in.csv", "a,b\n1,2\n"),
        ("data/old/x.txt", "x"),
        ("notes.txt", "first\n"),
        ("gone.txt", "gone"),
    ])
}

/// The plain values of a list.
fn plain(value: &Json) -> Json {
    match value.as_array() {
        Some(items) => items.iter().map(|item| plain(&item["value"])).collect(),
        None => value.clone(),
    }
}

#[test]
fn s1_20_a_run_reads_and_changes_the_project_by_relative_paths() {
    for (language, code) in [
        (
            PYTHON,
            "import os, shutil
rows = open('data/in.csv').read()
open('out.csv', 'w').write(rows.upper())
open('notes.txt', 'a').write('second\\n')
os.remove('gone.txt'); os.rename('data/old', 'data/new'); os.makedirs('made/deep')
open('made/deep/file', 'w').write('deep')
shutil.copy('data/in.csv', 'data/copy.csv')
[sorted(e.name + '/' * e.is_dir() for e in os.scandir('.')), sorted(os.listdir('data')), open('out.csv').read(),
 open('notes.txt').read(), open('data/new/x.txt').read(), os.path.exists('gone.txt'), os.path.exists('data/old'),
 sorted(str(p) for p in __import__('pathlib').Path('.').glob('**/*.csv')), os.getcwd()]",
        ),
        (
            JAVASCRIPT,
            "const fs = require('fs');
const rows = fs.readFileSync('data/in.csv', 'utf8');
fs.writeFileSync('out.csv', rows.toUpperCase());
fs.appendFileSync('notes.txt', 'second\\n');
fs.unlinkSync('gone.txt'); fs.renameSync('data/old', 'data/new'); fs.mkdirSync('made/deep', { recursive: true });
fs.writeFileSync('made/deep/file', 'deep');
fs.copyFileSync('data/in.csv', 'data/copy.csv');
[fs.readdirSync('.', { withFileTypes: true }).map(e => e.name + (e.isDirectory() ? '/' : '')).sort(), fs.readdirSync('data').sort(),
 fs.readFileSync('out.csv', 'utf8'), fs.readFileSync('notes.txt', 'utf8'), fs.readFileSync('data/new/x.txt', 'utf8'),
 fs.existsSync('gone.txt'), fs.existsSync('data/old'), ['data/copy.csv', 'data/in.csv', 'out.csv'].filter(p => fs.existsSync(p)), process.cwd()]",
        ),
        (
            PHP,
            "$rows = file_get_contents('data/in.csv');
file_put_contents('out.csv', strtoupper($rows));
file_put_contents('notes.txt', \"second\\n\", FILE_APPEND);
unlink('gone.txt'); rename('data/old', 'data/new'); mkdir('made/deep', 0777, true);
file_put_contents('made/deep/file', 'deep');
copy('data/in.csv', 'data/copy.csv');
$list = fn($f) => array_values(array_diff(scandir($f), ['.', '..']));
return [array_map(fn($n) => $n . (is_dir($n) ? '/' : ''), $list('.')), $list('data'), file_get_contents('out.csv'),
 file_get_contents('notes.txt'), file_get_contents('data/new/x.txt'), file_exists('gone.txt'), file_exists('data/old'),
 [...glob('data/*.csv'), ...glob('*.csv')], getcwd()];",
        ),
    ] {
        let folder = files();
        let before = held(folder.path());
        // The second run begins as the first did.
        for _ in 0..2 {
            let outcome = run_in(folder.path(), language, code);
            assert_eq!(ending(&outcome), "returned", "{language}: {}", told(&outcome));
            let seen = plain(&value(&outcome)["value"]);
            let wanted = json!([
                ["data/", "made/", "notes.txt", "out.csv"],
                ["copy.csv", "in.csv", "new"],
                "A,B\n1,2\n",
                "first\nsecond\n",
                "x",
                false,
                false,
                ["data/copy.csv", "data/in.csv", "out.csv"],
                "/project"
            ]);
            assert_eq!(seen, wanted, "{language}");
            assert_eq!(held(folder.path()), before, "{language}: the host's folder");
        }
    }
}

#[test]
fn s1_20_what_a_run_writes_into_a_project_is_bounded_and_said_to_be() {
    for (language, code) in [
        (PYTHON, "open('big', 'wb').write(b'x' * (1 << 20)); open('bigger', 'wb').write(b'x' * (8 << 20))"),
        (
            JAVASCRIPT,
            "const fs = require('fs'); fs.writeFileSync('big', 'x'.repeat(1 << 20)); fs.writeFileSync('bigger', 'x'.repeat(8 << 20))",
        ),
        (
            PHP,
            "file_put_contents('big', str_repeat('x', 1 << 20)); if (@file_put_contents('bigger', str_repeat('x', 8 << 20)) !== 8 << 20) throw new Exception(error_get_last()['message']);",
        ),
    ] {
        let folder = files();
        let before = held(folder.path());
        let mut request = sandbox::request(language, code);
        request.context.limits.disk = 4 << 20;
        request.context.grants.project = Some(Project::new(folder.path()));
        let outcome = sandbox::run_request(request);
        let raised = exception(&outcome);
        let words = raised.message.to_lowercase();
        assert!(
            words.contains("space") || words.contains("quota") || words.contains("possibly out of"),
            "{language}: {raised:?}"
        );
        assert_eq!(held(folder.path()), before, "{language}");
    }
}

#[test]
fn s1_20_a_module_that_a_run_writes_can_be_imported_and_one_that_it_changes_is_the_changed_one() {
    let folder = project(&[
        ("app/__init__.py", ""),
        ("app/price.py", "VAT = 19\n"),
        ("price.cjs", "exports.vat = 19;"),
        ("price.php", "<?php return 19;"),
    ]);
    for (language, code) in [
        (
            PYTHON,
            "import importlib, app.price
first = app.price.VAT
open('app/price.py', 'w').write('VAT = 7\\nCHANGED = True\\n'); open('fresh.py', 'w').write('x = 1\\n')
importlib.invalidate_caches(); importlib.reload(app.price)
import fresh
[first, app.price.VAT, fresh.x]",
        ),
        (
            JAVASCRIPT,
            "const fs = require('fs'); const first = require('./price.cjs').vat;
fs.writeFileSync('other.cjs', fs.readFileSync('price.cjs', 'utf8').replace('19', '7')); fs.writeFileSync('fresh.cjs', 'module.exports = 1');
[first, require('./other.cjs').vat, require('./fresh.cjs')]",
        ),
        (
            PHP,
            "$first = require 'price.php'; file_put_contents('price.php', '<?php return 7;'); file_put_contents('fresh.php', '<?php return 1;');
return [$first, require 'price.php', require __DIR__ . '/fresh.php'];",
        ),
    ] {
        let code = code.replace("__DIR__", "getcwd()");
        assert_eq!(plain(&value_in(folder.path(), language, &code)), json!([19, 7, 1]), "{language}");
    }
}

#[test]
fn s1_20_a_database_is_made_in_a_project_and_gone_with_the_run() {
    let folder = files();
    for (language, code) in [
        (
            PYTHON,
            "import sqlite3, os; before = os.path.exists('new.db'); db = sqlite3.connect('new.db'); db.execute('CREATE TABLE t (n)'); db.execute('INSERT INTO t VALUES (7)'); db.commit(); [before, db.execute('SELECT n FROM t').fetchone()[0]]",
        ),
        (
            PHP,
            "$before = file_exists('new.db'); $db = new SQLite3('new.db'); $db->exec('CREATE TABLE t (n); INSERT INTO t VALUES (7)'); return [$before, $db->querySingle('SELECT n FROM t')];",
        ),
    ] {
        for _ in 0..2 {
            assert_eq!(plain(&value_in(folder.path(), language, code)), json!([false, 7]), "{language}");
        }
        assert!(!folder.path().join("new.db").exists());
    }
}

#[test]
fn what_a_bootstrap_file_changes_in_a_project_is_there_in_every_run_and_not_on_the_host() {
    for (language, file, text, code) in [
        (
            PYTHON,
            ".dormouse/bootstrap.py",
            "import os, time\nos.makedirs('var/cache')\nopen('var/cache/at', 'w').write(str(time.time_ns()))\nos.remove('gone.txt')\ncontainer = {}",
            "import os\nat = open('var/cache/at').read(); open('var/cache/at', 'w').write('x')\n[at, os.path.exists('gone.txt')]",
        ),
        (
            PHP,
            ".dormouse/bootstrap.php",
            "<?php mkdir('var/cache', 0777, true); file_put_contents('var/cache/at', microtime() . mt_rand()); unlink('gone.txt'); return [];",
            "$at = file_get_contents('var/cache/at'); file_put_contents('var/cache/at', 'x'); return [$at, file_exists('gone.txt')];",
        ),
    ] {
        let folder = files();
        write(folder.path(), file, text);
        let before = held(folder.path());
        let first = plain(&value_in(folder.path(), language, code));
        assert_eq!(first[1], false, "{language}: {first}");
        for _ in 0..2 {
            assert_eq!(plain(&value_in(folder.path(), language, code)), first, "{language}");
        }
        assert_eq!(held(folder.path()), before, "{language}");
    }
}

fn strict(folder: &Path, code: &str) -> Outcome {
    let snippet = sandbox::snippet(PHP, code).allow_eval(false).project(Project::new(folder));
    sandbox::run(snippet)
}

/// Where code from text is not allowed, what a run has written into a project is text.
#[test]
fn s1_24_a_php_file_that_a_run_writes_into_a_project_lends_no_rights() {
    let folder = project(&[
        ("more.php", "<?php return 8;"),
        (
            "vendor/autoload.php",
            "<?php spl_autoload_register(function ($class) { $file = '/project/src/' . $class . '.php'; if (is_file($file)) require $file; });",
        ),
        ("src/Kept.php", "<?php class Kept { function run() { return eval('return 9;'); } }"),
    ]);
    assert_eq!(value(&strict(folder.path(), "require 'more.php'"))["value"], 8);
    assert_eq!(value(&strict(folder.path(), "(new Kept)->run()"))["value"], 9);
    for code in [
        "file_put_contents('x.php', '<?php return 1;'); require 'x.php';",
        "file_put_contents('more.php', '<?php return 1;'); require 'more.php';",
        "file_put_contents('src/Evil.php', '<?php class Evil { function run() { return eval(\"return 1;\"); } }'); (new Evil)->run();",
        "file_put_contents('src/Evil.php', '<?php class Evil { function run() { return eval(\"return 1;\"); } }'); $e = new Evil; unlink('src/Evil.php'); $e->run();",
    ] {
        let outcome = strict(folder.path(), code);
        assert!(exception(&outcome).message.contains("not allowed here"), "{code}: {}", told(&outcome));
    }
}

#[test]
fn a_project_that_can_be_written_has_no_changes_of_the_runs_own() {
    let folder = files();
    let code = "open('out.csv', 'w').write('x'); import os; os.remove('gone.txt')";
    let writable = Project { access: Access::ReadWrite, ..Project::new(folder.path()) };
    assert_ends(&sandbox::run(sandbox::snippet(PYTHON, code).project(writable)), &["returned"]);
    assert!(folder.path().join("out.csv").exists() && !folder.path().join("gone.txt").exists());
}

#[test]
fn the_project_is_listed_in_the_root() {
    let folder = files();
    for (language, code) in [
        (PYTHON, "import os; 'project' in os.listdir('/')"),
        (JAVASCRIPT, "require('fs').readdirSync('/').includes('project')"),
        (PHP, "return in_array('project', scandir('/'));"),
    ] {
        for access in [Access::ReadOnly, Access::ReadWrite] {
            let snippet = sandbox::snippet(language, code);
            let outcome = sandbox::run(snippet.project(Project { access, ..Project::new(folder.path()) }));
            assert_eq!(value(&outcome)["value"], true, "{language}");
        }
    }
}
