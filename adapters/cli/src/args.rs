//! The command line as it is written: raw text, no meaning yet. [`settings`](crate::settings) gives it one.

mod capacity;
mod clients;
mod connect;
mod dashes;
mod docker;
mod eval;
mod git;
mod image;
mod model;
mod net;
mod network;
mod packages;
mod quota;
mod runs;
mod sandbox;
mod scenario;
mod state;
mod versions;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{Args, CommandFactory as _, Parser, Subcommand};
use clap_complete::Shell;

use crate::broker::Task;

pub(crate) use self::capacity::CapacityArgs;
pub(crate) use self::clients::{Client, ClientArgs, ClientCommand, InstallArgs};
pub(crate) use self::connect::ConnectArgs;
pub(crate) use self::docker::DockerArgs;
pub(crate) use self::eval::{BoundArgs, EvalArgs};
pub(crate) use self::git::GitArgs;
pub(crate) use self::image::ImageArgs;
pub(crate) use self::model::ModelArgs;
pub(crate) use self::net::{NetCheckArgs, NetCommand, NetLearnArgs};
pub(crate) use self::network::NetworkArgs;
pub(crate) use self::packages::PackageArgs;
pub(crate) use self::quota::QuotaArgs;
pub(crate) use self::runs::{AnswerArgs, RunsCommand, StartArgs};
pub(crate) use self::sandbox::{ExecArgs, GivenArgs, SandboxCommand, SkillArgs, StateArgs};
pub(crate) use self::scenario::{
    CheckArgs, SandboxArgs, ScenarioArgs, ScenarioCommand, ScenarioFile, SourceArgs, scenario_tools,
};
pub(crate) use self::state::{FolderArgs, StateCommand};

const AFTER: &str = "\
Exit status: 0 value, 1 exception or failure, 2 wrong usage, 124 time limit, 137 another limit,
otherwise the status that the program itself chose.

Environment:
  DORMOUSE_LOG         what to log to standard error, such as `info` or `dormouse_wasm=debug`
  DORMOUSE_AUDIT_FILE  where each option that lifts a restriction is recorded (--unsafe, --writes, --allow-git, ...)
                       [default: dormouse/audit.jsonl in $XDG_STATE_HOME, else in ~/.local/state]
  NO_COLOR             no colours";

const SANDBOX_EXAMPLES: &str = "\
Examples:
  dormouse sandbox create work
  dormouse sandbox eval work 'x = 41'
  dormouse sandbox eval work 'x + 1'
  dormouse sandbox checkpoint work
  dormouse sandbox fork work --count 3
  dormouse sandbox rm work

A sandbox keeps its variables and files from one command to the next; no process runs in between.";

const REPL_EXAMPLES: &str = "\
Examples:
  dormouse repl
  dormouse repl -l js
  dormouse repl work

Lines that begin with a dot are commands; `.help` lists them. Ctrl-C ends a run, Ctrl-D exits.
An empty line ends a block of Python. Without a name the sandbox is discarded at the end.";
const SERVE_EXAMPLES: &str = "\
Examples:
  dormouse serve
  dormouse serve --listen 127.0.0.1:0 --state-dir ./state --tools all
  dormouse serve --listen 0.0.0.0:3008 --token-file tokens --allowed-host box.example

The server prints its address to standard output once it listens. SIGTERM, SIGINT and SIGHUP shut it
down (SIGHUP not if the server was started with it ignored, as by nohup): calls in progress get 10 s,
then every sandbox is saved.

Each line of a token file is `OWNER TOKEN` or `OWNER sha256:HEX`; nobody but its owner may read it.";

const SCENARIO_EXAMPLES: &str = "\
Examples:
  dormouse scenario run repair.yaml
  dormouse scenario run arena.yaml scenarios/*.yaml --out report --jobs 2
  dormouse scenario run arena.yaml --docker-image codegen:latest
  dormouse scenario run arena.yaml --source podman='python3 podman_source.py'
  dormouse scenario check repair.yaml
  dormouse scenario schema scenario > scenario.schema.json

Exit status: 0 all gates held, 1 one did not, 2 a file is wrong, 130 cancelled.";

/// Evaluate untrusted code in a sandbox that starts in under a millisecond
#[derive(Debug, Parser)]
#[command(name = "dormouse", version, after_help = AFTER)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
    #[command(subcommand)]
    pub(crate) command: Command,
}

impl Arguments {
    /// Reads a command line, the program's name first.
    ///
    /// # Errors
    /// What is wrong with it, or the help that it asks for.
    pub(crate) fn read(words: impl IntoIterator<Item = OsString>) -> Result<Self, clap::Error> {
        let words: Vec<OsString> = words.into_iter().collect();
        let is_long = words.iter().any(|word| word == "--version");
        let mut read = Self::try_parse_from(dashes::marked(words)).map_err(|error| match error.kind() {
            ErrorKind::DisplayVersion if is_long => versions::shown(Self::command()).unwrap_or(error),
            _ => error,
        })?;
        if let Command::Eval(arguments) = &mut read.command {
            arguments.code.iter_mut().chain(&mut arguments.arguments).for_each(dashes::unmarked);
        }
        Ok(read)
    }
}

/// Where guests are.
#[derive(Args, Debug)]
pub(crate) struct PlaceArgs {
    /// Folder of guests and compiled artifacts [default: ~/.cache/dormouse]
    #[arg(long, global = true, value_name = "DIR", env = "DORMOUSE_CACHE_DIR", hide_env_values = true)]
    pub(crate) cache_dir: Option<PathBuf>,
    /// Manifest of a further language (docs/guests.md); can be repeated
    #[arg(long = "guest", global = true, value_name = "FILE")]
    pub(crate) manifests: Vec<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Evaluate a snippet of Python, JavaScript, TypeScript or PHP
    #[command(after_help = eval::EXAMPLES)]
    Eval(EvalArgs),
    /// Create, use, save, fork and destroy persistent sandboxes
    #[command(after_help = SANDBOX_EXAMPLES)]
    Sandbox {
        #[command(flatten)]
        state: StateArgs,
        #[command(subcommand)]
        command: SandboxCommand,
    },
    /// Start, look after, answer and end programs that outlive their call
    #[command(after_help = runs::EXAMPLES)]
    Runs {
        #[command(flatten)]
        state: StateArgs,
        #[command(subcommand)]
        command: RunsCommand,
    },
    /// Inspect the state folder, and bring it to this release
    #[command(after_help = state::EXAMPLES)]
    State {
        #[command(flatten)]
        folder: FolderArgs,
        #[command(subcommand)]
        command: StateCommand,
    },
    /// Evaluate code line by line; variables are kept
    #[command(after_help = REPL_EXAMPLES)]
    Repl(ReplArgs),
    /// Run a WebAssembly program: a wasi:cli command component or a preview1 module
    Run(RunArgs),
    /// Serve the tools over MCP on standard input and output, or tell a client of this server
    #[command(args_conflicts_with_subcommands = true)]
    Mcp {
        #[command(flatten)]
        arguments: McpArgs,
        #[command(subcommand)]
        command: Option<ClientCommand>,
    },
    /// Serve the tools over HTTP: MCP at /mcp, REST at /api, its OpenAPI document at /openapi.json
    #[command(after_help = SERVE_EXAMPLES)]
    Serve(ServeArgs),
    /// Run scenarios: turns that call the tools of MCP sources, and gates that must hold
    #[command(after_help = SCENARIO_EXAMPLES)]
    Scenario {
        #[command(subcommand)]
        command: ScenarioCommand,
    },
    /// Say what the rules of the network allow
    #[command(after_help = net::EXAMPLES)]
    Net {
        #[command(subcommand)]
        command: NetCommand,
    },
    /// List, locate and build the interpreters
    Guests {
        #[command(subcommand)]
        command: GuestsCommand,
    },
    /// Check what works on this machine, and say why the rest does not
    Doctor {
        /// Print one line of JSON
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        docker: DockerArgs,
    },
    /// A helper of a confined server, started only by that server
    #[command(hide = true)]
    Broker {
        #[command(subcommand)]
        task: Task,
    },
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Ask a server on this machine whether all is well with it
    #[command(hide = true)]
    Health {
        /// Its address and port
        #[arg(default_value = "127.0.0.1:3008")]
        address: std::net::SocketAddr,
    },
    /// Write the manual pages of all commands into a folder
    #[command(hide = true)]
    Manual {
        /// The folder
        folder: PathBuf,
    },
}

#[derive(Args, Debug)]
pub(crate) struct ReplArgs {
    /// Name of the sandbox to work in, created if it does not exist [default: a temporary one]
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Language
    #[arg(short, long, value_name = "LANG", default_value = "python")]
    pub(crate) language: String,
    /// Wall-clock time of each run, such as 500ms or 10s, at most 60s [default: 5s]
    #[arg(short, long, value_name = "TIME")]
    pub(crate) timeout: Option<String>,
    /// State folder, which holds the persistent sandboxes [default: ~/.local/share/dormouse]
    #[arg(long, value_name = "DIR", env = "DORMOUSE_STATE_DIR", hide_env_values = true)]
    pub(crate) state_dir: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) docker: DockerArgs,
}

#[derive(Args, Debug)]
pub(crate) struct RunArgs {
    /// The program
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Arguments of the program; put `--` before those that begin with `-`
    #[arg(value_name = "ARGS")]
    pub(crate) arguments: Vec<String>,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
    #[command(flatten)]
    pub(crate) grants: GrantArgs,
    #[command(flatten)]
    pub(crate) network: NetworkArgs,
    /// Print the whole outcome as one line of JSON
    #[arg(long, conflicts_with = "verbose", help_heading = "Output")]
    pub(crate) json: bool,
    /// Print time and memory even if the output is not a terminal
    #[arg(short, long, help_heading = "Output")]
    pub(crate) verbose: bool,
}

/// What a run may use.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Limits")]
pub(crate) struct LimitArgs {
    /// Wall-clock time, such as 500ms or 10s, at most 60s [default: 5s]
    #[arg(short, long, value_name = "TIME")]
    pub(crate) timeout: Option<String>,
    /// Memory, 16MiB to 512MiB, and at least what the language's interpreter needs [default: 128MiB]
    #[arg(short, long, value_name = "SIZE")]
    pub(crate) memory: Option<String>,
    /// Limit on executed operations: deterministic, but slower [default: off]
    #[arg(long, value_name = "N")]
    pub(crate) fuel: Option<u64>,
    /// Bytes kept of each output stream, at most 8MiB [default: 16KiB]
    #[arg(long, value_name = "SIZE")]
    pub(crate) output: Option<String>,
    /// Bytes written to files, at most 1GiB [default: 64MiB]
    #[arg(long, value_name = "SIZE")]
    pub(crate) disk: Option<String>,
}

/// What a run may touch.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Grants")]
pub(crate) struct GrantArgs {
    /// Mount a host folder into the sandbox; at `/` it is the root; can be repeated
    #[arg(long = "mount", value_name = "HOST:GUEST[:rw]")]
    pub(crate) mounts: Vec<String>,
    /// Run inside a project: visible as /project, its packages importable, container() from its bootstrap file; without --writes,
    /// changes are visible to this run only and then discarded
    #[arg(long, value_name = "DIR")]
    pub(crate) project: Option<PathBuf>,
    /// The project's bootstrap file, relative to the project [default: .dormouse/bootstrap.*, or a framework's]
    #[arg(long, value_name = "FILE")]
    pub(crate) bootstrap: Option<String>,
    /// Allow writes to the project and to mounts that end in `:rw`
    #[arg(long)]
    pub(crate) writes: bool,
    /// Set an environment variable; the host's own are never passed on; can be repeated, and the last value of a name counts
    #[arg(short, long = "env", value_name = "NAME=VALUE")]
    pub(crate) environment: Vec<String>,
    /// Working directory inside the sandbox [default: /project, else /tmp for snippets and / for programs]
    #[arg(long, value_name = "PATH")]
    pub(crate) cwd: Option<String>,
    /// Standard input of the program: a file, or `-` to pass on this command's own [default: empty]
    #[arg(long, value_name = "FILE")]
    pub(crate) stdin: Option<PathBuf>,
    /// Fix all randomness, so that the same code gives the same answer
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Freeze the clock at a time, such as 2026-01-31T12:00:00Z
    #[arg(long, value_name = "TIME")]
    pub(crate) clock: Option<String>,
}

/// What no call can go beyond.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct CeilingArgs {
    /// Forbid snippets to evaluate text as code: eval, exec, compile, new Function and the like
    #[arg(long)]
    pub(crate) no_eval: bool,
    /// The longest time limit that a call can request [default: 60s]
    #[arg(long, value_name = "TIME")]
    pub(crate) timeout_max: Option<String>,
    /// The most memory of a run, and of each interpreter of a sandbox, even of one that was created with more [default: 512MiB]
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory_max: Option<String>,
}

#[derive(Args, Debug, Default)]
pub(crate) struct McpArgs {
    /// The set of tools to offer: `sandbox` (sandbox_eval and its siblings), `eval` (framework__eval: PHP in the project),
    /// `sprites` (sprite_create and its siblings), `rlm` (rlm_exec and its siblings), `codegen` (Read, Edit, Bash, run_tests), `code`
    /// (sandbox_code, whose programs call the tools of connected servers); or several, separated by commas, such as `sprites,rlm`
    #[arg(long, value_name = "LIST", default_value = "sandbox")]
    pub(crate) profile: String,
    /// Mount a host folder into every run; can be repeated
    #[arg(long = "mount", value_name = "HOST:GUEST[:rw]")]
    pub(crate) mounts: Vec<String>,
    #[command(flatten)]
    pub(crate) skills: SkillArgs,
    /// Run every call that names no sandbox inside a project: visible as /project, its packages importable, container() from its
    /// bootstrap file
    #[arg(long, value_name = "DIR")]
    pub(crate) project: Option<PathBuf>,
    /// The project's bootstrap file, relative to the project [default: .dormouse/bootstrap.*, or a framework's]
    #[arg(long, value_name = "FILE")]
    pub(crate) bootstrap: Option<String>,
    /// Working directory of runs in a fresh sandbox [default: /project if there is a project, else /tmp]
    #[arg(long, value_name = "PATH")]
    pub(crate) cwd: Option<String>,
    /// Let calls request writes to the project and to mounts that end in `:rw`
    #[arg(long)]
    pub(crate) allow_writes: bool,
    #[command(flatten)]
    pub(crate) ceilings: CeilingArgs,
    /// Warm instances to keep ready for each language that has been used
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) ready: u16,
    /// State folder, which turns persistent sandboxes on; without it, `mcp` has none in the profile `sandbox`, while the other
    /// profiles and `serve` use ~/.local/share/dormouse
    #[arg(long, value_name = "DIR", env = "DORMOUSE_STATE_DIR", hide_env_values = true)]
    pub(crate) state_dir: Option<PathBuf>,
    /// Session key of the sandbox that the profiles `rlm` and `codegen` work in [default: the profile's name; for `mcp` followed
    /// by a hash of the folder that it was started in]
    #[arg(long, value_name = "KEY")]
    pub(crate) session_key: Option<String>,
    /// Tools to offer: `usual`, `all`, or names separated by commas
    #[arg(long, value_name = "LIST", default_value = "usual")]
    pub(crate) tools: String,
    /// Let tools read host files below this folder (load, upload); can be repeated. `mcp` also lets them read below the folder
    /// that it was started in if its client lists that folder as a root
    #[arg(long = "root", value_name = "DIR")]
    pub(crate) roots: Vec<PathBuf>,
    /// Let tools write downloads from sandboxes below this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) downloads: Option<PathBuf>,
    /// Refuse to start unless the kernel can deny this process everything that it does not need: files that were not named,
    /// connections, other programs [default: confine it as far as the kernel can]
    #[arg(long)]
    pub(crate) confine: bool,
    /// Do not confine this process: code that escapes from a sandbox can then do whatever this user can
    #[arg(long, conflicts_with = "confine")]
    pub(crate) no_confine: bool,
    #[command(flatten)]
    pub(crate) capacity: CapacityArgs,
    #[command(flatten)]
    pub(crate) quota: QuotaArgs,
    #[command(flatten)]
    pub(crate) image: ImageArgs,
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    #[command(flatten)]
    pub(crate) connect: ConnectArgs,
    #[command(flatten)]
    pub(crate) network: NetworkArgs,
    #[command(flatten)]
    pub(crate) packages: PackageArgs,
    #[command(flatten)]
    pub(crate) git: GitArgs,
    #[command(flatten)]
    pub(crate) docker: DockerArgs,
}

#[derive(Args, Debug)]
pub(crate) struct ServeArgs {
    /// Address and port to listen on; port 0 picks a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:3008")]
    pub(crate) listen: String,
    /// Token file: the token of a caller decides which owner's sandboxes it sees; required to listen beyond this machine
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Another host name by which the server may be called, with or without a port; can be repeated
    #[arg(long = "allowed-host", value_name = "NAME")]
    pub(crate) allowed_hosts: Vec<String>,
    /// A site whose pages may call the server, such as `https://app.example`; can be repeated
    #[arg(long = "allowed-origin", value_name = "ORIGIN")]
    pub(crate) allowed_origins: Vec<String>,
    #[command(flatten)]
    pub(crate) tools: McpArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum GuestsCommand {
    /// List the languages and whether they can run
    List {
        /// Print one line of JSON
        #[arg(long)]
        json: bool,
    },
    /// Print where the component of a language lies
    Path {
        /// The language
        #[arg(value_name = "LANG")]
        language: String,
    },
    /// Build guests in a source checkout; those that are up to date are left alone
    Build {
        /// The languages; none: all
        #[arg(value_name = "LANG")]
        languages: Vec<String>,
        /// The checkout [default: the one around the current folder]
        #[arg(long, value_name = "DIR")]
        source: Option<PathBuf>,
    },
}
