//! Python reaches the network: clients of its own library over the connections of the contract, and what it is told when it may not.

use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use dormouse_tests::ending::{exception, told, value};
use dormouse_tests::outside::Outside;
use dormouse_tests::{PYTHON, sandbox};
use serde_json::{Value as Json, json};

static OUTSIDE: LazyLock<Outside> = LazyLock::new(Outside::new);

/// Each snippet's value is true.
#[track_caller]
fn all_true(snippets: &[&str]) {
    for code in snippets {
        let outcome = OUTSIDE.run(OUTSIDE.snippet(PYTHON, code));
        assert!(outcome.value().is_some(), "{code}: {}", told(&outcome));
        assert_eq!(value(&outcome)["value"], json!(true), "{code}");
    }
}

/// Each snippet ends with an exception of a class, which says this among others.
#[track_caller]
fn raises(cases: &[(&str, &str, &str)]) {
    for (code, class, message) in cases {
        let outcome = OUTSIDE.run(OUTSIDE.snippet(PYTHON, code));
        let found = exception(&outcome);
        let name = found.class.rsplit('.').next();
        assert_eq!(name, Some(*class), "{code}: {}", found.message);
        assert!(found.message.contains(message), "{code}: {}", found.message);
    }
}

#[test]
fn urllib_and_http_client_speak_http_and_https() {
    all_true(&[
        "import json, urllib.request as u\nwith u.urlopen('http://plain.test:$HTTP/echo?a=1') as answer: told = json.load(answer)\n[told['path'], told['headers']['host']] == ['/echo?a=1', 'plain.test:$HTTP']",
        "import json, urllib.request as u\nrequest = u.Request('https://api.test:$HTTPS/echo', data=b'body', headers={'X-A': '1'})\nwith u.urlopen(request) as answer: told = json.load(answer)\n[told['method'], told['body'], told['headers']['x-a'], answer.status] == ['POST', 'body', '1', 200]",
        "import urllib.request as u\nwith u.urlopen('https://api.test:$HTTPS/elsewhere') as answer: (url, text) = answer.url, answer.read()\nurl.endswith('/echo?from=elsewhere') and b'from=elsewhere' in text",
        "import http.client, json\nc = http.client.HTTPSConnection('api.test', $HTTPS, timeout=20)\ntold = []\nfor number in range(3):\n c.request('PUT', '/echo', body=iter([b'a', b'b', str(number).encode()]), encode_chunked=True, headers={'Transfer-Encoding': 'chunked'})\n told.append(json.load(c.getresponse())['body'])\ntold == ['ab0', 'ab1', 'ab2']",
        "import urllib.request as u; len(u.urlopen('https://api.test:$HTTPS/big?3000000').read()) == 3000000",
        "import json, urllib.request as u; len(json.load(u.urlopen('http://plain.test:$HTTP/echo', data=b'z' * 2000000))['body']) == 2000000",
        "import urllib.request as u; [line for line in u.urlopen('https://api.test:$HTTPS/events') if line.strip()] == [b'data: %d\\n' % n for n in range(5)]",
        "import urllib.request as u; u.urlopen('http://127.0.0.1:$HTTP/echo').status == 200",
        // Settings of TLS change nothing, and the alternative names are those that the host has checked.
        "import socket, ssl\ncontext = ssl.create_default_context(); context.check_hostname = False; context.verify_mode = ssl.CERT_NONE; context.set_alpn_protocols(['http/1.1'])\nwith context.wrap_socket(socket.create_connection(('api.test', $HTTPS)), server_hostname='api.test') as s: told = [s.selected_alpn_protocol(), s.getpeercert(), s.version()]\ntold == ['http/1.1', {}, 'TLSv1.2']",
        "import socket, ssl\nwith ssl.create_default_context().wrap_socket(socket.create_connection(('api.test', $HTTPS)), server_hostname='api.test') as s: told = s.getpeercert()['subjectAltName']\ntold == (('DNS', 'api.test'),)",
    ]);
}

#[test]
fn bytes_go_where_a_rule_of_tcp_allows_them() {
    all_true(&[
        "import socket\nwith socket.create_connection(('bytes.test', $BYTES)) as s:\n s.sendall(b'hello'); first = s.recv(2); rest = s.recv(100, socket.MSG_PEEK), s.recv(100)\n s.sendall(b'end'); last = s.recv(1)\n[first, *rest, last] == [b'he', b'llo', b'llo', b'']",
        "import socket\ns = socket.create_connection(('bytes.test', $BYTES), 0.05)\ntry: s.recv(1)\nexcept TimeoutError as e: told = str(e)\ns.setblocking(False)\ntry: s.recv(1)\nexcept BlockingIOError: told = [told]\ntold == ['timed out']",
        "import socket\ns = socket.create_connection(('bytes.test', $BYTES)); f = s.makefile('rw'); f.write('a\\nb\\n'); f.flush(); [f.readline(), f.readline()] == ['a\\n', 'b\\n']",
        "import socket\ns = socket.create_connection(('bytes.test', $BYTES)); d = s.dup(); s.close(); d.sendall(b'x'); [d.recv(1), d.getpeername()[1]] == [b'x', $BYTES]",
        // More than a connection holds, while the other side gives it back.
        "import socket, selectors\ns = socket.create_connection(('bytes.test', $BYTES)); s.setblocking(False); out, got = memoryview(b'y' * 1000000), 0\nwith selectors.DefaultSelector() as waits:\n waits.register(s, selectors.EVENT_READ | selectors.EVENT_WRITE)\n while got < 1000000:\n  for _, events in waits.select():\n   if events & selectors.EVENT_READ: got += len(s.recv(65536))\n   if events & selectors.EVENT_WRITE and out: out = out[s.send(out):]\n  if not out: waits.modify(s, selectors.EVENT_READ)\ngot == 1000000",
        "import select, socket\na, b = socket.socketpair(); s = socket.create_connection(('bytes.test', $BYTES)); nothing = select.select([a, s], [], [], 0.01); s.send(b'x'); far = select.select([a, s], [], []); b.send(b'y'); near = select.select([a], [a], [])\n[nothing, far == ([s], [], []), near == ([a], [a], [])] == [([], [], []), True, True]",
        "import select, socket\ns = socket.create_connection(('bytes.test', $BYTES)); p = select.poll(); p.register(s, select.POLLIN | select.POLLOUT); first = p.poll(0); p.modify(s, select.POLLIN); s.sendall(b'end'); second = p.poll(); s.close()\n[first, second, p.poll()] == [[(s0 := first[0][0], select.POLLOUT)], [(s0, select.POLLIN)], [(s0, select.POLLNVAL)]]",
    ]);
}

#[test]
fn names_are_the_hosts_to_look_up() {
    let before = OUTSIDE.asked().len();
    all_true(&[
        "import socket\na, b = socket.gethostbyname('one.test'), socket.gethostbyname('two.test')\n[a != b, a == socket.gethostbyname('ONE.test'), a.startswith('198.1'), socket.gethostbyaddr(a)[0], socket.getnameinfo((b, 443), 0)] == [True, True, True, 'one.test', ('two.test', 'https')]",
        "import socket\ns = socket.gethostbyname('1.2.3.4'), socket.gethostbyname('127.1'), socket.getaddrinfo('::1', 'https')[0]\n[s[0], s[1].startswith('198.1'), s[2][4]] == ['1.2.3.4', True, ('::1', 443, 0, 0)]",
        "import socket\n[socket.getfqdn(), socket.gethostbyname(socket.gethostname()), socket.getfqdn('a.test')] == ['dormouse', '127.0.0.1', 'a.test']",
    ]);
    assert_eq!(OUTSIDE.asked().len(), before);
    // An address that stands for a name leads to it.
    all_true(&[
        "import socket\naddress = socket.gethostbyname('bytes.test')\ns = socket.socket(); s.connect((address, $BYTES)); s.sendall(b'x'); s.recv(1) == b'x'",
    ]);
    assert!(OUTSIDE.asked().iter().any(|name| name == "bytes.test"));
}

/// What is not allowed leaves nothing: no question about a name, no connection.
#[test]
fn net_01_no_way_out_without_a_grant() {
    let outside = Outside::new();
    let begun = Instant::now();
    for code in [
        "import socket; socket.create_connection(('api.test', $HTTPS))",
        "import socket; socket.create_connection(('127.0.0.1', $HTTP))",
        "import socket; s = socket.socket(socket.AF_INET6); s.connect(('::1', $HTTP))",
        "import socket; s = socket.socket(); s.setblocking(False); s.connect((socket.gethostbyname('api.test'), 1))",
        "import http.client; http.client.HTTPConnection('plain.test', $HTTP).request('GET', '/')",
        "import http.client; http.client.HTTPSConnection('api.test', $HTTPS).request('GET', '/')",
        "import urllib.request, urllib.error\ntry: urllib.request.urlopen('https://api.test:$HTTPS/')\nexcept urllib.error.URLError as e: raise e.reason",
        "import asyncio; await asyncio.open_connection('api.test', $HTTPS, ssl=True)",
        "import asyncio; asyncio.run(asyncio.open_connection('127.0.0.1', $HTTP))",
        "import smtplib; smtplib.SMTP('api.test')",
        "import ftplib; ftplib.FTP('api.test')",
    ] {
        let outcome = outside.run_alone(PYTHON, code);
        let found = exception(&outcome);
        assert_eq!(found.class, "PermissionError", "{code}: {}", found.message);
        assert!(
            found.message.contains("[Errno 13] this sandbox has no network"),
            "{code}: {}",
            found.message
        );
    }
    for (code, said) in [
        ("import socket; socket.socket(type=socket.SOCK_DGRAM)", "only connections of TCP"),
        ("import socket; socket.socket(type=socket.SOCK_RAW)", "only connections of TCP"),
        ("import socket; socket.socket(socket.AF_UNIX)", "no other programs"),
        ("import socket; socket.socket(socket.AF_NETLINK)", "Address family not supported"),
        ("import socket; socket.create_server(('', 80))", "does not listen"),
        ("import socket; s = socket.socket(); s.bind(('', 0)); s.listen()", "does not listen"),
        ("import asyncio; await asyncio.start_server(print, '127.0.0.1', 80)", "does not listen"),
        ("import asyncio; await asyncio.open_unix_connection('/tmp/x')", "no other programs"),
        (
            "import asyncio; await asyncio.get_running_loop().create_datagram_endpoint(asyncio.DatagramProtocol, remote_addr=('127.0.0.1', 1))",
            "only connections of TCP",
        ),
        (
            "import logging.handlers; logging.handlers.SysLogHandler(('127.0.0.1', 514))",
            "only connections of TCP",
        ),
    ] {
        let outcome = outside.run_alone(PYTHON, code);
        let found = exception(&outcome);
        assert!(found.message.contains(said) && found.class == "OSError", "{code}: {}", found.message);
    }
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    assert_eq!((outside.asked(), outside.accepted()), (Vec::new(), 0));
}

#[test]
fn what_goes_wrong_has_the_class_that_python_has_for_it() {
    raises(&[
        ("import socket; socket.create_connection(('other.test', 443))", "PermissionError", "`other.test`"),
        ("import socket; socket.create_connection(('api.test', 444))", "PermissionError", "444"),
        ("import socket; socket.create_connection(('0x7f.1', $HTTP))", "gaierror", ""),
        ("import socket; socket.create_connection(('a b', $HTTP))", "gaierror", ""),
        (
            "import http.client; http.client.HTTPSConnection('self.test', $SELF).request('GET', '/')",
            "SSLCertVerificationError",
            "CERTIFICATE_VERIFY_FAILED",
        ),
        (
            "import http.client, ssl; http.client.HTTPSConnection('self.test', $SELF, context=ssl._create_unverified_context()).request('GET', '/')",
            "SSLCertVerificationError",
            "the host checks it",
        ),
        (
            "import socket, ssl; ssl.create_default_context().wrap_socket(socket.create_connection(('api.test', $HTTPS)), server_hostname='plain.test')",
            "SSLCertVerificationError",
            "api.test",
        ),
        (
            "import http.client; http.client.HTTPSConnection('gone.test', $GONE).request('GET', '/')",
            "ConnectionRefusedError",
            "`gone.test`",
        ),
        (
            "import asyncio; await asyncio.open_connection('gone.test', $GONE, ssl=True)",
            "ConnectionRefusedError",
            "`gone.test`",
        ),
        (
            "import http.client; http.client.HTTPSConnection('none.invalid').request('GET', '/')",
            "gaierror",
            "none.invalid",
        ),
        (
            "import socket, ssl; ssl.create_default_context().wrap_socket(socket.create_connection(('bytes.test', $BYTES)), server_hostname='bytes.test', do_handshake_on_connect=True)",
            "PermissionError",
            "is allowed bytes (tcp)",
        ),
        (
            "import urllib.request; urllib.request.urlopen('https://api.test:$HTTPS/late?3000', timeout=0.2)",
            "TimeoutError",
            "timed out",
        ),
        (
            "import asyncio\nr, w = await asyncio.open_connection('api.test', $HTTPS, ssl=True)\nasync with asyncio.timeout(0.05): await r.read(1)",
            "TimeoutError",
            "",
        ),
    ]);
    all_true(&[
        "import urllib.request, urllib.error\ntry: urllib.request.urlopen('http://read.test:$HTTP/echo', data=b'x')\nexcept urllib.error.HTTPError as e: told = [e.code, e.headers['x-dormouse-denied']]\ntold == [403, 'method']",
        "import urllib.request, urllib.error\ntry: urllib.request.urlopen('http://read.test:$HTTP/big?1')\nexcept urllib.error.HTTPError as e: told = [e.code, e.headers['x-dormouse-denied']]\ntold == [403, 'path']",
        "import ssl\ncontext = ssl.create_default_context(); context.load_cert_chain('/dev/null')\nimport http.client\ntry: http.client.HTTPSConnection('api.test', $HTTPS, context=context).request('GET', '/')\nexcept ssl.SSLError as e: told = str(e)\n'the host speaks TLS' in told",
    ]);
}

/// Connections, tools and timers are waited for together.
#[test]
fn asyncio_has_connections_and_tools_at_one_time() {
    let get = "import asyncio, ssl, time\n\
        async def get(path):\n \
         reader, writer = await asyncio.open_connection('api.test', $HTTPS, ssl=True)\n \
         writer.write(f'GET {path} HTTP/1.1\\r\\nHost: api.test:$HTTPS\\r\\nConnection: close\\r\\n\\r\\n'.encode())\n \
         data = await reader.read(); writer.close(); await writer.wait_closed()\n \
         return data\n";
    let with_tools = |code: &str| {
        OUTSIDE.snippet(PYTHON, &format!("{get}{code}")).callback(
            "slow",
            "Gives n back.",
            json!({}),
            |arguments: Json| async move {
                tokio::time::sleep(Duration::from_millis(200)).await;
                Ok(arguments["n"].clone())
            },
        )
    };
    for (code, wanted) in [
        ("b'200 OK' in (await get('/echo')).split(b'\\r\\n')[0]", json!(true)),
        // All under way at one time: far less than one after the other.
        (
            "begin = time.monotonic()\nfound = await asyncio.gather(*[get('/late?300') for _ in range(12)], *[tools.slow(n=n) for n in range(12)], asyncio.sleep(0.3))\n[sum(b'late' in one for one in found[:12]), sum(found[12:24]), time.monotonic() - begin < 4]",
            json!([12, 66, true]),
        ),
        (
            "async def main(): return len(await asyncio.gather(get('/late?10'), tools.slow(n=1)))\nasyncio.run(main())",
            json!(2),
        ),
        // Where nothing can pause.
        (
            "async def main(): return len(await asyncio.gather(get('/late?10'), tools.slow(n=1)))\ndef run(): return asyncio.run(main())\nrun()",
            json!(2),
        ),
        // A call that is under way is answered while a function that blocks waits.
        (
            "import urllib.request\ncall = asyncio.create_task(tools.slow(n=7)); await asyncio.sleep(0)\nurllib.request.urlopen('http://plain.test:$HTTP/late?400').read()\nbegin = time.monotonic(); [await call, time.monotonic() - begin < 0.15]",
            json!([7, true]),
        ),
        (
            "async with asyncio.timeout(10):\n async with asyncio.TaskGroup() as group: tasks = [group.create_task(get('/echo')), group.create_task(tools.slow(n=5))]\ntasks[1].result()",
            json!(5),
        ),
        (
            "try:\n async with asyncio.timeout(0.05): await get('/late?5000')\nexcept TimeoutError: told = 'late'\n[told, await tools.slow(n=1)]",
            json!(["late", 1]),
        ),
    ] {
        let outcome = OUTSIDE.run(with_tools(code));
        let plain = |one: &Json| one.get("value").cloned().unwrap_or_default();
        let found = value(&outcome);
        let found = match found["value"].as_array() {
            Some(items) => items.iter().map(plain).collect(),
            None => found["value"].clone(),
        };
        assert_eq!(found, wanted, "{code}: {}", told(&outcome));
    }
}

#[test]
fn a_blocked_program_ends_with_its_time_and_its_timers_ring() {
    let late = "import urllib.request; urllib.request.urlopen('https://api.test:$HTTPS/late?20000').read()";
    let begun = Instant::now();
    let outcome = OUTSIDE.run(OUTSIDE.snippet(PYTHON, late).timeout(Duration::from_millis(500)));
    dormouse_tests::ending::assert_ends(&outcome, &["limit_time"]);
    assert!(begun.elapsed() < Duration::from_secs(4));
    all_true(&[
        "import signal, time, urllib.request\ndef ring(number, frame): raise InterruptedError\nsignal.signal(signal.SIGALRM, ring); signal.setitimer(signal.ITIMER_REAL, 0.05); begin = time.monotonic()\ntry: urllib.request.urlopen('http://plain.test:$HTTP/late?9000')\nexcept InterruptedError: told = time.monotonic() - begin < 5\ntold",
        "import asyncio, signal\nloop = asyncio.get_running_loop(); rang = loop.create_future()\nloop.add_signal_handler(signal.SIGALRM, rang.set_result, True); signal.setitimer(signal.ITIMER_REAL, 0.05)\nreader, writer = await asyncio.open_connection('bytes.test', $BYTES)\nawait rang",
    ]);
}

#[test]
fn pairs_need_no_network() {
    for (code, wanted) in [
        (
            "import socket\na, b = socket.socketpair(); a.sendall(b'hi'); a.close(); [b.recv(1), b.recv(9), b.recv(9)] == [b'h', b'i', b'']",
            true,
        ),
        (
            "import socket\na, b = socket.socketpair()\ntry: b.recv(1)\nexcept OSError as e: told = e.errno\ntold == 35",
            true,
        ),
        (
            "import socket\na, b = socket.socketpair(); a.setblocking(False); n = 0\ntry:\n while True: n += a.send(b'x' * 1000)\nexcept BlockingIOError: pass\n[n, len(b.recv(100000))] == [65536, 65536]",
            true,
        ),
        (
            "import asyncio, socket\na, b = socket.socketpair()\nr, w = await asyncio.open_connection(sock=a); r2, w2 = await asyncio.open_connection(sock=b)\nw.write(b'hello\\n'); line = await r2.readline(); w2.write(b'z' * 300000); w2.close()\n[line, len(await r.read())] == [b'hello\\n', 300000]",
            true,
        ),
        ("import selectors; selectors.DefaultSelector.__name__ == 'PollSelector'", true),
        (
            "import selectors, socket\na, b = socket.socketpair(); b.send(b'x'); found = []\nfor kind in (selectors.PollSelector, selectors.SelectSelector):\n with kind() as waits: waits.register(a, selectors.EVENT_READ); found.append([key.fd for key, _ in waits.select()])\nfound == [[a.fileno()]] * 2",
            true,
        ),
        (
            "import socket\nfound = []\nfor wrong in (lambda: socket.socket(fileno=1.5), lambda: socket.socket(fileno=0), lambda: socket.socket(fileno=99), lambda: socket.close(-1), lambda: socket.gethostbyname('a b'), lambda: socket.htons(-1), lambda: socket.inet_aton('1.2.3.400')):\n try: wrong()\n except Exception as e: found.append([type(e).__name__, getattr(e, 'errno', None)])\nfound == [['TypeError', None], ['OSError', 88], ['OSError', 9], ['OSError', 9], ['gaierror', -2], ['ValueError', None], ['OSError', None]]",
            true,
        ),
        (
            "import os, select\nr, w = os.pipe(); before = select.select([r], [w], [], 0); os.write(w, b'x'); [before, select.select([r], [], [])] == [([], [w], []), ([r], [], [])]",
            true,
        ),
        (
            "import os, select\nr, w = os.pipe()\ntry: select.select([r], [], [])\nexcept OSError as e: told = 'waits for ever' in str(e)\ntold",
            true,
        ),
        (
            "import socket\nsockets = []\ntry:\n while True: sockets.append(socket.socket())\nexcept OSError as e: told = [len(sockets), e.errno]\ntold == [1024, 24]",
            true,
        ),
    ] {
        assert_eq!(sandbox::value_of(PYTHON, code)["value"], json!(wanted), "{code}");
    }
}

#[test]
fn net_23_numbers_that_are_no_connections_are_closed() {
    all_true(&[
        "import _dormouse_net as net\nfound = []\nfor function, *arguments in ((net.send, 1, b'x'), (net.receive, 2**64 - 1, 9), (net.send, 0, b'')):\n try: function(*arguments)\n except net.Problem as e: found.append(e.args[0])\nnet.finish(3); net.close(4); net.close(4)\nfound == ['closed'] * 3",
        "import _dormouse_net as net\nn = net.open('bytes.test', $BYTES); m = net.open('bytes.test', $BYTES); net.close(n)\ntry: net.send(n, b'x')\nexcept net.Problem as e: told = e.args[0]\n[told, m > n, net.send(m, b'x')] == ['closed', True, 1]",
        "import _dormouse_net as net\nnet.wait([(7, True, False), (8, False, True)], ([], [], None)) == ([(7, True, False), (8, False, True)], [])",
        "import _dormouse_net as net\nn = net.open('bytes.test', $BYTES); before = net.send(n, b'x' * 1000000); net.finish(n)\ntry: net.send(n, b'y')\nexcept net.Problem as e: told = e.args[0]\n[before <= 65536, told] == [True, 'closed']",
        "import _dormouse_net as net\nfound = []\nfor wrong in (lambda: net.wait([(1, True, True)] * 1025, ([], [], 0)), lambda: net.receive(1, 0), lambda: net.open('a', 65536), lambda: net.open('a', -1), lambda: net.wait([1], ([], [], 0)), lambda: net.wait([], ()), lambda: net.close('x'), lambda: net.send(1, 'x')):\n try: wrong()\n except (ValueError, OverflowError, TypeError) as e: found.append(type(e).__name__)\nfound == ['ValueError', 'ValueError', 'OverflowError', 'OverflowError', 'TypeError', 'TypeError', 'TypeError', 'TypeError']",
        "import _dormouse_net as net\ntry: net.open('x' * 100000, 80)\nexcept net.Problem as e: told = e.args[0]\ntold in ('unknown-name', 'denied')",
        // As many as the budget allows; what is closed makes room.
        "import socket, time\ns = []\ntry:\n while True: s.append(socket.create_connection(('bytes.test', $BYTES)))\nexcept OSError as e: told = [len(s), e.errno]\ns.pop().close(); end = time.monotonic() + 5\nwhile True:\n try: s.append(socket.create_connection(('bytes.test', $BYTES))); break\n except OSError:\n  if time.monotonic() > end: raise\n  time.sleep(0.01)\ntold == [40, 122]",
    ]);
}

/// What a memory that goes on finds of its connections: they were dropped.
#[test]
fn net_24_connections_end_with_their_run() {
    let outside = Arc::new(Outside::new());
    let kept = sandbox::wait(outside.dormouse.sandbox("kept")).unwrap();
    let eval = |code: &str| {
        let outcome = sandbox::wait(kept.eval(PYTHON, outside.code(code))).unwrap();
        assert!(outcome.value().is_some(), "{code}: {}", told(&outcome));
        value(&outcome)["value"].clone()
    };
    let begin = "import asyncio, http.client, socket\n\
        c = http.client.HTTPSConnection('api.test', $HTTPS); c.request('GET', '/echo'); c.getresponse().read()\n\
        s = socket.create_connection(('bytes.test', $BYTES)); s.sendall(b'x'); s.recv(1)\n\
        r, w = await asyncio.open_connection('bytes.test', $BYTES); w.write(b'y'); await r.read(1)\n\
        task = asyncio.create_task(r.read()); await asyncio.sleep(0); 1";
    let gone = "found = []\n\
        for wrong in (lambda: s.send(b'x'), lambda: s.recv(1)):\n \
         try: wrong()\n \
         except ConnectionResetError: found.append('reset')\n\
        try: await task\n\
        except ConnectionResetError: found.append('reset')\n\
        try: c.request('GET', '/echo'); c.getresponse()\n\
        except ConnectionError: found.append('reset')\n\
        c.close(); c.request('GET', '/echo'); c.getresponse().read()\n\
        found == ['reset'] * 4";
    assert_eq!(eval(begin), 1);
    assert_eq!(eval(gone), true);

    assert_eq!(eval(begin), 1);
    let saved = sandbox::wait(kept.checkpoint()).unwrap();
    sandbox::wait(kept.restore(&saved)).unwrap();
    assert_eq!(eval(gone), true);

    assert_eq!(eval(begin), 1);
    for fork in sandbox::wait(kept.fork(2)).unwrap() {
        let outcome = sandbox::wait(fork.eval(PYTHON, outside.code(gone))).unwrap();
        assert_eq!(value(&outcome)["value"], true, "{}", told(&outcome));
    }
    sandbox::wait(kept.stop()).unwrap();
    assert_eq!(eval(gone), true);
}

/// Pieces of addresses, good and bad, that are put together at random.
const PIECES: [&str; 44] = [
    "https://",
    "http://",
    "a.test",
    "B.Test",
    "xn--bcher-kva",
    "127.0.0.1",
    "127.1",
    "0x7f.1",
    "[::1]",
    "[::ffff:1.2.3.4]",
    "user@",
    "user:pass@",
    "@",
    ":443",
    ":8443",
    ":80",
    ":",
    ":+443",
    ":0443",
    ".",
    "..",
    "/",
    "//",
    "/v1",
    "/v1/items",
    "/%2e%2e",
    "/%2F",
    "/./",
    "/../",
    "\\",
    "?",
    "?q=1",
    "?u=http://b.test/",
    "#",
    "#f@b.test",
    "%",
    "%00",
    ";",
    ",",
    " ",
    "\t",
    "-",
    "_",
    "b.test",
];

#[test]
fn net_03_python_and_the_url_standard_read_every_accepted_address_in_the_same_way() {
    let rule = |protocol: &str, port: u16| {
        format!(
            "[[profile.default.allow]]\nhost = \"*\"\nprotocol = \"{protocol}\"\nport = {port}\npaths = [\"/**\"]\n"
        )
    };
    let rules = [rule("https", 443), rule("https", 8443), rule("http", 80), rule("http", 8443)].concat();
    let settings = dormouse_egress::file::parse(&rules, "net.toml".as_ref()).unwrap();
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = |most: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state >> 33).unwrap() % most
    };
    let mut accepted = Vec::new();
    for _ in 0..200_000 {
        let mut text = PIECES[random(2)].to_owned();
        for _ in 0..1 + random(6) {
            text.push_str(PIECES[random(PIECES.len())]);
        }
        if settings.check("default", "GET", &text).is_ok_and(|verdict| verdict.allowed) {
            accepted.push(text);
        }
    }
    accepted.sort();
    accepted.dedup();
    assert!(accepted.len() > 300, "only {} were accepted", accepted.len());
    let read = |text: &String| {
        let url = url::Url::parse(text).unwrap();
        let host = url.host_str().unwrap().trim_matches(['[', ']']).to_owned();
        let port = url.port_or_known_default();
        json!([text, [url.scheme(), host, port, url.path(), url.query().unwrap_or_default()]])
    };
    let lines: String = accepted.iter().map(|text| format!("{}\n", read(text))).collect();
    let code = "import json, sys\nfrom urllib.parse import urlsplit\nothers, count = [], 0\nfor line in sys.stdin:\n\
                \x20   text, theirs = json.loads(line)\n\
                \x20   it = urlsplit(text); count += 1\n\
                \x20   port = it.port or {'http': 80, 'https': 443}[it.scheme]\n\
                \x20   own = [it.scheme, it.hostname, port, it.path or '/', it.query]\n\
                \x20   if own != theirs: others.append([text, own, theirs])\n\
                [count, others[:5]]";
    let outcome = sandbox::wait(OUTSIDE.snippet(PYTHON, code).stdin(lines).run()).unwrap();
    let told = value(&outcome);
    assert_eq!(told["value"][0]["value"], json!(accepted.len()), "{told}");
    assert_eq!(told["value"][1]["count"], json!(0), "{told}");
}
