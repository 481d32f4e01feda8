//! `--profile fresh`: where the time of a fresh run goes, step by step, with the page faults of each step.
//!
//! Page faults are those of this thread alone (`/proc/thread-self/stat`), read outside the timed part.

use std::fmt::Write as _;
use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::time::Instant;

use anyhow::{Context as _, Result};
use dormouse::wasm::{Settings, WasmProvider};
use dormouse::{EvalRequest, Language};

use crate::bench::{Bench, LANGUAGES, SUM};
use crate::stats::Summary;

/// Steps of one fresh run, in order.
const STEPS: [&str; 5] = ["instantiate", "first eval", "second eval", "third eval", "drop"];

/// Microseconds and page faults of one step.
#[derive(Default)]
struct Step {
    us: Vec<f64>,
    faults: Vec<f64>,
}

/// This thread's minor page faults so far.
struct Faults(File);

impl Faults {
    fn open() -> Result<Self> {
        Ok(Self(File::open("/proc/thread-self/stat").context("this system tells no page faults")?))
    }

    fn count(&self) -> Result<f64> {
        let mut bytes = [0u8; 1024];
        let read = self.0.read_at(&mut bytes, 0)?;
        let text = String::from_utf8_lossy(&bytes[..read]);
        // After the name in parentheses: state, ppid, pgrp, session, tty, tpgid, flags, minflt.
        let field = text.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(7));
        field.and_then(|field| field.parse().ok()).context("this system tells no page faults")
    }
}

/// The profile as text.
pub(crate) fn fresh(bench: &Bench) -> Result<String> {
    let mut text = String::new();
    for language in LANGUAGES.into_iter().filter(|language| bench.wants(language)) {
        match bench.runtime.block_on(steps(language, bench.rounds * 5)) {
            Err(error) => writeln!(text, "{language}: {error:#}")?,
            Ok(steps) => {
                writeln!(text, "fresh {language} `{SUM}`        p50 us   p90 us  minor faults (p50)")?;
                for (name, step) in STEPS.iter().zip(&steps) {
                    if let (Some(us), Some(faults)) = (Summary::of(&step.us), Summary::of(&step.faults)) {
                        writeln!(text, "  {name:<24} {:>8.1} {:>8.1}  {:>8}", us.p50, us.p90, faults.p50)?;
                    }
                }
            }
        }
    }
    Ok(text)
}

async fn steps(language: &str, rounds: usize) -> Result<[Step; 5]> {
    let provider = WasmProvider::new(Settings::new()?)?;
    let language = Language::parse(language)?;
    let request = EvalRequest::new(language.clone(), SUM);
    let faults = Faults::open()?;
    let mut steps: [Step; 5] = Default::default();
    for round in 0..=rounds {
        let mut marks = Vec::with_capacity(steps.len());
        let mut mark = |begin: Instant, before: f64| -> Result<()> {
            let us = begin.elapsed().as_secs_f64() * 1e6;
            marks.push((us, faults.count()? - before));
            Ok(())
        };
        let (before, begin) = (faults.count()?, Instant::now());
        let mut session = provider.session(&language).await?;
        mark(begin, before)?;
        for _ in 0..3 {
            let (before, begin) = (faults.count()?, Instant::now());
            let outcome = provider.continue_session(&mut session, &request).await?;
            mark(begin, before)?;
            crate::bench::check(&outcome, 2)?;
        }
        let (before, begin) = (faults.count()?, Instant::now());
        drop(session);
        mark(begin, before)?;
        if round > 0 {
            for (step, (us, faults)) in steps.iter_mut().zip(marks) {
                step.us.push(us);
                step.faults.push(faults);
            }
        }
    }
    Ok(steps)
}
