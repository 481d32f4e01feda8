//! The operator's file of rules, secrets and budgets. Whatever it says that is not understood is an error, by its field.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::str::FromStr as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytesize::ByteSize;
use dormouse_core::{Error, ErrorCode, Result};
use hyper::header::{HeaderName, HeaderValue};
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use serde::Deserialize;

use crate::address::Network;
use crate::budget::{Budget, Budgets};
use crate::list::some;
use crate::operator::{Operator, Own};
use crate::policy::{Part, Profile, Protocol, Rule, SetHeader, WantedRule, rule};
use crate::secrets::{COMMAND_TTL, Secret, Source, is_key, is_own};

/// Largest file, in bytes.
const MAX_FILE: u64 = 1 << 20;
/// How long a pipe is waited for, and how often it is looked at.
const PIPE: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(5);
/// Most profiles.
const MAX_PROFILES: usize = 64;
/// Most rules of a profile.
const MAX_RULES: usize = 1_000;
/// Most secrets.
const MAX_SECRETS: usize = 64;
/// The profile that a call gets that names none.
pub const DEFAULT_PROFILE: &str = "default";

/// What the operator allows.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Profiles, by name.
    pub profiles: BTreeMap<String, Arc<Profile>>,
    /// Secrets, without their values.
    pub secrets: Vec<Secret>,
    /// What may be spent.
    pub budgets: Budgets,
    /// Certificates of authorities that are trusted besides the system's.
    pub trust: Vec<CertificateDer<'static>>,
    /// Files that it was read from, and that it names.
    pub(crate) files: Vec<PathBuf>,
}

impl Settings {
    /// The files besides the operator's that these came from, of secrets and authorities.
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// A profile by its name.
    ///
    /// # Errors
    /// `network_denied` for one that there is not.
    pub fn profile(&self, name: &str) -> Result<&Arc<Profile>> {
        self.profiles.get(name).ok_or_else(|| {
            let shown: String = name.escape_debug().take(64).collect();
            let all: Vec<&str> = self.profiles.keys().map(String::as_str).collect();
            let hint = match all.as_slice() {
                [] => "the operator grants a network with --network FILE or --allow-net HOST".to_owned(),
                all => format!("there are: {}", all.join(", ")),
            };
            Error::new(ErrorCode::NetworkDenied, format!("no network profile is called `{shown}`"))
                .with_hint(hint)
        })
    }

    /// Adds what `--allow-net` allows to the profile `default`.
    ///
    /// # Errors
    /// `args_invalid` past 1000 rules.
    pub fn allow(&mut self, rules: Vec<Rule>) -> Result<()> {
        let new = || Arc::new(Profile { name: DEFAULT_PROFILE.into(), rules: Vec::new() });
        let profile = Arc::make_mut(self.profiles.entry(DEFAULT_PROFILE.into()).or_insert_with(new));
        profile.rules.extend(rules);
        if profile.rules.len() > MAX_RULES {
            return Err(Error::args_invalid(format!("the profile has more than {MAX_RULES} rules")));
        }
        Ok(())
    }

    /// Adds what `--secret` names.
    ///
    /// # Errors
    /// `args_invalid` for a second secret of one name, and past 64.
    pub fn keep(&mut self, secret: Secret) -> Result<()> {
        if self.secrets.iter().any(|other| other.name == secret.name) {
            return Err(Error::args_invalid(format!("the secret `{}` is named twice", secret.name)));
        }
        self.secrets.push(secret);
        if self.secrets.len() > MAX_SECRETS {
            return Err(Error::args_invalid(format!("there are more than {MAX_SECRETS} secrets")));
        }
        Ok(())
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    profile: BTreeMap<String, GivenProfile>,
    #[serde(default)]
    secret: BTreeMap<String, GivenSecret>,
    #[serde(default)]
    budget: GivenBudgets,
    /// Files of certificates, relative to the file's folder.
    #[serde(default)]
    trust: Vec<PathBuf>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GivenProfile {
    #[serde(default)]
    allow: Vec<GivenRule>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GivenRule {
    host: String,
    port: Option<u16>,
    #[serde(default)]
    protocol: Protocol,
    #[serde(default, deserialize_with = "some")]
    methods: Vec<String>,
    #[serde(default, deserialize_with = "some")]
    paths: Vec<String>,
    websocket: Option<bool>,
    #[serde(default)]
    untrusted: bool,
    #[serde(default)]
    outward: bool,
    #[serde(default)]
    addresses: Vec<String>,
    #[serde(default)]
    set: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GivenSecret {
    env: Option<String>,
    file: Option<PathBuf>,
    command: Option<Vec<String>>,
    keyring: Option<String>,
    ttl: Option<String>,
    #[serde(default)]
    hosts: Vec<String>,
    places: Option<Vec<String>>,
    shape: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct GivenBudgets {
    requests: Option<u64>,
    connections: Option<u64>,
    bytes_out: Option<Amount>,
    bytes_in: Option<Amount>,
    #[serde(default)]
    owner: GivenBudget,
    #[serde(default)]
    process: GivenBudget,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct GivenBudget {
    requests: Option<u64>,
    connections: Option<u64>,
    bytes_out: Option<Amount>,
    bytes_in: Option<Amount>,
}

/// Bytes: a number, or a text such as `16 MiB`.
#[derive(Deserialize)]
#[serde(untagged)]
enum Amount {
    Number(u64),
    Text(String),
}

/// Reads a file of rules.
///
/// # Errors
/// `args_invalid` with the file's name, and line and column or the field, for what is not understood; `too_large` past 1 MiB; `not_found`.
pub fn read(path: &Path) -> Result<Settings> {
    read_by(&Own, path)
}

/// The same, with files that somebody else opens.
///
/// # Errors
/// As [`read`].
pub fn read_by(operator: &dyn Operator, path: &Path) -> Result<Settings> {
    let name = path.display();
    let missing = |error: std::io::Error| {
        Error::new(ErrorCode::NotFound, format!("{name}: the file of network rules cannot be read: {error}"))
    };
    let bytes = operator.open(path).and_then(|file| whole(file.take(MAX_FILE + 1))).map_err(missing)?;
    if bytes.len() as u64 > MAX_FILE {
        return Err(Error::new(ErrorCode::TooLarge, format!("{name}: it has more than {MAX_FILE} bytes")));
    }
    let text = String::from_utf8(bytes)
        .map_err(|_| missing(std::io::Error::new(ErrorKind::InvalidData, "it is not UTF-8")))?;
    parse_by(operator, &text, path)
}

/// All of a file, which may be a pipe that somebody is still writing to.
fn whole(mut file: impl Read) -> std::io::Result<Vec<u8>> {
    let (mut bytes, begun) = (Vec::new(), Instant::now());
    loop {
        match file.read_to_end(&mut bytes) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                if begun.elapsed() > PIPE {
                    let told = format!("it is a pipe that did not end within {} s", PIPE.as_secs());
                    return Err(std::io::Error::new(ErrorKind::TimedOut, told));
                }
                std::thread::sleep(LOOK);
            }
            read => return read.map(|_| bytes),
        }
    }
}

/// Reads the text of such a file; files that it names are read below the folder of `path`.
///
/// # Errors
/// As [`read`].
pub fn parse(text: &str, path: &Path) -> Result<Settings> {
    parse_by(&Own, text, path)
}

fn parse_by(operator: &dyn Operator, text: &str, path: &Path) -> Result<Settings> {
    let name = path.display();
    let file: File = toml::from_str(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start).min(text.len());
        let before = text.get(..at).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        let told: String =
            error.message().chars().map(|c| if c.is_control() { ' ' } else { c }).take(300).collect();
        Error::args_invalid(format!("{name}:{line}:{column}: {told}"))
    })?;
    file.checked(operator, path).map_err(|error| {
        let placed = Error::new(error.code(), format!("{name}: {}", error.message()));
        match error.hint() {
            Some(hint) => placed.with_hint(hint),
            None => placed,
        }
    })
}

impl File {
    fn checked(self, operator: &dyn Operator, path: &Path) -> Result<Settings> {
        for (what, count, most) in
            [("profiles", self.profile.len(), MAX_PROFILES), ("secrets", self.secret.len(), MAX_SECRETS)]
        {
            if count > most {
                return Err(Error::args_invalid(format!("there are {count} {what}, more than {most}")));
            }
        }
        let folder = path.parent().unwrap_or(Path::new(""));
        let mut secrets = Vec::new();
        for (name, given) in self.secret {
            secrets.push(given.checked(&name, folder)?);
        }
        let mut profiles = BTreeMap::new();
        for (name, given) in self.profile {
            let shown: String = name.escape_debug().take(64).collect();
            if given.allow.len() > MAX_RULES {
                let told = format!("profile.{shown}.allow: there are more than {MAX_RULES} rules");
                return Err(Error::args_invalid(told));
            }
            let rules = given.allow.into_iter().enumerate();
            let rules =
                rules.map(|(at, rule)| rule.checked(&format!("profile.{shown}.allow[{at}]"), &secrets));
            let rules = rules.collect::<Result<_>>()?;
            profiles.insert(name.clone(), Arc::new(Profile { name, rules }));
        }
        let mut files = vec![path.to_owned()];
        files.extend(secrets.iter().filter_map(|secret| match &secret.source {
            Source::File { path, .. } => Some(path.clone()),
            _ => None,
        }));
        let mut trust = Vec::new();
        for (at, file) in self.trust.iter().enumerate() {
            let file = folder.join(file);
            certificates(operator, &file, &mut trust)
                .map_err(|told| Error::args_invalid(format!("trust[{at}]: {told}")))?;
            files.push(file);
        }
        Ok(Settings { profiles, secrets, budgets: self.budget.checked()?, trust, files })
    }
}

fn certificates(
    operator: &dyn Operator,
    file: &Path,
    all: &mut Vec<CertificateDer<'static>>,
) -> Result<(), String> {
    let told = |error: &dyn std::fmt::Display| format!("`{}` holds no certificates: {error}", file.display());
    let before = all.len();
    let opened =
        operator.open(file).map_err(|error| format!("`{}` cannot be read: {error}", file.display()))?;
    let opened = opened.take(MAX_FILE);
    for certificate in CertificateDer::pem_reader_iter(opened) {
        let certificate = certificate.map_err(|error| told(&error))?;
        RootCertStore::empty().add(certificate.clone()).map_err(|error| told(&error))?;
        all.push(certificate);
    }
    if all.len() == before { Err(told(&"there is none in it")) } else { Ok(()) }
}

impl GivenRule {
    fn checked(self, id: &str, secrets: &[Secret]) -> Result<Rule> {
        let wrong = |field: String, told: String| Error::args_invalid(format!("{id}.{field}: {told}"));
        let Self { host, port, protocol, methods, paths, websocket, .. } = self;
        let mut rule = rule(id, &WantedRule { host, port, protocol, methods, paths, websocket })?;
        (rule.untrusted, rule.outward) = (self.untrusted, self.outward);
        for (at, network) in self.addresses.iter().enumerate() {
            let shown: String = network.escape_debug().take(80).collect();
            let read = Network::parse(network);
            rule.addresses
                .push(read.map_err(|told| wrong(format!("addresses[{at}]"), format!("`{shown}`: {told}")))?);
        }
        if rule.protocol == Protocol::Tcp && !self.set.is_empty() {
            return Err(wrong("set".into(), "tcp is bytes, and has no headers".into()));
        }
        for (name, template) in self.set {
            let shown: String = name.escape_debug().take(80).collect();
            let header = header(&rule, &name, &template, secrets);
            let header = header.map_err(|told| wrong(format!("set.{shown}"), told))?;
            if rule.set.iter().any(|other| other.name == header.name) {
                return Err(wrong(format!("set.{shown}"), "the header stands here twice".into()));
            }
            rule.set.push(header);
        }
        Ok(rule)
    }
}

/// A header that a rule sets.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn header(
    rule: &Rule,
    name: &str,
    template: &str,
    secrets: &[Secret],
) -> Result<SetHeader, String> {
    let name = HeaderName::try_from(name).map_err(|_| "there is no such header")?;
    if is_own(&name) {
        return Err("the gate writes this header itself".into());
    }
    let parts = parts(template)?;
    for part in &parts {
        match part {
            Part::Text(text) => {
                HeaderValue::from_str(text).map_err(|_| "a header cannot have this value")?;
            }
            Part::Secret(wanted) => {
                let Some(secret) = secrets.iter().find(|secret| secret.name == *wanted) else {
                    return Err(format!("there is no secret `{wanted}`"));
                };
                if rule.protocol != Protocol::Https {
                    return Err(format!("the secret `{wanted}` goes over https only"));
                }
                if !secret.is_for_all(&rule.host) {
                    return Err(format!("`secret.{wanted}.hosts` does not name `{}`", rule.host));
                }
            }
        }
    }
    Ok(SetHeader { name, parts })
}

/// `Bearer {NAME}`: a text, and names of secrets.
fn parts(template: &str) -> Result<Vec<Part>, String> {
    let mut parts = Vec::new();
    let mut rest = template;
    while let Some(begin) = rest.find(['{', '}']) {
        let name = rest[begin..].strip_prefix('{').and_then(|name| name.split_once('}'));
        let Some((name, after)) = name else {
            return Err("a brace begins or ends the name of a secret, as in `Bearer {NAME}`".into());
        };
        if begin > 0 {
            parts.push(Part::Text(rest[..begin].to_owned()));
        }
        parts.push(Part::Secret(name.to_owned()));
        rest = after;
    }
    if !rest.is_empty() {
        parts.push(Part::Text(rest.to_owned()));
    }
    Ok(parts)
}

impl GivenSecret {
    fn checked(self, name: &str, folder: &Path) -> Result<Secret> {
        let shown: String = name.escape_debug().take(80).collect();
        let wrong = |field: &str, told: &str| Error::args_invalid(format!("secret.{shown}{field}: {told}"));
        let ttl = self.ttl.as_deref().map(humantime::parse_duration).transpose();
        let ttl: Option<Duration> = ttl.map_err(|_| wrong(".ttl", "it is no duration such as `5m`"))?;
        let source = match (self.env, self.file, self.command, self.keyring) {
            (Some(_), None, None, None) if ttl.is_some() => {
                return Err(wrong(".ttl", "the environment is read once"));
            }
            (Some(variable), None, None, None) if variable.is_empty() => {
                return Err(wrong(".env", "it names no variable"));
            }
            (Some(variable), None, None, None) => Source::Env(variable),
            (None, Some(file), None, None) => Source::File { path: folder.join(file), ttl },
            (None, None, Some(arguments), None) if arguments.first().is_none_or(String::is_empty) => {
                return Err(wrong(".command", "it names no program"));
            }
            (None, None, Some(arguments), None) => {
                Source::Command { arguments, ttl: ttl.unwrap_or(COMMAND_TTL) }
            }
            (None, None, None, Some(name)) if !is_key(&name) => {
                return Err(wrong(".keyring", "it names no key: 1 to 4095 bytes, such as `service/user`"));
            }
            (None, None, None, Some(name)) => Source::Keyring { name, ttl },
            (None, None, None, None) => {
                return Err(wrong("", "it has no source")
                    .with_hint("give it one of `env`, `file`, `command` and `keyring`"));
            }
            _ => {
                return Err(wrong("", "it has more than one source")
                    .with_hint("`env`, `file`, `command` and `keyring` exclude each other: keep one"));
            }
        };
        Secret::new(name, source, &self.hosts, self.places.as_deref(), self.shape.as_deref())
    }
}

impl GivenBudgets {
    fn checked(self) -> Result<Budgets> {
        let usual = Budgets::default();
        let Self { requests, connections, bytes_out, bytes_in, owner, process } = self;
        let run = GivenBudget { requests, connections, bytes_out, bytes_in };
        Ok(Budgets {
            run: run.checked("budget", usual.run)?,
            owner: owner.checked("budget.owner", usual.owner)?,
            process: process.checked("budget.process", usual.process)?,
        })
    }
}

impl GivenBudget {
    fn checked(self, at: &str, usual: Budget) -> Result<Budget> {
        let bytes = |field: &str, given: Option<Amount>, usual: u64| match given {
            None => Ok(usual),
            Some(Amount::Number(bytes)) => Ok(bytes),
            Some(Amount::Text(text)) => ByteSize::from_str(&text).map(|size| size.as_u64()).map_err(|_| {
                let shown: String = text.escape_debug().take(80).collect();
                Error::args_invalid(format!("{at}.{field}: `{shown}` is no size such as `16 MiB`"))
            }),
        };
        Ok(Budget {
            requests: self.requests.unwrap_or(usual.requests),
            connections: self.connections.unwrap_or(usual.connections),
            bytes_out: bytes("bytes_out", self.bytes_out, usual.bytes_out)?,
            bytes_in: bytes("bytes_in", self.bytes_in, usual.bytes_in)?,
        })
    }
}

#[cfg(test)]
#[path = "file_tests.rs"]
mod tests;
