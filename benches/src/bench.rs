//! What every group of rows works with: the async runtime, the peers, how many rounds, which rows.

use std::io::Write as _;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, bail, ensure};
use dormouse::{Dormouse, Outcome, Snippet, Status};
use tokio::runtime::Runtime;

use crate::driver::Driver;
use crate::peers::Peers;
use crate::turns::Turn;

/// A budget that nothing here uses up: fuel is counted, and never ends a run.
pub(crate) const FUEL: u64 = 100_000_000_000_000;
/// The snippet of the rows that measure everything but the snippet.
pub(crate) const SUM: &str = "1+1";

/// The languages that are measured.
pub(crate) const LANGUAGES: [&str; 3] = ["python", "javascript", "php"];

pub(crate) struct Bench {
    pub(crate) rounds: usize,
    pub(crate) peers: Peers,
    /// Whether our packages are measured, too: they have to be made and installed first.
    pub(crate) packages: bool,
    pub(crate) runtime: Runtime,
    pub(crate) only: Option<String>,
}

impl Bench {
    /// Whether a row is to be measured.
    pub(crate) fn wants(&self, id: &str) -> bool {
        self.only.as_ref().is_none_or(|word| id.contains(word.as_str()))
    }

    /// As [`Bench::wants`]; a row that is wanted is announced.
    pub(crate) fn begins(&self, id: &str) -> bool {
        let wanted = self.wants(id);
        if wanted {
            let _ = writeln!(std::io::stderr(), "measuring {id}");
        }
        wanted
    }

    /// Says that something is not measured, and why.
    pub(crate) fn leave_out(&self, what: &str, why: &str) {
        let _ = writeln!(std::io::stderr(), "{what} are left out: {why}");
    }

    /// Fewer rounds, for what takes long.
    pub(crate) fn few(&self, parts: usize) -> usize {
        (self.rounds / parts).max(self.rounds.min(5))
    }

    /// Our runtime, with that many unused instances kept ready.
    pub(crate) fn dormouse(&self, ready: usize) -> Result<Dormouse> {
        Ok(Dormouse::builder()?.ready(ready).build()?)
    }

    /// Milliseconds from the call to its outcome; the instance is gone by then. The outcome must be `expected`.
    pub(crate) fn sum(&self, snippet: Snippet, expected: i64) -> Result<f64> {
        self.runtime.block_on(sum(snippet, expected))
    }

    /// Milliseconds of a run, and what it printed.
    pub(crate) fn printed(&self, snippet: Snippet) -> Result<(f64, String)> {
        let begin = Instant::now();
        let outcome = self.runtime.block_on(snippet.run())?;
        let ms = milliseconds(begin.elapsed());
        ensure!(outcome.is_ok(), "{}", ending(&outcome));
        Ok((ms, outcome.stdout.text.trim().to_owned()))
    }
}

/// A run of `code`, with fuel counted or not.
pub(crate) fn snippet(dormouse: &Dormouse, language: &str, code: &str, fuel: Option<u64>) -> Snippet {
    let snippet = dormouse.snippet(language, code);
    match fuel {
        Some(fuel) => snippet.fuel(fuel),
        None => snippet,
    }
}

/// As [`Bench::sum`], for callers that are async themselves.
pub(crate) async fn sum(snippet: Snippet, expected: i64) -> Result<f64> {
    let begin = Instant::now();
    let outcome = snippet.run().await?;
    let ms = milliseconds(begin.elapsed());
    check(&outcome, expected)?;
    Ok(ms)
}

/// A run whose value is not `expected` measures something else.
pub(crate) fn check(outcome: &Outcome, expected: i64) -> Result<()> {
    match outcome.value().and_then(|value| value.as_i64()) {
        Some(value) if value == expected => Ok(()),
        _ => bail!("{}", ending(outcome)),
    }
}

/// How a run ended that should have ended otherwise.
pub(crate) fn ending(outcome: &Outcome) -> String {
    match &outcome.status {
        Status::Returned(_) => "it returned another value".into(),
        Status::Raised(exception) => format!("it raised {}: {}", exception.class, exception.message),
        Status::Exited(code) => format!("it exited with {code}"),
        Status::Stopped(error) => error.to_string(),
    }
}

pub(crate) fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

/// A peer's turn; without the peer, the reason why it is missing.
pub(crate) fn with_peer<'a>(
    peer: Result<Driver>,
    mut turn: impl FnMut(&mut Driver) -> Result<Vec<f64>> + 'a,
) -> Turn<'a> {
    let mut peer = peer.map_err(|why| format!("{why:#}"));
    Box::new(move || match &mut peer {
        Ok(driver) => turn(driver),
        Err(why) => Err(anyhow!("{why}")),
    })
}
