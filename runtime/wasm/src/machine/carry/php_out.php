(function (array $names, string $path) {
    $left = [];
    $kept = [];
    $check = function ($value, int $depth) use (&$check, &$seen): void {
        if ($depth > 1000) throw new RuntimeException("it is nested too deep");
        if (is_resource($value)) throw new RuntimeException("a resource cannot be carried");
        if (is_object($value)) {
            if (isset($seen[spl_object_id($value)])) return;
            $seen[spl_object_id($value)] = $value;
            if ((new ReflectionObject($value))->isUserDefined()) throw new RuntimeException("class " . $value::class . " is defined in a snippet");
            $value = (array) $value;
        }
        if (is_array($value)) foreach ($value as $item) $check($item, $depth + 1);
    };
    $try = function (string $name, mixed $value) use (&$left, &$seen, $check): bool {
        $seen = [];
        try {
            $check($value, 0);
            serialize($value);
            return true;
        } catch (Throwable $error) {
            $left[] = [$name, substr($error->getMessage(), 0, 200)];
            return false;
        }
    };
    foreach ($names as $name) {
        if (array_key_exists($name, $GLOBALS) && $try($name, $GLOBALS[$name])) $kept[$name] = $GLOBALS[$name];
    }
    $constants = [];
    foreach (get_defined_constants(true)["user"] ?? [] as $name => $value) {
        if ($try($name, $value)) $constants[$name] = $value;
    }
    foreach (get_defined_functions()["user"] as $name) {
        if (!str_starts_with($name, "{")) $left[] = ["$name()", "functions cannot be carried"];
    }
    foreach (array_merge(get_declared_classes(), get_declared_interfaces(), get_declared_traits()) as $name) {
        if ((new ReflectionClass($name))->isUserDefined() && !str_contains($name, "@")) $left[] = [$name, "classes cannot be carried"];
    }
    $file = @fopen($path, "x");
    $file && fwrite($file, serialize([$kept, $constants])) !== false && fclose($file) or throw new RuntimeException("the variables cannot be written to a file");
    return json_encode(["carried" => array_merge(array_map(strval(...), array_keys($kept)), array_keys($constants)), "left" => $left], JSON_INVALID_UTF8_SUBSTITUTE);
})