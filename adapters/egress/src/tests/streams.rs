//! Streams on which a guest speaks HTTP itself, or bytes.

use std::sync::atomic::Ordering;
use std::time::Duration;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng as _};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};
use tokio::task::JoinHandle;

use crate::tests::support::{Authority, SECRET, Server, Setup, answer, rule, self_signed};
use crate::{Door, Reason, Refusal};

/// A guest's end of a stream to `a.test`, and the gate's.
fn open(door: &Door, port: u16) -> (DuplexStream, JoinHandle<Result<(), Refusal>>) {
    let (guest, host) = tokio::io::duplex(64 << 10);
    let opened = door.open("a.test", port).unwrap();
    (guest, tokio::spawn(opened.serve(host)))
}

/// What comes back for these bytes, until the end.
async fn told(door: &Door, port: u16, bytes: &[u8]) -> String {
    let (mut guest, serving) = open(door, port);
    let _ = guest.write_all(bytes).await;
    let _ = guest.shutdown().await;
    let mut back = Vec::new();
    let reading = guest.read_to_end(&mut back);
    tokio::time::timeout(Duration::from_secs(10), reading).await.expect("an end").unwrap();
    let _ = serving.await.unwrap();
    String::from_utf8_lossy(&back).into_owned()
}

async fn line(guest: &mut DuplexStream) -> serde_json::Value {
    assert_eq!(guest.read_u8().await.unwrap(), 0x16);
    let mut text = Vec::new();
    while text.last() != Some(&b'\n') {
        text.push(guest.read_u8().await.unwrap());
    }
    serde_json::from_slice(&text).unwrap()
}

#[tokio::test]
async fn a_guest_speaks_http_over_a_greeting() {
    let authority = Authority::new();
    let server =
        Server::http(Some(authority.server("a.test")), |_, body| answer(&[], format!("got {body}"))).await;
    let setup = Setup::new(
        Some(&authority),
        "a-value-of-length",
        &format!("{}{SECRET}", rule("https", server.port, "")),
    )
    .await;
    let way = setup.way("ann", "s");
    let (door, key) = (way.run(Default::default()), way.environment()[0].1.clone());
    let host = format!("a.test:{}", server.port);
    for at in 0..2 {
        let (mut guest, serving) = open(&door, server.port);
        guest.write_all(b"\x16{\"name\":\"a.test\",\"alpn\":[\"http/1.1\"]}\n").await.unwrap();
        assert_eq!(line(&mut guest).await, serde_json::json!({"alpn": "http/1.1"}));
        for body in ["one", "two"] {
            let length = body.len();
            let text = format!(
                "POST /x HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {key}\r\nContent-Length: {length}\r\n\r\n{body}"
            );
            guest.write_all(text.as_bytes()).await.unwrap();
            let mut back = vec![0; 4096];
            let mut text = String::new();
            while !text.ends_with(&format!("got {body}")) {
                let read = guest.read(&mut back).await.unwrap();
                assert!(read > 0, "{text}");
                text.push_str(&String::from_utf8_lossy(&back[..read]));
            }
            assert!(text.starts_with("HTTP/1.1 200 OK\r\n"), "{text}");
            assert!(server.last().contains("authorization: Bearer a-value-of-length\n"));
        }
        drop(guest);
        assert!(serving.await.unwrap().is_ok());
        // Another stream of the sandbox uses the connection again.
        assert_eq!(server.accepted(), 1, "{at}");
    }
}

#[tokio::test]
async fn net_12_a_certificate_that_is_not_good_is_an_error_of_the_handshake() {
    let server = Server::http(Some(self_signed("a.test")), |_, _| answer(&[], "x")).await;
    let authority = Authority::new();
    let setup = Setup::new(Some(&authority), "", &rule("https", server.port, "")).await;
    let (mut guest, serving) = open(&setup.door(), server.port);
    guest.write_all(b"\x16{\"name\":\"a.test\"}\n").await.unwrap();
    let told = line(&mut guest).await;
    assert_eq!(told["error"], "untrusted");
    assert!(told["message"].as_str().unwrap().contains("certificate"));
    assert_eq!(serving.await.unwrap().unwrap_err().reason, Reason::Untrusted);
    assert_eq!(guest.read(&mut [0]).await.unwrap(), 0);
}

#[tokio::test]
async fn net_11_greetings_that_are_none_end_the_stream() {
    let server = Server::http(None, |_, _| answer(&[], "x")).await;
    let setup = Setup::new(None, "", &rule("https", server.port, "")).await;
    let door = setup.door();
    for (bytes, wanted) in [
        (b"\x16{\"name\":\"b.test\"}\n".to_vec(), "untrusted"),
        (b"\x16{\"name\":\"127.0.0.1\"}\n".to_vec(), "untrusted"),
        (b"\x16{\"name\":\"\"}\n".to_vec(), "untrusted"),
        (b"\x16{not json}\n".to_vec(), "form"),
        // A real ClientHello.
        (b"\x16\x03\x01\x02\x00\x01\x00".to_vec(), "untrusted"),
        ([&b"\x16{"[..], &vec![b'a'; 8 << 10]].concat(), ""),
        (b"\x16{\"name\":".to_vec(), ""),
        (b"\x16".to_vec(), "untrusted"),
    ] {
        let told = told(&door, server.port, &bytes).await;
        let expected =
            if wanted.is_empty() { told.is_empty() } else { told.contains(&format!("\"{wanted}\"")) };
        assert!(expected, "{:?}: {told:?}", String::from_utf8_lossy(&bytes[..bytes.len().min(40)]));
    }
    assert_eq!(server.accepted(), 0);
}

#[tokio::test(start_paused = true)]
async fn net_11_a_greeting_that_does_not_end_is_given_up() {
    let setup = Setup::new(None, "", &rule("https", 443, "")).await;
    for begin in [&b""[..], b"\x16", b"\x16{"] {
        let (mut guest, serving) = open(&setup.door(), 443);
        guest.write_all(begin).await.unwrap();
        let before = tokio::time::Instant::now();
        assert_eq!(serving.await.unwrap().unwrap_err().reason, Reason::TimedOut);
        assert_eq!(before.elapsed(), Duration::from_secs(10));
    }
}

#[tokio::test]
async fn net_07_and_net_08_a_stream_carries_requests_to_its_host_each_framed_anew() {
    let server = Server::http(None, |_, _| answer(&[], "x")).await;
    let setup = Setup::new(None, "", &rule("http", server.port, "paths = [\"/ok\"]")).await;
    let door = setup.door();
    let host = format!("Host: a.test:{}\r\n", server.port);
    let count = || server.got.lock().unwrap().len();
    for (request, status, reach) in [
        (format!("GET /ok HTTP/1.1\r\n{host}\r\n"), "200", 1),
        (format!("GET http://a.test:{}/ok HTTP/1.1\r\n{host}\r\n", server.port), "200", 1),
        (format!("GET http://b.test/ok HTTP/1.1\r\n{host}\r\n"), "421", 0),
        ("GET /ok HTTP/1.1\r\nHost: b.test\r\n\r\n".into(), "421", 0),
        ("GET /ok HTTP/1.1\r\n\r\n".into(), "421", 0),
        (format!("GET /ok HTTP/1.1\r\n{host}{host}\r\n"), "421", 0),
        (format!("GET /ok HTTP/1.1\r\n{host}Host: b.test\r\n\r\n"), "421", 0),
        (format!("GET /ok HTTP/1.1\r\n{host}X-Forwarded-Host: b.test\r\n\r\n"), "200", 1),
        (format!("CONNECT a.test:{0} HTTP/1.1\r\n{host}\r\n", server.port), "403", 0),
        ("CONNECT b.test:443 HTTP/1.1\r\nHost: b.test:443\r\n\r\n".into(), "421", 0),
        // Two lengths, and lengths that are none. Chunks count, and no length goes out with them.
        (
            format!(
                "POST /ok HTTP/1.1\r\n{host}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
            ),
            "200",
            1,
        ),
        (format!("POST /ok HTTP/1.1\r\n{host}Content-Length: 1\r\nContent-Length: 2\r\n\r\nab"), "400", 0),
        (format!("POST /ok HTTP/1.1\r\n{host}Content-Length: +1\r\n\r\na"), "400", 0),
        (format!("POST /ok HTTP/1.1\r\n{host}Transfer-Encoding: gzip\r\n\r\na"), "400", 0),
        // Not in the form of HTTP.
        (format!("GET /ok HTTP/1.1\r\n{host}A: b\r\n c\r\n\r\n"), "400", 0),
        (format!("GET /ok HTTP/1.1\r\n{host}A : b\r\n\r\n"), "400", 0),
        (format!("GET /ok HTTP/1.1\r\n{host}A\0: b\r\n\r\n"), "400", 0),
        (format!("GET /ok HTTP/1.1\r\n{host}A: b\rc\r\n\r\n"), "400", 0),
        (format!("GET /o\0k HTTP/1.1\r\n{host}\r\n"), "400", 0),
        (format!("GET /ok evil HTTP/1.1\r\n{host}\r\n"), "400", 0),
        ("\x00\x01\x02\r\n\r\n".into(), "400", 0),
        // A second request behind the body is one of its own, and is checked.
        (
            format!("POST /ok HTTP/1.1\r\n{host}Content-Length: 1\r\n\r\naGET /inner HTTP/1.1\r\n{host}\r\n"),
            "200",
            1,
        ),
        (format!("GET /inner HTTP/1.1\r\n{host}\r\nGET /ok HTTP/1.1\r\n{host}\r\n"), "403", 1),
        // Chunks are put together anew, and what is chunked stays so.
        (
            format!(
                "POST /ok HTTP/1.1\r\n{host}Transfer-Encoding: chunked\r\n\r\n1;ext=1\r\na\r\n0\r\nX-Trailer: 1\r\n\r\n"
            ),
            "200",
            1,
        ),
    ] {
        let before = count();
        let told = told(&door, server.port, request.as_bytes()).await;
        assert_eq!(count() - before, reach, "{request:?}\n{told}");
        assert!(told.contains(&format!("HTTP/1.1 {status}")), "{request:?}\n{told}");
        assert!(told.matches("HTTP/1.1 200").count() <= 1, "{told}");
    }
    for got in server.got.lock().unwrap().iter() {
        assert!(got.contains(" /ok\n") && got.matches("\nhost:").count() == 1, "{got}");
        assert!(
            !got.contains("content-length: 3") && !got.contains("trailer") && !got.contains("ext="),
            "{got}"
        );
    }
}

/// Pieces of requests, good and bad, that are put together at random. `@` is a placeholder, `~` the server's authority.
const PIECES: [&str; 40] = [
    "GET /ok HTTP/1.1\r\n",
    "POST /ok HTTP/1.1\r\n",
    "GET /inner HTTP/1.1\r\n",
    "GET /ok/../inner HTTP/1.1\r\n",
    "DELETE /ok HTTP/1.1\r\n",
    "GET http://~/ok HTTP/1.1\r\n",
    "GET http://b.test/ok HTTP/1.1\r\n",
    "GET /ok HTTP/1.0\r\n",
    "CONNECT ~ HTTP/1.1\r\n",
    "get /ok HTTP/1.1\r\n",
    "GET /ok?@ HTTP/1.1\r\n",
    "GET /ok HTTP/1.1\n",
    "GET  /ok  HTTP/1.1\r\n",
    "Host: ~\r\n",
    "Host: ~\r\n",
    "Host: ~\r\n",
    "Host: ~\r\n",
    "Host: b.test\r\n",
    "host : ~\r\n",
    "Host: ~\n",
    "Content-Length: 5\r\n",
    "Content-Length: 0\r\n",
    "Content-Length: 50\r\n",
    "Content-Length: -1\r\n",
    "Transfer-Encoding: chunked\r\n",
    "Transfer-Encoding: xchunked\r\n",
    "Transfer-Encoding:\tchunked\r\n",
    "Connection: close\r\n",
    "Connection: host, content-length\r\n",
    "Authorization: @\r\n",
    "X: a\r\n b\r\n",
    "X: a\rY: b\r\n",
    "\r\n",
    "\r\n",
    "\r\n",
    "hello",
    "5\r\nhello\r\n",
    "0\r\n\r\n",
    "\0",
    "\x16{\"name\":\"a.test\"}\n",
];

#[tokio::test]
async fn net_08_whatever_a_stream_holds_the_server_sees_only_requests_that_a_rule_allows() {
    let server = Server::http(None, |_, _| answer(&[], "x")).await;
    let rules = rule("http", server.port, "methods = [\"GET\", \"POST\"]\npaths = [\"/ok\"]");
    let rules =
        format!("{rules}[[profile.p.allow]]\nhost = \"a.test\"\n{SECRET}[budget]\nrequests = 100000\n");
    let setup = Setup::new(None, "a-value-of-length", &rules).await;
    let way = setup.way("ann", "s");
    let (door, key) = (way.run(Default::default()), way.environment()[0].1.clone());
    let mut random = ChaCha8Rng::seed_from_u64(8);
    for _ in 0..1_500 {
        // Most begin well, so that they come far.
        let mut text = if random.next_u32() % 4 > 0 {
            "POST /ok HTTP/1.1\r\nHost: ~\r\n".to_owned()
        } else {
            String::new()
        };
        for _ in 0..random.next_u32() % 12 {
            text.push_str(PIECES[random.next_u32() as usize % PIECES.len()]);
        }
        let text = text.replace('~', &format!("a.test:{}", server.port)).replace('@', &key);
        told(&door, server.port, text.as_bytes()).await;
    }
    let got = server.got.lock().unwrap();
    assert!(got.len() > 50, "only {} came through", got.len());
    for got in got.iter() {
        let line = got.lines().next().unwrap_or_default();
        assert!(matches!(line, "GET /ok" | "POST /ok"), "{got}");
        assert_eq!(got.matches(&format!("\nhost: a.test:{}\n", server.port)).count(), 1, "{got}");
        assert!(got.matches("\nhost:").count() == 1 && !got.contains("a-value-of-length"), "{got}");
    }
}

#[tokio::test]
async fn net_30_bytes_hold_no_secret_and_go_to_checked_addresses() {
    let server = Server::bytes(vec![b"back".to_vec()], false).await;
    let tcp = |rest: &str| {
        format!(
            "[[profile.p.allow]]\nhost = \"a.test\"\nport = {}\nprotocol = \"tcp\"\n{rest}\n",
            server.port
        )
    };
    let secret = format!("[[profile.p.allow]]\nhost = \"a.test\"\n{SECRET}");
    let open_rule = tcp("addresses = [\"127.0.0.0/8\"]");
    let setup = Setup::new(None, "a-value-of-length", &format!("{open_rule}{secret}")).await;
    let way = setup.way("ann", "s");
    let (door, key) = (way.run(Default::default()), way.environment()[0].1.clone());
    let (mut guest, serving) = open(&door, server.port);
    guest.write_all(format!("GET / HTTP/1.1\r\nauthorization: {key}\r\n\r\n").as_bytes()).await.unwrap();
    let mut back = [0; 4];
    guest.read_exact(&mut back).await.unwrap();
    assert_eq!(&back, b"back");
    assert!(server.last().contains(&key) && !server.last().contains("a-value"));
    guest.shutdown().await.unwrap();
    drop(guest);
    let _ = serving.await.unwrap();
    let used = door.used();
    assert!(used.bytes_out > 40 && used.bytes_in == 4, "{used:?}");
    // Without its network named, the same address is refused.
    let setup = Setup::new(None, "", &tcp("")).await;
    let (_guest, serving) = open(&setup.door(), server.port);
    assert_eq!(serving.await.unwrap().unwrap_err().reason, Reason::Address);
    assert_eq!(server.accepted(), 1);
    let line = setup.audit().pop().unwrap();
    assert_eq!((&line["protocol"], &line["reason"]), (&"tcp".into(), &"address".into()));
}

#[tokio::test]
async fn net_11_a_greeting_on_a_stream_of_bytes_is_refused() {
    let server = Server::bytes(vec![b"back".to_vec()], false).await;
    let rules = rule("tcp", server.port, "");
    let setup = Setup::new(None, "", &rules).await;
    let (mut guest, serving) = open(&setup.door(), server.port);
    guest.write_all(b"\x16").await.unwrap();
    guest.write_all(b"{\"name\":\"a.test\"}\n").await.unwrap();
    let told = line(&mut guest).await;
    assert_eq!(told["error"], "protocol");
    assert_eq!(serving.await.unwrap().unwrap_err().reason, Reason::Protocol);
    assert!(server.got.lock().unwrap().iter().all(String::is_empty));
    // A handshake of the guest's own is bytes as any other, and so is one byte alone.
    for bytes in [&b"\x16\x03\x01\r\n\r\n"[..], b"\x16\r\n\r\n", b"{\r\n\r\n"] {
        let (mut guest, serving) = open(&setup.door(), server.port);
        guest.write_all(bytes).await.unwrap();
        guest.shutdown().await.unwrap();
        let mut back = Vec::new();
        guest.read_to_end(&mut back).await.unwrap();
        assert_eq!(back, b"back");
        serving.await.unwrap().unwrap();
        assert!(server.last().as_bytes().starts_with(bytes), "{bytes:?}: {:?}", server.last());
    }
}

#[tokio::test]
async fn a_refusal_reaches_a_guest_that_writes_all_of_its_body_first() {
    let server = Server::http(None, |_, _| answer(&[], "x")).await;
    let setup = Setup::new(None, "", &rule("http", server.port, "methods = [\"GET\"]")).await;
    let host = format!("Host: a.test:{}\r\n", server.port);
    let (mut guest, serving) = open(&setup.door(), server.port);
    let body = vec![b'a'; 4 << 20];
    let head = format!("POST /x HTTP/1.1\r\n{host}Content-Length: {}\r\n\r\n", body.len());
    guest.write_all(head.as_bytes()).await.unwrap();
    guest.write_all(&body).await.expect("the stream stays open while the body is written");
    // And the next request of the stream is answered.
    guest.write_all(format!("GET /x HTTP/1.1\r\n{host}Connection: close\r\n\r\n").as_bytes()).await.unwrap();
    let mut back = String::new();
    guest.read_to_string(&mut back).await.unwrap();
    assert!(back.starts_with("HTTP/1.1 403 ") && back.contains("HTTP/1.1 200 "), "{back}");
    serving.await.unwrap().unwrap();
    // Who waits for a word before sending gets the answer, and no word.
    let (mut guest, _serving) = open(&setup.door(), server.port);
    let head = format!("POST /x HTTP/1.1\r\n{host}Expect: 100-continue\r\nContent-Length: 5\r\n\r\n");
    guest.write_all(head.as_bytes()).await.unwrap();
    let mut back = String::new();
    guest.read_to_string(&mut back).await.unwrap();
    assert!(back.starts_with("HTTP/1.1 403 ") && !back.contains(" 100 "), "{back}");
}

#[tokio::test]
async fn net_22_streams_count_as_connections_and_are_given_back() {
    let rules = rule("http", 80, "") + "[budget]\nconnections = 3\nrequests = 100\n";
    let setup = Setup::new(None, "", &rules).await;
    let door = setup.door();
    let mut all: Vec<_> = (0..3).map(|_| door.open("a.test", 80).unwrap()).collect();
    for _ in 0..10_000 {
        let reason = door.open("a.test", 80).err().unwrap().reason;
        assert!(matches!(reason, Reason::Connections | Reason::Requests));
    }
    all.pop();
    assert!(door.open("a.test", 80).is_ok());
    // Ten thousand refusals are two lines: the first for want of a connection, and the first past the budget of requests.
    assert_eq!(setup.audit().len(), 2);
    assert_eq!(setup.names.asked.load(Ordering::Relaxed), 0);
}

/// Where a run has no place for one more, what a client keeps for later ends, and what is under way is the last of its stream.
#[tokio::test]
async fn streams_that_nobody_uses_make_room_for_others() {
    let server = Server::http(None, |_, _| answer(&[], "hi")).await;
    let rules = rule("http", server.port, "") + "[budget]\nconnections = 2\n";
    let setup = Setup::new(None, "", &rules).await;
    let door = setup.door();
    let request = format!("GET / HTTP/1.1\r\nHost: a.test:{}\r\n\r\n", server.port);
    let (mut idle, first) = open(&door, server.port);
    let mut back = vec![0; 4096];
    idle.write_all(request.as_bytes()).await.unwrap();
    let count = idle.read(&mut back).await.unwrap();
    assert!(!String::from_utf8_lossy(&back[..count]).contains("connection: close"));
    // It is for a request that comes yet.
    let (mut fresh, second) = open(&door, server.port);
    assert_eq!(door.open("a.test", server.port).err().unwrap().reason, Reason::Connections);
    let ended = |mut stream: DuplexStream| async move {
        let mut back = String::new();
        let reading = stream.read_to_string(&mut back);
        tokio::time::timeout(Duration::from_secs(5), reading).await.expect("an end").unwrap();
        back
    };
    assert_eq!(ended(idle).await, "");
    first.await.unwrap().unwrap();
    assert!(!second.is_finished() && door.open("a.test", server.port).is_ok());
    fresh.write_all(request.as_bytes()).await.unwrap();
    let back = ended(fresh).await;
    assert!(back.contains("connection: close\r\n") && back.ends_with("hi"), "{back}");
}

#[tokio::test]
async fn net_25_a_stream_that_is_dropped_ends_at_the_server() {
    let server =
        Server::bytes(vec![b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\npart".to_vec()], false).await;
    let setup = Setup::new(None, "", &rule("http", server.port, "")).await;
    let door = setup.door();
    let (mut guest, serving) = open(&door, server.port);
    guest
        .write_all(format!("GET / HTTP/1.1\r\nHost: a.test:{}\r\n\r\n", server.port).as_bytes())
        .await
        .unwrap();
    let mut back = [0; 15];
    guest.read_exact(&mut back).await.unwrap();
    assert!(!setup.gate.settled(Duration::ZERO).await);
    serving.abort();
    assert!(setup.gate.settled(Duration::from_secs(5)).await);
    assert_eq!(setup.audit().last().unwrap()["reason"], "cancelled");
    assert!(setup.way("ann", "s").kept().is_empty());
}
