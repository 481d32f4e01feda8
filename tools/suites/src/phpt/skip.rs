//! Which tests are not run, by what they need, and why (`tests/conformance/phpt/skipped.txt`).

use std::fs;

use anyhow::{Context as _, Result, bail};
use dormouse_chores::workspace;

use super::sections::Sections;

/// Sections that the runner knows, or that mean nothing to it: every run has a fresh instance and fresh files.
const KNOWN: [&str; 20] = [
    "ARGS",
    "CAPTURE_STDIO",
    "CLEAN",
    "CONFLICTS",
    "CREDITS",
    "DESCRIPTION",
    "ENV",
    "EXPECT",
    "EXPECTF",
    "EXPECTREGEX",
    "EXTENSIONS",
    "FILE",
    "FILEEOF",
    "FILE_EXTERNAL",
    "INI",
    "SKIPIF",
    "STDIN",
    "TEST",
    "XFAIL",
    "XLEAK",
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Names that begin so.
    Folder,
    /// Tests with that section.
    Section,
    /// Tests whose program has that text, in upper or lower case.
    Text,
}

/// One line of the list: `folder|section|text VALUE: cause`.
struct Rule {
    kind: Kind,
    value: String,
    cause: String,
}

/// The list.
pub(super) struct Skips(Vec<Rule>);

impl Skips {
    pub(super) fn read() -> Result<Self> {
        let path = workspace().join("tests/conformance/phpt/skipped.txt");
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read `{}`", path.display()))?;
        let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        lines.map(rule).collect::<Result<_>>().map(Self)
    }

    /// Why this test is not run; none: it is.
    pub(super) fn cause(&self, name: &str, sections: &Sections, program: &[u8]) -> Option<String> {
        let program = program.to_ascii_lowercase();
        let hit = |rule: &&Rule| match rule.kind {
            Kind::Folder => name.starts_with(&rule.value),
            Kind::Section => sections.get(&rule.value).is_some(),
            Kind::Text => program.windows(rule.value.len()).any(|part| part == rule.value.as_bytes()),
        };
        let known = self.0.iter().find(hit).map(|rule| rule.cause.clone());
        known.or_else(|| {
            let other = sections.names().find(|name| !KNOWN.contains(name))?;
            Some(format!("the runner does not know the section {other}"))
        })
    }
}

fn rule(line: &str) -> Result<Rule> {
    let (need, cause) = line.split_once(": ").with_context(|| format!("`{line}` names no cause"))?;
    let (kind, value) = need.split_once(' ').with_context(|| format!("`{line}` names nothing"))?;
    let kind = match kind {
        "folder" => Kind::Folder,
        "section" => Kind::Section,
        "text" => Kind::Text,
        _ => bail!("`{line}` is no rule"),
    };
    let value = if kind == Kind::Text { value.to_ascii_lowercase() } else { value.to_owned() };
    Ok(Rule { kind, value, cause: cause.to_owned() })
}
