<?php
namespace Dormouse {

// The host's functions as methods, as the guest's tools.c has them: `tools()->SERVER->TOOL(argument: value)` calls `SERVER.TOOL`.
final class Tools
{
    public function __construct(private string $path = '')
    {
    }

    private function __clone()
    {
    }

    private function below(string $name): string
    {
        return $this->path === '' ? $name : "$this->path.$name";
    }

    public function __get(string $name): self
    {
        return new self($this->below($name));
    }

    public function __set(string $name, mixed $value): void
    {
        throw new \Error('tools cannot be changed');
    }

    public function __unset(string $name): void
    {
        throw new \Error('tools cannot be changed');
    }

    public function __isset(string $name): bool
    {
        return true;
    }

    public function __serialize(): array
    {
        throw new \Exception("Serialization of 'Dormouse\\Tools' is not allowed");
    }

    public function __debugInfo(): array
    {
        return ['name' => $this->path];
    }

    public function __call(string $tool, array $arguments): mixed
    {
        $tool = $this->below($tool);
        return \call_tool($tool, self::named($tool, $arguments));
    }

    private static function named(string $tool, array $arguments): array
    {
        if (!array_key_exists(0, $arguments)) return $arguments;
        $name = ['search' => 'text', 'describe' => 'name'][$tool] ?? null;
        $given = $arguments[0];
        if (array_key_exists(1, $arguments) || !(is_array($given) || ($name !== null && is_string($given)))) {
            $wanted = $name !== null ? "one string: write ('text')" : "its arguments by name: write (argument: value), or (['argument' => value])";
            throw new \TypeError(prefix($tool, 100) . " takes $wanted");
        }
        unset($arguments[0]);
        return array_replace(is_array($given) ? $given : [$name => $given], $arguments);
    }

    // The call that an item of `call_tools` is: its name, and its arguments as JSON.
    public static function read(mixed $call): array|string
    {
        if (!is_array($call)) return 'that is no array';
        $arguments = $call[1] ?? [];
        if (!is_string($call[0] ?? null) || !preg_match('//u', $call[0])) return 'its first item is no name';
        if (!is_array($arguments)) return 'its second item is no array';
        if (count($call) > (array_key_exists(1, $call) ? 2 : 1)) return 'it has more than a name and an array';
        $json = self::json($arguments);
        return $json === null ? 'its arguments hold what JSON cannot say' : [$call[0], $json];
    }

    public static function json(array $arguments): ?string
    {
        $json = json_encode((object) $arguments, JSON_PRESERVE_ZERO_FRACTION);
        return $json === false ? null : $json;
    }

    public static function make(string $name, string $json): mixed
    {
        [$done, $answer] = Interpreter::tool($name, $json);
        if (!$done) throw \ToolError::of($answer);
        return json_decode($answer, true, 512);
    }
}

}

namespace {

/** A function of the host failed, or there is none of that name. */
class ToolError extends RuntimeException
{
    // With the place of the snippet's call.
    public static function of(string $message): self
    {
        $error = new self($message);
        $frames = debug_backtrace(DEBUG_BACKTRACE_IGNORE_ARGS);
        for ($at = 0; $at < count($frames) - 1 && ($frames[$at]['file'] ?? Dormouse\OWN) === Dormouse\OWN; $at++);
        $error->file = $frames[$at]['file'] ?? $error->file;
        $error->line = $frames[$at]['line'] ?? $error->line;
        (new ReflectionProperty(Exception::class, 'trace'))->setValue($error, array_slice($error->getTrace(), $at));
        return $error;
    }
}

/** The functions that the host offers, as methods. */
function tools(): Dormouse\Tools
{
    return new Dormouse\Tools();
}

/** Calls a function that the host offers, with JSON-compatible arguments, and returns its result. */
function call_tool(string $name, array $arguments = []): mixed
{
    if (!preg_match('//u', $name)) throw new ValueError('call_tool(): Argument #1 ($name) must be valid UTF-8');
    $json = Dormouse\Tools::json($arguments) ?? throw new ValueError('call_tool(): Argument #2 ($arguments) must hold only what JSON can say');
    return Dormouse\Tools::make($name, $json);
}

/** Makes several calls, here one after the other, and returns their results under the same keys. */
function call_tools(array $calls, bool $settle = false): array
{
    $read = array_map([Dormouse\Tools::class, 'read'], $calls);
    foreach ($read as $key => $why) {
        $wanted = "call_tools(): Argument #1 (\$calls) must hold calls such as ['server.tool', ['argument' => value]]";
        if (is_string($why)) throw new ValueError("$wanted: see " . Dormouse\prefix((string) $key, 100) . ", $why");
    }
    $results = [];
    foreach ($read as $key => [$name, $json]) {
        try {
            $result = Dormouse\Tools::make($name, $json);
            $results[$key] = $settle ? ['ok' => $result] : $result;
        } catch (ToolError $error) {
            if (!$settle) throw $error;
            $results[$key] = ['error' => $error->getMessage()];
        }
    }
    return $results;
}

}
