//! How the gate comes to the operator's files and commands: by itself, or by somebody who still may where this process may not any
//! more.

use std::fmt::Debug;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use tokio::io::AsyncReadExt as _;
use zeroize::Zeroizing;

/// Do not wait for whoever writes to a pipe: what is opened is to be a file.
const NON_BLOCK: i32 = 0o4000;

/// Who opens files that the operator's rules name, and runs commands that tell secrets. Nothing that a guest says comes here.
pub trait Operator: Debug + Send + Sync {
    /// Opens a file to read it. It may be no regular file: whoever reads it looks.
    ///
    /// # Errors
    /// Why it cannot be opened.
    fn open(&self, path: &Path) -> io::Result<File>;

    /// Runs a program with its arguments, and returns what it prints: at most so many bytes. It ends with the future.
    ///
    /// # Errors
    /// Why it could not be run, or that it failed, without anything that it printed.
    fn run<'a>(
        &'a self,
        arguments: &'a [String],
        most: usize,
    ) -> BoxFuture<'a, Result<Zeroizing<Vec<u8>>, String>>;
}

/// This process.
#[derive(Clone, Copy, Debug, Default)]
pub struct Own;

impl Own {
    /// As a gate takes it.
    pub(crate) fn shared() -> Arc<dyn Operator> {
        Arc::new(Self)
    }
}

impl Operator for Own {
    fn open(&self, path: &Path) -> io::Result<File> {
        OpenOptions::new().read(true).custom_flags(NON_BLOCK).open(path)
    }

    fn run<'a>(
        &'a self,
        arguments: &'a [String],
        most: usize,
    ) -> BoxFuture<'a, Result<Zeroizing<Vec<u8>>, String>> {
        printed(arguments, most).boxed()
    }
}

async fn printed(arguments: &[String], most: usize) -> Result<Zeroizing<Vec<u8>>, String> {
    let Some((program, rest)) = arguments.split_first() else { return Err("the command is empty".into()) };
    let told = |error: io::Error| format!("the command `{program}` cannot be run: {error}");
    let mut command = tokio::process::Command::new(program);
    command.args(rest).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
    let mut child = command.spawn().map_err(told)?;
    let mut bytes = Zeroizing::new(Vec::with_capacity(most));
    if let Some(output) = child.stdout.take() {
        output.take(most.try_into().unwrap_or(u64::MAX)).read_to_end(&mut bytes).await.map_err(told)?;
    }
    if bytes.len() == most {
        // It may write on without end.
        return Ok(bytes);
    }
    let status = child.wait().await.map_err(told)?;
    if status.success() { Ok(bytes) } else { Err(format!("the command `{program}` failed: {status}")) }
}
