//! The Rust side of `wit/`, for the guests that are Rust: what the C functions that are generated from it take and give, with
//! the layout of the canonical ABI on wasm32.
//!
//! | what | module |
//! | --- | --- |
//! | strings and lists as they cross the border | `abi` |
//! | connections to the outside (`wit/net.wit`) | [`net`] |
//! | programs that the host runs (`wit/programs.wit`) | [`programs`] |
//! | what `guests/shell/interpreter.c` calls (`wit/interpreter.wit`) | [`shell`] |
//! | what `guests/git/interpreter.c` calls | [`git`] |
//! | how much of the heap is in use | [`heap`] |
//! | calls of the C library that the standard library lacks on WASI | [`system`] |
//!
//! Unsafe code of the guests is here, so that the shell's and git's own code has none. On another target than
//! WebAssembly, where their unit tests run, there is no host: no program is
//! known, and there is no network unless a test brings one.

mod abi;
pub mod git;
pub mod heap;
pub mod net;
pub mod programs;
pub mod shell;
pub mod system;
