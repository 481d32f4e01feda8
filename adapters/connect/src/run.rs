//! The tools as one run calls them: found by name, allowed, called, and their answers taken apart.

mod ahead;

use std::sync::Arc;

use dormouse_core::callback::{Callback, CallbackAnswer, CallbackCall, Catalog};
use dormouse_core::connections::{ApprovalRequest, Caller, Decision, FoundTool};
use dormouse_core::{Error, ErrorCode, Language, PlainCall, Result};
use dormouse_sources::Call;
use futures::future::BoxFuture;
use serde_json::{Map, Value as Json, json};
use tokio::sync::Mutex;

use crate::answer::{self, FileNames};
use crate::pool::{Fresh, Held, Pool};
use crate::rules::{self, Decided, Known};
use crate::shared::Shared;
use crate::stub;
use crate::tools::{Mark, Tool};

/// Tools that a search of a program finds where it does not say how many, and at most.
const FOUND: usize = 10;
const MOST_FOUND: usize = 50;
/// Longest text that is searched for, in bytes.
const MAX_TEXT: usize = 1_024;
/// How often a call is looked at again whose tool changes meanwhile.
const LOOKS: usize = 6;

/// One run.
pub(crate) struct Run {
    pub(crate) shared: Arc<Shared>,
    pub(crate) caller: Caller,
    /// Held by who asks somebody: questions are asked one at a time, in the order of the calls.
    asking: Mutex<()>,
    files: FileNames,
}

impl Run {
    pub(crate) fn new(shared: Arc<Shared>, caller: Caller) -> Arc<Self> {
        Arc::new(Self { shared, caller, asking: Mutex::default(), files: FileNames::new() })
    }

    /// A server with its tools, for this run's owner.
    pub(crate) async fn reach(&self, server: usize, fresh: Fresh<'_>) -> Result<Held, String> {
        self.shared.pool.reach(server, &self.caller.owner, fresh).await.map_err(|error| {
            let name = &self.shared.connections[server].name;
            let hint = error.hint().map(|hint| format!(" ({hint})")).unwrap_or_default();
            format!(
                "the server `{name}` cannot be reached, and nothing was called: {}{hint}",
                error.message()
            )
        })
    }

    /// Calls a tool, by the name of either kind.
    pub(crate) async fn call(
        &self,
        server: usize,
        name: &str,
        call: CallbackCall,
    ) -> Result<CallbackAnswer, String> {
        let arguments = match call.arguments {
            Json::Object(arguments) => Json::Object(arguments),
            Json::Null => json!({}),
            _ => return Err("a tool takes its arguments by name".into()),
        };
        // A server that starts and a person who is asked take no time of the run's; the call itself does.
        let paused = call.clock.pause();
        let held = self.allowed(server, name, &arguments).await?;
        drop(paused);
        let Some(tool) = held.tools.get(name) else { return Err(self.shared.no_tool(server, &held, name)) };
        let Json::Object(arguments) = arguments else { return Err("no arguments".into()) };
        let answer = self.made(server, &held, tool, (arguments, call.key)).await?;
        answer::unwrapped(answer, &tool.identifier, &self.files)
    }

    /// Makes a call that is allowed.
    async fn made(
        &self,
        server: usize,
        held: &Held,
        tool: &Tool,
        (arguments, key): (Map<String, Json>, Option<String>),
    ) -> Result<dormouse_sources::ToolAnswer, String> {
        let (shared, connection) = (&self.shared, &self.shared.connections[server]);
        let name = format!("{}.{}", connection.name, tool.listed.name);
        let places = shared.owners.get(&self.caller.owner).calls.clone();
        let _place = places.acquire_owned().await.map_err(|_| "the host ends".to_owned())?;
        let call = Call { tool: tool.listed.name.clone(), arguments, progress: None, key };
        let answered = tokio::time::timeout(shared.call, held.endpoint.call(call)).await;
        // What came back, an error too, is the server's.
        if connection.untrusted {
            self.caller.taint.set();
        }
        let unknown = "nobody knows whether the call was made";
        match answered {
            Ok(Ok(answer)) => {
                Pool::answered(held);
                Ok(answer)
            }
            Ok(Err(error)) => {
                let hint = error.hint().map(|hint| format!(" ({hint})")).unwrap_or_default();
                let told = format!("`{name}`: {}{hint}", error.message());
                let is_refused = matches!(
                    error.code(),
                    ErrorCode::NotFound | ErrorCode::ArgsInvalid | ErrorCode::Busy | ErrorCode::NetworkDenied
                );
                Err(if is_refused || held.endpoint.is_open() { told } else { format!("{told}; {unknown}") })
            }
            Err(_) => {
                Err(format!("`{name}` gave no answer within {:.0} s; {unknown}", shared.call.as_secs_f64()))
            }
        }
    }

    /// The server, once the call is allowed: by a rule, or by somebody who was asked.
    async fn allowed(&self, server: usize, name: &str, arguments: &Json) -> Result<Held, String> {
        let (shared, connection) = (&self.shared, &self.shared.connections[server]);
        let kept = shared.owners.get(&self.caller.owner);
        let (mut fresh, mut approved) = (Fresh::With(name), None::<Mark>);
        for _ in 0..LOOKS {
            let held = self.reach(server, fresh).await?;
            let Some(tool) = held.tools.get(name) else { return Err(shared.no_tool(server, &held, name)) };
            let (raw, mark) = (tool.listed.name.clone(), tool.mark);
            let full = format!("{}.{raw}", connection.name);
            if let Some(violation) = held.tools.violation(tool, arguments) {
                let identifier = format!("{}.{}", shared.identifiers[server], tool.identifier);
                return Err(format!("the arguments of `{identifier}` do not fit: {violation}"));
            }
            let decided = shared.rules.decide(&Known {
                names: &shared.names(server, tool),
                server: connection,
                read_only: tool.is_read_only(),
                changed: kept.has_changed(server, &raw, &mark),
                tainted: self.caller.taint.is_set(),
            });
            match decided {
                Decided::No => return Err(format!("the operator denies calls of `{full}`")),
                Decided::Go => {}
                Decided::Ask(_) if approved == Some(mark) => {}
                // Somebody is asked about what the server says now.
                Decided::Ask(_) if fresh != Fresh::Recent => {
                    fresh = Fresh::Recent;
                    continue;
                }
                Decided::Ask(reason) => {
                    if reason == rules::CHANGED {
                        tracing::warn!(
                            tool = full,
                            "what a server says of a tool has changed since a call was allowed"
                        );
                    }
                    // Nothing is held while somebody thinks.
                    drop(held);
                    self.ask(&full, arguments, reason, &mark).await?;
                    approved = Some(mark);
                    continue;
                }
            }
            kept.pin(server, &raw, mark);
            return Ok(held);
        }
        Err(format!("the server `{}` changes its tools all the time", connection.name))
    }

    async fn ask(&self, name: &str, arguments: &Json, reason: &str, mark: &Mark) -> Result<(), String> {
        let Some(approver) = &self.caller.approver else { return Err(rules::unasked(name, reason)) };
        let digest: String = mark.iter().map(|byte| format!("{byte:02x}")).collect();
        let request = ApprovalRequest {
            tool: name.into(),
            arguments: arguments.clone(),
            reason: reason.into(),
            digest: Some(digest),
        };
        let _turn = match approver.takes_several() {
            true => None,
            false => Some(self.asking.lock().await),
        };
        match approver.ask(request).await {
            Decision::Approved => Ok(()),
            Decision::Denied(why) => Err(format!("the call of `{name}` was not approved: {why}")),
        }
    }

    /// The tools that fit a text best, told in a language.
    pub(crate) async fn search(
        &self,
        text: &str,
        most: usize,
        language: Option<&Language>,
    ) -> Result<Vec<FoundTool>> {
        let text = &text[..text.floor_char_boundary(MAX_TEXT.min(text.len()))];
        let lists = self.shared.lists(&self.caller.owner).await?;
        let (indexes, text) = (self.shared.indexes.clone(), text.to_owned());
        // Many tools take a moment, in which others go on.
        let searched = tokio::task::spawn_blocking(move || indexes.search(lists, &text, most)).await;
        let found = searched.map_err(|error| Error::internal("a search broke off", error))?;
        let offered = found.into_iter().filter(|(server, tools, at)| {
            !self.shared.rules.denies(&self.shared.names(*server, &tools.list[*at]))
        });
        let told = offered.map(|(server, tools, at)| {
            let (server, tool) = (&self.shared.identifiers[server], &tools.list[at]);
            FoundTool {
                name: format!("{server}.{}", tool.identifier),
                description: stub::summary(&tool.listed.description),
                signature: stub::signature(server, tool, language),
            }
        });
        Ok(told.collect())
    }

    /// What a name stands for, in the caller's language: a tool, a server with all its tools, or nothing: the servers.
    pub(crate) async fn describe(&self, name: &str) -> Result<String, String> {
        let shared = &self.shared;
        if name.is_empty() {
            return Ok(self.servers());
        }
        let (server, tool) = match name.split_once('.') {
            Some((server, tool)) => (server, Some(tool)),
            None => (name, None),
        };
        let Some(at) = shared.server(server) else {
            let shown: String = server.escape_debug().take(64).collect();
            return Err(format!("no server `{shown}`; {}", shared.no_server(server)));
        };
        let (server, language) = (&shared.identifiers[at], self.caller.language.as_ref());
        let Some(tool) = tool else {
            let held = self.reach(at, Fresh::Recent).await?;
            return Ok(stub::all(server, &held.tools.list, language));
        };
        let held = self.reach(at, Fresh::With(tool)).await?;
        match held.tools.get(tool) {
            Some(tool) => Ok(stub::one(server, tool, language)),
            None => Err(shared.no_tool(at, &held, tool)),
        }
    }

    /// The servers, one a line.
    pub(crate) fn servers(&self) -> String {
        let names = self.shared.identifiers.iter().enumerate();
        let lines = names.map(|(at, name)| match self.shared.pool.count(at) {
            Some(count) => format!("{name} ({count} tools)"),
            None => name.clone(),
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    async fn answer_search(&self, call: &CallbackCall) -> Result<CallbackAnswer, String> {
        let text = call.arguments["text"].as_str().ok_or("`search` takes a `text`")?;
        let most =
            call.arguments["most"].as_u64().and_then(|most| usize::try_from(most).ok()).unwrap_or(FOUND);
        let found = self
            .search(text, most.min(MOST_FOUND), self.caller.language.as_ref())
            .await
            .map_err(|error| error.to_string())?;
        Ok(json!(found).into())
    }

    async fn answer_describe(&self, call: &CallbackCall) -> Result<CallbackAnswer, String> {
        let text = self.describe(call.arguments["name"].as_str().unwrap_or_default()).await?;
        answer::bounded(text.into(), "describe", &self.files)
    }
}

/// The catalog of a run.
pub(crate) struct Tools(pub(crate) Arc<Run>);

impl Catalog for Tools {
    fn find(&self, name: &str) -> Option<Callback> {
        let run = self.0.clone();
        let schema = || json!({"type": "object"});
        let found = match name {
            "search" => Callback::answering("finds tools", schema(), move |call| {
                let run = run.clone();
                async move { run.answer_search(&call).await }
            }),
            "describe" => Callback::answering("describes a tool", schema(), move |call| {
                let run = run.clone();
                async move { run.answer_describe(&call).await }
            }),
            name => {
                let (server, tool) = name.split_once('.')?;
                let (server, tool) = (run.shared.server(server)?, Arc::<str>::from(tool));
                Callback::answering("a tool of a server", schema(), move |call| {
                    let (run, tool) = (run.clone(), tool.clone());
                    async move { run.call(server, &tool, call).await }
                })
            }
        };
        let found = if name.contains('.') { found } else { found.stopping_clock() };
        Some(if self.0.shared.may_repeat(name) { found.repeating() } else { found })
    }

    fn missing(&self, name: &str) -> String {
        let shared = &self.0.shared;
        let (server, tool) = name.split_once('.').unwrap_or((name, ""));
        match shared.server(server) {
            Some(at) if tool.is_empty() => {
                let server = &shared.identifiers[at];
                format!(
                    "`{server}` is a server: name one of its tools, which `tools.describe(\"{server}\")` tells"
                )
            }
            _ => shared.no_server(server),
        }
    }

    fn looks_ahead(&self) -> bool {
        self.0.shared.check
    }

    fn look_ahead(&self, calls: Vec<PlainCall>) -> BoxFuture<'_, Option<String>> {
        Box::pin(ahead::look(&self.0, calls))
    }
}
