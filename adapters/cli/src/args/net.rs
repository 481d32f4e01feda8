//! The command line of the network's rules.

use std::path::PathBuf;

use clap::{Args, Subcommand};

pub(crate) const EXAMPLES: &str = "\
Examples:
  dormouse net check GET https://api.example.com/v1/items --network net.toml
  dormouse net check POST https://api.example.com/ --allow-net api.example.com";

#[derive(Debug, Subcommand)]
pub(crate) enum NetCommand {
    /// Say which rule would allow a request, or what is lacking, without sending it; the exit status is 1 if it is not allowed
    Check(NetCheckArgs),
}

#[derive(Args, Debug)]
pub(crate) struct NetCheckArgs {
    /// The method, such as GET
    #[arg(value_name = "METHOD")]
    pub(crate) method: String,
    /// The address, such as `https://api.example.com/v1/items`
    #[arg(value_name = "URL")]
    pub(crate) url: String,
    /// File of rules, secrets and budgets (docs/decisions/network.md)
    #[arg(long, value_name = "FILE")]
    pub(crate) network: Option<PathBuf>,
    /// Allow https to a host, in the profile `default`; can be repeated
    #[arg(long, value_name = "HOST[:PORT]")]
    pub(crate) allow_net: Vec<String>,
    /// The profile of the file
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub(crate) profile: String,
    /// Print one line of JSON
    #[arg(long)]
    pub(crate) json: bool,
}
