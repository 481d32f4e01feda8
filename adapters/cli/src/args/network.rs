//! The command line of the network that sandboxes may reach.

use std::path::PathBuf;

use clap::Args;

/// What sandboxes may reach. Nothing named: nothing.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct NetworkArgs {
    /// Let sandboxes reach a host by https, and nothing else (docs/guides/network.md); `*.` and a name is for all names below it;
    /// can be repeated
    #[arg(long, global = true, value_name = "HOST[:PORT]")]
    pub(crate) allow_net: Vec<String>,
    /// File of rules, secrets and budgets of the network (docs/reference/network.md)
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) network: Option<PathBuf>,
    /// Give sandboxes a placeholder for a secret, in the variable NAME; its value goes to these hosts alone; in place of `env:VAR`
    /// there may be `file:PATH`, or `keyring:KEY`, a key of the kernel's keyrings; can be repeated
    #[arg(long, global = true, value_name = "NAME=env:VAR@HOST[,HOST]")]
    pub(crate) secret: Vec<String>,
    /// File that every request is written to before it leaves [default: network.jsonl in the state folder, for `eval` and `run` in
    /// ~/.local/state/dormouse]
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) network_audit: Option<PathBuf>,
    /// Write requests and their answers to a file that can be played again; there are no secrets in it
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) network_record: Option<PathBuf>,
    /// Answer requests from such a file: nothing leaves, and what is not in it is refused
    #[arg(long, global = true, value_name = "FILE", conflicts_with = "network_record")]
    pub(crate) network_replay: Option<PathBuf>,
}

impl NetworkArgs {
    /// Whether anything is named that sandboxes might reach.
    pub(crate) fn is_named(&self) -> bool {
        !self.allow_net.is_empty() || self.network.is_some()
    }
}
