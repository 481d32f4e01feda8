//! How much there may be at one time.

use clap::Args;
use clap::builder::RangedU64ValueParser;

fn count() -> RangedU64ValueParser<u16> {
    RangedU64ValueParser::new().range(1..)
}

/// How much there may be at one time (docs/capacity.md).
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Capacity")]
pub(crate) struct CapacityArgs {
    /// Concurrent runs; further runs wait, at most 30s [default: 64]
    #[arg(long, value_name = "N", value_parser = count())]
    pub(crate) runs_max: Option<u16>,
    /// Concurrent jobs in all sandboxes [default: 32]
    #[arg(long, value_name = "N", value_parser = count())]
    pub(crate) jobs_max: Option<u16>,
    /// Interpreters of sandboxes in memory; when they are used up, the sandbox that has been idle longest is suspended [default:
    /// 128]
    #[arg(long, value_name = "N", value_parser = count())]
    pub(crate) awake_max: Option<u16>,
    /// Memory that all runs together may add to what their interpreters start with; if there are several owners, each may use at
    /// most as much as is left [default: a quarter of the machine's]
    #[arg(long, value_name = "SIZE")]
    pub(crate) runs_memory: Option<String>,
    /// How long a shutdown may take to save sandboxes; what is not saved by then is lost and reported [default: 30]
    #[arg(long, value_name = "SECONDS", value_parser = count())]
    pub(crate) closing: Option<u16>,
}
