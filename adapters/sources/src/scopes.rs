//! Scopes: what is opened at a boundary is closed with it, the inner before the outer, whoever closes first.
//!
//! A scope is a node of a tree: run, below it scenarios, below them sessions. [`OpenScope`] owns one. Closing, and dropping
//! too, ends the scopes below it first, then its own endpoints in reverse order, in a task of its own, so that giving up
//! the wait leaves nothing open. A scope that is still opening is stopped by it as well.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use dormouse_core::{Error, ErrorCode, Result};
use futures::StreamExt as _;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use serde_json::{Map, Value as Json};
use tokio_util::sync::CancellationToken;

use crate::entry::{self, Entry, Scope, Transport};
use crate::index::{Index, Naming, Tools};
use crate::{Endpoint, Listed, Registry, client, template};

/// A checked configuration, ready to be opened.
#[derive(Clone)]
pub struct Scopes {
    inner: Arc<Configured>,
}

#[derive(Clone)]
struct Configured {
    registry: Registry,
    entries: Vec<Entry>,
    /// How long the entries of one scope may take to open; for ever without.
    patience: Option<Duration>,
    /// Who hears of what cannot be closed; the log without.
    unclosed: Option<Arc<Unclosed>>,
}

/// Hears of a server, by its entry's name, that could not be closed, and why. Called while a scope closes: it must not block.
pub type Unclosed = dyn Fn(&str, &Error) + Send + Sync;

/// An entry that is open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connection {
    /// The entry's name.
    pub server: String,
    /// Where it is, or a word for people.
    pub url: String,
    /// How many tools it lists.
    pub tools: usize,
}

/// An open scope. Close it with [`OpenScope::close`]; dropping it closes it too, without waiting.
pub struct OpenScope {
    node: Arc<Node>,
}

struct Node {
    configured: Arc<Configured>,
    scope: Scope,
    /// What the scenario's templates are filled in with.
    variables: Map<String, Json>,
    index: Arc<Index>,
    /// Fires when it is to close.
    ending: CancellationToken,
    /// Held while it opens and while it closes.
    work: tokio::sync::Mutex<()>,
    held: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    ended: bool,
    /// In the order in which they were opened.
    servers: Vec<Server>,
    inner: Vec<Weak<Node>>,
}

struct Server {
    at: usize,
    name: String,
    url: String,
    naming: Naming,
    tools: usize,
    endpoint: Arc<dyn Endpoint>,
}

impl Scopes {
    /// Checks the entries; opens nothing.
    ///
    /// # Errors
    /// `unknown_source`, `args_invalid`, `template_missing_key`: see [`entry::check_all`].
    pub fn new(registry: Registry, entries: Vec<Entry>) -> Result<Self> {
        entry::check_all(&entries, &registry)?;
        Ok(Self { inner: Arc::new(Configured { registry, entries, patience: None, unclosed: None }) })
    }

    /// The same with somebody who hears of what cannot be closed, however its scope comes to close; the log does not then.
    #[must_use]
    pub fn with_unclosed(self, hears: Arc<Unclosed>) -> Self {
        let configured = (*self.inner).clone();
        Self { inner: Arc::new(Configured { unclosed: Some(hears), ..configured }) }
    }

    /// The same where the entries of one scope must be open after that time; closing them again is not counted. Default: they
    /// may take for ever.
    #[must_use]
    pub fn with_patience(self, patience: Duration) -> Self {
        let configured = (*self.inner).clone();
        Self { inner: Arc::new(Configured { patience: Some(patience), ..configured }) }
    }

    /// Whether an entry of that scope is there.
    pub fn has(&self, scope: Scope) -> bool {
        self.inner.entries.iter().any(|entry| entry.scope == Some(scope))
    }

    /// Opens the entries of scope `run` and the static ones, at the start of the host.
    ///
    /// # Errors
    /// What the first entry that failed says, its name before it; those that were open are closed by then (S0-11). `limit_time`
    /// names those that were not open in time.
    pub async fn open_run(&self) -> Result<OpenScope> {
        OpenScope::open(self.inner.clone(), Scope::Run, Map::new(), None).await
    }
}

impl OpenScope {
    /// Opens the entries of scope `scenario`, their arguments filled in with the scenario's variables.
    ///
    /// # Errors
    /// As [`Scopes::open_run`]; `template_missing_key`; `invalid_state` unless this is a scope `run` that is open.
    pub async fn open_scenario(&self, variables: &Map<String, Json>) -> Result<Self> {
        self.expect(Scope::Run)?;
        Self::open(self.node.configured.clone(), Scope::Scenario, variables.clone(), Some(&self.node)).await
    }

    /// Opens the entries of scope `session`, for one repetition of the scenario. Close it after the gates (S0-08).
    ///
    /// # Errors
    /// As [`Scopes::open_run`]; `template_missing_key`; `invalid_state` unless this is a scope `scenario` that is open.
    pub async fn open_session(&self) -> Result<Self> {
        self.expect(Scope::Scenario)?;
        let variables = self.node.variables.clone();
        Self::open(self.node.configured.clone(), Scope::Session, variables, Some(&self.node)).await
    }

    /// The tools that can be called here: its own, over those of the scopes around it.
    pub fn tools(&self) -> Tools {
        Tools::new(self.node.index.clone())
    }

    /// Which boundary it belongs to.
    pub fn scope(&self) -> Scope {
        self.node.scope
    }

    /// What it opened itself, in the order of the configuration.
    pub fn connections(&self) -> Vec<Connection> {
        let held = self.node.held();
        let shown = held.servers.iter().map(|server| Connection {
            server: server.name.clone(),
            url: server.url.clone(),
            tools: server.tools,
        });
        shown.collect()
    }

    /// Closes the scopes below it, then what it opened, and waits for that. What cannot be closed is a warning in the log
    /// (S0-10).
    pub async fn close(self) {
        let node = self.node.clone();
        // Giving up the wait does not give up the work.
        let closing = tokio::spawn(async move { node.end().await });
        drop(closing.await);
    }

    fn expect(&self, scope: Scope) -> Result<()> {
        if self.node.scope == scope {
            return Ok(());
        }
        let (is, below) = (self.node.scope.as_str(), scope.as_str());
        Err(Error::new(
            ErrorCode::InvalidState,
            format!("a scope {is} cannot open what belongs below {below}"),
        ))
    }

    async fn open(
        configured: Arc<Configured>,
        scope: Scope,
        variables: Map<String, Json>,
        outer: Option<&Arc<Node>>,
    ) -> Result<Self> {
        let index = Arc::new(Index::over(outer.map(|outer| outer.index.clone())));
        let ending = outer.map_or_else(CancellationToken::new, |outer| outer.ending.child_token());
        let (work, held) = Default::default();
        let node = Arc::new(Node { configured, scope, variables, index, ending, work, held });
        if let Some(outer) = outer {
            outer.adopt(&node)?;
        }
        // From here on a dropped future drops the scope, and that closes what is open.
        let open = Self { node };
        let node = open.node.clone();
        // A task of its own goes on when nobody polls this future, so that closing never waits for one that stands still.
        let opening = tokio::spawn(async move {
            let _work = node.work.lock().await;
            tokio::select! {
                biased;
                () = node.ending.cancelled() => Err(ended()),
                opened = node.open() => opened,
            }
        });
        let opened = match opening.await {
            Ok(opened) => opened,
            Err(error) => Err(Error::internal("opening a scope broke down", error)),
        };
        match opened {
            Ok(()) => Ok(open),
            Err(error) => {
                open.close().await;
                Err(error)
            }
        }
    }
}

impl Drop for OpenScope {
    fn drop(&mut self) {
        if self.node.held().is_done() {
            return;
        }
        self.node.ending.cancel();
        let node = self.node.clone();
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn(async move { node.end().await })),
            Err(_) => tracing::warn!(scope = node.scope.as_str(), "dropped outside a runtime; not closed"),
        }
    }
}

impl Held {
    fn is_done(&self) -> bool {
        self.ended && self.servers.is_empty() && self.inner.is_empty()
    }
}

impl Node {
    fn held(&self) -> std::sync::MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers a scope below it.
    fn adopt(&self, inner: &Arc<Self>) -> Result<()> {
        let mut held = self.held();
        if held.ended || self.ending.is_cancelled() {
            return Err(ended());
        }
        held.inner.retain(|inner| inner.strong_count() > 0);
        held.inner.push(Arc::downgrade(inner));
        Ok(())
    }

    /// Its entries, with their places in the configuration.
    fn mine(&self) -> impl Iterator<Item = (usize, &Entry)> {
        let entries = self.configured.entries.iter().enumerate();
        entries.filter(move |(_, entry)| entry.scope.unwrap_or(Scope::Run) == self.scope)
    }

    /// That the entries besides these were not open in time.
    fn late(&self, after: Duration, open: &[(usize, Vec<Listed>)]) -> Error {
        let is_open = |at: usize| open.iter().any(|(other, _)| *other == at);
        let mut late = self.mine().filter(|(at, _)| !is_open(*at)).map(|(_, entry)| entry);
        let first = late.next();
        let others = late.map(|entry| match &entry.place {
            Some(place) => format!("; nor was `{}` ({place})", entry.name),
            None => format!("; nor was `{}`", entry.name),
        });
        let message = format!("it was not open after {} s{}", after.as_secs(), others.collect::<String>());
        let error = Error::new(ErrorCode::LimitTime, message);
        match first {
            Some(entry) => entry.named(error),
            None => error,
        }
    }

    /// Opens its entries, at the same time; registers their tools in the order of the configuration.
    async fn open(&self) -> Result<()> {
        let mut opening: FuturesUnordered<_> = self
            .mine()
            .map(|(at, entry)| async move {
                self.open_entry(at, entry).await.map_err(|error| entry.named(error)).map(|tools| (at, tools))
            })
            .collect();
        let mut listed: Vec<(usize, Vec<Listed>)> = Vec::new();
        let all = async {
            while let Some(opened) = opening.next().await {
                listed.push(opened?);
            }
            Ok::<(), Error>(())
        };
        let done = match self.configured.patience {
            Some(patience) => tokio::time::timeout(patience, all).await.map_err(|_| patience),
            None => Ok(all.await),
        };
        drop(opening);
        match done {
            Ok(done) => done?,
            Err(patience) => return Err(self.late(patience, &listed)),
        }
        listed.sort_by_key(|(at, _)| *at);
        let mut held = self.held();
        held.servers.sort_by_key(|server| server.at);
        for (server, (_, tools)) in held.servers.iter_mut().zip(listed) {
            server.tools = tools.len();
            self.index.register(&server.name, server.naming, tools, &server.endpoint);
        }
        Ok(())
    }

    /// Opens one entry. It is held from the moment it is open, so that whatever happens next closes it.
    async fn open_entry(&self, at: usize, entry: &Entry) -> Result<Vec<Listed>> {
        let outside = self.configured.registry.outside();
        let (opened, naming) = match entry.transport()? {
            Transport::Source { source, .. } => {
                let args = template::fill(&entry.source_args, &self.variables)?;
                let source = self.configured.registry.find(source)?;
                (source.open(args).await?, Naming::Raw)
            }
            Transport::Url(url) => {
                (client::open_url(url, &entry.headers, outside).await?, Naming::Namespaced)
            }
            Transport::Command(_) => {
                let Some(program) = entry.program() else { return Err(entry.wrong("names no program")) };
                (client::open_command(&program, outside.programs.as_ref()).await?, Naming::Namespaced)
            }
        };
        tracing::info!(server = entry.name, url = opened.url, "open");
        let endpoint = opened.endpoint.clone();
        let (name, url) = (entry.name.clone(), opened.url);
        self.held().servers.push(Server { at, name, url, naming, tools: 0, endpoint: opened.endpoint });
        endpoint.list().await
    }

    /// Closes what is below it, then its own. Whoever comes second waits for the first, and finds nothing.
    fn end(self: Arc<Self>) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            self.ending.cancel();
            let inner = {
                let mut held = self.held();
                held.ended = true;
                held.inner.iter().filter_map(Weak::upgrade).collect::<Vec<_>>()
            };
            futures::future::join_all(inner.into_iter().map(Self::end)).await;
            let _work = self.work.lock().await;
            self.index.clear();
            let servers = {
                let mut held = self.held();
                held.inner.clear();
                std::mem::take(&mut held.servers)
            };
            for server in servers.into_iter().rev() {
                match (server.endpoint.close().await, &self.configured.unclosed) {
                    (Ok(()), _) => {}
                    (Err(error), Some(hears)) => hears(&server.name, &error),
                    (Err(error), None) => {
                        let (code, message) = (error.code().as_str(), error.message());
                        tracing::warn!(server = server.name, code, message, "not closed");
                    }
                }
            }
        })
    }
}

fn ended() -> Error {
    Error::new(ErrorCode::Cancelled, "the scope was closed").with_hint("open a new one")
}

#[cfg(test)]
#[path = "scopes_tests.rs"]
mod tests;
