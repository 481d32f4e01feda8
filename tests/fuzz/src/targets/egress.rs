//! Whatever a guest writes to a stream of the network, and what servers send over a WebSocket.
//!
//! The first line of an input says what follows it: `http` and `https` bytes of a guest, `tcp` the same where a rule allows bytes, and
//! `frames` those of a server. `{KEY}` is the placeholder of a secret, `{HOST}` where the stream leads to.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dormouse_egress::policy::Protocol;
use dormouse_egress::{Audit, Caller, Gate, Grant, Options, Run, file, fuzz};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};
use tokio::runtime::Builder;

use super::headed;
use crate::Target;

/// The variable whose value is the secret: one that is always there, and has more than eight bytes.
const VARIABLE: &str = "PATH";
/// Bytes that a stream holds.
const STREAM: usize = 16 << 10;
/// The value that is looked for in frames.
const VALUE: &str = "s3cr3t-value";

const RULES: &str = r#"
[[profile.p.allow]]
host = "a.test"
methods = ["GET", "POST"]
paths = ["/ok", "/ok/*"]

[[profile.p.allow]]
host = "a.test"
protocol = "http"
methods = ["GET", "POST"]
paths = ["/ok", "/ok/*"]

[[profile.p.allow]]
host = "a.test"
protocol = "tcp"
port = 1

[secret.KEY]
env = "PATH"
hosts = ["a.test"]
places = ["header:authorization", "basic", "query:key"]
shape = "sk-{}"
"#;

pub(crate) const TARGET: Target = Target {
    words: &[
        "http\n",
        "https\n",
        "tcp\n",
        "frames\n",
        "{KEY}",
        "{HOST}",
        "\x16{\"name\":\"a.test\"}\n",
        "GET /ok HTTP/1.1\r\n",
        "POST /ok HTTP/1.1\r\n",
        "GET /ok/a?key={KEY} HTTP/1.1\r\n",
        "GET /inner HTTP/1.1\r\n",
        "Host: {HOST}\r\n",
        "Authorization: Bearer {KEY}\r\n",
        "Content-Length: 5\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\n",
        "5\r\nhello\r\n",
        "0\r\n\r\n",
        "Connection: close\r\n",
        "Upgrade: websocket\r\n",
        "\r\n\r\n",
        "\x01\x06s3cr3t",
        "\x00\x06-value",
    ],
    ..Target::new("egress", "streams of guests to the network, frames of WebSockets (adapters/egress)", run)
};

/// What servers got: of each connection, what is spoken there and its bytes.
type Got = Arc<Mutex<Vec<(Protocol, Vec<u8>)>>>;

fn run(input: &[u8]) {
    let (kind, rest) = headed(input);
    let (port, greeting) = match kind {
        "http" => (80, ""),
        "https" => (443, "\x16{\"name\":\"a.test\"}\n"),
        "tcp" => (1, ""),
        "frames" => return frames(rest),
        _ => return,
    };
    let runtime = Builder::new_current_thread().enable_time().start_paused(true).build().expect("a runtime");
    let (gate, got) = gate();
    locked(&got).clear();
    let value = std::env::var(VARIABLE).expect("a variable");
    let back = runtime.block_on(async {
        let grant = Grant::new(gate.settings().profile("p").expect("a profile").clone());
        let way = gate.way(Caller { owner: "ann".into(), sandbox: None }, grant).expect("a way");
        let placeholder = way.environment().remove(0).1;
        let bytes = replaced(rest, b"{KEY}", placeholder.as_bytes());
        let bytes = replaced(&bytes, b"{HOST}", b"a.test");
        let (guest, host) = tokio::io::duplex(STREAM);
        let serving = way.run(Run::default()).open("a.test", port).expect("an open stream").serve(host);
        let (mut from, mut to) = tokio::io::split(guest);
        let writing = async {
            let _ = to.write_all(greeting.as_bytes()).await;
            let _ = to.write_all(&bytes).await;
            let _ = to.shutdown().await;
        };
        let mut back = Vec::new();
        let (_, (), _) = tokio::join!(serving, writing, from.read_to_end(&mut back));
        back
    });
    // Servers repeat what they got: what comes back of the secret is stars.
    assert!(!holds(&back, value.as_bytes()), "the value came back");
    let got = std::mem::take(&mut *locked(&got));
    for (protocol, bytes) in &got {
        if *protocol == Protocol::Tcp {
            assert!(!holds(bytes, value.as_bytes()), "a value in bytes");
        } else {
            requests(bytes, *protocol == Protocol::Https, &value);
        }
    }
}

/// One for all inputs: what a sandbox does leaves nothing in it.
fn gate() -> (&'static Arc<Gate>, Got) {
    static GATE: OnceLock<(Arc<Gate>, Got)> = OnceLock::new();
    let (gate, got) = GATE.get_or_init(|| {
        let got = Got::default();
        let servers = got.clone();
        let settings = file::parse(RULES, std::path::Path::new("net.toml")).expect("rules");
        let options = Options {
            settings,
            names: None,
            audit: Audit::none(),
            key: Some([9; 32]),
            cassette: None,
            operator: None,
        };
        let opening = fuzz::gate(options, move |host, _, protocol| {
            assert_eq!(host, "a.test");
            let (near, far) = tokio::io::duplex(STREAM);
            tokio::spawn(serve(far, protocol, servers.clone()));
            near
        });
        let runtime = Builder::new_current_thread().build().expect("a runtime");
        (runtime.block_on(opening).expect("a gate"), got)
    });
    (gate, got.clone())
}

/// A server that writes down what it gets, and answers each request with all that it got so far.
async fn serve(mut stream: DuplexStream, protocol: Protocol, got: Got) {
    let at = {
        let mut got = locked(&got);
        got.push((protocol, Vec::new()));
        got.len() - 1
    };
    let mut answered = 0;
    let mut piece = vec![0; 4 << 10];
    loop {
        let Ok(read) = stream.read(&mut piece).await else { return };
        if read == 0 {
            return;
        }
        let text = {
            let mut got = locked(&got);
            // A connection that was kept, while an input has ended already.
            let Some((_, text)) = got.get_mut(at) else { return };
            text.extend_from_slice(&piece[..read]);
            text.clone()
        };
        if protocol == Protocol::Tcp {
            let _ = stream.write_all(&piece[..read]).await;
            continue;
        }
        let whole = whole_requests(&text).len();
        while answered < whole {
            answered += 1;
            let head = format!(
                "HTTP/1.1 200 OK\r\nx-last: {}\r\ncontent-length: {}\r\n\r\n",
                last_line(&text),
                text.len()
            );
            if stream.write_all(&[head.as_bytes(), &text].concat()).await.is_err() {
                return;
            }
        }
    }
}

/// The last header that looks like one, to be repeated in a header.
fn last_line(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let line = text.lines().rev().find(|line| line.contains(": ")).unwrap_or_default();
    line.chars().filter(|letter| (' '..='~').contains(letter)).collect()
}

/// A request as it came over the wire.
struct Request<'a> {
    line: String,
    headers: BTreeMap<String, Vec<String>>,
    body: &'a [u8],
}

/// Reads requests strictly, one after the other, as far as they are whole. What is not in the one form that the gate writes is a finding.
fn whole_requests(mut bytes: &[u8]) -> Vec<Request<'_>> {
    let mut all = Vec::new();
    while let Some(end) = find(bytes, b"\r\n\r\n") {
        let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
        assert!(!head.replace("\r\n", "").contains(['\r', '\n', '\0']), "a line has one end: {head:?}");
        let mut lines = head.split("\r\n");
        let line = lines.next().unwrap_or_default().to_owned();
        let mut headers: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for header in lines {
            let (name, value) =
                header.split_once(": ").or_else(|| Some((header.strip_suffix(':')?, ""))).expect("a header");
            let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
            assert!(!name.is_empty() && name.bytes().all(is_token), "a header's name: {header:?}");
            headers.entry(name.to_ascii_lowercase()).or_default().push(value.to_owned());
        }
        let rest = &bytes[end + 4..];
        let length = headers.get("content-length").map(|all| {
            assert!(all.len() == 1 && !headers.contains_key("transfer-encoding"), "two lengths: {head}");
            all[0].parse::<usize>().expect("a length")
        });
        let size = match (length, headers.get("transfer-encoding")) {
            (Some(length), _) => length,
            (None, None) => 0,
            (None, Some(coding)) => {
                assert_eq!(coding, &["chunked"], "{head}");
                match chunks(rest) {
                    Some(size) => size,
                    None => return all,
                }
            }
        };
        let Some((body, after)) = rest.split_at_checked(size) else { return all };
        all.push(Request { line, headers, body });
        bytes = after;
    }
    all
}

/// How many bytes chunks take that are at their end.
fn chunks(bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        let end = at + find(bytes.get(at..)?, b"\r\n")?;
        let size = std::str::from_utf8(&bytes[at..end]).expect("a size");
        let size = usize::from_str_radix(size, 16).expect("a size alone, without extensions");
        at = end + 2 + size + 2;
        let last = bytes.get(at - 2..at)?;
        assert_eq!(last, b"\r\n", "a chunk has its size");
        if size == 0 {
            return Some(at);
        }
    }
}

/// Panics for a request that no rule allows, and for a value where none may be.
fn requests(bytes: &[u8], is_secure: bool, value: &str) {
    for Request { line, headers, body } in whole_requests(bytes) {
        let words: Vec<&str> = line.split(' ').collect();
        let [method, target, "HTTP/1.1"] = words[..] else { panic!("a request line: {line:?}") };
        assert!(matches!(method, "GET" | "POST"), "{line}");
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let below = path.strip_prefix("/ok/");
        let plain = |segment: &str| {
            let lower = segment.to_ascii_lowercase();
            let odd = ["%2e", "%2f", "%5c", "%00", ";", "\\", "/"].iter().any(|odd| lower.contains(odd));
            !segment.is_empty() && !segment.ends_with('.') && !odd
        };
        assert!(path == "/ok" || below.is_some_and(plain), "{line}");
        assert_eq!(headers.get("host").map(Vec::as_slice), Some(&["a.test".to_owned()][..]), "{line}");
        for gone in [
            "connection",
            "upgrade",
            "te",
            "trailer",
            "expect",
            "proxy-authorization",
            "keep-alive",
            "x-http-method-override",
        ] {
            assert!(!headers.contains_key(gone), "{gone}");
        }
        assert!(!holds(body, value.as_bytes()) && !path.contains(value), "a value in a body or a path");
        assert!(is_secure || !query.contains(&escaped(value)), "a value in the open");
        for (name, values) in &headers {
            let has_value = |text: &String| text.contains(value) || holds(&basic(text), value.as_bytes());
            assert!(
                !values.iter().any(has_value) || is_secure && name == "authorization",
                "a value in {name}"
            );
        }
    }
}

/// What `Authorization: Basic` has behind its base64.
fn basic(text: &str) -> Vec<u8> {
    let coded = text.split_once(' ').filter(|(kind, _)| kind.eq_ignore_ascii_case("basic"));
    coded.and_then(|(_, coded)| STANDARD.decode(coded.trim()).ok()).unwrap_or_default()
}

/// A value as it stands in a query.
fn escaped(value: &str) -> String {
    let kept = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let one = |byte: u8| if kept(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    value.bytes().map(one).collect()
}

/// Frames come back as long as they were, the same for every cut, and without the value in one frame.
fn frames(bytes: &[u8]) {
    let whole = fuzz::frames(VALUE, std::iter::once(bytes));
    for size in [1, 2, 7] {
        assert_eq!(fuzz::frames(VALUE, bytes.chunks(size)), whole, "in pieces of {size}");
    }
    let Some(whole) = whole else { return };
    assert_eq!(whole.len(), bytes.len());
    for (before, after) in bytes.iter().zip(&whole) {
        assert!(before == after || *after == b'*');
    }
    let mut rest = &whole[..];
    while let Some((payload, after)) = payload(rest) {
        assert!(!holds(payload, VALUE.as_bytes()), "a value in a frame");
        rest = after;
    }
}

/// The payload of the first frame, as far as it is there, and what follows it.
fn payload(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (_, rest) = bytes.split_first()?;
    let (length, rest) = rest.split_first()?;
    let (length, rest) = match length {
        126 => rest.split_first_chunk().map(|(size, rest)| (u64::from(u16::from_be_bytes(*size)), rest))?,
        127 => rest.split_first_chunk().map(|(size, rest)| (u64::from_be_bytes(*size), rest))?,
        short => (u64::from(*short), rest),
    };
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    Some(rest.split_at(length.min(rest.len())))
}

fn locked(got: &Got) -> MutexGuard<'_, Vec<(Protocol, Vec<u8>)>> {
    got.lock().unwrap_or_else(PoisonError::into_inner)
}

fn replaced(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some(at) = find(rest, from) {
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(to);
        rest = &rest[at + from.len()..];
    }
    out.extend_from_slice(rest);
    out
}

fn find(bytes: &[u8], part: &[u8]) -> Option<usize> {
    bytes.windows(part.len()).position(|window| window == part)
}

fn holds(bytes: &[u8], part: &[u8]) -> bool {
    find(bytes, part).is_some()
}
