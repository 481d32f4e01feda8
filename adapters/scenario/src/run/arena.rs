//! The scopes of a run and their order; what stops the rest.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use dormouse_core::{Error, ErrorCode, Result};
use dormouse_sources::{OpenScope, Registry, Scope, Scopes};
use futures::StreamExt as _;
use tokio_util::sync::CancellationToken;

use super::observe::{Event, Observer, Silent};
use super::session::Repetition;
use super::since;
use super::watch::Warnings;
use crate::config::{Plan, Scenario};
use crate::model::Client;
use crate::report::{
    FORMAT, Problem, RepetitionRecord, Report, ScenarioRecord, ServerRecord, Status, Text, Totals, bound,
};

/// How long closing a scope is waited for; it goes on after that.
const CLOSE: Duration = Duration::from_secs(120);
/// Most repetitions at the same time.
const MAX_CONCURRENCY: usize = 64;

/// How a plan is run.
pub struct Options {
    /// Whether the first repetition that fails is the last. Default no.
    pub fail_fast: bool,
    /// Repetitions of a scenario that may be under way at the same time, 1 to 64. Default 1.
    pub concurrency: usize,
    /// Ends the run: the call under way is cancelled, all scopes are closed, the report has what there is. Default never.
    pub cancel: CancellationToken,
    /// Who hears of it. Default nobody.
    pub observer: Arc<dyn Observer>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            fail_fast: false,
            concurrency: 1,
            cancel: CancellationToken::new(),
            observer: Arc::new(Silent),
        }
    }
}

/// What all repetitions of a run share.
pub(super) struct Arena<'a> {
    pub(super) plan: &'a Plan,
    pub(super) options: &'a Options,
    pub(super) model: Option<&'a Client>,
    pub(super) warnings: Warnings,
    /// Whether something failed, and nothing new is to begin.
    stop: AtomicBool,
}

/// All that keeps a plan from beginning: [`run`] says the same. Opens nothing.
///
/// # Errors
/// What [`Plan::check`] says, and `args_invalid` for a key of the model that is not there.
pub fn check(plan: &Plan, registry: &Registry) -> Result<()> {
    plan.check(registry)?;
    client(plan, registry).map(drop)
}

fn client(plan: &Plan, registry: &Registry) -> Result<Option<Client>> {
    plan.model.as_ref().map(|spec| Client::new(spec, registry.outside())).transpose()
}

/// Runs a plan to its end and reports. What fails in it is in the report; only what keeps it from beginning is an error.
///
/// # Errors
/// Errors of configuration, those of [`check`].
pub async fn run(plan: &Plan, registry: &Registry, options: &Options) -> Result<Report> {
    plan.check(registry)?;
    let model = client(plan, registry)?;
    let warnings = Warnings::new(options.observer.clone());
    let scopes = Scopes::new(registry.clone(), plan.staged(registry)?)?
        .with_unclosed(warnings.unclosed())
        .with_patience(Duration::from_secs(plan.timeouts.open_seconds));
    let arena = Arena { plan, options, model: model.as_ref(), warnings, stop: AtomicBool::new(false) };
    Ok(arena.run(&scopes).await)
}

impl Arena<'_> {
    async fn run(&self, scopes: &Scopes) -> Report {
        let (start, now) = (Instant::now(), SystemTime::now());
        let mut used = 0;
        let (scenarios, problem) = match self.opened(Scope::Run, scopes.open_run()).await {
            Ok(open) => {
                self.options.observer.event(Event::Opened);
                self.warnings.overwritten(&[open.connections()], &open.tools());
                let mut scenarios = Vec::with_capacity(self.plan.scenarios.len());
                for scenario in &self.plan.scenarios {
                    scenarios.push(self.scenario(scenario, &open, &mut used).await);
                }
                self.closed(open).await;
                (scenarios, None)
            }
            Err(error) => {
                self.not_opened(None, None, &error);
                (self.plan.scenarios.iter().map(|scenario| skipped(scenario, None)).collect(), Some(error))
            }
        };
        let status = match &problem {
            Some(error) if error.code() == ErrorCode::Cancelled => Status::Cancelled,
            Some(_) => Status::Failed,
            None => Status::of(scenarios.iter().map(|scenario| scenario.status)),
        };
        // Whoever gave up is told so, even when everything that was begun had passed.
        let status = if self.options.cancel.is_cancelled() { Status::Cancelled } else { status };
        Report {
            format: FORMAT,
            program: concat!("dormouse ", env!("CARGO_PKG_VERSION")).into(),
            name: self.plan.name.clone(),
            files: self.plan.files.clone(),
            started: humantime::format_rfc3339_seconds(now).to_string(),
            duration_ms: since(start),
            status,
            problem: problem.as_ref().map(Problem::from),
            totals: totals(&scenarios),
            model: self.plan.model.as_ref().map(|model| model.name.clone()),
            servers: servers(self.plan),
            warnings: self.warnings.take(),
            scenarios,
        }
    }

    async fn scenario(&self, scenario: &Scenario, run: &OpenScope, used: &mut usize) -> ScenarioRecord {
        if self.is_over() {
            return skipped(scenario, None);
        }
        let (start, observer) = (Instant::now(), &self.options.observer);
        let name = scenario.id.as_str();
        observer.event(Event::ScenarioStarted { scenario: name, repetitions: scenario.repetitions });
        let variables = scenario.template_variables();
        let mut record = match self.opened(Scope::Scenario, run.open_scenario(&variables)).await {
            Ok(open) => {
                let outer = [run.connections(), open.connections()];
                let repetitions = self.repetitions(scenario, &open, &outer, used).await;
                self.closed(open).await;
                let status = Status::of(repetitions.iter().map(|repetition| repetition.status));
                ScenarioRecord { status, repetitions, ..skipped(scenario, None) }
            }
            Err(error) => {
                self.not_opened(Some(name), None, &error);
                self.failed();
                skipped(scenario, Some(&error))
            }
        };
        record.duration_ms = since(start);
        observer.event(Event::ScenarioFinished { scenario: name, status: record.status });
        record
    }

    async fn repetitions(
        &self,
        scenario: &Scenario,
        open: &OpenScope,
        outer: &[Vec<dormouse_sources::Connection>; 2],
        used: &mut usize,
    ) -> Vec<RepetitionRecord> {
        let concurrency = self.options.concurrency.clamp(1, MAX_CONCURRENCY);
        let mut running = futures::stream::iter(1..=scenario.repetitions)
            .map(|number| async move {
                match self.is_over() {
                    true => RepetitionRecord::skipped(number),
                    false => Repetition::new(self, scenario, number).run(open, outer).await,
                }
            })
            .buffer_unordered(concurrency);
        let mut records = BTreeMap::new();
        while let Some(mut record) = running.next().await {
            if record.status == Status::Failed {
                self.failed();
            }
            bound(&mut record, used);
            records.insert(record.number, record);
        }
        records.into_values().collect()
    }

    /// Whether nothing new is to begin.
    fn is_over(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.options.cancel.is_cancelled()
    }

    fn failed(&self) {
        if self.options.fail_fast {
            self.stop.store(true, Ordering::Relaxed);
        }
    }

    /// Opens a scope, within its time and unless the run is cancelled. A scope that is given up closes what it has, and where
    /// that takes long it is not waited for.
    pub(super) async fn opened(
        &self,
        scope: Scope,
        opening: impl Future<Output = Result<OpenScope>>,
    ) -> Result<OpenScope> {
        let most = Duration::from_secs(self.plan.timeouts.open_seconds) + CLOSE;
        let late = || {
            let (scope, seconds) = (scope.as_str(), most.as_secs());
            Error::new(
                ErrorCode::LimitTime,
                format!("the servers of scope {scope} were neither open nor closed after {seconds} s"),
            )
        };
        let opened = tokio::select! {
            biased;
            () = self.options.cancel.cancelled() => Err(cancelled()),
            opened = tokio::time::timeout(most, opening) => opened.unwrap_or_else(|_| Err(late())),
        };
        opened.map_err(|error| match error.code() == ErrorCode::LimitTime && error.hint().is_none() {
            true => error.with_hint("raise `timeouts.open_seconds`"),
            false => error,
        })
    }

    /// Tells that a scope could not be opened, unless that is because the run was given up.
    pub(super) fn not_opened(&self, scenario: Option<&str>, repetition: Option<u32>, error: &Error) {
        if error.code() != ErrorCode::Cancelled {
            self.options.observer.event(Event::NotOpened { scenario, repetition, error });
        }
    }

    /// Closes a scope. What cannot be closed is a warning (S0-10).
    pub(super) async fn closed(&self, open: OpenScope) {
        let scope = open.scope();
        if tokio::time::timeout(CLOSE, open.close()).await.is_err() {
            let seconds = CLOSE.as_secs();
            self.warnings
                .push(&format!("the servers of scope {} were not closed after {seconds} s", scope.as_str()));
        }
    }
}

/// The error of a run that is given up.
pub(super) fn cancelled() -> Error {
    Error::new(ErrorCode::Cancelled, "the run was cancelled")
}

/// A scenario of which no repetition was begun.
fn skipped(scenario: &Scenario, error: Option<&Error>) -> ScenarioRecord {
    let status = match error {
        None => Status::Skipped,
        Some(error) if error.code() == ErrorCode::Cancelled => Status::Cancelled,
        Some(_) => Status::Failed,
    };
    ScenarioRecord {
        id: scenario.id.clone(),
        file: scenario.file.clone(),
        task_type: scenario.task_type.clone(),
        description: scenario.description.as_deref().map(Text::short),
        variables: scenario.variables.iter().map(|(key, value)| (key.clone(), Text::short(value))).collect(),
        status,
        problem: error.map(Problem::from),
        duration_ms: 0.0,
        repetitions: (1..=scenario.repetitions).map(RepetitionRecord::skipped).collect(),
    }
}

fn servers(plan: &Plan) -> Vec<ServerRecord> {
    let entries = plan.entries.iter().map(|entry| {
        let transport = match (&entry.source, &entry.url) {
            (Some(source), _) => source.clone(),
            (None, Some(_)) => "url".into(),
            (None, None) => "command".into(),
        };
        let scope = entry.scope.unwrap_or(Scope::Run).as_str().into();
        ServerRecord { name: entry.name.clone(), transport, scope }
    });
    entries.collect()
}

fn totals(scenarios: &[ScenarioRecord]) -> Totals {
    let mut totals = Totals::default();
    for repetition in scenarios.iter().flat_map(|scenario| &scenario.repetitions) {
        totals.repetitions += 1;
        match repetition.status {
            Status::Passed => totals.passed += 1,
            Status::Failed => totals.failed += 1,
            Status::Cancelled | Status::Skipped => totals.unfinished += 1,
        }
        totals.gates += repetition.gates.len() as u64;
        totals.gates_failed += repetition.gates.iter().filter(|gate| !gate.passed).count() as u64;
        totals.calls += repetition.turns.iter().map(|turn| turn.calls().count() as u64).sum::<u64>();
    }
    totals
}
