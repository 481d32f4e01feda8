//! Programs that a command line starts: interpreters and git, each in a fresh instance on the sandbox's own files, and the
//! operator's (`pip`, `npm`).
//!
//! Owns: which names there are, what each of them may use, what its end means to a shell. Does not own: how an interpreter
//! reads its command line ([`launch`]), where its output goes ([`outlets`]), what is told of the room for files ([`disk_free`]).

mod disk_free;
mod launch;
mod outlets;

use std::collections::BTreeSet;
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use dormouse_core::network::Door;
use dormouse_core::program::MAX_STREAM;
use dormouse_core::sandbox::Executed;
use dormouse_core::{
    Callbacks, Error, Exception, Grants, GuestName, GuestPath, Limits, Outcome, ProgramCall, ProgramEnd,
    Programs as Operators, Status,
};
use futures::future::BoxFuture;

use self::launch::Launch;
use crate::bindings::dormouse::sandbox::programs as contract;
use crate::clock::Monotonic;
use crate::disk::OwnFiles;
use crate::engine::Metering;
use crate::instance::Instance;
use crate::loader::Loader;
use crate::share::Share;
use crate::state::Launcher;
use crate::stdio::{Outlet, Output};
use crate::task::Task;
use crate::tree_files::TreeFiles;
use crate::typescript::Compiler;

/// Names of commands that nobody has, kept of one command line.
const MAX_MISSING: usize = 16;
/// Longest name of a command that is looked for, in bytes.
const MAX_NAME: usize = 255;
/// The operator's program that reaches remote repositories (`dormouse-git`).
const TRANSPORT: &str = "git-remote-http";
/// Shortest time that a program is started with.
const LEAST: Duration = Duration::from_millis(1);

/// What the command lines of one run can start.
#[derive(Clone)]
pub(crate) struct Programs {
    inner: Arc<Inner>,
    /// The only program there is for the one that has this; none: all.
    only: Option<&'static str>,
    /// Standard output and standard error of the one that has this.
    streams: Option<[Output; 2]>,
}

struct Inner {
    loader: Loader,
    compiler: Arc<Compiler>,
    files: dormouse_files::Files,
    /// The sandbox's own: mounts and the clock.
    grants: Grants,
    limits: Limits,
    callbacks: Callbacks,
    network: Option<Arc<dyn Door>>,
    operators: Arc<dyn Operators>,
    /// Callbacks that the command line and its programs have called together.
    used: Arc<AtomicU32>,
    share: Share,
    clock: Monotonic,
    missing: Mutex<BTreeSet<String>>,
    elsewhere: Mutex<BTreeSet<(String, &'static str)>>,
}

impl Programs {
    pub(crate) fn new(
        (loader, compiler): (Loader, Arc<Compiler>),
        files: dormouse_files::Files,
        request: &Task,
        operators: Arc<dyn Operators>,
        (share, clock): (Share, Monotonic),
    ) -> Self {
        let inner = Inner {
            loader,
            compiler,
            files,
            grants: Grants { stdin: Vec::new(), arguments: Vec::new(), ..request.context.grants.clone() },
            limits: Limits { output: MAX_STREAM, ..request.context.limits.clone() },
            callbacks: request.context.callbacks.clone(),
            network: request.context.network.clone(),
            operators,
            used: Arc::default(),
            share,
            clock,
            missing: Mutex::default(),
            elsewhere: Mutex::default(),
        };
        Self { inner: Arc::new(inner), only: None, streams: None }
    }

    /// Lets the next run of an instance, and only that, start these. It shares the count of its callbacks with them.
    pub(crate) fn offer_to(self, instance: &mut Instance) {
        instance.share(self.used());
        let streams = Some(instance.outputs());
        instance.offer(Arc::new(Self { streams, ..self }));
    }

    /// The count of the callbacks that the command line and its programs have called.
    pub(crate) fn used(&self) -> Arc<AtomicU32> {
        self.inner.used.clone()
    }

    /// What came of a command line that could start these.
    pub(crate) fn executed(&self, mut outcome: Outcome) -> Executed {
        let missing =
            self.inner.missing.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect();
        let elsewhere = self.inner.elsewhere.lock().unwrap_or_else(PoisonError::into_inner);
        let elsewhere: Vec<_> = elsewhere.iter().cloned().collect();
        if let Some((_, provider)) = elsewhere.first() {
            (outcome.provider, outcome.fallback_from) = (provider, Some(outcome.provider));
        }
        Executed { outcome, missing, elsewhere }
    }

    /// Runs a program to its end, at most until `deadline`; an interpreter's output goes to `outlets` while it runs. None: there
    /// is none of that name.
    async fn run(&self, call: ProgramCall, deadline: Instant, outlets: &[Outlet; 2]) -> Option<ProgramEnd> {
        if self.only.is_some_and(|only| only != call.name) {
            return None;
        }
        let (call, module) = match launch::of_operators(&call) {
            Some(program) => (program, Some(call.name)),
            None => (call, None),
        };
        if let Some(launch) = launch::of(&call) {
            return Some(match launch {
                Ok(launch) => self.interpret(&call, launch, deadline, outlets).await,
                Err(refused) => refused,
            });
        }
        if call.name == "df" {
            return Some(disk_free::run(&call, &self.inner.files));
        }
        let mut files = TreeFiles(self.inner.files.clone());
        let running = self.inner.operators.run(&call, &mut files);
        let ended = match tokio::time::timeout_at(deadline.into(), running).await {
            Ok(ended) => ended,
            Err(_) => Some(ProgramEnd::failed(
                ProgramEnd::TIMED_OUT,
                format!("{}: its time limit was reached\n", call.name),
            )),
        };
        match &ended {
            Some(ProgramEnd { provider: Some(provider), .. }) => {
                self.note_elsewhere(call.name.clone(), provider)
            }
            None if self.only.is_none() => self.note_missing(call.name.clone()),
            _ => {}
        }
        match (ended, module) {
            (None, Some(python)) => {
                Some(ProgramEnd::failed(1, format!("{python}: No module named {}\n", call.name)))
            }
            (ended, _) => ended,
        }
    }

    fn note_elsewhere(&self, name: String, provider: &'static str) {
        let mut elsewhere = self.inner.elsewhere.lock().unwrap_or_else(PoisonError::into_inner);
        if elsewhere.len() < MAX_MISSING && name.len() <= MAX_NAME {
            elsewhere.insert((name, provider));
        }
    }

    fn note_missing(&self, name: String) {
        let mut missing = self.inner.missing.lock().unwrap_or_else(PoisonError::into_inner);
        if missing.len() < MAX_MISSING && name.len() <= MAX_NAME {
            missing.insert(name);
        }
    }

    async fn interpret(
        &self,
        call: &ProgramCall,
        launch: Launch,
        deadline: Instant,
        outlets: &[Outlet; 2],
    ) -> ProgramEnd {
        let (name, language) = (call.name.as_str(), launch.language.clone());
        let _process = match self.inner.share.process() {
            Ok(process) => process,
            Err(error) => return ProgramEnd::failed(126, format!("{name}: {error}\n")),
        };
        match self.evaluate(call, launch, deadline, outlets).await {
            Ok((outcome, [output, errors])) => ended(name, &language, &outcome, output, errors),
            Err(error) => ProgramEnd::failed(126, format!("{name}: {error}\n")),
        }
    }

    /// Runs the interpreter in a fresh instance: a program begins with nothing of what another had in memory.
    async fn evaluate(
        &self,
        call: &ProgramCall,
        launch: Launch,
        deadline: Instant,
        outlets: &[Outlet; 2],
    ) -> Result<(Outcome, [Vec<u8>; 2]), Error> {
        let inner = &self.inner;
        let begin = Instant::now();
        let mut request = Task::new(launch.language, launch.code);
        request.context.limits =
            Limits { wall: deadline.saturating_duration_since(begin).max(LEAST), ..inner.limits.clone() };
        request.context.callbacks = inner.callbacks.clone();
        request.context.network = inner.network.clone();
        request.context.grants = Grants {
            stdin: launch.stdin,
            environment: call.environment.clone(),
            arguments: launch.arguments,
            program: Some(launch.program.clone()),
            directory: Some(GuestPath::parse(&call.directory)?),
            ..inner.grants.clone()
        };
        request.name = launch.name;
        request.context.grants.check()?;
        let ready = inner.loader.ready(&request.guest, Metering::Epoch).await?;
        let mut instance = ready.take().await?;
        instance.keep_time(&inner.clock);
        instance.lead(outlets);
        if request.guest == GuestName::Git {
            Self { inner: inner.clone(), only: Some(TRANSPORT), streams: None }.offer_to(&mut instance);
        } else {
            instance.share(self.used());
            instance.compile_with(inner.compiler.clone());
        }
        let outcome = instance.run(&request, begin, &OwnFiles::Kept(inner.files.clone())).await?;
        let streams = instance.streams();
        Ok((outcome, streams))
    }
}

/// An interpreter's outcome as a shell sees it.
fn ended(
    name: &str,
    language: &GuestName,
    outcome: &Outcome,
    output: Vec<u8>,
    mut errors: Vec<u8>,
) -> ProgramEnd {
    let status = match &outcome.status {
        Status::Raised(exception) => {
            errors.extend_from_slice(uncaught(language, exception).as_bytes());
            if *language == GuestName::php() { 255 } else { 1 }
        }
        Status::Stopped(error) => {
            errors.extend_from_slice(format!("{name}: {error}\n").as_bytes());
            error.code().exit_status()
        }
        _ => u8::try_from(outcome.exit_code()).unwrap_or(1),
    };
    for (what, stream) in [("output", &outcome.stdout), ("errors", &outcome.stderr)] {
        if stream.is_truncated() {
            let dropped = stream.dropped_bytes;
            errors.extend_from_slice(
                format!("{name}: {dropped} bytes of its {what} past {MAX_STREAM} were dropped\n").as_bytes(),
            );
        }
    }
    ProgramEnd { status, output, errors, provider: None }
}

/// What an interpreter says of an exception that nobody caught.
fn uncaught(language: &GuestName, exception: &Exception) -> String {
    let Exception { class, message, stack_trace, traceback, .. } = exception;
    let own = match traceback {
        Some(text) => text.trim_end().to_owned(),
        None => {
            let steps: String = stack_trace.iter().map(|step| format!("\n    at {step}")).collect();
            format!("{class}: {message}{steps}")
        }
    };
    if *language == GuestName::php() {
        format!("PHP Fatal error:  Uncaught {own}\n")
    } else {
        format!("Uncaught {own}\n")
    }
}

impl Launcher for Programs {
    // The future of a run within a run has the size of itself.
    fn launch(
        &self,
        command: contract::Command,
        deadline: Instant,
    ) -> BoxFuture<'static, Option<contract::Ended>> {
        let programs = self.clone();
        Box::pin(async move {
            let contract::Command { program, arguments, environment, directory, input, milliseconds, .. } =
                command;
            let outlets = [command.output, command.errors].map(|to| programs.outlet(to));
            let call = ProgramCall { name: program, arguments, environment, directory, input };
            let asked = milliseconds.map(|most| Instant::now() + Duration::from_millis(most.into()));
            let deadline = asked.map_or(deadline, |asked| asked.min(deadline));
            let ProgramEnd { status, output, errors, .. } = programs.run(call, deadline, &outlets).await?;
            let [output, errors] = outlets::rest(&outlets, [output, errors]);
            Some(contract::Ended { status, output, errors })
        })
    }
}
