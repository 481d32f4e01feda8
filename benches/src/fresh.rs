//! Fresh sandboxes: instance, evaluation of `1+1`, drop. With and without a ready-queue, and how many a second.

use std::time::{Duration, Instant};

use anyhow::Result;
use dormouse::Dormouse;

use crate::bench::{Bench, FUEL, SUM, snippet, sum, with_peer};
use crate::driver::{self, Driver};
use crate::peers::Peer;
use crate::table::{Goal, Row};
use crate::turns::{Turn, take_turns};

/// Runs in one turn: the first of them finds the caches full of the other side's data, the others their own.
const BURST: usize = 10;
/// Unused instances kept by the rows with a ready-queue.
const READY: usize = 8;
/// Time between two runs at a moderate rate.
const PAUSE: Duration = Duration::from_millis(3);
/// Runs in one turn at a moderate rate.
const PACED: usize = 50;
/// Length of one turn of a throughput row.
const SLICE: Duration = Duration::from_millis(1_000);
/// Cores that throughput is measured on: so many tasks of ours, so many processes of the peer.
const CORES: usize = 2;

/// A language, its peer, and its goals.
struct Case {
    language: &'static str,
    peer: Peer,
    fresh: &'static [Goal],
    ready: &'static [Goal],
    throughput: &'static [Goal],
}

const CASES: [Case; 3] = [
    Case {
        language: "python",
        peer: Peer::Pyeryx,
        fresh: &[Goal::OneIn(10.0), Goal::Moonshot(0.15)],
        ready: &[Goal::AtMost(0.2)],
        throughput: &[Goal::Times(10.0)],
    },
    Case {
        language: "javascript",
        peer: Peer::Quickjs,
        fresh: &[Goal::OneIn(3.0)],
        ready: &[],
        throughput: &[],
    },
    Case { language: "php", peer: Peer::Php, fresh: &[Goal::AtMost(0.3)], ready: &[], throughput: &[] },
];

/// TypeScript of 100 lines: its name, the snippet, and what it comes to.
const TYPED: [(&str, &str, i64); 2] = [
    ("types only", include_str!("../snippets/inventory.ts"), 53),
    (
        "with an enum, a namespace and a parameter property",
        include_str!("../snippets/inventory_compiled.ts"),
        53,
    ),
];

pub(crate) fn rows(bench: &Bench) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for case in &CASES {
        let goals = |row: Row, goals: &[Goal]| goals.iter().fold(row, |row, goal| row.goal(*goal));
        let language = case.language;
        if bench.begins(&format!("fresh-{language}")) {
            rows.push(goals(fresh(bench, case)?, case.fresh));
        }
        if bench.begins(&format!("ready-{language}")) {
            let [with, without] = ready(bench, case)?;
            rows.extend([goals(with, case.ready), without]);
        }
        if bench.begins(&format!("throughput-{language}")) {
            rows.push(goals(throughput(bench, case)?, case.throughput));
        }
    }
    for (number, (what, code, value)) in TYPED.into_iter().enumerate() {
        let id = format!("fresh-typescript-{}", number + 1);
        if bench.begins(&id) {
            rows.push(typed(bench, id, what, code, value)?);
        }
    }
    Ok(rows)
}

/// TypeScript is two calls, of two guests.
fn typed(bench: &Bench, id: String, what: &str, code: &'static str, value: i64) -> Result<Row> {
    let dormouse = bench.dormouse(0)?;
    let ours = |fuel: Option<u64>| -> Turn<'_> {
        let dormouse = &dormouse;
        Box::new(move || {
            (0..BURST).map(|_| bench.sum(snippet(dormouse, "typescript", code, fuel), value)).collect()
        })
    };
    let [ours, fuel] = take_turns(bench.rounds, [ours(None), ours(Some(FUEL))]);
    let what = format!("fresh typescript, a snippet of 100 lines, {what}");
    Ok(Row::new(id, what, "ms", ours).fuel(fuel).goal(Goal::AtMost(3.0)))
}

fn fresh(bench: &Bench, case: &Case) -> Result<Row> {
    let dormouse = bench.dormouse(0)?;
    let ours = |fuel: Option<u64>| -> Turn<'_> {
        let dormouse = &dormouse;
        Box::new(move || {
            (0..BURST).map(|_| bench.sum(snippet(dormouse, case.language, SUM, fuel), 2)).collect()
        })
    };
    let peer = with_peer(bench.peers.start(case.peer), |peer| peer.fresh(SUM, BURST));
    let [ours, peer, fuel] = take_turns(bench.rounds, [ours(None), peer, ours(Some(FUEL))]);
    let what = format!("fresh {} `{SUM}`: instance, eval, drop", case.language);
    Ok(Row::new(format!("fresh-{}", case.language), what, "ms", ours).fuel(fuel).peer(case.peer.name(), peer))
}

/// One run every [`PAUSE`], as a server's task would, with a queue that fills up in between, and without one.
fn ready(bench: &Bench, case: &Case) -> Result<[Row; 2]> {
    let (with, without) = (bench.dormouse(READY)?, bench.dormouse(0)?);
    let ours = |dormouse: &Dormouse| -> Turn<'_> {
        let dormouse = dormouse.clone();
        Box::new(move || {
            let paced = paced(dormouse.clone(), case.language);
            bench.runtime.block_on(async { bench.runtime.spawn(paced).await? })
        })
    };
    let theirs = with_peer(bench.peers.start(case.peer), |peer| {
        let mut samples = Vec::with_capacity(PACED);
        for _ in 0..PACED {
            std::thread::sleep(PAUSE);
            samples.extend(peer.fresh(SUM, 1)?);
        }
        Ok(samples)
    });
    let [with, peer, without] = take_turns(bench.few(4), [ours(&with), theirs, ours(&without)]);
    let row = |id: &str, queue: &str, measured| {
        let what = format!("fresh {} `{SUM}`, one every {} ms, {queue}", case.language, PAUSE.as_millis());
        Row::new(format!("{id}-{}", case.language), what, "ms", measured).peer(case.peer.name(), peer.clone())
    };
    Ok([row("ready", &format!("ready-queue of {READY}"), with), row("ready-none", "no ready-queue", without)])
}

async fn paced(dormouse: Dormouse, language: &'static str) -> Result<Vec<f64>> {
    let mut clock = tokio::time::interval(PAUSE);
    let mut samples = Vec::with_capacity(PACED);
    for _ in 0..PACED {
        clock.tick().await;
        samples.push(sum(snippet(&dormouse, language, SUM, None), 2).await?);
    }
    Ok(samples)
}

fn throughput(bench: &Bench, case: &Case) -> Result<Row> {
    let dormouse = bench.dormouse(0)?;
    let ours = |fuel: Option<u64>| -> Turn<'_> {
        let dormouse = &dormouse;
        Box::new(move || {
            bench.runtime.block_on(rate(bench, dormouse, case.language, fuel)).map(|rate| vec![rate])
        })
    };
    let peers: Result<Vec<Driver>> = (0..CORES).map(|_| bench.peers.start(case.peer)).collect();
    let mut peers = peers.map_err(|why| format!("{why:#}"));
    let theirs: Turn<'_> = Box::new(move || match &mut peers {
        Ok(drivers) => Ok(vec![driver::throughput(drivers, SUM, SLICE.as_secs_f64())?]),
        Err(why) => anyhow::bail!("{why}"),
    });
    let [ours, peer, fuel] = take_turns(bench.few(8), [ours(None), theirs, ours(Some(FUEL))]);
    let what = format!("fresh {} a second, {CORES} at a time", case.language);
    let row = Row::new(format!("throughput-{}", case.language), what, "1/s", ours);
    Ok(row.fuel(fuel).peer(format!("{}, {CORES} processes", case.peer.name()), peer))
}

/// Runs a second of [`CORES`] tasks together.
async fn rate(bench: &Bench, dormouse: &Dormouse, language: &'static str, fuel: Option<u64>) -> Result<f64> {
    let begin = Instant::now();
    let tasks: Vec<_> = (0..CORES)
        .map(|_| {
            let dormouse = dormouse.clone();
            bench.runtime.spawn(async move {
                let mut count = 0u32;
                while begin.elapsed() < SLICE {
                    sum(snippet(&dormouse, language, SUM, fuel), 2).await?;
                    count += 1;
                }
                anyhow::Ok(f64::from(count))
            })
        })
        .collect();
    let mut count = 0.0;
    for task in tasks {
        count += task.await??;
    }
    Ok(count / begin.elapsed().as_secs_f64())
}
