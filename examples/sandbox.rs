//! A persistent sandbox: variables, functions and files stay from call to call, and from one process to the next.
//!
//! ```sh
//! cargo run --release --example sandbox
//! ```
//!
//! ```text
//! 6
//! after a restart: 6, buy tea
//! ```

#![allow(clippy::print_stdout, reason = "an example prints to the terminal")]

use dormouse::{Dormouse, Outcome};

fn number(outcome: &Outcome) -> i64 {
    outcome.value().and_then(|value| value.as_i64()).unwrap_or_default()
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // A program of yours names a folder that stays.
    let state = tempfile::tempdir()?;

    let dormouse = Dormouse::builder()?.state(state.path()).build()?;
    let work = dormouse.sandbox("work").await?;
    work.eval("python", "prices = {'tea': 3}\ndef double(item): return 2 * prices[item]").await?;
    println!("{}", number(&work.eval("python", "double('tea')").await?));
    work.write("/workspace/notes.txt", "buy tea\n").await?;
    // Saves every sandbox. Without it, the last second of work may be lost.
    dormouse.sandboxes()?.close().await?;
    drop((work, dormouse));

    // Another process would begin here.
    let dormouse = Dormouse::builder()?.state(state.path()).build()?;
    let work = dormouse.sandbox("work").await?;
    let price = number(&work.eval("python", "double('tea')").await?);
    let notes = String::from_utf8(work.read("/workspace/notes.txt").await?)?;
    println!("after a restart: {price}, {}", notes.trim());
    work.destroy().await?;
    dormouse.sandboxes()?.close().await?;
    Ok(())
}
