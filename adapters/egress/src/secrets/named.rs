//! What the operator said of a secret.

use std::fmt;

use dormouse_core::{Error, Result};
use hyper::header::HeaderName;

use crate::host::{Host, HostPattern};
use crate::secrets::Source;

/// The shape of a placeholder where none is named.
pub const DEFAULT_SHAPE: &str = "dormouse-{}";
/// Longest name of a secret, in bytes.
const MAX_NAME: usize = 128;
/// Longest shape, in bytes.
const MAX_SHAPE: usize = 128;
/// Headers that the gate writes, or that say how a message ends: no secret is put there, and no rule sets them.
const OWN: [&str; 14] = [
    "accept-encoding",
    "connection",
    "content-encoding",
    "content-length",
    "expect",
    "host",
    "if-range",
    "keep-alive",
    "proxy-connection",
    "range",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Variables that shells, interpreters and clients read. Besides, all that begin with `LD_` and `LC_`.
const NEEDED: [&str; 43] = [
    "AWS_CA_BUNDLE",
    "BASH_ENV",
    "CARGO_HTTP_CAINFO",
    "CURL_CA_BUNDLE",
    "DENO_CERT",
    "ENV",
    "GIT_SSL_CAINFO",
    "HOME",
    "HOSTNAME",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "IFS",
    "LANG",
    "LANGUAGE",
    "LOGNAME",
    "NODE_EXTRA_CA_CERTS",
    "NODE_OPTIONS",
    "NODE_PATH",
    "NODE_USE_ENV_PROXY",
    "NO_PROXY",
    "OLDPWD",
    "PATH",
    "PHPRC",
    "PHP_INI_SCAN_DIR",
    "PIP_CERT",
    "PWD",
    "PYTHONHASHSEED",
    "PYTHONHOME",
    "PYTHONINSPECT",
    "PYTHONPATH",
    "PYTHONSTARTUP",
    "REQUESTS_CA_BUNDLE",
    "SHELL",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "TERM",
    "TMPDIR",
    "TZ",
    "USER",
    "all_proxy",
    "http_proxy",
    "https_proxy",
    "no_proxy",
];

/// Where in a request a placeholder becomes the value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// `header:NAME`: in a header's value.
    Header(HeaderName),
    /// `basic`: in the user or the password of `Authorization: Basic`.
    Basic,
    /// `query:NAME`: in the value of a parameter of the query.
    Query(String),
}

impl Place {
    /// Those where none are named: `header:authorization`, `header:x-api-key`, `basic`.
    pub fn usual() -> Vec<Self> {
        let header = |name| Self::Header(HeaderName::from_static(name));
        vec![header("authorization"), header("x-api-key"), Self::Basic]
    }

    /// Reads a place.
    ///
    /// # Errors
    /// What is wrong with it, as a sentence about `it`.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        match text.split_once(':') {
            None if text == "basic" => Ok(Self::Basic),
            Some(("header", name)) => {
                let name = HeaderName::try_from(name).map_err(|_| "there is no such header")?;
                if is_own(&name) { Err("the gate writes this header itself") } else { Ok(Self::Header(name)) }
            }
            Some(("query", name)) if !name.is_empty() && name.bytes().all(is_unreserved) => {
                Ok(Self::Query(name.to_owned()))
            }
            _ => Err("it is none of `header:NAME`, `basic` and `query:NAME`"),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Header(name) => write!(f, "header:{name}"),
            Self::Basic => f.write_str("basic"),
            Self::Query(name) => write!(f, "query:{name}"),
        }
    }
}

/// Whether the gate writes a header itself.
pub(crate) fn is_own(name: &HeaderName) -> bool {
    OWN.contains(&name.as_str())
}

/// Whether a byte stands for itself everywhere in a URL.
pub(crate) fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)
}

/// A secret, without its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Secret {
    /// Its name: the environment variable of a sandbox that holds its placeholder.
    pub name: String,
    /// Where its value comes from.
    pub source: Source,
    /// Where it may go. Never empty, never `*`.
    pub hosts: Vec<HostPattern>,
    /// Where in a request its placeholder counts.
    pub places: Vec<Place>,
    /// What its placeholder looks like; `{}` stands for 32 hexadecimal digits.
    pub shape: String,
}

impl Secret {
    /// Checks what the operator wrote.
    ///
    /// # Errors
    /// `args_invalid` with the field, below `secret.NAME`.
    pub fn new(
        name: &str,
        source: Source,
        hosts: &[String],
        places: Option<&[String]>,
        shape: Option<&str>,
    ) -> Result<Self> {
        let shown: String = name.escape_debug().take(80).collect();
        let wrong = |field: &str, told: String| Error::args_invalid(format!("secret.{shown}{field}: {told}"));
        if !is_name(name) {
            return Err(wrong("", "it is no name of an environment variable".into()));
        }
        if is_needed(name) {
            return Err(wrong("", "programs need the variable of this name for something else".into())
                .with_hint("a secret's name is the variable that holds its placeholder: choose one such as `API_KEY`"));
        }
        if hosts.is_empty() {
            return Err(wrong(".hosts", "it names no host".into())
                .with_hint("name the hosts that the secret is for; it goes to no other"));
        }
        let mut patterns = Vec::new();
        for host in hosts {
            let shown: String = host.escape_debug().take(80).collect();
            match HostPattern::parse(host) {
                None => return Err(wrong(".hosts", format!("`{shown}` is no host"))),
                Some(HostPattern::Any) => {
                    return Err(wrong(".hosts", "a secret is not for every host".into()));
                }
                Some(pattern) => patterns.push(pattern),
            }
        }
        let mut read = Vec::new();
        for place in places.unwrap_or_default() {
            let shown: String = place.escape_debug().take(80).collect();
            read.push(Place::parse(place).map_err(|told| wrong(".places", format!("`{shown}`: {told}")))?);
        }
        let places = if places.is_none() { Place::usual() } else { read };
        let shape = shape.unwrap_or(DEFAULT_SHAPE);
        let around: Vec<&str> = shape.split("{}").collect();
        if around.len() != 2 || shape.len() > MAX_SHAPE || !around.concat().bytes().all(is_unreserved) {
            let told =
                "it has `{}` once, and besides letters, digits and `-._~` only, in at most 128 bytes".into();
            return Err(wrong(".shape", told));
        }
        Ok(Self { name: name.to_owned(), source, hosts: patterns, places, shape: shape.to_owned() })
    }

    /// Whether it may go to a host.
    pub fn is_for(&self, host: &Host) -> bool {
        self.hosts.iter().any(|pattern| pattern.fits(host))
    }

    /// Whether it may go to every host of a pattern.
    pub(crate) fn is_for_all(&self, pattern: &HostPattern) -> bool {
        self.hosts.iter().any(|own| own.covers(pattern))
    }

    /// Whether it may go to some host of a pattern.
    pub(crate) fn is_for_some(&self, pattern: &HostPattern) -> bool {
        self.hosts.iter().any(|own| own.covers(pattern) || pattern.covers(own))
    }
}

/// Whether a placeholder in this variable would keep programs from working.
fn is_needed(name: &str) -> bool {
    NEEDED.contains(&name) || ["LD_", "LC_"].iter().any(|prefix| name.starts_with(prefix))
}

/// Whether a text is a name that an environment variable can have.
pub(crate) fn is_name(text: &str) -> bool {
    (1..=MAX_NAME).contains(&text.len())
        && !text.starts_with(|first: char| first.is_ascii_digit())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}
