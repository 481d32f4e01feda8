//! Libraries that no one here wrote, used by snippets inside a project: from PyPI, npm and Debian's PHP packages.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use dormouse_chores::arguments::Extent;
use dormouse_chores::outcome::Totals;
use dormouse_chores::progress::Progress;
use dormouse_chores::{folder, node, program, python};
use serde_json::Value as Json;

use super::expected::Expected;
use super::report::Report;
use super::server;

const LIMIT: Duration = Duration::from_secs(60);

/// A snippet and the JSON of the value that it must give.
type Check = (&'static str, &'static str);

const PYTHON_PACKAGES: [&str; 8] = [
    "attrs==25.3.0",
    "jinja2==3.1.6",
    "markdown==3.8",
    "networkx==3.4.2",
    "pyparsing==3.2.3",
    "python-dateutil==2.9.0.post0",
    "sympy==1.11.1",
    "tabulate==0.9.0",
];
const PYTHON: [Check; 8] = [
    ("import attrs\nattrs.asdict(attrs.make_class('A', ['x'])(3))['x']", "3"),
    ("import jinja2; jinja2.Template('{% for n in range(3) %}{{ n }}{% endfor %}').render()", "\"012\""),
    ("import markdown; markdown.markdown('# a')", "\"<h1>a</h1>\""),
    ("import networkx; networkx.shortest_path_length(networkx.cycle_graph(6), 0, 3)", "3"),
    ("import pyparsing as p; p.Word(p.nums).parse_string('42')[0]", "\"42\""),
    ("from dateutil.parser import parse; parse('3 Jan 2026').isoformat()", "\"2026-01-03T00:00:00\""),
    (
        "import sympy; x = sympy.Symbol('x'); str(sympy.integrate(sympy.sin(x) ** 2, x))",
        "\"x/2 - sin(x)*cos(x)/2\"",
    ),
    ("import tabulate; tabulate.tabulate([[1]], tablefmt='plain')", "\"1\""),
];

const JAVASCRIPT_PACKAGES: [&str; 12] = [
    "lodash@4.17.21",
    "zod@3.25.76",
    "uuid@11.1.0",
    "nanoid@5.1.6",
    "date-fns@4.1.0",
    "semver@7.7.3",
    "ajv@8.17.1",
    "js-yaml@4.1.0",
    "ramda@0.32.0",
    "immer@10.1.3",
    "rxjs@7.8.2",
    "handlebars@4.7.8",
];
const JAVASCRIPT: [Check; 13] = [
    ("require('lodash').chunk([1, 2, 3], 2).length", "2"),
    ("import _ from 'lodash'; export default _.capitalize('hello')", "\"Hello\""),
    (
        "import { z } from 'zod'; export default z.object({ a: z.number() }).safeParse({ a: 'x' }).success",
        "false",
    ),
    ("import { v4 } from 'uuid'; export default v4().length", "36"),
    ("import { nanoid } from 'nanoid'; export default nanoid().length", "21"),
    ("import { format } from 'date-fns'; export default format(new Date(0), 'yyyy')", "\"1970\""),
    ("require('semver').satisfies('1.2.3', '^1')", "true"),
    ("const Ajv = require('ajv'); new Ajv().compile({ type: 'number' })('x')", "false"),
    ("require('js-yaml').load('a: [1, 2]').a[1]", "2"),
    ("import * as R from 'ramda'; export default R.sum([1, 2])", "3"),
    ("import { produce } from 'immer'; export default produce({ a: 1 }, (draft) => { draft.a = 2 }).a", "2"),
    (
        "import { lastValueFrom, map, of } from 'rxjs'; export default await lastValueFrom(of(3).pipe(map((x) => x + 1)))",
        "4",
    ),
    ("require('handlebars').compile('a {{b}}')({ b: 1 })", "\"a 1\""),
];

const PHP_PACKAGES: [&str; 20] = [
    "php-monolog",
    "php-psr-cache",
    "php-psr-container",
    "php-psr-event-dispatcher",
    "php-psr-log",
    "php-symfony-cache",
    "php-symfony-cache-contracts",
    "php-symfony-config",
    "php-symfony-dependency-injection",
    "php-symfony-deprecation-contracts",
    "php-symfony-event-dispatcher",
    "php-symfony-event-dispatcher-contracts",
    "php-symfony-expression-language",
    "php-symfony-filesystem",
    "php-symfony-polyfill-ctype",
    "php-symfony-polyfill-mbstring",
    "php-symfony-service-contracts",
    "php-symfony-var-exporter",
    "php-symfony-yaml",
    "php-twig",
];
const PHP: [Check; 7] = [
    ("return Symfony\\Component\\Yaml\\Yaml::parse('a: [1, 2]')['a'][1];", "2"),
    ("return container('twig')->render('hello', ['name' => 'ann']);", "\"Hello ANN!\""),
    ("return container('language')->evaluate('1 + 2 * x', ['x' => 4]);", "9"),
    (
        "container('events')->addListener('x', fn($event) => $event->seen = true); return container('events')->dispatch(new class { public $seen = false; }, 'x')->seen;",
        "true",
    ),
    (
        "$log = new Monolog\\Logger('a', [$kept = new Monolog\\Handler\\TestHandler()]); $log->warning('careful'); return $kept->hasWarningRecords();",
        "true",
    ),
    ("return container()->has('none');", "false"),
    (
        "try { container('none'); } catch (Psr\\Container\\NotFoundExceptionInterface $e) { return 'not found'; }",
        "\"not found\"",
    ),
];
const PHP_AUTOLOAD: &str = "<?php
error_reporting(E_ALL & ~E_DEPRECATED);
spl_autoload_register(function (string $class): void {
    $file = __DIR__ . '/' . strtr($class, '\\\\', '/') . '.php';
    if (is_file($file)) {
        require $file;
    }
});
require __DIR__ . '/Symfony/Contracts/Deprecation/function.php';
";
const PHP_CONTAINER: &str = "<?php
use Symfony\\Component\\DependencyInjection\\{ContainerBuilder, Reference};
$services = new ContainerBuilder();
$services->register('events', Symfony\\Component\\EventDispatcher\\EventDispatcher::class)->setPublic(true);
$services->register('language', Symfony\\Component\\ExpressionLanguage\\ExpressionLanguage::class)->setPublic(true);
$services->register('loader', Twig\\Loader\\ArrayLoader::class)->setArguments([['hello' => 'Hello {{ name|upper }}!']]);
$services->register('twig', Twig\\Environment::class)->setArguments([new Reference('loader')])->setPublic(true);
$services->compile();
return $services;
";

/// What a Symfony application needs more than [`PHP_PACKAGES`].
const SYMFONY_PACKAGES: [&str; 7] = [
    "php-symfony-error-handler",
    "php-symfony-finder",
    "php-symfony-framework-bundle",
    "php-symfony-http-foundation",
    "php-symfony-http-kernel",
    "php-symfony-routing",
    "php-symfony-var-dumper",
];
const SYMFONY: [Check; 3] = [
    ("return container('kernel')->getEnvironment();", "\"dev\""),
    ("return container('router')->generate('hello', ['name' => 'ann']);", "\"/hello/ann\""),
    (
        "return container('kernel')->handle(Symfony\\Component\\HttpFoundation\\Request::create('/hello/bob'))->getContent();",
        "\"Hello bob\"",
    ),
];
const SYMFONY_KERNEL: &str = "<?php
namespace App;
use Symfony\\Bundle\\FrameworkBundle\\Kernel\\MicroKernelTrait;
use Symfony\\Component\\DependencyInjection\\Loader\\Configurator\\ContainerConfigurator;
use Symfony\\Component\\HttpFoundation\\Response;
use Symfony\\Component\\HttpKernel\\Kernel as Base;
use Symfony\\Component\\Routing\\Loader\\Configurator\\RoutingConfigurator;
class Kernel extends Base
{
    use MicroKernelTrait;
    public function getProjectDir(): string { return dirname(__DIR__, 2); }
    protected function configureContainer(ContainerConfigurator $container): void
    {
        $container->extension('framework', ['secret' => 'x', 'router' => ['utf8' => true]]);
    }
    protected function configureRoutes(RoutingConfigurator $routes): void
    {
        $routes->add('hello', '/hello/{name}')->controller([self::class, 'hello']);
    }
    public function hello(string $name): Response { return new Response(\"Hello $name\"); }
}
";
const SYMFONY_BUNDLES: &str =
    "<?php return [Symfony\\Bundle\\FrameworkBundle\\FrameworkBundle::class => ['all' => true]];";

/// Installs the packages and evaluates the snippets, each twice: in a project that is opened, and in one that was kept.
pub(super) fn run(extent: &Extent) -> Result<Totals> {
    let mut report = Report::default();
    let mut expected = Expected::load("packages", "expected.txt")?;
    let dormouse = server::dormouse()?;
    for (language, checks, project) in [
        ("python", &PYTHON[..], python as fn() -> Result<Result<PathBuf, String>>),
        ("javascript", &JAVASCRIPT, javascript),
        ("php", &PHP, php),
        ("php", &SYMFONY, symfony),
    ] {
        match project()? {
            Ok(folder) => {
                for (code, wanted) in checks.iter().filter(|(code, _)| extent.wants(code)) {
                    for way in ["opened", "kept"] {
                        let name = format!("{language}, {way}: {}", code.replace('\n', " "));
                        report.count(&name, check(&dormouse, language, &folder, code, wanted)?);
                    }
                }
            }
            Err(cause) => report.skip(&cause, 2 * checks.len() as u64),
        }
    }
    report.close("packages", &mut expected, extent, |_| true)
}

fn check(
    dormouse: &Path,
    language: &str,
    folder: &Path,
    code: &str,
    wanted: &str,
) -> Result<Result<(), String>> {
    let mut command = Command::new(dormouse);
    command.args(["eval", "--json", "--timeout", "30s", "--memory", "512MiB", "--language", language]);
    command.arg("--project").arg(folder).arg("--").arg(code);
    let said = program::run(&mut command, LIMIT)?;
    let Ok(answer) = serde_json::from_str::<Json>(&said.stdout) else { return Ok(Err(said.end())) };
    if answer["result"]["value"] == serde_json::from_str::<Json>(wanted)? {
        return Ok(Ok(()));
    }
    let shown = [&answer["exception"]["message"], &answer["error"]["message"], &answer["result"]["value"]];
    Ok(Err(shown.into_iter().find(|part| !part.is_null()).unwrap_or(&answer).to_string()))
}

fn python() -> Result<Result<PathBuf, String>> {
    if let Err(cause) = python::require() {
        return Ok(Err(cause));
    }
    let folder = folder::provide("packages-python", &PYTHON_PACKAGES.join(" "), |into| {
        let _step = Progress::new("packages").step("installing Python packages (pip)");
        let environment = into.join(".venv");
        program::install(Command::new("python3").args(["-m", "venv"]).arg(&environment))?;
        let pip = || {
            let mut pip = Command::new(environment.join("bin/pip"));
            pip.args(["install", "--quiet", "--disable-pip-version-check"]).args(PYTHON_PACKAGES);
            pip
        };
        program::fetch(pip).map(drop)
    })?;
    Ok(Ok(folder))
}

fn javascript() -> Result<Result<PathBuf, String>> {
    match node::require() {
        Ok(()) => node::packages("packages-javascript", &JAVASCRIPT_PACKAGES).map(Ok),
        Err(cause) => Ok(Err(cause)),
    }
}

fn php() -> Result<Result<PathBuf, String>> {
    debian("packages-php", &PHP_PACKAGES, &[("config/container.php", PHP_CONTAINER)])
}

fn symfony() -> Result<Result<PathBuf, String>> {
    let packages = [&PHP_PACKAGES[..], &SYMFONY_PACKAGES].concat();
    let files = [("config/bundles.php", SYMFONY_BUNDLES), ("vendor/App/Kernel.php", SYMFONY_KERNEL)];
    debian("packages-symfony", &packages, &files)
}

/// A project over Debian's packages, unpacked and not installed: their files lie as Composer would lay them.
fn debian(name: &str, packages: &[&str], files: &[(&str, &str)]) -> Result<Result<PathBuf, String>> {
    let key = format!("{packages:?} {PHP_AUTOLOAD} {files:?}");
    let provided = folder::provide(name, &key, |into| {
        let _step = Progress::new("packages").step("fetching PHP packages (apt-get)");
        let archives = into.join("archives");
        fs::create_dir(&archives)?;
        let apt = || {
            let mut apt = Command::new("apt-get");
            apt.args(["download", "--quiet=2"]).args(packages).current_dir(&archives);
            apt
        };
        program::fetch(apt)?;
        let tree = into.join("tree");
        for archive in fs::read_dir(&archives)? {
            program::install(Command::new("dpkg-deb").arg("--extract").arg(archive?.path()).arg(&tree))?;
        }
        let vendor = into.join("vendor");
        fs::rename(tree.join("usr/share/php"), &vendor).context("the packages hold no PHP")?;
        fs::remove_dir_all(&tree)?;
        fs::remove_dir_all(&archives)?;
        ensure!(vendor.join("Symfony/Component/Yaml/Yaml.php").is_file(), "the packages lie elsewhere");
        fs::write(vendor.join("autoload.php"), PHP_AUTOLOAD)?;
        for (file, text) in files {
            let path = into.join(file);
            path.parent().map_or(Ok(()), fs::create_dir_all)?;
            fs::write(path, text)?;
        }
        Ok(())
    });
    Ok(provided.map_err(|error| format!("Debian's PHP packages cannot be fetched here ({error:#})")))
}
