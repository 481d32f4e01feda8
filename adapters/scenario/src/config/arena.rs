//! The arena's file: which servers and scenarios there are, and what holds for all scenarios.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value as Json};
use serde_saphyr::Spanned;

use super::scenario::ScenarioSpec;

/// An arena's file.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArenaFile {
    /// The version of the form: `dormouse/v1`, or `promptkit.altairalabs.ai/v1alpha1`. Default `dormouse/v1`.
    #[serde(rename = "apiVersion")]
    #[schemars(with = "Option<String>")]
    pub api_version: Option<Spanned<String>>,
    /// `Arena`. Default `Arena`.
    pub kind: Option<String>,
    /// Its name, for the report. Default: the file's name.
    pub metadata: Option<Metadata>,
    /// What it is.
    pub spec: ArenaSpec,
}

/// What a file is called.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Metadata {
    /// The name.
    pub name: String,
}

/// The arena itself.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArenaSpec {
    /// The servers whose tools the scenarios use, at most 64. They are opened in this order.
    #[serde(default)]
    #[schemars(with = "Vec<Server>")]
    pub mcp_servers: Vec<Spanned<Server>>,
    /// The scenarios, in the order in which they are run, at most 1 000.
    #[serde(default)]
    #[schemars(with = "Vec<ScenarioItem>")]
    pub scenarios: Vec<Spanned<ScenarioItem>>,
    /// Folders of skills, each with a `SKILL.md`, at most 64; relative paths are relative to this file. Where a source takes
    /// mounts, each is mounted read-only at `/skills/NAME`.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub skills: Vec<Spanned<String>>,
    /// What holds for every scenario that says nothing else.
    #[serde(default)]
    pub defaults: Defaults,
}

/// One server of MCP: exactly one of `source`, `url` and `command`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Server {
    /// Its name: 1 to 64 letters, digits, `_` and `-`.
    pub name: String,
    /// A registered source that opens it, such as `wasm` or `docker`.
    pub source: Option<String>,
    /// When it is opened and closed: `run`, `scenario` or `session`. Required with `source`.
    pub scope: Option<String>,
    /// What the source is given; `{{scenario.KEY}}` in its strings is replaced.
    #[serde(default)]
    pub source_args: Map<String, Json>,
    /// The address of a server that runs already. Its tools are called `mcp__NAME__TOOL`.
    pub url: Option<String>,
    /// Headers of every request to `url`.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// A program that speaks MCP on its standard streams. Its tools are called `mcp__NAME__TOOL`.
    pub command: Option<String>,
    /// The arguments of `command`.
    #[serde(default)]
    pub args: Vec<String>,
    /// Environment variables of `command`.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
}

/// One scenario of an arena: exactly one of `file` and `spec`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScenarioItem {
    /// A scenario's file, relative to this one.
    pub file: Option<String>,
    /// The scenario itself.
    pub spec: Option<ScenarioSpec>,
}

/// What holds for every scenario that says nothing else.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Defaults {
    /// How often a scenario is run: 1 to 1 000. Default 1.
    #[schemars(with = "Option<u32>", range(min = 1, max = 1000))]
    pub repetitions: Option<Spanned<u32>>,
    /// The tools that turns may call, by raw name. Default: all.
    pub allowed_tools: Option<Vec<String>>,
    /// How long things may take.
    #[schemars(with = "Timeouts")]
    pub timeouts: Option<Spanned<Timeouts>>,
    /// The model that drives turns without `tool_calls`.
    #[schemars(with = "Option<ModelSpec>")]
    pub model: Option<Spanned<ModelSpec>>,
}

/// How long things may take, in seconds, each 1 to 86 400.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Timeouts {
    /// Opening the servers of one scope. Default 300.
    pub open_seconds: u64,
    /// One call of a tool in a turn. Default 120.
    pub call_seconds: u64,
    /// All turns of one repetition; gates come after. Default 3 600.
    pub repetition_seconds: u64,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self { open_seconds: 300, call_seconds: 120, repetition_seconds: 3_600 }
    }
}

/// A model behind an OpenAI-compatible endpoint.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelSpec {
    /// The base address, such as `https://HOST/v1`.
    pub url: String,
    /// The model's name.
    pub name: String,
    /// The environment variable that holds the key. Default: no key is sent.
    pub api_key_env: Option<String>,
    /// What holds for the whole conversation. Default nothing.
    pub system: Option<String>,
    /// Answers of the model in one turn, 1 to 200. Default 25.
    #[serde(default = "iterations")]
    pub max_iterations: u32,
    /// What it may use.
    #[serde(default)]
    pub budget: Budget,
}

fn iterations() -> u32 {
    25
}

/// What a model may use in one repetition.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Budget {
    /// Requests, 1 to 10 000. Default 100.
    pub calls: u32,
    /// Tokens of all prompts and answers. Default 1 000 000.
    pub tokens: u64,
    /// Tokens of one answer. Default 4 096.
    pub answer_tokens: u32,
    /// Time of one request, in seconds, 1 to 3 600. Default 60.
    pub call_seconds: u64,
}

impl Default for Budget {
    fn default() -> Self {
        Self { calls: 100, tokens: 1_000_000, answer_tokens: 4_096, call_seconds: 60 }
    }
}
