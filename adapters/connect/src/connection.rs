//! One server that is connected: how it is reached, and what the operator says of it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use dormouse_core::errand::Errand;
use dormouse_core::sandbox::Owner;
use dormouse_core::{Error, Result};
use dormouse_sources::{Opened, Outside, Program, Source};
use serde::{Deserialize, Serialize};
use serde_json::Map;

use crate::openapi::{self, Document};

/// Longest name of a server, in bytes.
const MAX_NAME: usize = 64;

/// What an operator's rule says of calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// They are made.
    Allow,
    /// Somebody is asked about each; where nobody can be asked, it is denied.
    Ask,
    /// They are not made.
    Deny,
}

/// How a server is reached.
#[derive(Clone)]
pub enum Reach {
    /// It is a program, started on this machine, that speaks MCP on its standard input and output.
    Program(Program),
    /// It speaks MCP over HTTP: Streamable HTTP, else HTTP+SSE.
    Address {
        /// Its address.
        url: String,
        /// What goes with each request. May be secrets.
        headers: BTreeMap<String, String>,
    },
    /// It is an HTTP API that an OpenAPI document describes.
    OpenApi {
        /// The document.
        document: Document,
        /// Where the API is. None: as the document's first server says.
        base_url: Option<String>,
        /// What goes with each request to it, and with the request for the document if it is of the same origin. May be secrets.
        headers: BTreeMap<String, String>,
    },
    /// A source of this process opens it, without arguments.
    Source(Arc<dyn Source>),
}

impl fmt::Debug for Reach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Program(program) => program.fmt(f),
            // An address may hold a secret as well.
            Self::Address { headers, .. } => {
                f.debug_struct("Address").field("headers", &headers.len()).finish_non_exhaustive()
            }
            Self::OpenApi { headers, .. } => {
                f.debug_struct("OpenApi").field("headers", &headers.len()).finish_non_exhaustive()
            }
            Self::Source(_) => f.write_str("Source"),
        }
    }
}

impl Reach {
    /// Opens it. What is started ends with what is returned.
    pub(crate) async fn open(&self, outside: &Outside) -> Result<Opened> {
        match self {
            Self::Program(program) => Opened::started(program, outside).await,
            Self::Address { url, headers } => Opened::reached(url, headers, outside).await,
            Self::OpenApi { document, base_url, headers } => {
                openapi::open(document, base_url.as_deref(), headers, outside).await
            }
            Self::Source(source) => source.open(Map::new()).await,
        }
    }
}

/// One server, and the operator's word on it.
#[derive(Clone, Debug)]
pub struct Connection {
    /// Its name: 1 to 64 letters, digits, `-` and `_`. Programs call its tools as `tools.NAME.TOOL`.
    pub name: String,
    /// How it is reached.
    pub reach: Reach,
    /// Headers that the operator's gate writes into each request, beside those of `reach`; `{NAME}` in a value is the secret of that
    /// name in the file of the network. Default none.
    pub set: BTreeMap<String, String>,
    /// Whether all owners use one connection. Default false: each owner has their own.
    pub shared: bool,
    /// Whether calls of tools that the server itself calls read-only are made without asking. Default false.
    pub trust_hints: bool,
    /// Whether what it answers may have been written by strangers: after it, calls of `outward` servers are asked about. Default false.
    pub untrusted: bool,
    /// Whether its tools carry data out. Default false.
    pub outward: bool,
    /// Rules by the name of a tool, in which `*` stands for any characters.
    pub rules: BTreeMap<String, Verdict>,
    /// Which tools may be called again after a crash, by name, in which `*` stands for any characters.
    pub idempotent: Vec<String>,
    /// How long it may take until it is reached and has listed its tools. None: two minutes.
    pub start_timeout: Option<Duration>,
}

impl Connection {
    /// A server without any word of the operator: of its own for each owner, and each call is asked about.
    ///
    /// # Errors
    /// `args_invalid` for what cannot be a name.
    pub fn new(name: impl Into<String>, reach: Reach) -> Result<Self> {
        let name = name.into();
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if name.is_empty() || name.len() > MAX_NAME || !name.chars().all(plain) {
            let shown: String = name.escape_debug().take(MAX_NAME).collect();
            return Err(Error::args_invalid(format!("`{shown}` is no name of a server"))
                .with_hint("use at most 64 letters, digits, `-` and `_`"));
        }
        Ok(Self {
            name,
            reach,
            set: BTreeMap::new(),
            shared: false,
            trust_hints: false,
            untrusted: false,
            outward: false,
            rules: BTreeMap::new(),
            idempotent: Vec::new(),
            start_timeout: None,
        })
    }

    /// What the gate is told of its requests for an owner; none: for all.
    pub(crate) fn errand(&self, owner: Option<Owner>) -> Errand {
        Errand { owner, server: self.name.clone(), set: self.set.clone() }
    }

    /// Whether its secrets may go where it is, as far as that is known before it is reached.
    ///
    /// # Errors
    /// `args_invalid`.
    pub(crate) fn check(&self, outside: &Outside) -> Result<()> {
        let url = match &self.reach {
            Reach::Address { url, .. } => Some(url),
            Reach::OpenApi { base_url, .. } => base_url.as_ref(),
            Reach::Program(_) | Reach::Source(_) => None,
        };
        if self.set.is_empty() {
            return Ok(());
        }
        let named = |error: &Error| {
            let told = Error::new(error.code(), format!("server `{}`: {}", self.name, error.message()));
            match error.hint() {
                Some(hint) => told.with_hint(hint),
                None => told,
            }
        };
        match (&outside.errands, url) {
            (None, _) => Err(named(
                &Error::args_invalid("a header names a secret, and there is no network")
                    .with_hint("name the file of the secret with --network FILE"),
            )),
            (Some(errands), Some(url)) => {
                errands.door(&self.errand(None), url, true).map(drop).map_err(|error| named(&error))
            }
            (Some(_), None) => Ok(()),
        }
    }

    /// The program of this machine that it is, if it is one.
    pub fn program(&self) -> Option<&Program> {
        match &self.reach {
            Reach::Program(program) => Some(program),
            _ => None,
        }
    }
}
