//! `dormouse health`: whether a server on this machine answers, for who looks after it in an image that has no other program.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use dormouse::{Error, ErrorCode};

use crate::exit::Failure;
use crate::print;

/// How long the server may take for each step.
const WITHIN: Duration = Duration::from_secs(5);
/// Most bytes that are read of its answer.
const MOST: u64 = 64 << 10;

/// Asks the server for `/health`, and prints what it says. Any other answer than `ok` is a failure.
pub(crate) fn run(address: SocketAddr) -> Result<u8, Failure> {
    let said = ask(address).map_err(|error| {
        Error::new(ErrorCode::ProviderUnavailable, format!("no server answers at {address}"))
            .with_hint("start one with `dormouse serve --listen ADDRESS`")
            .with_source(error)
    })?;
    let (head, body) = said.split_once("\r\n\r\n").unwrap_or((&said, ""));
    let is_good =
        head.lines().next().is_some_and(|line| line.contains(" 200 ")) && body.contains(r#""status":"ok""#);
    print::out(&format!("{}\n", body.trim()))?;
    Ok(u8::from(!is_good))
}

fn ask(address: SocketAddr) -> std::io::Result<String> {
    let mut stream = TcpStream::connect_timeout(&address, WITHIN)?;
    stream.set_read_timeout(Some(WITHIN))?;
    stream.set_write_timeout(Some(WITHIN))?;
    stream.write_all(
        format!("GET /health HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").as_bytes(),
    )?;
    let mut said = Vec::new();
    stream.take(MOST).read_to_end(&mut said)?;
    Ok(String::from_utf8_lossy(&said).into_owned())
}
