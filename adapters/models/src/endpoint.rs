//! What the operator says of an endpoint, checked.

use std::time::Duration;

use dormouse_core::{Error, Result};
use reqwest::Url;

use crate::Key;

/// The form of an endpoint's interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Api {
    /// `POST …/chat/completions`, the key as a bearer token.
    OpenAi,
    /// `POST …/v1/messages`, the key as `x-api-key`.
    Anthropic,
}

impl Api {
    /// Every form by its name.
    pub const ALL: [(&'static str, Self); 2] = [("openai", Self::OpenAi), ("anthropic", Self::Anthropic)];

    /// Reads a name.
    ///
    /// # Errors
    /// `args_invalid`, naming those that there are.
    pub fn parse(name: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|(known, _)| *known == name).map(|(_, api)| api).ok_or_else(|| {
            let shown: String = name.escape_debug().take(64).collect();
            Error::args_invalid(format!("`{shown}` is not a known API of a model"))
                .with_hint("choose `openai` or `anthropic`")
        })
    }
}

/// An endpoint of a language model.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// Where requests go.
    pub(crate) url: Url,
    pub(crate) api: Api,
    pub(crate) model: String,
    pub(crate) key: Option<Key>,
    /// Time of one call, retries included.
    pub(crate) time: Duration,
    /// Longest wait between two tries.
    pub(crate) patience: Duration,
}

impl Endpoint {
    /// Longest name of a model, in bytes.
    pub const MAX_MODEL: usize = 256;

    /// An endpoint without a key. `url` is the base address, such as `https://HOST/v1`, or the whole one.
    ///
    /// # Errors
    /// `args_invalid` for an address that is not http or https, that holds a password, a query or a fragment, and for a
    /// name of a model that is empty or too long.
    pub fn new(url: &str, api: Api, model: &str) -> Result<Self> {
        let bad = |why: &str| {
            Error::args_invalid(format!("the address of the model's endpoint {why}"))
                .with_hint("write it as `https://HOST/v1`; the key is given separately")
        };
        let mut url = Url::parse(url).map_err(|_| bad("is no URL"))?;
        if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
            return Err(bad("is not http or https"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(bad("holds a user or a password"));
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(bad("holds a query or a fragment"));
        }
        if model.is_empty() || model.len() > Self::MAX_MODEL || model.chars().any(char::is_control) {
            return Err(Error::args_invalid("the name of the model must have 1 to 256 bytes"));
        }
        let path = whole_path(url.path(), api);
        url.set_path(&path);
        let (time, patience) = (Duration::from_secs(60), Duration::from_secs(20));
        Ok(Self { url, api, model: model.to_owned(), key: None, time, patience })
    }

    /// With a key.
    #[must_use]
    pub fn with_key(mut self, key: Key) -> Self {
        self.key = Some(key);
        self
    }

    /// With another time for one call, retries included. Default 60 s.
    #[must_use]
    pub fn with_time(mut self, time: Duration) -> Self {
        self.time = time;
        self
    }

    /// Whether it lies on this machine.
    pub(crate) fn is_local(&self) -> bool {
        let host = self.url.host_str().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
        host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
    }
}

fn whole_path(path: &str, api: Api) -> String {
    let path = path.trim_end_matches('/');
    match api {
        Api::OpenAi if path.ends_with("/chat/completions") => path.to_owned(),
        Api::OpenAi => format!("{path}/chat/completions"),
        Api::Anthropic if path.ends_with("/messages") => path.to_owned(),
        Api::Anthropic if path.ends_with("/v1") => format!("{path}/messages"),
        Api::Anthropic => format!("{path}/v1/messages"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_completed() {
        for (api, given, whole) in [
            (Api::OpenAi, "https://h/v1", "https://h/v1/chat/completions"),
            (Api::OpenAi, "https://h/v1/", "https://h/v1/chat/completions"),
            (Api::OpenAi, "http://h:1", "http://h:1/chat/completions"),
            (Api::OpenAi, "https://h/v1/chat/completions", "https://h/v1/chat/completions"),
            (Api::Anthropic, "https://h", "https://h/v1/messages"),
            (Api::Anthropic, "https://h/v1", "https://h/v1/messages"),
            (Api::Anthropic, "https://h/v1/messages", "https://h/v1/messages"),
            (Api::Anthropic, "https://h/proxy", "https://h/proxy/v1/messages"),
        ] {
            assert_eq!(Endpoint::new(given, api, "m").unwrap().url.as_str(), whole);
        }
    }

    #[test]
    fn an_address_with_a_secret_or_of_another_kind_is_refused_without_being_repeated() {
        for bad in [
            "",
            "h",
            "ftp://h",
            "file:///x",
            "https://u:hidden@h/v1",
            "https://h/v1?key=hidden",
            "https://h/#hidden",
        ] {
            let error = Endpoint::new(bad, Api::OpenAi, "m").unwrap_err();
            assert!(!error.to_string().contains("hidden"), "{error}");
        }
        assert!(Endpoint::new("https://h", Api::OpenAi, "").is_err());
        assert!(Endpoint::new("https://h", Api::OpenAi, &"m".repeat(257)).is_err());
        assert!(Endpoint::new("http://127.0.0.1:1", Api::OpenAi, "m").unwrap().is_local());
        assert!(Endpoint::new("http://[::1]:1", Api::OpenAi, "m").unwrap().is_local());
        assert!(!Endpoint::new("http://localhost.example", Api::OpenAi, "m").unwrap().is_local());
    }
}
