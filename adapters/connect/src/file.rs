//! The file that names the servers to connect: as clients of MCP write it, or in TOML; with a few keys of our own.

mod written;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use dormouse_core::{Error, ErrorCode, Result};
use dormouse_sources::{Entry, MAX_ENTRIES, Program, Registry};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use self::written::{Written, misplaced, not_understood, understood};
use crate::connection::{Connection, Reach, Verdict};
use crate::openapi::Document;
use crate::variables::{self, Lookup};

/// Largest file, in bytes (1 MiB).
const MAX_FILE: u64 = 1 << 20;
/// Largest OpenAPI document of a file, in bytes (16 MiB).
const MAX_DOCUMENT: u64 = 16 << 20;
/// How long a server may be given to start, in milliseconds.
const START_TIMEOUT: std::ops::RangeInclusive<u64> = 1_000..=600_000;
/// Characters of a rule that are told.
const SHOWN: usize = 300;
/// Keys of other clients that change nothing here, and are not worth a line of the log.
const KNOWN: [&str; 6] = ["name", "description", "timeout", "icon", "gallery", "version"];

/// Our own keys of a file as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "our own keys, such as `rules`")]
pub struct Whole {
    /// Rules by `SERVER.TOOL`, in which `*` stands for any characters. Default none.
    pub rules: BTreeMap<String, Verdict>,
    /// Whether the calls that a program's text shows are checked before it runs. Default false.
    pub check: bool,
}

/// Which way a server is reached, where a client says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Transport {
    /// A program's standard input and output.
    #[serde(rename = "stdio")]
    Stdio,
    /// Streamable HTTP.
    #[serde(rename = "http", alias = "streamable-http", alias = "streamableHttp", alias = "streamable_http")]
    Http,
    /// HTTP+SSE, of the first revision.
    #[serde(rename = "sse")]
    Sse,
}

/// One server as it is written down: an entry of `mcpServers`, or a `[[connect]]` entry besides its `name`.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(expecting = "a server: an object with `command` or `url`")]
pub struct Given {
    /// A program that speaks MCP on its standard input and output. No shell reads it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The program's arguments. Default none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// Environment variables that the program gets besides `PATH` and `HOME`. Default none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// The folder that the program starts in. Default: this process's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The address of a running server.
    #[serde(default, alias = "serverUrl", skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Headers of every request to it, or to the API of a document. Default none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// Which way it is reached; it must go with `command` or `url`. Default: what goes with it.
    #[serde(default, rename = "type", alias = "transport", skip_serializing_if = "Option::is_none")]
    pub transport: Option<Transport>,
    /// Whether it is passed over. Default false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub disabled: bool,
    /// Tools whose calls are made without asking, as some clients keep them. Default none.
    #[serde(default, rename = "autoApprove", skip_serializing_if = "Vec::is_empty")]
    pub auto_approve: Vec<String>,
    /// The same, as other clients call it. Default none.
    #[serde(default, rename = "alwaysAllow", skip_serializing_if = "Vec::is_empty")]
    pub always_allow: Vec<String>,
    /// Our own keys.
    #[serde(default)]
    pub dormouse: Own,
    /// Keys that other clients know.
    #[serde(flatten)]
    pub other: BTreeMap<String, Json>,
}

/// Our own keys of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "our own keys, such as `rules`")]
pub struct Own {
    /// Whether all owners use one connection. Default false.
    pub shared: bool,
    /// Whether calls of tools that the server calls read-only are made without asking. Default false.
    pub trust_hints: bool,
    /// Whether strangers may have written what it answers. Default false.
    pub untrusted: bool,
    /// Whether its tools carry data out. Default false.
    pub outward: bool,
    /// Rules by the name of a tool, in which `*` stands for any characters. Default none.
    pub rules: BTreeMap<String, Verdict>,
    /// Tools that may be called again after a crash. Default none.
    pub idempotent: Vec<String>,
    /// How long it may take until it is reached and has listed its tools, in milliseconds, 1,000 to 600,000. Default 120,000.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_timeout_ms: Option<u64>,
    /// The path of a file or the address of an OpenAPI 3 document, in place of `command` and `url`. Default none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub openapi: Option<String>,
    /// Where the API of the document is. Default: as the document says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
}

/// What files of connections say.
#[derive(Clone, Debug, Default)]
pub struct Contents {
    /// Their servers, without those that are disabled.
    pub connections: Vec<Connection>,
    /// Names of those that are.
    pub disabled: BTreeSet<String>,
    /// Rules by `SERVER.TOOL`.
    pub rules: BTreeMap<String, Verdict>,
    /// Whether the calls that a program's text shows are checked before it runs.
    pub check: bool,
}

/// Reads files of connections, which are taken together. Those whose names end in `.toml` have `[[connect]]` entries, others are of
/// JSON. Variables are taken from this process's environment.
///
/// # Errors
/// `args_invalid` with the file's name, and line and column, the server or the rule, for what cannot be understood, is not set, stands
/// twice or fits nothing; `too_large` past 1 MiB or 64 servers of a file; `not_found`.
pub fn read<P: AsRef<Path>>(paths: &[P]) -> Result<Contents> {
    let mut all = Contents::default();
    for path in paths {
        let path = path.as_ref();
        let text = text_of(path, MAX_FILE).map_err(|error| {
            let told =
                format!("{}: the file of connections cannot be read: {}", path.display(), error.message());
            Error::new(error.code(), told)
                .with_hint("name a file that a client of MCP could read, with `mcpServers`")
        })?;
        all.add(parse(&text, path, &|name| std::env::var(name).ok())?, path)?;
    }
    all.check_rules()?;
    Ok(all)
}

impl Contents {
    /// Adds what another file says.
    fn add(&mut self, other: Self, path: &Path) -> Result<()> {
        for connection in other.connections {
            if self.connections.iter().any(|known| known.name == connection.name) {
                let name = &connection.name;
                let told = format!("{}: the server `{name}` stands in another file already", path.display());
                return Err(Error::args_invalid(told).with_hint("give one of the two another name"));
            }
            self.connections.push(connection);
        }
        self.disabled.extend(other.disabled);
        self.check |= other.check;
        for (pattern, verdict) in other.rules {
            // Whatever the order of the files.
            let strictest = self.rules.get(&pattern).copied().unwrap_or(verdict).max(verdict);
            self.rules.insert(pattern, strictest);
        }
        Ok(())
    }

    /// Refuses rules that can fit no tool: most of all a misspelt `deny` is to be known.
    fn check_rules(&self) -> Result<()> {
        let servers = || self.connections.iter().map(|one| one.name.as_str());
        for pattern in self.rules.keys() {
            let shown: String = pattern.escape_debug().take(SHOWN).collect();
            let Some((server, _)) = pattern.split_once('.') else {
                if pattern.contains('*') {
                    continue;
                }
                return Err(Error::args_invalid(format!("the rule `{shown}` names no tool"))
                    .with_hint("write `SERVER.TOOL`; `*` stands for any characters"));
            };
            let is_known = self.disabled.contains(server) || servers().any(|name| name == server);
            if !is_known && !server.contains('*') {
                let known: Vec<&str> = servers().take(10).collect();
                let told = format!("the rule `{shown}` names the server `{server}`, which no file connects");
                return Err(
                    Error::args_invalid(told).with_hint(format!("the servers are: {}", known.join(", ")))
                );
            }
        }
        Ok(())
    }
}

/// Reads the text of such a file.
///
/// # Errors
/// As [`read`].
pub(crate) fn parse(text: &str, path: &Path, lookup: Lookup<'_>) -> Result<Contents> {
    let written = match path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("toml")) {
        true => Written::of_toml(text, path)?,
        false => Written::of_json(text, path)?,
    };
    let place = &path.display().to_string();
    let Whole { rules, check } = understood(place, written.whole)?;
    let mut all = BTreeMap::new();
    for (server, entry) in written.servers {
        let shown: String = server.escape_debug().take(64).collect();
        let place = &format!("{place}: server `{shown}`");
        misplaced(place, &entry)?;
        if all.insert(server, understood(place, entry)?).is_some() {
            return Err(not_understood(place, "it stands there twice"));
        }
    }
    let disabled = all.iter().filter(|(_, given): &(_, &Given)| given.disabled);
    let disabled = disabled.map(|(name, _)| name.clone()).collect();
    Ok(Contents { connections: connections(all, path, lookup)?, disabled, rules, check })
}

fn connections(all: BTreeMap<String, Given>, path: &Path, lookup: Lookup<'_>) -> Result<Vec<Connection>> {
    let place = &path.display().to_string();
    if all.len() > MAX_ENTRIES {
        return Err(Error::args_invalid(format!("{place}: there are more than {MAX_ENTRIES} servers")));
    }
    let wanted = all.into_iter().filter(|(_, given)| !given.disabled);
    wanted
        .map(|(name, given)| {
            given.connection(&name, path, lookup).map_err(|error| {
                let shown: String = name.escape_debug().take(64).collect();
                let placed =
                    Error::new(error.code(), format!("{place}: server `{shown}`: {}", error.message()));
                match error.hint() {
                    Some(hint) => placed.with_hint(hint),
                    None => placed,
                }
            })
        })
        .collect()
}

impl Given {
    fn connection(self, name: &str, path: &Path, lookup: Lookup<'_>) -> Result<Connection> {
        let passed: Vec<&String> = self.other.keys().filter(|key| !KNOWN.contains(&key.as_str())).collect();
        if !passed.is_empty() {
            tracing::info!(file = %path.display(), server = name, keys = ?passed, "keys of other clients are passed over");
        }
        let allowed = self.auto_approve.iter().chain(&self.always_allow);
        let mut rules: BTreeMap<String, Verdict> =
            allowed.map(|tool| (tool.clone(), Verdict::Allow)).collect();
        rules.extend(self.dormouse.rules.clone());
        let own = self.dormouse.clone();
        let (reach, set) = self.reach(path, lookup)?;
        let connection = Connection {
            set,
            shared: own.shared,
            trust_hints: own.trust_hints,
            untrusted: own.untrusted,
            outward: own.outward,
            rules,
            idempotent: own.idempotent,
            start_timeout: own.start_timeout_ms.map(start_timeout).transpose()?,
            ..Connection::new(name, reach)?
        };
        Ok(connection)
    }

    /// How it is reached, variables filled in; and the headers that name secrets.
    fn reach(self, path: &Path, lookup: Lookup<'_>) -> Result<(Reach, BTreeMap<String, String>)> {
        let fill = |text: String| variables::filled(&text, lookup);
        let each = |map: BTreeMap<String, String>| {
            map.into_iter().map(|(name, value)| Ok((name, fill(value)?))).collect::<Result<BTreeMap<_, _>>>()
        };
        self.fits_together()?;
        if let Some(document) = self.dormouse.openapi {
            let base_url = self.dormouse.base_url.map(fill).transpose()?;
            let (headers, set) = headers(self.headers, lookup)?;
            // An address and headers of MCP's client are those of any.
            let address = base_url.clone().unwrap_or_else(|| "http://localhost".into());
            let all = headers.clone().into_iter().chain(set.clone()).collect();
            checked(Entry { url: Some(address), headers: all, ..Entry::default() })?;
            let document = document_of(fill(document)?, path)?;
            return Ok((Reach::OpenApi { document, base_url, headers }, set));
        }
        if let Some(url) = self.url {
            let (url, (headers, set)) = (fill(url)?, headers(self.headers, lookup)?);
            let all = headers.clone().into_iter().chain(set.clone()).collect();
            checked(Entry { url: Some(url.clone()), headers: all, ..Entry::default() })?;
            return Ok((Reach::Address { url, headers }, set));
        }
        let program = fill(self.command.unwrap_or_default())?;
        let args = self.args.into_iter().map(fill).collect::<Result<Vec<String>>>()?;
        checked(Entry { command: Some(program.clone()), ..Entry::default() })?;
        let cwd = self.cwd.map(fill).transpose()?.map(Into::into);
        Ok((Reach::Program(Program { program, args, env: each(self.env)?, cwd }), BTreeMap::new()))
    }

    /// Whether there is one way to it, and nothing that belongs to another.
    fn fits_together(&self) -> Result<()> {
        let (program, url, document) =
            (self.command.is_some(), self.url.is_some(), self.dormouse.openapi.is_some());
        match usize::from(program) + usize::from(url) + usize::from(document) {
            0 => {
                return Err(Error::args_invalid("it has no way to be reached")
                    .with_hint("give it one of `command`, `url` and, below `dormouse`, `openapi`"));
            }
            1 => {}
            _ => {
                return Err(Error::args_invalid("it has more than one way to be reached")
                    .with_hint("`command`, `url` and `openapi` exclude each other: keep one"));
            }
        }
        let foreign = [
            ("args", !program && !self.args.is_empty()),
            ("env", !program && !self.env.is_empty()),
            ("cwd", !program && self.cwd.is_some()),
            ("headers", program && !self.headers.is_empty()),
            ("base_url", !document && self.dormouse.base_url.is_some()),
            ("type", (self.transport == Some(Transport::Stdio)) != program && self.transport.is_some()),
        ];
        let hint = "`args`, `env`, `cwd` and the type `stdio` go with `command`; `headers`, `http` and `sse` with \
                    `url`; `base_url` with `openapi`";
        match foreign.into_iter().find(|(_, wrong)| *wrong) {
            Some((key, _)) => {
                let message = format!("its `{key}` does not go with how it is reached");
                Err(Error::args_invalid(message).with_hint(hint))
            }
            None => Ok(()),
        }
    }
}

fn start_timeout(ms: u64) -> Result<Duration> {
    if !START_TIMEOUT.contains(&ms) {
        let (least, most) = (START_TIMEOUT.start(), START_TIMEOUT.end());
        return Err(Error::args_invalid(format!("its `start_timeout_ms` is {ms}"))
            .with_hint(format!("give {least} to {most} milliseconds")));
    }
    Ok(Duration::from_millis(ms))
}

/// A document of a file is read at once: later the process may be confined.
fn document_of(named: String, path: &Path) -> Result<Document> {
    if named.starts_with("http://") || named.starts_with("https://") {
        return Ok(Document::Address(named));
    }
    let file = path.parent().unwrap_or(Path::new("")).join(&named);
    text_of(&file, MAX_DOCUMENT).map(Document::Text).map_err(|error| {
        let told = format!("the OpenAPI document `{}` cannot be read: {}", file.display(), error.message());
        Error::new(error.code(), told)
    })
}

/// Headers with their variables filled in, and those that name secrets, as the gate writes them.
type Headers = (BTreeMap<String, String>, BTreeMap<String, String>);

fn headers(given: BTreeMap<String, String>, lookup: Lookup<'_>) -> Result<Headers> {
    let (mut plain, mut set) = (BTreeMap::new(), BTreeMap::new());
    for (name, value) in given {
        match variables::with_secrets(&value, lookup)? {
            Some(template) => set.insert(name, template),
            None => plain.insert(name, variables::filled(&value, lookup)?),
        };
    }
    Ok((plain, set))
}

/// The text of a file of at most `most` bytes.
fn text_of(path: &Path, most: u64) -> Result<String> {
    let missing = |error: std::io::Error| Error::new(ErrorCode::NotFound, error.to_string());
    if std::fs::metadata(path).map_err(missing)?.len() > most {
        return Err(Error::new(ErrorCode::TooLarge, format!("it has more than {most} bytes")));
    }
    std::fs::read_to_string(path).map_err(missing)
}

/// Checks a program, or an address and its headers, as those of scenarios are.
fn checked(entry: Entry) -> Result<()> {
    let entry = Entry { name: "it".into(), ..entry };
    entry.check(&Registry::default()).map_err(|error| {
        let message = error.message().strip_prefix("mcp server `it`").unwrap_or(error.message());
        let told = Error::new(error.code(), message.trim_start_matches([':', ' ']));
        match error.hint() {
            Some(hint) => told.with_hint(hint),
            None => told,
        }
    })
}

#[cfg(test)]
#[path = "file_tests.rs"]
mod tests;
