//! What a run of tests came to: counts, and the names of what failed.

/// What a test program counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Those that had the wanted result.
    pub passed: u64,
    /// Those that had another one.
    pub failed: u64,
    /// Those that did not run.
    pub skipped: u64,
}

impl Totals {
    /// Adds the counts of another program.
    pub fn add(&mut self, other: Totals) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }

    /// The counts of a closing line: cargo's `test result: ok. 3 passed; 0 failed; 1 ignored; ...`, or
    /// `3 passed, 0 failed, 1 skipped`.
    #[must_use]
    pub fn read(line: &str) -> Option<Self> {
        let counts = line
            .strip_prefix("test result: ")
            .map_or(line, |rest| rest.split_once(". ").map_or(rest, |x| x.1));
        let mut totals = Self::default();
        let mut known = 0;
        for part in counts.split([';', ',']) {
            let (number, word) = part.trim().split_once(' ')?;
            let Ok(number) = number.parse::<u64>() else { break };
            match word {
                "passed" => totals.passed = number,
                "failed" => totals.failed = number,
                "ignored" | "skipped" => totals.skipped = number,
                _ => continue,
            }
            known += 1;
        }
        (known >= 2).then_some(totals)
    }
}

impl std::fmt::Display for Totals {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}

/// What a run of tests came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The counts of all.
    pub totals: Totals,
    /// Whether nothing went wrong, what is not counted included.
    pub ok: bool,
    /// What went wrong, as far as it has a name: the path of a test, or a sentence. In the order in which it was told.
    pub problems: Vec<String>,
}

impl Outcome {
    /// One thing that passed.
    #[must_use]
    pub fn passed() -> Self {
        Totals { passed: 1, ..Totals::default() }.into()
    }

    /// One thing that did not run.
    #[must_use]
    pub fn skipped() -> Self {
        Totals { skipped: 1, ..Totals::default() }.into()
    }

    /// One thing that failed.
    #[must_use]
    pub fn failed(problem: String) -> Self {
        Self { totals: Totals { failed: 1, ..Totals::default() }, ok: false, problems: vec![problem] }
    }

    /// Adds what another run came to.
    pub fn add(&mut self, other: Self) {
        self.totals.add(other.totals);
        self.ok &= other.ok;
        self.problems.extend(other.problems);
    }
}

impl Default for Outcome {
    fn default() -> Self {
        Totals::default().into()
    }
}

impl From<Totals> for Outcome {
    fn from(totals: Totals) -> Self {
        Self { ok: totals.failed == 0, totals, problems: Vec::new() }
    }
}

/// Finds the names of failed tests in what cargo's test programs print: the lines below `failures:` that are indented.
#[derive(Default)]
pub(crate) struct Failures {
    listed: bool,
    names: Vec<String>,
}

impl Failures {
    /// Looks at the next line.
    pub(crate) fn read(&mut self, line: &str) {
        match line.strip_prefix("    ") {
            Some(name) if self.listed => self.names.push(name.to_owned()),
            _ => self.listed = line == "failures:",
        }
    }

    /// The names, in the order of the lines.
    pub(crate) fn names(self) -> Vec<String> {
        self.names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closing_lines_are_read_and_others_are_not() {
        let cargo =
            "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s";
        assert_eq!(Totals::read(cargo), Some(Totals { passed: 3, failed: 0, skipped: 1 }));
        assert_eq!(
            Totals::read("5 passed, 2 failed, 0 skipped"),
            Some(Totals { passed: 5, failed: 2, skipped: 0 })
        );
        assert_eq!(Totals::read("running 3 tests"), None);
        assert_eq!(Totals::read("3 passed"), None);
    }

    #[test]
    fn names_are_read_from_the_list_and_not_from_what_tests_print() {
        let printed = "
running 3 tests
a::b --- FAILED
.
failures:

---- a::b stdout ----
    not a name
failures:
  neither is this

failures:
    a::b
    c

test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.1s
    nor this
";
        let mut failures = Failures::default();
        printed.lines().for_each(|line| failures.read(line));
        assert_eq!(failures.names(), ["a::b", "c"]);
    }

    #[test]
    fn what_went_wrong_is_kept_when_runs_are_added() {
        let mut sum = Outcome::passed();
        sum.add(Outcome::skipped());
        assert!(sum.ok);
        sum.add(Outcome::failed("a".to_owned()));
        sum.add(Outcome::passed());
        let totals = Totals { passed: 2, failed: 1, skipped: 1 };
        assert_eq!(sum, Outcome { totals, ok: false, problems: vec!["a".to_owned()] });
    }
}
