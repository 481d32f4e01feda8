//! Which remote git repositories sandboxes may reach, as it is written.

use clap::Args;

/// Remote git repositories.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Remote git repositories")]
pub(crate) struct GitArgs {
    /// Let `git clone`, `fetch`, `pull` and `push` in sandboxes reach repositories at or below this address, such as
    /// https://HOST/TEAM/; with `=VAR` the environment variable VAR holds the credential (a token, `USER:PASSWORD` or
    /// `Bearer TOKEN`), which sandboxes never see; can be repeated
    #[arg(long, global = true, value_name = "URL[=VAR]")]
    pub(crate) allow_git: Vec<String>,
}
