<?php
// The relay of the PHP interpreter (src/interpreter.rs): starts the interpreter, whose program is its argument, and passes on what that
// says and writes, in frames, until it has ended.
const CHUNK = 65536;
const DRAINED = 4 << 20; // bytes of one stream that may go before a message

function send(int $channel, string $data): void
{
    foreach (str_split($data, CHUNK) as $part) {
        for ($frame = pack('NC', strlen($part), $channel) . $part; $frame !== ''; $frame = substr($frame, $written)) {
            $written = @fwrite(STDOUT, $frame);
            if ($written === false) exit(0);
        }
    }
    fflush(STDOUT);
}

function drain(array $streams): void
{
    foreach ($streams as $channel => $stream) {
        for ($left = DRAINED; $left > 0; $left -= strlen($data)) {
            $data = fread($stream, CHUNK);
            if ($data === '' || $data === false) break;
            send($channel, $data);
        }
    }
}

// A file without a name, which the interpreter fills with its standard input.
function input_file()
{
    $file = @tmpfile();
    return $file ?: fopen('/dev/null', 'r');
}

$settings = ['display_errors=stderr', 'log_errors=0', 'html_errors=0', 'error_reporting=32767', 'memory_limit=-1', 'zend.exception_ignore_args=0',
    'zend.exception_string_param_max_len=15', 'output_buffering=0', 'implicit_flush=1', 'max_execution_time=0', 'opcache.enable_cli=0',
    'auto_prepend_file=', 'auto_append_file=', 'variables_order=EGPCS', 'date.timezone=UTC', 'phar.readonly=0', 'short_open_tag=0'];
$command = [PHP_BINARY];
foreach ($settings as $setting) array_push($command, '-d', $setting);
array_push($command, '-r', end($argv));
$child = proc_open($command, [input_file(), ['pipe', 'w'], ['pipe', 'w'], ['pipe', 'r'], ['pipe', 'w']], $pipes);
if (!$child) exit(1);
[, $output, $errors, $requests, $messages] = [null, $pipes[1], $pipes[2], $pipes[3], $pipes[4]];
$streams = [1 => $output, 2 => $errors];
foreach ([STDIN, $output, $errors, $requests, $messages] as $stream) {
    stream_set_blocking($stream, false);
    stream_set_read_buffer($stream, 0);
    stream_set_write_buffer($stream, 0);
}
$pending = '';
$asking = true;
do {
    $status = proc_get_status($child);
    $read = [...array_values($streams), $messages];
    if ($asking && strlen($pending) < 1 << 20) $read[] = STDIN;
    $write = $pending === '' ? [] : [$requests];
    $except = [];
    if (!$status['running']) break;
    if (!@stream_select($read, $write, $except, 1)) continue;
    $data = in_array($messages, $read, true) ? fread($messages, CHUNK) : '';
    drain($streams);
    if ($data !== '' && $data !== false) send(3, $data);
    if (in_array(STDIN, $read, true)) {
        $more = fread(STDIN, CHUNK);
        if ($more === '' || $more === false) {
            $asking = !feof(STDIN);
            if (!$asking) proc_terminate($child, 9);
        } else {
            $pending .= $more;
        }
    }
    if ($write) {
        $written = @fwrite($requests, $pending);
        if ($written) $pending = substr($pending, $written);
    }
    foreach ($streams as $channel => $stream) {
        if (feof($stream)) unset($streams[$channel]);
    }
    // It ends now, which takes a moment.
    if (feof($messages)) usleep(1000);
} while (true);
for ($data = fread($messages, CHUNK); $data !== '' && $data !== false; $data = fread($messages, CHUNK)) {
    drain($streams);
    send(3, $data);
}
drain($streams);
send(4, json_encode($status['signaled'] ? ['signal' => $status['termsig']] : ['exit' => $status['exitcode']]));
