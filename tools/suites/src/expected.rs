//! Lists of expected failures, strict both ways: a failure that is not listed fails the suite, and so does a listed test
//! that passes.
//!
//! ```text
//! # Comments before the first group stay.
//! fail: the reason, in words
//!     name of a test
//!     name of another
//! stop: it ends the whole run, so it is run alone
//!     name of a test
//! skip: it is not run at all
//!     name of a test
//! ```
//!
//! A reason that begins with `?` was written by `--bless`; the suite fails until a person has replaced it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use dormouse_chores::workspace;

/// What a listed test is known to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// It fails.
    Fail,
    /// It ends the whole run that it is part of (a limit, a crash).
    Stop,
    /// It cannot be run here.
    Skip,
}

impl Kind {
    const ALL: [(Kind, &'static str); 3] = [(Kind::Fail, "fail"), (Kind::Stop, "stop"), (Kind::Skip, "skip")];
}

/// One suite's list.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Expected {
    path: PathBuf,
    head: String,
    entries: BTreeMap<String, (Kind, String)>,
}

/// What a run showed against the list.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Verdict {
    /// Listed failures that failed.
    pub(crate) expected: u64,
    /// Failures that are not listed, with what they said.
    pub(crate) unlisted: Vec<(String, String)>,
    /// Listed tests that ran and did not fail.
    pub(crate) stale: Vec<String>,
}

impl Expected {
    /// Reads `tests/conformance/<suite>/<file>`.
    pub(crate) fn load(suite: &str, file: &str) -> Result<Self> {
        Self::at(workspace().join("tests/conformance").join(suite).join(file))
    }

    /// Reads a list that lies elsewhere.
    pub(crate) fn at(path: PathBuf) -> Result<Self> {
        let text = if path.exists() { fs::read_to_string(&path)? } else { String::new() };
        Self::parse(path, &text)
    }

    fn parse(path: PathBuf, text: &str) -> Result<Self> {
        let mut list = Self { path, head: String::new(), entries: BTreeMap::new() };
        let mut group = None;
        for (index, line) in text.lines().enumerate() {
            let place = || format!("{}:{}", list.path.display(), index + 1);
            if group.is_none() && (line.is_empty() || line.starts_with('#')) {
                writeln!(list.head, "{line}")?;
            } else if let Some(name) = line.strip_prefix("    ") {
                let (kind, reason) =
                    group.clone().with_context(|| format!("{}: a name without a reason", place()))?;
                if list.entries.insert(name.to_owned(), (kind, reason)).is_some() {
                    bail!("{}: `{name}` is listed twice", place());
                }
            } else if !line.is_empty() {
                let (word, reason) = line.split_once(": ").unwrap_or((line, ""));
                let kind = Kind::ALL.iter().find(|(_, known)| *known == word).map(|(kind, _)| *kind);
                group = Some((kind.with_context(|| format!("{}: no `fail:`", place()))?, reason.to_owned()));
            }
        }
        Ok(list)
    }

    /// The reason of a test that is not run at all.
    pub(crate) fn skipped(&self, name: &str) -> Option<&str> {
        self.entries.get(name).filter(|(kind, _)| *kind == Kind::Skip).map(|(_, reason)| reason.as_str())
    }

    /// Names of one kind.
    pub(crate) fn of(&self, wanted: Kind) -> impl Iterator<Item = (&str, &str)> {
        let kind = move |entry: &&(Kind, String)| entry.0 == wanted;
        self.entries
            .iter()
            .filter(move |(_, entry)| kind(entry))
            .map(|(name, entry)| (name.as_str(), entry.1.as_str()))
    }

    /// Compares a run with the list. `ran` says whether a listed test was part of the run.
    pub(crate) fn judge(&self, ran: impl Fn(&str) -> bool, failures: &BTreeMap<String, String>) -> Verdict {
        let mut verdict = Verdict::default();
        for (name, message) in failures {
            match self.entries.get(name) {
                Some((Kind::Fail | Kind::Stop, _)) => verdict.expected += 1,
                _ => verdict.unlisted.push((name.clone(), message.clone())),
            }
        }
        let listed = self.entries.iter().filter(|(name, (kind, _))| *kind != Kind::Skip && ran(name));
        verdict.stale =
            listed.map(|(name, _)| name).filter(|name| !failures.contains_key(*name)).cloned().collect();
        verdict
    }

    /// Reasons that no person has written yet.
    pub(crate) fn unexplained(&self) -> BTreeSet<&str> {
        self.entries
            .values()
            .map(|(_, reason)| reason.as_str())
            .filter(|reason| reason.starts_with('?'))
            .collect()
    }

    /// Rewrites the list to what a run showed; known reasons stay.
    pub(crate) fn bless(&mut self, verdict: &Verdict) -> Result<()> {
        for name in &verdict.stale {
            self.entries.remove(name);
        }
        for (name, message) in &verdict.unlisted {
            let kind = if message.starts_with("stopped: ") { Kind::Stop } else { Kind::Fail };
            self.entries.insert(name.clone(), (kind, format!("? {}", message.replace('\n', " "))));
        }
        fs::write(&self.path, self.text()?).with_context(|| format!("cannot write `{}`", self.path.display()))
    }

    fn text(&self) -> Result<String> {
        let mut groups: BTreeMap<(Kind, &str), Vec<&str>> = BTreeMap::new();
        for (name, (kind, reason)) in &self.entries {
            groups.entry((*kind, reason)).or_default().push(name);
        }
        let mut text = self.head.clone();
        for ((kind, reason), names) in groups {
            let word = Kind::ALL.iter().find(|(known, _)| *known == kind).map_or("", |(_, word)| word);
            writeln!(text, "{word}: {reason}")?;
            names.iter().try_for_each(|name| writeln!(text, "    {name}"))?;
        }
        Ok(text)
    }

    /// Where the list lies, for people.
    pub(crate) fn shown(&self) -> String {
        self.path.strip_prefix(workspace()).unwrap_or(Path::new(&self.path)).display().to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        "# head\nfail: no threads\n    a\n    b (strict)\nstop: endless\n    c\nskip: no Intl\n    d\n";

    fn failures(names: &[&str]) -> BTreeMap<String, String> {
        names.iter().map(|name| ((*name).to_owned(), "why".to_owned())).collect()
    }

    #[test]
    fn a_list_reads_and_writes_as_itself() {
        assert_eq!(Expected::parse(PathBuf::new(), TEXT).unwrap().text().unwrap(), TEXT);
    }

    #[test]
    fn an_unlisted_failure_and_a_listed_pass_both_count() {
        let list = Expected::parse(PathBuf::new(), TEXT).unwrap();
        let verdict = list.judge(|name| name != "c", &failures(&["a", "new", "d"]));
        assert_eq!(verdict.expected, 1);
        let unlisted: Vec<_> = verdict.unlisted.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(unlisted, ["d", "new"]);
        assert_eq!(verdict.stale, ["b (strict)"]);
    }

    #[test]
    fn a_name_is_listed_once_and_under_a_reason() {
        for bad in ["    a\n", "fail: x\n    a\n    a\n", "perhaps: x\n"] {
            assert!(Expected::parse(PathBuf::new(), bad).is_err(), "{bad:?}");
        }
    }
}
