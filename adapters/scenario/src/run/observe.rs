//! Who hears of a run while it is under way, such as a progress bar.

use dormouse_core::Error;

use crate::report::{GateRecord, Status, TurnRecord};

/// Something that happened. Scenarios follow one another; repetitions of one can be under way at the same time.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// The servers of scope `run` are open.
    Opened,
    /// The servers of a scope could not be opened.
    NotOpened {
        /// The scenario's name; none for scope `run`.
        scenario: Option<&'a str>,
        /// From 1; none for the scopes around it.
        repetition: Option<u32>,
        /// Why. Untrusted in parts: it may repeat what a server said.
        error: &'a Error,
    },
    /// A scenario begins.
    ScenarioStarted {
        /// Its name.
        scenario: &'a str,
        /// How often it is run.
        repetitions: u32,
    },
    /// A repetition begins: its servers are opened.
    RepetitionStarted {
        /// The scenario's name.
        scenario: &'a str,
        /// From 1.
        repetition: u32,
    },
    /// A turn begins.
    TurnStarted {
        /// The scenario's name.
        scenario: &'a str,
        /// From 1.
        repetition: u32,
        /// From 1.
        turn: usize,
    },
    /// A turn has ended.
    TurnFinished {
        /// The scenario's name.
        scenario: &'a str,
        /// From 1.
        repetition: u32,
        /// What is known of it. What failed is untrusted in parts.
        turn: &'a TurnRecord,
    },
    /// A tool is called.
    CallStarted {
        /// The scenario's name.
        scenario: &'a str,
        /// From 1.
        repetition: u32,
        /// The tool's name; a model may have made it up.
        tool: &'a str,
    },
    /// A tool says how far it is. Untrusted text.
    CallProgress {
        /// The scenario's name.
        scenario: &'a str,
        /// From 1.
        repetition: u32,
        /// What it says.
        message: &'a str,
    },
    /// A call has ended.
    CallFinished {
        /// The scenario's name.
        scenario: &'a str,
        /// From 1.
        repetition: u32,
        /// The tool's name.
        tool: &'a str,
        /// How long it took.
        latency_ms: f64,
        /// Whether there is an answer, and the tool does not call it an error.
        ok: bool,
    },
    /// A gate was looked at.
    GateFinished {
        /// The scenario's name.
        scenario: &'a str,
        /// From 1.
        repetition: u32,
        /// What is known of it. Its reason is untrusted in parts.
        gate: &'a GateRecord,
    },
    /// A repetition has ended, its servers are closed.
    RepetitionFinished {
        /// The scenario's name.
        scenario: &'a str,
        /// From 1.
        repetition: u32,
        /// How it ended.
        status: Status,
    },
    /// A scenario has ended, its servers are closed.
    ScenarioFinished {
        /// Its name.
        scenario: &'a str,
        /// How it ended.
        status: Status,
    },
    /// Something went wrong without being a failure.
    Warning {
        /// What.
        message: &'a str,
    },
}

/// Hears of a run. Called from the run's own tasks: it must not block.
pub trait Observer: Send + Sync {
    /// One thing that happened.
    fn event(&self, event: Event<'_>);
}

/// Hears nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {
    fn event(&self, _: Event<'_>) {}
}
