<?php
// Parses PHP files without running them. Fed to `php -` with the path of a job, as tests.py is.
(static function (): void {
    $job = json_decode(file_get_contents($_SERVER['argv'][1]), true);
    $failures = [];
    foreach ($job['files'] as $file) {
        try {
            token_get_all(file_get_contents($file), TOKEN_PARSE);
        } catch (ParseError $error) {
            $failures[] = ['name' => 'lint', 'file' => $file, 'line' => $error->getLine(), 'message' => substr($error->getMessage(), 0, 2000)];
        }
    }
    file_put_contents($job['result'], json_encode([
        'complete' => true, 'tool' => 'php -l', 'notes' => ['only the syntax was checked'], 'problems' => count($failures),
        'failures' => array_slice($failures, 0, 200),
    ], JSON_INVALID_UTF8_SUBSTITUTE));
})();
