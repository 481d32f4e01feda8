//! The command line of `cargo xtask engine`.

use std::io::Write as _;
use std::path::PathBuf;

use anyhow::Result;
use clap::Subcommand;
use dormouse_chores::progress::complain;

use super::{Client, Engine, keeper, kubernetes, runsc};
use crate::images;

/// What to do with the container engine of the tests.
#[derive(clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Start an engine that lasts, unless one answers already; print the DOCKER_HOST to use
    Up {
        /// Start one of our own with gVisor as the runtime `runsc`
        #[arg(long)]
        runsc: bool,
    },
    /// End the engine of `up`, and remove all of it
    Down,
    /// Say which engine the tests would use
    Status,
    /// Build the test images in that engine, where they are missing or old
    Images {
        /// Build them even if they are there
        #[arg(long)]
        fresh: bool,
    },
    /// Build and start the API machinery of Kubernetes with the resources of agent-sandbox, until standard input ends
    Kubernetes,
    /// Hold an engine in a folder until standard input ends
    #[command(hide = true)]
    Hold {
        folder: PathBuf,
        #[arg(long)]
        lasting: bool,
        #[arg(long)]
        runsc: bool,
    },
}

/// Runs the chore.
///
/// # Errors
///
/// There is no engine, or it does not do what it is asked.
pub fn run(arguments: &Arguments) -> Result<()> {
    match &arguments.action {
        Action::Up { runsc } => up(*runsc),
        Action::Down => {
            let was_up = keeper::down()?;
            complain(if was_up {
                "the engine has ended"
            } else {
                "no engine of `cargo xtask engine up` is there"
            });
            Ok(())
        }
        Action::Status => status(),
        Action::Images { fresh } => with_engine(|client| images::provide(client, *fresh)),
        Action::Kubernetes => kubernetes::hold(),
        Action::Hold { folder, lasting, runsc } => keeper::hold(folder, *lasting, *runsc),
    }
}

/// The engine that answers: also the one of `cargo xtask engine up`.
pub(super) fn answering() -> Result<Option<Client>> {
    Ok(Client::find()?.or_else(keeper::up))
}

fn up(with_runsc: bool) -> Result<()> {
    if with_runsc {
        runsc::require()?;
    }
    let there = if with_runsc { keeper::up() } else { answering()? };
    let client = match there {
        Some(client) => client,
        None => keeper::raise(with_runsc)?,
    };
    complain(&format!(
        "docker {} answers; end it with `cargo xtask engine down` if it is ours",
        client.version()?
    ));
    writeln!(std::io::stdout(), "export DOCKER_HOST={}", client.host())?;
    Ok(())
}

fn status() -> Result<()> {
    let mut out = std::io::stdout();
    let Some(client) = answering()? else {
        let what =
            if super::dockerd().is_some() { "the tests start one" } else { "dockerd is not installed" };
        writeln!(out, "no engine answers; {what}")?;
        return Ok(());
    };
    writeln!(out, "docker {} at {}", client.version()?, client.host())?;
    for image in
        client.lines(["images", "--format", "{{.Repository}}:{{.Tag}} {{.Size}}", "dormouse-test/*"])?
    {
        writeln!(out, "{image}")?;
    }
    Ok(())
}

fn with_engine(work: impl FnOnce(&Client) -> Result<()>) -> Result<()> {
    let engine = Engine::provide()?;
    work(engine.client())?;
    engine.stop()
}
