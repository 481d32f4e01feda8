//! The command line of the state folder.

use std::path::PathBuf;

use clap::{Args, Subcommand};

pub(crate) const EXAMPLES: &str = "\
Examples:
  dormouse state check
  dormouse state doctor
  dormouse state migrate --dry-run
  dormouse state migrate work";

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
    /// Say of each sandbox and checkpoint whether this program can wake it as it is, and if not, why and what to do; the exit
    /// status is 1 if one cannot be
    Doctor,
    /// Bring sandboxes that were saved with guests of other releases to the current guests: files stay, variables come over as far
    /// as they can be carried, and a checkpoint of before is made
    Migrate {
        /// The sandboxes, by name or id; none: all that were saved with other guests
        #[arg(value_name = "SANDBOX")]
        sandboxes: Vec<String>,
        /// Say what would come over, and change nothing
        #[arg(long)]
        dry_run: bool,
        /// Time for reading the variables of one interpreter, and for binding them
        #[arg(long, value_name = "TIME", default_value = "60s")]
        timeout: String,
        /// Take the variables from this memory of one sandbox, named by the digits of its guest that `state doctor` shows, instead of
        /// the latest. What its language has now stays in the checkpoint
        #[arg(long, value_name = "GUEST", requires = "sandboxes", value_parser = guest_digits)]
        memory: Option<String>,
    },
}

/// The beginning of a SHA-256 that names one guest.
fn guest_digits(text: &str) -> Result<String, String> {
    let is_hash = (8..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_hash { Ok(text.to_ascii_lowercase()) } else { Err("it is 8 to 64 hexadecimal digits".into()) }
}
