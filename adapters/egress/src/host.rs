//! Hosts in their one form, and the patterns of rules for them.
//!
//! A name that two readers could take for different things is none: forms that some resolvers take for an address (`127.1`,
//! `0x7f.1`, `2130706433`) are refused, whoever would read them.

use std::fmt;
use std::net::IpAddr;

use serde::{Serialize, Serializer};

/// Longest text that is looked at, in bytes: longer than any name, in any spelling.
const MAX_TEXT: usize = 1_024;
/// Longest name, in bytes, without a final dot.
const MAX_NAME: usize = 253;
/// Longest label of a name, in bytes.
const MAX_LABEL: usize = 63;

/// Where a request is for: a name, or an address that was written as one.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Host {
    /// A name: lower case, ASCII, without a final dot.
    Name(String),
    /// An address.
    Address(IpAddr),
}

impl Host {
    /// Reads a host. IPv6 stands in brackets or without; a name may end with one dot and have letters of any script, which become ASCII
    /// as browsers do it. None: it can be read in more than one way, or in none.
    pub fn parse(text: &str) -> Option<Self> {
        if text.len() > MAX_TEXT {
            return None;
        }
        if let Some(rest) = text.strip_prefix('[') {
            return rest.strip_suffix(']')?.parse().ok().map(|six| Self::Address(IpAddr::V6(six)));
        }
        if let Ok(address) = text.parse() {
            return Some(Self::Address(address));
        }
        name(text).map(Self::Name)
    }

    /// The host as it stands in a URL or in the header `Host`: IPv6 in brackets, and the port where it is not `usual`.
    pub(crate) fn authority(&self, port: u16, usual: u16) -> String {
        let host = match self {
            Self::Address(IpAddr::V6(six)) => format!("[{six}]"),
            other => other.to_string(),
        };
        if port == usual { host } else { format!("{host}:{port}") }
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Address(address) => address.fmt(f),
        }
    }
}

impl Serialize for Host {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A name in its one form.
fn name(text: &str) -> Option<String> {
    let text = text.strip_suffix('.').unwrap_or(text);
    let plain = |label: &str| {
        (1..=MAX_LABEL).contains(&label.len())
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    let found = idna::domain_to_ascii_cow(text.as_bytes(), idna::AsciiDenyList::URL).ok()?.into_owned();
    let last = found.rsplit('.').next().unwrap_or_default();
    let good = found.len() <= MAX_NAME && !is_number(last) && found.split('.').all(plain);
    good.then_some(found)
}

/// Whether some readers take a name that ends with this label for an address.
fn is_number(label: &str) -> bool {
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let hex = label.strip_prefix("0x");
    digits(label) || hex.is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// The hosts that a rule is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostPattern {
    /// `*`: every name, and no address.
    Any,
    /// `*.example.com`: every name with at least one label more, and not `example.com` itself.
    Below(String),
    /// This one.
    Exact(Host),
}

impl HostPattern {
    /// Reads a pattern. None: there is no such one; stars stand at the beginning alone, before a dot.
    pub fn parse(text: &str) -> Option<Self> {
        if text == "*" {
            return Some(Self::Any);
        }
        match text.strip_prefix("*.") {
            Some(rest) => match Host::parse(rest)? {
                Host::Name(name) => Some(Self::Below(name)),
                Host::Address(_) => None,
            },
            None => Host::parse(text).map(Self::Exact),
        }
    }

    /// Whether it is for a host.
    pub fn fits(&self, host: &Host) -> bool {
        match (self, host) {
            (Self::Any, Host::Name(_)) => true,
            (Self::Below(parent), Host::Name(name)) => is_below(name, parent),
            (Self::Exact(one), host) => one == host,
            _ => false,
        }
    }

    /// Whether it is for every host that the other is for.
    pub fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (_, Self::Exact(host)) => self.fits(host),
            (Self::Any, _) => true,
            (Self::Below(parent), Self::Below(name)) => parent == name || is_below(name, parent),
            _ => false,
        }
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("*"),
            Self::Below(parent) => write!(f, "*.{parent}"),
            Self::Exact(host) => host.fmt(f),
        }
    }
}

fn is_below(name: &str, parent: &str) -> bool {
    name.strip_suffix(parent).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
}

#[cfg(test)]
#[path = "host_tests.rs"]
mod tests;
