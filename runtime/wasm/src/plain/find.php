<?php
// Finds the calls of tools that a program's text shows, so that they can be looked at before it runs.
//
// A call counts if its names stand in the text, and if nothing that the text shows can catch its failure: a program that expects
// one is right. There is no syntax tree here: what stands in a function without a name is left alone.

namespace Dormouse\Plain;

use PhpToken;
use UnexpectedValueException;

const MOST = 500;
// What makes a statement do something or not.
const BRANCHES = [T_IF, T_ELSE, T_ELSEIF, T_MATCH, T_SWITCH, T_WHILE, T_BOOLEAN_AND, T_BOOLEAN_OR, T_LOGICAL_AND, T_LOGICAL_OR, T_COALESCE];

/** A text that is no literal that JSON has. */
final class Other extends UnexpectedValueException {}

/** The calls as JSON. */
function calls(string $program): string
{
    unset($GLOBALS['__dormouse_program__']);
    $tagged = \preg_match('/<\?(php|=)/i', $program) ? $program : "<?php $program";
    $tokens = \array_values(\array_filter(PhpToken::tokenize($tagged), static fn ($token) => !$token->isIgnorable()));
    $found = (new Finder($tokens))->found();
    return \json_encode(\count($found) <= MOST ? $found : [], JSON_THROW_ON_ERROR | JSON_PRESERVE_ZERO_FRACTION | JSON_UNESCAPED_SLASHES);
}

/** The place behind the bracket that closes the one at a place. */
function past(array $tokens, int $at): int
{
    for ($depth = 0; $at < \count($tokens); $at++) {
        if ($tokens[$at]->is(['(', '[', '{', T_CURLY_OPEN, T_DOLLAR_OPEN_CURLY_BRACES, T_ATTRIBUTE])) {
            $depth++;
        } elseif ($tokens[$at]->is([')', ']', '}']) && --$depth === 0) {
            return $at + 1;
        }
    }
    return $at;
}

/** Parts of a list between commas. */
function parts(array $tokens): array
{
    $parts = [];
    for ($at = $begin = 0; $at < \count($tokens); $at++) {
        if ($tokens[$at]->is(['(', '[', '{', T_CURLY_OPEN, T_DOLLAR_OPEN_CURLY_BRACES, T_ATTRIBUTE])) {
            $at = past($tokens, $at) - 1;
        } elseif ($tokens[$at]->is(',')) {
            $parts[] = \array_slice($tokens, $begin, $at - $begin);
            $begin = $at + 1;
        }
    }
    $parts[] = \array_slice($tokens, $begin);
    return \array_values(\array_filter($parts));
}

/** What stands in an array's brackets; null: it is no array that is written down. */
function inside(array $value): ?array
{
    $begin = $value && $value[0]->is(T_ARRAY) ? 1 : 0;
    if (!isset($value[$begin]) || !$value[$begin]->is($begin ? '(' : '[') || past($value, $begin) !== \count($value)) {
        return null;
    }
    return \array_slice($value, $begin + 1, -1);
}

/** The key and the value of an entry; the key is null if there is none, and false if it is worked out. */
function entry(array $entry): array
{
    foreach ($entry as $at => $token) {
        if ($token->is(T_DOUBLE_ARROW)) {
            try {
                $key = $at === 1 ? literal([$entry[0]]) : false;
            } catch (Other) {
                $key = false;
            }
            // A key of digits is a number.
            $is_name = \is_string($key) && !\preg_match('/^-?[0-9]+$/', $key);
            return [$is_name ? $key : false, \array_slice($entry, $at + 1)];
        }
        if ($token->is(['(', '[', '{', T_FN, T_FUNCTION, T_MATCH])) {
            break;
        }
    }
    return [null, $entry];
}

function literal(array $value): mixed
{
    $items = inside($value);
    if ($items !== null) {
        $made = [];
        foreach (parts($items) as $part) {
            [$key, $of] = entry($part);
            if ($key === false || ($made && \array_is_list($made) !== ($key === null))) {
                throw new Other();
            }
            $key === null ? $made[] = literal($of) : $made[$key] = literal($of);
        }
        // An empty one is a list and an object.
        return $made ?: throw new Other();
    }
    $minus = \count($value) === 2 && $value[0]->is('-');
    $token = $value[$minus ? 1 : 0] ?? null;
    if ($token === null || \count($value) !== ($minus ? 2 : 1)) {
        throw new Other();
    }
    if ($token->is(T_LNUMBER) && \preg_match('/^(0|[1-9][0-9]{0,17})$/', $token->text)) {
        return $minus ? -(int) $token->text : (int) $token->text;
    }
    if ($token->is(T_DNUMBER) && \is_finite((float) $token->text) && !\str_contains($token->text, '_')) {
        return $minus ? -(float) $token->text : (float) $token->text;
    }
    if (!$minus && $token->is(T_STRING) && \in_array(\strtolower($token->text), ['true', 'false', 'null'], true)) {
        return ['true' => true, 'false' => false, 'null' => null][\strtolower($token->text)];
    }
    if ($minus || !$token->is(T_CONSTANT_ENCAPSED_STRING) || !\preg_match('//u', $token->text)) {
        throw new Other();
    }
    $text = \substr($token->text, 1, -1);
    if ($token->text[0] === "'") {
        return \preg_replace("/\\\\([\\\\'])/", '$1', $text);
    }
    return $token->text[0] === '"' && !\str_contains($text, '\\') ? $text : throw new Other();
}

/** What a call is given. */
final class Arguments
{
    public array $literals = [];
    public array $others = [];
    public bool $whole = true;
    public bool $positional = false;

    public function __construct(array $tokens)
    {
        $positions = [];
        foreach (parts($tokens) as $part) {
            if ($part[0]->is(T_ELLIPSIS)) {
                $this->whole = false;
            } elseif (isset($part[1]) && $part[1]->is(':') && \preg_match('/^[A-Za-z_]\w*$/', $part[0]->text)) {
                $this->named($part[0]->text, \array_slice($part, 2));
            } else {
                $positions[] = $part;
            }
        }
        if (\count($positions) > 1) {
            $this->positional = true;
        } elseif ($positions) {
            $this->position($positions[0]);
        }
    }

    private function position(array $value): void
    {
        $items = inside($value);
        if ($items === null) {
            $is_scalar = \count($value) === 1 && $value[0]->is([T_CONSTANT_ENCAPSED_STRING, T_LNUMBER, T_DNUMBER]);
            $is_text = $value[0]->is('"') && $value[\count($value) - 1]->is('"');
            $this->positional = $is_scalar || $is_text;
            $this->whole = $this->positional;
            return;
        }
        foreach (parts($items) as $part) {
            [$key, $of] = $part[0]->is(T_ELLIPSIS) ? [false, []] : entry($part);
            if (\is_string($key)) {
                $this->named($key, $of);
                continue;
            }
            // What is spread may replace what stands before it.
            $this->whole = false;
            $this->others = [...$this->others, ...\array_map(\strval(...), \array_keys($this->literals))];
            $this->literals = [];
        }
    }

    private function named(string $name, array $value): void
    {
        unset($this->literals[$name]);
        try {
            $this->literals[$name] = literal($value);
        } catch (Other) {
            $this->others[] = $name;
        }
    }
}

final class Finder
{
    private bool $catches;
    private bool $looks;
    /** How often a name stands there. */
    private array $names;

    public function __construct(private array $tokens)
    {
        $has = static fn (int ...$kinds) => \array_any($tokens, static fn ($token) => $token->is($kinds));
        $this->names = \array_count_values(\array_map(static fn ($token) => $token->is(T_STRING) ? $token->text : '', $tokens));
        $handles = isset($this->names['set_exception_handler']) || $has(T_EVAL);
        $this->catches = $has(T_CATCH) || $has(T_FINALLY) || $handles;
        $this->looks = $has(T_ISSET) || isset($this->names['search']) || isset($this->names['describe'])
            || isset($this->names['method_exists']) || isset($this->names['property_exists']);
        if ($has(T_NAMESPACE) || $handles) {
            // Functions of a namespace have the names of others.
            $this->tokens = [];
        }
    }

    public function found(): array
    {
        // What each open brace belongs to, and whether calls in it are left alone.
        [$found, $open, $next, $branches] = [[], [], null, false];
        foreach ($this->tokens as $at => $token) {
            if ($token->is([T_FUNCTION, T_FN])) {
                $next = $this->leaves($at);
                if ($token->is(T_FN)) {
                    // It ends somewhere in its statement.
                    $branches = true;
                    $next = null;
                    $open[] = 'fn';
                }
            } elseif ($token->is(T_TRY)) {
                $next = $this->catches;
            } elseif ($token->is(['{', T_CURLY_OPEN, T_DOLLAR_OPEN_CURLY_BRACES])) {
                $open[] = $next ?? ($this->looks && $branches);
                $next = null;
            } elseif ($token->is(['}', ';'])) {
                while (\end($open) === 'fn') {
                    \array_pop($open);
                }
                if ($token->is('}')) {
                    \array_pop($open);
                } elseif ($next !== null) {
                    // A function without a body.
                    $next = null;
                }
            }
            $branches = !$token->is(['{', '}', ';']) && ($branches || $token->is([...BRANCHES, '?']));
            if ($token->is(T_STRING) && $token->text === 'tools' && !\in_array(true, $open, true) && !\in_array('fn', $open, true)
                && !($this->looks && $branches)) {
                $call = $this->call($at);
                if ($call) {
                    $found[] = $call;
                }
            }
        }
        return $found;
    }

    /** Whether calls in a function are left alone. */
    private function leaves(int $at): bool
    {
        $name = $this->tokens[$at + 1] ?? null;
        if ($name?->is(['&', T_AMPERSAND_NOT_FOLLOWED_BY_VAR_OR_VARARG])) {
            $name = $this->tokens[$at + 2] ?? null;
        }
        $is_named = $name?->is(T_STRING) && ($this->names[$name->text] ?? 0) > 1;
        return $this->catches || !$is_named;
    }

    private function call(int $at): ?array
    {
        $tokens = $this->tokens;
        $before = $tokens[$at - 1] ?? null;
        if ($before?->is([T_OBJECT_OPERATOR, T_NULLSAFE_OBJECT_OPERATOR, T_DOUBLE_COLON, T_FUNCTION, T_NEW, T_NS_SEPARATOR, T_CONST])) {
            return null;
        }
        $is = static fn (int $at, $kind) => ($tokens[$at] ?? null)?->is($kind);
        if (!$is($at + 1, '(') || !$is($at + 2, ')')) {
            return null;
        }
        [$at, $path, $line] = [$at + 3, [], 0];
        while ($is($at, T_OBJECT_OPERATOR)) {
            $line = $tokens[$at + 1]->line ?? 0;
            if ($is($at + 1, T_STRING)) {
                $path[] = $tokens[$at + 1]->text;
                $at += 2;
            } elseif ($is($at + 1, '{') && $is($at + 2, T_CONSTANT_ENCAPSED_STRING) && $is($at + 3, '}')) {
                $path[] = literal([$tokens[$at + 2]]);
                $at += 4;
            } else {
                return null;
            }
            if ($is($at, '(')) {
                break;
            }
        }
        if (!$is($at, '(') || !$path || $path === ['search'] || $path === ['describe']) {
            return null;
        }
        $given = \array_slice($tokens, $at + 1, past($tokens, $at) - $at - 2);
        if (\count($given) === 1 && $given[0]->is(T_ELLIPSIS)) {
            return null;
        }
        $arguments = new Arguments($given);
        return [
            'line' => $line,
            'name' => \implode('.', $path),
            'literals' => (object) $arguments->literals,
            'others' => $arguments->others,
            'whole' => $arguments->whole,
            'positional' => $arguments->positional,
        ];
    }
}
