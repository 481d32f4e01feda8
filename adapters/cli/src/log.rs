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

/// Shows warnings of our own crates, one line each.
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
        let _ = print::note(&Note::of(event));
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// An event in words: `message (sandbox sb-…): why`.
#[derive(Default)]
struct Note {
    message: String,
    fields: String,
    why: String,
}

impl Note {
    fn of(event: &Event<'_>) -> String {
        let mut note = Self::default();
        event.record(&mut note);
        let Self { message, fields, why } = note;
        let fields = if fields.is_empty() { fields } else { format!(" ({fields})") };
        format!("{message}{fields}{why}")
    }

    fn add(&mut self, field: &Field, value: fmt::Arguments<'_>) {
        let written = match field.name() {
            "message" => fmt::Write::write_fmt(&mut self.message, value),
            "error" | "why" => fmt::Write::write_fmt(&mut self.why, format_args!(": {value}")),
            name => {
                let separator = if self.fields.is_empty() { "" } else { ", " };
                fmt::Write::write_fmt(&mut self.fields, format_args!("{separator}{name} {value}"))
            }
        };
        // Text can always be written into a text.
        let _ = written;
    }
}

impl Visit for Note {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.add(field, format_args!("{value}"));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.add(field, format_args!("{value:?}"));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    /// Keeps what notes say.
    #[derive(Clone, Default)]
    struct Heard(Arc<Mutex<Vec<String>>>);

    impl Subscriber for Heard {
        fn enabled(&self, _: &Metadata<'_>) -> bool {
            true
        }

        fn new_span(&self, _: &Attributes<'_>) -> Id {
            Id::from_u64(1)
        }

        fn record(&self, _: &Id, _: &Record<'_>) {}

        fn record_follows_from(&self, _: &Id, _: &Id) {}

        fn event(&self, event: &Event<'_>) {
            self.0.lock().unwrap().push(Note::of(event));
        }

        fn enter(&self, _: &Id) {}

        fn exit(&self, _: &Id) {}
    }

    #[test]
    fn a_note_is_words_and_not_fields() {
        let heard = Heard::default();
        tracing::subscriber::with_default(heard.clone(), || {
            let error = "the engine does not answer";
            tracing::warn!(%error, "`csplit` was not run in a container");
            tracing::warn!(server = "docs", %error, sandbox = %"sb-1", "not closed");
            tracing::warn!("nothing else");
        });
        let expected = [
            "`csplit` was not run in a container: the engine does not answer",
            "not closed (server docs, sandbox sb-1): the engine does not answer",
            "nothing else",
        ];
        assert_eq!(*heard.0.lock().unwrap(), expected);
    }
}
