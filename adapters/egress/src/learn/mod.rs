//! Rules out of an audit: the narrowest ones that allow what has left.
//!
//! An operator lets a sandbox do its work under wide rules, and learns from the audit what it needed. Hosts, ports, protocols and
//! methods are as they were seen; a segment of a path that looks like an id, or that had many values, becomes `*` ([`paths`]). The file
//! is the same for the same audit.

mod paths;
mod write;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead, Read as _};
use std::net::IpAddr;

use dormouse_core::{Error, ErrorCode, Result};
use serde::Deserialize;

use crate::address::{Network, is_public, plain};
use crate::errand::LANGUAGE;
use crate::host::Host;
use crate::policy::{Protocol, is_method};
use paths::Path;

/// Longest line that is read, in bytes: longer than any that the audit writes.
const MAX_LINE: u64 = 64 << 10;
/// Most hosts, ports and protocols: a file has no more rules.
const MAX_PLACES: usize = 1_000;
/// Paths of one method at one place; where there are more, any path is allowed.
const MAX_PATHS: usize = 10_000;
/// Reasons for which what was to be sent went nowhere.
const NOWHERE: [&str; 2] = ["address", "unknown_name"];
/// Places of refused requests that are told.
const MAX_REFUSED: usize = 100;

/// Which lines of an audit count. Default: all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Those of this sandbox.
    pub sandbox: Option<String>,
    /// Those of this run.
    pub run: Option<String>,
    /// Those of this owner.
    pub owner: Option<String>,
}

/// What an audit says that left.
#[derive(Debug, Default)]
pub struct Learned {
    places: BTreeMap<(Host, u16, &'static str), Place>,
    /// What was refused: host, port, the reason; how often.
    refused: BTreeMap<(Host, u16, String), u64>,
    requests: u64,
    unread: u64,
}

/// What left for one place.
#[derive(Debug, Default)]
struct Place {
    requests: BTreeMap<(String, Path), Seen>,
    /// Streams of bytes.
    streams: u64,
    /// Inner addresses that a name led to.
    addresses: BTreeSet<IpAddr>,
    secrets: BTreeSet<String>,
}

/// How often, and whether it became a WebSocket.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    count: u64,
    websocket: bool,
}

/// A line of the audit, as far as rules are concerned.
#[derive(Deserialize)]
struct Line {
    event: String,
    owner: String,
    sandbox: Option<String>,
    run: String,
    #[serde(default)]
    language: String,
    #[serde(default)]
    method: String,
    protocol: Protocol,
    host: String,
    port: u16,
    #[serde(default)]
    path: String,
    address: Option<IpAddr>,
    #[serde(default)]
    addresses: Vec<IpAddr>,
    status: Option<u16>,
    #[serde(default)]
    secrets: Vec<String>,
    reason: Option<String>,
}

impl Learned {
    /// Reads an audit.
    ///
    /// # Errors
    /// `state_unavailable` if it cannot be read; `too_large` for one with more than 1000 hosts.
    pub fn read(mut audit: impl BufRead, filter: &Filter) -> Result<Self> {
        let told = |error: io::Error| {
            Error::new(ErrorCode::StateUnavailable, format!("the audit cannot be read: {error}"))
        };
        let mut learned = Self::default();
        let mut line = Vec::new();
        loop {
            line.clear();
            if audit.by_ref().take(MAX_LINE).read_until(b'\n', &mut line).map_err(told)? == 0 {
                return Ok(learned);
            }
            if !line.ends_with(b"\n") && line.len() as u64 == MAX_LINE {
                learned.unread += 1;
                audit.skip_until(b'\n').map_err(told)?;
            } else if !line.trim_ascii().is_empty() {
                learned.line(&line, filter)?;
            }
        }
    }

    /// Requests that left.
    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// Whether nothing left, and nothing was refused.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty() && self.refused.is_empty()
    }

    /// Lines that are none of an audit.
    pub fn unread(&self) -> u64 {
        self.unread
    }

    fn line(&mut self, bytes: &[u8], filter: &Filter) -> Result<()> {
        let read = serde_json::from_slice::<Line>(bytes).ok();
        let read = read.and_then(|line| Some((Host::parse(&line.host)?, line)));
        let Some((host, line)) = read.filter(|(_, line)| line.is_good()) else {
            self.unread += 1;
            return Ok(());
        };
        if line.language == LANGUAGE {
            // Of no sandbox: what the operator connects needs no rule.
            return Ok(());
        }
        let is_wanted =
            |wanted: &Option<String>, own: Option<&str>| wanted.is_none() || wanted.as_deref() == own;
        if !is_wanted(&filter.sandbox, line.sandbox.as_deref())
            || !is_wanted(&filter.run, Some(&line.run))
            || !is_wanted(&filter.owner, Some(&line.owner))
        {
            return Ok(());
        }
        if line.event == "refused" {
            self.refuse((host, line.port, line.reason.unwrap_or_default()));
            return Ok(());
        }
        // Only dialled: what is asked there has lines of its own.
        if line.method.is_empty() && line.protocol != Protocol::Tcp {
            return Ok(());
        }
        let key = (host, line.port, line.protocol.word());
        if self.places.len() >= MAX_PLACES && !self.places.contains_key(&key) {
            return Err(Error::new(
                ErrorCode::TooLarge,
                format!("the audit has more than {MAX_PLACES} hosts"),
            )
            .with_hint("read that of one sandbox or run: --sandbox ID, --run ID"));
        }
        if line.event == "ended" && line.reason.as_deref().is_some_and(|reason| NOWHERE.contains(&reason)) {
            self.requests = self.requests.saturating_sub(1);
            self.never_left(&key, line);
            return Ok(());
        }
        let is_name = matches!(key.0, Host::Name(_));
        let place = self.places.entry(key).or_default();
        let is_new = line.event != "ended";
        self.requests += u64::from(is_new);
        place.secrets.extend(line.secrets);
        let addresses = line.address.into_iter().chain(line.addresses).map(plain);
        place.addresses.extend(addresses.filter(|address| is_name && !is_public(*address)));
        if line.protocol == Protocol::Tcp {
            place.streams += u64::from(is_new);
        } else {
            let seen = Seen { count: u64::from(is_new), websocket: line.status == Some(101) };
            place.see(line.method, Path::of(&line.path), seen);
        }
        Ok(())
    }
}

impl Learned {
    fn refuse(&mut self, place: (Host, u16, String)) {
        if self.refused.len() < MAX_REFUSED || self.refused.contains_key(&place) {
            *self.refused.entry(place).or_default() += 1;
        }
    }

    /// It was written down as sent, and its name led nowhere that it may go.
    fn never_left(&mut self, key: &(Host, u16, &'static str), line: Line) {
        self.refuse((key.0.clone(), key.1, line.reason.unwrap_or_default()));
        let Some(place) = self.places.get_mut(key) else { return };
        if line.protocol == Protocol::Tcp {
            place.streams = place.streams.saturating_sub(1);
        } else {
            let of = |path| (line.method.clone(), path);
            let own = [of(Path::of(&line.path)), of(Path::Any)];
            let Some(asked) = own.into_iter().find(|asked| place.requests.contains_key(asked)) else {
                return;
            };
            if let Some(seen) = place.requests.get_mut(&asked) {
                seen.count = seen.count.saturating_sub(1);
                if seen.count == 0 {
                    place.requests.remove(&asked);
                }
            }
        }
        if place.streams == 0 && place.requests.is_empty() {
            self.places.remove(key);
        }
    }
}

impl Line {
    /// Whether the gate could have written it.
    fn is_good(&self) -> bool {
        let is_name = |name: &String| {
            !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        };
        let is_event = matches!(self.event.as_str(), "sent" | "ended" | "replayed" | "refused");
        let is_asked = self.method.is_empty() || is_method(&self.method) || self.event == "refused";
        is_event && is_asked && self.port != 0 && self.secrets.iter().all(is_name)
    }
}

impl Place {
    fn see(&mut self, method: String, path: Path, new: Seen) {
        let of_method = |(other, _): &(String, Path)| *other == method;
        let is_full = || self.requests.keys().filter(|key| of_method(key)).count() >= MAX_PATHS;
        let key = (method.clone(), path);
        let key = if !self.requests.contains_key(&key) && is_full() { (method, Path::Any) } else { key };
        let seen = self.requests.entry(key).or_default();
        seen.count += new.count;
        seen.websocket |= new.websocket;
    }

    /// The inner networks that a rule has to name.
    fn networks(&self) -> Vec<Network> {
        self.addresses.iter().map(|address| Network::of(*address)).collect()
    }
}

#[cfg(test)]
#[path = "learn_tests.rs"]
mod tests;
