//! Calls on an instance that is kept: `1+1` once more.

use std::time::Instant;

use anyhow::Result;
use dormouse::wasm::{Session, Settings, WasmProvider};
use dormouse::{EvalRequest, Language};

use crate::bench::{Bench, LANGUAGES, SUM, check, milliseconds, with_peer};
use crate::peers::Peer;
use crate::table::{Goal, Row};
use crate::turns::{Turn, take_turns};

/// Calls in one turn.
const BURST: usize = 20;

pub(crate) fn rows(bench: &Bench) -> Result<Vec<Row>> {
    let wanted = LANGUAGES.into_iter().filter(|language| bench.begins(&format!("warm-{language}")));
    wanted.map(|language| warm(bench, language)).collect()
}

fn warm(bench: &Bench, language: &'static str) -> Result<Row> {
    let (peer, goal, peer_name) = match language {
        "python" => (Peer::Pyeryx, Goal::AtMost(0.1), "pyeryx Session"),
        "php" => (Peer::Php, Goal::AtMost(0.1), "native php, one process"),
        _ => (Peer::Quickjs, Goal::AtMost(0.03), "quickjs-emscripten, kept context"),
    };
    let provider = WasmProvider::new(Settings::new()?)?;
    let mut kept = None;
    let ours: Turn<'_> = Box::new(|| {
        bench.runtime.block_on(async {
            if kept.is_none() {
                kept = Some(provider.session(&Language::parse(language)?).await?);
            }
            let Some(session) = &mut kept else { return Ok(Vec::new()) };
            let mut samples = Vec::with_capacity(BURST);
            for _ in 0..BURST {
                samples.push(call(&provider, session, language).await?);
            }
            Ok(samples)
        })
    });
    let theirs = with_peer(bench.peers.start(peer), |peer| peer.warm(SUM, BURST));
    let [ours, peer] = take_turns(bench.rounds, [ours, theirs]);
    let what = format!("warm {language} call on a kept instance");
    Ok(Row::new(format!("warm-{language}"), what, "ms", ours).peer(peer_name, peer).goal(goal))
}

/// Milliseconds of one more call.
pub(crate) async fn call(provider: &WasmProvider, session: &mut Session, language: &str) -> Result<f64> {
    let request = EvalRequest::new(Language::parse(language)?, SUM);
    let begin = Instant::now();
    let outcome = provider.continue_session(session, &request).await?;
    let ms = milliseconds(begin.elapsed());
    check(&outcome, 2)?;
    Ok(ms)
}
