//! The interpreters of a sandbox: started on first use, one for each language, kept until one is lost.
//!
//! Owns: where they run, what their loss means. Does not own: what is said to them ([`crate::interpreter`]).

use std::collections::BTreeMap;
use std::time::Instant;

use dormouse_core::sandbox::{Lost, Variable};
use dormouse_core::{
    Bounds, Error, ErrorCode, EvalRequest, Grants, GuestName, GuestPath, Language, Limits, Outcome, Recovery,
    Result, Status, Usage,
};

use crate::ended;
use crate::exec;
use crate::interpreter::{self, Interpreter, Reply};
use crate::line::{self, Marks};
use crate::machine::ContainerMachine;
use crate::number::random;
use crate::paths::WORKSPACE;
use crate::program::Exec;
use crate::running::{Running, Session};
use crate::variables::MOST;

/// What is said of a Python that began with what was kept.
const BEGAN: &str = "it began with what could be pickled of its variables when the sandbox slept";

/// The interpreters that run.
#[derive(Default)]
pub(crate) struct Interpreters(BTreeMap<Language, Idle>);

/// An interpreter between two calls.
struct Idle {
    interpreter: Interpreter,
    /// Keeps it from being swept.
    session: Session,
}

/// An interpreter that is in the middle of a call. Dropped there, it is let go of, and a sweep ends it with all it started.
struct Busy {
    interpreter: Interpreter,
    running: Running,
}

impl Interpreters {
    /// The languages of those that run, sorted.
    pub(crate) fn awake(&self) -> Vec<Language> {
        self.0.keys().cloned().collect()
    }

    /// Lets go of all; a sweep ends them.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

impl ContainerMachine {
    /// Runs a snippet.
    ///
    /// # Errors
    /// `capability_unavailable` when the image has no such interpreter; what [`Interpreter::eval`] says.
    pub(crate) async fn run_snippet(&mut self, mut request: EvalRequest) -> Result<Outcome> {
        let begin = Instant::now();
        let language = request.language.clone();
        // Of the call's grants only standard input counts, and what says where its network is; the environment is the sandbox's own, and
        // the process has it.
        let Grants { stdin, clock, seed, environment: offered, .. } =
            std::mem::take(&mut request.context.grants);
        request.context.grants = Grants {
            stdin,
            clock,
            seed,
            environment: self.spec.environment.iter().cloned().chain(offered).collect(),
            directory: Some(GuestPath::parse(WORKSPACE)?),
            ..Grants::default()
        };
        let wall = request.context.limits.wall;
        let mut busy = self.interpreter(&language).await?;
        let mut reply = busy.interpreter.eval_from(&request, begin).await;
        if let Ok(reply) = &mut reply {
            self.explain(reply).await?;
            tracing::trace!(%language, ?wall, "a snippet ended");
        }
        let recovery = self.give_back(&language, busy);
        let lost = reply.is_ok().then(|| self.lost.tell(&GuestName::from(&language))).flatten();
        reply.map(|reply| outcome(self.engine.name(), reply, begin, (recovery, lost)))
    }

    /// What of the variables of an interpreter that runs can be kept. The error is the reason why nothing can.
    pub(crate) async fn pickled(&mut self, language: &Language) -> std::result::Result<Vec<u8>, String> {
        let Some(idle) = self.interpreters.0.remove(language) else {
            return Err("it does not run".into());
        };
        let mut busy = self.busy(idle);
        let saved = busy.interpreter.save(MOST).await;
        if let Some(recovery) = self.give_back(language, busy) {
            let reason =
                "its interpreter did not answer when its variables were to be saved, and was ended".into();
            self.lost.note(Lost { guest: language.clone().into(), recovery, reason });
        }
        saved.map_err(|error| error.to_string())
    }

    /// The value of a global.
    pub(crate) async fn value(
        &mut self,
        language: &Language,
        name: &str,
        query: Option<&str>,
        with: (&Limits, &Bounds),
    ) -> Result<Outcome> {
        let begin = Instant::now();
        let mut busy = self.interpreter(language).await?;
        let mut reply = busy.interpreter.get(name, query, with).await;
        if let Ok(reply) = &mut reply {
            self.explain(reply).await?;
        }
        let recovery = self.give_back(language, busy);
        let lost = reply.is_ok().then(|| self.lost.tell(&language.into())).flatten();
        reply.map(|reply| outcome(self.engine.name(), reply, begin, (recovery, lost)))
    }

    /// Binds a global.
    pub(crate) async fn bind(
        &mut self,
        language: &Language,
        name: &str,
        json: &str,
        limits: &Limits,
    ) -> Result<()> {
        let mut busy = self.interpreter(language).await?;
        let bound = busy.interpreter.set(name, json, limits).await;
        self.give_back(language, busy);
        bound
    }

    /// The globals of an interpreter that runs, or that begins with kept variables.
    pub(crate) async fn globals(&mut self, language: &Language, limits: &Limits) -> Result<Vec<Variable>> {
        let mut busy = match self.interpreters.0.remove(language) {
            Some(idle) => self.busy(idle),
            None if *language == Language::python() && self.variables.are_kept() => {
                self.start_interpreter(language).await?
            }
            None => return Ok(Vec::new()),
        };
        let listed = busy.interpreter.variables(limits, &Bounds::MAX).await;
        self.give_back(language, busy);
        listed
    }

    /// The interpreter of a language, started if it does not run, for one call.
    async fn interpreter(&mut self, language: &Language) -> Result<Busy> {
        if *language == Language::python() {
            self.variables.touch();
        }
        match self.interpreters.0.remove(language) {
            Some(idle) => Ok(self.busy(idle)),
            None => self.start_interpreter(language).await,
        }
    }

    fn busy(&mut self, idle: Idle) -> Busy {
        let Idle { interpreter, session } = idle;
        Busy { interpreter, running: Running::new(&self.container, &self.sessions, &self.sweeping, session) }
    }

    async fn start_interpreter(&mut self, language: &Language) -> Result<Busy> {
        let argv = interpreter::argv(language)
            .filter(|argv| argv.first().is_some_and(|program| self.container.has(program)));
        let argv = argv.ok_or_else(|| missing(language, self.container.image()))?;
        let mut busy = self.begin_interpreter(language, argv.clone()).await;
        if busy.as_ref().is_err_and(|error| error.code() == ErrorCode::GuestMissing) {
            // The image has the program: an engine that was away for a moment has ended it. Or it does not run here at all.
            busy = self.begin_interpreter(language, argv).await;
        }
        if *language == Language::python() { self.with_variables(busy?).await } else { busy }
    }

    async fn begin_interpreter(&mut self, language: &Language, argv: Vec<String>) -> Result<Busy> {
        let mark = random()?;
        let session = self.sessions.enter();
        let variables = self.spec.environment.iter().chain(self.network.variables());
        let exec = Exec {
            argv: line::kept(&mark, argv),
            environment: variables.map(|(name, value)| format!("{name}={value}")).collect(),
            directory: Some(WORKSPACE.into()),
            marks: Some(Marks::new(mark, session.number.clone())),
            starts: Some(self.sessions.starts.clone()),
            ..Exec::default()
        };
        // Dropped or failed from here on, what was started is ended.
        let running = Running::new(&self.container, &self.sessions, &self.sweeping, session);
        let started = match exec::attach(self.container.as_ref(), exec).await {
            Ok((input, output)) => Interpreter::start(language, input, output).await,
            Err(error) => Err(error),
        };
        match started {
            Ok(interpreter) => Ok(Busy { interpreter, running }),
            Err(_) if self.container.is_full().await => Err(self.out_of_memory()),
            Err(error) => match ended::with_container(self.container.as_ref()).await {
                Some(ended) => Err(ended.with_source(error)),
                None if !self.container.answers().await => {
                    Err(ended::of_engine(self.container.patience(), error))
                }
                None => Err(error),
            },
        }
    }

    /// A Python that has just started, with what was kept of the variables. Those that it cannot load are let go of, and so is an
    /// interpreter that does not come to an end with them.
    async fn with_variables(&mut self, mut busy: Busy) -> Result<Busy> {
        let Some(kept) = self.variables.kept() else { return Ok(busy) };
        match busy.interpreter.load(&kept, WORKSPACE).await {
            Ok(missing) => {
                let missing = missing.map(|names| format!("{BEGAN}; without {names}"));
                self.say_missing(missing);
                Ok(busy)
            }
            Err(error) => {
                self.variables.clear();
                let (language, reason) =
                    (Language::python(), format!("its variables were not loaded: {error}"));
                self.lost.note(Lost { guest: language.clone().into(), recovery: Recovery::Fresh, reason });
                // Whatever it has loaded of them is gone with it.
                drop(busy);
                Box::pin(self.start_interpreter(&language)).await
            }
        }
    }

    /// Keeps an interpreter for its next call. One that takes no more calls is let go of, and what it left running is ended.
    fn give_back(&mut self, language: &Language, busy: Busy) -> Option<Recovery> {
        let kept = *language == Language::python() && self.variables.are_kept();
        if !busy.interpreter.is_whole() {
            return Some(if kept { Recovery::Earlier } else { Recovery::Fresh });
        }
        let Busy { interpreter, running } = busy;
        if let Some(session) = running.done() {
            self.interpreters.0.insert(language.clone(), Idle { interpreter, session });
        }
        None
    }

    /// Says that it was the memory limit, or the container's end, where that is why an interpreter ended.
    async fn explain(&mut self, reply: &mut Reply) -> Result<()> {
        let ended = matches!(&reply.status, Status::Stopped(error) if error.code() == ErrorCode::GuestTrap);
        if !ended {
            return Ok(());
        }
        if let Some(error) = ended::with_container(self.container.as_ref()).await {
            reply.status = Status::Stopped(error);
        } else if self.was_out_of_memory().await? {
            reply.status = Status::Stopped(self.out_of_memory());
        }
        Ok(())
    }
}

/// `lost`: what it began with, if no answer has said so yet.
fn outcome(
    provider: &'static str,
    reply: Reply,
    begin: Instant,
    (recovery, lost): (Option<Recovery>, Option<Lost>),
) -> Outcome {
    let Reply { status, stdout, stderr } = reply;
    let stopped = matches!(status, Status::Stopped(_));
    Outcome {
        status,
        stdout,
        stderr,
        usage: Usage { wall: begin.elapsed(), ..Usage::default() },
        provider,
        fallback_from: None,
        recovery: recovery.filter(|_| stopped).or(lost.as_ref().map(|lost| lost.recovery)),
        warning: None,
        closed_files: Vec::new(),
        recovery_reason: lost.map(|lost| lost.reason),
        network: None,
    }
}

fn missing(language: &Language, image: &str) -> Error {
    Error::new(
        ErrorCode::CapabilityUnavailable,
        format!("the image `{image}` has no interpreter for {language}"),
    )
    .with_hint("use an image that has python3, node or php, or a sandbox of the wasm provider")
}
