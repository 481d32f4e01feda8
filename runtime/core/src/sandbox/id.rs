//! What sandboxes, checkpoints and callers are called.

use std::fmt;

use data_encoding::BASE32_NOPAD;
use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// Random bytes of an id: 128 bits, so that none can be guessed.
const RANDOM: usize = 16;
/// Characters of an id after its prefix.
const DIGITS: usize = 26;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident = $prefix:literal, $what:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// What every id of this kind begins with.
            pub const PREFIX: &'static str = $prefix;

            /// A new one, of 128 random bits.
            ///
            /// # Errors
            /// `internal` when the system has no randomness to give.
            pub fn random() -> Result<Self> {
                let mut bytes = [0; RANDOM];
                getrandom::fill(&mut bytes).map_err(|error| Error::internal("no random numbers", error))?;
                Ok(Self(format!("{}{}", $prefix, BASE32_NOPAD.encode(&bytes).to_ascii_lowercase())))
            }

            /// Reads an id. None when the text is not one; names are told from ids by this.
            pub fn parse(text: &str) -> Option<Self> {
                let digits = text.strip_prefix($prefix)?;
                let plain = digits.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'2'..=b'7'));
                (digits.len() == DIGITS && plain).then(|| Self(text.into()))
            }

            /// The id.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl TryFrom<String> for $name {
            type Error = Error;
            fn try_from(text: String) -> Result<Self> {
                Self::parse(&text).ok_or_else(|| Error::args_invalid(concat!("this is not the id of a ", $what)))
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.0
            }
        }
    )*};
}

ids! {
    /// The id of a sandbox: `sb-` and 26 characters of `a-z2-7`.
    SandboxId = "sb-", "sandbox";
    /// The id of a checkpoint: `ckpt-` and 26 characters of `a-z2-7`.
    CheckpointId = "ckpt-", "checkpoint";
    /// The id of a job: `job-` and 26 characters of `a-z2-7`. It tells nothing of other jobs.
    JobId = "job-", "job";
    /// The id of a run that outlives its call: `run-` and 26 characters of `a-z2-7`. It tells nothing of other runs.
    RunId = "run-", "run";
}

macro_rules! words {
    ($($(#[$doc:meta])* $name:ident, $what:literal, $most:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// Most characters.
            pub const MAX_CHARS: usize = $most;

            /// Reads it: 1 to [`Self::MAX_CHARS`] characters of any script, without control characters, `/` and `\`, and
            /// not beginning or ending with a space.
            ///
            /// # Errors
            /// `args_invalid`, showing what was sent.
            pub fn parse(text: &str) -> Result<Self> {
                let bad = |c: char| c.is_control() || matches!(c, '/' | '\\' | '\u{feff}' | '\u{2028}' | '\u{2029}');
                let count = text.chars().take(Self::MAX_CHARS + 1).count();
                if (1..=Self::MAX_CHARS).contains(&count) && !text.contains(bad) && text.trim() == text {
                    return Ok(Self(text.into()));
                }
                let message = if count > Self::MAX_CHARS {
                    format!("a text of more than {} characters cannot be {}", Self::MAX_CHARS, $what)
                } else {
                    format!("`{}` cannot be {}", text.escape_debug(), $what)
                };
                Err(Error::args_invalid(message).with_hint(format!(
                    "use 1 to {} characters without slashes, control characters and spaces at its ends",
                    Self::MAX_CHARS
                )))
            }

            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl TryFrom<String> for $name {
            type Error = Error;
            fn try_from(text: String) -> Result<Self> {
                Self::parse(&text)
            }
        }

        impl From<$name> for String {
            fn from(word: $name) -> Self {
                word.0
            }
        }
    )*};
}

words! {
    /// What a caller calls a sandbox or a checkpoint. A sandbox's name is unique among its owner's sandboxes that are
    /// not destroyed, and is no id.
    Name, "a name", 64;
    /// Who a sandbox belongs to (S2-18). Front doors without callers of their own use [`Owner::local`].
    Owner, "an owner", 128;
    /// A caller's own key of a sandbox: the same key gives the same sandbox, within one owner (S2-16).
    SessionKey, "a session key", 128;
}

impl SandboxId {
    /// What an id begins with where the profile `sprites` shows it. It means the same at every door.
    pub const AS_SPRITE: &'static str = "sprite-";

    /// Reads an id in either form.
    pub fn of(text: &str) -> Option<Self> {
        match text.strip_prefix(Self::AS_SPRITE) {
            Some(digits) => Self::parse(&format!("{}{digits}", Self::PREFIX)),
            None => Self::parse(text),
        }
    }
}

/// Whether a character has no width, but for those that join letters, or turns the direction of writing: it is not seen, and text
/// around it is read as something else.
pub fn hides_text(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}'
        | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e007f}')
}

impl Name {
    /// Refuses what a new thing is not to be called, because it is read as something else or not seen: `.`, `..`, characters without
    /// width but for those that join letters, and those that turn the direction of writing. What has such a name already is found.
    ///
    /// # Errors
    /// `args_invalid`.
    pub fn check_new(&self) -> Result<()> {
        let joins = |c: char| matches!(c, '\u{200c}' | '\u{200d}');
        let is_seen = self.0.chars().any(|c| !joins(c) && !c.is_whitespace());
        if is_seen && !self.0.contains(hides_text) && self.0 != "." && self.0 != ".." {
            return Ok(());
        }
        // What is not seen is told by its number; the rest stays as it was written.
        let is_unseen =
            |c: char| joins(c) || hides_text(c) || c.is_control() || (c.is_whitespace() && c != ' ');
        let told = |c: char| if is_unseen(c) { c.escape_unicode().to_string() } else { c.to_string() };
        let shown: String = self.0.chars().map(told).collect();
        Err(Error::args_invalid(format!("`{shown}` cannot be a name"))
            .with_hint("use visible characters, and not only dots"))
    }
}

impl Owner {
    /// The owner when nobody says who calls: a command line, a server on standard input and output.
    pub fn local() -> Self {
        Self("local".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_reads_back_and_nothing_else_is_one() {
        let id = SandboxId::random().unwrap();
        assert_eq!(SandboxId::parse(id.as_str()), Some(id.clone()));
        assert_ne!(SandboxId::random().unwrap(), id);
        let upper = id.as_str().to_uppercase();
        for other in
            ["", "sb-", "sb-1", upper.as_str(), &format!("{id}a"), &format!("ckpt-{}", &id.as_str()[3..])]
        {
            assert_eq!(SandboxId::parse(other), None, "{other}");
        }
    }

    #[test]
    fn an_id_is_read_in_the_form_of_the_profile_sprites_too() {
        let id = SandboxId::random().unwrap();
        let shown = id.as_str().replace(SandboxId::PREFIX, SandboxId::AS_SPRITE);
        assert_eq!((SandboxId::of(&shown), SandboxId::of(id.as_str())), (Some(id.clone()), Some(id)));
        assert_eq!((SandboxId::of("sprite-x"), SandboxId::of("x")), (None, None));
    }

    #[test]
    fn what_is_not_seen_or_means_something_else_is_no_new_name() {
        for good in ["a", "...", "naïve-名前.1", "👩\u{200d}💻", "می\u{200c}خواهم"] {
            assert!(Name::parse(good).unwrap().check_new().is_ok(), "{good}");
        }
        for bad in [".", "..", "\u{200b}", "\u{200d}", "a\u{202e}b", "a\u{2066}", "\u{e0041}x", "\u{3164}"] {
            let error = Name::parse(bad).unwrap().check_new().unwrap_err();
            assert!(error.message().is_ascii() && error.hint().is_some(), "{error}");
        }
        for (bad, shown) in [("..", "`..`"), ("a b\u{202e}名", "`a b\\u{202e}名`")] {
            let error = Name::parse(bad).unwrap().check_new().unwrap_err();
            assert_eq!(error.message(), format!("{shown} cannot be a name"));
        }
    }

    #[test]
    fn a_name_is_short_text_of_any_script() {
        for good in ["a", "my sandbox", "naïve-名前.1", &"x".repeat(64)] {
            assert_eq!(Name::parse(good).unwrap().as_str(), good);
        }
        for bad in ["", " a", "a ", "a/b", "..\\x", "a\0", "a\nb", &"x".repeat(65), &"x".repeat(10_000)] {
            let error = Name::parse(bad).unwrap_err();
            assert!(error.message().len() < 200 && error.hint().is_some(), "{bad}");
        }
    }
}
