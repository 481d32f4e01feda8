//! Programs in a container that runs: an argument vector, both streams apart and bounded, the exit status.
//!
//! Owns: that what was begun to be started is started before it can be ended. Does not own: the exchange with the engine
//! ([`crate::port`]), time limits, which drop the future, and what then goes on running in the container ([`crate::sweep`]).

use std::time::Duration;

use bytes::Bytes;
use dormouse_core::{Result, Stream};
use futures::StreamExt as _;
use tokio::io::AsyncWriteExt as _;
use tokio::time::timeout;
use tokio_util::io::StreamReader;

use crate::line::Marks;
use crate::port::Container;
use crate::program::{Exec, Input, Output, Program, Reader, Written};
use crate::pulse;

/// Without output for this long after its end, what a line left running has its streams.
const QUIET: Duration = Duration::from_millis(60);
/// How long a start waits for the program to say that it runs, and how much it hears until then.
const BEGUN_WITHIN: Duration = Duration::from_secs(5);
const BEGUN_PIECES: usize = 16;
/// Bytes kept of what a program of ours says.
const SAID: u64 = 64 << 10;

/// Runs a program to its end, and notes in `written` what it does. Dropping the future leaves it running.
///
/// # Errors
/// `provider_unavailable`.
pub async fn run(container: &dyn Container, exec: Exec, written: &mut Written) -> Result<()> {
    let (most, sink) = (exec.most, exec.sink.clone());
    written.marks = exec.marks.clone();
    let stdin = exec.input.clone();
    let Program { mut output, mut input, status } = start(container, exec, !stdin.is_empty()).await?;
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
        let item = match item {
            // The line has said how it ended: what breaks off is the rest of an input that nobody reads.
            Err(_) if written.marks.as_ref().is_some_and(|marks| marks.end.is_some()) => break,
            item => item?,
        };
        match item {
            (Stream::Stderr, message) => {
                let own = match &mut written.marks {
                    Some(marks) => marks.read(&message),
                    None => message.to_vec(),
                };
                written.stderr.push(&own, most, sink.as_deref().map(|sink| (sink, Stream::Stderr)));
            }
            (Stream::Stdout, message) => {
                written.stdout.push(&message, most, sink.as_deref().map(|sink| (sink, Stream::Stdout)));
            }
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
    written.code = Some(status.await?);
    Ok(())
}

/// Runs a program of ours once, within the time that an answer may take.
///
/// # Errors
/// `provider_unavailable`.
pub async fn run_bounded(
    container: &dyn Container,
    argv: Vec<String>,
    input: Bytes,
    most: u64,
) -> Result<Written> {
    let mut written = Written::default();
    let exec = Exec { argv, input, most, ..Exec::default() };
    let within = container.patience().answer_within;
    match timeout(within, run(container, exec, &mut written)).await {
        Ok(ran) => ran.map(|()| written),
        Err(_) => Err(container.patience().slow("run a program in a container", within)),
    }
}

/// Runs a program of ours to its end, as the sandbox's user, also where the memory is full, if the engine can.
///
/// # Errors
/// `provider_unavailable`.
pub async fn run_own(container: &dyn Container, argv: Vec<String>, input: Vec<u8>) -> Result<Written> {
    container.insist(argv, input, SAID).await
}

/// Starts a program that is spoken with: its standard input and its standard output. Its standard error is read for its mark,
/// as long as its output is read, and dropped.
///
/// # Errors
/// `provider_unavailable`.
pub async fn attach(container: &dyn Container, exec: Exec) -> Result<(Input, Reader)> {
    let marks = exec.marks.clone();
    start(container, exec, true).await.map(|program| speak(program, marks))
}

/// The standard input and the standard output of a program. Its standard error is read for its mark, and dropped.
pub fn speak(program: Program, mut marks: Option<Marks>) -> (Input, Reader) {
    let stdout = program.output.filter_map(move |item| {
        let piece = match item {
            Ok((Stream::Stdout, message)) => Some(Ok(message)),
            Ok((Stream::Stderr, message)) => {
                if let Some(marks) = &mut marks {
                    let _dropped = marks.read(&message);
                }
                None
            }
            Err(error) => Some(Err(std::io::Error::other(error))),
        };
        std::future::ready(piece)
    });
    (program.input, Box::pin(StreamReader::new(stdout)))
}

/// Creates a program and attaches to it. Goes to its end also when the caller gives up.
async fn start(container: &dyn Container, exec: Exec, input: bool) -> Result<Program> {
    let under_way = match &exec.starts {
        Some(starts) => Some(starts.enter().await),
        None => None,
    };
    let marks = exec.marks.clone();
    let created = container.exec(exec, input);
    let starting = async move {
        let mut program = created.await?;
        if let Some(marks) = marks {
            program.output = begun(program.output, marks).await;
        }
        drop(under_way);
        Ok(program)
    };
    container.background().finish(starting).await
}

/// Waits until a program that says so runs, or has ended. What is heard meanwhile is heard again.
async fn begun(mut output: Output, mut marks: Marks) -> Output {
    let mut heard = Vec::new();
    let hear = async {
        while marks.begin.is_none() && heard.len() < BEGUN_PIECES {
            let Some(item) = output.next().await else { break };
            if let Ok((Stream::Stderr, message)) = &item {
                let _own = marks.read(message);
            }
            heard.push(item);
        }
    };
    let _in_time = timeout(BEGUN_WITHIN, hear).await;
    Box::pin(futures::stream::iter(heard).chain(output))
}
