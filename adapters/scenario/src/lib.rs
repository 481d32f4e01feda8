//! Scenarios: turns that call the tools of sources, gates that must hold, repetitions, and a report.
//!
//! A front door reads files with [`Plan::load`], checks them with [`check()`], runs them with [`run()`] and writes what
//! came of it with [`Report::write`]; [`Report::exit_code`] is the command's. `docs/scenarios.md` describes the files.
//!
//! | step | module |
//! | --- | --- |
//! | YAML files, checked, with the place of every mistake | [`config`] |
//! | `{{scenario.KEY}}` in the arguments of tools | `template` |
//! | scopes, turns, gates, in their order | [`mod@run`], with [`Options`] and [`Observer`] |
//! | a model that calls tools, in place of a script | `model` |
//! | the data of a report, its HTML and JSON | [`Report`] |

pub mod config;
#[doc(hidden)]
pub mod fuzz;
mod model;
mod report;
mod run;
mod template;

pub use config::{Plan, Scenario};
pub use report::{
    CallRecord, FORMAT, GateDetails, GateRecord, Problem, RepetitionRecord, Report, ScenarioRecord,
    ServerRecord, Status, Step, Text, Totals, TurnRecord,
};
pub use run::{Event, Observer, Options, Silent, check, run};
