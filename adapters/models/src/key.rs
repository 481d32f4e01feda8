//! The key of an endpoint: read once, shown never.

use std::fmt;
use std::io::Read as _;
use std::path::Path;

use dormouse_core::{Error, Result};

/// Longest key, in bytes.
const MAX: u64 = 16 << 10;

/// A secret that goes into a header. Its `Debug` text does not hold it.
#[derive(Clone)]
pub struct Key(String);

impl Key {
    /// The value of an environment variable of the host.
    ///
    /// # Errors
    /// `args_invalid` when it is not set or cannot be a key; the text names the variable, never its value.
    #[allow(clippy::disallowed_methods, reason = "the operator names the variable")]
    pub fn from_env(variable: &str) -> Result<Self> {
        let shown: String = variable.escape_debug().take(64).collect();
        match std::env::var(variable) {
            Ok(text) => Self::parse(&text, &format!("the environment variable `{shown}`")),
            Err(_) => Err(Error::args_invalid(format!("the environment variable `{shown}` is not set"))
                .with_hint("put the key of the endpoint into it")),
        }
    }

    /// The content of a file, without the white space around it.
    ///
    /// # Errors
    /// `args_invalid` when it cannot be read or cannot be a key; the text names the file, never its content.
    #[allow(clippy::disallowed_methods, reason = "the operator names the file")]
    pub fn from_file(path: &Path) -> Result<Self> {
        let source = format!("the file `{}`", path.display());
        let unreadable = |error: std::io::Error| {
            Error::args_invalid(format!("{source} cannot be read")).with_source(error)
        };
        let mut text = String::new();
        let file = std::fs::File::open(path).map_err(unreadable)?;
        file.take(MAX + 1).read_to_string(&mut text).map_err(unreadable)?;
        Self::parse(&text, &source)
    }

    /// A key as text.
    ///
    /// # Errors
    /// `args_invalid`, naming the source.
    fn parse(text: &str, source: &str) -> Result<Self> {
        let key = text.trim();
        let fits =
            !key.is_empty() && key.len() as u64 <= MAX && key.bytes().all(|byte| byte.is_ascii_graphic());
        if !fits {
            return Err(Error::args_invalid(format!("{source} does not hold a key"))
                .with_hint(format!("a key is 1 to {MAX} visible ASCII characters")));
        }
        Ok(Self(key.to_owned()))
    }

    /// The secret itself.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_read_from_a_file_and_never_shown() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        std::fs::write(&path, " sk-hidden\n").unwrap();
        let key = Key::from_file(&path).unwrap();
        assert_eq!(key.reveal(), "sk-hidden");
        assert!(!format!("{key:?}").contains("hidden"));
        for bad in ["", " \n", "sk hidden", "sk-hidd\u{e9}n", "hidden\r\nx: y", &"h".repeat((16 << 10) + 1)] {
            std::fs::write(&path, bad).unwrap();
            let error = Key::from_file(&path).unwrap_err();
            assert_eq!(error.code(), dormouse_core::ErrorCode::ArgsInvalid);
            assert!(!format!("{error:?}").contains("hidd"), "{error:?}");
        }
        let error = Key::from_env("DORMOUSE_TEST_NO_SUCH_KEY").unwrap_err();
        assert!(error.message().contains("DORMOUSE_TEST_NO_SUCH_KEY"));
    }
}
