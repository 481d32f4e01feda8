//! The command line of sandboxes that last.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{DockerArgs, GitArgs, ImageArgs, QuotaArgs};
use crate::settings::units;

/// Where sandboxes are kept.
#[derive(Args, Debug, Default)]
pub(crate) struct StateArgs {
    /// Folder in which sandboxes are kept [default: ~/.local/share/dormouse]
    #[arg(long, global = true, value_name = "DIR", env = "DORMOUSE_STATE_DIR", hide_env_values = true)]
    pub(crate) state_dir: Option<PathBuf>,
    /// Print the whole answer as one line of JSON
    #[arg(long = "json", global = true)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) given: GivenArgs,
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
    /// Show a folder of the host, in a sandbox that is made or was made with a mount there; can be repeated
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
    /// Show a skill, a folder with a SKILL.md, read-only at /skills/NAME and /workspace/skills/NAME; can be repeated
    #[arg(long = "skill", global = true, value_name = "DIR")]
    pub(crate) skill: Vec<PathBuf>,
    /// Show every skill in a folder; can be repeated
    #[arg(long = "skills", global = true, value_name = "DIR")]
    pub(crate) skills: Vec<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SandboxCommand {
    /// Make a sandbox
    Create {
        /// Its name [default: one is made up]
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
        /// Make it from this image: a container of one that --docker-image allows, or with the files and variables of one that
        /// --wasm-image names
        #[arg(long, value_name = "IMAGE")]
        image: Option<String>,
        /// Make it on wasm when the container cannot be had
        #[arg(long)]
        fallback: bool,
        /// When servers save what its calls do: `delayed`, a moment after the answer, or `call`, before it
        #[arg(long, value_name = "WHEN", value_parser = ["delayed", "call"])]
        durability: Option<String>,
        #[command(flatten)]
        asked: Box<AskedArgs>,
    },
    /// List the sandboxes, stopped ones as well
    List,
    /// Show one
    Show {
        /// Its name or id
        name: String,
    },
    /// Run a snippet in a sandbox; it is woken, and saved afterwards
    Eval {
        /// Its name or id
        name: String,
        /// The code; `-`: read it from standard input
        code: String,
        /// Language
        #[arg(short, long, value_name = "LANG", default_value = "python")]
        language: String,
        /// Wall-clock time, such as 500ms or 10s, at most 60s [default: 5s]
        #[arg(short, long, value_name = "TIME")]
        timeout: Option<String>,
        /// Print a null value, too, when the output is no terminal: None, null or NULL
        #[arg(long)]
        show_null: bool,
    },
    /// Run a shell command in a sandbox, with these streams and its exit status
    Exec(ExecArgs),
    /// List its files
    Files {
        /// Its name or id
        name: String,
        /// The folder
        #[arg(default_value = "/workspace")]
        path: String,
        /// What lies below as well
        #[arg(short, long)]
        recursive: bool,
    },
    /// Copy a file or a folder out of or into a sandbox: one of the two is NAME:/PATH
    Cp {
        /// From where
        from: String,
        /// To where; into a folder it goes by its own name
        to: String,
    },
    /// Make a folder in it, and those above
    Mkdir {
        /// Its name or id
        name: String,
        /// The folder
        path: String,
    },
    /// Rename or move a file or folder in it
    Mv {
        /// Its name or id
        name: String,
        /// The file or folder
        path: String,
        /// Its new path
        to: String,
        /// Take the place of a file or an empty folder that has that path
        #[arg(long)]
        replace: bool,
    },
    /// Remove a file or an empty folder in it
    RmFile {
        /// Its name or id
        name: String,
        /// The file or folder
        path: String,
        /// A folder with all that is in it
        #[arg(short, long)]
        recursive: bool,
    },
    /// Save its state
    Checkpoint {
        /// Its name or id
        name: String,
        /// What to call the checkpoint
        #[arg(long, value_name = "LABEL")]
        label: Option<String>,
        /// What to say of it
        #[arg(long, value_name = "TEXT")]
        note: Option<String>,
    },
    /// List its checkpoints: id, time, bytes, label, note
    Checkpoints {
        /// Its name or id
        name: String,
    },
    /// Give one of its checkpoints another label or note; an empty one removes it
    DescribeCheckpoint {
        /// Its name or id
        name: String,
        /// The checkpoint's id or label; of one label the latest
        checkpoint: String,
        /// What to call it
        #[arg(long, value_name = "LABEL", required_unless_present = "note")]
        label: Option<String>,
        /// What to say of it
        #[arg(long, value_name = "TEXT")]
        note: Option<String>,
    },
    /// Remove one of its checkpoints for good
    RmCheckpoint {
        /// Its name or id
        name: String,
        /// The checkpoint's id or label; of one label the latest
        checkpoint: String,
    },
    /// Put it back to a checkpoint; later changes are gone
    Restore {
        /// Its name or id
        name: String,
        /// The checkpoint's id or label
        checkpoint: String,
    },
    /// Make sandboxes that begin where it is
    Fork {
        /// Its name or id
        name: String,
        /// How many
        #[arg(short = 'n', long, default_value_t = 1)]
        count: u32,
        /// Begin at this checkpoint instead, by its id or label
        #[arg(long, value_name = "ID")]
        checkpoint: Option<String>,
    },
    /// List the variables of a language
    Vars {
        /// Its name or id
        name: String,
        /// Language
        #[arg(short, long, value_name = "LANG", default_value = "python")]
        language: String,
    },
    /// Fresh interpreters; the files stay
    Reset {
        /// Its name or id
        name: String,
    },
    /// Put it away; any call wakes it
    Stop {
        /// Its name or id
        name: String,
    },
    /// Let it take calls again
    Resume {
        /// Its name or id
        name: String,
    },
    /// End it for good, with its files and checkpoints
    #[command(visible_aliases = ["delete", "destroy"])]
    Rm {
        /// Its name or id
        name: String,
    },
    /// Give back to the disk what was removed: other commands do it when there is much, for two seconds at most
    Sweep,
}

/// What a sandbox is to be, where that is not the operator's default.
#[derive(Args, Debug)]
pub(crate) struct AskedArgs {
    /// Memory of each interpreter, such as 128MiB; of a container, all of it
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    pub(crate) memory: Option<u64>,
    /// Room for its files, such as 100MiB
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    pub(crate) disk: Option<u64>,
    /// Files, folders and links that it may have
    #[arg(long, value_name = "N")]
    pub(crate) files: Option<u64>,
    /// Processor time in cores, such as 0.5; without a container one core is the most that there is
    #[arg(long, value_name = "CORES", value_parser = thousandths)]
    pub(crate) cpu: Option<u64>,
    /// Processes and threads of a container; without one, command lines and programs at one time
    #[arg(long, value_name = "N")]
    pub(crate) processes: Option<u64>,
    /// Without calls for this time it is stopped, where a server runs; a call wakes it
    #[arg(long, value_name = "TIME", value_parser = milliseconds, visible_alias = "idle-timeout")]
    pub(crate) idle: Option<u64>,
    /// Stopped for this time it is destroyed, where a server runs
    #[arg(long, value_name = "TIME", value_parser = milliseconds)]
    pub(crate) retention: Option<u64>,
    /// An environment variable of all its runs; can be repeated, and of one name the last counts
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) env: Vec<String>,
    /// What lasts: `session`, variables and files (of a container Python's, as far as they can be pickled), or `files`
    /// [default: session; of a container files]
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
    /// Stop it after this time, such as 500ms, 2m; default 30s, at most 10m
    #[arg(short, long, value_name = "TIME")]
    pub(crate) timeout: Option<String>,
    /// The folder to run it in, for this call alone
    #[arg(long, value_name = "FOLDER")]
    pub(crate) cwd: Option<String>,
    #[command(flatten)]
    pub(crate) packages: super::PackageArgs,
    /// Pass standard input on, to its end; without this it is not read
    #[arg(short = 'i', long)]
    pub(crate) stdin: bool,
}
