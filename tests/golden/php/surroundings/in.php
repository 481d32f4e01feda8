<?php
return [
    "input" => stream_get_contents(STDIN),
    "environment" => getenv(),
    "arguments" => $argv,
    "server" => [$_SERVER["NAME"], $_SERVER["argc"]],
    "folder" => getcwd(),
    "file" => file_get_contents("in.txt"),
    "here" => [__FILE__, __DIR__, PHP_SAPI, PHP_OS, PHP_INT_SIZE],
];
