//! Whether the operator's file was changed, for servers that read it again while they run.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use dormouse_core::Result;

use crate::file::{self, Settings};
use crate::operator::{Operator, Own};

/// What a file is now: which, how long, and since when. None: it cannot be looked at.
type Stamp = Option<(u64, u64, u64, (i64, i64), (i64, i64))>;

/// A file of rules that is watched, with the files of secrets and authorities that it names.
#[derive(Clone, Debug)]
pub struct Watched {
    path: PathBuf,
    /// The files, as they were before they were read last.
    files: Vec<(PathBuf, Stamp)>,
}

impl Watched {
    /// Reads a file that is to be watched from here on.
    ///
    /// # Errors
    /// As [`file::read`].
    pub fn open(path: &Path) -> Result<(Settings, Self)> {
        let mut watched = Self { path: path.to_owned(), files: Vec::new() };
        let settings = watched.read(&Own)?;
        Ok((settings, watched))
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What the file says now, if it or one that it names was changed. An error is told once; what it says counts when it is changed
    /// again. Looks at each file, and has none opened that is as it was.
    pub fn changed(&mut self, operator: &dyn Operator) -> Option<Result<Settings>> {
        let is_same = |(path, before): &(PathBuf, Stamp)| stamp(path) == *before;
        if self.files.iter().all(is_same) { None } else { Some(self.read(operator)) }
    }

    /// What the file says now, whether it was changed or not: somebody asked for it.
    ///
    /// # Errors
    /// As [`file::read`].
    pub fn read(&mut self, operator: &dyn Operator) -> Result<Settings> {
        // As they are before they are read: what is changed meanwhile is seen the next time.
        let own = (self.path.clone(), stamp(&self.path));
        let mut before: Vec<_> = std::mem::take(&mut self.files);
        before.iter_mut().for_each(|(path, seen)| *seen = stamp(path));
        let read = file::read_by(operator, &self.path);
        self.files = match &read {
            Err(_) => before,
            Ok(settings) => {
                let known = |path: &PathBuf| before.iter().find(|(other, _)| other == path).cloned();
                let files = settings.files.iter();
                files.map(|path| known(path).unwrap_or_else(|| (path.clone(), stamp(path)))).collect()
            }
        };
        self.files.retain(|(path, _)| *path != own.0);
        self.files.push(own);
        read
    }
}

/// What is no regular file is read once: nothing else comes out of a pipe.
fn stamp(path: &Path) -> Stamp {
    let about = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)?;
    let (modified, changed) = ((about.mtime(), about.mtime_nsec()), (about.ctime(), about.ctime_nsec()));
    Some((about.dev(), about.ino(), about.len(), modified, changed))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::os::fd::AsRawFd as _;

    use super::*;

    #[test]
    fn a_file_and_those_that_it_names_are_read_again_when_they_were_changed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("net.toml");
        let write = |text: &str| std::fs::write(&path, text).unwrap();
        let rules = "[[profile.default.allow]]\nhost = \"a.test\"\n";
        write(rules);
        let (settings, mut watched) = Watched::open(&path).unwrap();
        assert_eq!(settings.profile("default").unwrap().rules.len(), 1);
        assert!(watched.changed(&Own).is_none() && watched.changed(&Own).is_none());
        write(&rules.repeat(2));
        assert_eq!(watched.changed(&Own).unwrap().unwrap().profile("default").unwrap().rules.len(), 2);
        assert!(watched.changed(&Own).is_none());
        // An error is told once, and what was there before is not forgotten to be watched.
        write("not toml");
        assert!(watched.changed(&Own).unwrap().is_err());
        assert!(watched.changed(&Own).is_none());
        std::fs::remove_file(&path).unwrap();
        assert!(watched.changed(&Own).unwrap().is_err());
        assert!(watched.changed(&Own).is_none());
        // As editors do it: another file of the same name.
        let secret = "[secret.KEY]\nfile = \"key\"\nhosts = [\"a.test\"]\n";
        std::fs::write(folder.path().join("new"), format!("{rules}{secret}")).unwrap();
        std::fs::rename(folder.path().join("new"), &path).unwrap();
        assert_eq!(watched.changed(&Own).unwrap().unwrap().secrets.len(), 1);
        // The secret's file, which comes later.
        assert!(watched.changed(&Own).is_none());
        std::fs::write(folder.path().join("key"), "a-value-of-length").unwrap();
        assert!(watched.changed(&Own).unwrap().is_ok());
        assert!(watched.changed(&Own).is_none());
        assert!(watched.read(&Own).is_ok());
        assert!(Watched::open(&folder.path().join("none")).is_err());
    }

    #[test]
    fn a_pipe_is_waited_for_and_read_once() {
        let (read, mut write) = std::io::pipe().unwrap();
        let path = PathBuf::from(format!("/proc/self/fd/{}", read.as_raw_fd()));
        let writer = std::thread::spawn(move || {
            for part in ["[[profile.default.allow]]\n", "host = \"a.test\"\n"] {
                std::thread::sleep(std::time::Duration::from_millis(50));
                write.write_all(part.as_bytes()).unwrap();
            }
        });
        let (settings, mut watched) = Watched::open(&path).unwrap();
        assert_eq!(settings.profile("default").unwrap().rules.len(), 1);
        writer.join().unwrap();
        assert!(watched.changed(&Own).is_none());
    }
}
