//! The program: what snippets call, what takes their output, and what is told when a call is done.
//!
//! All of it is told by one function, so that it arrives in the order in which it happened.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dormouse::{Callback, Callbacks, OutputSink, Stream};
use napi::Status;
use napi::bindgen_prelude::{Buffer, FnArgs, Function, Unknown};
use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};
use napi_derive::napi;
use serde_json::Value as Json;
use tokio::sync::oneshot;

use crate::fault::thrown;

/// What the program is told: what it is about, a name, a text, pieces of output, and where to answer.
///
/// | about | name | text | pieces | reply |
/// | --- | --- | --- | --- | --- |
/// | `output` | | | what was written since the last time | |
/// | `call` | the function | its arguments as JSON | | a [`Reply`] |
/// | `error` | | the error as JSON | | |
/// | `answer` | | the answer as JSON | | |
type Told = FnArgs<(String, Option<String>, Option<String>, Option<Vec<Piece>>, Option<Reply>)>;

/// The function of the program that is told.
pub(crate) type Listener<'a> = Function<'a, Told, Unknown<'static>>;

/// Output, one piece after the other.
type Batch = Arc<Mutex<Vec<(Stream, Vec<u8>)>>>;

/// What is on its way to the program.
enum Event {
    /// What is written until it arrives comes with it.
    Output(Batch),
    Call(String, String, Reply),
    Done(&'static str, String),
}

/// A piece of output.
#[napi(object, object_from_js = false)]
pub struct Piece {
    /// `stdout` or `stderr`.
    pub stream: String,
    /// What was written.
    pub bytes: Buffer,
}

const ENDED: &str = "the program is ending";

/// Where a function answers.
#[napi]
pub struct Reply(Mutex<Option<oneshot::Sender<Result<String, String>>>>);

#[napi]
impl Reply {
    /// The answer as JSON, or the text of the error. A second one is not heard.
    #[napi]
    pub fn send(&self, is_good: bool, text: String) {
        let sender = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let answer = if is_good { Ok(text) } else { Err(text) };
        // Nobody waits for it where the run has ended.
        let _unheard = sender.map(|sender| sender.send(answer));
    }
}

/// A function that a snippet may call.
#[napi(object, object_to_js = false)]
pub struct Offered {
    /// What snippets call it.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// The JSON Schema of its arguments, as JSON.
    pub schema: String,
}

/// The program, told from any thread. It lives on as long as somebody may tell it something.
#[derive(Clone)]
pub(crate) struct Program {
    listener: Arc<ThreadsafeFunction<Event, Unknown<'static>, Told, Status, false>>,
    /// Output that is on its way and may still grow: it is told once for all that comes in the meantime.
    growing: Arc<Mutex<Option<Batch>>>,
}

fn locked<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An event as the program's function takes it.
fn told(event: Event, growing: &Mutex<Option<Batch>>) -> Told {
    match event {
        Event::Output(batch) => {
            let mut open = locked(growing);
            if open.as_ref().is_some_and(|one| Arc::ptr_eq(one, &batch)) {
                *open = None;
            }
            let pieces = std::mem::take(&mut *locked(&batch));
            drop(open);
            let piece = |(stream, bytes): (Stream, Vec<u8>)| {
                let stream = match stream {
                    Stream::Stdout => "stdout",
                    Stream::Stderr => "stderr",
                };
                Piece { stream: stream.to_owned(), bytes: bytes.into() }
            };
            let pieces = pieces.into_iter().map(piece).collect();
            ("output".to_owned(), None, None, Some(pieces), None).into()
        }
        Event::Call(name, arguments, reply) => {
            ("call".to_owned(), Some(name), Some(arguments), None, Some(reply)).into()
        }
        Event::Done(about, text) => (about.to_owned(), None, Some(text), None, None).into(),
    }
}

impl Program {
    pub(crate) fn new(listener: &Listener<'_>) -> napi::Result<Self> {
        let growing: Arc<Mutex<Option<Batch>>> = Arc::default();
        let shared = growing.clone();
        let listener = listener
            .build_threadsafe_function::<Event>()
            .build_callback(move |context| Ok(told(context.value, &shared)))?;
        Ok(Self { listener: Arc::new(listener), growing })
    }

    /// A program that ends does not listen any more. What waits to be told is bounded by the limits of output and of calls.
    fn tell(&self, event: Event) {
        let mut growing = locked(&self.growing);
        // What is written from here on comes after it.
        *growing = None;
        self.listener.call(event, ThreadsafeFunctionCallMode::NonBlocking);
        drop(growing);
    }

    /// Tells that a call is done: an error or an answer, each as JSON.
    pub(crate) fn done(&self, answer: Result<String, String>) {
        self.tell(match answer {
            Ok(answer) => Event::Done("answer", answer),
            Err(error) => Event::Done("error", error),
        });
    }

    /// What snippets may call.
    pub(crate) fn callbacks(&self, offered: Vec<Offered>) -> napi::Result<Callbacks> {
        let mut all = Callbacks::default();
        for Offered { name, description, schema } in offered {
            let schema: Json =
                serde_json::from_str(&schema).map_err(|error| napi::Error::from_reason(error.to_string()))?;
            let (program, called) = (self.clone(), name.clone());
            let callback =
                Callback::new(description, schema, move |arguments| program.ask(&called, &arguments));
            all.insert(&name, callback).map_err(|error| thrown(&error))?;
        }
        Ok(all)
    }

    /// Tells the program to call a function, and waits for its answer.
    fn ask(&self, name: &str, arguments: &Json) -> impl Future<Output = Result<Json, String>> + Send + use<> {
        let (sender, answer) = oneshot::channel();
        let reply = Reply(Mutex::new(Some(sender)));
        // One that is not told drops its reply, and that is heard below.
        self.tell(Event::Call(name.to_owned(), arguments.to_string(), reply));
        async move {
            let answer = answer.await.unwrap_or_else(|_| Err(ENDED.into()))?;
            serde_json::from_str(&answer).map_err(|_| "the function's answer is no JSON".into())
        }
    }
}

impl OutputSink for Program {
    fn write(&self, stream: Stream, bytes: &[u8]) {
        let mut growing = locked(&self.growing);
        if let Some(batch) = growing.as_ref() {
            let mut pieces = locked(batch);
            match pieces.last_mut() {
                Some((last, kept)) if *last == stream => kept.extend_from_slice(bytes),
                _ => pieces.push((stream, bytes.to_vec())),
            }
            return;
        }
        let batch: Batch = Arc::new(Mutex::new(vec![(stream, bytes.to_vec())]));
        *growing = Some(batch.clone());
        self.listener.call(Event::Output(batch), ThreadsafeFunctionCallMode::NonBlocking);
        drop(growing);
    }
}
