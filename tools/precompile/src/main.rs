//! `dormouse-precompile`, called by `dormouse-guests`: the steps of a guest's build that need the engine.

mod compile;
mod initialise;
mod install;
mod keep;

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};
use dormouse_wasm::Architecture;

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
        #[command(flatten)]
        made_for: MadeFor,
    },
    /// Copy the components of the current guests of languages, with their records, into the folder of an installation
    Components {
        /// The folder
        into: PathBuf,
        /// The languages
        #[arg(required = true)]
        languages: Vec<String>,
    },
    /// Copy guests of another release, as records and machine code for this one, into the folder of an installation
    Keep {
        /// The folder
        into: PathBuf,
        /// The guests of that release: a folder that is laid out as the cache folder, with components
        from: PathBuf,
        #[command(flatten)]
        made_for: MadeFor,
    },
}

/// For whom machine code is made.
#[derive(clap::Args)]
struct MadeFor {
    /// An architecture: this program's, or `aarch64` where it was built with the feature `arm64`
    #[arg(long, value_name = "ARCHITECTURE", default_value = std::env::consts::ARCH, value_parser = architecture)]
    arch: Architecture,
}

fn architecture(name: &str) -> Result<Architecture, String> {
    let all = [Architecture::X86_64, Architecture::Aarch64];
    all.into_iter().find(|known| known.name() == name).ok_or_else(|| "it is x86_64 or aarch64".into())
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
        Step::Install { into, languages, fuel, made_for } => {
            install::run(&into, &languages, fuel, made_for.arch)
        }
        Step::Components { into, languages } => keep::components(&into, &languages),
        Step::Keep { into, from, made_for } => keep::run(&into, &from, made_for.arch),
    }
}
