//! The command line of `eval`.

use std::path::PathBuf;

use clap::Args;
use dormouse::Bounds;

use super::{ConnectArgs, GrantArgs, LimitArgs, NetworkArgs};

pub(super) const EXAMPLES: &str = "\
Examples:
  dormouse eval '1 + 1'
  dormouse eval -l js '[1, 2, 3].map(x => x * 2)'
  dormouse eval --file job.py --timeout 30s -- --verbose input.csv
  dormouse eval --project . 'open(\"README.md\").read()[:80]'
  dormouse eval --mount ./data:/data:rw --writes --file clean.py
  echo 'sum(range(10))' | dormouse eval
  dormouse eval --json 'raise ValueError(\"no\")'
  dormouse eval '-5 % 3'
  dormouse eval -- '--x if (x := 3) else 0'

The first word that is not an option is the code; the others are the program's arguments. Words after
`--` are not options. With --file every word is an argument.

Without --language, the extension of --file decides, or else that of --bootstrap, or else, with
--project, the first of these files in its folder: composer.json (PHP), pyproject.toml, setup.py,
requirements.txt (Python), package.json (JavaScript). Otherwise the language is Python.

On a terminal the value is shown with its type. Otherwise it is printed alone on a line: text as it
is, everything else in JSON notation, and a null value only with --show-null.";

#[derive(Args, Debug)]
pub(crate) struct EvalArgs {
    /// The code; if it is `-`, or missing while standard input is not a terminal, it is read from standard input
    #[arg(value_name = "CODE")]
    pub(crate) code: Option<String>,
    /// Arguments of the program
    #[arg(value_name = "ARGS")]
    pub(crate) arguments: Vec<String>,
    /// Language: python, javascript, typescript, php, ... [default: that of the file or the project, else python; see below]
    #[arg(short, long, value_name = "LANG")]
    pub(crate) language: Option<String>,
    /// Read the code from a file
    #[arg(short, long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Name of the snippet in tracebacks (default: the file's name, else `<snippet>`)
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
    #[command(flatten)]
    pub(crate) grants: GrantArgs,
    #[command(flatten)]
    pub(crate) connect: ConnectArgs,
    #[command(flatten)]
    pub(crate) network: NetworkArgs,
    /// Forbid evaluating text as code: eval, exec, compile, new Function and the like
    #[arg(long, help_heading = "Grants")]
    pub(crate) no_eval: bool,
    /// Lift all restrictions at once: allows writes, and sets limits that are not given to their ceilings; asks for confirmation,
    /// and is recorded in the audit file
    #[arg(long = "unsafe", conflicts_with = "no_eval", help_heading = "Grants")]
    pub(crate) lift_guards: bool,
    /// Confirm --unsafe without being asked
    #[arg(long, requires = "lift_guards", help_heading = "Grants")]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) bounds: BoundArgs,
    /// Print the whole outcome as one line of JSON
    #[arg(long, conflicts_with = "verbose", help_heading = "Output")]
    pub(crate) json: bool,
    /// Print time and memory even if the output is not a terminal
    #[arg(short, long, help_heading = "Output")]
    pub(crate) verbose: bool,
    /// Print a null value (None, null or NULL) even if the output is not a terminal
    #[arg(long, conflicts_with = "json", help_heading = "Output")]
    pub(crate) show_null: bool,
}

/// How much of the value is shown.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Output")]
pub(crate) struct BoundArgs {
    /// Levels of nested containers to show, at most 16 [default: 3]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(..=i64::from(Bounds::MAX.depth)))]
    pub(crate) depth: Option<u32>,
    /// Items to show of each container, at most 10000 [default: 50]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(..=i64::from(Bounds::MAX.items)))]
    pub(crate) items: Option<u32>,
    /// Items of the outermost container to skip [default: 0]
    #[arg(long, value_name = "N")]
    pub(crate) offset: Option<u32>,
}
