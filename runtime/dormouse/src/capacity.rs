//! What one process has room for at one time, and what that takes: one table and one sum (docs/capacity.md).

use dormouse_core::sandboxes::Rules;
use dormouse_core::{Error, Policy, Result};
use dormouse_wasm::{Allocation, MOST_KEPT};

/// The languages that Dormouse has itself: python, javascript, typescript, php, the shell and git.
const OWN_LANGUAGES: usize = 6;
/// Instances whose memory fits into the address space of a process (47 bits), for each of the two engines, with and without
/// fuel: an instance reserves two memories of 4.1 GiB and a stack.
const MOST_INSTANCES: usize = 4_096;
/// Threads for what the host does besides calls: saving, sweeping, compiling, standard input.
const OWN_THREADS: usize = 64;

/// How much there may be of each thing at one time. Made of the operator's numbers, checked when a
/// [`Dormouse`](crate::Dormouse) is built.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Capacity {
    /// Runs: [`Policy::max_running`]. Each takes one instance of its own, or that of the program which a command line
    /// has started.
    pub runs: usize,
    /// Runs that wait for a function of the host, and have given up their place meanwhile: as many again, and none where owners share
    /// the places. Each keeps its instance.
    pub waiting: usize,
    /// Jobs: [`Policy::max_jobs`]. Each takes two instances: its shell and a program. 0 without sandboxes that last.
    pub jobs: usize,
    /// Interpreters of sandboxes in memory: [`Rules::awake`]. 0 without sandboxes that last.
    pub awake: usize,
    /// Languages. Each takes one instance that never runs: what saved state is compared with.
    pub languages: usize,
    /// Guests of other releases, with which sandboxes that these have saved are woken. Each takes one instance that never runs. 0
    /// without sandboxes that last.
    pub kept: usize,
    /// Unused instances kept ready for each language.
    pub ready: usize,
}

impl Capacity {
    /// What these numbers allow; no rules: there are no sandboxes that last. `manifests` are further languages.
    pub fn of(policy: &Policy, rules: Option<&Rules>, manifests: usize, ready: usize) -> Self {
        Self {
            runs: policy.max_running.max(1),
            waiting: policy.most_waiting_for_functions(),
            jobs: rules.map_or(0, |_| policy.max_jobs.max(1)),
            awake: rules.map_or(0, |rules| rules.awake.max(1)),
            languages: manifests.saturating_add(OWN_LANGUAGES),
            kept: rules.map_or(0, |_| MOST_KEPT),
            ready,
        }
    }

    /// Instances that are there when everything is used to the full: the size of the pool.
    pub fn instances(&self) -> usize {
        let languages = self.languages.saturating_mul(self.ready.saturating_add(1));
        let jobs = self.jobs.saturating_mul(2);
        let all = [self.waiting, jobs, self.awake, languages, self.kept];
        all.into_iter().fold(self.runs, usize::saturating_add)
    }

    /// Threads that wait for disks and names on behalf of all that goes on, when so many calls may be in progress. A run and
    /// a job wait for one thing at a time, and so does a call that is none.
    pub fn blocking_threads(&self, calls: usize) -> usize {
        self.runs.saturating_add(self.jobs).saturating_add(calls).saturating_add(OWN_THREADS)
    }

    /// The pool that this takes, or the one that was chosen, if it is large enough.
    ///
    /// # Errors
    /// `args_invalid` with the sum.
    pub(crate) fn allocation(&self, chosen: Option<Allocation>) -> Result<Allocation> {
        let needed = self.instances();
        let instances = match chosen {
            Some(Allocation::OnDemand) => return Ok(Allocation::OnDemand),
            Some(Allocation::Pooling { instances }) => usize::try_from(instances).unwrap_or(usize::MAX),
            None => needed,
        };
        if needed > instances {
            return Err(
                self.unfit(format!("a pool of {instances} instances is too small: {needed} are needed"))
            );
        }
        match u32::try_from(instances) {
            Ok(instances) if instances as usize <= MOST_INSTANCES => Ok(Allocation::Pooling { instances }),
            _ => Err(self.unfit(format!(
                "{instances} instances are more than {MOST_INSTANCES}, which fit into memory"
            ))),
        }
    }

    fn unfit(&self, problem: String) -> Error {
        let Self { runs, waiting, jobs, awake, languages, kept, ready } = self;
        Error::args_invalid(problem).with_hint(format!(
            "{runs} runs, {waiting} that wait for functions, {jobs} jobs with 2 each, {awake} interpreters in memory, and {languages} languages with 1 and {ready} \
             ready ones each, and {kept} guests of other releases take {} instances",
            self.instances()
        ))
    }
}

#[cfg(test)]
mod tests {
    use dormouse_core::ErrorCode;

    use super::*;

    #[test]
    fn the_sum_is_that_of_the_table_in_the_documentation() {
        let (policy, rules) = (Policy::default(), Rules::default());
        let capacity = Capacity::of(&policy, Some(&rules), 0, 0);
        assert_eq!(capacity.instances(), 2 * 64 + 2 * 32 + 128 + 6 + 8);
        assert_eq!(capacity.allocation(None).unwrap(), Allocation::Pooling { instances: 334 });
        assert_eq!(Capacity::of(&policy, None, 1, 8).instances(), 2 * 64 + 7 * 9);
        assert_eq!(capacity.blocking_threads(256), 64 + 32 + 256 + 64);
    }

    #[test]
    fn numbers_that_do_not_fit_together_are_refused_with_the_sum() {
        let capacity = Capacity::of(&Policy::default(), None, 0, 0);
        let pool = |instances| capacity.allocation(Some(Allocation::Pooling { instances }));
        let error = pool(133).unwrap_err();
        assert_eq!(error.code(), ErrorCode::ArgsInvalid);
        assert!(error.message().contains("134 are needed"), "{error}");
        assert!(error.hint().is_some_and(|hint| hint.starts_with("64 runs")), "{:?}", error.hint());
        assert!(pool(134).is_ok() && pool(4_096).is_ok() && pool(4_097).is_err());
        assert_eq!(capacity.allocation(Some(Allocation::OnDemand)).unwrap(), Allocation::OnDemand);
        let many = Capacity::of(&Policy::default(), None, 0, 60_000);
        assert!(many.allocation(None).unwrap_err().message().contains("more than 4096"));
        assert!(Capacity::of(&Policy::default(), None, 0, usize::MAX).allocation(None).is_err());
    }
}
