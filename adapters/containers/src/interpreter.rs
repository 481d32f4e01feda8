//! Interpreters inside a container: `sandbox_eval`, `get`, `set` and `vars` on the container's own python3, node and php, with
//! the typed values, exceptions and semantics of the Wasm guests.
//!
//! [`argv`] is what to start: an interpreter that gets its program as an argument, so nothing has to lie in the container.
//! [`Interpreter`] speaks with it over its standard input and output. The process is two: a *relay*, which keeps these two
//! descriptors, and the interpreter below it, whose own standard streams are pipes to the relay. So whatever a snippet and
//! its child processes write is captured, each stream by itself, and no output can be taken for a result.
//!
//! | file | owns |
//! | --- | --- |
//! | `programs.rs` | which program is started for a language |
//! | `wire.rs` | frames, read and written within bounds |
//! | `exchange.rs` | one request, until its answer |
//! | `tools.rs` | calls of the host's functions |
//! | `clock.rs` | the time limit, which stands still during some tools |
//! | `capture.rs` | output, counted and cut |
//!
//! All that an interpreter says is untrusted: frames are bounded and checked, and one that does not fit ends the interpreter with
//! `guest_trap`.
//!
//! What differs from the Wasm guests, besides what the languages' versions do:
//!
//! - There is no fixed seed or clock, and code made from text cannot be refused: such requests get `capability_unavailable`.
//!   TypeScript is not served.
//! - Environment variables are added to the container's own.
//! - Python: the columns and owners of frames come with 3.11.
//! - Node: a name cannot be declared anew as another kind (`const a`, then `let a`). `process.exit` is an error that a `catch`
//!   can hold up; the run ends with its status all the same. A reset makes names undefined. The relay is a second Node.
//!   Standard input needs a folder that can be written (`/tmp`), and what was given stays there until the interpreter ends.
//! - PHP: `exit` and fatal errors end the interpreter, and its variables with it. A reset keeps functions and classes.
//!   Shutdown functions run when the interpreter ends. The value needs the extension `tokenizer`, unless there is a `return`.

mod capture;
mod clock;
mod exchange;
mod programs;
mod tools;
mod wire;

use std::collections::BTreeSet;
use std::pin::Pin;
use std::time::{Duration, Instant};

use dormouse_core::grants::WallClock;
use dormouse_core::sandbox::Variable;
use dormouse_core::{
    Bounds, Captured, Error, ErrorCode, EvalRequest, Exception, Language, Limits, Result, Status, Value,
};
use futures::FutureExt as _;
use serde::Deserialize;
use tokio::io::{AsyncRead, AsyncWrite};

use capture::Capture;
use clock::Clock;
use exchange::{Answer, Asked};
pub use programs::argv;
use wire::{Receiver, Sender};

/// Time for an interpreter to start and say hello.
const START: Duration = Duration::from_secs(20);
/// Container for what an answer says besides its value.
const SLACK: usize = 64 << 10;
/// Time for variables to be pickled, in a copy of the interpreter that is ended then.
const SAVE: Duration = Duration::from_secs(5);
/// Time for all of that, or for loading them; past it the interpreter is ended.
const KEEP: Duration = Duration::from_secs(20);
/// Variables that are named of those that could not be kept.
const NAMED: usize = 20;
/// Largest list of variables, in bytes.
const MAX_VARIABLES: u32 = 256 << 10;

/// What came of one call.
#[derive(Debug)]
pub struct Reply {
    /// How it ended.
    pub status: Status,
    /// Standard output.
    pub stdout: Captured,
    /// Standard error.
    pub stderr: Captured,
}

/// A running interpreter. Its calls come one at a time.
pub struct Interpreter {
    language: Language,
    version: String,
    sender: Sender,
    receiver: Receiver,
    /// The number of the last request.
    last: u32,
    whole: bool,
    /// Callbacks that have their names in the language.
    bound: BTreeSet<String>,
}

#[derive(Deserialize)]
struct Hello {
    protocol: u32,
    version: String,
}

/// What an interpreter sends, with messages of at most `most` bytes: each part in words, or why it is refused; and the bytes of all
/// payloads together. For the fuzz targets.
pub(crate) fn parts(sent: &[u8], most: usize) -> (Vec<String>, usize) {
    let mut receiver = Receiver::new(Box::pin(std::io::Cursor::new(sent.to_vec())));
    let (mut told, mut bytes) = (Vec::new(), 0);
    // Bytes in memory are always ready.
    while let Some(part) = receiver.next(most).now_or_never() {
        told.push(format!("{part:?}"));
        match part {
            Ok(wire::Part::Output(_, output)) => bytes += output.len(),
            Ok(wire::Part::Message(message)) => bytes += message.payload.len(),
            Ok(wire::Part::Ended(_)) | Err(_) => break,
        }
    }
    (told, bytes)
}

impl Interpreter {
    /// Waits for the hello of a process that was started with [`argv`]: `input` is its standard input, `output` its standard
    /// output. Its standard error carries nothing of use.
    ///
    /// # Errors
    /// `guest_missing` when the process ends at once, as when there is no such program; `health_timeout` after 20 s;
    /// `guest_trap` when it says something else.
    pub async fn start(
        language: &Language,
        input: Pin<Box<dyn AsyncWrite + Send>>,
        output: Pin<Box<dyn AsyncRead + Send>>,
    ) -> Result<Self> {
        let mut interpreter = Self {
            language: language.clone(),
            version: String::new(),
            sender: Sender::new(input),
            receiver: Receiver::new(output),
            last: 0,
            whole: false,
            bound: BTreeSet::new(),
        };
        let hello = tokio::time::timeout(START, interpreter.receiver.hello(SLACK)).await.map_err(|_| {
            Error::new(
                ErrorCode::HealthTimeout,
                format!("the {language} interpreter did not start within {} s", START.as_secs()),
            )
        })?;
        let Some(hello) = hello? else {
            return Err(Error::new(
                ErrorCode::GuestMissing,
                format!("the container's {language} interpreter did not start"),
            )
            .with_hint("use an image that has it, version Python 3.9, Node 18 or PHP 8.1 at least"));
        };
        let hello: Hello = serde_json::from_slice(&hello).map_err(|error| wire::broken("hello", error))?;
        if hello.protocol != wire::PROTOCOL {
            return Err(wire::refused("another protocol"));
        }
        interpreter.version = hello.version.chars().filter(|c| !c.is_control()).take(64).collect();
        interpreter.whole = true;
        Ok(interpreter)
    }

    /// The language.
    pub fn language(&self) -> &Language {
        &self.language
    }

    /// The interpreter's version, such as `3.11.2`.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Whether it takes another call: it is alive, and no call of it was dropped or ran out of time. One that is not whole
    /// must be killed by its owner.
    pub fn is_whole(&self) -> bool {
        self.whole
    }

    /// Runs a snippet, within the request's wall-clock limit from now on. Of its grants, standard input, environment,
    /// arguments and directory count; mounts and projects are the container's matter. Dropping the future leaves the interpreter
    /// not whole.
    ///
    /// # Errors
    /// `capability_unavailable` for a fixed seed, a fixed clock and `allow_eval: false`; `guest_trap` when the interpreter is not
    /// whole. What ends the interpreter in the middle of the call is the reply's status.
    pub async fn eval(&mut self, request: &EvalRequest) -> Result<Reply> {
        self.eval_from(request, Instant::now()).await
    }

    /// The same, for a run that began earlier.
    ///
    /// # Errors
    /// As [`Interpreter::eval`].
    pub async fn eval_from(&mut self, request: &EvalRequest, begin: Instant) -> Result<Reply> {
        supported(request)?;
        self.begin_call()?;
        let mut capture = Capture::new(request.context.limits.output, request.context.output.clone());
        let clock = Clock::new(begin + request.context.limits.wall);
        let answer = clock.clone().within(self.run(request, &clock, &mut capture)).await;
        Ok(self.reply(answer, (&request.context.limits, &request.context.bounds), capture))
    }

    /// The value of a global, or of an expression in which `value` is that global's value.
    ///
    /// # Errors
    /// `not_found` when there is no such global; `guest_trap` when the interpreter is not whole.
    pub async fn get(
        &mut self,
        name: &str,
        query: Option<&str>,
        (limits, bounds): (&Limits, &Bounds),
    ) -> Result<Reply> {
        self.begin_call()?;
        let mut capture = Capture::new(limits.output, None);
        let clock = Clock::new(Instant::now() + limits.wall);
        let asked = Asked::get(name, query, bounds);
        let answer = clock.clone().within(self.ask(asked, &mut capture)).await;
        let reply = self.reply(answer, (limits, bounds), capture);
        if query.is_some() || !matches!(reply.status, Status::Raised(_)) {
            return Ok(reply);
        }
        if self.variables(limits, bounds).await?.iter().any(|variable| variable.name == name) {
            return Ok(reply);
        }
        let shown: String = name.escape_debug().take(64).collect();
        Err(Error::new(ErrorCode::NotFound, format!("there is no variable `{shown}`"))
            .with_hint("sandbox_vars names those that there are"))
    }

    /// Binds a global to the value of JSON text.
    ///
    /// # Errors
    /// `args_invalid` with the interpreter's reason; `limit_time`; `guest_trap`.
    pub async fn set(&mut self, name: &str, json: &str, limits: &Limits) -> Result<()> {
        let answer = self.plain(Asked::set(name, json), limits).await?;
        match answer {
            Answer::Done => Ok(()),
            Answer::Refused(why) => {
                let shown: String = name.escape_debug().take(64).collect();
                Err(Error::args_invalid(format!("`{shown}` cannot be set: {why}")))
            }
            _ => Err(self.spoil("an answer to another request")),
        }
    }

    /// The user's globals, sorted by name, as many as fit 256 KiB.
    ///
    /// # Errors
    /// `limit_time`; `guest_trap`.
    pub async fn variables(&mut self, limits: &Limits, bounds: &Bounds) -> Result<Vec<Variable>> {
        let bounds = Bounds { total_bytes: bounds.total_bytes.min(MAX_VARIABLES), ..*bounds };
        match self.plain(Asked::variables(&bounds), limits).await? {
            Answer::Listed(json) => match serde_json::from_str(&json) {
                Ok(list) => Ok(list),
                Err(error) => {
                    self.whole = false;
                    Err(wire::broken("a list of variables", error))
                }
            },
            _ => Err(self.spoil("an answer to another request")),
        }
    }

    /// Back to a clean namespace; imported modules stay loaded. A new process is cleaner (see the module).
    ///
    /// # Errors
    /// `limit_time`; `guest_trap`.
    pub async fn reset(&mut self, limits: &Limits) -> Result<()> {
        self.bound.clear();
        match self.plain(Asked::reset(), limits).await? {
            Answer::Done => Ok(()),
            _ => Err(self.spoil("an answer to another request")),
        }
    }

    /// What of the variables can be kept for another interpreter of the same version, as bytes that only [`Interpreter::load`] reads; at
    /// most `most`. None of it changes them. Only of Python.
    ///
    /// # Errors
    /// `capability_unavailable` with the interpreter's reason when nothing can be kept; `limit_time`; `guest_trap`.
    pub async fn save(&mut self, most: usize) -> Result<Vec<u8>> {
        match self.plain(Asked::save(most, SAVE.as_secs_f64()), &keeping()).await? {
            Answer::Saved(saved) if saved.len() <= most + SLACK => Ok(saved),
            Answer::Refused(why) => Err(unkept(&why)),
            _ => Err(self.spoil("an answer to another request")),
        }
    }

    /// Binds what another interpreter has saved, as seen from a folder. Answers with what is missing of it, as text for a
    /// person; none: nothing is.
    ///
    /// # Errors
    /// `capability_unavailable` with the interpreter's reason when nothing of it can be had; `limit_time`; `guest_trap`.
    pub async fn load(&mut self, saved: &[u8], directory: &str) -> Result<Option<String>> {
        match self.plain(Asked::load(saved, directory), &keeping()).await? {
            Answer::Listed(json) => match serde_json::from_str::<Missing>(&json) {
                Ok(missing) => Ok(missing.told()),
                Err(error) => {
                    self.whole = false;
                    Err(wire::broken("a list of variables", error))
                }
            },
            Answer::Refused(why) => Err(unkept(&why)),
            _ => Err(self.spoil("an answer to another request")),
        }
    }

    /// A call without a reply of its own; what it prints is dropped.
    async fn plain(&mut self, asked: Asked, limits: &Limits) -> Result<Answer> {
        self.begin_call()?;
        let mut capture = Capture::new(0, None);
        let clock = Clock::new(Instant::now() + limits.wall);
        let answer = clock.within(self.ask(asked, &mut capture)).await;
        let answer = answer.unwrap_or_else(|| Err(clock::over(limits)))?;
        if let Answer::Ended(end) = answer {
            return Err(end.error());
        }
        self.whole = true;
        Ok(answer)
    }

    /// Until the call has ended well, the interpreter counts as lost: the future may be dropped at any await.
    fn begin_call(&mut self) -> Result<()> {
        if !self.whole {
            return Err(Error::new(
                ErrorCode::GuestTrap,
                format!("the {} interpreter is gone: an earlier call was stopped", self.language),
            )
            .with_hint("start it anew; its variables are lost"));
        }
        self.whole = false;
        Ok(())
    }

    fn spoil(&mut self, what: &str) -> Error {
        self.whole = false;
        wire::refused(what)
    }

    fn reply(
        &mut self,
        answer: Option<Result<Answer>>,
        (limits, bounds): (&Limits, &Bounds),
        capture: Capture,
    ) -> Reply {
        let mut over = matches!(answer, Some(Ok(Answer::Fatal(_))));
        let status = match answer {
            None => Status::Stopped(clock::over(limits)),
            Some(Err(error)) => Status::Stopped(error),
            Some(Ok(Answer::Ended(end))) => end.status(),
            Some(Ok(Answer::Returned(json))) => {
                Value::from_guest(&json, bounds).map_or_else(Status::Stopped, Status::Returned)
            }
            Some(Ok(Answer::Raised(json) | Answer::Fatal(json))) => {
                Exception::from_guest(&json, bounds).map_or_else(Status::Stopped, Status::Raised)
            }
            Some(Ok(Answer::Exited(status))) => Status::Exited(status),
            Some(Ok(_)) => Status::Stopped(wire::refused("an answer to another request")),
        };
        over |= matches!(status, Status::Stopped(_)) || self.receiver.is_over();
        self.whole = !over;
        let [stdout, stderr] = capture.captured();
        Reply { status, stdout, stderr }
    }
}

/// Variables that could not be kept.
#[derive(Deserialize)]
struct Missing {
    /// Some of them, each with the reason.
    left_out: Vec<(String, String)>,
    /// How many there are.
    count: u64,
}

impl Missing {
    fn told(&self) -> Option<String> {
        let shown = self.left_out.iter().take(NAMED);
        let shown: Vec<String> =
            shown.map(|(name, why)| format!("`{}` ({})", shortened(name), shortened(why))).collect();
        let more = self.count.saturating_sub(shown.len() as u64);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        (self.count > 0).then(|| format!("{}{more}", shown.join(", ")))
    }
}

/// A text of the interpreter's, as it is shown. What cannot be seen is written out: a name of nothing else would be none.
fn shortened(text: &str) -> String {
    let shown = text.chars().take(160).map(|letter| match letter {
        control if control.is_control() => control.escape_debug().to_string(),
        other => other.to_string(),
    });
    shown.collect()
}

fn unkept(why: &str) -> Error {
    let message = format!("the variables could not be kept: {}", shortened(why));
    Error::new(ErrorCode::CapabilityUnavailable, message)
        .with_hint("what a later run needs can be written to a file in /workspace")
}

/// The limits of keeping variables.
fn keeping() -> Limits {
    Limits { wall: KEEP, ..Limits::default() }
}

/// Refuses what a container's interpreter cannot give.
fn supported(request: &EvalRequest) -> Result<()> {
    let what = if request.context.grants.seed.is_some() {
        "randomness cannot be fixed"
    } else if request.context.grants.clock != WallClock::System {
        "the clock cannot be fixed"
    } else if !request.allow_eval {
        "code made from text cannot be refused"
    } else {
        return Ok(());
    };
    Err(Error::new(ErrorCode::CapabilityUnavailable, format!("{what} in a container"))
        .with_hint("the wasm provider can do that"))
}
