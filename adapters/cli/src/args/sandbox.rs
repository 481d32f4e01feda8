//! The command line of sandboxes that last.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{ConnectArgs, DockerArgs, GitArgs, ImageArgs, NetworkArgs, QuotaArgs};
use crate::settings::units;

/// Where sandboxes are kept.
#[derive(Args, Debug, Default)]
pub(crate) struct StateArgs {
    /// State folder, which holds the persistent sandboxes [default: ~/.local/share/dormouse]
    #[arg(long, global = true, value_name = "DIR", env = "DORMOUSE_STATE_DIR", hide_env_values = true)]
    pub(crate) state_dir: Option<PathBuf>,
    /// Print the whole answer as one line of JSON
    #[arg(long = "json", global = true)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) given: GivenArgs,
    #[command(flatten)]
    pub(crate) connect: ConnectArgs,
    #[command(flatten)]
    pub(crate) network: NetworkArgs,
    #[command(flatten)]
    pub(crate) quota: QuotaArgs,
    #[command(flatten)]
    pub(crate) image: ImageArgs,
    #[command(flatten)]
    pub(crate) git: GitArgs,
    #[command(flatten)]
    pub(crate) docker: DockerArgs,
}

/// What sandboxes are given of the host, by this command: nothing is remembered from the one before.
#[derive(Args, Debug, Default)]
pub(crate) struct GivenArgs {
    /// Mount a host folder, in a sandbox that is being created or was created with a mount at that path; can be repeated
    #[arg(long = "mount", global = true, value_name = "HOST:GUEST[:rw]")]
    pub(crate) mounts: Vec<String>,
    /// Allow writes to mounts that end in `:rw`
    #[arg(long, global = true)]
    pub(crate) allow_writes: bool,
    #[command(flatten)]
    pub(crate) skills: SkillArgs,
    /// The most memory of an interpreter [default: 512MiB]
    #[arg(long, global = true, value_name = "SIZE")]
    pub(crate) memory_max: Option<String>,
}

/// Skills that sandboxes see which are made with them.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct SkillArgs {
    /// Mount a skill, a folder with a SKILL.md, read-only at /skills/NAME and /workspace/skills/NAME; can be repeated
    #[arg(long = "skill", global = true, value_name = "DIR")]
    pub(crate) skill: Vec<PathBuf>,
    /// Mount every skill in a folder; can be repeated
    #[arg(long = "skills", global = true, value_name = "DIR")]
    pub(crate) skills: Vec<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SandboxCommand {
    /// Create a sandbox
    Create {
        /// Its name [default: a generated one]
        #[arg(value_name = "NAME")]
        name: Option<String>,
        /// A key of your own: the same key gives the same sandbox
        #[arg(long, value_name = "KEY")]
        session_key: Option<String>,
        /// A git repository to clone into /workspace
        #[arg(long, value_name = "URL")]
        repo: Option<String>,
        /// The branch to clone [default: the repository's own]
        #[arg(long, value_name = "NAME", requires = "repo")]
        branch: Option<String>,
        /// Create it from this image: a container image that --docker-image allows, or one that --wasm-image names, with its
        /// files and variables
        #[arg(long, value_name = "IMAGE")]
        image: Option<String>,
        /// Fall back to wasm if the container is unavailable
        #[arg(long)]
        fallback: bool,
        /// When servers save the effects of its calls: `delayed`, a moment after the answer, or `call`, before it
        #[arg(long, value_name = "WHEN", value_parser = ["delayed", "call"])]
        durability: Option<String>,
        #[command(flatten)]
        asked: Box<AskedArgs>,
    },
    /// List the sandboxes, stopped ones included
    List,
    /// Show a sandbox
    Show {
        /// Its name or id
        name: String,
    },
    /// Run a snippet in a sandbox, which is woken before and saved afterwards
    Eval {
        /// Its name or id
        name: String,
        /// The code; `-` reads it from standard input
        code: String,
        /// Language
        #[arg(short, long, value_name = "LANG", default_value = "python")]
        language: String,
        /// Wall-clock time, such as 500ms or 10s, at most 60s [default: 5s]
        #[arg(short, long, value_name = "TIME")]
        timeout: Option<String>,
        /// Print a null value (None, null or NULL) even if the output is not a terminal
        #[arg(long)]
        show_null: bool,
    },
    /// Run a shell command in a sandbox, and exit with its status
    Exec(ExecArgs),
    /// List the files of a sandbox
    Files {
        /// Its name or id
        name: String,
        /// The folder
        #[arg(default_value = "/workspace")]
        path: String,
        /// Include everything below
        #[arg(short, long)]
        recursive: bool,
    },
    /// Copy a file or a folder into or out of a sandbox: one of the two paths is NAME:/PATH
    Cp {
        /// The source
        from: String,
        /// The destination; in an existing folder the copy keeps its name
        to: String,
    },
    /// Create a folder in a sandbox, and its parents
    Mkdir {
        /// Its name or id
        name: String,
        /// The folder
        path: String,
    },
    /// Rename or move a file or folder in a sandbox
    Mv {
        /// Its name or id
        name: String,
        /// The file or folder
        path: String,
        /// Its new path
        to: String,
        /// Replace a file or an empty folder that has that path
        #[arg(long)]
        replace: bool,
    },
    /// Remove a file or an empty folder from a sandbox
    RmFile {
        /// Its name or id
        name: String,
        /// The file or folder
        path: String,
        /// Remove a folder with everything in it
        #[arg(short, long)]
        recursive: bool,
    },
    /// Save the state of a sandbox as a checkpoint
    Checkpoint {
        /// Its name or id
        name: String,
        /// Label of the checkpoint
        #[arg(long, value_name = "LABEL")]
        label: Option<String>,
        /// A note about the checkpoint
        #[arg(long, value_name = "TEXT")]
        note: Option<String>,
    },
    /// List the checkpoints of a sandbox: id, time, bytes, label, note
    Checkpoints {
        /// Its name or id
        name: String,
    },
    /// Change the label or note of a checkpoint; an empty text removes it
    DescribeCheckpoint {
        /// Its name or id
        name: String,
        /// The checkpoint's id or label; a label means the latest checkpoint that has it
        checkpoint: String,
        /// The new label
        #[arg(long, value_name = "LABEL", required_unless_present = "note")]
        label: Option<String>,
        /// A note about the checkpoint
        #[arg(long, value_name = "TEXT")]
        note: Option<String>,
    },
    /// Remove a checkpoint permanently
    RmCheckpoint {
        /// Its name or id
        name: String,
        /// The checkpoint's id or label; a label means the latest checkpoint that has it
        checkpoint: String,
    },
    /// Restore a checkpoint; later changes are lost
    Restore {
        /// Its name or id
        name: String,
        /// The checkpoint's id or label
        checkpoint: String,
    },
    /// Create sandboxes that start from the state of this one
    Fork {
        /// Its name or id
        name: String,
        /// How many
        #[arg(short = 'n', long, default_value_t = 1)]
        count: u32,
        /// Start from this checkpoint instead: its id or label
        #[arg(long, value_name = "ID")]
        checkpoint: Option<String>,
    },
    /// List the variables of one language
    Vars {
        /// Its name or id
        name: String,
        /// Language
        #[arg(short, long, value_name = "LANG", default_value = "python")]
        language: String,
    },
    /// Replace the interpreters by fresh ones; the files are kept
    Reset {
        /// Its name or id
        name: String,
    },
    /// Stop a sandbox; any call wakes it
    Stop {
        /// Its name or id
        name: String,
    },
    /// Set a stopped sandbox back to running
    Resume {
        /// Its name or id
        name: String,
    },
    /// Destroy a sandbox permanently, with its files and checkpoints
    #[command(visible_aliases = ["delete", "destroy"])]
    Rm {
        /// Its name or id
        name: String,
    },
    /// Free the disk space of removed data; other commands do this by themselves if there is much, for at most two seconds
    Sweep,
}

/// What a sandbox is to be, where that is not the operator's default.
#[derive(Args, Debug)]
pub(crate) struct AskedArgs {
    /// Memory of each interpreter, such as 128MiB; for a container, its total memory
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    pub(crate) memory: Option<u64>,
    /// Disk space for its files, such as 100MiB
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    pub(crate) disk: Option<u64>,
    /// Number of files, folders and links that it may have
    #[arg(long, value_name = "N")]
    pub(crate) files: Option<u64>,
    /// Processor time in cores, such as 0.5; without a container at most 1
    #[arg(long, value_name = "CORES", value_parser = thousandths)]
    pub(crate) cpu: Option<u64>,
    /// Number of processes and threads in a container; without one, of concurrent command lines and programs
    #[arg(long, value_name = "N")]
    pub(crate) processes: Option<u64>,
    /// Time without calls after which a running server stops it; a call wakes it
    #[arg(long, value_name = "TIME", value_parser = milliseconds, visible_alias = "idle-timeout")]
    pub(crate) idle: Option<u64>,
    /// Time after its stop when a running server destroys it
    #[arg(long, value_name = "TIME", value_parser = milliseconds)]
    pub(crate) retention: Option<u64>,
    /// An environment variable of all its runs; can be repeated, and the last value of a name counts
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) env: Vec<String>,
    /// What is kept: `session`, variables and files (in a container only Python's variables, as far as they can be pickled), or
    /// `files` [default: session; for a container files]
    #[arg(long, value_name = "WHAT", value_parser = ["session", "files"])]
    pub(crate) persistence: Option<String>,
}

fn bytes(text: &str) -> Result<u64, String> {
    units::size("SIZE", text).map_err(|error| told(&error))
}

fn milliseconds(text: &str) -> Result<u64, String> {
    let time = units::duration("TIME", text).map_err(|error| told(&error))?;
    u64::try_from(time.as_millis()).map_err(|_| "it is too long".into())
}

fn thousandths(text: &str) -> Result<u64, String> {
    units::thousandths("CORES", text).map_err(|error| told(&error))
}

fn told(error: &dormouse::Error) -> String {
    format!("{}; {}", error.message(), error.hint().unwrap_or_default())
}

/// A command line.
#[derive(Args, Debug)]
pub(crate) struct ExecArgs {
    /// The sandbox's name or id
    pub(crate) name: String,
    /// The command line; several words are a program and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) command: Vec<String>,
    /// Wall-clock time, such as 500ms or 2m, at most 10m [default: 30s]
    #[arg(short, long, value_name = "TIME")]
    pub(crate) timeout: Option<String>,
    /// Working directory, for this call only
    #[arg(long, value_name = "FOLDER")]
    pub(crate) cwd: Option<String>,
    #[command(flatten)]
    pub(crate) packages: super::PackageArgs,
    /// Read standard input to its end and pass it on; without this option it is not read
    #[arg(short = 'i', long)]
    pub(crate) stdin: bool,
}
