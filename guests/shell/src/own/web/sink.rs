//! Where an answer's body goes: to a stream, into a file as it comes, or nowhere.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use bashkit::Error;

use super::super::folders;
use super::desk::Desk;

enum Place {
    Output,
    Errors,
    Nowhere,
    File(PathBuf),
}

/// A place for bytes. A file is made with its first byte, or when it is finished.
pub(in crate::own) struct Sink {
    place: Place,
    /// As it was named.
    name: Option<String>,
    /// What a file holds before.
    kept: u64,
    made: bool,
    /// How many bytes have been written.
    pub(in crate::own) written: u64,
}

impl Sink {
    /// Standard output.
    pub(in crate::own) fn output() -> Self {
        Self::of(Place::Output, None)
    }

    /// A file.
    pub(in crate::own) fn at(path: PathBuf) -> Self {
        let name = path.to_string_lossy().into_owned();
        Self::of(Place::File(path), Some(name))
    }

    /// What a name stands for; `-` is standard output.
    pub(in crate::own) fn named(name: &str, desk: &Desk<'_>) -> Self {
        let place = match name {
            "-" | "/dev/stdout" | "/dev/fd/1" => Place::Output,
            "/dev/stderr" | "/dev/fd/2" => Place::Errors,
            "/dev/null" => Place::Nowhere,
            name => Place::File(desk.path(name)),
        };
        Self::of(place, Some(name.to_owned()))
    }

    fn of(place: Place, name: Option<String>) -> Self {
        Self { place, name, kept: 0, made: false, written: 0 }
    }

    /// Keeps what a file holds, as many bytes, and writes behind it.
    pub(in crate::own) fn behind(mut self, kept: u64) -> Self {
        (self.kept, self.made) = (kept, kept > 0);
        self
    }

    /// How many bytes it holds before.
    pub(in crate::own) fn start(&self) -> u64 {
        self.kept
    }

    /// As it was named.
    pub(in crate::own) fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The file, if it is one.
    pub(in crate::own) fn file(&self) -> Option<&Path> {
        match &self.place {
            Place::File(path) => Some(path),
            _ => None,
        }
    }

    /// Writes bytes.
    pub(in crate::own) async fn write(&mut self, bytes: &[u8], desk: &Desk<'_>) -> Result<(), Unwritten> {
        if bytes.is_empty() {
            return Ok(());
        }
        match &self.place {
            Place::Output => desk.stdout.write_all(bytes).await?,
            Place::Errors => desk.complain(bytes).await?,
            Place::Nowhere => {}
            Place::File(path) if self.made => desk.fs.append_file(path, bytes).await?,
            Place::File(path) => desk.fs.write_file(path, bytes).await?,
        }
        self.made = true;
        self.written += bytes.len() as u64;
        Ok(())
    }

    /// Makes the file if nothing has been written.
    pub(in crate::own) async fn finish(&mut self, desk: &Desk<'_>) -> Result<(), Unwritten> {
        if let Place::File(path) = &self.place
            && !self.made
        {
            desk.fs.write_file(path, b"").await?;
            self.made = true;
        }
        Ok(())
    }

    /// Begins once more, with nothing of what has been written to a file.
    pub(in crate::own) async fn again(&mut self, desk: &Desk<'_>) -> Result<(), Unwritten> {
        if let Place::File(path) = &self.place
            && self.written > 0
        {
            let mut content = desk.fs.read_file(path).await?;
            content.truncate(usize::try_from(self.kept).unwrap_or(usize::MAX));
            desk.fs.write_file(path, &content).await?;
        }
        self.written = 0;
        Ok(())
    }
}

/// Why bytes could not be written.
#[derive(Debug)]
pub(in crate::own) enum Unwritten {
    /// Nobody reads any more.
    Unread,
    /// Why the system does not take them.
    Io(String),
    /// The shell is to end.
    Shell(Error),
}

impl From<Error> for Unwritten {
    fn from(error: Error) -> Self {
        match error {
            Error::Io(error) if error.kind() == ErrorKind::BrokenPipe => Self::Unread,
            Error::Io(_) => Self::Io(folders::reason(&error)),
            error => Self::Shell(error),
        }
    }
}
