<?php
// Opens a project: its autoloader loaded, its bootstrap file run, `container()` at hand.
(static function (array $project): void {
    $root = $project['root'];
    $usual = ['.dormouse/bootstrap.php', 'config/container.php', 'bootstrap/app.php'];

    $autoload = "$root/vendor/autoload.php";
    if (is_file($autoload)) {
        (static fn () => require_once $autoload)();
    }
    $name = $project['bootstrap'];
    if ($name === null) {
        foreach ($usual as $each) {
            if (is_file("$root/$each")) {
                $name = $each;
                break;
            }
        }
    }
    $services = null;
    if ($name === null && is_file("$root/config/bundles.php") && class_exists('App\\Kernel')) {
        // A Symfony application. Its caches go where a run can write.
        $_SERVER += ['APP_CACHE_DIR' => '/tmp/cache', 'APP_LOG_DIR' => '/tmp/log'];
        $kernel = new App\Kernel($_SERVER['APP_ENV'] ?? 'dev', (bool) ($_SERVER['APP_DEBUG'] ?? false));
        $kernel->boot();
        $services = $kernel->getContainer();
    }
    if ($name !== null) {
        $file = "$root/$name";
        if (!is_file($file)) {
            throw new RuntimeException("the bootstrap file `$name` is not there");
        }
        $services = (static fn () => require $file)();
        if ($services instanceof Closure) {
            $services = $services();
        }
        if (!is_array($services) && !is_object($services)) {
            throw new TypeError("the bootstrap file `$name` must return the container: an object with get(), an array, or a function that makes it");
        }
        if ($services instanceof Illuminate\Contracts\Foundation\Application) {
            // A Laravel application is returned before its providers and facades are there.
            $services->make(Illuminate\Contracts\Console\Kernel::class)->bootstrap();
        }
    }

    /** The project's container, or one of its services by name. */
    final class DormouseProject
    {
        public static mixed $services = null;
    }
    DormouseProject::$services = $services;
})($__dormouse_project__);
unset($__dormouse_project__);

function container(?string $id = null): mixed
{
    $services = DormouseProject::$services;
    if ($services === null) {
        throw new LogicException('the project has no container: add the file .dormouse/bootstrap.php, which returns it');
    }
    if ($id === null) {
        return $services;
    }
    if (is_object($services) && method_exists($services, 'get')) {
        return $services->get($id);
    }
    if (is_array($services) && !array_key_exists($id, $services)) {
        throw new OutOfBoundsException("the container has no `$id`");
    }
    return $services[$id];
}
