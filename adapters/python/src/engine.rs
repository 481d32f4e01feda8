//! The engine: a call that is waited for, and one that is told when it is done.

use std::cell::RefCell;
use std::sync::{Arc, mpsc};
use std::task::Poll;
use std::time::Duration;

use dormouse::{Error, ErrorCode, OutputSink, Result};
use dormouse_sdk::{Answer, Options, Run, With};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Map, Value as Json};
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::task::AbortHandle;

use crate::fault::raised;
use crate::function::{Interruption, Sink, callbacks, enter};

/// How often a call that is waited for looks for signals.
const SIGNALS: Duration = Duration::from_millis(50);

/// Sandboxes in this process.
#[pyclass(frozen)]
pub(crate) struct Engine {
    /// None only at its end.
    engine: Option<dormouse_sdk::Engine>,
    process: u32,
}

impl Drop for Engine {
    #[expect(clippy::mem_forget, reason = "in a process that was forked its threads do not exist")]
    fn drop(&mut self) {
        match self.engine.take() {
            // Its threads and locks are those of the other process.
            Some(engine) if self.process != std::process::id() => std::mem::forget(engine),
            Some(engine) => engine.end(),
            None => {}
        }
    }
}

/// A call that is worked on.
#[pyclass(frozen)]
pub(crate) struct Ticket(AbortHandle);

#[pymethods]
impl Ticket {
    /// Gives it up.
    fn cancel(&self) {
        self.0.abort();
    }
}

/// A call, what ends it from within, and the sandbox that it is about.
struct Work<F> {
    call: F,
    interruption: Arc<Interruption>,
    sandbox: Option<String>,
}

#[pymethods]
impl Engine {
    /// `options`: JSON of [`Options`].
    #[new]
    fn new(py: Python<'_>, options: &str) -> PyResult<Self> {
        let engine =
            py.detach(|| Options::parse(options).and_then(|options| dormouse_sdk::Engine::new(&options)));
        let engine = engine.map_err(|error| raised(py, &error))?;
        Ok(Self { engine: Some(engine), process: std::process::id() })
    }

    /// Runs a snippet, and waits for its answer. `request`: JSON of [`Run`].
    #[pyo3(signature = (request, stdin, functions, output))]
    fn run(
        &self,
        py: Python<'_>,
        request: &str,
        stdin: Vec<u8>,
        functions: Option<&Bound<'_, PyDict>>,
        output: Option<Py<PyAny>>,
    ) -> PyResult<String> {
        let work = self.snippet(py, request, stdin, functions, (output, false))?;
        self.wait(py, work)
    }

    /// Starts a snippet; `done` is called on another thread with an error or nothing, and the answer.
    #[pyo3(signature = (request, stdin, functions, output, done))]
    fn start_run(
        &self,
        py: Python<'_>,
        request: &str,
        stdin: Vec<u8>,
        functions: Option<&Bound<'_, PyDict>>,
        output: Option<Py<PyAny>>,
        done: Py<PyAny>,
    ) -> PyResult<Ticket> {
        let work = self.snippet(py, request, stdin, functions, (output, true))?;
        self.start(py, work, done)
    }

    /// Calls a tool, and waits for its answer. `arguments`: a JSON object.
    #[pyo3(signature = (tool, arguments, output))]
    fn call(
        &self,
        py: Python<'_>,
        tool: String,
        arguments: &str,
        output: Option<Py<PyAny>>,
    ) -> PyResult<String> {
        let work = self.tool(py, tool, arguments, (output, false))?;
        self.wait(py, work)
    }

    /// Starts a call of a tool, as [`Engine::start_run`].
    #[pyo3(signature = (tool, arguments, output, done))]
    fn start_call(
        &self,
        py: Python<'_>,
        tool: String,
        arguments: &str,
        output: Option<Py<PyAny>>,
        done: Py<PyAny>,
    ) -> PyResult<Ticket> {
        let work = self.tool(py, tool, arguments, (output, true))?;
        self.start(py, work, done)
    }

    /// Saves all sandboxes, and lets go of them.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let engine = self.own().map_err(|error| raised(py, &error))?;
        let (closing, interruption) = (engine.close(), Arc::default());
        let work =
            Work { call: async move { closing.await.map(|()| Json::Null) }, interruption, sandbox: None };
        self.wait(py, work).map(drop)
    }
}

impl Engine {
    /// # Errors
    /// `invalid_state` in a process that was forked: its threads are in the other one.
    fn own(&self) -> Result<&dormouse_sdk::Engine> {
        if let Some(engine) = self.engine.as_ref().filter(|_| self.process == std::process::id()) {
            return Ok(engine);
        }
        Err(Error::new(
            ErrorCode::InvalidState,
            "this process was forked from the one that has these sandboxes",
        )
        .with_hint(
            "make a new Dormouse with another folder of state, or start processes with the method `spawn`",
        ))
    }

    fn snippet(
        &self,
        py: Python<'_>,
        request: &str,
        stdin: Vec<u8>,
        functions: Option<&Bound<'_, PyDict>>,
        (output, is_elsewhere): (Option<Py<PyAny>>, bool),
    ) -> PyResult<Work<impl Future<Output = Result<Answer>> + Send + 'static + use<>>> {
        let engine = self.own().map_err(|error| raised(py, &error))?;
        let run = Run::parse(request).map_err(|error| raised(py, &error))?;
        let (interruption, sandbox) = (Arc::default(), run.sandbox.clone());
        let callbacks = match functions {
            Some(functions) => callbacks(functions, &interruption)?,
            None => Default::default(),
        };
        let output = sink(output, &interruption, is_elsewhere);
        Ok(Work { call: engine.run(run, With { stdin, callbacks, output }), interruption, sandbox })
    }

    fn tool(
        &self,
        py: Python<'_>,
        tool: String,
        arguments: &str,
        (output, is_elsewhere): (Option<Py<PyAny>>, bool),
    ) -> PyResult<Work<impl Future<Output = Result<Answer>> + Send + 'static + use<>>> {
        let engine = self.own().map_err(|error| raised(py, &error))?;
        let arguments: Map<String, Json> = serde_json::from_str(arguments).map_err(|error| {
            raised(py, &Error::args_invalid(format!("the arguments are no JSON object: {error}")))
        })?;
        let interruption = Arc::default();
        let sandbox = arguments.get("sandbox").and_then(Json::as_str).map(str::to_owned);
        let output = sink(output, &interruption, is_elsewhere);
        Ok(Work { call: engine.call(tool, arguments, output), interruption, sandbox })
    }

    /// Works on it on this thread, without the interpreter's lock, or on another one where this thread is in the middle of a call: in a
    /// function of the program, or in a handler of signals.
    fn wait(
        &self,
        py: Python<'_>,
        work: Work<impl Future<Output = Result<Answer>> + Send + 'static>,
    ) -> PyResult<String> {
        let engine = self.own().map_err(|error| raised(py, &error))?;
        let Work { call, interruption, sandbox } = work;
        let inside = Inside::of(sandbox).map_err(|error| raised(py, &error))?;
        let call = async move { interruption.or(call).await };
        let ended = py.detach(|| match Handle::try_current() {
            Err(_) => engine.threads().block_on(attentive(call)),
            Ok(_) => beside(engine.threads().handle(), call),
        });
        drop(inside);
        ended?.map(|answer| answer.to_string()).map_err(|error| raised(py, &error))
    }

    /// Works on it on the engine's threads.
    fn start(
        &self,
        py: Python<'_>,
        work: Work<impl Future<Output = Result<Answer>> + Send + 'static>,
        done: Py<PyAny>,
    ) -> PyResult<Ticket> {
        let engine = self.own().map_err(|error| raised(py, &error))?;
        let Work { call, interruption, sandbox } = work;
        let task = engine.spawn(sandbox, async move {
            let answer = interruption.or(call).await;
            // Without an interpreter nobody waits any more.
            let _ended = enter(|py| {
                let answer = answer.and_then(|answer| {
                    answer.map(|answer| answer.to_string()).map_err(|error| raised(py, &error))
                });
                let told = match answer {
                    Ok(answer) => done.call1(py, (py.None(), answer)),
                    Err(error) => done.call1(py, (error, py.None())),
                };
                // Its loop is closed.
                drop(told);
            });
        });
        Ok(Ticket(task))
    }
}

fn sink(
    function: Option<Py<PyAny>>,
    interruption: &Arc<Interruption>,
    is_elsewhere: bool,
) -> Option<Arc<dyn OutputSink>> {
    let function = function?;
    Some(Arc::new(Sink { function, interruption: interruption.clone(), is_elsewhere }))
}

/// A call that is given up when a signal of the process says so.
async fn attentive<T>(call: impl Future<Output = PyResult<T>>) -> PyResult<T> {
    let mut call = std::pin::pin!(call);
    // Most are done at once, and a clock that is set wakes another thread.
    let at_once = std::future::poll_fn(|context| Poll::Ready(call.as_mut().poll(context)));
    if let Poll::Ready(answer) = at_once.await {
        return answer;
    }
    let mut ticks = tokio::time::interval_at(tokio::time::Instant::now() + SIGNALS, SIGNALS);
    loop {
        tokio::select! {
            biased;
            answer = &mut call => return answer,
            _ = ticks.tick() => signals()?,
        }
    }
}

/// The same on a thread of its own, while this one waits.
fn beside<T: Send + 'static>(
    handle: &Handle,
    call: impl Future<Output = PyResult<T>> + Send + 'static,
) -> PyResult<T> {
    let (sender, receiver) = mpsc::channel();
    let (given_up, is_given_up) = oneshot::channel::<()>();
    let (handle, around) = (handle.clone(), INSIDE.with_borrow(Vec::clone));
    let work = move || {
        INSIDE.set(around);
        let ended = handle.block_on(async {
            tokio::select! {
                biased;
                answer = call => Some(answer),
                _ = is_given_up => None,
            }
        });
        // Nobody waits for one that was given up.
        let _told = sender.send(ended);
    };
    let thread = std::thread::Builder::new().name("dormouse-within".into()).spawn(work)?;
    loop {
        match receiver.recv_timeout(SIGNALS) {
            Ok(Some(answer)) => return answer,
            Err(mpsc::RecvTimeoutError::Timeout) => {
                if let Err(cause) = signals() {
                    drop(given_up);
                    let _ended = thread.join();
                    return Err(cause);
                }
            }
            Ok(None) | Err(mpsc::RecvTimeoutError::Disconnected) => {
                return Err(pyo3::exceptions::PyRuntimeError::new_err("a call within a call crashed"));
            }
        }
    }
}

fn signals() -> PyResult<()> {
    Python::try_attach(|py| py.check_signals()).unwrap_or(Ok(()))
}

thread_local! {
    /// The sandboxes that calls of this thread are in the middle of, outermost first.
    static INSIDE: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// A call of this thread, for as long as it is held.
struct Inside(bool);

impl Inside {
    /// # Errors
    /// `invalid_state` for a sandbox that waits for the function which calls it: neither would ever end.
    fn of(sandbox: Option<String>) -> Result<Self> {
        let Some(sandbox) = sandbox else { return Ok(Self(false)) };
        INSIDE.with_borrow_mut(|inside| {
            if inside.contains(&sandbox) {
                return Err(Error::new(
                    ErrorCode::InvalidState,
                    "this sandbox is in the middle of a run, which waits for the function that calls it",
                )
                .with_hint("call it when the run has ended, or give the function another sandbox"));
            }
            inside.push(sandbox);
            Ok(Self(true))
        })
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        if self.0 {
            INSIDE.with_borrow_mut(|inside| inside.pop());
        }
    }
}
