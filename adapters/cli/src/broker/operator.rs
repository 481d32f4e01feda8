//! The operator's files and commands for the gate of the network, in a server that may neither open nor start them any more.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use dormouse::Result;
use dormouse_egress::{Operator, Zeroizing};
use dormouse_sources::{Ended, Program, Starter as _};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use tokio::io::AsyncReadExt as _;

use super::wire::{self, Request};
use super::{Helper, Programs};

/// The helper that opens files.
#[derive(Debug)]
pub(crate) struct Files {
    helper: Helper,
    table: Vec<PathBuf>,
}

impl Files {
    /// Starts it. It opens what lies at these paths whenever it is asked, and nothing else.
    ///
    /// # Errors
    /// `internal` when this program cannot be started again.
    pub(crate) fn start(table: Vec<PathBuf>) -> Result<Arc<Self>> {
        Self::with(Helper::start(&["files".into()], Vec::new())?, table).map(Arc::new)
    }

    pub(super) fn with(helper: Helper, table: Vec<PathBuf>) -> Result<Self> {
        let failed =
            |error| dormouse::Error::internal("the files of the network cannot be handed over", error);
        wire::send_table(&helper.socket, &table).map_err(failed)?;
        Ok(Self { helper, table })
    }
}

/// What helps the gate.
#[derive(Debug, Default)]
pub(crate) struct Helped {
    pub(crate) files: Option<Arc<Files>>,
    pub(crate) programs: Option<Arc<Programs>>,
}

/// A command that tells a secret, as a program with the environment of this process.
pub(crate) fn program(arguments: &[String]) -> Option<Program> {
    let (program, args) = arguments.split_first()?;
    let env = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    Some(Program { program: program.clone(), args: args.to_vec(), env: env.collect(), cwd: None })
}

impl Operator for Helped {
    fn open(&self, path: &Path) -> io::Result<File> {
        let at = |files: &Files| files.table.iter().position(|known| known == path);
        let Some((files, at)) = self.files.as_ref().and_then(|files| Some((files, at(files)?))) else {
            return Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                "a confined server opens only files that were named when it started; start it again",
            ));
        };
        let mut handed = files.helper.ask_now(Request::File(at))?;
        handed.pop().map(File::from).ok_or_else(|| io::Error::other("no file was handed over"))
    }

    fn run<'a>(
        &'a self,
        arguments: &'a [String],
        most: usize,
    ) -> BoxFuture<'a, std::result::Result<Zeroizing<Vec<u8>>, String>> {
        async move {
            let name = arguments.first().map_or("", String::as_str);
            let told = |error: io::Error| format!("the command `{name}` cannot be run: {error}");
            let none = || {
                let text =
                    "a confined server runs only commands that were named when it started; start it again";
                told(io::Error::new(io::ErrorKind::PermissionDenied, text))
            };
            let program = program(arguments).ok_or_else(none)?;
            let programs = self.programs.as_ref().ok_or_else(none)?;
            let mut started = programs.start(&program).await.map_err(told)?;
            drop(started.input);
            let mut bytes = Zeroizing::new(Vec::with_capacity(most));
            let most = most.try_into().unwrap_or(u64::MAX);
            let mut output = (&mut started.output).take(most);
            // What it complains of may hold anything, and is not shown; but a full pipe would hold it up.
            let mut nothing = tokio::io::sink();
            let complaint = async {
                let _ = tokio::io::copy(&mut started.errors, &mut nothing).await;
                std::future::pending::<()>().await;
            };
            let read = tokio::select! {
                read = output.read_to_end(&mut bytes) => read.map_err(told)?,
                () = complaint => 0,
            };
            if read as u64 == most {
                return Ok(bytes);
            }
            match started.process.ended().await {
                Some(Ended::Status(0)) => Ok(bytes),
                Some(Ended::Status(status)) => {
                    Err(format!("the command `{name}` failed: exit status: {status}"))
                }
                Some(Ended::Signal(signal)) => Err(format!("the command `{name}` failed: signal: {signal}")),
                None => Err(format!("the command `{name}` failed")),
            }
        }
        .boxed()
    }
}
