//! The engine, its threads, and its end.

use std::sync::Arc;

use dormouse::network::NetworkGrant;
use dormouse::sandbox::{Handle, Owner};
use dormouse::sandboxes::telling;
use dormouse::{Dormouse, Error, ErrorCode, Grants, OutputSink, Result};
use dormouse_tools::{CallContext, Surface, Toolset, encode, unsaved};
use serde_json::{Map, Value as Json};
use tokio::runtime::{Builder, Runtime};
use tokio::task::AbortHandle;

use crate::door::without_state;
use crate::network;
use crate::order::Order;
use crate::{Options, Run, Spelling, With};

/// What a call came to: the answer of its tool, which says in `error` what was wrong with it.
pub type Answer = Json;

/// Sandboxes inside a program of another language. Made once, and shared by all its threads.
pub struct Engine {
    threads: Runtime,
    dormouse: Dormouse,
    granted: Arc<Grants>,
    surface: Arc<Surface>,
    spelling: Spelling,
    order: Order,
}

impl Engine {
    /// Nothing is loaded before the first run.
    ///
    /// # Errors
    /// As [`dormouse::Builder::build`]; `internal` where no threads can be started; `args_invalid` for what cannot be read of the network.
    pub fn new(options: &Options) -> Result<Self> {
        let dormouse = options.build()?;
        let granted = options.grants()?;
        let calls = dormouse.capacity().runs;
        let threads = Builder::new_multi_thread()
            .enable_all()
            .thread_name("dormouse")
            .max_blocking_threads(dormouse.capacity().blocking_threads(calls))
            .build()
            .map_err(|error| Error::internal("no threads can be started", error))?;
        if let Some(outside) = network::open(options, &threads)? {
            dormouse.runtime().set_network(outside, None);
        }
        if let Some(sandboxes) = dormouse.runtime().sandboxes() {
            let _inside = threads.enter();
            sandboxes.keep_up();
        }
        let surface = Surface::new(dormouse.runtime().clone()).with_grants(&granted);
        let surface = Arc::new(surface.with_tools(Toolset::All)?);
        Ok(Self {
            threads,
            dormouse,
            granted: Arc::new(granted),
            surface,
            spelling: options.spelling,
            order: Order::default(),
        })
    }

    /// The threads that calls are worked on.
    pub fn threads(&self) -> &Runtime {
        &self.threads
    }

    /// Works on a call on the engine's threads. Calls of one sandbox come to it in the order of their calls of this.
    pub fn spawn(
        &self,
        sandbox: Option<String>,
        call: impl Future<Output = ()> + Send + 'static,
    ) -> AbortHandle {
        match sandbox {
            Some(sandbox) => self.threads.spawn(self.order.line_up(sandbox, call)).abort_handle(),
            None => self.threads.spawn(call).abort_handle(),
        }
    }

    /// Runs a snippet. Dropping the future cancels the run.
    ///
    /// # Errors
    /// What kept it from running. An exception, an exit or a limit is an answer.
    pub fn run(&self, run: Run, with: With) -> impl Future<Output = Result<Answer>> + Send + 'static + use<> {
        let (dormouse, granted, spelling) = (self.dormouse.clone(), self.granted.clone(), self.spelling);
        // What waits for a future holds it once more, so it is behind a pointer: with it, some 300 KB would be moved for each run.
        let run = Box::pin(async move {
            let (sandbox, wants_network) = (run.sandbox.clone(), run.allow_network);
            let usual = &dormouse.runtime().policy().defaults;
            let mut request = run.request(with, usual, &granted)?;
            let Some(sandbox) = sandbox else {
                if wants_network {
                    let language = request.language.clone();
                    let of = ("eval", language.as_str());
                    let grant = NetworkGrant::default();
                    dormouse.runtime().give_network(&Owner::local(), &grant, of, &mut request.context)?;
                }
                return Ok(encode::outcome(&dormouse.runtime().eval(request).await?));
            };
            if dormouse.runtime().sandboxes().is_none() {
                return Err(without_state());
            }
            let (owner, handle) = (Owner::local(), Handle::IdOrName(&sandbox));
            if wants_network {
                dormouse.sandboxes()?.has_network(&owner, &handle)?;
            }
            // Apart, because the way to a sandbox is longer than that of most runs.
            let (ran, told) = Box::pin(telling(dormouse.sandboxes()?.eval(&owner, &handle, request))).await;
            let (id, outcome) = ran?;
            let mut answer = encode::outcome_in(&outcome, &id);
            if let (Some(error), Some(fields)) = (told.unsaved, answer.as_object_mut()) {
                fields.insert(unsaved::FIELD.into(), encode::error(&error));
            }
            Ok(answer)
        });
        async move {
            match run.await {
                Ok(answer) => Ok(spelling.answer(answer)),
                Err(error) => Err(spelling.error(error)),
            }
        }
    }

    /// Calls a tool. Dropping the future cancels what it does.
    ///
    /// # Errors
    /// `not_found` where there is no such tool. What is wrong with the arguments, and what goes wrong, is in the answer.
    pub fn call(
        &self,
        tool: String,
        arguments: Map<String, Json>,
        output: Option<Arc<dyn OutputSink>>,
    ) -> impl Future<Output = Result<Answer>> + Send + 'static + use<> {
        let (surface, spelling) = (self.surface.clone(), self.spelling);
        let lasts = self.dormouse.runtime().sandboxes().is_some();
        async move {
            let context = CallContext { output, ..CallContext::default() };
            match Box::pin(surface.call(&tool, arguments, context)).await {
                Ok(reply) => Ok(spelling.answer(reply.structured)),
                // Without a folder of state most tools are not there.
                Err(error) if !lasts && error.code() == ErrorCode::NotFound => Err(without_state()),
                Err(error) => Err(spelling.error(error)),
            }
        }
    }

    /// Ends it at once, whatever it does. What is not saved is lost, as with the end of a process: [`Engine::close`] comes first.
    pub fn end(self) {
        self.threads.shutdown_background();
    }

    /// Saves every sandbox and lets go of it. Calls that come afterwards are refused.
    ///
    /// # Errors
    /// What could not be saved.
    pub fn close(&self) -> impl Future<Output = Result<()>> + Send + 'static + use<> {
        let sandboxes = self.dormouse.runtime().sandboxes().cloned();
        async move {
            match sandboxes {
                Some(sandboxes) => sandboxes.close().await,
                None => Ok(()),
            }
        }
    }
}
