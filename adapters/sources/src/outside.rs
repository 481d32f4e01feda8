//! What sources need of this machine: names that are looked up, requests that are sent, programs that are started. A process that has
//! confined itself looks nothing up and starts nothing, and brings others that do it in its place.

mod local;

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;

use async_trait::async_trait;
use dormouse_core::Resolve;
use dormouse_core::errand::{Errand, Errands};
use rustix::process::WaitIdStatus;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncWrite};

pub(crate) use self::local::Local;

/// Environment variables of this process that a program gets.
const INHERITED: [&str; 6] = ["PATH", "HOME", "LANG", "TMPDIR", "TZ", "USER"];

/// Who does it. By default this process itself.
#[derive(Clone, Debug)]
pub struct Outside {
    /// Who looks up names. None: the system's resolver, in this process.
    pub names: Option<Arc<dyn Resolve>>,
    /// Who sends requests: the operator's gate. None: clients of this process.
    pub errands: Option<Arc<dyn Errands>>,
    /// What the gate is told of them.
    pub errand: Errand,
    /// Who starts programs.
    pub programs: Arc<dyn Starter>,
}

impl Outside {
    /// The same for one server.
    #[must_use]
    pub fn with(&self, errand: Errand) -> Self {
        Self { errand, ..self.clone() }
    }
}

impl Default for Outside {
    fn default() -> Self {
        Self { names: None, errands: None, errand: Errand::default(), programs: Arc::new(Local) }
    }
}

/// A program of this machine that serves on its standard input and output. `Debug` does not show the values of its
/// environment, which may be secrets; serialising does.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// Its name or path. No shell reads it.
    pub program: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Its environment, besides a few variables of this process such as `PATH` and `HOME`.
    pub env: BTreeMap<String, String>,
    /// The folder it starts in. Default: this process's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<PathBuf>,
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&String> = self.env.keys().collect();
        f.debug_struct("Program")
            .field("program", &self.program)
            .field("args", &self.args)
            .field("env", &names)
            .field("cwd", &self.cwd)
            .finish()
    }
}

impl Program {
    /// The variables of this process that every program gets, those that are set.
    pub fn inherited() -> impl Iterator<Item = (&'static str, std::ffi::OsString)> {
        INHERITED.into_iter().filter_map(|name| Some((name, std::env::var_os(name)?)))
    }

    /// How it is started: three pipes, a process group of its own, nothing of this process's environment but
    /// [`Program::inherited`].
    #[allow(clippy::disallowed_methods, reason = "it is what the operator's file names")]
    pub fn command(&self) -> Command {
        use std::os::unix::process::CommandExt as _;
        let mut command = Command::new(&self.program);
        command.args(&self.args).env_clear().envs(Self::inherited()).envs(&self.env).process_group(0);
        if let Some(folder) = &self.cwd {
            command.current_dir(folder);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }
}

/// Starts programs.
#[async_trait]
pub trait Starter: fmt::Debug + Send + Sync {
    /// Starts it. If the future is dropped, nothing of it is left.
    ///
    /// # Errors
    /// What the system says when it cannot be started, and whatever else stands against it.
    async fn start(&self, program: &Program) -> io::Result<Started>;
}

/// A program that runs.
pub struct Started {
    /// Its standard input.
    pub input: Box<dyn AsyncWrite + Send + Unpin>,
    /// Its standard output.
    pub output: Box<dyn AsyncRead + Send + Unpin>,
    /// Its standard error.
    pub errors: Box<dyn AsyncRead + Send + Unpin>,
    /// The process. Dropping it ends all of its group at once.
    pub process: Box<dyn Process>,
}

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// By itself, with this exit status.
    Status(i32),
    /// By a signal of this number.
    Signal(i32),
}

impl Ended {
    /// What the system says of a process; none while it runs.
    pub fn of(status: &WaitIdStatus) -> Option<Self> {
        status.exit_status().map(Self::Status).or_else(|| status.terminating_signal().map(Self::Signal))
    }
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status(status) => write!(f, "exit status {status}"),
            Self::Signal(signal) => write!(f, "signal {signal}"),
        }
    }
}

/// The process of a program, the leader of its group.
#[async_trait]
pub trait Process: Send + Sync {
    /// Asks all of its group to end (`SIGTERM`).
    fn ask(&self);

    /// Waits until the program itself has ended, and says how, if anybody knows. Others of its group may run on. Is asked once:
    /// who gives up the wait may ask again.
    async fn ended(&self) -> Option<Ended>;

    /// Ends all of its group at once (`SIGKILL`), and waits until the program is gone.
    ///
    /// # Errors
    /// When nobody can tell whether it is.
    async fn kill(&self) -> io::Result<()>;
}
