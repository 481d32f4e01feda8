//! What people see of a run while it is under way: one line for what has ended, on standard error.

use dormouse_scenario::{Event, Observer, Status};

use crate::print;

/// Writes lines.
pub(super) struct Lines;

impl Observer for Lines {
    fn event(&self, event: Event<'_>) {
        let line = match event {
            Event::CallFinished { scenario, repetition, tool, latency_ms, ok } => {
                let word = if ok { "ok" } else { "error" };
                format!("{scenario} {repetition}: {tool} {word}, {latency_ms:.1} ms")
            }
            Event::GateFinished { scenario, repetition, kind, passed } => {
                let word = if passed { "holds" } else { "FAILS" };
                format!("{scenario} {repetition}: gate {kind} {word}")
            }
            Event::RepetitionFinished { scenario, repetition, status } => {
                let word = match status {
                    Status::Passed => "passed",
                    Status::Failed => "FAILED",
                    Status::Cancelled => "cancelled",
                    Status::Skipped => "skipped",
                };
                format!("{scenario} {repetition}: {word}")
            }
            Event::Warning { message } => format!("warning: {message}"),
            _ => return,
        };
        // Nobody may be looking.
        let _ = print::note(&line);
    }
}
