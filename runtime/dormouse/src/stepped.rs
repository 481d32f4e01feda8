//! A program that can be saved where it waits, for embedders that drive it themselves.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use dormouse_core::callback::CallbackCall;
use dormouse_core::waiting::{CallAnswer, Paused, PendingCall, Progress, Wanted};
use dormouse_core::{Callbacks, Error, ErrorCode, EvalRequest, Language, Outcome, Result, Runtime};
use dormouse_wasm::{SavedInterpreter, Session, WasmProvider};
use futures::StreamExt as _;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use serde::{Deserialize, Serialize};

/// What a saved program begins with.
const MAGIC: &[u8; 8] = b"DORMPROG";

/// What is saved of a program beside its interpreter.
#[derive(Serialize, Deserialize)]
struct Head {
    wanted: Wanted,
    /// What the program's monotonic clock showed.
    clock: Duration,
    /// When that was, since 1970.
    saved_at: Duration,
}

/// A program: it waits, or has come to its end.
///
/// Where it awaits and has nothing else to do, everything that it is lies in its interpreter's memory: it can be saved as bytes and go
/// on in another process, with a snippet that has the same callbacks. Its files in `/tmp` are not saved; a
/// [`PersistentSandbox`](crate::PersistentSandbox) keeps those too ([`PersistentSandbox::start_run`](crate::PersistentSandbox::start_run)).
///
/// ```
/// # #[tokio::main]
/// # async fn main() -> dormouse::Result<()> {
/// use dormouse::waiting::CallAnswer;
///
/// let dormouse = dormouse::Dormouse::new()?;
/// let code = "from dormouse import tools\nx = 40\nx + await tools.numbers.two()";
/// let mut program = dormouse.snippet("python", code).start().await?;
/// let call = program.wanted().expect("it waits").calls[0].clone();
/// assert_eq!(call.name, "numbers.two");
/// let saved = program.save().await?;
///
/// // In another process, days later.
/// let mut program = dormouse.snippet("python", "").resume(&saved).await?;
/// program.answer(vec![CallAnswer { id: call.id, outcome: Ok("2".into()) }]).await?;
/// let outcome = program.finish().await?;
/// assert_eq!(outcome.value().and_then(|value| value.as_i64()), Some(42));
/// # Ok(()) }
/// ```
pub struct Program {
    runtime: Runtime,
    provider: Arc<WasmProvider>,
    session: Session,
    request: EvalRequest,
    progress: Progress,
}

impl Program {
    pub(crate) async fn start(
        (runtime, provider): (Runtime, Arc<WasmProvider>),
        request: EvalRequest,
    ) -> Result<Self> {
        refuse_typescript(&request.language)?;
        let begun = runtime.part(request.clone(), async |admitted| {
            let mut session = provider.session(admitted.language.clone()).await?;
            let progress = provider.start(&mut session, &admitted).await?;
            Ok((session, progress))
        });
        let (session, progress) = begun.await?;
        Ok(Self { runtime, provider, session, request, progress })
    }

    pub(crate) async fn restore(
        (runtime, provider): (Runtime, Arc<WasmProvider>),
        request: EvalRequest,
        saved: &[u8],
    ) -> Result<Self> {
        refuse_typescript(&request.language)?;
        let (Head { wanted, clock, saved_at }, interpreter) = read(saved)?;
        let session = provider.restore(&interpreter).await?;
        let shown = clock.saturating_add(since_1970().saturating_sub(saved_at));
        session.reach_time(u64::try_from(shown.as_nanos()).unwrap_or(u64::MAX));
        let progress = Progress::Waits(Paused {
            wanted,
            stdout: Default::default(),
            stderr: Default::default(),
            usage: Default::default(),
        });
        Ok(Self { runtime, provider, session, request, progress })
    }

    /// What it waits for; none: it has come to its end.
    pub fn wanted(&self) -> Option<&Wanted> {
        self.paused().map(|paused| &paused.wanted)
    }

    /// The same with what it wrote and used since it went on last.
    pub fn paused(&self) -> Option<&Paused> {
        match &self.progress {
            Progress::Waits(paused) => Some(paused),
            Progress::Ended(_) => None,
        }
    }

    /// Goes on with answers of some of its calls, until it waits again or ends. Without answers its time is over.
    ///
    /// # Errors
    /// `invalid_state` when it has ended; as [`Snippet::run`](crate::Snippet::run).
    pub async fn answer(&mut self, answers: Vec<CallAnswer>) -> Result<()> {
        if self.paused().is_none() {
            return Err(Error::new(ErrorCode::InvalidState, "the program has ended")
                .with_hint("take its outcome with `finish`"));
        }
        let (provider, session) = (&self.provider, &mut self.session);
        let part = self
            .runtime
            .part(self.request.clone(), async |admitted| provider.resume(session, &admitted, answers).await);
        self.progress = part.await?;
        Ok(())
    }

    /// Makes its calls by the snippet's callbacks, waits for its time, and goes on until it has ended. Dropping the future
    /// cancels it.
    ///
    /// # Errors
    /// As [`Program::answer`].
    pub async fn finish(mut self) -> Result<Outcome> {
        let mut under_way: FuturesUnordered<BoxFuture<'static, CallAnswer>> = FuturesUnordered::new();
        let mut made = 0;
        loop {
            let wanted = match self.progress {
                Progress::Ended(outcome) => return Ok(*outcome),
                Progress::Waits(ref paused) => paused.wanted.clone(),
            };
            for call in wanted.calls {
                made += 1;
                under_way.push(Box::pin(made_by(self.request.context.callbacks.clone(), call, made)));
            }
            let answered = match wanted.time {
                Some(time) if under_way.is_empty() => {
                    tokio::time::sleep(time).await;
                    None
                }
                Some(time) => tokio::time::timeout(time, under_way.next()).await.ok().flatten(),
                None => under_way.next().await,
            };
            let answers = answered.into_iter().collect();
            self.answer(answers).await?;
        }
    }

    /// Its state at this wait, as bytes: the interpreter's memory, what it waits for, and its monotonic clock, which counts the time
    /// until it goes on. The program can go on here as well; only one of the two should.
    ///
    /// # Errors
    /// `invalid_state` when it has ended; what keeps its interpreter from being saved.
    pub async fn save(&mut self) -> Result<Vec<u8>> {
        let Some(wanted) = self.wanted() else {
            return Err(Error::new(ErrorCode::InvalidState, "the program has ended")
                .with_hint("save it while it waits"));
        };
        let clock = Duration::from_nanos(self.session.time());
        let head = Head { wanted: wanted.clone(), clock, saved_at: since_1970() };
        let head = serde_json::to_vec(&head)
            .map_err(|error| Error::internal("what it waits for is not JSON", error))?;
        let interpreter = self.provider.checkpoint(&mut self.session).await?.to_bytes();
        let length =
            u32::try_from(head.len()).map_err(|error| Error::internal("it waits for too much", error))?;
        Ok([&MAGIC[..], &length.to_le_bytes(), &head, &interpreter].concat())
    }
}

async fn made_by(callbacks: Callbacks, call: PendingCall, made: u32) -> CallAnswer {
    let answered = async {
        if made > callbacks.max_calls {
            return Err(format!("the run has made its {} tool calls", callbacks.max_calls));
        }
        let Some(callback) = callbacks.get(&call.name) else { return Err(callbacks.missing(&call.name)) };
        let arguments = serde_json::from_str(&call.arguments)
            .map_err(|error| format!("the arguments are not JSON: {error}"))?;
        let answer = callback.call(CallbackCall { arguments, ..CallbackCall::default() }).await?;
        if let Some(file) = answer.files.first() {
            return Err(format!(
                "the tool answered with the file `{}`, for which there is no sandbox",
                file.path
            ));
        }
        Ok(answer.value.to_string())
    };
    CallAnswer { id: call.id, outcome: answered.await }
}

fn since_1970() -> Duration {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}

/// What a saved program waits for, and its interpreter.
fn read(saved: &[u8]) -> Result<(Head, SavedInterpreter)> {
    let parts = || {
        let rest = saved.strip_prefix(MAGIC)?;
        let (length, rest) = rest.split_first_chunk::<4>()?;
        rest.split_at_checked(usize::try_from(u32::from_le_bytes(*length)).ok()?)
    };
    let bad = || {
        Error::args_invalid("these bytes are no saved program")
            .with_hint("give what `Program::save` answered")
    };
    let (head, interpreter) = parts().ok_or_else(bad)?;
    let head = serde_json::from_slice(head).map_err(|error| bad().with_source(error))?;
    Ok((head, SavedInterpreter::from_bytes(interpreter)?))
}

fn refuse_typescript(language: &Language) -> Result<()> {
    if *language != Language::typescript() {
        return Ok(());
    }
    Err(Error::new(ErrorCode::CapabilityUnavailable, "programs in TypeScript are not run step by step")
        .with_hint("write it in JavaScript, or start it in a persistent sandbox"))
}
