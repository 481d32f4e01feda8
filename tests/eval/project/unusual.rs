//! Projects of other shapes: frameworks, files left behind, broken autoloaders, very many files, databases.

use std::fs;
use std::time::Duration;

use dormouse::{Access, Project};
use dormouse_tests::ending::{assert_ends, ending, value};
use dormouse_tests::{JAVASCRIPT, PHP, PYTHON, sandbox};

use super::{project, value_in, write};

/// Frameworks whose bootstrap is one line: classes of their names stand for them here, the real ones are in the suite `packages`.
#[test]
fn s1_05_a_framework_is_booted_as_its_own_entry_points_do() {
    const AUTOLOAD: &str = "<?php spl_autoload_register(function ($class) {
        $file = dirname(__DIR__) . '/src/' . strtr($class, '\\\\', '/') . '.php';
        if (is_file($file)) require $file;
    });";
    let symfony = project(&[
        ("vendor/autoload.php", AUTOLOAD),
        ("config/bundles.php", "<?php return [];"),
        (
            "src/App/Kernel.php",
            "<?php namespace App; class Kernel {
                private array $kept = [];
                public function __construct(string $environment, bool $debug) {
                    $this->kept = ['environment' => $environment, 'cache' => $_SERVER['APP_CACHE_DIR']];
                }
                public function boot(): void { $this->kept['booted'] = true; }
                public function getContainer(): object { return new \\ArrayObject($this->kept); }
            }",
        ),
    ]);
    let asked = "return implode(' ', [container('environment'), container('booted'), container('cache')]);";
    for _ in 0..2 {
        assert_eq!(value_in(symfony.path(), PHP, asked), "dev 1 /tmp/cache");
    }
    let laravel = project(&[
        ("vendor/autoload.php", AUTOLOAD),
        (
            "src/Illuminate/Contracts/Foundation/Application.php",
            "<?php namespace Illuminate\\Contracts\\Foundation; interface Application {}",
        ),
        (
            "bootstrap/app.php",
            "<?php return new class implements Illuminate\\Contracts\\Foundation\\Application {
                public bool $booted = false;
                public function make(string $id): object {
                    return new class($id, $this) {
                        public function __construct(public string $id, public object $app) {}
                        public function bootstrap(): void { $this->app->booted = str_ends_with($this->id, 'Console\\Kernel'); }
                    };
                }
                public function get(string $id): mixed { return $this->booted ? $id : 'too early'; }
            };",
        ),
    ]);
    assert_eq!(value_in(laravel.path(), PHP, "container('x')"), "x");
}

#[test]
fn files_that_a_bootstrap_file_leaves_are_there_in_every_run() {
    for (language, file, text, read) in [
        (
            PYTHON,
            ".dormouse/bootstrap.py",
            "import time\nopen('/tmp/left', 'w').write(str(time.time_ns()))\ncontainer = {}",
            "left = open('/tmp/left').read(); open('/tmp/left', 'w').write('gone'); left",
        ),
        (
            JAVASCRIPT,
            ".dormouse/bootstrap.cjs",
            "require('fs').writeFileSync('/tmp/left', `${Date.now()} ${Math.random()}`); module.exports = { container: {} }",
            "const fs = require('fs'), left = fs.readFileSync('/tmp/left', 'utf8'); fs.writeFileSync('/tmp/left', 'gone'); left",
        ),
        (
            PHP,
            ".dormouse/bootstrap.php",
            "<?php file_put_contents('/tmp/left', microtime() . mt_rand()); return [];",
            "$left = file_get_contents('/tmp/left'); file_put_contents('/tmp/left', 'gone'); $left",
        ),
    ] {
        let folder = project(&[(file, text)]);
        let first = value_in(folder.path(), language, read);
        for _ in 0..3 {
            let again = value_in(folder.path(), language, read);
            assert_eq!(again, first, "{language}: as they were when the project had been opened");
        }
    }
}

#[test]
fn a_broken_autoloader_is_the_outcome_and_the_next_run_works() {
    for (text, word, ends) in [
        (
            "<?php throw new LogicException('run composer install');",
            "composer install",
            "raised LogicException",
        ),
        ("<?php $x = (", "", "raised ParseError"),
        ("<?php exit(4);", "status 4", "project_failed"),
        ("<?php require __DIR__ . '/composer/autoload_real.php';", "autoload_real", "raised"),
        ("<?php spl_autoload_register(fn () => throw new LogicException('no such class'));", "", "returned"),
        ("<?php while (true);", "", "limit_time"),
    ] {
        let folder = project(&[("vendor/autoload.php", text)]);
        let snippet = sandbox::snippet(PHP, "1").project(Project::new(folder.path()));
        let outcome = sandbox::run(snippet.timeout(Duration::from_millis(500)));
        assert!(ending(&outcome).starts_with(ends), "{text}: {outcome:?}");
        assert!(format!("{outcome:?}").contains(word), "{text}: {outcome:?}");
        write(folder.path(), "vendor/autoload.php", "<?php");
        assert_eq!(value_in(folder.path(), PHP, "return 1 + 1;"), 2, "mended");
    }
}

#[test]
fn a_project_of_a_hundred_thousand_files_is_opened() {
    let folder = project(&[
        (".dormouse/bootstrap.py", "import os; container = {'seen': len(os.listdir('/project/many'))}"),
        (
            ".dormouse/bootstrap.php",
            "<?php return ['seen' => iterator_count(new FilesystemIterator('/project/many'))];",
        ),
        (
            ".dormouse/bootstrap.cjs",
            "module.exports = { container: { seen: require('fs').readdirSync('/project/many').length } }",
        ),
    ]);
    let many = folder.path().join("many");
    fs::create_dir(&many).unwrap();
    for number in 0..100_000 {
        fs::File::create(many.join(format!("{number}.txt"))).unwrap();
    }
    for language in [PYTHON, JAVASCRIPT, PHP] {
        let run = || {
            let snippet =
                sandbox::snippet(language, "container('seen')").project(Project::new(folder.path()));
            sandbox::run(snippet.timeout(Duration::from_secs(60)).memory(512 << 20))
        };
        let (first, second) = (run(), run());
        assert_eq!(ending(&first), ending(&second), "{language}");
        if ending(&first) == "returned" {
            assert_eq!(value(&first)["value"], 100_000, "{language}");
        } else {
            // A listing is bounded: the guest is told, and not the half of it.
            assert!(
                format!("{first:?}").contains("many") || ending(&first).starts_with("raised"),
                "{first:?}"
            );
        }
    }
}

#[test]
fn s1_22_a_database_of_the_project_is_read_only_unless_writes_are_on() {
    let open = |language: &str| match language {
        PYTHON => (
            "import sqlite3; db = sqlite3.connect('/project/shop.db'); ",
            "db.execute('SELECT name FROM item').fetchone()[0]",
            "db.execute(\"INSERT INTO item VALUES ('pen')\"); db.commit()",
        ),
        _ => (
            "$db = new SQLite3('/project/shop.db'); $db->enableExceptions(true); ",
            "return $db->querySingle('SELECT name FROM item');",
            "$db->exec(\"INSERT INTO item VALUES ('pen')\");",
        ),
    };
    for language in [PYTHON, PHP] {
        let folder = project(&[("readme", "")]);
        let (connect, read, insert) = open(language);
        let run = |code: String, access: Access| {
            let project = Project { access, ..Project::new(folder.path()) };
            sandbox::run(sandbox::snippet(language, &code).project(project))
        };
        let create = match language {
            PYTHON => {
                "db.execute('CREATE TABLE item (name)'); db.execute(\"INSERT INTO item VALUES ('cup')\"); db.commit()"
            }
            _ => "$db->exec(\"CREATE TABLE item (name); INSERT INTO item VALUES ('cup')\");",
        };
        assert_ends(&run(format!("{connect}{create}"), Access::ReadWrite), &["returned"]);
        let bytes = fs::read(folder.path().join("shop.db")).unwrap();
        let shown = run(format!("{connect}{read}"), Access::ReadOnly);
        assert_eq!(value(&shown)["value"], "cup", "{language}: {shown:?}");
        let refused = run(format!("{connect}{insert}"), Access::ReadOnly);
        assert!(format!("{refused:?}").contains("readonly database"), "{language}: {refused:?}");
        assert_eq!(fs::read(folder.path().join("shop.db")).unwrap(), bytes, "{language}");
        assert_ends(&run(format!("{connect}{insert}"), Access::ReadWrite), &["returned"]);
        assert_ne!(fs::read(folder.path().join("shop.db")).unwrap(), bytes, "{language}");
    }
}
