<?php
enum Color: string {
    case Red = "r";
}

enum Bare {
    case Only;
}

final class Order {
    private $secret = 1;
    protected $guarded = 2;

    function __construct(public readonly string $name, public array $lines, public ?Order $next = null) {}
}

return [
    "order" => new Order("first", [["apple", 2]], new Order("second", [])),
    "when" => new DateTimeImmutable("2024-02-29 12:00", new DateTimeZone("Europe/Berlin")),
    "color" => Color::Red,
    "bare" => Bare::Only,
    "function" => strlen(...),
    "closure" => function (int $a, &$b, ...$rest) {},
    "arrow" => fn($x = 1) => $x,
    "anonymous" => new class { public $x = 1; },
    "many" => [1 => [2 => [3 => [4 => 5]]]],
    "keys" => [5 => "five", "a" => "b", -1 => "minus"],
    "float" => 2.0,
    "big" => PHP_INT_MAX,
    "bytes" => "\xff\x00a",
];
