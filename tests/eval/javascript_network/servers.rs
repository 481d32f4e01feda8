//! Servers that answer as few do: in codings, in pieces, never, or with another protocol.

use std::convert::Infallible;
use std::future::pending;
use std::io;
use std::net::Ipv4Addr;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Path, RawQuery};
use axum::http::StatusCode;
use axum::http::header::{CONTENT_ENCODING, LOCATION};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use futures::{SinkExt as _, StreamExt as _, stream};
use percent_encoding::percent_decode_str;
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::accept_hdr_async;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::server::{ErrorResponse, Request, Response as Agreed};
use tokio_tungstenite::tungstenite::protocol::CloseFrame;

/// What opens them. Their ports are `$ODD` and `$SOCKET`.
pub(super) const RULES: &str = r#"
[[profile.default.allow]]
host = "odd.test"
port = $ODD
protocol = "http"
addresses = ["127.0.0.0/8"]

[[profile.default.allow]]
host = "other.test"
port = $ODD
protocol = "http"
addresses = ["127.0.0.0/8"]

[[profile.default.allow]]
host = "socket.test"
port = $SOCKET
protocol = "http"
websocket = true
addresses = ["127.0.0.0/8"]
"#;

/// `hello CODING` in each coding.
const CODED: [(&str, &str, &[u8]); 4] = [
    (
        "gzip",
        "gzip",
        &[
            31, 139, 8, 0, 0, 0, 0, 0, 2, 3, 203, 72, 205, 201, 201, 87, 72, 175, 202, 44, 0, 0, 25, 106,
            210, 223, 10, 0, 0, 0,
        ],
    ),
    (
        "deflate",
        "deflate",
        &[120, 156, 203, 72, 205, 201, 201, 87, 72, 73, 77, 203, 73, 44, 73, 5, 0, 35, 12, 5, 10],
    ),
    ("raw", "deflate", &[203, 72, 205, 201, 201, 87, 40, 74, 44, 7, 0]),
    ("br", "br", &[139, 3, 128, 104, 101, 108, 108, 111, 32, 98, 114, 3]),
];

/// Starts them. Their ports by name.
pub(super) async fn start() -> [(&'static str, u16); 2] {
    let listen = async || TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let (odd, sockets) = (listen().await, listen().await);
    let ports = [&odd, &sockets].map(|listener| listener.local_addr().unwrap().port());
    let router = Router::new()
        .route("/coded/{name}", get(coded))
        .route("/moved", get(moved).post(moved))
        .route("/cut", get(cut))
        .route("/two", get(|| async { slow_pieces().answer() }))
        .route("/never", get(|| async { pieces(&["a"]).chain(stream::once(pending())).answer() }))
        .route("/silent", get(|| async { pending::<Response>().await }))
        .route("/none", get(|| async { StatusCode::NO_CONTENT }))
        .route("/ticks", get(ticks));
    tokio::spawn(axum::serve(odd, router).into_future());
    tokio::spawn(async move {
        while let Ok((stream, _)) = sockets.accept().await {
            tokio::spawn(converse(stream));
        }
    });
    [("$ODD", ports[0]), ("$SOCKET", ports[1])]
}

/// A body in pieces, as an answer.
trait Answer {
    fn answer(self) -> Response;
}

impl<S: futures::Stream<Item = io::Result<Bytes>> + Send + 'static> Answer for S {
    fn answer(self) -> Response {
        Body::from_stream(self).into_response()
    }
}

fn pieces(texts: &'static [&'static str]) -> impl futures::Stream<Item = io::Result<Bytes>> + Send + 'static {
    stream::iter(texts.iter().map(|text| Ok(Bytes::from_static(text.as_bytes()))))
}

fn slow_pieces() -> impl futures::Stream<Item = io::Result<Bytes>> + Send + 'static {
    pieces(&["a", "b"]).then(|piece| async {
        tokio::time::sleep(std::time::Duration::from_millis(30)).await;
        piece
    })
}

/// It ends within its body.
async fn cut() -> Response {
    pieces(&["a"])
        .chain(stream::once(async {
            // What came before is on its way then.
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            Err(io::Error::other("cut"))
        }))
        .answer()
}

async fn coded(Path(name): Path<String>) -> Response {
    if name == "bad" {
        return ([(CONTENT_ENCODING, "gzip")], "no gzip at all").into_response();
    }
    let found = CODED.iter().find(|(each, ..)| *each == name);
    found.map_or_else(
        || StatusCode::NOT_FOUND.into_response(),
        |(_, coding, bytes)| ([(CONTENT_ENCODING, *coding)], bytes.to_vec()).into_response(),
    )
}

/// `?status=NUMBER&to=URL`
async fn moved(RawQuery(query): RawQuery) -> Response {
    let query = query.unwrap_or_default();
    let part = |wanted: &str| {
        let found =
            query.split('&').filter_map(|pair| pair.split_once('=')).find(|(name, _)| *name == wanted);
        percent_decode_str(found.map_or("", |(_, value)| value)).decode_utf8_lossy().into_owned()
    };
    let status = StatusCode::from_bytes(part("status").as_bytes()).unwrap();
    (status, [(LOCATION, part("to"))]).into_response()
}

/// Two events, the second of which has a type; then the connection ends.
async fn ticks() -> impl IntoResponse {
    let text = "retry: 10\nid: 7\ndata: one\r\ndata: two\n\n: nothing\nevent: tick\rdata:three\r\r";
    let body = stream::iter([Ok::<_, Infallible>(Bytes::from_static(text.as_bytes()))]);
    ([(axum::http::header::CONTENT_TYPE, "text/event-stream")], Body::from_stream(body))
}

/// Agrees on the first protocol that is offered, greets, and sends back what it gets; after `bye` it closes, after `close NUMBER` with that
/// code. `bytes NUMBER` and `text NUMBER` are answered with a message of so many.
async fn converse(stream: TcpStream) {
    #[expect(clippy::result_large_err, reason = "the library's type")]
    let agree = |request: &Request, mut answer: Agreed| -> Result<Agreed, ErrorResponse> {
        let offered = request.headers().get("sec-websocket-protocol").and_then(|value| value.to_str().ok());
        if let Some(first) =
            offered.and_then(|list| list.split(", ").next()).and_then(|name| name.parse().ok())
        {
            answer.headers_mut().insert("sec-websocket-protocol", first);
        }
        Ok(answer)
    };
    let Ok(mut socket) = accept_hdr_async(stream, agree).await else { return };
    let _ = socket.send(Message::text("welcome")).await;
    while let Some(Ok(message)) = socket.next().await {
        let sent = match message {
            Message::Text(text) if text == "bye" => socket.close(None).await,
            Message::Text(text) if text.contains(' ') => {
                let (what, number) = text.split_once(' ').unwrap();
                let number: usize = number.parse().unwrap();
                match what {
                    "bytes" => socket.send(Message::binary(vec![7; number])).await,
                    "text" => socket.send(Message::text("é".repeat(number))).await,
                    _ => {
                        let code = u16::try_from(number).unwrap();
                        socket.close(Some(CloseFrame { code: code.into(), reason: "bye".into() })).await
                    }
                }
            }
            message @ (Message::Text(_) | Message::Binary(_)) => socket.send(message).await,
            _ => Ok(()),
        };
        if sent.is_err() {
            return;
        }
    }
}
