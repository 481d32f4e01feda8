//! A program that serves on its standard input and output, a message a line. It leads a process group of its own, which
//! ends with it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::Duration;

use async_trait::async_trait;
use dormouse_core::{Error, Result};
use serde_json::Value as Json;
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::{OnceCell, mpsc, oneshot};
use tokio::task::JoinHandle;

use super::duplex::Desk;
use super::wire::{self, Answered, Failed, MAX_MESSAGE, Request, closed, too_long, unavailable};
use super::{Era, Link};
use crate::outside::{Ended, Process, Program, Started, Starter};

/// Time to end after the input has ended, and again after being asked to.
const GRACE: Duration = Duration::from_secs(2);
/// Bytes of one line of the error output that are logged, and most lines.
const MAX_LOGGED: usize = 2_048;
const MAX_LINES: usize = 1_000;

/// Time for a program that has closed its output to end, and then for its error output to be read.
const LAST: Duration = Duration::from_secs(1);
/// Time in which a program that never spoke is seen to have ended already.
const GLANCE: Duration = Duration::from_millis(50);
/// Bytes of the error output that are told where the program fails: less than a report keeps of a message.
const MAX_TOLD: usize = 1_536;

/// What a program that says nothing is to do.
const SPEAKS: &str = "a server's program speaks MCP on its standard input and output, a message a line";

/// A running program.
pub(super) struct Serving {
    desk: Desk,
    said: Arc<Said>,
    running: Mutex<Option<Running>>,
}

/// What is known of a program where it fails.
#[derive(Default)]
struct Said {
    /// Whether a message came.
    spoke: AtomicBool,
    /// What the end of its output was told with, all this in it.
    end: OnceLock<String>,
    /// How a program that never spoke had ended before it was stopped.
    how: OnceLock<Ended>,
    /// The end of its error output.
    errors: Mutex<Tail>,
}

/// The last lines of an output.
#[derive(Default)]
struct Tail {
    text: String,
    is_cut: bool,
}

impl Tail {
    fn add(&mut self, line: &str) {
        let line = line.trim();
        if line.is_empty() {
            return;
        }
        if !self.text.is_empty() {
            self.text.push_str(" | ");
        }
        self.text.push_str(line);
        let excess = self.text.len().saturating_sub(MAX_TOLD);
        if excess > 0 {
            self.is_cut = true;
            self.text.drain(..self.text.ceil_char_boundary(excess));
        }
    }
}

impl Said {
    fn hear(&self, line: &str) {
        self.errors.lock().unwrap_or_else(PoisonError::into_inner).add(line);
    }

    /// A message with the error output after it, on one line.
    fn after(&self, message: &str) -> String {
        let errors = self.errors.lock().unwrap_or_else(PoisonError::into_inner);
        match (errors.text.as_str(), errors.is_cut) {
            ("", _) => format!("{message}, and wrote nothing to its standard error"),
            (text, false) => format!("{message}; its standard error: {text}"),
            (text, true) => format!("{message}; the end of its standard error: ... {text}"),
        }
    }
}

/// A process, and how it ended.
struct Watched {
    process: Box<dyn Process>,
    how: OnceCell<Option<Ended>>,
}

impl Watched {
    async fn ended(&self) -> Option<Ended> {
        *self.how.get_or_init(|| self.process.ended()).await
    }
}

struct Running {
    watched: Arc<Watched>,
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
        tokio::time::timeout(GRACE, self.watched.ended()).await.is_ok()
    }

    /// Ends its input, then asks it to end, then ends it, and whatever it started in its group.
    async fn end(mut self) -> Result<()> {
        self.writing.abort();
        let _ = (&mut self.writing).await;
        if !self.ended().await {
            self.watched.process.ask();
            self.ended().await;
        }
        // From here on nobody else listens to what is told of the process.
        for task in &mut self.tasks {
            task.abort();
            let _ = task.await;
        }
        match tokio::time::timeout(GRACE, self.watched.process.kill()).await {
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
        let said = Arc::<Said>::default();
        let watched = Arc::new(Watched { process, how: OnceCell::new() });
        let (logged, all) = oneshot::channel();
        let end = End { watched: Arc::downgrade(&watched), said: said.clone(), logged: all };
        let reading = tokio::spawn(read_all(output, desk.clone(), end));
        let logging = tokio::spawn(log_all(errors, shown, said.clone(), logged));
        let writing = tokio::spawn(write_all(input, outbox, desk.clone()));
        let running = Running { watched, tasks: vec![reading, logging], writing };
        Ok(Self { desk, said, running: Mutex::new(Some(running)) })
    }

    /// The error of a program that could not be greeted, with what is known of it.
    pub(super) fn told(&self, error: Error) -> Error {
        if self.said.end.get().is_some_and(|end| end == error.message()) {
            return error;
        }
        let message = match self.said.how.get() {
            Some(how) => format!("{}: its program has ended with {how}", error.message()),
            None => error.message().to_owned(),
        };
        let hint = error.hint().unwrap_or(SPEAKS).to_owned();
        Error::new(error.code(), self.said.after(&message)).with_hint(hint).with_source(error)
    }
}

/// What the end of a program's output is told with.
struct End {
    watched: Weak<Watched>,
    said: Arc<Said>,
    /// Closed when all of the error output was read.
    logged: oneshot::Receiver<()>,
}

impl End {
    async fn why(self) -> Error {
        let ended = match self.watched.upgrade() {
            Some(watched) => tokio::time::timeout(LAST, watched.ended()).await,
            None => Ok(None),
        };
        let message = match ended {
            Ok(Some(how)) => format!("the MCP server has ended with {how}"),
            Ok(None) => "the MCP server has ended".to_owned(),
            Err(_) => "the MCP server has closed its standard output".to_owned(),
        };
        // Others of its group may hold it open.
        let _ = tokio::time::timeout(LAST, self.logged).await;
        unavailable(self.said.after(&message))
    }
}

async fn read_all(output: impl AsyncRead + Unpin, desk: Desk, end: End) {
    let mut output = BufReader::new(output);
    let said = end.said.clone();
    let why = loop {
        match line(&mut output, MAX_MESSAGE).await {
            Ok(Some(Line::Whole(line))) => match wire::read(&line) {
                Some(incoming) => {
                    said.spoke.store(true, Ordering::Release);
                    incoming.into_iter().for_each(|one| desk.hear(one));
                }
                // Some programs greet on their standard output.
                None => tracing::debug!(bytes = line.len(), "a line of an MCP server is no message"),
            },
            Ok(Some(Line::Cut(_))) => break too_long(),
            Ok(None) => break end.why().await,
            Err(error) => break unavailable("the MCP server's output cannot be read").with_source(error),
        }
    };
    // Before whoever waits hears of it.
    let _ = said.end.set(why.message().to_owned());
    desk.end(&why);
}

/// Ends when there is nothing to write to; the input ends with it.
async fn write_all(mut input: impl AsyncWrite + Unpin, mut outbox: mpsc::Receiver<Json>, desk: Desk) {
    while let Some(message) = outbox.recv().await {
        let mut line = message.to_string();
        line.push('\n');
        if input.write_all(line.as_bytes()).await.is_err() {
            // As a rule it has ended, and the end of its output says more.
            tokio::time::sleep(GRACE + LAST).await;
            desk.end(&unavailable("the MCP server has closed its standard input"));
            return;
        }
    }
}

/// Its last argument is closed with its end.
async fn log_all(
    errors: impl AsyncRead + Unpin,
    program: String,
    said: Arc<Said>,
    _end: oneshot::Sender<()>,
) {
    let mut errors = BufReader::new(errors);
    let mut lines = 0;
    while let Ok(Some(Line::Whole(line) | Line::Cut(line))) = line(&mut errors, MAX_LOGGED).await {
        lines += 1;
        if line.is_empty() {
            continue;
        }
        let shown = wire::cut(&String::from_utf8_lossy(&line));
        said.hear(&shown);
        if lines <= MAX_LINES {
            tracing::info!(program, "{shown}");
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
        let Some(running) = running else { return Ok(()) };
        if !self.said.spoke.load(Ordering::Acquire)
            && let Ok(Some(how)) = tokio::time::timeout(GLANCE, running.watched.ended()).await
        {
            let _ = self.said.how.set(how);
        }
        running.end().await
    }

    fn is_open(&self) -> bool {
        self.desk.is_open()
    }

    fn has_changed(&self) -> bool {
        self.desk.has_changed()
    }
}
