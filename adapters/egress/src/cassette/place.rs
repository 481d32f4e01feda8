//! Where a recording lies: the file that was named, and beside it `NAME.part`, which is written and takes its place when it is whole.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use dormouse_core::{Error, ErrorCode, Result};

use crate::cassette::line::Line;

/// Do not wait for whoever is at the other end of a pipe, and follow no link.
const NON_BLOCK: i32 = 0o4000;
const NO_FOLLOW: i32 = 0o400_000;
/// How often it is tried to take hold of a file that another process moves meanwhile.
const TRIES: usize = 16;

/// The place of a recording that is made.
#[derive(Debug)]
pub(super) struct Place {
    path: PathBuf,
    part: PathBuf,
    /// The named file itself, for a process that will not be allowed to put another in its place.
    own: Option<File>,
}

impl Place {
    /// Takes the place, and what is written. Nobody else records there until that is dropped.
    ///
    /// # Errors
    /// `conflict` for what is no recording, or where another process records; `state_unavailable` for what cannot be written.
    pub(super) fn take(path: &Path) -> Result<(Self, File)> {
        // A link leads to the file that is meant.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let told = |error: &dyn std::fmt::Display| {
            let told = format!("the recording `{}` cannot be written: {error}", path.display());
            Error::new(ErrorCode::StateUnavailable, told)
        };
        let conflict = |path: &Path, what: &str| {
            Error::new(ErrorCode::Conflict, format!("`{}` {what}", path.display()))
                .with_hint("name a file that is not there")
        };
        let other = |path: &Path| conflict(path, "is there, and is no recording");
        let odd = |path: &Path| conflict(path, "is there, and is no regular file");
        let there = fs::metadata(&path).ok();
        let Some(name) = path.file_name().filter(|_| there.as_ref().is_none_or(fs::Metadata::is_file)) else {
            return Err(odd(&path));
        };
        if there.is_some() {
            // It is to be one that may be written, though that is not what happens to it.
            let file = opened(&path, false).map_err(|error| told(&error))?;
            if !is_recording(&file).map_err(|error| told(&error))? {
                return Err(other(&path));
            }
        }
        let part = path.with_file_name([name, ".part".as_ref()].join("".as_ref()));
        if fs::symlink_metadata(&part).is_ok_and(|about| !about.is_file()) {
            return Err(odd(&part));
        }
        for _ in 0..TRIES {
            let file = opened(&part, true).map_err(|error| told(&error))?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    let told = format!("another process is recording into `{}`", path.display());
                    return Err(Error::new(ErrorCode::Conflict, told).with_hint("name another file"));
                }
                Err(TryLockError::Error(error)) => return Err(told(&error)),
            }
            let own = file.metadata().map_err(|error| told(&error))?;
            if !fs::symlink_metadata(&part).is_ok_and(|now| (now.dev(), now.ino()) == (own.dev(), own.ino()))
            {
                // Whoever had it was at its end, and has put it into its place.
                continue;
            }
            if !own.is_file() {
                return Err(odd(&part));
            }
            if !is_recording(&file).map_err(|error| told(&error))? {
                return Err(other(&part));
            }
            let private = || {
                file.set_permissions(fs::Permissions::from_mode(0o600))?;
                file.set_len(0)?;
                (&file).rewind()
            };
            private().map_err(|error| told(&error))?;
            return Ok((Self { path, part, own: None }, file));
        }
        Err(told(&"other processes record there, one after the other"))
    }

    /// The file that was named.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The file that is written.
    pub(super) fn part(&self) -> &Path {
        &self.part
    }

    /// Whether something lies there already.
    pub(super) fn is_taken(&self) -> bool {
        fs::metadata(&self.path).is_ok_and(|about| about.len() > 0)
    }

    /// Opens the named file itself: later this process may not put another in its place.
    ///
    /// # Errors
    /// Why it cannot be opened.
    pub(super) fn hold(&mut self) -> io::Result<()> {
        let own = opened(&self.path, true)?;
        own.set_permissions(fs::Permissions::from_mode(0o600))?;
        self.own = Some(own);
        Ok(())
    }

    /// Puts what was written into the place of what was there.
    ///
    /// # Errors
    /// Why it cannot be; what was there is there still, or what was written is in [`Place::part`].
    pub(super) fn settle(&self, written: &File) -> io::Result<()> {
        written.sync_all()?;
        let Some(own) = &self.own else {
            fs::rename(&self.part, &self.path)?;
            // What it lies in may be none that is read.
            if let Some(folder) = self.path.parent()
                && let Ok(folder) = File::open(folder)
            {
                let _ = folder.sync_all();
            }
            return Ok(());
        };
        if fs::rename(&self.part, &self.path).is_ok() {
            return Ok(());
        }
        own.set_len(0)?;
        (&mut &*written).rewind()?;
        io::copy(&mut &*written, &mut &*own)?;
        own.sync_all()?;
        self.discard(written)
    }

    /// Removes what was written.
    ///
    /// # Errors
    /// Why it is still there; it is empty then, or that is why.
    pub(super) fn discard(&self, written: &File) -> io::Result<()> {
        match fs::remove_file(&self.part) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => written.set_len(0),
            removed => removed,
        }
    }
}

fn opened(path: &Path, may_make: bool) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(may_make).truncate(false).mode(0o600);
    options.custom_flags(NON_BLOCK | if may_make { NO_FOLLOW } else { 0 }).open(path)
}

/// Opens a recording to read it.
///
/// # Errors
/// Why it cannot be; `InvalidInput` for what is no regular file.
pub(super) fn to_read(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().read(true).custom_flags(NON_BLOCK).open(path)?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file"))
    }
}

/// What is told of a recording that was not finished.
pub(super) fn unfinished(path: &Path) -> Option<String> {
    let part = path.with_file_name([path.file_name()?, ".part".as_ref()].join("".as_ref()));
    let file = to_read(&part).ok()?;
    let is_some = file.metadata().is_ok_and(|about| about.len() > 0) && is_recording(&file).unwrap_or(false);
    is_some.then(|| {
        format!("`{}` holds what was recorded before the process ended: it can be played", part.display())
    })
}

/// Whether a file is empty, or begins as a recording does.
fn is_recording(file: &File) -> io::Result<bool> {
    let mut first = Vec::new();
    BufReader::new(file).take(256).read_until(b'\n', &mut first)?;
    Ok(first.is_empty() || matches!(serde_json::from_slice(&first), Ok(Line::Cassette { .. })))
}
