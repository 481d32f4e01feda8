//! The functions that are generated from the contract.

#![allow(unsafe_code, reason = "the border to C")]

use std::mem::MaybeUninit;

use super::{Head, Header, Interest, Problem, Request, Trouble};
use crate::abi::{List, Text};

/// A name and a value.
type Pair = [Text; 2];

#[repr(C)]
struct Refusal {
    trouble: u8,
    text: Text,
}

impl Refusal {
    const fn none() -> Self {
        Self { trouble: 0, text: Text::none() }
    }

    /// # Safety
    ///
    /// A generated function has filled it.
    unsafe fn own(self) -> Problem {
        let trouble = match self.trouble {
            0 => Trouble::Denied,
            1 => Trouble::UnknownName,
            2 => Trouble::Refused,
            3 => Trouble::Reset,
            4 => Trouble::Closed,
            5 => Trouble::TimedOut,
            6 => Trouble::Untrusted,
            8 => Trouble::Exhausted,
            _ => Trouble::Protocol,
        };
        // SAFETY: as the caller promises; the generated code allocates what it gives with `cabi_realloc`.
        Problem { trouble, text: unsafe { text(self.text) } }
    }
}

#[repr(C)]
struct Asked {
    method: Text,
    url: Text,
    headers: List<Pair>,
    body: bool,
}

#[repr(C)]
struct Answered {
    is_some: bool,
    head: Said,
}

#[repr(C)]
struct Said {
    status: u16,
    headers: List<Pair>,
}

#[repr(C)]
struct Piece {
    is_some: bool,
    bytes: Text,
}

#[repr(C)]
struct Wished {
    connection: u64,
    reads: bool,
    writes: bool,
}

/// A call of a function that the embedder registered; there is never one here.
#[repr(C)]
struct Call {
    id: u32,
    name: Text,
    arguments: Text,
}

#[repr(C)]
struct Wanted {
    calls: List<Call>,
    cancelled: List<u32>,
    is_limited: bool,
    nanoseconds: u64,
}

#[repr(C)]
struct Happened {
    ready: List<Wished>,
    answers: List<Call>,
}

unsafe extern "C" {
    fn dormouse_sandbox_net_exchange(
        asked: *const Asked,
        connection: *mut u64,
        refusal: *mut Refusal,
    ) -> bool;
    fn dormouse_sandbox_net_response(connection: u64, head: *mut Answered, refusal: *mut Refusal) -> bool;
    fn dormouse_sandbox_net_send(
        connection: u64,
        bytes: *const Text,
        sent: *mut u32,
        refusal: *mut Refusal,
    ) -> bool;
    fn dormouse_sandbox_net_receive(
        connection: u64,
        most: u32,
        piece: *mut Piece,
        refusal: *mut Refusal,
    ) -> bool;
    fn dormouse_sandbox_net_finish(connection: u64);
    fn dormouse_sandbox_net_close(connection: u64);
    fn dormouse_sandbox_net_wait(
        interests: *const List<Wished>,
        wanted: *const Wanted,
        happened: *mut Happened,
    );
    fn dormouse_sandbox_net_happened_free(happened: *mut Happened);
}

/// # Safety
///
/// As [`Text::own`].
unsafe fn text(text: Text) -> String {
    // SAFETY: as the caller promises.
    let bytes = unsafe { text.own() };
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

pub(super) fn exchange(request: &Request<'_>) -> Result<u64, Problem> {
    let pair = |(name, value): &Header| [Text::lend(name.as_bytes()), Text::lend(value)];
    let headers: Vec<Pair> = request.headers.iter().map(pair).collect();
    let asked = Asked {
        method: Text::lend(request.method.as_bytes()),
        url: Text::lend(request.url.as_bytes()),
        headers: List::lend(&headers),
        body: request.body,
    };
    let (mut connection, mut refusal) = (0, Refusal::none());
    // SAFETY: the function reads the request, which outlives the call, and fills the one or the other.
    match unsafe { dormouse_sandbox_net_exchange(&asked, &mut connection, &mut refusal) } {
        true => Ok(connection),
        // SAFETY: it was filled.
        false => Err(unsafe { refusal.own() }),
    }
}

pub(super) fn response(connection: u64) -> Result<Option<Head>, Problem> {
    let mut answer = Answered { is_some: false, head: Said { status: 0, headers: List::none() } };
    let mut refusal = Refusal::none();
    // SAFETY: the function fills the one or the other.
    if !unsafe { dormouse_sandbox_net_response(connection, &mut answer, &mut refusal) } {
        // SAFETY: it was filled.
        return Err(unsafe { refusal.own() });
    }
    if !answer.is_some {
        return Ok(None);
    }
    // SAFETY: the generated code allocates lists, names and values with `cabi_realloc`, and leaves them to the caller.
    let pairs = unsafe { answer.head.headers.own() };
    // SAFETY: as before.
    let own = |[name, value]: Pair| unsafe { (text(name), value.own()) };
    Ok(Some(Head { status: answer.head.status, headers: pairs.into_iter().map(own).collect() }))
}

pub(super) fn send(connection: u64, bytes: &[u8]) -> Result<usize, Problem> {
    let (mut sent, mut refusal) = (0, Refusal::none());
    // SAFETY: the function reads the bytes, which outlive the call, and fills the one or the other.
    match unsafe { dormouse_sandbox_net_send(connection, &Text::lend(bytes), &mut sent, &mut refusal) } {
        true => Ok((sent as usize).min(bytes.len())),
        // SAFETY: it was filled.
        false => Err(unsafe { refusal.own() }),
    }
}

pub(super) fn receive(connection: u64, most: usize) -> Result<Option<Vec<u8>>, Problem> {
    let mut piece = Piece { is_some: false, bytes: Text::none() };
    let mut refusal = Refusal::none();
    let most = u32::try_from(most).unwrap_or(u32::MAX);
    // SAFETY: the function fills the one or the other.
    match unsafe { dormouse_sandbox_net_receive(connection, most, &mut piece, &mut refusal) } {
        // SAFETY: the generated code allocates the bytes with `cabi_realloc`, and leaves them to the caller.
        true => Ok(piece.is_some.then(|| unsafe { piece.bytes.own() })),
        // SAFETY: it was filled.
        false => Err(unsafe { refusal.own() }),
    }
}

pub(super) fn finish(connection: u64) {
    // SAFETY: a number, of which the host thinks what it wants.
    unsafe { dormouse_sandbox_net_finish(connection) }
}

pub(super) fn close(connection: u64) {
    // SAFETY: as in `finish`.
    unsafe { dormouse_sandbox_net_close(connection) }
}

pub(super) fn wait(interests: &[Interest], nanoseconds: u64) {
    let wish = |one: &Interest| Wished { connection: one.connection, reads: one.reads, writes: one.writes };
    let wishes: Vec<Wished> = interests.iter().map(wish).collect();
    let wanted = Wanted { calls: List::none(), cancelled: List::none(), is_limited: true, nanoseconds };
    let mut happened = MaybeUninit::uninit();
    // SAFETY: the function reads what outlives the call, and fills `happened`, which is then freed by its own function.
    unsafe {
        dormouse_sandbox_net_wait(&List::lend(&wishes), &wanted, happened.as_mut_ptr());
        dormouse_sandbox_net_happened_free(happened.as_mut_ptr());
    }
}
