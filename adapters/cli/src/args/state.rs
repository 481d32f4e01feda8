//! The command line of the state folder.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Which folder, and how it is told: before the subcommand or behind it.
#[derive(Args, Debug)]
pub(crate) struct FolderArgs {
    /// State folder, which holds the persistent sandboxes [default: ~/.local/share/dormouse]
    #[arg(long, global = true, value_name = "DIR", env = "DORMOUSE_STATE_DIR", hide_env_values = true)]
    pub(crate) state_dir: Option<PathBuf>,
    /// Print one line of JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum StateCommand {
    /// Read everything and report what is damaged, without changing anything; the exit status is 1 if something is
    Check,
}
