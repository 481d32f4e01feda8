//! The helper that looks up names, and connects to the container engine.

use std::io;
use std::net::{TcpStream, ToSocketAddrs as _};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;

use dormouse_docker::Address;

use super::{CONNECT, serve, wire};
use crate::wall;
use wire::Request;

/// Most addresses of one name.
const MOST: usize = 64;

/// The work of the helper.
pub(super) fn run(engine: Option<Address>) -> io::Result<()> {
    serve::end_with_parent()?;
    wall::raise_for_names();
    serve(io::stdin(), engine)
}

/// Serves until the server has gone.
pub(super) fn serve(socket: impl AsFd, engine: Option<Address>) -> io::Result<()> {
    serve::requests(socket, move |request, channel| {
        let done = match (request, &engine) {
            (Request::Name(name), _) => addresses(name).map(|text| (text.into_bytes(), Vec::new())),
            (Request::Engine, Some(engine)) => connected(engine).map(|socket| (Vec::new(), vec![socket])),
            _ => Err(io::ErrorKind::Unsupported.into()),
        };
        wire::answer(channel, done)
    })
}

/// A line for each address, in the resolver's order.
fn addresses(name: &str) -> io::Result<String> {
    let mut seen = Vec::new();
    for address in (name, 0).to_socket_addrs()?.map(|address| address.ip()) {
        if seen.len() < MOST && !seen.contains(&address) {
            seen.push(address);
        }
    }
    Ok(seen.iter().map(|address| format!("{address}\n")).collect())
}

fn connected(engine: &Address) -> io::Result<OwnedFd> {
    match engine {
        Address::Socket(path) => UnixStream::connect(path).map(OwnedFd::from),
        Address::Tcp(host, port) => {
            let mut failed = io::Error::from(io::ErrorKind::NotFound);
            for address in (host.as_str(), *port).to_socket_addrs()? {
                match TcpStream::connect_timeout(&address, CONNECT) {
                    Ok(stream) => return Ok(stream.into()),
                    Err(error) => failed = error,
                }
            }
            Err(failed)
        }
    }
}
