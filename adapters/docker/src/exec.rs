//! Programs in a container that runs: an argument vector, both streams apart and bounded, the exit status.
//!
//! Owns: the exchange with the engine, and that what was begun to be started is started before it can be ended. Does not own:
//! time limits, which drop the future, and what then goes on running in the container ([`crate::sweep`]).

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bollard::container::LogOutput;
use bollard::exec::{CreateExecOptions, StartExecOptions, StartExecResults};
use bytes::Bytes;
use dormouse_core::{Captured, OutputSink, Result, Stream};
use futures::StreamExt as _;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{OwnedRwLockReadGuard, RwLock};
use tokio::time::timeout;
use tokio_util::io::StreamReader;

use crate::config::USER;
use crate::engine::Engine;
use crate::fault::{unavailable, wrong};
use crate::line::Marks;
use crate::pulse;
use crate::shared::Shared;

/// What a program reads.
pub(crate) type Input = Pin<Box<dyn AsyncWrite + Send>>;
/// What a program writes, as the engine sends it.
type Output =
    Pin<Box<dyn futures::Stream<Item = std::result::Result<LogOutput, bollard::errors::Error>> + Send>>;
/// What a program writes to its standard output.
pub(crate) type Reader = Pin<Box<dyn AsyncRead + Send>>;

/// The status of a program that was killed.
pub(crate) const KILLED: i64 = 137;
/// The engine's status of a program that it could not start.
pub(crate) const NOT_STARTED: i64 = 126;

/// How often an exit status is asked for that is not there yet, and how long it is waited between.
const ASKED: u32 = 60;
const ASK_AGAIN: Duration = Duration::from_millis(20);
/// Without output for this long after its end, what a line left running has its streams.
const QUIET: Duration = Duration::from_millis(60);

/// How long a start waits for the program to say that it runs, and how much it hears until then.
const BEGUN_WITHIN: Duration = Duration::from_secs(5);
const BEGUN_PIECES: usize = 16;

/// The starts that are under way in a container. The engine accepts a start before the program runs, so a caller who gives up
/// in between would leave one that begins after everything was ended: a sweep waits until no start is under way.
#[derive(Clone, Default)]
pub(crate) struct Starts(Arc<RwLock<()>>);

impl Starts {
    async fn enter(&self) -> OwnedRwLockReadGuard<()> {
        self.0.clone().read_owned().await
    }

    /// Waits until what was begun to be started runs.
    pub(crate) async fn settled(&self) {
        drop(self.0.write().await);
    }
}

/// A program that is to be run.
#[derive(Default)]
pub(crate) struct Exec {
    /// Its name and its arguments.
    pub(crate) argv: Vec<String>,
    /// Environment variables, `NAME=VALUE`.
    pub(crate) environment: Vec<String>,
    /// The folder it starts in; none: the container's.
    pub(crate) directory: Option<String>,
    /// All of its standard input.
    pub(crate) input: Bytes,
    /// Bytes kept of each stream.
    pub(crate) most: u64,
    /// Who hears what it writes.
    pub(crate) sink: Option<Arc<dyn OutputSink>>,
    /// The marks by which a line's wrapper says how it goes, if it is a line.
    pub(crate) marks: Option<Marks>,
    /// The starts that a sweep waits for, if a sweep may have to end it.
    pub(crate) starts: Option<Starts>,
}

/// The beginning of what was written to a stream.
#[derive(Clone, Debug, Default)]
pub(crate) struct Kept {
    pub(crate) bytes: Vec<u8>,
    pub(crate) total: u64,
}

impl Kept {
    fn push(&mut self, bytes: &[u8], most: u64, sink: Option<(&dyn OutputSink, Stream)>) {
        let room = usize::try_from(most.saturating_sub(self.total)).unwrap_or(usize::MAX);
        self.total += bytes.len() as u64;
        let fits = bytes.get(..room.min(bytes.len())).unwrap_or_default();
        if sink.is_none_or(|(sink, _)| !sink.keeps()) {
            self.bytes.extend_from_slice(fits);
        }
        if let Some((sink, stream)) = sink
            && !fits.is_empty()
        {
            sink.write(stream, fits);
        }
    }

    pub(crate) fn captured(&self) -> Captured {
        Captured::from_bytes(&self.bytes, self.total)
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}

/// What a program wrote and how it ended. Shared, so that it can be looked at when the program was cut off.
#[derive(Debug, Default)]
pub(crate) struct Written {
    pub(crate) stdout: Kept,
    pub(crate) stderr: Kept,
    pub(crate) code: Option<i64>,
    pub(crate) marks: Option<Marks>,
}

impl Written {
    /// Whether it may be that there was no memory for it: it was killed, or did not begin.
    pub(crate) fn was_kept_out(&self) -> bool {
        matches!(self.code, Some(KILLED | NOT_STARTED))
    }
}

/// Runs a program to its end, and notes in `written` what it does. Dropping the future leaves it running.
///
/// # Errors
/// `provider_unavailable`.
pub(crate) async fn run(
    shared: &Arc<Shared>,
    container: &str,
    exec: Exec,
    written: &mut Written,
) -> Result<()> {
    let (most, sink) = (exec.most, exec.sink.clone());
    written.marks = exec.marks.clone();
    let stdin = exec.input.clone();
    let (id, mut output, mut input) = start(shared, container, exec, !stdin.is_empty()).await?;
    let feed = async {
        if !stdin.is_empty() {
            // A program that does not read to the end is no fault of ours.
            let _written = input.write_all(&stdin).await;
            let _ended = input.shutdown().await;
        }
    };
    tokio::pin!(feed);
    let mut fed = false;
    loop {
        let ended = written.marks.as_ref().is_some_and(|marks| marks.end.is_some());
        let item = tokio::select! {
            () = &mut feed, if !fed => { fed = true; continue; }
            item = output.next() => item,
            () = tokio::time::sleep(QUIET), if ended => None,
        };
        let Some(item) = item else { break };
        pulse::beat();
        match item.map_err(|fault| wrong("follow a program in a container", fault))? {
            LogOutput::StdErr { message } => {
                let own = match &mut written.marks {
                    Some(marks) => marks.read(&message),
                    None => message.to_vec(),
                };
                written.stderr.push(&own, most, sink.as_deref().map(|sink| (sink, Stream::Stderr)));
            }
            LogOutput::StdOut { message } | LogOutput::Console { message } => {
                written.stdout.push(&message, most, sink.as_deref().map(|sink| (sink, Stream::Stdout)));
            }
            LogOutput::StdIn { .. } => {}
        }
    }
    if let Some(marks) = &mut written.marks {
        let rest = marks.rest();
        written.stderr.push(&rest, most, sink.as_deref().map(|sink| (sink, Stream::Stderr)));
        if let Some(end) = &marks.end {
            written.code = Some(end.code);
            return Ok(());
        }
    }
    written.code = Some(status(&shared.engine, &id).await?);
    Ok(())
}

/// Starts a program that is spoken with: its standard input and its standard output. Its standard error is read for its mark,
/// as long as its output is read, and dropped.
///
/// # Errors
/// `provider_unavailable`.
pub(crate) async fn attach(shared: &Arc<Shared>, container: &str, exec: Exec) -> Result<(Input, Reader)> {
    let mut marks = exec.marks.clone();
    let (_, output, input) = start(shared, container, exec, true).await?;
    let stdout = output.filter_map(move |item| {
        let piece = match item {
            Ok(LogOutput::StdOut { message } | LogOutput::Console { message }) => Some(Ok(message)),
            Ok(LogOutput::StdErr { message }) => {
                if let Some(marks) = &mut marks {
                    let _dropped = marks.read(&message);
                }
                None
            }
            Ok(LogOutput::StdIn { .. }) => None,
            Err(fault) => Some(Err(std::io::Error::other(fault))),
        };
        std::future::ready(piece)
    });
    Ok((input, Box::pin(StreamReader::new(stdout))))
}

/// Creates a program and attaches to it: its number, what it writes, what it reads. Goes to its end also when the caller
/// gives up.
async fn start(
    shared: &Arc<Shared>,
    container: &str,
    exec: Exec,
    input: bool,
) -> Result<(String, Output, Input)> {
    let under_way = match &exec.starts {
        Some(starts) => Some(starts.enter().await),
        None => None,
    };
    let (own, container) = (shared.clone(), container.to_owned());
    let starting = async move {
        let marks = exec.marks.clone();
        let (id, output, input) = create(&own.engine, &container, exec, input).await?;
        let output = match marks {
            Some(marks) => begun(output, marks).await,
            None => output,
        };
        drop(under_way);
        Ok((id, output, input))
    };
    shared.finish(starting).await
}

/// Waits until a program that says so runs, or has ended. What is heard meanwhile is heard again.
async fn begun(mut output: Output, mut marks: Marks) -> Output {
    let mut heard = Vec::new();
    let hear = async {
        while marks.begin.is_none() && heard.len() < BEGUN_PIECES {
            let Some(item) = output.next().await else { break };
            if let Ok(LogOutput::StdErr { message }) = &item {
                let _own = marks.read(message);
            }
            heard.push(item);
        }
    };
    let _in_time = timeout(BEGUN_WITHIN, hear).await;
    Box::pin(futures::stream::iter(heard).chain(output))
}

async fn create(
    engine: &Engine,
    container: &str,
    exec: Exec,
    input: bool,
) -> Result<(String, Output, Input)> {
    let docker = engine.docker().await?;
    let what = "start a program in a container";
    let create = CreateExecOptions {
        attach_stdin: Some(input),
        attach_stdout: Some(true),
        attach_stderr: Some(true),
        env: Some(exec.environment),
        cmd: Some(exec.argv),
        user: Some(USER.into()),
        working_dir: exec.directory,
        ..CreateExecOptions::default()
    };
    let created = engine.ask(what, docker.create_exec(container, create)).await?;
    let options = StartExecOptions { output_capacity: Some(64 << 10), ..StartExecOptions::default() };
    match engine.ask(what, docker.start_exec(&created.id, Some(options))).await? {
        StartExecResults::Attached { output, input } => Ok((created.id, output, input)),
        StartExecResults::Detached => {
            Err(unavailable("the container engine did not attach to a program".into()))
        }
    }
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
