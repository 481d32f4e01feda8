//! One live interpreter: a store and its exports. Gets its run's grants, runs, is thrown away.

use std::collections::BTreeSet;
use std::time::Instant;

use dormouse_core::{
    Bounds, Error, ErrorCode, EvalRequest, Exception, Limits, Outcome, Project, Result, Status, Stream,
    Usage, Value,
};
use dormouse_files::Tree;
use wasmtime::{Store, UpdateDeadline};

use crate::bindings::Guest;
use crate::bindings::exports::dormouse::sandbox::interpreter as contract;
use crate::disk::{DiskLimits, OwnFiles, OwnTree, Trace};
use crate::engine::Metering;
use crate::programs::Programs;
use crate::state::Host;
use crate::stdio::{Input, Output};
use crate::{grants, trap};

/// Bytes that a guest may hand to the host in one call. A value's JSON and a tool's arguments fit many times over.
const HOSTCALL_FUEL: usize = 32 << 20;
/// Component handles that a store may hold at one time.
const MAX_HANDLES: usize = 10_000;

/// A live instance.
pub(crate) struct Instance {
    store: Store<Host>,
    guest: Guest,
    raw: wasmtime::component::Instance,
    stdin: Input,
    stdout: Output,
    stderr: Output,
    /// Whether it has its grants: those of its first run.
    granted: bool,
    /// Whether a call of it was cut off: nothing may enter it again.
    ended: bool,
    /// Callbacks that have their names in the language.
    bound: BTreeSet<String>,
}

impl Instance {
    /// Sets what holds for a store's whole life.
    pub(crate) fn configure(store: &mut Store<Host>, metering: Metering) {
        store.limiter(|host| &mut host.limiter);
        store.set_hostcall_fuel(HOSTCALL_FUEL);
        store.set_max_component_handles(MAX_HANDLES);
        store.set_epoch_deadline(1);
        store.epoch_deadline_callback(|context| {
            let host = context.data();
            Ok(if host.pauses.is_past(host.deadline) {
                UpdateDeadline::Interrupt
            } else {
                UpdateDeadline::Yield(1)
            })
        });
        if metering == Metering::Fuel {
            // Instantiation runs no guest code; the run's own budget is set when it begins.
            let _ = store.set_fuel(u64::MAX);
        }
    }

    pub(crate) fn new(store: Store<Host>, guest: Guest, raw: wasmtime::component::Instance) -> Self {
        let (stdout, stderr) = (Output::new(Stream::Stdout), Output::new(Stream::Stderr));
        let stdin = Input::default();
        Self {
            store,
            guest,
            raw,
            stdin,
            stdout,
            stderr,
            granted: false,
            ended: false,
            bound: BTreeSet::new(),
        }
    }

    /// Runs one snippet to its outcome. Of the grants, those of the first run hold for the instance's life; standard
    /// input, limits, callbacks and sinks are each run's own.
    ///
    /// # Errors
    /// Only what a grant names and the host does not have.
    pub(crate) async fn run(
        &mut self,
        request: &EvalRequest,
        begin: Instant,
        own: &OwnFiles,
    ) -> Result<Outcome> {
        self.grant(request, own)?;
        let status = if self.arm(request, begin) {
            match self.bind(request, begin).await {
                Some(stopped) => stopped,
                None => self.eval(request, &request.code, begin).await,
            }
        } else {
            Status::Stopped(trap::held(self.memory(), &request.limits, own.is_kept()))
        };
        Ok(self.outcome(status, &request.limits, begin))
    }

    fn outcome(&self, status: Status, limits: &Limits, begin: Instant) -> Outcome {
        Outcome {
            status,
            stdout: self.stdout.captured(),
            stderr: self.stderr.captured(),
            usage: self.usage(limits, begin),
            provider: crate::PROVIDER,
            fallback_from: None,
            recovery: None,
        }
    }

    /// What the last run's streams kept, in bytes. They are empty afterwards.
    pub(crate) fn streams(&self) -> [Vec<u8>; 2] {
        [self.stdout.take(), self.stderr.take()]
    }

    /// What the next runs can start; none: nothing.
    pub(crate) fn offer(&mut self, programs: Option<Programs>) {
        self.store.data_mut().programs = programs;
    }

    /// Gives an instance that has none its grants and its files; they hold for its life.
    ///
    /// # Errors
    /// Only what a grant names and the host does not have.
    pub(crate) fn grant(&mut self, request: &EvalRequest, own: &OwnFiles) -> Result<()> {
        if !self.granted {
            let host = self.store.data_mut();
            let streams = (&self.stdout, &self.stderr);
            host.wasi =
                grants::context(&request.grants, &request.name, &self.stdin, streams, own.missing_mounts())?;
            host.files.tree.get_or_insert_with(|| OwnTree::new(own, request.grants.clock));
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
        request: &EvalRequest,
        name: &str,
        query: Option<&str>,
        own: &OwnFiles,
    ) -> Result<Outcome> {
        let begin = Instant::now();
        self.grant(request, own)?;
        let status = if self.arm(request, begin) {
            let options = options(request);
            let interpreter = self.guest.dormouse_sandbox_interpreter();
            let pauses = self.store.data().pauses.clone();
            let call = interpreter.call_get(&mut self.store, name, query, &options);
            let called = pauses.until(begin + request.limits.wall, call).await;
            self.came_to(called, &request.limits)
        } else {
            Status::Stopped(trap::held(self.memory(), &request.limits, own.is_kept()))
        };
        Ok(self.outcome(status, &request.limits, begin))
    }

    /// What a call came to; none: its time was over.
    fn came_to(&mut self, called: Option<wasmtime::Result<contract::Outcome>>, limits: &Limits) -> Status {
        self.ended = !matches!(called, Some(Ok(_)));
        match called {
            None => Status::Stopped(trap::time(limits)),
            Some(Err(error)) => trap::status(error, self.store.data(), limits),
            Some(Ok(outcome)) => status(outcome),
        }
    }

    /// Whether it has its grants, those of its first run.
    pub(crate) fn is_granted(&self) -> bool {
        self.granted
    }

    /// Whether it can be called again: no call of it was cut off by a limit, a crash or the end of its program.
    pub(crate) fn is_whole(&self) -> bool {
        !self.ended
    }

    /// The globals as the guest lists them, in JSON.
    ///
    /// # Errors
    /// `limit_time`, `guest_trap`: what ended it.
    pub(crate) async fn variables(&mut self, bounds: &Bounds, limits: &Limits) -> Result<String> {
        self.store.data_mut().run_until(Instant::now() + limits.wall);
        self.store.data_mut().limiter.hold_to(limits);
        let interpreter = self.guest.dormouse_sandbox_interpreter();
        let listed = interpreter.call_vars(&mut self.store, self::bounds(bounds)).await;
        self.ended = listed.is_err();
        listed.map_err(|error| match trap::status(error, self.store.data(), limits) {
            Status::Stopped(error) => error,
            _ => Error::new(ErrorCode::GuestTrap, "the variables cannot be listed"),
        })
    }

    /// Bytes of its memories and tables.
    pub(crate) fn memory(&self) -> usize {
        self.store.data().limiter.held()
    }

    /// Files that the guest has open.
    pub(crate) fn open_files(&self) -> usize {
        self.store.data().files.open_files()
    }

    /// The own files that its runs have left, if any.
    pub(crate) fn left_files(&self) -> Option<Tree> {
        self.store.data().files.tree.as_ref().and_then(OwnTree::left)
    }

    /// Lets its own files begin as a copy of `tree`. Must come before its first run.
    pub(crate) fn begin_with(&mut self, tree: Tree) {
        self.store.data_mut().files.tree = Some(OwnTree::copy_of(tree));
    }

    /// From now on records what is looked at, or no longer; returns what was recorded.
    pub(crate) fn trace(&mut self, trace: Option<Trace>) -> Option<Trace> {
        std::mem::replace(&mut self.store.data_mut().files.trace, trace)
    }

    /// Binds a global to the value of JSON text, within the limits of the next run.
    ///
    /// # Errors
    /// `args_invalid` with what the guest says against it; `limit_time`, `limit_memory`, `guest_trap`: what ended it.
    pub(crate) async fn set(&mut self, name: &str, json: &str, limits: &Limits) -> Result<()> {
        self.store.data_mut().run_until(Instant::now() + limits.wall);
        self.store.data_mut().limiter.hold_to(limits);
        let interpreter = self.guest.dormouse_sandbox_interpreter();
        let set = interpreter.call_set(&mut self.store, name, json).await;
        self.ended = set.is_err();
        let shown = || name.escape_debug().take(64).collect::<String>();
        match set {
            Ok(Ok(())) => Ok(()),
            Ok(Err(why)) => Err(Error::args_invalid(format!("`{}` cannot be set: {why}", shown()))),
            Err(error) => Err(match trap::status(error, self.store.data(), limits) {
                Status::Stopped(error) => error,
                _ => Error::new(ErrorCode::GuestTrap, format!("`{}` cannot be set", shown())),
            }),
        }
    }

    /// Sets the limits of the run that begins. False when the instance holds more memory than they allow.
    fn arm(&mut self, request: &EvalRequest, begin: Instant) -> bool {
        let limits = &request.limits;
        self.stdin.begin(&request.grants.stdin);
        self.stdout.begin(limits.output, request.output.clone());
        self.stderr.begin(limits.output, request.output.clone());
        let host = self.store.data_mut();
        host.files.arm(DiskLimits { bytes: limits.disk, files: u64::from(limits.files) });
        host.run_until(begin + limits.wall);
        host.callbacks = request.callbacks.clone();
        host.calls = 0;
        let fits = host.limiter.arm(usize::try_from(limits.memory).unwrap_or(usize::MAX));
        if let Some(fuel) = limits.fuel {
            let _ = self.store.set_fuel(fuel);
        }
        self.store.set_epoch_deadline(1);
        fits
    }

    /// Gives the run's callbacks the names that they have in the language, those that this instance does not have yet.
    /// Answers how the run ended, if it did.
    async fn bind(&mut self, request: &EvalRequest, begin: Instant) -> Option<Status> {
        for (name, source) in request.callbacks.bindings(&request.language) {
            if self.bound.contains(name) {
                continue;
            }
            match self.eval(request, source, begin).await {
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

    async fn eval(&mut self, request: &EvalRequest, code: &str, begin: Instant) -> Status {
        let options = options(request);
        let pauses = self.store.data().pauses.clone();
        let call = self.guest.dormouse_sandbox_interpreter().call_eval(&mut self.store, code, &options);
        // The epoch ends what computes; this timer ends what waits in a host call.
        let called = pauses.until(begin + request.limits.wall, call).await;
        self.came_to(called, &request.limits)
    }

    fn usage(&self, limits: &Limits, begin: Instant) -> Usage {
        let host = self.store.data();
        Usage {
            wall: begin.elapsed(),
            memory_peak: host.limiter.peak() as u64,
            fuel: limits.fuel.map(|budget| budget.saturating_sub(self.store.get_fuel().unwrap_or(0))),
            disk_written: host.files.budget.written(),
        }
    }
}

/// The store and the raw instance, for the state doors.
impl Instance {
    pub(crate) fn parts(&mut self) -> (&mut Store<Host>, &wasmtime::component::Instance) {
        (&mut self.store, &self.raw)
    }
}

fn options(request: &EvalRequest) -> contract::Options {
    let grants = &request.grants;
    contract::Options {
        name: request.name.clone(),
        bounds: bounds(&request.bounds),
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

fn bounds(bounds: &Bounds) -> contract::Bounds {
    let Bounds { depth, items, string_bytes, total_bytes, frames, offset } = *bounds;
    contract::Bounds { depth, items, string_bytes, total_bytes, frames, offset }
}

/// The guest's answer. A guest that answers in another form than the contract's is broken, and said to be.
fn status(outcome: contract::Outcome) -> Status {
    let read = match outcome {
        contract::Outcome::Returned(json) => Value::from_guest(&json).map(Status::Returned),
        contract::Outcome::Raised(json) => Exception::from_guest(&json).map(Status::Raised),
        contract::Outcome::Exited(code) => Ok(Status::Exited(code)),
    };
    read.unwrap_or_else(Status::Stopped)
}
