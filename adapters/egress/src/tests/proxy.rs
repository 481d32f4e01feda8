//! The proxy of HTTP that containers have.

use std::sync::Arc;
use std::time::Duration;

use dormouse_core::network::{Door as AnyDoor, Proxy as _, Shut};
use dormouse_core::testing::wait_until_async;
use dormouse_core::{Error, ErrorCode};
use futures::{SinkExt as _, StreamExt as _};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, DuplexStream};
use tokio_rustls::client::TlsStream;
use tokio_rustls::{TlsAcceptor, TlsConnector};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{accept_async, client_async};

use crate::gate::Run;
use crate::proxy::Proxy;
use crate::tests::support::{Authority, SECRET, Server, Setup, answer, rule};
use crate::{Budget, Door};

/// A program's end of a stream to a proxy.
fn stream(proxy: &Proxy) -> DuplexStream {
    let (near, far) = tokio::io::duplex(64 << 10);
    tokio::spawn(proxy.serve(Box::new(far)));
    near
}

/// What comes back for these bytes, until the end.
async fn told(mut stream: impl AsyncRead + AsyncWrite + Unpin, bytes: &str) -> String {
    let _ = stream.write_all(bytes.as_bytes()).await;
    let _ = stream.shutdown().await;
    let mut back = Vec::new();
    let reading = stream.read_to_end(&mut back);
    let _ = tokio::time::timeout(Duration::from_secs(10), reading).await.expect("an end");
    String::from_utf8_lossy(&back).into_owned()
}

/// The head that comes back for these bytes.
async fn head(stream: &mut (impl AsyncRead + AsyncWrite + Unpin), bytes: &str) -> String {
    stream.write_all(bytes.as_bytes()).await.unwrap();
    let mut back = Vec::new();
    while !back.ends_with(b"\r\n\r\n") {
        back.push(stream.read_u8().await.unwrap());
    }
    String::from_utf8_lossy(&back).into_owned()
}

/// A tunnel to a place.
async fn tunnel(proxy: &Proxy, place: &str) -> DuplexStream {
    let mut stream = stream(proxy);
    let head = head(&mut stream, &format!("CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n\r\n")).await;
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
    stream
}

/// TLS over a stream, as a program that trusts these authorities and names this host.
async fn tls(
    stream: DuplexStream,
    authorities: &str,
    name: &str,
) -> std::io::Result<TlsStream<DuplexStream>> {
    let mut roots = RootCertStore::empty();
    let all = CertificateDer::pem_slice_iter(authorities.as_bytes()).map(|one| one.unwrap());
    roots.add_parsable_certificates(all);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let name = ServerName::try_from(name.to_owned()).unwrap();
    TlsConnector::from(Arc::new(config)).connect(name, stream).await
}

fn request(place: &str, path: &str, more: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: {place}\r\nConnection: close\r\n{more}\r\n")
}

/// A server over https, with rules and a secret for it, and one in the clear.
async fn world(rest: &str) -> (Setup, Server, Server) {
    let authority = Authority::new();
    let reflected = |_: &hyper::Request<()>, _: &str| {
        answer(&[("x-echo", "Bearer a-value-of-length")], "the key is a-value-of-length")
    };
    let https = Server::http(Some(authority.server("a.test")), reflected).await;
    let http = Server::http(None, |_, body| answer(&[], format!("got {body}"))).await;
    let rules = [rule("https", https.port, rest), rule("http", http.port, ""), SECRET.to_owned()].concat();
    (Setup::new(Some(&authority), "a-value-of-length", &rules).await, https, http)
}

#[tokio::test]
async fn net_34_a_whole_url_goes_through_the_gate() {
    let (setup, _https, http) = world("").await;
    let door = setup.door();
    let proxy = Proxy::of(&door).unwrap();
    let place = format!("a.test:{}", http.port);
    let body = "POST http://PLACE/x?y HTTP/1.1\r\nHost: PLACE\r\nProxy-Authorization: Basic eDp5\r\n\
                Proxy-Connection: close\r\nConnection: close\r\nContent-Length: 3\r\n\r\nabc";
    let back = told(stream(&proxy), &body.replace("PLACE", &place)).await;
    assert!(back.starts_with("HTTP/1.1 200 OK\r\n") && back.ends_with("got abc"), "{back}");
    let got = http.last();
    assert!(got.starts_with("POST /x?y") && !got.contains("proxy-"), "{got}");
    for (bytes, status, reason) in [
        (request("b.test", "http://b.test/", ""), 403, "host"),
        (request("169.254.169.254", "http://169.254.169.254/latest/", ""), 403, "host"),
        (request("127.0.0.1:3128", "http://127.0.0.1:3128/", ""), 403, "host"),
        (request("b.test", &format!("http://{place}/"), ""), 421, "authority"),
        (request(&place, "/", ""), 400, "form"),
        (request(&place, "ftp://a.test/", ""), 400, "form"),
        (request(&place, &format!("http://u@{place}/"), ""), 502, "unknown_name"),
    ] {
        let back = told(stream(&proxy), &bytes).await;
        assert!(back.starts_with(&format!("HTTP/1.1 {status} ")), "{bytes}: {back}");
        assert!(back.contains(&format!("\r\nx-dormouse-denied: {reason}\r\n")), "{bytes}: {back}");
    }
    assert_eq!((http.accepted(), door.used().denied.len()), (1, 4));
    wait_until_async("every connection is given back", Duration::from_secs(10), || {
        // As many as there may be, again.
        let all: Vec<_> = (0..16).map_while(|_| door.0.account.connection().ok()).collect();
        all.len() == 16
    })
    .await;
}

#[tokio::test]
async fn net_34_tls_of_a_program_ends_at_the_gate() {
    let (setup, https, _http) = world("methods = [\"GET\"]\npaths = [\"/v1/**\"]\n").await;
    let way = setup.way("ann", "s");
    let (door, key) = (way.run(Run::default()), way.environment()[0].1.clone());
    let proxy = Proxy::of(&door).unwrap();
    let place = format!("a.test:{}", https.port);
    let secure =
        async || tls(tunnel(&proxy, &place).await, &proxy.authority().pem(), "a.test").await.unwrap();
    let stream = secure().await;
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(b"http/1.1".as_slice()));
    let back = told(stream, &request(&place, "/v1/x", &format!("Authorization: Bearer {key}\r\n"))).await;
    assert!(back.starts_with("HTTP/1.1 200 OK\r\n"), "{back}");
    assert!(https.last().contains("authorization: Bearer a-value-of-length\n"), "{}", https.last());
    let stars = "*".repeat("a-value-of-length".len());
    assert!(back.contains(&format!("x-echo: Bearer {stars}\r\n")), "{back}");
    assert!(back.ends_with(&format!("the key is {stars}")), "{back}");
    // Rules hold inside as everywhere, and the tunnel's host is the only one there.
    for (path, host, status, reason) in [
        ("/v2/x", place.as_str(), 403, "path"),
        ("/v1/../v2", &place, 403, "path"),
        ("/v1/x", "b.test", 421, "authority"),
        ("http://b.test/", "b.test", 421, "authority"),
    ] {
        let back = told(secure().await, &request(host, path, "")).await;
        assert!(back.starts_with(&format!("HTTP/1.1 {status} ")), "{path}: {back}");
        assert!(back.contains(&format!("\r\nx-dormouse-denied: {reason}\r\n")), "{path}: {back}");
    }
    // No tunnel within the tunnel, and no second request behind the body of the first.
    let inner = "CONNECT b.test:443 HTTP/1.1\r\nHost: b.test:443\r\n\r\n";
    let back = told(secure().await, inner).await;
    assert!(!back.contains(" 200 "), "{back}");
    let smuggled = format!(
        "GET /v1/x HTTP/1.1\r\nHost: {place}\r\nContent-Length: 40\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n\
         GET /v2/secret HTTP/1.1\r\nHost: b.test\r\n\r\n"
    );
    let back = told(secure().await, &smuggled).await;
    assert!(!https.got.lock().unwrap().iter().any(|got| got.contains("/v2/secret")), "{back}");
    assert_eq!(https.accepted(), 1, "one connection is kept");
}

#[tokio::test]
async fn net_34_a_handshake_for_another_name_is_refused() {
    let (setup, https, _http) = world("").await;
    let door = setup.door();
    let proxy = Proxy::of(&door).unwrap();
    let place = format!("a.test:{}", https.port);
    let other = tls(tunnel(&proxy, &place).await, &proxy.authority().pem(), "b.test").await;
    assert!(other.is_err());
    assert_eq!(door.used().denied[0].reason, "untrusted");
    let last = setup.audit().pop().unwrap();
    assert_eq!(
        (&last["event"], &last["reason"], &last["host"]),
        (&"refused".into(), &"untrusted".into(), &"a.test".into())
    );
    assert_eq!(https.accepted(), 0);
    // What is no handshake, and what never ends.
    for bytes in ["\x16\x03\x01\x00\x04abcd", "\x16{\"name\":\"a.test\"}\n"] {
        // An alert at most.
        assert!(told(tunnel(&proxy, &place).await, bytes).await.len() <= 7);
    }
    // The name of an address is none, so nothing is named.
    assert!(tls(tunnel(&proxy, &place).await, &proxy.authority().pem(), "127.0.0.1").await.is_err());
}

#[tokio::test]
async fn net_35_an_authority_is_one_sandboxs_own() {
    let (setup, https, _http) = world("").await;
    let (ann, bob) = (setup.way("ann", "s").run(Run::default()), setup.way("ann", "t").run(Run::default()));
    let (ann, bob) = (Proxy::of(&ann).unwrap(), Proxy::of(&bob).unwrap());
    let place = format!("a.test:{}", https.port);
    // All that is told to a sandbox holds for its own proxy and for no other.
    assert!(tls(tunnel(&ann, &place).await, ann.authorities(), "a.test").await.is_ok());
    assert!(tls(tunnel(&ann, &place).await, bob.authorities(), "a.test").await.is_err());
    assert!(!ann.authorities().contains("PRIVATE") && ann.authorities().starts_with(&ann.authority().pem()));
}

#[tokio::test]
async fn net_34_tunnels_lead_where_rules_say() {
    let (setup, _https, http) = world("").await;
    let raw = Server::http(None, |_, _| answer(&[], "raw")).await;
    let rules = [rule("tcp", raw.port, ""), rule("http", http.port, "")].concat();
    setup.reload(None, "a-value-of-length", &rules).await.unwrap();
    let door = setup.door();
    let proxy = Proxy::of(&door).unwrap();
    for (place, status, reason) in [
        ("b.test:443".to_owned(), 403, "host"),
        (format!("127.0.0.1:{}", raw.port), 403, "host"),
        ("169.254.169.254:80".to_owned(), 403, "host"),
        ("[::1]:3128".to_owned(), 403, "host"),
        ("a.test:22".to_owned(), 403, "port"),
        ("a.test".to_owned(), 400, "form"),
    ] {
        let back = told(stream(&proxy), &format!("CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n\r\n")).await;
        assert!(back.starts_with(&format!("HTTP/1.1 {status} ")), "{place}: {back}");
        assert!(back.contains(&format!("\r\nx-dormouse-denied: {reason}\r\n")), "{place}: {back}");
    }
    let place = format!("a.test:{}", raw.port);
    let back = told(tunnel(&proxy, &place).await, &request("b.test", "/x", "")).await;
    assert!(back.ends_with("raw") && raw.last().contains("host: b.test"), "{back}");
    // In the clear, where a rule says so: for clients that tunnel everything.
    let place = format!("a.test:{}", http.port);
    let back = told(tunnel(&proxy, &place).await, &request(&place, "/x", "")).await;
    assert!(back.ends_with("got "), "{back}");
    let back = told(tunnel(&proxy, &place).await, &request("b.test", "/x", "")).await;
    assert!(back.contains("x-dormouse-denied: authority"), "{back}");
}

#[tokio::test]
async fn net_22_a_proxys_requests_are_the_runs_that_began_last() {
    let (setup, _https, http) = world("").await;
    let way = setup.way("ann", "s");
    let run = |id: &str, requests| {
        let budget = Some(Budget { requests, ..Budget::default() });
        way.run(Run { id: id.into(), budget, ..Run::default() })
    };
    let (one, two) = (run("one", 1), run("two", 2));
    let proxy = Proxy::of(&one).unwrap();
    let place = format!("a.test:{}", http.port);
    let asked = format!("GET http://{place}/ HTTP/1.1\r\nHost: {place}\r\n\r\n");
    // One connection of a program, over both runs.
    let mut kept = stream(&proxy);
    assert!(head(&mut kept, &asked).await.starts_with("HTTP/1.1 200 "));
    kept.read_exact(&mut [0; 4]).await.unwrap();
    let back = told(stream(&proxy), &request(&place, &format!("http://{place}/"), "")).await;
    assert!(back.starts_with("HTTP/1.1 429 ") && back.contains("x-dormouse-denied: requests"), "{back}");
    let two_door: Arc<dyn AnyDoor> = Arc::new(two.clone());
    proxy.turn(&two_door);
    assert!(head(&mut kept, &asked).await.starts_with("HTTP/1.1 200 "));
    kept.read_exact(&mut [0; 4]).await.unwrap();
    let used = |door: &Door| door.used().requests;
    assert_eq!((used(&one), used(&two)), (1, 1));
    let runs: Vec<_> = setup.audit().iter().map(|line| line["run"].clone()).collect();
    assert!(runs.starts_with(&["one".into()]) && runs.ends_with(&["two".into()]), "{runs:?}");
    // The operator takes the network back.
    let shut: Arc<dyn AnyDoor> = Arc::new(Shut::new(&Error::new(ErrorCode::NetworkDenied, "gone")));
    proxy.turn(&shut);
    assert!(head(&mut kept, &asked).await.starts_with("HTTP/1.1 403 "));
    // As many at one time as the run may have.
    let few = way.run(Run { budget: Some(Budget { connections: 1, ..Budget::default() }), ..Run::default() });
    let proxy = Proxy::of(&few).unwrap();
    let _held = tunnel(&proxy, &place).await;
    let back = told(stream(&proxy), &request(&place, &format!("http://{place}/"), "")).await;
    assert!(back.contains("x-dormouse-denied: connections"), "{back}");
}

#[tokio::test]
async fn net_29_a_websocket_begins_in_a_tunnel_where_a_rule_says_so() {
    let authority = Authority::new();
    let config = authority.server("a.test");
    let server = Server::start(move |stream, _| {
        let config = config.clone();
        async move {
            let Ok(stream) = TlsAcceptor::from(config).accept(stream).await else { return };
            let Ok(mut socket) = accept_async(stream).await else { return };
            while let Some(Ok(message)) = socket.next().await {
                if message.is_text() && socket.send(message).await.is_err() {
                    return;
                }
            }
        }
    })
    .await;
    for (rest, is_allowed) in [("websocket = true", true), ("", false)] {
        let setup =
            Setup::new(Some(&authority), "a-value-of-length", &rule("https", server.port, rest)).await;
        let door = setup.door();
        let proxy = Proxy::of(&door).unwrap();
        let place = format!("a.test:{}", server.port);
        let stream = tls(tunnel(&proxy, &place).await, &proxy.authority().pem(), "a.test").await.unwrap();
        let connected = client_async(format!("ws://{place}/socket"), stream).await;
        assert_eq!(connected.is_ok(), is_allowed, "{:?}", connected.err());
        let Ok((mut socket, _)) = connected else { continue };
        for text in ["one", "two"] {
            socket.send(Message::text(text)).await.unwrap();
            assert_eq!(socket.next().await.unwrap().unwrap(), Message::text(text));
        }
        assert_eq!((door.used().requests, door.used().bytes_out > 6), (1, true));
    }
}
