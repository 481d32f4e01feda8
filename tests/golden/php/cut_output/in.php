echo str_repeat("x", 30), "\n";
echo str_repeat("é", 30), "\n";
