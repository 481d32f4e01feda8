//! What an idle, kept instance holds: private dirty memory after one evaluation.
//!
//! Measured in a process of its own, whose pool has not served anything else.

use std::fs;

use anyhow::{Context as _, Result, anyhow};
use dormouse::Language;
use dormouse::wasm::{Settings, WasmProvider};

use crate::bench::{Bench, LANGUAGES, SUM, with_peer};
use crate::peers::Peer;
use crate::table::{Goal, Row};
use crate::turns::{Turn, take_turns};
use crate::{launch, warm};

/// Instances kept at one time.
const KEPT: usize = 100;
/// Sessions that the peer keeps.
const PEER_KEPT: usize = 20;
/// The promise, in KiB.
const GOAL: f64 = 614.4;

pub(crate) fn rows(bench: &Bench) -> Result<Vec<Row>> {
    let wanted = LANGUAGES.into_iter().filter(|language| bench.begins(&format!("idle-{language}")));
    Ok(wanted.map(|language| idle(bench, language)).collect())
}

fn idle(bench: &Bench, language: &'static str) -> Row {
    let ours: Turn<'_> = Box::new(|| {
        let own = std::env::current_exe()?;
        let printed = launch::output(launch::command(own).args(["--idle", language]))?;
        Ok(vec![printed.parse().context("the measuring process printed no number")?])
    });
    let what = format!("idle {language} instance after one eval, private dirty, mean of {KEPT}");
    if language != "python" {
        let [ours] = take_turns(3, [ours]);
        return Row::new(format!("idle-{language}"), what, "KiB", ours);
    }
    let peer = with_peer(bench.peers.start(Peer::Pyeryx), |peer| Ok(vec![peer.idle(SUM, PEER_KEPT)?]));
    let [ours, peer] = take_turns(3, [ours, peer]);
    let row = Row::new(format!("idle-{language}"), what, "KiB", ours);
    row.peer(format!("pyeryx Session, mean of {PEER_KEPT}"), peer).goal(Goal::AtMost(GOAL))
}

/// The measuring process: KiB that each of [`KEPT`] instances holds.
pub(crate) async fn measure(language: &str) -> Result<f64> {
    let provider = WasmProvider::new(Settings::new()?)?;
    let language = Language::parse(language)?;
    let mut kept = Vec::with_capacity(KEPT + 1);
    let mut before = 0.0;
    for number in 0..=KEPT {
        let mut session = provider.session(&language).await?;
        warm::call(&provider, &mut session, language.as_str()).await?;
        kept.push(session);
        // What the first one brings with it (engine, guest, linker) is there once, however many follow.
        if number == 0 {
            before = private_dirty()?;
        }
    }
    let held = (private_dirty()? - before) / KEPT as f64;
    drop(kept);
    Ok(held)
}

/// Private dirty memory of this process, in KiB.
pub(crate) fn private_dirty() -> Result<f64> {
    let rollup = fs::read_to_string("/proc/self/smaps_rollup").context("this system has no smaps_rollup")?;
    let line = rollup.lines().find_map(|line| line.strip_prefix("Private_Dirty:"));
    let number =
        line.and_then(|rest| rest.split_whitespace().next()).ok_or_else(|| anyhow!("no Private_Dirty"))?;
    Ok(number.parse()?)
}
