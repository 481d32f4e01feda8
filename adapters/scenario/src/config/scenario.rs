//! A scenario's file: variables, turns and gates.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value as Json};
use serde_saphyr::Spanned;

use super::arena::Metadata;
use super::fields::{ExitCode, Pattern, Pointer};

/// A scenario's file.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScenarioFile {
    /// The version of the form: `dormouse/v1`, or `promptkit.altairalabs.ai/v1alpha1`. Default `dormouse/v1`.
    #[serde(rename = "apiVersion")]
    #[schemars(with = "Option<String>")]
    pub api_version: Option<Spanned<String>>,
    /// `Scenario`.
    pub kind: String,
    /// Its name.
    pub metadata: Option<Metadata>,
    /// What it is.
    #[schemars(with = "ScenarioSpec")]
    pub spec: Spanned<ScenarioSpec>,
}

/// A scenario.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScenarioSpec {
    /// Its name, unique in a run: 1 to 128 characters. Default: `metadata.name`.
    pub id: Option<String>,
    /// A word of the user's own for what kind of task it is; only shown.
    pub task_type: Option<String>,
    /// What it is about; only shown.
    pub description: Option<String>,
    /// What `{{scenario.KEY}}` stands for, in arguments of tools and of sources.
    #[serde(default)]
    pub variables: BTreeMap<String, String>,
    /// The tools that turns may call, by raw name. Default: the arena's.
    pub allowed_tools: Option<Vec<String>>,
    /// How often it is run: 1 to 1 000. Default: the arena's, else 1.
    #[schemars(with = "Option<u32>", range(min = 1, max = 1000))]
    pub repetitions: Option<Spanned<u32>>,
    /// What happens, in this order, at most 200.
    #[schemars(with = "Vec<Turn>")]
    pub turns: Vec<Spanned<Turn>>,
    /// What must hold at the end of every repetition, while its servers are still open; at most 200.
    #[serde(default)]
    #[schemars(with = "Vec<Gate>")]
    pub conversation_assertions: Vec<Spanned<Gate>>,
}

/// One turn. With `tool_calls` it is scripted; without, the arena's model answers it.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Turn {
    /// Who says it. Default `user`.
    #[serde(default)]
    pub role: TurnRole,
    /// What is said. `{{scenario.KEY}}` is replaced.
    pub content: Option<String>,
    /// What a scripted client calls, in this order, at most 200.
    #[schemars(with = "Option<Vec<ToolCall>>")]
    pub tool_calls: Option<Vec<Spanned<ToolCall>>>,
}

/// Who says a turn.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum TurnRole {
    /// Who asks.
    #[default]
    User,
}

/// One scripted call of a tool.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolCall {
    /// The tool's raw name.
    pub tool: String,
    /// Its arguments. `{{scenario.KEY}}` in their strings is replaced.
    #[serde(default)]
    pub arguments: Map<String, Json>,
    /// What must come of it. Default: an answer that is no error.
    #[serde(default)]
    pub expect: Expect,
    /// Keeps the answer's text as this variable for the rest of the repetition, at most 64 KiB of it.
    pub save_as: Option<String>,
    /// With `save_as`: keeps what lies here in the structured content instead of the text.
    pub save_from: Option<Pointer>,
}

/// What must come of a call.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Expect {
    /// Whether the tool must say that it failed. Default false.
    pub is_error: bool,
    /// The code with which the call itself must fail, such as `not_found`. Default: it must not.
    pub error: Option<String>,
    /// What must be found in the answer's text.
    pub text: Option<Pattern>,
    /// What must lie where in the structured content.
    #[schemars(with = "BTreeMap<String, Json>")]
    pub structured: BTreeMap<Pointer, Json>,
}

/// What must hold at the end of a repetition.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(tag = "type", content = "params", rename_all = "snake_case", deny_unknown_fields)]
pub enum Gate {
    /// A tool is called once more, and must succeed.
    ToolExec(ToolExec),
    /// Something must have been put out by a tool or said by the model.
    OutputContains(OutputContains),
    /// Tools must have been called in the turns.
    ToolsCalled(ToolsCalled),
}

impl Gate {
    /// Its name in files.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::ToolExec(_) => "tool_exec",
            Self::OutputContains(_) => "output_contains",
            Self::ToolsCalled(_) => "tools_called",
        }
    }

    /// Why it is there, in the words of the file.
    pub fn message(&self) -> Option<&str> {
        match self {
            Self::ToolExec(gate) => gate.message.as_deref(),
            Self::OutputContains(gate) => gate.message.as_deref(),
            Self::ToolsCalled(gate) => gate.message.as_deref(),
        }
    }
}

/// Calls a tool and looks at what comes of it.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolExec {
    /// The tool's raw name. `allowed_tools` does not bind a gate.
    pub tool: String,
    /// Why the gate is there; shown in the report.
    pub message: Option<String>,
    /// The tool's arguments. `{{scenario.KEY}}` in their strings is replaced.
    #[serde(default)]
    pub args: Map<String, Json>,
    /// How long the call may take, in seconds, 1 to 86 400. Default 120.
    #[serde(default = "gate_seconds")]
    #[schemars(range(min = 1, max = 86400))]
    pub timeout_seconds: u64,
    /// What must be found in the output's text.
    pub success_pattern: Option<Pattern>,
    /// What must not be found in the output's text.
    pub failure_pattern: Option<Pattern>,
    /// How a command must have ended. Default: with exit status 0.
    #[serde(default)]
    pub expect: GateExpect,
}

/// How the command of a gate must have ended.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct GateExpect {
    /// Its exit status. Default: 0, where the answer has one.
    pub exit_code: Option<ExitCode>,
}

fn gate_seconds() -> u64 {
    120
}

/// Looks for a pattern in all that tools put out and the model said.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OutputContains {
    /// What must be found in one of the texts.
    pub pattern: Pattern,
    /// Why the gate is there; shown in the report.
    pub message: Option<String>,
}

/// Looks at which tools were called.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolsCalled {
    /// The tools, each of which must have been called and have answered at least once.
    pub tools: Vec<String>,
    /// Why the gate is there; shown in the report.
    pub message: Option<String>,
}
