//! The command line of quotas.

use clap::Args;

/// How much there may be of what sandboxes keep.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct QuotaArgs {
    /// Set a quota. Numbers: sandboxes (of one owner, 100), sandboxes-in-all (10000), checkpoints (of one sandbox, 100), runs
    /// (of one owner at one time, 1000), and in 24 hours run-calls (100000), run-seconds (86400), run-tokens (10000000). Sizes:
    /// run-bytes (4GiB), saved (states of one owner), saved-in-all (the state folder on its disk), awake (memory of one owner's sandboxes),
    /// awake-in-all, downloads (the folder of --downloads, 10GiB); the other sizes depend on the machine. Can be repeated
    #[arg(long = "quota", global = true, value_name = "KEY=VALUE")]
    pub(crate) quotas: Vec<String>,
    /// Set how long sandboxes are kept: idle (without calls, before a sandbox is stopped, 15m), retention (stopped, before it is
    /// destroyed, 7d), idle-max and retention-max (the most that a sandbox can request, 1day and 30days), unused (never called,
    /// before it is destroyed, 1day). All but unused apply to sandboxes that are created from now on. Can be repeated
    #[arg(long = "keep", global = true, value_name = "KEY=TIME")]
    pub(crate) keeps: Vec<String>,
    /// The most disk space that a sandbox can request [default: 256MiB]
    #[arg(long, global = true, value_name = "SIZE")]
    pub(crate) disk_max: Option<String>,
}
