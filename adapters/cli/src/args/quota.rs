//! The command line of quotas.

use clap::Args;

/// How much there may be of what sandboxes keep.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct QuotaArgs {
    /// How much there may be: sandboxes (of one owner, 100), sandboxes-in-all (10000), checkpoints (of one sandbox, 100); and
    /// sizes: saved (states of one owner), saved-in-all (the state folder on its disk), awake (memory of one owner's sandboxes),
    /// awake-in-all, downloads (the folder of --downloads, 10GiB); as many bytes as fit the machine by default; can be repeated
    #[arg(long = "quota", global = true, value_name = "KEY=VALUE")]
    pub(crate) quotas: Vec<String>,
    /// How long there may be nothing to do: idle (a sandbox that nobody calls is stopped, 15m), retention (a stopped one is destroyed,
    /// 7d), idle-max and retention-max (the most that can be asked for one, 1day and 30days), unused (one that was never called is
    /// destroyed, 1day); for sandboxes that are made from now on; can be repeated
    #[arg(long = "keep", global = true, value_name = "KEY=TIME")]
    pub(crate) keeps: Vec<String>,
    /// The most room for files that a sandbox can be made with [default: 256MiB]
    #[arg(long, global = true, value_name = "SIZE")]
    pub(crate) disk_max: Option<String>,
}
