//! Warnings of a run: what could not be closed (S0-10), tools that were overwritten (S0-20).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use dormouse_sources::{Connection, Tools, Unclosed};

use super::observe::{Event, Observer};
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

    /// Adds one for every server that cannot be closed (S0-10).
    pub(super) fn unclosed(&self) -> Arc<Unclosed> {
        let warnings = self.clone();
        Arc::new(move |server, error| {
            let message = error.message();
            warnings.push(&format!("the server `{server}` could not be closed: {message}"));
        })
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
