<?php
// The PHP interpreter: serves requests on descriptor 3, answers on 4 (src/interpreter.rs). PHP 8.1 and later.
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

}
