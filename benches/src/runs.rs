//! Programs that outlive their call: what it costs until one waits and is saved with its journal, how soon another process goes on
//! with it, and what many that wait take.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use dormouse::sandbox::{Handle, Owner, Run, RunLimits, RunState};
use dormouse::{Dormouse, EvalRequest, Language, Sandboxes};

use crate::bench::{Bench, milliseconds};
use crate::table::{Goal, Row};
use crate::turns::{Turn, take_turns};

/// Programs that wait at one time.
const MANY: u32 = 1_000;
/// A program that waits for a day, and one that waits for a moment longer than it takes to be put to sleep.
const DAY: &str = "import asyncio\nx = list(range(10))\nawait asyncio.sleep(86400)";
/// How long a run may take to come to a state.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) fn rows(bench: &Bench) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    if bench.begins("runs-saved") {
        let ours: Turn<'_> = Box::new(|| Ok(vec![saved(bench)?]));
        let [ours] = take_turns(bench.few(4), [ours]);
        let what = "a program in Python, from its start to where it waits, saved with its journal";
        rows.push(Row::new("runs-saved", what, "ms", ours).goal(Goal::AtMost(5.0)));
    }
    if bench.begins("runs-taken-over") {
        let ours: Turn<'_> = Box::new(|| Ok(vec![taken_over(bench)?]));
        let [ours] = take_turns(bench.few(4), [ours]);
        let what = "such a program, by another installation: from its taking over to its end";
        rows.push(Row::new("runs-taken-over", what, "ms", ours).goal(Goal::AtMost(5.0)));
    }
    if bench.begins("runs-disk") {
        let ours: Turn<'_> = Box::new(|| Ok(vec![disk(bench)?]));
        let [ours] = take_turns(bench.few(1), [ours]);
        let what = format!(
            "disk of one of {MANY} programs in Python that wait, none of them in memory, the database's log put back"
        );
        rows.push(Row::new("runs-disk", what, "KiB", ours).goal(Goal::AtMost(10.0)));
    }
    Ok(rows)
}

fn open(folder: &Path) -> Result<Dormouse> {
    Ok(Dormouse::builder()?.state(folder).build()?)
}

async fn start(dormouse: &Dormouse, name: &str, code: &str) -> Result<Run> {
    let kept = dormouse.sandbox(name).await?;
    let request = EvalRequest::new(Language::parse("python")?, code);
    let handle = Handle::IdOrName(kept.id().as_str());
    Ok(dormouse.sandboxes()?.start_run(&Owner::local(), &handle, request, RunLimits::default()).await?)
}

async fn until(sandboxes: &Sandboxes, run: &Run, wanted: impl Fn(&Run) -> bool) -> Result<()> {
    let begun = Instant::now();
    loop {
        let now = sandboxes.run(&Owner::local(), run.id.as_str())?;
        if wanted(&now) {
            return Ok(());
        }
        ensure!(begun.elapsed() < PATIENCE, "{now:?}");
        tokio::time::sleep(Duration::from_micros(100)).await;
    }
}

fn saved(bench: &Bench) -> Result<f64> {
    let folder = tempfile::tempdir()?;
    let dormouse = open(folder.path())?;
    bench.runtime.block_on(async {
        let sandboxes = dormouse.sandboxes()?;
        // The guest is read, and the sandbox there.
        dormouse.sandbox("box").await?.eval("python", "1").await?;
        let begun = Instant::now();
        let run = start(&dormouse, "box", DAY).await?;
        until(sandboxes, &run, |run| run.state == RunState::Waiting).await?;
        let took = milliseconds(begun.elapsed());
        sandboxes.cancel_run(&Owner::local(), run.id.as_str(), "measured").await?;
        Ok(took)
    })
}

fn taken_over(bench: &Bench) -> Result<f64> {
    let folder = tempfile::tempdir()?;
    let run = {
        let first = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let dormouse = open(folder.path())?;
        let run = first.block_on(async {
            let run = start(
                &dormouse,
                "box",
                "import asyncio\nawait asyncio.sleep(0.3)\nawait asyncio.sleep(1.2)\n1",
            )
            .await?;
            until(dormouse.sandboxes()?, &run, |run| run.usage.waits >= 1).await?;
            anyhow::Ok(run)
        })?;
        // As after `kill -9`.
        first.shutdown_timeout(Duration::from_secs(5));
        run
    };
    std::thread::sleep(Duration::from_millis(1_600));
    let dormouse = open(folder.path())?;
    bench.runtime.block_on(async {
        let sandboxes = dormouse.sandboxes()?;
        // Whoever goes on has read the guest.
        dormouse.snippet("python", "1").run().await?;
        let run = sandboxes.run(&Owner::local(), run.id.as_str())?;
        let begun = Instant::now();
        sandboxes.take_over_run(&run)?;
        until(sandboxes, &run, |run| !run.state.is_open() || run.usage.waits >= 2).await?;
        let took = milliseconds(begun.elapsed());
        until(sandboxes, &run, |run| !run.state.is_open()).await?;
        Ok(took)
    })
}

/// KiB for each of them.
fn disk(bench: &Bench) -> Result<f64> {
    let folder = tempfile::tempdir()?;
    let rules = dormouse::sandboxes::Rules::default();
    let quota = dormouse::sandbox::Quota { per_owner: MANY + 8, ..rules.quota };
    let rules = dormouse::sandboxes::Rules { quota, runs: MANY + 8, ..rules };
    let dormouse = Dormouse::builder()?.state(folder.path()).rules(rules).build()?;
    let before = bench.runtime.block_on(async {
        let sandboxes = dormouse.sandboxes()?;
        let first = start(&dormouse, "first", DAY).await?;
        until(sandboxes, &first, |run| run.state == RunState::Waiting).await?;
        let before = bytes(folder.path())?;
        let mut runs = Vec::new();
        for at in 0..MANY {
            runs.push(start(&dormouse, &format!("box-{at}"), DAY).await?);
        }
        for run in &runs {
            until(sandboxes, run, |run| run.state == RunState::Waiting).await?;
        }
        let begun = Instant::now();
        while in_memory(sandboxes, &runs)? > 0 {
            ensure!(begun.elapsed() < PATIENCE, "{} of them stay in memory", in_memory(sandboxes, &runs)?);
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        sandboxes.stop_runs().await;
        sandboxes.close().await?;
        anyhow::Ok(before)
    })?;
    // Whoever closes the database last puts its log back.
    drop(dormouse);
    let used = bytes(folder.path())?.saturating_sub(before);
    Ok(used as f64 / 1024.0 / f64::from(MANY))
}

/// Bytes of all files of a folder; locks come and go meanwhile.
fn bytes(folder: &Path) -> Result<u64> {
    let mut sum = 0;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let Ok(about) = entry.metadata() else { continue };
        sum += if about.is_dir() { bytes(&entry.path())? } else { about.len() };
    }
    Ok(sum)
}

/// How many of their sandboxes have an interpreter in memory.
fn in_memory(sandboxes: &Sandboxes, runs: &[Run]) -> Result<usize> {
    let mut awake = 0;
    for run in runs {
        let view = sandboxes.get(&Owner::local(), &Handle::IdOrName(run.sandbox.as_str()))?;
        awake += usize::from(!view.awake.is_empty());
    }
    Ok(awake)
}
