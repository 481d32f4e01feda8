//! Runs the kept inputs of the targets, then changes of them that follow from a seed: the same at every run.

#![allow(clippy::print_stderr, clippy::print_stdout, reason = "a program that tells what it finds")]

use std::any::Any;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use clap::Parser;
use dormouse_tests_fuzz::mutate::{Random, mutated};
use dormouse_tests_fuzz::{TARGETS, Target, corpus, target};

/// Stack of the thread that runs the inputs, in bytes: as much as a worker of the server has.
const STACK: usize = 2 << 20;
/// Longest that one input may take, in debug builds on a busy machine too.
const SLOWEST: Duration = Duration::from_secs(10);
/// Findings of a target that are shown and kept; all are counted.
const SHOWN: usize = 5;

/// Fuzz targets, without feedback from coverage.
#[derive(Parser)]
struct Arguments {
    /// Run these targets. Default: all
    targets: Vec<String>,
    /// Changed inputs of each target
    #[arg(long, default_value_t = 3_000)]
    inputs: usize,
    /// What the changes follow from
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Run these files instead of the kept inputs, and change nothing
    #[arg(long)]
    file: Vec<PathBuf>,
    /// Write each input to this file before it is run, so that one that ends the process can be found
    #[arg(long)]
    trace: Option<PathBuf>,
    /// Write inputs that fail into this folder
    #[arg(long, default_value = "target/fuzz/found")]
    found: PathBuf,
}

fn main() -> Result<ExitCode> {
    let arguments = Arguments::parse();
    let thread = std::thread::Builder::new().stack_size(STACK).spawn(move || run(&arguments))?;
    thread.join().map_err(|panic| anyhow::anyhow!("{}", words(panic.as_ref())))?
}

fn run(arguments: &Arguments) -> Result<ExitCode> {
    let (mut passed, mut failed) = (0_u64, 0_u64);
    for target in chosen(&arguments.targets)? {
        let begin = Instant::now();
        let mut tried = Tried { target, arguments, count: 0, failed: 0, slowest: Duration::ZERO };
        tried.all()?;
        let Tried { count, failed: bad, slowest, .. } = tried;
        eprintln!(
            "{}: {count} inputs, {:.1} s, the slowest {slowest:.1?}",
            target.name,
            begin.elapsed().as_secs_f32()
        );
        (passed, failed) = (passed + u64::from(bad == 0), failed + u64::from(bad > 0));
    }
    println!("{passed} passed, {failed} failed, 0 skipped");
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn chosen(names: &[String]) -> Result<Vec<&'static Target>> {
    if names.is_empty() {
        return Ok(TARGETS.iter().collect());
    }
    let known = || TARGETS.iter().map(|target| target.name).collect::<Vec<_>>().join(", ");
    names.iter().map(|name| target(name).with_context(|| format!("the targets are {}", known()))).collect()
}

/// A target that is being tried.
struct Tried<'a> {
    target: &'static Target,
    arguments: &'a Arguments,
    count: usize,
    failed: usize,
    slowest: Duration,
}

impl Tried<'_> {
    fn all(&mut self) -> Result<()> {
        if !self.arguments.file.is_empty() {
            for path in &self.arguments.file {
                let input = fs::read(path).with_context(|| path.display().to_string())?;
                self.one(&path.display().to_string(), &input)?;
            }
            return Ok(());
        }
        let kept =
            corpus::inputs(self.target).with_context(|| format!("the corpus of {}", self.target.name))?;
        if kept.is_empty() {
            bail!("{} has no corpus", self.target.name);
        }
        for (name, input) in &kept {
            self.one(name, input)?;
        }
        let kept: Vec<Vec<u8>> = kept.into_iter().map(|(_, input)| input).collect();
        let mut random = Random::new(self.arguments.seed);
        for number in 0..self.arguments.inputs {
            let input = mutated(&mut random, &kept, self.target.words, self.target.longest);
            self.one(&format!("seed-{}-{number}", self.arguments.seed), &input)?;
        }
        Ok(())
    }

    fn one(&mut self, name: &str, input: &[u8]) -> Result<()> {
        if let Some(trace) = &self.arguments.trace {
            fs::write(trace, input)?;
        }
        self.count += 1;
        let begin = Instant::now();
        let done = catch_unwind(AssertUnwindSafe(|| self.target.check(input)));
        let time = begin.elapsed();
        self.slowest = self.slowest.max(time);
        let why = match done {
            Ok(()) if time <= SLOWEST => return Ok(()),
            Ok(()) => format!("it took {time:.1?}"),
            Err(panic) => words(panic.as_ref()),
        };
        self.failed += 1;
        if self.failed > SHOWN {
            return Ok(());
        }
        let folder = self.arguments.found.join(self.target.name);
        fs::create_dir_all(&folder)?;
        let path = folder.join(name.replace(['/', ' '], "-"));
        fs::write(&path, input)?;
        eprintln!("{}: {why}\n  the input is {}", self.target.name, path.display());
        Ok(())
    }
}

/// What a panic says.
fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic").to_owned()
}
