//! What all runs of one owner may take in a day, counted by this process.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::sandbox::{Owner, RunBudget, RunUsage};

/// How long what was taken counts.
const DAY: Duration = Duration::from_secs(24 * 3_600);
/// Owners that are told apart; the others are one.
const OWNERS: usize = 1_000;

/// What owners' runs have taken since their day began.
#[derive(Default)]
pub(super) struct Owners(Mutex<BTreeMap<String, Day>>);

/// One owner's day: it begins with the first run.
struct Day {
    /// By uptime.
    began: Duration,
    usage: RunUsage,
}

impl Owners {
    /// Counts what a run has taken between two looks at its usage.
    pub(super) fn add(&self, owner: &Owner, (before, after): (&RunUsage, &RunUsage), uptime: Duration) {
        let mut days = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = days.contains_key(owner.as_str()) || days.len() < OWNERS;
        let day = days
            .entry(if known { owner.as_str().to_owned() } else { String::new() })
            .and_modify(|day| {
                if day.is_over(uptime) {
                    *day = Day::beginning(uptime);
                }
            })
            .or_insert_with(|| Day::beginning(uptime));
        let usage = &mut day.usage;
        usage.calls = usage.calls.saturating_add(after.calls.saturating_sub(before.calls));
        usage.bytes = usage.bytes.saturating_add(after.bytes.saturating_sub(before.bytes));
        usage.running = usage.running.saturating_add(after.running.saturating_sub(before.running));
        let tokens = after.model.tokens().saturating_sub(before.model.tokens());
        usage.model.input_tokens = usage.model.input_tokens.saturating_add(tokens);
    }

    /// What an owner's runs have used up, if anything, with the limit.
    pub(super) fn used_up(&self, owner: &Owner, budget: &RunBudget, uptime: Duration) -> Option<String> {
        let days = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let day = days.get(owner.as_str()).or_else(|| days.get(""))?;
        if day.is_over(uptime) {
            return None;
        }
        let (usage, tokens) = (&day.usage, day.usage.model.tokens());
        let told = if usage.calls >= budget.calls {
            format!("{} calls of tools", budget.calls)
        } else if usage.bytes >= budget.bytes {
            format!("{} bytes of calls of tools", budget.bytes)
        } else if usage.running >= budget.running {
            format!("{} s of computing", budget.running.as_secs())
        } else if tokens >= budget.tokens {
            format!("{} tokens of the model", budget.tokens)
        } else {
            return None;
        };
        Some(told)
    }
}

impl Owners {
    /// How long an owner's runs may compute still.
    pub(super) fn time_left(&self, owner: &Owner, budget: &RunBudget, uptime: Duration) -> Duration {
        let days = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let day = days.get(owner.as_str()).or_else(|| days.get("")).filter(|day| !day.is_over(uptime));
        budget.running.saturating_sub(day.map_or(Duration::ZERO, |day| day.usage.running))
    }
}

impl Day {
    fn beginning(uptime: Duration) -> Self {
        Self { began: uptime, usage: RunUsage::default() }
    }

    fn is_over(&self, uptime: Duration) -> bool {
        uptime.saturating_sub(self.began) >= DAY
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owners_runs_share_a_day_and_each_owner_has_one() {
        let (owners, budget) = (Owners::default(), RunBudget { calls: 10, ..RunBudget::default() });
        let (one, two) = (Owner::parse("one").unwrap(), Owner::parse("two").unwrap());
        let calls = |calls| RunUsage { calls, ..RunUsage::default() };
        let at = Duration::from_secs(5);
        owners.add(&one, (&calls(0), &calls(6)), at);
        assert_eq!(owners.used_up(&one, &budget, at), None);
        owners.add(&one, (&calls(2), &calls(6)), at);
        assert_eq!(owners.used_up(&one, &budget, at).as_deref(), Some("10 calls of tools"));
        assert_eq!(owners.used_up(&two, &budget, at), None);
        assert_eq!(owners.used_up(&one, &budget, at + DAY), None);
        owners.add(&one, (&calls(0), &calls(9)), at + DAY);
        assert_eq!(owners.used_up(&one, &budget, at + DAY), None, "a day begins anew");
        for (budget, told) in [
            (RunBudget { bytes: 0, ..budget.clone() }, "0 bytes of calls of tools"),
            (RunBudget { running: Duration::ZERO, ..budget.clone() }, "0 s of computing"),
            (RunBudget { tokens: 0, ..budget }, "0 tokens of the model"),
        ] {
            assert_eq!(owners.used_up(&one, &budget, at + DAY).as_deref(), Some(told));
        }
    }
}
