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
    /// Runs at one time; more wait, at most 30s [default: 64]
    #[arg(long, value_name = "N", value_parser = count())]
    pub(crate) runs_max: Option<u16>,
    /// Jobs at one time, of all sandboxes [default: 32]
    #[arg(long, value_name = "N", value_parser = count())]
    pub(crate) jobs_max: Option<u16>,
    /// Interpreters of sandboxes in memory at one time; who rested longest is put down for who is called [default: 128]
    #[arg(long, value_name = "N", value_parser = count())]
    pub(crate) awake_max: Option<u16>,
    /// Memory that all runs may add to what their interpreters begin with; of several owners, one may have as much as is then left
    /// [default: a quarter of the machine's]
    #[arg(long, value_name = "SIZE")]
    pub(crate) runs_memory: Option<String>,
    /// How long the end goes on saving; what is not saved by then is lost, and told [default: 30]
    #[arg(long, value_name = "SECONDS", value_parser = count())]
    pub(crate) closing: Option<u16>,
}
