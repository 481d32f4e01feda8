//! One live interpreter: gets its run's grants, runs, is thrown away. It is entered through its [`Entry`] alone.

mod program;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::time::{Duration, Instant};

use dormouse_core::{
    Error, ErrorCode, Exception, Limits, Outcome, Project, Result, Status, Stream, Usage, Value,
};
use dormouse_files::Handle;

use crate::bindings::exports::dormouse::sandbox::interpreter as contract;
use crate::calls::{DoorIndices, Eval, Exports, Get, Set, Vars, contract_bounds};
use crate::clock::Monotonic;
use crate::disk::{DiskLimits, LeftFiles, OwnFiles, Trace};
use crate::doors::Doors;
use crate::entry::{Allowance, Entry, Left, STATE_TIME};
use crate::state::{Compile, Launcher};
use crate::stdio::{Input, Outlet, Output};
use crate::task::Task;
use crate::waiting::{Start, WaitingIndices};
use crate::{grants, trap};

/// What traces show for the script that opens a project.
pub(crate) const PROJECT_SCRIPT: &str = "<project>";

/// What a run has used before its interpreter begins.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Spent {
    pub(crate) time: Duration,
    pub(crate) fuel: u64,
    /// Most bytes that were held; they have been given back.
    pub(crate) memory: u64,
}

impl Spent {
    /// When a run began whose interpreter begins now.
    pub(crate) fn begin(&self) -> Instant {
        let now = Instant::now();
        now.checked_sub(self.time).unwrap_or(now)
    }
}

/// A live instance.
pub(crate) struct Instance {
    entry: Entry<Exports>,
    /// How its programs wait, if they can.
    waiting: Option<Arc<WaitingIndices>>,
    stdin: Input,
    stdout: Output,
    stderr: Output,
    /// Whether it has its grants: those of its first run.
    granted: bool,
    /// The clock that it gets with its grants, if it goes on from somewhere.
    monotonic: Option<Monotonic>,
    /// Callbacks that have their names in the language.
    bound: BTreeSet<String>,
    /// Whether it has the script that finds the calls of a program ([`crate::plain`]).
    pub(crate) finds_calls: bool,
    /// What its next run can start.
    programs: Option<Arc<dyn Launcher>>,
    /// What makes JavaScript of the files that its next run imports.
    compiler: Option<Arc<dyn Compile>>,
    /// The callbacks that its next run has used already, if it shares them with other runs.
    used: Option<Arc<AtomicU32>>,
    /// What the run has used before it came here.
    spent: Spent,
    /// Bytes of its memories and tables when it was fresh.
    image: usize,
}

impl Instance {
    pub(crate) fn new(entry: Entry<Exports>, waiting: Option<Arc<WaitingIndices>>) -> Self {
        Self {
            image: entry.host().limiter.held(),
            entry,
            waiting,
            stdin: Input::default(),
            stdout: Output::new(Stream::Stdout),
            stderr: Output::new(Stream::Stderr),
            granted: false,
            monotonic: None,
            bound: BTreeSet::new(),
            finds_calls: false,
            programs: None,
            compiler: None,
            used: None,
            spent: Spent::default(),
        }
    }

    /// Runs one snippet to its outcome. Of the grants, those of the first run hold for the instance's life; standard
    /// input, limits, callbacks and sinks are each run's own.
    ///
    /// # Errors
    /// Only what a grant names and the host does not have.
    pub(crate) async fn run(&mut self, request: &Task, begin: Instant, own: &OwnFiles) -> Result<Outcome> {
        self.grant(request, own)?;
        let allowance = Allowance::run(begin + request.context.limits.wall);
        let status = if self.arm(request) {
            match self.bind(request, &allowance).await {
                Some(stopped) => stopped,
                None => self.eval(request, &request.code, &allowance).await,
            }
        } else {
            Status::Stopped(trap::held((self.memory(), self.image), request, own.is_kept()))
        };
        self.withdraw(request).await;
        let outcome = self.outcome(status, &request.context.limits, begin);
        self.spent = Spent::default();
        Ok(outcome)
    }

    /// Refuses a run whose memory limit is less than the interpreter takes before it runs anything.
    ///
    /// # Errors
    /// `args_invalid`, naming the least.
    pub(crate) fn check_room(&self, request: &Task) -> Result<()> {
        trap::too_small(&request.guest, self.image, &request.context.limits).map_or(Ok(()), Err)
    }

    /// Lets its monotonic clock be this one. Must come before its first run.
    pub(crate) fn keep_time(&mut self, clock: &Monotonic) {
        self.monotonic = Some(clock.clone());
    }

    /// Counts what was used elsewhere as the next run's own.
    pub(crate) fn charge(&mut self, spent: Spent) {
        self.spent = spent;
    }

    /// Ends a run: what it could call is taken from the instance, and what it has come to is told.
    fn outcome(&mut self, status: Status, limits: &Limits, begin: Instant) -> Outcome {
        let network = self.entry.host().net.used();
        self.entry.host_mut().disarm();
        Outcome {
            status,
            stdout: self.stdout.captured(),
            stderr: self.stderr.captured(),
            usage: self.usage(limits, begin),
            provider: crate::PROVIDER,
            fallback_from: None,
            recovery: None,
            warning: None,
            closed_files: self.entry.host_mut().files.held.take_lost(),
            recovery_reason: None,
            network,
        }
    }

    /// What the last run's streams kept, in bytes. They are empty afterwards.
    pub(crate) fn streams(&self) -> [Vec<u8>; 2] {
        [self.stdout.take(), self.stderr.take()]
    }

    /// What the next run, and only that, can start.
    pub(crate) fn offer(&mut self, programs: Arc<dyn Launcher>) {
        self.programs = Some(programs);
    }

    /// Lets the next run, and only that, import files that are TypeScript.
    pub(crate) fn compile_with(&mut self, compiler: Arc<dyn Compile>) {
        self.compiler = Some(compiler);
    }

    /// Its standard output and standard error.
    pub(crate) fn outputs(&self) -> [Output; 2] {
        [self.stdout.clone(), self.stderr.clone()]
    }

    /// Lets what the next run, and only that, writes to its two output streams go elsewhere.
    pub(crate) fn lead(&self, [output, errors]: &[Outlet; 2]) {
        self.stdout.lead(output.clone());
        self.stderr.lead(errors.clone());
    }

    /// Lets the next run, and only that, share the count of its callbacks with others.
    pub(crate) fn share(&mut self, used: Arc<AtomicU32>) {
        self.used = Some(used);
    }

    /// Gives an instance that has none its grants and its files; they hold for its life.
    ///
    /// # Errors
    /// Only what a grant names and the host does not have.
    fn grant(&mut self, request: &Task, own: &OwnFiles) -> Result<()> {
        if !self.granted {
            let streams = (&self.stdout, &self.stderr);
            let host = self.entry.host_mut();
            host.wasi = grants::context(
                &request.context.grants,
                &request.name,
                &self.stdin,
                streams,
                own.missing_mounts(),
                self.monotonic.as_ref(),
            )?;
            host.files.give(own, &request.context.grants);
            self.granted = true;
        }
        Ok(())
    }

    /// The value of a global, or of an expression over it.
    ///
    /// # Errors
    /// Only what a grant names and the host does not have.
    pub(crate) async fn get(
        &mut self,
        request: &Task,
        name: &str,
        query: Option<&str>,
        own: &OwnFiles,
    ) -> Result<Outcome> {
        let begin = Instant::now();
        self.grant(request, own)?;
        let status = if self.arm(request) {
            let (allowance, options) =
                (Allowance::run(begin + request.context.limits.wall), &options(request));
            let bounds = &request.context.bounds;
            let called = self.entry.call(&allowance, Get { name, query, options, bounds }).await;
            self.came_to(called, request)
        } else {
            Status::Stopped(trap::held((self.memory(), self.image), request, own.is_kept()))
        };
        Ok(self.outcome(status, &request.context.limits, begin))
    }

    /// What a call came to. A guest that answers in another form than the contract's is broken, and said to be.
    fn came_to(&self, called: Result<contract::Outcome, Left>, request: &Task) -> Status {
        let read = match called {
            Err(left) => return trap::left(left, self.entry.host(), &request.context.limits),
            Ok(contract::Outcome::Returned(json)) => {
                Value::from_guest(&json, &request.context.bounds).map(Status::Returned)
            }
            Ok(contract::Outcome::Raised(json)) => {
                Exception::from_guest(&json, &request.context.bounds).map(|mut exception| {
                    if request.context.grants.project.is_some() {
                        exception.relative_to(Project::TARGET);
                        exception.leave_out(PROJECT_SCRIPT);
                    }
                    if let Some(refused) = self.entry.host().limiter.refused()
                        && trap::is_of_memory(&exception)
                    {
                        exception.hint = Some(trap::raise_memory(refused, &request.context.limits));
                    }
                    Status::Raised(exception)
                })
            }
            Ok(contract::Outcome::Exited(code)) => Ok(Status::Exited(code)),
        };
        read.unwrap_or_else(Status::Stopped)
    }

    /// Whether it can be called again: no call of it was cut off by a limit, a crash or the end of its program.
    pub(crate) fn is_whole(&self) -> bool {
        self.entry.is_whole()
    }

    /// The globals as the guest lists them, in JSON.
    ///
    /// # Errors
    /// `limit_time`, `limit_memory`, `guest_trap`: what ended it; what a grant names and the host does not have.
    pub(crate) async fn variables(&mut self, request: &Task, own: &OwnFiles) -> Result<String> {
        let limits = &request.context.limits;
        let allowance = self.begin(request, own)?;
        let listed = self.entry.call(&allowance, Vars { bounds: &request.context.bounds }).await;
        self.entry.host_mut().disarm();
        listed.map_err(|left| self.stopped(left, limits, "the variables cannot be listed"))
    }

    /// Binds a global to the value of JSON text, within the limits of the request.
    ///
    /// # Errors
    /// `args_invalid` with what the guest says against it; `limit_time`, `limit_memory`, `guest_trap`: what ended it; what a
    /// grant names and the host does not have.
    pub(crate) async fn set(&mut self, request: &Task, name: &str, json: &str, own: &OwnFiles) -> Result<()> {
        let limits = &request.context.limits;
        let allowance = self.begin(request, own)?;
        let set = self.entry.call(&allowance, Set { name, json }).await;
        self.entry.host_mut().disarm();
        let shown = || name.escape_debug().take(64).collect::<String>();
        let set = set.map_err(|left| self.stopped(left, limits, &format!("`{}` cannot be set", shown())))?;
        set.map_err(|why| Error::args_invalid(format!("`{}` cannot be set: {why}", shown())))
    }

    /// Begins a call that is no snippet.
    fn begin(&mut self, request: &Task, own: &OwnFiles) -> Result<Allowance> {
        let allowance = Allowance::run(Instant::now() + request.context.limits.wall);
        self.grant(request, own)?;
        if self.arm(request) {
            Ok(allowance)
        } else {
            Err(trap::held((self.memory(), self.image), request, own.is_kept()))
        }
    }

    /// The error of a call that is no snippet.
    fn stopped(&self, left: Left, limits: &Limits, what: &str) -> Error {
        match trap::left(left, self.entry.host(), limits) {
            Status::Stopped(error) => error,
            _ => Error::new(ErrorCode::GuestTrap, what),
        }
    }

    /// Bytes of its memories and tables.
    pub(crate) fn memory(&self) -> usize {
        self.entry.host().limiter.held()
    }

    /// What the guest has open of its own tree. A handle keeps what it stands for, whatever becomes of the instance.
    pub(crate) fn held(&mut self) -> Vec<Handle> {
        self.entry.host_mut().files().held()
    }

    /// Lets the guest, whose memory is about to be restored, open again what it had open. Must come before its first run.
    pub(crate) fn offer_files(&mut self, held: Vec<Handle>) {
        self.entry.host_mut().files.held.offer(held);
    }

    /// Whether its own files outlive it.
    pub(crate) fn keeps_files(&self) -> bool {
        self.entry.host().files.are_kept()
    }

    /// The own files that its runs have left, if any.
    pub(crate) fn left_files(&self) -> Option<LeftFiles> {
        self.entry.host().files.left()
    }

    /// Lets its own files begin as a copy of these. Must come before its first run.
    pub(crate) fn begin_with(&mut self, left: &LeftFiles) {
        self.entry.host_mut().files.begin_with(left);
    }

    /// From now on records what is looked at, or no longer; returns what was recorded.
    pub(crate) fn trace(&mut self, trace: Option<Trace>) -> Option<Trace> {
        std::mem::replace(&mut self.entry.host_mut().files.trace, trace)
    }

    /// Its state doors.
    pub(crate) fn doors<'a>(&'a mut self, indices: &'a DoorIndices) -> Doors<'a> {
        Doors::open(indices, &mut self.entry)
    }

    /// Whether something may be open in it. What has no grants has nothing open; asked to close it, it would take what it
    /// sees then, nothing, for all it will ever have.
    pub(crate) fn may_hold_files(&self) -> bool {
        self.granted
    }

    /// Sets the limits of the run that begins. False when the instance holds more memory than they allow.
    fn arm(&mut self, request: &Task) -> bool {
        let limits = &request.context.limits;
        self.stdin.begin(&request.context.grants.stdin);
        self.stdout.begin(limits.output, request.context.output.clone());
        self.stderr.begin(limits.output, request.context.output.clone());
        let (programs, compiler, used) = (self.programs.take(), self.compiler.take(), self.used.take());
        self.entry.set_fuel(limits.fuel.map(|fuel| fuel.saturating_sub(self.spent.fuel)));
        let host = self.entry.host_mut();
        host.files.arm(DiskLimits { bytes: limits.disk, files: u64::from(limits.files) });
        host.callbacks = request.context.callbacks.clone();
        host.net.begin(request.context.network.clone());
        host.calls = used.unwrap_or_default();
        (host.programs, host.compiler) = (programs, compiler);
        host.limiter.arm(usize::try_from(limits.memory).unwrap_or(usize::MAX))
    }

    /// Gives the run's callbacks the names that they have in the language, those that this instance does not have yet.
    /// Answers how the run ended, if it did.
    async fn bind(&mut self, request: &Task, allowance: &Allowance) -> Option<Status> {
        let (callbacks, language) = (&request.context.callbacks, request.guest.language());
        for (name, source) in language.into_iter().flat_map(|language| callbacks.bindings(language)) {
            if self.bound.contains(name) {
                continue;
            }
            match self.eval(request, source, allowance).await {
                stopped @ Status::Stopped(_) => return Some(stopped),
                Status::Returned(_) => {}
                // An interpreter that earlier snippets have changed beyond that. `call_tool` may still do.
                Status::Raised(_) | Status::Exited(_) => {
                    tracing::debug!(name, "a callback could not be bound")
                }
            }
            self.bound.insert(name.to_owned());
        }
        None
    }

    /// Takes the names away that the run's callbacks had for the run alone.
    async fn withdraw(&mut self, request: &Task) {
        let (callbacks, language) = (&request.context.callbacks, request.guest.language());
        for (name, source) in language.into_iter().flat_map(|language| callbacks.withdrawals(language)) {
            if self.is_whole() && self.bound.remove(name) {
                self.eval(request, source, &Allowance::run(Instant::now() + STATE_TIME)).await;
            }
        }
    }

    async fn eval(&mut self, request: &Task, source: &str, allowance: &Allowance) -> Status {
        let (options, bounds) = (&options(request), &request.context.bounds);
        let called = match self.waiting.clone() {
            Some(doors) => {
                self.see_through(allowance, Start { doors: &doors, source, options, bounds }).await
            }
            None => self.entry.call(allowance, Eval { source, options, bounds }).await,
        };
        self.came_to(called, request)
    }

    fn usage(&self, limits: &Limits, begin: Instant) -> Usage {
        let host = self.entry.host();
        Usage {
            wall: begin.elapsed(),
            memory_peak: self.spent.memory.max(host.limiter.peak() as u64),
            fuel: limits.fuel.map(|budget| budget.saturating_sub(self.entry.fuel())),
            disk_written: host.files.budget.written(),
        }
    }
}

fn options(request: &Task) -> contract::Options {
    let grants = &request.context.grants;
    contract::Options {
        name: request.name.clone(),
        bounds: contract_bounds(&request.context.bounds),
        refresh_environment: !grants.environment.is_empty()
            || !grants.arguments.is_empty()
            || grants.program.is_some(),
        directory: match (&grants.directory, &grants.project) {
            (Some(path), _) => Some(path.to_string()),
            (None, Some(_)) => Some(Project::TARGET.into()),
            (None, None) => None,
        },
        allow_eval: request.allow_eval,
    }
}
