//! A program that serves on its standard input and output, a message a line. It leads a process group of its own, which
//! ends with it.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use dormouse_core::Result;
use serde_json::Value as Json;
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::duplex::Desk;
use super::wire::{self, Answered, Failed, MAX_MESSAGE, Request, closed, too_long, unavailable};
use super::{Era, Link};
use crate::outside::{Process, Program, Started, Starter};

/// Time to end after the input has ended, and again after being asked to.
const GRACE: Duration = Duration::from_secs(2);
/// Bytes of one line of the error output that are logged, and most lines.
const MAX_LOGGED: usize = 2_048;
const MAX_LINES: usize = 1_000;

/// A running program.
pub(super) struct Serving {
    desk: Desk,
    running: Mutex<Option<Running>>,
}

struct Running {
    process: Box<dyn Process>,
    tasks: Vec<JoinHandle<()>>,
    writing: JoinHandle<()>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.tasks.iter().chain([&self.writing]).for_each(JoinHandle::abort);
    }
}

impl Running {
    async fn ended(&self) -> bool {
        tokio::time::timeout(GRACE, self.process.ended()).await.is_ok()
    }

    /// Ends its input, then asks it to end, then ends it, and whatever it started in its group.
    async fn end(mut self) -> Result<()> {
        self.writing.abort();
        let _ = (&mut self.writing).await;
        if !self.ended().await {
            self.process.ask();
            self.ended().await;
        }
        match tokio::time::timeout(GRACE, self.process.kill()).await {
            Ok(Ok(())) => Ok(()),
            _ => Err(unavailable("the MCP server's process does not end")),
        }
    }
}

impl Serving {
    /// Starts the program.
    pub(super) async fn start(program: &Program, programs: &dyn Starter) -> Result<Self> {
        let shown: String = program.program.escape_debug().take(200).collect();
        let started = programs.start(program).await.map_err(|error| {
            let why = match error.kind() {
                std::io::ErrorKind::NotFound => "there is no such program".to_owned(),
                std::io::ErrorKind::PermissionDenied => "it may not be started".to_owned(),
                other => other.to_string(),
            };
            unavailable(format!("the program `{shown}` of an MCP server cannot be started: {why}"))
                .with_source(error)
        })?;
        let Started { input, output, errors, process } = started;
        let (desk, outbox) = Desk::new();
        let reading = tokio::spawn(read_all(output, desk.clone()));
        let logging = tokio::spawn(log_all(errors, shown));
        let writing = tokio::spawn(write_all(input, outbox));
        let running = Running { process, tasks: vec![reading, logging], writing };
        Ok(Self { desk, running: Mutex::new(Some(running)) })
    }
}

async fn read_all(output: impl AsyncRead + Unpin, desk: Desk) {
    let mut output = BufReader::new(output);
    let end = loop {
        match line(&mut output, MAX_MESSAGE).await {
            Ok(Some(Line::Whole(line))) => match wire::read(&line) {
                Some(incoming) => incoming.into_iter().for_each(|one| desk.hear(one)),
                // Some programs greet on their standard output.
                None => tracing::debug!(bytes = line.len(), "a line of an MCP server is no message"),
            },
            Ok(Some(Line::Cut(_))) => break too_long(),
            Ok(None) => break unavailable("the MCP server has ended"),
            Err(error) => break unavailable("the MCP server's output cannot be read").with_source(error),
        }
    };
    desk.end(&end);
}

/// Ends when there is nothing to write to; the input ends with it.
async fn write_all(mut input: impl AsyncWrite + Unpin, mut outbox: mpsc::Receiver<Json>) {
    while let Some(message) = outbox.recv().await {
        let mut line = message.to_string();
        line.push('\n');
        if input.write_all(line.as_bytes()).await.is_err() {
            return;
        }
    }
}

async fn log_all(errors: impl AsyncRead + Unpin, program: String) {
    let mut errors = BufReader::new(errors);
    let mut lines = 0;
    while let Ok(Some(Line::Whole(line) | Line::Cut(line))) = line(&mut errors, MAX_LOGGED).await {
        lines += 1;
        if lines <= MAX_LINES && !line.is_empty() {
            tracing::info!(program, "{}", wire::cut(&String::from_utf8_lossy(&line)));
        }
    }
}

enum Line {
    Whole(Vec<u8>),
    /// Its beginning; the rest of it is read as further lines.
    Cut(Vec<u8>),
}

/// The next line, of at most so many bytes. None at the end.
async fn line(input: &mut (impl AsyncBufRead + Unpin), most: usize) -> std::io::Result<Option<Line>> {
    let mut line = Vec::new();
    loop {
        let piece = input.fill_buf().await?;
        if piece.is_empty() {
            return Ok((!line.is_empty()).then_some(Line::Whole(line)));
        }
        let end = piece.iter().position(|&byte| byte == b'\n');
        let part = &piece[..end.unwrap_or(piece.len())];
        if line.len() + part.len() > most {
            let room = most - line.len();
            line.extend_from_slice(&part[..room]);
            input.consume(room);
            return Ok(Some(Line::Cut(line)));
        }
        line.extend_from_slice(part);
        let used = part.len() + usize::from(end.is_some());
        input.consume(used);
        if end.is_some() {
            return Ok(Some(Line::Whole(line)));
        }
    }
}

#[async_trait]
impl Link for Serving {
    fn agree(&self, _: Era) {}

    async fn request(&self, request: Request) -> Answered {
        self.desk.ask(request).await
    }

    async fn notify(&self, message: Json) -> Result<(), Failed> {
        self.desk.tell(message).await
    }

    async fn close(&self) -> Result<()> {
        self.desk.end(&closed());
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner).take();
        match running {
            Some(running) => running.end().await,
            None => Ok(()),
        }
    }
}
