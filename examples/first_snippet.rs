//! One snippet in each language, each in a fresh sandbox, and what its value looks like to the host.
//!
//! ```sh
//! cargo run --release --example first_snippet
//! ```
//!
//! ```text
//! python: {"type":"float","value":2.8}
//! javascript: {"type":"int","value":14}
//! typescript: {"type":"int","value":42}
//! php: {"type":"string","value":"DORMOUSE"}
//! an exception: ZeroDivisionError: division by zero, line 2
//! ```

#![allow(clippy::print_stdout, reason = "an example prints to the terminal")]

use dormouse::Dormouse;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dormouse = Dormouse::new()?;
    for (language, code) in [
        ("python", "import statistics; statistics.mean([3, 1, 4, 1, 5])"),
        ("javascript", "[1, 2, 3].map(n => n ** 2).reduce((a, b) => a + b)"),
        ("typescript", "const twice = (n: number): number => n * 2; twice(21)"),
        ("php", "strtoupper('dormouse')"),
    ] {
        let outcome = dormouse.snippet(language, code).run().await?;
        // A value carries its type. `as_i64`, `as_str` and the like read the simple ones.
        println!("{language}: {}", serde_json::to_string(&outcome.value())?);
    }
    let outcome = dormouse.snippet("python", "x = 0\n1 / x").run().await?;
    if let Some(raised) = outcome.exception() {
        let line = raised.line.unwrap_or_default();
        println!("an exception: {}: {}, line {line}", raised.class, raised.message);
    }
    Ok(())
}
