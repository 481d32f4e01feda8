//! The files and streams of a command.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bashkit::{CommandContext, CommandInput, CommandOutput, Error, FileSystem, Result, StreamData};

use super::super::folders;
use super::super::paths::lexical;

/// What a command works with.
pub(in crate::own) struct Desk<'a> {
    cwd: &'a Path,
    pub(in crate::own) fs: Arc<dyn FileSystem>,
    stdin: CommandInput,
    pub(in crate::own) stdout: CommandOutput,
    stderr: CommandOutput,
    home: Option<&'a str>,
}

impl<'a> Desk<'a> {
    pub(in crate::own) fn new(context: &CommandContext<'a>) -> Self {
        Self {
            cwd: context.cwd,
            fs: context.fs.clone(),
            stdin: context.stdin.clone(),
            stdout: context.stdout.clone(),
            stderr: context.stderr.clone(),
            home: context.env.get("HOME").map(String::as_str),
        }
    }

    /// A file's whole name.
    pub(in crate::own) fn path(&self, name: &str) -> PathBuf {
        lexical(&self.cwd.join(name))
    }

    /// The file of that name in the home folder.
    pub(in crate::own) fn at_home(&self, name: &str) -> Option<PathBuf> {
        self.home.map(|home| Path::new(home).join(name))
    }

    /// All of a file, or of standard input (`-`). The error is what is said of it.
    pub(in crate::own) async fn read(&self, name: &str) -> std::result::Result<Vec<u8>, String> {
        let read = match name {
            "-" | "/dev/stdin" => self.input().await,
            name => self.fs.read_file(&self.path(name)).await,
        };
        read.map_err(|error| folders::reason(&error))
    }

    async fn input(&self) -> Result<Vec<u8>> {
        let mut all = Vec::new();
        while let Some(piece) = self.stdin.read_chunk().await? {
            all.extend(piece);
        }
        Ok(all)
    }

    /// Writes text to standard error. That nobody reads it is no reason to stop.
    pub(in crate::own) async fn say(&self, text: &str) -> Result<()> {
        self.complain(StreamData::from(text).as_bytes()).await
    }

    /// The same of bytes.
    pub(in crate::own) async fn complain(&self, bytes: &[u8]) -> Result<()> {
        match self.stderr.write_all(bytes).await {
            Err(Error::Io(_)) => Ok(()),
            done => done,
        }
    }
}
