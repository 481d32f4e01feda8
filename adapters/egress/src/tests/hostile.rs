//! Servers that mean harm, or break.

use std::time::{Duration, Instant};

use dormouse_core::testing::wait_until_async;

use crate::tests::support::{Server, Setup, ask, get, rule};
use crate::{Door, Reason, Run, piece};

const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\n";

async fn setup(server: &Server, rest: &str) -> (Setup, String) {
    let setup = Setup::new(None, "", &format!("{}{rest}", rule("http", server.port, ""))).await;
    (setup, format!("http://a.test:{}/", server.port))
}

/// The door of a run that ends soon.
fn short(setup: &Setup) -> Door {
    let deadline = Some(Instant::now() + Duration::from_millis(300));
    setup.way("ann", "s").run(Run { deadline, ..Run::default() })
}

#[tokio::test]
async fn net_21_a_body_without_end_ends_with_the_budget() {
    let head = [HEAD, b"transfer-encoding: chunked\r\n\r\n"].concat();
    let chunk = [&b"4000\r\n"[..], &[b'a'; 0x4000], b"\r\n"].concat();
    let server = Server::bytes(vec![head, chunk], true).await;
    let (setup, url) = setup(&server, "[budget]\nbytes_in = \"1 MiB\"\n").await;
    let door = setup.door();
    assert_eq!(ask(&door, get(&url, &[])).await.err(), Some(Reason::BytesIn));
    assert!(door.used().bytes_in <= 1 << 20);
    assert_eq!(setup.audit().pop().unwrap()["reason"], "bytes_in");
}

#[tokio::test]
async fn net_21_heads_without_end_and_silence_end_at_a_bound() {
    let many = "x: y\r\n".repeat(100_000).into_bytes();
    let large = [b"x: ", vec![b'a'; 1 << 20].as_slice(), b"\r\n\r\n"].concat();
    for (pieces, endless, wanted) in [
        (vec![HEAD.to_vec(), many, b"\r\n".to_vec()], false, Reason::Reset),
        (vec![HEAD.to_vec(), large], false, Reason::Reset),
        (vec![HEAD.to_vec(), b"x: y\r\n".to_vec()], true, Reason::Reset),
        (vec![b"HTTP/1.1 100 Continue\r\n\r\n".to_vec()], true, Reason::TimedOut),
        (vec![b"HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n".to_vec()], true, Reason::TimedOut),
        (vec![b"not http at all\r\n\r\n".to_vec()], false, Reason::Reset),
        (
            vec![b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab".to_vec()],
            false,
            Reason::Reset,
        ),
        (vec![b"".to_vec()], false, Reason::TimedOut),
        (vec![HEAD.to_vec()], false, Reason::TimedOut),
    ] {
        let shown = String::from_utf8_lossy(&pieces[0]).into_owned();
        let server = Server::bytes(pieces, endless).await;
        let (setup, url) = setup(&server, "").await;
        let begin = Instant::now();
        assert_eq!(ask(&short(&setup), get(&url, &[])).await.err(), Some(wanted), "{shown}");
        assert!(begin.elapsed() < Duration::from_secs(5), "{shown}");
    }
}

#[tokio::test]
async fn net_21_a_body_that_stands_still_ends_with_the_run() {
    let server = Server::bytes(vec![[HEAD, b"content-length: 10\r\n\r\nabc"].concat()], false).await;
    let (setup, url) = setup(&server, "").await;
    let mut body = short(&setup).exchange(get(&url, &[])).await.unwrap().into_body();
    assert_eq!(piece(&mut body).await.unwrap().unwrap(), "abc");
    assert_eq!(piece(&mut body).await.unwrap().unwrap_err().reason, Reason::TimedOut);
    assert!(piece(&mut body).await.is_none());
}

#[tokio::test]
async fn net_26_nothing_is_decoded_and_bytes_count_as_they_come() {
    // Zeros: a bomb if somebody took it for what it says.
    let body = vec![0; 3_000];
    let head = [HEAD, b"content-encoding: gzip\r\ncontent-length: 3000\r\n\r\n"].concat();
    let server = Server::bytes(vec![[head, body].concat()], false).await;
    let (setup, url) = setup(&server, "").await;
    let door = setup.door();
    let told = ask(&door, get(&url, &[("accept-encoding", "gzip")])).await.unwrap();
    assert_eq!((told.headers["content-encoding"].as_bytes(), told.body.len()), (&b"gzip"[..], 3_000));
    assert_eq!(door.used().bytes_in, 3_000);
    assert!(server.last().contains("accept-encoding: gzip"));
}

#[tokio::test]
async fn net_29_a_protocol_that_nobody_asked_for_is_refused_and_not_kept() {
    for upgrade in ["h2c", "websocket", "dormouse"] {
        let answer =
            format!("HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: {upgrade}\r\n\r\n");
        let server = Server::bytes(vec![answer.into_bytes()], false).await;
        let (setup, url) = setup(&server, "").await;
        let way = setup.way("ann", "s");
        let door = way.run(Run::default());
        let headers =
            [("connection", "upgrade, http2-settings"), ("upgrade", "h2c"), ("http2-settings", "x")];
        assert_eq!(ask(&door, get(&url, &headers)).await.err(), Some(Reason::Reset), "{upgrade}");
        assert!(way.kept().is_empty());
        let got = server.last().to_ascii_lowercase();
        assert!(!got.contains("upgrade") && !got.contains("http2-settings"), "{got}");
        let told =
            ask(&door, get(&url, &[("connection", "upgrade"), ("upgrade", "websocket")])).await.unwrap();
        assert_eq!((told.status, told.denied()), (403, "upgrade"));
    }
}

#[tokio::test]
async fn net_08_an_answer_that_is_framed_oddly_is_refused() {
    for framing in ["gzip, chunked", "chunked, chunked", "identity", "xchunked"] {
        let answer = format!("HTTP/1.1 200 OK\r\ntransfer-encoding: {framing}\r\n\r\n0\r\n\r\n");
        let server = Server::bytes(vec![answer.into_bytes()], false).await;
        let (setup, url) = setup(&server, "").await;
        let way = setup.way("ann", "s");
        match ask(&way.run(Run::default()), get(&url, &[])).await {
            Ok(told) => assert_eq!(told.denied(), "encoding", "{framing}"),
            Err(reason) => assert_eq!(reason, Reason::Reset, "{framing}"),
        }
        assert!(way.kept().is_empty());
    }
}

#[tokio::test]
async fn net_08_a_length_beside_chunks_says_nothing() {
    let answer =
        "HTTP/1.1 200 OK\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n5\r\nabcde\r\n0\r\n\r\n";
    let server = Server::bytes(vec![answer.into()], false).await;
    let (setup, url) = setup(&server, "").await;
    let told = ask(&setup.way("ann", "s").run(Run::default()), get(&url, &[])).await.unwrap();
    assert_eq!((told.body.as_str(), told.headers.get("content-length")), ("abcde", None));
}

#[tokio::test]
async fn net_08_what_comes_behind_an_answer_is_no_answer_to_the_next_request() {
    let one = b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nA";
    let two = b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nB";
    let server = Server::bytes(vec![[&one[..], two].concat()], false).await;
    let (setup, url) = setup(&server, "").await;
    let way = setup.way("ann", "s");
    for _ in 0..3 {
        assert_eq!(ask(&way.run(Run::default()), get(&url, &[])).await.unwrap().body, "A");
    }
    assert_eq!(server.accepted(), 3);
}

#[tokio::test]
async fn net_25_a_request_that_is_dropped_is_gone_and_its_place_free() {
    let server = Server::bytes(vec![[HEAD, b"content-length: 10\r\n\r\nabc"].concat()], false).await;
    let (setup, url) = setup(&server, "[budget]\nconnections = 1\n").await;
    let way = setup.way("ann", "s");
    let door = way.run(Run::default());
    for _ in 0..3 {
        let answer = door.exchange(get(&url, &[])).await.unwrap();
        assert_eq!(ask(&door, get(&url, &[])).await.err(), Some(Reason::Connections));
        drop(answer);
    }
    let silent = Server::bytes(vec![b"".to_vec()], false).await;
    let setup = Setup::new(None, "", &(rule("http", silent.port, "") + "[budget]\nconnections = 1\n")).await;
    let door = setup.door();
    for _ in 0..3 {
        let asking = door.exchange(get(&format!("http://a.test:{}/", silent.port), &[]));
        assert!(tokio::time::timeout(Duration::from_millis(50), asking).await.is_err());
    }
    wait_until_async("three connections", Duration::from_secs(5), || silent.accepted() == 3).await;
    let lines = setup.audit();
    assert_eq!(lines.iter().filter(|line| line["reason"] == "cancelled").count(), 3, "{lines:?}");
}
