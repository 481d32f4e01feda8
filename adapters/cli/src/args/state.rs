//! The command line of the state folder.

use std::path::PathBuf;

use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(crate) enum StateCommand {
    /// Read everything, and tell what is damaged; changes nothing. Exit status 1 when something is
    Check {
        /// Folder in which sandboxes are kept [default: ~/.local/share/dormouse]
        #[arg(long, value_name = "DIR", env = "DORMOUSE_STATE_DIR", hide_env_values = true)]
        state_dir: Option<PathBuf>,
        /// Print one line of JSON
        #[arg(long)]
        json: bool,
    },
}
