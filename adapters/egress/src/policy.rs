//! What may leave: rules that allow, in their order, and nothing that none of them names.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use dormouse_core::{Error, ErrorCode, Result};
use hyper::header::HeaderName;
use serde::{Deserialize, Serialize};

use crate::address::Network;
use crate::host::{Host, HostPattern};
use crate::list::some;
use crate::path::{PathPattern, has_one_reading};
use crate::reason::{Reason, Refusal};

/// Longest method, in bytes.
pub(crate) const MAX_METHOD: usize = 32;

/// What is spoken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// HTTP over TLS; port 443 unless another is named.
    #[default]
    Https,
    /// HTTP in the open; port 80 unless another is named.
    Http,
    /// Bytes. Nothing of them is looked at, and no secret goes into them.
    Tcp,
}

impl Protocol {
    /// The port where none is named.
    pub fn port(self) -> Option<u16> {
        match self {
            Self::Https => Some(443),
            Self::Http => Some(80),
            Self::Tcp => None,
        }
    }

    /// The word, as in files.
    pub fn word(self) -> &'static str {
        match self {
            Self::Https => "https",
            Self::Http => "http",
            Self::Tcp => "tcp",
        }
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// A header that a rule sets, whatever the sandbox wrote there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetHeader {
    /// Its name.
    pub name: HeaderName,
    /// Its value, in parts.
    pub parts: Vec<Part>,
}

/// A part of a header that a rule sets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// This text.
    Text(String),
    /// The value of the secret of this name.
    Secret(String),
}

/// What one rule allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Where it stands: `profile.default.allow[0]`.
    pub id: String,
    /// Its hosts.
    pub host: HostPattern,
    /// Its port.
    pub port: u16,
    /// What is spoken there.
    pub protocol: Protocol,
    /// Its methods. None named: all that are upper case, but CONNECT and TRACE.
    pub methods: Vec<String>,
    /// Its paths. None named: all.
    pub paths: Vec<PathPattern>,
    /// Whether a request of it may become a WebSocket.
    pub websocket: bool,
    /// Whether strangers may have written what its hosts answer. A run that has read it sends nothing to hosts that are `outward`.
    pub untrusted: bool,
    /// Whether its hosts carry data out.
    pub outward: bool,
    /// Networks outside of the public internet in which its hosts may lie.
    pub addresses: Vec<Network>,
    /// Headers that the gate sets.
    pub set: Vec<SetHeader>,
}

impl Rule {
    /// The networks that its hosts may lie in besides the public internet. An address that a rule is for names itself.
    pub(crate) fn networks(&self) -> Vec<Network> {
        let own = match &self.host {
            HostPattern::Exact(Host::Address(address)) => Some(Network::of(*address)),
            _ => None,
        };
        self.addresses.iter().copied().chain(own).collect()
    }

    fn allows_method(&self, method: &str) -> bool {
        if self.methods.is_empty() {
            is_method(method) && !matches!(method, "CONNECT" | "TRACE")
        } else {
            self.methods.iter().any(|one| one == method)
        }
    }

    fn allows_path(&self, path: &str) -> bool {
        self.paths.is_empty() || has_one_reading(path) && self.paths.iter().any(|one| one.fits(path))
    }

    /// What it lacks for a request, if anything.
    fn lacks(&self, asked: &Asked<'_>) -> Option<Reason> {
        if !self.host.fits(asked.host) {
            Some(Reason::Host)
        } else if self.port != asked.port {
            Some(Reason::Port)
        } else if self.protocol != asked.protocol {
            Some(Reason::Protocol)
        } else if !self.allows_method(asked.method) {
            Some(Reason::Method)
        } else if !self.allows_path(asked.path) {
            Some(Reason::Path)
        } else if asked.websocket && !self.websocket {
            Some(Reason::Upgrade)
        } else {
            None
        }
    }
}

/// Whether a text is a method as rules know them: `GET`, `M-SEARCH`.
pub(crate) fn is_method(text: &str) -> bool {
    (1..=MAX_METHOD).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_uppercase() || b"-_".contains(&byte))
}

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// What is spoken.
    pub protocol: Protocol,
    /// Where.
    pub host: &'a Host,
    /// At which port.
    pub port: u16,
    /// How, as it was written. Empty for [`Protocol::Tcp`].
    pub method: &'a str,
    /// The path, as it was written, without the query.
    pub path: &'a str,
    /// Whether it is to become a WebSocket.
    pub websocket: bool,
}

/// Rules, in their order: the first one that fits counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// Its name, by which a sandbox finds it again when the operator's file was changed.
    pub name: String,
    /// The rules.
    pub rules: Vec<Rule>,
}

impl Profile {
    /// The rule that allows a request.
    ///
    /// # Errors
    /// What the rule that came nearest lacked: `host`, `port`, `protocol`, `method`, `path` or `upgrade`.
    pub fn decide(&self, asked: &Asked<'_>) -> Result<&Rule, Refusal> {
        let mut nearest: (Reason, Option<&Rule>) = (Reason::Host, None);
        for rule in &self.rules {
            match rule.lacks(asked) {
                None => return Ok(rule),
                Some(lack) if rank(lack) > rank(nearest.0) => nearest = (lack, Some(rule)),
                Some(_) => {}
            }
        }
        Err(refusal(asked, nearest.0, nearest.1))
    }

    /// Whether anything at all may be sent to a place; the first rule that is for it.
    ///
    /// # Errors
    /// `host` or `port`.
    pub fn reaches(&self, host: &Host, port: u16) -> Result<&Rule, Refusal> {
        let at_host = |rule: &&Rule| rule.host.fits(host);
        if let Some(rule) = self.rules.iter().filter(at_host).find(|rule| rule.port == port) {
            return Ok(rule);
        }
        let near = self.rules.iter().find(at_host);
        let reason = if near.is_some() { Reason::Port } else { Reason::Host };
        let asked = Asked { protocol: Protocol::Tcp, host, port, method: "", path: "", websocket: false };
        Err(refusal(&asked, reason, near))
    }

    /// The first rule that allows https to a place.
    ///
    /// # Errors
    /// `protocol`, `host` or `port`.
    pub(crate) fn secure(&self, host: &Host, port: u16) -> Result<&Rule, Refusal> {
        let near = self.reaches(host, port)?;
        let fits = |rule: &&Rule| rule.port == port && rule.host.fits(host);
        let found = self.rules.iter().filter(fits).find(|rule| rule.protocol == Protocol::Https);
        let asked = Asked { protocol: Protocol::Https, host, port, method: "", path: "", websocket: false };
        found.ok_or_else(|| refusal(&asked, Reason::Protocol, Some(near)))
    }

    /// The rule that allows bytes of any form to a place.
    pub fn raw(&self, host: &Host, port: u16) -> Option<&Rule> {
        let rules = self.rules.iter();
        rules
            .filter(|rule| rule.protocol == Protocol::Tcp && rule.port == port)
            .find(|rule| rule.host.fits(host))
    }
}

/// How near a rule came that lacks this.
fn rank(reason: Reason) -> u8 {
    match reason {
        Reason::Port => 1,
        Reason::Protocol => 2,
        Reason::Method => 3,
        Reason::Path => 4,
        Reason::Upgrade => 5,
        _ => 0,
    }
}

fn refusal(asked: &Asked<'_>, reason: Reason, rule: Option<&Rule>) -> Refusal {
    let Asked { protocol, host, port, method, path, .. } = asked;
    let short = |text: &str| text.chars().take(200).collect::<String>().escape_debug().to_string();
    let message = match reason {
        // Where the protocol is not known yet, there is no method.
        Reason::Port
            if let Some(rule) = rule.filter(|rule| !method.is_empty() && rule.protocol != *protocol) =>
        {
            format!(
                "no rule allows {protocol} to `{host}` at port {port}; the nearest is of {} at port {}",
                rule.protocol, rule.port
            )
        }
        Reason::Port => format!("no rule allows port {port} of `{host}`"),
        Reason::Protocol => format!("no rule allows {protocol} to `{host}` at port {port}"),
        Reason::Method => format!("no rule allows the method `{}` at `{host}`", short(method)),
        Reason::Path => format!("no rule allows the path `{}` at `{host}`", short(path)),
        Reason::Upgrade => format!("no rule allows a WebSocket to `{host}`: it would say `websocket = true`"),
        _ => format!("no rule allows the host `{host}`"),
    };
    let refusal = Refusal::new(reason, message);
    match rule {
        Some(rule) => refusal.of(&rule.id),
        None => refusal,
    }
}

/// What one sandbox may reach: a profile of the operator's, and what a call made of it. A call only narrows.
#[derive(Clone, Debug)]
pub struct Grant {
    profile: Arc<Profile>,
    narrowed: Option<Profile>,
    /// Names of secrets; none: all that are for hosts of the profile.
    secrets: Option<Vec<String>>,
    /// Whether the profile is in no file of the operator's.
    is_fixed: bool,
}

/// What a call asks for: rules that are narrower than its profile. Unknown fields are errors.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wanted {
    /// What is to be allowed, of what the profile allows.
    #[serde(default)]
    pub allow: Vec<WantedRule>,
    /// Secrets that are to be there, by name. Default: all of the profile's.
    pub secrets: Option<Vec<String>>,
}

/// A rule that a call asks for. What it means is as in the operator's file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WantedRule {
    /// A host, or `*.` and a name.
    pub host: String,
    /// Its port. Default: that of the protocol.
    pub port: Option<u16>,
    /// What is spoken. Default: https.
    #[serde(default)]
    pub protocol: Protocol,
    /// Methods, where some are named. Default: those of the profile.
    #[serde(default, deserialize_with = "some")]
    pub methods: Vec<String>,
    /// Paths, where some are named. Default: those of the profile.
    #[serde(default, deserialize_with = "some")]
    pub paths: Vec<String>,
    /// Whether requests may become WebSockets. Default: as the profile has it.
    pub websocket: Option<bool>,
}

impl Grant {
    /// A whole profile.
    pub fn new(profile: Arc<Profile>) -> Self {
        Self { profile, narrowed: None, secrets: None, is_fixed: false }
    }

    /// Rules that stand in no file, and stay when the file changes.
    pub(crate) fn fixed(rules: Vec<Rule>) -> Self {
        let profile = Arc::new(Profile { name: String::new(), rules });
        Self { is_fixed: true, ..Self::new(profile) }
    }

    /// The part of a profile that a call asks for.
    ///
    /// # Errors
    /// `args_invalid` for what cannot be read; `network_denied` for a host, port, protocol or method that the profile does not allow.
    pub fn narrowed(profile: Arc<Profile>, wanted: &Wanted) -> Result<Self> {
        let mut rules = Vec::new();
        for (at, asked) in wanted.allow.iter().enumerate() {
            let rule = asked.read(&format!("network.allow[{at}]"))?;
            let covers = |own: &&Rule| {
                own.host.covers(&rule.host) && own.port == rule.port && own.protocol == rule.protocol
            };
            let place = format!("`{}` at port {} ({})", rule.host, rule.port, rule.protocol);
            if !profile.rules.iter().any(|own| covers(&own)) {
                return Err(beyond(format!("the operator's rules do not allow {place}")));
            }
            for method in &rule.methods {
                if !profile.rules.iter().filter(covers).any(|own| own.allows_method(method)) {
                    return Err(beyond(format!(
                        "the operator's rules do not allow the method `{method}` for {place}"
                    )));
                }
            }
            if asked.websocket == Some(true) && !profile.rules.iter().filter(covers).any(|own| own.websocket)
            {
                return Err(beyond(format!("the operator's rules do not allow a WebSocket for {place}")));
            }
            rules.push(rule);
        }
        let secrets = wanted.secrets.clone();
        let narrowed = Profile { name: profile.name.clone(), rules };
        Ok(Self { profile, narrowed: Some(narrowed), secrets, is_fixed: false })
    }

    /// The same of the profile that has the name of its own now. It allows nothing if there is none.
    pub(crate) fn renewed(&self, profiles: &BTreeMap<String, Arc<Profile>>) -> Self {
        if self.is_fixed {
            return self.clone();
        }
        let name = &self.profile.name;
        let none = || Arc::new(Profile { name: name.clone(), rules: Vec::new() });
        let profile = profiles.get(name).cloned().unwrap_or_else(none);
        Self { profile, ..self.clone() }
    }

    /// The operator's rules.
    pub fn profile(&self) -> &Arc<Profile> {
        &self.profile
    }

    /// Names of the secrets that the call asked for. None: all that are for hosts of the profile.
    pub(crate) fn secrets(&self) -> Option<&[String]> {
        self.secrets.as_deref()
    }

    /// The rules that all have to allow a request: the operator's, and the call's.
    pub(crate) fn rule_sets(&self) -> impl Iterator<Item = &[Rule]> {
        std::iter::once(&*self.profile).chain(&self.narrowed).map(|profile| profile.rules.as_slice())
    }

    /// The operator's rule that allows a request, if the call's own rules do as well.
    ///
    /// # Errors
    /// As [`Profile::decide`].
    pub fn decide(&self, asked: &Asked<'_>) -> Result<&Rule, Refusal> {
        if let Some(narrowed) = &self.narrowed {
            narrowed.decide(asked)?;
        }
        self.profile.decide(asked)
    }

    /// Whether anything at all may be sent to a place.
    ///
    /// # Errors
    /// As [`Profile::reaches`].
    pub fn reaches(&self, host: &Host, port: u16) -> Result<&Rule, Refusal> {
        if let Some(narrowed) = &self.narrowed {
            narrowed.reaches(host, port)?;
        }
        self.profile.reaches(host, port)
    }

    /// The operator's first rule that allows https to a place, if the call's own rules do as well.
    pub(crate) fn secure(&self, host: &Host, port: u16) -> Result<&Rule, Refusal> {
        if let Some(narrowed) = &self.narrowed {
            narrowed.secure(host, port)?;
        }
        self.profile.secure(host, port)
    }

    /// The operator's rule that allows bytes of any form to a place, if the call's own rules do as well.
    pub fn raw(&self, host: &Host, port: u16) -> Option<&Rule> {
        if let Some(narrowed) = &self.narrowed {
            narrowed.raw(host, port)?;
        }
        self.profile.raw(host, port)
    }
}

fn beyond(message: String) -> Error {
    Error::new(ErrorCode::NetworkDenied, message)
        .with_hint("ask for what the profile allows; the operator's file of rules widens it")
}

impl WantedRule {
    /// The rule that it asks for; `id` is where it stands.
    fn read(&self, id: &str) -> Result<Rule> {
        let mut rule = rule(id, self)?;
        rule.websocket = self.websocket != Some(false);
        Ok(rule)
    }
}

/// Reads what all rules have.
///
/// # Errors
/// `args_invalid` with the field.
pub(crate) fn rule(id: &str, given: &WantedRule) -> Result<Rule> {
    let wrong = |field: &str, told: &str| Error::args_invalid(format!("{id}.{field}: {told}"));
    let shown: String = given.host.escape_debug().take(80).collect();
    let host = HostPattern::parse(&given.host).ok_or_else(|| {
        wrong("host", &format!("`{shown}` is no host"))
            .with_hint("write a name, `*.` and a name, `*`, or an address; ports have a field of their own")
    })?;
    let port = given.port.or(given.protocol.port());
    let port = port
        .filter(|port| *port != 0)
        .ok_or_else(|| wrong("port", "a rule of tcp names its port, from 1 to 65535"))?;
    if given.protocol == Protocol::Tcp {
        let named = [
            ("methods", !given.methods.is_empty()),
            ("paths", !given.paths.is_empty()),
            ("websocket", given.websocket.is_some()),
        ];
        if let Some((field, _)) = named.iter().find(|(_, named)| *named) {
            return Err(wrong(field, "tcp is bytes, and has none"));
        }
    }
    for method in &given.methods {
        if !is_method(method) || matches!(method.as_str(), "CONNECT" | "TRACE") {
            let shown: String = method.escape_debug().take(80).collect();
            let told =
                format!("`{shown}` is no method that can be allowed: upper case, not CONNECT and not TRACE");
            return Err(wrong("methods", &told));
        }
    }
    let mut paths = Vec::new();
    for (at, path) in given.paths.iter().enumerate() {
        paths.push(PathPattern::parse(path).map_err(|told| {
            let shown: String = path.escape_debug().take(200).collect();
            wrong(&format!("paths[{at}]"), &format!("`{shown}`: {told}"))
        })?);
    }
    let websocket = given.websocket.unwrap_or_default();
    if websocket && !given.methods.is_empty() && !given.methods.iter().any(|method| method == "GET") {
        return Err(wrong("websocket", "a WebSocket begins with GET, which `methods` does not name"));
    }
    let (protocol, methods) = (given.protocol, given.methods.clone());
    Ok(Rule {
        id: id.to_owned(),
        host,
        port,
        protocol,
        methods,
        paths,
        websocket,
        untrusted: false,
        outward: false,
        addresses: Vec::new(),
        set: Vec::new(),
    })
}

#[cfg(test)]
#[path = "policy_tests.rs"]
mod tests;
