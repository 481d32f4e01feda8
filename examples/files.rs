//! Files in and out: a folder that is mounted read-only, one that may be written, and standard input.
//!
//! ```sh
//! cargo run --release --example files
//! ```
//!
//! ```text
//! words: 3
//! a write to the read-only folder: PermissionError
//! result.json: {"ada": 3, "grace": 5, "edsger": 6}
//! from standard input: HELLO
//! ```

#![allow(clippy::print_stdout, reason = "an example prints to the terminal")]

use dormouse::{Access, Dormouse, Policy};

const WRITE: &str = r"
import json
words = open('/in/words.txt').read().split()
with open('/out/result.json', 'w') as file:
    json.dump({word: len(word) for word in words}, file)
";

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (input, output) = (tempfile::tempdir()?, tempfile::tempdir()?);
    std::fs::write(input.path().join("words.txt"), "ada grace edsger\n")?;

    // Two decisions are needed before anything is written: the operator's policy, and the mount.
    let policy = Policy { allow_writes: true, ..Policy::default() };
    let dormouse = Dormouse::builder()?.policy(policy).build()?;
    let python = |code: &str| {
        dormouse.snippet("python", code).mount(input.path(), "/in", Access::ReadOnly).mount(
            output.path(),
            "/out",
            Access::ReadWrite,
        )
    };

    let count = python("len(open('/in/words.txt').read().split())").run().await?;
    println!("words: {}", count.value().and_then(|value| value.as_i64()).unwrap_or_default());

    let refused = python("open('/in/words.txt', 'w')").run().await?;
    let class = refused.exception().map(|exception| exception.class.as_str());
    println!("a write to the read-only folder: {}", class.unwrap_or("no exception"));

    python(WRITE).run().await?;
    println!("result.json: {}", std::fs::read_to_string(output.path().join("result.json"))?);

    let upper = python("import sys; sys.stdin.read().upper()").stdin("hello").run().await?;
    println!("from standard input: {}", upper.value().and_then(|value| value.as_str()).unwrap_or_default());
    Ok(())
}
