//! The command line of runs that outlive their call.

use clap::{Args, Subcommand};

pub(crate) const EXAMPLES: &str = "\
Examples:
  dormouse runs start work -f report.py --connect servers.json
  dormouse runs list
  dormouse runs show run-...
  dormouse runs approve run-... 3 --connect servers.json
  dormouse runs logs run-...

A run waits for tools, for time and for approval without holding memory. It goes on in whatever process comes
next: a server on the same state folder, or `dormouse runs resume`.";

#[derive(Debug, Subcommand)]
pub(crate) enum RunsCommand {
    /// Start a program in a sandbox, which is created if there is none, and follow it to its end
    Start(StartArgs),
    /// List the runs, the newest first
    List,
    /// Show a run, its calls, and what it asks
    Show {
        /// The run
        #[arg(value_name = "RUN")]
        run: String,
    },
    /// Allow a call that a run asks about, and follow the run to its end
    Approve(AnswerArgs),
    /// Deny a call that a run asks about, and follow the run to its end
    Deny(AnswerArgs),
    /// End a run
    Cancel {
        /// The run
        #[arg(value_name = "RUN")]
        run: String,
    },
    /// Print what a run has written, as far as it is kept (the last 64 KiB of each stream)
    Logs {
        /// The run
        #[arg(value_name = "RUN")]
        run: String,
    },
    /// Go on with a run that no process drives, and follow it to its end
    Resume {
        /// The run
        #[arg(value_name = "RUN")]
        run: String,
    },
}

/// What is started.
#[derive(Args, Debug)]
pub(crate) struct StartArgs {
    /// The sandbox, by name
    #[arg(value_name = "SANDBOX")]
    pub(crate) sandbox: String,
    /// The program; `-` reads standard input
    #[arg(value_name = "CODE", required_unless_present = "file")]
    pub(crate) code: Option<String>,
    /// Read the program from a file
    #[arg(short, long, value_name = "FILE", conflicts_with = "code")]
    pub(crate) file: Option<std::path::PathBuf>,
    /// Its language
    #[arg(short, long, value_name = "LANGUAGE", default_value = "python")]
    pub(crate) language: String,
    /// Wall-clock limit of each stretch between two waits [default: 5s]
    #[arg(long, value_name = "TIME")]
    pub(crate) timeout: Option<String>,
    /// Wall-clock time that it may compute, all stretches together
    #[arg(long, value_name = "TIME", default_value = "10m")]
    pub(crate) running: String,
    /// Time from its start to its end, waiting included
    #[arg(long, value_name = "TIME", default_value = "7d")]
    pub(crate) lifetime: String,
    /// How long somebody may take to allow a call; then it is denied
    #[arg(long, value_name = "TIME", default_value = "24h")]
    pub(crate) approval: String,
    /// Calls of tools that it may make
    #[arg(long, value_name = "COUNT", default_value_t = 1_000)]
    pub(crate) calls: u32,
}

/// What is answered.
#[derive(Args, Debug)]
pub(crate) struct AnswerArgs {
    /// The run
    #[arg(value_name = "RUN")]
    pub(crate) run: String,
    /// The number of the call, as `runs show` says it [default: the only one that is asked about]
    #[arg(value_name = "CALL")]
    pub(crate) call: Option<u32>,
    /// What the program is told, when it is denied
    #[arg(long, value_name = "TEXT", default_value = "it was denied")]
    pub(crate) reason: String,
    /// Only answer: whoever drives the run goes on with it
    #[arg(long)]
    pub(crate) no_wait: bool,
}
