<?php
namespace Dormouse {

final class Interpreter
{
    public static string $name = '';
    public static string $text = '';
    private static string $code = '';
    private static bool $ambiguous = false;
    private static int $defined = 0;
    private static $requests;
    private static $messages;
    private static string $input = '';
    private static int $id = 0;
    private static bool $running = false;
    private static array $bounds = [];

    public static function start(): void
    {
        self::$requests = fopen('php://fd/3', 'r');
        self::$messages = fopen('php://fd/4', 'w');
        stream_set_read_buffer(self::$requests, 0);
        stream_wrapper_register('dormouse-snippet', Snippet::class);
        register_shutdown_function([self::class, 'shut']);
        self::$defined = self::definitions();
        self::send('H', json_encode(['protocol' => PROTOCOL, 'version' => PHP_VERSION]));
    }

    private static function definitions(): int
    {
        return count(get_defined_functions()['user']) + count(get_declared_classes());
    }

    private static function exactly(int $count): string
    {
        for ($bytes = ''; strlen($bytes) < $count; $bytes .= $part) {
            $part = fread(self::$requests, min($count - strlen($bytes), 1 << 16));
            if ($part === '' || $part === false) {
                self::$running = false;
                exit(0);
            }
        }
        return $bytes;
    }

    private static function receive(): array
    {
        ['length' => $length, 'kind' => $kind, 'id' => $id] = unpack('Nlength/akind/Nid', self::exactly(9));
        return [$kind, $id, self::exactly($length)];
    }

    private static function send(string $kind, string $payload): void
    {
        for ($frame = pack('NaN', strlen($payload), $kind, self::$id) . $payload; $frame !== ''; $frame = substr($frame, $written)) {
            $written = fwrite(self::$messages, $frame);
            if ($written === false) exit(1);
        }
        fflush(self::$messages);
    }

    // The next snippet to run. All other requests are answered here.
    public static function next(): bool
    {
        for (;;) {
            [$kind, self::$id, $payload] = self::receive();
            if ($kind === 'I') {
                self::$input .= $payload;
                continue;
            }
            $asked = json_decode($payload, true, 512, JSON_BIGINT_AS_STRING);
            self::$bounds = $asked['bounds'] ?? [];
            self::$running = true;
            if ($kind === 'E' && self::begin($asked)) return true;
            if ($kind === 'G') self::get($asked['name'], $asked['query']);
            if ($kind === 'S') self::set($asked['name'], $asked['json']);
            if ($kind === 'V') self::send('V', self::vars());
            if ($kind === 'Z') self::reset();
            self::$running = false;
        }
    }

    private static function begin(array $asked): bool
    {
        try {
            self::surroundings($asked);
        } catch (\Throwable $thrown) {
            self::raised($thrown);
            return false;
        }
        self::$ambiguous = self::$ambiguous || self::definitions() > self::$defined;
        self::$defined = self::definitions();
        self::$code = $asked['code'];
        self::$name = $asked['name'];
        self::$text = Text::of($asked['code']);
        return true;
    }

    private static function surroundings(array $asked): void
    {
        clearstatcache();
        // Standard input is a file that all who read it share, with its place.
        $file = @fopen('php://fd/0', 'r+');
        if ($file && @ftruncate($file, 0)) {
            rewind($file);
            fwrite($file, self::$input);
            fflush($file);
            rewind($file);
        }
        if (is_resource(STDIN)) @rewind(STDIN);
        self::$input = '';
        foreach ($asked['environment'] ?? [] as [$name, $value]) {
            putenv("$name=$value");
            $_ENV[$name] = $_SERVER[$name] = $value;
        }
        $GLOBALS['argv'] = $_SERVER['argv'] = $asked['arguments'] ?? [$asked['name']];
        $GLOBALS['argc'] = $_SERVER['argc'] = count($GLOBALS['argv']);
        if ($asked['directory'] !== null && !@chdir($asked['directory'])) {
            throw new \Exception("cannot change to the directory {$asked['directory']}: " . (error_get_last()['message'] ?? ''), 2);
        }
    }

    private static function flush(): void
    {
        while (ob_get_level() > 0 && @ob_end_flush());
        flush();
    }

    public static function returned(mixed $value): void
    {
        $encoder = new Encoder(self::$bounds);
        $encoder->value($value, 1);
        self::flush();
        self::done('R', $encoder->out);
    }

    private static function done(string $kind, string $text): void
    {
        self::$running = false;
        self::send($kind, $text);
    }

    public static function raised(\Throwable $thrown): void
    {
        $handler = set_exception_handler(null);
        if ($handler !== null) {
            set_exception_handler($handler);
            try {
                $handler($thrown);
                self::flush();
                self::done('Q', '255');
                return;
            } catch (\Throwable $another) {
                $thrown = $another;
            }
        }
        $text = Raise::encode($thrown, self::$bounds);
        self::flush();
        self::done('X', $text);
    }

    // The end of the process, by `exit` or a fatal error. The relay tells the status.
    public static function shut(): void
    {
        $error = error_get_last();
        $fatal = E_ERROR | E_CORE_ERROR | E_COMPILE_ERROR | E_USER_ERROR | E_PARSE | E_RECOVERABLE_ERROR;
        if (!self::$running) return;
        self::flush();
        if ($error !== null && $error['type'] & $fatal) self::done('F', Raise::fatal($error, self::$bounds));
    }

    public static function line(string $file, int $line, bool $top): ?string
    {
        if ($file !== self::$name || (self::$ambiguous && !$top)) return null;
        return explode("\n", self::$code)[$line - 1] ?? null;
    }

    private static function get(string $name, ?string $query): void
    {
        $name = str_starts_with($name, '$') ? substr($name, 1) : $name;
        if (!array_key_exists($name, $GLOBALS)) {
            self::raised(new \Error('Undefined variable $' . prefix($name, 128)));
            return;
        }
        try {
            if ($query === null) {
                self::returned($GLOBALS[$name]);
                return;
            }
            [self::$name, self::$code, self::$text] = ['<query>', $query, Text::of($query)];
            self::returned((static fn($value) => include 'dormouse-snippet://query')($GLOBALS[$name]));
        } catch (\Throwable $thrown) {
            self::raised($thrown);
        }
    }

    private static function set(string $name, string $json): void
    {
        $name = str_starts_with($name, '$') ? substr($name, 1) : $name;
        $value = json_decode($json, true, 512);
        $why = match (true) {
            json_last_error() !== JSON_ERROR_NONE => 'the value is not JSON, or is nested too deep',
            !preg_match('/^[A-Za-z_\x80-\xff][A-Za-z0-9_\x80-\xff]*$/D', $name) => 'the name is not an identifier',
            in_array($name, OWN_VARIABLES, true) => 'the name belongs to PHP',
            $name === 'this' => 'the name is a reserved word',
            default => null,
        };
        if ($why === null) $GLOBALS[$name] = $value;
        self::send($why === null ? 'K' : 'N', $why ?? '');
    }

    private static function names(): array
    {
        $names = array_filter(array_map('strval', array_keys($GLOBALS)), fn($name) => !in_array($name, OWN_VARIABLES, true));
        sort($names, SORT_STRING);
        return $names;
    }

    private static function vars(): string
    {
        $out = '';
        foreach (self::names() as $name) {
            $value = $GLOBALS[$name];
            $entry = ($out === '' ? '' : ',') . '{"name":' . quoted($name, 256) . ',"type":' . quoted(class_of($value), 256) . ',"summary":'
                . quoted(describe_short($value), min(self::$bounds['string_bytes'], LONGEST_SUMMARY)) . '}';
            if (strlen($out) + strlen($entry) + 2 > self::$bounds['total_bytes']) break;
            $out .= $entry;
        }
        return "[$out]";
    }

    private static function reset(): void
    {
        foreach (self::names() as $name) unset($GLOBALS[$name]);
        self::send('K', '');
    }

    // Whether the host's function did it, and its answer.
    public static function tool(string $name, string $arguments): array
    {
        if (strlen($arguments) > MOST_ARGUMENTS) return [false, 'the arguments have ' . strlen($arguments) . ' bytes, at most ' . MOST_ARGUMENTS . ' are taken'];
        if (!self::$running) return [false, 'tools can be called during a run only'];
        $name = prefix($name, 4096);
        self::send('C', pack('n', strlen($name)) . $name . $arguments);
        $answer = self::receive()[2];
        return [$answer[0] === "\x01", substr($answer, 1)];
    }
}

}

namespace {

Dormouse\Interpreter::start();
while (Dormouse\Interpreter::next()) {
    try {
        Dormouse\Interpreter::returned(include 'dormouse-snippet://snippet');
    } catch (Throwable $__dormouse) {
        // The variable is the interpreter's own: it is not listed, and gone before the next snippet.
        (function () {
            $thrown = $GLOBALS['__dormouse'];
            unset($GLOBALS['__dormouse']);
            Dormouse\Interpreter::raised($thrown);
        })();
    }
}

}
