//! [MCP-05] Clients that are slow, silent or gone, and the end of the server.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use axum::routing::{get, post};
use dormouse_core::testing::{wait_for_async, wait_until_async};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::{Notify, Semaphore};
use tokio::task::JoinHandle;

use super::super::{Door, Hosts, MAX_CONNECTIONS, MAX_OF_OWNER, Origins};
use super::*;

const SOON: Duration = Duration::from_millis(200);
const PATIENCE: Duration = Duration::from_secs(20);

/// Counts what began and what was dropped before its end.
struct Calls {
    began: Semaphore,
    dropped: AtomicUsize,
}

impl Calls {
    /// Waits until so many calls more began.
    async fn begun(&self, count: u32) {
        self.began.acquire_many(count).await.unwrap().forget();
    }
}

struct Guard(Arc<Calls>);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.dropped.fetch_add(1, Ordering::SeqCst);
    }
}

struct Server {
    address: std::net::SocketAddr,
    calls: Arc<Calls>,
    stop: Arc<Notify>,
    task: JoinHandle<()>,
}

/// A server with routes that answer, that never do, and that say what they were sent.
async fn server() -> Server {
    server_with(Times { head: SOON, write: SOON, grace: SOON, last: SOON }).await
}

async fn server_with(times: Times) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let calls = Calls { began: Semaphore::new(0), dropped: AtomicUsize::new(0) };
    let (calls, stop) = (Arc::new(calls), Arc::new(Notify::new()));
    let seen = calls.clone();
    let never = async move || {
        let _guard = Guard(seen.clone());
        seen.began.add_permits(1);
        std::future::pending::<()>().await;
    };
    let routes = Router::new()
        .route("/ok", get(async || "ok"))
        .route("/never", get(never))
        .route("/length", post(async |body: axum::body::Bytes| body.len().to_string()))
        .route("/flood", get(async || vec![0_u8; 64 << 20]));
    let (hosts, origins) = (Hosts::new(address, &[]), Origins::default());
    let door = Door { hosts, origins, tokens: None, owners: Arc::default(), body_time: SOON };
    let (stopped, closing) = (stop.clone(), CancellationToken::new());
    let task = tokio::spawn(async move {
        serve(listener, door.before(routes), times, stopped.notified(), &closing).await;
    });
    Server { address, calls, stop, task }
}

impl Server {
    /// Sends bytes on a connection of their own.
    async fn send(&self, bytes: &[u8]) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(bytes).await.unwrap();
        stream
    }
}

/// What comes until the other side closes.
async fn rest(mut stream: TcpStream) -> String {
    let mut bytes = Vec::new();
    let read = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut bytes)).await;
    let _ = read.expect("the server closes the connection");
    String::from_utf8_lossy(&bytes).into_owned()
}

#[tokio::test]
async fn mcp_05_a_slow_head_a_slow_body_and_silence_end() {
    let server = server().await;
    let silent = server.send(b"").await;
    let half = server.send(b"GET /ok HTTP/1.1\r\nHost: loc").await;
    let kept = server.send(b"GET /ok HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
    let body = server.send(b"POST /length HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nab").await;
    assert!(!rest(silent).await.contains(" 200 "));
    assert!(!rest(half).await.contains(" 200 "));
    assert!(rest(kept).await.ends_with("ok"), "one answer, and then the silence is over");
    let told = rest(body).await;
    assert!(told.starts_with("HTTP/1.1 408 ") && told.contains("\"cancelled\""), "{told}");
}

#[tokio::test]
async fn mcp_05_a_byte_at_a_time_is_too_slow() {
    let server = server().await;
    let mut stream = server.send(b"").await;
    let begin = Instant::now();
    for byte in
        b"GET /ok HTTP/1.1\r\nHost: localhost\r\nX: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n\r\n"
    {
        if stream.write_all(&[*byte]).await.is_err() {
            break;
        }
        tokio::time::sleep(SOON / 10).await;
    }
    assert!(!rest(stream).await.contains(" 200 "));
    assert!(begin.elapsed() < PATIENCE);
}

#[tokio::test]
async fn bodies_and_heads_are_bounded() {
    let server = server().await;
    for (size, status) in [((64 << 20) + 1, "413"), (usize::MAX, "4")] {
        let head = format!("POST /length HTTP/1.1\r\nHost: localhost\r\nContent-Length: {size}\r\n\r\n");
        let told = rest(server.send(head.as_bytes()).await).await;
        assert!(told.starts_with(&format!("HTTP/1.1 {status}")), "{size}: {told}");
    }
    let head =
        |more: usize| format!("GET /ok HTTP/1.1\r\nHost: localhost\r\nX: {}\r\n\r\n", "a".repeat(more));
    let room = MAX_HEAD - head(0).len();
    let told = rest(server.send(head(room).as_bytes()).await).await;
    assert!(told.starts_with("HTTP/1.1 200 "), "{told}");
    let told = rest(server.send(head(room + 1).as_bytes()).await).await;
    assert!(told.starts_with("HTTP/1.1 431 ") && told.contains("\"too_large\""), "{told}");
    for more in [100_000, 8 * MAX_HEAD] {
        let told = rest(server.send(head(more).as_bytes()).await).await;
        assert!(!told.contains(" 200 "), "{more}: {told}");
    }
}

#[tokio::test]
async fn mcp_05_a_client_that_leaves_ends_its_call() {
    let server = server().await;
    let stream = server.send(b"GET /never HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
    server.calls.begun(1).await;
    drop(stream);
    wait_until_async("the call ends", PATIENCE, || server.calls.dropped.load(Ordering::SeqCst) == 1).await;
}

#[tokio::test]
async fn mcp_05_a_reader_that_reads_nothing_is_let_go() {
    let server = server().await;
    let mut stream = server.send(b"GET /flood HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
    // Time in which the server must give up: reading at once would let it write.
    tokio::time::sleep(SOON * 4).await;
    let mut bytes = Vec::new();
    let _ = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut bytes)).await.expect("it is closed");
    assert!(bytes.len() < 64 << 20, "all of it was waited for");
}

/// A call that ends only with its connection.
const NEVER: &[u8] = b"GET /never HTTP/1.1\r\nHost: localhost\r\n\r\n";
/// A call that is answered at once.
const OK: &[u8] = b"GET /ok HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";

#[tokio::test]
async fn mcp_06_an_owner_has_so_many_requests_and_not_the_whole_door() {
    let server = server().await;
    let mut held = Vec::new();
    for _ in 0..MAX_OF_OWNER {
        held.push(server.send(NEVER).await);
    }
    server.calls.begun(u32::try_from(MAX_OF_OWNER).unwrap()).await;
    let told = rest(server.send(OK).await).await;
    assert!(
        told.starts_with("HTTP/1.1 429 ") && told.contains(&format!("{MAX_OF_OWNER} requests")),
        "{told}"
    );
    drop(held.pop());
    wait_for_async("a place that came free is given again", PATIENCE, async || {
        let told = rest(server.send(OK).await).await;
        if told.ends_with("ok") { Ok(()) } else { Err(told) }
    })
    .await;
}

/// More silent connections than there may be: the next caller is answered at once, and those that are known stay.
#[tokio::test]
async fn mcp_05_silent_connections_make_room_for_those_that_speak() {
    let times = Times { head: PATIENCE, write: SOON, grace: SOON, last: SOON };
    let server = server_with(times).await;
    let mut known = server.send(b"GET /ok HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
    let mut part = [0; 512];
    let count = known.read(&mut part).await.unwrap();
    assert!(part[..count].ends_with(b"ok"));
    let mut silent = Vec::new();
    for round in 0..3 {
        for number in 0..MAX_CONNECTIONS {
            let bytes: &[u8] = if number % 2 == 0 { b"" } else { b"GET /ok HTTP/1.1\r\nHost: loc" };
            silent.push(server.send(bytes).await);
        }
        let begin = Instant::now();
        assert!(rest(server.send(OK).await).await.ends_with("ok"), "round {round}");
        assert!(begin.elapsed() < Duration::from_secs(5), "round {round}: {:?}", begin.elapsed());
    }
    known.write_all(OK).await.unwrap();
    assert!(
        rest(known).await.ends_with("ok"),
        "a connection that was let in before was closed for strangers"
    );
    drop(silent);
}

#[tokio::test]
async fn mcp_05_calls_in_progress_are_never_closed_for_others() {
    let server = server_with(Times { head: PATIENCE, write: SOON, grace: SOON, last: SOON }).await;
    let held: Vec<_> = futures::future::join_all((0..100).map(|_| server.send(NEVER))).await;
    server.calls.begun(100).await;
    for _ in 0..3 {
        let silent = futures::future::join_all((0..MAX_CONNECTIONS).map(|_| server.send(b""))).await;
        // Time in which calls in progress would be closed for them.
        tokio::time::sleep(Duration::from_millis(600)).await;
        drop(silent);
    }
    assert_eq!(server.calls.dropped.load(Ordering::SeqCst), 0);
    drop(held);
}

#[tokio::test]
async fn lif_05_the_end_waits_for_calls_and_not_for_ever() {
    let server = server().await;
    let slow = server.send(b"POST /length HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\na").await;
    let never = server.send(b"GET /never HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
    server.calls.begun(1).await;
    server.stop.notify_one();
    let mut slow = slow;
    slow.write_all(b"b").await.unwrap();
    assert!(rest(slow).await.ends_with('2'), "a call in progress is answered");
    tokio::time::timeout(PATIENCE, server.task).await.expect("the server ends").unwrap();
    assert_eq!(server.calls.dropped.load(Ordering::SeqCst), 1, "a call that does not end is dropped");
    rest(never).await;
    assert!(TcpStream::connect(server.address).await.is_err(), "nobody listens any more");
}
