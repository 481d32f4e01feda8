//! The tools of what is open, by name. An inner scope's index lies over the outer's, so that what it overwrote comes back.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError, RwLock};

use dormouse_core::{Error, ErrorCode, Result};
use dormouse_tools::by_likeness;
use serde_json::{Map, Value as Json};

use crate::arguments::{Check, Patterns};
use crate::{Call, Endpoint, Listed, Progress, ToolAnswer};

/// Characters of a tool's name that an error repeats.
const SHOWN: usize = 128;
/// Tools that an error names.
const NAMED: usize = 20;

/// One tool that can be called now.
pub struct Tool {
    /// The name that callers use: raw for a source's tool, `mcp__SERVER__TOOL` for a static entry's (S0-17).
    pub name: String,
    /// The entry that it belongs to.
    pub server: String,
    /// As its server lists it, its raw name included.
    pub listed: Listed,
    endpoint: Arc<dyn Endpoint>,
    check: Option<Check>,
}

impl Tool {
    /// Calls it. Dropping the future cancels the call, at the other end too.
    ///
    /// # Errors
    /// `args_invalid` as `tool NAME validation error (args_invalid)`, what is wrong in the hint; `not_found` as `tool not
    /// found: NAME`; `provider_unavailable`. What the tool itself calls an error is an answer.
    pub async fn call(
        &self,
        arguments: Map<String, Json>,
        progress: Option<Arc<dyn Progress>>,
    ) -> Result<ToolAnswer> {
        let arguments = Json::Object(arguments);
        if let Some(violation) = self.check.as_ref().and_then(|check| check.violation(&arguments)) {
            return Err(invalid(&self.name).with_hint(violation));
        }
        let Json::Object(arguments) = arguments else { return Err(invalid(&self.name)) };
        let call = Call { tool: self.listed.name.clone(), arguments, progress, key: None };
        self.endpoint.call(call).await.map_err(|error| self.worded(error))
    }

    fn worded(&self, error: Error) -> Error {
        match error.code() {
            ErrorCode::ArgsInvalid => invalid(&self.name).with_hint(error.message()).with_source(error),
            ErrorCode::NotFound => not_found(&self.name)
                .with_hint(format!("the server `{}` lists it and does not have it", self.server))
                .with_source(error),
            _ => error,
        }
    }
}

/// The tools that one scope added, over those of the scope around it.
#[derive(Default)]
pub(crate) struct Index {
    outer: Option<Arc<Index>>,
    own: RwLock<BTreeMap<String, Arc<Tool>>>,
}

/// How an entry's tools are called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Naming {
    /// By the server's own names.
    Raw,
    /// As `mcp__SERVER__TOOL`.
    Namespaced,
}

impl Index {
    pub(crate) fn over(outer: Option<Arc<Self>>) -> Self {
        Self { outer, own: RwLock::default() }
    }

    /// Adds a server's tools; one of the same name is overwritten (S0-20).
    pub(crate) fn register(
        &self,
        server: &str,
        naming: Naming,
        tools: Vec<Listed>,
        endpoint: &Arc<dyn Endpoint>,
    ) {
        let mut patterns = Patterns::default();
        let mut overwritten: Vec<(String, String)> = Vec::new();
        for listed in tools {
            let name = match naming {
                Naming::Raw => listed.name.clone(),
                Naming::Namespaced => format!("mcp__{server}__{}", listed.name),
            };
            if let Some(before) = self.get(&name) {
                overwritten.push((name.clone(), before.server.clone()));
            }
            let check = Check::new(&listed.input_schema, &mut patterns).map_or_else(
                |why| {
                    tracing::warn!(tool = name, server, why, "arguments are not checked against the schema");
                    None
                },
                Some,
            );
            let tool =
                Tool { name: name.clone(), server: server.into(), listed, endpoint: endpoint.clone(), check };
            self.own.write().unwrap_or_else(PoisonError::into_inner).insert(name, Arc::new(tool));
        }
        if let Some((tool, before)) = overwritten.first() {
            tracing::warn!(
                server,
                tool,
                before,
                tools = overwritten.len(),
                "two servers have the same tools"
            );
        }
    }

    /// Takes its own tools away.
    pub(crate) fn clear(&self) {
        self.own.write().unwrap_or_else(PoisonError::into_inner).clear();
    }

    fn get(&self, name: &str) -> Option<Arc<Tool>> {
        let own = self.own.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned();
        own.or_else(|| self.outer.as_ref()?.get(name))
    }

    fn all(&self) -> BTreeMap<String, Arc<Tool>> {
        let mut all = self.outer.as_ref().map(|outer| outer.all()).unwrap_or_default();
        let own = self.own.read().unwrap_or_else(PoisonError::into_inner);
        all.extend(own.iter().map(|(name, tool)| (name.clone(), tool.clone())));
        all
    }
}

/// The tools that can be called from within a scope, or those of them that are allowed. Cheap to clone; what it lists
/// changes when a scope closes.
#[derive(Clone)]
pub struct Tools {
    index: Arc<Index>,
    allowed: Option<Arc<BTreeSet<String>>>,
}

impl Tools {
    pub(crate) fn new(index: Arc<Index>) -> Self {
        Self { index, allowed: None }
    }

    /// Only those of these names, as callers use them (S0-19). Allowing never adds.
    #[must_use]
    pub fn only<I: IntoIterator<Item: Into<String>>>(mut self, names: I) -> Self {
        let mut names: BTreeSet<String> = names.into_iter().map(Into::into).collect();
        if let Some(before) = &self.allowed {
            names.retain(|name| before.contains(name));
        }
        self.allowed = Some(Arc::new(names));
        self
    }

    /// All of them, sorted by name.
    pub fn list(&self) -> Vec<Arc<Tool>> {
        let mut all = self.index.all();
        all.retain(|name, _| self.allows(name));
        all.into_values().collect()
    }

    /// The allowed names that no server has, sorted.
    pub fn missing(&self) -> Vec<String> {
        let names = self.allowed.iter().flat_map(|names| names.iter());
        names.filter(|name| self.index.get(name).is_none()).cloned().collect()
    }

    /// The tool of that name.
    ///
    /// # Errors
    /// `not_found` as `tool not found: NAME` (S0-40).
    pub fn find(&self, name: &str) -> Result<Arc<Tool>> {
        let found = self.index.get(name);
        match found {
            Some(tool) if self.allows(name) => Ok(tool),
            Some(_) => {
                Err(not_found(name)
                    .with_hint(format!("it is not among the allowed tools; {}", self.near(name))))
            }
            None => Err(not_found(name).with_hint(self.near(name))),
        }
    }

    /// Finds and calls a tool: see [`Tool::call`].
    ///
    /// # Errors
    /// As [`Tools::find`] and [`Tool::call`].
    pub async fn call(
        &self,
        name: &str,
        arguments: Map<String, Json>,
        progress: Option<Arc<dyn Progress>>,
    ) -> Result<ToolAnswer> {
        self.find(name)?.call(arguments, progress).await
    }

    fn allows(&self, name: &str) -> bool {
        self.allowed.as_ref().is_none_or(|names| names.contains(name))
    }

    /// The tools that there are, the likest first.
    fn near(&self, name: &str) -> String {
        let tools = self.list();
        let names = by_likeness(name, tools.iter().map(|tool| tool.name.as_str()));
        let first: Vec<String> = names.iter().take(NAMED).map(|name| shown(name)).collect();
        match names.len().checked_sub(NAMED) {
            _ if names.is_empty() => "no server that is open lists a tool that may be called".into(),
            None | Some(0) => format!("the tools are `{}`", first.join("`, `")),
            Some(more) => format!("the tools are `{}`, and {more} more", first.join("`, `")),
        }
    }
}

fn shown(name: &str) -> String {
    name.escape_debug().take(SHOWN).collect()
}

fn not_found(name: &str) -> Error {
    Error::new(ErrorCode::NotFound, format!("tool not found: {}", shown(name)))
}

fn invalid(name: &str) -> Error {
    Error::args_invalid(format!("tool {} validation error (args_invalid)", shown(name)))
}

#[cfg(test)]
#[path = "index_tests.rs"]
mod tests;
