//! Functions of the host that a snippet can call, and output that arrives while it runs.
//!
//! ```sh
//! cargo run --release --example callbacks
//! ```
//!
//! ```text
//! apples 3
//! apricots 5
//! refused: …
//! total: Some(8)
//! ```

#![allow(clippy::print_stdout, reason = "an example prints to the terminal")]

use std::sync::Arc;
use std::time::Duration;

use dormouse::{Dormouse, OutputSink, Stream};
use serde_json::{Value, json};

const CODE: &str = r#"
total = 0
for item in call_tool("stock", prefix="a"):
    print(item["name"], item["count"])
    total += item["count"]
try:
    call_tool("forbidden")
except RuntimeError as error:
    print("refused:", error)
total
"#;

/// Prints what the snippet writes, as it writes it.
struct Console;

impl OutputSink for Console {
    fn write(&self, _: Stream, bytes: &[u8]) {
        print!("{}", String::from_utf8_lossy(bytes));
    }
}

/// What the host knows and the sandbox does not.
async fn stock(arguments: Value) -> Result<Value, String> {
    let prefix = arguments["prefix"].as_str().ok_or("`prefix` must be text")?.to_owned();
    tokio::time::sleep(Duration::from_millis(10)).await;
    let all = [("apples", 3), ("apricots", 5), ("pears", 7)];
    let found = all.iter().filter(|(name, _)| name.starts_with(&prefix));
    Ok(found.map(|(name, count)| json!({ "name": name, "count": count })).collect())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dormouse = Dormouse::new()?;
    let schema = json!({ "type": "object", "properties": { "prefix": { "type": "string" } } });
    let outcome = dormouse
        .snippet("python", CODE)
        .callback("stock", "Items whose name begins with `prefix`.", schema, stock)
        .on_output(Arc::new(Console))
        .run()
        .await?;
    println!("total: {:?}", outcome.value().and_then(|value| value.as_i64()));
    Ok(())
}
