//! What the network costs a guest: a request of a fresh snippet, and many that wait together.

use std::sync::Arc;
use std::time::Instant;

use anyhow::{Result, ensure};
use dormouse::network::NetworkGrant;
use dormouse::sandbox::Owner;
use dormouse::{Dormouse, EvalRequest, Language};
use dormouse_egress::Outside;

use crate::bench::{Bench, ending, milliseconds, with_peer};
use crate::egress::{SLOW_MS, World};
use crate::peers::Peer;
use crate::table::{Goal, Row};
use crate::turns::{Turn, take_turns};

/// Pairs of runs in one turn.
const PAIRS: usize = 10;
/// Requests that wait together, and the connections that they have.
const MANY: usize = 100;
const CONNECTIONS: usize = 16;

/// A fresh snippet with a request, `URL`; what it is without the request.
const GETS: [(&str, &str, &str, &str); 3] = [
    (
        "egress-python-get",
        "python",
        "import urllib.request\nlen(urllib.request.urlopen('URL').read())",
        "import urllib.request\n1024",
    ),
    ("egress-javascript-get", "javascript", "(await (await fetch('URL')).text()).length", "1024"),
    ("egress-php-get", "php", "strlen(file_get_contents('URL'))", "1024"),
];
/// How many at once have the connections: the program, or the guest, in which each has a connection of its own and waits its turn.
const SHARED: &str = "over 16 connections";
const TURNS: &str = "with a connection each, 16 at a time";
/// Many at once.
const TOGETHER: [(&str, &str, &str, &str); 3] = [
    ("egress-gather-python", SHARED, "python", GATHER),
    ("egress-turns-python", TURNS, "python", ALL),
    (
        "egress-gather-javascript",
        SHARED,
        "javascript",
        "(await Promise.all([...Array(100)].map(async () => (await (await fetch('URL')).text()).length))).length",
    ),
];
const GATHER: &str = "\
import asyncio
from urllib.parse import urlsplit
url = urlsplit('URL')
async def ask(reader, writer):
    writer.write(f'GET {url.path} HTTP/1.1\\r\\nHost: {url.netloc}\\r\\n\\r\\n'.encode())
    head = await reader.readuntil(b'\\r\\n\\r\\n')
    await reader.readexactly(int(head.lower().split(b'content-length: ')[1].split(b'\\r\\n')[0]))
    return 1
async def main():
    free = asyncio.Queue()
    for _ in range(16): free.put_nowait(await asyncio.open_connection(url.hostname, url.port))
    async def one():
        connection = await free.get()
        try: return await ask(*connection)
        finally: free.put_nowait(connection)
    return sum(await asyncio.gather(*[one() for _ in range(100)]))
await main()";
const ALL: &str = "\
import asyncio
from urllib.parse import urlsplit
url = urlsplit('URL')
async def ask():
    reader, writer = await asyncio.open_connection(url.hostname, url.port)
    writer.write(f'GET {url.path} HTTP/1.1\\r\\nHost: {url.netloc}\\r\\nConnection: close\\r\\n\\r\\n'.encode())
    await reader.read()
    writer.close()
    return 1
sum(await asyncio.gather(*[ask() for _ in range(100)]))";
/// Messages of a WebSocket, and the bytes of each.
const MESSAGES: usize = 16;
const MESSAGE: usize = 1 << 20;
/// Sends them, each when the one before it has come back.
const ECHO: &str = "\
const socket = new WebSocket('URL')
socket.binaryType = 'arraybuffer'
await new Promise((done, failed) => { socket.onopen = done; socket.onerror = failed })
const message = new Uint8Array(1 << 20)
let bytes = 0
for (let i = 0; i < 16; i++) {
  const back = new Promise((done) => { socket.onmessage = done })
  socket.send(message)
  bytes += (await back).data.byteLength
}
socket.close()
bytes";

pub(crate) fn rows(bench: &Bench) -> Result<Vec<Row>> {
    let ids =
        GETS.iter().map(|row| row.0).chain(TOGETHER.iter().map(|row| row.0)).chain(["egress-websocket"]);
    if !ids.into_iter().any(|id| bench.wants(id)) {
        return Ok(Vec::new());
    }
    let world = bench.runtime.block_on(World::new())?;
    let dormouse = bench.dormouse(0)?;
    dormouse.runtime().set_network(Arc::new(Outside::new(world.gate.clone())), None);
    let mut rows = Vec::new();
    for (id, language, code, without) in GETS {
        if !bench.begins(id) {
            continue;
        }
        let code = code.replace("URL", &world.url(false, "small"));
        let what = format!("a GET of 1 KiB in a fresh snippet, beside the same without it, {language}");
        let ours: Turn<'_> = Box::new(|| {
            let pair = |_| {
                let with = run(bench, &dormouse, (language, &code), "1024")?;
                Ok(with - run(bench, &dormouse, (language, without), "1024")?)
            };
            (0..PAIRS).map(pair).collect()
        });
        rows.push(if language == "python" {
            let theirs = with_peer(bench.peers.start(Peer::Pyeryx), |peer| {
                Ok(vec![peer.network(&code)? - peer.network(without)?])
            });
            let [ours, theirs] = take_turns(bench.few(2), [ours, theirs]);
            Row::new(id, what, "ms", ours).goal(Goal::AtMost(3.0)).peer(Peer::Pyeryx.name(), theirs)
        } else {
            let [ours] = take_turns(bench.few(2), [ours]);
            Row::new(id, what, "ms", ours).goal(Goal::AtMost(3.0))
        });
    }
    for (id, how, language, code) in TOGETHER {
        if !bench.begins(id) {
            continue;
        }
        let code = code.replace("URL", &world.url(false, "slow"));
        let what = format!("{MANY} requests of {SLOW_MS} ms each at once, {how}, {language}");
        let ours: Turn<'_> = Box::new(|| Ok(vec![run(bench, &dormouse, (language, &code), "100")?]));
        let straight: Turn<'_> = Box::new(|| {
            let begun = Instant::now();
            bench.runtime.block_on(world.straight_together(MANY, CONNECTIONS))?;
            Ok(vec![milliseconds(begun.elapsed())])
        });
        let [ours, straight] = take_turns(bench.few(8), [ours, straight]);
        rows.push(Row::new(id, what, "ms", ours).peer("straight hyper", straight).goal(Goal::Share(1.2)));
    }
    if bench.begins("egress-websocket") {
        let code = ECHO.replace("URL", &world.echo());
        let wanted = (MESSAGES * MESSAGE).to_string();
        let ours: Turn<'_> = Box::new(|| Ok(vec![run(bench, &dormouse, ("javascript", &code), &wanted)?]));
        let straight: Turn<'_> = Box::new(|| {
            let begun = Instant::now();
            bench.runtime.block_on(world.straight_messages(MESSAGES, MESSAGE))?;
            Ok(vec![milliseconds(begun.elapsed())])
        });
        let [ours, straight] = take_turns(bench.few(8), [ours, straight]);
        let what = format!(
            "{MESSAGES} messages of 1 MiB there and back over a WebSocket, one after the other, in a fresh snippet in JavaScript"
        );
        rows.push(Row::new("egress-websocket", what, "ms", ours).peer("straight tungstenite", straight));
    }
    Ok(rows)
}

/// Milliseconds of a fresh snippet that has the network; its value must be this.
fn run(bench: &Bench, dormouse: &Dormouse, (language, code): (&str, &str), wanted: &str) -> Result<f64> {
    let mut request = EvalRequest::new(Language::parse(language)?, code);
    let begun = Instant::now();
    let grant = NetworkGrant { profile: "bench".into(), allow: None };
    let of = ("bench", language);
    dormouse.runtime().give_network(&Owner::local(), &grant, of, &mut request.context)?;
    let outcome = bench.runtime.block_on(dormouse.runtime().eval(request))?;
    let ms = milliseconds(begun.elapsed());
    ensure!(outcome.is_ok(), "{}", ending(&outcome));
    let value = format!("{:?}", outcome.value());
    ensure!(value.contains(wanted), "it came to {value}");
    Ok(ms)
}
