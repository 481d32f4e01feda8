<?php
namespace Dormouse {

// Exceptions, as the guest's raise.c writes them.
final class Raise
{
    // The frames of a throwable, without the interpreter's own.
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

    // PHP's rendering, without the interpreter's frames, cut in the middle, where deep recursion repeats itself.
    public static function trace(\Throwable $thrown): string
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
            $excerpt = Interpreter::line($thrown->getFile(), $thrown->getLine(), !self::frames($thrown));
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
        $excerpt = $memory ? null : Interpreter::line($error['file'], $error['line'], false);
        return self::json($told + ($excerpt === null ? [] : ['excerpt' => prefix($excerpt, LONGEST_EXCERPT)]) + ['previous' => []]);
    }
}

}
