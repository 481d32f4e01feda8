//! Programs that a sandbox's command line can start and that are neither the shell's own nor a guest: `pip`, `npm`.

use std::sync::Arc;

use async_trait::async_trait;

use crate::OutputSink;
use crate::network::Door;
use crate::sandbox::{Files, Owner};

/// A program as a command line starts it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProgramCall {
    /// Its name, without a folder.
    pub name: String,
    /// Its arguments, without argument 0.
    pub arguments: Vec<String>,
    /// Its environment variables.
    pub environment: Vec<(String, String)>,
    /// The folder it starts in.
    pub directory: String,
    /// All of its standard input.
    pub input: Vec<u8>,
}

/// What came of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProgramEnd {
    /// Its exit status.
    pub status: u8,
    /// Its standard output.
    pub output: Vec<u8>,
    /// Its standard error.
    pub errors: Vec<u8>,
    /// The provider that ran it, if it was another one than the command line's.
    pub provider: Option<&'static str>,
}

impl ProgramEnd {
    /// The exit status of a program that was cut off by the time limit, as of coreutils' `timeout`.
    pub const TIMED_OUT: u8 = 124;
    /// The exit status of a program that was ended by another limit, as after SIGKILL.
    pub const KILLED: u8 = 137;

    /// A program that says something on standard output.
    pub fn said(output: impl Into<Vec<u8>>) -> Self {
        Self { output: output.into(), ..Self::default() }
    }

    /// A program that fails, and why.
    pub fn failed(status: u8, errors: impl Into<Vec<u8>>) -> Self {
        Self { status, errors: errors.into(), ..Self::default() }
    }
}

/// The programs that one command line can start.
#[async_trait]
pub trait Programs: Send + Sync {
    /// Runs a program to its end. None: there is none of that name. Dropping the future cancels it.
    async fn run(&self, call: &ProgramCall, files: &mut dyn Files) -> Option<ProgramEnd>;
}

/// For whom one of the operator's programs runs.
#[derive(Clone, Copy)]
pub struct ProgramRun<'a> {
    /// The owner: what it takes of the host is counted as the owner's.
    pub owner: &'a Owner,
    /// Who is told meanwhile how much is received for it, if anybody is.
    pub sink: Option<&'a dyn OutputSink>,
    /// The network of the command line that starts it, if that has one.
    pub network: Option<&'a Arc<dyn Door>>,
}

impl<'a> ProgramRun<'a> {
    /// One without a network, of which nobody hears before its end.
    pub fn of(owner: &'a Owner) -> Self {
        Self { owner, sink: None, network: None }
    }
}

/// The operator's programs. They run on the host, work on nothing but the sandbox's files and never run what lies in them.
#[async_trait]
pub trait OfferedPrograms: Send + Sync {
    /// Runs a program to its end. None: there is no program of that name. Dropping the future cancels it.
    async fn run(&self, of: ProgramRun<'_>, call: &ProgramCall, files: &mut dyn Files) -> Option<ProgramEnd>;

    /// The addresses of the network below which they reach git repositories, without what their servers are told. Default: none.
    fn remotes(&self) -> Vec<String> {
        Vec::new()
    }
}

/// There are none.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoPrograms;

#[async_trait]
impl Programs for NoPrograms {
    async fn run(&self, _: &ProgramCall, _: &mut dyn Files) -> Option<ProgramEnd> {
        None
    }
}

/// Several lots of the operator's programs, for one owner; of one name the first counts.
pub struct OwnersPrograms {
    /// Whose command line starts them.
    pub owner: Owner,
    /// What is offered.
    pub offered: Vec<Arc<dyn OfferedPrograms>>,
    /// Who is told what they receive, if anybody is.
    pub sink: Option<Arc<dyn OutputSink>>,
    /// The network of the command line, if it has one.
    pub network: Option<Arc<dyn Door>>,
    /// What there is besides.
    pub further: Option<Arc<dyn Programs>>,
}

#[async_trait]
impl Programs for OwnersPrograms {
    async fn run(&self, call: &ProgramCall, files: &mut dyn Files) -> Option<ProgramEnd> {
        let of =
            ProgramRun { owner: &self.owner, sink: self.sink.as_deref(), network: self.network.as_ref() };
        for programs in &self.offered {
            if let Some(ended) = programs.run(of, call, files).await {
                return Some(ended);
            }
        }
        self.further.as_ref()?.run(call, files).await
    }
}

/// Bytes that each stream of a program may carry from one command to the next (16 MiB); the rest is dropped, and said to be.
pub const MAX_STREAM: u64 = 16 << 20;
