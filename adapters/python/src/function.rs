//! Functions of the program: what snippets call, and what takes their output.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use dormouse::{Callback, Callbacks, OutputSink, Stream};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use serde_json::Value as Json;
use tokio::sync::{Notify, oneshot};

use crate::fault::raised;

/// What ends a run from within one of the program's own functions, such as Ctrl-C.
#[derive(Default)]
pub(crate) struct Interruption {
    cause: Mutex<Option<PyErr>>,
    told: Notify,
}

impl Interruption {
    fn begin(&self, cause: PyErr) {
        self.cause.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(cause);
        self.told.notify_one();
    }

    /// What there is.
    fn take(&self) -> Option<PyErr> {
        self.cause.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Waits for a call; ends before it where there is one, or with the call.
    pub(crate) async fn or<T>(&self, call: impl Future<Output = T>) -> Result<T, PyErr> {
        let answer = tokio::select! {
            biased;
            () = self.told.notified() => None,
            answer = call => Some(answer),
        };
        match (self.take(), answer) {
            (None, Some(answer)) => Ok(answer),
            (Some(cause), _) => Err(cause),
            (None, None) => Err(pyo3::exceptions::PyRuntimeError::new_err(ENDED)),
        }
    }
}

/// Where a function that takes its time answers.
#[pyclass(frozen)]
pub(crate) struct Reply(Mutex<Option<oneshot::Sender<Result<String, String>>>>);

#[pymethods]
impl Reply {
    /// The answer as JSON, or the text of the error. A second one is not heard.
    fn send(&self, is_good: bool, text: String) {
        let sender = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let answer = if is_good { Ok(text) } else { Err(text) };
        // Nobody waits for it where the run has ended.
        let _unheard = sender.map(|sender| sender.send(answer));
    }
}

/// The functions of a run: by name, the description, the schema of the arguments as JSON, the function, and whether it takes its
/// time: it is called with the arguments as JSON and gives the answer as JSON, or else it is called with a [`Reply`] as well.
pub(crate) fn callbacks(given: &Bound<'_, PyDict>, interruption: &Arc<Interruption>) -> PyResult<Callbacks> {
    let mut all = Callbacks::default();
    for (name, parts) in given {
        let (description, schema, function, takes_time): (String, String, Py<PyAny>, bool) =
            parts.extract()?;
        let schema: Json = serde_json::from_str(&schema)
            .map_err(|error| pyo3::exceptions::PyValueError::new_err(error.to_string()))?;
        let interruption = interruption.clone();
        let callback = match takes_time {
            true => Callback::new(description, schema, move |arguments| later(&function, &arguments)),
            false => Callback::new(description, schema, move |arguments| {
                std::future::ready(now(&function, &arguments, &interruption))
            })
            .blocking(),
        };
        let name: String = name.extract()?;
        all.insert(&name, callback).map_err(|error| raised(given.py(), &error))?;
    }
    Ok(all)
}

const ENDED: &str = "the program is ending";

/// Whether the interpreter is about to end: a thread of the engine's that comes back to one that has ended takes the process with it.
static ENDING: AtomicBool = AtomicBool::new(false);
/// How many forks of the process are about to happen. A thread of the engine's that enters the interpreter takes a lock of it to
/// make itself known there; held by a thread that the child does not have, it stops the child for ever.
static FORKING: AtomicUsize = AtomicUsize::new(0);
/// How many threads of the engine's are in the interpreter, or wait for it.
static WITHIN: AtomicUsize = AtomicUsize::new(0);
/// How long they are waited for, and how often it is looked. What they do there is short.
const LEFT_WITHIN: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(1);

thread_local! {
    /// How often this thread is counted in [`WITHIN`].
    static MINE: Cell<usize> = const { Cell::new(0) };
}

/// A thread that is counted, whatever it does.
struct Counted;

impl Counted {
    fn new() -> Self {
        WITHIN.fetch_add(1, Ordering::SeqCst);
        MINE.set(MINE.get() + 1);
        Self
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        WITHIN.fetch_sub(1, Ordering::SeqCst);
        MINE.set(MINE.get() - 1);
    }
}

/// Does something in the interpreter, on a thread of the engine's. None: it is ending, and nobody waits any more.
pub(crate) fn enter<T>(work: impl FnOnce(Python<'_>) -> T) -> Option<T> {
    loop {
        let counted = Counted::new();
        if ENDING.load(Ordering::SeqCst) {
            return None;
        }
        // One that is in it already is known there.
        if FORKING.load(Ordering::SeqCst) == 0 || MINE.get() > 1 {
            return Python::try_attach(work);
        }
        drop(counted);
        std::thread::sleep(LOOK);
    }
}

/// Waits, without the interpreter, until the threads of the engine's have left it, or for as long as they are waited for.
fn wait_until_left(py: Python<'_>) {
    py.detach(|| {
        let begun = Instant::now();
        while WITHIN.load(Ordering::SeqCst) > 0 && begun.elapsed() < LEFT_WITHIN {
            std::thread::sleep(LOOK);
        }
    });
}

/// Keeps the engine's threads out of the interpreter from now on. Called before it ends.
#[pyfunction]
pub(crate) fn end(py: Python<'_>) {
    ENDING.store(true, Ordering::SeqCst);
    wait_until_left(py);
}

/// Keeps the engine's threads out of the interpreter, but for this one, until [`parted`]. Called before the process is forked.
#[pyfunction]
pub(crate) fn part(py: Python<'_>) {
    FORKING.fetch_add(1, Ordering::SeqCst);
    WITHIN.fetch_sub(MINE.get(), Ordering::SeqCst);
    wait_until_left(py);
}

/// Lets them in again. Called after a fork, in the process that was forked.
#[pyfunction]
pub(crate) fn parted() {
    WITHIN.fetch_add(MINE.get(), Ordering::SeqCst);
    FORKING.fetch_sub(1, Ordering::SeqCst);
}

/// Called in the new process of a fork: the threads that were counted are those of the other one, but for this one.
#[pyfunction]
pub(crate) fn forked() {
    WITHIN.store(MINE.get(), Ordering::SeqCst);
    FORKING.store(0, Ordering::SeqCst);
}

/// Calls a function on this thread, which is the caller's own.
fn now(function: &Py<PyAny>, arguments: &Json, interruption: &Interruption) -> Result<Json, String> {
    let called = Python::try_attach(|py| {
        let said = function.call1(py, (arguments.to_string(),)).and_then(|said| said.extract::<String>(py));
        said.map_err(|fault| {
            let text = text(py, &fault);
            if !fault.is_instance_of::<pyo3::exceptions::PyException>(py) {
                interruption.begin(fault);
            }
            text
        })
    });
    read(&called.unwrap_or_else(|| Err(ENDED.into()))?)
}

/// Tells the program to call a function, and waits for its answer.
fn later(
    function: &Py<PyAny>,
    arguments: &Json,
) -> impl Future<Output = Result<Json, String>> + Send + use<> {
    let (sender, answer) = oneshot::channel();
    let called = enter(|py| {
        let reply = Bound::new(py, Reply(Mutex::new(Some(sender))))?;
        function.call1(py, (arguments.to_string(), reply)).map(drop)
    });
    let begun = match called {
        Some(Ok(())) => Ok(()),
        Some(Err(fault)) => Err(enter(|py| text(py, &fault)).unwrap_or_default()),
        None => Err(ENDED.to_owned()),
    };
    async move {
        begun?;
        read(&answer.await.unwrap_or_else(|_| Err(ENDED.into()))?)
    }
}

fn read(answer: &str) -> Result<Json, String> {
    serde_json::from_str(answer).map_err(|_| "the function's answer is no JSON".into())
}

/// As Python writes the last line of a traceback.
fn text(py: Python<'_>, fault: &PyErr) -> String {
    let class = fault.get_type(py).name().map(|name| name.to_string()).unwrap_or_default();
    match fault.value(py).to_string() {
        message if message.is_empty() => class,
        message => format!("{class}: {message}"),
    }
}

/// Output of a run, for a function of the program's: called with the stream's name and the bytes.
pub(crate) struct Sink {
    pub(crate) function: Py<PyAny>,
    pub(crate) interruption: Arc<Interruption>,
    /// Whether it is told on the engine's own threads.
    pub(crate) is_elsewhere: bool,
}

impl OutputSink for Sink {
    fn write(&self, stream: Stream, bytes: &[u8]) {
        let name = match stream {
            Stream::Stdout => "stdout",
            Stream::Stderr => "stderr",
        };
        let tell = |py: Python<'_>| {
            if let Err(fault) = self.function.call1(py, (name, PyBytes::new(py, bytes))) {
                self.interruption.begin(fault);
            }
        };
        // Without an interpreter nobody listens any more.
        let _ended = if self.is_elsewhere { enter(tell) } else { Python::try_attach(tell) };
    }
}
