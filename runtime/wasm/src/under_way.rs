//! The calls of host functions that a run has made and whose answers are not there yet.
//!
//! They go on while the run waits, all at once; while it computes they stand still, as they would beside a busy event loop of
//! one thread. They end with the run.

use std::collections::HashMap;
use std::time::Instant;

use futures::FutureExt as _;
use futures::future::{AbortHandle, Abortable, BoxFuture};
use futures::stream::{FuturesUnordered, StreamExt as _};

use dormouse_core::callback::AnswerFile;

/// Calls that may be under way at one time; further ones are answered with an error. Guests of ours wait with them.
pub(crate) const MOST: usize = 1_024;
/// Calls that a program may tell of in one step; guests of ours tell of fewer.
pub(crate) const MOST_TOLD: usize = 4_096;
/// Bytes of answers that are given to the guest together, but for the last one.
const TOGETHER: usize = 8 << 20;

type Underway = Abortable<BoxFuture<'static, Answer>>;

/// What a function answered: its value as JSON text, and files; or what the program is told.
pub(crate) type Answered = Result<(String, Vec<AnswerFile>), String>;

/// An answer and its call's number.
pub(crate) struct Answer {
    pub(crate) id: u32,
    pub(crate) answered: Answered,
}

/// The calls.
#[derive(Default)]
pub(crate) struct UnderWay {
    calls: FuturesUnordered<Underway>,
    /// How each is ended before its time.
    ends: HashMap<u32, AbortHandle>,
    /// Answers that were there at once.
    there: Vec<Answer>,
}

impl UnderWay {
    /// Whether as many are under way as may.
    pub(crate) fn is_full(&self) -> bool {
        self.ends.len() >= MOST
    }

    /// An answer that is there at once.
    pub(crate) fn answer(&mut self, answer: Answer) {
        self.there.push(answer);
    }

    /// Begins a call.
    pub(crate) fn begin(&mut self, id: u32, call: BoxFuture<'static, Answered>) {
        let (end, registration) = AbortHandle::new_pair();
        let call = call.map(move |answered| Answer { id, answered }).boxed();
        self.calls.push(Abortable::new(call, registration));
        self.ends.insert(id, end);
    }

    /// Ends calls whose answers nobody wants.
    pub(crate) fn cancel(&mut self, cancelled: &[u32]) {
        for end in cancelled.iter().filter_map(|id| self.ends.remove(id)) {
            end.abort();
        }
    }

    /// Those of the next answers that are there, at least one, or none once `until` has come.
    pub(crate) async fn next(&mut self, until: Option<Instant>) -> Vec<Answer> {
        let first = if self.there.is_empty() { self.first(until).await } else { None };
        self.with(first)
    }

    /// Those of the next answers that are there already.
    pub(crate) fn there(&mut self) -> Vec<Answer> {
        let first = if self.there.is_empty() { self.answered().now_or_never() } else { None };
        self.with(first)
    }

    /// The answers that are kept, or this one and those that came with it.
    fn with(&mut self, first: Option<Answer>) -> Vec<Answer> {
        let mut answers = std::mem::take(&mut self.there);
        answers.extend(first);
        let mut bytes: usize = answers.iter().map(length).sum();
        while bytes < TOGETHER
            && !answers.is_empty()
            && let Some(Some(more)) = self.calls.next().now_or_never()
        {
            if let Ok(answer) = more {
                bytes += length(&answer);
                answers.push(answer);
            }
        }
        for answer in &answers {
            self.ends.remove(&answer.id);
        }
        answers
    }

    async fn first(&mut self, until: Option<Instant>) -> Option<Answer> {
        match until {
            None => Some(self.answered().await),
            // Who only looks lets others go on, and waits for no timer: the shortest takes a millisecond.
            Some(until) if until <= Instant::now() => {
                tokio::task::yield_now().await;
                self.answered().now_or_never()
            }
            Some(until) => tokio::time::timeout_at(until.into(), self.answered()).await.ok(),
        }
    }

    async fn answered(&mut self) -> Answer {
        loop {
            match self.calls.next().await {
                Some(Ok(answer)) => return answer,
                // It was cancelled.
                Some(Err(_)) => {}
                None => std::future::pending().await,
            }
        }
    }
}

fn length(answer: &Answer) -> usize {
    match &answer.answered {
        Ok((text, files)) => files.iter().fold(text.len(), |sum, file| sum.saturating_add(file.bytes.len())),
        Err(text) => text.len(),
    }
}
