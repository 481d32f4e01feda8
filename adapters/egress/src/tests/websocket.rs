//! WebSockets: what may become one, and what is carried.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use dormouse_core::testing::wait_until_async;
use futures::{SinkExt as _, StreamExt as _};
use hyper::header::HeaderName;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, DuplexStream};
use tokio::task::{AbortHandle, JoinHandle};
use tokio_rustls::TlsAcceptor;
use tokio_tungstenite::tungstenite::handshake::server::{ErrorResponse, Request, Response};
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{WebSocketStream, accept_hdr_async, client_async};

use crate::tests::support::{Authority, SECRET, Server, Setup, ask, get, rule};
use crate::{Door, Reason, Refusal, Run};

const VALUE: &str = "a-value-of-length";

/// A server that sends back what it gets, `token` with the token that it was asked with, `bye` with an end, and `die` with none.
async fn echo(tls: Option<Arc<rustls::ServerConfig>>) -> Server {
    Server::start(move |stream, got| {
        let tls = tls.clone();
        async move {
            match tls {
                None => serve(stream, got).await,
                Some(config) => {
                    if let Ok(stream) = TlsAcceptor::from(config).accept(stream).await {
                        serve(stream, got).await;
                    }
                }
            }
        }
    })
    .await
}

async fn serve(stream: impl AsyncRead + AsyncWrite + Unpin, got: Arc<Mutex<Vec<String>>>) {
    let mut token = String::new();
    #[expect(clippy::result_large_err, reason = "the library's type")]
    let look = |request: &Request, answer: Response| -> Result<Response, ErrorResponse> {
        let headers = request.headers().iter();
        let headers = headers.map(|(name, value)| format!("{name}: {}\n", value.to_str().unwrap()));
        got.lock().unwrap().push(format!("{}\n{}", request.uri(), headers.collect::<String>()));
        let value = request.headers().get("authorization");
        token = value.map(|value| value.to_str().unwrap().to_owned()).unwrap_or_default();
        Ok(answer)
    };
    let Ok(mut socket) = accept_hdr_async(stream, look).await else { return };
    while let Some(Ok(message)) = socket.next().await {
        let answer = match message {
            Message::Text(text) if text == "token" => Message::text(format!("it is {token}")),
            Message::Text(text) if text == "die" => return,
            Message::Text(text) if text == "bye" => return drop(socket.close(None).await),
            message @ (Message::Text(_) | Message::Binary(_)) => {
                got.lock().unwrap().push(message.to_string());
                message
            }
            _ => continue,
        };
        if socket.send(answer).await.is_err() {
            return;
        }
    }
}

/// A guest's stream to `a.test`, and the gate's end of it.
fn open(door: &Door, port: u16) -> (DuplexStream, JoinHandle<Result<(), Refusal>>) {
    let (guest, host) = tokio::io::duplex(64 << 10);
    (guest, tokio::spawn(door.open("a.test", port).unwrap().serve(host)))
}

/// A WebSocket of a guest's library.
async fn connect(
    door: &Door,
    port: u16,
    path: &str,
    headers: &[(&str, &str)],
) -> Result<(WebSocketStream<DuplexStream>, JoinHandle<Result<(), Refusal>>), Error> {
    let (guest, serving) = open(door, port);
    Ok((client_async(request(port, path, headers), guest).await?.0, serving))
}

/// The request of a guest's library.
fn request(port: u16, path: &str, headers: &[(&str, &str)]) -> hyper::Request<()> {
    use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
    let mut request = format!("ws://a.test:{port}{path}").into_client_request().unwrap();
    for (name, value) in headers {
        request.headers_mut().insert(HeaderName::try_from(*name).unwrap(), value.parse().unwrap());
    }
    request
}

/// A guest's handshake of its own hand, and what comes back of it.
async fn told(door: &Door, port: u16, headers: &str) -> String {
    told_over(door, port, "", headers).await
}

/// The same behind a greeting.
async fn told_over(door: &Door, port: u16, greeting: &str, headers: &str) -> String {
    let (mut guest, _serving) = open(door, port);
    let text = format!("{greeting}GET / HTTP/1.1\r\nHost: a.test:{port}\r\n{headers}\r\n");
    guest.write_all(text.as_bytes()).await.unwrap();
    guest.shutdown().await.unwrap();
    let mut back = Vec::new();
    tokio::time::timeout(Duration::from_secs(10), guest.read_to_end(&mut back))
        .await
        .expect("an end")
        .unwrap();
    String::from_utf8_lossy(&back).into_owned()
}

const WELL: &str = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
const AGREED: &str = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n";

#[tokio::test]
async fn a_websocket_is_carried_where_a_rule_says_so() {
    let server = echo(None).await;
    let setup = Setup::new(None, "", &rule("http", server.port, "websocket = true")).await;
    let door = setup.door();
    let headers = [("sec-websocket-extensions", "permessage-deflate"), ("x-own", "1")];
    let (mut socket, serving) = connect(&door, server.port, "/chat?q", &headers).await.unwrap();
    let large = "x".repeat(300_000);
    for text in ["one", "two", &large] {
        socket.send(Message::text(text)).await.unwrap();
        assert_eq!(socket.next().await.unwrap().unwrap().into_text().unwrap(), text);
    }
    socket.send(Message::binary(vec![0, 255])).await.unwrap();
    assert_eq!(socket.next().await.unwrap().unwrap().into_data(), vec![0, 255]);
    let head = server.got.lock().unwrap()[0].clone();
    assert!(head.starts_with("/chat?q\n") && head.contains("x-own: 1\n"), "{head}");
    // No secret is for the host: what the two agree on is their own affair.
    assert!(head.contains("sec-websocket-extensions: permessage-deflate\n"), "{head}");
    socket.send(Message::text("bye")).await.unwrap();
    assert!(matches!(socket.next().await, Some(Ok(Message::Close(_)))));
    let _ = socket.close(None).await;
    drop(socket);
    assert!(serving.await.unwrap().is_ok());
    let used = door.used();
    assert_eq!(used.requests, 1);
    assert!(used.bytes_out > 300_000 && used.bytes_in > 300_000, "{used:?}");
    let lines = setup.audit();
    assert_eq!(lines.len(), 2, "{lines:?}");
    let line = &lines[1];
    assert_eq!(
        (&line["event"], &line["status"], &line["path"]),
        (&"ended".into(), &101.into(), &"/chat".into())
    );
    assert_eq!(line["bytes_in"], used.bytes_in);
    assert!(setup.way("ann", "s").kept().is_empty());
}

#[tokio::test]
async fn net_29_without_a_rule_that_says_so_nothing_becomes_a_websocket() {
    let server = echo(None).await;
    let setup = Setup::new(None, "", &rule("http", server.port, "")).await;
    let door = setup.door();
    let Err(Error::Http(answer)) = connect(&door, server.port, "/", &[]).await else {
        panic!("it was carried")
    };
    assert_eq!(
        (answer.status().as_u16(), &answer.headers()["x-dormouse-denied"]),
        (403, &"upgrade".parse().unwrap())
    );
    assert_eq!(door.used().denied[0].reason, "upgrade");
    // Nor does a request without a stream.
    let setup = Setup::new(None, "", &rule("http", server.port, "websocket = true")).await;
    let headers = [("connection", "upgrade"), ("upgrade", "websocket")];
    let url = format!("http://a.test:{}/", server.port);
    let told = ask(&setup.door(), get(&url, &headers)).await.unwrap();
    assert_eq!((told.status, told.denied()), (403, "upgrade"));
    assert!(told.body.contains("stream of bytes"));
    assert_eq!(server.accepted(), 0);
}

#[tokio::test]
async fn net_29_a_rule_for_other_methods_paths_or_requests_allows_no_websocket() {
    let server = echo(None).await;
    let port = server.port;
    let rules = [
        rule("http", port, "paths = [\"/plain\"]"),
        rule(
            "http",
            port,
            "paths = [\"/chat\"]\nmethods = [\"GET\"]\nwebsocket = true\nset = { x-own = \"set\" }",
        ),
    ];
    let setup = Setup::new(None, "", &rules.concat()).await;
    for (path, wanted) in [("/plain", "upgrade"), ("/other", "path")] {
        let Err(Error::Http(answer)) = connect(&setup.door(), port, path, &[]).await else {
            panic!("{path}")
        };
        assert_eq!(answer.headers()["x-dormouse-denied"], wanted);
    }
    let (mut socket, _serving) = connect(&setup.door(), port, "/chat", &[("x-own", "own")]).await.unwrap();
    socket.send(Message::text("hello")).await.unwrap();
    assert_eq!(socket.next().await.unwrap().unwrap().into_text().unwrap(), "hello");
    assert!(server.got.lock().unwrap()[0].contains("x-own: set\n"));
}

#[tokio::test]
async fn net_29_a_handshake_that_is_none_does_not_leave() {
    let server = Server::bytes(vec![format!("{AGREED}\r\n").into_bytes()], false).await;
    let setup = Setup::new(None, "", &rule("http", server.port, "websocket = true")).await;
    for bad in [
        WELL.replace("13", "12"),
        WELL.replace("websocket\r", "websocket, h2c\r"),
        WELL.replace("Connection: Upgrade\r\n", ""),
        WELL.replace("dGhl", "dGh"),
        format!("{WELL}Content-Length: 1\r\n"),
    ] {
        let told = told(&setup.door(), server.port, &bad).await;
        assert!(
            told.starts_with("HTTP/1.1 400") && told.contains("x-dormouse-denied: form"),
            "{bad}\n{told}"
        );
    }
    assert_eq!(server.accepted(), 0);
}

#[tokio::test]
async fn net_29_a_server_that_does_not_agree_is_refused_and_its_connection_is_not_kept() {
    let frame = "\u{1}\u{2}hi";
    for (answer, status) in [
        (AGREED.replace("s3pP", "S3pP"), "502"),
        (AGREED.replace("Sec-WebSocket-Accept", "X-Accept"), "502"),
        (AGREED.replace("Upgrade: websocket", "Upgrade: h2c"), "502"),
        (AGREED.replace("Connection: Upgrade\r\n", ""), "502"),
        (format!("{AGREED}Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"), "502"),
        // What is no agreement is an answer as any other.
        ("HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n".into(), "401"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nUpgrade: websocket\r\n".into(), "200"),
    ] {
        let server = Server::bytes(vec![format!("{answer}\r\n{frame}").into_bytes()], false).await;
        let setup = Setup::new(None, "", &rule("http", server.port, "websocket = true")).await;
        let way = setup.way("ann", "s");
        let told = told(&way.run(Run::default()), server.port, WELL).await;
        assert!(told.starts_with(&format!("HTTP/1.1 {status}")), "{answer}\n{told}");
        assert!(
            !told.contains("\u{2}hi") && !told.to_ascii_lowercase().contains("upgrade: websocket"),
            "{told}"
        );
        assert!(way.kept().is_empty(), "{answer}");
    }
}

#[tokio::test]
async fn net_29_bytes_behind_a_handshake_are_carried_and_are_no_request() {
    let server = Server::bytes(vec![format!("{AGREED}\r\n\u{1}\u{2}hi").into_bytes()], false).await;
    let rules = rule("http", server.port, "websocket = true\npaths = [\"/\"]");
    let setup = Setup::new(None, "", &rules).await;
    let door = setup.door();
    let (mut guest, _serving) = open(&door, server.port);
    // At once with the handshake: it is not read as a request of HTTP, and reaches the server after it has agreed.
    let text = format!(
        "GET / HTTP/1.1\r\nHost: a.test:{0}\r\n{WELL}\r\nGET /inner HTTP/1.1\r\nHost: a.test\r\n\r\n",
        server.port
    );
    guest.write_all(text.as_bytes()).await.unwrap();
    let mut back = Vec::new();
    while !back.ends_with(b"\x01\x02hi") {
        assert!(guest.read_buf(&mut back).await.unwrap() > 0, "{}", String::from_utf8_lossy(&back));
    }
    assert!(back.starts_with(b"HTTP/1.1 101 Switching Protocols\r\n"));
    wait_until_async("the bytes", Duration::from_secs(5), || server.last().contains("GET /inner")).await;
    assert_eq!((door.used().requests, server.got.lock().unwrap().len()), (1, 1));
}

/// A WebSocket over TLS to the host of the secret, behind a greeting.
struct Bound {
    server: Server,
    setup: Setup,
    key: String,
    door: Door,
}

impl Bound {
    async fn new() -> Self {
        let authority = Authority::new();
        let server = echo(Some(authority.server("a.test"))).await;
        let rules = format!("{}{SECRET}", rule("https", server.port, "websocket = true"));
        let setup = Setup::new(Some(&authority), VALUE, &rules).await;
        let way = setup.way("ann", "s");
        let key = way.environment()[0].1.clone();
        Self { server, key, door: way.run(Run::default()), setup }
    }

    async fn connect(&self, headers: &[(&str, &str)]) -> WebSocketStream<DuplexStream> {
        self.connect_and_serve(headers).await.0
    }

    /// The same, with the task that serves it.
    async fn connect_and_serve(
        &self,
        headers: &[(&str, &str)],
    ) -> (WebSocketStream<DuplexStream>, AbortHandle) {
        let (mut guest, serving) = open(&self.door, self.server.port);
        guest.write_all(b"\x16{\"name\":\"a.test\",\"alpn\":[\"http/1.1\"]}\n").await.unwrap();
        while guest.read_u8().await.unwrap() != b'\n' {}
        let socket = client_async(request(self.server.port, "/", headers), guest).await.unwrap().0;
        (socket, serving.abort_handle())
    }
}

#[tokio::test]
async fn net_14_what_was_masked_in_frames_is_counted_also_where_the_program_just_ends() {
    let bound = Bound::new().await;
    let token = format!("Bearer {}", bound.key);
    let (mut socket, serving) = bound.connect_and_serve(&[("authorization", &token)]).await;
    socket.send(Message::text("token")).await.unwrap();
    let told = socket.next().await.unwrap().unwrap().into_text().unwrap();
    assert!(told.contains("***"), "{told}");
    serving.abort();
    let over = || bound.setup.audit().iter().any(|line| line["masked"] == 1);
    wait_until_async("it is written down", Duration::from_secs(5), over).await;
    assert_eq!(bound.door.used().secrets_masked, 1);
}

#[tokio::test]
async fn net_13_and_net_14_a_secret_goes_into_the_handshake_alone_and_does_not_come_back() {
    let bound = Bound::new().await;
    let token = format!("Bearer {}", bound.key);
    let headers = [("authorization", token.as_str()), ("sec-websocket-extensions", "permessage-deflate")];
    let mut socket = bound.connect(&headers).await;
    let mut say = async |text: &str| {
        socket.send(Message::text(text)).await.unwrap();
        socket.next().await.unwrap().unwrap().into_text().unwrap().to_string()
    };
    // In a frame the placeholder is data.
    assert_eq!(say(&bound.key).await, bound.key);
    assert_eq!(say("token").await, format!("it is Bearer {}", "*".repeat(VALUE.len())));
    assert_eq!(say("hello").await, "hello");
    let got = bound.server.got.lock().unwrap().join("\n");
    assert!(got.contains(&format!("authorization: Bearer {VALUE}\n")), "{got}");
    assert_eq!((got.matches(VALUE).count(), got.contains(&bound.key)), (1, true));
    assert!(!got.contains("extensions"), "{got}");
    drop(socket);
    wait_until_async("its end", Duration::from_secs(5), || bound.setup.audit().len() == 4).await;
    let line = bound.setup.audit().pop().unwrap();
    assert_eq!(
        (&line["secrets"][0], &line["masked"], &line["status"]),
        (&"KEY".into(), &1.into(), &101.into())
    );
    assert!(!std::fs::read_to_string(bound.setup.audit_path()).unwrap().contains(VALUE));
}

#[tokio::test]
async fn net_14_a_server_that_hides_its_frames_is_refused() {
    let authority = Authority::new();
    let agreed = |rest: &[u8]| [AGREED.as_bytes(), b"\r\n", rest].concat();
    let extended = format!("{AGREED}Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n");
    for (answer, status) in [
        (extended.into_bytes(), "502"),
        (agreed(b"\x81\x82\x00\x00\x00\x00hi"), "101"),
        (agreed(b"\xc1\x02hi"), "101"),
        (agreed(b"HTTP/1.1 200 OK\r\n\r\n"), "101"),
    ] {
        let config = authority.server("a.test");
        let server = Server::start(move |stream, _| {
            let (config, answer) = (config.clone(), answer.clone());
            async move {
                let Ok(mut stream) = TlsAcceptor::from(config).accept(stream).await else { return };
                let _ = stream.read(&mut [0; 4096]).await;
                let _ = stream.write_all(&answer).await;
                let _ = stream.read(&mut [0; 4096]).await;
            }
        })
        .await;
        let rules = format!("{}{SECRET}", rule("https", server.port, "websocket = true"));
        let setup = Setup::new(Some(&authority), VALUE, &rules).await;
        let told = told_over(&setup.door(), server.port, "\x16{\"name\":\"a.test\"}\n", WELL).await;
        assert!(told.contains(&format!("HTTP/1.1 {status}")), "{told}");
        let after = told.split_once("\r\n\r\n").unwrap().1;
        assert!(status == "502" || after.is_empty(), "{told}");
        assert_eq!(setup.audit().pop().unwrap()["reason"], "encoding");
    }
}

#[tokio::test]
async fn net_21_and_net_25_a_websocket_ends_with_its_budget_its_deadline_and_its_run() {
    let server = echo(None).await;
    let rules =
        rule("http", server.port, "websocket = true") + "[budget]\nbytes_in = 1000\nconnections = 1\n";
    let setup = Setup::new(None, "", &rules).await;
    let door = setup.door();
    let (mut socket, serving) = connect(&door, server.port, "/", &[]).await.unwrap();
    assert_eq!(door.open("a.test", server.port).err().unwrap().reason, Reason::Connections);
    socket.send(Message::text("x".repeat(2_000))).await.unwrap();
    assert_eq!(serving.await.unwrap().unwrap_err().reason, Reason::BytesIn);
    assert!(!matches!(socket.next().await, Some(Ok(Message::Text(_)))));
    assert_eq!(setup.audit().pop().unwrap()["reason"], "bytes_in");
    assert!(door.used().bytes_in <= 1_000);
    // The deadline of the run.
    let deadline = Some(Instant::now() + Duration::from_millis(300));
    let door = setup.way("ann", "s").run(Run { deadline, ..Run::default() });
    let (_socket, serving) = connect(&door, server.port, "/", &[]).await.unwrap();
    assert_eq!(serving.await.unwrap().unwrap_err().reason, Reason::TimedOut);
    // The run, whose future is dropped.
    let door = setup.door();
    let (_socket, serving) = connect(&door, server.port, "/", &[]).await.unwrap();
    serving.abort();
    wait_until_async("the line of the audit", Duration::from_secs(5), || {
        setup.audit().last().is_some_and(|line| line["reason"] == "cancelled" && line["status"] == 101)
    })
    .await;
    assert!(door.open("a.test", server.port).is_ok());
}

#[tokio::test]
async fn net_25_the_end_of_a_websocket_is_called_what_it_was() {
    let server = echo(None).await;
    let setup = Setup::new(None, "", &rule("http", server.port, "websocket = true")).await;
    for (told, reason) in [
        (Some(Message::text("bye")), None),
        (Some(Message::Close(None)), None),
        (Some(Message::text("die")), Some("reset")),
        (None, Some("cancelled")),
    ] {
        let before = setup.audit().len();
        let door = setup.door();
        let (mut socket, serving) = connect(&door, server.port, "/", &[]).await.unwrap();
        if let Some(told) = told {
            socket.send(told).await.unwrap();
            // Its answer to `bye` or to the end, or the end of the stream.
            while socket.next().await.is_some_and(|message| message.is_ok()) {}
        }
        // What becomes of a stream that a program closes.
        serving.abort();
        wait_until_async("the line of the audit", Duration::from_secs(5), || {
            setup.audit().len() > before + 1
        })
        .await;
        let line = setup.audit().pop().unwrap();
        assert_eq!((line["event"].as_str(), line["reason"].as_str()), (Some("ended"), reason), "{line}");
        assert!(setup.gate.settled(Duration::from_secs(5)).await);
    }
}
