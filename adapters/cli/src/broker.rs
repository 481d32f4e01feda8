//! Helpers of a server that confines itself: processes of this program, made before the wall, that do the few things which
//! the server may not do any more. In the words of browsers, brokers.
//!
//! | helper | does | is confined |
//! | --- | --- | --- |
//! | names | looks a name up; connects to the one address of the container engine | to what the system's resolver reads and needs; starts nothing, writes nothing |
//! | files | opens a file of a list that was fixed before the wall | to reading |
//! | programs | starts a program of a list that was fixed before the wall; ends it; removes a folder at the end | no: what it starts is the operator's |
//!
//! | step | module |
//! | --- | --- |
//! | a request, its answer, descriptors that come with it | [`wire`] |
//! | the server's side | here; [`operator`] |
//! | the helper's side | [`files`], [`names`], [`programs`] |
//!
//! A request says a name, or a number of the list, and carries a channel of its own on which the answer comes. Closing the
//! channel gives the request up, and ends the program that it started. Nothing that a guest says reaches a helper but names
//! of hosts, and those through the rooms that connect. A helper ends when the server has: nobody holds the other end of
//! its socket then.

mod files;
mod names;
mod operator;
mod programs;
mod serve;
#[cfg(test)]
mod tests;
mod wire;

use std::io;
use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use clap::Subcommand;
use dormouse::{Error, Resolve, Result};
use dormouse_docker::{Address, Dial};
use dormouse_sources::{Ended, Process, Program, Started, Starter};
use tokio::net::unix::pipe;
use tokio::sync::Semaphore;

pub(crate) use self::operator::{Files, Helped, program};
use self::wire::{Channel, Request};

/// Requests that are under way at one time, besides programs that run; others wait.
const AT_ONCE: usize = 32;
/// Environment variables that the system's resolver reads.
const RESOLVER: [&str; 4] = ["HOSTALIASES", "LOCALDOMAIN", "RES_OPTIONS", "RUST_BACKTRACE"];

/// What a helper is for.
#[derive(Debug, Subcommand)]
pub(crate) enum Task {
    /// Look up names; connect to the container engine at these addresses
    Names {
        /// Its socket
        #[arg(long, value_name = "PATH")]
        socket: Option<PathBuf>,
        /// Its host and port
        #[arg(long, num_args = 2, value_names = ["HOST", "PORT"])]
        tcp: Vec<String>,
    },
    /// Open files
    Files,
    /// Start programs
    Programs {
        /// A folder to remove at the end
        #[arg(long, value_name = "DIR")]
        remove: Option<PathBuf>,
    },
}

/// The work of a helper; its exit status.
pub(crate) fn run(task: Task) -> u8 {
    let done = match task {
        Task::Names { socket, tcp } => names::run(engine(socket, &tcp)),
        Task::Files => files::run(),
        Task::Programs { remove } => programs::run(remove.as_deref()),
    };
    u8::from(done.is_err())
}

fn engine(socket: Option<PathBuf>, tcp: &[String]) -> Option<Address> {
    match (socket, tcp) {
        (Some(path), _) => Some(Address::Socket(path)),
        (None, [host, port]) => Some(Address::Tcp(host.clone(), port.parse().ok()?)),
        (None, _) => None,
    }
}

/// The helper that looks up names, and connects to the container engine.
#[derive(Debug)]
pub(crate) struct Names(Helper);

/// The helper that starts programs.
#[derive(Debug)]
pub(crate) struct Programs {
    helper: Helper,
    table: Vec<Program>,
}

/// The server's end of a helper.
#[derive(Debug)]
struct Helper {
    socket: OwnedFd,
    places: Semaphore,
}

impl Names {
    /// Starts it.
    ///
    /// # Errors
    /// `internal` when this program cannot be started again.
    pub(crate) fn start(engine: Option<&Address>) -> Result<Arc<Self>> {
        let mut words: Vec<std::ffi::OsString> = vec!["names".into()];
        match engine {
            Some(Address::Socket(path)) => words.extend(["--socket".into(), path.into()]),
            Some(Address::Tcp(host, port)) => {
                words.extend(["--tcp".into(), host.into(), port.to_string().into()]);
            }
            None => {}
        }
        let variables = RESOLVER.into_iter().filter_map(|name| Some((name, std::env::var_os(name)?)));
        Helper::start(&words, variables.collect()).map(Self).map(Arc::new)
    }
}

impl Programs {
    /// Starts it. It starts the programs of the table and no others, and removes the folder when this process has ended.
    ///
    /// # Errors
    /// `internal` when this program cannot be started again; `too_large` for programs that have more than 256 KiB of
    /// arguments and environment together.
    pub(crate) fn start(table: Vec<Program>, remove: Option<&std::path::Path>) -> Result<Arc<Self>> {
        let mut words: Vec<std::ffi::OsString> = vec!["programs".into()];
        words.extend(remove.into_iter().flat_map(|folder| ["--remove".into(), folder.into()]));
        Self::with(Helper::start(&words, Program::inherited().collect())?, table).map(Arc::new)
    }

    fn with(helper: Helper, table: Vec<Program>) -> Result<Self> {
        let failed = |error| Error::internal("the programs of the files cannot be handed over", error);
        wire::send_table(&helper.socket, &table).map_err(failed)?;
        Ok(Self { helper, table })
    }
}

impl Helper {
    /// Starts this program once more, with nothing of this process but one socket, the log and these variables.
    #[allow(clippy::disallowed_methods, reason = "it is this program itself, and words of our own")]
    fn start(
        words: &[std::ffi::OsString],
        variables: Vec<(&'static str, std::ffi::OsString)>,
    ) -> Result<Self> {
        use std::os::unix::process::CommandExt as _;
        let failed = |error| {
            Error::internal("a helper of the server cannot be started", error)
                .with_hint("a server that is not confined (`--no-confine`) needs none")
        };
        let (ours, theirs) = wire::pair().map_err(failed)?;
        // The file of this process, even if another lies in its place by now.
        let mut command = Command::new("/proc/self/exe");
        command.arg0("dormouse").arg("broker").args(words).env_clear().envs(variables);
        command.stdin(Stdio::from(theirs)).stdout(Stdio::null());
        // A signal from the terminal is the server's to answer.
        command.process_group(0).spawn().map_err(failed)?;
        Ok(Self::with(ours))
    }

    fn with(socket: OwnedFd) -> Self {
        Self { socket, places: Semaphore::new(AT_ONCE) }
    }

    /// Asks; the channel on which the answer came, the bytes of it, and what was handed over.
    async fn ask(&self, request: Request<'_>) -> io::Result<(Channel, Vec<u8>, Vec<OwnedFd>)> {
        let _place = self.places.acquire().await.map_err(io::Error::other)?;
        let channel = Channel::send(&self.socket, request)?;
        let (bytes, handed) = channel.answer().await?;
        Ok((channel, bytes, handed))
    }

    /// Asks for what is there at once, outside of the event loop; what was handed over.
    fn ask_now(&self, request: Request<'_>) -> io::Result<Vec<OwnedFd>> {
        let channel = wire::ask(&self.socket, request)?;
        wire::answered(&channel, NOW).map(|(_, handed)| handed)
    }
}

#[async_trait]
impl Resolve for Names {
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        let (_, bytes, _) = self.0.ask(Request::Name(name)).await?;
        let text = String::from_utf8_lossy(&bytes);
        Ok(text.lines().filter_map(|line| line.parse().ok()).collect())
    }
}

#[async_trait]
impl Dial for Names {
    async fn dial(&self) -> io::Result<OwnedFd> {
        let (_, _, mut handed) = self.0.ask(Request::Engine).await?;
        handed.pop().ok_or_else(|| io::Error::other("no connection was handed over"))
    }
}

#[async_trait]
impl Starter for Programs {
    async fn start(&self, program: &Program) -> io::Result<Started> {
        let missing =
            || io::Error::new(io::ErrorKind::PermissionDenied, "the files did not name it at the start");
        let at = self.table.iter().position(|known| known == program).ok_or_else(missing)?;
        let (channel, _, handed) = self.helper.ask(Request::Program(at)).await?;
        let Ok([input, output, errors]) = <[OwnedFd; 3]>::try_from(handed) else {
            return Err(io::Error::other("a process has no streams"));
        };
        Ok(Started {
            input: Box::new(pipe::Sender::from_owned_fd(input)?),
            output: Box::new(pipe::Receiver::from_owned_fd(output)?),
            errors: Box::new(pipe::Receiver::from_owned_fd(errors)?),
            process: Box::new(Running(channel)),
        })
    }
}

/// A program that a helper runs. Closing the channel ends its group.
struct Running(Channel);

#[async_trait]
impl Process for Running {
    fn ask(&self) {
        // Whoever has gone cannot be asked.
        let _ = self.0.tell(wire::ASK);
    }

    async fn ended(&self) -> Option<Ended> {
        wire::how(&self.0.heard(wire::ENDED).await.ok()?)
    }

    async fn kill(&self) -> io::Result<()> {
        self.0.tell(wire::KILL)?;
        self.0.heard(wire::GONE).await.map(drop)
    }
}

/// How long a server waits for what is there at once.
const NOW: Duration = Duration::from_secs(5);
/// How long a helper waits for an engine that does not answer.
const CONNECT: Duration = Duration::from_secs(10);
