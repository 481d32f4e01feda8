//! The command line of `eval`.

use std::path::PathBuf;

use clap::Args;
use dormouse::Bounds;

use super::{GrantArgs, LimitArgs};

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

The first word that is not an option is the code, the others are the program's arguments;
after `--` nothing is an option. With --file every word is an argument.

Without --language it is that of the extension of --file, else of --bootstrap; else, with --project,
by the first of these in its folder: composer.json (PHP), pyproject.toml, setup.py,
requirements.txt (Python), package.json (JavaScript); else Python.

On a terminal the value is shown with its type. Else it stands alone on a line: text as it is,
everything else in JSON notation, and a null value only with --show-null.";

#[derive(Args, Debug)]
pub(crate) struct EvalArgs {
    /// The code; `-`, or nothing when standard input is not a terminal: read it from there
    #[arg(value_name = "CODE")]
    pub(crate) code: Option<String>,
    /// Arguments of the program
    #[arg(value_name = "ARGS")]
    pub(crate) arguments: Vec<String>,
    /// Language: python, javascript, typescript, php, ... [default: by the file or the project, else python; see below]
    #[arg(short, long, value_name = "LANG")]
    pub(crate) language: Option<String>,
    /// Read the code from a file
    #[arg(short, long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Name of the snippet in traces; the file's name by default, else `<snippet>`
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
    #[command(flatten)]
    pub(crate) grants: GrantArgs,
    /// Refuse code made from text: eval, and exec, compile, new Function and the like
    #[arg(long, help_heading = "Grants")]
    pub(crate) no_eval: bool,
    /// Lift every guard at once: writes, and the limits that are not given at their ceilings; asks first, and is recorded
    /// in the audit file
    #[arg(long = "unsafe", conflicts_with = "no_eval", help_heading = "Grants")]
    pub(crate) lift_guards: bool,
    /// Answer yes to the question of --unsafe
    #[arg(long, requires = "lift_guards", help_heading = "Grants")]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) bounds: BoundArgs,
    /// Print the whole outcome as one line of JSON
    #[arg(long, conflicts_with = "verbose", help_heading = "Output")]
    pub(crate) json: bool,
    /// Print time and memory even when the output is no terminal
    #[arg(short, long, help_heading = "Output")]
    pub(crate) verbose: bool,
    /// Print a null value, too, when the output is no terminal: None, null or NULL
    #[arg(long, conflicts_with = "json", help_heading = "Output")]
    pub(crate) show_null: bool,
}

/// How much of the value is shown.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Output")]
pub(crate) struct BoundArgs {
    /// Levels of containers that are opened, at most 16 [default: 3]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(..=i64::from(Bounds::MAX.depth)))]
    pub(crate) depth: Option<u32>,
    /// Items shown of a container, at most 10000 [default: 50]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(..=i64::from(Bounds::MAX.items)))]
    pub(crate) items: Option<u32>,
    /// Items skipped of the outermost container [default: 0]
    #[arg(long, value_name = "N")]
    pub(crate) offset: Option<u32>,
}
