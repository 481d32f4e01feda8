//! The form of requests and answers: what a head may hold, and what of it is never passed on.

use hyper::header::{self, HeaderMap, HeaderName};
use hyper::{Method, Uri};

use crate::host::Host;
use crate::policy::Protocol;
use crate::reason::{Reason, Refusal};

/// Headers of a request.
pub(crate) const MAX_HEADERS: usize = 100;
/// Bytes of a request's head.
pub(crate) const MAX_HEAD: usize = 64 << 10;
/// Bytes of a path.
const MAX_PATH: usize = 8 << 10;
/// The header of an answer that says what was refused.
pub(crate) const DENIED: HeaderName = HeaderName::from_static("x-dormouse-denied");
/// Headers that are between two neighbours, and `Expect`, which hyper answers itself.
const HOP: [HeaderName; 10] = [
    header::CONNECTION,
    HeaderName::from_static("keep-alive"),
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    HeaderName::from_static("proxy-connection"),
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    header::EXPECT,
];
/// Headers by which some servers read another method than that of the request.
const OVERRIDES: [HeaderName; 3] = [
    HeaderName::from_static("x-http-method"),
    HeaderName::from_static("x-http-method-override"),
    HeaderName::from_static("x-method-override"),
];

/// Where a request goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) protocol: Protocol,
    pub(crate) host: Host,
    pub(crate) port: u16,
}

impl Target {
    /// Of an absolute URL.
    ///
    /// # Errors
    /// `form` for what is no address of HTTP; `unknown_name`.
    pub(crate) fn of(uri: &Uri) -> Result<Self, Refusal> {
        let protocol = match uri.scheme_str() {
            Some("https") => Protocol::Https,
            Some("http") => Protocol::Http,
            _ => return Err(Refusal::new(Reason::Form, "only http and https can be asked for")),
        };
        let authority = uri.authority().map_or("", |authority| authority.as_str());
        let (host, port) = authority_of(authority).ok_or_else(|| {
            let is_bad_port = authority.rsplit_once(':').is_some_and(|(host, _)| Host::parse(host).is_some());
            let told = if authority.contains('@') {
                "the URL names a user: what a server is to know of one stands in a header"
            } else if is_bad_port {
                "the URL's port is none from 1 to 65535"
            } else {
                "the URL's host is no name that can be looked up"
            };
            Refusal::new(Reason::UnknownName, told)
        })?;
        let port = port.or(protocol.port()).unwrap_or_default();
        Ok(Self { protocol, host, port })
    }

    /// As it stands in the header `Host`.
    pub(crate) fn authority(&self) -> String {
        self.host.authority(self.port, self.protocol.port().unwrap_or_default())
    }

    fn is(&self, authority: &str) -> bool {
        let usual = self.protocol.port();
        authority_of(authority)
            .is_some_and(|(host, port)| host == self.host && port.or(usual) == Some(self.port))
    }

    /// Whether a request says that it is for here: in its URL, if it is whole, and in `Host`.
    ///
    /// # Errors
    /// `authority`.
    pub(crate) fn is_meant(&self, uri: &Uri, headers: &HeaderMap, needs_host: bool) -> Result<(), Refusal> {
        let mut hosts = headers.get_all(header::HOST).iter();
        let host = hosts.next().map(|value| value.to_str().unwrap_or_default());
        let scheme = uri.scheme_str().is_none_or(|scheme| scheme == self.protocol.word());
        let whole = uri.authority().is_none_or(|authority| self.is(authority.as_str()));
        let named = host.map_or(!needs_host, |host| self.is(host));
        if scheme && whole && named && hosts.next().is_none() {
            return Ok(());
        }
        let told = format!("the request is not for `{}`, where it is sent", self.authority());
        Err(Refusal::new(Reason::Authority, told))
    }
}

/// `HOST` or `HOST:PORT`.
pub(crate) fn authority_of(text: &str) -> Option<(Host, Option<u16>)> {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => {
            let digits = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
            (host, Some(port.parse().ok().filter(|port| digits && *port != 0)?))
        }
        _ => (text, None),
    };
    // Outside of brackets an address of IPv6 is not one of a URL.
    if host.contains(':') && !host.starts_with('[') {
        return None;
    }
    Some((Host::parse(host)?, port))
}

/// Checks what a request's head may be, and takes the length of its body out of it.
///
/// # Errors
/// `form`.
pub(crate) fn head(uri: &Uri, headers: &mut HeaderMap) -> Result<Option<u64>, Refusal> {
    let form = |told: &str| Err(Refusal::new(Reason::Form, told));
    let size: usize = headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum();
    let target = uri.path_and_query().map_or("", |target| target.as_str());
    if headers.len() > MAX_HEADERS || size + target.len() > MAX_HEAD {
        return form("the request's head has more than 100 headers or 64 KiB");
    }
    if !target.is_empty() && !target.starts_with(['/', '?']) || uri.path().len() > MAX_PATH {
        return form("the request's path does not begin with `/`, or has more than 8 KiB");
    }
    let mut lengths = headers.get_all(header::CONTENT_LENGTH).iter();
    let length = match lengths.next().map(|value| value.to_str().unwrap_or_default()) {
        None => None,
        Some(text) if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) => {
            return form("the request's length is none");
        }
        Some(text) => match text.parse() {
            Ok(length) => Some(length),
            Err(_) => return form("the request's length is none"),
        },
    };
    if lengths.next().is_some() || length.is_some() && headers.contains_key(header::TRANSFER_ENCODING) {
        return form("the request has two lengths");
    }
    headers.remove(header::CONTENT_LENGTH);
    Ok(length)
}

/// The value of a header that stands there once, as text.
pub(crate) fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut all = headers.get_all(name).iter();
    let first = all.next()?.to_str().ok()?;
    all.next().is_none().then_some(first)
}

/// Whether a head says that a body follows.
pub(crate) fn says_body(headers: &HeaderMap) -> bool {
    let length = headers.get(header::CONTENT_LENGTH);
    headers.contains_key(header::TRANSFER_ENCODING) || length.is_some_and(|length| length.as_bytes() != b"0")
}

/// Takes out what is between two neighbours, and all that `Connection` names.
pub(crate) fn strip(headers: &mut HeaderMap) {
    if headers.contains_key(header::TRANSFER_ENCODING) {
        // It says nothing of the body then (RFC 9112, section 6.3).
        headers.remove(header::CONTENT_LENGTH);
    }
    let named: Vec<HeaderName> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| HeaderName::try_from(name.trim()).ok())
        .collect();
    for name in named.iter().chain(&HOP) {
        headers.remove(name);
    }
}

/// Takes out what makes another method of a request.
pub(crate) fn strip_overrides(headers: &mut HeaderMap) {
    OVERRIDES.iter().for_each(|name| drop(headers.remove(name)));
}

/// Whether an answer has a body of another form than its bytes.
pub(crate) fn is_encoded(headers: &HeaderMap) -> bool {
    let other = |value: &header::HeaderValue| !value.as_bytes().eq_ignore_ascii_case(b"identity");
    headers.get_all(header::CONTENT_ENCODING).iter().any(other)
}

/// Whether an answer's body is framed in a way that hyper does not take off.
pub(crate) fn is_framed_oddly(headers: &HeaderMap) -> bool {
    let mut all = headers.get_all(header::TRANSFER_ENCODING).iter();
    let first = all.next();
    first.is_some_and(|value| !value.as_bytes().eq_ignore_ascii_case(b"chunked")) || all.next().is_some()
}

/// Whether an answer has a body at all.
pub(crate) fn has_body(method: &Method, status: u16) -> bool {
    *method != Method::HEAD && !matches!(status, 204 | 304)
}

#[cfg(test)]
#[path = "message_tests.rs"]
mod tests;
