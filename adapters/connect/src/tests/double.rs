//! A server of this process that does as a test says.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use dormouse_core::connections::{ApprovalRequest, Approver, Caller, Decision, Taint};
use dormouse_core::sandbox::Owner;
use dormouse_core::{
    CallbackAnswer, CallbackCall, Catalog, Connections as _, Error, ErrorCode, Language, Result,
};
use dormouse_sources::{Call, Endpoint, Listed, Opened, Source, ToolAnswer};
use serde_json::{Map, Value as Json, json};

use crate::{Connection, Connectors, Reach, Settings};

/// What the server does with a call.
pub(super) enum Does {
    /// It answers.
    Answers(ToolAnswer),
    /// It refuses with a code.
    Fails(ErrorCode, &'static str),
    /// It ends.
    Dies,
    /// It never answers.
    Hangs,
}

type Script = dyn Fn(&Call) -> Does + Send + Sync;

/// The server, whose connections may be several.
pub(super) struct Double {
    pub(super) tools: Mutex<Vec<Listed>>,
    pub(super) calls: Mutex<Vec<Call>>,
    /// How often it was opened, and how many connections are open.
    pub(super) opened: AtomicUsize,
    pub(super) live: AtomicUsize,
    /// How many openings fail from here on.
    pub(super) failing: AtomicUsize,
    pub(super) changed: AtomicBool,
    script: Box<Script>,
}

/// A tool without arguments, or with what the schema says.
pub(super) fn listed(name: &str, description: &str, schema: Json) -> Listed {
    Listed {
        name: name.into(),
        description: description.into(),
        input_schema: schema,
        output_schema: None,
        annotations: None,
    }
}

pub(super) fn text(text: &str) -> ToolAnswer {
    ToolAnswer { content: vec![json!({"type": "text", "text": text})], ..ToolAnswer::default() }
}

impl Double {
    pub(super) fn new(
        tools: Vec<Listed>,
        script: impl Fn(&Call) -> Does + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self {
            tools: Mutex::new(tools),
            calls: Mutex::default(),
            opened: AtomicUsize::new(0),
            live: AtomicUsize::new(0),
            failing: AtomicUsize::new(0),
            changed: AtomicBool::new(false),
            script: Box::new(script),
        })
    }

    /// A server whose tools say their name.
    pub(super) fn echo(names: &[&str]) -> Arc<Self> {
        let tools = names.iter().map(|name| listed(name, "Says its name.", json!({"type": "object"})));
        Self::new(tools.collect(), |call| Does::Answers(text(&call.tool)))
    }

    pub(super) fn connection(self: &Arc<Self>, name: &str) -> Connection {
        Connection::new(name, Reach::Source(Arc::new(Opens(self.clone())))).unwrap()
    }

    pub(super) fn called(&self) -> Vec<String> {
        self.calls.lock().unwrap().iter().map(|call| call.tool.clone()).collect()
    }
}

struct Opens(Arc<Double>);

struct Line {
    double: Arc<Double>,
    open: AtomicBool,
}

impl Line {
    fn end(&self) {
        if self.open.swap(false, Ordering::SeqCst) {
            self.double.live.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.end();
    }
}

#[async_trait]
impl Source for Opens {
    fn check(&self, _: &Map<String, Json>) -> Result<()> {
        Ok(())
    }

    async fn open(&self, _: Map<String, Json>) -> Result<Opened> {
        tokio::time::sleep(Duration::from_millis(5)).await;
        self.0.opened.fetch_add(1, Ordering::SeqCst);
        let fails =
            self.0.failing.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        if fails.is_ok() {
            return Err(
                Error::new(ErrorCode::ProviderUnavailable, "it does not come up").with_hint("look at it")
            );
        }
        self.0.live.fetch_add(1, Ordering::SeqCst);
        Ok(Opened::new("double", Arc::new(Line { double: self.0.clone(), open: AtomicBool::new(true) })))
    }
}

#[async_trait]
impl Endpoint for Line {
    async fn list(&self) -> Result<Vec<Listed>> {
        Ok(self.double.tools.lock().unwrap().clone())
    }

    async fn call(&self, call: Call) -> Result<ToolAnswer> {
        let does = (self.double.script)(&call);
        self.double.calls.lock().unwrap().push(call);
        match does {
            Does::Answers(answer) => Ok(answer),
            Does::Fails(code, why) => Err(Error::new(code, why)),
            Does::Dies => {
                self.end();
                Err(Error::new(ErrorCode::ProviderUnavailable, "the MCP server has ended with signal 9"))
            }
            Does::Hangs => std::future::pending().await,
        }
    }

    async fn close(&self) -> Result<()> {
        self.end();
        Ok(())
    }

    fn is_open(&self) -> bool {
        self.open.load(Ordering::SeqCst)
    }

    fn has_changed(&self) -> bool {
        self.double.changed.swap(false, Ordering::SeqCst)
    }
}

/// Somebody who is asked, and answers in turn.
#[derive(Default)]
pub(super) struct Asked {
    pub(super) requests: Mutex<Vec<ApprovalRequest>>,
    /// Answers; when there are none left: approved.
    pub(super) answers: Mutex<Vec<Decision>>,
    /// Questions that are open now, and the most at one time.
    now: AtomicUsize,
    pub(super) most: AtomicUsize,
}

#[async_trait]
impl Approver for Asked {
    async fn ask(&self, request: ApprovalRequest) -> Decision {
        let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
        self.requests.lock().unwrap().push(request);
        tokio::time::sleep(Duration::from_millis(10)).await;
        self.now.fetch_sub(1, Ordering::SeqCst);
        let mut answers = self.answers.lock().unwrap();
        if answers.is_empty() { Decision::Approved } else { answers.remove(0) }
    }
}

impl Asked {
    pub(super) fn reasons(&self) -> Vec<String> {
        self.requests.lock().unwrap().iter().map(|request| request.reason.clone()).collect()
    }
}

pub(super) fn caller(owner: &str) -> Caller {
    Caller {
        owner: Owner::parse(owner).unwrap(),
        language: Some(Language::python()),
        approver: None,
        taint: Taint::default(),
    }
}

pub(super) fn asking(owner: &str) -> (Caller, Arc<Asked>) {
    let asked = Arc::<Asked>::default();
    (Caller { approver: Some(asked.clone()), ..caller(owner) }, asked)
}

/// Connectors whose rules allow everything.
pub(super) fn allowing(connections: Vec<Connection>) -> Connectors {
    Connectors::new(allowed(connections)).unwrap()
}

pub(super) fn allowed(connections: Vec<Connection>) -> Settings {
    let rules = [("*".to_owned(), crate::Verdict::Allow)].into();
    Settings { connections, rules, ..Settings::default() }
}

/// Calls by name, as a guest does.
pub(super) async fn call(
    catalog: &Arc<dyn Catalog>,
    name: &str,
    arguments: Json,
) -> std::result::Result<CallbackAnswer, String> {
    match catalog.find(name) {
        Some(found) => found.call(CallbackCall { arguments, ..CallbackCall::default() }).await,
        None => Err(format!("missing: {}", catalog.missing(name))),
    }
}

pub(super) async fn value(
    connectors: &Connectors,
    caller: &Caller,
    name: &str,
) -> std::result::Result<Json, String> {
    call(&connectors.catalog(caller), name, json!({})).await.map(|answer| answer.value)
}
