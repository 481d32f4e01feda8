//! What is said to a server that asks who comes: read once, shown never.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dormouse_core::{Error, Result};
use reqwest::header::HeaderValue;

/// Longest secret, in bytes.
const MAX: usize = 16 << 10;
/// The user of a bare token. Servers that take tokens take any.
const USER: &str = "x-access-token";

/// A secret that goes into the header `Authorization`. Its `Debug` text does not hold it.
#[derive(Clone)]
pub struct Credential(HeaderValue);

impl Credential {
    /// The value of an environment variable of the host: a token, `USER:PASSWORD`, or `Bearer TOKEN`.
    ///
    /// # Errors
    /// `args_invalid` when it is not set or cannot be a header; the text names the variable, never its value.
    #[allow(clippy::disallowed_methods, reason = "the operator names the variable")]
    pub fn from_env(variable: &str) -> Result<Self> {
        let shown: String = variable.escape_debug().take(64).collect();
        match std::env::var(variable) {
            Ok(text) => Self::parse(text.trim()).ok_or_else(|| {
                Error::args_invalid(format!("the environment variable `{shown}` holds no credential"))
                    .with_hint(
                        "put a token, `USER:PASSWORD` or `Bearer TOKEN` into it, in visible ASCII characters",
                    )
            }),
            Err(_) => Err(Error::args_invalid(format!("the environment variable `{shown}` is not set"))
                .with_hint("put the credential of the repository's server into it")),
        }
    }

    /// A secret as text, in one of the forms of [`Credential::from_env`].
    pub fn parse(text: &str) -> Option<Self> {
        let fits =
            !text.is_empty() && text.len() <= MAX && text.bytes().all(|byte| (0x20..0x7f).contains(&byte));
        if !fits {
            return None;
        }
        let header = if text.starts_with("Bearer ") {
            text.to_owned()
        } else if text.contains(':') {
            format!("Basic {}", STANDARD.encode(text))
        } else {
            format!("Basic {}", STANDARD.encode(format!("{USER}:{text}")))
        };
        let mut value = HeaderValue::from_str(&header).ok()?;
        // Neither `Debug` nor a log of the library shows it then.
        value.set_sensitive(true);
        Some(Self(value))
    }

    pub(crate) fn header(&self) -> HeaderValue {
        self.0.clone()
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credential(..)")
    }
}
