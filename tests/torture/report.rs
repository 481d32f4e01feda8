//! What a run counted and found.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::history::Broken;

/// So many findings of one kind are shown; all are counted.
const SHOWN: usize = 5;

/// Counts and findings, from all threads.
#[derive(Default)]
pub(crate) struct Report(Mutex<Counts>);

/// What was counted.
#[derive(Default)]
pub(crate) struct Counts {
    /// Calls that were answered, by tool.
    operations: BTreeMap<&'static str, u64>,
    hostile: u64,
    looked: u64,
    refused: u64,
    unsaved: u64,
    told_losses: u64,
    /// What befell the server.
    events: BTreeMap<&'static str, u64>,
    broken: BTreeMap<Broken, (u64, Vec<String>)>,
    over: Duration,
    slowest_start: Duration,
}

impl Report {
    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A call of a tool was answered.
    pub(crate) fn operation(&self, tool: &'static str) {
        *self.counts().operations.entry(tool).or_default() += 1;
    }

    /// Code that misbehaves was run.
    pub(crate) fn hostile(&self) {
        self.counts().hostile += 1;
    }

    /// A sandbox was held to what was answered.
    pub(crate) fn looked(&self) {
        self.counts().looked += 1;
    }

    /// A call was refused for a reason that the round knows.
    pub(crate) fn refused(&self) {
        self.counts().refused += 1;
    }

    /// An answer said that it could not be saved.
    pub(crate) fn unsaved(&self) {
        self.counts().unsaved += 1;
    }

    /// An answer said that memory was lost, while the disk could not be written.
    pub(crate) fn told_losses(&self) {
        self.counts().told_losses += 1;
    }

    /// So much longer than its limit a call took.
    pub(crate) fn over(&self, time: Duration) {
        let mut counts = self.counts();
        counts.over = counts.over.max(time);
    }

    /// A server was started.
    pub(crate) fn started(&self, took: Duration) {
        let mut counts = self.counts();
        counts.slowest_start = counts.slowest_start.max(took);
        *counts.events.entry("starts").or_default() += 1;
    }

    /// Something befell the server.
    pub(crate) fn event(&self, what: &'static str) {
        *self.counts().events.entry(what).or_default() += 1;
    }

    /// How often.
    pub(crate) fn events(&self, what: &str) -> u64 {
        self.counts().events.get(what).copied().unwrap_or_default()
    }

    /// A promise was broken.
    pub(crate) fn broken(&self, broken: Broken, told: &str) {
        let mut counts = self.counts();
        let (count, shown) = counts.broken.entry(broken).or_default();
        *count += 1;
        if shown.len() < SHOWN {
            eprintln!("torture: {broken:?}: {told}");
            shown.push(told.to_owned());
        }
    }

    /// How many promises were broken.
    pub(crate) fn findings(&self) -> u64 {
        self.counts().broken.values().map(|(count, _)| count).sum()
    }

    /// How far it is, in a line.
    pub(crate) fn progress(&self) -> String {
        let counts = self.counts();
        let operations: u64 = counts.operations.values().sum();
        let kills = counts.events.get("kills").copied().unwrap_or_default();
        let findings: u64 = counts.broken.values().map(|(count, _)| count).sum();
        format!("{operations} operations, {kills} kills, {findings} findings")
    }

    /// The whole report; its last line has the counts that `cargo xtask test` sums up, a promise each.
    pub(crate) fn shown(&self, skipped: &[String]) -> String {
        let counts = self.counts();
        let listed = |of: &BTreeMap<&'static str, u64>| {
            of.iter().map(|(what, count)| format!("{what} {count}")).collect::<Vec<_>>().join(", ")
        };
        let operations: u64 = counts.operations.values().sum();
        let all = [
            Broken::Lost,
            Broken::Twice,
            Broken::Order,
            Broken::Foreign,
            Broken::Torn,
            Broken::Late,
            Broken::Refused,
            Broken::Leaked,
        ];
        let count = |broken| counts.broken.get(broken).map_or(0, |(count, _)| *count);
        let findings: Vec<String> = all
            .iter()
            .map(|broken| format!("{} {}", format!("{broken:?}").to_lowercase(), count(broken)))
            .collect();
        let failed = all.iter().filter(|broken| count(broken) > 0).count();
        let mut text = format!("operations: {operations} ({})\n", listed(&counts.operations));
        text += &format!("what befell the server: {}\n", listed(&counts.events));
        text += &format!(
            "hostile runs {}, sandboxes looked at after a restart {}, refused with reason {}, answered as unsaved {}, memory told as lost {}\n",
            counts.hostile, counts.looked, counts.refused, counts.unsaved, counts.told_losses
        );
        text += &format!(
            "longest past a limit {} ms, slowest start {} ms\n",
            counts.over.as_millis(),
            counts.slowest_start.as_millis()
        );
        for cause in skipped {
            text += &format!("skipped: {cause}\n");
        }
        text += &format!("found: {}\n", findings.join(", "));
        text + &format!("{} passed, {failed} failed, {} skipped", all.len() - failed, skipped.len())
    }
}
