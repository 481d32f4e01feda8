//! The files of a run: an arena and its scenarios, as YAML, checked.
//!
//! | step | module |
//! | --- | --- |
//! | bytes to values, with file, line and column in every error | `yaml` |
//! | the arena's file | [`ArenaFile`] in `arena` |
//! | a scenario's file | [`ScenarioFile`] in `scenario` |
//! | patterns, pointers, exit statuses | `fields` |
//! | what each part must hold by itself | `checks` |
//! | all files of one run, checked against each other | [`Plan`] in `plan` |

mod arena;
mod checks;
mod fields;
mod plan;
mod scenario;
mod yaml;

pub use arena::{
    ArenaFile, ArenaSpec, Budget, Defaults, Metadata, ModelSpec, ScenarioItem, Server, Timeouts,
};
pub use fields::{ExitCode, Pattern, Pointer};
pub use plan::{Plan, Scenario};
pub use scenario::{
    Expect, Gate, GateExpect, OutputContains, ScenarioFile, ScenarioSpec, ToolCall, ToolExec, ToolsCalled,
    Turn, TurnRole,
};
pub use yaml::MAX_FILE;

use serde_json::Value as Json;

/// JSON Schema of an arena's file.
pub fn arena_schema() -> Json {
    schemars::schema_for!(ArenaFile).to_value()
}

/// JSON Schema of a scenario's file.
pub fn scenario_schema() -> Json {
    schemars::schema_for!(ScenarioFile).to_value()
}
