//! The command line of the network's rules.

use std::path::PathBuf;

use clap::{Args, Subcommand};

pub(crate) const EXAMPLES: &str = "\
Examples:
  dormouse net check GET https://api.example.com/v1/items --network net.toml
  dormouse net check POST https://api.example.com/ --allow-net api.example.com
  dormouse net learn network.jsonl --sandbox sbx1 > net.toml";

#[derive(Debug, Subcommand)]
pub(crate) enum NetCommand {
    /// Say which rule would allow a request, or what is lacking, without sending it; the exit status is 1 if it is not allowed
    Check(NetCheckArgs),
    /// Print the narrowest rules that allow what an audit says has left
    Learn(NetLearnArgs),
}

#[derive(Args, Debug)]
pub(crate) struct NetCheckArgs {
    /// The method, such as GET
    #[arg(value_name = "METHOD")]
    pub(crate) method: String,
    /// The address, such as `https://api.example.com/v1/items`
    #[arg(value_name = "URL")]
    pub(crate) url: String,
    /// File of rules, secrets and budgets (docs/reference/network.md)
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

#[derive(Args, Debug)]
pub(crate) struct NetLearnArgs {
    /// The audit of the network: lines of JSON
    #[arg(value_name = "AUDIT")]
    pub(crate) audit: PathBuf,
    /// Only what this sandbox did
    #[arg(long, value_name = "ID")]
    pub(crate) sandbox: Option<String>,
    /// Only what this run did
    #[arg(long, value_name = "ID")]
    pub(crate) run: Option<String>,
    /// Only what sandboxes of this owner did
    #[arg(long, value_name = "NAME")]
    pub(crate) owner: Option<String>,
    /// The profile that the rules are for
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub(crate) profile: String,
}
