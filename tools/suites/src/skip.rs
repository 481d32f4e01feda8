//! Which tests are not run, by what they need, and why (`tests/conformance/<suite>/skipped.txt`).

use std::fs;

use anyhow::{Context as _, Result};
use dormouse_chores::workspace;

/// One line of the list: `folder|feature|text VALUE: cause`. A folder is what the name begins with.
struct Rule {
    kind: String,
    value: String,
    cause: String,
}

/// The list.
pub(crate) struct Skips(Vec<Rule>);

impl Skips {
    pub(crate) fn read(suite: &str) -> Result<Self> {
        let path = workspace().join("tests/conformance").join(suite).join("skipped.txt");
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read `{}`", path.display()))?;
        let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        let rules = lines.map(|line| {
            let (need, cause) = line.split_once(": ").with_context(|| format!("`{line}` names no cause"))?;
            let (kind, value) = need.split_once(' ').with_context(|| format!("`{line}` names nothing"))?;
            Ok(Rule { kind: kind.to_owned(), value: value.to_owned(), cause: cause.to_owned() })
        });
        Ok(Self(rules.collect::<Result<_>>()?))
    }

    /// Why this test is not run, with this source and these features of the language; none: it is.
    pub(crate) fn cause(&self, name: &str, source: &str, features: &[String]) -> Option<&str> {
        let hit = |rule: &&Rule| match rule.kind.as_str() {
            "folder" => name.starts_with(&rule.value),
            "feature" => features.contains(&rule.value),
            _ => source.contains(&rule.value),
        };
        self.0.iter().find(hit).map(|rule| rule.cause.as_str())
    }
}
