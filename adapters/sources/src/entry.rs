//! One entry of a configuration: a server of tools, and by which of three transports it is reached (S0-01 … S0-05).

use std::collections::BTreeMap;
use std::fmt;

use dormouse_core::{Error, ErrorCode, Result};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use crate::outside::Program;
use crate::{Registry, template};

/// Longest name of an entry, in bytes.
const MAX_NAME: usize = 64;
/// Most entries of one configuration.
pub const MAX_ENTRIES: usize = 64;

/// How long what a source opens lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// From the start of the host to its end (S0-06).
    Run,
    /// From the start of a scenario to its end, through all its repetitions (S0-07).
    Scenario,
    /// One repetition and its gates (S0-08).
    Session,
}

impl Scope {
    /// The word of the configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Scenario => "scenario",
            Self::Session => "session",
        }
    }
}

/// One server of tools, as it is configured: `source` or `url` or `command`, and what belongs to it.
///
/// `Debug` does not show the values of `headers` and `env`, which may be secrets; serialising does.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Its key: letters, digits, `-` and `_`, at most 64 bytes.
    pub name: String,
    /// A registered source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// When the source is opened and closed. Required with `source`, refused without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<Scope>,
    /// What the source is given; it alone knows the keys. Default none.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub source_args: Map<String, Json>,
    /// The address of a running server, `http` or `https`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Headers of every request to `url`. Default none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// A program that serves on its standard input and output. No shell reads it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The program's arguments. Default none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// Environment variables that the program gets besides `PATH` and `HOME`. Default none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Where it stands, as `FILE:LINE:COLUMN`; errors begin with it. Default nowhere. Never read.
    #[serde(skip)]
    pub place: Option<String>,
}

/// How an entry is reached.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Transport<'a> {
    /// A source opens it, within a scope.
    Source {
        /// The source's name.
        source: &'a str,
        /// When it is opened and closed.
        scope: Scope,
    },
    /// It runs already, somewhere.
    Url(&'a str),
    /// A program of this machine.
    Command(&'a str),
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Entry");
        shown.field("name", &self.name).field("source", &self.source).field("scope", &self.scope);
        shown.field("url", &self.url).field("headers", &self.headers.keys().collect::<Vec<_>>());
        shown.field("command", &self.command).field("env", &self.env.keys().collect::<Vec<_>>());
        shown.finish_non_exhaustive()
    }
}

impl Entry {
    /// Reads an entry.
    ///
    /// # Errors
    /// `args_invalid` for an unknown field, a wrong type, a scope that there is not, and what [`Entry::transport`] refuses.
    pub fn parse(entry: Json) -> Result<Self> {
        let entry: Self = serde_json::from_value(entry).map_err(|error| {
            let told: String = error.to_string().escape_debug().take(300).collect();
            Error::args_invalid(format!("an entry of mcp_servers cannot be read: {told}")).with_hint(
                "an entry has `name`, and `source` with `scope` and `source_args`, or `url`, or `command`",
            )
        })?;
        entry.transport()?;
        Ok(entry)
    }

    /// Its one transport.
    ///
    /// # Errors
    /// `args_invalid` for a bad name, none or several transports, fields of another transport, and a source without scope.
    pub fn transport(&self) -> Result<Transport<'_>> {
        self.check_name()?;
        let transport = match (&self.source, &self.url, &self.command) {
            (Some(source), None, None) => {
                let scope = self.scope.ok_or_else(|| {
                    self.wrong("has a `source` and no `scope`")
                        .with_hint("add scope: run, scenario or session")
                })?;
                Transport::Source { source, scope }
            }
            (None, Some(url), None) => Transport::Url(url),
            (None, None, Some(command)) => Transport::Command(command),
            (None, None, None) => {
                return Err(self
                    .wrong("has no transport")
                    .with_hint("give it one of `source`, `url` and `command`"));
            }
            _ => {
                return Err(self
                    .wrong("has more than one transport")
                    .with_hint("`source`, `url` and `command` exclude each other: keep one"));
            }
        };
        let is = |of: bool, given: bool| !of && given;
        let foreign = [
            ("scope", is(matches!(transport, Transport::Source { .. }), self.scope.is_some())),
            ("source_args", is(matches!(transport, Transport::Source { .. }), !self.source_args.is_empty())),
            ("headers", is(matches!(transport, Transport::Url(_)), !self.headers.is_empty())),
            ("args", is(matches!(transport, Transport::Command(_)), !self.args.is_empty())),
            ("env", is(matches!(transport, Transport::Command(_)), !self.env.is_empty())),
        ];
        if let Some((field, _)) = foreign.into_iter().find(|(_, wrong)| *wrong) {
            return Err(self.wrong(&format!("has a `{field}` that does not go with its transport")).with_hint(
                "`scope` and `source_args` go with `source`, `headers` with `url`, `args` and `env` with `command`",
            ));
        }
        Ok(transport)
    }

    /// The program of this machine that it names, if it names one.
    pub fn program(&self) -> Option<Program> {
        let program = self.command.clone()?;
        Some(Program { program, args: self.args.clone(), env: self.env.clone(), cwd: None })
    }

    /// Checks it against the sources that there are, without opening anything.
    ///
    /// # Errors
    /// `unknown_source` with the registered names (S0-05); `args_invalid`; `template_missing_key` for a template in an
    /// entry of scope `run`, which is opened before there is a scenario.
    pub fn check(&self, registry: &Registry) -> Result<()> {
        match self.transport()? {
            Transport::Source { source, scope } => {
                let source = registry.find(source).map_err(|error| self.named(error))?;
                let keys = template::keys(&self.source_args).map_err(|error| self.named(error))?;
                if let (Scope::Run, Some((path, key))) = (scope, keys.into_iter().next()) {
                    return Err(self.named(template::too_early(&path, &key)));
                }
                source.check(&self.source_args).map_err(|error| self.named(error))
            }
            Transport::Url(url) => {
                crate::client::check_url(url, &self.headers).map_err(|error| self.named(error))
            }
            Transport::Command(command) if command.is_empty() || command.contains('\0') => {
                Err(self.wrong("has a `command` that is no program"))
            }
            Transport::Command(_) => Ok(()),
        }
    }

    /// Checks the arguments of its source as they are opened in a scenario with these variables. One without templates has been
    /// checked already.
    ///
    /// # Errors
    /// As [`Entry::check`].
    pub fn check_filled(&self, registry: &Registry, variables: &Map<String, Json>) -> Result<()> {
        let Transport::Source { source, .. } = self.transport()? else { return Ok(()) };
        let checked = || {
            if template::keys(&self.source_args)?.is_empty() {
                return Ok(());
            }
            registry.find(source)?.check(&template::fill(&self.source_args, variables)?)
        };
        checked().map_err(|error| self.named(error))
    }

    /// The error, with the entry's place and name before its message.
    #[must_use]
    pub fn named(&self, error: Error) -> Error {
        let message = format!("{}mcp server `{}`: {}", self.before(), self.name, error.message());
        let named = Error::new(error.code(), message);
        let named = match error.hint() {
            Some(hint) => named.with_hint(hint),
            None => named,
        };
        named.with_source(error)
    }

    pub(crate) fn wrong(&self, what: &str) -> Error {
        Error::new(ErrorCode::ArgsInvalid, format!("{}mcp server `{}` {what}", self.before(), self.name))
    }

    /// Its place, as it stands before a message.
    fn before(&self) -> String {
        self.place.as_ref().map(|place| format!("{place}: ")).unwrap_or_default()
    }

    fn check_name(&self) -> Result<()> {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if self.name.is_empty() || self.name.len() > MAX_NAME || !self.name.chars().all(plain) {
            let shown: String = self.name.escape_debug().take(MAX_NAME).collect();
            return Err(Error::args_invalid(format!("`{shown}` is no name of an MCP server"))
                .with_hint("use at most 64 letters, digits, `-` and `_`"));
        }
        Ok(())
    }
}

/// Checks all entries of a configuration.
///
/// # Errors
/// As [`Entry::check`]; `args_invalid` for two of one name, and past 64.
pub fn check_all(entries: &[Entry], registry: &Registry) -> Result<()> {
    if entries.len() > MAX_ENTRIES {
        return Err(Error::args_invalid(format!("there are more than {MAX_ENTRIES} MCP servers")));
    }
    for (at, entry) in entries.iter().enumerate() {
        entry.check(registry)?;
        if entries[..at].iter().any(|other| other.name == entry.name) {
            return Err(entry.wrong("is there twice").with_hint("give each entry a name of its own"));
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "entry_tests.rs"]
mod tests;
