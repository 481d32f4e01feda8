try {
    call_tool("fail", ["why" => "closed"]);
} catch (RuntimeException $error) {
    echo $error::class, " ", $error->getMessage(), "\n";
}
call_tool("echo", ["number" => 1, "text" => "ü", "nested" => ["list" => [1, null]]]);
