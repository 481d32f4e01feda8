//! The name of a language, and how it is guessed.

use std::fmt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::{Error, GuestName, Result};

/// The name of a language: 1 to 32 characters of `[a-z0-9_-]`, beginning with a letter.
///
/// `python`, `javascript`, `typescript` and `php` are known to every installation; a manifest can add others. `shell` and `git` are
/// guests ([`GuestName`]) and no languages.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Language(String);

impl Language {
    /// Longest accepted name, in bytes.
    pub const MAX_BYTES: usize = 32;

    /// Python.
    pub fn python() -> Self {
        Self("python".into())
    }

    /// JavaScript.
    pub fn javascript() -> Self {
        Self("javascript".into())
    }

    /// TypeScript: a guest of its own makes JavaScript of it, which runs on the JavaScript guest.
    pub fn typescript() -> Self {
        Self("typescript".into())
    }

    /// PHP.
    pub fn php() -> Self {
        Self("php".into())
    }

    /// The language whose interpreter runs it, and holds its variables: JavaScript for TypeScript, else itself.
    #[must_use]
    pub fn runs_as(&self) -> Self {
        if *self == Self::typescript() { Self::javascript() } else { self.clone() }
    }

    /// Reads a name. Common short forms (`py`, `js`, `ts`, `node`) are understood, and those that every installation knows in
    /// any case, such as `PHP`.
    ///
    /// # Errors
    /// `args_invalid` when the name breaks the rule above, or names what only command lines reach: the shell (also as `bash` and `sh`) and git.
    pub fn parse(name: &str) -> Result<Self> {
        if matches!(name, GuestName::SHELL | GuestName::GIT | "bash" | "sh") {
            return Err(Error::args_invalid(format!("`{name}` is not a language of snippets"))
                .with_hint("run it as a command line, with sandbox_exec"));
        }
        let canonical = match name.to_ascii_lowercase().as_str() {
            "python" | "py" | "python3" => "python",
            "javascript" | "js" | "node" => "javascript",
            "typescript" | "ts" | "tsx" => "typescript",
            "php" => "php",
            _ => name,
        };
        let mut bytes = canonical.bytes();
        let head = bytes.next().is_some_and(|b| b.is_ascii_lowercase());
        let tail = bytes.all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_' || b == b'-');
        if head && tail && canonical.len() <= Self::MAX_BYTES {
            return Ok(Self(canonical.into()));
        }
        Err(Error::args_invalid(format!("`{}` is not a language name", name.escape_debug()))
            .with_hint("use 1 to 32 characters of a-z, 0-9, `_` and `-`, such as `python` or `javascript`"))
    }

    /// The language of a file by its extension, if it is one of the common ones.
    pub fn of_file(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "py" | "pyw" => Some(Self::python()),
            "js" | "mjs" | "cjs" => Some(Self::javascript()),
            "ts" | "mts" | "cts" | "tsx" | "jsx" => Some(Self::typescript()),
            "php" | "phtml" => Some(Self::php()),
            _ => None,
        }
    }

    /// The language of a project, by the first of these files that lies in its folder: `composer.json` (PHP);
    /// `pyproject.toml`, `setup.py`, `requirements.txt` (Python); `package.json` (JavaScript), which is last because projects
    /// of the others have it for their pages.
    pub fn of_project(folder: &Path) -> Option<Self> {
        [
            ("composer.json", Self::php()),
            ("pyproject.toml", Self::python()),
            ("setup.py", Self::python()),
            ("requirements.txt", Self::python()),
            ("package.json", Self::javascript()),
        ]
        .into_iter()
        .find(|(file, _)| folder.join(file).is_file())
        .map(|(_, language)| language)
    }

    /// The name as people write it: `PHP`, `JavaScript`.
    pub fn title(&self) -> &str {
        match self.0.as_str() {
            "python" => "Python",
            "javascript" => "JavaScript",
            "typescript" => "TypeScript",
            "php" => "PHP",
            name => name,
        }
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for Language {
    type Error = Error;
    fn try_from(name: String) -> Result<Self> {
        Self::parse(&name)
    }
}

impl From<Language> for String {
    fn from(language: Language) -> Self {
        language.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorCode;

    #[test]
    fn names_outside_the_rule_are_refused() {
        for bad in ["", "Lua", "../python", "py thon", "1c", &"a".repeat(33), "a\0b"] {
            assert!(Language::parse(bad).is_err(), "{bad:?}");
        }
        assert_eq!(Language::parse("ts").unwrap(), Language::typescript());
    }

    #[test]
    fn what_only_command_lines_reach_is_no_language() {
        for name in ["shell", "git", "bash", "sh"] {
            let refused = Language::parse(name).unwrap_err();
            assert_eq!(refused.code(), ErrorCode::ArgsInvalid);
            assert!(refused.hint().unwrap().contains("sandbox_exec"), "{refused:?}");
        }
    }

    #[test]
    fn names_that_are_known_everywhere_have_any_case() {
        for (name, language) in [
            ("PHP", Language::php()),
            ("Python", Language::python()),
            ("JS", Language::javascript()),
            ("TypeScript", Language::typescript()),
        ] {
            assert_eq!(Language::parse(name).unwrap(), language);
        }
    }

    #[test]
    fn a_projects_language_follows_the_first_file_of_the_list() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(Language::of_project(folder.path()), None);
        std::fs::create_dir(folder.path().join("composer.json")).unwrap();
        assert_eq!(Language::of_project(folder.path()), None, "a folder of that name says nothing");
        std::fs::remove_dir(folder.path().join("composer.json")).unwrap();
        for (file, language) in [
            ("package.json", Language::javascript()),
            ("requirements.txt", Language::python()),
            ("composer.json", Language::php()),
        ] {
            std::fs::write(folder.path().join(file), "").unwrap();
            assert_eq!(Language::of_project(folder.path()), Some(language), "{file}");
        }
    }

    #[test]
    fn a_files_language_follows_its_extension() {
        assert_eq!(Language::of_file(Path::new("a/b.mjs")), Some(Language::javascript()));
        assert_eq!(Language::of_file(Path::new("App.tsx")), Some(Language::typescript()));
        assert_eq!(Language::of_file(Path::new("index.php")), Some(Language::php()));
        assert_eq!(Language::of_file(Path::new("README")), None);
    }
}
