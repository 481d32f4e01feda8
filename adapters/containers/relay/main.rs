//! The program that stands in containers without a network. Linked without shared libraries (`build.rs`), so that it runs anywhere.
//!
//! - `relay PORT` connects to a port of its container, and carries what it reads to it and what comes back to whoever started it.
//!   One connection, one program.
//! - `relay gate PORT` takes connections on that port of the loopback, and carries all of them over its two streams ([`gate`]).

mod frames;
mod gate;

use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, TcpStream};
use std::process::{ExitCode, exit};
use std::thread;
use std::time::Duration;

/// Who has ended his side has this long to hear the rest.
const REST: Duration = Duration::from_secs(10);

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let first = arguments.next().unwrap_or_default();
    if first == "gate" {
        let port = arguments.next().and_then(|port| port.parse().ok());
        return port.map_or(ExitCode::FAILURE, gate::serve);
    }
    let Some(server) = first.parse().ok().and_then(connect) else { return ExitCode::FAILURE };
    let Ok(mut to) = server.try_clone() else { return ExitCode::FAILURE };
    thread::spawn(move || {
        carry(&mut io::stdin(), &mut to);
        let _gone = to.shutdown(Shutdown::Write);
        thread::sleep(REST);
        exit(0);
    });
    carry(&mut &server, &mut io::stdout());
    ExitCode::SUCCESS
}

/// The server, on whichever of the container's own addresses it listens.
fn connect(port: u16) -> Option<TcpStream> {
    let own: [IpAddr; 2] = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
    own.into_iter().find_map(|address| TcpStream::connect((address, port)).ok())
}

/// Each piece at once: an event is not to wait for the next one.
fn carry(from: &mut impl Read, to: &mut impl Write) {
    let mut piece = [0; 16 << 10];
    while let Ok(length @ 1..) = from.read(&mut piece) {
        let piece = piece.get(..length).unwrap_or_default();
        if to.write_all(piece).and_then(|()| to.flush()).is_err() {
            return;
        }
    }
}
