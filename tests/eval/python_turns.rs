//! More connections than the operator allows at one time: those of Python's `asyncio` wait for their turn.

use std::time::{Duration, Instant};

use dormouse_tests::PYTHON;
use dormouse_tests::ending::{told, value};
use dormouse_tests::outside::Outside;
use serde_json::json;

/// A client that keeps its connections for later, as those of packages do: it closes one when the server has ended it.
const CLIENT: &str = "import asyncio, errno, socket, time
held = []
async def ask(path, keeps=True, host='api.test', port=$HTTPS):
    reader, writer = await asyncio.open_connection(host, port, ssl=host == 'api.test')
    writer.write(f'GET {path} HTTP/1.1\\r\\nHost: {host}:{port}\\r\\n\\r\\n'.encode())
    head = await reader.readuntil(b'\\r\\n\\r\\n')
    length = next(int(line[15:]) for line in head.lower().split(b'\\r\\n') if line.startswith(b'content-length:'))
    body = await reader.readexactly(length)
    async def end():
        await reader.read()
        writer.close()
    if keeps:
        held.append(asyncio.create_task(end()))
    else:
        writer.close()
    return body
async def late(path='/late?30', **more):
    return sum(body == b'late' for body in await asyncio.gather(*[ask(path, **more) for _ in range(30)]))
";

fn narrow(connections: u32) -> Outside {
    Outside::with(&[], &format!("[budget.owner]\nconnections = {connections}\n"))
}

/// Each snippet's value is true, where so many connections are allowed: places of a run that has ended are free a moment later, so each has
/// its own.
#[track_caller]
fn all_true(connections: u32, snippets: &[&str]) {
    for code in snippets {
        let outside = narrow(connections);
        let outcome = outside.run(outside.snippet(PYTHON, &format!("{CLIENT}{code}")));
        assert!(outcome.value().is_some(), "{code}: {}", told(&outcome));
        assert_eq!(value(&outcome)["value"], json!(true), "{code}");
    }
}

#[test]
fn requests_that_are_awaited_together_wait_for_their_turn() {
    let begun = Instant::now();
    all_true(
        4,
        &[
            "await late(keeps=False) == 30",
            // Connections that are kept for later are ended where others wait.
            "await late() == 30",
            "async def main(): return await late()\nasyncio.run(main()) == 30",
            "await late() == 30 and await late(keeps=False) == 30 and await late(host='plain.test', port=$HTTP) == 30",
            // Idle ones of one host do not keep those of another from their turn.
            "[await ask('/late?1') for _ in range(4)]; await ask('/late?1', host='plain.test', port=$HTTP) == b'late'",
        ],
    );
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
}

#[test]
fn who_waits_for_a_turn_can_be_cancelled_and_has_time_outs() {
    all_true(
        2,
        &[
            "first = [asyncio.create_task(ask('/late?900', keeps=False)) for _ in range(2)]; await asyncio.sleep(0.01)
try:
    async with asyncio.timeout(0.1): await ask('/late?1')
except TimeoutError: told = 'late'
task = asyncio.create_task(ask('/late?1')); await asyncio.sleep(0.01); task.cancel()
third = asyncio.create_task(ask('/late?1'))
[told, await third, (await asyncio.gather(task, return_exceptions=True))[0].__class__.__name__] == ['late', b'late', 'CancelledError']",
        ],
    );
}

#[test]
fn a_socket_that_waits_for_its_turn_is_connecting() {
    all_true(
        1,
        &[
            "import select
first, second = socket.create_connection(('bytes.test', $BYTES)), socket.socket()
second.setblocking(False)
found = [second.connect_ex(('bytes.test', $BYTES)), second.connect_ex(('bytes.test', $BYTES)), select.select([second], [second], [], 0.1)[:2]]
for wrong in (lambda: second.recv(1), lambda: second.send(b'x'), second.getpeername):
    try: wrong()
    except OSError as error: found.append(error.errno)
first.close()
found += [select.select([], [second], [], 2)[1] == [second], second.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR), second.send(b'x')]
second.setblocking(True)
found.append(second.recv(1))
found == [errno.EINPROGRESS, errno.EALREADY, ([], []), errno.EAGAIN, errno.EAGAIN, errno.ENOTCONN, True, 0, 1, b'x']",
            // Who connects and waits for it keeps all others from closing theirs.
            "first = socket.create_connection(('bytes.test', $BYTES))
try: socket.create_connection(('bytes.test', $BYTES), 9)
except OSError as error: told = error.errno
told == errno.EDQUOT",
        ],
    );
}

/// Connections that are open and silent have their places for as long as the program likes: who waits is told of the limit.
#[test]
fn a_turn_that_does_not_come_is_an_error_that_names_the_limit() {
    let begun = Instant::now();
    all_true(
        2,
        &[
            "silent = [await asyncio.open_connection('bytes.test', $BYTES) for _ in range(2)]
found = await asyncio.gather(*[ask('/late?1') for _ in range(3)], return_exceptions=True)
silent[0][1].close()
[{(error.errno, '2 connections at one time' in str(error)) for error in found}, await ask('/late?1')] == [{(errno.EDQUOT, True)}, b'late']",
        ],
    );
    assert!(begun.elapsed() > Duration::from_secs(4), "{:?}", begun.elapsed());
}

/// A long answer is waited for, though nothing moves meanwhile.
#[test]
fn an_answer_that_takes_its_time_keeps_others_waiting() {
    all_true(
        1,
        &[
            "begin = time.monotonic(); await asyncio.gather(*[ask('/late?5600', keeps=False) for _ in range(2)]) == [b'late'] * 2",
        ],
    );
}

#[test]
fn a_run_that_waits_beside_an_open_connection_is_told_which_one() {
    let outside = Outside::new();
    let code =
        "import asyncio; kept = await asyncio.open_connection('bytes.test', $BYTES); await asyncio.sleep(20)";
    let outcome = outside.run(outside.snippet(PYTHON, code).timeout(Duration::from_millis(700)));
    let hint = outcome.stopped().and_then(|error| error.hint()).unwrap_or_default();
    assert!(hint.contains("a connection to `bytes.test:"), "{}", told(&outcome));
}
