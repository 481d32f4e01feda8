//! The log: standard error only, and quiet. Without `DORMOUSE_LOG` a command shows our own warnings as notes.

use std::fmt::{self, Debug};
use std::io::{self, Write};
use std::sync::{Mutex, OnceLock, PoisonError};

use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::set_global_default;
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_appender::non_blocking::{NonBlocking, NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::EnvFilter;

use crate::print;

/// The variable that says what to log.
const VARIABLE: &str = "DORMOUSE_LOG";

/// What a server logs unless something else is said: what is wrong, and whether it is confined.
const USUAL: &str = "warn,dormouse::wall=info";

/// Lines that wait to be written at most.
const WAITING: usize = 1_024;

/// Where they wait, and who writes them. That one dropped, the rest has been written.
static QUEUE: OnceLock<NonBlocking> = OnceLock::new();
static WRITER: Mutex<Option<WorkerGuard>> = Mutex::new(None);

/// For a command that ends: what `DORMOUSE_LOG` says, else warnings as notes. Costs nothing until there is one.
pub(crate) fn start() {
    if std::env::var_os(VARIABLE).is_some() {
        full();
    } else {
        let _ = set_global_default(Notes);
    }
}

/// For a server: whole records; warnings, and one line about its confinement, unless `DORMOUSE_LOG` says otherwise.
pub(crate) fn full() {
    let chosen = EnvFilter::try_from_env(VARIABLE).unwrap_or_else(|_| EnvFilter::new(USUAL));
    // The protocol library writes whole requests, snippets included, and calls every cancelled request a failure.
    let filter = match "rmcp=error".parse() {
        Ok(quiet) => chosen.add_directive(quiet),
        Err(_) => chosen,
    };
    // Fails only when there is a subscriber already, which then serves.
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(Stderr::now)
        .with_ansi(false)
        .try_init();
}

/// From now on a thread of its own writes the log, and nobody waits for who reads it, or does not: past [`WAITING`] lines
/// further ones are dropped. Not before the second wall, which is made while there is one thread.
pub(crate) fn detach() {
    let builder = NonBlockingBuilder::default().buffered_lines_limit(WAITING).lossy(true);
    let (queue, guard) = builder.finish(io::stderr());
    if QUEUE.set(queue).is_ok() {
        *WRITER.lock().unwrap_or_else(PoisonError::into_inner) = Some(guard);
    }
}

/// Writes what waits to be written, for as long as a second.
pub(crate) fn end() {
    drop(WRITER.lock().unwrap_or_else(PoisonError::into_inner).take());
}

/// Standard error, by way of the queue once there is one.
enum Stderr {
    Direct(io::Stderr),
    Queued(NonBlocking),
}

impl Stderr {
    fn now() -> Self {
        QUEUE.get().map_or_else(|| Self::Direct(io::stderr()), |queue| Self::Queued(queue.clone()))
    }
}

impl Write for Stderr {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Direct(stream) => stream.write(bytes),
            Self::Queued(queue) => queue.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Direct(stream) => stream.flush(),
            Self::Queued(queue) => queue.flush(),
        }
    }
}

/// Shows warnings of our own rooms, one line each.
struct Notes;

impl Subscriber for Notes {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= Level::WARN && metadata.is_event() && metadata.target().starts_with("dormouse")
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(LevelFilter::WARN)
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut note = Note::default();
        event.record(&mut note);
        let fields = if note.fields.is_empty() { note.fields } else { format!(" ({})", note.fields) };
        let _ = print::note(&format!("{}{fields}", note.message));
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[derive(Default)]
struct Note {
    message: String,
    fields: String,
}

impl Visit for Note {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "message" {
            self.message = format!("{value:?}");
        } else {
            let separator = if self.fields.is_empty() { "" } else { ", " };
            let _ = fmt::Write::write_fmt(
                &mut self.fields,
                format_args!("{separator}{}: {value:?}", field.name()),
            );
        }
    }
}
