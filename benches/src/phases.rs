//! `--profile process`: where the time of a whole process goes, from its start to its end.
//!
//! Each sample is a process of its own (`--phases`) that does what `dormouse eval` does and tells when it did it.

use std::fmt::Write as _;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result};
use dormouse::Language;
use dormouse::wasm::{Allocation, Settings, WasmProvider};
use serde::{Deserialize, Serialize};

use crate::bench::{Bench, LANGUAGES};
use crate::launch;
use crate::stats::Summary;
use crate::warm;

/// What a process passes through, in order.
const PHASES: [&str; 6] = [
    "start of the process",
    "provider",
    "engine, linker, mapped artifact",
    "instantiate",
    "first eval",
    "drop and end of the process",
];

/// Moments in microseconds since 1970, the first at the start of `main`.
#[derive(Serialize, Deserialize)]
pub(crate) struct Moments(Vec<f64>);

/// The measured process: on-demand memory, as suits one run.
pub(crate) async fn pass(language: &str) -> Result<Moments> {
    let mut moments = vec![now()];
    let provider = WasmProvider::new(Settings { allocation: Allocation::OnDemand, ..Settings::new()? })?;
    moments.push(now());
    let name = Language::parse(language)?;
    provider.load(&(&name).into()).await?;
    moments.push(now());
    let mut session = provider.session(&name).await?;
    moments.push(now());
    warm::call(&provider, &mut session, language).await?;
    moments.push(now());
    Ok(Moments(moments))
}

/// The profile as text.
pub(crate) fn process(bench: &Bench) -> Result<String> {
    let mut text = String::new();
    for language in LANGUAGES.into_iter().filter(|language| bench.wants(language)) {
        let samples: Result<Vec<Vec<f64>>> = (0..bench.rounds).map(|_| sample(language)).collect();
        match samples {
            Err(error) => writeln!(text, "{language}: {error:#}")?,
            Ok(samples) => {
                writeln!(text, "process, {language}                    p50 us   p90 us")?;
                for (index, name) in PHASES.iter().enumerate() {
                    let phase: Vec<f64> =
                        samples.iter().filter_map(|sample| sample.get(index).copied()).collect();
                    if let Some(us) = Summary::of(&phase) {
                        writeln!(text, "  {name:<34} {:>8.0} {:>8.0}", us.p50, us.p90)?;
                    }
                }
            }
        }
    }
    Ok(text)
}

/// Microseconds of each phase of one process.
fn sample(language: &str) -> Result<Vec<f64>> {
    let mut moments = vec![now()];
    let mut command = launch::command(std::env::current_exe()?);
    let printed = launch::output(command.args(["--phases", language]))?;
    let end = now();
    let inside: Moments = serde_json::from_str(&printed).context("the measured process told no moments")?;
    moments.extend(inside.0);
    moments.push(end);
    Ok(moments.windows(2).map(|pair| pair[1] - pair[0]).collect())
}

fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs_f64() * 1e6
}
