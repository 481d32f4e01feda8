//! Warnings of a run: what could not be closed (S0-10), tools that were overwritten (S0-20).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use dormouse_core::Result;
use dormouse_sources::{Call, Connection, Endpoint, Listed, Opened, Registry, Source, ToolAnswer, Tools};
use serde_json::{Map, Value as Json};

use super::observe::{Event, Observer};
use crate::config::Plan;
use crate::report::Text;

/// Warnings that are kept.
const MOST: usize = 200;

/// The warnings of a run. Clones share them.
#[derive(Clone)]
pub(super) struct Warnings {
    kept: Arc<Mutex<Vec<Text>>>,
    observer: Arc<dyn Observer>,
}

impl Warnings {
    pub(super) fn new(observer: Arc<dyn Observer>) -> Self {
        Self { kept: Arc::default(), observer }
    }

    /// Adds one, unless it is there already.
    pub(super) fn push(&self, message: &str) {
        let text = Text::short(message);
        {
            let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            if kept.len() >= MOST || kept.contains(&text) {
                return;
            }
            kept.push(text);
        }
        self.observer.event(Event::Warning { message });
    }

    pub(super) fn take(&self) -> Vec<Text> {
        std::mem::take(&mut self.kept.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Warns of servers that list tools that cannot be reached.
    pub(super) fn overwritten(&self, connections: &[Vec<Connection>], tools: &Tools) {
        let mut visible: BTreeMap<String, usize> = BTreeMap::new();
        for tool in tools.list() {
            *visible.entry(tool.server.clone()).or_default() += 1;
        }
        for connection in connections.iter().flatten() {
            let there = visible.get(&connection.server).copied().unwrap_or_default();
            if there < connection.tools {
                let (server, lost, all) = (&connection.server, connection.tools - there, connection.tools);
                self.push(&format!(
                    "{lost} of the {all} tools of the server `{server}` are overwritten by servers that were opened later"
                ));
            }
        }
    }
}

/// The sources that a plan uses, each so that a warning is kept when what it opened cannot be closed.
pub(super) fn watched(plan: &Plan, registry: &Registry, warnings: &Warnings) -> Result<Registry> {
    let mut watched = Registry::default().with_outside(registry.outside().clone());
    for name in plan.entries.iter().filter_map(|entry| entry.source.as_deref()) {
        let source =
            Watched { source: registry.find(name)?.clone(), name: name.into(), warnings: warnings.clone() };
        watched.register(name, Arc::new(source));
    }
    Ok(watched)
}

struct Watched {
    source: Arc<dyn Source>,
    name: Arc<str>,
    warnings: Warnings,
}

#[async_trait]
impl Source for Watched {
    fn check(&self, args: &Map<String, Json>) -> Result<()> {
        self.source.check(args)
    }

    async fn open(&self, args: Map<String, Json>) -> Result<Opened> {
        let Opened { url, endpoint } = self.source.open(args).await?;
        let (name, warnings) = (self.name.clone(), self.warnings.clone());
        Ok(Opened { url, endpoint: Arc::new(WatchedEndpoint { endpoint, name, warnings }) })
    }

    fn takes_mounts(&self) -> bool {
        self.source.takes_mounts()
    }
}

struct WatchedEndpoint {
    endpoint: Arc<dyn Endpoint>,
    name: Arc<str>,
    warnings: Warnings,
}

#[async_trait]
impl Endpoint for WatchedEndpoint {
    async fn list(&self) -> Result<Vec<Listed>> {
        self.endpoint.list().await
    }

    async fn call(&self, call: Call) -> Result<ToolAnswer> {
        self.endpoint.call(call).await
    }

    async fn close(&self) -> Result<()> {
        let closed = self.endpoint.close().await;
        if let Err(error) = &closed {
            let (name, message) = (&self.name, error.message());
            self.warnings
                .push(&format!("what the source `{name}` had opened could not be closed: {message}"));
        }
        closed
    }
}
