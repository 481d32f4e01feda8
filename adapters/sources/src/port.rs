//! What a source is, and what it opens: the port to whoever provides tools.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use dormouse_core::{Error, ErrorCode, Result};
use serde_json::{Map, Value as Json};

use crate::{Outside, Program};

/// A tool as an endpoint lists it, bounded and checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Listed {
    /// Its raw name (S0-17): 1 to 128 characters, no control characters.
    pub name: String,
    /// What it does; may be empty.
    pub description: String,
    /// JSON Schema of its arguments, at most 64 KiB.
    pub input_schema: Json,
    /// JSON Schema of its structured content, if it has one.
    pub output_schema: Option<Json>,
    /// MCP's annotations, as they came.
    pub annotations: Option<Json>,
}

/// What a tool answered: MCP's `CallToolResult`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolAnswer {
    /// The content blocks, as they came.
    pub content: Vec<Json>,
    /// The structured content, if there is some.
    pub structured: Option<Json>,
    /// Whether the tool says that it failed.
    pub is_error: bool,
}

impl ToolAnswer {
    /// The text of its text blocks, joined by newlines.
    pub fn text(&self) -> String {
        let texts = self.content.iter().filter_map(|block| block["text"].as_str());
        texts.collect::<Vec<_>>().join("\n")
    }
}

/// Receives what a tool says while it works.
pub trait Progress: Send + Sync {
    /// One message, with how much is done of how much, where that is known.
    fn progress(&self, message: &str, done: Option<f64>, total: Option<f64>);
}

/// One call of a tool.
#[derive(Clone)]
pub struct Call {
    /// The tool's raw name.
    pub tool: String,
    /// Its arguments.
    pub arguments: Map<String, Json>,
    /// Who hears of its progress. Default nobody.
    pub progress: Option<Arc<dyn Progress>>,
    /// The same for each repetition of this call, and of no other one, so that the server can act once. Default none.
    pub key: Option<String>,
}

/// An open MCP endpoint. Dropping a call's future cancels the call, at the other end too.
#[async_trait]
pub trait Endpoint: Send + Sync {
    /// Its tools, at most 1 000 of an MCP server.
    ///
    /// # Errors
    /// `provider_unavailable` when it cannot be reached or does not speak MCP; `too_large` past 1 000 tools, or 4 MiB of
    /// their schemas.
    async fn list(&self) -> Result<Vec<Listed>>;

    /// Calls a tool to its end.
    ///
    /// # Errors
    /// `not_found`, `args_invalid` with its message, `provider_unavailable`. What the tool itself calls an error is an answer.
    async fn call(&self, call: Call) -> Result<ToolAnswer>;

    /// Ends it and what was started for it. Once; afterwards nothing of it is left.
    ///
    /// # Errors
    /// What could not be removed.
    async fn close(&self) -> Result<()>;

    /// Whether calls can still reach it, as far as is known without asking: not after its program has ended. Default yes.
    fn is_open(&self) -> bool {
        true
    }

    /// Whether it has said since this was asked last that its list of tools has changed. Default no.
    fn has_changed(&self) -> bool {
        false
    }
}

/// What a source opens (S0-16).
pub struct Opened {
    /// Where it is, if it has an address; else a word for people, such as `wasm`.
    pub url: String,
    /// What goes with each request to that address, secrets perhaps; none where it has no address, or needs none. They stand in no
    /// report and no log.
    pub headers: BTreeMap<String, String>,
    /// The endpoint itself.
    pub endpoint: Arc<dyn Endpoint>,
}

impl Opened {
    /// What speaks for itself, without headers.
    pub fn new(url: impl Into<String>, endpoint: Arc<dyn Endpoint>) -> Self {
        Self { url: url.into(), headers: BTreeMap::new(), endpoint }
    }

    /// A server of MCP at an address, connected to: for sources that start one somewhere. Closing it ends the connection; what was
    /// started is the source's.
    ///
    /// # Errors
    /// `args_invalid` for an address or a header that cannot be; `provider_unavailable` when nobody answers there.
    pub async fn at(url: &str, headers: &BTreeMap<String, String>) -> Result<Self> {
        crate::client::open_url(url, headers, &Outside::default()).await
    }

    /// The same, whose name somebody else may look up.
    ///
    /// # Errors
    /// As [`Opened::at`].
    pub async fn reached(url: &str, headers: &BTreeMap<String, String>, outside: &Outside) -> Result<Self> {
        crate::client::open_url(url, headers, outside).await
    }

    /// A server of MCP on the standard input and output of a program, started and greeted. Closing it ends the program.
    ///
    /// # Errors
    /// `provider_unavailable` when it cannot be started, or does not speak MCP, with the end of what it wrote to its standard error.
    pub async fn started(program: &Program, outside: &Outside) -> Result<Self> {
        crate::client::open_command(program, outside.programs.as_ref()).await
    }
}

/// A named factory of endpoints (S0-04).
#[async_trait]
pub trait Source: Send + Sync {
    /// Checks arguments without opening anything, templates still in place.
    ///
    /// # Errors
    /// `args_invalid` naming the argument (S0-30).
    fn check(&self, args: &Map<String, Json>) -> Result<()>;

    /// Opens an endpoint. If that fails, or the future is dropped, nothing of it is left.
    ///
    /// # Errors
    /// `args_invalid`, `health_timeout`, `provider_unavailable`.
    async fn open(&self, args: Map<String, Json>) -> Result<Opened>;

    /// Whether it takes the argument `mounts`, so that skills can be staged (S0-34). Default no.
    fn takes_mounts(&self) -> bool {
        false
    }
}

/// The sources of a process, by name, and who does for them what they need of this machine.
#[derive(Clone, Default)]
pub struct Registry {
    sources: BTreeMap<String, Arc<dyn Source>>,
    outside: Outside,
}

impl Registry {
    /// Names are looked up and programs started by these.
    #[must_use]
    pub fn with_outside(mut self, outside: Outside) -> Self {
        self.outside = outside;
        self
    }

    /// Who looks up names and starts programs.
    pub fn outside(&self) -> &Outside {
        &self.outside
    }

    /// Adds a source; one of the same name is replaced.
    pub fn register(&mut self, name: &str, source: Arc<dyn Source>) {
        self.sources.insert(name.to_owned(), source);
    }

    /// The source of that name.
    ///
    /// # Errors
    /// `unknown_source`, which lists those that there are (S0-05).
    pub fn find(&self, name: &str) -> Result<&Arc<dyn Source>> {
        self.sources.get(name).ok_or_else(|| {
            let names: Vec<&str> = self.sources.keys().map(String::as_str).collect();
            let shown: String = name.escape_debug().take(64).collect();
            let names = names.join(", ");
            let message = format!("unknown source \"{shown}\"; registered sources: {names}");
            Error::new(ErrorCode::UnknownSource, message)
                .with_hint("use one of them, or register another under that name")
        })
    }
}
