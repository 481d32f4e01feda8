<?php
function divide(int $a, int $b): int {
    return intdiv($a, $b);
}

echo "before\n";
divide(1, 0);
