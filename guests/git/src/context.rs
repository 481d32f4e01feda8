//! What a command works on, and how it fails.

use std::io::{self, StdoutLock, Write as _};
use std::path::{Component, Path, PathBuf};

use git2::{ErrorCode, Oid, Repository};

/// Why a command ends with a status other than what it computes: the text for standard error, lines and all.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) status: i32,
    pub(crate) text: String,
}

pub(crate) type Result<T> = std::result::Result<T, Failure>;
/// The end of a command: its exit status.
pub(crate) type Done = Result<i32>;

impl Failure {
    pub(crate) fn new(status: i32, text: impl Into<String>) -> Self {
        Self { status, text: text.into() }
    }

    /// As git ends: status 128.
    pub(crate) fn fatal(why: impl AsRef<str>) -> Self {
        Self::new(128, format!("fatal: {}\n", why.as_ref()))
    }

    /// A status of 1.
    pub(crate) fn error(why: impl AsRef<str>) -> Self {
        Self::new(1, format!("error: {}\n", why.as_ref()))
    }
}

impl From<git2::Error> for Failure {
    fn from(error: git2::Error) -> Self {
        Self::fatal(error.message())
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        // Nobody reads any more: as after SIGPIPE.
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self::new(141, "");
        }
        Self::fatal(error.to_string())
    }
}

/// A repository, and where in it the command was called.
pub(crate) struct Git {
    pub(crate) repository: Repository,
    /// The root of the working tree; the git folder of a bare repository.
    pub(crate) root: PathBuf,
    /// Where the command runs.
    pub(crate) here: PathBuf,
}

impl Git {
    /// The repository around the current folder.
    pub(crate) fn find() -> Result<Self> {
        let here = std::env::current_dir()?;
        let repository = match Repository::discover(&here) {
            Ok(repository) => repository,
            Err(error) if error.code() == ErrorCode::NotFound => {
                return Err(Failure::fatal("not a git repository (or any of the parent directories): .git"));
            }
            Err(error) => return Err(error.into()),
        };
        let root = repository.workdir().unwrap_or_else(|| repository.path()).to_path_buf();
        let here = here.canonicalize().unwrap_or(here);
        Ok(Self { repository, root, here })
    }

    /// The same, if it has a working tree.
    pub(crate) fn with_tree() -> Result<Self> {
        let git = Self::find()?;
        if git.repository.is_bare() {
            return Err(Failure::fatal("this operation must be run in a work tree"));
        }
        Ok(git)
    }

    /// A path as it was written, as one below the root; empty: the root itself.
    pub(crate) fn below_root(&self, written: &str) -> Result<String> {
        let whole = plain(&self.here.join(written));
        let below = whole.strip_prefix(&self.root).map_err(|_| {
            let root = self.root.display().to_string();
            let root = root.trim_end_matches('/');
            Failure::fatal(format!("{written}: '{written}' is outside repository at '{root}'"))
        })?;
        Ok(below.to_string_lossy().into_owned())
    }

    /// Where the command runs, as seen from the root.
    pub(crate) fn prefix(&self) -> &Path {
        self.here.strip_prefix(&self.root).unwrap_or_else(|_| Path::new(""))
    }

    /// The commit that a name stands for.
    pub(crate) fn commit(&self, name: &str) -> Result<git2::Commit<'_>> {
        let object = self.repository.revparse_single(name).map_err(|_| unknown_revision(name))?;
        object.peel_to_commit().map_err(|_| unknown_revision(name))
    }

    /// The commit that is checked out; none before the first.
    pub(crate) fn head(&self) -> Result<Option<git2::Commit<'_>>> {
        match self.repository.head() {
            Ok(head) => Ok(Some(head.peel_to_commit()?)),
            Err(error) if matches!(error.code(), ErrorCode::UnbornBranch | ErrorCode::NotFound) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The branch that is checked out, born or not; none: a commit is.
    pub(crate) fn branch(&self) -> Result<Option<String>> {
        let head = self.repository.find_reference("HEAD")?;
        let target = head.symbolic_target()?;
        Ok(target.and_then(|name| name.strip_prefix("refs/heads/")).map(str::to_owned))
    }

    /// The short form of an object's name.
    pub(crate) fn short(&self, id: Oid) -> Result<String> {
        let object = self.repository.find_object(id, None)?;
        Ok(object.short_id()?.as_str().unwrap_or_default().to_owned())
    }
}

/// A whole path without `.` and `..`: WASI follows neither out of a mounted folder.
pub(crate) fn plain(path: &Path) -> PathBuf {
    let mut whole = PathBuf::from("/");
    for part in path.components() {
        match part {
            Component::ParentDir => drop(whole.pop()),
            Component::Normal(name) => whole.push(name),
            _ => {}
        }
    }
    whole
}

/// What git says of a name that it does not know.
pub(crate) fn unknown_revision(name: &str) -> Failure {
    Failure::fatal(format!(
        "ambiguous argument '{name}': unknown revision or path not in the working tree.\n\
         Use '--' to separate paths from revisions, like this:\n\
         'git <command> [<revision>...] -- [<file>...]'"
    ))
}

/// Standard output, in large pieces.
pub(crate) fn output() -> io::BufWriter<StdoutLock<'static>> {
    io::BufWriter::with_capacity(1 << 16, io::stdout().lock())
}

/// Ends a command that has said all it had to say.
pub(crate) fn said(mut output: io::BufWriter<StdoutLock<'static>>) -> Done {
    output.flush()?;
    Ok(0)
}
