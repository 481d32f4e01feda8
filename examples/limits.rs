//! Limits on time, memory, output and fuel: what ends a run, and what the host learns about it.
//!
//! ```sh
//! cargo run --release --example limits
//! ```
//!
//! ```text
//! endless loop: limit_time, exit status 124
//! too much memory: raised MemoryError
//! much output: 16384 of 1000000 bytes kept
//! little fuel: limit_fuel, exit status 137
//! more than the ceiling: args_invalid: the wall-clock limit of 120000 ms is outside 10 ms to 60000 ms
//! ```

#![allow(clippy::print_stdout, reason = "an example prints to the terminal")]

use std::time::Duration;

use dormouse::{Dormouse, MIB, Outcome, Status};

fn shown(outcome: &Outcome) -> String {
    match &outcome.status {
        Status::Returned(_) => "a value".into(),
        Status::Raised(exception) => format!("raised {}", exception.class),
        Status::Exited(status) => format!("exit {status}"),
        Status::Stopped(error) => format!("{}, exit status {}", error.code(), outcome.exit_code()),
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dormouse = Dormouse::new()?;
    let python = |code: &str| dormouse.snippet("python", code);

    let endless = python("while True: pass").timeout(Duration::from_millis(200)).run().await?;
    println!("endless loop: {}", shown(&endless));

    // An interpreter that gets no more memory raises its own error, which the snippet may catch.
    let large = python("x = bytes(500_000_000)").memory(64 * MIB).run().await?;
    println!("too much memory: {}", shown(&large));

    // Output past the limit is counted and dropped; the run goes on.
    let noisy = python("print('x' * 999_999)").run().await?;
    let kept = noisy.stdout.total_bytes - noisy.stdout.dropped_bytes;
    println!("much output: {kept} of {} bytes kept", noisy.stdout.total_bytes);

    // Fuel counts executed operations: the same code ends at the same place on every machine.
    let short = python("sum(range(10_000_000))").fuel(1_000_000).run().await?;
    println!("little fuel: {}", shown(&short));

    // No request can exceed the operator's ceiling (`Policy::ceiling`).
    if let Err(error) = python("1").timeout(Duration::from_secs(120)).run().await {
        println!("more than the ceiling: {}: {error}", error.code());
    }
    Ok(())
}
