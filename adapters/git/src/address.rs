//! Addresses that the operator allows.

use dormouse_core::{Error, Result};
use reqwest::Url;

use crate::Credential;

/// Longest address that is asked for, in bytes.
pub(crate) const MAX_URL: usize = 4 << 10;

/// An allowed address: repositories below it can be reached.
#[derive(Clone, Debug)]
pub struct Allowed {
    prefix: Url,
    pub(crate) credential: Option<Credential>,
}

impl Allowed {
    /// Without a credential. `prefix` is `https://HOST/` or `https://HOST/FOLDER/`, also with `http` and a port; it ends at a
    /// slash of the address, so `https://HOST/a` allows `/a` and `/a/b` and not `/ab`.
    ///
    /// # Errors
    /// `args_invalid` for what is not http or https, or holds a user, a password, a query or a fragment. The text does not
    /// repeat it.
    pub fn new(prefix: &str) -> Result<Self> {
        let bad = |why: &str| {
            Error::args_invalid(format!("an allowed address of git repositories {why}"))
                .with_hint("write it as `https://HOST/FOLDER/`; the credential is given separately")
        };
        let mut prefix = Url::parse(prefix).map_err(|_| bad("is no URL"))?;
        if !matches!(prefix.scheme(), "http" | "https") || !prefix.has_host() {
            return Err(bad("is not http or https"));
        }
        if !prefix.username().is_empty() || prefix.password().is_some() {
            return Err(bad("holds a user or a password"));
        }
        if prefix.query().is_some() || prefix.fragment().is_some() {
            return Err(bad("holds a query or a fragment"));
        }
        if hides(prefix.path()) {
            return Err(bad("holds an encoded slash or an empty part"));
        }
        let path = prefix.path().trim_end_matches('/').to_owned();
        prefix.set_path(&path);
        Ok(Self { prefix, credential: None })
    }

    /// With what its server is told.
    #[must_use]
    pub fn with_credential(mut self, credential: Credential) -> Self {
        self.credential = Some(credential);
        self
    }

    /// Whether an address is this one or lies below it.
    pub(crate) fn covers(&self, url: &Url) -> bool {
        let own = &self.prefix;
        let place = |url: &Url| {
            (url.scheme().to_owned(), url.host_str().map(str::to_owned), url.port_or_known_default())
        };
        let folder = own.path().trim_end_matches('/');
        let below =
            url.path().strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        place(own) == place(url) && below
    }

    /// The address, which holds no user and no password.
    pub(crate) fn address(&self) -> &str {
        self.prefix.as_str()
    }

    /// How long it is: of several the longest counts.
    pub(crate) fn length(&self) -> usize {
        self.prefix.path().len()
    }

    /// Whether the credential would go over the network as it is.
    pub(crate) fn is_open(&self) -> bool {
        let host = self.prefix.host_str().unwrap_or_default();
        let local = host == "localhost" || host.starts_with("127.") || host == "[::1]";
        self.credential.is_some() && self.prefix.scheme() == "http" && !local
    }
}

/// A repository's address as a sandbox asks for it. None: it is not one that can be allowed.
pub(crate) fn repository(text: &str) -> Option<Url> {
    if text.len() > MAX_URL {
        return None;
    }
    let url = Url::parse(text).ok()?;
    let plain = url.username().is_empty()
        && url.password().is_none()
        && url.query().is_none()
        && url.fragment().is_none()
        && !hides(url.path());
    (plain && matches!(url.scheme(), "http" | "https")).then_some(url)
}

/// Whether a path has parts that a server may read otherwise than we do. Dots are resolved by [`Url`] already.
fn hides(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    ["%2f", "%5c", "%2e", "%00", "//", "\\"].iter().any(|part| lower.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_lies_below_is_covered() {
        let allowed = Allowed::new("https://h.example/team/").unwrap();
        let covers = |text: &str| repository(text).is_some_and(|url| allowed.covers(&url));
        for inside in
            ["https://h.example/team/a.git", "https://h.example/team", "https://H.example:443/team/x/../y"]
        {
            assert!(covers(inside), "{inside}");
        }
        for outside in [
            "https://h.example/teams/a",
            "https://h.example/team/../other",
            "https://h.example/team/%2e%2e/other",
            "https://h.example/team/..%2fother",
            "https://h.example/team//x",
            "http://h.example/team/a",
            "https://h.example:8443/team/a",
            "https://h.example.evil/team/a",
            "https://user:word@h.example/team/a",
            "https://h.example/team/a?x",
            "file:///team/a",
        ] {
            assert!(!covers(outside), "{outside}");
        }
        assert!(Allowed::new("https://u:p@h/").unwrap_err().to_string().contains("a user or a password"));
    }
}
