//! `cargo xtask fuzz`: the targets of `tests/fuzz`, under libFuzzer; and the short run of them that the tests include.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};
use dormouse_chores::outcome::Outcome;
use dormouse_chores::process;
use dormouse_chores::progress::complain;
use dormouse_chores::workspace;

/// What makes the compiler count coverage for libFuzzer, on stable Rust. Without a sanitizer: there is hardly unsafe code to watch.
const FLAGS: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
     -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
     -Cllvm-args=-sanitizer-coverage-trace-compares --cfg fuzzing";
const PACKAGE: &str = "dormouse-tests-fuzz";
const PROGRAM: &str = "dormouse-tests-fuzz-coverage";
/// The one target that needs Wasmtime.
const WITH_WASM: &str = "snapshot";

/// Arguments of `cargo xtask fuzz`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Fuzz these targets, one after the other. Default: all
    targets: Vec<String>,
    /// Minutes for each target
    #[arg(long, default_value_t = 3)]
    minutes: u64,
}

/// Fuzzes until something is found or the time is over.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let all = targets()?;
    for name in &arguments.targets {
        ensure!(all.contains(name), "there is no target `{name}`: the targets are {}", all.join(", "));
    }
    let chosen = if arguments.targets.is_empty() { &all } else { &arguments.targets };
    let program = build(chosen.iter().any(|name| name == WITH_WASM))?;
    let found: Vec<&str> = chosen
        .iter()
        .map(|name| Ok((name.as_str(), fuzz(&program, name, arguments.minutes)?)))
        .filter(|result| !matches!(result, Ok((_, true))))
        .map(|result: Result<(&str, bool)>| result.map(|(name, _)| name))
        .collect::<Result<_>>()?;
    if !found.is_empty() {
        bail!("something was found in {}: docs/fuzzing.md says what to do with it", found.join(", "));
    }
    Ok(())
}

/// The kept inputs of all targets, and changes of them that are the same at every run.
pub(crate) fn short() -> Result<Outcome> {
    process::cargo(&["build", "--release", "--workspace", "--bins"])?;
    let program = process::target().join("release").join(PACKAGE);
    process::counted(Command::new(program).arg("--found").arg(folder().join("found")))
}

/// The names of the targets, each of which has a folder of kept inputs.
fn targets() -> Result<Vec<String>> {
    let kept = fs::read_dir(kept())?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
    let mut names: Vec<String> = kept.collect::<Result<_>>()?;
    names.sort_unstable();
    Ok(names)
}

fn kept() -> PathBuf {
    workspace().join("tests/fuzz/corpus")
}

fn folder() -> PathBuf {
    process::target().join("fuzz")
}

/// Builds everything with coverage, apart from what other builds have made.
fn build(with_wasm: bool) -> Result<PathBuf> {
    let triple = host()?;
    let place = folder().join("build");
    let mut command = process::plain_cargo();
    command.args(["build", "--profile", "fuzz", "-p", PACKAGE, "--bin", PROGRAM, "--features", "coverage"]);
    if !with_wasm {
        command.arg("--no-default-features");
    }
    // With a target named, the flags are not for build scripts, which have nobody to count for.
    command.args(["--target", &triple]).arg("--target-dir").arg(&place).env("RUSTFLAGS", FLAGS);
    ensure!(command.current_dir(workspace()).status()?.success(), "the targets could not be built");
    Ok(place.join(triple).join("fuzz").join(PROGRAM))
}

/// The machine that the compiler compiles for.
fn host() -> Result<String> {
    let said = Command::new("rustc").arg("-vV").output().context("`rustc` does not start")?.stdout;
    let said = String::from_utf8(said)?;
    let host = said.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("`rustc -vV` names no host")?.to_owned())
}

/// Fuzzes one target; whether nothing was found.
fn fuzz(program: &Path, target: &str, minutes: u64) -> Result<bool> {
    let (work, found) = (folder().join("corpus").join(target), folder().join("found").join(target));
    for folder in [&work, &found] {
        fs::create_dir_all(folder)?;
    }
    complain(&format!("== {target}: {minutes} min; new inputs are in {}", work.display()));
    let words = folder().join(format!("{target}.dict"));
    let status = Command::new(program)
        .env("DORMOUSE_FUZZ_TARGET", target)
        .env("DORMOUSE_FUZZ_SEEDS", &work)
        .env("DORMOUSE_FUZZ_WORDS", &words)
        .args([&format!("-max_total_time={}", minutes * 60), "-timeout=20", "-rss_limit_mb=2048"])
        .args(["-max_len=65536", "-print_pcs=0", "-verbosity=1"])
        .arg(format!("-dict={}", words.display()))
        .arg(format!("-artifact_prefix={}/", found.display()))
        .args([&work, &kept().join(target)])
        .current_dir(workspace())
        .status()?;
    Ok(status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_target_has_a_file_and_kept_inputs() {
        let names = targets().unwrap();
        assert!(names.iter().any(|name| name == WITH_WASM));
        for name in names {
            let file = workspace().join(format!("tests/fuzz/src/targets/{name}.rs"));
            assert!(file.is_file(), "{}", file.display());
            assert!(fs::read_dir(kept().join(&name)).unwrap().count() > 0, "{name}");
        }
    }
}
