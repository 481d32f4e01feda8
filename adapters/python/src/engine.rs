//! The engine: a call that is waited for, and one that is told when it is done.

use std::sync::Arc;
use std::time::Duration;

use dormouse::{Error, ErrorCode, OutputSink, Result};
use dormouse_sdk::{Answer, Options, Run, With};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Map, Value as Json};
use tokio::task::AbortHandle;

use crate::fault::raised;
use crate::function::{Interruption, Sink, callbacks};

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

/// A call, and what ends it from within.
struct Work<F> {
    call: F,
    interruption: Arc<Interruption>,
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
        let work = self.snippet(py, request, stdin, functions, output)?;
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
        let work = self.snippet(py, request, stdin, functions, output)?;
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
        let work = self.tool(py, tool, arguments, output)?;
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
        let work = self.tool(py, tool, arguments, output)?;
        self.start(py, work, done)
    }

    /// Saves all sandboxes, and lets go of them.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let engine = self.own().map_err(|error| raised(py, &error))?;
        let closed = py.detach(|| engine.threads().block_on(engine.close()));
        closed.map_err(|error| raised(py, &error))
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
        .with_hint("make a new Dormouse after the fork, or start processes with the method `spawn`"))
    }

    fn snippet(
        &self,
        py: Python<'_>,
        request: &str,
        stdin: Vec<u8>,
        functions: Option<&Bound<'_, PyDict>>,
        output: Option<Py<PyAny>>,
    ) -> PyResult<Work<impl Future<Output = Result<Answer>> + Send + 'static + use<>>> {
        let engine = self.own().map_err(|error| raised(py, &error))?;
        let run = Run::parse(request).map_err(|error| raised(py, &error))?;
        let interruption = Arc::default();
        let callbacks = match functions {
            Some(functions) => callbacks(functions, &interruption)?,
            None => Default::default(),
        };
        let output = sink(output, &interruption);
        Ok(Work { call: engine.run(run, With { stdin, callbacks, output }), interruption })
    }

    fn tool(
        &self,
        py: Python<'_>,
        tool: String,
        arguments: &str,
        output: Option<Py<PyAny>>,
    ) -> PyResult<Work<impl Future<Output = Result<Answer>> + Send + 'static + use<>>> {
        let engine = self.own().map_err(|error| raised(py, &error))?;
        let arguments: Map<String, Json> = serde_json::from_str(arguments).map_err(|error| {
            raised(py, &Error::args_invalid(format!("the arguments are no JSON object: {error}")))
        })?;
        let interruption = Arc::default();
        let output = sink(output, &interruption);
        Ok(Work { call: engine.call(tool, arguments, output), interruption })
    }

    /// Works on it on this thread, without the interpreter's lock. Signals of the process are looked for meanwhile.
    fn wait(
        &self,
        py: Python<'_>,
        work: Work<impl Future<Output = Result<Answer>> + Send>,
    ) -> PyResult<String> {
        let engine = self.own().map_err(|error| raised(py, &error))?;
        let Work { call, interruption } = work;
        let ended = py.detach(|| {
            engine.threads().block_on(async {
                let mut call = std::pin::pin!(interruption.or(call));
                let mut ticks = tokio::time::interval_at(tokio::time::Instant::now() + SIGNALS, SIGNALS);
                loop {
                    tokio::select! {
                        biased;
                        answer = &mut call => return answer,
                        _ = ticks.tick() => {
                            if let Some(Err(cause)) = Python::try_attach(|py| py.check_signals()) {
                                return Err(cause);
                            }
                        }
                    }
                }
            })
        });
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
        let Work { call, interruption } = work;
        let task = engine.threads().spawn(async move {
            let answer = interruption.or(call).await;
            // Without an interpreter nobody waits any more.
            let _ended = Python::try_attach(|py| {
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
        Ok(Ticket(task.abort_handle()))
    }
}

fn sink(function: Option<Py<PyAny>>, interruption: &Arc<Interruption>) -> Option<Arc<dyn OutputSink>> {
    let function = function?;
    Some(Arc::new(Sink { function, interruption: interruption.clone() }))
}
