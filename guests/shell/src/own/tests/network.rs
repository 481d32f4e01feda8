//! A network for tests: plain HTTP/1.1 to this machine, and a server there that tells what it was asked.

use std::collections::HashMap;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use dormouse_contract::net::outside::{Network, bring};
use dormouse_contract::net::{Head, Interest, Problem, Request, Trouble};

/// A connection: what has come is read when somebody asks.
struct Open {
    stream: TcpStream,
    held: Vec<u8>,
    has_head: bool,
    /// Its answer has no body.
    is_head: bool,
    /// What is left of the body; none: up to the end of the connection.
    left: Option<u64>,
    is_over: bool,
}

/// The network: other hosts than 127.0.0.1 are denied.
#[derive(Default)]
struct Local {
    open: HashMap<u64, Open>,
    last: u64,
}

fn problem(trouble: Trouble, text: &str) -> Problem {
    Problem { trouble, text: text.to_owned() }
}

impl Local {
    fn find(&mut self, connection: u64) -> Result<&mut Open, Problem> {
        self.open.get_mut(&connection).ok_or_else(|| problem(Trouble::Closed, "it is closed"))
    }
}

impl Open {
    /// Reads what is there. Whether the other side has ended.
    fn fill(&mut self) -> Result<bool, Problem> {
        let mut bytes = [0; 4096];
        match self.stream.read(&mut bytes) {
            Ok(0) => Ok(true),
            Ok(count) => {
                self.held.extend(&bytes[..count]);
                Ok(false)
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
            Err(_) => Err(problem(Trouble::Reset, "the connection broke")),
        }
    }
}

impl Network for Local {
    fn exchange(&mut self, request: &Request<'_>) -> Result<u64, Problem> {
        let (_, rest) = request.url.split_once("://").unwrap();
        let (authority, target) = rest.split_once('/').unwrap();
        let host = authority.split(':').next().unwrap();
        match host {
            "127.0.0.1" => {}
            "nowhere.example" => return Err(problem(Trouble::UnknownName, "no such name")),
            _ => return Err(problem(Trouble::Denied, &format!("no rule allows `{host}`"))),
        }
        let mut stream =
            TcpStream::connect(authority).map_err(|_| problem(Trouble::Refused, "nobody is there"))?;
        let mut head = format!("{} /{target} HTTP/1.1\r\n", request.method).into_bytes();
        for (name, value) in request.headers {
            head.extend([name.as_bytes(), b": ", value, b"\r\n"].concat());
        }
        head.extend(b"\r\n");
        stream.write_all(&head).unwrap();
        stream.set_nonblocking(true).unwrap();
        self.last += 1;
        let is_head = request.method == "HEAD";
        let open = Open { stream, held: Vec::new(), has_head: false, is_head, left: None, is_over: false };
        self.open.insert(self.last, open);
        Ok(self.last)
    }

    fn response(&mut self, connection: u64) -> Result<Option<Head>, Problem> {
        let open = self.find(connection)?;
        let is_over = open.fill()?;
        let Some(end) = open.held.windows(4).position(|four| four == b"\r\n\r\n") else {
            let broken = problem(Trouble::Reset, "the connection broke");
            return if is_over { Err(broken) } else { Ok(None) };
        };
        let text = String::from_utf8_lossy(&open.held[..end]).into_owned();
        open.held.drain(..end + 4);
        open.has_head = true;
        let mut lines = text.split("\r\n");
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let pair = |line: &str| {
            let (name, value) = line.split_once(": ").unwrap();
            (name.to_ascii_lowercase(), value.as_bytes().to_vec())
        };
        let head = Head { status, headers: lines.map(pair).collect() };
        let length = head.headers.iter().find(|(name, _)| name == "content-length");
        open.left = length.map(|(_, value)| String::from_utf8_lossy(value).parse().unwrap());
        if open.is_head || matches!(status, 204 | 304) {
            open.left = Some(0);
        }
        Ok(Some(head))
    }

    fn send(&mut self, connection: u64, bytes: &[u8]) -> Result<usize, Problem> {
        match self.find(connection)?.stream.write(bytes) {
            Ok(count) => Ok(count),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(0),
            Err(_) => Err(problem(Trouble::Reset, "the connection broke")),
        }
    }

    fn receive(&mut self, connection: u64, most: usize) -> Result<Option<Vec<u8>>, Problem> {
        let open = self.find(connection)?;
        assert!(open.has_head, "the head is first");
        if open.left == Some(0) {
            return Ok(Some(Vec::new()));
        }
        if open.held.is_empty() && !open.is_over {
            open.is_over = open.fill()?;
        }
        let count = open
            .held
            .len()
            .min(most)
            .min(open.left.map_or(usize::MAX, |left| usize::try_from(left).unwrap()));
        if count == 0 {
            return match (open.is_over, open.left) {
                (false, _) => Ok(None),
                (true, None) => Ok(Some(Vec::new())),
                (true, Some(_)) => Err(problem(Trouble::Reset, "the connection broke")),
            };
        }
        open.left = open.left.map(|left| left - count as u64);
        Ok(Some(open.held.drain(..count).collect()))
    }

    fn finish(&mut self, _: u64) {}

    fn close(&mut self, connection: u64) {
        self.open.remove(&connection);
    }

    fn wait(&mut self, interests: &[Interest], nanoseconds: u64) {
        assert!(!interests.is_empty() && nanoseconds > 0);
        std::thread::sleep(Duration::from_nanos(nanoseconds.min(500_000)));
    }
}

/// A server on this machine, which this thread's shell reaches; its address.
pub(super) fn server() -> String {
    bring(Box::new(Local::default()));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || serve(stream));
        }
    });
    address
}

/// Answers one request, and ends the connection.
fn serve(mut stream: TcpStream) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).unwrap() == 0 {
            return;
        }
    }
    let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
    let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
    reader.read_exact(&mut body).unwrap();
    let target = head.split(' ').nth(1).unwrap().to_owned();
    let path = target.split('?').next().unwrap();
    let parts: Vec<&str> = path.split('/').skip(1).collect();
    let mut answer = |status: &str, headers: &str, body: &[u8]| {
        let head = format!("HTTP/1.1 {status} Any\r\n{headers}Content-Length: {}\r\n\r\n", body.len());
        let _ = stream.write_all(&[head.as_bytes(), body].concat());
    };
    match parts.as_slice() {
        ["status", status] => answer(status, "", b"the body\n"),
        ["to", status, ..] => {
            let to = target.split_once("/to/").and_then(|(_, rest)| rest.split_once('/')).unwrap().1;
            answer(status, &format!("Location: {}\r\n", to.replace("http:/1", "http://1")), b"moved\n");
        }
        ["set", cookie] => answer("200", &format!("Set-Cookie: {cookie}\r\n"), b"set\n"),
        ["named", name] => {
            let headers = format!("Content-Disposition: attachment; filename=\"{name}\"\r\n");
            answer("200", &headers, b"named\n");
        }
        ["gzip"] => {
            let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
            packed.write_all(b"unpacked\n").unwrap();
            answer("200", "Content-Encoding: gzip\r\n", &packed.finish().unwrap());
        }
        ["digits"] => {
            let all = b"0123456789";
            let range = head.lines().find_map(|line| line.strip_prefix("Range: bytes="));
            match range.and_then(|range| range.split('-').next()?.parse::<usize>().ok()) {
                None => answer("200", "", all),
                Some(from) if from < all.len() => answer("206", "", &all[from..]),
                Some(_) => answer("416", "", b""),
            }
        }
        ["long", count] => answer("200", "", &b"0123456789abcde\n".repeat(count.parse().unwrap())),
        ["short"] => drop(stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort")),
        ["silent"] => {
            let mut rest = [0];
            let _ = stream.read(&mut rest);
        }
        ["nothing"] => {}
        _ => answer("200", "Content-Type: text/plain\r\n", &[head.as_bytes(), &body].concat()),
    }
}
