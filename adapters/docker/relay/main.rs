//! The program that stands in a container without a network: it connects to a port of the container itself, and carries what it
//! reads to it and what comes back to whoever started it. One connection, one program.
//!
//! `build.rs` links it without shared libraries, so that it runs in any image.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, TcpStream};
use std::process::{ExitCode, exit};
use std::thread;
use std::time::Duration;

/// Who has ended his side has this long to hear the rest.
const REST: Duration = Duration::from_secs(10);

fn main() -> ExitCode {
    let port = std::env::args().nth(1).and_then(|port| port.parse().ok());
    let Some(server) = port.and_then(connect) else { return ExitCode::FAILURE };
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
