//! TypeScript becomes JavaScript in a guest of its own (`guests/typescript`): a snippet as the first part of the run that it is
//! for, a file when a run imports it ([`imported`]). Both are under that run's clock, memory and fuel. No parser of a snippet's
//! text runs on the host.

mod configuration;
mod imported;
mod shown;

use std::sync::{Arc, Mutex};
use std::time::Instant;

use dormouse_core::sandbox::Files;
use dormouse_core::{
    Captured, Error, ErrorCode, Exception, Grants, GuestName, Limits, Outcome, Project, Result, Status, Usage,
};
use wasmtime::component::Component;
use wasmtime::{Store, Trap};

use self::bindings::exports::dormouse::typescript::transpiler::{Options, Refusal};
use self::bindings::{Guest as Exports, GuestPre};
use self::configuration::{Chain, Found};
pub(crate) use self::imported::Compiler;
pub(crate) use self::shown::Sources;
use crate::engine::{EngineSlot, Metering};
use crate::entry::{Allowance, Call, Entry, Left, Start};
use crate::guest::Guest;
use crate::instance::Spent;
use crate::loaded::{self, IMAGE_MEMORY};
use crate::loader::Loader;
use crate::once::Once;
use crate::state::Host;
use crate::task::Task;
use crate::trap;

mod bindings {
    #![allow(
        missing_docs,
        unreachable_pub,
        reason = "generated from the guest's contract, where the documentation stands"
    )]

    wasmtime::component::bindgen!({
        path: "wit/typescript",
        world: "guest",
        exports: { default: async },
    });
}

/// Largest TypeScript source, in bytes.
const MAX_SOURCE: usize = 1 << 20;
/// Largest JavaScript that may come of one, and largest refusal, in bytes.
const MAX_CODE: usize = 8 << 20;
/// Characters of a refusal's message, and of the line that it shows.
const MAX_MESSAGE: usize = 1_000;
const MAX_EXCERPT: usize = 200;
/// The name that stands for a configuration whose extended ones are asked for.
const CONFIGURATION: &str = "tsconfig.json";
/// The names that stand for a program of which the calls of tools are asked for.
const CALLS_OF_JAVASCRIPT: &str = "calls of tools.js";
const CALLS_OF_TYPESCRIPT: &str = "calls of tools.ts";

/// What became of a request.
pub(crate) enum Prepared {
    /// It can be given to an interpreter, which knows only what was made of the source.
    Request { task: Box<Task>, spent: Spent, source: String },
    /// The run is over: the source is no TypeScript, or a limit was reached.
    Ended(Box<Outcome>),
}

/// Why there is no JavaScript.
pub(crate) enum Failed {
    /// The source is no TypeScript.
    Refused(Refusal),
    /// It was not compiled to its end.
    Ended(Status),
}

/// Whether a source may have what a configuration changes: decorators, JSX, fields.
fn is_configured(code: &str) -> bool {
    ["@", "</", "/>", "class"].iter().any(|sign| code.contains(sign))
}

/// The working directory of a run, if it has one.
fn directory(task: &Task) -> Option<&str> {
    let Grants { directory, project, .. } = &task.context.grants;
    directory.as_ref().map(|folder| folder.as_str()).or(project.is_some().then_some(Project::TARGET))
}

/// The TypeScript guest on one engine.
pub(crate) struct Transpiler {
    slot: Arc<EngineSlot>,
    guest: GuestPre<Host>,
}

/// The TypeScript guest on each engine that a request was for. Loaded on first use, once.
pub(crate) struct Transpilers {
    loader: Loader,
    loaded: Once<Metering, Transpiler>,
    /// Files of all runs.
    kept: Mutex<imported::Store>,
}

impl Transpilers {
    /// None is loaded yet.
    pub(crate) fn new(loader: &Loader) -> Arc<Self> {
        Arc::new(Self { loader: loader.clone(), loaded: Once::default(), kept: Mutex::default() })
    }

    /// The loaded guest.
    ///
    /// # Errors
    /// What keeps it from being loaded.
    pub(crate) async fn get(&self, metering: Metering) -> Result<Arc<Transpiler>> {
        let link = |_: &Guest, _: String, slot, component: &Component| Transpiler::link(slot, component);
        self.loaded.get(metering, self.loader.load(&GuestName::typescript(), metering, link)).await
    }

    /// Makes a request for an interpreter of a request in TypeScript; its configuration lies in what `reach` gives. Loading guests
    /// is not counted as the run's own time.
    ///
    /// # Errors
    /// `too_large` for a source past the bound; what keeps the guest from being loaded.
    pub(crate) async fn prepare<F: Files>(
        &self,
        mut request: Task,
        metering: Metering,
        reach: impl FnOnce(&Task) -> F,
    ) -> Result<Prepared> {
        check_size(&request.code)?;
        let transpiler = self.get(metering).await?;
        let (begin, limits) = (Instant::now(), request.context.limits.clone());
        let mut work = Work::new(transpiler, &limits, Allowance::run(begin + limits.wall));
        let mut configuration = None;
        if is_configured(&request.code)
            && let Some(folder) = directory(&request)
        {
            configuration = work.configuration(&mut reach(&request), folder).await?;
        }
        let made = work.run(&request.code, &request.name, configuration).await?;
        let spent = Spent { time: begin.elapsed(), ..work.spent };
        let status = match made {
            Ok(code) => {
                let source = std::mem::replace(&mut request.code, code);
                request.guest = GuestName::javascript();
                return Ok(Prepared::Request { task: Box::new(request), spent, source });
            }
            Err(Failed::Refused(refusal)) => Status::Raised(exception(&request, &refusal)),
            Err(Failed::Ended(status)) => status,
        };
        let usage = Usage {
            wall: spent.time,
            memory_peak: spent.memory,
            fuel: limits.fuel.map(|_| spent.fuel),
            ..Usage::default()
        };
        Ok(Prepared::Ended(Box::new(ended(status, usage))))
    }

    /// The calls of tools that a program's text shows, in JSON; empty if they cannot be found.
    pub(crate) async fn calls(
        &self,
        (source, is_typescript): (&str, bool),
        metering: Metering,
        limits: &Limits,
    ) -> String {
        let name = if is_typescript { CALLS_OF_TYPESCRIPT } else { CALLS_OF_JAVASCRIPT };
        let read = async {
            let mut work =
                Work::new(self.get(metering).await?, limits, Allowance::run(Instant::now() + limits.wall));
            work.run(source, name, None).await
        };
        match read.await {
            Ok(Ok(calls)) => calls,
            Ok(Err(_)) => String::new(),
            Err(error) => {
                tracing::warn!(%error, "the calls of a program cannot be looked for");
                String::new()
            }
        }
    }
}

/// The outcome of a run that came to no interpreter.
pub(crate) fn ended(status: Status, usage: Usage) -> Outcome {
    Outcome {
        status,
        stdout: Captured::default(),
        stderr: Captured::default(),
        usage,
        provider: crate::PROVIDER,
        fallback_from: None,
        recovery: None,
        warning: None,
        closed_files: Vec::new(),
        recovery_reason: None,
        network: None,
    }
}

fn check_size(source: &str) -> Result<()> {
    if source.len() <= MAX_SOURCE {
        return Ok(());
    }
    Err(Error::new(
        ErrorCode::TooLarge,
        format!("the source has {} bytes, at most {MAX_SOURCE} of TypeScript are taken", source.len()),
    )
    .with_hint("compile large programs to JavaScript first"))
}

impl Transpiler {
    /// The guest, linked with the host.
    ///
    /// # Errors
    /// `bad_component` when the component is another.
    pub(crate) fn link(slot: Arc<EngineSlot>, component: &Component) -> Result<Self> {
        let guest = slot.linker.instantiate_pre(component).and_then(GuestPre::new).map_err(|error| {
            Error::new(ErrorCode::BadComponent, format!("the typescript guest does not link: {error:#}"))
        })?;
        Ok(Self { slot, guest })
    }
}

/// What is compiled for one run: each source in an instance of its own, all within what the run may take.
struct Work<'a> {
    transpiler: Arc<Transpiler>,
    limits: &'a Limits,
    allowance: Allowance,
    /// What it has come to; its time is the caller's to tell.
    spent: Spent,
}

impl<'a> Work<'a> {
    fn new(transpiler: Arc<Transpiler>, limits: &'a Limits, allowance: Allowance) -> Self {
        Self { transpiler, limits, allowance, spent: Spent::default() }
    }

    /// Makes JavaScript of a source.
    async fn run(
        &mut self,
        source: &str,
        name: &str,
        configuration: Option<String>,
    ) -> Result<std::result::Result<String, Failed>> {
        let (slot, limits) = (self.transpiler.slot.clone(), self.limits);
        let started = Entry::start(slot, Host::idle(IMAGE_MEMORY), &*self.transpiler).await;
        let mut entry = started.map_err(|left| loaded::not_started(left, &GuestName::typescript()))?;
        let fuel = limits.fuel.map(|budget| budget.saturating_sub(self.spent.fuel));
        entry.set_fuel(fuel);
        let done = if entry.host_mut().limiter.arm(usize::try_from(limits.memory).unwrap_or(usize::MAX)) {
            let options = Options { name: name.to_owned(), configuration };
            match entry.call(&self.allowance, Transpile(source, options)).await {
                Ok(Ok(code)) => Ok(code),
                Ok(Err(refusal)) => Err(Failed::Refused(refusal)),
                Err(left) => Err(Failed::Ended(status(left, entry.host(), limits))),
            }
        } else {
            Err(Failed::Ended(Status::Stopped(trap::memory(limits))))
        };
        self.spent.memory = self.spent.memory.max(entry.host().limiter.peak() as u64);
        self.spent.fuel += fuel.map_or(0, |budget| budget.saturating_sub(entry.fuel()));
        Ok(done)
    }

    /// The `tsconfig.json` of a folder or the nearest above it, with those that it extends, in the form that the guest reads.
    async fn configuration(&mut self, files: &mut impl Files, folder: &str) -> Result<Option<String>> {
        let Some(first) = Chain::begin(files, folder).await else { return Ok(None) };
        let mut chain = Chain::default();
        let mut next = vec![first];
        while let Some(found) = next.pop() {
            let names = self.extended(&found).await?;
            // What is named last counts most.
            for name in names.lines().take(configuration::MAX_NAMES) {
                next.extend(found.extended(files, name).await);
            }
            if !chain.take(found) {
                break;
            }
        }
        Ok(Some(chain.text()))
    }

    /// The names of the files that one extends, one a line.
    async fn extended(&mut self, found: &Found) -> Result<String> {
        if !found.text.contains("extends") {
            return Ok(String::new());
        }
        // What is wrong with it is said when it is used.
        Ok(self.run(&found.text, CONFIGURATION, None).await?.unwrap_or_default())
    }
}

impl Start<Exports> for &Transpiler {
    async fn start(self, store: &mut Store<Host>) -> wasmtime::Result<Exports> {
        self.guest.instantiate_async(store).await
    }
}

/// Makes JavaScript of a source.
struct Transpile<'a>(&'a str, Options);

impl Call<Exports> for Transpile<'_> {
    type Answer = std::result::Result<String, Refusal>;

    fn most(&self) -> usize {
        MAX_CODE
    }

    fn size(answer: &Self::Answer) -> usize {
        answer.as_ref().map_or_else(|refusal| refusal.message.len(), String::len)
    }

    async fn call(self, store: &mut Store<Host>, guest: &Exports) -> wasmtime::Result<Self::Answer> {
        guest.dormouse_typescript_transpiler().call_transpile(store, self.0, &self.1).await
    }
}

/// How a run ends whose source was not transpiled. The guest recurses with the nesting of the source, on two stacks, and
/// touches nothing that it does not own: past its memory lies the end of the second.
fn status(left: Left, host: &Host, limits: &Limits) -> Status {
    let trap = match &left {
        Left::Failed(error) => error.downcast_ref::<Trap>(),
        _ => None,
    };
    match trap {
        Some(Trap::StackOverflow | Trap::MemoryOutOfBounds) => Status::Stopped(
            Error::new(ErrorCode::LimitStack, "the TypeScript source nests too deeply to be parsed")
                .with_hint(
                    "split long expressions and deep nestings, or compile the source to JavaScript first",
                ),
        ),
        // The compiler's own word for what it did not expect; a refusal of memory has the same end.
        Some(Trap::UnreachableCodeReached) if host.limiter.refused().is_none() => Status::Stopped(
            Error::new(ErrorCode::GuestTrap, "the TypeScript compiler failed on this source")
                .with_hint("leave out what is unusual in it, or compile the source to JavaScript first"),
        ),
        _ => trap::left(left, host, limits),
    }
}

fn cut(text: &str, most: usize) -> String {
    text.chars().take(most).collect()
}

fn exception(request: &Task, refusal: &Refusal) -> Exception {
    let line = refusal.place.as_ref().and_then(|place| {
        let before = usize::try_from(place.line.checked_sub(1)?).ok()?;
        request.code.lines().nth(before)
    });
    Exception {
        class: "SyntaxError".into(),
        message: cut(&refusal.message, MAX_MESSAGE),
        code: None,
        file: Some(request.name.clone()),
        line: refusal.place.as_ref().map(|place| place.line),
        column: refusal.place.as_ref().map(|place| place.column),
        stack_trace: Vec::new(),
        excerpt: line.map(|line| cut(line, MAX_EXCERPT)),
        traceback: None,
        hint: None,
        previous: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_past_the_bound_is_refused() {
        assert!(check_size(&" ".repeat(MAX_SOURCE)).is_ok());
        let refused = check_size(&" ".repeat(MAX_SOURCE + 1));
        assert_eq!(refused.err().map(|error| error.code()), Some(ErrorCode::TooLarge));
    }

    #[test]
    fn what_a_guest_says_of_a_source_is_bounded_and_its_place_need_not_exist() {
        let request = Task::new(GuestName::typescript(), "a\nbc");
        let say = |line, column| Refusal {
            message: "x".repeat(10_000),
            place: Some(bindings::exports::dormouse::typescript::transpiler::Place { line, column }),
        };
        let there = exception(&request, &say(2, 1));
        assert_eq!((there.excerpt.as_deref(), there.message.len()), (Some("bc"), MAX_MESSAGE));
        for line in [0, 3, u32::MAX] {
            assert_eq!(exception(&request, &say(line, 0)).excerpt, None);
        }
    }
}
