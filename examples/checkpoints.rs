//! Checkpoint, restore, fork and undo: try something, and be able to go back.
//!
//! ```sh
//! cargo run --release --example checkpoints
//! ```
//!
//! ```text
//! after the mistake: 0 rows
//! restored: 3 rows
//! fork 1 keeps 1 row, fork 2 keeps 2 rows, the original has 3
//! undone: 3 rows
//! ```

#![allow(clippy::print_stdout, reason = "an example prints to the terminal")]

use dormouse::{Dormouse, PersistentSandbox, Result};

async fn rows(sandbox: &PersistentSandbox) -> Result<i64> {
    let outcome = sandbox.eval("python", "len(rows)").await?;
    Ok(outcome.value().and_then(|value| value.as_i64()).unwrap_or(-1))
}

#[tokio::main]
async fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let state = tempfile::tempdir()?;
    let dormouse = Dormouse::builder()?.state(state.path()).build()?;
    let work = dormouse.sandbox("work").await?;
    work.eval("python", "rows = ['ada', 'grace', 'edsger']").await?;

    // A checkpoint has the variables and the files.
    let before = work.checkpoint().await?;
    work.eval("python", "rows.clear()").await?;
    println!("after the mistake: {} rows", rows(&work).await?);
    work.restore(&before).await?;
    println!("restored: {} rows", rows(&work).await?);

    // Forks start from the current state and share all that neither side changes.
    let forks = work.fork(2).await?;
    forks[0].eval("python", "del rows[1:]").await?;
    forks[1].eval("python", "del rows[2:]").await?;
    let (first, second) = (rows(&forks[0]).await?, rows(&forks[1]).await?);
    println!("fork 1 keeps {first} row, fork 2 keeps {second} rows, the original has {}", rows(&work).await?);

    // The last runs of a sandbox that is in memory can be undone without a checkpoint.
    work.eval("python", "rows.clear()").await?;
    let steps = work.history().await?;
    let mistake = steps.last().ok_or("no step")?;
    work.go_back(mistake).await?;
    println!("undone: {} rows", rows(&work).await?);
    dormouse.sandboxes()?.close().await?;
    Ok(())
}
