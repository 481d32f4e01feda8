//! The log: standard error only, and quiet. Without `DORMOUSE_LOG` a command shows our own warnings as notes.

use std::fmt::{Debug, Write as _};

use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::set_global_default;
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::EnvFilter;

use crate::print;

/// The variable that says what to log.
const VARIABLE: &str = "DORMOUSE_LOG";

/// What a server logs unless something else is said: what is wrong, and whether it is confined.
const USUAL: &str = "warn,dormouse::wall=info";

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
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .try_init();
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
            let _ = write!(self.fields, "{separator}{}: {value:?}", field.name());
        }
    }
}
