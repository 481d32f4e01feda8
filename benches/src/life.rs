//! Sandboxes with a life: checkpoints to memory and to disk, restoring and waking, beside a snapshot by pickling.

use std::cell::Cell;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context as _, Result};
use dormouse::sandbox::{Include, Machine, SandboxSpec};
use dormouse::sandboxes::Rules;
use dormouse::{Dormouse, EvalRequest, Language, PersistentSandbox};
use tempfile::TempDir;

use crate::bench::{Bench, check, milliseconds, with_peer};
use crate::peers::Peer;
use crate::table::{Goal, Row};
use crate::turns::{Turn, take_turns};

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
    if bench.begins("life-open-files") {
        rows.push(open_files(bench)?);
    }
    Ok(rows)
}

/// What open files add to saving: a log, a database in the middle of a transaction, and others.
const OPEN: &str = "import sqlite3
files = [open(f'/workspace/f{n}', 'a') for n in range(9)]
for file in files: file.write('line')
db = sqlite3.connect('/workspace/a.db', isolation_level=None)
db.execute('create table t (n)'); db.execute('begin'); db.execute('insert into t values (1)')
1";

/// The same files, closed.
const CLOSED: &str = "for file in files: file.close()
db.execute('commit'); db.close()
1";

fn open_files(bench: &Bench) -> Result<Row> {
    let (dormouse, _folder) = open()?;
    let number = Cell::new(0);
    let turn = |codes: &'static [&'static str]| -> Turn<'_> {
        let (dormouse, number) = (&dormouse, &number);
        Box::new(move || {
            bench.runtime.block_on(async {
                number.set(number.get() + 1);
                let kept = kept(dormouse, &format!("open {}", number.get()), 1 << 20).await?;
                for code in codes {
                    check(&kept.eval("python", *code).await?, 1)?;
                }
                let begin = Instant::now();
                kept.checkpoint().await?;
                let ms = milliseconds(begin.elapsed());
                kept.destroy().await?;
                Ok(vec![ms])
            })
        })
    };
    let [open, closed] = take_turns(bench.few(2), [turn(&[OPEN]), turn(&[OPEN, CLOSED])]);
    let what = "durable checkpoint of a python sandbox with nine files and a transaction open";
    Ok(Row::new("life-open-files", what, "ms", open).peer("the same, closed", closed).goal(Goal::Share(1.2)))
}

/// An installation of its own, and its state folder.
pub(crate) fn open() -> Result<(Dormouse, TempDir)> {
    let folder = tempfile::tempdir().context("no folder for state")?;
    let dormouse = at(folder.path())?;
    Ok((dormouse, folder))
}

/// An installation with this state folder.
pub(crate) fn at(folder: &Path) -> Result<Dormouse> {
    let mut rules = Rules { awake: 200, ..Rules::default() };
    rules.quota.per_owner = 100_000;
    Ok(Dormouse::builder()?.state(folder).rules(rules).build()?)
}

/// Bytes in a state folder that no process has open.
pub(crate) fn on_disk(folder: &Path) -> u64 {
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    files.filter_map(|file| file.metadata().ok()).map(|file| file.len()).sum()
}

/// KiB that a checkpoint stores beyond the session's data.
fn stored(bench: &Bench, bytes: usize) -> Result<u64> {
    let (dormouse, folder) = open()?;
    drop(dormouse);
    let before = on_disk(folder.path());
    bench.runtime.block_on(async {
        let dormouse = at(folder.path())?;
        kept(&dormouse, "stored", bytes).await?.checkpoint().await?;
        anyhow::Ok(dormouse.sandboxes()?.close().await?)
    })?;
    Ok(on_disk(folder.path()).saturating_sub(before + bytes as u64) >> 10)
}

async fn awake(dormouse: &Dormouse, bytes: usize) -> Result<Box<dyn Machine>> {
    let mut machine = dormouse.runtime().provider().machine(&SandboxSpec::default(), None).await?;
    let outcome = machine.eval(EvalRequest::new(Language::python(), code(bytes))).await?;
    check(&outcome, i64::try_from(bytes)?)?;
    Ok(machine)
}

/// A sandbox with functions and data.
pub(crate) async fn kept(dormouse: &Dormouse, name: &str, bytes: usize) -> Result<PersistentSandbox> {
    let kept = dormouse.sandbox(name).await?;
    check(&kept.eval("python", code(bytes)).await?, i64::try_from(bytes)?)?;
    Ok(kept)
}

fn checkpoints(bench: &Bench, size: &Size) -> Result<Vec<Row>> {
    let (dormouse, _folder) = open()?;
    let number = Cell::new(0);
    let beyond = stored(bench, size.bytes)?;
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
            let provider = dormouse.runtime().provider();
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
            let begin = Instant::now();
            kept.checkpoint().await?;
            let ms = milliseconds(begin.elapsed());
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
    let pickled = code(size.bytes);
    let saved = with_peer(bench.peers.start(Peer::Pyeryx), move |peer| peer.snapshot(&pickled));
    let again = code(size.bytes);
    let loaded = with_peer(bench.peers.start(Peer::Pyeryx), move |peer| {
        peer.snapshot(&again)?;
        peer.restore("f1(1)")
    });
    let sides = [memory, saved, restore, loaded, durable, wake];
    let [memory, saved, restore, loaded, durable, wake] = take_turns(bench.few(2), sides);
    let id = |what: &str| format!("life-checkpoint-{}-{what}", size.bytes >> 20);
    let name = format!("a python sandbox, 20 functions and {}", size.name);
    let mut restored = Row::new(id("restore"), format!("restore from memory and call {name}"), "ms", restore)
        .peer("pyeryx restore_state", loaded);
    if size.bytes == 1 << 20 {
        restored = restored.goal(Goal::AtMost(1.0));
    }
    Ok(vec![
        Row::new(id("memory"), format!("checkpoint to memory of {name}"), "ms", memory)
            .peer("pyeryx snapshot_state", saved)
            .goal(Goal::AtMost(size.memory)),
        restored,
        Row::new(
            id("durable"),
            format!("durable checkpoint of {name} ({} KiB stored beyond its data)", beyond),
            "ms",
            durable,
        )
        .goal(Goal::AtMost(size.durable)),
        Row::new(id("wake"), format!("wake from disk and call {name}"), "ms", wake),
    ])
}
