//! The command line of scenarios.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::McpArgs;

#[derive(Debug, Subcommand)]
pub(crate) enum ScenarioCommand {
    /// Open the sources, play the turns, hold the gates, write a report
    Run(Box<ScenarioArgs>),
    /// Read the files and say what is wrong with them; open nothing
    Check {
        /// An arena's file and scenarios' files
        #[arg(value_name = "FILE", required = true)]
        files: Vec<PathBuf>,
    },
    /// Print the JSON Schema of a file
    Schema {
        /// Of which
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

#[derive(Args, Debug)]
pub(crate) struct ScenarioArgs {
    /// An arena's file and scenarios' files
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Folder for report.html and report.json
    #[arg(short, long, value_name = "DIR", default_value = "dormouse-report")]
    pub(crate) out: PathBuf,
    /// Print the JSON report to standard output as well
    #[arg(long)]
    pub(crate) json: bool,
    /// Stop at the first repetition that fails
    #[arg(long)]
    pub(crate) fail_fast: bool,
    /// Repetitions of a scenario at one time
    #[arg(short, long, value_name = "N", default_value_t = 1)]
    pub(crate) jobs: u8,
    #[command(flatten)]
    pub(crate) tools: McpArgs,
}
