//! What a suite prints: every unexpected result by name, what was skipped and why, and the counts.

use std::collections::BTreeMap;
use std::io::Write as _;

use anyhow::Result;
use dormouse_chores::arguments::Extent;
use dormouse_chores::outcome::Totals;

use super::expected::{Expected, Verdict};

/// So many causes are printed one by one, the most frequent ones; CPython's tests have some hundreds.
const CAUSES: usize = 40;

/// Collects results of one suite.
#[derive(Default)]
pub(crate) struct Report {
    /// Tests that did what they should.
    pub(crate) passed: u64,
    /// Failed tests with what they said.
    pub(crate) failures: BTreeMap<String, String>,
    skipped: BTreeMap<String, u64>,
    notes: Vec<String>,
}

impl Report {
    /// Says something about the whole run, such as which part of the suite it is.
    pub(crate) fn note(&mut self, line: String) {
        self.notes.push(line);
    }

    /// Counts a test that was not run, under its cause.
    pub(crate) fn skip(&mut self, cause: &str, count: u64) {
        *self.skipped.entry(cause.to_owned()).or_default() += count;
    }

    /// Counts a test that was run.
    pub(crate) fn count(&mut self, name: &str, result: Result<(), String>) {
        match result {
            Ok(()) => self.passed += 1,
            Err(message) => drop(self.failures.insert(name.to_owned(), message)),
        }
    }

    fn print_skipped(&self, out: &mut impl std::io::Write, suite: &str, extent: &Extent) -> Result<()> {
        let mut causes: Vec<_> = self.skipped.iter().collect();
        causes.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        let shown = if extent.all { causes.len() } else { CAUSES.min(causes.len()) };
        for (cause, count) in &causes[..shown] {
            writeln!(out, "{suite}: skipped {count}: {cause}")?;
        }
        let rest = &causes[shown..];
        if let Some((_, most)) = rest.first() {
            let sum: u64 = rest.iter().map(|(_, count)| **count).sum();
            let rest = rest.len();
            writeln!(
                out,
                "{suite}: skipped {sum}: {rest} further causes of at most {most} each; --all names them"
            )?;
        }
        Ok(())
    }

    /// Holds the results to the list, prints what is unexpected, and counts. Expected failures count as skipped.
    pub(crate) fn close(
        self,
        suite: &str,
        expected: &mut Expected,
        extent: &Extent,
        ran: impl Fn(&str) -> bool,
    ) -> Result<Totals> {
        let verdict = expected.judge(ran, &self.failures);
        let mut out = std::io::stdout().lock();
        for line in &self.notes {
            writeln!(out, "{suite}: {line}")?;
        }
        self.print_skipped(&mut out, suite, extent)?;
        if verdict.expected > 0 {
            writeln!(out, "{suite}: {} expected failures ({})", verdict.expected, expected.shown())?;
        }
        if extent.bless {
            expected.bless(&verdict)?;
            writeln!(out, "{suite}: rewrote {}", expected.shown())?;
        }
        print(&mut out, suite, &verdict)?;
        let unexplained = expected.unexplained();
        for reason in &unexplained {
            writeln!(out, "{suite}: no person has explained: {reason}")?;
        }
        let unexpected = verdict.unlisted.len() + verdict.stale.len() + unexplained.len();
        Ok(Totals {
            passed: self.passed,
            failed: unexpected as u64,
            skipped: self.skipped.values().sum::<u64>() + verdict.expected,
        })
    }
}

fn print(out: &mut impl std::io::Write, suite: &str, verdict: &Verdict) -> Result<()> {
    for (name, message) in &verdict.unlisted {
        writeln!(out, "{suite}: FAILED {name}: {message}")?;
    }
    for name in &verdict.stale {
        writeln!(out, "{suite}: PASSED although listed as a failure: {name}")?;
    }
    Ok(())
}
