//! Programs of the user's own: what is no program is refused with a reason, and what is one runs under the same limits.

mod cached;
mod canonical;
mod refused;
mod running;

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use dormouse::{CommandRequest, Dormouse, Error, ErrorCode, Grants, Outcome};
use dormouse_tests::case::case;
use dormouse_tests::ending::{assert_ends, told};
use dormouse_tests::{NOISE, PROMISE, sandbox};

/// Long enough to be in the middle of the work.
const WALL: Duration = Duration::from_millis(300);

/// WebAssembly from its text.
fn wasm(text: &str) -> Vec<u8> {
    wat::parse_str(text).unwrap_or_else(|error| panic!("{error}"))
}

/// A sandbox of these cases' own, so that what they leave compiled does not fill the user's cache.
static PROGRAMS: LazyLock<Dormouse> = LazyLock::new(|| {
    let cache = concat!(env!("CARGO_TARGET_TMPDIR"), "/programs");
    Dormouse::builder().and_then(|builder| builder.cache(cache).build()).expect("a sandbox")
});

/// Runs a program to its outcome, or what refused it.
fn run_command(request: CommandRequest) -> Result<Outcome, Error> {
    sandbox::wait(PROGRAMS.command(request))
}

/// A request for a program under a short limit.
fn program(wasm: Vec<u8>) -> CommandRequest {
    let mut request = CommandRequest::new("program", wasm);
    request.limits.wall = WALL;
    request
}

/// Runs a program from its text and holds it to its limit.
#[track_caller]
fn ran(text: &str) -> Outcome {
    // The first run compiles, which is not counted.
    let request = program(wasm(text));
    let outcome = run_command(request).unwrap_or_else(|error| panic!("refused: {error}"));
    assert!(outcome.usage.wall < WALL + PROMISE + NOISE, "{}", told(&outcome));
    assert!(outcome.usage.memory_peak <= 128 << 20, "{}", told(&outcome));
    outcome
}

/// Asserts that a program is refused, and returns why.
#[track_caller]
fn refusal(wasm: Vec<u8>) -> Error {
    match run_command(program(wasm)) {
        Err(error) => error,
        Ok(outcome) => panic!("it ran: {}", told(&outcome)),
    }
}

/// Asserts that a program is refused as `bad_component`, with a hint, naming `word`.
#[track_caller]
fn bad(wasm: Vec<u8>, word: &str) {
    let error = refusal(wasm);
    assert_eq!(error.code(), ErrorCode::BadComponent, "{error}");
    assert!(error.hint().is_some(), "{error} has no hint");
    assert!(error.message().contains(word), "`{word}` is not named: {error}");
}

/// A preview1 program whose `_start` is `body`, with further items.
fn module(items: &str, body: &str) -> String {
    let memory = if items.contains("(memory") { "" } else { r#"(memory (export "memory") 2)"# };
    format!(
        r#"(module
            (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
            (import "wasi_snapshot_preview1" "random_get" (func $random_get (param i32 i32) (result i32)))
            (import "wasi_snapshot_preview1" "path_filestat_get"
                (func $stat (param i32 i32 i32 i32 i32) (result i32)))
            (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
            {memory} {items} (func (export "_start") {body}))"#
    )
}
