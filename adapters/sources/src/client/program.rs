//! A program that serves on its standard input and output, a message a line. It leads a process group of its own, which
//! ends with it.

use std::collections::BTreeMap;
use std::process::Stdio;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use dormouse_core::{Error, Result};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use serde_json::Value as Json;
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::duplex::Desk;
use super::wire::{self, Answered, Failed, MAX_MESSAGE, Request, closed, too_long, unavailable};
use super::{Era, Link};

/// Environment variables of this process that a program gets.
const INHERITED: [&str; 6] = ["PATH", "HOME", "LANG", "TMPDIR", "TZ", "USER"];
/// Time to end after the input has ended, and again after being asked to.
const GRACE: Duration = Duration::from_secs(2);
/// Time between two looks at whether it has ended.
const LOOK: Duration = Duration::from_millis(10);
/// Bytes of one line of the error output that are logged, and most lines.
const MAX_LOGGED: usize = 2_048;
const MAX_LINES: usize = 1_000;

/// A running program.
pub(super) struct Program {
    desk: Desk,
    running: Mutex<Option<Running>>,
}

struct Running {
    child: Child,
    group: Option<Pid>,
    tasks: Vec<JoinHandle<()>>,
    writing: JoinHandle<()>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.tasks.iter().chain([&self.writing]).for_each(JoinHandle::abort);
        self.kill(Signal::KILL);
    }
}

impl Running {
    /// Its process is not waited for before this, so the id cannot be another's.
    fn kill(&self, signal: Signal) {
        if let Some(group) = self.group {
            let _ = kill_process_group(group, signal);
        }
    }

    /// Whether the program itself has ended, without taking its status.
    async fn ended(&self, within: Duration) -> bool {
        let Some(group) = self.group else { return true };
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let looked = tokio::time::timeout(within, async {
            while matches!(waitid(WaitId::Pid(group), options), Ok(None)) {
                tokio::time::sleep(LOOK).await;
            }
        });
        looked.await.is_ok()
    }

    /// Ends its input, then asks it to end, then ends it, and whatever it started in its group.
    async fn end(mut self) -> Result<()> {
        self.writing.abort();
        let _ = (&mut self.writing).await;
        if !self.ended(GRACE).await {
            self.kill(Signal::TERM);
            self.ended(GRACE).await;
        }
        self.kill(Signal::KILL);
        let waited = tokio::time::timeout(GRACE, self.child.wait()).await;
        self.group = None;
        match waited {
            Ok(Ok(_)) => Ok(()),
            _ => Err(unavailable("the MCP server's process does not end")),
        }
    }
}

impl Program {
    /// Starts the program. Its environment is what is given, and a few variables of this process.
    pub(super) fn start(program: &str, args: &[String], env: &BTreeMap<String, String>) -> Result<Self> {
        let mut command = Command::new(program);
        command.args(args).env_clear();
        command.envs(INHERITED.into_iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
        command.envs(env).process_group(0).kill_on_drop(true);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let shown: String = program.escape_debug().take(200).collect();
        let mut child = command.spawn().map_err(|error| {
            unavailable(format!("the program `{shown}` of an MCP server cannot be started: {}", error.kind()))
                .with_source(error)
        })?;
        let streams = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(input), Some(output), Some(errors)) = streams else {
            return Err(Error::new(dormouse_core::ErrorCode::Internal, "a process has no streams"));
        };
        let group = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let (desk, outbox) = Desk::new();
        let reading = tokio::spawn(read_all(output, desk.clone()));
        let logging = tokio::spawn(log_all(errors, shown));
        let writing = tokio::spawn(write_all(input, outbox));
        let running = Running { child, group, tasks: vec![reading, logging], writing };
        Ok(Self { desk, running: Mutex::new(Some(running)) })
    }
}

async fn read_all(output: ChildStdout, desk: Desk) {
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
async fn write_all(mut input: ChildStdin, mut outbox: mpsc::Receiver<Json>) {
    while let Some(message) = outbox.recv().await {
        let mut line = message.to_string();
        line.push('\n');
        if input.write_all(line.as_bytes()).await.is_err() {
            return;
        }
    }
}

async fn log_all(errors: ChildStderr, program: String) {
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
impl Link for Program {
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
