<?php
namespace Dormouse {

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
            elseif ($value instanceof \Throwable && !(new \ReflectionMethod($value, '__toString'))->isUserDefined()) $said = Raise::trace($value);
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

}
