//! A WebAssembly program of your own: a `wasi:cli` command component, or a module for WASI preview 1, as compilers for
//! `wasm32-wasip1` and `wasm32-wasip2` make them. It gets arguments, standard input and mounts as it is granted them.
//!
//! ```sh
//! cargo run --release --example program -- hello.wasm Ada
//! ```
//!
//! Without a file, a small module that is written out below is run:
//!
//! ```text
//! hello from a module
//! exit status 0, … ms
//! ```

#![allow(clippy::print_stdout, reason = "an example prints to the terminal")]

use std::time::Duration;

use dormouse::{CommandRequest, Dormouse, Limits, MIB};

/// Writes one line to standard output.
const HELLO: &str = r#"(module
    (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
    (memory (export "memory") 1)
    (data (i32.const 0) "\08\00\00\00\14\00\00\00hello from a module\n")
    (func (export "_start")
        (drop (call $fd_write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 100)))))"#;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (name, wasm) = match arguments.next() {
        Some(file) => (file.clone(), std::fs::read(file)?),
        None => ("hello".into(), wat::parse_str(HELLO)?),
    };
    let mut request = CommandRequest::new(name, wasm);
    request.grants.arguments = arguments.collect();
    request.limits = Limits { wall: Duration::from_secs(10), memory: 64 * MIB, ..request.limits };
    let outcome = Dormouse::new()?.command(request).await?;
    print!("{}{}", outcome.stdout.text, outcome.stderr.text);
    println!("exit status {}, {} ms", outcome.exit_code(), outcome.usage.wall.as_millis());
    Ok(())
}
