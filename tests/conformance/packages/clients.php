<?php
// What clients of PHP packages do with `server.py`, by each of their ways to connect. The answer is what went wrong.

/** Does things by name. What differs from what is wanted is told. */
function wrong(array $things): array
{
    $wrong = [];
    foreach ($things as $name => [$do, $wanted]) {
        try {
            $found = $do();
        } catch (Throwable $error) {
            $found = get_class($error) . ': ' . $error->getMessage();
        }
        if ($found !== $wanted) {
            $wrong[] = "$name: " . substr(json_encode($found) ?: 'no text', 0, 200);
        }
    }
    return $wrong;
}

/** The last part of the class of what is thrown. */
function thrown(callable $do): string
{
    try {
        $do();
        return 'nothing';
    } catch (Throwable $error) {
        return substr(strrchr('\\' . get_class($error), '\\'), 1);
    }
}

function guzzle(?callable $handler, string $https, string $http, int $gone): array
{
    $stack = $handler ? ['handler' => GuzzleHttp\HandlerStack::create($handler)] : [];
    $client = new GuzzleHttp\Client($stack + ['base_uri' => $https, 'timeout' => 20]);
    $json = static fn($answer) => json_decode($answer->getBody());
    $events = static fn() => $client->get('/events', ['stream' => true])->getBody();
    $several = static fn() => GuzzleHttp\Promise\Utils::unwrap(array_map(static fn() => $client->getAsync('/late?seconds=0.1'), range(1, 6)));
    $requests = static function () use ($http) {
        for ($i = 0; $i < 40; $i++) {
            yield new GuzzleHttp\Psr7\Request('GET', "$http/echo");
        }
    };
    $pool = static function () use ($client, $requests) {
        $count = 0;
        $pool = new GuzzleHttp\Pool($client, $requests(), ['concurrency' => 30, 'fulfilled' => static function () use (&$count) { $count++; }]);
        $pool->promise()->wait();
        return $count;
    };
    return wrong([
        'a query' => [static fn() => $json($client->get('/echo', ['query' => ['a' => 1]]))->path, '/echo?a=1'],
        'JSON' => [static fn() => $json($client->post('/echo', ['json' => ['a' => 1]]))->body, '{"a":1}'],
        'a form' => [static fn() => str_contains($json($client->post("$http/echo", ['multipart' => [['name' => 'f', 'contents' => 'abc', 'filename' => 'f.txt']]]))->body, 'filename="f.txt"'), true],
        'a stream' => [static fn() => strlen($json($client->put('/echo', ['body' => GuzzleHttp\Psr7\Utils::streamFor(str_repeat('z', 300000))]))->body), 300000],
        'gzip' => [static fn() => strlen($client->get('/zipped')->getBody()), 600],
        'a redirect' => [static fn() => $json($client->get('/elsewhere'))->path, '/echo?from=elsewhere'],
        'authentication' => [static fn() => $json($client->get('/echo', ['auth' => ['u', 'p']]))->headers->authorization, 'Basic dTpw'],
        'cookies' => [static fn() => $client->get('/cookie', ['cookies' => $jar = new GuzzleHttp\Cookie\CookieJar()]) ? $jar->getCookieByName('a')->getValue() : null, '1'],
        'much' => [static fn() => strlen($client->get('/big?bytes=1000000')->getBody()), 1000000],
        'events' => [static fn() => trim(GuzzleHttp\Psr7\Utils::readLine($events())), 'data: 0'],
        'a file' => [static fn() => $client->get('/big?bytes=5000', ['sink' => '/tmp/sink']) ? filesize('/tmp/sink') : 0, 5000],
        'no body' => [static fn() => $client->head('/echo')->getStatusCode(), 200],
        'several' => [static fn() => count($several()), 6],
        'a pool' => [$pool, 40],
        'denied' => [static fn() => thrown(static fn() => $client->get('http://elsewhere.invalid/')), 'ConnectException'],
        'refused' => [static fn() => thrown(static fn() => $client->get("https://127.0.0.1:$gone/")), 'ConnectException'],
        'late' => [static fn() => thrown(static fn() => $client->get('/late?seconds=3', ['timeout' => 0.3])), 'ConnectException'],
    ]);
}

function symfony(Symfony\Contracts\HttpClient\HttpClientInterface $client, string $https, string $http, int $gone): array
{
    $get = static fn($url, $options = []) => $client->request('GET', $url, $options + ['timeout' => 20]);
    $events = static function () use ($client, $get, $https) {
        $text = '';
        foreach ($client->stream($get("$https/events")) as $chunk) {
            $text .= $chunk->getContent();
        }
        return substr_count($text, 'data: ');
    };
    $pieces = static function () {
        yield 'one';
        yield 'two';
    };
    $several = static function () use ($get, $https) {
        $answers = array_map(static fn() => $get("$https/late?seconds=0.1"), range(1, 6));
        return implode(array_unique(array_map(static fn($answer) => $answer->getContent(), $answers)));
    };
    return wrong([
        'a query' => [static fn() => $get("$https/echo", ['query' => ['a' => 1]])->toArray()['path'], '/echo?a=1'],
        'JSON' => [static fn() => $client->request('POST', "$https/echo", ['json' => ['a' => 1]])->toArray()['body'], '{"a":1}'],
        'pieces' => [static fn() => $client->request('PUT', "$http/echo", ['body' => $pieces()])->toArray()['body'], 'onetwo'],
        'gzip' => [static fn() => strlen($get("$https/zipped")->getContent()), 600],
        'a redirect' => [static fn() => $get("$http/elsewhere")->toArray()['path'], '/echo?from=elsewhere'],
        'authentication' => [static fn() => $get("$https/echo", ['auth_basic' => ['u', 'p']])->toArray()['headers']['authorization'], 'Basic dTpw'],
        'much' => [static fn() => strlen($get("$https/big?bytes=1000000")->getContent()), 1000000],
        'events' => [$events, 5],
        'several' => [$several, 'late'],
        'denied' => [static fn() => thrown(static fn() => $get('http://elsewhere.invalid/')->getContent()), 'TransportException'],
        'refused' => [static fn() => thrown(static fn() => $get("https://127.0.0.1:$gone/")->getContent()), 'TransportException'],
        // `TimeoutException` by curl, which is a `TransportException`, as streams have it.
        'late' => [static fn() => str_starts_with(thrown(static fn() => $get("$https/late?seconds=3", ['timeout' => 0.3])->getContent()), 'T'), true],
    ]);
}
