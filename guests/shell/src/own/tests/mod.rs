//! The commands as a shell runs them, on files in memory.

mod archives;
mod bc;
mod curl;
mod files;
mod network;
mod texts;
mod timeouts;
mod wget;
mod zips;

use std::path::Path;
use std::sync::Arc;

use bashkit::{Bash, FileSystem};
use tokio::runtime::{Builder, Runtime};

use crate::session::limits;

/// A shell with our commands and a home folder.
struct Shell {
    bash: Bash,
    runtime: Runtime,
}

/// What a command line came to.
#[derive(Debug, PartialEq, Eq)]
struct Came {
    out: String,
    err: String,
    status: i32,
}

impl Shell {
    fn new() -> Self {
        let bash = super::register(Bash::builder()).cwd("/home").limits(limits()).build();
        let runtime = Builder::new_current_thread().enable_time().build().unwrap();
        let mut shell = Self { bash, runtime };
        shell.run("mkdir -p /home /streams; cd /home");
        shell
    }

    /// Runs a command line. Output of the shell goes to the process, so it is led to files.
    fn run(&mut self, line: &str) -> Came {
        let line = format!("{{ {line}\n}} > /streams/out 2> /streams/err");
        let ended = self.runtime.block_on(async { self.bash.execute(&line).await });
        let status = ended.unwrap().exit_code;
        Came { out: self.read("/streams/out"), err: self.read("/streams/err"), status }
    }

    /// What a command line prints; it has to succeed and to say nothing else.
    #[track_caller]
    fn out(&mut self, line: &str) -> String {
        let came = self.run(line);
        assert_eq!((came.err.as_str(), came.status), ("", 0), "{line}");
        came.out
    }

    /// What a command line says of its failure, and its exit status; it has to print nothing else.
    #[track_caller]
    fn failure(&mut self, line: &str) -> (String, i32) {
        let came = self.run(line);
        assert_eq!(came.out, "", "{line}");
        (came.err, came.status)
    }

    fn files(&self) -> Arc<dyn FileSystem> {
        self.bash.fs()
    }

    fn bytes(&self, path: &str) -> Vec<u8> {
        let files = self.files();
        self.runtime.block_on(async { files.read_file(Path::new(path)).await }).unwrap_or_default()
    }

    fn read(&self, path: &str) -> String {
        String::from_utf8(self.bytes(path)).unwrap()
    }

    fn write(&self, path: &str, bytes: &[u8]) {
        let files = self.files();
        self.runtime.block_on(async { files.write_file(Path::new(path), bytes).await }).unwrap();
    }
}
