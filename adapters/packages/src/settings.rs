//! What the operator says.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use dormouse_core::{Error, Resolve, Result};
use reqwest::Url;

use crate::AllowList;

/// Whether packages can be installed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// No.
    #[default]
    Off,
    /// From the indexes that are named.
    On,
    /// As [`Mode::On`]; an index that is not named is the one that this machine's pip, uv or npm is configured with
    /// ([`crate::system_index`]).
    System,
}

impl Mode {
    /// Reads `off`, `on` or `system`.
    ///
    /// # Errors
    /// `args_invalid` for another word.
    pub fn parse(name: &str) -> Result<Self> {
        match name {
            "off" => Ok(Self::Off),
            "on" => Ok(Self::On),
            "system" => Ok(Self::System),
            _ => {
                let shown: String = name.escape_debug().take(64).collect();
                Err(Error::args_invalid(format!("`{shown}` does not say whether packages can be installed"))
                    .with_hint("write `off`, `on` or `system`"))
            }
        }
    }
}

/// How much one call may fetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Bytes of one archive. Default 64 MiB.
    pub archive: u64,
    /// Bytes of all unpacked files of a call. Default 256 MiB.
    pub unpacked: u64,
    /// Packages of a call, dependencies included. Default 200.
    pub packages: usize,
    /// Folders of `node_modules` in one another. Default 32.
    pub depth: usize,
    /// Bytes of an index's page about one package. Default 32 MiB.
    pub page: u64,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { archive: 64 << 20, unpacked: 256 << 20, packages: 200, depth: 32, page: 32 << 20 }
    }
}

/// All that the operator says about packages. The default is off, with no index and no allowed name.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Whether they can be installed at all.
    pub mode: Mode,
    /// The index of Python packages (PEP 503 or 691), such as `https://HOST/simple`.
    pub pip: Option<Index>,
    /// The registry of JavaScript packages, such as `https://HOST`.
    pub npm: Option<Index>,
    /// The names that are allowed, dependencies included.
    pub allow: AllowList,
    /// How much one call may fetch.
    pub bounds: Bounds,
    /// Where downloads are kept; none: nowhere.
    pub cache: Option<PathBuf>,
    /// Most bytes of the cache; the oldest go first. Default 1 GiB.
    pub cache_bytes: u64,
    /// How long a page of an index is taken for current. Default 10 minutes. An older one is used when the index cannot
    /// be reached, and a note says so.
    pub page_life: Duration,
    /// Time of one call. Default 5 minutes.
    pub time: Duration,
    /// Longest silence of an index. Default 20 s.
    pub stall: Duration,
    /// Who looks up names. None: the system's resolver, in this process.
    pub names: Option<Arc<dyn Resolve>>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            mode: Mode::Off,
            pip: None,
            npm: None,
            allow: AllowList::default(),
            bounds: Bounds::default(),
            cache: None,
            cache_bytes: 1 << 30,
            page_life: Duration::from_secs(600),
            time: Duration::from_secs(300),
            stall: Duration::from_secs(20),
            names: None,
        }
    }
}

/// The address of an index. A user and password in it, or a token, go to that address only and are never shown.
#[derive(Clone)]
pub struct Index {
    pub(crate) base: Url,
    pub(crate) user: Option<(String, String)>,
    pub(crate) token: Option<String>,
}

impl Index {
    /// Reads an address.
    ///
    /// # Errors
    /// `args_invalid` when it is not http or https, or has a query or a fragment; the text does not repeat it.
    pub fn parse(url: &str) -> Result<Self> {
        let bad = |why: &str| {
            Error::args_invalid(format!("the address of the package index {why}"))
                .with_hint("write it as `https://HOST/simple` for pip, `https://HOST` for npm")
        };
        let mut base = Url::parse(url.trim()).map_err(|_| bad("is no URL"))?;
        if !matches!(base.scheme(), "http" | "https") || !base.has_host() {
            return Err(bad("is not http or https"));
        }
        if base.query().is_some() || base.fragment().is_some() {
            return Err(bad("holds a query or a fragment"));
        }
        let plain = |text: &str| decoded(text);
        let user = (!base.username().is_empty())
            .then(|| (plain(base.username()), plain(base.password().unwrap_or_default())));
        // Neither fails for an address with a host.
        let _ = base.set_username("");
        let _ = base.set_password(None);
        let path = format!("{}/", base.path().trim_end_matches('/'));
        base.set_path(&path);
        Ok(Self { base, user, token: None })
    }

    /// With a bearer token.
    ///
    /// # Errors
    /// `args_invalid` when it cannot be a header; the text does not repeat it.
    pub fn with_token(mut self, token: &str) -> Result<Self> {
        if token.is_empty() || token.len() > 16 << 10 || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(Error::args_invalid("the token of the package index cannot be a header"));
        }
        self.token = Some(token.to_owned());
        Ok(self)
    }

    /// The host, for messages.
    pub(crate) fn host(&self) -> &str {
        self.base.host_str().unwrap_or_default()
    }
}

impl fmt::Debug for Index {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Index").field(&self.base.as_str()).finish()
    }
}

/// A part of a URL without its percent signs.
fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let (mut plain, mut at) = (Vec::new(), 0);
    while at < bytes.len() {
        let code = (bytes[at] == b'%').then(|| text.get(at + 1..at + 3)).flatten();
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => (plain.push(byte), at += 3).1,
            None => (plain.push(bytes[at]), at += 1).1,
        }
    }
    String::from_utf8_lossy(&plain).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_never_shows_its_password() {
        let index = Index::parse("https://me:p%40ss@h/simple").unwrap();
        assert_eq!(index.base.as_str(), "https://h/simple/");
        assert_eq!(index.user, Some(("me".into(), "p@ss".into())));
        let shown = format!("{:?}", index.with_token("hidden").unwrap());
        assert!(!shown.contains("ss@") && !shown.contains("hidden") && !shown.contains("me:"), "{shown}");
        for bad in ["", "h", "ftp://h", "file:///x", "https://h/?a=hidden", "https://h/#hidden"] {
            let error = Index::parse(bad).unwrap_err();
            assert!(!error.to_string().contains("hidden"), "{error}");
        }
    }
}
