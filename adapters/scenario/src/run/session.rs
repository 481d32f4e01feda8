//! One repetition: its scope is opened, its turns are played, its gates are looked at, its scope is closed.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use dormouse_core::{Error, ErrorCode};
use dormouse_sources::{Connection, OpenScope, Progress, Scope, Tools};
use serde_saphyr::Spanned;

use super::arena::Arena;
use super::observe::{Event, Observer};
use super::{gate, script, since, talk};
use crate::config::{Scenario, Turn};
use crate::model::Conversation;
use crate::report::{GateRecord, Problem, RepetitionRecord, Status, TurnRecord};

/// Names of tools that a report lists.
const MAX_TOOLS: usize = 1_000;

/// One repetition, before its scope is open.
pub(super) struct Repetition<'a> {
    arena: &'a Arena<'a>,
    scenario: &'a Scenario,
    number: u32,
}

/// One repetition while its scope is open.
pub(super) struct Session<'a> {
    pub(super) arena: &'a Arena<'a>,
    pub(super) scenario: &'a Scenario,
    pub(super) number: u32,
    /// The tools that turns may call.
    pub(super) tools: Tools,
    /// The tools that gates may call: all.
    pub(super) all: Tools,
    /// The scenario's variables, and what calls have kept.
    pub(super) variables: BTreeMap<String, String>,
    pub(super) conversation: Option<Conversation>,
    pub(super) start: Instant,
    /// When the turns must be over.
    pub(super) deadline: Instant,
}

impl<'a> Repetition<'a> {
    pub(super) fn new(arena: &'a Arena<'a>, scenario: &'a Scenario, number: u32) -> Self {
        Self { arena, scenario, number }
    }

    pub(super) async fn run(self, outer: &OpenScope, connections: &[Vec<Connection>; 2]) -> RepetitionRecord {
        let Self { arena, scenario, number } = self;
        let (start, observer) = (Instant::now(), &arena.options.observer);
        let name = scenario.id.as_str();
        observer.event(Event::RepetitionStarted { scenario: name, repetition: number });
        let mut record = RepetitionRecord::skipped(number);
        match arena.opened(Scope::Session, outer.open_session()).await {
            Ok(open) => {
                record.open_ms = since(start);
                let [run, scenario_] = connections;
                arena
                    .warnings
                    .overwritten(&[run.clone(), scenario_.clone(), open.connections()], &open.tools());
                let work = Instant::now();
                let mut session = self.session(&open);
                session.play(&mut record).await;
                drop(session);
                record.work_ms = since(work);
                let closing = Instant::now();
                arena.closed(open).await;
                record.close_ms = since(closing);
            }
            Err(error) => {
                arena.not_opened(Some(name), Some(number), &error);
                record.open_ms = since(start);
                record.problem = Some(Problem::from(&error));
                record.status = status_of(&error);
            }
        }
        observer.event(Event::RepetitionFinished {
            scenario: name,
            repetition: number,
            status: record.status,
        });
        record
    }

    fn session(&self, open: &OpenScope) -> Session<'a> {
        let Self { arena, scenario, number } = *self;
        let all = open.tools();
        let tools = match &scenario.allowed_tools {
            Some(names) => all.clone().only(names.iter().cloned()),
            None => all.clone(),
        };
        for name in tools.missing() {
            arena
                .warnings
                .push(&format!("`allowed_tools` of `{}` names `{name}`, which no server has", scenario.id));
        }
        let start = Instant::now();
        let deadline = start + Duration::from_secs(arena.plan.timeouts.repetition_seconds);
        let conversation = arena.model.map(|client| client.conversation());
        let variables = scenario.variables.clone();
        Session { arena, scenario, number, tools, all, variables, conversation, start, deadline }
    }
}

impl Session<'_> {
    /// Turns until one is not as it must be, then all gates, unless the run is cancelled.
    async fn play(&mut self, record: &mut RepetitionRecord) {
        let names = self.tools.list().into_iter().take(MAX_TOOLS).map(|tool| tool.name.clone());
        record.tools = names.collect();
        for (at, turn) in self.scenario.turns.iter().enumerate() {
            let (scenario, repetition) = (self.scenario.id.as_str(), self.number);
            self.observer().event(Event::TurnStarted { scenario, repetition, turn: at + 1 });
            let played = self.turn(at + 1, turn).await;
            let status = played.status;
            self.observer().event(Event::TurnFinished { scenario, repetition, turn: &played });
            record.turns.push(played);
            if status != Status::Passed {
                break;
            }
        }
        for gate in &self.scenario.gates {
            if self.is_cancelled() {
                break;
            }
            let held: GateRecord = gate::look(self, gate, &record.turns).await;
            let (scenario, repetition) = (self.scenario.id.as_str(), self.number);
            self.observer().event(Event::GateFinished { scenario, repetition, gate: &held });
            record.gates.push(held);
        }
        record.tokens = self.conversation.as_ref().map(Conversation::tokens);
        let turns = record.turns.iter().map(|turn| turn.status);
        let gates = record.gates.iter().map(|gate| if gate.passed { Status::Passed } else { Status::Failed });
        record.status = if self.is_cancelled() { Status::Cancelled } else { Status::of(turns.chain(gates)) };
    }

    async fn turn(&mut self, number: usize, turn: &Spanned<Turn>) -> TurnRecord {
        match &turn.value.tool_calls {
            Some(calls) => script::play(self, number, turn, calls).await,
            None => talk::play(self, number, turn).await,
        }
    }

    pub(super) fn is_cancelled(&self) -> bool {
        self.arena.options.cancel.is_cancelled()
    }

    pub(super) fn observer(&self) -> &Arc<dyn Observer> {
        &self.arena.options.observer
    }

    /// Passes on what a tool says while it works.
    pub(super) fn hears(&self) -> Arc<dyn Progress> {
        Arc::new(Hears {
            observer: self.observer().clone(),
            scenario: self.scenario.id.clone(),
            repetition: self.number,
        })
    }
}

/// How something ended that ended with this error.
pub(super) fn status_of(error: &Error) -> Status {
    match error.code() {
        ErrorCode::Cancelled => Status::Cancelled,
        _ => Status::Failed,
    }
}

struct Hears {
    observer: Arc<dyn Observer>,
    scenario: String,
    repetition: u32,
}

impl Progress for Hears {
    fn progress(&self, message: &str, _: Option<f64>, _: Option<f64>) {
        let (scenario, repetition) = (self.scenario.as_str(), self.repetition);
        self.observer.event(Event::CallProgress { scenario, repetition, message });
    }
}
