//! A server on this machine that speaks HTTP by hand, so that it can also break off; and sandboxes that reach it, beside the servers of
//! `outside`.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use dormouse::PersistentSandbox;
use dormouse::sandbox::{Name, Owner};
use dormouse::sandboxes::{Asked, CommandLine};
use dormouse_tests::outside::Outside;
use dormouse_tests::{lasting, sandbox};

/// What the server has seen.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    accepted: AtomicUsize,
    /// Connections whose other side has ended before they did.
    left: AtomicUsize,
    /// First lines of requests.
    pub(crate) requests: Mutex<Vec<String>>,
}

/// The server, and sandboxes that reach it.
pub(crate) struct World {
    pub(crate) outside: Outside,
    pub(crate) seen: Arc<Seen>,
    pub(crate) port: u16,
}

impl World {
    /// Starts all of it.
    pub(crate) fn new() -> Self {
        let seen = Arc::<Seen>::default();
        let port = listen(&seen);
        Self { outside: Outside::beside(port), seen, port }
    }

    /// The same, where a run has so many connections at one time.
    pub(crate) fn narrow(connections: u32) -> Self {
        let seen = Arc::<Seen>::default();
        let port = listen(&seen);
        let rules = format!(
            "[[profile.default.allow]]\nhost = \"127.0.0.1\"\nport = {port}\nprotocol = \"http\"\n\
             [budget.owner]\nconnections = {connections}\n"
        );
        Self { outside: Outside::with(&[], &rules), seen, port }
    }

    /// A sandbox with variables for the addresses of the servers.
    pub(crate) fn sandbox(&self, name: &str) -> PersistentSandbox {
        self.named(lasting::named(&self.outside.dormouse, name))
    }

    /// A sandbox with so many bytes of memory.
    pub(crate) fn sandbox_of(&self, name: &str, memory: u64) -> PersistentSandbox {
        let sandboxes = lasting::sandboxes(&self.outside.dormouse);
        let mut spec = sandboxes.rules().defaults.clone();
        spec.memory = memory;
        let asked = Asked { name: Some(Name::parse(name).unwrap()), spec: Some(spec), ..Asked::default() };
        sandbox::wait(sandboxes.create(&Owner::local(), asked)).unwrap();
        self.sandbox(name)
    }

    /// A sandbox that knows where the servers are.
    pub(crate) fn named(&self, kept: PersistentSandbox) -> PersistentSandbox {
        let line = format!(
            "U=http://127.0.0.1:{} S=https://api.test:$HTTPS SELF=https://self.test:$SELF READ=http://read.test:$HTTP \
             GONE=http://gone.test:$GONE",
            self.port
        );
        assert_eq!(run(&kept, &self.outside.code(&line)), (0, String::new(), String::new()));
        kept
    }
}

impl Seen {
    /// Connections that were made.
    pub(crate) fn accepted(&self) -> usize {
        self.accepted.load(Ordering::SeqCst)
    }

    /// Connections that the sandbox's side has ended in the middle.
    pub(crate) fn left(&self) -> usize {
        self.left.load(Ordering::SeqCst)
    }

    /// First lines of requests, which are forgotten.
    pub(crate) fn requests(&self) -> Vec<String> {
        std::mem::take(&mut self.requests.lock().unwrap())
    }
}

/// Status, output and errors of a command line.
pub(crate) fn run(kept: &PersistentSandbox, line: &str) -> (i32, String, String) {
    let mut line = CommandLine::new(line);
    line.wall = Duration::from_secs(60);
    let outcome = sandbox::wait(kept.exec_line(line)).expect("the call is taken").outcome;
    (outcome.exit_code(), outcome.stdout.text, outcome.stderr.text)
}

/// Serves on a port of its own.
fn listen(seen: &Arc<Seen>) -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let seen = seen.clone();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let seen = seen.clone();
            thread::spawn(move || {
                seen.accepted.fetch_add(1, Ordering::SeqCst);
                if serve(stream, &seen).is_err() {
                    seen.left.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
    });
    port
}

/// Answers requests until the other side ends the connection. The error: it has ended it in the middle.
fn serve(stream: TcpStream, seen: &Seen) -> io::Result<()> {
    let mut stream = BufReader::new(stream);
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if stream.read_line(&mut head).unwrap_or_default() == 0 {
                return Ok(());
            }
        }
        let first = head.lines().next().unwrap_or_default().to_owned();
        seen.requests.lock().unwrap().push(first.clone());
        let length = header(&head, "content-length").and_then(|text| text.parse().ok());
        let mut body = vec![0; length.unwrap_or_default()];
        stream.read_exact(&mut body)?;
        let mut words = first.split(' ');
        let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        if !answer(stream.get_mut(), (method, target, &head, &body))? {
            return Ok(());
        }
    }
}

fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    let lines = head.lines().filter_map(|line| line.split_once(": "));
    lines.into_iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value)
}

/// Whether the connection goes on.
fn answer(
    stream: &mut impl Write,
    (method, target, head, body): (&str, &str, &str, &[u8]),
) -> io::Result<bool> {
    let path = target.split('?').next().unwrap_or_default();
    let parts: Vec<&str> = path.split('/').skip(1).collect();
    let mut whole = |status: &str, headers: &str, body: &[u8]| {
        let length = body.len();
        let head = format!("HTTP/1.1 {status}\r\nServer: test\r\n{headers}Content-Length: {length}\r\n\r\n");
        let body = if method == "HEAD" || status.starts_with("204") { b"" } else { body };
        stream.write_all(&[head.as_bytes(), body].concat())?;
        stream.flush().map(|()| true)
    };
    match parts.as_slice() {
        ["status", status] => whole(named(status), "", b"the body\n"),
        ["to", status, ..] => {
            let rest = target.splitn(4, '/').nth(3).unwrap_or_default();
            whole(named(status), &format!("Location: /{rest}\r\n"), b"moved\n")
        }
        ["far", port] => whole("302 Found", &format!("Location: http://read.test:{port}/echo\r\n"), b""),
        ["cookies"] => {
            let set =
                "Set-Cookie: a=1; Path=/\r\nSet-Cookie: b=2; HttpOnly\r\nSet-Cookie: c=3; Path=/deep\r\n";
            whole("200 OK", set, b"set\n")
        }
        ["named", name] => {
            let headers = format!("Content-Disposition: attachment; filename=\"{name}\"\r\n");
            whole("200 OK", &headers, b"named\n")
        }
        ["gzip"] => {
            // `echo unpacked | gzip -n`.
            let packed = data_encoding::BASE64.decode(b"H4sIAAAAAAAAAyvNK0hMzk5N4QIAgB9xKwkAAAA=").unwrap();
            whole("200 OK", "Content-Encoding: gzip\r\n", &packed)
        }
        ["digits"] => {
            let range =
                header(head, "range").and_then(|range| range.strip_prefix("bytes=")?.split('-').next());
            match range.and_then(|from| from.parse::<usize>().ok()) {
                None => whole("200 OK", "", b"0123456789"),
                Some(from) if from < 10 => whole("206 Partial Content", "", &b"0123456789"[from..]),
                Some(_) => whole("416 Range Not Satisfiable", "", b""),
            }
        }
        ["big", count] => {
            let count: usize = count.parse().unwrap_or_default();
            stream.write_all(
                format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", count << 10).as_bytes(),
            )?;
            (0..count).try_for_each(|_| stream.write_all(&[b'x'; 1 << 10]))?;
            stream.flush().map(|()| true)
        }
        ["late", milliseconds] => {
            thread::sleep(Duration::from_millis(milliseconds.parse().unwrap_or_default()));
            whole("200 OK", "", b"late\n")
        }
        ["without-end"] => {
            stream.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")?;
            loop {
                stream.write_all(b"and so on\n")?;
                stream.flush()?;
                thread::sleep(Duration::from_millis(20));
            }
        }
        ["short"] => {
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort")?;
            stream.flush().map(|()| false)
        }
        ["nothing"] => Ok(false),
        _ => {
            // The host puts lengths at the end.
            let mut lines: Vec<&str> = head.trim_end().lines().collect();
            lines[1..].sort_unstable();
            let told = [lines.join("\n").as_bytes(), b"\n\n", body].concat();
            whole("200 OK", "Content-Type: text/plain\r\n", &told)
        }
    }
}

/// A status with its words.
fn named(status: &str) -> &str {
    match status {
        "201" => "201 Created",
        "204" => "204 No Content",
        "301" => "301 Moved Permanently",
        "302" => "302 Found",
        "303" => "303 See Other",
        "307" => "307 Temporary Redirect",
        "308" => "308 Permanent Redirect",
        "401" => "401 Unauthorized",
        "404" => "404 Not Found",
        "500" => "500 Internal Server Error",
        "503" => "503 Service Unavailable",
        _ => "200 OK",
    }
}
