//! Runs steps that depend on one another, a few at a time, and says what runs.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Result;
use dormouse_chores::progress::{Progress, about, complain};

/// How many steps run at a time. Most of them use all cores where they can; the others use what the first leaves idle.
const LANES: usize = 3;

/// How often it is said what runs, where no live lines show it.
const BEAT: Duration = Duration::from_secs(60);

/// What only one step at a time can use.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Alone {
    /// Cargo's target folder.
    Cargo,
    /// The database of packages.
    Apt,
}

/// One step.
pub(crate) struct Step<'a> {
    pub(crate) name: String,
    /// What it takes from nothing on two cores.
    pub(crate) expected: Duration,
    /// The steps that have to be done before it.
    pub(crate) after: Vec<String>,
    pub(crate) alone: Option<Alone>,
    pub(crate) work: Box<dyn Fn() -> Result<()> + Sync + 'a>,
}

/// How far a step is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Waiting,
    Running(Instant),
    Done(Duration),
    Failed,
    /// It needs a step that failed.
    LeftOut,
}

/// Runs all steps, the first in the list that is ready first. A step that fails is reported at once; only what needs it is left
/// out.
pub(crate) fn run(steps: &[Step<'_>]) -> Vec<State> {
    let board = Board {
        steps,
        began: Instant::now(),
        states: Mutex::new(vec![State::Waiting; steps.len()]),
        changed: Condvar::new(),
    };
    std::thread::scope(|scope| {
        for _ in 0..LANES {
            scope.spawn(|| board.lane());
        }
        board.beat();
    });
    board.states.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// The steps of one run and their states.
struct Board<'a> {
    steps: &'a [Step<'a>],
    began: Instant,
    states: Mutex<Vec<State>>,
    changed: Condvar,
}

impl Board<'_> {
    fn states(&self) -> MutexGuard<'_, Vec<State>> {
        self.states.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs one ready step after the other until none is left.
    fn lane(&self) {
        while let Some(index) = self.take() {
            let (step, started) = (&self.steps[index], Instant::now());
            let done = {
                let _shown =
                    Progress::new("set-up").step(&format!("{}, about {}", step.name, about(step.expected)));
                // A step that panics would leave the other lane waiting for it.
                std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| (step.work)()))
            };
            let state = match done {
                Ok(Ok(())) => State::Done(started.elapsed()),
                Ok(Err(error)) => {
                    complain(&format!("set-up: {} failed: {error:#}", step.name));
                    State::Failed
                }
                Err(_) => State::Failed,
            };
            self.states()[index] = state;
            self.changed.notify_all();
        }
    }

    /// Waits for a step that is ready and marks it as running. None: nothing is left to begin.
    fn take(&self) -> Option<usize> {
        let mut states = self.states();
        loop {
            leave_out(self.steps, &mut states);
            if !states.contains(&State::Waiting) {
                self.changed.notify_all();
                return None;
            }
            if let Some(index) = ready(self.steps, &states) {
                states[index] = State::Running(Instant::now());
                return Some(index);
            }
            if !states.iter().any(|state| matches!(state, State::Running(_))) {
                // Steps that wait for each other: a mistake in the list.
                states
                    .iter_mut()
                    .filter(|state| **state == State::Waiting)
                    .for_each(|state| *state = State::LeftOut);
                continue;
            }
            states = self.changed.wait(states).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Says from time to time what runs, until all is done.
    fn beat(&self) {
        let mut states = self.states();
        let mut said = Instant::now();
        while states.iter().any(|state| matches!(state, State::Waiting | State::Running(_))) {
            let left = BEAT.saturating_sub(said.elapsed());
            states = self.changed.wait_timeout(states, left).unwrap_or_else(PoisonError::into_inner).0;
            if said.elapsed() >= BEAT {
                said = Instant::now();
                if !Progress::is_live() {
                    complain(&format!("set-up: {}", self.now(&states)));
                }
            }
        }
    }

    /// One line: the time, what is done, what runs.
    fn now(&self, states: &[State]) -> String {
        let done = states.iter().filter(|state| matches!(state, State::Done(_))).count();
        let mut line =
            format!("after {} s {done} of {} steps are done", self.began.elapsed().as_secs(), states.len());
        for (step, state) in self.steps.iter().zip(states) {
            if let State::Running(since) = state {
                let (passed, expected) = (since.elapsed().as_secs(), about(step.expected));
                line.push_str(&format!("; {} runs for {passed} s of about {expected}", step.name));
            }
        }
        line
    }
}

/// The first step that waits for nothing.
fn ready(steps: &[Step<'_>], states: &[State]) -> Option<usize> {
    let used: Vec<Alone> = steps
        .iter()
        .zip(states)
        .filter(|(_, state)| matches!(state, State::Running(_)))
        .filter_map(|(step, _)| step.alone)
        .collect();
    (0..steps.len()).find(|index| {
        let step = &steps[*index];
        states[*index] == State::Waiting
            && step.alone.is_none_or(|alone| !used.contains(&alone))
            && before(steps, states, step).all(|state| matches!(state, State::Done(_)))
    })
}

/// Marks what needs a step that failed or was left out itself.
fn leave_out(steps: &[Step<'_>], states: &mut [State]) {
    let lost = |state| matches!(state, State::Failed | State::LeftOut);
    // The list is in an order in which steps come after what they need.
    for (index, step) in steps.iter().enumerate() {
        if states[index] == State::Waiting && before(steps, states, step).any(lost) {
            states[index] = State::LeftOut;
        }
    }
}

/// The states of the steps that this one needs. A name that no step has is a failed one.
fn before<'a>(
    steps: &'a [Step<'_>],
    states: &'a [State],
    step: &'a Step<'_>,
) -> impl Iterator<Item = State> + 'a {
    step.after.iter().map(move |name| {
        let index = steps.iter().position(|other| other.name == *name);
        index.map_or(State::Failed, |index| states[index])
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use anyhow::bail;

    use super::*;

    fn step<'a>(name: &str, after: &[&str], work: impl Fn() -> Result<()> + Sync + 'a) -> Step<'a> {
        Step {
            name: name.to_owned(),
            expected: Duration::from_secs(1),
            after: after.iter().map(|name| (*name).to_owned()).collect(),
            alone: None,
            work: Box::new(work),
        }
    }

    #[test]
    fn steps_run_after_what_they_need() {
        let order = Mutex::new(Vec::new());
        let note = |name: &'static str| {
            let order = &order;
            move || {
                order.lock().unwrap().push(name);
                Ok(())
            }
        };
        let steps = [
            step("a", &[], note("a")),
            step("b", &["a"], note("b")),
            step("c", &["a"], note("c")),
            step("d", &["b", "c"], note("d")),
        ];
        assert!(run(&steps).iter().all(|state| matches!(state, State::Done(_))));
        drop(steps);
        let order = order.into_inner().unwrap();
        assert_eq!((order[0], order[3], order.len()), ("a", "d", 4));
    }

    #[test]
    fn what_needs_a_failed_step_is_left_out_and_the_rest_runs() {
        let steps = [
            step("bad", &[], || bail!("on purpose")),
            step("needs it", &["bad"], || Ok(())),
            step("needs that", &["needs it"], || Ok(())),
            step("panics", &[], || panic!("on purpose")),
            step("other", &[], || Ok(())),
            step("unknown", &["nothing"], || Ok(())),
        ];
        let states = run(&steps);
        assert_eq!(states[..4], [State::Failed, State::LeftOut, State::LeftOut, State::Failed]);
        assert!(matches!(states[4], State::Done(_)));
        assert_eq!(states[5], State::LeftOut);
    }

    #[test]
    fn one_step_at_a_time_uses_what_only_one_can_use() {
        let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let work = || {
            most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            std::thread::sleep(Duration::from_millis(20));
            now.fetch_sub(1, Ordering::SeqCst);
            Ok(())
        };
        let steps = ["a", "b", "c"].map(|name| Step { alone: Some(Alone::Cargo), ..step(name, &[], work) });
        run(&steps);
        assert_eq!(most.load(Ordering::SeqCst), 1);
    }
}
