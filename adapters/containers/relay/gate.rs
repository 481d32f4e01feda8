//! Connections that are taken in a container, and carried together over two streams: what is written here the host reads.
//! The frames are described in [`frames`](crate::frames); the host's half is `src/carried.rs`.

use std::collections::{HashMap, VecDeque};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::process::{ExitCode, exit};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use crate::frames::{CREDIT, DATA, END, OPEN, PIECE, READY, RESET, WINDOW};

/// Connections at one time. One more waits for a moment and is closed then: those that stay open for nothing would have it wait for ever.
const CONNECTIONS: usize = 64;
/// How long a connection waits for its place.
const PATIENCE: Duration = Duration::from_secs(1);
/// The stack of a thread, in bytes.
const STACK: usize = 128 << 10;
/// Time after which it is tried again to take a connection, or the port.
const AGAIN: Duration = Duration::from_millis(50);
/// How often it is tried to take the port.
const TRIES: u32 = 20;

/// Serves until the host's stream ends.
pub(crate) fn serve(port: u16) -> ExitCode {
    let Some(listener) = listen(port) else { return ExitCode::FAILURE };
    let all: Arc<All> = Arc::default();
    if send(READY, 0, 0, &[]).is_err() {
        return ExitCode::FAILURE;
    }
    let taken = all.clone();
    let taking = thread::Builder::new().stack_size(STACK).spawn(move || take(&listener, &taken));
    if taking.is_err() {
        return ExitCode::FAILURE;
    }
    let _over = all.hear(&mut io::stdin().lock());
    // The host is gone: nothing is carried any more.
    exit(0)
}

/// Takes the port. One of before that was just ended may have it for a moment longer.
fn listen(port: u16) -> Option<TcpListener> {
    (0..TRIES).find_map(|tried| {
        if tried > 0 {
            thread::sleep(AGAIN);
        }
        TcpListener::bind((Ipv4Addr::LOCALHOST, port)).ok()
    })
}

/// Takes connections, as many as there may be.
fn take(listener: &TcpListener, all: &Arc<All>) {
    let mut number = 0_u32;
    let mut patience = PATIENCE;
    loop {
        let Ok((stream, _)) = listener.accept() else {
            thread::sleep(AGAIN);
            continue;
        };
        // What comes behind one that has waited for nothing does not wait as well.
        if !all.wait_for_room(patience) {
            patience = Duration::ZERO;
            continue;
        }
        patience = PATIENCE;
        number = number.wrapping_add(1);
        if begin(stream, number, all).is_err() {
            all.forget(number);
            let _told = send(RESET, number, 0, &[]);
        }
    }
}

/// Begins to carry a connection.
fn begin(stream: TcpStream, number: u32, all: &Arc<All>) -> io::Result<()> {
    let _soon = stream.set_nodelay(true);
    let connection = Arc::new(Connection { stream, state: Mutex::default(), changed: Condvar::new() });
    all.lock().insert(number, connection.clone());
    send(OPEN, number, 0, &[])?;
    let (out, of) = (connection.clone(), all.clone());
    thread::Builder::new().stack_size(STACK).spawn(move || {
        out.read(number);
        of.half(number, &out);
    })?;
    let of = all.clone();
    thread::Builder::new().stack_size(STACK).spawn(move || {
        connection.write(number);
        of.half(number, &connection);
    })?;
    Ok(())
}

/// The connections, by number.
#[derive(Default)]
struct All {
    connections: Mutex<HashMap<u32, Arc<Connection>>>,
    less: Condvar,
}

/// A connection.
struct Connection {
    stream: TcpStream,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    /// Bytes that the host has room for.
    room: usize,
    /// What the host sent, and is not written yet.
    pending: VecDeque<Vec<u8>>,
    /// Whether the host sends nothing more.
    ended: bool,
    /// Whether it is over.
    over: bool,
    /// Which of its two directions are done.
    halves: u8,
}

impl Default for State {
    fn default() -> Self {
        Self { room: WINDOW, pending: VecDeque::new(), ended: false, over: false, halves: 0 }
    }
}

impl All {
    fn lock(&self) -> MutexGuard<'_, HashMap<u32, Arc<Connection>>> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn forget(&self, number: u32) {
        self.lock().remove(&number);
        self.less.notify_all();
    }

    /// One direction is done; after both the connection is forgotten.
    fn half(&self, number: u32, connection: &Connection) {
        let mut state = connection.lock();
        state.halves += 1;
        let both = state.halves == 2;
        drop(state);
        if both {
            self.forget(number);
        }
    }

    /// Waits until there is room for one more. Whether there is.
    fn wait_for_room(&self, patience: Duration) -> bool {
        let is_full = |connections: &mut HashMap<u32, Arc<Connection>>| connections.len() >= CONNECTIONS;
        let waited = self.less.wait_timeout_while(self.lock(), patience, is_full);
        waited.unwrap_or_else(PoisonError::into_inner).0.len() < CONNECTIONS
    }

    /// Reads what the host says, until it ends.
    fn hear(&self, host: &mut impl Read) -> io::Result<()> {
        loop {
            let mut head = [0; 9];
            host.read_exact(&mut head)?;
            let [kind, a, b, c, d, e, f, g, h] = head;
            let number = u32::from_be_bytes([a, b, c, d]);
            let amount = u32::from_be_bytes([e, f, g, h]) as usize;
            let mut bytes = Vec::new();
            if kind == DATA {
                if amount > PIECE {
                    return Err(io::ErrorKind::InvalidData.into());
                }
                bytes.resize(amount, 0);
                host.read_exact(&mut bytes)?;
            }
            // What is said of one that is over has no meaning any more.
            let Some(connection) = self.lock().get(&number).cloned() else { continue };
            let mut state = connection.lock();
            match kind {
                DATA => state.pending.push_back(bytes),
                END => state.ended = true,
                CREDIT => state.room = state.room.saturating_add(amount),
                // What it has said to its end before is still written.
                RESET if state.ended => {
                    let _gone = connection.stream.shutdown(Shutdown::Read);
                }
                RESET => {
                    state.over = true;
                    let _gone = connection.stream.shutdown(Shutdown::Both);
                }
                _ => return Err(io::ErrorKind::InvalidData.into()),
            }
            connection.changed.notify_all();
        }
    }
}

impl Connection {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    /// From the connection to the host.
    fn read(&self, number: u32) {
        let mut piece = vec![0; PIECE];
        loop {
            let mut state = self.lock();
            while state.room == 0 && !state.over {
                state = self.wait(state);
            }
            if state.over {
                return;
            }
            let most = state.room.min(PIECE);
            drop(state);
            match (&self.stream).read(piece.get_mut(..most).unwrap_or_default()) {
                Ok(0) => {
                    let _told = send(END, number, 0, &[]);
                    return;
                }
                Ok(length) => {
                    let piece = piece.get(..length).unwrap_or_default();
                    if send(DATA, number, length, piece).is_err() {
                        return;
                    }
                    self.lock().room -= length;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return self.break_off(number),
            }
        }
    }

    /// From the host to the connection.
    fn write(&self, number: u32) {
        loop {
            let mut state = self.lock();
            while state.pending.is_empty() && !state.ended && !state.over {
                state = self.wait(state);
            }
            let piece = match state.pending.pop_front() {
                _ if state.over => return,
                Some(piece) => piece,
                None => {
                    drop(state);
                    let _told = self.stream.shutdown(Shutdown::Write);
                    return;
                }
            };
            drop(state);
            if (&self.stream).write_all(&piece).is_err() {
                return self.break_off(number);
            }
            let _told = send(CREDIT, number, piece.len(), &[]);
        }
    }

    fn break_off(&self, number: u32) {
        let was_over = std::mem::replace(&mut self.lock().over, true);
        self.changed.notify_all();
        if !was_over {
            let _gone = self.stream.shutdown(Shutdown::Both);
            let _told = send(RESET, number, 0, &[]);
        }
    }
}

/// Says something to the host, as a whole.
fn send(kind: u8, number: u32, amount: usize, bytes: &[u8]) -> io::Result<()> {
    let amount = u32::try_from(amount).map_err(|_| io::ErrorKind::InvalidInput)?;
    let mut frame = Vec::with_capacity(9 + bytes.len());
    frame.push(kind);
    frame.extend_from_slice(&number.to_be_bytes());
    frame.extend_from_slice(&amount.to_be_bytes());
    frame.extend_from_slice(bytes);
    let mut out = io::stdout().lock();
    out.write_all(&frame)?;
    out.flush()
}
