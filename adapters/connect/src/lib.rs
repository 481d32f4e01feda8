//! The servers that an operator connects, as tools of a sandbox: MCP servers, and HTTP APIs that an OpenAPI document describes.
//!
//! The way of a call, from top to bottom:
//!
//! | step | module |
//! | --- | --- |
//! | what is connected: files as clients of MCP write them, or in TOML | [`file`](mod@file), `strict`, `variables` |
//! | one server, and the operator's word on it | `connection`: [`Connection`], [`Reach`] |
//! | all of them, for whoever runs programs | [`Connectors`] |
//! | what runs share | `shared`: [`Settings`] |
//! | the tools of one run: found, allowed, called | `run` |
//! | a program's calls, looked at before it runs | `run::ahead` |
//! | rules, and tools that have changed | `rules`, `owners` |
//! | connections that are open, by owner | `pool` |
//! | a server's tools, by names that are identifiers | `tools`, `names` |
//! | an answer as a value, and files | `answer` |
//! | tools by words | `search` |
//! | tools in the caller's language | `stub`, `text` |
//! | the program `tool` of command lines | `program`: [`ToolProgram`] |
//! | HTTP APIs as servers | `openapi` |
//!
//! ```no_run
//! # async fn run() -> dormouse_core::Result<()> {
//! use dormouse_connect::{Connectors, Settings, file};
//!
//! let contents = file::read(&["servers.json"])?;
//! let settings = Settings { connections: contents.connections, rules: contents.rules, ..Settings::default() };
//! let connectors = Connectors::new(settings)?;
//! // ... `connectors` is the `Connections` of runs ...
//! connectors.close().await;
//! # Ok(())
//! # }
//! ```

mod answer;
mod connection;
pub mod file;
mod names;
mod openapi;
mod owners;
mod pool;
mod program;
mod rules;
mod run;
mod search;
mod shared;
mod strict;
mod stub;
#[cfg(test)]
mod tests;
mod text;
mod tools;
mod variables;

use std::sync::Arc;

use async_trait::async_trait;
use dormouse_core::connections::{Caller, Connections, FoundTool, Server};
use dormouse_core::{Catalog, Programs, Result};
use dormouse_sources::Program;

pub use connection::{Connection, Reach, Verdict};
pub use openapi::Document;
pub use program::ToolProgram;
pub use shared::Settings;

use run::{Run, Tools};
use shared::Shared;

/// The servers that are connected. Cheap to clone; a clone is the same. They are started and reached when somebody needs them, and
/// end with the last clone, or with [`Connectors::close`].
#[derive(Clone)]
pub struct Connectors(Arc<Shared>);

impl Connectors {
    /// Connects servers. Starts and reaches nothing yet.
    ///
    /// # Errors
    /// `args_invalid` for two servers of one name, past 64, and for secrets that may not go where their server is.
    pub fn new(settings: Settings) -> Result<Self> {
        Shared::new(settings).map(|shared| Self(Arc::new(shared)))
    }

    /// The programs of this machine among them, for whoever starts programs in place of this process.
    pub fn started(&self) -> Vec<Program> {
        self.0.connections.iter().filter_map(|connection| connection.program().cloned()).collect()
    }

    /// Ends all connections and the programs that were started. Whoever calls a tool afterwards is told that the host ends.
    pub async fn close(&self) {
        self.0.pool.close().await;
    }

    fn run(&self, caller: &Caller) -> Arc<Run> {
        Run::new(self.0.clone(), caller.clone())
    }
}

#[async_trait]
impl Connections for Connectors {
    fn catalog(&self, caller: &Caller) -> Arc<dyn Catalog> {
        Arc::new(Tools(self.run(caller)))
    }

    fn servers(&self) -> Vec<Server> {
        let names = self.0.identifiers.iter().enumerate();
        names.map(|(at, name)| Server { name: name.clone(), tools: self.0.pool.count(at) }).collect()
    }

    async fn search(&self, caller: &Caller, text: &str, most: usize) -> Result<Vec<FoundTool>> {
        self.run(caller).search(text, most, caller.language.as_ref()).await
    }

    fn programs(&self, caller: &Caller) -> Arc<dyn Programs> {
        Arc::new(ToolProgram::new(self, caller))
    }
}
