//! Sandboxes by the hundred: forks, what each holds in memory, what a sleeping one holds on disk, and a whole process that wakes one.

use std::cell::Cell;
use std::time::Instant;

use anyhow::{Result, ensure};
use dormouse::Dormouse;

use crate::bench::{Bench, check, milliseconds};
use crate::launch;
use crate::life::{at, kept, on_disk, open};
use crate::memory::private_dirty;
use crate::table::{Goal, Row};
use crate::turns::{Turn, take_turns};

/// Forks that are made of one sandbox, each then called once.
const FORKS: usize = 100;
/// Sandboxes that sleep in one folder.
const PARKED: usize = 1_000;
/// Bytes of data in a sandbox that is forked.
const DATA: usize = 100_000;

/// Measures one row.
type Measure = fn(&Bench) -> Result<Row>;

pub(crate) fn rows(bench: &Bench) -> Result<Vec<Row>> {
    let groups: [(&str, Measure); 4] = [
        ("life-fork-100", forks),
        ("life-fork-memory", held),
        ("life-process", process),
        ("life-parked", parked),
    ];
    groups.into_iter().filter(|(id, _)| bench.begins(id)).map(|(_, row)| row(bench)).collect()
}

fn forks(bench: &Bench) -> Result<Row> {
    let (dormouse, _folder) = open()?;
    let number = Cell::new(0);
    let fork: Turn<'_> = Box::new(|| {
        bench.runtime.block_on(async {
            number.set(number.get() + 1);
            let origin = kept(&dormouse, &format!("origin {}", number.get()), DATA).await?;
            let begin = Instant::now();
            let forks = origin.fork(FORKS).await?;
            for fork in &forks {
                check(&fork.eval("python", "f1(1)").await?, 2)?;
            }
            let ms = milliseconds(begin.elapsed());
            for fork in forks {
                fork.destroy().await?;
            }
            origin.destroy().await?;
            Ok(vec![ms])
        })
    });
    let [fork] = take_turns(bench.few(8), [fork]);
    let what = format!("fork a live python sandbox into {FORKS}, each called once");
    Ok(Row::new("life-fork-100", what, "ms", fork).goal(Goal::AtMost(80.0)))
}

fn held(_: &Bench) -> Result<Row> {
    let ours: Turn<'_> = Box::new(|| {
        let own = std::env::current_exe()?;
        Ok(vec![launch::output(launch::command(own).arg("--forked"))?.parse()?])
    });
    let [ours] = take_turns(3, [ours]);
    let what = format!("awake fork of a python sandbox after one call, private dirty, mean of {FORKS}");
    Ok(Row::new("life-fork-memory", what, "KiB", ours).goal(Goal::AtMost(819.2)))
}

/// The measuring process: KiB that each of [`FORKS`] forks holds.
pub(crate) async fn measure() -> Result<f64> {
    let (dormouse, _folder) = open()?;
    let origin = kept(&dormouse, "origin", DATA).await?;
    let first = origin.fork(1).await?;
    check(&first[0].eval("python", "f1(1)").await?, 2)?;
    let before = private_dirty()?;
    let forks = origin.fork(FORKS).await?;
    for fork in &forks {
        check(&fork.eval("python", "f1(1)").await?, 2)?;
    }
    Ok((private_dirty()? - before) / FORKS as f64)
}

fn process(bench: &Bench) -> Result<Row> {
    let (dormouse, folder) = open()?;
    bench.runtime.block_on(async {
        dormouse.sandbox("work").await?.eval("python", "x = 41").await?;
        anyhow::Ok(dormouse.sandboxes()?.close().await?)
    })?;
    drop(dormouse);
    let state = folder.path();
    let ours: Turn<'_> = Box::new(|| {
        let mut command = launch::command(launch::dormouse()?);
        command.args(["sandbox", "--state-dir"]).arg(state).args(["eval", "work", "x + 1"]);
        Ok(vec![launch::timed(&mut command, "42")?])
    });
    let fresh: Turn<'_> = Box::new(|| {
        let mut command = launch::command(launch::dormouse()?);
        Ok(vec![launch::timed(command.args(["eval", "41 + 1"]), "42")?])
    });
    let [ours, fresh] = take_turns(bench.rounds, [ours, fresh]);
    let what = "whole process `dormouse sandbox eval NAME 'x + 1'`, woken and saved";
    Ok(Row::new("life-process", what, "ms", ours).peer("dormouse eval", fresh).goal(Goal::Share(1.5)))
}

fn parked(bench: &Bench) -> Result<Row> {
    let turn: Turn<'_> = Box::new(|| bench.runtime.block_on(park()).map(|kib| vec![kib]));
    let [disk] = take_turns(1, [turn]);
    let what = format!("a sleeping python sandbox with one variable, on disk, mean of {PARKED}");
    Ok(Row::new("life-parked", what, "KiB", disk).goal(Goal::AtMost(200.0)))
}

/// KiB of disk that each of [`PARKED`] sleeping sandboxes adds to a folder; one in fifty is woken again and has its variable.
async fn park() -> Result<f64> {
    let (dormouse, folder) = open()?;
    drop(dormouse);
    let empty = on_disk(folder.path());
    let dormouse = at(folder.path())?;
    for number in 0..PARKED {
        let kept = dormouse.sandbox(&format!("parked {number}")).await?;
        ensure!(kept.eval("python", format!("x = {number}")).await?.is_ok(), "it did not run");
        kept.stop().await?;
    }
    dormouse.sandboxes()?.close().await?;
    drop::<Dormouse>(dormouse);
    let kib = (on_disk(folder.path()) - empty) as f64 / 1024.0 / PARKED as f64;
    let dormouse = at(folder.path())?;
    for number in (0..PARKED).step_by(50) {
        let kept = dormouse.sandbox(&format!("parked {number}")).await?;
        check(&kept.eval("python", "x").await?, i64::try_from(number)?)?;
    }
    dormouse.sandboxes()?.close().await?;
    Ok(kib)
}
