//! The Rust code that docs/getting-started/rust.md shows: compiled and run here; `blocks` checks that the page shows the same.

#![allow(clippy::print_stdout, reason = "the page prints what a run came to")]

use std::error::Error;
use std::time::Duration;

use dormouse::{Access, Dormouse, Status};
use dormouse_tests::sandbox::wait;

async fn evaluate() -> Result<(), Box<dyn Error>> {
    let dormouse = Dormouse::new()?;
    let outcome = dormouse.snippet("python", "sum(range(10))").run().await?;
    assert_eq!(outcome.value().and_then(|value| value.as_i64()), Some(45));
    Ok(())
}

async fn limit(folder: &std::path::Path) -> Result<(), Box<dyn Error>> {
    let dormouse = Dormouse::new()?;
    let outcome = dormouse
        .snippet("python", "open('/data/names.txt').read().split()")
        .mount(folder, "/data", Access::ReadOnly)
        .timeout(Duration::from_millis(500))
        .memory(64 << 20)
        .run()
        .await?;
    match &outcome.status {
        Status::Returned(value) => println!("{value:?}"),
        Status::Raised(exception) => println!("{}: {}", exception.class, exception.message),
        Status::Exited(code) => println!("it called exit({code})"),
        Status::Stopped(error) => println!("{}: {error}", error.code()),
    }
    assert!(outcome.is_ok());
    Ok(())
}

async fn keep(folder: &std::path::Path) -> Result<(), Box<dyn Error>> {
    let dormouse = Dormouse::builder()?.state(folder).build()?;
    let work = dormouse.sandbox("work").await?;
    work.eval("python", "prices = {'tea': 3}").await?;
    let before = work.checkpoint().await?;
    work.eval("python", "prices.clear()").await?;
    work.restore(&before).await?;
    let outcome = work.eval("python", "prices['tea'] * 2").await?;
    assert_eq!(outcome.value().and_then(|value| value.as_i64()), Some(6));
    dormouse.sandboxes()?.close().await?;
    Ok(())
}

#[test]
fn the_rust_code_of_the_book_runs() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("names.txt"), "ada grace").unwrap();
    wait(evaluate()).unwrap();
    wait(limit(folder.path())).unwrap();
    wait(keep(&folder.path().join("state"))).unwrap();
}
