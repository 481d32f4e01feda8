//! TypeScript becomes JavaScript in a guest of its own (`guests/typescript`), as the first part of the run that it is for:
//! under that run's clock, memory and fuel. No parser of a snippet's text runs on the host.

use std::sync::Arc;
use std::time::Instant;

use dormouse_core::{
    Captured, Error, ErrorCode, Exception, GuestName, Limits, Outcome, Result, Status, Usage,
};
use wasmtime::component::Component;
use wasmtime::{Store, Trap};

use self::bindings::exports::dormouse::typescript::transpiler::Refusal;
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
        path: "../../guests/typescript/wit",
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

/// What became of a request.
pub(crate) enum Prepared {
    /// It can be given to an interpreter.
    Request(Box<Task>, Spent),
    /// The run is over: the source is no TypeScript, or a limit was reached.
    Ended(Box<Outcome>),
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
    pub(crate) async fn prepare(&self, mut request: Task, metering: Metering) -> Result<Prepared> {
        check_size(&request.code)?;
        let transpiler = self.get(metering).await?;
        let (status, usage) = transpiler.run(&request).await?;
        let status = match status {
            Ok(code) => {
                (request.code, request.guest) = (code, GuestName::javascript());
                let spent = Spent {
                    time: usage.wall,
                    fuel: usage.fuel.unwrap_or_default(),
                    memory: usage.memory_peak,
                };
                return Ok(Prepared::Request(Box::new(request), spent));
            }
            Err(status) => status,
        };
        Ok(Prepared::Ended(Box::new(Outcome {
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
        })))
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
    async fn run(&self, request: &Task) -> Result<(std::result::Result<String, Status>, Usage)> {
        let (begin, limits) = (Instant::now(), &request.context.limits);
        let started = Entry::start(self.slot.clone(), Host::idle(IMAGE_MEMORY), self).await;
        let mut entry = started.map_err(|left| loaded::not_started(left, &GuestName::typescript()))?;
        entry.set_fuel(limits.fuel);
        let done = if entry.host_mut().limiter.arm(usize::try_from(limits.memory).unwrap_or(usize::MAX)) {
            let allowance = Allowance::run(begin + limits.wall);
            match entry.call(&allowance, Transpile(&request.code)).await {
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
struct Transpile<'a>(&'a str);

impl Call<Exports> for Transpile<'_> {
    type Answer = std::result::Result<String, Refusal>;

    fn most(&self) -> usize {
        MAX_CODE
    }

    fn size(answer: &Self::Answer) -> usize {
        answer.as_ref().map_or_else(|refusal| refusal.message.len(), String::len)
    }

    async fn call(self, store: &mut Store<Host>, guest: &Exports) -> wasmtime::Result<Self::Answer> {
        guest.dormouse_typescript_transpiler().call_transpile(store, self.0).await
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
