//! What a request is recognised by: what its guest wrote, without the placeholders of secrets, which another installation makes
//! otherwise.

use std::borrow::Cow;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::Uri;
use hyper::header::{self, HeaderMap, HeaderName};
use serde::{Deserialize, Serialize};

use crate::message::Target;
use crate::secrets::Washer;

/// A request as its guest wrote it; its body follows.
pub(crate) struct Asked {
    about: About,
    placeholders: Washer,
    values: Option<Washer>,
}

/// A request, as it stands in a recording.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct About {
    method: String,
    /// With stars in place of secrets' values that the guest wrote itself.
    url: String,
    /// BLAKE3 of the method, the URL and the two headers below as they were, where they have such stars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    exact: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    accept: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    content_type: Option<String>,
    /// Its BLAKE3: a guest may have one of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    authorization: Option<String>,
    /// BLAKE3 of the body.
    #[serde(default)]
    body: String,
}

/// What makes a request the same as another.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    exact: String,
    authorization: Option<String>,
    body: String,
}

impl About {
    /// What it is recognised by.
    pub(super) fn key(&self) -> Key {
        let exact = self.exact.clone().unwrap_or_else(|| self.exact());
        Key { exact, authorization: self.authorization.clone(), body: self.body.clone() }
    }

    /// Of what it shows. Lengths keep the parts apart, and a header that is there from one that is not.
    fn exact(&self) -> String {
        let mut parts = blake3::Hasher::new();
        let own = [Some(&self.method), Some(&self.url), self.accept.as_ref(), self.content_type.as_ref()];
        for part in own {
            let length = part.map_or(u64::MAX, |part| part.len() as u64);
            parts.update(&length.to_be_bytes());
            parts.update(part.map_or("", String::as_str).as_bytes());
        }
        parts.finalize().to_hex().to_string()
    }

    /// With stars in place of values.
    fn masked(mut self, values: &Washer) -> Self {
        let exact = self.exact();
        let mut is_masked = false;
        let own =
            [Some(&mut self.method), Some(&mut self.url), self.accept.as_mut(), self.content_type.as_mut()];
        for part in own.into_iter().flatten().filter(|part| values.finds(part.as_bytes())) {
            *part = String::from_utf8_lossy(&values.again().whole(part.as_bytes())).into_owned();
            is_masked = true;
        }
        self.exact = is_masked.then_some(exact);
        self
    }
}

impl fmt::Display for About {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let short: String = self.url.chars().take(200).collect();
        write!(f, "`{} {short}`", self.method)
    }
}

impl Asked {
    /// Of a request for a target. `placeholders` finds those of the sandbox; `values` finds values of secrets, which nobody gave the
    /// sandbox, where they are known.
    pub(crate) fn of(
        method: &str,
        target: &Target,
        uri: &Uri,
        headers: &HeaderMap,
        placeholders: Washer,
        values: Option<Washer>,
    ) -> Self {
        let path = if uri.path().is_empty() { "/" } else { uri.path() };
        let query = uri.query().map(|query| format!("?{query}")).unwrap_or_default();
        let url = format!("{}://{}{path}{query}", target.protocol, target.authority());
        let text = |name: &HeaderName| {
            let all: Vec<_> = headers.get_all(name).iter().map(|value| value.as_bytes()).collect();
            (!all.is_empty()).then(|| plain(&all.join(&b", "[..]), &placeholders))
        };
        let authorization = headers.get_all(header::AUTHORIZATION).iter().map(|value| {
            let open = basic(value.as_bytes());
            placeholders.again().whole(&open)
        });
        let authorization: Vec<Vec<u8>> = authorization.collect();
        let about = About {
            method: method.to_owned(),
            url: plain(url.as_bytes(), &placeholders),
            exact: None,
            accept: text(&header::ACCEPT),
            content_type: text(&header::CONTENT_TYPE),
            authorization: (!authorization.is_empty()).then(|| hash(&authorization.join(&b", "[..]))),
            body: String::new(),
        };
        Self { about, placeholders, values }
    }

    /// With its body.
    pub(super) fn about(&self, body: &[u8]) -> About {
        About { body: hash(&self.placeholders.again().whole(body)), ..self.about.clone() }
    }

    /// The same, as it is written down.
    pub(super) fn written(&self, body: &[u8]) -> About {
        let about = self.about(body);
        match &self.values {
            Some(values) => about.masked(values),
            None => about,
        }
    }

    /// What finds values of secrets in its answer.
    pub(super) fn values(&self) -> Option<Washer> {
        self.values.as_ref().map(Washer::again)
    }
}

fn plain(text: &[u8], placeholders: &Washer) -> String {
    String::from_utf8_lossy(&placeholders.again().whole(text)).into_owned()
}

/// What is behind the base64 of `Basic`; others as they are.
fn basic(value: &[u8]) -> Cow<'_, [u8]> {
    let coded = value.split_at_checked(6).filter(|(kind, _)| kind.eq_ignore_ascii_case(b"basic "));
    match coded.and_then(|(_, coded)| STANDARD.decode(coded.trim_ascii()).ok()) {
        Some(open) => Cow::Owned([b"basic ", open.as_slice()].concat()),
        None => Cow::Borrowed(value),
    }
}

fn hash(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}
