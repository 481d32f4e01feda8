//! The C side of `wit/programs.wit`, as Rust: the layout of the canonical ABI on wasm32. git starts one program of the
//! host's, the one that speaks HTTP.

use std::mem::ManuallyDrop;

/// Its name, as git's own helper is called.
const PROGRAM: &str = "git-remote-http";

/// A list or a string: its first element and how many there are.
#[repr(C)]
struct List<T> {
    first: *mut T,
    count: usize,
}

type Text = List<u8>;

#[repr(C)]
struct Command {
    program: Text,
    arguments: List<Text>,
    environment: List<[Text; 2]>,
    directory: Text,
    input: Text,
    milliseconds: Milliseconds,
    output: Destination,
    errors: Destination,
}

/// Where an output stream goes: a number for the case, and the file where it is one.
#[repr(C)]
struct Destination {
    case: u8,
    file: Text,
}

impl Destination {
    /// Into the answer.
    const ANSWER: Self = Self { case: 0, file: Text { first: std::ptr::null_mut(), count: 0 } };
}

/// An optional number.
#[repr(C)]
struct Milliseconds {
    is_some: bool,
    value: u32,
}

#[repr(C)]
struct Ended {
    status: u8,
    output: Text,
    errors: Text,
}

unsafe extern "C" {
    /// Generated from the contract; false: there is no such program.
    fn dormouse_sandbox_programs_run(command: *const Command, ended: *mut Ended) -> bool;
}

/// What came of a request.
pub(crate) struct Answer {
    pub(crate) status: u8,
    pub(crate) output: Vec<u8>,
    pub(crate) errors: Vec<u8>,
}

/// Starts the host's program. None: the host has none, so remote repositories are out of reach.
pub(crate) fn run(arguments: &[&str], input: &[u8]) -> Option<Answer> {
    let mut arguments: Vec<Text> = arguments.iter().map(|argument| lend(argument.as_bytes())).collect();
    let command = Command {
        program: lend(PROGRAM.as_bytes()),
        arguments: List { first: arguments.as_mut_ptr(), count: arguments.len() },
        environment: List { first: std::ptr::null_mut(), count: 0 },
        directory: lend(b"/"),
        input: lend(input),
        milliseconds: Milliseconds { is_some: false, value: 0 },
        output: Destination::ANSWER,
        errors: Destination::ANSWER,
    };
    let none = || List { first: std::ptr::null_mut(), count: 0 };
    let mut ended = Ended { status: 0, output: none(), errors: none() };
    // SAFETY: the generated function reads the command, which outlives the call, and fills `ended` when it says so.
    let ran = unsafe { dormouse_sandbox_programs_run(&command, &mut ended) };
    ran.then(|| Answer { status: ended.status, output: own(ended.output), errors: own(ended.errors) })
}

/// Bytes as the callee reads them; it neither keeps nor changes them.
fn lend(bytes: &[u8]) -> Text {
    List { first: bytes.as_ptr().cast_mut(), count: bytes.len() }
}

/// Bytes that the callee made with `cabi_realloc`, which is the allocator of this library too.
fn own(list: Text) -> Vec<u8> {
    if list.count == 0 {
        return Vec::new();
    }
    let list = ManuallyDrop::new(list);
    // SAFETY: `first` is the start of an allocation of `count` bytes of the C allocator, which Rust's is on this target.
    unsafe { Vec::from_raw_parts(list.first, list.count, list.count) }
}
