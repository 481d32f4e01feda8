//! The command line of the state folder.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Which folder, and how it is told: before the subcommand or behind it.
#[derive(Args, Debug)]
pub(crate) struct FolderArgs {
    /// Folder in which sandboxes are kept [default: ~/.local/share/dormouse]
    #[arg(long, global = true, value_name = "DIR", env = "DORMOUSE_STATE_DIR", hide_env_values = true)]
    pub(crate) state_dir: Option<PathBuf>,
    /// Print one line of JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum StateCommand {
    /// Read everything, and tell what is damaged; changes nothing. Exit status 1 when something is
    Check,
}
