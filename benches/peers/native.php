<?php
// Native PHP, for dormouse-bench: one JSON command a line in, one JSON answer a line out. A fresh PHP is a process;
// a warm one is this process.

$milliseconds = fn(int $begin) => (hrtime(true) - $begin) / 1e6;

$commands = [
    "fresh" => function (string $code, int $times) use ($milliseconds) {
        $ms = [];
        for ($i = 0; $i < $times; $i++) {
            $begin = hrtime(true);
            $process = proc_open([PHP_BINARY, "-n", "-r", "return $code;"], [], $pipes);
            proc_close($process);
            $ms[] = $milliseconds($begin);
        }
        return ["ms" => $ms];
    },
    "warm" => function (string $code, int $times) use ($milliseconds) {
        $ms = [];
        for ($i = 0; $i < $times; $i++) {
            $begin = hrtime(true);
            eval("return $code;");
            $ms[] = $milliseconds($begin);
        }
        return ["ms" => $ms];
    },
    "throughput" => function (string $code, float $seconds) {
        $begin = hrtime(true);
        for ($count = 0; hrtime(true) - $begin < $seconds * 1e9; $count++) {
            proc_close(proc_open([PHP_BINARY, "-n", "-r", "return $code;"], [], $pipes));
        }
        return ["rate" => $count / ((hrtime(true) - $begin) / 1e9)];
    },
    "run" => function (string $code) use ($milliseconds) {
        ob_start();
        $begin = hrtime(true);
        eval(preg_replace('/^<\?php/', "", $code));
        $ms = $milliseconds($begin);
        return ["ms" => [$ms], "out" => ob_get_clean()];
    },
    "version" => fn() => ["version" => PHP_VERSION],
];

while (($line = fgets(STDIN)) !== false) {
    $command = json_decode($line, true);
    $name = $command["do"];
    unset($command["do"]);
    try {
        $answer = $commands[$name](...$command);
    } catch (Throwable $error) {
        $answer = ["error" => $error::class . ": " . substr($error->getMessage(), 0, 250)];
    }
    echo json_encode($answer), "\n";
}
