//! The name of a guest: a language's interpreter, the shell or git.

use std::cmp::Ordering;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Error, Language, Result};

/// Which guest is meant. A snippet has a [`Language`]; the shell and git are reached by command lines alone.
///
/// It is written, stored and sorted as its name: a language's own, `shell` or `git`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum GuestName {
    /// The interpreter of a language, or what compiles it.
    Language(Language),
    /// The command language, which sandboxes run command lines in.
    Shell,
    /// git's commands, which command lines start.
    Git,
}

impl GuestName {
    pub(crate) const SHELL: &'static str = "shell";
    pub(crate) const GIT: &'static str = "git";

    /// Reads a name: `shell`, `git`, or that of a language.
    ///
    /// # Errors
    /// As [`Language::parse`].
    pub fn parse(name: &str) -> Result<Self> {
        match name {
            Self::SHELL => Ok(Self::Shell),
            Self::GIT => Ok(Self::Git),
            _ => Language::parse(name).map(Self::Language),
        }
    }

    /// The interpreter of Python.
    pub fn python() -> Self {
        Self::Language(Language::python())
    }

    /// The interpreter of JavaScript.
    pub fn javascript() -> Self {
        Self::Language(Language::javascript())
    }

    /// What compiles TypeScript.
    pub fn typescript() -> Self {
        Self::Language(Language::typescript())
    }

    /// The interpreter of PHP.
    pub fn php() -> Self {
        Self::Language(Language::php())
    }

    /// The guest whose interpreter runs it, and holds its variables: JavaScript's for TypeScript, else itself.
    #[must_use]
    pub fn runs_as(&self) -> Self {
        match self {
            Self::Language(language) => Self::Language(language.runs_as()),
            Self::Shell | Self::Git => self.clone(),
        }
    }

    /// The language, if it is one.
    pub fn language(&self) -> Option<&Language> {
        match self {
            Self::Language(language) => Some(language),
            Self::Shell | Self::Git => None,
        }
    }

    /// The name as people write it: `PHP`, `JavaScript`, `shell`.
    pub fn title(&self) -> &str {
        self.language().map_or(self.as_str(), Language::title)
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Language(language) => language.as_str(),
            Self::Shell => Self::SHELL,
            Self::Git => Self::GIT,
        }
    }
}

impl fmt::Display for GuestName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Ord for GuestName {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_str().cmp(other.as_str())
    }
}

impl PartialOrd for GuestName {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq<Language> for GuestName {
    fn eq(&self, language: &Language) -> bool {
        self.language() == Some(language)
    }
}

impl From<Language> for GuestName {
    fn from(language: Language) -> Self {
        Self::Language(language)
    }
}

impl From<&Language> for GuestName {
    fn from(language: &Language) -> Self {
        Self::Language(language.clone())
    }
}

impl TryFrom<String> for GuestName {
    type Error = Error;
    fn try_from(name: String) -> Result<Self> {
        Self::parse(&name)
    }
}

impl From<GuestName> for String {
    fn from(guest: GuestName) -> Self {
        match guest {
            GuestName::Language(language) => language.into(),
            GuestName::Shell | GuestName::Git => guest.as_str().to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_stored_and_sorted_as_they_are_written() {
        for name in ["git", "php", "shell", "wren"] {
            let guest = GuestName::parse(name).unwrap();
            assert_eq!(serde_json::to_string(&guest).unwrap(), format!("\"{name}\""));
            assert_eq!(serde_json::from_str::<GuestName>(&format!("\"{name}\"")).unwrap(), guest);
        }
        let sorted = ["git", "javascript", "shell", "wren"].map(|name| GuestName::parse(name).unwrap());
        assert!(sorted.is_sorted());
        assert_eq!(GuestName::parse("py").unwrap(), Language::python());
        assert_eq!((sorted[0].language(), sorted[2].title()), (None, "shell"));
        assert!(GuestName::parse("../shell").is_err());
    }
}
