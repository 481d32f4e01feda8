//! The command line of scenarios: only what a run of them uses.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::{
    CapacityArgs, CeilingArgs, DockerArgs, GitArgs, McpArgs, ModelArgs, PackageArgs, QuotaArgs, SkillArgs,
};

#[derive(Debug, Subcommand)]
pub(crate) enum ScenarioCommand {
    /// Open the sources, play the turns, check the gates, write a report
    Run(Box<ScenarioArgs>),
    /// Report what a run with the same options would refuse before it opens anything; opens nothing
    Check(Box<CheckArgs>),
    /// Print the JSON Schema of a file
    Schema {
        /// Which file
        #[arg(value_enum)]
        of: ScenarioFile,
    },
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ScenarioFile {
    /// Sources, skills, defaults and scenarios
    Arena,
    /// One scenario
    Scenario,
}

/// Which sources there are, and which folders they may be given.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Sources")]
pub(crate) struct SourceArgs {
    /// Register a source of your own: a program that speaks MCP on its standard streams, started for each endpoint, with the
    /// entry's source_args as JSON in DORMOUSE_SOURCE_ARGS; quotes group words, and no shell is involved; can be repeated
    #[arg(long = "source", value_name = "NAME=COMMAND")]
    pub(crate) sources: Vec<String>,
    /// Mount a host folder into every sandbox of the source `wasm`, and let `mounts` of any source name it; can be repeated
    #[arg(long = "mount", value_name = "HOST:GUEST[:rw]")]
    pub(crate) mounts: Vec<String>,
    /// Allow writes to `mounts` that name folders beside the files, or folders of --mount that end in `:rw`
    #[arg(long)]
    pub(crate) allow_writes: bool,
    /// Let entries of the source `docker` request a network with `network: true`
    #[arg(long)]
    pub(crate) docker_network: bool,
    #[command(flatten)]
    pub(crate) docker: DockerArgs,
    #[command(flatten)]
    pub(crate) git: GitArgs,
}

#[derive(Args, Debug)]
pub(crate) struct CheckArgs {
    /// The arena file and scenario files
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) sources: SourceArgs,
    #[command(flatten)]
    pub(crate) sandboxes: SandboxArgs,
}

#[derive(Args, Debug)]
pub(crate) struct ScenarioArgs {
    /// The arena file and scenario files
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Folder for report.html, report.json and junit.xml; those of an earlier run are removed first
    #[arg(short, long, value_name = "DIR", default_value = "dormouse-report")]
    pub(crate) out: PathBuf,
    /// Print the JSON report to standard output as well
    #[arg(long)]
    pub(crate) json: bool,
    /// Stop at the first repetition that fails
    #[arg(long)]
    pub(crate) fail_fast: bool,
    /// Concurrent repetitions of a scenario
    #[arg(short, long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=64))]
    pub(crate) jobs: u8,
    #[command(flatten)]
    pub(crate) sources: SourceArgs,
    #[command(flatten)]
    pub(crate) sandboxes: SandboxArgs,
}

/// What sandboxes of the source `wasm` are given, and what they may cost.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Sandboxes")]
pub(crate) struct SandboxArgs {
    #[command(flatten)]
    pub(crate) skills: SkillArgs,
    #[command(flatten)]
    pub(crate) ceilings: CeilingArgs,
    /// State folder of the sandboxes [default: a temporary one]
    #[arg(long, value_name = "DIR", env = "DORMOUSE_STATE_DIR", hide_env_values = true)]
    pub(crate) state_dir: Option<PathBuf>,
    /// Refuse to start unless the kernel can deny this process everything that it does not need: files that were not named,
    /// connections, programs other than those of `command` and --source
    #[arg(long)]
    pub(crate) confine: bool,
    #[command(flatten)]
    pub(crate) capacity: CapacityArgs,
    #[command(flatten)]
    pub(crate) quota: QuotaArgs,
    #[command(flatten)]
    pub(crate) packages: PackageArgs,
}

/// The same as options of a server: what a run of scenarios has no option for is as by default.
pub(crate) fn scenario_tools(sources: &SourceArgs, sandboxes: &SandboxArgs) -> McpArgs {
    McpArgs {
        profile: "sandbox".into(),
        tools: "usual".into(),
        mounts: sources.mounts.clone(),
        allow_writes: sources.allow_writes,
        docker: sources.docker.clone(),
        skills: sandboxes.skills.clone(),
        ceilings: sandboxes.ceilings.clone(),
        state_dir: sandboxes.state_dir.clone(),
        confine: sandboxes.confine,
        capacity: sandboxes.capacity.clone(),
        quota: sandboxes.quota.clone(),
        packages: sandboxes.packages.clone(),
        git: sources.git.clone(),
        model: ModelArgs { llm_api: "openai".into(), ..ModelArgs::default() },
        ..McpArgs::default()
    }
}
