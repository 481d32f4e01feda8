//! Recordings: what is in them, and that nothing leaves while one is played.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use futures::stream;
use http_body_util::{BodyExt as _, StreamBody};
use hyper::Response;
use hyper::body::Frame;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::tests::support::{Authority, SECRET, Server, Setup, answer, ask, get, request, rule};
use crate::{Cassette, Door, Reason, Refusal, full, piece};

const VALUE: &str = "s3cr3t-value-of-the-operator";

struct Tape {
    _folder: TempDir,
    path: PathBuf,
}

fn tape() -> Tape {
    let folder = tempfile::tempdir().unwrap();
    Tape { path: folder.path().join("run.cassette"), _folder: folder }
}

fn record(path: &Path) -> (Cassette, u8) {
    (Cassette::record(path).unwrap(), 1)
}

fn replay(path: &Path) -> (Cassette, u8) {
    (Cassette::replay(path).unwrap(), 2)
}

/// A server at `https://a.test` that counts, streams, and repeats the secret.
async fn server(authority: &Authority) -> Server {
    let count = std::sync::atomic::AtomicUsize::new(0);
    Server::http(Some(authority.server("a.test")), move |request, body| match request.uri().path() {
        "/count" => answer(&[], count.fetch_add(1, Ordering::SeqCst).to_string()),
        "/events" => {
            let events = ["data: 1\n\n".to_owned(), format!("data: {VALUE}\n\n"), "data: 3\n\n".to_owned()];
            let pieces = events.map(|event| Ok::<_, Refusal>(Frame::data(Bytes::from(event))));
            let mut answer = Response::new(StreamBody::new(stream::iter(pieces)).boxed_unsync());
            answer.headers_mut().insert("content-type", "text/event-stream".parse().unwrap());
            answer
        }
        "/bytes" => answer(&[("content-encoding", "identity")], vec![0, 159, 146, 150, 255]),
        "/echo" => answer(&[("x-echo", VALUE)], format!("{} {} {VALUE}", request.method(), body.len())),
        _ => Response::builder().status(404).body(full("")).unwrap(),
    })
    .await
}

/// What a program does with its network, in words. `placeholder` is its key.
async fn program(door: &Door, port: u16, placeholder: &str) -> Vec<String> {
    let url = |path: &str| format!("https://a.test:{port}{path}");
    let token = format!("Bearer {placeholder}");
    let basic = format!("Basic {}", STANDARD.encode(format!("user:{placeholder}")));
    let body = format!("{{\"key\":\"{placeholder}\"}}");
    let mut told = Vec::new();
    for request in [
        get(&url("/count"), &[]),
        get(&url("/count"), &[]),
        get(&url("/count?q=1"), &[]),
        get(&url("/count"), &[("authorization", &token)]),
        get(&url("/count"), &[("authorization", &basic)]),
        get(&url("/count"), &[("accept", "text/plain"), ("user-agent", "anything")]),
        request("POST", &url("/echo"), &[("content-type", "text/plain")], full(body)),
        request("POST", &url("/echo"), &[], full("other")),
        get(&url("/bytes"), &[]),
        get(&url("/none"), &[]),
    ] {
        let answer = ask(door, request).await.unwrap();
        let headers: Vec<_> = answer.headers.iter().filter(|(name, _)| *name != "date").collect();
        told.push(format!("{} {:?} {:?}", answer.status, headers, answer.body));
    }
    let mut events = door.exchange(get(&url("/events"), &[])).await.unwrap().into_body();
    while let Some(event) = piece(&mut events).await {
        told.push(format!("{:?}", event.unwrap()));
    }
    told
}

#[tokio::test]
async fn net_33_a_run_repeats_without_servers_names_and_secrets() {
    let authority = Authority::new();
    let tape = tape();
    let server = server(&authority).await;
    let rules = format!("{}{SECRET}", rule("https", server.port, ""));
    let live = {
        let setup = Setup::taped(Some(&authority), VALUE, &rules, record(&tape.path)).await;
        let way = setup.way("ann", "s");
        program(&way.run(Default::default()), server.port, &way.environment()[0].1).await
    };
    assert!(live[1].contains("\"1\"") && live.iter().any(|told| told.contains("****")), "{live:?}");
    let text = std::fs::read_to_string(&tape.path).unwrap();
    assert!(!text.contains(VALUE) && !text.contains(&STANDARD.encode(VALUE)), "{text}");
    use std::os::unix::fs::PermissionsExt as _;
    assert_eq!(std::fs::metadata(&tape.path).unwrap().permissions().mode() & 0o777, 0o600);
    // Another installation and another owner, for whom the secret's value cannot be had, without a server.
    let accepted = server.accepted();
    let (port, rules) = (server.port, rules.replace("file = \"key\"", "env = \"DORMOUSE_NO_SUCH_VARIABLE\""));
    drop(server);
    for _ in 0..2 {
        let setup = Setup::taped(None, "", &rules, replay(&tape.path)).await;
        let way = setup.way("bob", "s");
        let door = way.run(Default::default());
        assert_eq!(program(&door, port, &way.environment()[0].1).await, live);
        assert_eq!((setup.names.asked.load(Ordering::Relaxed), way.kept().len()), (0, 0));
        let lines = setup.audit();
        assert!(lines.iter().all(|line| line["event"] == "replayed") && lines.len() == 11, "{lines:?}");
        let used = door.used();
        assert!(used.requests == 11 && used.bytes_in > 60 && used.bytes_out > 40, "{used:?}");
        setup.reload(None, "", &rules).await.unwrap();
    }
    assert!(accepted > 0);
}

#[tokio::test]
async fn net_33_answers_come_in_their_turn_and_the_last_one_for_ever() {
    let authority = Authority::new();
    let tape = tape();
    let server = server(&authority).await;
    let rules = rule("https", server.port, "");
    let url = format!("https://a.test:{}/count", server.port);
    let setup = Setup::taped(Some(&authority), "", &rules, record(&tape.path)).await;
    for wanted in ["0", "1", "2"] {
        assert_eq!(ask(&setup.door(), get(&url, &[])).await.unwrap().body, wanted);
    }
    // Ended by hand: what comes later is not in it.
    setup.gate.recorded().unwrap();
    assert_eq!(ask(&setup.door(), get(&url, &[])).await.unwrap().body, "3");
    let setup = Setup::taped(None, "", &rules, replay(&tape.path)).await;
    for wanted in ["0", "1", "2", "2", "2"] {
        assert_eq!(ask(&setup.door(), get(&url, &[])).await.unwrap().body, wanted);
    }
    setup.gate.recorded().unwrap();
}

#[tokio::test]
async fn net_33_what_is_not_recorded_is_refused_and_named() {
    let tape = tape();
    let server = Server::http(None, |_, _| answer(&[], "x")).await;
    let port = server.port;
    let rules = rule("http", port, "websocket = true");
    let url = |path: &str| format!("http://a.test:{port}{path}");
    {
        let setup = Setup::taped(None, "", &rules, record(&tape.path)).await;
        ask(&setup.door(), request("POST", &url("/a?b"), &[("accept", "x")], full("body"))).await.unwrap();
    }
    let tcp = "[[profile.p.allow]]\nhost = \"b.test\"\nport = 5432\nprotocol = \"tcp\"\n";
    let https = "[[profile.p.allow]]\nhost = \"c.test\"\n";
    let setup = Setup::taped(None, "", &format!("{rules}{tcp}{https}"), replay(&tape.path)).await;
    let door = setup.door();
    for other in [
        request("POST", &url("/a?b"), &[("accept", "x")], full("other")),
        request("POST", &url("/a?b"), &[("accept", "y")], full("body")),
        request("POST", &url("/a?b"), &[("accept", "x"), ("authorization", "z")], full("body")),
        request("POST", &url("/a?b"), &[("accept", "x"), ("content-type", "z")], full("body")),
        request("PUT", &url("/a?b"), &[("accept", "x")], full("body")),
        request("POST", &url("/a"), &[("accept", "x")], full("body")),
        request("POST", &url("/a?b"), &[], full("body")),
    ] {
        let told = ask(&door, other).await.unwrap();
        assert_eq!((told.status, told.denied()), (403, "not_recorded"));
        assert!(told.body.contains(&format!("http://a.test:{port}/a")), "{}", told.body);
    }
    assert_eq!(door.open("b.test", 5432).err().unwrap().reason, Reason::NotRecorded);
    // Over streams: a request, one that would become a WebSocket, and one behind a greeting.
    let get =
        |host: &str, more: &str| format!("GET / HTTP/1.1\r\nHost: {host}\r\n{more}Connection: close\r\n\r\n");
    let websocket = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    for (host, at, text) in [
        ("a.test", port, get(&format!("a.test:{port}"), "")),
        ("a.test", port, get(&format!("a.test:{port}"), websocket)),
        ("c.test", 443, format!("\x16{{\"name\":\"c.test\"}}\n{}", get("c.test", ""))),
    ] {
        let (mut guest, stream) = tokio::io::duplex(64 << 10);
        let serving = tokio::spawn(door.open(host, at).unwrap().serve(stream));
        guest.write_all(text.as_bytes()).await.unwrap();
        guest.shutdown().await.unwrap();
        let mut back = String::new();
        guest.read_to_string(&mut back).await.unwrap();
        assert!(back.contains("HTTP/1.1 403") && back.contains("x-dormouse-denied: not_recorded"), "{back}");
        serving.await.unwrap().unwrap();
    }
    // Rules and budgets count as ever.
    let told = ask(&door, crate::tests::support::get("http://other.test/", &[])).await.err();
    assert_eq!(told, Some(Reason::Host));
    assert_eq!((server.accepted(), setup.names.asked.load(Ordering::Relaxed)), (1, 0));
    let tight =
        Setup::taped(None, "", &format!("{rules}[budget]\nbytes_out = 3\n"), replay(&tape.path)).await;
    let told = ask(&tight.door(), request("POST", &url("/a?b"), &[("accept", "x")], full("body"))).await;
    assert_eq!(told.err(), Some(Reason::BytesOut));
}

#[tokio::test]
async fn net_33_failures_of_the_network_repeat_and_what_broke_off_breaks_off() {
    let tape = tape();
    let head = b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\npart".to_vec();
    let broken = Server::start(move |mut stream, _| {
        let head = head.clone();
        async move {
            let _ = stream.read(&mut [0; 4096]).await;
            let _ = stream.write_all(&head).await;
        }
    })
    .await;
    let rules = rule("http", broken.port, "") + &rule("http", 1, "");
    let (cut, refused) = (format!("http://a.test:{}/", broken.port), "http://a.test:1/".to_owned());
    let told = async |door: &Door| {
        let mut body = door.exchange(get(&cut, &[])).await.unwrap().into_body();
        let first = piece(&mut body).await.unwrap().unwrap();
        let second = piece(&mut body).await.unwrap().unwrap_err().reason;
        // A guest that wants no more than the head.
        drop(door.exchange(get(&format!("{cut}dropped"), &[])).await.unwrap());
        (first, second, ask(door, get(&refused, &[])).await.err())
    };
    let live = {
        let setup = Setup::taped(None, "", &rules, record(&tape.path)).await;
        told(&setup.door()).await
    };
    assert_eq!(live, ("part".into(), Reason::Reset, Some(Reason::Refused)));
    let setup = Setup::taped(None, "", &rules, replay(&tape.path)).await;
    assert_eq!(told(&setup.door()).await, live);
    assert_eq!(setup.names.asked.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn net_33_over_a_stream_what_came_before_it_broke_off_comes_before_it_breaks_off() {
    let tape = tape();
    let body = "x".repeat(3_000);
    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: 9000\r\n\r\n{body}");
    let broken = Server::start(move |mut stream, _| {
        let head = head.clone();
        async move {
            let _ = stream.read(&mut [0; 4096]).await;
            let _ = stream.write_all(head.as_bytes()).await;
        }
    })
    .await;
    let (port, rules) = (broken.port, rule("http", broken.port, ""));
    let told = async |setup: &Setup| {
        // Less than the answer goes through at one time.
        let (mut guest, stream) = tokio::io::duplex(100);
        let serving = tokio::spawn(setup.door().open("a.test", port).unwrap().serve(stream));
        let text = format!("GET / HTTP/1.1\r\nHost: a.test:{port}\r\n\r\n");
        guest.write_all(text.as_bytes()).await.unwrap();
        let mut back = String::new();
        guest.read_to_string(&mut back).await.unwrap();
        serving.await.unwrap().unwrap();
        assert!(back.starts_with("HTTP/1.1 200 OK\r\n") && back.ends_with(&body), "{back}");
        assert_eq!(back.matches('x').count(), body.len());
    };
    let setup = Setup::taped(None, "", &rules, record(&tape.path)).await;
    told(&setup).await;
    drop(setup);
    for _ in 0..20 {
        told(&Setup::taped(None, "", &rules, replay(&tape.path)).await).await;
    }
}

#[tokio::test]
async fn net_33_a_value_that_a_program_wrote_itself_is_in_no_recording() {
    let authority = Authority::new();
    let tape = tape();
    let server = Server::http(Some(authority.server("a.test")), |request, body| {
        let seen = request.headers().get("accept").map(|value| value.to_str().unwrap().to_owned());
        let told = format!("{} {} {}", request.uri(), seen.unwrap_or_default(), body);
        answer(&[("x-seen", &request.uri().to_string())], told)
    })
    .await;
    // It learned the value elsewhere, and the secret is for another host: nothing of this is washed for the program.
    let other = SECRET.replace("a.test", "keys.test");
    let rules = format!("{}{other}", rule("https", server.port, ""));
    let url = |rest: &str| format!("https://a.test:{}/{rest}", server.port);
    let told = async |door: &Door| {
        let mut all = Vec::new();
        for request in [
            get(&url(&format!("{VALUE}?a")), &[]),
            get(&url(&format!("b?key={VALUE}")), &[]),
            get(&url("c"), &[("accept", VALUE)]),
            request("POST", &url("d"), &[("authorization", VALUE)], full(VALUE)),
            get(&url("e"), &[]),
        ] {
            let answer = ask(door, request).await.unwrap();
            all.push((answer.status, answer.denied().to_owned(), answer.body));
        }
        all
    };
    let live = {
        let setup = Setup::taped(Some(&authority), VALUE, &rules, record(&tape.path)).await;
        told(&setup.door()).await
    };
    assert!(live[0].2.contains(VALUE), "{live:?}");
    let text = std::fs::read_to_string(&tape.path).unwrap();
    for form in [VALUE.to_owned(), STANDARD.encode(VALUE), VALUE.chars().rev().collect()] {
        assert!(!text.contains(&form), "{text}");
    }
    // Somebody who does not have it gets the same answers to the same requests, with stars.
    let rules = rules.replace("file = \"key\"", "env = \"DORMOUSE_NO_SUCH_VARIABLE\"");
    let setup = Setup::taped(None, "", &rules, replay(&tape.path)).await;
    let masked: Vec<_> = live
        .iter()
        .map(|(status, denied, body)| {
            (*status, denied.clone(), body.replace(VALUE, &"*".repeat(VALUE.len())))
        })
        .collect();
    assert_eq!(told(&setup.door()).await, masked);
    for other in [url("other-value-of-the-operator?a"), url(&format!("b?key={}", "*".repeat(VALUE.len())))] {
        assert_eq!(ask(&setup.door(), get(&other, &[])).await.unwrap().denied(), "not_recorded");
    }
}
