//! A thousand sandboxes at once: the runtime starts as many as it has run slots, and the others wait their turn.
//!
//! ```sh
//! cargo run --release --example crowd
//! ```
//!
//! ```text
//! 1000 runs, 1000 with their own answer, in … ms
//! ```

#![allow(clippy::print_stdout, reason = "an example prints to the terminal")]

use std::time::Instant;

use dormouse::{Dormouse, Policy};
use tokio::task::JoinSet;

const RUNS: i64 = 1_000;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // What waits beyond `max_waiting` is refused with `busy`, so that a burst cannot take all memory.
    let policy = Policy { max_running: 16, max_waiting: 1_000, ..Policy::default() };
    let dormouse = Dormouse::builder()?.policy(policy).ready(16).build()?;
    let start = Instant::now();
    let mut runs = JoinSet::new();
    for number in 0..RUNS {
        let dormouse = dormouse.clone();
        runs.spawn(async move {
            // Each of them sees the variable as nobody else has set it.
            let code = format!("assert 'mine' not in globals()\nmine = {number}\nmine * mine");
            let outcome = dormouse.snippet("python", code).run().await?;
            let value = outcome.value().and_then(|value| value.as_i64());
            Ok::<_, dormouse::Error>(value == Some(number * number))
        });
    }
    let (mut ended, mut right) = (0, 0);
    while let Some(run) = runs.join_next().await {
        ended += 1;
        right += i32::from(run??);
    }
    println!("{ended} runs, {right} with their own answer, in {} ms", start.elapsed().as_millis());
    Ok(())
}
