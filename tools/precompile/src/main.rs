//! `dormouse-precompile`, called by `dormouse-guests`: the steps of a guest's build that need the engine.

mod compile;
mod initialise;
mod install;

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

use initialise::World;

/// The steps of a guest's build that need the engine.
#[derive(Parser)]
#[command(name = "dormouse-precompile")]
struct Cli {
    #[command(subcommand)]
    step: Step,
}

#[derive(Subcommand)]
enum Step {
    /// Run the `wizer-initialize` of a core module, and write the module with the memory that it leaves
    Initialise {
        /// The linked module
        module: PathBuf,
        /// The file for the initialised one
        into: PathBuf,
        /// An environment variable that the module sees
        #[arg(long, num_args = 2, value_names = ["NAME", "VALUE"])]
        env: Vec<String>,
        /// A folder that the module may read, and its path for the module
        #[arg(long, num_args = 2, value_names = ["FOLDER", "PATH"])]
        folder: Vec<PathBuf>,
    },
    /// Compile the current guest of a language into the cache of machine code, with and without fuel
    Compile {
        /// The language
        language: String,
    },
    /// Copy the current guests of languages, as records and machine code, into the folder of an installation
    Install {
        /// The folder
        into: PathBuf,
        /// The languages
        #[arg(required = true)]
        languages: Vec<String>,
        /// Only the machine code that counts fuel; without this only the other one
        #[arg(long)]
        fuel: bool,
    },
}

fn main() -> ExitCode {
    match run(Cli::parse().step) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // A closed standard error is no reason to fail in another way.
            let _ = writeln!(std::io::stderr(), "error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(step: Step) -> Result<()> {
    match step {
        Step::Initialise { module, into, env, folder } => {
            let pair = |two: &[String]| Some((two.first()?.clone(), two.get(1)?.clone()));
            let mount = |two: &[PathBuf]| Some((two.first()?.clone(), two.get(1)?.to_str()?.to_owned()));
            let world = World {
                environment: env.chunks(2).filter_map(pair).collect(),
                folders: folder.chunks(2).filter_map(mount).collect(),
            };
            initialise::run(&module, &into, &world)
        }
        Step::Compile { language } => compile::run(&language),
        Step::Install { into, languages, fuel } => install::run(&into, &languages, fuel),
    }
}
