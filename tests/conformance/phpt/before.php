<?php
// Runs before each test, in its instance: sets what the test asks for, and answers with the settings that PHP refuses to
// change once it runs, as a list in one string.

// Says what PHP says on standard output when nothing catches an exception.
function phpt_uncaught(Throwable $error): void
{
    if (in_array(ini_get('display_errors'), ['', '0', 'stderr'], true) || !(error_reporting() & E_ERROR)) {
        return;
    }
    $place = " in {$error->getFile()} on line {$error->getLine()}\n";
    if ($error instanceof CompileError) {
        $kind = $error instanceof ParseError ? 'Parse error' : 'Fatal error';
        echo "\n$kind: ", $error->getMessage(), $place;
    } else {
        echo "\nFatal error: Uncaught ", $error->__toString(), "\n  thrown", $place;
    }
}

set_exception_handler('phpt_uncaught');

return (function (string $asked): string {
    // What PHP's own runner sets for every test.
    $lines = [
        'error_reporting=' . E_ALL,
        'display_errors=1',
        'precision=14',
        'serialize_precision=-1',
        'memory_limit=128M',
        'zend.exception_ignore_args=0',
        'zend.exception_string_param_max_len=15',
        'date.timezone=UTC',
    ];
    $refused = [];
    // Not `@`: its end would undo a change of `error_reporting`.
    set_error_handler(static fn() => true);
    foreach ([...$lines, ...explode("\n", $asked)] as $line) {
        [$name, $value] = [...explode('=', trim($line), 2), ''];
        $name = trim($name);
        $value = trim($value);
        // A setting that PHP does not know is of no effect in its own runner, too.
        if (!str_contains($line, '=') || ($before = ini_get($name)) === false) {
            continue;
        }
        // As on the command line, where a value that begins with a sign is text.
        if ($value !== '' && !ctype_alnum($value[0]) && $value[0] !== '"' && $value[0] !== "'") {
            $value = "\"$value\"";
        }
        $read = parse_ini_string("value=$value");
        $value = $read === false ? $value : $read['value'];
        $same = $before === $value || (is_numeric($before) && is_numeric($value) && $before == $value)
            || (in_array($before, ['', '0'], true) && in_array($value, ['', '0'], true));
        if (ini_set($name, $value) === false && !$same) {
            $refused[] = $name;
        }
    }
    restore_error_handler();
    error_clear_last();
    return implode(', ', $refused);
})(base64_decode('@SETTINGS@'));
