//! Libraries that no one here wrote, used by snippets inside a project: from PyPI, npm and Debian's PHP packages.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use dormouse_chores::arguments::Extent;
use dormouse_chores::outcome::Totals;
use dormouse_chores::progress::Progress;
use dormouse_chores::{folder, node, program, python};
use serde_json::Value as Json;

use super::expected::Expected;
use super::report::Report;
use super::server;
use network::Servers;

mod network;
mod own;
mod php_clients;

const LIMIT: Duration = Duration::from_secs(60);

/// A snippet and the JSON of the value that it must give.
type Check = (&'static str, &'static str);

/// Of the lists of packages a change has to pass one in so many.
const SHARE: usize = 8;

/// The lists of what speaks with a server, which are short.
const CLIENTS: [&str; 2] = ["clients", "clients-javascript"];

/// Installs packages; the folder of a project that has them, or why there is none.
type Install = fn(&[&str]) -> Result<Result<PathBuf, String>>;

/// A package of a list, and what it is used for.
struct Used {
    /// Its name and its version, as the language's installer takes them.
    package: String,
    code: String,
    wanted: String,
}

/// The packages of `tests/conformance/packages/<language>.txt` that are asked for.
fn listed(language: &str, extent: &Extent) -> Result<Vec<Used>> {
    let path = dormouse_chores::workspace().join(format!("tests/conformance/packages/{language}.txt"));
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read `{}`", path.display()))?;
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let mut used = Vec::new();
    for (at, line) in lines.enumerate() {
        let parts: Vec<&str> = line.split('\t').collect();
        let [package, code, wanted] = parts[..] else { bail!("a line is not three parts: {line}") };
        if extent.takes(package, || CLIENTS.contains(&language) || at % SHARE == 0) {
            used.push(Used { package: package.into(), code: code.into(), wanted: wanted.into() });
        }
    }
    Ok(used)
}

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

/// Composer with what it is made of.
const COMPOSER_PACKAGES: [&str; 27] = [
    "composer",
    "jsonlint",
    "php-composer-ca-bundle",
    "php-composer-class-map-generator",
    "php-composer-metadata-minifier",
    "php-composer-pcre",
    "php-composer-semver",
    "php-composer-spdx-licenses",
    "php-composer-xdebug-handler",
    "php-json-schema",
    "php-psr-container",
    "php-psr-log",
    "php-react-promise",
    "php-seld-signal-handler",
    "php-symfony-console",
    "php-symfony-deprecation-contracts",
    "php-symfony-filesystem",
    "php-symfony-finder",
    "php-symfony-polyfill-ctype",
    "php-symfony-polyfill-intl-grapheme",
    "php-symfony-polyfill-intl-normalizer",
    "php-symfony-polyfill-mbstring",
    "php-symfony-polyfill-php80",
    "php-symfony-process",
    "php-symfony-service-contracts",
    "php-symfony-string",
    "php-symfony-yaml",
];
/// Installs a package from a folder, and uses it by the autoloader that Composer wrote.
const COMPOSER: [Check; 1] = [("return container('install')();", "42")];
/// Debian's Composer asks for HHVM by `exec`, and for the system's certificates, before it looks at any package: both are answered.
const COMPOSER_CONTAINER: &str = "<?php
set_error_handler(static fn() => true, E_DEPRECATED | E_USER_DEPRECATED);
require_once dirname(__DIR__) . '/vendor/React/Promise/functions_include.php';
return new class implements Psr\\Container\\ContainerInterface {
    public function has(string $id): bool { return $id === 'install'; }
    public function get(string $id): Closure
    {
        return static function (): int {
            mkdir('/tmp/app/lib/src', 0777, true);
            chdir('/tmp/app');
            file_put_contents('lib/src/Thing.php', '<?php namespace Acme; class Thing { const ANSWER = 42; }');
            file_put_contents('lib/composer.json', json_encode(['name' => 'acme/lib', 'version' => '1.2.0', 'require' => ['ext-gmp' => '*'], 'autoload' => ['psr-4' => ['Acme\\\\' => 'src/']]]));
            file_put_contents('composer.json', json_encode(['name' => 'me/app', 'require' => ['acme/lib' => '^1.0'], 'config' => ['disable-tls' => true], 'repositories' => [['type' => 'path', 'url' => 'lib', 'options' => ['symlink' => false]], ['packagist.org' => false]]]));
            putenv('COMPOSER_HOME=/tmp/composer');
            (static function () { self::$hhvmVersion = false; })->bindTo(null, Composer\\Platform\\HhvmDetector::class)();
            $application = new Composer\\Console\\Application();
            $application->setAutoExit(false);
            $application->setCatchExceptions(false);
            $input = new Symfony\\Component\\Console\\Input\\ArrayInput(['command' => 'install', '--no-interaction' => true, '--no-plugins' => true]);
            $application->run($input, new Symfony\\Component\\Console\\Output\\BufferedOutput());
            require '/tmp/app/vendor/autoload.php';
            return Acme\\Thing::ANSWER;
        };
    }
};
";

/// Installs the packages and evaluates the snippets, each twice: in a project that is opened, and in one that was kept.
pub(super) fn run(extent: &Extent) -> Result<Totals> {
    let mut report = Report::default();
    let mut expected = Expected::load("packages", "expected.txt")?;
    let dormouse = server::dormouse()?;
    let mut ran = BTreeSet::new();
    let languages = [("python", python as Install), ("javascript", javascript)];
    for (language, install) in languages {
        let used = listed(language, extent)?;
        let names: Vec<&str> = used.iter().map(|one| one.package.as_str()).collect();
        match install(&names)? {
            Ok(folder) => {
                for Used { package, code, wanted } in &used {
                    for way in WAYS {
                        let name = format!("{language}, {way}: {package}");
                        let result = check(&dormouse, (language, &folder), &[], (code, wanted))?;
                        if extent.all {
                            let said =
                                result.as_ref().err().map_or("installed, imported and right", String::as_str);
                            report.note(format!("{name}: {said}"));
                        }
                        report.count(&name, result);
                        ran.insert(name);
                    }
                }
            }
            Err(cause) => report.skip(&cause, 2 * used.len() as u64),
        }
    }
    for ((language, install), list) in languages.into_iter().zip(CLIENTS) {
        let clients = listed(list, extent)?;
        let names: BTreeSet<&str> = clients.iter().map(|one| one.package.as_str()).collect();
        match install(&Vec::from_iter(names))? {
            Ok(folder) => {
                let servers = Servers::start()?;
                for Used { package, code, wanted } in &clients {
                    let begin: String = code.chars().take(80).collect();
                    let name = format!("{language}, network: {package}: {begin}");
                    let code = servers.code(code);
                    let checked = check(&dormouse, (language, &folder), &servers.options(), (&code, wanted))?;
                    report.count(&name, checked);
                    ran.insert(name);
                }
            }
            Err(cause) => report.skip(&cause, clients.len() as u64),
        }
    }
    let asked: Vec<&Check> = php_clients::CHECKS.iter().filter(|(code, _)| extent.wants(code)).collect();
    match php_clients::project()? {
        Ok(folder) if !asked.is_empty() => {
            let servers = Servers::start()?;
            for (code, wanted) in asked {
                let name = format!("php, network: {code}");
                let code = servers.code(code);
                let checked = check(&dormouse, ("php", &folder), &servers.options(), (&code, wanted))?;
                report.count(&name, checked);
                ran.insert(name);
            }
        }
        Ok(_) => {}
        Err(cause) => report.skip(&cause, asked.len() as u64),
    }
    for (checks, project) in [
        (&PHP[..], php as fn() -> Result<Result<PathBuf, String>>),
        (&SYMFONY, symfony),
        (&COMPOSER, composer),
    ] {
        match project()? {
            Ok(folder) => {
                for (code, wanted) in checks.iter().filter(|(code, _)| extent.wants(code)) {
                    for way in WAYS {
                        let name = format!("php, {way}: {}", code.replace('\n', " "));
                        report.count(&name, check(&dormouse, ("php", &folder), &[], (code, wanted))?);
                        ran.insert(name);
                    }
                }
            }
            Err(cause) => report.skip(&cause, 2 * checks.len() as u64),
        }
    }
    let mut totals = report.close("packages", &mut expected, extent, |name| ran.contains(name))?;
    totals.add(own::run(&dormouse, extent)?);
    Ok(totals)
}

/// Each snippet is run in a project that is opened, and again, when it is kept.
const WAYS: [&str; 2] = ["opened", "kept"];

fn check(
    dormouse: &Path,
    (language, folder): (&str, &Path),
    options: &[PathBuf],
    (code, wanted): (&str, &str),
) -> Result<Result<(), String>> {
    let mut command = Command::new(dormouse);
    command.args(["eval", "--json", "--timeout", "30s", "--memory", "512MiB", "--language", language]);
    command.args(options).arg("--project").arg(folder).arg("--").arg(code);
    let said = program::run(&mut command, LIMIT)?;
    let Ok(answer) = serde_json::from_str::<Json>(&said.stdout) else { return Ok(Err(said.end())) };
    if answer["result"]["value"] == serde_json::from_str::<Json>(wanted)? {
        return Ok(Ok(()));
    }
    let shown = [&answer["exception"]["message"], &answer["error"]["message"], &answer["result"]["value"]];
    Ok(Err(shown.into_iter().find(|part| !part.is_null()).unwrap_or(&answer).to_string()))
}

fn python(names: &[&str]) -> Result<Result<PathBuf, String>> {
    if names.is_empty() {
        return Ok(Err("none of them is asked for".into()));
    }
    if let Err(cause) = python::require() {
        return Ok(Err(cause));
    }
    let folder = folder::provide("packages-python", &names.join(" "), |into| {
        let _step = Progress::new("packages").step("installing Python packages (pip)");
        let environment = into.join(".venv");
        program::install(Command::new("python3").args(["-m", "venv"]).arg(&environment))?;
        let pip = || {
            let mut pip = Command::new(environment.join("bin/pip"));
            pip.args(["install", "--quiet", "--disable-pip-version-check"]).args(names);
            pip
        };
        program::fetch(pip).map(drop)
    })?;
    Ok(Ok(folder))
}

fn javascript(names: &[&str]) -> Result<Result<PathBuf, String>> {
    if names.is_empty() {
        return Ok(Err("none of them is asked for".into()));
    }
    match node::require() {
        Ok(()) => node::packages("packages-javascript", names).map(Ok),
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

fn composer() -> Result<Result<PathBuf, String>> {
    debian("packages-composer", &COMPOSER_PACKAGES, &[("config/container.php", COMPOSER_CONTAINER)])
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
