//! Sandboxes with a life: checkpoints to memory and to disk, restoring, forks, and waking.

use std::cell::Cell;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context as _, Result};
use dormouse::sandbox::{Include, Machine, SandboxSpec};
use dormouse::sandboxes::Rules;
use dormouse::{Dormouse, EvalRequest, KeptSandbox, Language};
use tempfile::TempDir;

use crate::bench::{Bench, check, milliseconds};
use crate::table::{Goal, Row};
use crate::turns::{Turn, take_turns};

/// Forks that are made of one sandbox, each then called once.
const FORKS: usize = 100;

/// Twenty functions, and data that does not compress.
fn code(bytes: usize) -> String {
    let functions: String = (0..20).map(|n| format!("def f{n}(a): return a + {n}\n")).collect();
    format!("{functions}import os\ndata = os.urandom({bytes})\nlen(data)")
}

/// How large the session is, and what is promised of it.
struct Size {
    name: &'static str,
    bytes: usize,
    memory: f64,
    durable: f64,
}

const SIZES: [Size; 2] = [
    Size { name: "1 MB", bytes: 1 << 20, memory: 3.0, durable: 15.0 },
    Size { name: "10 MB", bytes: 10 << 20, memory: 10.0, durable: 50.0 },
];

pub(crate) fn rows(bench: &Bench) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for size in SIZES.iter().filter(|size| bench.begins(&format!("life-checkpoint-{}", size.bytes >> 20))) {
        rows.extend(checkpoints(bench, size)?);
    }
    if bench.begins("life-fork") {
        rows.push(forks(bench)?);
    }
    Ok(rows)
}

/// An installation of its own, and its state folder.
fn open() -> Result<(Dormouse, TempDir)> {
    let folder = tempfile::tempdir().context("no folder for state")?;
    let mut rules = Rules::default();
    rules.quota.per_owner = 100_000;
    rules.awake = 2 * FORKS;
    let dormouse = Dormouse::builder()?.state(folder.path()).rules(rules).build()?;
    Ok((dormouse, folder))
}

fn on_disk(folder: &Path) -> u64 {
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    files.filter_map(|file| file.metadata().ok()).map(|file| file.len()).sum()
}

async fn awake(dormouse: &Dormouse, bytes: usize) -> Result<Box<dyn Machine>> {
    let mut machine = dormouse.manager().provider().machine(&SandboxSpec::default(), None).await?;
    let outcome = machine.eval(EvalRequest::new(Language::python(), code(bytes))).await?;
    check(&outcome, i64::try_from(bytes)?)?;
    Ok(machine)
}

async fn kept(dormouse: &Dormouse, name: &str, bytes: usize) -> Result<KeptSandbox> {
    let kept = dormouse.sandbox(name).await?;
    check(&kept.eval("python", code(bytes)).await?, i64::try_from(bytes)?)?;
    Ok(kept)
}

fn checkpoints(bench: &Bench, size: &Size) -> Result<Vec<Row>> {
    let (dormouse, folder) = open()?;
    let (stored, number) = (Cell::new(0), Cell::new(0));
    let memory: Turn<'_> = Box::new(|| {
        bench.runtime.block_on(async {
            let mut machine = awake(&dormouse, size.bytes).await?;
            let begin = Instant::now();
            machine.snapshot(Include::Both).await?;
            Ok(vec![milliseconds(begin.elapsed())])
        })
    });
    let restore: Turn<'_> = Box::new(|| {
        bench.runtime.block_on(async {
            let state = awake(&dormouse, size.bytes).await?.snapshot(Include::Both).await?;
            let begin = Instant::now();
            let provider = dormouse.manager().provider();
            let mut machine = provider.machine(&SandboxSpec::default(), Some(state)).await?;
            let outcome = machine.eval(EvalRequest::new(Language::python(), "f1(1)")).await?;
            let ms = milliseconds(begin.elapsed());
            check(&outcome, 2)?;
            Ok(vec![ms])
        })
    });
    let durable: Turn<'_> = Box::new(|| {
        bench.runtime.block_on(async {
            number.set(number.get() + 1);
            let kept = kept(&dormouse, &format!("one {}", number.get()), size.bytes).await?;
            let before = on_disk(folder.path());
            let begin = Instant::now();
            kept.checkpoint().await?;
            let ms = milliseconds(begin.elapsed());
            stored.set(on_disk(folder.path()).saturating_sub(before + size.bytes as u64) >> 10);
            kept.destroy().await?;
            Ok(vec![ms])
        })
    });
    let wake: Turn<'_> = Box::new(|| {
        bench.runtime.block_on(async {
            number.set(number.get() + 1);
            let kept = kept(&dormouse, &format!("two {}", number.get()), size.bytes).await?;
            kept.stop().await?;
            let begin = Instant::now();
            let outcome = kept.eval("python", "f1(1)").await?;
            let ms = milliseconds(begin.elapsed());
            check(&outcome, 2)?;
            kept.destroy().await?;
            Ok(vec![ms])
        })
    });
    let [memory, restore, durable, wake] = take_turns(bench.few(2), [memory, restore, durable, wake]);
    let id = |what: &str| format!("life-checkpoint-{}-{what}", size.bytes >> 20);
    let name = format!("a python sandbox, 20 functions and {}", size.name);
    let mut restored = Row::new(id("restore"), format!("restore from memory and call {name}"), "ms", restore);
    if size.bytes == 1 << 20 {
        restored = restored.goal(Goal::AtMost(1.0));
    }
    Ok(vec![
        Row::new(id("memory"), format!("checkpoint to memory of {name}"), "ms", memory)
            .goal(Goal::AtMost(size.memory)),
        restored,
        Row::new(
            id("durable"),
            format!("durable checkpoint of {name} ({} KiB stored beyond its data)", stored.get()),
            "ms",
            durable,
        )
        .goal(Goal::AtMost(size.durable)),
        Row::new(id("wake"), format!("wake from disk and call {name}"), "ms", wake),
    ])
}

fn forks(bench: &Bench) -> Result<Row> {
    let (dormouse, _folder) = open()?;
    let number = Cell::new(0);
    let fork: Turn<'_> = Box::new(|| {
        bench.runtime.block_on(async {
            number.set(number.get() + 1);
            let origin = kept(&dormouse, &format!("origin {}", number.get()), 100_000).await?;
            let begin = Instant::now();
            let forks = origin.fork(FORKS).await?;
            for fork in &forks {
                check(&fork.eval("python", "f1(1)").await?, 2)?;
            }
            let ms = milliseconds(begin.elapsed());
            for fork in forks {
                fork.destroy().await?;
            }
            Ok(vec![ms])
        })
    });
    let [fork] = take_turns(bench.few(8), [fork]);
    let what = format!("fork a live python sandbox into {FORKS}, each called once");
    Ok(Row::new("life-fork", what, "ms", fork).goal(Goal::AtMost(80.0)))
}
