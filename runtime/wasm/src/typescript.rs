//! TypeScript becomes JavaScript in a guest of its own (`guests/typescript`), as the first part of the run that it is for:
//! under that run's clock, memory and fuel. No parser of a snippet's text runs on the host.

use std::sync::Arc;
use std::time::Instant;

use dormouse_core::sandbox::Files;
use dormouse_core::{
    Captured, Error, ErrorCode, Exception, Grants, GuestName, GuestPath, Limits, Outcome, Project, Result,
    Status, Usage,
};
use wasmtime::component::Component;
use wasmtime::{Store, Trap};

use self::bindings::exports::dormouse::typescript::transpiler::{Options, Refusal};
use self::bindings::{Guest as Exports, GuestPre};
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
/// What the source is written for is told in this file of the working directory, and its most bytes.
const CONFIGURATION: &str = "tsconfig.json";
const MAX_CONFIGURATION: u64 = 64 << 10;

/// What became of a request.
pub(crate) enum Prepared {
    /// It can be given to an interpreter.
    Request(Box<Task>, Spent, Source),
    /// The run is over: the source is no TypeScript, or a limit was reached.
    Ended(Box<Outcome>),
}

/// The source of a run whose interpreter knows only what was made of it.
pub(crate) struct Source(String);

impl Source {
    /// Lets an exception show the line of the source, and not what `code` has in its place. A line that an earlier snippet has
    /// raised in is another.
    pub(crate) fn show(&self, code: &str, outcome: &mut Outcome) {
        let Status::Raised(exception) = &mut outcome.status else { return };
        let (Some(line), Some(excerpt)) = (exception.line, &exception.excerpt) else { return };
        let Some(before) = usize::try_from(line).ok().and_then(|line| line.checked_sub(1)) else { return };
        let line_of = |text: &'_ str| text.split('\n').nth(before).map(str::to_owned);
        if line_of(code).is_some_and(|made| made.starts_with(excerpt.as_str())) {
            let line = line_of(&self.0);
            exception.excerpt = line.map(|line| line.trim_end().chars().take(MAX_EXCERPT).collect());
        }
    }
}

/// Whether a source may have what a configuration changes: decorators or JSX.
pub(crate) fn is_configured(task: &Task) -> bool {
    ["@", "</", "/>"].iter().any(|sign| task.code.contains(sign))
}

/// The text of the `tsconfig.json` in the working directory, if one can be read.
pub(crate) async fn configuration(files: &mut impl Files, task: &Task) -> Option<String> {
    let Grants { directory, project, .. } = &task.context.grants;
    let folder = match (directory, project) {
        (Some(folder), _) => folder.as_str().trim_end_matches('/'),
        (None, Some(_)) => Project::TARGET,
        (None, None) => return None,
    };
    let path = GuestPath::parse(&format!("{folder}/{CONFIGURATION}")).ok()?;
    let read = files.read(&path, 0, MAX_CONFIGURATION).await.ok()?;
    String::from_utf8(read.bytes).ok()
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
}

impl Transpilers {
    /// None is loaded yet.
    pub(crate) fn new(loader: &Loader) -> Arc<Self> {
        Arc::new(Self { loader: loader.clone(), loaded: Once::default() })
    }

    /// The loaded guest.
    ///
    /// # Errors
    /// What keeps it from being loaded.
    pub(crate) async fn get(&self, metering: Metering) -> Result<Arc<Transpiler>> {
        let link = |_: &Guest, _: String, slot, component: &Component| Transpiler::link(slot, component);
        self.loaded.get(metering, self.loader.load(&GuestName::typescript(), metering, link)).await
    }

    /// Makes a request for an interpreter of a request in TypeScript. Loading guests is not counted as the run's own time.
    ///
    /// # Errors
    /// `too_large` for a source past the bound; what keeps the guest from being loaded.
    pub(crate) async fn prepare(
        &self,
        mut request: Task,
        metering: Metering,
        configuration: Option<String>,
    ) -> Result<Prepared> {
        check_size(&request.code)?;
        let transpiler = self.get(metering).await?;
        let (status, usage) = transpiler.run(&request, configuration).await?;
        let status = match status {
            Ok(code) => {
                let source = Source(std::mem::replace(&mut request.code, code));
                request.guest = GuestName::javascript();
                let spent = Spent {
                    time: usage.wall,
                    fuel: usage.fuel.unwrap_or_default(),
                    memory: usage.memory_peak,
                };
                return Ok(Prepared::Request(Box::new(request), spent, source));
            }
            Err(status) => status,
        };
        Ok(Prepared::Ended(Box::new(ended(status, usage))))
    }
}

/// The outcome of a run that came to no interpreter.
fn ended(status: Status, usage: Usage) -> Outcome {
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
    }
}

fn check_size(code: &str) -> Result<()> {
    if code.len() <= MAX_SOURCE {
        return Ok(());
    }
    Err(Error::new(
        ErrorCode::TooLarge,
        format!("the source has {} bytes, at most {MAX_SOURCE} of TypeScript are taken", code.len()),
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

    /// Transpiles the code of a request in an instance that ends with this call. What did not become code tells how the run
    /// ends.
    async fn run(
        &self,
        request: &Task,
        configuration: Option<String>,
    ) -> Result<(std::result::Result<String, Status>, Usage)> {
        let (begin, limits) = (Instant::now(), &request.context.limits);
        let started = Entry::start(self.slot.clone(), Host::idle(IMAGE_MEMORY), self).await;
        let mut entry = started.map_err(|left| loaded::not_started(left, &GuestName::typescript()))?;
        entry.set_fuel(limits.fuel);
        let done = if entry.host_mut().limiter.arm(usize::try_from(limits.memory).unwrap_or(usize::MAX)) {
            let allowance = Allowance::run(begin + limits.wall);
            let options = Options { name: request.name.clone(), configuration };
            match entry.call(&allowance, Transpile(&request.code, options)).await {
                Ok(Ok(code)) => Ok(code),
                Ok(Err(refusal)) => Err(Status::Raised(exception(request, &refusal))),
                Err(left) => Err(status(left, entry.host(), limits)),
            }
        } else {
            Err(Status::Stopped(trap::memory(limits)))
        };
        let usage = Usage {
            wall: begin.elapsed(),
            memory_peak: entry.host().limiter.peak() as u64,
            fuel: limits.fuel.map(|budget| budget.saturating_sub(entry.fuel())),
            ..Usage::default()
        };
        Ok((done, usage))
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

fn exception(request: &Task, refusal: &Refusal) -> Exception {
    let cut = |text: &str, most: usize| text.chars().take(most).collect::<String>();
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
    fn an_exception_shows_the_line_of_the_source() {
        let (source, made) = (Source("a\nconst b: number = c".into()), "a\nconst b         = c");
        let excerpt_of = |line, excerpt: &str| {
            let exception = Exception {
                line: Some(line),
                excerpt: Some(excerpt.into()),
                ..exception(
                    &Task::new(GuestName::typescript(), ""),
                    &Refusal { message: String::new(), place: None },
                )
            };
            let mut outcome = ended(Status::Raised(exception), Usage::default());
            source.show(made, &mut outcome);
            match outcome.status {
                Status::Raised(exception) => exception.excerpt,
                _ => None,
            }
        };
        assert_eq!(excerpt_of(2, "const b         = c").as_deref(), Some("const b: number = c"));
        // Of an earlier snippet; without a line.
        assert_eq!(excerpt_of(2, "const d = c").as_deref(), Some("const d = c"));
        assert_eq!(excerpt_of(0, "a").as_deref(), Some("a"));
        assert_eq!(excerpt_of(u32::MAX, "a").as_deref(), Some("a"));
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
