//! A way to a container engine that can be closed, and held up.
//!
//! A program that is told [`Between::address`] in the place of the engine's own finds the engine there, or one that has gone, or one
//! that accepts and does not answer; the engine itself, which others may use, goes on.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

/// How often it is looked whether the way has changed.
const LOOK: Duration = Duration::from_millis(20);

/// How the engine is to be found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Way {
    /// It answers.
    Open,
    /// It accepts, and nothing goes on: neither new requests nor those under way.
    Stalled,
    /// It is not there; what is under way breaks off.
    Closed,
}

/// The way, for as long as this lives.
#[derive(Debug)]
pub struct Between {
    socket: PathBuf,
    way: Arc<AtomicU8>,
}

impl Between {
    /// An open way to the engine at `host`, by a socket of this name.
    ///
    /// # Errors
    /// When the engine is not at a socket of this machine, or none can be made.
    pub fn new(host: &str, socket: &Path) -> io::Result<Self> {
        let engine = host.strip_prefix("unix://").map(PathBuf::from);
        let engine = engine.ok_or_else(|| {
            io::Error::new(ErrorKind::Unsupported, format!("the engine is at {host}, which is no socket"))
        })?;
        let listener = UnixListener::bind(socket)?;
        listener.set_nonblocking(true)?;
        let way = Arc::new(AtomicU8::new(Way::Open as u8));
        let made = Self { socket: socket.to_owned(), way: way.clone() };
        std::thread::spawn(move || {
            // The last one is the value that is dropped.
            while Arc::strong_count(&way) > 1 {
                match listener.accept() {
                    Ok((client, _)) if is(&way, Way::Closed) => drop(client),
                    Ok((client, _)) => {
                        let (engine, way) = (engine.clone(), Arc::downgrade(&way));
                        std::thread::spawn(move || way.upgrade().map(|way| pass(&client, &engine, &way)));
                    }
                    Err(_) => std::thread::sleep(LOOK / 10),
                }
            }
        });
        Ok(made)
    }

    /// Where a program finds it: `unix://…`.
    pub fn address(&self) -> String {
        format!("unix://{}", self.socket.display())
    }

    /// From now on the engine is to be found so.
    pub fn set(&self, way: Way) {
        self.way.store(way as u8, Ordering::SeqCst);
    }
}

impl Drop for Between {
    fn drop(&mut self) {
        self.set(Way::Closed);
        let _ = std::fs::remove_file(&self.socket);
    }
}

fn is(way: &AtomicU8, one: Way) -> bool {
    way.load(Ordering::SeqCst) == one as u8
}

/// One connection, until either side ends it or the way is closed.
fn pass(client: &UnixStream, engine: &Path, way: &AtomicU8) -> io::Result<()> {
    client.set_nonblocking(false)?;
    let engine = UnixStream::connect(engine)?;
    std::thread::scope(|scope| {
        scope.spawn(|| carry(client, &engine, way));
        carry(&engine, client, way);
    });
    Ok(())
}

/// Carries what one side says to the other.
fn carry(mut from: &UnixStream, mut to: &UnixStream, way: &AtomicU8) {
    let mut bytes = vec![0; 64 << 10];
    let _ = from.set_read_timeout(Some(LOOK));
    loop {
        let read = from.read(&mut bytes);
        while is(way, Way::Stalled) {
            std::thread::sleep(LOOK);
        }
        let waits = |error: &io::Error| matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut);
        match read {
            _ if is(way, Way::Closed) => break,
            Ok(0) => {
                let _ = to.shutdown(Shutdown::Write);
                return;
            }
            Ok(count) if to.write_all(bytes.get(..count).unwrap_or_default()).is_ok() => {}
            Err(error) if waits(&error) => {}
            _ => break,
        }
    }
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}
