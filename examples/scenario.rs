//! A scenario from Rust: turns that call tools in a fresh sandbox for each repetition, gates that must hold at the end, and a
//! report. `dormouse scenario run FILE` does the same from the command line.
//!
//! ```sh
//! cargo run --release --example scenario -- examples/scenario/double.yaml
//! ```
//!
//! ```text
//! repair, repetition 1: passed
//! repair, repetition 2: passed
//! double: passed
//! ```

#![allow(clippy::print_stdout, reason = "an example prints to the terminal")]

use std::path::PathBuf;
use std::sync::Arc;

use dormouse::Dormouse;
use dormouse_scenario::{Event, Observer, Options, Plan};
use dormouse_sources::{MakeSurface, Registry, WasmSource};
use dormouse_tools::Surface;

/// Hears of everything that happens in a run; here of the end of each repetition.
struct Lines;

impl Observer for Lines {
    fn event(&self, event: Event<'_>) {
        if let Event::RepetitionFinished { scenario, repetition, status } = event {
            println!("{scenario}, repetition {repetition}: {}", status.as_str());
        }
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file =
        std::env::args_os().nth(1).map_or_else(|| "examples/scenario/double.yaml".into(), PathBuf::from);
    let plan = Plan::load(&[file])?;

    let state = tempfile::tempdir()?;
    let dormouse = Dormouse::builder()?.state(state.path()).build()?;
    let sandboxes = dormouse.sandboxes()?.clone();
    let runtime = dormouse.runtime().clone();
    let surface: Arc<MakeSurface> = Arc::new(move || Surface::new(runtime.clone()));

    // The source `wasm` of the file; a registry can have sources of your own beside it.
    let mut registry = Registry::default();
    registry.register("wasm", Arc::new(WasmSource::new(sandboxes, surface)));

    let options = Options { observer: Arc::new(Lines), ..Options::default() };
    let report = dormouse_scenario::run(&plan, &registry, &options).await?;
    println!("{}: {}", report.name, report.status.as_str());
    dormouse.sandboxes()?.close().await?;
    Ok(())
}
