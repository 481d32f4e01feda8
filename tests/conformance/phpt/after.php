<?php
// Runs after each test, in its instance, because the end of an instance calls no destructors: drops the globals in the
// order in which the end of a script does it, first what nothing else holds, last to first, then the rest.
(static function (): void {
    do {
        $before = count($GLOBALS);
        foreach (array_reverse(array_keys($GLOBALS)) as $name) {
            if (!is_object($GLOBALS[$name] ?? null)) {
                continue;
            }
            $held = WeakReference::create($GLOBALS[$name]);
            unset($GLOBALS[$name]);
            if ($object = $held->get()) {
                $GLOBALS[$name] = $object;
                unset($object);
            }
        }
    } while (count($GLOBALS) !== $before);
    foreach (array_keys($GLOBALS) as $name) {
        unset($GLOBALS[$name]);
    }
    gc_collect_cycles();
})();
