//! Programs in a container of the engine: the exchange with it.
//!
//! Owns: how one is started, what comes of it, its exit status. Does not own: what is done with it ([`dormouse_containers::exec`]).

use std::sync::Arc;
use std::time::Duration;

use bollard::container::LogOutput;
use bollard::exec::{CreateExecOptions, StartExecOptions, StartExecResults};
use dormouse_containers::USER;
use dormouse_containers::program::{Exec, Program};
use dormouse_core::{Result, Stream};
use futures::StreamExt as _;

use crate::engine::Engine;
use crate::fault::{unavailable, wrong};
use crate::shared::Shared;

/// How often an exit status is asked for that is not there yet, and how long it is waited between.
const ASKED: u32 = 60;
const ASK_AGAIN: Duration = Duration::from_millis(20);

/// Starts a program in a container, by its id, and attaches to it.
///
/// # Errors
/// `provider_unavailable`.
pub(crate) async fn program(
    shared: Arc<Shared>,
    container: String,
    exec: Exec,
    input: bool,
) -> Result<Program> {
    program_of(USER, shared, container, exec, input).await
}

/// The same for another user.
///
/// # Errors
/// `provider_unavailable`.
pub(crate) async fn program_of(
    user: &str,
    shared: Arc<Shared>,
    container: String,
    exec: Exec,
    input: bool,
) -> Result<Program> {
    let docker = shared.engine.docker().await?;
    let what = "start a program in a container";
    let create = CreateExecOptions {
        attach_stdin: Some(input),
        attach_stdout: Some(true),
        attach_stderr: Some(true),
        env: Some(exec.environment),
        cmd: Some(exec.argv),
        user: Some(user.into()),
        working_dir: exec.directory,
        ..CreateExecOptions::default()
    };
    let created = shared.engine.ask(what, docker.create_exec(&container, create)).await?;
    let options = StartExecOptions { output_capacity: Some(64 << 10), ..StartExecOptions::default() };
    let started = shared.engine.ask(what, docker.start_exec(&created.id, Some(options))).await?;
    let StartExecResults::Attached { output, input } = started else {
        return Err(unavailable("the container engine did not attach to a program".into()));
    };
    let output = output.filter_map(|item| {
        let piece = match item {
            Ok(LogOutput::StdErr { message }) => Some(Ok((Stream::Stderr, message))),
            Ok(LogOutput::StdOut { message } | LogOutput::Console { message }) => {
                Some(Ok((Stream::Stdout, message)))
            }
            Ok(LogOutput::StdIn { .. }) => None,
            Err(fault) => Some(Err(wrong("follow a program in a container", fault))),
        };
        std::future::ready(piece)
    });
    let status = async move { status(&shared.engine, &created.id).await };
    Ok(Program { output: Box::pin(output), input, status: Box::pin(status) })
}

/// The exit status of a program that has ended, or is about to.
pub(crate) async fn status(engine: &Engine, id: &str) -> Result<i64> {
    let docker = engine.docker().await?;
    for _ in 0..ASKED {
        let found = engine.ask("ask how a program ended", docker.inspect_exec(id)).await?;
        if found.running != Some(true)
            && let Some(code) = found.exit_code
        {
            return Ok(code);
        }
        tokio::time::sleep(ASK_AGAIN).await;
    }
    Err(unavailable("the container engine does not say how a program ended".into()))
}
