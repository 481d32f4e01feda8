//! The C side of `wit/programs.wit`, as Rust: the layout of the canonical ABI on wasm32.

use std::mem::ManuallyDrop;

use bashkit::Route;

/// A list or a string: its first element and how many there are.
#[repr(C)]
struct List<T> {
    first: *mut T,
    count: usize,
}

type Text = List<u8>;

/// An environment variable.
#[repr(C)]
struct Pair {
    name: Text,
    value: Text,
}

#[repr(C)]
struct Command {
    program: Text,
    arguments: List<Text>,
    environment: List<Pair>,
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
    fn of(route: &Route) -> Self {
        let (case, file) = match route {
            Route::Result => (0, ""),
            Route::Stdout => (1, ""),
            Route::Stderr => (2, ""),
            Route::File(path) => path.to_str().map_or((0, ""), |path| (3, path)),
        };
        Self { case, file: lend(file.as_bytes()) }
    }
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

/// The most bytes that a program can be told: `HANDED` in `runtime/wasm/src/entry.rs`. The host ends the command line at more.
const MOST: usize = 32 << 20;
/// What the host counts for an argument besides its text.
const ARGUMENT: usize = 24;
/// What it counts for a variable besides name and value.
const VARIABLE: usize = 48;

/// What a program is told.
pub(crate) struct Call<'a> {
    pub(crate) program: &'a str,
    pub(crate) arguments: &'a [String],
    pub(crate) environment: Vec<(&'a str, &'a str)>,
    pub(crate) directory: &'a str,
    pub(crate) input: &'a [u8],
    pub(crate) milliseconds: Option<u32>,
    /// Where standard output and standard error go.
    pub(crate) routes: [Route; 2],
}

impl Call<'_> {
    /// Why the host would not take it, if it is too large.
    pub(crate) fn refusal(&self) -> Option<String> {
        let sum = |all: usize, next: usize| all.saturating_add(next);
        let arguments = self.arguments.iter().map(|argument| argument.len() + ARGUMENT);
        let variables = self.environment.iter().map(|(name, value)| name.len() + value.len() + VARIABLE);
        let words = arguments.chain(variables).fold(self.program.len() + self.directory.len(), sum);
        let input = self.input.len();
        let (what, bytes) = if input > MOST {
            ("input of", input)
        } else if words > MOST {
            ("arguments and environment of", words)
        } else if sum(input, words) > MOST {
            ("input, arguments and environment of", sum(input, words))
        } else {
            return None;
        };
        let verb = if input > MOST { "is" } else { "are" };
        Some(format!("{what} {bytes} bytes {verb} more than the {MOST} that one program can be given"))
    }
}

/// What came of it; of its streams what went nowhere else.
pub(crate) struct Answer {
    pub(crate) status: u8,
    pub(crate) output: Vec<u8>,
    pub(crate) errors: Vec<u8>,
}

/// Runs a program of the host's. None: it has none of that name.
pub(crate) fn run(call: &Call<'_>) -> Option<Answer> {
    let mut arguments: Vec<Text> = call.arguments.iter().map(|argument| lend(argument.as_bytes())).collect();
    let pair = |(name, value): &(&str, &str)| Pair { name: lend(name.as_bytes()), value: lend(value.as_bytes()) };
    let mut environment: Vec<Pair> = call.environment.iter().map(pair).collect();
    let command = Command {
        program: lend(call.program.as_bytes()),
        arguments: List { first: arguments.as_mut_ptr(), count: arguments.len() },
        environment: List { first: environment.as_mut_ptr(), count: environment.len() },
        directory: lend(call.directory.as_bytes()),
        input: lend(call.input),
        milliseconds: Milliseconds {
            is_some: call.milliseconds.is_some(),
            value: call.milliseconds.unwrap_or_default(),
        },
        output: Destination::of(&call.routes[0]),
        errors: Destination::of(&call.routes[1]),
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
