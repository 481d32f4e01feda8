//! Counts what a model is used for, and ends it where the budget ends.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::{Completion, Model, Prompt};
use crate::{Error, ErrorCode, Result};

/// Bytes that count as one token where a model does not tell how many there were.
const BYTES_PER_TOKEN: u64 = 4;

/// What one call of a tool may spend on a model. The operator's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelBudget {
    /// Calls of the model. Default 100.
    pub calls: u32,
    /// Tokens of all prompts and answers together. Default 1 000 000. A call whose prompt alone might exceed what is left
    /// is refused; an answer is asked to be no longer than what is left.
    pub tokens: u64,
    /// Tokens of one answer. Default 4 096.
    pub answer_tokens: u32,
    /// Bytes of one prompt. Default 512 KiB.
    pub prompt_bytes: usize,
    /// Bytes of one answer. Default 64 KiB.
    pub answer_bytes: usize,
    /// Time of one call, retries included. Default 60 s.
    pub call_time: Duration,
    /// Time in which there is at least one call under way, all together. Default 10 minutes.
    pub time: Duration,
}

impl Default for ModelBudget {
    fn default() -> Self {
        Self {
            calls: 100,
            tokens: 1_000_000,
            answer_tokens: 4_096,
            prompt_bytes: 512 << 10,
            answer_bytes: 64 << 10,
            call_time: Duration::from_secs(60),
            time: Duration::from_secs(600),
        }
    }
}

/// What has been used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelUsage {
    /// Calls that were begun.
    pub calls: u64,
    /// Those of them that brought no answer.
    pub failed_calls: u64,
    /// Tokens of the prompts that were answered.
    pub input_tokens: u64,
    /// Tokens of the answers.
    pub output_tokens: u64,
}

impl ModelUsage {
    /// All tokens.
    pub fn tokens(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }
}

/// What each owner has used since the process began. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct ModelTotals(Arc<Mutex<BTreeMap<String, ModelUsage>>>);

impl ModelTotals {
    /// Owners that are told apart (1 000); the others are one.
    const OWNERS: usize = 1_000;

    /// What an owner has used.
    pub fn of(&self, owner: &str) -> ModelUsage {
        lock(&self.0).get(owner).copied().unwrap_or_default()
    }

    fn add(&self, owner: &str, change: impl FnOnce(&mut ModelUsage)) {
        let mut totals = lock(&self.0);
        let known = totals.contains_key(owner) || totals.len() < Self::OWNERS;
        change(totals.entry(if known { owner.to_owned() } else { "other".into() }).or_default());
    }
}

/// A model for the time of one call of a tool: whatever asks it then shares one budget. Clones share it too.
#[derive(Clone)]
pub struct MeteredModel {
    model: Arc<dyn Model>,
    budget: Arc<ModelBudget>,
    owner: Arc<str>,
    totals: ModelTotals,
    spent: Arc<Mutex<Spent>>,
}

#[derive(Default)]
struct Spent {
    usage: ModelUsage,
    /// Tokens that calls under way may come to.
    reserved: u64,
    /// Calls under way, and since when there is at least one.
    under_way: u32,
    since: Option<Instant>,
    /// The time of earlier ones.
    time: Duration,
}

impl MeteredModel {
    /// A model that may be used within a budget by a call of `owner`.
    pub fn new(model: Arc<dyn Model>, budget: ModelBudget, owner: &str, totals: ModelTotals) -> Self {
        let (budget, spent) = (Arc::new(budget), Arc::default());
        Self { model, budget, owner: owner.into(), totals, spent }
    }

    /// The same with fewer calls, none of which has been made.
    #[must_use]
    pub fn limited_to(&self, calls: u32) -> Self {
        let budget = ModelBudget { calls: self.budget.calls.min(calls), ..(*self.budget).clone() };
        Self { budget: Arc::new(budget), spent: Arc::default(), ..self.clone() }
    }

    /// The same, of which this has been spent already.
    #[must_use]
    pub fn having_spent(&self, usage: ModelUsage) -> Self {
        let spent = Spent { usage, ..Spent::default() };
        Self { spent: Arc::new(Mutex::new(spent)), ..self.clone() }
    }

    /// What it may spend.
    pub fn budget(&self) -> &ModelBudget {
        &self.budget
    }

    /// What it has spent.
    pub fn usage(&self) -> ModelUsage {
        lock(&self.spent).usage
    }

    /// One answer. Dropping the future cancels the call, which counts all the same.
    ///
    /// # Errors
    /// `too_large` for the prompt; `budget_exhausted`; `model_unavailable` also when the time of a call is over; and those
    /// of [`Model::complete`].
    pub async fn complete(&self, mut prompt: Prompt) -> Result<Completion> {
        let size = prompt.bytes();
        if size > self.budget.prompt_bytes {
            let message =
                format!("the prompt has {size} bytes, at most {} are taken", self.budget.prompt_bytes);
            return Err(Error::new(ErrorCode::TooLarge, message)
                .with_hint("ask about parts of the text, one call each"));
        }
        let mut call = self.begin(&mut prompt)?;
        let left = call.left.min(self.budget.call_time);
        let answered = self.model.complete(&prompt, self.budget.answer_bytes);
        let answer = match tokio::time::timeout(left, answered).await {
            Ok(answer) => answer?,
            Err(_) => return Err(late(left)),
        };
        if answer.text.len() > self.budget.answer_bytes {
            return Err(long_answer(self.budget.answer_bytes));
        }
        let (input, output) = answer.tokens.unwrap_or((estimate(size), estimate(answer.text.len())));
        call.answered = Some((input, output));
        Ok(answer)
    }

    /// Takes a call out of the budget.
    fn begin(&self, prompt: &mut Prompt) -> Result<UnderWay<'_>> {
        let budget = &self.budget;
        let mut spent = lock(&self.spent);
        if spent.usage.calls >= u64::from(budget.calls) {
            return Err(exhausted(format!("the {} calls of the model are used up", budget.calls)));
        }
        let time = spent.time + spent.since.map_or(Duration::ZERO, |since| since.elapsed());
        if time >= budget.time {
            let seconds = budget.time.as_secs();
            return Err(exhausted(format!("the {seconds} s for calls of the model are used up")));
        }
        let asked = estimate(prompt.bytes());
        let used = spent.usage.tokens().saturating_add(spent.reserved);
        let left = budget.tokens.saturating_sub(used.saturating_add(asked));
        if left == 0 {
            return Err(exhausted(format!("the {} tokens for the model are used up", budget.tokens)));
        }
        let wanted = match prompt.max_tokens {
            0 => budget.answer_tokens,
            wanted => wanted.min(budget.answer_tokens),
        };
        prompt.max_tokens = wanted.min(u32::try_from(left).unwrap_or(u32::MAX));
        let reserved = asked.saturating_add(prompt.max_tokens.into());
        spent.usage.calls += 1;
        spent.reserved = spent.reserved.saturating_add(reserved);
        spent.under_way += 1;
        spent.since.get_or_insert_with(Instant::now);
        drop(spent);
        self.totals.add(&self.owner, |usage| usage.calls += 1);
        Ok(UnderWay { meter: self, reserved, left: budget.time.saturating_sub(time), answered: None })
    }
}

/// One call under way. Its end, however it comes, is booked when it is dropped.
struct UnderWay<'a> {
    meter: &'a MeteredModel,
    reserved: u64,
    left: Duration,
    /// Tokens of the prompt and the answer, if there is one.
    answered: Option<(u64, u64)>,
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        let answered = self.answered;
        let book = |usage: &mut ModelUsage| match answered {
            Some((input, output)) => {
                usage.input_tokens = usage.input_tokens.saturating_add(input);
                usage.output_tokens = usage.output_tokens.saturating_add(output);
            }
            None => usage.failed_calls += 1,
        };
        let mut spent = lock(&self.meter.spent);
        book(&mut spent.usage);
        spent.reserved = spent.reserved.saturating_sub(self.reserved);
        spent.under_way = spent.under_way.saturating_sub(1);
        if spent.under_way == 0
            && let Some(since) = spent.since.take()
        {
            spent.time += since.elapsed();
        }
        drop(spent);
        self.meter.totals.add(&self.meter.owner, book);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn estimate(bytes: usize) -> u64 {
    (bytes as u64).div_ceil(BYTES_PER_TOKEN)
}

fn exhausted(message: String) -> Error {
    Error::new(ErrorCode::BudgetExhausted, message)
        .with_hint("ask less, or split the work into several calls; the operator can raise the budget")
}

fn late(time: Duration) -> Error {
    let message = format!("the model did not answer within {:.1} s", time.as_secs_f64());
    Error::new(ErrorCode::ModelUnavailable, message).with_hint("try again, or ask for a shorter answer")
}

/// The error for an answer that is longer than may be.
fn long_answer(most: usize) -> Error {
    Error::new(ErrorCode::TooLarge, format!("the model's answer has more than {most} bytes"))
        .with_hint("ask for a shorter answer")
}

#[cfg(test)]
#[path = "meter_tests.rs"]
mod tests;
