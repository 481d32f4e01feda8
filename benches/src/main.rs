//! `dormouse-bench`: measures what docs/performance.md promises, beside the alternatives, in one table.

#[path = "../../adapters/kubernetes/tests/cluster/answers.rs"]
#[allow(dead_code, clippy::unwrap_used, reason = "what the tests of Kubernetes need of it besides")]
mod answers;
mod bench;
mod cluster;
mod compute;
mod containers;
mod driver;
mod egress;
mod fresh;
mod launch;
mod life;
mod machine;
mod mcp;
mod memory;
mod network;
#[path = "../../adapters/kubernetes/tests/cluster/node.rs"]
#[allow(dead_code, clippy::unwrap_used, reason = "what the tests of Kubernetes need of it besides")]
#[allow(clippy::disallowed_methods, reason = "a node runs programs")]
mod node;
#[path = "../../adapters/kubernetes/tests/cluster/objects.rs"]
#[allow(dead_code, clippy::unwrap_used, reason = "what the tests of Kubernetes need of it besides")]
mod objects;
mod packages;
mod parked;
mod peers;
mod phases;
#[path = "../../adapters/kubernetes/tests/cluster/pools.rs"]
#[allow(dead_code, clippy::unwrap_used, reason = "what the tests of Kubernetes need of it besides")]
mod pools;
mod process;
mod profile;
mod project;
mod runs;
#[path = "../../adapters/kubernetes/tests/cluster/server.rs"]
#[allow(dead_code, clippy::unwrap_used, reason = "what the tests of Kubernetes need of it besides")]
mod server;
mod shell;
mod state;
mod stats;
#[path = "../../adapters/kubernetes/tests/cluster/streams.rs"]
#[allow(dead_code, clippy::unwrap_used, reason = "what the tests of Kubernetes need of it besides")]
mod streams;
mod table;
mod timeout;
mod tools;
mod turns;
mod warm;

use std::io::Write as _;
use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};
use clap::{Parser, ValueEnum};
use serde_json::json;

use crate::bench::Bench;
use crate::machine::Machine;
use crate::peers::{Peer, Peers};
use crate::table::Row;

/// Measures Dormouse beside its alternatives and prints one table.
#[derive(Parser)]
struct Arguments {
    /// Only rows whose id contains this word (fresh, ready, throughput, package, warm, process, compute, idle, mcp, timeout, tools, runs, state, life, shell, egress, docker, cluster, python, ...)
    #[arg(long, value_name = "WORD")]
    only: Option<String>,
    /// Rounds in which ours and the peer take turns; slow rows take a part of them
    #[arg(long, value_name = "N", default_value_t = 40)]
    rounds: usize,
    /// Also write the rows as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Measure ours alone
    #[arg(long)]
    no_peers: bool,
    /// Install the peers (pip, npm) into the cache folder first
    #[arg(long)]
    install_peers: bool,
    /// Install the packages for Python and Node.js from this folder, which `cargo xtask dist` made, and measure the rows `package`, which are left out otherwise unless --only names them
    #[arg(long, value_name = "DIR")]
    packages: Option<PathBuf>,
    /// Print where the time of a run goes, instead of the table
    #[arg(long, value_name = "WHAT")]
    profile: Option<Profile>,
    /// Print what an idle instance holds, in KiB, and end: the measuring process of the rows `idle`
    #[arg(long, value_name = "LANGUAGE", hide = true)]
    idle: Option<String>,
    /// Print what a fork holds, in KiB, and end: the measuring process of the row `life-fork-memory`
    #[arg(long, hide = true)]
    forked: bool,
    /// Print when a process passed through its phases, and end: the measured process of `--profile process`
    #[arg(long, value_name = "LANGUAGE", hide = true)]
    phases: Option<String>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Profile {
    /// A fresh instance, an evaluation, a drop.
    Fresh,
    /// A whole process.
    Process,
}

/// Measures a group's rows.
type Group = fn(&Bench) -> Result<Vec<Row>>;

/// The groups of rows, in the order of the table.
const GROUPS: [(&str, Group); 19] = [
    ("fresh, ready, throughput", fresh::rows),
    ("package", packages::rows),
    ("warm", warm::rows),
    ("process", process::rows),
    ("mcp", mcp::rows),
    ("idle", memory::rows),
    ("timeout", timeout::rows),
    ("tools", tools::rows),
    ("runs", runs::rows),
    ("project", project::rows),
    ("state", state::rows),
    ("life", life::rows),
    ("life", parked::rows),
    ("shell", shell::rows),
    ("egress", egress::rows),
    ("egress", network::rows),
    ("docker", containers::rows),
    ("cluster", cluster::rows),
    ("compute", compute::rows),
];

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    if let Some(language) = &arguments.phases {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().context("no runtime")?;
        return say(&serde_json::to_string(&runtime.block_on(phases::pass(language))?)?);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("no runtime")?;
    if arguments.forked {
        let kib = runtime.block_on(parked::measure())?;
        return say(&format!("{kib:.1}"));
    }
    if let Some(language) = &arguments.idle {
        let kib = runtime.block_on(memory::measure(language))?;
        return say(&format!("{kib:.1}"));
    }
    let cache = dormouse::wasm::Settings::default_cache()?;
    let peers = Peers::new(&cache, !arguments.no_peers);
    if arguments.install_peers {
        peers.install()?;
    }
    if let Some(folder) = &arguments.packages {
        peers.install_packages(folder)?;
    }
    let packages = arguments.packages.is_some()
        || arguments.only.as_ref().is_some_and(|word| word.starts_with("package"));
    let bench =
        Bench { rounds: arguments.rounds.max(1), peers, packages, runtime, only: arguments.only.clone() };
    match arguments.profile {
        Some(Profile::Fresh) => say(&profile::fresh(&bench)?),
        Some(Profile::Process) => say(&phases::process(&bench)?),
        None => measure(&bench, arguments.json),
    }
}

fn measure(bench: &Bench, json: Option<PathBuf>) -> Result<()> {
    let mut machine = Machine::look();
    let peers: Vec<String> = match bench.peers.wanted() {
        true => {
            let also = Peer::OF_PACKAGES.into_iter().filter(|_| bench.packages);
            Peer::ALL.into_iter().chain(also).map(|peer| bench.peers.describe(peer)).collect()
        }
        false => vec!["peers left out (--no-peers)".into()],
    };
    let mut rows = Vec::new();
    for (name, group) in GROUPS {
        rows.extend(group(bench).with_context(|| format!("the rows {name} cannot be measured"))?);
    }
    machine.end();
    let Machine { processor, cores, kernel, load: [first, last] } = &machine;
    say(&format!(
        "{processor}, {cores} cores, Linux {kernel}, load {first} to {last}; {} rounds, taking turns with the peers\n{}\n\n{}",
        bench.rounds,
        peers.join("; "),
        table::render(&rows)
    ))?;
    if let Some(file) = json {
        let all = json!({"machine": machine, "rounds": bench.rounds, "peers": peers, "rows": rows});
        std::fs::write(&file, serde_json::to_string_pretty(&all)?)
            .context("the JSON file cannot be written")?;
    }
    let missing = rows.iter().filter(|row| !row.is_measured()).count();
    ensure!(missing == 0, "{missing} of {} rows could not be measured; they say why", rows.len());
    Ok(())
}

fn say(text: &str) -> Result<()> {
    writeln!(std::io::stdout(), "{}", text.trim_end()).context("standard output cannot be written")
}
