<?php
// Calls, small integers, string building, array updates.
if (!function_exists("fib")) {
    function fib($n)
    {
        return $n < 2 ? $n : fib($n - 1) + fib($n - 2);
    }

    function tally($steps)
    {
        $seen = [];
        for ($step = 0; $step < $steps; $step++) {
            $key = "key" . ($step % 1000);
            $seen[$key] = ($seen[$key] ?? 0) + strlen($key . $step);
        }
        return $seen;
    }
}

$seen = tally(200_000);
echo fib(27), " ", count($seen), " ", array_sum($seen), "\n";
