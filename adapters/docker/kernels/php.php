<?php
// The PHP kernel: serves requests on descriptor 3, answers on 4 (src/kernel.rs). PHP 8.1 and later.
//
// A snippet is a file of the stream `dormouse-snippet:`, included at the top level, so that its variables are the globals.
// `return` is put before a last statement that is an expression; the parser says whether it is one.

namespace Dormouse {

const PROTOCOL = 1;
const MOST_ARGUMENTS = 1 << 20;
const LONGEST_KEY = 256;
const LONGEST_SUMMARY = 200;
const LONGEST_TRACE = 8192;
const LONGEST_EXCERPT = 400;
const MOST_CAUSES = 10;
const MARKER_ROOM = 160;
const END_ROOM = 96;
const SAFE_INTEGER = 9007199254740991;
const OWN = 'Command line code';
const OWN_VARIABLES = ['_GET', '_POST', '_COOKIE', '_FILES', '_SERVER', '_ENV', '_REQUEST', '_SESSION', 'GLOBALS', 'argv', 'argc', '__dormouse'];

// The first bytes of a text, up to a character border.
function prefix(string $text, int $limit): string
{
    if (strlen($text) <= $limit) return $text;
    for ($end = $limit, $i = 0; $i < 3 && $end > 0 && (ord($text[$end]) & 0xC0) === 0x80; $i++) $end--;
    return substr($text, 0, $end > 0 && (ord($text[$end]) & 0xC0) === 0x80 ? $limit : $end);
}

function quoted(string $text, int $limit = PHP_INT_MAX): string
{
    return json_encode(prefix($text, $limit), JSON_UNESCAPED_UNICODE | JSON_UNESCAPED_SLASHES | JSON_INVALID_UTF8_SUBSTITUTE) ?: '""';
}

function class_of(mixed $value): string
{
    if (is_object($value)) return explode("\0", get_class($value))[0];
    if (is_resource($value) || gettype($value) === 'resource (closed)') return 'resource';
    return get_debug_type($value);
}

function describe_closure(\Closure $closure): string
{
    $function = new \ReflectionFunction($closure);
    $names = array_map(fn($parameter) => ($parameter->isVariadic() ? '...$' : '$') . $parameter->getName(), $function->getParameters());
    return prefix($function->getName(), 200) . '(' . implode(', ', $names) . ')';
}

function describe_keys(array $keys): string
{
    $shown = array_map(fn($key) => prefix((string) $key, 40), array_slice($keys, 0, 8));
    return ' {' . implode(', ', $shown) . (count($keys) > 8 ? ', ...' : '') . '}';
}

function describe_short(mixed $value): string
{
    if (is_string($value)) return "'" . prefix($value, 200) . (strlen($value) > strlen(prefix($value, 200)) ? "...'" : "'");
    if (is_float($value)) return is_nan($value) ? 'NAN' : (is_infinite($value) ? ($value > 0 ? 'INF' : '-INF') : json_encode($value));
    if (is_array($value)) return 'array(' . count($value) . ')' . (array_is_list($value) ? '' : describe_keys(array_filter(array_keys($value), 'is_string')));
    if ($value instanceof \Closure) return describe_closure($value);
    if ($value instanceof \UnitEnum) return class_of($value) . '::' . $value->name;
    if (is_object($value)) return class_of($value) . describe_keys(public_names($value));
    if (class_of($value) === 'resource') return 'resource(' . get_resource_id($value) . ')';
    return $value === null ? 'null' : ($value === false ? 'false' : ($value === true ? 'true' : (string) $value));
}

function public_names(object $value): array
{
    return array_values(array_filter(array_keys((array) $value), fn($name) => !str_starts_with((string) $name, "\0")));
}

// Typed values (docs/values.md), within bounds, as the Wasm guest's encode.c writes them.
final class Encoder
{
    public string $out = '';
    private array $open = [];
    private array $ids = [];
    private array $kept = [];
    private int $last = 0;
    private int $reserved = 0;
    private bool $full = false;

    public function __construct(private array $bounds) {}

    private function over(): bool
    {
        return strlen($this->out) + $this->reserved > $this->bounds['total_bytes'];
    }

    private function id(object $object): int
    {
        $this->kept[] = $object;
        return $this->ids[spl_object_id($object)] ??= ++$this->last;
    }

    private function class(mixed $value, int $limit = LONGEST_KEY): string
    {
        return ',"class":' . quoted(class_of($value), $limit);
    }

    private function raised(mixed $value, \Throwable $thrown): void
    {
        $message = $thrown->getMessage();
        $reason = class_of($thrown) . ($message === '' ? '' : ': ' . prefix($message, 400));
        $this->out .= '{"type":"unknown"' . $this->class($value) . ',"reason":' . quoted($reason, LONGEST_KEY) . '}';
    }

    // `$reference` is the identity of the variable that holds the value, where several share it.
    public function value(mixed $value, int $level, ?string $reference = null): void
    {
        $before = $this->out;
        if (strlen($this->out) + $this->reserved + MARKER_ROOM > $this->bounds['total_bytes']) $this->full = true;
        if (!$this->full) {
            $leaf = !is_array($value) && !is_object($value);
            if ($leaf) $this->leaf($value);
            else $this->container($value, $level, $reference);
            if (!$this->over() && (!$leaf || strlen($this->out) + $this->reserved + MARKER_ROOM <= $this->bounds['total_bytes'])) return;
        }
        $this->full = true;
        $this->out = $before . '{"type":"unknown"' . $this->class($value, 40) . ',"reason":"value too large"}';
    }

    private function leaf(mixed $value): void
    {
        if ($value === null) $this->out .= '{"type":"null","value":null}';
        elseif (is_bool($value)) $this->out .= '{"type":"bool","value":' . ($value ? 'true' : 'false') . '}';
        elseif (is_int($value)) {
            $quote = abs($value) <= SAFE_INTEGER ? '' : '"';
            $this->out .= "{\"type\":\"int\",\"value\":$quote$value$quote}";
        } elseif (is_float($value)) $this->out .= '{"type":"float","value":' . $this->float($value) . '}';
        elseif (is_string($value)) $this->string($value);
        else {
            $kind = get_resource_type($value);
            $this->out .= '{"type":"resource","class":' . quoted($kind === 'Unknown' ? 'closed' : $kind, LONGEST_KEY) . ',"id":' . get_resource_id($value) . '}';
        }
    }

    private function float(float $value): string
    {
        if (is_nan($value)) return '"NaN"';
        if (is_infinite($value)) return $value > 0 ? '"Infinity"' : '"-Infinity"';
        return $value == 0 && fdiv(1, $value) < 0 ? '"-0"' : json_encode($value, JSON_PRESERVE_ZERO_FRACTION);
    }

    private function string(string $value): void
    {
        $length = strlen($value);
        if (preg_match('//u', $value)) {
            $head = prefix($value, $this->bounds['string_bytes']);
            $cut = strlen($head) < $length ? ",\"truncated\":true,\"length\":$length" : '';
            $this->out .= '{"type":"string","value":' . quoted($head) . $cut . '}';
            return;
        }
        $head = substr($value, 0, $this->bounds['string_bytes']);
        $cut = strlen($head) < $length ? ',"truncated":true' : '';
        $this->out .= '{"type":"bytes","value":"' . base64_encode($head) . "\",\"length\":$length$cut}";
    }

    private function container(mixed $value, int $level, ?string $reference): void
    {
        $identity = is_object($value) ? 'o' . spl_object_id($value) : ($reference === null ? null : "r$reference");
        if ($identity !== null && isset($this->open[$identity])) {
            $id = $this->open[$identity] = $this->open[$identity] ?: (is_object($value) ? $this->id($value) : ++$this->last);
            $this->out .= '{"type":"reference"' . $this->class($value) . ",\"id\":$id}";
            return;
        }
        if ($identity !== null) $this->open[$identity] = 0;
        $this->reserved += END_ROOM;
        $opened = $level <= $this->bounds['depth'];
        $before = $this->out;
        $object = false;
        try {
            if (is_array($value)) $this->array($value, $level, $opened);
            elseif ($value instanceof \Traversable && !$this->has_own_info($value)) $this->iterable($value, $level, $opened);
            else {
                $object = true;
                $this->object($value, $level, $opened);
            }
        } catch (\Throwable $thrown) {
            $this->out = $before;
            $this->raised($value, $thrown);
        }
        $this->reserved -= END_ROOM;
        $id = $identity === null ? 0 : $this->open[$identity];
        if ($identity !== null) unset($this->open[$identity]);
        // Something inside refers back to it. An object has said its id already.
        if ($id && !$object && str_ends_with($this->out, '}')) $this->out = substr($this->out, 0, -1) . ",\"id\":$id}";
    }

    // One item, with its comma; false when it had to be left out.
    private function item(bool $first, string $head, mixed $value, int $level, ?string $reference = null): bool
    {
        $before = $this->out;
        $this->out .= ($first ? '' : ',') . $head;
        $this->value($value, $level + 1, $reference);
        if ($this->over()) $this->full = true;
        if (!$this->full || !$this->over()) return true;
        $this->out = $before;
        return false;
    }

    // The shown entries; whether that is all from the offset on.
    private function table(array $table, bool $keyed, int $level): bool
    {
        $skip = $level === 1 ? $this->bounds['offset'] : 0;
        $shown = 0;
        foreach ($table as $key => $value) {
            if ($skip > 0) {
                $skip--;
                continue;
            }
            if ($shown === $this->bounds['items'] || $this->full) return false;
            $reference = is_array($value) ? \ReflectionReference::fromArrayElement($table, $key)?->getId() : null;
            if (!$this->item($shown === 0, $keyed ? quoted((string) $key, LONGEST_KEY) . ':' : '', $value, $level, $reference)) return false;
            $shown++;
        }
        return true;
    }

    private function array(array $value, int $level, bool $opened): void
    {
        $list = array_is_list($value);
        $this->out .= '{"type":"array","is_list":' . ($list ? 'true' : 'false') . ',"count":' . count($value);
        $whole = false;
        if ($opened) {
            $this->out .= $list ? ',"value":[' : ',"value":{';
            $whole = $this->table($value, !$list, $level);
            $this->out .= $list ? ']' : '}';
        }
        $this->out .= !$whole || $this->full ? ',"truncated":true}' : '}';
    }

    private function has_own_info(object $value): bool
    {
        return method_exists($value, '__debugInfo') && (new \ReflectionMethod($value, '__debugInfo'))->isUserDefined();
    }

    private function iterable(object $value, int $level, bool $opened): void
    {
        $size = null;
        try {
            if ($value instanceof \Countable) $size = count($value);
        } catch (\Throwable) {
            // It does not know.
        }
        $this->out .= '{"type":"iterable"' . $this->class($value);
        if ($opened) {
            $this->out .= ',"preview":[';
            [$seen, $exhausted] = $this->preview($value, $level);
            $exhausted = ($exhausted || ($size !== null && $seen >= $size)) && !$this->full;
            $this->out .= '],"exhausted":' . ($exhausted ? 'true' : 'false');
        } else {
            $this->out .= ',"exhausted":false';
        }
        if ($size !== null && $size >= 0) $this->out .= ",\"size_hint\":$size";
        $this->out .= $opened ? '}' : ',"truncated":true}';
    }

    // The number of items that were taken, and whether there are no more.
    private function preview(\Traversable $value, int $level): array
    {
        $iterator = $value;
        while ($iterator instanceof \IteratorAggregate) $iterator = $iterator->getIterator();
        if (!$iterator instanceof \Iterator) $iterator = new \IteratorIterator($iterator);
        // A generator that has begun cannot be rewound; it goes on where it is.
        if (!$iterator instanceof \Generator) $iterator->rewind();
        $skip = $level === 1 ? $this->bounds['offset'] : 0;
        for ($shown = $taken = 0; !$this->full && $shown < $this->bounds['items']; $iterator->next()) {
            if (!$iterator->valid()) return [$taken, true];
            $item = $iterator->current();
            $taken++;
            if ($skip > 0) {
                $skip--;
                continue;
            }
            if (!$this->item($shown === 0, '', $item, $level)) $this->full = true;
            // A full preview does not ask for one more item: that would consume what is not shown.
            if (++$shown === $this->bounds['items']) break;
        }
        return [$taken, false];
    }

    private function properties(object $value): array
    {
        if (!$this->has_own_info($value)) return array_filter((array) $value, fn($name) => !str_starts_with((string) $name, "\0"), ARRAY_FILTER_USE_KEY);
        $told = $value->__debugInfo();
        if (!is_array($told) && $told !== null) throw new \TypeError('__debugInfo() must return an array');
        return $told ?? [];
    }

    private function object(object $value, int $level, bool $opened): void
    {
        $bare = $value instanceof \Closure;
        $properties = $opened && !$bare ? $this->properties($value) : [];
        $this->out .= '{"type":"object"' . $this->class($value) . ',"id":' . $this->id($value);
        $whole = $bare;
        if ($opened && !$bare) {
            $this->out .= ',"properties":{';
            $whole = $this->table($properties, true, $level);
            $this->out .= '}';
        }
        if (($opened || $bare) && !$this->full) $this->text($value);
        $this->out .= $whole && !$this->full ? '}' : ',"truncated":true}';
    }

    // What an object says of itself. A text that is too long is dropped, not cut to pieces.
    private function text(object $value): void
    {
        try {
            if ($value instanceof \Closure) $said = describe_closure($value);
            elseif ($value instanceof \UnitEnum) $said = describe_short($value);
            elseif ($value instanceof \Stringable) $said = $value->__toString();
            else return;
        } catch (\Throwable) {
            return;
        }
        $before = $this->out;
        $this->out .= ',"repr":' . quoted($said, $this->bounds['string_bytes']);
        if ($this->over()) $this->out = $before;
    }
}

// Exceptions, as the guest's raise.c writes them.
final class Raise
{
    // The frames of a throwable, without the kernel's own.
    private static function frames(\Throwable $thrown): array
    {
        $frames = [];
        foreach ($thrown->getTrace() as $frame) {
            if (($frame['file'] ?? '') === OWN) break;
            $frames[] = $frame;
        }
        return $frames;
    }

    private static function place(?string $file, int $line): string
    {
        return $file === null ? ' ([internal function])' : ' (' . prefix($file, 200) . ":$line)";
    }

    // PHP's frames say what was called and from where. Here each says what ran and where it was: the place moves one up.
    private static function stack(\Throwable $thrown, int $most): array
    {
        [$file, $line, $shown] = [$thrown->getFile(), $thrown->getLine(), []];
        foreach (self::frames($thrown) as $frame) {
            if (count($shown) > $most) break;
            $class = isset($frame['class']) ? prefix(explode("\0", $frame['class'])[0], 200) . ($frame['type'] ?? '::') : '';
            $shown[] = $class . prefix($frame['function'] ?? '', 200) . self::place($file, $line);
            [$file, $line] = [$frame['file'] ?? null, $frame['line'] ?? 0];
        }
        $shown[] = '{main}' . self::place($file, $line);
        return count($shown) > $most ? [...array_slice($shown, 0, $most), '...(truncated)'] : $shown;
    }

    private static function message(string $message, int $limit): string
    {
        $head = prefix($message, $limit);
        return strlen($head) < strlen($message) ? "$head...(truncated)" : $head;
    }

    // PHP's rendering, without the kernel's frames, cut in the middle, where deep recursion repeats itself.
    private static function trace(\Throwable $thrown): string
    {
        $parts = [];
        for ($at = $thrown; $at !== null; $at = $at->getPrevious()) {
            $lines = explode("\n", $at->getTraceAsString());
            $count = count(self::frames($at));
            $kept = implode("\n", array_slice($lines, 0, $count)) . ($count ? "\n" : '');
            $message = $at->getMessage();
            $head = class_of($at) . ($message === '' ? '' : ": $message") . " in {$at->getFile()}:{$at->getLine()}";
            array_unshift($parts, "$head\nStack trace:\n$kept#$count {main}");
        }
        $whole = implode("\n\nNext ", $parts);
        if (strlen($whole) <= LONGEST_TRACE) return $whole;
        for ($tail = strlen($whole) - LONGEST_TRACE / 2; $tail < strlen($whole) && (ord($whole[$tail]) & 0xC0) === 0x80; $tail++);
        return prefix($whole, LONGEST_TRACE / 2 - 8) . "\n...\n" . substr($whole, $tail);
    }

    private static function one(\Throwable $thrown, int $bytes, int $frames): array
    {
        $file = $thrown->getFile();
        return [
            'class' => prefix(class_of($thrown), 256),
            'message' => self::message($thrown->getMessage(), $bytes),
            'code' => is_int($thrown->getCode()) || is_string($thrown->getCode()) ? $thrown->getCode() : null,
            'file' => $file === '' ? null : prefix($file, 256),
            'line' => $thrown->getLine() > 0 ? $thrown->getLine() : null,
            'column' => null,
            'stack_trace' => self::stack($thrown, $frames),
        ];
    }

    public static function encode(\Throwable $thrown, array $bounds): string
    {
        for ($causes = [], $at = $thrown->getPrevious(); $at !== null && count($causes) < MOST_CAUSES; $at = $at->getPrevious()) $causes[] = $at;
        [$bytes, $frames] = [$bounds['string_bytes'], $bounds['frames']];
        for (;;) {
            $told = self::one($thrown, $bytes, $frames);
            $excerpt = Kernel::line($thrown->getFile(), $thrown->getLine(), !self::frames($thrown));
            if ($excerpt !== null) $told['excerpt'] = prefix($excerpt, LONGEST_EXCERPT);
            $told['traceback'] = self::trace($thrown);
            $told['previous'] = array_map(fn($cause) => self::one($cause, $bytes, $frames) + ['previous' => []], $causes);
            $out = self::json($told);
            if (strlen($out) <= $bounds['total_bytes'] || $bytes < 64) return $out;
            [$bytes, $frames] = [$bytes >> 2, $frames >> 1];
        }
    }

    public static function json(array $told): string
    {
        return json_encode($told, JSON_UNESCAPED_UNICODE | JSON_UNESCAPED_SLASHES | JSON_INVALID_UTF8_SUBSTITUTE);
    }

    // A fatal error has no object: what PHP remembers of it.
    public static function fatal(array $error, array $bounds): string
    {
        $memory = str_contains($error['message'], 'Allowed memory size') || str_contains($error['message'], 'Out of memory');
        $class = $memory ? 'OutOfMemoryError' : match ($error['type']) {
            E_COMPILE_ERROR => 'CompileError',
            E_PARSE => 'ParseError',
            default => 'FatalError',
        };
        $message = explode("\nStack trace:", $error['message'])[0];
        $told = ['class' => $class, 'message' => self::message($message, $bounds['string_bytes']), 'code' => null, 'file' => prefix($error['file'], 256),
            'line' => $error['line'] ?: null, 'column' => null, 'stack_trace' => []];
        $excerpt = $memory ? null : Kernel::line($error['file'], $error['line'], false);
        return self::json($told + ($excerpt === null ? [] : ['excerpt' => prefix($excerpt, LONGEST_EXCERPT)]) + ['previous' => []]);
    }
}

// The text of a snippet as it is compiled.
final class Text
{
    private static function parses(string $text): bool
    {
        try {
            token_get_all($text, TOKEN_PARSE);
            return true;
        } catch (\Throwable) {
            return false;
        }
    }

    // `<?php ...` and `<html>...` are files; anything else is code. No statement begins with `<`, except a heredoc.
    private static function opened(string $code): string
    {
        if (str_starts_with($code, "\u{FEFF}")) $code = substr($code, 3);
        if (str_starts_with($code, '#!')) $code = '//' . $code;
        $blank = strspn($code, " \t\r\n");
        $rest = substr($code, $blank);
        if (!str_starts_with($rest, '<') || str_starts_with($rest, '<<<')) return "<?php $code";
        // Blank lines before `<?php` would be printed. They are kept in the count of lines.
        return $blank && str_starts_with($rest, '<?php') ? '<?php ' . substr($code, 0, $blank) . substr($rest, 5) : $code;
    }

    public static function of(string $code): string
    {
        $text = self::opened($code);
        if (!function_exists('token_get_all')) return $text;
        // A snippet may leave out its last semicolon.
        if (!self::parses($text)) {
            if (!self::parses("$text\n;")) return $text;
            $text .= "\n;";
        }
        foreach (self::starts($text) as $at) {
            $returning = substr($text, 0, $at) . 'return ' . substr($text, $at);
            if (self::parses($returning)) return $returning;
        }
        return $text;
    }

    // Where the last statement may begin, the longest first: behind the semicolon before it, or behind a block after that.
    private static function starts(string $text): array
    {
        $depth = $offset = 0;
        $starts = [];
        $fresh = true; // the next token that says something begins a statement
        $reset = true; // and it does so in any case
        foreach (token_get_all($text) as $token) {
            [$kind, $part] = is_array($token) ? $token : [$token, $token];
            $silent = in_array($kind, [T_WHITESPACE, T_COMMENT, T_DOC_COMMENT], true);
            if ($depth === 0 && in_array($kind, [T_OPEN_TAG, T_CLOSE_TAG, T_INLINE_HTML, ';'], true)) {
                $fresh = $reset = true;
                if ($kind === T_INLINE_HTML || $kind === T_CLOSE_TAG) $starts = [];
            } elseif (!$silent) {
                if ($fresh && $depth === 0) {
                    $starts = $reset ? [$offset] : [...$starts, $offset];
                    $fresh = $reset = false;
                }
                if (in_array($kind, ['(', '[', '{', T_CURLY_OPEN, T_DOLLAR_OPEN_CURLY_BRACES, T_ATTRIBUTE], true)) $depth++;
                if (in_array($kind, [')', ']', '}'], true)) {
                    $depth--;
                    $fresh = $depth === 0 && $kind === '}';
                }
            }
            $offset += strlen($part);
        }
        return $starts;
    }
}

// The stream that a snippet is included from: its name is the snippet's, not a path.
final class Snippet
{
    public $context;
    private int $at = 0;

    public function stream_open($path, $mode, $options, &$opened): bool
    {
        $opened = Kernel::$name;
        return true;
    }

    public function stream_read(int $count): string
    {
        $part = substr(Kernel::$text, $this->at, $count);
        $this->at += strlen($part);
        return $part;
    }

    public function stream_eof(): bool
    {
        return $this->at >= strlen(Kernel::$text);
    }

    public function stream_stat(): array
    {
        return [];
    }

    public function stream_set_option($option, $first, $second): bool
    {
        return false;
    }
}

final class Kernel
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
        $file = @fopen('/proc/self/fd/0', 'r+');
        if ($file && @ftruncate($file, 0)) {
            fwrite($file, self::$input);
            fclose($file);
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
            self::returned((static fn($value) => include 'dormouse-snippet:query')($GLOBALS[$name]));
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

/** A function of the host failed, or there is none of that name. */
class ToolError extends RuntimeException
{
    public static function of(string $message): self
    {
        $error = new self($message);
        $frame = debug_backtrace(DEBUG_BACKTRACE_IGNORE_ARGS)[1] ?? [];
        $error->file = $frame['file'] ?? $error->file;
        $error->line = $frame['line'] ?? $error->line;
        (new ReflectionProperty(Exception::class, 'trace'))->setValue($error, array_slice($error->getTrace(), 1));
        return $error;
    }
}

/** Calls a function that the host offers, with JSON-compatible arguments, and returns its result. */
function call_tool(string $name, array $arguments = []): mixed
{
    if (!preg_match('//u', $name)) throw new ValueError('call_tool(): Argument #1 ($name) must be valid UTF-8');
    $json = json_encode((object) $arguments, JSON_PRESERVE_ZERO_FRACTION);
    if ($json === false) throw new ValueError('call_tool(): Argument #2 ($arguments) must hold only what JSON can say');
    [$done, $answer] = Dormouse\Kernel::tool($name, $json);
    if (!$done) throw ToolError::of($answer);
    return json_decode($answer, true, 512);
}

Dormouse\Kernel::start();
while (Dormouse\Kernel::next()) {
    try {
        Dormouse\Kernel::returned(include 'dormouse-snippet:snippet');
    } catch (Throwable $__dormouse) {
        // The variable is the kernel's own: it is not listed, and gone before the next snippet.
        (function () {
            $thrown = $GLOBALS['__dormouse'];
            unset($GLOBALS['__dormouse']);
            Dormouse\Kernel::raised($thrown);
        })();
    }
}

}
